//! Secrets that carry their own mark or stand in a known frame: tokens, vendor values, key files,
//! URLs with passwords, authorization headers, command lines, marked lines.
//!
//! Each reader gets the text up to the end of its unit and the place of a keyword, and answers with
//! at most one hit. None of them looks further left than the look-back cap.

use crate::ascii::{
    ALNUM, BASE64, ByteSet, Words, at, before, cut, find_folded, is_word, opens_token, run_end,
    run_start,
};
use crate::digest::{base62_of_six, bech32, crc32, hex};
use crate::hit::Hit;
use crate::limits::{PEM_BYTES_MAX, VALUE_BYTES_MAX};
use crate::pattern::{Part, Pattern};
use crate::rule::{Check, Rule};
use crate::rules::{self, Coded};
use crate::value::{Strength, Written, assess, entropy, is_placeholder};

/// Words one of which must stand between a vendor's name and its value.
static HINTS: Words<9> =
    Words::new(["key", "token", "secret", "auth", "pass", "pwd", "cred", "api", "bearer"]);
/// How far behind a vendor's word its value may stand, in bytes.
const NEAR_BYTES: usize = 120;

/// A token around the keyword at `hit`.
pub(crate) fn token(
    bytes: &[u8],
    hit: usize,
    index: usize,
    rule: &Rule,
    pattern: &Pattern,
) -> Option<Hit> {
    // A look at the byte before is cheaper than the match.
    if pattern.begins_with_keyword() && is_word(at(bytes, hit)) && !opens_token(bytes, hit) {
        return None;
    }
    let (start, mut end) = pattern.match_around(bytes, hit)?;
    if is_word(at(bytes, start)) && !opens_token(bytes, start) {
        return None;
    }
    // A sentence's full stop or a trailing hyphen is not the token's.
    while matches!(before(bytes, end), b'.') {
        end -= 1;
    }
    if !pattern.closes(bytes, end) {
        return None;
    }
    let body = cut(bytes, start, end);
    if is_filler(body) || entropy(varying(pattern, body)) < rule.entropy_min {
        return None;
    }
    let score = checked(rule.check, body, rule.score)?;
    Some(Hit::secret(start, end, index, score, 4))
}

/// The part of a token that differs from one to the next.
fn varying<'a>(pattern: &Pattern, body: &'a [u8]) -> &'a [u8] {
    let fixed = match pattern.parts().first() {
        Some(Part::Literal(literal)) => literal.len(),
        Some(Part::OneOf { options, .. }) => options.iter().map(Vec::len).min().unwrap_or(0),
        Some(Part::Run { .. }) | None => 0,
    };
    body.get(fixed..).unwrap_or(body)
}

/// Examples and templates of tokens.
fn is_filler(body: &[u8]) -> bool {
    let mut run = 1;
    let mut longest = 1;
    for pair in body.windows(2) {
        run = if matches!(pair, [a, b] if a == b && *a != b'A') { run + 1 } else { 1 };
        longest = longest.max(run);
    }
    longest >= 8 || FILLERS.any_in(body)
}

static FILLERS: Words<7> = Words::new([
    "example",
    "xxxxx",
    "your-",
    "your_",
    "placeholder",
    "1234567890abcdef",
    "abcdefghijklm",
]);

/// The score after the validator: a checksum that holds makes sure, one that fails makes doubtful, and
/// a structure that is not there refutes.
fn checked(check: Check, body: &[u8], score: f32) -> Option<f32> {
    let doubtful = 0.55;
    match check {
        Check::None => Some(score),
        Check::Crc32Base62 => {
            let split = body.len().checked_sub(36)?;
            let entropy_part = body.get(split..split + 30)?;
            let sum = body.get(split + 30..)?;
            Some(if base62_of_six(crc32(entropy_part)) == sum { 0.99 } else { doubtful })
        }
        Check::Crc32Hex => {
            let split = body.len().checked_sub(9)?;
            let (head, sum) = body.split_at_checked(split)?;
            let expected = hex(&crc32(head).to_be_bytes());
            Some(if sum.get(1..)? == expected.as_bytes() { 0.99 } else { doubtful })
        }
        Check::Jwt => {
            let header = body.split(|byte| *byte == b'.').next()?;
            let decoded = crate::decode::base64(header)?;
            (decoded.first() == Some(&b'{') && find_folded(&decoded, b"\"alg\"").is_some())
                .then_some(score)
        }
        Check::Bech32 => Some(if bech32(body) { 0.99 } else { doubtful }),
    }
}

/// A value of the rule's form behind the vendor's word at `hit`.
pub(crate) fn near(
    bytes: &[u8],
    hit: usize,
    word: usize,
    index: usize,
    rule: &Rule,
    pattern: &Pattern,
) -> Option<Hit> {
    let from = hit + word;
    let to = (from + NEAR_BYTES).min(bytes.len());
    let window = cut(bytes, from, to);
    let assigns =
        window.iter().position(|byte| matches!(byte, b'=' | b':' | b'"' | b'\'' | b'>' | b'|'))?;
    // The hint may stand in the name before the vendor's word (`token_datadog`).
    let name = run_start(bytes, hit, WORDS, 40);
    let mut begins = from + assigns;
    while begins < to {
        let here = at(bytes, begins);
        let opens =
            ALNUM.has(here) && !RUN.has(before(bytes, begins)) || here == b'/' || here == b'+';
        if opens || opens_after_name(bytes, begins) {
            if let Some(end) = pattern.match_at(bytes, begins)
                && end <= bytes.len()
                && pattern.closes(bytes, end)
            {
                let value = cut(bytes, begins, end);
                let hinted = HINTS.any_in(cut(bytes, name, begins));
                let sound = hinted && !is_filler(value) && entropy(value) >= rule.entropy_min;
                let hex_only = value.iter().all(u8::is_ascii_hexdigit);
                // A bare hash behind a vendor's name is a hash, unless the format is a hex one.
                let look_alike = hex_only && !rule.pattern.contains("a-f");
                if sound && !look_alike && !is_placeholder(value) {
                    return checked(rule.check, value, rule.score)
                        .map(|score| Hit::secret(begins, end, index, score, 3));
                }
            }
            begins = run_end(bytes, begins, RUN).max(begins + 1);
        } else {
            begins += 1;
        }
    }
    None
}

const WORDS: ByteSet =
    ByteSet::of("_-.").with_range(b'a', b'z').with_range(b'A', b'Z').with_range(b'0', b'9');
/// Bytes of which values are made, `=` excluded: it separates more often than it pads.
const RUN: ByteSet =
    ByteSet::of("+/-_.").with_range(b'a', b'z').with_range(b'A', b'Z').with_range(b'0', b'9');

fn opens_after_name(bytes: &[u8], begins: usize) -> bool {
    matches!(before(bytes, begins), b'=' | b':' | b'"' | b'\'' | b' ')
        && matches!(at(bytes, begins), b'_' | b'-')
}

/// A private key block whose `-----BEGIN ` stands at `hit`. Reads the whole text, not only the unit.
pub(crate) fn private_key(bytes: &[u8], hit: usize) -> Option<PemBlock> {
    let label_from = hit + 5;
    let label = cut(bytes, label_from, label_from + 64);
    let label_end = memchr::memmem::find(label, b"----")?;
    let name = cut(label, 0, label_end);
    let secret = find_folded(name, b"private key").is_some()
        || find_folded(name, b"openvpn static key").is_some();
    if !secret || name.contains(&b'\n') {
        return None;
    }
    let body_from = run_end(bytes, label_from + label_end, ByteSet::of("-"));
    let limit = (hit + PEM_BYTES_MAX).min(bytes.len());
    let mut end = body_from;
    let mut longest = 0;
    let mut state = PemEnd::Open;
    while end < limit {
        match at(bytes, end) {
            b'-' if cut(bytes, end, end + 4) == b"----" => {
                let close = cut(bytes, end, (end + 96).min(limit));
                let Some(word) = memchr::memmem::find(close, b"END ") else { break };
                let Some(dashes) = memchr::memmem::find(cut(close, word, close.len()), b"----")
                else {
                    break;
                };
                let closing = end + word + dashes;
                // The dashes of a second block may follow at once: they are its own.
                end = run_end(bytes, closing, ByteSet::of("-")).min(closing + 5);
                state = PemEnd::Closed;
                break;
            }
            byte if PEM_BODY.has(byte) => {
                let run = run_end(bytes, end, PEM_RUN).min(limit);
                longest = longest.max(run - end);
                end = run.max(end + 1);
            }
            b'"' | b'\'' | b'+' | b';' | b'.' if joins(bytes, end, limit) => end += 1,
            _ => {
                state = PemEnd::Broken;
                break;
            }
        }
    }
    if longest < 16 {
        let undecided = state == PemEnd::Open && end >= bytes.len() && end < hit + PEM_BYTES_MAX;
        return undecided.then_some(PemBlock { start: hit, end, state: PemEnd::Undecided });
    }
    // What follows a block that never ends is not part of it: the blanks before belong to the text.
    while state != PemEnd::Closed
        && matches!(before(bytes, end), b' ' | b'\n' | b'\r' | b',' | b'\\')
    {
        end -= 1;
    }
    Some(PemBlock { start: hit, end, state })
}

/// How a key block ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PemEnd {
    /// With its END line.
    Closed,
    /// Where something begins that no key block holds.
    Broken,
    /// At the end of the text or at the cap.
    Open,
    /// The text ends before it is clear whether there is a body.
    Undecided,
}

/// A key block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PemBlock {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) state: PemEnd,
}

const PEM_RUN: ByteSet =
    ByteSet::of("+/=").with_range(b'0', b'9').with_range(b'a', b'z').with_range(b'A', b'Z');
/// Body and header lines of a block, plain or with escaped line breaks.
const PEM_BODY: ByteSet = ByteSet::of("+/= \n\r\t\\:,-_#>|")
    .with_range(b'0', b'9')
    .with_range(b'a', b'z')
    .with_range(b'A', b'Z');

/// Whether string pieces are joined here: behind the quotes more of the body follows.
fn joins(bytes: &[u8], from: usize, limit: usize) -> bool {
    const GLUE: ByteSet = ByteSet::of("\"'+;., \n\r\t\\");
    let next = run_end(bytes, from, GLUE).min(from + 64).min(limit);
    let next =
        if at(bytes, next) == b'n' && before(bytes, next) == b'\\' { next + 1 } else { next };
    let run = run_end(bytes, next, PEM_RUN);
    run - next >= 24 || cut(bytes, next, next + 8) == b"-----END"
}

/// A longer password is nobody's placeholder, in bytes.
const PLACEHOLDER_BYTES_MAX: usize = 128;
/// The digits of a port.
const PORT_DIGITS_MAX: usize = 5;

/// Follows `scheme://user:password` through a text, from one `@` to the next, so that the work is linear however
/// many there are.
#[derive(Debug, Clone, Default)]
pub(crate) struct UrlCursor {
    read: usize,
    /// Where the user begins, once a scheme was seen and nothing that ends it.
    user: Option<usize>,
    /// The colon behind the user.
    colon: Option<usize>,
}

impl UrlCursor {
    /// Reads on up to `sign`; what is further back than a value may be long is not looked at.
    fn read_to(&mut self, bytes: &[u8], sign: usize) {
        let low = sign.saturating_sub(VALUE_BYTES_MAX);
        if low > self.read || self.user.is_some_and(|user| user < low) {
            *self = Self { read: low.max(self.read), ..Self::default() };
        }
        while self.read < sign {
            if self.user.is_none() {
                let rest = cut(bytes, self.read, sign);
                let Some(scheme) = memchr::memmem::find(rest, b"://") else {
                    // Two bytes of a scheme's mark may stand at the end.
                    self.read = sign.saturating_sub(2).max(self.read);
                    return;
                };
                self.open(bytes, self.read + scheme);
                continue;
            }
            self.step(bytes, self.read);
        }
    }

    /// A scheme's mark at `place`.
    fn open(&mut self, bytes: &[u8], place: usize) {
        let named = before(bytes, place).is_ascii_alphanumeric();
        self.read = place + 3;
        self.user = named.then_some(self.read);
        self.colon = None;
    }

    fn step(&mut self, bytes: &[u8], place: usize) {
        self.read = place + 1;
        match at(bytes, place) {
            b':' if cut(bytes, place, place + 3) == b"://" => self.open(bytes, place),
            b':' => self.colon = self.colon.or(Some(place)),
            b' ' | b'\n' | b'"' | b'\'' | b'<' | b'\t' | b'\\' => self.user = None,
            // A password may hold an unescaped `/` or `?`; a user may not, and neither may a host before them.
            b'/' | b'>' | b'?' | b'@' if self.colon.is_none() => self.user = None,
            _ => {}
        }
    }

    /// `scheme://user:password@host` around the `@` at `sign`, and where the user begins.
    pub(crate) fn password(&mut self, bytes: &[u8], sign: usize) -> Option<(usize, Hit)> {
        self.read_to(bytes, sign);
        if matches!(before(bytes, sign), b'@' | b' ' | b'\n') {
            return None;
        }
        let (user, start) = (self.user?, self.colon? + 1);
        let password = bytes.get(start..sign)?;
        let host = at(bytes, sign + 1);
        let port = password.iter().take(PORT_DIGITS_MAX).take_while(|b| b.is_ascii_digit()).count();
        let path = port > 0 && password.get(port) == Some(&b'/');
        if password.len() < 2
            || path
            || !(is_word(host) || matches!(host, b'[' | b'$' | b'{' | b'%' | b'<'))
            || password.len() <= PLACEHOLDER_BYTES_MAX && is_placeholder(password)
        {
            return None;
        }
        Some((user, Hit::secret(start, sign, Coded::UrlPassword.index(), 0.9, 3)))
    }
}

const HEADER_TOKEN: ByteSet =
    ByteSet::of("-._~+/=").with_range(b'0', b'9').with_range(b'a', b'z').with_range(b'A', b'Z');

/// `Bearer x` with the word at `hit`.
pub(crate) fn bearer(bytes: &[u8], hit: usize, len: usize) -> Option<Hit> {
    let start = run_end(bytes, hit + len, ByteSet::of(" "));
    let end = run_end(bytes, start, HEADER_TOKEN);
    let end = start + cut(bytes, start, end).iter().rposition(|byte| *byte != b'.')? + 1;
    let value = cut(bytes, start, end);
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let sound = value.len() >= 16
        && digits >= 2
        && entropy(value) >= 3.0
        && !is_placeholder(value)
        && !is_filler(value);
    sound.then(|| Hit::secret(start, end, Coded::BearerHeader.index(), 0.85, 2))
}

/// `Basic x` with the word at `hit`: decodes to `user:password`.
pub(crate) fn basic(bytes: &[u8], hit: usize, len: usize) -> Option<Hit> {
    let start = run_end(bytes, hit + len, ByteSet::of(" "));
    let end = run_end(bytes, start, BASE64);
    let value = cut(bytes, start, end);
    if value.len() < 8 {
        return None;
    }
    let decoded = crate::decode::base64(value)?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    let password = decoded.get(colon + 1..)?;
    let readable = crate::decode::readable(&decoded).is_some();
    (readable && password.len() >= 2)
        .then(|| Hit::secret(start, end, Coded::BasicHeader.index(), 0.9, 3))
}

/// Commands that take a password as the value of a flag.
struct Commands {
    /// Any of these must stand before the flag.
    names: &'static [&'static [u8]],
    flags: &'static [&'static [u8]],
    form: FlagForm,
}

/// How the value stands to its flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FlagForm {
    /// Behind a blank.
    Apart,
    /// Right behind the letter.
    Glued,
    /// `user:password`, behind a blank or `=`.
    Pair,
    /// `user%password`, behind a blank.
    Percent,
}

/// What may stand before the value; the table below says of which commands.
pub(crate) const COMMAND_FLAGS: &[&str] = &[
    " -u ",
    " --user ",
    " --user=",
    " -p ",
    " -p",
    " -a ",
    " -w ",
    " -P ",
    " -P",
    " -U ",
    "pass:",
    " -pw ",
    " --proxy-user ",
    " -storepass ",
    " -keypass ",
    " -c ",
    " -k ",
    " -A ",
    " -X ",
    " /p:",
];

#[rustfmt::skip] // read as a table
const COMMANDS: &[Commands] = &[
    Commands { names: &[b"curl"], flags: &[b" -u ", b" --user ", b" --user=", b" --proxy-user "], form: FlagForm::Pair },
    Commands { names: &[b"mysql", b"mariadb", b"7z"], flags: &[b" -p"], form: FlagForm::Glued },
    Commands { names: &[b"sqlcmd", b"bcp "], flags: &[b" -P"], form: FlagForm::Glued },
    Commands { names: &[b"sshpass", b"docker login", b"podman login", b"mongo", b"psexec", b"helm registry", b"az login", b"useradd", b"usermod"], flags: &[b" -p "], form: FlagForm::Apart },
    Commands { names: &[b"redis-cli", b"valkey-cli", b"mosquitto"], flags: &[b" -a ", b" -P "], form: FlagForm::Apart },
    Commands { names: &[b"ldapsearch", b"ldapadd", b"ldapmodify", b"ldapwhoami"], flags: &[b" -w "], form: FlagForm::Apart },
    Commands { names: &[b"snmpwalk", b"snmpget", b"snmpset", b"snmpbulk", b"snmptable", b"snmptrap"], flags: &[b" -c ", b" -A ", b" -X "], form: FlagForm::Apart },
    Commands { names: &[b"openssl enc"], flags: &[b" -k "], form: FlagForm::Apart },
    Commands { names: &[b"freerdp"], flags: &[b" /p:"], form: FlagForm::Glued },
    Commands { names: &[b"zip", b"sqlcmd", b"mosquitto"], flags: &[b" -P "], form: FlagForm::Apart },
    Commands { names: &[b"plink", b"pscp", b"putty"], flags: &[b" -pw "], form: FlagForm::Apart },
    Commands { names: &[b"keytool", b"jarsigner"], flags: &[b" -storepass ", b" -keypass "], form: FlagForm::Apart },
    Commands { names: &[b"smbclient", b"rpcclient", b"net rpc"], flags: &[b" -U "], form: FlagForm::Percent },
    Commands { names: &[b"openssl"], flags: &[b"pass:"], form: FlagForm::Glued },
];

/// The password of a command line whose flag stands at `hit`: `curl -u a:b`, `sshpass -p x`, `mysql -px`,
/// `redis-cli -a x`. The command may stand on an earlier line.
pub(crate) fn command(bytes: &[u8], hit: usize, flag: &[u8]) -> Option<Hit> {
    let head = cut(bytes, hit.saturating_sub(COMMAND_BYTES), hit);
    let runs = |name: &&[u8]| memchr::memmem::rfind(head, name).is_some();
    let known = COMMANDS
        .iter()
        .find(|known| known.flags.contains(&flag) && known.names.iter().any(runs))?;
    let mut start = run_end(bytes, hit + flag.len(), ByteSet::of(" "));
    if known.form == FlagForm::Glued && start != hit + flag.len() {
        return None;
    }
    let (mut value, quoted) = argument(bytes, &mut start);
    let joint = match known.form {
        FlagForm::Pair => Some(b':'),
        FlagForm::Percent => Some(b'%'),
        FlagForm::Apart | FlagForm::Glued => None,
    };
    if let Some(joint) = joint {
        let place = value.iter().position(|byte| *byte == joint)?;
        let (name, rest) = value.split_at_checked(place)?;
        value = rest.get(1..)?;
        if value.is_empty() && at(bytes, start + place + 1) != b'\'' {
            // An empty password: the name is a key.
            let score = assess(name, b' ', Strength::Secret, Written::Quoted)?;
            let rule = Coded::CommandPassword.index();
            return Some(Hit::secret(start, start + place, rule, score, 2));
        }
        start += place + 1;
        if value.is_empty() || matches!(value.first(), Some(b'\'' | b'"')) {
            value = argument(bytes, &mut start).0;
        }
    }
    let option = value.first() == Some(&b'-');
    let port = !quoted && value.iter().all(u8::is_ascii_digit) && value.len() <= 5;
    let template = value.ends_with(b">");
    (value.len() >= 4 && !option && !port && !template && !is_placeholder(value))
        .then(|| Hit::secret(start, start + value.len(), Coded::CommandPassword.index(), 0.8, 2))
}

/// Programs that read a password from a pipe, and those that take one at a place of its own.
pub(crate) const PIPE_CUES: &[&str] =
    &["sudo -S", "chpasswd", "--password-stdin", "passwd --stdin", "htpasswd -", "net user "];

/// The length of the names of those, in bytes.
const PLACED_BYTES: usize = 8;

/// The password of `htpasswd -b FILE USER PASSWORD` (without the file: `-nb`) and `net user NAME PASSWORD`.
fn placed(bytes: &[u8], hit: usize, is_web: bool) -> Option<Hit> {
    let line = cut(bytes, hit, hit + COMMAND_BYTES);
    let line = cut(line, 0, line.iter().position(|byte| *byte == b'\n').unwrap_or(line.len()));
    // How many words stand before the password.
    let (mut start, mut left) = (hit + PLACED_BYTES, if is_web { 2 } else { 1 });
    let mut gives = !is_web;
    loop {
        start = run_end(bytes, start, ByteSet::of(" "));
        let (word, quoted) = argument(bytes, &mut start);
        if word.is_empty() || start >= hit + line.len() {
            return None;
        }
        match word {
            [b'-', flags @ ..] if is_web && left == 2 => {
                gives |= flags.contains(&b'b');
                left -= usize::from(flags.contains(&b'n'));
            }
            _ if left > 0 => left -= 1,
            [b'/' | b'*' | b'<' | b'|', ..] if !quoted => return None,
            value => {
                let (from, to) = (start, start + value.len());
                let holds = gives && value.len() >= 4 && !is_placeholder(value);
                let rule = Coded::CommandPassword.index();
                return holds.then(|| Hit::secret(from, to, rule, 0.8, 2));
            }
        }
        start += word.len() + usize::from(quoted);
    }
}

/// The password that `echo` writes into such a program, whose cue stands at `hit`: `echo pw | sudo -S x`,
/// `echo 'user:pw' | chpasswd`.
pub(crate) fn piped(bytes: &[u8], hit: usize) -> Option<Hit> {
    let name = cut(bytes, hit, hit + PLACED_BYTES);
    if name == b"htpasswd" || name == b"net user" {
        return placed(bytes, hit, name == b"htpasswd");
    }
    let head = cut(bytes, hit.saturating_sub(COMMAND_BYTES), hit);
    let from = hit - head.len();
    let pipe = from + head.iter().rposition(|byte| *byte == b'|')?;
    let head = cut(bytes, from, pipe);
    let words: [&[u8]; 3] = [b"echo -n ", b"echo ", b"printf "];
    let (word, place) =
        words.iter().find_map(|word| Some((word, memchr::memmem::rfind(head, word)?)))?;
    let mut start = run_end(bytes, from + place + word.len(), ByteSet::of(" "));
    let mut value = argument(bytes, &mut start).0;
    if cut(bytes, hit, hit + 8) == b"chpasswd" {
        let colon = value.iter().position(|byte| *byte == b':')?;
        value = value.get(colon + 1..)?;
        start += colon + 1;
    }
    let inside = start + value.len() <= pipe;
    (inside && value.len() >= 4 && !value.contains(&b' ') && !is_placeholder(value))
        .then(|| Hit::secret(start, start + value.len(), Coded::CommandPassword.index(), 0.8, 2))
}

/// The values of a cookie header from `from` on that look made by a machine: who has one is logged in.
pub(crate) fn cookies(bytes: &[u8], from: usize, mut found: impl FnMut(Hit)) {
    let mut start = from;
    for pair in cut(bytes, from, bytes.len())
        .split(|byte| matches!(byte, b';' | b'\n' | b'\r' | b'"' | b'\''))
    {
        let equals = pair.iter().position(|byte| *byte == b'=');
        if let Some(equals) = equals {
            let value = cut(pair, equals + 1, pair.len()).trim_ascii_end();
            let long = value.len() >= 16 && !is_uuid(value);
            if let Some(score) =
                assess(value, b';', Strength::Secret, Written::Quoted).filter(|_| long)
            {
                let at_value = start + equals + 1;
                let rule = Coded::CookieHeader.index();
                found(Hit::secret(at_value, at_value + value.len(), rule, score, 2));
            }
        }
        start += pair.len() + 1;
    }
}

/// Whether it has the form of a UUID.
pub(crate) fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(place, byte)| {
            if matches!(place, 8 | 13 | 18 | 23) { *byte == b'-' } else { byte.is_ascii_hexdigit() }
        })
}

/// Tokens that stand without a name or a prefix of their own but whose shape is none but theirs, by their
/// longest run at `from..to`.
pub(crate) fn shaped(bytes: &[u8], from: usize, to: usize, origin: usize) -> Option<Hit> {
    let run = cut(bytes, from, to);
    let back = |n: usize| from.checked_sub(n).filter(|start| *start >= origin);
    let (id, start) = match run.len() {
        34 if run.starts_with(b"SK") => ("twilio-api-key", from),
        64 if before(bytes, from) == b'.' => ("airtable", back(18)?),
        27..=40 if before(bytes, from) == b'.' && at(bytes, from.wrapping_sub(8)) == b'.' => {
            let head = run_start(bytes, from - 8, BASE64, 29);
            ("discord-bot", head.max(origin))
        }
        _ => return None,
    };
    let index = rules::index_of(id)?;
    let (rule, pattern) = (rules::rule(index)?, rules::pattern(index)?);
    token(bytes, start, index, rule, pattern).filter(|hit| hit.start == start && hit.end == to)
}

/// How far before its flag a command may stand, in bytes.
const COMMAND_BYTES: usize = 200;

/// One argument of a command line, without its quotes; `start` moves behind the opening one.
fn argument<'a>(bytes: &'a [u8], start: &mut usize) -> (&'a [u8], bool) {
    let quote = at(bytes, *start);
    let quoted = matches!(quote, b'"' | b'\'');
    *start += usize::from(quoted);
    let rest = cut(bytes, *start, bytes.len());
    let ends = |byte: &u8| {
        if quoted {
            *byte == quote || *byte == b'\n'
        } else {
            matches!(byte, 0..=b' ' | b'"' | b'\'' | b'`' | b'\\' | b'|' | b';' | b'&')
        }
    };
    let len = rest.iter().position(ends).unwrap_or(rest.len());
    (cut(rest, 0, len), quoted)
}

/// The rest of a line that begins with `SECRET:` or `[SECRET]`, whose word stands at `hit`.
pub(crate) fn marked_line(bytes: &[u8], hit: usize, len: usize) -> Option<Hit> {
    let open = run_start(bytes, hit, ByteSet::of(" \t#/*-;[(<!>"), 24);
    let head = cut(bytes, open, hit);
    let behind = before(bytes, open);
    let top = cut(bytes, hit.saturating_sub(4), hit) == b"TOP ";
    if !(open == 0 || behind == b'\n' || top) {
        return None;
    }
    let mut start = hit + len;
    let bracket = head.ends_with(b"[") && at(bytes, start) == b']';
    let wide = cut(bytes, start, start + 3) == "：".as_bytes();
    if !bracket && !wide && at(bytes, start) != b':' {
        return None;
    }
    start = run_end(bytes, start + if wide { 3 } else { 1 }, ByteSet::of(" \t:"));
    let rest = cut(bytes, start, bytes.len());
    let line = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
    let text = cut(rest, 0, line);
    let text = text.get(..text.iter().rposition(|byte| *byte != b' ' && *byte != b'\t')? + 1)?;
    let name = text.len() < 6 || is_placeholder(text) || text.first() == Some(&b'"');
    (!name).then(|| Hit::secret(start, start + text.len(), Coded::MarkedLine.index(), 0.7, 1))
}

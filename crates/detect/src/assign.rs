//! Assignments: where a key that names a secret stands, and the value that belongs to it.
//!
//! One reader for all the ways in which texts write a key and a value: source code, `.env`, YAML with
//! block scalars, JSON plain and escaped, name/value pairs, XML elements and attributes, CSV, tables,
//! SQL, URL queries, command lines, comments and prose. It reads forward from the key, each byte once,
//! within the look-back cap. It never evaluates anything, and it gives up where the text is not one of
//! these forms.

use crate::ascii::{at, before, cut, find_folded, is_name, is_word};
use crate::limits::{LOOKBACK_BYTES_MAX, NAME_BYTES_MAX, VALUE_BYTES_MAX};
use crate::value::Written;

/// A key and its value, as byte ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) name: (usize, usize),
    pub(crate) value: (usize, usize),
    pub(crate) written: Written,
    /// Whether it only stands beside its name, as the next of a list does.
    pub(crate) beside: bool,
}

impl Assignment {
    /// Whether the value is a name among names: `"PASS", "FAIL"`, `'password', 'scope'`. The arguments of a call
    /// (`setProperty("password", "x")`) and the cells of a table are none.
    pub(crate) fn is_listed(&self, bytes: &[u8]) -> bool {
        let value = cut(bytes, self.value.0, self.value.1);
        let plain = value.iter().all(|b| b.is_ascii_alphabetic() || b"._:-".contains(b));
        if !self.beside || !plain {
            return false;
        }
        let call = before(bytes, self.name.0.wrapping_sub(1)) == b'('
            && at(bytes, self.value.1 + 1) == b')';
        let cell =
            matches!(before(bytes, self.value.0), b' ' | b'\t') && self.written == Written::Literal;
        !call && !cell
    }
}

/// The name around a keyword.
pub(crate) fn name_around(bytes: &[u8], hit: usize, len: usize) -> (usize, usize) {
    let head = bytes.get(..hit).unwrap_or(&[]);
    let left = head.iter().rev().take(NAME_BYTES_MAX).take_while(|byte| is_name(**byte)).count();
    let mut start = hit - left;
    // `\npassword`: the letter belongs to the escape.
    if before(bytes, start) == b'\\' && start < hit {
        start += 1;
    }
    let tail = bytes.get(hit + len..).unwrap_or(&[]);
    let right = tail.iter().take(NAME_BYTES_MAX).take_while(|byte| is_name(**byte)).count();
    (start, hit + len + right)
}

/// Reads the value of the key that ends at `name.1`.
pub(crate) fn read(bytes: &[u8], name: (usize, usize)) -> Option<Assignment> {
    let mut reader =
        Reader { bytes, at: name.1, quoted_name: false, limit: name.0 + LOOKBACK_BYTES_MAX };
    let operator = reader.operator(name)?;
    let (value, written) = reader.value(name, operator)?;
    let beside =
        operator == Operator::Neighbour && cut(bytes, name.0.saturating_sub(2), name.0) != b"${";
    (value.0 < reader.limit).then_some(Assignment { name, value, written, beside })
}

/// What stands between key and value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    /// `=` and its kin.
    Equals { spaced: bool },
    /// `:` and its kin.
    Colon,
    /// A comma, bar or tab: neighbours in a row.
    Neighbour,
    /// XML: text of the element.
    Element,
    /// A space: command lines, SQL, prose.
    Space,
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    quoted_name: bool,
    limit: usize,
}

/// Longest passphrase without quotes, in bytes.
const PHRASE_BYTES_MAX: usize = 100;
/// Words that passphrases are not made of, and sentences are.
const PROSE: &[&str] = &[
    "the", "your", "must", "and", "for", "with", "please", "enter", "have", "has", "can", "not",
    "this", "that", "should", "will", "here", "from", "use", "used", "are", "was", "optional",
    "required", "need", "needs", "which", "when", "field", "value", "string", "user", "password",
    "secret", "token",
];
const VALUE_NAMES: &[&str] =
    &["value", "val", "content", "data", "text", "string", "default", "secretValue"];
/// Verbs between a name and its value; longer ones stand before those that they begin with.
const COPULAS: &[&str] = &[
    "是",
    "为",
    "is now ",
    "is ",
    "is:",
    "was changed to ",
    "was set to ",
    "was reset to ",
    "has been changed to ",
    "has been set to ",
    "has been reset to ",
    "changed to ",
    "set to ",
    "reset to ",
    "was ",
    "es ",
    "est ",
    "ist ",
    "lautet: ",
    "lautet ",
];

impl Reader<'_> {
    fn peek(&self) -> u8 {
        at(self.bytes, self.at)
    }

    fn starts(&self, text: &str) -> bool {
        cut(self.bytes, self.at, self.at + text.len()) == text.as_bytes()
    }

    fn skip_blanks(&mut self) -> usize {
        let from = self.at;
        while matches!(self.peek(), b' ' | b'\t') && self.at - from < 40 {
            self.at += 1;
        }
        self.at - from
    }

    fn skip_closers(&mut self) {
        let from = self.at;
        while self.at - from < 8 {
            match self.peek() {
                b'"' | b'\'' | b'`' => self.quoted_name = true,
                b'\\' if matches!(at(self.bytes, self.at + 1), b'"' | b'\'' | b'\\') => {}
                b']' | b')' | b'*' | b'?' | b'!' => {}
                _ => break,
            }
            self.at += 1;
        }
    }

    fn operator(&mut self, name: (usize, usize)) -> Option<Operator> {
        self.skip_closers();
        if let Some(len) = self.encoded() {
            self.at += len;
            return Some(Operator::Equals { spaced: false });
        }
        if let Some(hop) = self.hop(name) {
            return Some(hop);
        }
        let blanks = self.skip_blanks();
        if blanks > 0 {
            self.skip_owner();
        }
        if self.copula(blanks) {
            return Some(Operator::Colon);
        }
        let found = match (self.peek(), at(self.bytes, self.at + 1)) {
            (b'=', b'>') | (b':', b'=') | (b'+' | b'?' | b'|' | b'!', b'=') => {
                self.at += 2;
                Operator::Equals { spaced: true }
            }
            (b'=', _) => {
                while self.peek() == b'=' {
                    self.at += 1;
                }
                let spaced = blanks > 0 || matches!(self.peek(), b' ' | b'\t');
                Operator::Equals { spaced }
            }
            (b':', b':') => return None,
            // The host of a URL and its port.
            (b':', b'0'..=b'9') if cut(self.bytes, name.0.saturating_sub(2), name.0) == b"//" => {
                return None;
            }
            // `${DB_PASSWORD:-x}`: what holds unless the variable is set.
            (b':', sign) if cut(self.bytes, name.0.saturating_sub(2), name.0) == b"${" => {
                self.at += 1 + usize::from(matches!(sign, b'-' | b'='));
                Operator::Neighbour
            }
            // `PASSWORD('x')`, `password.equals("x")`
            (b'(', b'\'' | b'"') if self.takes_one(name) => {
                self.at += 1;
                Operator::Equals { spaced: true }
            }
            (b':', _) => {
                self.at += 1;
                (!self.is_number_type()).then(|| self.typed().unwrap_or(Operator::Colon))?
            }
            (0xEF, 0xBC) if self.starts("：") => {
                self.at += "：".len();
                Operator::Colon
            }
            // `password, and` is prose; `'password', 'x'` and `password,x` are rows.
            (b',' | b';', b' ') if !self.quoted_name => return None,
            // The row of a table begins with its line or a bar; `echo "$PASSWORD" | docker` is none.
            (b'|', _) if !self.in_table(name) => return None,
            (b',' | b'|' | b';', _) => {
                self.at += 1;
                Operator::Neighbour
            }
            (b'\t', _) => Operator::Neighbour,
            (b'>', _) => {
                self.at += 1;
                Operator::Element
            }
            (b'-', b'>') => {
                self.at += 2;
                Operator::Equals { spaced: true }
            }
            _ if cut(self.bytes, name.1, self.at).contains(&b'\t') => Operator::Neighbour,
            _ if blanks > 0 => Operator::Space,
            _ => return None,
        };
        Some(found)
    }

    /// Whether a call of this name takes the password itself: `PASSWORD('x')`, `.password("x")`, `setPassword("x")`,
    /// `password.equals("x")`.
    fn takes_one(&self, name: (usize, usize)) -> bool {
        const SETTERS: [&[u8]; 6] = [b"set", b"Set", b"set_", b"with", b"With", b"with_"];
        let name = cut(self.bytes, name.0, name.1);
        let ends = |word: &[u8]| {
            name.len().checked_sub(word.len()).is_some_and(|from| {
                let joint = before(name, from);
                let set = SETTERS.iter().any(|set| cut(name, 0, from).ends_with(set));
                cut(name, from, name.len()).eq_ignore_ascii_case(word) && (!is_word(joint) || set)
            })
        };
        ends(b"password") || ends(b"passwd") || ends(b"equals")
    }

    /// Whether a name is the first of its line or stands behind the bar of a table.
    fn in_table(&self, name: (usize, usize)) -> bool {
        let head = cut(self.bytes, name.0.saturating_sub(LOOKBACK_BYTES_MAX), name.0);
        let sign = head.iter().rposition(|byte| !matches!(byte, b' ' | b'\t' | b'`' | b'*'));
        !self.quoted_name && matches!(sign.map_or(0, |place| at(head, place)), 0 | b'\n' | b'|')
    }

    /// `the password for db1 is x`, `password of the user: x`: whose it is stands between.
    fn skip_owner(&mut self) {
        const OWNER_BYTES_MAX: usize = 40;
        if !["for ", "of ", "on "].iter().any(|word| self.starts(word)) {
            return;
        }
        let rest = cut(self.bytes, self.at, self.at + OWNER_BYTES_MAX);
        let part = |byte: &&u8| is_name(**byte) || matches!(byte, b' ' | b'@' | b'\'');
        let len = rest.iter().take_while(part).count();
        let verbs: [&[u8]; 3] = [b" is", b" was ", b" has been "];
        let verb = verbs.iter().find_map(|verb| memchr::memmem::find(cut(rest, 0, len), verb));
        if let Some(verb) = verb {
            self.at += verb + 1;
        } else if at(rest, len) == b':' {
            self.at += len;
        }
    }

    /// The length of an encoded `=` or `":`.
    fn encoded(&self) -> Option<usize> {
        ["%22%3A", "%3D", "%3d"].into_iter().find(|sign| self.starts(sign)).map(str::len)
    }

    /// `is x`, `是：x`: goes behind the verb, and behind a sign that follows it.
    fn copula(&mut self, blanks: usize) -> bool {
        let stands = |word: &&&str| self.starts(word) && (blanks > 0 || !word.is_ascii());
        let Some(copula) = COPULAS.iter().find(stands) else { return false };
        self.at += copula.len();
        self.skip_blanks();
        if matches!(self.peek(), b':' | b'=') {
            self.at += 1;
        } else if self.starts("：") {
            self.at += "：".len();
        }
        true
    }

    /// `: u32 = 3227532550`: a number by its type is no secret.
    fn is_number_type(&self) -> bool {
        const TYPES: [&[u8]; 14] = [
            b"u8", b"u16", b"u32", b"u64", b"usize", b"i8", b"i16", b"i32", b"i64", b"isize",
            b"int", b"number", b"c_int", b"c_ulong",
        ];
        let rest = cut(self.bytes, self.at, self.at + 16).trim_ascii_start();
        let len = rest.iter().take_while(|byte| is_word(**byte)).count();
        at(rest, len) == b' ' && at(rest, len + 1) == b'=' && TYPES.contains(&cut(rest, 0, len))
    }

    /// `: &str =`, `: Optional[str] =`: the colon begins a type, the value stands behind the `=`.
    fn typed(&mut self) -> Option<Operator> {
        let mut ahead = self.at;
        while ahead - self.at < 40 {
            match at(self.bytes, ahead) {
                b'=' if at(self.bytes, ahead + 1) != b'=' && ahead > self.at + 2 => {
                    // The value of a YAML or JSON key may itself hold `=`; a type has a blank before it.
                    if !matches!(before(self.bytes, ahead), b' ') {
                        return None;
                    }
                    self.at = ahead + 1;
                    return Some(Operator::Equals { spaced: true });
                }
                b if is_word(b)
                    || matches!(
                        b,
                        b' ' | b'&' | b'[' | b']' | b'<' | b'>' | b'?' | b'|' | b'\'' | b'.'
                    ) =>
                {
                    ahead += 1;
                }
                _ => return None,
            }
        }
        None
    }

    /// `"name": "password", "value": "x"`, `key="password" value="x"`, `<key>password</key><string>x`.
    ///
    /// `- name: DB_PASSWORD` with `value: x` on the next line, as lists of environment variables are written.
    fn hop(&mut self, name: (usize, usize)) -> Option<Operator> {
        let mut ahead = self.at;
        if cut(self.bytes, ahead, ahead + 2) == b"</" {
            ahead += cut(self.bytes, ahead, ahead + 64).iter().position(|byte| *byte == b'>')? + 1;
        } else if !self.quoted_name && !self.is_named_in_yaml(name) {
            return None;
        }
        while matches!(at(self.bytes, ahead), b' ' | b'\t' | b'\n' | b'\r' | b',' | b'<' | b'{') {
            ahead += 1;
            if ahead >= self.limit {
                return None;
            }
        }
        while at(self.bytes, ahead) == b'\\' || matches!(at(self.bytes, ahead), b'"' | b'\'') {
            ahead += 1;
        }
        let word_end =
            ahead + cut(self.bytes, ahead, ahead + 16).iter().take_while(|b| is_word(**b)).count();
        let word = cut(self.bytes, ahead, word_end);
        if !VALUE_NAMES.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes())) {
            return None;
        }
        let mut ahead = word_end;
        while matches!(at(self.bytes, ahead), b'\\' | b'"' | b'\'' | b' ' | b'\t')
            && ahead < self.limit
        {
            ahead += 1;
        }
        let operator = match at(self.bytes, ahead) {
            b':' => Operator::Colon,
            b'=' => Operator::Equals { spaced: true },
            b'>' => Operator::Element,
            _ => return None,
        };
        self.at = ahead + 1;
        Some(operator)
    }

    fn is_named_in_yaml(&self, name: (usize, usize)) -> bool {
        let head = cut(self.bytes, name.0.saturating_sub(6), name.0);
        matches!(self.peek(), b'\n' | b'\r')
            && (head.ends_with(b"name: ") || head.ends_with(b"key: "))
    }

    fn value(
        &mut self,
        name: (usize, usize),
        operator: Operator,
    ) -> Option<((usize, usize), Written)> {
        self.skip_blanks();
        if operator == Operator::Colon {
            self.enter_block();
        }
        let slashes =
            cut(self.bytes, self.at, self.at + 8).iter().take_while(|b| **b == b'\\').count();
        // `b"..."`, `r"..."`, `f'...'`, `@"..."`, `L"..."`.
        if slashes == 0
            && matches!(self.peek(), b'b' | b'r' | b'f' | b'u' | b'@' | b'L' | b'(')
            && matches!(at(self.bytes, self.at + 1), b'"' | b'\'')
        {
            self.at += 1;
        }
        let quote = at(self.bytes, self.at + slashes);
        let loose = matches!(operator, Operator::Space | Operator::Neighbour);
        // Behind a mere blank or comma, backticks quote code in prose.
        if loose && (quote == b'`' || quote == b'-') {
            return None;
        }
        let verb = cut(self.bytes, name.0, name.1) == b"pass" && operator == Operator::Space;
        if verb && !self.space_counts(name) {
            return None;
        }
        if matches!(quote, b'"' | b'\'' | b'`') {
            let open = self.at + slashes + 1;
            return self.quoted(open, quote, slashes).map(|value| (value, Written::Quoted));
        }
        // Behind a quoted name and a comma, what has no quotes is code: `("password", help=..)`.
        let code = operator == Operator::Neighbour
            && self.quoted_name
            && matches!(before(self.bytes, self.at), b',' | b' ');
        if code || operator == Operator::Space && !self.space_counts(name) {
            return None;
        }
        let written = self.written(name, operator);
        let value = self.bare(name, operator, written)?;
        Some(self.fallback(value).map_or((value, written), |value| (value, Written::Quoted)))
    }

    /// `process.env.PASSWORD || 'x'`: what holds unless something is set, behind what is read.
    fn fallback(&self, value: (usize, usize)) -> Option<(usize, usize)> {
        let joint = [&b" || "[..], b" ?? ", b" or "]
            .into_iter()
            .find(|joint| cut(self.bytes, value.1, value.1 + joint.len()) == *joint)?;
        let quote = at(self.bytes, value.1 + joint.len());
        matches!(quote, b'"' | b'\'')
            .then(|| self.quoted(value.1 + joint.len() + 1, quote, 0))
            .flatten()
    }

    /// YAML block scalars and values on the next line.
    fn enter_block(&mut self) {
        let mut ahead = self.at;
        if matches!(at(self.bytes, ahead), b'|' | b'>') {
            ahead += 1;
            while matches!(at(self.bytes, ahead), b'-' | b'+' | b'0'..=b'9') {
                ahead += 1;
            }
        }
        let line_end = ahead;
        while matches!(at(self.bytes, ahead), b' ' | b'\t' | b'\r') {
            ahead += 1;
        }
        if at(self.bytes, ahead) != b'\n' {
            return;
        }
        let mut indent = ahead + 1;
        while matches!(at(self.bytes, indent), b' ' | b'\t') && indent < self.limit {
            indent += 1;
        }
        // Only an indented line continues the key; a list item or another key does not.
        let continues = indent > ahead + 1 && at(self.bytes, indent) != b'-';
        if continues || line_end > self.at {
            self.at = indent;
        }
        // `password:` above `value: x`.
        let word = cut(self.bytes, indent, indent + 16).iter().take_while(|b| is_word(**b)).count();
        let named = VALUE_NAMES.iter().any(|name| {
            cut(self.bytes, indent, indent + word).eq_ignore_ascii_case(name.as_bytes())
        });
        if continues && named && at(self.bytes, indent + word) == b':' {
            self.at = indent + word + 1;
            self.skip_blanks();
        }
    }

    /// A blank alone assigns in command lines (`--password x`), in `.netrc`, and before a quote.
    fn space_counts(&self, name: (usize, usize)) -> bool {
        let flag = at(self.bytes, name.0) == b'-' && !self.reads_on();
        let netrc = {
            let head = cut(self.bytes, name.0.saturating_sub(120), name.0);
            find_folded(head, b"login ").is_some()
        };
        // `don't pass AI_V4MAPPED`: a verb.
        let verb = cut(self.bytes, name.0, name.1) == b"pass";
        flag || netrc || !verb && self.looks_made()
    }

    /// Whether words of a sentence follow: `--username and --password options instead of the URL`.
    fn reads_on(&self) -> bool {
        let rest = cut(self.bytes, self.at, self.at + 48);
        let mut words = rest.split(|byte| *byte == b' ');
        let plain = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_lowercase);
        (0..3).all(|_| words.next().is_some_and(plain))
    }

    /// Behind a bare blank (a comment, prose) only what hardly is a word: classes of characters change
    /// all the time.
    fn looks_made(&self) -> bool {
        let rest = cut(self.bytes, self.at, self.at + 64);
        let len = rest.iter().take_while(|byte| byte.is_ascii_graphic()).count();
        let word = cut(rest, 0, len);
        let class = |byte: u8| match byte {
            b'a'..=b'z' => 0u8,
            b'A'..=b'Z' => 1,
            b'0'..=b'9' => 2,
            _ => 3,
        };
        let changes =
            word.windows(2).filter(|pair| matches!(pair, [a, b] if class(*a) != class(*b))).count();
        let mixed = word.iter().any(u8::is_ascii_digit) && word.iter().any(u8::is_ascii_alphabetic);
        len >= 8 && mixed && changes * 5 >= len * 2
    }

    fn written(&self, name: (usize, usize), operator: Operator) -> Written {
        let mut start = name.0;
        let line_start = loop {
            match before(self.bytes, start) {
                b' ' | b'\t' | b'-' | b'#' | b'/' | b'*' | b';' if name.0 - start < 16 => {
                    start -= 1
                }
                0 | b'\n' => break true,
                _ => break false,
            }
        };
        let exported = self.is_exported(name);
        let query = matches!(before(self.bytes, name.0), b'?' | b'&');
        match operator {
            Operator::Equals { spaced: false } if line_start || exported || query => {
                Written::Literal
            }
            Operator::Equals { spaced: false } => {
                let upper = cut(self.bytes, name.0, name.1).iter().all(|b| !b.is_ascii_lowercase());
                if upper { Written::Literal } else { Written::Bare }
            }
            Operator::Equals { spaced: true } => Written::Bare,
            Operator::Colon if self.quoted_name || line_start => Written::Literal,
            Operator::Colon if !cut(self.bytes, name.0, name.1).is_ascii() => Written::Literal,
            Operator::Colon => Written::Bare,
            Operator::Neighbour | Operator::Element | Operator::Space => Written::Literal,
        }
    }

    /// Whether the name stands where only a literal follows: an option (`--password=x`), an environment or setting
    /// (`export A=x`, `-e A=x`, `--set a.b=x`), a part of a connection string (`Server=a;Password=x;`).
    fn is_exported(&self, name: (usize, usize)) -> bool {
        const BEFORE: [&[u8]; 8] = [
            b"export ",
            b"-e ",
            b"--env ",
            b"--set ",
            b"--set-string ",
            b"--from-literal=",
            b"--build-arg ",
            b"Environment=",
        ];
        const CONNECTION: [&[u8]; 5] = [b"server=", b"jdbc:", b"uid=", b"user id=", b"source="];
        const CONNECTION_BYTES: usize = 160;
        let head = cut(self.bytes, name.0.saturating_sub(CONNECTION_BYTES), name.0);
        let connects = || CONNECTION.iter().any(|word| find_folded(head, word).is_some());
        cut(self.bytes, name.0, name.0 + 2) == b"--"
            || BEFORE.iter().any(|word| head.ends_with(word))
            || head.ends_with(b",") && memchr::memmem::find(head, b"--set ").is_some()
            || head.ends_with(b";") && connects()
    }

    fn quoted(&self, open: usize, quote: u8, slashes: usize) -> Option<(usize, usize)> {
        let rest = cut(self.bytes, open, (open + VALUE_BYTES_MAX).min(self.bytes.len()));
        let mut at = 0;
        while let Some(byte) = rest.get(at) {
            match byte {
                b'\n' => return None,
                b'\\' => {
                    let run = rest.get(at..)?.iter().take_while(|b| **b == b'\\').count();
                    let behind = rest.get(at + run).copied();
                    if behind == Some(quote) && run <= slashes {
                        return Some((open, open + at));
                    }
                    at += run + usize::from(run % 2 == 1);
                }
                byte if *byte == quote && slashes == 0 => return Some((open, open + at)),
                byte if *byte == quote => return None,
                _ => at += 1,
            }
        }
        None
    }

    fn bare(
        &mut self,
        name: (usize, usize),
        operator: Operator,
        written: Written,
    ) -> Option<(usize, usize)> {
        self.skip_scheme(name);
        let open = self.at;
        let query = operator == Operator::Equals { spaced: false }
            && matches!(before(self.bytes, name.0), b'?' | b'&');
        let whole = operator == (Operator::Equals { spaced: false }) && written == Written::Literal;
        let ends = |byte: u8| match byte {
            0..=b' ' | b'"' | b'\'' | b'`' | b'\\' | 0x7f.. => true,
            b'<' | b'>' => true,
            b'&' | b'#' => query,
            b',' | b';' | b')' | b'}' | b']' | b'|' | b'{' | b'[' => {
                !whole || matches!(byte, b'}' | b']' | b',')
            }
            _ => false,
        };
        let rest = cut(self.bytes, open, (open + VALUE_BYTES_MAX).min(self.bytes.len()));
        let len = rest.iter().take_while(|byte| !ends(**byte)).count();
        let mut end = open + len;
        // `abc...`: somebody cut it short.
        if cut(self.bytes, end.saturating_sub(2), end) == b".." {
            return None;
        }
        // A sentence's full stop is not the value's.
        while end > open && matches!(before(self.bytes, end), b'.' | b':' | b'?') {
            end -= 1;
        }
        if operator == Operator::Colon && written == Written::Literal && !self.quoted_name {
            end = self.phrase(open, end)?;
        }
        (end > open).then_some((open, end))
    }

    /// `Authorization: ApiKey x`: the scheme is not the secret.
    fn skip_scheme(&mut self, name: (usize, usize)) {
        const SCHEME_BYTES_MAX: usize = 24;
        let header = find_folded(cut(self.bytes, name.0, name.1), b"auth").is_some();
        let rest = cut(self.bytes, self.at, self.at + SCHEME_BYTES_MAX);
        let word = rest.iter().take_while(|b| b.is_ascii_alphabetic() || **b == b'-').count();
        let known = ["bearer", "basic", "token"]
            .iter()
            .any(|scheme| cut(rest, 0, word).eq_ignore_ascii_case(scheme.as_bytes()));
        if word > 0 && at(rest, word) == b' ' && (known || header) {
            self.at += word + 1;
        }
    }

    /// A word with more words behind it on its line: a passphrase is taken whole, prose is no value.
    fn phrase(&self, open: usize, end: usize) -> Option<usize> {
        let word = cut(self.bytes, open, end);
        if !word.iter().all(u8::is_ascii_alphabetic) || at(self.bytes, end) != b' ' {
            return Some(end);
        }
        let rest = cut(self.bytes, open, open + PHRASE_BYTES_MAX);
        let line = rest.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(rest.len());
        let phrase = cut(rest, 0, line).trim_ascii_end();
        let mut words = 0;
        for word in phrase.split(|byte| *byte == b' ') {
            let plain = (3..=10).contains(&word.len()) && word.iter().all(u8::is_ascii_lowercase);
            if !plain || PROSE.iter().any(|prose| prose.as_bytes() == word) {
                return None;
            }
            words += 1;
        }
        (3..=8).contains(&words).then_some(open + phrase.len())
    }
}

#[cfg(test)]
mod tests {
    use super::{name_around, read};

    fn value_of(text: &str, key: &str) -> Option<String> {
        let hit = text.find(key)?;
        let name = name_around(text.as_bytes(), hit, key.len());
        let (start, end) = read(text.as_bytes(), name)?.value;
        Some(text[start..end].to_owned())
    }

    #[test]
    fn one_reader_reads_every_way_of_writing_a_key_and_a_value() {
        for text in [
            r#"password = "hunter2!""#,
            r#"{"password": "hunter2!"}"#,
            r#"{\"password\": \"hunter2!\"}"#,
            r#"{\\\"password\\\":\\\"hunter2!\\\"}"#,
            r#"{"name": "password", "value": "hunter2!"}"#,
            "{\n  \"name\": \"password\",\n  \"value\": \"hunter2!\"\n}",
            r#"<add key="password" value="hunter2!"/>"#,
            "<password>hunter2!</password>",
            "<key>password</key><string>hunter2!</string>",
            "password: |\n  hunter2!\nnext: 1",
            "password: >-\n  hunter2!\n",
            "DB_password=hunter2!",
            "https://a/b?password=hunter2!&x=1",
            "password,hunter2!,x",
            "| password | hunter2! |",
            "('password', 'hunter2!')",
            "mysql --password hunter2!",
            "# password is hunter2!",
            "password += 'hunter2!'",
            "let password: &str = \"hunter2!\";",
            "machine x login me password hunter2!",
        ] {
            assert_eq!(value_of(text, "password").as_deref(), Some("hunter2!"), "{text}");
        }
        assert_eq!(value_of("密码是123456，请", "密码").as_deref(), Some("123456"));
    }

    #[test]
    fn a_value_never_runs_past_its_quote() {
        let text = r#"{"password":"a\"b","next":"c"}"#;
        assert_eq!(value_of(text, "password").as_deref(), Some(r#"a\"b"#));
        assert_eq!(value_of("password: \"open\nnext\"", "password"), None);
    }
}

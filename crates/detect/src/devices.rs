//! Secrets of lines whose grammar says where they stand: configuration of network devices and of SNMP, password
//! files of PostgreSQL, HTTP digests.
//!
//! A cue leads to its line, whose first word must be one that such a line begins with; so prose that speaks of
//! passwords is none. The value is the word at its place, whatever it looks like.

use crate::ascii::{ByteSet, at, before, cut, run_end};
use crate::hit::Hit;
use crate::rules::Coded;
use crate::value::is_placeholder;

/// Words right before the secret of a device, with a blank behind; or those that begin a line of SNMP.
pub(crate) const DEVICE_CUES: &[&str] = &[
    "community ",
    "secret ",
    "password ",
    " key ",
    " md5 ",
    "key-string ",
    "version 2c ",
    "version 1 ",
    "ascii-text ",
    "authentication-key ",
    "passwd ENC ",
    "com2sec ",
    "createUser ",
];
/// Marks inside a line of a password file: its port.
pub(crate) const PGPASS_CUES: &[&str] = &[":5432:", ":5433:", ":6432:", ":*:"];
/// The answer of a digest.
pub(crate) const DIGEST_CUES: &[&str] = &[" response=", ",response="];

/// First words of the lines that hold secrets of devices, and whether what follows its cue is one even if it is
/// a plain word.
const LEADS: &[(&[u8], bool)] = &[
    (b"snmp-server", true),
    (b"snmp", true),
    (b"rocommunity", true),
    (b"rwcommunity", true),
    (b"rocommunity6", true),
    (b"rwcommunity6", true),
    (b"com2sec", true),
    (b"enable", false),
    (b"username", false),
    (b"tacacs-server", true),
    (b"tacacs", true),
    (b"radius-server", true),
    (b"radius", true),
    (b"server-private", true),
    (b"crypto", true),
    (b"neighbor", true),
    (b"ip", false),
    (b"ppp", true),
    (b"key-string", true),
    (b"set", false),
    (b"pre-shared-key", true),
    (b"encrypted-password", true),
    (b"authentication-key", true),
    (b"isis", false),
    (b"vrrp", false),
    (b"standby", false),
];
/// Words that stand where a value would, in lines that hold none.
const WORDS: &[&[u8]] = &[
    b"public",
    b"private",
    b"chain",
    b"encrypted",
    b"authentication",
    b"config-key",
    b"trap",
    b"any",
];

const BLANKS: ByteSet = ByteSet::of(" \t");

/// The secret behind a cue of a device's configuration.
pub(crate) fn device(bytes: &[u8], cue: usize, len: usize, mut found: impl FnMut(Hit)) {
    let Some(line) = line_start(bytes, cue) else { return };
    let (first, _) = word(bytes, line);
    let cue_end = cue + len;
    if cut(bytes, cue, cue_end) == b"createUser " {
        return user_keys(bytes, line, cue_end, found);
    }
    let Some((_, sure)) = LEADS.iter().find(|(lead, _)| *lead == cut(bytes, first.0, first.1))
    else {
        return;
    };
    let mut start = cue_end;
    if cut(bytes, cue, cue_end) == b"com2sec " {
        // The name, the source, the community.
        for _ in 0..2 {
            start = word(bytes, start).0.1;
        }
    }
    let (mut value, quoted) = word(bytes, start);
    // `password 7 094F471A`: the digit says how it is written.
    let typed = value.1 - value.0 == 1 && at(bytes, value.0).is_ascii_digit();
    if typed {
        value = word(bytes, value.1).0;
    }
    let text = cut(bytes, value.0, value.1);
    let plain = text.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'-');
    let sound = text.len() >= 4
        && (typed || quoted || *sure || !plain)
        && !is_placeholder(text)
        && !WORDS.contains(&text);
    if sound {
        found(Hit::secret(value.0, value.1, Coded::DeviceSecret.index(), 0.75, 2));
    }
}

/// `createUser NAME SHA "key" AES "key"`
fn user_keys(bytes: &[u8], line: usize, from: usize, mut found: impl FnMut(Hit)) {
    let mut place = from;
    let mut says = false;
    if line != from - "createUser ".len() {
        return;
    }
    for _ in 0..6 {
        let ((start, end), quoted) = word(bytes, place);
        let text = cut(bytes, start, end);
        if says && text.len() >= 8 && !is_placeholder(text) {
            found(Hit::secret(start, end, Coded::DeviceSecret.index(), 0.8, 2));
        }
        says =
            text.starts_with(b"SHA") || text.starts_with(b"AES") || matches!(text, b"MD5" | b"DES");
        // The closing quote belongs to the word.
        place = end + usize::from(quoted);
    }
}

/// Where the line of `place` begins, without its blanks and what may stand before a command; `None`: it is not near.
fn line_start(bytes: &[u8], place: usize) -> Option<usize> {
    const LINE_BYTES_MAX: usize = 160;
    let low = place.saturating_sub(LINE_BYTES_MAX);
    let line = match memchr::memrchr(b'\n', cut(bytes, low, place)) {
        Some(line) => low + line + 1,
        None if low == 0 => 0,
        None => return None,
    };
    Some(run_end(bytes, line, BLANKS).min(place))
}

/// The word at or behind `from` on its line, without quotes, and whether it had some.
fn word(bytes: &[u8], from: usize) -> ((usize, usize), bool) {
    let start = run_end(bytes, from, BLANKS);
    let quote = at(bytes, start);
    let quoted = matches!(quote, b'"' | b'\'');
    let open = start + usize::from(quoted);
    let ends = |byte: &u8| match byte {
        b'\n' | b'\r' => true,
        byte if quoted => *byte == quote,
        b' ' | b'\t' | b';' | b',' => true,
        _ => false,
    };
    let rest = cut(bytes, open, bytes.len());
    let end = open + rest.iter().position(ends).unwrap_or(rest.len());
    ((open, end), quoted)
}

/// `host:port:database:user:password`, whose port stands at `cue`.
pub(crate) fn pgpass(bytes: &[u8], cue: usize) -> Option<Hit> {
    const HOST_BYTES_MAX: usize = 80;
    let part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"-_.*/".contains(byte);
    let head = cut(bytes, cue.saturating_sub(HOST_BYTES_MAX), cue);
    let host = head.iter().rev().take_while(part).count();
    if host == 0 || !matches!(before(bytes, cue - host), 0 | b'\n') {
        return None;
    }
    let mut place = cue + 1;
    for _ in 0..3 {
        let rest = cut(bytes, place, place + HOST_BYTES_MAX);
        let len = rest.iter().take_while(part).count();
        if len == 0 || at(rest, len) != b':' {
            return None;
        }
        place += len + 1;
    }
    let rest = cut(bytes, place, bytes.len());
    let end = place + rest.iter().position(|byte| byte.is_ascii_whitespace()).unwrap_or(rest.len());
    let value = cut(bytes, place, end);
    // A colon of a password is escaped: more of them are another file (`/etc/shadow`).
    let fields = value.windows(2).any(|pair| matches!(pair, [a, b':'] if *a != b'\\'));
    (value.len() >= 3 && !fields && !is_placeholder(value))
        .then(|| Hit::secret(place, end, Coded::PgpassLine.index(), 0.85, 2))
}

/// `jdbc:oracle:thin:user/password@host`, whose driver's name begins at `cue`.
pub(crate) fn oracle(bytes: &[u8], cue: usize, len: usize) -> Option<Hit> {
    const USER: ByteSet =
        ByteSet::of("_$").with_range(b'0', b'9').with_range(b'a', b'z').with_range(b'A', b'Z');
    let slash = run_end(bytes, cue + len, USER);
    let rest = cut(bytes, slash + 1, slash + 64);
    let end = rest.iter().position(|byte| matches!(byte, b'@' | b'/' | b'"' | b' ' | b'\n'))?;
    let sound = slash > cue + len && at(bytes, slash) == b'/' && at(rest, end) == b'@';
    (sound && end >= 3 && !is_placeholder(cut(rest, 0, end)))
        .then(|| Hit::secret(slash + 1, slash + 1 + end, Coded::UrlPassword.index(), 0.85, 3))
}

/// The answer in `Authorization: Digest username="x", .. response="..."`: enough to guess the password by.
pub(crate) fn digest(bytes: &[u8], cue: usize, len: usize) -> Option<Hit> {
    const HEADER_BYTES_MAX: usize = 512;
    let head = cut(bytes, cue.saturating_sub(HEADER_BYTES_MAX), cue);
    memchr::memmem::rfind(head, b"Digest ")?;
    let ((start, end), _) = word(bytes, cue + len);
    let value = cut(bytes, start, end);
    let hex = value.len() >= 32 && value.iter().all(u8::is_ascii_hexdigit);
    hex.then(|| Hit::secret(start, end, Coded::DigestHeader.index(), 0.8, 2))
}

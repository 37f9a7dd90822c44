//! Passwords that stand at a place of a call which only its name explains: `server.login("me", "x")`,
//! `WiFi.begin("net", "x")`, `ConvertTo-SecureString "x"`.

use crate::ascii::{ByteSet, at, cut, run_end};
use crate::hit::Hit;
use crate::rules::Coded;
use crate::value::{Strength, Written, assess};

/// Calls whose second argument is a password.
pub(crate) const CALL_CUES: &[&str] = &[
    "BasicAuth(",
    "WiFi.begin(",
    ".login(",
    "NetworkCredential(",
    "PasswordCredentials(",
    "PasswordAuthentication(",
    "ConvertTo-SecureString ",
];
/// Longest first argument, in bytes.
const ARGUMENT_BYTES_MAX: usize = 80;

/// The password in the call whose name stands at `hit`.
pub(crate) fn password(bytes: &[u8], hit: usize, len: usize) -> Option<Hit> {
    const BLANKS: ByteSet = ByteSet::of(" ");
    let mut place = run_end(bytes, hit + len, BLANKS);
    if at(bytes, hit + len - 1) == b'(' {
        let first = cut(bytes, place, place + ARGUMENT_BYTES_MAX);
        let part = |byte: &&u8| !matches!(byte, b',' | b'(' | b')' | b'\n' | b';');
        let comma = first.iter().take_while(part).count();
        if comma == 0 || at(first, comma) != b',' {
            return None;
        }
        place = run_end(bytes, place + comma + 1, BLANKS);
    }
    let quote = at(bytes, place);
    if !matches!(quote, b'"' | b'\'') {
        return None;
    }
    let start = place + 1;
    let rest = cut(bytes, start, start + ARGUMENT_BYTES_MAX);
    let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\\') || *byte == quote)?;
    let value = cut(rest, 0, end);
    if at(rest, end) != quote {
        return None;
    }
    let score = assess(value, quote, Strength::Password, Written::Quoted)?;
    let rule = Coded::PasswordAssignment.index();
    Some(Hit::secret(start, start + end, rule, score, 1).as_whole(true))
}

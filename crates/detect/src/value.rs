//! Whether an assigned value can be a secret at all: placeholders, code and look-alikes are refused
//! before entropy has a say.
//!
//! The judgement is by the form of the value and of the assignment, never by a list of known
//! passwords. It refuses what a reader would: references (`${X}`, `os.environ`), templates, words for
//! "fill in here", function calls, paths, versions, stamps.

use crate::ascii::{Words, at, is_word};

/// How much the key says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strength {
    /// `password`: any value may be one.
    Password,
    /// `token`, `secret`: the value must look made by a machine.
    Secret,
    /// `key`: the value must look random.
    Weak,
}

/// How the value was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// Between quotes.
    Quoted,
    /// Unquoted in a place where only a literal can stand (`.env`, YAML, URL query, CSV, table, XML).
    Literal,
    /// Unquoted where it may as well be code.
    Bare,
}

/// Shannon entropy in bits a byte.
pub(crate) fn entropy(bytes: &[u8]) -> f32 {
    let mut counts = [0u32; 256];
    for byte in bytes {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let total = bytes.len() as f32;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = *count as f32 / total;
            -share * share.log2()
        })
        .sum()
}

/// Which classes of characters a value has.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Classes {
    pub(crate) lower: usize,
    pub(crate) upper: usize,
    pub(crate) digit: usize,
    pub(crate) space: usize,
    pub(crate) other: usize,
}

impl Classes {
    pub(crate) fn of(value: &[u8]) -> Self {
        let mut classes = Self::default();
        for byte in value {
            match byte {
                b'a'..=b'z' => classes.lower += 1,
                b'A'..=b'Z' => classes.upper += 1,
                b'0'..=b'9' => classes.digit += 1,
                b' ' | b'\t' | b'\r' | b'\n' => classes.space += 1,
                _ => classes.other += 1,
            }
        }
        classes
    }

    fn letters(self) -> usize {
        self.lower + self.upper
    }
}

static FILL_IN: Words<55> = Words::new([
    "example",
    "placeholder",
    "your_",
    "your-",
    "your ",
    "yourpass",
    "yourtoken",
    "yourkey",
    "yoursecret",
    "changeme",
    "change-me",
    "change_me",
    "replace",
    "redacted",
    "insert",
    "dummy",
    "xxxx",
    "****",
    "....",
    "todo",
    "fixme",
    "<your",
    "not-a-real",
    "notreal",
    "fake",
    "goes-here",
    "goes_here",
    "process.env",
    "os.environ",
    "getenv",
    "env(",
    "secrets.",
    "vault:",
    "op://",
    "ref+",
    "!ref",
    "enc[",
    "arn:aws",
    "lorem",
    "sha256:",
    "sha512-",
    "sha384-",
    "sha1-",
    "sha256=",
    "sha384=",
    "sha512=",
    "%s",
    "[:",
    "([",
    "(?",
    "[0-9",
    "1234567890abcdef",
    "abcdefghij",
    "deadbeef",
    "cafebabe",
]);

const WORDS: &[&str] = &[
    "null",
    "none",
    "nil",
    "undefined",
    "true",
    "false",
    "string",
    "password",
    "passwd",
    "pwd",
    "pass",
    "secret",
    "token",
    "key",
    "value",
    "required",
    "optional",
    "enabled",
    "disabled",
    "yes",
    "no",
    "n/a",
    "empty",
    "default",
    "hidden",
    "unknown",
    "text",
    "str",
    "int",
    "bytes",
    "bool",
    "boolean",
    "varchar",
    "u8",
    "u32",
    "u64",
    "i32",
    "i64",
    "__u8",
    "__u16",
    "__u32",
    "__u64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "char",
    "object",
    "number",
    "basic",
    "bearer",
    "oauth",
    "oauth2",
    "jwt",
    "admin_password",
    "api_key",
    "apikey",
    "username",
    "user",
    "auth",
    "self",
    "this",
    "input",
    "email",
    "missing",
    "invalid",
    // Words of code: `case "password": return x`.
    "return",
    "break",
    "throw",
    "raise",
    "await",
    "function",
    "const",
];

/// Whether the value stands for another one, or for nothing.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    let Some(first) = value.first().copied() else { return true };
    let last = value.last().copied().unwrap_or(0);
    if value.iter().all(|byte| *byte == first) {
        return true;
    }
    let wrapped =
        matches!((first, last), (b'<', b'>') | (b'[', b']') | (b'{', b'}') | (b'%', b'%'));
    // A label mask whose closing bracket was not taken for part of the value.
    let label = first == b'['
        && value.len() > 3
        && value
            .iter()
            .skip(1)
            .take_while(|b| **b != b':')
            .all(|b| b.is_ascii_uppercase() || *b == b'_');
    let reference = first == b'$'
        && (is_word(at(value, 1)) || matches!(at(value, 1), b'{' | b'('))
        && !at(value, 1).is_ascii_digit()
        || contains(value, b"${")
        || contains(value, b"{{")
        || contains(value, b"$(")
        || contains(value, b"<%")
        || contains(value, b"%(")
        || contains(value, b"#{");
    let hidden = value.iter().filter(|byte| matches!(byte, b'*' | b'.' | b'#')).count() * 2
        > value.len()
        || contains(value, b"\xe2\x80\xa2"); // the bullet that forms show
    wrapped
        || label
        || reference
        || hidden
        || FILL_IN.any_in(value)
        || WORDS.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}

fn contains(hay: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(hay, needle).is_some()
}

/// How sure it is that `value` is a secret of that strength; `None`: it is none.
pub(crate) fn assess(value: &[u8], next: u8, strength: Strength, written: Written) -> Option<f32> {
    let classes = Classes::of(value);
    let score = match strength {
        Strength::Password => assess_password(value, classes, written),
        Strength::Secret => assess_secret(value, classes, written),
        Strength::Weak => assess_weak(value, classes),
    }?;
    // The dearest question comes last.
    (!is_reference(value, next, written) && !is_placeholder(value)).then_some(score)
}

/// Code and links: a call, a member of something, a path, an address.
fn is_reference(value: &[u8], next: u8, written: Written) -> bool {
    if contains(value, b"://")
        || value.starts_with(b"/") && value.iter().filter(|b| **b == b'/').count() > 1
    {
        return true;
    }
    // Where it is read from, as a path or as programs like openssl name it.
    let sources: [&[u8]; 6] = [b"./", b"~/", b"../", b"env:", b"file:", b"fd:"];
    if sources.iter().any(|source| value.starts_with(source)) {
        return true;
    }
    if written == Written::Quoted {
        // Backticks quote code.
        return next == b'`' && contains(value, b"::");
    }
    // A number as code writes it.
    let literal = value.len() <= 10 && value.starts_with(b"0x");
    if literal && value.iter().skip(2).all(u8::is_ascii_hexdigit) {
        return true;
    }
    // `config.get(server`: a call, whose name is lower-case.
    let head = value.iter().take_while(|byte| byte.is_ascii_lowercase() || b"_.".contains(byte));
    let call_head = head.count();
    if call_head > 0 && at(value, call_head) == b'(' {
        return true;
    }
    let call = next == b'(' || value.ends_with(b"(") || contains(value, b"::");
    let sign = matches!(value.first(), Some(b'&' | b'*')) && at(value, 1).is_ascii_lowercase();
    let member = contains(value, b".")
        && value.len() < 64
        && value.split(|byte| *byte == b'.').all(|part| {
            part.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
                && part.iter().all(|byte| is_word(*byte))
        });
    let named =
        value.iter().all(|byte| is_word(*byte) || *byte == b'.') && NAMES_OF_SECRETS.any_in(value);
    if call || sign || member && named {
        return true;
    }
    let code = contains(value, b"(") || contains(value, b"->");
    written == Written::Bare
        && (code
            || member
            || matches!(value.first(), Some(b'&' | b'*' | b'@' | b'!' | b'-' | b'+')))
}

static NAMES_OF_SECRETS: Words<6> = Words::new(["token", "secret", "passw", "pwd", "cred", "auth"]);

fn assess_password(value: &[u8], classes: Classes, written: Written) -> Option<f32> {
    if value.len() < 4 || value.len() > 256 {
        return None;
    }
    if classes.space > 0 {
        // A passphrase has no sentence's punctuation; a hint or an error message has.
        if written == Written::Literal {
            return (classes.upper + classes.digit + classes.other == 0).then_some(0.55);
        }
        let machine = classes.digit > 0 && classes.other > 0 && classes.space < 3;
        return (machine && written == Written::Quoted).then_some(0.6);
    }
    let mixed = classes.digit > 0 || classes.other > 0;
    let label = classes.upper == 1
        && value.first().is_some_and(u8::is_ascii_uppercase)
        && classes.lower + 1 == value.len();
    match written {
        Written::Quoted if mixed => looks_named(value).then_some(0.45).or(Some(0.85)),
        Written::Quoted => (!label).then_some(if classes.upper > 0 { 0.7 } else { 0.55 }),
        Written::Literal if mixed => looks_named(value).then_some(0.45).or(Some(0.8)),
        Written::Literal => (!label && value.len() >= 5).then_some(0.55),
        Written::Bare => (mixed && classes.digit > 0 && !looks_named(value)).then_some(0.65),
    }
}

/// Whether a text under the very key of a password may be one for all that it reads like a name: lower-case
/// words joined by hyphens, as password managers make them. Two words without a digit are rather a style or a
/// state (`form-control`, `not-set`), and what speaks of secrets names one that is kept elsewhere.
pub(crate) fn is_passphrase(value: &[u8]) -> bool {
    let words = || value.split(|byte| *byte == b'-');
    let is_word = |word: &[u8]| {
        !word.is_empty()
            && word.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    (8..=128).contains(&value.len())
        && words().all(is_word)
        && words().count() >= if value.iter().any(u8::is_ascii_digit) { 2 } else { 3 }
        && !NAMES_OF_SECRETS.any_in(value)
        && !is_placeholder(value)
}

/// Words joined by `_`, `-` or `.`, or in camel case: a name for something rather than the thing.
fn looks_named(value: &[u8]) -> bool {
    let joined = value.iter().any(|byte| matches!(byte, b'_' | b'-' | b'.' | b'/'));
    joined
        && value.split(|byte| matches!(byte, b'_' | b'-' | b'.' | b'/')).all(|part| {
            let letters = part.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
            let digits = part.len() - letters;
            part.iter().all(u8::is_ascii_alphanumeric)
                && part.iter().skip(letters).all(u8::is_ascii_digit)
                && (digits == 0 || letters == 0 && digits < 4 || digits <= 2 && letters > 2)
                && (part.iter().all(|byte| !byte.is_ascii_uppercase())
                    || part.iter().skip(1).all(|byte| !byte.is_ascii_uppercase())
                    || part.iter().all(|byte| !byte.is_ascii_lowercase()))
        })
}

fn assess_secret(value: &[u8], classes: Classes, written: Written) -> Option<f32> {
    let least = if written == Written::Bare { 10 } else { 8 };
    if value.len() < least || classes.space > 0 || !value.is_ascii() {
        return None;
    }
    // `TokenStream2`: a name that speaks of secrets is none.
    let named = value.iter().all(|byte| is_word(*byte))
        && value.len() < 24
        && (NAMES_OF_SECRETS.any_in(value) || value.ends_with(b"Key"));
    if named || classes.letters() == 0 && value.len() < 12 || looks_named(value) || is_stamp(value)
    {
        return None;
    }
    let bits = entropy(value);
    let random = classes.digit > 0 && classes.letters() > 0;
    let long = value.len() >= 16;
    let least_bits = if long { 3.0 } else { 2.5 };
    if bits < least_bits {
        return None;
    }
    if random {
        return Some(if long { 0.85 } else { 0.7 });
    }
    // Letters only: random ones change case often, words hardly do.
    let changes = value
        .windows(2)
        .filter(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()))
        .count();
    let code = written == Written::Bare;
    if long
        && !code
        && classes.upper > 0
        && classes.lower > 0
        && changes * 6 > value.len()
        && bits > 3.5
    {
        return Some(0.6);
    }
    // Words joined by signs that join words are a name.
    let strange = value.iter().any(|byte| !byte.is_ascii_alphabetic() && !b"._-:/".contains(byte));
    (strange && classes.letters() > 0 && written == Written::Quoted && value.len() >= 10)
        .then_some(0.55)
}

fn assess_weak(value: &[u8], classes: Classes) -> Option<f32> {
    if !(20..=256).contains(&value.len()) || classes.space > 0 || looks_named(value) {
        return None;
    }
    let hex = value.iter().all(u8::is_ascii_hexdigit);
    let enough = classes.digit >= 2 && classes.letters() >= 4;
    let mixed = classes.upper > 0 && classes.lower > 0;
    let strange = value
        .iter()
        .any(|byte| !is_word(*byte) && !matches!(byte, b'-' | b'+' | b'/' | b'=' | b'.' | b'~'));
    if hex || strange || !enough {
        return None;
    }
    if mixed {
        return (entropy(value) >= 3.7).then_some(0.6);
    }
    // In one case only, digits must stand between letters all the time.
    let changes = value
        .windows(2)
        .filter(|pair| matches!(pair, [a, b] if a.is_ascii_digit() != b.is_ascii_digit()))
        .count();
    (changes * 4 >= value.len() && entropy(value) >= 3.4).then_some(0.55)
}

/// Dates, times, versions and plain numbers.
fn is_stamp(value: &[u8]) -> bool {
    value.iter().all(|byte| {
        byte.is_ascii_digit() || matches!(byte, b'-' | b':' | b'.' | b'T' | b'Z' | b'+' | b'v')
    })
}

#[cfg(test)]
mod tests {
    use super::{Strength, Written, assess, is_passphrase, is_placeholder};

    #[test]
    fn a_placeholder_is_no_secret() {
        for value in [
            "",
            "xxxxxxxx",
            "<password>",
            "${DB_PASSWORD}",
            "$PASSWORD",
            "{{ secret }}",
            "YOUR_API_KEY",
            "changeme",
            "********",
            "process.env.TOKEN",
            "[SECRET]",
            "null",
        ] {
            assert!(is_placeholder(value.as_bytes()), "{value}");
        }
        assert!(!is_placeholder(b"hunter2"));
    }

    #[test]
    fn code_and_names_are_no_secrets() {
        for value in [
            "getPassword",
            "self.password1",
            "String",
            "my-secret-name",
            "2024-01-02T03:04:05Z",
            "1.2.3",
        ] {
            assert_eq!(
                assess(value.as_bytes(), b' ', Strength::Secret, Written::Bare),
                None,
                "{value}"
            );
        }
    }

    #[test]
    fn words_under_the_key_of_a_password_may_be_one() {
        for value in ["correct-horse-battery", "sunny-day-42", "tiger-7-lake-oslo"] {
            assert!(is_passphrase(value.as_bytes()), "{value}");
        }
        for value in [
            "form-control",
            "my-app-db-credentials",
            "prod-db-password-1",
            "kv/prod/db",
            "DB-PROD-MAIN",
            "enter-your-password",
            "correct--horse-battery",
        ] {
            assert!(!is_passphrase(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn a_password_may_be_short_and_a_token_must_look_made() {
        assert!(assess(b"hunter2", b'"', Strength::Password, Written::Quoted).is_some());
        assert!(assess(b"123456", b' ', Strength::Password, Written::Literal).is_some());
        assert!(assess(b"hunter2", b'"', Strength::Secret, Written::Quoted).is_none());
        assert!(assess(b"a8Kd72Lq9ZpX", b'"', Strength::Secret, Written::Quoted).is_some());
    }
}

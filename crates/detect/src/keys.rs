//! Key names: which names say that their value is a secret.
//!
//! A keyword inside a name counts when it ends the name, or when what follows it does not turn it into
//! something about the secret (`token_type`, `password_hash_rounds`, `secretName`).

use std::cell::RefCell;

use crate::ascii::{Letters, at, before, cut};
use crate::limits::NAME_BYTES_MAX;
use crate::secrets::is_uuid;
use crate::value::Strength;

/// Keywords and what they say.
pub(crate) const KEYWORDS: &[(&str, Strength)] = &[
    ("password", Strength::Password),
    ("passwd", Strength::Password),
    ("passphrase", Strength::Password),
    ("passcode", Strength::Password),
    ("pwd", Strength::Password),
    ("pass", Strength::Password),
    ("密码", Strength::Password),
    ("口令", Strength::Password),
    ("passwort", Strength::Password),
    ("kennwort", Strength::Password),
    ("contraseña", Strength::Password),
    ("mot de passe", Strength::Password),
    ("senha", Strength::Password),
    ("пароль", Strength::Password),
    ("パスワード", Strength::Password),
    ("비밀번호", Strength::Password),
    ("hasło", Strength::Password),
    ("heslo", Strength::Password),
    ("lösenord", Strength::Password),
    ("wachtwoord", Strength::Password),
    ("passord", Strength::Password),
    ("kodeord", Strength::Password),
    ("salasana", Strength::Password),
    ("jelszó", Strength::Password),
    ("şifre", Strength::Password),
    ("motdepasse", Strength::Password),
    ("mot_de_passe", Strength::Password),
    ("contrasena", Strength::Password),
    ("mật khẩu", Strength::Password),
    ("kata sandi", Strength::Password),
    ("كلمة المرور", Strength::Password),
    ("كلمة السر", Strength::Password),
    ("סיסמה", Strength::Password),
    ("รหัสผ่าน", Strength::Password),
    ("暗証番号", Strength::Password),
    ("验证码", Strength::Password),
    ("identified by", Strength::Password),
    ("verification code", Strength::Password),
    ("verification_code", Strength::Password),
    ("security code", Strength::Password),
    ("one-time code", Strength::Password),
    ("one time code", Strength::Password),
    ("psk", Strength::Password),
    ("otp", Strength::Password),
    ("pin", Strength::Password),
    ("pw", Strength::Password),
    ("passkey", Strength::Secret),
    ("cookie", Strength::Secret),
    ("sessid", Strength::Secret),
    ("session_id", Strength::Secret),
    ("session-id", Strength::Secret),
    ("sessionid", Strength::Secret),
    ("session_key", Strength::Secret),
    ("connect.sid", Strength::Secret),
    ("license key", Strength::Secret),
    ("licence key", Strength::Secret),
    ("product key", Strength::Secret),
    ("activation key", Strength::Secret),
    ("activation_code", Strength::Secret),
    ("activation code", Strength::Secret),
    ("recovery key", Strength::Secret),
    ("encryption key", Strength::Secret),
    ("recovery_code", Strength::Secret),
    ("backup_code", Strength::Secret),
    ("salt", Strength::Secret),
    ("pepper", Strength::Secret),
    ("jwt", Strength::Secret),
    ("secret", Strength::Secret),
    ("token", Strength::Secret),
    ("apikey", Strength::Secret),
    ("api_key", Strength::Secret),
    ("api-key", Strength::Secret),
    ("api key", Strength::Secret),
    ("access_key", Strength::Secret),
    ("access-key", Strength::Secret),
    ("accesskey", Strength::Secret),
    ("credential", Strength::Secret),
    ("private_key", Strength::Secret),
    ("privatekey", Strength::Secret),
    ("private-key", Strength::Secret),
    ("signing_key", Strength::Secret),
    ("encryption_key", Strength::Secret),
    ("auth", Strength::Secret),
    ("bearer", Strength::Secret),
    ("密钥", Strength::Secret),
    ("令牌", Strength::Secret),
    ("秘钥", Strength::Secret),
    ("key", Strength::Weak),
];

/// The short word for password with what may stand behind it.
pub(crate) const PW: &[&str] = &["pw=", "pw:", "pw\"", "pw'", "pw "];

/// How many keywords are ruled out at once.
const GROUP: usize = 8;

/// The letters of each keyword, so that most names are done with at once.
const LETTERS: [Letters; KEYWORDS.len()] = {
    let mut all = [Letters::of(b""); KEYWORDS.len()];
    let mut rest = KEYWORDS;
    let mut places: &mut [Letters] = &mut all;
    while let ([(keyword, _), tail @ ..], [place, free @ ..]) = (rest, places) {
        *place = Letters::of(keyword.as_bytes());
        rest = tail;
        places = free;
    }
    all
};

/// Last parts of a name that make it speak about a secret rather than hold one.
const ABOUT: &[&str] = &[
    "type",
    "types",
    "name",
    "names",
    "id",
    "ids",
    "count",
    "length",
    "len",
    "size",
    "url",
    "uri",
    "endpoint",
    "path",
    "file",
    "filename",
    "dir",
    "folder",
    "hash",
    "hashes",
    "digest",
    "ttl",
    "expiry",
    "expires",
    "expiration",
    "expire",
    "expired",
    "at",
    "in",
    "field",
    "fields",
    "policy",
    "regex",
    "pattern",
    "min",
    "max",
    "limit",
    "prefix",
    "suffix",
    "header",
    "headers",
    "env",
    "var",
    "label",
    "hint",
    "reset",
    "resets",
    "required",
    "enabled",
    "disabled",
    "algorithm",
    "alg",
    "format",
    "error",
    "message",
    "rounds",
    "strength",
    "input",
    "placeholder",
    "version",
    "ref",
    "manager",
    "store",
    "provider",
    "service",
    "server",
    "host",
    "port",
    "method",
    "mode",
    "scope",
    "scopes",
    "status",
    "valid",
    "usage",
    "budget",
    "limits",
    "index",
    "position",
    "class",
    "form",
    "rotation",
    "age",
    "changed",
    "date",
    "time",
    "timeout",
    "fingerprint",
    "thumbprint",
    "encoder",
    "handler",
    "controller",
    "generator",
    "validator",
    "source",
    "issuer",
    "audience",
    "realm",
    "domain",
    "user",
    "username",
    "uuid",
    "arn",
    "code",
    "mgr",
    "events",
    // Names of files: `key_pairs.py`, `secret.yaml`.
    "py",
    "pyi",
    "rs",
    "js",
    "ts",
    "go",
    "java",
    "rb",
    "php",
    "html",
    "css",
    "json",
    "yaml",
    "yml",
    "toml",
    "xml",
    "md",
    "rst",
    "txt",
    "log",
    "pem",
    "crt",
    "cert",
    "pub",
];

/// Words before `token` that make it a place in a list, a mark against doing twice, or a piece of text: whoever has
/// one may do nothing with it, and an agent needs it.
const OPEN_TOKENS: &[&[u8]] = &[
    b"next",
    b"continuation",
    b"page",
    b"pagination",
    b"idempotency",
    b"lock",
    b"sync",
    b"cancellation",
    b"request",
    b"cursor",
    b"scroll",
    b"eos",
    b"bos",
    b"pad",
    b"unk",
    b"mask",
    b"sep",
    b"cls",
    b"output",
    b"input",
    b"prompt",
    b"completion",
];

/// Short words that mean something else as soon as another word follows (`PSK_KE`, `pass_by_value`), but for those
/// that tell one environment or try from another.
const SHORT: &[&[u8]] = &[b"pass", b"pin", b"otp", b"psk", b"pw", b"auth"];
const ENVIRONMENTS: &[&[u8]] = &[
    b"prod",
    b"production",
    b"dev",
    b"development",
    b"stage",
    b"staging",
    b"test",
    b"live",
    b"old",
    b"new",
    b"main",
    b"primary",
    b"secondary",
    b"backup",
    b"value",
    b"header",
    b"phrase",
    b"word",
];

/// Words before `key` that make it name a secret as surely as `token` does.
const SECRET_KEYS: &[&str] = &[
    "access",
    "account",
    "activation",
    "api",
    "app",
    "auth",
    "consumer",
    "deploy",
    "encryption",
    "hmac",
    "licence",
    "license",
    "machine",
    "master",
    "preshared",
    "private",
    "product",
    "recovery",
    "secret",
    "shared",
    "sign",
    "signing",
    "storage",
    "subscription",
    "vault",
    "webhook",
];

/// First parts that do the same for `key`, and plain words that end in it.
const PLAIN_KEYS: &[&str] = &[
    "public",
    "primary",
    "foreign",
    "cache",
    "sort",
    "partition",
    "hot",
    "mon",
    "tur",
    "don",
    "jo",
    "s3",
    "object",
    "map",
    "group",
    "routing",
    "row",
    "composite",
    "unique",
    "shard",
    "translation",
    "i18n",
    "locale",
    "dict",
    "storage",
    "query",
    "search",
    "idempotency",
];

/// How strongly the name speaks with the keyword of `len` bytes at `offset` in it; `None`: not at all.
pub(crate) fn speaks(
    name: &[u8],
    offset: usize,
    len: usize,
    strength: Strength,
) -> Option<Strength> {
    let first = at(name, offset);
    let keyword = cut(name, offset, offset + len);
    if !keyword.is_ascii() {
        return Some(strength);
    }
    if len <= 4 && !opens(name, offset, first) && !is_glued(cut(name, 0, offset), strength) {
        return None;
    }
    let tail = cut(name, offset + len, name.len());
    let tail = if keyword.eq_ignore_ascii_case(b"credential") {
        tail.strip_prefix(b"s").unwrap_or(tail)
    } else {
        tail
    };
    let tail = if keyword.eq_ignore_ascii_case(b"auth") && tail.eq_ignore_ascii_case(b"orization") {
        b""
    } else {
        tail
    };
    let next = at(tail, 0);
    let closes = !next.is_ascii_alphabetic()
        || next.is_ascii_uppercase()
            && cut(name, offset, offset + len).iter().any(u8::is_ascii_lowercase);
    if !closes {
        return None;
    }
    let last = last_part(tail);
    if ABOUT.iter().any(|word| last.eq_ignore_ascii_case(word.as_bytes())) {
        return None;
    }
    let in_list =
        |list: &[&[u8]], part: &[u8]| list.iter().any(|word| word.eq_ignore_ascii_case(part));
    let worded = last.iter().any(u8::is_ascii_alphabetic);
    let one = tail.len() <= last.len() + 1;
    if worded && in_list(SHORT, keyword) && !(one && in_list(ENVIRONMENTS, last)) {
        return None;
    }
    // What every visitor of a page gets is no secret.
    let open = [b"csrf".as_slice(), b"xsrf", b"authenticity", b"public", b"pub", b"publishable"];
    let lead = last_part(trim_joint(cut(name, 0, offset)));
    let token = keyword.eq_ignore_ascii_case(b"token") && in_list(OPEN_TOKENS, lead);
    if token || open.iter().any(|word| lead.eq_ignore_ascii_case(word)) {
        return None;
    }
    if strength == Strength::Weak {
        let head = cut(name, 0, offset);
        if PLAIN_KEYS.iter().any(|word| lead.eq_ignore_ascii_case(word.as_bytes()))
            || head.is_empty() && tail.is_empty()
        {
            return None;
        }
        if tail.is_empty()
            && SECRET_KEYS.iter().any(|word| lead.eq_ignore_ascii_case(word.as_bytes()))
        {
            return Some(Strength::Secret);
        }
    }
    Some(strength)
}

/// Whether a short keyword begins a word of the name: `PASS` in `COMPASS` or `key` in `monkey` does not.
fn opens(name: &[u8], offset: usize, first: u8) -> bool {
    let previous = before(name, offset);
    !previous.is_ascii_alphabetic() || first.is_ascii_uppercase() && previous.is_ascii_lowercase()
}

/// Whether a short keyword is written right behind a word that it is at home with: `dbpass`.
fn is_glued(head: &[u8], strength: Strength) -> bool {
    const LEADS: [&[u8]; 16] = [
        b"db", b"my", b"user", b"root", b"admin", b"smtp", b"mail", b"redis", b"sudo", b"o",
        b"require", b"bind", b"ldap", b"ftp", b"vnc", b"ssh",
    ];
    // `--requirepass`: the hyphens are the flag's.
    let flags = head.iter().take_while(|byte| **byte == b'-').count();
    let head = cut(head, flags, head.len());
    strength != Strength::Weak && LEADS.iter().any(|lead| head.eq_ignore_ascii_case(lead))
}

/// The name without a `_`, `-` or `.` at its end.
fn trim_joint(name: &[u8]) -> &[u8] {
    match name {
        [head @ .., b'_' | b'-' | b'.'] => head,
        _ => name,
    }
}

/// The last word of a name, by `_`, `-`, `.` or camel case.
fn last_part(name: &[u8]) -> &[u8] {
    let from = name
        .iter()
        .rposition(|byte| matches!(byte, b'_' | b'-' | b'.'))
        .map_or(0, |place| place + 1);
    let part = cut(name, from, name.len());
    let camel = part
        .windows(2)
        .rposition(
            |pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()),
        )
        .map_or(0, |place| place + 1);
    cut(part, camel, part.len())
}

/// What a name of two meanings holds in its other one: `"pass": 1024` counts what passed, a `pin` is one of a
/// circuit or of a version unless it looks like one of a card, and a session's id that is a UUID names the session
/// in logs, where one that lets its bearer in is hardly ever written so.
pub(crate) fn is_a_count(name: &[u8], value: &[u8]) -> bool {
    let digits = value.iter().all(u8::is_ascii_digit);
    let ends = |word: &[u8]| {
        name.len()
            .checked_sub(word.len())
            .is_some_and(|from| cut(name, from, name.len()).eq_ignore_ascii_case(word))
    };
    // A header of cookies has a reader of its own.
    if ends(b"cookie") {
        return value.contains(&b'=');
    }
    if ends(b"session_id") || ends(b"session-id") || ends(b"sessionid") {
        return is_uuid(value);
    }
    if ends(b"pin") || ends(b"otp") || ends(b"code") {
        return !(digits && (4..=8).contains(&value.len()));
    }
    // `token=token` passes on what is elsewhere.
    name.eq_ignore_ascii_case(b"pass") && digits || name == value
}

/// Whether a key of this name holds a secret, so that its value is one whatever it looks like.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    strength_of(name).is_some()
}

/// How many names a thread remembers what they say.
const KNOWN_NAMES: usize = 256;

thread_local! {
    /// Names that were asked for, each at the place of its hash. A document says a few names again and again, and
    /// each is asked for several times a value.
    static KNOWN: RefCell<Vec<(Box<str>, Option<Strength>)>> = const { RefCell::new(Vec::new()) };
}

/// How strongly a whole key name (of a JSON object, say) speaks.
pub(crate) fn strength_of(name: &str) -> Option<Strength> {
    // What is this long is no name but a text.
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let hash = name
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    KNOWN.with_borrow_mut(|known| {
        known.resize_with(KNOWN_NAMES, Default::default);
        let Some(place) = known.get_mut(hash as usize % KNOWN_NAMES) else {
            return strength_of_new(name);
        };
        if *place.0 != *name {
            *place = (name.into(), strength_of_new(name));
        }
        place.1
    })
}

fn strength_of_new(name: &str) -> Option<Strength> {
    let bytes = name.as_bytes();
    // What holds brackets is no name but a text.
    if bytes.iter().any(|byte| b"[]{}<>()\"'=".contains(byte)) {
        return None;
    }
    let letters = Letters::of(bytes);
    // A group at a time, for most names hold the letters of no keyword.
    let groups = KEYWORDS.chunks(GROUP).zip(LETTERS.chunks(GROUP));
    let possible = groups
        .filter(|(_, needed)| needed.iter().fold(false, |any, one| any | letters.hold(*one)))
        .flat_map(|(keywords, needed)| keywords.iter().zip(needed))
        .filter(|(_, needed)| letters.hold(**needed));
    possible.map(|(keyword, _)| keyword).find_map(|(keyword, strength)| {
        let offset = crate::ascii::find_folded(bytes, keyword.as_bytes())?;
        speaks(bytes, offset, keyword.len(), *strength)
    })
}

#[cfg(test)]
mod tests {
    use super::strength_of;
    use crate::value::Strength;

    #[test]
    fn a_name_speaks_when_its_value_would_be_the_secret() {
        for (name, strength) in [
            ("password", Some(Strength::Password)),
            ("DB_PASS", Some(Strength::Password)),
            ("dbPassword2", Some(Strength::Password)),
            ("clientSecret", Some(Strength::Secret)),
            ("x-api-key", Some(Strength::Secret)),
            ("MY_SERVICE_KEY", Some(Strength::Weak)),
            ("token_type", None),
            ("maxTokens", None),
            ("secretName", None),
            ("compass", None),
            ("author", None),
            ("monkey", None),
            ("pw", Some(Strength::Password)),
            ("DB_PW", Some(Strength::Password)),
            ("wifi_psk", Some(Strength::Password)),
            ("encryptionKey", Some(Strength::Secret)),
            ("LICENSE_KEY", Some(Strength::Secret)),
            ("PHPSESSID", Some(Strength::Secret)),
            ("sessionId", Some(Strength::Secret)),
            ("requirepass", Some(Strength::Password)),
            ("bindpw", Some(Strength::Password)),
            ("salt", Some(Strength::Secret)),
            ("saltLength", None),
            ("pinned", None),
            ("spin", None),
            ("cookiePolicy", None),
            ("option", None),
            ("keyboard", None),
            ("public_key", None),
        ] {
            assert_eq!(strength_of(name), strength, "{name}");
        }
    }
}

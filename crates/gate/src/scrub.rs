//! Scrubbing: what takes secrets out of records, whatever the hooks say (law 7).
//!
//! The gate calls it on every text that goes into the ledger. The form here knows marked lines, the
//! names that secrets are stored under, and the best-known token prefixes; the detector of
//! `tollgate-detect` takes its place where that crate is used.

use crate::json::{Json, Object};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// What stands where a secret stood.
pub const SCRUBBED: &str = "[SECRET]";

/// Takes secrets out of text.
pub trait Scrub: Send + Sync {
    /// The text without its secrets, or `None` when there is nothing to take out. `key` is the name
    /// under which the text stands, where it has one.
    fn scrub(&self, key: Option<&str>, text: &str) -> Option<String>;

    /// Whether whatever stands under this key is a secret.
    fn is_telling(&self, key: &str) -> bool {
        self.scrub(Some(key), "0").is_some()
    }

    /// A keyed digest of text, by which equal values can be recognised without being known. `None`
    /// when there is no key.
    fn digest(&self, _text: &str) -> Option<String> {
        None
    }

    /// Whether [`Scrub::digest`] has a key. Where it has none, the text is not even made.
    fn has_digest_key(&self) -> bool {
        false
    }
}

/// A JSON value without its secrets, or `None` when there is nothing to take out.
///
/// Keys are scrubbed too; types are kept, a scrubbed string stays a string.
pub fn scrub_json(scrub: &dyn Scrub, value: &Json) -> Option<Json> {
    scrub_value(scrub, None, value)
}

fn scrub_value(scrub: &dyn Scrub, key: Option<&str>, value: &Json) -> Option<Json> {
    match value {
        Json::String(text) => scrub.scrub(key, text).map(Json::String),
        Json::Number(number) => {
            // A short number says nothing by itself; only its key can make it a secret.
            let key = key.filter(|key| !number.is_short() || scrub.is_telling(key))?;
            scrub.scrub(Some(key), &number.literal()).map(Json::String)
        }
        Json::Array(items) => {
            let mut changed: Option<Vec<Json>> = None;
            for (at, item) in items.iter().enumerate() {
                if let Some(clean) = scrub_value(scrub, key, item)
                    && let Some(place) = changed.get_or_insert_with(|| items.clone()).get_mut(at)
                {
                    *place = clean;
                }
            }
            changed.map(Json::Array)
        }
        Json::Object(object) => scrub_object(scrub, object).map(Json::Object),
        Json::Null | Json::Bool(_) => None,
    }
}

/// Looks at every member once: nesting must not multiply the work.
fn scrub_object(scrub: &dyn Scrub, object: &Object) -> Option<Object> {
    let mut changes: HashMap<usize, (Option<String>, Option<Json>)> = HashMap::new();
    for (at, (key, value)) in object.iter().enumerate() {
        let change = (scrub.scrub(None, key), scrub_value(scrub, Some(key), value));
        if change.0.is_some() || change.1.is_some() {
            changes.insert(at, change);
        }
    }
    if changes.is_empty() {
        return None;
    }
    let renames = changes.values().any(|(key, _)| key.is_some());
    let mut taken: HashSet<String> = HashSet::new();
    let mut out = Object::new();
    for (at, (key, value)) in object.iter().enumerate() {
        let (clean_key, clean) = changes.remove(&at).unwrap_or_default();
        let mut clean_key = clean_key.unwrap_or_else(|| key.to_owned());
        // Two secret keys must not become one.
        if renames && !taken.insert(clean_key.clone()) {
            clean_key = format!("{clean_key}#{at}");
            taken.insert(clean_key.clone());
        }
        out.push_new(clean_key, clean.unwrap_or_else(|| value.clone()));
    }
    Some(out)
}

/// Scrubs lines marked `SECRET`, values under telling names, and well-known tokens.
#[derive(Debug, Default)]
pub struct BasicScrub {
    key: Option<[u8; 32]>,
}

impl BasicScrub {
    /// Without digests.
    pub fn new() -> BasicScrub {
        BasicScrub::default()
    }

    /// With digests under this key.
    pub fn with_key(key: [u8; 32]) -> BasicScrub {
        BasicScrub { key: Some(key) }
    }
}

/// Parts of names under which secrets are stored.
const TELLING_NAMES: [&str; 9] = [
    "password",
    "passwd",
    "secret",
    "api_key",
    "apikey",
    "private_key",
    "access_token",
    "auth_token",
    "authorization",
];

/// How well-known tokens start, and how long they are at least.
const TOKEN_STARTS: [(&str, usize); 14] = [
    ("sk-", 20),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghs_", 30),
    ("github_pat_", 30),
    ("glpat-", 20),
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 30),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("npm_", 30),
    ("eyJ", 40),
    ("hf_", 30),
];

impl Scrub for BasicScrub {
    fn scrub(&self, key: Option<&str>, text: &str) -> Option<String> {
        if text.is_empty() {
            return None;
        }
        if key.is_some_and(is_telling) {
            return (text != SCRUBBED).then(|| SCRUBBED.to_owned());
        }
        if !may_hold_secret(text) {
            return None;
        }
        let mut out = String::with_capacity(text.len());
        let mut changed = false;
        let mut in_key_block = false;
        for line in text.split_inclusive('\n') {
            let body = line.trim_end_matches(['\n', '\r']);
            let starts_block = body.contains("-----BEGIN") && body.contains("PRIVATE KEY");
            in_key_block |= starts_block;
            if in_key_block || (body.contains("SECRET") && body != SCRUBBED) {
                changed = true;
                out.push_str(SCRUBBED);
            } else {
                changed |= scrub_tokens(body, &mut out);
            }
            in_key_block &= !(body.contains("-----END") && body.contains("PRIVATE KEY"));
            out.push_str(line.get(body.len()..).unwrap_or_default());
        }
        changed.then_some(out)
    }

    fn is_telling(&self, key: &str) -> bool {
        is_telling(key)
    }

    fn digest(&self, text: &str) -> Option<String> {
        let key = self.key?;
        let mut out = String::from("hmac-sha256:");
        for byte in hmac_sha256(&key, text.as_bytes()) {
            // Writing to a string cannot fail.
            let _ = write!(out, "{byte:02x}");
        }
        Some(out)
    }

    fn has_digest_key(&self) -> bool {
        self.key.is_some()
    }
}

/// Whether a key tells that a secret stands under it, whatever its case and with `-` for `_`.
fn is_telling(key: &str) -> bool {
    let plain = |byte: u8| if byte == b'-' { b'_' } else { byte.to_ascii_lowercase() };
    let key = key.as_bytes();
    (0..key.len()).any(|at| {
        let rest = key.get(at..).unwrap_or_default();
        // Only these letters start a telling name.
        rest.first().is_some_and(|first| matches!(plain(*first), b'a' | b'p' | b's'))
            && TELLING_NAMES.iter().any(|name| {
                let start = rest.get(..name.len()).unwrap_or_default();
                !start.is_empty() && start.iter().zip(name.bytes()).all(|(a, b)| plain(*a) == b)
            })
    })
}

/// A cheap look before any line is taken apart: one pass, no allocation.
fn may_hold_secret(text: &str) -> bool {
    let bytes = text.as_bytes();
    (0..bytes.len()).any(|at| {
        let rest = bytes.get(at..).unwrap_or_default();
        match rest.first() {
            Some(b'S') => rest.starts_with(b"SECRET"),
            Some(b'P') => rest.starts_with(b"PRIVATE KEY"),
            Some(b's' | b'g' | b'A' | b'x' | b'n' | b'e' | b'h') if starts_token(rest) => {
                TOKEN_STARTS
                    .iter()
                    .any(|(start, min)| rest.len() >= *min && rest.starts_with(start.as_bytes()))
            }
            Some(_) | None => false,
        }
    })
}

/// Whether the first two letters are those of a token: most words are passed by with that.
fn starts_token(rest: &[u8]) -> bool {
    matches!(
        rest,
        [b's', b'k', ..]
            | [b'g', b'h' | b'i' | b'l', ..]
            | [b'A', b'K' | b'S' | b'I', ..]
            | [b'x', b'o', ..]
            | [b'n', b'p', ..]
            | [b'e', b'y', ..]
            | [b'h', b'f', ..]
    )
}

/// Copies a line, tokens replaced; says whether there was one.
fn scrub_tokens(line: &str, out: &mut String) -> bool {
    let is_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut changed = false;
    let mut rest = line;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_token(c)).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        let found = TOKEN_STARTS
            .iter()
            .any(|(start, len_min)| word.len() >= *len_min && word.starts_with(start));
        out.push_str(if found { SCRUBBED } else { word });
        changed |= found;
        let skip = tail.find(is_token).unwrap_or(tail.len());
        let (between, next) = tail.split_at(skip);
        out.push_str(between);
        rest = next;
    }
    changed
}

/// HMAC with SHA-256 (RFC 2104), for keys of 32 bytes.
fn hmac_sha256(key: &[u8; 32], text: &[u8]) -> [u8; 32] {
    let mut pads = [[0x36u8; 64], [0x5cu8; 64]];
    for pad in &mut pads {
        for (byte, key) in pad.iter_mut().zip(key) {
            *byte ^= key;
        }
    }
    let [inner_pad, outer_pad] = pads;
    let inner = Sha256::new().chain_update(inner_pad).chain_update(text).finalize();
    Sha256::new().chain_update(outer_pad).chain_update(inner).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::{BasicScrub, SCRUBBED, Scrub, TOKEN_STARTS, hmac_sha256, scrub_json, starts_token};
    use crate::json::{Json, Object};

    fn scrub(text: &str) -> Option<String> {
        BasicScrub::new().scrub(None, text)
    }

    #[test]
    fn every_token_is_known_by_its_first_two_letters() {
        for (start, _) in TOKEN_STARTS {
            assert!(starts_token(start.as_bytes()), "{start}");
        }
    }

    #[test]
    fn marked_lines_tokens_and_key_blocks_are_taken_out() {
        assert_eq!(scrub("a = 1\nTOKEN = 'x' # SECRET\r\nb").unwrap(), "a = 1\n[SECRET]\r\nb");
        let token = format!("use ghp_{} now", "a1B2".repeat(9));
        assert_eq!(scrub(&token).unwrap(), "use [SECRET] now");
        let pem = "x\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\ny";
        assert_eq!(scrub(pem).unwrap(), "x\n[SECRET]\n[SECRET]\n[SECRET]\ny");
        assert_eq!(scrub("nothing to see: task-list, sketch, a.b"), None);
        assert_eq!(scrub(SCRUBBED), None);
    }

    #[test]
    fn values_under_telling_names_are_taken_out_and_json_stays_json() {
        let value = Json::read(br#"{"user":"a","Api-Key":"x","n":{"password":12345},"l":["ok"]}"#);
        let clean = scrub_json(&BasicScrub::new(), &value.unwrap()).unwrap();
        assert_eq!(
            clean.text(),
            r#"{"user":"a","Api-Key":"[SECRET]","n":{"password":"[SECRET]"},"l":["ok"]}"#
        );
        assert_eq!(scrub_json(&BasicScrub::new(), &clean), None);
    }

    #[test]
    fn a_secret_deep_down_is_found_in_linear_time() {
        let mut value = Json::from("SECRET");
        for _ in 0..120 {
            value = Object::from_iter([("k", value)]).into();
        }
        let clean = scrub_json(&BasicScrub::new(), &value).unwrap();
        assert!(clean.text().contains(SCRUBBED));
    }

    #[test]
    fn secret_keys_do_not_become_one_key() {
        let value = Json::read(br#"{"SECRET a":1,"SECRET b":2,"c":3}"#).unwrap();
        let clean = scrub_json(&BasicScrub::new(), &value).unwrap();
        assert_eq!(clean.text(), r#"{"[SECRET]":"[SECRET]","[SECRET]#1":"[SECRET]","c":3}"#);
        assert!(Json::read(clean.text().as_bytes()).is_ok());
    }

    #[test]
    fn digests_are_hmac_sha256() {
        // The inner construction checked against a value of RFC 4231 with its key padded to 32 bytes
        // is not published; equal keys and texts agree, others differ, and no key gives none.
        let (a, b) = (hmac_sha256(&[1; 32], b"x"), hmac_sha256(&[2; 32], b"x"));
        assert_ne!(a, b);
        assert_eq!(a, hmac_sha256(&[1; 32], b"x"));
        assert_eq!(BasicScrub::new().digest("x"), None);
    }
}

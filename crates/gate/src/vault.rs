//! The vault: data that hooks took out of what a session reads, kept so that a trusted tool can have them back.
//!
//! A datum goes in and a placeholder comes out: random, so that it tells nothing; the same for the same datum
//! within a session, so that the model can work with it; bound to tenant and session, so that it opens
//! nothing elsewhere. The gate itself never looks inside. Hooks keep data ([`Vault::keep`]) and ask for them
//! back by [`Reveal`]s in their opinion, which the gate applies behind everything else: votes, records,
//! approvals and explanations know placeholders only.
//!
//! Refused: a datum that cannot be kept goes nowhere (its hook masks it for good), and a vault that
//! cannot be read gives nothing back.

use crate::event::Name;
use crate::json::Json;
use crate::session::Session;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};

/// Most data that are kept of one session.
pub const KEPT_MAX: usize = 1_000;
/// Longest datum that is kept, in bytes.
pub const KEPT_BYTES_MAX: usize = 8 * 1024;

/// Whose data they are: a tenant's session with all its children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VaultOwner<'a> {
    /// The tenant; empty where there is none.
    pub tenant: &'a str,
    /// The session at the root.
    pub session: &'a str,
}

impl<'a> VaultOwner<'a> {
    /// The owner of what a session is shown.
    pub fn of(session: &'a Session) -> VaultOwner<'a> {
        VaultOwner {
            tenant: session.tenant.as_deref().unwrap_or_default(),
            session: session.root.as_deref().unwrap_or(&session.id),
        }
    }
}

/// A value that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden<T>(pub T);

impl<T> fmt::Debug for Hidden<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// A datum in the vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// What stands in its place.
    pub placeholder: Name,
    /// The datum.
    pub value: Hidden<Arc<str>>,
}

/// The vault failed; the cause never quotes a datum.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// It holds as many data of this session as it may, or the datum is too long.
    #[error(
        "the vault takes no more than {KEPT_MAX} data of a session, of {KEPT_BYTES_MAX} bytes each"
    )]
    Full,
    /// It cannot be read or written.
    #[error("the vault cannot be used: {0}")]
    Unusable(String),
}

/// Keeps data of sessions.
pub trait Vault: Send + Sync {
    /// Keeps a datum; its placeholder begins with `[LABEL:v`. The same datum of one owner has one placeholder.
    ///
    /// # Errors
    /// [`VaultError`]; nothing is kept then.
    fn keep(&self, owner: VaultOwner<'_>, label: &str, value: &str) -> Result<Name, VaultError>;

    /// All data of an owner, in the order in which they came.
    ///
    /// # Errors
    /// [`VaultError`] when it cannot be read.
    fn kept(&self, owner: VaultOwner<'_>) -> Result<Arc<Vec<Kept>>, VaultError>;
}

/// The placeholder of a datum: its label and 64 random bits.
pub fn placeholder(label: &str, random: [u8; 8]) -> Name {
    format!("[{label}:v{:016x}]", u64::from_be_bytes(random)).into()
}

/// The placeholder that the owner's datum has already; an error when there is room for no other.
///
/// # Errors
/// [`VaultError::Full`].
pub fn known(kept: &[Kept], value: &str) -> Result<Option<Name>, VaultError> {
    let found = kept.iter().find(|one| *one.value.0 == *value);
    if found.is_none() && (kept.len() >= KEPT_MAX || value.len() > KEPT_BYTES_MAX) {
        return Err(VaultError::Full);
    }
    Ok(found.map(|one| Name::clone(&one.placeholder)))
}

/// A datum that goes back into a call, behind everything that judges and records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reveal {
    /// The way to the argument: keys, and places in lists.
    pub path: Vec<Box<str>>,
    /// The placeholder that stands there, and nothing else.
    pub placeholder: Name,
    /// The datum.
    pub value: Hidden<Arc<str>>,
}

impl Reveal {
    /// Puts the datum in its place; whether the placeholder still stood there.
    pub(crate) fn apply(&self, part: &mut Json) -> bool {
        let mut at = part;
        for step in &self.path {
            let next = match at {
                Json::Object(object) => object.get_mut(step),
                Json::Array(items) => step.parse::<usize>().ok().and_then(|i| items.get_mut(i)),
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
            };
            let Some(next) = next else { return false };
            at = next;
        }
        let stands = at.as_str() == Some(&*self.placeholder);
        if stands {
            *at = Json::from(&*self.value.0);
        }
        stands
    }
}

/// Data by tenant and session.
type ByOwner = HashMap<(String, String), Arc<Vec<Kept>>>;

/// A vault in memory: for one process, for tests.
#[derive(Default)]
pub struct MemoryVault {
    all: Mutex<ByOwner>,
}

impl fmt::Debug for MemoryVault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryVault").finish_non_exhaustive()
    }
}

impl Vault for MemoryVault {
    fn keep(&self, owner: VaultOwner<'_>, label: &str, value: &str) -> Result<Name, VaultError> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (owner.tenant.to_owned(), owner.session.to_owned());
        let list = Arc::make_mut(all.entry(key).or_default());
        if let Some(placeholder) = known(list, value)? {
            return Ok(placeholder);
        }
        // Every state of the standard library's hasher has keys of its own.
        let random = RandomState::new().build_hasher().finish();
        let placeholder = placeholder(label, random.to_be_bytes());
        list.push(Kept { placeholder: Name::clone(&placeholder), value: Hidden(value.into()) });
        Ok(placeholder)
    }

    fn kept(&self, owner: VaultOwner<'_>) -> Result<Arc<Vec<Kept>>, VaultError> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (owner.tenant.to_owned(), owner.session.to_owned());
        Ok(all.get(&key).cloned().unwrap_or_default())
    }
}

/// Shortest datum that is looked for in what comes back, in bytes: shorter ones stand everywhere by chance.
const VEILED_BYTES_MIN: usize = 4;

/// The data of an owner in all the ways in which a tool may write them back, and their placeholders.
pub(crate) struct Veil {
    forms: Vec<(String, Name)>,
}

impl Veil {
    pub(crate) fn of(kept: &[Kept]) -> Veil {
        let mut forms = Vec::new();
        for one in kept.iter().filter(|one| one.value.0.len() >= VEILED_BYTES_MIN) {
            let value = &*one.value.0;
            forms.push((value.to_owned(), Name::clone(&one.placeholder)));
            for form in encodings(value) {
                if form != value && form.len() >= VEILED_BYTES_MIN {
                    forms.push((form, Name::clone(&one.placeholder)));
                }
            }
        }
        // A datum that holds another goes first.
        forms.sort_by_key(|(form, _)| std::cmp::Reverse(form.len()));
        Veil { forms }
    }

    /// The text with placeholders; `None`: none of the data stands in it.
    fn text(&self, text: &str) -> Option<String> {
        let mut veiled: Option<String> = None;
        for (form, placeholder) in &self.forms {
            let now = veiled.as_deref().unwrap_or(text);
            if now.contains(form.as_str()) {
                veiled = Some(now.replace(form.as_str(), placeholder));
            }
        }
        veiled
    }

    /// The value with placeholders in its texts and keys; `None`: it stays as it is.
    pub(crate) fn json(&self, value: &Json) -> Option<Json> {
        match value {
            Json::Null | Json::Bool(_) => None,
            Json::Number(_) => self.text(&value.text()).map(Json::from),
            Json::String(text) => self.text(text).map(Json::from),
            Json::Array(items) => {
                let veiled: Vec<Option<Json>> = items.iter().map(|item| self.json(item)).collect();
                veiled.iter().any(Option::is_some).then(|| {
                    let all = items.iter().zip(veiled);
                    Json::Array(all.map(|(was, is)| is.unwrap_or_else(|| was.clone())).collect())
                })
            }
            Json::Object(object) => {
                let mut changed = false;
                let members = object.iter().map(|(key, value)| {
                    let (new_key, new_value) = (self.text(key), self.json(value));
                    changed |= new_key.is_some() || new_value.is_some();
                    let key = new_key.unwrap_or_else(|| key.to_owned());
                    (key, new_value.unwrap_or_else(|| value.clone()))
                });
                let object: crate::json::Object = members.collect();
                changed.then(|| object.into())
            }
        }
    }
}

/// A datum in hex, percent-encoding, JSON's escapes and base64 at each of its three places in a longer text.
fn encodings(value: &str) -> Vec<String> {
    let bytes = value.as_bytes();
    let hex = |upper: bool| -> String {
        let digit = |byte: &u8| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") };
        bytes.iter().map(digit).collect()
    };
    let percent = |upper: bool| -> String {
        let one = |byte: &u8| match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'.' | b'_' | b'~' => {
                char::from(*byte).to_string()
            }
            byte if upper => format!("%{byte:02X}"),
            byte => format!("%{byte:02x}"),
        };
        bytes.iter().map(one).collect()
    };
    let quoted = Json::from(value).text();
    let escaped = quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned();
    let mut forms = vec![hex(false), hex(true), percent(true), percent(false), escaped];
    for lead in 0..3 {
        for url in [false, true] {
            forms.push(base64_middle(bytes, lead, url));
        }
    }
    forms
}

/// What base64 (RFC 4648) makes of the bytes behind `lead` others, whatever stands around them.
fn base64_middle(bytes: &[u8], lead: usize, url: bool) -> String {
    const PLAIN: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let symbol = |index: u32| match (index, url) {
        (62, true) => '-',
        (63, true) => '_',
        (index, _) => PLAIN.get(index as usize & 63).map_or('A', |byte| char::from(*byte)),
    };
    let padded: Vec<u8> = std::iter::repeat_n(0, lead).chain(bytes.iter().copied()).collect();
    // Bits of the first symbols belong to what stands before, of the last one to what follows.
    let first = (lead * 8).div_ceil(6);
    let whole = padded.len() * 8 / 6;
    (first..whole)
        .map(|at| {
            let bit = at * 6;
            let byte =
                |offset: usize| u32::from(padded.get(bit / 8 + offset).copied().unwrap_or(0));
            symbol((((byte(0) << 8) | byte(1)) >> (10 - bit % 8)) & 63)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{KEPT_MAX, Kept, MemoryVault, Reveal, Vault, VaultError, VaultOwner, Veil};
    use crate::json::Json;

    const OWNER: VaultOwner<'_> = VaultOwner { tenant: "t", session: "s" };

    fn kept(value: &str) -> Vec<Kept> {
        let vault = MemoryVault::default();
        vault.keep(OWNER, "EMAIL", value).unwrap();
        vault.kept(OWNER).unwrap().to_vec()
    }

    #[test]
    fn what_comes_back_holds_no_datum_in_any_encoding() {
        let value = "jane+x@corp.io";
        let kept = kept(value);
        let veil = Veil::of(&kept);
        for text in [
            "to jane+x@corp.io now",
            "6a616e652b7840636f72702e696f",
            "mail=jane%2Bx%40corp.io&a=1",
            "amFuZSt4QGNvcnAuaW8=",
            "eyJtIjoiamFuZSt4QGNvcnAuaW8ifQ==",
            "IGphbmUreEBjb3JwLmlv",
            "ICBqYW5lK3hAY29ycC5pbw",
        ] {
            let veiled = veil.text(text).unwrap_or_else(|| panic!("{text}"));
            assert!(veiled.contains(&*kept[0].placeholder), "{veiled}");
        }
        assert_eq!(veil.text("nothing of it"), None);
        let json =
            Json::read(br#"{"jane+x@corp.io": ["a", {"b": "jane+x@corp.io"}], "n": 1}"#).unwrap();
        let text = veil.json(&json).unwrap().text();
        assert!(!text.contains(value) && text.contains("\"n\":1"), "{text}");
    }

    #[test]
    fn a_placeholder_is_replaced_only_where_it_stands_alone() {
        let kept = kept("jane@corp.io");
        let placeholder = kept[0].placeholder.clone();
        let reveal = |path: &[&str]| Reveal {
            path: path.iter().map(|step| (*step).into()).collect(),
            placeholder: placeholder.clone(),
            value: kept[0].value.clone(),
        };
        let text = format!(
            r#"{{"to": "{placeholder}", "cc": ["x", "{placeholder}"], "text": "hi {placeholder}"}}"#
        );
        let mut part = Json::read(text.as_bytes()).unwrap();
        assert!(reveal(&["to"]).apply(&mut part));
        assert!(reveal(&["cc", "1"]).apply(&mut part));
        assert!(!reveal(&["text"]).apply(&mut part));
        assert!(!reveal(&["none"]).apply(&mut part));
        let text = part.text();
        assert_eq!(text.matches("jane@corp.io").count(), 2, "{text}");
        assert!(text.contains(&format!("hi {placeholder}")));
    }

    #[test]
    fn a_vault_that_is_full_takes_nothing_and_says_so() {
        let vault = MemoryVault::default();
        for number in 0..KEPT_MAX {
            vault.keep(OWNER, "X", &format!("value {number}")).unwrap();
        }
        assert_eq!(vault.keep(OWNER, "X", "one more"), Err(VaultError::Full));
        assert!(vault.keep(OWNER, "X", "value 7").is_ok(), "what is there has its placeholder");
        let printed = format!("{:?}", vault.kept(OWNER).unwrap()[0]);
        assert!(printed.contains("hidden") && !printed.contains("value 0"), "{printed}");
    }
}

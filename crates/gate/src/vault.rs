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

#[cfg(test)]
mod tests {
    use super::{KEPT_MAX, Kept, MemoryVault, Reveal, Vault, VaultError, VaultOwner};
    use crate::json::Json;

    const OWNER: VaultOwner<'_> = VaultOwner { tenant: "t", session: "s" };

    fn kept(value: &str) -> Vec<Kept> {
        let vault = MemoryVault::default();
        vault.keep(OWNER, "EMAIL", value).unwrap();
        vault.kept(OWNER).unwrap().to_vec()
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

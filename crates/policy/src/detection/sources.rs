//! What detection needs from outside the policy file: models of names, the key of keyed masks, and what
//! people said of earlier findings.
//!
//! All are seams, because this crate neither runs models nor keeps keys. Where a policy asks for what
//! nobody supplies, that is an error when it is loaded, never silence.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use tollgate_detect::NameModel;
use tollgate_gate::Vault;

/// What detection is supplied with.
#[derive(Clone, Default)]
pub struct Sources {
    /// Opens models of names; `None`: this build has none.
    pub names: Option<Arc<dyn NameModels>>,
    /// Gives the key of keyed masks; `None`: there is none.
    pub keys: Option<Arc<dyn MaskKeys>>,
    /// Knows what people said of findings; `None`: nobody is asked.
    pub reviews: Option<Arc<dyn Reviews>>,
    /// Keeps what `vault` masks stand for; `None`: there is no vault.
    pub vault: Option<Arc<dyn Vault>>,
}

impl Sources {
    /// Nothing.
    pub const NONE: Sources = Sources { names: None, keys: None, reviews: None, vault: None };
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources")
            .field("names", &self.names.is_some())
            .field("keys", &self.keys.is_some())
            .field("reviews", &self.reviews.is_some())
            .field("vault", &self.vault.is_some())
            .finish()
    }
}

/// Opens models that find names in text (`redact: { ner: { model: FOLDER } }`).
///
/// It is called when a policy is loaded, and in a process that starts from a snapshot when the hook
/// first runs. The same folder may be asked for many times; giving the same model again is right.
/// How much of a model is used for one event is bounded by the caller.
pub trait NameModels: Send + Sync {
    /// The model in this folder.
    ///
    /// # Errors
    /// [`NameModelsError`] when there is none or it cannot be used.
    fn open(&self, folder: &Path) -> Result<Arc<dyn NameModel>, NameModelsError>;
}

/// Why there is no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameModelsError {
    /// The folder or one of the model's files is not there.
    #[error("there is no `{path}`")]
    Missing {
        /// The folder or file.
        path: PathBuf,
    },
    /// It is there and cannot be used.
    #[error("the model in `{folder}` cannot be used: {why}")]
    Unusable {
        /// The model's folder.
        folder: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// Gives the key that keyed masks are made with (`redact: { mask: hash }`).
pub trait MaskKeys: Send + Sync {
    /// The installation's key; the keys of its tenants are derived from it. Asked for when a datum is
    /// first masked, so that a policy can be checked where there is no key.
    ///
    /// # Errors
    /// [`MaskKeyError`] when it cannot be read or made; the event is withheld then.
    fn key(&self) -> Result<[u8; 32], MaskKeyError>;
}

/// Knows what people said of findings (`redact: { allow: { reviewed: true } }`), by keyed fingerprint, so
/// that no datum stands in a policy, a record or a file.
pub trait Reviews: Send + Sync {
    /// The fingerprint of a datum as a rule found it; `None` where there is no key.
    fn print(&self, rule: &str, datum: &str) -> Option<String>;

    /// Whether a person said that what this hook found by this rule, with this fingerprint, is a false
    /// alarm, and nobody that it is none. In doubt, such as when what was said cannot be read: no.
    fn is_false(&self, hook: &str, rule: &str, print: &str) -> bool;
}

/// Why there is no key, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no key for keyed masks: {0}")]
pub struct MaskKeyError(pub String);

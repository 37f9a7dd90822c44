//! Masks of a policy: the words for them, and the masks of `tollgate-detect` that they become.
//!
//! A form is what the policy says; the mask of one event may need more: a keyed hash needs the key of
//! the event's tenant. What a mask looks like in a text is known by its form ([`MaskForm::mark`]), so
//! that `protect_masks` notices it when it comes back.

use super::config::{StarsForm, TextForm};
use crate::actions::ActionError;
use crate::actions::read::{kind_of, nearest, read};
use crate::actions::refusal::check_text;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tollgate_detect::{HashKey, Kind, Mask, MaskWith};
use tollgate_gate::{Json, Name, Vault, VaultOwner};

/// What starts the label of a session that was shown masks.
pub(crate) const MASKED_LABEL: &str = "masked:";
/// What starts the rest of such a label when the mask is a text of the policy.
pub(crate) const MASKED_TEXT: char = '=';
/// The rest of such a label for secrets made of stars.
pub(crate) const MASKED_STARS: &str = "stars";
/// Longest text of the policy that a label carries, in bytes.
const MARKED_TEXT_BYTES_MAX: usize = 128;

/// A mask, as the policy has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MaskForm {
    /// `[EMAIL]`.
    Label,
    /// `z***@x.com`.
    Plain,
    /// A star for every letter and digit.
    Shape,
    /// Stars, with some of the datum kept.
    Stars { first: usize, last: usize },
    /// A keyed hash.
    Hash,
    /// A placeholder of the session's vault.
    Vault,
    /// This text.
    Text(Arc<str>),
}

const WORDS: [(&str, MaskForm); 6] = [
    ("label", MaskForm::Label),
    ("plain", MaskForm::Plain),
    ("stars", MaskForm::Stars { first: 0, last: 0 }),
    ("shape", MaskForm::Shape),
    ("hash", MaskForm::Hash),
    ("vault", MaskForm::Vault),
];

impl MaskForm {
    /// Reads a form.
    pub(super) fn read(value: &Json) -> Result<MaskForm, ActionError> {
        match value {
            Json::String(word) => MaskForm::of_word(word),
            Json::Object(object) if object.contains_key("text") => {
                MaskForm::of_text("text", &read::<TextForm>(value)?.text)
            }
            Json::Object(_) => {
                let kept = read::<StarsForm>(value)?.stars;
                Ok(MaskForm::Stars { first: kept.first.into(), last: kept.last.into() })
            }
            other @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_)) => {
                let message = format!("expected a mask, found {}", kind_of(other));
                Err(ActionError::at("", message).remedy(remedy()))
            }
        }
    }

    fn of_word(word: &str) -> Result<MaskForm, ActionError> {
        if let Some((_, form)) = WORDS.iter().find(|(known, _)| *known == word) {
            return Ok(form.clone());
        }
        // A slip of the pen must not become what the model reads.
        let known: Vec<&str> = WORDS.iter().map(|(known, _)| *known).collect();
        let is_word = word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        if let Some(near) = nearest(word, &known).filter(|_| is_word) {
            let message = format!("unknown mask `{word}`; the nearest known one is `{near}`");
            return Err(ActionError::at("", message).remedy(remedy()));
        }
        MaskForm::of_text("", word)
    }

    fn of_text(path: &str, text: &str) -> Result<MaskForm, ActionError> {
        check_text(path, text)?;
        Ok(MaskForm::Text(text.into()))
    }

    /// The mask, with the key of the event's tenant and the vault of its session.
    pub(super) fn mask(&self, key: Option<&HashKey>, vault: Option<&Arc<OfSession>>) -> Mask {
        match (self, key) {
            (MaskForm::Vault, _) => match vault {
                Some(vault) => Mask::Custom(Arc::clone(vault) as Arc<dyn MaskWith>),
                None => Mask::Label,
            },
            (MaskForm::Plain, _) => Mask::Plain,
            (MaskForm::Shape, _) => Mask::Shape,
            (MaskForm::Stars { first, last }, _) => {
                Mask::Stars { keep_first: *first, keep_last: *last }
            }
            (MaskForm::Hash, Some(key)) => Mask::Hash(key.clone()),
            (MaskForm::Text(text), _) => Mask::Custom(Arc::new(Fixed(Arc::clone(text)))),
            // Without a key nothing of the datum may show.
            (MaskForm::Label, _) | (MaskForm::Hash, None) => Mask::Label,
        }
    }

    /// The label of a session that was shown such a mask of such a datum; `None` for forms that cannot
    /// be told from other text.
    pub(super) fn mark(&self, kind: Kind) -> Option<Name> {
        match self {
            MaskForm::Label | MaskForm::Hash | MaskForm::Vault => Some(of_kind(kind)),
            // A first letter and two stars are no more than emphasis.
            MaskForm::Plain => (kind != Kind::Person).then(|| of_kind(kind)),
            MaskForm::Stars { .. } if is_hidden_whole(kind) => {
                Some(format!("{MASKED_LABEL}{MASKED_STARS}").into())
            }
            MaskForm::Shape | MaskForm::Stars { .. } => None,
            MaskForm::Text(text) => mark_of_text(text),
        }
    }
}

/// The label of a session that was shown this text of the policy as a mask.
pub(super) fn mark_of_text(text: &str) -> Option<Name> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(kind) = Kind::ALL.into_iter().find(|kind| Some(kind.label()) == bare) {
        return Some(of_kind(kind));
    }
    let fits = text.len() <= MARKED_TEXT_BYTES_MAX;
    fits.then(|| format!("{MASKED_LABEL}{MASKED_TEXT}{text}").into())
}

fn of_kind(kind: Kind) -> Name {
    format!("{MASKED_LABEL}{kind}").into()
}

/// Of these, stars show no length: there are eight.
fn is_hidden_whole(kind: Kind) -> bool {
    matches!(kind, Kind::Secret | Kind::Password | Kind::Custom)
}

fn remedy() -> String {
    let words: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
    format!("{}, `{{ stars: {{ first: 3 }} }}` or `{{ text: \"..\" }}`", words.join(", "))
}

/// The vault of one session, as a mask. What it cannot keep is masked by its label, for good.
pub(super) struct OfSession {
    pub(super) vault: Arc<dyn Vault>,
    pub(super) tenant: String,
    pub(super) session: String,
    /// Whether a datum could not be kept.
    pub(super) failed: AtomicBool,
}

impl MaskWith for OfSession {
    fn mask(&self, kind: Kind, datum: &str) -> String {
        let owner = VaultOwner { tenant: &self.tenant, session: &self.session };
        match self.vault.keep(owner, kind.label(), datum) {
            Ok(placeholder) => placeholder.to_string(),
            Err(_) => {
                self.failed.store(true, Ordering::Relaxed);
                format!("[{}]", kind.label())
            }
        }
    }
}

struct Fixed(Arc<str>);

impl MaskWith for Fixed {
    fn mask(&self, _: Kind, _: &str) -> String {
        self.0.to_string()
    }
}

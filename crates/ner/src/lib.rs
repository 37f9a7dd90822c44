//! Names of persons, organizations and places by a model that runs here, on the processor.
//!
//! An opt-in: no default build holds this crate, for its runtime takes minutes to compile and a model is ten
//! thousand times slower than rules. It fits [`tollgate_detect::NameModel`], so the detector asks it about
//! prose only, a unit of text at a time; how much of it one event may use is bounded by whoever asks.
//!
//! Two forms of model are read from a folder: *taggers* of the BERT family as they are usually exported
//! (`config.json`, `tokenizer.json`, one `.onnx` file) and LAC, a Chinese tagger of characters (`word.dic`,
//! `tag.dic`, its transitions as `.npy`, one `.onnx` file). [`Model::open`] tells them apart by their files.
//!
//! Refused: reaching out for a model, guessing what a folder holds, and everything a model says that is not a
//! name: numbers and addresses have check digits and rules, which are surer.

mod folder;
mod lac;
mod npy;
mod tag;
mod tagger;
mod tokens;
mod wordpiece;

pub mod limits;

use std::path::{Path, PathBuf};
use tollgate_detect::{NameModel, NameModelError, NameSpan};

/// A model of names. Cheap to share behind an `Arc`; a run takes all cores.
pub struct Model {
    form: Form,
}

enum Form {
    Tagger(tagger::Tagger),
    Lac(lac::Lac),
}

/// Why a folder holds no model that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The folder or a file of the model is not there.
    #[error("there is no `{path}`")]
    Missing {
        /// What is looked for.
        path: PathBuf,
    },
    /// A file is there and cannot be used.
    #[error("`{path}` cannot be used: {why}")]
    Unusable {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl OpenError {
    pub(crate) fn unusable(path: &Path, why: impl std::fmt::Display) -> OpenError {
        OpenError::Unusable { path: path.to_owned(), why: why.to_string() }
    }
}

impl Model {
    /// The model in this folder, read whole.
    ///
    /// # Errors
    /// [`OpenError`] when the folder holds none, or one that this crate does not know.
    pub fn open(folder: &Path) -> Result<Model, OpenError> {
        let found = std::fs::metadata(folder);
        if !found.is_ok_and(|found| found.is_dir()) {
            return Err(OpenError::Missing { path: folder.to_owned() });
        }
        let form = if folder.join(lac::WORDS).is_file() {
            Form::Lac(lac::Lac::open(folder)?)
        } else {
            Form::Tagger(tagger::Tagger::open(folder)?)
        };
        Ok(Model { form })
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.form {
            Form::Tagger(_) => "Model(tagger)",
            Form::Lac(_) => "Model(lac)",
        })
    }
}

impl NameModel for Model {
    fn names(&self, text: &str) -> Result<Vec<NameSpan>, NameModelError> {
        let found = match &self.form {
            Form::Tagger(tagger) => tagger.names(text),
            Form::Lac(lac) => lac.names(text),
        };
        found.map_err(|reason| NameModelError::Failed { reason })
    }
}

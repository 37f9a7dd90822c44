//! Models of names from folders of this machine, for policies that ask for one.
//!
//! A load of a policy opens each folder once, however many hooks name it. The next load reads it anew,
//! so that a model that was replaced is the one in force.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tollgate_detect::NameModel;
use tollgate_ner::{Model, OpenError};
use tollgate_policy::detection::{NameModels, NameModelsError};

/// The models that one load has opened.
#[derive(Default)]
pub(crate) struct LocalModels {
    open: Mutex<Vec<(PathBuf, Arc<Model>)>>,
}

impl NameModels for LocalModels {
    fn open(&self, folder: &Path) -> Result<Arc<dyn NameModel>, NameModelsError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, model)) = open.iter().find(|(known, _)| known == folder) {
            return Ok(Arc::clone(model) as Arc<dyn NameModel>);
        }
        let model = Arc::new(Model::open(folder).map_err(|error| refused(folder, error))?);
        open.push((folder.to_owned(), Arc::clone(&model)));
        Ok(model)
    }
}

fn refused(folder: &Path, error: OpenError) -> NameModelsError {
    match error {
        OpenError::Missing { path } => NameModelsError::Missing { path },
        other @ (OpenError::Unusable { .. } | _) => {
            NameModelsError::Unusable { folder: folder.to_owned(), why: other.to_string() }
        }
    }
}

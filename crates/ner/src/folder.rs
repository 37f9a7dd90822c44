//! The files of a model's folder.

use crate::OpenError;
use crate::limits::{MODEL_BYTES_MAX, SIDE_BYTES_MAX};
use rten::{Model as Network, NodeId};
use std::path::{Path, PathBuf};

/// Where exports put the network.
const NETWORK_FOLDERS: [&str; 2] = ["", "onnx"];

/// A network and its inputs and first output by name.
pub(crate) struct Loaded {
    pub(crate) path: PathBuf,
    pub(crate) network: Network,
    pub(crate) output: NodeId,
}

/// The one `.onnx` file of the folder. Several would mean a guess.
pub(crate) fn network(folder: &Path) -> Result<Loaded, OpenError> {
    let mut found = Vec::new();
    for below in NETWORK_FOLDERS {
        let entries = std::fs::read_dir(folder.join(below)).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        found.extend(paths.filter(|path| path.extension().is_some_and(|ext| ext == "onnx")));
    }
    found.sort();
    let path = match found.as_slice() {
        [] => return Err(OpenError::Missing { path: folder.join("model.onnx") }),
        [one] => one.clone(),
        [_, _, ..] => {
            return Err(OpenError::unusable(folder, "it holds several .onnx files; keep one"));
        }
    };
    let bytes = bytes(&path, MODEL_BYTES_MAX)?;
    let network = Network::load(bytes).map_err(|error| OpenError::unusable(&path, error))?;
    let [output, ..] = network.output_ids() else {
        return Err(OpenError::unusable(&path, "the network has no output"));
    };
    Ok(Loaded { output: *output, path, network })
}

impl Loaded {
    /// The input of this name.
    pub(crate) fn input(&self, name: &str) -> Option<NodeId> {
        let named = |id: &&NodeId| {
            self.network.node_info(**id).is_some_and(|info| info.name() == Some(name))
        };
        self.network.input_ids().iter().find(named).copied()
    }

    /// The input of this name, which must be there.
    pub(crate) fn needed_input(&self, name: &str) -> Result<NodeId, OpenError> {
        let missing = || OpenError::unusable(&self.path, format!("it has no input `{name}`"));
        self.input(name).ok_or_else(missing)
    }
}

/// A file beside the network, as text.
pub(crate) fn text(path: &Path) -> Result<String, OpenError> {
    let bytes = bytes(path, SIDE_BYTES_MAX)?;
    String::from_utf8(bytes).map_err(|_| OpenError::unusable(path, "it is no UTF-8"))
}

/// A file beside the network, as JSON.
pub(crate) fn json(path: &Path) -> Result<serde_json::Value, OpenError> {
    serde_json::from_str(&text(path)?).map_err(|error| OpenError::unusable(path, error))
}

/// A file's bytes.
pub(crate) fn bytes(path: &Path, bytes_max: u64) -> Result<Vec<u8>, OpenError> {
    let found = std::fs::metadata(path)
        .ok()
        .filter(std::fs::Metadata::is_file)
        .ok_or_else(|| OpenError::Missing { path: path.to_owned() })?;
    if found.len() > bytes_max {
        return Err(OpenError::unusable(path, format!("longer than {bytes_max} bytes")));
    }
    std::fs::read(path).map_err(|error| OpenError::unusable(path, error))
}

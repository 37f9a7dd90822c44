//! The pins of tools' definitions, kept in a file of the state folder.
//!
//! One file for all servers: JSON, small, 0600, replaced whole under a lock, so that several relays
//! that see the same server at once do not undo each other's. A file that cannot be read is an error
//! and never an empty one, for that would pin anew what changed.

use super::definitions::Pins;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use tollgate::gate::{Json, Object};

/// The file in the state folder.
const FILE: &str = "mcp-pins.json";

/// What is known of the tools of all servers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pinned {
    /// By server, by tool.
    pub servers: BTreeMap<String, BTreeMap<String, Pin>>,
}

/// One pin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The digest of the definition that is accepted.
    pub accepted: String,
    /// The digest of the one that was seen last, where it is another.
    pub seen: Option<String>,
}

/// Why pins cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PinsError {
    /// The file cannot be read or written.
    #[error("the pins `{path}` cannot be used: {cause}; see to it, or remove the file to pin anew", path = path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The file is no file of pins.
    #[error("`{path}` is no file of pins; remove it to pin anew", path = path.display())]
    Broken {
        /// Which.
        path: PathBuf,
    },
}

/// The file of pins of a state folder.
#[derive(Debug, Clone)]
pub struct PinFile {
    path: PathBuf,
}

impl PinFile {
    /// The pins of this state folder.
    pub fn of(state: &Path) -> PinFile {
        PinFile { path: state.join(FILE) }
    }

    /// Reads all pins; none where there is no file.
    ///
    /// # Errors
    /// [`PinsError`].
    pub fn read(&self) -> Result<Pinned, PinsError> {
        match fs::read(&self.path) {
            Ok(text) => read(&text).ok_or_else(|| PinsError::Broken { path: self.path.clone() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Pinned::default()),
            Err(cause) => Err(self.io(cause)),
        }
    }

    /// Changes the pins, under a lock, whole or not at all.
    ///
    /// # Errors
    /// [`PinsError`].
    pub fn change<T>(&self, change: impl FnOnce(&mut Pinned) -> T) -> Result<T, PinsError> {
        let io = |cause| self.io(cause);
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let lock = private(&folder.join(format!("{FILE}.lock"))).map_err(io)?;
        lock.lock().map_err(io)?;
        let before = self.read()?;
        let mut after = before.clone();
        let answer = change(&mut after);
        if after != before {
            let mut file = tempfile::NamedTempFile::new_in(folder).map_err(io)?;
            file.write_all(write(&after).as_bytes()).map_err(io)?;
            file.as_file().sync_data().map_err(io)?;
            file.persist(&self.path).map_err(|error| io(error.error))?;
        }
        Ok(answer)
    }

    fn io(&self, cause: io::Error) -> PinsError {
        PinsError::Io { path: self.path.clone(), cause }
    }
}

impl Pins for PinFile {
    fn load(&self, server: &str) -> Result<BTreeMap<String, String>, String> {
        let pinned = self.read().map_err(|error| error.to_string())?;
        let tools = pinned.servers.get(server).into_iter().flatten();
        Ok(tools.map(|(tool, pin)| (tool.clone(), pin.accepted.clone())).collect())
    }

    fn note(&self, server: &str, seen: &BTreeMap<String, String>) -> Result<(), String> {
        let known = self.read().map_err(|error| error.to_string())?;
        let noted = |pinned: &Pinned| {
            let tools = pinned.servers.get(server);
            seen.iter().all(|(tool, digest)| {
                let pin = tools.and_then(|tools| tools.get(tool));
                pin.is_some_and(|pin| pin.seen.as_ref().unwrap_or(&pin.accepted) == digest)
            })
        };
        // Nearly always nothing is new, and nothing is written.
        if noted(&known) {
            return Ok(());
        }
        let add = |pinned: &mut Pinned| {
            let tools = pinned.servers.entry(server.to_owned()).or_default();
            for (tool, digest) in seen {
                let pin = tools
                    .entry(tool.clone())
                    .or_insert_with(|| Pin { accepted: digest.clone(), seen: None });
                pin.seen = Some(digest.clone()).filter(|digest| *digest != pin.accepted);
            }
        };
        self.change(add).map_err(|error| error.to_string())
    }
}

fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)
}

fn read(text: &[u8]) -> Option<Pinned> {
    let root = Json::read(text).ok()?;
    let mut pinned = Pinned::default();
    for (server, tools) in root.get("servers")?.as_object()?.iter() {
        let mut pins = BTreeMap::new();
        for (tool, pin) in tools.as_object()?.iter() {
            let accepted = pin.get("accepted")?.as_str()?.to_owned();
            let seen = match pin.get("seen") {
                None | Some(Json::Null) => None,
                Some(seen) => Some(seen.as_str()?.to_owned()),
            };
            pins.insert(tool.to_owned(), Pin { accepted, seen });
        }
        pinned.servers.insert(server.to_owned(), pins);
    }
    Some(pinned)
}

fn write(pinned: &Pinned) -> String {
    let pin = |pin: &Pin| {
        let mut object = Object::new();
        object.insert("accepted", &*pin.accepted);
        if let Some(seen) = &pin.seen {
            object.insert("seen", &**seen);
        }
        object
    };
    let tools = |tools: &BTreeMap<String, Pin>| -> Object {
        tools.iter().map(|(tool, one)| (tool.clone(), pin(one))).collect()
    };
    let servers: Object =
        pinned.servers.iter().map(|(server, all)| (server.clone(), tools(all))).collect();
    let mut text = Json::from(Object::from_iter([("servers", servers)])).text();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::{PinFile, PinsError};
    use crate::mcp::definitions::Pins as _;
    use std::collections::BTreeMap;

    #[test]
    fn the_first_definition_stays_accepted_until_a_person_accepts_another() {
        let folder = tempfile::tempdir().unwrap();
        let pins = PinFile::of(folder.path());
        let seen = |digest: &str| BTreeMap::from([("t".to_owned(), digest.to_owned())]);
        pins.note("s", &seen("a")).unwrap();
        pins.note("s", &seen("b")).unwrap();
        assert_eq!(pins.load("s").unwrap(), seen("a"));
        assert_eq!(pins.read().unwrap().servers["s"]["t"].seen.as_deref(), Some("b"));
        pins.note("s", &seen("a")).unwrap();
        assert_eq!(pins.read().unwrap().servers["s"]["t"].seen, None);
        assert_eq!(pins.load("other").unwrap(), BTreeMap::new());
    }

    #[test]
    fn a_broken_file_is_an_error_and_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp-pins.json");
        std::fs::write(&path, "{}").unwrap();
        let pins = PinFile::of(folder.path());
        assert!(matches!(pins.read(), Err(PinsError::Broken { .. })));
        assert!(pins.note("s", &BTreeMap::from([("t".into(), "a".into())])).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}");
    }
}

//! What a policy is loaded with: detectors by name, and a source of effects that reads commands and
//! may ask the file system where a link leads and what a script says.

use crate::mask_key::StateKey;
use crate::reviewed::StateReviews;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tollgate_effects::{Entry, FileSystem, Row};
use tollgate_gate::{Json, Session, Timestamp, ToolCall, Vault};
use tollgate_policy::detection::{MaskKeys, NameModels, Reviews, Sources};
use tollgate_policy::{AnalysedEffects, EffectSource, LoadOptions, ToolFacts, TrustStore};
use tollgate_store::FileVault;

/// The options of every load: detectors, effects, the declared part of the environment.
pub(crate) fn options<'o>(
    environment: &'o dyn Fn(&str) -> Option<String>,
    trust: Option<&'o TrustStore>,
    now: Timestamp,
    sources: &'o Sources,
) -> LoadOptions<'o> {
    LoadOptions {
        env: environment,
        trust,
        sources,
        effects: Some(&effects),
        ..LoadOptions::new(now)
    }
}

/// What detection is supplied with: the key of keyed masks and the reviews in this state folder, and
/// models of names where this build runs them.
pub(crate) fn sources(state: Option<&Path>) -> Sources {
    let keys = state.map(|state| Arc::new(StateKey::in_folder(state)) as Arc<dyn MaskKeys>);
    let reviews = state.map(|state| Arc::new(StateReviews::in_folder(state)) as Arc<dyn Reviews>);
    let vault = state.map(vault_in);
    Sources { keys, reviews, names: names(), vault }
}

/// The vaults of this process, one a state folder: hooks keep data in it and the gate looks for them, at every
/// load again, and what it has read serves all of them.
static VAULTS: Mutex<Vec<(PathBuf, Weak<FileVault>)>> = Mutex::new(Vec::new());

/// The vault of a state folder.
pub(crate) fn vault_in(state: &Path) -> Arc<dyn Vault> {
    let mut vaults = VAULTS.lock().unwrap_or_else(PoisonError::into_inner);
    vaults.retain(|(_, vault)| vault.strong_count() > 0);
    let known = vaults.iter().find(|(folder, _)| folder == state);
    if let Some(vault) = known.and_then(|(_, vault)| vault.upgrade()) {
        return vault;
    }
    let vault = Arc::new(FileVault::in_folder(state));
    vaults.push((state.to_owned(), Arc::downgrade(&vault)));
    vault
}

#[cfg(feature = "ner")]
fn names() -> Option<Arc<dyn NameModels>> {
    Some(Arc::new(crate::name_models::LocalModels::default()))
}

#[cfg(not(feature = "ner"))]
fn names() -> Option<Arc<dyn NameModels>> {
    None
}

fn effects(facts: &ToolFacts) -> Arc<dyn EffectSource> {
    Arc::new(analysed(facts))
}

/// What a call would do, for people: each effect with the piece of text that it comes from. So the
/// hooks of a policy that declares this about tools see it.
pub fn effects_of(facts: &ToolFacts, call: &ToolCall, session: &Session) -> Vec<Row> {
    analysed(facts).rows(call, session)
}

/// Why the canonical reading of a call is not understood, in words; `None` when it is.
pub fn misread(canonical: &Json) -> Option<String> {
    AnalysedEffects::misread(canonical)
}

/// The source of effects that reads commands.
pub(crate) fn analysed(facts: &ToolFacts) -> AnalysedEffects {
    // Of the user database, not of the environment: no variable changes what a policy means.
    let home = crate::places::user().and_then(|user| user.dir.to_str().map(str::to_owned));
    AnalysedEffects::new(facts, Arc::new(Disk), home)
}

/// The file system of the machine, asked carefully: nothing is followed, only regular files are read.
struct Disk;

impl FileSystem for Disk {
    fn look(&self, path: &str) -> Entry {
        let Ok(metadata) = std::fs::symlink_metadata(path) else { return Entry::Absent };
        if metadata.is_symlink() {
            let target = std::fs::read_link(path).ok();
            return match target.as_deref().and_then(Path::to_str) {
                Some(target) => Entry::Link(target.to_owned()),
                None => Entry::Absent,
            };
        }
        match (metadata.is_dir(), metadata.is_file()) {
            (true, _) => Entry::Folder,
            (_, true) => Entry::File,
            (false, false) => Entry::Special,
        }
    }

    fn read(&self, path: &str, bytes_max: usize) -> Option<String> {
        let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
        let file: File = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
        // Asked of what was opened: between a look and a read a name can change.
        let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
        let mut text = String::new();
        let limit = bytes_max as u64 + 1;
        file.take(limit).read_to_string(&mut text).ok().filter(|_| is_file)?;
        (text.len() <= bytes_max).then_some(text)
    }

    fn names(&self, path: &str, count_max: usize) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
        let names = entries.take(count_max).filter_map(Result::ok);
        names.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Disk;
    use tollgate_effects::{Entry, FileSystem};

    #[test]
    fn only_regular_files_of_the_size_that_is_allowed_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(at("script"), "rm -rf x").unwrap();
        std::os::unix::fs::symlink(at("script"), at("link")).unwrap();
        assert_eq!(Disk.look(&at("script")), Entry::File);
        assert_eq!(Disk.look(&at("link")), Entry::Link(at("script")));
        assert_eq!(Disk.look(&at("")), Entry::Folder);
        assert_eq!(Disk.look(&at("none")), Entry::Absent);
        assert_eq!(Disk.read(&at("script"), 8).as_deref(), Some("rm -rf x"));
        assert_eq!(Disk.read(&at("script"), 7), None);
        assert_eq!(Disk.read(&at("link"), 100), None);
        assert_eq!(Disk.read(&at(""), 100), None);
    }
}

//! What people said of findings, as policies ask for it: the marks in the state folder, and fingerprints
//! under a key of the state folder.
//!
//! Marks are read when a finding is first asked about, and again when their file has changed, so a mark
//! takes effect at once. In doubt nothing is a false alarm: without the key, with marks that others could
//! have written or that cannot be read. The key is never made here; a ledger that keeps digests makes it.

use crate::ledger::DIGEST_KEY;
use crate::review::{MARKS, Marks};
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use tollgate_detect::HashKey;
use tollgate_policy::detection::Reviews;
use tollgate_store::open_or_make_secret;

/// Length, change and inode of a file: what tells that it is another one.
type Stamp = (u64, i64, i64, u64);
/// Hook, rule and fingerprint.
type Said = (String, String, String);

/// The reviews in a state folder.
pub(crate) struct StateReviews {
    state: PathBuf,
    key: OnceLock<HashKey>,
    known: Mutex<(Option<Stamp>, HashSet<Said>)>,
}

impl StateReviews {
    /// The reviews in this state folder, whether or not there are any.
    pub(crate) fn in_folder(state: &Path) -> StateReviews {
        StateReviews { state: state.to_owned(), key: OnceLock::new(), known: Mutex::default() }
    }

    fn key(&self) -> Option<&HashKey> {
        if self.key.get().is_none() {
            let file = self.state.join("keys").join(DIGEST_KEY);
            if !file.exists() {
                return None;
            }
            let secret = open_or_make_secret(&file).ok()?;
            return Some(self.key.get_or_init(|| HashKey::for_review(&secret)));
        }
        self.key.get()
    }

    fn stamp(&self) -> Option<Stamp> {
        let found = fs::symlink_metadata(self.state.join(MARKS)).ok()?;
        Some((found.len(), found.ctime(), found.ctime_nsec(), found.ino()))
    }

    fn read(&self) -> HashSet<Said> {
        let Ok(marks) = Marks::read(&self.state) else { return HashSet::new() };
        let said = marks.false_prints().into_iter().filter(|(_, is_false)| *is_false);
        said.map(|((hook, rule, print), _)| (hook.to_owned(), rule.to_owned(), print.to_owned()))
            .collect()
    }
}

impl Reviews for StateReviews {
    fn print(&self, rule: &str, datum: &str) -> Option<String> {
        self.key().map(|key| key.fingerprint(rule, datum))
    }

    fn is_false(&self, hook: &str, rule: &str, print: &str) -> bool {
        let Some(stamp) = self.stamp() else { return false };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0 != Some(stamp) {
            *known = (Some(stamp), self.read());
        }
        !known.1.is_empty()
            && known.1.contains(&(hook.to_owned(), rule.to_owned(), print.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::StateReviews;
    use crate::review::{MARKS, Mark, Marks};
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;
    use tollgate_gate::Timestamp;
    use tollgate_policy::detection::Reviews as _;

    #[test]
    fn only_what_was_marked_false_under_the_key_of_the_folder_is_a_false_alarm() {
        let folder = tempfile::tempdir().unwrap();
        let reviews = StateReviews::in_folder(folder.path());
        assert_eq!(reviews.print("jwt", "x"), None, "there is no key");
        assert!(!folder.path().join("keys").exists(), "and none is made");
        super::open_or_make_secret(&folder.path().join("keys/digest.key")).unwrap();
        let print = reviews.print("jwt", "x").unwrap();
        assert_ne!(reviews.print("jwt", "y").unwrap(), print);
        assert_ne!(reviews.print("email", "x").unwrap(), print);
        let mark = |record: &str, is_true| Mark {
            record: record.into(),
            hook: "h".into(),
            rule: "jwt".into(),
            is_true,
            fingerprint: None,
            prints: vec![print.clone()],
            by: "me".into(),
            at: Timestamp::from_millis(7),
        };
        let mut marks = Marks::default();
        assert!(!reviews.is_false("h", "jwt", &print));
        marks.add(folder.path(), mark("e1", false)).unwrap();
        assert!(reviews.is_false("h", "jwt", &print));
        assert!(!reviews.is_false("other", "jwt", &print));
        fs::set_permissions(folder.path().join(MARKS), Permissions::from_mode(0o666)).unwrap();
        assert!(!reviews.is_false("h", "jwt", &print), "others could have written it");
        fs::set_permissions(folder.path().join(MARKS), Permissions::from_mode(0o600)).unwrap();
        assert!(reviews.is_false("h", "jwt", &print));
        marks.add(folder.path(), mark("e2", true)).unwrap();
        assert!(!reviews.is_false("h", "jwt", &print), "somebody said that it is none");
    }
}

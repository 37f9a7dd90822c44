//! Where things are, for the operating-system user who runs this: the policies of the machine, the
//! user and the project, and the folder of what Tollgate keeps.
//!
//! The home folder comes from the user database and from nothing else: whoever could choose it by an
//! environment variable (`HOME`, `XDG_CONFIG_HOME`) could choose the policy (law 13). Files other than
//! the usual ones are named explicitly.
//!
//! A project's files are looked for from the start folder upwards, to the first folder with a `.git`,
//! and never in the home folder or above it. Each one that is found counts as a project's policy of its
//! own, from the outermost inwards, so that a file dropped into a sub-folder cannot stand in the place
//! of the project's: a project's policy only tightens, and only after a person trusted it.

use crate::knowledge;
use nix::unistd::{User, getegid, geteuid};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tollgate_gate::{Name, Timestamp};
use tollgate_policy::layers::{TrustError, TrustStore};
use tollgate_policy::snapshot::{Freshness, last_good, load_with_snapshot};
use tollgate_policy::{Layer, LayerKind, LayerState, LoadFailure, Loaded, load};

/// The policy of the machine.
pub const MANAGED_POLICY: &str = "/etc/tollgate/policy.yaml";
/// The user's policy, below the home folder.
pub const USER_POLICY: &str = ".config/tollgate/policy.yaml";
/// The folder of what Tollgate keeps, below the home folder.
pub const STATE_FOLDER: &str = ".local/state/tollgate";
/// The name of a project's policy.
pub const PROJECT_POLICY: &str = "tollgate.yaml";
/// The ledger, in the state folder.
const LEDGER: &str = "ledger";
/// Most folders that are looked at upwards from the start.
const FOLDERS_MAX: usize = 256;

/// Where things are.
#[derive(Debug, Clone)]
pub struct Places {
    managed: PathBuf,
    home: Option<PathBuf>,
    start: PathBuf,
    /// In place of the user's policy.
    policies: Vec<PathBuf>,
    state: Option<PathBuf>,
}

/// Why a place cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlacesError {
    /// The user database does not know who runs this.
    #[error("the user database has no home folder for user {uid}")]
    NoHome {
        /// The user's number.
        uid: u32,
    },
    /// The start folder cannot be reached.
    #[error("the folder `{path}` cannot be reached: {cause}")]
    Start {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// A policy is there, and others than its owner could have written it.
    #[error("the {kind} policy `{path}` is not to be trusted: {why}")]
    NotSafe {
        /// Whose policy.
        kind: LayerKind,
        /// The file or its folder.
        path: PathBuf,
        /// What gives it away.
        why: String,
    },
    /// A policy cannot be looked at.
    #[error("the {kind} policy `{path}` cannot be looked at: {cause}")]
    Look {
        /// Whose policy.
        kind: LayerKind,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

impl PlacesError {
    /// What a person can do about it.
    pub fn remedy(&self) -> String {
        match self {
            PlacesError::NoHome { .. } => {
                "name the files: `--policy FILE` and `--state DIR`".to_owned()
            }
            PlacesError::Start { .. } => "start in a folder that can be read".to_owned(),
            PlacesError::NotSafe { kind: LayerKind::Managed, path, .. } => {
                format!("as the administrator: chown root {0} && chmod go-w {0}", path.display())
            }
            PlacesError::NotSafe { path, why, .. } if *why == OTHERS => {
                format!("look at what it says, then make it yours: chown $USER {}", path.display())
            }
            PlacesError::NotSafe { path, .. } => {
                format!("look at what it says, then: chmod go-w {}", path.display())
            }
            PlacesError::Look { .. } => "make it readable, or take it away".to_owned(),
        }
    }
}

/// Why the policy in force cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum PlacesLoadError {
    /// A place cannot be used.
    #[error(transparent)]
    Places(#[from] PlacesError),
    /// It is not known what is trusted.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The policy does not load; the text names every problem.
    #[error("{0}")]
    Policy(#[from] LoadFailure),
}

impl Places {
    /// The places of the user who runs this, for work that starts in this folder.
    ///
    /// # Errors
    /// [`PlacesError::Start`] when there is no such folder.
    pub fn of_user(start: &Path) -> Result<Places, PlacesError> {
        let unreachable = |cause| PlacesError::Start { path: start.to_owned(), cause };
        let start = start.canonicalize().map_err(unreachable)?;
        // A user without an entry has no home; whether that matters depends on what is named.
        let home = user().map(|user| user.dir.clone()).filter(|dir| dir.is_absolute());
        let home = home.map(|dir| dir.canonicalize().unwrap_or(dir));
        Ok(Places {
            managed: MANAGED_POLICY.into(),
            home,
            start,
            policies: Vec::new(),
            state: None,
        })
    }

    /// The same, for work that started in this folder.
    ///
    /// # Errors
    /// [`PlacesError::Start`] when there is no such folder.
    pub fn starting_in(mut self, start: &Path) -> Result<Places, PlacesError> {
        let unreachable = |cause| PlacesError::Start { path: start.to_owned(), cause };
        self.start = start.canonicalize().map_err(unreachable)?;
        Ok(self)
    }

    /// Takes these files in place of the user's policy. The machine's and the project's count all the
    /// same.
    #[must_use]
    pub fn with_policies(mut self, policies: Vec<PathBuf>) -> Places {
        self.policies = policies;
        self
    }

    /// Keeps everything in this folder instead of the user's.
    #[must_use]
    pub fn with_state(mut self, state: impl Into<PathBuf>) -> Places {
        self.state = Some(state.into());
        self
    }

    /// The user's home folder, where there is one.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    fn in_home(&self, below: &str) -> Result<PathBuf, PlacesError> {
        let uid = geteuid().as_raw();
        self.home.as_ref().map(|home| home.join(below)).ok_or(PlacesError::NoHome { uid })
    }

    /// The folder of what Tollgate keeps: trust, switches, snapshots, the ledger.
    ///
    /// # Errors
    /// [`PlacesError::NoHome`] when none was named and there is no home folder.
    pub fn state(&self) -> Result<PathBuf, PlacesError> {
        self.state.clone().map_or_else(|| self.in_home(STATE_FOLDER), Ok)
    }

    /// The folder of keys: the one that signs the ledger's checkpoints, and that of the digests in
    /// records.
    ///
    /// # Errors
    /// [`PlacesError::NoHome`] as [`Places::state`].
    pub fn keys(&self) -> Result<PathBuf, PlacesError> {
        Ok(self.state()?.join("keys"))
    }

    /// Where the ledger is by what a policy says of its `audit.store`; `None` for one in memory. A
    /// relative folder is below the state folder.
    ///
    /// # Errors
    /// [`PlacesError::NoHome`] as [`Places::state`].
    pub fn ledger(&self, audit_store: Option<&str>) -> Result<Option<PathBuf>, PlacesError> {
        Ok(match audit_store.map(|store| store.strip_prefix("file:").unwrap_or(store)) {
            Some("memory") => None,
            None | Some("default") => Some(self.state()?.join(LEDGER)),
            Some(folder) if Path::new(folder).is_absolute() => Some(folder.into()),
            Some(folder) => Some(self.state()?.join(folder)),
        })
    }

    /// The machine's policy, whether or not it is there.
    pub fn managed_policy(&self) -> &Path {
        &self.managed
    }

    /// The files that stand for the user's policy, whether or not they are there.
    ///
    /// # Errors
    /// [`PlacesError::NoHome`] when none was named and there is no home folder.
    pub fn user_policies(&self) -> Result<Vec<PathBuf>, PlacesError> {
        if self.policies.is_empty() {
            return Ok(vec![self.in_home(USER_POLICY)?]);
        }
        Ok(self.policies.clone())
    }

    /// Whether a policy in this folder can be a project's: the home folder and those above it are not
    /// looked at.
    pub fn may_be_project(&self, folder: &Path) -> bool {
        !self.home.as_ref().is_some_and(|home| home.starts_with(folder))
    }

    /// The project's root: the first folder upwards with a `.git`, else the outermost with a policy,
    /// else the start folder.
    pub fn project_root(&self) -> PathBuf {
        self.project().0
    }

    /// The project's policies that are there, from the outermost inwards.
    pub fn project_policies(&self) -> Vec<PathBuf> {
        self.project().1
    }

    fn project(&self) -> (PathBuf, Vec<PathBuf>) {
        let mut files = Vec::new();
        let mut root = self.start.as_path();
        for folder in self.start.ancestors().take(FOLDERS_MAX) {
            if !self.may_be_project(folder) {
                break;
            }
            let file = folder.join(PROJECT_POLICY);
            if fs::symlink_metadata(&file).is_ok() {
                files.push(file);
                root = folder;
            }
            if fs::symlink_metadata(folder.join(".git")).is_ok() {
                root = folder;
                break;
            }
        }
        files.reverse();
        (root.to_owned(), files)
    }

    /// The policies that there are, in the order in which they count.
    ///
    /// # Errors
    /// [`PlacesError`] for a policy that others could have written. It is not passed over, for a policy
    /// that is left out may loosen.
    pub fn layers(&self) -> Result<Vec<Layer>, PlacesError> {
        let mut layers = Vec::new();
        if self.managed_is_there()? {
            layers.push(Layer::named(LayerKind::Managed, &self.managed));
        }
        for path in self.user_policies()? {
            // One that was named and is not there is an error where it is read.
            if user_is_there(&path)? || !self.policies.is_empty() {
                layers.push(Layer::named(LayerKind::User, path));
            }
        }
        let found = self.project_policies().into_iter().filter(|path| !self.names(path));
        layers.extend(found.map(Layer::found));
        Ok(layers)
    }

    /// Whether a file is one of the policies that a person named: then it counts as that, and not once
    /// more as the project's.
    fn names(&self, path: &Path) -> bool {
        if self.policies.is_empty() {
            return false;
        }
        let Ok(real) = path.canonicalize() else { return false };
        self.policies.iter().any(|named| named.canonicalize().is_ok_and(|named| named == real))
    }

    fn managed_is_there(&self) -> Result<bool, PlacesError> {
        let Some(found) = look(LayerKind::Managed, &self.managed)? else { return Ok(false) };
        let unsafe_at = |path: &Path, why: &str| {
            let (kind, path, why) = (LayerKind::Managed, path.to_owned(), why.to_owned());
            Err(PlacesError::NotSafe { kind, path, why })
        };
        if !found.is_file() {
            return unsafe_at(&self.managed, "it is no regular file");
        }
        let folder = self.managed.parent().unwrap_or(Path::new("/"));
        let above = look(LayerKind::Managed, folder)?;
        for (path, found) in [(self.managed.as_path(), Some(found)), (folder, above)] {
            let Some(found) = found else { continue };
            if found.uid() != 0 {
                return unsafe_at(path, "it does not belong to root");
            }
            if found.mode() & 0o022 != 0 {
                return unsafe_at(path, "others than root can write to it");
            }
        }
        Ok(true)
    }

    /// Opens what a person has trusted.
    ///
    /// # Errors
    /// [`PlacesLoadError`] when it cannot be known.
    pub fn trust(&self) -> Result<TrustStore, PlacesLoadError> {
        Ok(TrustStore::open(&self.state()?)?)
    }

    /// Loads the policy in force here.
    ///
    /// # Errors
    /// [`PlacesLoadError`]; for a policy with every problem, its place and its remedy.
    pub fn load(&self, now: Timestamp) -> Result<Loaded, PlacesLoadError> {
        self.load_layers(&self.layers()?, now)
    }

    /// Loads the policy in force here for a process that lives for one call: from its snapshot, if
    /// that still holds. A policy that no longer loads does not come into force: the last good one,
    /// which is the snapshot's, stays.
    ///
    /// # Errors
    /// As [`Places::load`].
    pub fn load_for_a_call(&self, now: Timestamp) -> Result<(Loaded, Freshness), PlacesLoadError> {
        let layers = self.layers()?;
        let found = layers.iter().any(|layer| layer.kind == LayerKind::Project);
        let trust = if found { Some(self.trust()?) } else { None };
        let environment = |name: &str| std::env::var(name).ok();
        let state = self.state()?;
        let sources = knowledge::sources(Some(&state));
        let options = knowledge::options(&environment, trust.as_ref(), now, &sources);
        match load_with_snapshot(&layers, &options, &state) {
            Ok((loaded, freshness, _)) => Ok((check_includes(loaded)?, freshness)),
            Err(failure) => match last_good(&layers, &options, &state) {
                Some(loaded) => Ok((check_includes(loaded)?, Freshness::LastGood)),
                None => Err(failure.into()),
            },
        }
    }

    /// The digest of the policy that processes for one call go on with because the files do not load; `None`
    /// where they load, or where no earlier one is known.
    pub fn last_good(&self, now: Timestamp) -> Option<Name> {
        match self.load_for_a_call(now) {
            Ok((loaded, Freshness::LastGood)) => Some(loaded.digest),
            Ok(_) | Err(_) => None,
        }
    }

    /// Loads these layers with what is trusted and declared here.
    ///
    /// # Errors
    /// As [`Places::load`].
    pub fn load_layers(&self, layers: &[Layer], now: Timestamp) -> Result<Loaded, PlacesLoadError> {
        let found = layers.iter().any(|layer| layer.kind == LayerKind::Project);
        let trust = if found { Some(self.trust()?) } else { None };
        let environment = |name: &str| std::env::var(name).ok();
        let sources = knowledge::sources(self.state().ok().as_deref());
        let options = knowledge::options(&environment, trust.as_ref(), now, &sources);
        Ok(check_includes(load(layers, &options)?)?)
    }
}

/// The name of the operating-system user who runs this, or its number.
pub fn user_name() -> String {
    user().map_or_else(|| geteuid().to_string(), |user| user.name.clone())
}

/// An entry of the user database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) dir: PathBuf,
}

/// The entry of the operating-system user who runs this, looked up once: a process does not change
/// whose it is, and each look opens the user database.
pub(crate) fn user() -> Option<&'static Entry> {
    static USER: OnceLock<Option<Entry>> = OnceLock::new();
    USER.get_or_init(|| {
        let uid = geteuid();
        let of_system = || User::from_uid(uid).ok().flatten();
        let local = || {
            entry_in_files(Path::new("/etc/nsswitch.conf"), Path::new("/etc/passwd"), uid.as_raw())
        };
        local().or_else(|| of_system().map(|user| Entry { name: user.name, dir: user.dir }))
    })
    .as_ref()
}

/// The entry in the system's own file, where that is the first place in which the system looks (nsswitch.conf(5),
/// passwd(5)). Asking the system loads its whole machinery of name services, which is a good part of the life of a
/// process for one call.
fn entry_in_files(services: &Path, passwd: &Path, uid: u32) -> Option<Entry> {
    let services = fs::read_to_string(services).ok()?;
    let mut order =
        services.lines().find_map(|line| line.trim().strip_prefix("passwd:"))?.split_whitespace();
    if order.next() != Some("files") {
        return None;
    }
    let passwd = fs::read_to_string(passwd).ok()?;
    let entry = |line: &str| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, id, _, _, dir, _] = fields.as_slice() else { return None };
        (id.parse() == Ok(uid)).then(|| Entry { name: (*name).to_owned(), dir: (*dir).into() })
    };
    passwd.lines().find_map(entry)
}

/// Why a layer does not count.
pub fn why_ignored(state: LayerState) -> &'static str {
    match state {
        LayerState::InForce => "it is not",
        LayerState::Untrusted => "nobody has trusted it",
        LayerState::Changed => "it changed since it was trusted",
        LayerState::NoFile => "it is no regular file",
        LayerState::Broken => "it is no policy",
    }
}

/// Why a policy that is somebody else's is not to be trusted.
const OTHERS: &str = "it belongs to somebody else";

/// A user's policy is the user's: it may be a link, as dotfiles often are, but nobody else's file, nor one in
/// a folder in which others could put theirs in its place.
fn user_is_there(path: &Path) -> Result<bool, PlacesError> {
    let kind = LayerKind::User;
    if look(kind, path)?.is_none() {
        return Ok(false);
    }
    let there = |path: &Path| {
        fs::metadata(path).map_err(|cause| PlacesError::Look { kind, path: path.into(), cause })
    };
    let found = there(path)?;
    // What is no file (a pipe, a terminal) has no lasting text that others could change.
    if !found.is_file() {
        return Ok(true);
    }
    check_own(path, &found)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let above = there(folder)?;
    // A sticky folder lets others add, not exchange.
    if above.mode() & 0o1000 == 0 {
        check_own(folder, &above)?;
    }
    Ok(true)
}

/// Whether a file or folder is this user's or root's, and not for everybody to write.
fn check_own(path: &Path, found: &Metadata) -> Result<(), PlacesError> {
    let why = match found.uid() {
        uid if uid != 0 && uid != geteuid().as_raw() => OTHERS,
        _ if found.mode() & 0o002 != 0 => "everybody can write to it",
        // One's own group holds nobody else where each user has one.
        _ if found.mode() & 0o020 != 0 && found.gid() != 0 && found.gid() != getegid().as_raw() => {
            "another group can write to it"
        }
        _ => return Ok(()),
    };
    let (kind, path, why) = (LayerKind::User, path.to_owned(), why.to_owned());
    Err(PlacesError::NotSafe { kind, path, why })
}

/// The files that a user's policy includes are as much the user's as the policy itself.
fn check_includes(loaded: Loaded) -> Result<Loaded, PlacesError> {
    let users = loaded.layers.iter().filter(|layer| layer.kind == LayerKind::User);
    for include in users.flat_map(|layer| &layer.includes) {
        user_is_there(include)?;
    }
    Ok(loaded)
}

/// Looks at a file without following it; `None` when there is none.
fn look(kind: LayerKind, path: &Path) -> Result<Option<Metadata>, PlacesError> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(cause) => Err(PlacesError::Look { kind, path: path.to_owned(), cause }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Places, PlacesError, geteuid};
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::{Path, PathBuf};
    use tollgate_policy::LayerKind;

    fn places(root: &Path, start: &str) -> Places {
        let places = Places::of_user(&root.join(start)).unwrap();
        Places {
            managed: root.join("etc/policy.yaml"),
            home: Some(root.canonicalize().unwrap().join("home")),
            ..places
        }
    }

    fn write(path: PathBuf, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "version: 1\n").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn no_environment_variable_chooses_a_place() {
        let places = Places::of_user(Path::new("/")).unwrap();
        let home = nix::unistd::User::from_uid(geteuid()).unwrap().unwrap().dir;
        let home = home.canonicalize().unwrap_or(home);
        assert_eq!(places.state().unwrap(), home.join(".local/state/tollgate"));
        let policy = home.join(".config/tollgate/policy.yaml");
        assert_eq!(places.user_policies().unwrap(), [policy]);
    }

    #[test]
    fn a_policy_in_a_sub_folder_does_not_stand_in_the_place_of_the_projects() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        write(root.join("home/p/tollgate.yaml"), 0o600);
        write(root.join("home/p/sub/tollgate.yaml"), 0o600);
        write(root.join("home/tollgate.yaml"), 0o600);
        let found = places(&root, "home/p/sub");
        let project = root.join("home/p");
        let both = [project.join("tollgate.yaml"), project.join("sub/tollgate.yaml")];
        assert_eq!(found.project_policies(), both, "the home folder's own is not looked at");
        assert_eq!(found.project_root(), project);
        fs::create_dir(project.join(".git")).unwrap();
        write(root.join("home/p/.git/x"), 0o600);
        assert_eq!(places(&root, "home/p/sub").project_root(), project);
    }

    #[test]
    fn a_managed_policy_counts_only_when_root_alone_can_write_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("work")).unwrap();
        let file = folder.path().join("etc/policy.yaml");
        let kinds = || {
            let layers = places(folder.path(), "work").layers();
            layers.map(|layers| layers.iter().map(|layer| layer.kind).collect::<Vec<_>>())
        };
        assert_eq!(kinds().unwrap(), []);
        write(file.clone(), 0o666);
        assert!(matches!(kinds(), Err(PlacesError::NotSafe { .. })));
        fs::remove_file(&file).unwrap();
        write(folder.path().join("etc/other.yaml"), 0o644);
        symlink(folder.path().join("etc/other.yaml"), &file).unwrap();
        assert!(matches!(kinds(), Err(PlacesError::NotSafe { .. })), "a link is no file");
        fs::remove_file(&file).unwrap();
        write(file, 0o644);
        if geteuid().is_root() {
            assert_eq!(kinds().unwrap(), [LayerKind::Managed]);
        } else {
            assert!(matches!(kinds(), Err(PlacesError::NotSafe { .. })));
        }
    }

    #[test]
    fn who_runs_this_is_what_the_system_says() {
        let system = super::User::from_uid(geteuid()).unwrap();
        let known = super::user().map(|entry| (entry.name.clone(), entry.dir.clone()));
        assert_eq!(known, system.map(|user| (user.name, user.dir)));
    }

    #[test]
    fn an_entry_is_taken_from_the_file_only_where_the_system_looks_there_first() {
        let folder = tempfile::tempdir().unwrap();
        let (services, passwd) = (folder.path().join("nsswitch"), folder.path().join("passwd"));
        fs::write(
            &passwd,
            "bad line\nann:x:7:7:Ann:/srv/ann:/bin/sh\nbob:x:8:8::/srv/bob:/bin/sh\n",
        )
        .unwrap();
        let entry = |order: &str, uid| {
            fs::write(&services, format!("# order\n{order}\ngroup: files\n")).unwrap();
            super::entry_in_files(&services, &passwd, uid).map(|entry| (entry.name, entry.dir))
        };
        assert_eq!(entry("passwd:  files systemd", 8), Some(("bob".to_owned(), "/srv/bob".into())));
        assert_eq!(entry("passwd: files", 9), None, "somewhere else, perhaps");
        assert_eq!(entry("passwd: sss files", 8), None);
        assert_eq!(entry("shadow: files", 8), None);
    }

    #[test]
    fn a_users_policy_that_everybody_can_write_is_refused_and_not_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("work")).unwrap();
        let file = folder.path().join("home/.config/tollgate/policy.yaml");
        write(file.clone(), 0o666);
        let places = places(folder.path(), "work");
        assert!(matches!(places.layers(), Err(PlacesError::NotSafe { .. })));
        write(file.clone(), 0o664);
        assert_eq!(places.layers().unwrap().len(), 1, "one's own group");
        if geteuid().is_root() {
            std::os::unix::fs::chown(&file, None, Some(4711)).unwrap();
            assert!(matches!(places.layers(), Err(PlacesError::NotSafe { .. })), "another group");
        }
        write(file, 0o644);
        assert_eq!(places.layers().unwrap().len(), 1);
    }

    #[test]
    fn a_ledger_is_where_the_policy_says_or_in_the_state_folder() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::of_user(folder.path()).unwrap().with_state("/s");
        let ledger = |store| places.ledger(store).unwrap();
        assert_eq!(ledger(None), Some("/s/ledger".into()));
        assert_eq!(ledger(Some("file:default")), Some("/s/ledger".into()));
        assert_eq!(ledger(Some("file:/var/book")), Some("/var/book".into()));
        assert_eq!(ledger(Some("file:book")), Some("/s/book".into()));
        assert_eq!(ledger(Some("memory")), None);
    }
}

//! Switches: hooks that a person has disabled for a while, and pauses, in one private file of the
//! state folder. A running gate watches it; a short-lived one reads it as it opens.
//!
//! What is switched for a time is made dry until then rather than taken out: it ends by itself, also in
//! a process that watches nothing, and the ledger keeps what would have been decided. A pause does so to
//! every hook that restricts. The defaults of the policy hold, and a locked hook is left alone by
//! both, whatever the file says.

use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tollgate_gate::{DryRun, Hook, HookError, Name, Ruleset, Timestamp};
use tollgate_policy::HookInfo;
use tollgate_policy::private::{self, PrivateError};

/// The file, in the state folder.
pub(crate) const FILE: &str = "switches.json";
/// Held while it is changed.
const LOCK: &str = "switches.lock";
/// Largest file of switches, in bytes.
const FILE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Most hooks that are disabled at a time.
pub const DISABLED_MAX: usize = 1_000;
/// Longest pause.
pub const PAUSE_MAX: Duration = Duration::from_secs(8 * 60 * 60);
/// Longest reason, in bytes.
pub const REASON_BYTES_MAX: usize = tollgate_gate::limits::REASON_BYTES_MAX;

/// A switch: what, why, since and until when, and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// Why.
    pub reason: String,
    /// Since when.
    pub since: Timestamp,
    /// Until when; `None`: until it is enabled again.
    pub until: Option<Timestamp>,
    /// The operating-system user who did it.
    pub by: String,
}

impl Switch {
    fn holds(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// What is switched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Switches {
    disabled: Vec<(String, Switch)>,
    paused: Option<Switch>,
}

/// Why a switch does not happen.
#[derive(Debug, thiserror::Error)]
pub enum SwitchesError {
    /// The file is not private, or cannot be read or written.
    #[error(transparent)]
    Private(#[from] PrivateError),
    /// The file is not what is written here.
    #[error("`{path}` is no file of switches: {cause}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: String,
    },
    /// The state folder cannot be used.
    #[error("`{path}` cannot be locked: {cause}")]
    Lock {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// A pause must end, and soon.
    #[error("a pause lasts at most {} hours", PAUSE_MAX.as_secs() / 3600)]
    TooLong,
    /// The reason is empty or too long.
    #[error("a reason has 1 to {REASON_BYTES_MAX} bytes")]
    Reason,
    /// Too many hooks are disabled.
    #[error("at most {DISABLED_MAX} hooks are disabled at a time")]
    TooMany,
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    disabled: Vec<WrittenSwitch>,
    paused: Option<WrittenSwitch>,
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSwitch {
    #[serde(skip_serializing_if = "Option::is_none")]
    hook: Option<String>,
    reason: String,
    since: String,
    until: Option<String>,
    by: String,
}

impl Switches {
    /// Reads the switches of a state folder; without a file nothing is switched.
    ///
    /// # Errors
    /// [`SwitchesError`] when somebody else could have written the file, or it is malformed. Then
    /// nothing is switched.
    pub fn read(state: &Path) -> Result<Switches, SwitchesError> {
        let path = state.join(FILE);
        let Some(bytes) = private::read(&path, FILE_BYTES_MAX)? else {
            return Ok(Switches::default());
        };
        Switches::parse(&bytes).map_err(|cause| SwitchesError::Malformed { path, cause })
    }

    fn parse(bytes: &[u8]) -> Result<Switches, String> {
        let written: Written = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if written.version != 1 {
            return Err(format!("version {} is not known", written.version));
        }
        let mut switches = Switches::default();
        for disabled in written.disabled {
            let hook = disabled.hook.clone().ok_or("a disabled hook has no name")?;
            switches.disabled.push((hook, switch(disabled)?));
        }
        switches.paused = written.paused.map(switch).transpose()?;
        if switches.paused.as_ref().is_some_and(|paused| !is_short(paused)) {
            return Err("a pause has no end, or lasts too long".to_owned());
        }
        Ok(switches)
    }

    /// Changes the switches of a state folder: one at a time, and whole or not at all. What has ended is
    /// dropped.
    ///
    /// # Errors
    /// [`SwitchesError`], or what `change` says; nothing has changed then.
    pub fn change<T, E: From<SwitchesError>>(
        state: &Path,
        now: Timestamp,
        change: impl FnOnce(&mut Switches) -> Result<T, E>,
    ) -> Result<T, E> {
        let path = state.join(LOCK);
        let failed = |cause| E::from(SwitchesError::Lock { path: path.clone(), cause });
        if !state.exists() {
            DirBuilder::new().recursive(true).mode(0o700).create(state).map_err(failed)?;
        }
        let lock = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
        let lock = lock.map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut switches = Switches::read(state)?;
        switches.disabled.retain(|(_, switch)| switch.holds(now));
        switches.paused = switches.paused.filter(|paused| paused.holds(now));
        let done = change(&mut switches)?;
        switches.write(state)?;
        Ok(done)
    }

    fn write(&self, state: &Path) -> Result<(), SwitchesError> {
        let path = state.join(FILE);
        let disabled = self.disabled.iter().map(|(hook, s)| written(Some(hook), s)).collect();
        let paused = self.paused.as_ref().map(|switch| written(None, switch));
        let whole = Written { version: 1, disabled, paused };
        let text = serde_json::to_string_pretty(&whole).map_err(|error| {
            SwitchesError::Malformed { path: path.clone(), cause: error.to_string() }
        })?;
        Ok(private::write(&path, text.as_bytes())?)
    }

    /// Disables a hook, in place of what was said of it before.
    ///
    /// # Errors
    /// [`SwitchesError`] for a reason that is none, or too many disabled hooks.
    pub fn disable(&mut self, hook: &str, switch: Switch) -> Result<(), SwitchesError> {
        check_reason(&switch.reason)?;
        self.disabled.retain(|(name, _)| name != hook);
        if self.disabled.len() >= DISABLED_MAX {
            return Err(SwitchesError::TooMany);
        }
        self.disabled.push((hook.to_owned(), switch));
        Ok(())
    }

    /// Takes back that a hook is disabled; says whether it was.
    pub fn enable(&mut self, hook: &str) -> bool {
        let before = self.disabled.len();
        self.disabled.retain(|(name, _)| name != hook);
        self.disabled.len() != before
    }

    /// Pauses, in place of a pause that holds.
    ///
    /// # Errors
    /// [`SwitchesError`] for a pause without an end or longer than [`PAUSE_MAX`], or no reason.
    pub fn pause(&mut self, switch: Switch) -> Result<(), SwitchesError> {
        check_reason(&switch.reason)?;
        if !is_short(&switch) {
            return Err(SwitchesError::TooLong);
        }
        self.paused = Some(switch);
        Ok(())
    }

    /// Ends a pause; says whether there was one.
    pub fn resume(&mut self) -> bool {
        self.paused.take().is_some()
    }

    /// The hooks that are disabled at this moment.
    pub fn disabled(&self, now: Timestamp) -> impl Iterator<Item = (&str, &Switch)> {
        let holding = self.disabled.iter().filter(move |(_, switch)| switch.holds(now));
        holding.map(|(hook, switch)| (hook.as_str(), switch))
    }

    /// The pause that holds at this moment.
    pub fn paused(&self, now: Timestamp) -> Option<&Switch> {
        self.paused.as_ref().filter(|paused| paused.holds(now))
    }

    /// What holds at this moment, and what it does to these hooks.
    pub(crate) fn at(&self, now: Timestamp, hooks: &[HookInfo]) -> Effect {
        let unlocked = hooks.iter().filter(|hook| !hook.locked);
        let disabled: HashMap<&str, &Switch> = self.disabled(now).collect();
        let paused = self.paused(now).and_then(|switch| switch.until);
        let mut effect = Effect::default();
        for hook in unlocked {
            let switched = disabled.get(hook.name.as_str()).map(|switch| match switch.until {
                Some(until) => Switched::DryUntil(until),
                None => Switched::Off,
            });
            // Only an `allow` loosens by its own; dry, it would tighten.
            let paused = paused.filter(|_| hook.action != "allow").map(Switched::DryUntil);
            if let Some(switched) = switched.max(paused) {
                effect.0.push((hook.name.as_str().into(), switched));
            }
        }
        effect
    }
}

/// What becomes of a hook. A later one leaves less of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Switched {
    DryUntil(Timestamp),
    Off,
}

/// What switches do to the hooks of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Effect(Vec<(Name, Switched)>);

impl Effect {
    /// The ruleset with the switches applied. Its digest is another one: a decision names what it was
    /// made under.
    pub(crate) fn apply(&self, ruleset: Ruleset) -> Result<Ruleset, HookError> {
        if self.0.is_empty() {
            return Ok(ruleset);
        }
        let by_name: HashMap<&str, Switched> =
            self.0.iter().map(|(name, switched)| (&**name, *switched)).collect();
        let hooks: Vec<Hook> = ruleset
            .hooks()
            .map(|hook| match by_name.get(&**hook.name()) {
                Some(Switched::Off) => hook.clone().with_enabled(false),
                Some(Switched::DryUntil(until)) => {
                    let until = longest(hook.dry_run(), *until);
                    hook.clone().with_dry_run(until)
                }
                None => hook.clone(),
            })
            .collect();
        let digest = self.digest(ruleset.digest());
        Ok(Ruleset::new(ruleset.settings().clone(), hooks)?.with_digest(digest))
    }

    fn digest(&self, policy: &str) -> String {
        let mut hasher = Sha256::new();
        hasher.update(b"tollgate switches 1\0");
        hasher.update(policy.as_bytes());
        for (name, switched) in &self.0 {
            let until = match switched {
                Switched::Off => u64::MAX,
                Switched::DryUntil(until) => until.nanos(),
            };
            hasher.update(u64::try_from(name.len()).unwrap_or(u64::MAX).to_be_bytes());
            hasher.update(name.as_bytes());
            hasher.update(until.to_be_bytes());
        }
        let mut text = String::from("sha256:");
        for byte in hasher.finalize() {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}

fn longest(dry_run: DryRun, until: Timestamp) -> DryRun {
    match dry_run {
        DryRun::Yes => DryRun::Yes,
        DryRun::Until(own) => DryRun::Until(own.max(until)),
        DryRun::No => DryRun::Until(until),
    }
}

fn check_reason(reason: &str) -> Result<(), SwitchesError> {
    let fits = !reason.trim().is_empty() && reason.len() <= REASON_BYTES_MAX;
    fits.then_some(()).ok_or(SwitchesError::Reason)
}

fn is_short(pause: &Switch) -> bool {
    pause.until.is_some_and(|until| until.since(pause.since) <= PAUSE_MAX)
}

fn switch(written: WrittenSwitch) -> Result<Switch, String> {
    let moment = |text: &str| {
        Timestamp::parse(text).ok_or_else(|| format!("`{text}` is no time of RFC 3339"))
    };
    Ok(Switch {
        since: moment(&written.since)?,
        until: written.until.as_deref().map(moment).transpose()?,
        reason: written.reason,
        by: written.by,
    })
}

fn written(hook: Option<&String>, switch: &Switch) -> WrittenSwitch {
    WrittenSwitch {
        hook: hook.cloned(),
        reason: switch.reason.clone(),
        since: switch.since.to_string(),
        until: switch.until.map(|until| until.to_string()),
        by: switch.by.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::{PAUSE_MAX, Switch, Switches, SwitchesError};
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Duration;
    use tollgate_gate::Timestamp;

    fn switch(time: Option<Duration>) -> Switch {
        let since = Timestamp::from_millis(1_000);
        let until = time.map(|time| Timestamp::from_nanos(since.nanos() + time.as_nanos() as u64));
        Switch { reason: "r".into(), since, until, by: "alice".into() }
    }

    #[test]
    fn a_switch_ends_by_itself() {
        let mut switches = Switches::default();
        switches.disable("a", switch(Some(Duration::from_secs(1)))).unwrap();
        switches.disable("b", switch(None)).unwrap();
        switches.pause(switch(Some(Duration::from_secs(1)))).unwrap();
        let names = |at| switches.disabled(at).map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(names(Timestamp::from_millis(1_999)), ["a", "b"]);
        assert_eq!(names(Timestamp::from_millis(2_000)), ["b"]);
        assert!(switches.paused(Timestamp::from_millis(1_999)).is_some());
        assert!(switches.paused(Timestamp::from_millis(2_000)).is_none());
    }

    #[test]
    fn a_pause_without_end_or_beyond_the_cap_is_refused() {
        let mut switches = Switches::default();
        let longer = PAUSE_MAX + Duration::from_secs(1);
        for time in [None, Some(longer)] {
            assert!(matches!(switches.pause(switch(time)), Err(SwitchesError::TooLong)));
        }
        switches.pause(switch(Some(PAUSE_MAX))).unwrap();
        let no_reason = Switch { reason: " ".into(), ..switch(None) };
        assert!(matches!(switches.disable("a", no_reason), Err(SwitchesError::Reason)));
    }

    #[test]
    fn the_file_comes_back_as_it_was_written_and_only_its_owner_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let now = Timestamp::from_millis(1_500);
        Switches::change(&state, now, |s| s.disable("a", switch(None))).unwrap();
        Switches::change(&state, now, |s| s.pause(switch(Some(PAUSE_MAX)))).unwrap();
        let read = Switches::read(&state).unwrap();
        assert_eq!(read.disabled(now).count(), 1);
        assert_eq!(read.paused(now), Some(&switch(Some(PAUSE_MAX))));
        let file = state.join("switches.json");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
        fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
        assert!(matches!(Switches::read(&state), Err(SwitchesError::Private(_))));
    }

    #[test]
    fn a_pause_written_by_hand_without_end_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("switches.json");
        let text = r#"{"version":1,"disabled":[],"paused":{"reason":"r","since":"2026-01-01","until":null,"by":"x"}}"#;
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        assert!(matches!(Switches::read(folder.path()), Err(SwitchesError::Malformed { .. })));
    }
}

//! What hook processes remember of a host's session: where its project is, and calls under way.
//!
//! The project's root is fixed when a session is first heard of; a later working directory does not
//! move it. Hosts that give no call ids have their calls told apart by tool and arguments, the oldest
//! first. One small file a session, in the state folder, private, changed under a lock.

use super::{Decision, EventId, Globals, Host, Json, Name, Payload, ToolCall};
use super::{Trouble, Verdict, places};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tollgate::gate::{Object, Timestamp};
use tollgate::policy::private;
use tollgate::store::HashValue;
use tollgate_hosts::{EventUse, Who};

/// The folder, in the state folder.
const FOLDER: &str = "hosts";
/// Largest file, in bytes.
const BYTES_MAX: usize = 256 * 1024;
/// Most calls under way that are remembered of a session; the oldest go first.
const CALLS_MAX: usize = 512;

/// The file whose age says when the folder was last swept.
const SWEPT: &str = "swept";
/// How often that is.
const SWEEP_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long the file of a session is kept after its last change.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Longest wait for another process that changes the file.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// What is remembered of one session.
pub(super) struct Memory {
    path: PathBuf,
    kept: Kept,
}

#[derive(Default)]
struct Kept {
    workspace: Option<PathBuf>,
    calls: Vec<Call>,
}

/// A call under way.
struct Call {
    /// Tool and arguments.
    digest: String,
    id: String,
    /// Whether the host's own prompt is skipped.
    skip: bool,
}

impl Memory {
    pub(super) fn of(globals: &Globals, host: &str, who: &Who) -> Result<Memory, Trouble> {
        let state = places(globals)?.state().map_err(|error| Trouble::new("no_state", error))?;
        let name = digest_of(&[host, &who.session]);
        let path = state.join(FOLDER).join(name);
        let kept = read(&path)?;
        Ok(Memory { path, kept })
    }

    /// The project's root, if the session has been heard of.
    pub(super) fn workspace(&self) -> Option<PathBuf> {
        self.kept.workspace.clone()
    }

    /// Fixes the project's root; another process may have done so at the same moment.
    pub(super) fn settle_in(&mut self, root: &Path) -> Result<(), Trouble> {
        self.change(|kept| {
            kept.workspace.get_or_insert_with(|| root.to_owned());
        })
    }

    /// The session is over. Its lock stays until it is swept: somebody may wait for it.
    pub(super) fn forget(&mut self) {
        // What is left over is an old file of a few bytes, which is swept one day.
        let _ = std::fs::remove_file(&self.path);
    }

    /// Takes away the files of sessions that nobody has heard of for long: not every host tells of their end.
    /// Asked for when a session begins, at most once a day.
    pub(super) fn sweep(&self) {
        let Some(folder) = self.path.parent() else { return };
        let is_older = |path: &Path, than: Duration| {
            let changed = std::fs::metadata(path).and_then(|found| found.modified());
            changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > than))
        };
        let mark = folder.join(SWEPT);
        if mark.exists() && !is_older(&mark, SWEEP_EVERY) {
            return;
        }
        // A folder that cannot be swept holds what it has to all the same.
        if std::fs::write(&mark, "").is_err() {
            return;
        }
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if is_older(&entry.path(), KEPT_FOR) && entry.file_name() != SWEPT {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Gives a call of a host without call ids one: a new one before it runs, the oldest of its like
    /// after.
    pub(super) fn correlate(
        &mut self,
        host: &dyn Host,
        payload: Payload,
    ) -> Result<Payload, Trouble> {
        let Some(call) = payload.tool_call() else { return Ok(payload) };
        if call.call_id.is_some() {
            return Ok(payload);
        }
        let digest = call_digest(call);
        match &payload {
            Payload::PreTool(call) => {
                let id = EventId::made(Timestamp::from_millis(now_ms())).to_string();
                let call =
                    ToolCall::clone(call).with_call_id(format!("{}-{id}", host.facts().name));
                Ok(call.into())
            }
            Payload::PostTool(_) | Payload::ToolError(_) => {
                let mut found = None;
                self.change(|kept| {
                    let at = kept.calls.iter().position(|call| call.digest == digest);
                    found = at.map(|at| kept.calls.remove(at).id);
                })?;
                Ok(with_id(payload, found))
            }
            Payload::AgentStart(_)
            | Payload::PromptBuild(_)
            | Payload::MemoryLoad(_)
            | Payload::PreModel(_)
            | Payload::PostModel(_)
            | Payload::AgentEnd(_)
            | Payload::AgentAbort(_)
            | Payload::Error(_) => Ok(payload),
        }
    }

    /// Remembers a call that goes on, where a later event is answered or found by it.
    pub(super) fn remember(&mut self, host: &dyn Host, decision: &Decision) -> Result<(), Trouble> {
        let is_pending = matches!(decision.verdict, Verdict::Allow | Verdict::Ask);
        let Payload::PreTool(call) = decision.runs() else { return Ok(()) };
        if !is_pending {
            return Ok(());
        }
        let made = call.call_id.as_deref().filter(|id| {
            id.strip_prefix(host.facts().name).is_some_and(|rest| rest.starts_with('-'))
        });
        let asks_later = host.facts().event("PermissionRequest").is_some_and(|event| {
            matches!(event.used, EventUse::Remembered(_)) && decision.skip_host_prompt
        });
        if made.is_none() && !asks_later {
            return Ok(());
        }
        let call = Call {
            digest: call_digest(call),
            id: made.unwrap_or_default().to_owned(),
            skip: decision.skip_host_prompt,
        };
        self.change(|kept| {
            if kept.calls.len() >= CALLS_MAX {
                kept.calls.remove(0);
            }
            kept.calls.push(call);
        })
    }

    /// Whether the decision on this call said that the host's own prompt is skipped.
    pub(super) fn may_skip_prompt(&mut self, call: &ToolCall) -> Result<bool, Trouble> {
        let digest = call_digest(call);
        let found = self.kept.calls.iter().any(|call| call.digest == digest && call.skip);
        if !found {
            return Ok(false);
        }
        let mut skip = false;
        self.change(|kept| {
            let at = kept.calls.iter().position(|call| call.digest == digest && call.skip);
            skip = at.map(|at| kept.calls.remove(at)).is_some();
        })?;
        Ok(skip)
    }

    /// Changes the file under a lock.
    fn change(&mut self, change: impl FnOnce(&mut Kept)) -> Result<(), Trouble> {
        let trouble = |error: &dyn std::fmt::Display| Trouble::new("no_state", error);
        if let Some(folder) = self.path.parent()
            && !folder.exists()
        {
            let mut builder = std::fs::DirBuilder::new();
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.recursive(true).create(folder).map_err(|error| trouble(&error))?;
        }
        let lock = self.path.with_extension("lock");
        let mut options = std::fs::OpenOptions::new();
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let lock: File = options
            .create(true)
            .truncate(false)
            .write(true)
            .open(lock)
            .map_err(|error| trouble(&error))?;
        wait_for(&lock).map_err(|error| {
            let file = self.path.with_extension("lock");
            trouble(&format!("`{}` is held by another process ({error})", file.display()))
        })?;
        self.kept = read(&self.path)?;
        change(&mut self.kept);
        private::write(&self.path, self.kept.to_json().text().as_bytes())
            .map_err(|error| trouble(&error))
    }
}

/// Waits for a lock, though not for ever: before the deadline it has to be said what was waited for.
fn wait_for(lock: &File) -> Result<(), TryLockError> {
    let until = Instant::now() + LOCK_WAIT;
    loop {
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(1));
            }
            locked => return locked,
        }
    }
}

impl Kept {
    fn to_json(&self) -> Json {
        let calls = self.calls.iter().map(|call| {
            Json::from(Object::from_iter([
                ("digest", Json::from(&*call.digest)),
                ("id", Json::from(&*call.id)),
                ("skip", Json::from(call.skip)),
            ]))
        });
        let workspace = self.workspace.as_deref().and_then(Path::to_str);
        Object::from_iter([
            ("workspace", workspace.map(Json::from).unwrap_or_default()),
            ("calls", calls.collect::<Vec<_>>().into()),
        ])
        .into()
    }

    fn of_json(value: &Json) -> Kept {
        let text =
            |value: &Json, key: &str| value.get(key).and_then(Json::as_str).map(str::to_owned);
        let calls = value.get("calls").and_then(Json::as_array).unwrap_or_default();
        let calls = calls.iter().filter_map(|call| {
            Some(Call {
                digest: text(call, "digest")?,
                id: text(call, "id")?,
                skip: call.get("skip").and_then(Json::as_bool)?,
            })
        });
        Kept { workspace: text(value, "workspace").map(Into::into), calls: calls.collect() }
    }
}

fn read(path: &Path) -> Result<Kept, Trouble> {
    let bytes = private::read(path, BYTES_MAX).map_err(|error| Trouble::new("no_state", error))?;
    let Some(bytes) = bytes else { return Ok(Kept::default()) };
    let value = Json::read(&bytes)
        .map_err(|error| Trouble::new("no_state", format!("`{}`: {error}", path.display())))?;
    Ok(Kept::of_json(&value))
}

fn with_id(mut payload: Payload, id: Option<String>) -> Payload {
    let Some(id) = id.map(Name::from) else { return payload };
    if let Payload::PostTool(outcome) | Payload::ToolError(outcome) = &mut payload {
        let outcome = Arc::make_mut(outcome);
        Arc::make_mut(&mut outcome.call).call_id = Some(id);
    }
    payload
}

fn call_digest(call: &ToolCall) -> String {
    let server = call.server.as_deref().unwrap_or_default();
    digest_of(&[&call.tool, server, &call.arguments.canonical_text()])
}

/// A digest of these texts, in hexadecimal.
fn digest_of(texts: &[&str]) -> String {
    let texts: Vec<Json> = texts.iter().map(|text| Json::from(*text)).collect();
    let hash = HashValue::of(Json::from(texts).text().as_bytes()).to_string();
    hash.strip_prefix("sha256:").unwrap_or(&hash).to_owned()
}

fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

//! Watching: a thread that looks at the files of a policy and its switches about once a second, and puts
//! what changed into force.
//!
//! It compares digests, so it needs no help of the operating system and misses no change that a clock
//! cannot tell. The last good policy stays when the new one does not load, and whoever watches is told.
//! Calls in flight end under what they began with.

use crate::error::ReloadError;
use crate::open::Tollgate;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::future::Future;
use std::io::{self, Read as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;
use tollgate_gate::Name;
use tollgate_policy::limits::POLICY_BYTES_MAX;

/// How often the files are looked at.
pub const POLL: Duration = Duration::from_secs(1);

/// What came into force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reloaded {
    /// The policy, loaded anew.
    Policy,
    /// Switches: a hook disabled or enabled, a pause begun or ended.
    Switches,
}

/// Watches until it is dropped.
#[derive(Debug)]
pub struct Watch {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Stop {
    wanted: Mutex<bool>,
    told: Condvar,
}

impl Stop {
    /// Waits; whether to stop.
    fn wait(&self, time: Duration) -> bool {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.told.wait_timeout_while(wanted, time, |wanted| !*wanted);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        *self.stop.wanted.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.told.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic was the thread's own end; there is nobody to tell.
            let _ = thread.join();
        }
    }
}

impl Tollgate {
    /// Watches the files of the policy and its switches, and puts what changed into force. `tell` hears
    /// of each change with the digest that is in force, and of each that did not work; it is called on
    /// the watching thread.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn watch(
        self: &Arc<Tollgate>,
        tell: impl Fn(Result<(Reloaded, Name), ReloadError>) + Send + 'static,
    ) -> io::Result<Watch> {
        self.watch_every(POLL, tell)
    }

    pub(crate) fn watch_every(
        self: &Arc<Tollgate>,
        poll: Duration,
        tell: impl Fn(Result<(Reloaded, Name), ReloadError>) + Send + 'static,
    ) -> io::Result<Watch> {
        let stop = Arc::new(Stop::default());
        let (tollgate, seen) = (Arc::downgrade(self), Seen::of(self));
        let mut watcher = Watcher { tollgate, seen, begun: false };
        let stopped = Arc::clone(&stop);
        let thread =
            std::thread::Builder::new().name("tollgate-watch".into()).spawn(move || {
                while !stopped.wait(poll) {
                    let Some(tollgate) = watcher.tollgate.upgrade() else { return };
                    // One that panics must not end the watch.
                    let looked =
                        AssertUnwindSafe(|| watcher.look(&tollgate).into_iter().for_each(&tell));
                    let _ = catch_unwind(looked);
                }
            })?;
        Ok(Watch { stop, thread: Some(thread) })
    }
}

struct Watcher {
    tollgate: Weak<Tollgate>,
    seen: Seen,
    /// It has looked once.
    begun: bool,
}

type Told = Result<(Reloaded, Name), ReloadError>;

impl Watcher {
    fn look(&mut self, tollgate: &Tollgate) -> Vec<Told> {
        let now = Seen::of(tollgate);
        let (policy, switches) =
            (now.policies != self.seen.policies, now.switches != self.seen.switches);
        // What changed between the opening and the watch shows in no mark.
        let is_first = !std::mem::replace(&mut self.begun, true);
        let policy = policy || (is_first && tollgate.is_stale());
        let digest = || Name::clone(tollgate.gate().ruleset().digest());
        let mut told = Vec::new();
        let mut again = false;
        if policy {
            match block_on(tollgate.reload()) {
                Ok(()) => told.push(Ok((Reloaded::Policy, digest()))),
                Err(error) => {
                    // What could not be recorded is tried again; a mistake waits to be mended.
                    again = matches!(error, ReloadError::Switch(_));
                    told.push(Err(error));
                }
            }
        }
        // Also when nothing was written: a switch may have ended.
        match block_on(tollgate.apply_switches()) {
            Ok(true) => told.push(Ok((Reloaded::Switches, digest()))),
            Ok(false) => {}
            Err(error) => {
                again |= matches!(error, ReloadError::Switch(_));
                // A file that cannot be read says so once, not every second.
                if switches {
                    told.push(Err(error));
                }
            }
        }
        if !again {
            // The files that count may be others now; those that changed while they were read differ.
            let loaded = Seen::of(tollgate);
            self.seen = if policy { loaded.only_if_same(now) } else { now };
        }
        told
    }
}

/// What the files held, as they were looked at last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Seen {
    policies: Vec<(PathBuf, Mark)>,
    switches: Vec<(PathBuf, Mark)>,
}

/// What a file is: nothing, a link or not, and its digest.
type Mark = Option<(bool, [u8; 32])>;

impl Seen {
    fn of(tollgate: &Tollgate) -> Seen {
        let watched = tollgate.watched();
        let marked = |paths: Vec<PathBuf>| {
            paths.into_iter().map(|path| (path.clone(), mark(&path))).collect()
        };
        Seen { policies: marked(watched.policies), switches: marked(watched.switches) }
    }

    /// This, where the files that both know are the same; of the others what was seen before.
    fn only_if_same(mut self, before: Seen) -> Seen {
        for (path, mark) in &mut self.policies {
            if let Some((_, old)) = before.policies.iter().find(|(known, _)| known == path) {
                *mark = *old;
            }
        }
        self
    }
}

fn mark(path: &Path) -> Mark {
    let is_link = fs::symlink_metadata(path).ok()?.is_symlink();
    // A pipe would block.
    if !fs::metadata(path).ok()?.is_file() {
        return Some((is_link, [0; 32]));
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(POLICY_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path).ok()?.take(limit).read_to_end(&mut bytes).ok()?;
    Some((is_link, Sha256::digest(&bytes).into()))
}

/// Wakes a thread that waits for a future.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::places::Places;
    use crate::switches::{Switch, Switches};
    use crate::watch::{Reloaded, Watch};
    use crate::{ReloadError, Tollgate};
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;
    use tollgate_gate::{
        Event, EventKind, Hook, MemoryLedger, Opinion, RecordKind, Roles, Session, ToolCall, inline,
    };

    const POLL: Duration = Duration::from_millis(5);
    const DENY: &str = "version: 1\nlocked: [keep]\nhooks:\n  - { name: keep, on: pre_tool, match: { tool: rm }, deny: \"no\" }\n  - { name: mail, on: pre_tool, match: { tool: mail }, deny: \"no\" }\n";
    const NONE: &str = "version: 1\nhooks: []\n";

    struct Rig {
        folder: tempfile::TempDir,
        tollgate: Arc<Tollgate>,
        ledger: Arc<MemoryLedger>,
        told: Receiver<Result<Reloaded, ReloadError>>,
        watch: Option<Watch>,
    }

    impl Rig {
        fn new() -> Rig {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("policy.yaml"), DENY).unwrap();
            fs::create_dir(folder.path().join("work")).unwrap();
            let places = Places::of_user(&folder.path().join("work")).unwrap();
            let places = places
                .with_policies(vec![folder.path().join("policy.yaml")])
                .with_state(folder.path().join("state"));
            let ledger = Arc::new(MemoryLedger::new());
            let code = inline(|view| match view.payload.tool_call() {
                Some(call) if &*call.tool == "code" => Ok(Opinion::deny("by code")),
                _ => Ok(Opinion::none()),
            });
            let builder = Tollgate::builder()
                .places(places)
                .hook(Hook::new("in-code", EventKind::PreTool, Roles::JUDGE, code))
                .ledger(Arc::<MemoryLedger>::clone(&ledger));
            let tollgate = Arc::new(builder.open().unwrap());
            let (tell, told) = channel();
            let watch = tollgate
                .watch_every(POLL, move |heard| tell.send(heard.map(|(what, _)| what)).unwrap())
                .unwrap();
            Rig { folder, tollgate, ledger, told, watch: Some(watch) }
        }

        fn path(&self, below: &str) -> std::path::PathBuf {
            self.folder.path().join(below)
        }

        /// Whole at once, as editors and the commands do it.
        fn write(&self, below: &str, text: &str) {
            let fresh = self.path("fresh");
            fs::write(&fresh, text).unwrap();
            fs::rename(fresh, self.path(below)).unwrap();
        }

        fn heard(&self) -> Result<Reloaded, ReloadError> {
            self.told.recv_timeout(Duration::from_secs(20)).unwrap()
        }

        fn is_denied(&self, tool: &str) -> bool {
            let call = ToolCall::new(tool, tollgate_gate::Object::new());
            let event = Event::new(Arc::new(Session::new("s")), call, self.tollgate.clock().now());
            !super::block_on(self.tollgate.gate().judge(event)).goes_through()
        }

        fn switch(&self, time: Option<Duration>) -> Switch {
            let since = self.tollgate.clock().now();
            let until = time.map(|time| since.plus_millis(time.as_millis() as u64));
            Switch { reason: "r".into(), since, until, by: "alice".into() }
        }

        fn change(&self, change: impl FnOnce(&mut Switches)) {
            let now = self.tollgate.clock().now();
            let state = self.path("state");
            let changed = Switches::change(&state, now, |switches| {
                change(switches);
                Ok::<(), crate::SwitchesError>(())
            });
            changed.unwrap();
        }
    }

    #[test]
    fn a_changed_policy_comes_into_force_and_hooks_in_code_stay() {
        let rig = Rig::new();
        assert!(rig.is_denied("mail") && rig.is_denied("code"));
        rig.write("policy.yaml", NONE);
        assert_eq!(rig.heard().unwrap(), Reloaded::Policy);
        assert!(!rig.is_denied("mail"));
        assert!(rig.is_denied("code"), "a reload takes nothing away that it did not bring");
        let loads = rig.ledger.records();
        let loads = loads.iter().filter(|record| record.kind == RecordKind::PolicyLoad);
        assert_eq!(loads.count(), 2, "the first and the second");
    }

    #[test]
    fn a_broken_or_missing_policy_leaves_the_last_good_one_in_force_and_is_told_once() {
        let rig = Rig::new();
        rig.write("policy.yaml", "version: 1\nhooks: 5\n");
        assert!(matches!(rig.heard(), Err(ReloadError::Policy(_))));
        assert!(rig.is_denied("mail"));
        std::thread::sleep(POLL * 10);
        assert!(rig.told.try_recv().is_err(), "once, not at every look");
        // What a person switches is followed all the same.
        rig.change(|switches| switches.disable("mail", rig.switch(None)).unwrap());
        assert_eq!(rig.heard().unwrap(), Reloaded::Switches);
        assert!(!rig.is_denied("mail") && rig.is_denied("rm"));
        fs::remove_file(rig.path("policy.yaml")).unwrap();
        assert!(rig.heard().is_err());
        assert!(rig.is_denied("rm"));
        rig.write("policy.yaml", DENY);
        assert_eq!(rig.heard().unwrap(), Reloaded::Policy);
    }

    #[test]
    fn a_disabled_hook_is_out_until_it_is_enabled_and_a_locked_one_stays() {
        let rig = Rig::new();
        let digest = || rig.tollgate.gate().ruleset().digest().to_string();
        let before = digest();
        rig.change(|switches| {
            switches.disable("mail", rig.switch(None)).unwrap();
            switches.disable("keep", rig.switch(None)).unwrap();
        });
        assert_eq!(rig.heard().unwrap(), Reloaded::Switches);
        assert!(!rig.is_denied("mail") && rig.is_denied("rm") && rig.is_denied("code"));
        assert_ne!(digest(), before, "a decision names what it was made under");
        rig.change(|switches| assert!(switches.enable("mail")));
        assert_eq!(rig.heard().unwrap(), Reloaded::Switches);
        assert!(rig.is_denied("mail"));
    }

    #[test]
    fn a_pause_ends_by_itself_also_where_nobody_watches() {
        let mut rig = Rig::new();
        let pause = rig.switch(Some(Duration::from_millis(1_500)));
        rig.change(|switches| switches.pause(pause).unwrap());
        assert_eq!(rig.heard().unwrap(), Reloaded::Switches);
        assert!(!rig.is_denied("mail") && rig.is_denied("rm"));
        drop(rig.watch.take());
        std::thread::sleep(Duration::from_millis(1_600));
        assert!(rig.is_denied("mail"));
    }

    #[test]
    fn a_trusted_policy_of_a_project_that_changes_does_not_loosen_a_running_gate() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("work/.git")).unwrap();
        fs::write(root.join("policy.yaml"), NONE).unwrap();
        let file = root.join("work/tollgate.yaml");
        let text = "version: 1\nhooks: [{ name: mail, on: pre_tool, deny: \"no\" }]\n";
        fs::write(&file, text).unwrap();
        let places = Places::of_user(&root.join("work")).unwrap();
        let places =
            places.with_policies(vec![root.join("policy.yaml")]).with_state(root.join("state"));
        let now = tollgate_gate::Timestamp::from_millis(0);
        let layer = places.load(now).unwrap().layers.pop().unwrap();
        places.trust().unwrap().trust(&file, &layer.digest, now).unwrap();
        let open = || {
            let ledger = Arc::new(MemoryLedger::new());
            Tollgate::builder().places(places.clone()).ledger(ledger).open().unwrap()
        };
        let tollgate = open();
        assert!(tollgate.notices().is_empty());
        fs::write(&file, "version: 1\nhooks: []\n").unwrap();
        let error = super::block_on(tollgate.reload()).unwrap_err();
        assert!(matches!(error, ReloadError::Missing { .. }), "{error}");
        let ruleset = tollgate.gate().ruleset();
        let own = ruleset.hooks().filter(|hook| !crate::is_guard(hook.name()));
        assert_eq!(own.count(), 1);
        assert_eq!(open().notices().len(), 1, "a new one ignores it, and says so");
    }

    #[test]
    fn a_watch_ends_with_what_it_watches() {
        let rig = Rig::new();
        let Rig { tollgate, watch, .. } = rig;
        let weak = Arc::downgrade(&tollgate);
        drop(tollgate);
        drop(watch);
        assert!(weak.upgrade().is_none());
        assert!(super::mark(Path::new("/")).is_some(), "a folder is looked at, not read");
    }
}

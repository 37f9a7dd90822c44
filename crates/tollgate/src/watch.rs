//! Watching: a thread that looks at the files of a policy and its switches about once a second, and puts
//! what changed into force.
//!
//! It compares digests, so it needs no help of the operating system and misses no change that a clock
//! cannot tell. The last good policy stays when the new one does not load, and whoever watches is told.
//! Calls in flight end under what they began with.

use crate::open::{ReloadError, Tollgate};
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
        let mut watcher = Watcher { tollgate: Arc::downgrade(self), seen: Seen::default() };
        // What changes from now on is noticed, also before the thread has begun.
        watcher.seen = Seen::of(self);
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
}

type Told = Result<(Reloaded, Name), ReloadError>;

impl Watcher {
    fn look(&mut self, tollgate: &Tollgate) -> Vec<Told> {
        let now = Seen::of(tollgate);
        let (policy, switches) =
            (now.policies != self.seen.policies, now.switches != self.seen.switches);
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

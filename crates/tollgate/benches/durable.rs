//! `decide` with a durable ledger: what a caller waits until its decision is on disk, alone and among
//! others. The others share its sync, so the rate grows with them and the wait hardly does.
//!
//! Takes the folder to write in as an argument (default: the system's temporary folder).
#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::unwrap_used, reason = "a bench ends where something is not as it must be")]

use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};
use tollgate::Tollgate;
use tollgate::gate::{Event, Object, Session, ToolCall};

const TURN: Duration = Duration::from_secs(2);

const POLICY: &str = "version: 1
hooks:
  - { name: no-delete, on: pre_tool, match: { tool: 'delete_*' }, deny: no }
  - { name: clamp, on: pre_tool, match: { tool: list_files }, rewrite: { max: { max: 10 } } }
";

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Decides for a while; gives how long each decision took, in microseconds.
fn decide(tollgate: &Tollgate, caller: usize) -> Vec<f64> {
    let session = Arc::new(Session::new(format!("s{caller}").as_str()).with_user("alice"));
    let (start, mut times) = (Instant::now(), Vec::new());
    while start.elapsed() < TURN {
        let call = ToolCall::new("list_files", Object::from_iter([("max", 100)]));
        let event = Event::new(Arc::clone(&session), call, tollgate.clock().now());
        let before = Instant::now();
        drop(wait(tollgate.gate().decide(event)));
        times.push(before.elapsed().as_secs_f64() * 1e6);
    }
    times
}

fn turn(folder: &Path, callers: usize) -> Vec<f64> {
    let place = folder.join("ledger");
    let tollgate = Tollgate::builder()
        .policy_text("bench", POLICY)
        .ledger_folder(&place)
        .keys_folder(folder.join("keys"))
        .open()
        .unwrap();
    let times = std::thread::scope(|scope| {
        let spawned: Vec<_> = (0..callers)
            .map(|caller| {
                scope.spawn({
                    let t = &tollgate;
                    move || decide(t, caller)
                })
            })
            .collect();
        spawned.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    drop(tollgate);
    // A new ledger under the same keys would be one that was set back.
    std::fs::remove_dir_all(place).unwrap();
    std::fs::remove_dir_all(folder.join("keys")).unwrap();
    times
}

fn main() {
    let named = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let temporary = match named {
        Some(folder) => tempfile::tempdir_in(folder).unwrap(),
        None => tempfile::tempdir().unwrap(),
    };
    println!(
        "{:<28} {:>12} {:>10} {:>10}",
        "callers, before_effect", "decisions/s", "p50 us", "p99 us"
    );
    for callers in [1, 16, 64] {
        let mut times = turn(temporary.path(), callers);
        times.sort_by(f64::total_cmp);
        let rate = times.len() as f64 / TURN.as_secs_f64();
        let at = |part: f64| {
            times.get((times.len() as f64 * part) as usize).copied().unwrap_or_default()
        };
        println!("{callers:<28} {rate:>12.0} {:>10.0} {:>10.0}", at(0.5), at(0.99));
    }
}

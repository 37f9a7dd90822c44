//! What each hook has done since it was registered: counts and a histogram of time.
//!
//! Counts survive a swap of the ruleset as long as the hook's name does. They are plain atomics, so
//! that counting costs a few nanoseconds and never waits.

use crate::event::Name;
use crate::trace::Cast;
use crate::vote::VoteKind;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// Upper bounds of the histogram's buckets, in microseconds; one more bucket is above all.
pub const BUCKETS_US: [u64; 12] =
    [1, 2, 5, 10, 20, 50, 100, 500, 1_000, 10_000, 100_000, 1_000_000];

/// Live counts of one hook.
#[derive(Debug, Default)]
pub(crate) struct HookCounts {
    unmatched_faults: AtomicU64,
    votes: [AtomicU64; 5],
    rewrites: AtomicU64,
    dry_hits: AtomicU64,
    faults: AtomicU64,
    passes_open: AtomicU64,
    time_us: AtomicU64,
    buckets: [AtomicU64; BUCKETS_US.len() + 1],
}

impl HookCounts {
    /// Counts one entry of a trace. `passed_open`: its fault let the event pass. The usual entry
    /// costs two additions: the number of runs is the sum of the buckets.
    pub(crate) fn count(&self, cast: &Cast, passed_open: bool) {
        let one = |counter: &AtomicU64| {
            counter.fetch_add(1, Ordering::Relaxed);
        };
        if cast.unmatched {
            one(&self.unmatched_faults);
        }
        if let Some(counter) = cast.vote_kind().and_then(|kind| self.votes.get(kind as usize)) {
            one(counter);
        }
        if cast.rewrote {
            one(&self.rewrites);
        }
        if cast.dry_run && (cast.vote.is_some() || cast.rewrote || cast.claims > 0) {
            one(&self.dry_hits);
        }
        if cast.fault.is_some() {
            one(&self.faults);
        }
        if passed_open {
            one(&self.passes_open);
        }
        self.time_us.fetch_add(u64::from(cast.us), Ordering::Relaxed);
        let bucket = BUCKETS_US.iter().position(|bound| u64::from(cast.us) <= *bound);
        if let Some(counter) = self.buckets.get(bucket.unwrap_or(BUCKETS_US.len())) {
            one(counter);
        }
    }

    pub(crate) fn read(&self, name: &Name) -> HookMetrics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let entries: u64 = self.buckets.iter().map(read).sum();
        let matched = entries.saturating_sub(read(&self.unmatched_faults));
        HookMetrics {
            hook: Name::clone(name),
            runs: matched,
            matches: matched,
            votes: std::array::from_fn(|i| self.votes.get(i).map_or(0, read)),
            rewrites: read(&self.rewrites),
            dry_hits: read(&self.dry_hits),
            faults: read(&self.faults),
            passes_open: read(&self.passes_open),
            time_us: read(&self.time_us),
            buckets: std::array::from_fn(|i| self.buckets.get(i).map_or(0, read)),
        }
    }
}

/// What one hook has done since it was registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookMetrics {
    /// The hook.
    pub hook: Name,
    /// How often its handler ran.
    pub runs: u64,
    /// How often it matched.
    pub matches: u64,
    /// Votes by kind, in the order of [`VoteKind::ALL`].
    pub votes: [u64; 5],
    /// How often it rewrote.
    pub rewrites: u64,
    /// How often it would have acted, had it not been dry.
    pub dry_hits: u64,
    /// How often it failed.
    pub faults: u64,
    /// How often a failure of it let an event pass.
    pub passes_open: u64,
    /// Time in its handler, in microseconds.
    pub time_us: u64,
    /// Runs by time; the bounds are [`BUCKETS_US`], the last bucket is above all of them.
    pub buckets: [u64; BUCKETS_US.len() + 1],
}

impl HookMetrics {
    /// Votes of this kind.
    pub fn votes_of(&self, kind: VoteKind) -> u64 {
        self.votes.get(kind as usize).copied().unwrap_or(0)
    }
}

/// Metrics as text, in the Prometheus exposition format (version 0.0.4).
pub fn text(metrics: &[HookMetrics]) -> String {
    let mut out = String::new();
    type Read = fn(&HookMetrics) -> u64;
    let counters: [(&str, &str, Read); 6] = [
        ("runs", "Handler runs", |m| m.runs),
        ("matches", "Events that matched", |m| m.matches),
        ("rewrites", "Rewrites", |m| m.rewrites),
        ("dry_hits", "Times a dry hook would have acted", |m| m.dry_hits),
        ("faults", "Handler faults", |m| m.faults),
        ("passes_open", "Faults that let an event pass", |m| m.passes_open),
    ];
    // Writing to a string cannot fail.
    for (name, help, read) in counters {
        let _ = write!(
            out,
            "# HELP tollgate_hook_{name}_total {help}.\n# TYPE tollgate_hook_{name}_total counter\n"
        );
        for hook in metrics {
            let _ = writeln!(
                out,
                "tollgate_hook_{name}_total{{hook=\"{}\"}} {}",
                label(&hook.hook),
                read(hook)
            );
        }
    }
    out.push_str("# HELP tollgate_hook_votes_total Votes by kind.\n# TYPE tollgate_hook_votes_total counter\n");
    for hook in metrics {
        for kind in VoteKind::ALL {
            let (name, votes) = (label(&hook.hook), hook.votes_of(kind));
            let _ = writeln!(
                out,
                "tollgate_hook_votes_total{{hook=\"{name}\",vote=\"{kind}\"}} {votes}"
            );
        }
    }
    out.push_str(
        "# HELP tollgate_hook_seconds Handler time.\n# TYPE tollgate_hook_seconds histogram\n",
    );
    for hook in metrics {
        write_histogram(&mut out, hook);
    }
    out
}

fn write_histogram(out: &mut String, hook: &HookMetrics) {
    let name = label(&hook.hook);
    let mut sum = 0;
    for (i, count) in hook.buckets.iter().enumerate() {
        sum += count;
        let bound = BUCKETS_US.get(i).map_or_else(|| "+Inf".to_owned(), |us| seconds(*us));
        let _ =
            writeln!(out, "tollgate_hook_seconds_bucket{{hook=\"{name}\",le=\"{bound}\"}} {sum}");
    }
    let _ = writeln!(out, "tollgate_hook_seconds_sum{{hook=\"{name}\"}} {}", seconds(hook.time_us));
    let _ = writeln!(out, "tollgate_hook_seconds_count{{hook=\"{name}\"}} {sum}");
}

fn seconds(us: u64) -> String {
    format!("{}.{:06}", us / 1_000_000, us % 1_000_000)
}

fn label(name: &str) -> String {
    name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

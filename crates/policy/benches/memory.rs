//! What a loaded policy takes of memory: counted, not timed, so the load of the machine plays no part.
//!
//! `cargo bench -p tollgate-policy --bench memory`. `held` is what a loaded policy keeps, with all that
//! explanations and reports need; `peak` is the most that loading had at once; both are bytes that
//! were asked of the allocator. Apart from the bench of times, since counting takes time.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::unwrap_used, reason = "a bench stops at what does not work")]

mod rules;

use allocation_counter::AllocationInfo;
use rules::policy_of;
use std::fs;
use tollgate_gate::Timestamp;
use tollgate_policy::snapshot::{Freshness, load_with_snapshot};
use tollgate_policy::{Layer, LayerKind, LoadOptions, load};

fn row(rules: usize, what: &str, counted: &AllocationInfo) {
    let kib = |bytes: u64| bytes.div_ceil(1024);
    let (held, peak) = (counted.bytes_current, counted.bytes_max);
    let per_rule = u64::try_from(held).unwrap() / u64::try_from(rules).unwrap();
    println!(
        "{rules:>7}  {what:<16} {:>10} KiB {:>10} KiB {:>12} {per_rule:>14} B",
        kib(u64::try_from(held).unwrap()),
        kib(peak),
        counted.count_total
    );
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let options = LoadOptions::new(Timestamp::default());
    println!(
        "{:>7}  {:<16} {:>14} {:>14} {:>12} {:>16}",
        "rules", "what", "held", "peak", "allocations", "held a rule"
    );
    for rules in [100, 1_000, 10_000] {
        let file = folder.path().join(format!("{rules}.yaml"));
        fs::write(&file, policy_of(rules)).unwrap();
        let state = folder.path().join("state");
        let layers = [Layer::named(LayerKind::User, &file)];
        let mut loaded = None;
        let counted =
            allocation_counter::measure(|| loaded = Some(load(&layers, &options).unwrap()));
        row(rules, "from the file", &counted);
        drop(loaded);
        load_with_snapshot(&layers, &options, &state).unwrap();
        let mut loaded = None;
        let counted = allocation_counter::measure(|| {
            loaded = Some(load_with_snapshot(&layers, &options, &state).unwrap());
        });
        assert_eq!(loaded.as_ref().map(|(_, from, _)| *from), Some(Freshness::FromSnapshot));
        row(rules, "from a snapshot", &counted);
        drop(loaded);
    }
}

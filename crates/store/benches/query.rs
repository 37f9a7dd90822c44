//! Questions about a book of a million records: how long the index takes to be made, how large it is,
//! how long each question takes with it and without, and what memory reading takes.
//!
//! Takes the number of records as an argument (default 1,000,000), and the folder to write in as a
//! second one.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::unwrap_used, reason = "a bench ends where something is not as it must be")]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tollgate_gate::{
    Code, Durability, EventId, EventKind, Json, Record, RecordKind, Session, Timestamp, Verdict,
};
use tollgate_store::index::INDEX_NAME;
use tollgate_store::{
    Book, Counts, FileLedger, Filter, Index, LedgerOptions, SystemClock, Trust, verify,
};

const RECORDS: u64 = 1_000_000;
/// Times a question is put; the median counts.
const TURNS: usize = 7;

/// A decision as a tool call makes it: every tenth is refused, a thousand sessions of fifty people.
fn record(at: u64, asked: &Arc<Json>) -> Record {
    let moment = Timestamp::from_millis(1_700_000_000_000 + at * 10);
    let mut record = Record::new(EventId::made(moment), moment, RecordKind::Decision);
    let session = format!("session-{}", at / 1_000);
    let user = format!("user-{}", at / 1_000 % 50);
    record.session = Some(Arc::new(Session::new(session.as_str()).with_user(user.as_str())));
    record.event = Some(EventKind::PreTool);
    record.tool = Some(format!("tool-{}", at % 20).into());
    record.arguments.asked = Some(Arc::clone(asked));
    record.verdict = Some(if at.is_multiple_of(10) { Verdict::Deny } else { Verdict::Allow });
    record.code = at.is_multiple_of(10).then_some(Code::HookDenied);
    record.hook = at.is_multiple_of(10).then(|| format!("hook-{}", at / 10 % 30).into());
    record.policy = Some("sha256:0123456789abcdef".into());
    record
}

fn fill(folder: &Path, records: u64) {
    let options = LedgerOptions::new(Arc::new(SystemClock::new()));
    let ledger = FileLedger::open(folder, options).unwrap();
    let asked = br#"{"path":"src/calculator.py","old":"return a - b","new":"return a + b"}"#;
    let asked = Arc::new(Json::read(asked).unwrap());
    for at in 0..records {
        ledger.append_blocking(&record(at, &asked), Durability::Buffered).unwrap();
    }
    ledger.flush().unwrap();
}

/// The most memory that this process ever had, in MiB.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default()
        / 1024
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn timed(mut question: impl FnMut() -> usize) -> (f64, usize) {
    let mut found = 0;
    let times = (0..TURNS).map(|_| {
        let start = Instant::now();
        found = question();
        start.elapsed().as_secs_f64() * 1_000.0
    });
    (median(times.collect()), found)
}

fn scan(folder: &Path, filter: &Filter, counts: &mut Counts) -> usize {
    let mut found = 0;
    for entry in Book::open(folder).unwrap().entries() {
        let entry = entry.unwrap();
        if filter.matches(&entry.line.json) {
            found += 1;
            counts.take(&entry.line.json);
        }
    }
    found
}

fn questions() -> Vec<(&'static str, Filter)> {
    let some = |text: &str| Some(text.to_owned());
    vec![
        ("the newest 50", Filter::default()),
        ("the newest 50 of one user", Filter { user: some("user-7"), ..Filter::default() }),
        (
            "the newest 50 of one session",
            Filter { session: some("session-500"), ..Filter::default() },
        ),
        (
            "the newest 50 refusals of one hook",
            Filter { hook: some("hook-7"), ..Filter::default() },
        ),
        (
            "the newest 50 refusals of one user and tool",
            Filter {
                user: some("user-7"),
                tool: some("tool-0"),
                verdict: some("deny"),
                ..Filter::default()
            },
        ),
    ]
}

fn main() {
    let numbers: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let records = numbers.first().and_then(|text| text.parse().ok()).unwrap_or(RECORDS);
    let temporary = match numbers.get(1) {
        Some(folder) => tempfile::tempdir_in(folder).unwrap(),
        None => tempfile::tempdir().unwrap(),
    };
    let folder = temporary.path().join("ledger");
    let start = Instant::now();
    fill(&folder, records);
    println!("{records} records, written in {:.1} s (buffered)", start.elapsed().as_secs_f64());
    let bytes: u64 = Book::open(&folder)
        .unwrap()
        .files()
        .filter_map(|file| file.metadata().ok())
        .map(|m| m.len())
        .sum();
    println!("{:<48} {:>10.0} MiB", "the book", bytes as f64 / 1_048_576.0);
    let before = peak_mib();
    let start = Instant::now();
    let mut counts = Counts::default();
    scan(&folder, &Filter::default(), &mut counts);
    println!(
        "{:<48} {:>10.0} ms",
        "counting all by reading the book",
        start.elapsed().as_secs_f64() * 1e3
    );
    let start = Instant::now();
    let found = verify(&folder, &Trust::default()).unwrap();
    assert_eq!(found.records, records);
    println!("{:<48} {:>10.0} ms", "verifying", start.elapsed().as_secs_f64() * 1e3);
    println!(
        "{:<48} {:>10} MiB",
        "memory more at its peak, reading and verifying",
        peak_mib() - before
    );
    let start = Instant::now();
    let mut index = Index::open(&folder).unwrap();
    index.catch_up(&mut |_| {}).unwrap();
    println!("{:<48} {:>10.0} ms", "making the index", start.elapsed().as_secs_f64() * 1e3);
    let size: u64 = ["", "-wal"]
        .iter()
        .filter_map(|ending| folder.join(format!("{INDEX_NAME}{ending}")).metadata().ok())
        .map(|data| data.len())
        .sum();
    println!("{:<48} {:>10.0} MiB", "the index", size as f64 / 1_048_576.0);
    let (ms, _) = timed(|| {
        let mut index = Index::open(&folder).unwrap();
        index.catch_up(&mut |_| {}).unwrap();
        0
    });
    println!("{:<48} {ms:>10.2} ms", "opening it with nothing new");
    for (name, filter) in questions() {
        let (ms, found) = timed(|| index.newest(&filter, 50).unwrap().len());
        println!("{name:<48} {ms:>10.2} ms  {found} found");
    }
    let (ms, _) = timed(|| usize::from(index.counts(&Filter::default()).unwrap() == counts));
    assert_eq!(index.counts(&Filter::default()).unwrap(), counts);
    println!("{:<48} {ms:>10.2} ms", "counting all");
    let hour = Filter {
        since: Some(Timestamp::from_millis(1_700_000_000_000 + records * 9)),
        ..Filter::default()
    };
    let (ms, _) = timed(|| index.counts(&hour).unwrap().records as usize);
    println!("{:<48} {ms:>10.2} ms", "counting the last tenth");
    println!("{:<48} {:>10} MiB", "memory more at its peak, in all", peak_mib() - before);
}

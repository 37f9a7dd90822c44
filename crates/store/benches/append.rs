//! Appends a second, against a plain file: the same lines, in batches of the same size, written with
//! one write and one fdatasync a batch; and against SQLite with a transaction a batch. Also what opening costs, and what the lines cost without a
//! disk.
//!
//! Each cell runs for a fixed time and all of them in turns, several times over; the best turn counts,
//! for what disturbs a turn only ever slows it down. Takes the folder to write in as an argument
//! (default: the system's temporary folder), since a disk in memory would measure nothing.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::unwrap_used, reason = "a bench ends where something is not as it must be")]

use std::fs::OpenOptions;
use std::future::Future;
use std::io::Write as _;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};
use tollgate_gate::{
    Clock, Durability, EventId, EventKind, Json, Ledger, LedgerError, Record, RecordKind, Session,
    Soon, Verdict,
};
use tollgate_store::{
    ChainedMemory, Committer, Entries, FileLedger, LedgerOptions, Signing, SystemClock,
};

const TURN: Duration = Duration::from_millis(300);
const TURNS: usize = 5;
const BATCHES: [usize; 4] = [1, 16, 64, 1024];
const MEMORY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A record as a tool call makes it.
fn sample() -> Record {
    let mut record =
        fresh(&Record::new(EventId::Made(0), SystemClock::new().now(), RecordKind::Decision));
    record.event = Some(EventKind::PreTool);
    record.session = Some(Arc::new(Session::new("session-1").with_user("alice")));
    record.tool = Some("edit_file".into());
    record.call_id = Some("call-1".into());
    let asked = br#"{"path":"src/calculator.py","old":"return a - b","new":"return a + b"}"#;
    record.arguments.asked = Some(Arc::new(Json::read(asked).unwrap()));
    record.verdict = Some(Verdict::Allow);
    record.policy = Some("sha256:0123456789abcdef".into());
    record.hook_us = Some(3);
    record
}

/// Such a record with an id of its own.
fn fresh(sample: &Record) -> Record {
    Record { id: EventId::made(sample.at), ..sample.clone() }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait(answer: Soon<'_, Result<(), LedgerError>>) {
    let mut answer = pin!(answer);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        match Future::poll(Pin::as_mut(&mut answer), &mut cx) {
            Poll::Ready(answer) => return answer.unwrap(),
            Poll::Pending => std::thread::park(),
        }
    }
}

/// What was done in a turn.
#[derive(Clone, Copy, Default)]
struct Done {
    records: u64,
    batches: u64,
    seconds: f64,
}

impl Done {
    fn rate(self) -> f64 {
        self.records as f64 / self.seconds
    }
}

/// A plain file: lines as they are, one write and one fdatasync a batch.
fn plain(folder: &Path, line: &[u8], batch: usize) -> Done {
    let path = folder.join("plain");
    let mut file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
    let (start, lines) = (Instant::now(), line.repeat(batch));
    let mut done = Done::default();
    while start.elapsed() < TURN {
        // The lines are put together here too, as whoever writes lines has to.
        let bytes = lines.clone();
        file.write_all(&bytes).unwrap();
        file.sync_data().unwrap();
        done.records += batch as u64;
        done.batches += 1;
    }
    done.seconds = start.elapsed().as_secs_f64();
    std::fs::remove_file(path).unwrap();
    done
}

/// The same lines into SQLite as a careful program keeps a log there: WAL, synchronous FULL, one
/// transaction a batch, nothing hashed or signed.
fn sqlite(folder: &Path, line: &[u8], batch: usize) -> Done {
    let place = folder.join("sqlite");
    std::fs::create_dir(&place).unwrap();
    let mut db = rusqlite::Connection::open(place.join("log.db")).unwrap();
    db.pragma_update(None, "journal_mode", "WAL").unwrap();
    db.pragma_update(None, "synchronous", "FULL").unwrap();
    db.execute_batch("CREATE TABLE log (seq INTEGER PRIMARY KEY, line BLOB NOT NULL) STRICT")
        .unwrap();
    let (start, mut done) = (Instant::now(), Done::default());
    while start.elapsed() < TURN {
        let transaction = db.transaction().unwrap();
        {
            let mut insert = transaction.prepare("INSERT INTO log (line) VALUES (?1)").unwrap();
            for _ in 0..batch {
                insert.execute([line]).unwrap();
            }
        }
        transaction.commit().unwrap();
        done.records += batch as u64;
        done.batches += 1;
    }
    done.seconds = start.elapsed().as_secs_f64();
    drop(db);
    std::fs::remove_dir_all(place).unwrap();
    done
}

/// Takes a turn's ledger away, and what its signer remembers of it: another one under the same key would be a
/// ledger that was set back.
fn forget(folder: &Path) {
    std::fs::remove_dir_all(folder.join("ledger")).unwrap();
    // None where a turn was too short for a checkpoint.
    let _ = std::fs::remove_file(folder.join("checkpoint.key.last"));
}

fn options(folder: &Path, committer: Committer) -> LedgerOptions {
    let signing = Signing::new(folder.join("checkpoint.key"));
    let clock = Arc::new(SystemClock::new());
    LedgerOptions { committer, signing: Some(signing), ..LedgerOptions::new(clock) }
}

fn with_ledger(folder: &Path, committer: Committer, work: impl FnOnce(&FileLedger)) -> Done {
    let place = folder.join("ledger");
    let ledger = FileLedger::open(&place, options(folder, committer)).unwrap();
    let start = Instant::now();
    work(&ledger);
    ledger.flush().unwrap();
    let seconds = start.elapsed().as_secs_f64();
    let stats = ledger.stats();
    drop(ledger);
    forget(folder);
    Done { records: stats.records, batches: stats.batches, seconds }
}

/// The caller writes each record itself.
fn by_caller(folder: &Path) -> Done {
    let sample = sample();
    with_ledger(folder, Committer::Caller, |ledger| {
        let start = Instant::now();
        while start.elapsed() < TURN {
            wait(ledger.append(fresh(&sample), Durability::BeforeEffect));
        }
    })
}

/// One caller hands over as many records as a batch is to have, and waits for all of them.
fn by_thread(folder: &Path, batch: usize) -> Done {
    let sample = sample();
    with_ledger(folder, Committer::Thread, |ledger| {
        let start = Instant::now();
        let mut before: Vec<Soon<'_, Result<(), LedgerError>>> = Vec::new();
        while start.elapsed() < TURN {
            let made = (0..batch).map(|_| ledger.append(fresh(&sample), Durability::BeforeEffect));
            let next: Vec<_> = made.collect();
            std::mem::replace(&mut before, next).into_iter().for_each(wait);
        }
        before.into_iter().for_each(wait);
    })
}

/// Nobody waits; what a crash can lose is bounded.
fn buffered(folder: &Path) -> Done {
    let sample = sample();
    with_ledger(folder, Committer::Thread, |ledger| {
        let start = Instant::now();
        while start.elapsed() < TURN {
            wait(ledger.append(fresh(&sample), Durability::Buffered));
        }
    })
}

fn in_memory() -> Done {
    let (sample, memory, start) = (sample(), ChainedMemory::new(MEMORY_BYTES_MAX), Instant::now());
    while start.elapsed() < TURN {
        for _ in 0..64 {
            wait(memory.append(fresh(&sample), Durability::BeforeEffect));
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    Done { records: memory.records(), batches: memory.records(), seconds }
}

fn best(turns: &[Done]) -> Done {
    turns.iter().copied().fold(Done::default(), |best, done| {
        if best.seconds == 0.0 || done.rate() > best.rate() { done } else { best }
    })
}

/// Callers that each wait for their record, and how long they wait.
fn latency(folder: &Path, callers: usize) -> (f64, f64, f64) {
    let sample = sample();
    let mut waits: Vec<f64> = Vec::new();
    let done = with_ledger(folder, Committer::Thread, |ledger| {
        let start = Instant::now();
        waits = std::thread::scope(|scope| {
            let work = || {
                let mut waits = Vec::new();
                while start.elapsed() < TURN {
                    let from = Instant::now();
                    wait(ledger.append(fresh(&sample), Durability::BeforeEffect));
                    waits.push(from.elapsed().as_secs_f64() * 1e6);
                }
                waits
            };
            let threads: Vec<_> = (0..callers).map(|_| scope.spawn(work)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
    });
    waits.sort_by(f64::total_cmp);
    let at = |part: f64| waits.get((waits.len() as f64 * part) as usize).copied().unwrap_or(0.0);
    (done.rate(), at(0.5), at(0.99))
}

/// Opening a ledger of 1,000 records and appending one, as a short process does.
fn opening(folder: &Path) -> (f64, f64) {
    let place = folder.join("ledger");
    let sample = sample();
    let ledger = FileLedger::open(&place, options(folder, Committer::Thread)).unwrap();
    for _ in 0..1000 {
        wait(ledger.append(fresh(&sample), Durability::Buffered));
    }
    drop(ledger);
    let (mut opened, mut appended) = (Vec::new(), Vec::new());
    for _ in 0..300 {
        let options = options(folder, Committer::Caller);
        let start = Instant::now();
        let ledger = FileLedger::open(&place, options).unwrap();
        opened.push(start.elapsed().as_secs_f64() * 1e6);
        wait(ledger.append(fresh(&sample), Durability::BeforeEffect));
        appended.push(start.elapsed().as_secs_f64() * 1e6);
    }
    forget(folder);
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(0.0)
    };
    (median(opened), median(appended))
}

/// A line as the ledger writes it, so that both write the same bytes.
fn sample_line(folder: &Path) -> Vec<u8> {
    let place = folder.join("ledger");
    let ledger = FileLedger::open(&place, options(folder, Committer::Caller)).unwrap();
    for _ in 0..2 {
        wait(ledger.append(sample(), Durability::BeforeEffect));
    }
    drop(ledger);
    let mut entries = Entries::open(place.join("00000000000000000001.jsonl")).unwrap();
    let mut line = entries.nth(1).unwrap().unwrap().text;
    line.push(b'\n');
    forget(folder);
    line
}

fn main() {
    let named = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let temporary = match named {
        Some(folder) => tempfile::tempdir_in(folder).unwrap(),
        None => tempfile::tempdir().unwrap(),
    };
    let folder = temporary.path();
    let line = sample_line(folder);
    println!(
        "appends a second, lines of {} bytes, chained and signed, best of {TURNS} turns",
        line.len()
    );
    println!("{:<36} {:>12} {:>14} {:>10}", "", "records/s", "records/batch", "of plain");
    for batch in BATCHES {
        let (mut plains, mut threads, mut callers) = (Vec::new(), Vec::new(), Vec::new());
        let mut sqlites = Vec::new();
        for _ in 0..TURNS {
            plains.push(plain(folder, &line, batch));
            sqlites.push(sqlite(folder, &line, batch));
            threads.push(by_thread(folder, batch));
            if batch == 1 {
                callers.push(by_caller(folder));
            }
        }
        let base = best(&plains);
        row(&format!("plain append + fdatasync, batch {batch}"), base, None);
        row(&format!("SQLite (WAL, FULL), batch {batch}"), best(&sqlites), Some(base));
        if batch == 1 {
            row("ledger, the caller commits", best(&callers), Some(base));
        }
        row(&format!("ledger, {batch} handed over at once"), best(&threads), Some(base));
    }
    row("ledger, buffered", best(&(0..TURNS).map(|_| buffered(folder)).collect::<Vec<_>>()), None);
    row(
        "chained in memory, no disk",
        best(&(0..TURNS).map(|_| in_memory()).collect::<Vec<_>>()),
        None,
    );
    println!();
    println!(
        "{:<36} {:>12} {:>14} {:>10}",
        "callers that wait, before_effect", "records/s", "p50 us", "p99 us"
    );
    for callers in [1, 16, 64] {
        let (rate, p50, p99) = latency(folder, callers);
        println!("{callers:<36} {rate:>12.0} {p50:>14.0} {p99:>10.0}");
    }
    let (opened, appended) = opening(folder);
    println!();
    println!(
        "opening a ledger of 1,000 records, median: {opened:.0} us; with one durable record: {appended:.0} us"
    );
}

fn row(name: &str, done: Done, base: Option<Done>) {
    let ratio = base.map_or(String::new(), |base| format!("{:.2}", done.rate() / base.rate()));
    let size = done.records as f64 / done.batches.max(1) as f64;
    println!("{name:<36} {:>12.0} {size:>14.1} {ratio:>10}", done.rate());
}

//! Speed: megabytes a second a core by sort of text, latency of 1 KiB and 16 KiB results, and the first
//! scan in a fresh process. `cargo bench -p tollgate-detect --bench speed [-- FILE..]`; files or folders
//! given are measured as a text of their own.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a bench prints its table and fails by panicking"
)]

#[path = "../tests/it/patterns.rs"]
mod patterns;

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use tollgate_detect::{Category, Context, Detector, Redactor, StreamFormat, rules};

const CHUNK_BYTES: usize = 16 * 1024;
const TEXT_BYTES: usize = 2 * 1024 * 1024;
const ROUNDS: usize = 5;
/// How many chunks of a text are measured.
const CHUNKS_MAX: usize = 1000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if args.first().is_some_and(|arg| arg == "dense") {
        return print!("{}", fill(&dense()));
    }
    if args.first().is_some_and(|arg| arg == "cold") {
        return cold();
    }
    let texts = texts(&args);
    let detector = Detector::builder().build().unwrap();
    let secrets = Detector::builder().find_categories([Category::Secrets]).build().unwrap();
    let names = Detector::builder()
        .find_categories([Category::Secrets, Category::Pii, Category::Names])
        .build()
        .unwrap();
    println!(
        "{:<22} {:>9} {:>13} {:>9} {:>9} {:>12}",
        "MB/s a core", "secrets", "secrets + pii", "+ names", "stream", "findings/MB"
    );
    for (name, text) in &texts {
        let speed =
            |detector: &Detector| megabytes_a_second(text, |chunk| detector.scan(chunk).len());
        let redactor = Redactor::new(std::sync::Arc::new(Detector::builder().build().unwrap()));
        let streamed = megabytes_a_second(text, |chunk| {
            let mut stream = redactor.stream(StreamFormat::Text, &Context::default());
            let out = stream.push(chunk.as_bytes());
            out.bytes.len() + stream.finish().bytes.len()
        });
        let found: usize = chunks(text).iter().map(|chunk| detector.scan(chunk).len()).sum();
        println!(
            "{name:<22} {:>9.0} {:>13.0} {:>9.0} {streamed:>9.0} {:>12.1}",
            speed(&secrets),
            speed(&detector),
            speed(&names),
            found as f64 / (text.len() as f64 / 1e6),
        );
    }
    println!(
        "\n{:<22} {:>10} {:>10} {:>10} {:>10}",
        "latency, us", "1 KiB p50", "1 KiB p99", "16 KiB p50", "16 KiB p99"
    );
    for (name, text) in &texts {
        let (small50, small99) = latency(&detector, text, 1024);
        let (large50, large99) = latency(&detector, text, CHUNK_BYTES);
        println!("{name:<22} {small50:>10.1} {small99:>10.1} {large50:>10.1} {large99:>10.1}");
    }
    opened(&detector);
    hostile(&names);
    first_scans();
}

/// The slowest of the hostile texts, all rules on.
fn hostile(detector: &Detector) {
    let mut slowest: Vec<(f64, &str)> = patterns::PATTERNS
        .iter()
        .map(|pattern| {
            let text = pattern.repeat(65_536 / pattern.len());
            let once = |_| {
                let start = Instant::now();
                black_box(detector.scan(black_box(&text)));
                start.elapsed()
            };
            let best = (0..3).map(once).min().unwrap_or_default();
            (best.as_secs_f64() * 1e9 / text.len() as f64, *pattern)
        })
        .collect();
    slowest.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!("\nhostile texts, slowest in ns a byte:");
    for (nanoseconds, pattern) in slowest.iter().take(5) {
        println!("  {nanoseconds:>7.1}  {pattern:?}");
    }
}

/// Documents that are JSON as a whole: every string is opened and looked at with its key.
fn opened(detector: &Detector) {
    let documents: Vec<String> = (0..64).map(|_| json()).collect();
    let best: Duration = documents
        .iter()
        .map(|document| {
            let once = |_| {
                let start = Instant::now();
                black_box(detector.inspect(black_box(document), &Context::default()));
                start.elapsed()
            };
            (0..ROUNDS).map(once).min().unwrap_or_default()
        })
        .sum();
    let bytes: usize = documents.iter().map(String::len).sum();
    println!("\nJSON documents opened: {:.0} MB/s", bytes as f64 / 1e6 / best.as_secs_f64());
}

fn chunks_of(text: &str, size: usize) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while rest.len() > size {
        let mut cut = size;
        while !rest.is_char_boundary(cut) {
            cut -= 1;
        }
        let line = rest[..cut].rfind('\n').map_or(cut, |line| line + 1);
        let (head, tail) = rest.split_at(line);
        out.push(head);
        rest = tail;
    }
    out.push(rest);
    out
}

fn chunks(text: &str) -> Vec<&str> {
    chunks_of(text, CHUNK_BYTES)
}

/// Each chunk's best of some rounds, added up: the machine's other work is not the detector's.
fn megabytes_a_second(text: &str, mut run: impl FnMut(&str) -> usize) -> f64 {
    let parts: Vec<&str> = chunks(text).into_iter().take(CHUNKS_MAX).collect();
    let best: Duration = parts
        .iter()
        .map(|part| {
            let round = |_| {
                let start = Instant::now();
                black_box(run(black_box(part)));
                start.elapsed()
            };
            (0..ROUNDS).map(round).min().unwrap_or_default()
        })
        .sum();
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    bytes as f64 / 1e6 / best.as_secs_f64()
}

fn latency(detector: &Detector, text: &str, size: usize) -> (f64, f64) {
    let mut times: Vec<Duration> = chunks_of(text, size)
        .iter()
        .take(4000)
        .map(|chunk| {
            // Of three, for the machine's other work is not the chunk's.
            let once = || {
                let start = Instant::now();
                black_box(detector.scan(black_box(chunk)));
                start.elapsed()
            };
            once().min(once()).min(once())
        })
        .collect();
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6;
    (at(0.5), at(0.99))
}

/// The first scan of 1 KiB in fresh processes: this program again, as `cold`.
fn first_scans() {
    let program = std::env::current_exe().unwrap();
    let mut times: Vec<(f64, f64)> = (0..15)
        .map(|_| {
            let out = std::process::Command::new(&program).arg("cold").output().unwrap();
            let text = String::from_utf8(out.stdout).unwrap();
            let mut parts = text.split_whitespace().map(|part| part.parse::<f64>().unwrap());
            (parts.next().unwrap(), parts.next().unwrap())
        })
        .collect();
    times.sort_by(|a, b| (a.0 + a.1).total_cmp(&(b.0 + b.1)));
    let (build, scan) = times[times.len() / 2];
    println!(
        "\nfirst scan of 1 KiB in a fresh process (median of 15): building the detector {build:.0} us, the scan {scan:.0} us"
    );
}

fn cold() {
    let pat = rules().find(|rule| rule.id == "github-pat").unwrap();
    let mut text = "a line of an ordinary tool result, nothing in it\n".repeat(18);
    text.push_str(&format!("GH_TOKEN={} call 13812345678 or a@b.io\n", pat.sample(1).unwrap()));
    let start = Instant::now();
    let detector = Detector::builder().build().unwrap();
    let built = start.elapsed();
    let start = Instant::now();
    let found = detector.scan(&text).len();
    let scanned = start.elapsed();
    assert_eq!(found, 3);
    println!("{} {}", built.as_secs_f64() * 1e6, scanned.as_secs_f64() * 1e6);
}

fn texts(args: &[String]) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = vec![
        ("source code (own)".to_owned(), fill(&read(&root.join("src")))),
        ("prose".to_owned(), fill(PROSE)),
        ("log".to_owned(), fill(&log())),
        ("json".to_owned(), fill(&json())),
        ("chinese".to_owned(), fill(CHINESE)),
        ("digits only".to_owned(), fill(&"0123456789 ".repeat(100))),
        ("dense in findings".to_owned(), fill(&dense())),
    ];
    for arg in args {
        texts.push((arg.rsplit('/').next().unwrap_or(arg).to_owned(), read(Path::new(arg))));
    }
    texts
}

fn read(path: &Path) -> String {
    if !path.is_dir() {
        return std::fs::read(path)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default();
    }
    let mut entries: Vec<_> =
        std::fs::read_dir(path).unwrap().filter_map(Result::ok).map(|entry| entry.path()).collect();
    entries.sort();
    entries.iter().map(|entry| read(entry)).collect()
}

fn fill(text: &str) -> String {
    let mut out = String::with_capacity(TEXT_BYTES + text.len());
    while out.len() < TEXT_BYTES {
        out.push_str(text);
        out.push('\n');
    }
    out
}

fn log() -> String {
    (0..500u64)
        .map(|n| {
            let mixed = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            format!(
                "2026-11-30T12:{:02}:{:02}.{:03}Z INFO worker[{}]: request {:016x} GET /api/v1/items/{} took {} ms status=200 bytes={}\n",
                n / 60 % 60, n % 60, n % 1000, n % 8, mixed, n * 17, mixed % 300, mixed % 100_000
            )
        })
        .collect()
}

fn json() -> String {
    let items: Vec<String> = (0..300u64)
        .map(|n| format!(r#"{{"id": {n}, "title": "Item number {n}", "price": {}.99, "tags": ["a", "b"], "created_at": "2026-01-02T03:04:05Z"}}"#, n * 3))
        .collect();
    format!("{{\"items\": [\n{}\n]}}", items.join(",\n"))
}

fn dense() -> String {
    rules()
        .flat_map(|rule| rule.hits.iter().map(|hit| format!("{}\n", rule.example(hit, 1))))
        .collect()
}

const PROSE: &str = "The committee met on a Tuesday and, after a long discussion about the state of the roads, decided to \
ask the county for help. Nobody expected an answer before spring. In the meantime the old bridge stayed closed, and people \
took the way around the lake, which is longer but, as everyone agreed, much more pleasant in good weather.\n";
const CHINESE: &str = "委员会在星期二开会，经过长时间讨论后决定向县里求助。没有人指望春天之前会有答复。与此同时，旧桥继续关闭，\
人们绕湖而行，路虽然更长，但大家都同意，在好天气里要愉快得多。\n";

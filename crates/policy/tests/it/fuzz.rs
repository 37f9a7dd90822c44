//! The fuzz targets (`fuzz/src/targets.rs`), for seconds: every seed, and seeds with some bytes changed.
//!
//! The changes come from a generator with a fixed start, so a failure is the same everywhere; the
//! input is printed with it. `FUZZ_CASES` sets how many changed inputs each target gets. Time counts
//! as time on the processor, where the system tells it, so that a busy machine fails nothing.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[path = "../../../../fuzz/src/targets.rs"]
mod targets;

/// Changed inputs of each target.
const CASES: usize = 120;
/// Longest changed input, in bytes.
const INPUT_BYTES_MAX: usize = 4096;
/// What any input may take, unoptimised, with tables that are built once: over twenty times what the
/// slowest input took when this was written.
const PATIENCE: Duration = Duration::from_millis(300);
/// What each byte of an input may add, unoptimised.
const PATIENCE_PER_BYTE: Duration = Duration::from_micros(50);

/// Pieces that the targets' grammars trip over.
const PIECES: [&[u8]; 32] = [
    b"\0",
    b"\n",
    b"\n  - ",
    b": ",
    b"{",
    b"}",
    b"[",
    b"]",
    b"(",
    b")",
    b"'",
    b"\"",
    b"**/",
    b"*",
    b"\\",
    b"$(",
    b"`",
    b" && ",
    b" || ",
    b"|",
    b"!",
    b"args.a",
    b"has(",
    b".all(x, ",
    b"when: ",
    b"match: ",
    b"${X}",
    b"18446744073709551615",
    b"1e400",
    "\u{202e}é".as_bytes(),
    b"\xff",
    b"&a ",
];

/// A small generator (xorshift, Marsaglia 2003): fixed start, no dependency.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % end.max(1)
    }

    /// A seed with one to six changes.
    fn change(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut out = seeds[self.below(seeds.len())].clone();
        for _ in 0..1 + self.below(6) {
            let at = self.below(out.len() + 1);
            let end = (at + self.below(24)).min(out.len());
            match self.below(6) {
                0 => out.splice(at..end, []).for_each(drop),
                1 => out
                    .splice(at..at, PIECES[self.below(PIECES.len())].iter().copied())
                    .for_each(drop),
                2 => {
                    let again = out[at..end].repeat(1 + self.below(40));
                    out.splice(at..at, again).for_each(drop);
                }
                3 => {
                    let other = &seeds[self.below(seeds.len())];
                    let from = self.below(other.len() + 1);
                    out.splice(at..end, other[from..].iter().copied()).for_each(drop);
                }
                4 => out
                    .splice(at..end, PIECES[self.below(PIECES.len())].iter().copied())
                    .for_each(drop),
                _ => {
                    let byte = u8::try_from(self.below(256)).unwrap();
                    if let Some(place) = out.get_mut(at) {
                        *place = byte;
                    }
                }
            }
            out.truncate(INPUT_BYTES_MAX);
        }
        out
    }
}

/// Prints the input when a law does not hold.
struct Told<'i>(&'i str, &'i [u8]);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut bytes = String::new();
            for byte in self.1 {
                let _ = write!(bytes, "{}", byte.escape_ascii());
            }
            eprintln!("target `{}` with b\"{bytes}\"", self.0);
        }
    }
}

/// Time of this thread on the processor; the clock's where the system does not tell.
fn spent(start: Instant) -> Duration {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let on_processor = stat.and_then(|stat| stat.split(' ').next()?.parse().ok());
    on_processor.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

fn run(name: &str, target: targets::Target, input: &[u8]) -> Duration {
    let told = Told(name, input);
    let start = Instant::now();
    let before = spent(start);
    target(input);
    let took = spent(start).saturating_sub(before);
    let bound = PATIENCE + PATIENCE_PER_BYTE * u32::try_from(input.len()).unwrap();
    assert!(took < bound, "{took:?} for {} bytes", input.len());
    drop(told);
    took
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = folder().join("seeds").join(name);
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// Runs one target on its seeds and on changed ones.
fn drive(name: &str) {
    let (_, target) = targets::TARGETS.iter().find(|(known, _)| *known == name).unwrap();
    let seeds = seeds(name);
    assert!(!seeds.is_empty());
    let mut slowest = Duration::ZERO;
    for seed in &seeds {
        slowest = slowest.max(run(name, *target, seed));
    }
    let cases = std::env::var("FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..cases {
        slowest = slowest.max(run(name, *target, &random.change(&seeds)));
    }
    println!("{name}: the slowest input took {slowest:?}");
}

/// A test for each target, and one that there is no other.
macro_rules! drive_each {
    ($($target:ident),* $(,)?) => {
        $(#[test]
        fn $target() {
            drive(stringify!($target));
        })*

        #[test]
        fn every_target_has_a_test_a_binary_and_seeds() {
            let tested = [$(stringify!($target)),*];
            let named: Vec<&str> = targets::TARGETS.iter().map(|(name, _)| *name).collect();
            assert_eq!(named, tested);
            let manifest = fs::read_to_string(folder().join("Cargo.toml")).unwrap();
            for name in named {
                assert!(manifest.contains(&format!("\nname = \"{name}\"\n")), "{name}");
                assert!(folder().join(format!("fuzz_targets/{name}.rs")).is_file(), "{name}");
                assert!(!seeds(name).is_empty(), "{name}");
            }
        }
    };
}

drive_each!(policy, condition, evaluator, matcher, glob, event, json, effects, detect);

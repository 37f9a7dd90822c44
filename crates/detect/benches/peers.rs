//! Side by side with other scanners, in one run: recall by frame (a file counts as found when anything is
//! found in it), files of look-alikes with findings, and CPU time on a folder of ordinary text. `cargo bench
//! -p tollgate-detect --bench peers -- FOLDER`, with `betterleaks` and `kingfisher` on the path; those that
//! are not there are left out.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    dead_code,
    reason = "a bench prints its table, fails by panicking and uses a part of the corpus"
)]

#[path = "quality/corpus.rs"]
mod corpus;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use corpus::{DECOYS, Dice, HARD, KEYS, PLAIN, decoy, framed, marked, password};
use tollgate_detect::{Category, Context, Detector, Kind};

const EACH: usize = 60;
const SEED: u64 = 20_261_130;

fn main() {
    let folder = std::env::args().skip(1).find(|arg| arg != "--bench");
    let root = std::env::temp_dir().join(format!("tollgate-peers-{}", std::process::id()));
    std::fs::create_dir_all(&root).unwrap();
    let groups = write_samples(&root);
    let mut columns: Vec<(&str, BTreeSet<String>)> = vec![("tollgate", ours(&root))];
    columns.extend(betterleaks(&root).map(|found| ("betterleaks", found)));
    columns.extend(kingfisher(&root).map(|found| ("kingfisher", found)));
    print!("{:<22} {:>6}", "files found", "files");
    columns.iter().for_each(|(name, _)| print!(" {name:>12}"));
    println!();
    let mut sums: BTreeMap<&str, (usize, Vec<usize>)> = BTreeMap::new();
    for (group, class, files) in &groups {
        print!("{group:<22} {:>6}", files.len());
        let sum = sums.entry(class).or_insert_with(|| (0, vec![0; columns.len()]));
        sum.0 += files.len();
        for (index, (_, found)) in columns.iter().enumerate() {
            let hits = files.iter().filter(|file| found.contains(*file)).count();
            sum.1[index] += hits;
            print!(" {:>12.3}", hits as f64 / files.len() as f64);
        }
        println!();
    }
    for (class, (files, hits)) in &sums {
        print!("{:<22} {files:>6}", format!("all {class}"));
        hits.iter().for_each(|hits| print!(" {:>12.3}", *hits as f64 / *files as f64));
        println!();
    }
    std::fs::remove_dir_all(&root).unwrap();
    if let Some(folder) = folder {
        speed(Path::new(&folder));
    }
}

/// A secret in a frame: a password in two cases of five, else a token.
fn secret_sample(dice: &mut Dice, template: &str) -> String {
    if dice.below(5) < 2 {
        let key = dice.pick(KEYS);
        return framed(template, key, &password(dice), Kind::Password, "").0;
    }
    let tokens = marked();
    let rule = tokens[dice.below(tokens.len() as u64) as usize];
    let token = rule.sample(dice.next()).unwrap_or_default();
    framed(template, dice.pick(&["value", "setting_7", "credential"]), &token, Kind::Secret, "").0
}

type Group = (String, &'static str, Vec<String>);

fn write_samples(root: &Path) -> Vec<Group> {
    let mut dice = Dice(SEED);
    let mut groups: Vec<Group> = Vec::new();
    let mut number = 0;
    let mut write = |text: &str| {
        number += 1;
        let name = format!("{number:05}.txt");
        std::fs::write(root.join(&name), text).unwrap();
        name
    };
    for (frames, class) in [(HARD, "hard frames"), (PLAIN, "plain frames")] {
        for (name, template) in frames {
            let files = (0..EACH)
                .map(|_| write(&format!("{}\n", secret_sample(&mut dice, template))))
                .collect();
            groups.push(((*name).to_owned(), class, files));
        }
    }
    for class in DECOYS {
        let files = (0..EACH).map(|_| write(&format!("{}\n", decoy(&mut dice, class)))).collect();
        groups.push(((*class).to_owned(), "look-alikes", files));
    }
    groups
}

/// Secrets only, as the others.
fn detector() -> Detector {
    Detector::builder().find_categories([Category::Secrets]).build().unwrap()
}

fn ours(root: &Path) -> BTreeSet<String> {
    let detector = detector();
    files_in(root)
        .into_iter()
        .filter(|path| {
            !detector
                .inspect_bytes(&std::fs::read(path).unwrap(), &Context::default())
                .findings
                .is_empty()
        })
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect()
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() { out.extend(files_in(&path)) } else { out.push(path) }
    }
    out.sort();
    out
}

/// The names of sample files that stand in a report, whatever its form.
fn named(report: &str) -> BTreeSet<String> {
    report
        .match_indices(".txt")
        .filter_map(|(place, _)| report.get(place - 5..place + 4))
        .filter(|name| name.bytes().take(5).all(|byte| byte.is_ascii_digit()))
        .map(str::to_owned)
        .collect()
}

fn betterleaks(root: &Path) -> Option<BTreeSet<String>> {
    let out = Command::new("betterleaks")
        .args(["--no-banner", "--confidence=low", "--jsonl", "--no-color"])
        .arg(root)
        .output()
        .ok()?;
    Some(named(&String::from_utf8_lossy(&out.stdout)))
}

fn kingfisher(root: &Path) -> Option<BTreeSet<String>> {
    let out = Command::new("kingfisher")
        .args([
            "scan",
            "--no-validate",
            "--no-update-check",
            "--confidence",
            "low",
            "--no-dedup",
            "--format",
            "json",
        ])
        .arg(root)
        .output()
        .ok()?;
    Some(named(&String::from_utf8_lossy(&out.stdout)))
}

/// CPU time (user and system) of one pass over a folder, by `bash`'s `times`; start-up included.
fn speed(folder: &Path) {
    let files = files_in(folder);
    let bytes: u64 = files.iter().map(|file| file.metadata().unwrap().len()).sum();
    println!("\n{} files, {:.1} MB of ordinary text", files.len(), bytes as f64 / 1e6);
    let detector = detector();
    let contents: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    let start = cpu_seconds();
    let inspect =
        |content: &Vec<u8>| detector.inspect_bytes(content, &Context::default()).findings.len();
    let found: usize = contents.iter().map(inspect).sum();
    let seconds = cpu_seconds() - start;
    println!(
        "{:<12} {seconds:>7.2} s CPU, {:.0} MB/s, {found} findings (without start-up and reading)",
        "tollgate",
        bytes as f64 / 1e6 / seconds
    );
    let commands = [
        ("betterleaks", "betterleaks --no-banner --silent --confidence=low --jobs 1"),
        (
            "kingfisher",
            "kingfisher scan --no-validate --no-update-check --confidence low --jobs 1 --format json",
        ),
    ];
    for (name, command) in commands {
        let script = format!("{command} '{}' >/dev/null 2>&1; times", folder.display());
        let Ok(out) = Command::new("bash").args(["-c", &script]).output() else { continue };
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let children = text.lines().nth(1).unwrap_or("");
        let seconds: f64 = children.split_whitespace().map(seconds_of).sum();
        if seconds > 0.05 {
            println!("{name:<12} {seconds:>7.2} s CPU, {:.0} MB/s", bytes as f64 / 1e6 / seconds);
        }
    }
}

/// CPU time of this process so far, as the Linux scheduler counts it; elsewhere the clock.
fn cpu_seconds() -> f64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let start = START.get_or_init(Instant::now);
    std::fs::read_to_string("/proc/self/schedstat")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok())
        .map_or_else(|| start.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

/// `0m1.234s` in seconds.
fn seconds_of(text: &str) -> f64 {
    let (minutes, rest) = text.split_once('m').unwrap_or(("0", "0s"));
    minutes.parse::<f64>().unwrap_or(0.0) * 60.0
        + rest.trim_end_matches('s').parse::<f64>().unwrap_or(0.0)
}

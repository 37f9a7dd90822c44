//! Quality: precision, recall and F1 by type on the generated corpus, recall by frame, false findings by
//! look-alike, leaks by document, JSON that stays JSON. `cargo bench -p tollgate-detect --bench quality
//! [-- SEED]`.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a bench prints its table and fails by panicking"
)]

mod corpus;

use std::collections::BTreeMap;
use std::sync::Arc;

use corpus::{DECOYS, Dice, HARD, Label, decoy, documents};
use tollgate_detect::{Category, Context, Detector, Finding, Kind, Redactor};

const SEED: u64 = 20_261_130;
const DOCUMENTS: usize = 4000;
const DECOYS_EACH: usize = 2000;

#[derive(Default, Clone, Copy)]
struct Tally {
    found: usize,
    exact: usize,
    missed: usize,
    wrong: usize,
}

impl Tally {
    fn line(self) -> String {
        let share =
            |part: usize, whole: usize| if whole == 0 { 1.0 } else { part as f64 / whole as f64 };
        let precision = share(self.found, self.found + self.wrong);
        let recall = share(self.found, self.found + self.missed);
        let f1 = if precision + recall == 0.0 {
            0.0
        } else {
            2.0 * precision * recall / (precision + recall)
        };
        let exact = share(self.exact, self.found);
        format!(
            "{:>7} {precision:>9.3} {recall:>9.3} {f1:>9.3} {exact:>9.3}",
            self.found + self.missed
        )
    }
}

fn main() {
    let seed = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(SEED);
    let detector = Detector::builder()
        .find_categories([Category::Secrets, Category::Pii, Category::Names])
        .build()
        .unwrap();
    let mut kinds: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut frames: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let (mut clean, mut chars, mut masked, mut hit) = (0, 0usize, 0usize, 0usize);
    let corpus = documents(seed, DOCUMENTS);
    for document in &corpus {
        let found = detector.scan(&document.text);
        score(&document.labels, &found, &mut kinds, &mut frames);
        let covered = |at: usize| found.iter().any(|f| f.start <= at && at < f.end);
        let labelled = |at: usize| document.labels.iter().any(|l| l.start <= at && at < l.end);
        let leaks = document.labels.iter().any(|l| (l.start..l.end).any(|at| !covered(at)));
        clean += usize::from(!leaks);
        chars += document.labels.iter().map(|l| l.end - l.start).sum::<usize>();
        hit +=
            document.labels.iter().flat_map(|l| l.start..l.end).filter(|at| covered(*at)).count();
        masked += found.iter().flat_map(Finding::range).filter(|at| !labelled(*at)).count();
    }
    println!(
        "seed {seed}, {DOCUMENTS} documents\n\n{:<16} {:>7} {:>9} {:>9} {:>9} {:>9}",
        "type", "labels", "precision", "recall", "F1", "exact"
    );
    let mut all = Tally::default();
    for (kind, tally) in &kinds {
        println!("{kind:<16} {}", tally.line());
        all = Tally {
            found: all.found + tally.found,
            exact: all.exact + tally.exact,
            missed: all.missed + tally.missed,
            wrong: all.wrong + tally.wrong,
        };
    }
    println!("{:<16} {}", "all", all.line());
    println!(
        "\ncharacters masked: precision {:.3}, recall {:.3}; documents without a leak: {:.3}",
        hit as f64 / (hit + masked) as f64,
        hit as f64 / chars as f64,
        clean as f64 / DOCUMENTS as f64
    );
    println!("\n{:<20} {:>7} {:>9}", "secrets by frame", "labels", "recall");
    let (mut hard, mut hard_all) = (0, 0);
    for (frame, (found, total)) in &frames {
        println!("{frame:<20} {total:>7} {:>9.3}", *found as f64 / *total as f64);
        if HARD.iter().any(|(name, _)| name == frame) {
            (hard, hard_all) = (hard + found, hard_all + total);
        }
    }
    println!("{:<20} {hard_all:>7} {:>9.3}", "all hard frames", hard as f64 / hard_all as f64);
    look_alikes(&detector, seed);
    json(seed);
}

fn group(kind: Kind) -> &'static str {
    match kind.category() {
        Category::Secrets => "secret",
        Category::Pii | Category::Names | Category::Custom => kind.name(),
    }
}

fn score(
    labels: &[Label],
    found: &[Finding],
    kinds: &mut BTreeMap<&str, Tally>,
    frames: &mut BTreeMap<&str, (usize, usize)>,
) {
    let overlap = |label: &Label, finding: &Finding| {
        finding.end.min(label.end).saturating_sub(finding.start.max(label.start))
    };
    for label in labels {
        let tally = kinds.entry(group(label.kind)).or_default();
        let covered: usize = found
            .iter()
            .filter(|f| group(f.kind) == group(label.kind))
            .map(|f| overlap(label, f))
            .sum();
        let good = covered * 2 >= label.end - label.start;
        tally.exact += usize::from(found.iter().any(|f| f.range() == (label.start..label.end)));
        *(if good { &mut tally.found } else { &mut tally.missed }) += 1;
        if label.kind.category() == Category::Secrets {
            let frame = frames.entry(label.frame).or_default();
            *frame = (frame.0 + usize::from(good), frame.1 + 1);
        }
    }
    for finding in found {
        if !labels
            .iter()
            .any(|label| group(label.kind) == group(finding.kind) && overlap(label, finding) > 0)
        {
            kinds.entry(group(finding.kind)).or_default().wrong += 1;
            if std::env::var_os("SHOW").is_some() {
                println!("wrong: {} {}", finding.rule, finding.masked);
            }
        }
    }
}

fn look_alikes(detector: &Detector, seed: u64) {
    println!("\n{:<16} {:>7} {:>14}", "look-alike", "texts", "with findings");
    let mut dice = Dice(seed ^ 1);
    let mut all = 0;
    for class in DECOYS {
        let wrong = (0..DECOYS_EACH)
            .filter(|_| {
                let text = decoy(&mut dice, class);
                let found = detector.scan(&text);
                if !found.is_empty() && std::env::var_os("SHOW").is_some() {
                    println!("{class}: {text}: {}", found[0].rule);
                }
                !found.is_empty()
            })
            .count();
        all += wrong;
        println!(
            "{class:<16} {DECOYS_EACH:>7} {:>13.2}%",
            wrong as f64 * 100.0 / DECOYS_EACH as f64
        );
    }
    println!(
        "{:<16} {:>7} {:>13.2}%",
        "all",
        DECOYS_EACH * DECOYS.len(),
        all as f64 * 100.0 / (DECOYS_EACH * DECOYS.len()) as f64
    );
}

/// Documents as members of JSON values, also as JSON inside strings: does it parse, does anything leak?
fn json(seed: u64) {
    let redactor = Redactor::new(Arc::new(Detector::builder().build().unwrap()));
    let corpus = documents(seed ^ 2, 1000);
    let (mut parses, mut total) = (0, 0);
    for document in &corpus {
        let lines: Vec<&str> = document.text.lines().collect();
        let tree = serde_json::json!({"tool": "x", "lines": lines, "text": document.text, "n": [13812345678u64, 4111111111111111u64, 7]});
        let nested = serde_json::json!({"inner": tree.to_string(), "ok": true});
        for value in [&tree, &nested] {
            for text in [value.to_string(), serde_json::to_string_pretty(value).unwrap()] {
                let out = redactor.redact(&text, &Context::default()).text.unwrap_or(text);
                total += 1;
                parses += usize::from(serde_json::from_str::<serde_json::Value>(&out).is_ok());
            }
        }
    }
    println!("\nJSON in, JSON out: {parses} of {total}");
}

//! The detector tried alone: scans a file or standard input and prints what it finds, a line each.
#![expect(clippy::print_stdout, reason = "an example prints its answer")]

use std::io::Read;

use tollgate_detect::{Category, Context, Detector};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut bytes = Vec::new();
    match std::env::args().nth(1) {
        Some(path) => bytes = std::fs::read(path)?,
        None => drop(std::io::stdin().read_to_end(&mut bytes)?),
    }
    let all = [Category::Secrets, Category::Pii, Category::Names];
    let detector = Detector::builder().find_categories(all).build()?;
    for finding in detector.inspect_bytes(&bytes, &Context::default()).findings {
        println!(
            "{}:{}-{} {} {} {:.2} {}",
            finding.line,
            finding.start,
            finding.end,
            finding.rule,
            finding.severity,
            finding.score,
            finding.masked
        );
    }
    Ok(())
}

//! Scans a file or standard input and prints what is found: the detector tried alone.
#![expect(clippy::print_stdout, reason = "an example prints its answer")]

use std::io::Read;

use tollgate_detect::{Category, Context, Detector};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut bytes = Vec::new();
    match std::env::args().nth(1) {
        Some(path) => bytes = std::fs::read(path)?,
        None => {
            std::io::stdin().read_to_end(&mut bytes)?;
        }
    }
    let detector = Detector::builder()
        .find_categories([Category::Secrets, Category::Pii, Category::Names])
        .build()?;
    for finding in detector.inspect_bytes(&bytes, &Context::default()).findings {
        let line = String::from_utf8_lossy(
            bytes
                .get(
                    finding.start.saturating_sub(if std::env::args().len() > 2 { 60 } else { 0 })
                        ..finding.end,
                )
                .unwrap_or(&[]),
        )
        .into_owned();
        println!(
            "{} {} {} {:.2} {} {:?}",
            finding.line,
            finding.rule,
            finding.severity,
            finding.score,
            finding.masked,
            if std::env::args().len() > 2 { line } else { String::new() }
        );
    }
    Ok(())
}

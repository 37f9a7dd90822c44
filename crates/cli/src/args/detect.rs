//! Arguments of the commands that use the detector by itself: scan and redact.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tollgate::detect::{Category, Kind};

#[derive(Debug, Args)]
#[command(after_help = "\
Folders are walked in the order of their names. What git ignores (.gitignore, .ignore) is left out unless
--no-ignore is given, and so are the folders of version control and files that hold a zero byte in their first
8 KiB. Hidden files are looked at: secrets live in `.env`. Links are not followed. A file that is named is looked
at whatever it is.

With --policy FILE, what its `redact` hooks mask is looked for instead: their rules, thresholds, allow-lists.
The policy in force has no say unless it is named.

--format json writes one object a finding, a line each: path, start and end (byte offsets in the file as it
is), line, rule, type, severity, score, masked. No format shows more of a secret than a quarter.

Exit codes:
  0  nothing was found
  1  something was found
  2  a path could not be read, or the command line or the policy is wrong

Examples:
  tollgate scan .
  git diff --cached | tollgate scan -
  tollgate scan --policy tollgate.yaml docs
  tollgate scan --find secrets --format sarif src > findings.sarif")]
pub(crate) struct ScanArguments {
    /// Files and folders; `-` is standard input
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// How the answer is written
    #[arg(long, value_enum, default_value_t = ScanFormat::Text)]
    pub(crate) format: ScanFormat,

    #[command(flatten)]
    pub(crate) what: WhatArguments,

    /// Look at files that git ignores, too
    #[arg(long)]
    pub(crate) no_ignore: bool,

    /// How many files are read at the same time (default: one a core)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) threads: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScanFormat {
    /// For people
    Text,
    /// One JSON object a finding, a line each
    Json,
    /// SARIF 2.1.0, for code hosts
    Sarif,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Whatever is not masked goes through byte for byte. What is held back is the line (or sentence, or JSON string)
that is not complete yet, at most 16 KiB, and a private key block that is open, at most 64 KiB more. With
--format jsonl each line is opened as JSON and stays JSON; a line over 8 MiB is withheld.

With --policy FILE, the text is masked as its `redact` hooks would mask it, whatever events they are for.

Exit codes:
  0  done, whether or not something was masked
  1  a part was withheld because it could not be looked at
  2  the command line or the policy is wrong

Examples:
  tail -f app.log | tollgate redact
  tollgate redact --find secrets --mask stars < trace.txt > clean.txt
  tollgate redact --format jsonl --report < session.jsonl > clean.jsonl")]
pub(crate) struct RedactArguments {
    /// How the input is read
    #[arg(long, value_enum, default_value_t = RedactFormat::Text)]
    pub(crate) format: RedactFormat,

    #[command(flatten)]
    pub(crate) what: WhatArguments,

    /// What stands in place of a datum (default: plain)
    #[arg(long, value_enum)]
    pub(crate) mask: Option<MaskForm>,

    /// Count on standard error what was masked, by rule
    #[arg(long)]
    pub(crate) report: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RedactFormat {
    /// As text: the least delay
    Text,
    /// One JSON value a line
    Jsonl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MaskForm {
    /// `138*********`, `z***@x.com`; a label for the rest
    Plain,
    /// `[EMAIL]`
    Label,
    /// First and last characters and stars: `z***********m`
    Stars,
    /// A star for every letter and digit: `********@*.***`
    Shape,
}

/// What is looked for.
#[derive(Debug, Args)]
pub(crate) struct WhatArguments {
    /// What to look for: secrets, pii, names, or a kind such as email or phone; with commas, or repeated
    /// (default: secrets,pii)
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = wanted)]
    pub(crate) find: Vec<Wanted>,

    /// Least score of a finding, from 0 to 1 (default: 0.5)
    #[arg(long, value_name = "SCORE", value_parser = score)]
    pub(crate) threshold: Option<f32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    All(Category),
    One(Kind),
}

fn wanted(text: &str) -> Result<Wanted, String> {
    let kind = || Kind::from_name(text).filter(|kind| *kind != Kind::Custom).map(Wanted::One);
    match text {
        "secrets" => Ok(Wanted::All(Category::Secrets)),
        "pii" => Ok(Wanted::All(Category::Pii)),
        "names" => Ok(Wanted::All(Category::Names)),
        _ => kind().ok_or_else(|| {
            let kinds = Kind::ALL.iter().filter(|kind| **kind != Kind::Custom);
            let kinds: Vec<&str> = kinds.map(|kind| kind.name()).collect();
            format!("write secrets, pii, names, or a kind: {}", kinds.join(", "))
        }),
    }
}

fn score(text: &str) -> Result<f32, String> {
    let score = text.parse().ok().filter(|score| (0.0..=1.0).contains(score));
    score.ok_or_else(|| "write a number from 0 to 1, as in 0.7".to_owned())
}

//! Fuzzing: runs the targets of `fuzz/` with cargo-fuzz, which needs a nightly compiler.
//!
//! CI runs the same target functions for seconds, on the stable compiler, as a test of the policy
//! crate; this is for hours. Nothing is installed here: what is missing is named with the command
//! that brings it.

use std::fs;
use std::path::Path;
use std::process::{Command as Process, Stdio};

use crate::menu::Command;
use crate::outcome::{Answer, Error};
use crate::workspace::Workspace;

/// The row in the menu.
pub(crate) const COMMAND: Command = Command {
    name: "fuzz",
    arguments: "[TARGET..] [--seconds N]",
    about: "Fuzz the targets of fuzz/ with cargo-fuzz",
    details: "\
Runs each named target, or all of them one after the other, for N seconds each (60 unless set),
from the seeds in fuzz/seeds/TARGET and what earlier runs found (fuzz/corpus/TARGET). It needs
cargo-fuzz and a nightly compiler, and says so if one is absent. The answer is no if a target
fails; its input then lies in fuzz/artifacts/TARGET. Put it into fuzz/seeds/TARGET with the
repair: `cargo test` runs every seed through the same function.
",
    run,
};

/// How long a target runs unless set, in seconds.
const SECONDS: u32 = 60;
/// Longest input that is tried, in bytes.
const INPUT_BYTES_MAX: u32 = 8192;
/// An input that takes longer than this has failed, in seconds.
const TIMEOUT_SECONDS: u32 = 10;

/// What a command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    targets: Vec<String>,
    seconds: u32,
}

fn run(arguments: &[String]) -> Result<Answer, Error> {
    let root = Workspace::load()?.root;
    let wanted = wanted(arguments, &targets(&root)?)?;
    check_tools()?;
    let mut answer = Answer::Done;
    for target in &wanted.targets {
        if run_one(&root, target, wanted.seconds)? == Answer::No {
            answer = Answer::No;
        }
    }
    Ok(answer)
}

/// The targets, by their files.
fn targets(root: &Path) -> Result<Vec<String>, Error> {
    let path = root.join("fuzz/fuzz_targets");
    let failed = |source| Error::File { verb: "list", path: path.clone(), source };
    let mut targets = Vec::new();
    for entry in fs::read_dir(&path).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        targets.extend(name.to_str().and_then(|name| name.strip_suffix(".rs")).map(str::to_owned));
    }
    targets.sort();
    Ok(targets)
}

fn wanted(arguments: &[String], known: &[String]) -> Result<Wanted, Error> {
    let mut wanted = Wanted { targets: Vec::new(), seconds: SECONDS };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--seconds" {
            let seconds = rest.next().and_then(|text| text.parse().ok()).filter(|n| *n > 0);
            wanted.seconds = seconds
                .ok_or_else(|| Error::Usage("`--seconds` needs a number of seconds".into()))?;
        } else if argument.starts_with('-') {
            return Err(Error::unexpected(argument));
        } else if known.contains(argument) {
            wanted.targets.push(argument.clone());
        } else {
            let known = known.join(", ");
            let message = format!("there is no target `{argument}` (there are: {known})");
            return Err(Error::Usage(message));
        }
    }
    if wanted.targets.is_empty() {
        wanted.targets = known.to_vec();
    }
    Ok(wanted)
}

/// cargo of the nightly toolchain, through rustup's proxy: the cargo that runs this program is of
/// another toolchain and knows no other.
fn nightly() -> Process {
    let mut cargo = Process::new("cargo");
    cargo.env("RUSTUP_TOOLCHAIN", "nightly").env_remove("CARGO").env_remove("RUSTC");
    cargo.stdin(Stdio::null());
    cargo
}

fn check_tools() -> Result<(), Error> {
    let is_there = |arguments: &[&str]| {
        let mut cargo = nightly();
        cargo.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        cargo.status().is_ok_and(|status| status.success())
    };
    if !is_there(&["--version"]) {
        return Err(Error::Missing {
            what: "a nightly compiler",
            remedy: "rustup toolchain install nightly",
        });
    }
    if !is_there(&["fuzz", "--version"]) {
        return Err(Error::Missing { what: "cargo-fuzz", remedy: "cargo install cargo-fuzz" });
    }
    Ok(())
}

fn run_one(root: &Path, target: &str, seconds: u32) -> Result<Answer, Error> {
    let corpus = format!("fuzz/corpus/{target}");
    let path = root.join(&corpus);
    fs::create_dir_all(&path).map_err(|source| Error::File { verb: "create", path, source })?;
    let options = [
        format!("-max_total_time={seconds}"),
        format!("-max_len={INPUT_BYTES_MAX}"),
        format!("-timeout={TIMEOUT_SECONDS}"),
    ];
    let seeds = format!("fuzz/seeds/{target}");
    eprintln!("xtask: cargo fuzz run {target} for {seconds} s");
    let status = nightly()
        .current_dir(root)
        .args(["fuzz", "run", target, &corpus, &seeds, "--"])
        .args(options)
        .status()
        .map_err(|source| Error::Start { program: "cargo fuzz".into(), source })?;
    println!("{target}: {}", if status.success() { "nothing found" } else { "FAILED" });
    Ok(if status.success() { Answer::Done } else { Answer::No })
}

#[cfg(test)]
mod tests {
    use super::{SECONDS, Wanted, wanted};
    use crate::outcome::Error;

    fn ask(arguments: &[&str]) -> Result<Wanted, Error> {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        wanted(&arguments, &["event".to_owned(), "glob".to_owned()])
    }

    #[test]
    fn without_names_all_targets_run() {
        let all = Wanted { targets: vec!["event".into(), "glob".into()], seconds: SECONDS };
        assert_eq!(ask(&[]).unwrap(), all);
        let one = Wanted { targets: vec!["glob".into()], seconds: 5 };
        assert_eq!(ask(&["glob", "--seconds", "5"]).unwrap(), one);
    }

    #[test]
    fn what_cannot_be_meant_is_a_usage_error() {
        for arguments in [&["glub"][..], &["--seconds"], &["--seconds", "0"], &["--second", "5"]] {
            assert!(matches!(ask(arguments), Err(Error::Usage(_))), "{arguments:?}");
        }
        let error = ask(&["glub"]).unwrap_err().to_string();
        assert!(error.contains("event, glob"), "{error}");
    }
}

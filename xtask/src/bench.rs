//! Runs the benches of the workspace and, when asked, keeps their tables with where they came from.
//!
//! A number without its machine, date and command is worth nothing, so `--save` writes them beside
//! the table. Benches are found by asking cargo; there is no list to forget one in. What a bench
//! prints is kept as it is: nothing is computed, rounded or left out here.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command as Process, Stdio};

use crate::menu::Command;
use crate::outcome::{Answer, Error};
use crate::workspace::{Workspace, cargo};

pub(crate) mod page;

/// The row in the menu.
pub(crate) const COMMAND: Command = Command {
    name: "bench",
    arguments: "[NAME..] [--save]",
    about: "Run benches in release and print their tables",
    details: "\
Runs every bench target of the workspace, or those that are named, with `cargo bench`, one after
the other. With `--save` the table of each goes into docs/performance.md, into a section of its own
between two markers, with command, date, load at the start, machine and Rust version; the rest of
the page is left alone. The answer is no if a bench fails (its section is then not changed). Close
other programs first: the numbers are those of the machine as it is.

`cargo xtask bench peers` compares the gate with other policy engines. It is a package of its own in
bench/peers with a lock file of its own, is built only when it is named, and takes minutes to build.
",
    run,
};

/// The page that `--save` writes to.
const PAGE: &str = "docs/performance.md";

/// What a bench prints is a table; more than this is a mistake.
const OUTPUT_BYTES_MAX: usize = 256 * 1024;

/// One bench target.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Bench {
    package: String,
    name: String,
    /// Its manifest where it is no member of the workspace.
    outside: Option<&'static str>,
}

impl Bench {
    fn arguments(&self) -> Vec<&str> {
        match self.outside {
            None => vec!["bench", "--package", &self.package, "--bench", &self.name],
            Some(manifest) => vec!["run", "--release", "--locked", "--manifest-path", manifest],
        }
    }
}

/// What is not built unless it is named: its dependencies are heavy, and none of the product's.
fn outside() -> Bench {
    Bench {
        package: "tollgate-peers".to_owned(),
        name: "peers".to_owned(),
        outside: Some("bench/peers/Cargo.toml"),
    }
}

fn run(arguments: &[String]) -> Result<Answer, Error> {
    let mut names = Vec::new();
    let mut save = false;
    for argument in arguments {
        match argument.as_str() {
            "--save" => save = true,
            flag if flag.starts_with('-') => return Err(Error::unexpected(flag)),
            name => names.push(name),
        }
    }
    let workspace = Workspace::load()?;
    let chosen = choose(&all_benches(&workspace), &names)?;
    let mut answer = Answer::Done;
    for bench in &chosen {
        let load = page::load_average();
        match run_one(&workspace.root, bench)? {
            Some(table) if save => {
                let run = page::Run::of(&bench.arguments().join(" "), load);
                save_table(&workspace.root, &bench.name, &run, &table)?;
            }
            Some(_) => {}
            None => answer = Answer::No,
        }
    }
    match chosen.len() {
        0 => println!("the workspace has no bench targets"),
        count => println!("{count} benches run"),
    }
    Ok(answer)
}

fn all_benches(workspace: &Workspace) -> Vec<Bench> {
    let mut benches = Vec::new();
    for krate in &workspace.crates {
        for name in &krate.benches {
            benches.push(Bench {
                package: krate.package.clone(),
                name: name.clone(),
                outside: None,
            });
        }
    }
    benches
}

/// The benches with these names; all of the workspace when none is named.
fn choose(all: &[Bench], names: &[&str]) -> Result<Vec<Bench>, Error> {
    if names.is_empty() {
        return Ok(all.to_vec());
    }
    let all: Vec<Bench> = all.iter().cloned().chain([outside()]).collect();
    for name in names {
        if !all.iter().any(|bench| bench.name == *name) {
            let known: Vec<&str> = all.iter().map(|bench| bench.name.as_str()).collect();
            let known = known.join(", ");
            return Err(Error::Usage(format!("there is no bench `{name}` (there are: {known})")));
        }
    }
    Ok(all.into_iter().filter(|bench| names.contains(&bench.name.as_str())).collect())
}

/// Runs one bench, showing what it prints; `None` if it failed.
fn run_one(root: &Path, bench: &Bench) -> Result<Option<String>, Error> {
    println!("cargo {}", bench.arguments().join(" "));
    shown(cargo().current_dir(root).args(bench.arguments()))
}

/// Runs a program, showing what it prints; what it printed, or `None` if it failed.
pub(crate) fn shown(command: &mut Process) -> Result<Option<String>, Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |source| Error::Start { program: program.clone(), source };
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut table = String::new();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let line = line.map_err(failed)?;
            println!("{line}");
            if table.len() + line.len() < OUTPUT_BYTES_MAX {
                table.push_str(line.trim_end());
                table.push('\n');
            }
        }
    }
    let status = child.wait().map_err(failed)?;
    Ok(status.success().then_some(table))
}

/// Puts a table into its section of the page.
pub(crate) fn save_table(
    root: &Path,
    name: &str,
    run: &page::Run,
    table: &str,
) -> Result<(), Error> {
    let path = root.join(PAGE);
    let old = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => page::EMPTY.to_string(),
        Err(source) => return Err(Error::File { verb: "read", path, source }),
    };
    let new = page::with_section(&old, name, &page::section(name, run, table))
        .map_err(|reason| Error::Usage(format!("`{PAGE}`: {reason}")))?;
    let write = || -> std::io::Result<()> {
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(&path, new)
    };
    write().map_err(|source| Error::File { verb: "write", path: path.clone(), source })?;
    println!("saved to {PAGE}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Bench, choose};
    use crate::outcome::Error;

    fn all() -> Vec<Bench> {
        let bench = |name: &str| Bench { package: "p".into(), name: name.into(), outside: None };
        ["chain", "matching"].map(bench).into()
    }

    #[test]
    fn without_names_all_benches_run() {
        assert_eq!(choose(&all(), &[]).unwrap(), all());
        assert_eq!(choose(&[], &[]).unwrap(), []);
    }

    #[test]
    fn what_lies_outside_the_workspace_runs_only_when_it_is_named() {
        assert!(choose(&all(), &[]).unwrap().iter().all(|bench| bench.outside.is_none()));
        let [peers] = &choose(&all(), &["peers"]).unwrap()[..] else { panic!("one bench") };
        assert!(peers.arguments().contains(&"bench/peers/Cargo.toml"));
    }

    #[test]
    fn an_unknown_bench_is_a_usage_error_that_lists_the_known_ones() {
        assert_eq!(choose(&all(), &["chain"]).unwrap(), all()[..1]);
        let error = choose(&all(), &["chian"]).unwrap_err();
        assert!(matches!(&error, Error::Usage(text) if text.contains("chain, matching")));
    }
}

//! The developers' menu: everything one does to the tree itself, as plain Rust.
//!
//! Shell scripts and make files rot unseen; this is compiled, linted and tested like the rest.
//! It runs cargo and reads files. It never touches the network by itself, installs nothing and
//! writes only where a subcommand says so (`gen`, `bench --save` and `fuzz`). The exceptions are `e2e`,
//! `conformance` and `bench-mcp`, which bring what they run by npm and pip.

#![expect(clippy::print_stdout, reason = "standard output is the answer of a program")]
#![expect(clippy::print_stderr, reason = "standard error is for the person who started it")]

use std::process::ExitCode;

mod bench;
mod bench_mcp;
mod check;
mod conformance;
mod e2e;
mod fuzz;
mod generate;
mod hosts_page;
mod menu;
mod ner;
mod outcome;
mod soak;
mod step;
mod tidy;
mod workspace;

use outcome::{Answer, Error};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match menu::run(&arguments) {
        Ok(Answer::Done) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::from(match error {
                Error::Usage(_) => 2,
                Error::Start { .. }
                | Error::File { .. }
                | Error::Missing { .. }
                | Error::Metadata(_) => 3,
            })
        }
    }
}

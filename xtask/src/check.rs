//! Everything that must hold before a change is shown to others, in one command.
//!
//! The steps are those of `.ci/run` about the code, cheapest first, and all of them run even when one fails: a
//! person wants the whole list. It changes nothing but the build folder.

use std::time::{Duration, Instant};

use crate::menu::Command;
use crate::outcome::{Answer, Error};
use crate::step::Step;
use crate::tidy;
use crate::workspace::Workspace;

/// The row in the menu.
pub(crate) const COMMAND: Command = Command {
    name: "check",
    arguments: "",
    about: "Format, tidy, lints, tests, documentation: what CI checks of the code",
    details: "\
Runs `cargo fmt --check`, tidy, clippy and rustdoc with warnings as errors, and `cargo test`
(which also compares the generated files). Every step runs, also after a failed one; at the end
stands one line per step with its time. The answer is no if a step failed. CI (`.ci/run`) also
checks that the lock file is current and, where cargo-deny is installed, what `deny.toml` says.
",
    run,
};

/// Tidy comes before these; it needs no cargo.
const STEPS: &[Step] = &[
    Step { name: "format", arguments: &["fmt", "--all", "--check"], environment: None },
    Step {
        name: "clippy",
        arguments: &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
        environment: None,
    },
    Step { name: "test", arguments: &["test", "--workspace"], environment: None },
    Step {
        name: "doc",
        arguments: &["doc", "--workspace", "--no-deps"],
        environment: Some(("RUSTDOCFLAGS", "-D warnings")),
    },
];

fn run(arguments: &[String]) -> Result<Answer, Error> {
    if let Some(other) = arguments.first() {
        return Err(Error::unexpected(other));
    }
    let workspace = Workspace::load()?;
    let start = Instant::now();
    let mut results = vec![("tidy", tidy::report(&workspace)?, start.elapsed())];
    for step in STEPS {
        let start = Instant::now();
        let answer = step.run(&workspace.root)?;
        results.push((step.name, answer, start.elapsed()));
    }
    println!();
    for (name, answer, time) in &results {
        println!("{}", summary_line(name, *answer, *time));
    }
    let all_done = results.iter().all(|(_, answer, _)| *answer == Answer::Done);
    Ok(if all_done { Answer::Done } else { Answer::No })
}

fn summary_line(name: &str, answer: Answer, time: Duration) -> String {
    let word = match answer {
        Answer::Done => "ok",
        Answer::No => "FAILED",
    };
    format!("{name:<8} {word:<7} {:>6.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{STEPS, summary_line};
    use crate::outcome::Answer;

    #[test]
    fn a_failed_step_is_loud_in_the_summary() {
        let line = summary_line("clippy", Answer::No, Duration::from_millis(1500));
        assert_eq!(line, "clippy   FAILED     1.5 s");
    }

    #[test]
    fn warnings_are_errors_in_lints_and_documentation() {
        let denies = |name: &str| {
            let step = STEPS.iter().find(|step| step.name == name).unwrap();
            step.arguments.ends_with(&["-D", "warnings"])
                || step.environment == Some(("RUSTDOCFLAGS", "-D warnings"))
        };
        assert!(denies("clippy"));
        assert!(denies("doc"));
    }
}

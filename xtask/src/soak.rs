//! The long runs of suites that CI runs shortly: kills of the ledger, and conditions against their
//! oracle.

use crate::menu::Command;
use crate::outcome::{Answer, Error};
use crate::step::Step;
use crate::workspace::Workspace;

/// The row in the menu.
pub(crate) const COMMAND: Command = Command {
    name: "soak",
    arguments: "",
    about: "The long runs: 2,000 kills of the ledger, 20,000 conditions against their oracle",
    details: "\
Runs the suites whose length CI keeps short at their full length: a process that writes the ledger is
killed 2,000 times at random points, and 20,000 random conditions are compared with the oracle. Takes
some ten minutes or more. The answer is no if one fails.
",
    run,
};

const STEPS: &[Step] = &[
    Step {
        name: "kill",
        arguments: &["test", "-p", "tollgate-store", "--test", "it", "kill"],
        environment: Some(("TOLLGATE_TEST_KILL_ROUNDS", "2000")),
    },
    Step {
        name: "conditions",
        arguments: &["test", "-p", "tollgate-policy", "--test", "it", "when_"],
        environment: Some(("WHEN_CASES", "20000")),
    },
];

fn run(arguments: &[String]) -> Result<Answer, Error> {
    if let [other, ..] = arguments {
        return Err(Error::unexpected(other));
    }
    let workspace = Workspace::load()?;
    let mut answer = Answer::Done;
    for step in STEPS {
        eprintln!("xtask: soak: {}", step.name);
        if step.run(&workspace.root)? == Answer::No {
            answer = Answer::No;
        }
    }
    Ok(answer)
}

//! Arguments of the commands that put events through a policy: test, explain, allow, backtest.

use super::switch::{Format, duration};
use clap::{ArgGroup, Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = "\
Policy tests stand beside the policy: `x.tests.yaml` tests `x.yaml`, unless it names another with
`policy:`. Without FILE all `*.tests.yaml` of this folder are run; a folder stands for those in it.
With --policy the tests are run against that policy instead. Each test has a gate of its own with fresh
state and a clock that stands still.

  version: 1
  tests:
    - name: test files are protected
      steps:
        - tool: write_file
          args: { path: pkg/test_a.py }
          expect: { verdict: deny, hook: protect-tests }

What may be expected: verdict, code, hook, reason (a glob), args or part (what goes on), fired,
not_fired, rewritten_by.

Exit codes:
  0  all passed
  1  a test failed, or with --require-coverage a hook fires in none
  2  a file is broken

Examples:
  tollgate test
  tollgate test policies --coverage
  tollgate test tollgate.tests.yaml --format junit > report.xml
  tollgate test --watch")]
pub(crate) struct TestArguments {
    /// Files of policy tests, or folders of them
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// How the answer is written
    #[arg(long, value_enum, default_value_t = TestFormat::Text)]
    pub(crate) format: TestFormat,

    /// List the hooks that fire in no test
    #[arg(long)]
    pub(crate) coverage: bool,

    /// Let a hook that fires in no test be a "no" (exit code 1)
    #[arg(long)]
    pub(crate) require_coverage: bool,

    /// Run again whenever a policy or a file of tests changes, until ctrl-c
    #[arg(long)]
    pub(crate) watch: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TestFormat {
    /// For people
    Text,
    /// One JSON object
    Json,
    /// JUnit's XML, for build servers
    Junit,
}

/// Which event.
#[derive(Debug, Default, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Which {
    /// The event in this file, as `tollgate schema event` describes it; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) event: Option<PathBuf>,

    /// The last one in the ledger
    #[arg(long)]
    pub(crate) last: bool,

    /// The one with this id or number in the ledger; the beginning or end of an id will do
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The event goes through the policy once more, with a fresh session. Without --policy the policies that
are in force here count; with it only the named files. From the ledger an event comes back as far as its
record holds it; what was masked is named. --last is the last decision.

Examples:
  tollgate explain --last
  tollgate explain --id 019364f1-2c00-7000-8000-1b2c3d4e5f60
  tollgate explain --event call.json --policy new.yaml --format json")]
pub(crate) struct ExplainArguments {
    #[command(flatten)]
    pub(crate) which: Which,

    /// The ledger's folder (default: where the policy keeps it)
    #[arg(long, value_name = "DIR")]
    pub(crate) ledger: Option<PathBuf>,

    /// Show first what the call would do, with the piece of text that each effect comes from
    #[arg(long)]
    pub(crate) effects: bool,

    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Nothing is run, recorded or counted. What is seen in the command stands in a table: each effect with the
piece of text that it comes from. Then the policies that are in force here decide about it, as if an
agent at work in this folder had asked; with --policy only the named files count.

With HOST before it (claude-code, codex, gemini, copilot, cursor) the command goes the way of that agent
program's own calls, by the hook that stands in its settings. It is not run, but decided and recorded,
and what is shown is what the agent would hear.

In place of a command: --call takes the canonical reading of a call ({\"kind\": \"read\", \"path\": \"x\"}; kinds
are shell, read, write, edit, delete, fetch, search, mcp, task, patch), --tool a tool's name with --args, and
--event a whole event.

Exit codes:
  0  it goes through
  1  it is refused, or a person is asked
  2  the command line or a policy is wrong

Examples:
  tollgate try 'rm -rf ~'
  tollgate try claude-code 'rm -rf ~'
  tollgate try 'make clean' --cwd ~/src/app
  tollgate try --call '{\"kind\": \"read\", \"path\": \".env\"}'
  tollgate try --tool transfer --args '{\"amount\": 5000}' --policy new.yaml")]
#[command(group(ArgGroup::new("what").required(true).multiple(false)))]
pub(crate) struct TryArguments {
    /// The command, as one text
    #[arg(value_name = "[HOST] COMMAND", group = "what")]
    pub(crate) command: Option<String>,

    /// Behind the name of an agent program: the command, sent through that program's hook, and recorded
    #[arg(value_name = "", requires = "command", conflicts_with_all = ["call", "tool", "event"])]
    pub(crate) by_host: Option<String>,

    /// The canonical reading of a call, as JSON
    #[arg(long, value_name = "JSON", group = "what")]
    pub(crate) call: Option<String>,

    /// A tool's name
    #[arg(long, value_name = "NAME", group = "what")]
    pub(crate) tool: Option<String>,

    /// The event in this file, as `tollgate schema event` describes it; - is standard input
    #[arg(long, value_name = "FILE", group = "what")]
    pub(crate) event: Option<PathBuf>,

    /// The tool's arguments, as JSON
    #[arg(long, value_name = "JSON", requires = "tool")]
    pub(crate) args: Option<String>,

    /// The folder that the call is made in (default: this one)
    #[arg(long, value_name = "DIR", conflicts_with = "event")]
    pub(crate) cwd: Option<PathBuf>,

    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The exception pins all that the call has: tool, server, who acts, the value of every argument. --last is
the last call that was refused or asked about. Against a hook of an earlier policy (the machine's, say)
it is an entry of `exceptions:` in your policy. A hook in your own policy has no exceptions: the call
becomes a part of its `unless`. Nothing is written before the new text has loaded, the call passes
under it, and you have agreed. A locked hook stays; a project's policy must be trusted again.

Exit codes:
  0  written
  1  you said no, or the call goes through as it is
  2  there is no such exception, or no such call

Examples:
  tollgate allow --last
  tollgate allow --id 019364f1-2c00-7000-8000-1b2c3d4e5f60 --reason \"agreed with Kim\"
  tollgate allow --last --policy base.yaml --policy mine.yaml --into mine.yaml --for 7d")]
pub(crate) struct AllowArguments {
    #[command(flatten)]
    pub(crate) which: Which,

    /// The ledger's folder (default: where the policy keeps it)
    #[arg(long, value_name = "DIR")]
    pub(crate) ledger: Option<PathBuf>,

    /// Write into this policy instead of yours
    #[arg(long, value_name = "FILE")]
    pub(crate) into: Option<PathBuf>,

    /// Why; it stands in the policy and in the ledger
    #[arg(long)]
    pub(crate) reason: Option<String>,

    /// Let the exception end after this time, as in 2h or 7d
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub(crate) time: Option<Duration>,

    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Events come from a file with one a line (an event as in `tollgate schema event`, or {\"event\": ...,
\"decision\": ...} with what was decided), or from a ledger's folder. Each is decided by the new policy
and compared with what --old decides, or else with what was decided then, or else with going through.
The clock goes by the events' own times, so limits count as they would have.

A ledger holds decisions scrubbed of secrets and no results: events with something masked are counted
and not judged, and what hooks would have learnt from results is not known.

Labels are lines of {\"id\": \"EVENT\", \"harmful\": true}. A harmful event that is refused, ended or asked
about is a hit; a harmless one is a false positive.

Exit codes: 0 done, 2 a policy, a label or an event is broken (the report covers the others).

Examples:
  tollgate backtest new.yaml --against ~/.local/state/tollgate/ledger
  tollgate backtest new.yaml --old old.yaml --against events.jsonl --format json
  tollgate backtest new.yaml --against events.jsonl --labels labels.jsonl")]
pub(crate) struct BacktestArguments {
    /// The new policy
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,

    /// Captured events, one a line (- is standard input), or a ledger's folder
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) against: PathBuf,

    /// The policy to compare with, instead of what was decided then
    #[arg(long, value_name = "FILE")]
    pub(crate) old: Option<PathBuf>,

    /// Which events were harmful
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,

    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

//! The real agents against a scripted model, with the hook between them.
//!
//! What an agent does with a hook's answer is decided by the agent, so only the agent can show it. The
//! harnesses in `e2e/` start the real programs; this brings the programs (npm, pinned), builds the
//! binary, runs every case, and then the faults: a policy that does not load, a place that cannot be
//! written, a full disk, a banner before the answer, a hook that is killed.
//!
//! Refused: a case that was not run. An agent that cannot be had is an error, not a pass.

use crate::menu::Command;
use crate::outcome::{Answer, Error};
use crate::workspace::{Workspace, cargo};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command as Process, Stdio};

/// The row in the menu.
pub(crate) const COMMAND: Command = Command {
    name: "e2e",
    arguments: "[AGENT..] [--save]",
    about: "Run the real agents (Claude Code, Codex, Gemini CLI) against a scripted model",
    details: "\
Installs the agents by npm into target/agents, in the versions of xtask/src/e2e.rs, unless they are there;
builds the binary; runs the cases of e2e/cases.json, e2e/wider.json and e2e/coding.json with `tollgate hook` between each agent
and a scripted model on loopback, then what can go wrong with a hook. Needs npm, node and python3, and the network for the
install only. With `--save` the results go into e2e/results.md; `cargo xtask gen` then puts them into
docs/hosts.md. The answer is no if a case did not end as it must.
",
    run,
};

/// An agent: its host's name, its harness, its package.
struct Agent {
    host: &'static str,
    harness: &'static str,
    package: &'static str,
    version: &'static str,
    /// Whether a hook that is killed refuses the call.
    survives_kills: bool,
}

const AGENTS: [Agent; 3] = [
    Agent {
        host: "claude-code",
        harness: "claude_code.py",
        package: "@anthropic-ai/claude-code",
        version: "2.1.332",
        survives_kills: true,
    },
    Agent {
        host: "codex",
        harness: "codex.py",
        package: "@openai/codex",
        version: "0.171.0",
        survives_kills: false,
    },
    Agent {
        host: "gemini",
        harness: "gemini.py",
        package: "@google/gemini-cli",
        version: "0.61.0",
        survives_kills: false,
    },
];

/// What can go wrong with a hook: its name, and the shell command, in which `HOOK` is the hook and `STATE` a
/// folder of its own. In each the call must not run.
const FAULTS: [(&str, &str); 4] = [
    ("the policy does not load", "HOOK --policy STATE/broken.yaml --state STATE/s"),
    ("there is no policy file", "HOOK --policy STATE/none.yaml --state STATE/s"),
    ("nothing can be kept", "HOOK --policy POLICY --state STATE/broken.yaml/s"),
    // What a full disk is like: every write to a file fails.
    (
        "the disk is full",
        "sh -c \"trap '' XFSZ; ulimit -f 0; exec HOOK --policy POLICY --state STATE/s\"",
    ),
];
/// A hook whose words nobody can read, and the cases that are denied all the same: a call, and what has an event of
/// its own.
const BANNER: &str = "sh -c \"echo welcome; exec HOOK --policy POLICY --state STATE/s\"";
const BANNER_CASES: [(&str, &str); 4] = [
    ("e2e/cases.json", "denied"),
    ("e2e/wider.json", "a tool of a server, denied"),
    ("e2e/wider.json", "a prompt, denied"),
    ("e2e/wider.json", "a command inside a skill, denied"),
];
/// What the cases of a session run under: what a row begins with, the policy, the cases.
const SUITES: [(&str, &str, &str); 3] = [
    ("", "e2e/policy.yaml", "e2e/cases.json"),
    ("", "e2e/policy.yaml", "e2e/wider.json"),
    ("coding preset: ", "policies/coding.yaml", "e2e/coding.json"),
];
const KILLED: (&str, &str) = ("the hook is killed", "sh -c 'kill -9 $$'");

fn run(arguments: &[String]) -> Result<Answer, Error> {
    let mut names = Vec::new();
    let mut save = false;
    for argument in arguments {
        match argument.as_str() {
            "--save" => save = true,
            name if AGENTS.iter().any(|agent| agent.host == name) => names.push(name),
            other => return Err(Error::unexpected(other)),
        }
    }
    let root = Workspace::load()?.root;
    let mut build = cargo();
    build.args(["build", "--quiet", "--package", "tollgate-cli"]).current_dir(&root);
    wait(&mut build, "cargo build")?;
    let mut answer = Answer::Done;
    let mut page = format!(
        "## Shown by running\n\n`cargo xtask e2e --save`, {}. A scripted model on loopback makes the calls; `tollgate hook` \
         stands between. What a row says was seen in the files, in what the model was sent and in the \
         agent's own transcripts.\n\n| agent | case | as it must be | a secret stays in |\n|---|---|---|---|\n",
        today()?
    );
    for agent in AGENTS.iter().filter(|agent| names.is_empty() || names.contains(&agent.host)) {
        install(&root, agent)?;
        if cases(&root, agent, &mut page)? == Answer::No {
            answer = Answer::No;
        }
    }
    if save {
        let path = root.join("e2e/results.md");
        fs::write(&path, &page).map_err(|source| Error::File { verb: "write", path, source })?;
    }
    print!("{page}");
    Ok(answer)
}

/// The cases of one agent, then the faults.
fn cases(root: &Path, agent: &Agent, page: &mut String) -> Result<Answer, Error> {
    let mut answer = Answer::Done;
    for (prefix, policy, cases) in SUITES {
        let hook = format!("HOOK --policy {} --state STATE/s", root.join(policy).display());
        let cases = root.join(cases).display().to_string();
        let report = harness(root, agent, &hook, &["--cases", &cases])?;
        for case in report.get("cases").and_then(Value::as_array).into_iter().flatten() {
            let ok = is_ok(case);
            if !ok {
                answer = Answer::No;
            }
            let copies = case.get("transcripts_with_secret").and_then(Value::as_object);
            let copies = copies.is_some_and(|found| !found.is_empty());
            let kept = if copies { "its session files" } else { "nothing" };
            let name = case.get("case").and_then(Value::as_str).unwrap_or_default();
            line(page, agent, &format!("{prefix}{name}"), ok, kept);
        }
    }
    for (name, command) in FAULTS {
        let report = harness(root, agent, command, &["--only", "denied"])?;
        let ok = is_ok(&report);
        if !ok {
            answer = Answer::No;
        }
        line(page, agent, &format!("{name}: nothing runs"), ok, "-");
    }
    for (cases, name) in BANNER_CASES {
        let cases = root.join(cases).display().to_string();
        let report = harness(root, agent, BANNER, &["--cases", &cases, "--only", name])?;
        // An agent that has no such event has no such case.
        if report.get("cases").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            continue;
        }
        let ok = is_ok(&report);
        if !ok {
            answer = Answer::No;
        }
        line(page, agent, &format!("a banner before the answer: {name}"), ok, "-");
    }
    let report = harness(root, agent, KILLED.1, &["--only", "denied"])?;
    let refused = is_ok(&report);
    if refused != agent.survives_kills {
        answer = Answer::No;
    }
    let what = if refused { "nothing runs" } else { "the call runs, as known of this host" };
    line(page, agent, &format!("{}: {what}", KILLED.0), refused == agent.survives_kills, "-");
    Ok(answer)
}

/// Whether a report, or a case in it, met all that was expected.
fn is_ok(report: &Value) -> bool {
    report.get("ok").and_then(Value::as_bool) == Some(true)
}

fn line(page: &mut String, agent: &Agent, case: &str, ok: bool, kept: &str) {
    let ok = if ok { "yes" } else { "**no**" };
    // Writing to a string cannot fail.
    let _ = writeln!(page, "| {} {} | {case} | {ok} | {kept} |", agent.host, agent.version);
}

/// Runs a harness with this hook; gives its report.
fn harness(root: &Path, agent: &Agent, hook: &str, more: &[&str]) -> Result<Value, Error> {
    let state = root.join(format!("target/e2e/{}-{}", agent.host, std::process::id()));
    let failed = |source| Error::File { verb: "write", path: state.clone(), source };
    // What an earlier run left would be another's policy in force.
    let _ = fs::remove_dir_all(&state);
    fs::create_dir_all(&state).map_err(failed)?;
    fs::write(state.join("broken.yaml"), "version: 1\nhooks: [").map_err(failed)?;
    let binary = root.join("target/debug/tollgate");
    let hook = hook
        .replace("HOOK", &format!("{} hook {}", binary.display(), agent.host))
        .replace("POLICY", &root.join("e2e/policy.yaml").display().to_string())
        .replace("STATE", &state.display().to_string());
    let output = Process::new("python3")
        .arg(root.join("e2e").join(agent.harness))
        .arg("--npm-dir")
        .arg(root.join("target/agents"))
        .args(["--timeout", "180", "--hook", &hook])
        .args(more)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| Error::Start { program: "python3".into(), source })?;
    serde_json::from_slice(&output.stdout)
        .map_err(|error| Error::Usage(format!("{} gave no report: {error}", agent.harness)))
}

/// Brings an agent, unless this version is there.
fn install(root: &Path, agent: &Agent) -> Result<(), Error> {
    let prefix = root.join("target/agents");
    let manifest = prefix.join("node_modules").join(agent.package).join("package.json");
    let there: Option<Value> =
        fs::read(&manifest).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let version = there.as_ref().and_then(|package| package.get("version")?.as_str());
    if version == Some(agent.version) {
        return Ok(());
    }
    let mut npm = Process::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&prefix);
    npm.arg(format!("{}@{}", agent.package, agent.version));
    wait(&mut npm, "npm install")
}

fn wait(command: &mut Process, name: &str) -> Result<(), Error> {
    let status = command.stdin(Stdio::null()).status();
    let status = status.map_err(|source| Error::Start { program: name.into(), source })?;
    if status.success() { Ok(()) } else { Err(Error::Usage(format!("`{name}` failed"))) }
}

fn today() -> Result<String, Error> {
    let output = Process::new("date").args(["-u", "+%Y-%m-%d"]).output();
    let output = output.map_err(|source| Error::Start { program: "date".into(), source })?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

//! `tollgate init`: looks at the project, writes a policy to start from, trusts it, says what is next.
//! It writes one file, and never over one that is there.

use super::trust::{as_trusted, pin};
use crate::args::{Globals, InitArguments, Preset};
use crate::commands::check::counted;
use crate::desk::Desk;
use crate::exit::{Exit, Failure};
use crate::output::{say, tell_people};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use tollgate::places::PROJECT_POLICY;
use tollgate::policy::LayerKind;

/// What gives an agent away that is set up in a folder.
const AGENTS: &[(&str, &[&str])] = &[
    ("Claude Code", &[".claude", "CLAUDE.md"]),
    ("Codex", &[".codex"]),
    ("Gemini CLI", &[".gemini", "GEMINI.md"]),
    ("Cursor", &[".cursor", ".cursorrules"]),
    ("GitHub Copilot", &[".github/copilot-instructions.md"]),
    ("Windsurf", &[".windsurf"]),
    ("opencode", &[".opencode", "opencode.json"]),
    ("an agent that reads AGENTS.md", &["AGENTS.md"]),
    ("MCP servers", &[".mcp.json"]),
];

pub(crate) fn run(globals: &Globals, arguments: &InitArguments) -> Result<Exit, Failure> {
    let desk = Desk::new(globals)?;
    let root = desk.places.project_root();
    if !desk.places.may_be_project(&root) {
        return Err(Failure::usage(
            format!(
                "`{}` is the home folder or above it: no project's policy counts there",
                root.display()
            ),
            "change into a project's folder",
        ));
    }
    let file = root.join(PROJECT_POLICY);
    write_new(&file, text(arguments.preset))?;
    let trusted = as_trusted(&desk, &file).and_then(|(loaded, layer)| {
        pin(&desk, &loaded, &layer)?;
        Ok(loaded)
    });
    let loaded = trusted.inspect_err(|_| {
        tell_people(format_args!("{} was written, and is not trusted yet", file.display()));
    })?;
    let own = || loaded.hooks().filter(|hook| hook.layer == LayerKind::Project);
    let (hooks, dry) = (own().count(), own().filter(|hook| hook.dry_run).count());
    let mut out = format!("{}\n", found(&root));
    let _ = match hooks {
        0 => writeln!(out, "wrote {} and trusted it: {SAID_ALREADY}", file.display()),
        _ => writeln!(
            out,
            "wrote {} and trusted it: {}, {dry} of them dry",
            file.display(),
            counted(hooks, "hook")
        ),
    };
    if hooks == dry && hooks > 0 {
        out.push_str("a dry hook refuses nothing; the ledger says what it would have done\n");
    }
    out.push_str(NEXT);
    say(&out)?;
    Ok(Exit::Done)
}

/// No preset is without hooks: these are said once, under the earlier layer.
const SAID_ALREADY: &str = "each of its hooks is in your policy already, and is said once";

const NEXT: &str = "
next:
  put the gate before your agent program: `tollgate install claude-code` (or codex, gemini, copilot, cursor),
  then `tollgate doctor` says whether its calls really pass
  read tollgate.yaml and change it; after each change `tollgate check`, then `tollgate trust`
  `tollgate hooks list` and `tollgate status` say what is in force
  ask about one call:
    echo '{\"kind\": \"pre_tool\", \"session\": {\"id\": \"s1\"}, \"payload\": {\"tool\": \"delete_file\"}}' |
      tollgate decide
";

pub(crate) fn text(preset: Preset) -> &'static str {
    match preset {
        Preset::ObserveOnly => include_str!("../../../../policies/observe-only.yaml"),
        Preset::SupportDesk => include_str!("../../../../policies/support-desk.yaml"),
        Preset::Coding => include_str!("../../../../policies/coding.yaml"),
        Preset::Mcp => include_str!("../../../../policies/mcp.yaml"),
    }
}

fn write_new(file: &Path, text: &str) -> Result<(), Failure> {
    let opened = OpenOptions::new().write(true).create_new(true).open(file);
    opened.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            return Failure::usage(
                format!("`{}` is there already", file.display()),
                "it is never written over: change it, or move it away first",
            );
        }
        Failure::usage(
            format!("`{}` cannot be written: {error}", file.display()),
            "change into a folder that you can write to",
        )
    })
}

/// What there is in the project, in a sentence.
fn found(root: &Path) -> String {
    let is_there = |name: &&str| std::fs::symlink_metadata(root.join(name)).is_ok();
    let git = if is_there(&".git") { "a git repository" } else { "no git repository" };
    let agents: Vec<String> = AGENTS
        .iter()
        .filter_map(|(agent, signs)| {
            let sign = signs.iter().find(|sign| is_there(sign))?;
            Some(format!("{agent} ({sign})"))
        })
        .collect();
    let agents = if agents.is_empty() { "no agent set up".to_owned() } else { agents.join(", ") };
    format!("{}: {git}, {agents}", root.display())
}

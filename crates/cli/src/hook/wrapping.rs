//! What a hook does about output that it cannot reach afterwards: it sees to it that the output is masked
//! while the command runs (`tollgate exec`).
//!
//! Claude Code evaluates lines that a SessionStart hook has left before each command of the session, in
//! the same shell: the command stays as it is, and so do the host's rules about it. For other hosts the
//! command is rewritten, which their own rules do not see through; so that is done only where the person
//! has asked for it (`install --wrap`).

use super::Trouble;
use crate::args::Globals;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use tollgate::gate::{Json, Payload};
use tollgate_hosts::wrap::{Stdin, Wrapping, shell_lines, unwrap, wrap};
use tollgate_hosts::{Heard, Host, Wanted};

/// The variable by which Claude Code says where a session's shell lines belong.
const LINES_FILE: &str = "CLAUDE_ENV_FILE";
/// The event at which they are left.
const START: &str = "SessionStart";

/// How the filter of a session's commands is called.
pub(super) struct Calling {
    program: String,
    words: Vec<String>,
    stdin: Stdin,
}

impl Calling {
    /// For the commands of a host.
    pub(super) fn new(host: &dyn Host, globals: &Globals) -> Result<Calling, Trouble> {
        let odd = |what: &str| Trouble::new("internal_error", what);
        let program = std::env::current_exe().ok();
        let program = program.as_deref().and_then(Path::to_str);
        let program = program.ok_or_else(|| odd("its own path is no text"))?.to_owned();
        let mut words = vec!["--host".to_owned(), host.facts().name.to_owned()];
        let folders = globals.policy.iter().map(|policy| ("--policy", policy));
        for (flag, path) in folders.chain(globals.state.iter().map(|state| ("--state", state))) {
            let path = std::path::absolute(path).ok();
            let path = path.as_deref().and_then(Path::to_str).ok_or_else(|| odd("an odd path"))?;
            words.extend([flag.to_owned(), path.to_owned()]);
        }
        // Codex lets the model type into a running command, and tells no hook of it.
        let stdin = if host.facts().name == "codex" { Stdin::Closed } else { Stdin::Kept };
        Ok(Calling { program, words, stdin })
    }

    fn wrapping(&self) -> Wrapping<'_> {
        Wrapping { program: &self.program, words: &self.words, stdin: self.stdin }
    }

    /// The message with the command as the model wrote it, where the host repeats ours.
    pub(super) fn unwrapped(&self, mut message: Json) -> Json {
        let Json::Object(object) = &mut message else { return message };
        if let Some(Json::Object(input)) = object.get_mut("tool_input")
            && let Some(Json::String(command)) = input.get_mut("command")
            && let Some(original) = unwrap(command, &self.wrapping())
        {
            *command = original;
        }
        message
    }

    /// What is wanted, with a shell command that runs rewritten so that its output is masked.
    pub(super) fn wrapped(&self, host: &dyn Host, heard: &Heard, wanted: Wanted) -> Wanted {
        let Some(Payload::PreTool(call)) = &heard.payload else { return wanted };
        let Some(key) = host.command_of(call) else { return wanted };
        let (mut arguments, skip_prompt) = match &wanted {
            Wanted::Nothing => ((*call.arguments).clone(), false),
            Wanted::Allow => ((*call.arguments).clone(), true),
            Wanted::Rewrite { arguments, skip_prompt } => (arguments.clone(), *skip_prompt),
            Wanted::Ask(_)
            | Wanted::Refuse(_)
            | Wanted::Append(_)
            | Wanted::Replace(_)
            | Wanted::ReplaceError(_)
            | Wanted::Withhold(_) => return wanted,
        };
        let Json::Object(object) = &mut arguments else { return wanted };
        let Some(Json::String(command)) = object.get_mut(key) else { return wanted };
        *command = wrap(command, &self.wrapping());
        Wanted::Rewrite { arguments, skip_prompt }
    }
}

/// Leaves the session's shell lines where the host evaluates them before each command.
pub(super) fn leave_lines(
    host: &dyn Host,
    heard: &Heard,
    globals: &Globals,
    workspace: &Path,
) -> Result<(), Trouble> {
    if host.facts().name != "claude-code" || heard.event.name != START {
        return Ok(());
    }
    let Some(file) = std::env::var_os(LINES_FILE).filter(|file| !file.is_empty()) else {
        return Ok(());
    };
    let mut calling = Calling::new(host, globals)?;
    // A command that has gone to another folder is still this project's.
    calling.words.extend(["--tool".to_owned(), "Bash".to_owned()]);
    if let Some(root) = workspace.to_str() {
        calling.words.extend(["--in".to_owned(), root.to_owned()]);
    }
    let lines = shell_lines(&calling.wrapping());
    append_once(&file, &lines).map_err(|error| {
        let what = format!("what failing commands print will not be masked: {error}");
        Trouble::new("internal_error", what)
    })
}

fn append_once(file: &OsStr, lines: &str) -> std::io::Result<()> {
    let path = PathBuf::from(file);
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    let mut there = String::new();
    file.read_to_string(&mut there)?;
    if there.contains(lines) {
        return Ok(());
    }
    if !there.is_empty() && !there.ends_with('\n') {
        file.write_all(b"\n")?;
    }
    file.write_all(lines.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::append_once;

    #[test]
    fn lines_are_left_once_and_behind_those_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lines.sh");
        std::fs::write(&file, "export A=1").unwrap();
        for _ in 0..2 {
            append_once(file.as_os_str(), "ours\n").unwrap();
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "export A=1\nours\n");
        }
        let new = folder.path().join("new.sh");
        append_once(new.as_os_str(), "ours\n").unwrap();
        assert_eq!(std::fs::read_to_string(&new).unwrap(), "ours\n");
        assert!(append_once(folder.path().join("no/where").as_os_str(), "x\n").is_err());
    }
}

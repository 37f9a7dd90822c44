//! The files in which the hooks of coding agents stand, for the guard: whoever could write them could
//! take our hooks out, or turn all hooks off (law 13).
//!
//! They are guarded whether or not a hook of ours stands there: a project's file that does not exist
//! yet would count as soon as it does. What an install has written elsewhere is guarded beside these.

use crate::installs::Installs;
use crate::places::Places;
use std::path::PathBuf;

/// Below the home folder.
const USER: [&str; 10] = [
    // What Claude Code evaluates before each command of a session.
    ".claude/session-env",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".copilot/hooks",
    ".copilot/settings.json",
    ".cursor/hooks.json",
    ".gemini/settings.json",
    ".gemini/trustedFolders.json",
];

/// Below a project's root.
const PROJECT: [&str; 9] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".cursor/hooks.json",
    ".gemini/settings.json",
    ".github/copilot/settings.json",
    ".github/copilot/settings.local.json",
    ".github/hooks",
];

/// Of the machine.
const MANAGED: [&str; 8] = [
    "/etc/claude-code",
    "/etc/codex",
    "/etc/cursor",
    "/etc/gemini-cli",
    "/etc/github-copilot",
    "/Library/Application Support/ClaudeCode",
    "/Library/Application Support/Cursor/hooks.json",
    "/Library/Application Support/GeminiCli",
];

/// Variables of hosts that move a person's settings. They only add to what is guarded.
const MOVED: [(&str, &str); 3] =
    [("CLAUDE_CONFIG_DIR", ".claude/"), ("CODEX_HOME", ".codex/"), ("COPILOT_HOME", ".copilot/")];

/// All of them, as far as it is known where they are.
pub(crate) fn all(places: &Places) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = MANAGED.iter().map(PathBuf::from).collect();
    let root = places.project_root();
    files.extend(PROJECT.iter().map(|file| root.join(file)));
    if let Some(home) = places.home() {
        files.extend(USER.iter().map(|file| home.join(file)));
    }
    // The hosts go by this variable, not by the user database.
    if let Some(home) =
        std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
    {
        files.extend(USER.iter().map(|file| home.join(file)));
    }
    for (variable, usual) in MOVED {
        let Some(folder) = std::env::var_os(variable).map(PathBuf::from) else { continue };
        let moved = USER.iter().filter_map(|file| file.strip_prefix(usual));
        files.extend(moved.filter(|_| folder.is_absolute()).map(|file| folder.join(file)));
    }
    let installs = places.state().ok().and_then(|state| Installs::read(&state).ok());
    let installs = installs.unwrap_or_default();
    files.extend(installs.iter().map(|install| install.file.clone()));
    files
}

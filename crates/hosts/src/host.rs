//! The hosts, and what each must be able to do.

use crate::facts::Facts;
use crate::{claude_code, codex, copilot, cursor, gemini};

/// A host: an agent program that Tollgate plugs into.
pub trait Host: Sync {
    /// What it is and can do.
    fn facts(&self) -> &'static Facts;
}

/// Every host, in the order in which people see them.
pub static HOSTS: [&dyn Host; 5] =
    [&claude_code::ClaudeCode, &codex::Codex, &gemini::Gemini, &copilot::Copilot, &cursor::Cursor];

/// The host of this name.
pub fn host(name: &str) -> Option<&'static dyn Host> {
    HOSTS.iter().copied().find(|host| host.facts().name == name)
}

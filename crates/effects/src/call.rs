//! The canonical call: what a host's own tool names and arguments come down to.
//!
//! Adapters fill it (`call` of the event); this crate only reads it. Fields that it does not know are
//! ignored, since within a major version fields are added. Refused: guessing a kind from a tool name,
//! which is the adapter's work.

use serde::{Deserialize, Serialize};

/// Which shell reads a command text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellKind {
    /// Bash, zsh or a POSIX shell.
    #[default]
    Bash,
    /// Windows' `cmd.exe`.
    Cmd,
    /// PowerShell of either kind.
    Powershell,
}

/// One call in canonical form, tagged by `kind`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Call {
    /// Runs a command text.
    Shell {
        /// The text.
        command: String,
        /// The folder it runs in, if not the session's.
        #[serde(default)]
        cwd: Option<String>,
        /// The shell that reads it.
        #[serde(default)]
        shell: ShellKind,
    },
    /// Reads a file, or lists a folder.
    Read {
        /// The file or folder.
        path: String,
    },
    /// Writes a whole file.
    Write {
        /// The file.
        path: String,
        /// What it will hold.
        #[serde(default)]
        content: Option<String>,
    },
    /// Changes a file in places.
    Edit {
        /// The file.
        path: String,
    },
    /// Deletes a file or folder.
    Delete {
        /// The file or folder.
        path: String,
    },
    /// Gets something by its address.
    Fetch {
        /// The address.
        url: String,
        /// The method, if not `GET`.
        #[serde(default)]
        method: Option<String>,
    },
    /// Searches files, or the web when there is a `query`.
    Search {
        /// The folder that is searched, if not the session's.
        #[serde(default)]
        path: Option<String>,
        /// The pattern of names that are looked for.
        #[serde(default)]
        pattern: Option<String>,
        /// The pattern of the files whose content is searched.
        #[serde(default)]
        glob: Option<String>,
        /// What the web is asked.
        #[serde(default)]
        query: Option<String>,
    },
    /// A tool of an MCP server.
    Mcp {
        /// The server's name.
        server: String,
        /// The tool's name.
        tool: String,
        /// The arguments as given.
        #[serde(default)]
        arguments: serde_json::Value,
    },
    /// Hands work to a sub-agent.
    Task {
        /// Which one.
        #[serde(default)]
        agent: Option<String>,
    },
    /// Applies a patch: Codex's `apply_patch` text or a unified diff.
    Patch {
        /// The text.
        patch: String,
        /// The folder its paths are relative to, if not the session's.
        #[serde(default)]
        cwd: Option<String>,
    },
}

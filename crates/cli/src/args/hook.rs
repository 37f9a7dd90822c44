//! Arguments of `tollgate hook`.

use clap::Args;

#[derive(Debug, Default, Args)]
#[command(after_help = "\
The command that stands in a host's configuration; `tollgate install` puts it there. It answers in the
host's own format: one JSON object, or nothing, which every host takes for consent. Whatever goes wrong
inside is answered by a refusal, unless a user's or managed policy says `on_internal_error: open`.

Example, by hand:
  echo '{\"hook_event_name\": \"PreToolUse\", \"session_id\": \"s\", \"cwd\": \"/tmp\", \"tool_use_id\": \"c1\",
         \"tool_name\": \"Bash\", \"tool_input\": {\"command\": \"ls\"}}' | tollgate hook claude-code")]
pub(crate) struct HookArguments {
    /// claude-code, codex, gemini, copilot or cursor
    pub(crate) host: String,

    /// The event, for hosts whose messages do not name it
    #[arg(long, value_name = "NAME")]
    pub(crate) event: Option<String>,

    /// Rewrite shell commands so that their output is masked while they run (`tollgate exec`)
    #[arg(long)]
    pub(crate) wrap: bool,
}

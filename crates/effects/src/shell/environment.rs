//! Environment variables that change which code runs, or that are commands themselves.
//!
//! Refused: a list of all variables; these are the ones that programs act on without being asked.

use crate::effect::{Reason, Verb};
use crate::path;
use crate::run::Run;
use crate::shell::scope::{Scope, Var};

/// Variables whose value is a command that a program runs.
const COMMANDS: &[&str] = &[
    "PROMPT_COMMAND",
    "GIT_SSH_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "PAGER",
    "EDITOR",
    "VISUAL",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "GIT_PROXY_COMMAND",
    "MANPAGER",
    "BROWSER",
    "LESSOPEN",
];

/// Folders that anybody can write.
const SHARED_FOLDERS: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

impl Run<'_> {
    /// An assignment for the rest of the text, which programs see only if they are exported; taken as
    /// if they were.
    pub(crate) fn loose_environment(&mut self, name: &str, value: &Var) {
        if let Var::Scalar(values) = value
            && matches!(name, "PATH" | "LD_PRELOAD" | "BASH_ENV" | "ENV" | "PROMPT_COMMAND")
        {
            let text = values.first().cloned().unwrap_or_default();
            let scope = Scope::new("/");
            self.environment_variable(&scope, name, &text);
        }
    }

    /// What a variable in a program's environment makes it do.
    pub(crate) fn environment_variable(&mut self, scope: &Scope, name: &str, value: &str) {
        if COMMANDS.contains(&name) {
            if !value.is_empty() {
                let mut inner = scope.clone();
                self.run_text(&mut inner, value, "");
            }
        } else if let Some(reason) = loads_code(name, value, &|at| self.is_shared(at)) {
            self.unknown(Verb::Runs, reason);
        }
    }

    /// Whether anybody may have put there what lies at an absolute place: below a temporary folder, but
    /// for a workspace that itself stands in one, whose files are the project's as anywhere else.
    pub(crate) fn is_shared(&self, at: &str) -> bool {
        let Some(at) = path::normalise("/", at) else { return true };
        let below = |folder: &str| {
            at.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_own = |root: &str| root.len() > 1 && !SHARED_FOLDERS.contains(&root) && below(root);
        SHARED_FOLDERS.iter().any(|folder| below(folder)) && !self.ctx.root.is_some_and(is_own)
    }
}

/// Why a variable with this value makes programs run other code than their own, if it does.
fn loads_code(name: &str, value: &str, is_shared: &dyn Fn(&str) -> bool) -> Option<Reason> {
    let shared = |text: &str| text.starts_with('/') && is_shared(text);
    let loads = match name {
        "PATH" => {
            let many = value.contains(':');
            value.split(':').any(|e| shared(e) || e == "." || (e.is_empty() && many))
        }
        "LD_PRELOAD" | "LD_AUDIT" | "DYLD_INSERT_LIBRARIES" => {
            let usual = ["/usr/lib", "/lib", "libasan", "libjemalloc"];
            let is_usual = |e: &str| e.is_empty() || usual.iter().any(|front| e.starts_with(front));
            !value.split([':', ' ']).all(is_usual)
        }
        "CC" | "CXX" | "LD" | "AR" | "RUSTC" | "RUSTC_WRAPPER" | "MAKE" | "GOROOT" => shared(value),
        "BASH_ENV" | "PYTHONSTARTUP" | "PERL5OPT" | "PERL5DB" => true,
        "ENV" => value.contains('/'),
        "RUBYOPT" => value.contains("-r"),
        "NODE_OPTIONS" => ["--require", "-r ", "--import"].iter().any(|o| value.contains(o)),
        "GIT_CONFIG_COUNT" | "GIT_CONFIG_PARAMETERS" | "GIT_EXEC_PATH" | "GIT_TEMPLATE_DIR" => {
            return Some(Reason::GitConfig);
        }
        _ => false,
    };
    loads.then_some(Reason::Environment)
}

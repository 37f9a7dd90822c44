//! Environment variables that change which code runs, or that are commands themselves.
//!
//! Refused: a list of all variables; these are the ones that programs act on without being asked.

use crate::effect::{Reason, Verb};
use crate::path::{self, Within};
use crate::program::foreign::is_registry_variable;
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
    "LESSCLOSE",
    "GIT_SSH",
    "SUDO_EDITOR",
    "SUDO_ASKPASS",
    "KUBE_EDITOR",
    "KUBECTL_EXTERNAL_DIFF",
    "HGEDITOR",
    "SVN_EDITOR",
    "SVN_SSH",
    "HG_SSH",
    "CVS_RSH",
    "RSYNC_RSH",
    "RSYNC_CONNECT_PROG",
    "FZF_DEFAULT_COMMAND",
    "PSQL_EDITOR",
    "PSQL_PAGER",
    "AWS_PAGER",
    "GH_PAGER",
    "GH_EDITOR",
    "GH_BROWSER",
    "BAT_PAGER",
    "DELTA_PAGER",
    "SYSTEMD_PAGER",
    "SYSTEMD_EDITOR",
    "MANROFFOPT",
    "CARGO_BUILD_RUSTC",
    "CARGO_BUILD_RUSTC_WRAPPER",
];

/// Variables that a shell expands whenever it shows them.
const PROMPTS: &[&str] = &["PS0", "PS1", "PS2", "PS3", "PROMPT", "RPROMPT"];

/// Variables that lead connections to another host.
const PROXIES: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "RSYNC_PROXY"];

/// Variables whose value is a text of an editor or a pager, where one of these pieces is an escape.
const ESCAPES: &[(&str, &[&str])] = &[
    ("VIMINIT", &["!", "system(", "term"]),
    ("EXINIT", &["!"]),
    ("LESS", &["+!", "!"]),
    ("MORE", &["!"]),
    ("PS4", &["$(", "`"]),
    ("FZF_DEFAULT_OPTS", &["execute", "become", "reload", "--preview"]),
    ("TAR_OPTIONS", &["to-command", "checkpoint-action", "compress-program", "-I"]),
    ("GOFLAGS", &["-toolexec", "-exec", "-insecure", "-overlay"]),
    ("MAKEFLAGS", &["--eval", "SHELL=", "-f"]),
    ("JAVA_TOOL_OPTIONS", &["-javaagent", "-agentpath", "OnError", "OnOutOfMemoryError"]),
    ("_JAVA_OPTIONS", &["-javaagent", "-agentpath", "OnError", "OnOutOfMemoryError"]),
    ("JDK_JAVA_OPTIONS", &["-javaagent", "-agentpath", "OnError", "OnOutOfMemoryError"]),
    ("MAVEN_OPTS", &["-javaagent:/tmp", "-agentpath:/tmp", "OnError", "OnOutOfMemoryError"]),
    ("GRADLE_OPTS", &["-javaagent:/tmp", "-agentpath:/tmp", "OnError", "OnOutOfMemoryError"]),
];

/// Variables that builds run, as a program with its options.
const COMPILERS: &[&str] = &["CC", "CXX", "LD", "AR", "RUSTC_WRAPPER", "MAKE", "FC"];

/// Folders and programs that code is loaded from: a folder that anybody can write is no place for it.
const LOADED_FROM: &[&str] = &[
    "CC",
    "CXX",
    "LD",
    "AR",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "MAKE",
    "GOROOT",
    "PYTHONPATH",
    "PYTHONHOME",
    "PERL5LIB",
    "PERLLIB",
    "RUBYLIB",
    "NODE_PATH",
    "LUA_PATH",
    "LUA_CPATH",
    "CLASSPATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "SHELL",
    "SSH_ASKPASS",
    "GCONV_PATH",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "RIPGREP_CONFIG_PATH",
    "GIT_CONFIG_GLOBAL",
    "GIT_DIR",
    "GIT_CONFIG_SYSTEM",
    "NPM_CONFIG_SCRIPT_SHELL",
    "NPM_CONFIG_USERCONFIG",
    "NPM_CONFIG_NODE_OPTIONS",
    "ZDOTDIR",
    "INPUTRC",
    "TERMINFO",
    "BUNDLE_GEMFILE",
    "R_PROFILE",
    "R_PROFILE_USER",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
];

/// Folders that anybody can write.
const SHARED_FOLDERS: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

impl Run<'_> {
    /// An assignment for the rest of the text, which programs see only if they are exported; taken as
    /// if they were.
    pub(crate) fn loose_environment(&mut self, name: &str, value: &Var) {
        if let Var::Scalar(values) = value
            && (matches!(name, "PATH" | "LD_PRELOAD" | "BASH_ENV" | "ENV" | "PROMPT_COMMAND")
                || PROMPTS.contains(&name)
                || is_proxy(name))
        {
            let text = values.first().cloned().unwrap_or_default();
            let scope = Scope::new("/");
            self.environment_variable(&scope, name, &text);
        }
    }

    /// What a variable in a program's environment makes it do.
    pub(crate) fn environment_variable(&mut self, scope: &Scope, name: &str, value: &str) {
        if matches!((name, value), ("HISTFILE", "/dev/null") | ("HISTSIZE" | "HISTFILESIZE", "0")) {
            self.thing(Verb::Destroys, "history-file");
        } else if is_proxy(name) {
            self.host(value);
        } else if is_registry_variable(name) {
            self.registry(value);
        } else if COMMANDS.contains(&name) || is_runner(name) {
            if value.starts_with('/') && self.is_shared(value) {
                self.unknown(Verb::Runs, Reason::Environment);
            } else if !value.is_empty() {
                let mut inner = scope.clone();
                // `LESSOPEN='|lesspipe %s'`.
                self.run_text(&mut inner, value.trim_start_matches(['|', '-']), "");
            }
        } else if PROMPTS.contains(&name) && value.contains(['$', '`']) {
            // A prompt is expanded as in double quotes.
            let text = format!(": \"{}\"", value.replace('"', "\\\""));
            self.run_text(&mut scope.clone(), &text, "");
        } else if COMPILERS.contains(&name) && value.trim().contains(' ') {
            self.run_text(&mut scope.clone(), value, "");
        } else if let Some(reason) = loads_code(name, value, &|at| self.is_shared(at)) {
            self.unknown(Verb::Runs, reason);
        }
    }

    /// Whether anybody may have put there what lies at an absolute place: below a temporary folder, but
    /// for a workspace that itself stands in one, whose files are the project's as anywhere else.
    /// Whether an absolute place lies in the workspace.
    pub(crate) fn is_own(&self, at: &str) -> bool {
        self.ctx
            .root
            .is_some_and(|root| matches!(path::within(at, root), Within::Below | Within::Root))
    }

    pub(crate) fn is_shared(&self, at: &str) -> bool {
        let Some(at) = path::normalise("/", at) else { return true };
        let below = |folder: &str| {
            at.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_own = |root: &str| root.len() > 1 && !SHARED_FOLDERS.contains(&root) && below(root);
        SHARED_FOLDERS.iter().any(|folder| below(folder)) && !self.ctx.root.is_some_and(is_own)
    }
}

fn is_proxy(name: &str) -> bool {
    PROXIES.iter().any(|proxy| proxy.eq_ignore_ascii_case(name))
}

/// Cargo's runners and linkers, one a target.
fn is_runner(name: &str) -> bool {
    name.starts_with("CARGO_TARGET_") && (name.ends_with("_RUNNER") || name.ends_with("_LINKER"))
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
        "BASH_ENV" | "PYTHONSTARTUP" | "PERL5OPT" | "PERL5DB" => true,
        "ENV" => value.contains('/'),
        // A function that a shell takes from its environment.
        function if function.starts_with("BASH_FUNC_") => true,
        "RUBYOPT" => value.contains("-r"),
        "NODE_OPTIONS" => ["--require", "-r ", "--import"].iter().any(|o| value.contains(o)),
        "GIT_CONFIG_COUNT" | "GIT_CONFIG_PARAMETERS" | "GIT_EXEC_PATH" | "GIT_TEMPLATE_DIR" => {
            return Some(Reason::GitConfig);
        }
        _ => {
            let upper = name.to_ascii_uppercase();
            let escapes = ESCAPES.iter().find(|(variable, _)| *variable == upper);
            escapes.is_some_and(|(_, pieces)| pieces.iter().any(|piece| value.contains(piece)))
                || (LOADED_FROM.contains(&upper.as_str()) && value.split(':').any(shared))
        }
    };
    loads.then_some(Reason::Environment)
}

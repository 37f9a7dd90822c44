//! The one way in: a canonical call in its context becomes its effects.
//!
//! Refused: anything that is not in the call or the context. The same call in the same context has the
//! same effects.

use crate::call::{Call, ShellKind};
use crate::effect::{Effects, Piece, Reason, Verb};
use crate::limits::{COMMAND_BYTES_MAX, PATCH_BYTES_MAX};
use crate::mark;
use crate::patch::{self, Change};
use crate::path;
use crate::program::table::Lang;
use crate::run::{Context, Run};
use crate::shell::scope::Scope;
use crate::shell::text::braces;

/// What `call` would do in `ctx`, as far as it is known.
pub fn effects(call: &Call, ctx: &Context<'_>) -> Effects {
    let mut run = Run::new(ctx);
    run.call_effects(call);
    run.out
}

/// What a Bash command text would do in `ctx`: the short form for [`Call::Shell`].
pub fn shell_effects(command: &str, ctx: &Context<'_>) -> Effects {
    let mut run = Run::new(ctx);
    run.whole_piece(command);
    let mut scope = run.outer_scope(None);
    run.shell_text(&mut scope, command, ShellKind::Bash);
    run.out
}

impl Run<'_> {
    fn whole_piece(&mut self, text: &str) {
        let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
        self.piece = Piece::new(text, (0, end));
    }

    fn outer_scope(&self, cwd: Option<&str>) -> Scope {
        let base = path::normalise("/", self.ctx.cwd).unwrap_or_else(|| mark::VOID.to_string());
        let cwd = match cwd {
            Some(cwd) => path::normalise(&base, &self.tilde(cwd)),
            None => None,
        };
        let mut scope = Scope::new(&cwd.unwrap_or(base));
        // Who calls may have set positional parameters.
        scope.args = None;
        scope
    }

    /// A leading `~` outside of a shell: hosts expand it or not; the home folder is meant.
    fn tilde(&self, text: &str) -> String {
        match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                format!("{}{rest}", self.home())
            }
            Some(_) | None => text.to_owned(),
        }
    }

    fn shell_text(&mut self, scope: &mut Scope, text: &str, kind: ShellKind) {
        if text.len() > COMMAND_BYTES_MAX {
            self.unknown(Verb::Runs, Reason::Size);
            return;
        }
        if text.contains('\0') || mark::has_mark(text) {
            self.unknown(Verb::Runs, Reason::Characters);
        }
        match kind {
            ShellKind::Bash => {
                let stdout = self.run_text(scope, text, "");
                if stdout.contains(mark::SECRET) {
                    self.secret(Verb::Exposes);
                }
            }
            ShellKind::Cmd => self.windows_text(scope, Lang::Cmd, text),
            ShellKind::Powershell => self.windows_text(scope, Lang::Powershell, text),
        }
    }

    fn call_effects(&mut self, call: &Call) {
        match call {
            Call::Shell { command, cwd, shell } => {
                self.whole_piece(command);
                let mut scope = self.outer_scope(cwd.as_deref());
                self.shell_text(&mut scope, command, *shell);
            }
            Call::Read { path } => self.call_path(Verb::Reads, path, false),
            Call::Write { path, content: _ } | Call::Edit { path } => {
                self.call_path(Verb::Writes, path, false);
            }
            Call::Delete { path } => self.call_path(Verb::Deletes, path, true),
            Call::Fetch { url, method } => self.call_fetch(url, method.as_deref()),
            Call::Search { path, pattern, glob, query } => {
                if let Some(glob) = glob {
                    self.call_among(path.as_deref().unwrap_or("."), glob);
                }
                if let Some(path) = path {
                    self.call_path(Verb::Reads, path, false);
                } else if let Some(pattern) = pattern.as_ref().or(glob.as_ref()) {
                    self.whole_piece(pattern);
                    let scope = self.outer_scope(None);
                    self.path(&scope, Verb::Reads, ".", false);
                }
                if let Some(query) = query {
                    self.whole_piece(query);
                    self.thing(Verb::Sends, "web-search");
                }
            }
            Call::Mcp { server, tool, arguments } => self.call_mcp(server, tool, arguments),
            Call::Task { agent } => {
                let name = agent.as_deref().unwrap_or("task");
                self.whole_piece(name);
                // The host gates its own sub-agents, unlike an agent that is started as a program.
                self.program("sub-agent", name);
            }
            Call::Patch { patch, cwd } => self.call_patch(patch, cwd.as_deref()),
        }
    }

    fn call_path(&mut self, verb: Verb, text: &str, tree: bool) {
        self.whole_piece(text);
        if mark::has_mark(text) || text.contains('\0') {
            self.unknown(verb, Reason::Characters);
            return;
        }
        let scope = self.outer_scope(None);
        let file = text.strip_prefix("file://").unwrap_or(text);
        let text = self.tilde(file);
        for text in patterns(&text) {
            self.path(&scope, verb, &text, tree);
        }
    }

    /// Files of a folder whose content is searched, by a pattern of their names.
    fn call_among(&mut self, folder: &str, glob: &str) {
        self.whole_piece(glob);
        if mark::has_mark(folder) || mark::has_mark(glob) || glob.starts_with('!') {
            return;
        }
        let scope = self.outer_scope(Some(folder));
        for glob in patterns(glob) {
            self.among(&scope, &glob);
        }
    }

    fn call_fetch(&mut self, url: &str, method: Option<&str>) {
        self.whole_piece(url);
        if let Some(file) = url.strip_prefix("file://") {
            self.call_path(Verb::Reads, file, false);
            return;
        }
        if mark::has_mark(url) {
            self.unknown(Verb::Contacts, Reason::Characters);
            return;
        }
        self.host(url);
        let gets =
            method.is_none_or(|m| m.eq_ignore_ascii_case("get") || m.eq_ignore_ascii_case("head"));
        if !gets {
            self.thing(Verb::Sends, "data");
        }
    }

    fn call_patch(&mut self, text: &str, cwd: Option<&str>) {
        self.whole_piece(text);
        if text.len() > PATCH_BYTES_MAX {
            self.unknown(Verb::Writes, Reason::Size);
            return;
        }
        let scope = self.outer_scope(cwd);
        self.patch_text(&scope, text);
    }

    /// The files that a patch text changes.
    pub(crate) fn patch_text(&mut self, scope: &Scope, text: &str) {
        let Some(changes) = patch::changes(text) else {
            self.unknown(Verb::Writes, Reason::Syntax);
            return;
        };
        for change in changes {
            match change {
                Change::Read(file) => self.path(scope, Verb::Reads, &file, false),
                Change::Link(file, target) => {
                    let at = match target.starts_with('/') {
                        true => target.clone(),
                        false => format!("{file}/../{target}"),
                    };
                    self.path(scope, Verb::Reads, &at, false);
                    self.linked(scope, &file, &target, false);
                }
                Change::Write(file) => self.path(scope, Verb::Writes, &file, false),
                Change::Delete(file) => self.path(scope, Verb::Deletes, &file, false),
            }
        }
    }

    /// An MCP tool: its name and its arguments' names and forms are all there is.
    fn call_mcp(&mut self, server: &str, tool: &str, arguments: &serde_json::Value) {
        self.whole_piece(&format!("{server} {tool}"));
        self.program(&format!("{server}/{tool}"), "");
        self.unknown(Verb::Does, Reason::Program);
        let lower = tool.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let verb = if has(&["delete", "remove", "unlink", "rmdir"]) {
            Verb::Deletes
        } else if has(&[
            "write", "edit", "create", "move", "rename", "update", "append", "save", "patch",
            "insert", "replace", "copy",
        ]) {
            Verb::Writes
        } else {
            Verb::Reads
        };
        self.mcp_value(verb, &lower, "", arguments, 0);
    }

    fn mcp_value(
        &mut self,
        verb: Verb,
        tool: &str,
        key: &str,
        value: &serde_json::Value,
        depth: u32,
    ) {
        if depth > 16 || !self.step() {
            self.unknown(Verb::Does, Reason::Depth);
            return;
        }
        match value {
            serde_json::Value::String(text) => self.mcp_text(verb, tool, key, text),
            serde_json::Value::Array(list) => {
                for item in list {
                    self.mcp_value(verb, tool, key, item, depth + 1);
                }
            }
            serde_json::Value::Object(map) => {
                for (key, value) in map {
                    self.mcp_value(verb, tool, key, value, depth + 1);
                }
            }
            serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {
            }
        }
    }

    fn mcp_text(&mut self, verb: Verb, tool: &str, key: &str, text: &str) {
        if mark::has_mark(text) {
            self.unknown(verb, Reason::Characters);
            return;
        }
        let key = key.to_ascii_lowercase();
        let scope = self.outer_scope(None);
        let is_path = [
            "path",
            "file",
            "filename",
            "folder",
            "dir",
            "directory",
            "source",
            "destination",
            "target",
        ]
        .iter()
        .any(|word| key.contains(word));
        if crate::net::is_url(text) {
            self.host(text);
        } else if matches!(
            key.as_str(),
            "command" | "cmd" | "script" | "shell_command" | "commandline"
        ) {
            let mut scope = scope;
            self.run_text(&mut scope, text, "");
        } else if matches!(key.as_str(), "sql" | "query" | "statement") {
            self.sql(text);
        } else if matches!(key.as_str(), "code" | "source_code" | "python" | "javascript")
            && !is_path
        {
            let lang =
                if tool.contains("js") || key == "javascript" { Lang::Node } else { Lang::Python };
            self.code(&scope, lang, text);
        } else if (is_path || text.starts_with('/') || text.starts_with("~/"))
            && !text.contains('\n')
            && text.len() < 1024
        {
            let source = key.contains("source") && tool.contains("move");
            let verb = if source { Verb::Deletes } else { verb };
            let text = self.tilde(text);
            self.path(&scope, verb, &text, verb == Verb::Deletes);
        }
    }
}

/// The paths that a call's own path stands for: hosts expand stars and braces, or ask for just that name.
fn patterns(text: &str) -> Vec<String> {
    if !text.contains(['*', '?', '{']) {
        return vec![text.to_owned()];
    }
    let mut marked = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '*' if chars.next_if_eq(&'*').is_some() => {
                while chars.next_if_eq(&'*').is_some() {}
                chars.next_if_eq(&'/');
                marked.push(mark::DEEP);
            }
            '*' => marked.push(mark::ANY),
            '?' => marked.push(mark::ONE),
            '{' => marked.push(mark::OPEN),
            ',' if marked.contains(mark::OPEN) => marked.push(mark::COMMA),
            '}' if marked.contains(mark::OPEN) => marked.push(mark::CLOSE),
            c => marked.push(c),
        }
    }
    braces(&marked)
}

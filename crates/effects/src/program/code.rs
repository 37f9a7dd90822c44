//! Program texts in other languages: one-liners and here-documents for interpreters.
//!
//! Not a parser of seven languages: one scanner finds calls (`os.remove(`, `system "`, `fs.rmSync(`),
//! reads their arguments as far as they are literal, and looks the name up in one list. That is enough
//! to see deletions, writes, subprocesses and connections where they are written plainly. Refused:
//! trusting a text that hides (decoding and then running): that is `unknown`.

pub(crate) mod calls;
pub(crate) mod credentials;
mod environment;
mod modules;
pub(crate) mod value;

use crate::effect::{Reason, Target, Verb};
use crate::limits::SCRIPT_BYTES_MAX;
use crate::mark;
use crate::net;
use crate::program::table::Lang;
use crate::run::Run;
use crate::shell::scope::Scope;

/// Signs of text that is decoded.
const DECODES: &[&str] = &[
    "b64decode",
    "fromhex",
    "unhexlify",
    "codecs.decode",
    "marshal.loads",
    "zlib.decompress",
    "'base64'",
    "\"base64\"",
    "atob(",
    "fromCharCode",
    "pack(",
    "decode64",
    "base64_decode",
    "str_rot13",
    "gzinflate",
];
/// Signs of text that is fetched.
const FETCHES: &[&str] = &[
    "urlopen",
    "requests.get",
    "fetch(",
    "file_get_contents",
    "LWP",
    "open-uri",
    "https.get",
    "http.get",
];
const SOCKETS: &[&str] = &[
    "socket",
    "Socket",
    "fsockopen",
    "net.connect",
    "net.createConnection",
    "require(\"net\")",
    "require('net')",
    "node:net",
];
/// Signs of an interactive shell.
const SHELLS: &[&str] = &["/bin/sh", "/bin/bash", "pty.spawn", "dup2", "cmd.exe", "sh -i", "sh <&"];
const SPAWNS: &[&str] = &["child_process", "\"sh\"", "'sh'"];
/// Signs of names that are put together.
const REFLECTS: &[&str] = &[
    "__builtins__",
    "globals()[",
    "__import__(",
    "process.binding",
    "mainModule.require",
    "constructor(\"",
];
/// Signs of deeds in languages that are not looked into.
const ACTS: &[&str] = &[
    "exec",
    "system",
    "shell",
    "spawn",
    "delete",
    "Delete(",
    "unlink",
    "rm -",
    "rm(\"",
    "rm('",
    "rm_rf",
    "File.rm",
    "file.remove",
    "rmtree",
    "removeItem",
    "removeFile",
    "deleteRecursively",
    "System.cmd",
    "ProcessBuilder",
    "Process(",
    "os:cmd",
    "run(`",
    "call-process",
];

/// Imports that give a function another name, under which its calls are not found.
const RENAMED: &[&str] = &[
    "execSync:",
    "spawnSync:",
    "execFileSync:",
    "rmSync:",
    "unlinkSync:",
    "import system as",
    "import popen as",
    "import Popen as",
    "import rmtree as",
    "import unlink as",
];

/// The language of a file by its ending.
pub(crate) fn language_of(file: &str) -> Option<Lang> {
    let ending = file.rsplit_once('.')?.1;
    Some(match ending {
        "sh" | "bash" => Lang::Shell,
        "py" => Lang::Python,
        "js" | "mjs" | "cjs" | "ts" => Lang::Node,
        "pl" => Lang::Perl,
        "rb" => Lang::Ruby,
        "php" => Lang::Php,
        "lua" => Lang::Lua,
        "awk" => Lang::Awk,
        "ps1" => Lang::Powershell,
        "bat" | "cmd" => Lang::Cmd,
        _ => return None,
    })
}

impl Run<'_> {
    /// Analyses a program text.
    pub(crate) fn code(&mut self, scope: &Scope, lang: Lang, text: &str) {
        if text.len() > SCRIPT_BYTES_MAX {
            self.unknown(Verb::Runs, Reason::Size);
            return;
        }
        if !self.step() || !self.enter(text.len()) {
            return;
        }
        self.code_inside(scope, lang, text);
        self.leave();
    }

    fn code_inside(&mut self, scope: &Scope, lang: Lang, text: &str) {
        if text.contains(mark::REMOTE) {
            self.out.add(Verb::Runs, Target::RemoteCode, &self.piece);
            return;
        }
        if mark::without_data(text).trim() == mark::FILE.to_string() {
            self.unknown(Verb::Does, Reason::Script);
            return;
        }
        let void = text.contains([mark::VOID, mark::INIT, mark::FILE, mark::LINE]);
        if void && text.trim().chars().all(mark::is_mark) {
            self.unknown(Verb::Runs, Reason::RunText);
            return;
        }
        match lang {
            Lang::Shell => {
                let mut inner = scope.clone();
                self.run_text(&mut inner, text, "");
            }
            Lang::Powershell | Lang::Cmd => self.windows_text(scope, lang, text),
            Lang::Sed => self.sed_script(scope, text),
            Lang::Editor => self.editor_command(scope, text),
            Lang::Awk => {
                if ["getline", "@include", "@load"].iter().any(|sign| text.contains(sign)) {
                    self.credentials_among_words(scope, text);
                }
                self.awk_script(scope, text);
            }
            Lang::Python
            | Lang::Node
            | Lang::Perl
            | Lang::Ruby
            | Lang::Php
            | Lang::Lua
            | Lang::Other => {
                let before = self.out.len();
                // A function that runs things, under another name: `{execSync: e}`, `system as s`.
                if RENAMED.iter().any(|renamed| text.contains(renamed)) {
                    self.unknown(Verb::Runs, Reason::RunText);
                }
                self.shell_lines(scope, lang, text);
                self.calls(scope, lang, text);
                self.whole_text(scope, lang, text, before);
            }
        }
    }

    /// Shell texts inside of a text: IPython's `!command`, Bun's and zx's `$` in front of a template.
    fn shell_lines(&mut self, scope: &Scope, lang: Lang, text: &str) {
        let texts: Vec<String> = if lang == Lang::Python {
            let lines = text.split(['\n', ';']).map(str::trim_start);
            let shell = |line: &str| line.strip_prefix('!').map(str::to_owned);
            lines.filter_map(shell).filter(|line| !line.starts_with('=')).collect()
        } else if lang == Lang::Node {
            let templates = text.match_indices("$`");
            let inside = templates.filter_map(|(at, _)| text.get(at + 2..)?.split('`').next());
            inside.map(|inside| inside.replace("${", &format!("{}{{", mark::VOID))).collect()
        } else {
            return;
        };
        for inside in texts {
            self.run_text(&mut scope.clone(), &inside, "");
        }
    }

    /// What shows only in the text as a whole: hidden code, reverse shells, the environment.
    fn whole_text(&mut self, scope: &Scope, lang: Lang, text: &str, before: usize) {
        let any = |needles: &[&str]| needles.iter().any(|needle| text.contains(needle));
        let found = |run: &Self, verb| run.out.iter().skip(before).any(|e| e.verb == verb);
        let decodes = any(DECODES) || text.matches("chr(").count() > 3;
        let evaluates = calls::evaluates(text);
        let contacts = found(self, Verb::Contacts);
        if evaluates && decodes {
            self.unknown(Verb::Runs, Reason::RunText);
        }
        let fetched = evaluates && (contacts || any(FETCHES));
        let reversed = (contacts && any(SHELLS)) || (any(SOCKETS) && (any(SHELLS) || any(SPAWNS)));
        if fetched || reversed {
            self.out.add(Verb::Runs, Target::RemoteCode, &self.piece);
        }
        // A terminal for whoever sits at the other end.
        if text.contains("pty.spawn") {
            self.unknown(Verb::Runs, Reason::RunText);
        }
        let reflects = any(REFLECTS) || (text.contains("getattr(") && any(&["os", "builtins"]));
        if reflects && !found(self, Verb::Runs) && lang != Lang::Other {
            self.unknown(Verb::Runs, Reason::RunText);
        }
        let removes = any(&["recursive=true", "recursive = true"]) && text.contains("rm(");
        if lang == Lang::Other || (lang == Lang::Perl && any(&["@ARGV"])) {
            self.credentials_among_words(scope, text);
        } else {
            self.credentials_chosen(scope, text);
        }
        if lang == Lang::Other && (any(ACTS) || removes) {
            self.unknown(Verb::Runs, Reason::RunText);
        }
        self.environment_of(lang, text);
    }

    /// `sed`: the commands that write files or run programs.
    fn sed_script(&mut self, scope: &Scope, text: &str) {
        for command in text.split(['\n', ';']) {
            let command = command.trim_start_matches(|c: char| {
                c.is_ascii_digit() || matches!(c, ' ' | ',' | '$' | '!' | '{')
            });
            if let Some(file) = command.strip_prefix("w ").or_else(|| command.strip_prefix("W ")) {
                self.path(scope, Verb::Writes, file.trim(), false);
            } else if let Some(file) = command.strip_prefix("r ") {
                self.path(scope, Verb::Reads, file.trim(), false);
            } else if command == "e" || command.starts_with("e ") {
                let mut inner = scope.clone();
                self.run_text(&mut inner, command.get(1..).unwrap_or_default(), "");
                if command == "e" {
                    self.unknown(Verb::Runs, Reason::RunText);
                }
            } else if let Some(rest) = command.strip_prefix('s')
                && let Some(separator) = rest.chars().next()
                && !separator.is_alphanumeric()
            {
                let fields = unescaped_fields(rest, separator);
                // A file's name among the flags may hold the separator itself.
                let front: usize =
                    fields.iter().take(3).map(|f| f.len() + separator.len_utf8()).sum();
                let flags = rest.get(front..).unwrap_or_default();
                if let Some((front, file)) = flags.split_once("w ") {
                    if front.chars().all(|c| c.is_ascii_alphanumeric()) {
                        self.path(scope, Verb::Writes, file.trim(), false);
                    }
                } else if fields.len() == 4 && flags.contains('e') {
                    self.unknown(Verb::Runs, Reason::RunText);
                }
            }
        }
        // `/pattern/w file` and `/x/e`.
        if let Some((_, file)) = text.rsplit_once("/w ")
            && !text.starts_with('s')
        {
            self.path(scope, Verb::Writes, file.trim(), false);
        }
    }

    /// `vi -c COMMAND`: shell escapes and writes.
    fn editor_command(&mut self, scope: &Scope, text: &str) {
        for command in text.split(['|', '\n']) {
            let command = command.trim_start_matches([':', ' ', '%', '.']);
            let command = command.strip_prefix("silent ").unwrap_or(command);
            let command = command.strip_prefix("silent! ").unwrap_or(command).trim_start();
            let shell = [
                "!",
                "r !",
                "r!",
                "w !",
                "read !",
                "write !",
                "shell ",
                "pipe ",
                "platform shell ",
            ]
            .iter()
            .find_map(|f| command.strip_prefix(f));
            if let Some(shell) = shell {
                let mut inner = scope.clone();
                self.run_text(&mut inner, shell, "");
            } else if let Some(file) =
                command.strip_prefix("w ").or_else(|| command.strip_prefix("sav "))
            {
                self.path(scope, Verb::Writes, file.trim(), false);
            } else if let Some(file) = ["r ", "e ", "read ", "edit ", "tabe ", "sp ", "vs "]
                .iter()
                .find_map(|front| command.strip_prefix(front))
            {
                self.path(scope, Verb::Reads, file.trim(), false);
            } else if command.contains("system(")
                || command.starts_with("term")
                || [
                    "py",
                    "lua ",
                    "perl ",
                    "ruby ",
                    "source ",
                    "so ",
                    "luafile ",
                    "set shell",
                    "call delete(",
                ]
                .iter()
                .any(|front| command.starts_with(front))
            {
                self.unknown(Verb::Runs, Reason::RunText);
            }
        }
    }

    /// `awk`: `system(..)`, pipes to and from commands, and redirections.
    fn awk_script(&mut self, scope: &Scope, text: &str) {
        // gawk's own connections: a host that is read from or written to.
        self.awk_environment(text);
        if text.contains("/inet/") || text.contains("/inet4/") || text.contains("/inet6/") {
            self.out.add(Verb::Runs, Target::RemoteCode, &self.piece);
        }
        self.awk_system(scope, text);
        let mut position = 0;
        let bytes = text.as_bytes();
        while let Some(byte) = bytes.get(position) {
            let after = text.get(position + 1..).unwrap_or_default();
            match byte {
                b'"' | b'/' if *byte == b'"' => {
                    let Some((string, tail)) =
                        value::literal(text.get(position..).unwrap_or_default())
                    else {
                        return;
                    };
                    position = text.len() - tail.len();
                    if tail.trim_start().starts_with("| getline")
                        || tail.trim_start().starts_with("|getline")
                    {
                        let mut inner = scope.clone();
                        self.run_text(&mut inner, &string, "");
                    }
                    continue;
                }
                b'|' if !after.starts_with('|')
                    && !text.get(..position).unwrap_or_default().ends_with('|') =>
                {
                    if let Some((command, _)) = value::literal(after.trim_start()) {
                        let mut inner = scope.clone();
                        self.run_text(&mut inner, &command, &mark::VOID.to_string());
                    }
                }
                b'<' if text.get(..position).unwrap_or_default().contains("getline") => {
                    if let Some((file, _)) = value::literal(after.trim_start()) {
                        self.path(scope, Verb::Reads, &file, false);
                    }
                }
                b'>' => {
                    let target = after.trim_start_matches('>').trim_start();
                    if let Some((file, _)) = value::literal(target)
                        && !file.is_empty()
                        && text.get(..position).unwrap_or_default().contains("print")
                    {
                        self.path(scope, Verb::Writes, &file, false);
                    }
                }
                _ => {}
            }
            position += 1;
        }
        if let Some(at) = text.find("/inet/") {
            let field = text.get(at..).unwrap_or_default().split(['/', '"']).nth(4);
            if let Some(host) = field {
                self.host(host);
            }
        }
    }

    fn awk_system(&mut self, scope: &Scope, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find("system") {
            rest = rest.get(at + 6..).unwrap_or_default();
            let Some(inside) = rest.trim_start().strip_prefix('(') else { continue };
            match value::literal(inside.trim_start()) {
                Some((command, after)) if after.trim_start().starts_with(')') => {
                    let mut inner = scope.clone();
                    self.run_text(&mut inner, &command, "");
                }
                Some((command, _)) => {
                    let mut inner = scope.clone();
                    self.run_text(&mut inner, &format!("{command}{}", mark::VOID), "");
                }
                None => self.unknown(Verb::Runs, Reason::RunText),
            }
        }
    }

    /// Runs what a call of `system` and its like was given.
    pub(crate) fn code_runs(&mut self, scope: &Scope, words: &[String], as_shell: bool) {
        let mut inner = scope.clone();
        match words {
            [] => self.unknown(Verb::Runs, Reason::RunText),
            [text] if as_shell || text.contains(' ') => {
                self.run_text(&mut inner, text, "");
            }
            words => {
                self.invoke(&mut inner, words.to_vec(), "");
            }
        }
    }

    pub(crate) fn code_host(&mut self, text: &str, sends: bool) {
        if net::is_url(text) || mark::has_mark(text) || !text.contains(' ') {
            self.host(text);
        }
        if sends {
            self.thing(Verb::Sends, "data");
        }
    }
}

/// Fields between separators that no backslash stands before.
fn unescaped_fields(text: &str, separator: char) -> Vec<&str> {
    let mut fields = Vec::new();
    let mut from = 0;
    let mut escaped = false;
    for (index, c) in text.char_indices() {
        if c == separator && !escaped {
            fields.push(text.get(from..index).unwrap_or_default());
            from = index + c.len_utf8();
        }
        escaped = c == '\\' && !escaped;
    }
    fields.push(text.get(from..).unwrap_or_default());
    fields
}

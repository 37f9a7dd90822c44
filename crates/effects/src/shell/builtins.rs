//! The shell's own commands that change what the text after them means.
//!
//! Refused: those without any consequence here (`true`, `wait`, `:`), which the table lists as safe.

use std::rc::Rc;

use crate::effect::{Reason, Verb};
use crate::limits::{FOLDER_BYTES_MAX, FOLDER_MARKS_MAX, VALUES_MAX};
use crate::mark;
use crate::path;
use crate::program::table::Lang;
use crate::run::Run;
use crate::shell::loading::is_env_file;
use crate::shell::scope::{Scope, Var, general, is_secret_name};

/// What shells run at every start, and what the set-up of common tools adds to it, below the home folder.
const LOGIN_FILES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".cargo/env",
    ".nvm/nvm.sh",
    ".sdkman/bin/sdkman-init.sh",
    ".asdf/asdf.sh",
    ".rvm/scripts/rvm",
];

/// Where it is kept that the shell shows what it runs: a name that no variable can have.
pub(crate) const TRACE: &str = "\u{1}trace";

impl Run<'_> {
    /// Runs a builtin; `None` if `argv` is none.
    pub(crate) fn builtin(
        &mut self,
        scope: &mut Scope,
        argv: &[String],
        stdin: &str,
    ) -> Option<String> {
        let name = argv.first()?;
        let rest = argv.get(1..).unwrap_or_default();
        let mut stdout = String::new();
        match name.as_str() {
            "cd" | "chdir" | "pushd" | "popd" => self.change_folder(scope, name, rest),
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                if !rest.iter().any(|word| !word.starts_with('-')) {
                    if name != "local" {
                        self.secret_name = "*".into();
                        self.environment();
                    }
                    return Some(mark::SECRET.to_string());
                }
                let shows = rest.iter().any(|word| word.starts_with('-') && word.contains('p'));
                let secret = rest.iter().find(|word| is_secret_name(word)).filter(|_| shows);
                if let Some(name) = secret {
                    self.secret_name = name.as_str().into();
                    return Some(mark::SECRET.to_string());
                }
                self.declare(scope, rest);
            }
            "unset" => self.unset(scope, rest),
            "alias" => {
                for word in rest {
                    if let Some((name, text)) = word.split_once('=') {
                        Rc::make_mut(&mut scope.aliases).insert(name.into(), Rc::from(text));
                    }
                }
            }
            "unalias" => Rc::make_mut(&mut scope.aliases).clear(),
            "eval" => stdout = self.eval(scope, rest, stdin),
            "source" | "." => {
                if let Some(file) = rest.iter().find(|word| *word != "--") {
                    let args = rest.get(1..).unwrap_or_default().to_vec();
                    stdout = self.source(scope, file, args, stdin);
                }
            }
            "trap" => {
                if let Some(text) = rest.iter().find(|word| !matches!(word.as_str(), "--" | "-"))
                    && rest.len() > 1
                {
                    // It runs when the text ends, with the values of then.
                    self.traps.push(text.clone());
                }
            }
            "read" | "mapfile" | "readarray" => self.read(scope, name, rest, stdin),
            "shift" => {
                if let Some(args) = &scope.args {
                    let count = rest.first().and_then(|n| n.parse().ok()).unwrap_or(1);
                    scope.args = Some(Rc::new(args.get(count..).unwrap_or_default().to_vec()));
                }
            }
            "set" => {
                if rest.is_empty() {
                    self.environment();
                    return Some(mark::SECRET.to_string());
                }
                set_arguments(scope, rest);
            }
            "complete" | "bind" | "enable" => self.interactive(scope, rest),
            _ => return None,
        }
        Some(stdout)
    }

    fn unset(&mut self, scope: &mut Scope, names: &[String]) {
        for name in names {
            if name == "HISTFILE" {
                self.thing(Verb::Destroys, "history-file");
            }
            scope.set(name, Var::Scalar(vec![String::new()]));
        }
    }

    /// `complete -C TEXT`, `bind -x TEXT`, `enable -f FILE`: code that runs later.
    fn interactive(&mut self, scope: &Scope, rest: &[String]) {
        if let Some(at) = rest.iter().position(|word| word == "-x" || word == "-C")
            && let Some(text) = rest.get(at + 1)
        {
            let mut inner = scope.clone();
            self.run_text(&mut inner, text, "");
        }
        if rest.iter().any(|word| word.starts_with("-f")) {
            self.unknown(Verb::Runs, Reason::Environment);
        }
    }

    fn change_folder(&mut self, scope: &mut Scope, name: &str, rest: &[String]) {
        if name == "popd" {
            let folders = Rc::make_mut(&mut scope.folders);
            if let Some(folder) = folders.pop() {
                scope.change_folder(&folder);
            }
            return;
        }
        if name == "pushd" {
            let here = Rc::clone(&scope.cwd);
            Rc::make_mut(&mut scope.folders).push(here);
        }
        let options = |word: &&String| matches!(word.as_str(), "-P" | "-L" | "-e" | "-n" | "--");
        let Some(folder) = rest.iter().find(|word| !options(word)) else {
            if name != "pushd" {
                let home = self.home();
                scope.change_folder(&home);
            }
            return;
        };
        if folder == "-" {
            let folder = scope.vars.get("OLDPWD").cloned();
            let back = match folder {
                Some(Var::Scalar(values)) => values.last().cloned(),
                Some(Var::List(_)) | None => None,
            };
            scope.change_folder(&back.unwrap_or_else(|| mark::VOID.to_string()));
            return;
        }
        if folder.is_empty() {
            return;
        }
        let here = scope.cwd.to_string();
        let unknown = || mark::VOID.to_string();
        let to = if folder.starts_with([mark::VOID, mark::LINE, mark::FILE]) {
            unknown()
        } else {
            path::normalise(&scope.cwd, folder).unwrap_or_else(unknown)
        };
        // A text may go deeper and deeper: where a wildcard leads is somewhere below.
        let deep = mark::has_mark(&to)
            && to.chars().filter(|c| mark::is_mark(*c)).count() > FOLDER_MARKS_MAX;
        let to = match deep && !mark::has_void(&to) {
            true => {
                let known = to.split(mark::is_mark).next().unwrap_or_default();
                format!("{}/{}", known.trim_end_matches('/'), mark::BELOW)
            }
            false if to.len() > FOLDER_BYTES_MAX => unknown(),
            false => to,
        };
        scope.set("OLDPWD", Var::Scalar(vec![here]));
        scope.change_folder(&to);
    }

    fn declare(&mut self, scope: &mut Scope, rest: &[String]) {
        let mut array: Option<(String, Vec<String>)> = None;
        for word in rest {
            let assign = word.split_once('=').filter(|(name, _)| {
                !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            });
            if let Some((name, value)) = assign {
                self.environment_variable(scope, name, value);
                if value.is_empty() {
                    array = Some((name.to_owned(), Vec::new()));
                }
                scope.set(name, Var::Scalar(vec![value.to_owned()]));
            } else if let Some((_, values)) = &mut array {
                values.push(word.clone());
            }
        }
        if let Some((name, values)) = array
            && !values.is_empty()
        {
            scope.set(&name, Var::List(values));
        }
    }

    pub(crate) fn eval(&mut self, scope: &mut Scope, rest: &[String], stdin: &str) -> String {
        let text = rest.join(" ");
        self.run_text(scope, text.strip_prefix("-- ").unwrap_or(&text), stdin)
    }

    /// `source FILE`: its text in this scope.
    fn source(&mut self, scope: &mut Scope, file: &str, args: Vec<String>, stdin: &str) -> String {
        if is_input(file) {
            return self.run_text(scope, stdin, "");
        }
        // `. "$(conda info --base)/etc/profile.d/conda.sh"`: a known tool's own.
        if file.starts_with(mark::INIT) {
            self.unknown(Verb::Does, Reason::SetUpText);
            return String::new();
        }
        if is_env_file(file) && !scope.vars.contains_key(TRACE) {
            self.load_env_file(scope, file);
            return String::new();
        }
        self.path(scope, Verb::Reads, file, false);
        if self.is_login_file(scope, file) {
            self.unknown(Verb::Does, Reason::SetUpText);
            return String::new();
        }
        for file in self.matching_files(scope, file) {
            if let Some(text) = self.content(scope, &file) {
                self.run_text(&mut scope.clone(), &text, "");
            }
        }
        match self.content(scope, file) {
            Some(text) => {
                let outer = scope.args.clone();
                if !args.is_empty() {
                    scope.args = Some(Rc::new(args));
                }
                let stdout = self.run_text(scope, &text, "");
                scope.args = outer;
                stdout
            }
            None => {
                self.unknown_script(scope, file, Lang::Shell);
                mark::VOID.to_string()
            }
        }
    }

    /// Whether a file is one that the user's shell runs at every start anyway, as the user left it.
    fn is_login_file(&self, scope: &Scope, file: &str) -> bool {
        let Some(path) = path::normalise(&scope.cwd, file) else { return false };
        let Some(name) = path.strip_prefix(&format!("{}/", self.home())) else { return false };
        LOGIN_FILES.contains(&name) && !self.written.contains_key(&path)
    }

    /// `read`, `mapfile`: variables take what flows in.
    fn read(&mut self, scope: &mut Scope, name: &str, rest: &[String], stdin: &str) {
        let mut names = Vec::new();
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-t" if name != "read" => {}
                "-d" | "-n" | "-N" | "-p" | "-t" | "-u" | "-i" | "-c" | "-O" | "-C" => {
                    words.next();
                }
                "-a" => names.extend(words.next()),
                word if word.starts_with('-') => {}
                _ => names.push(word),
            }
        }
        let lines: Vec<String> =
            stdin.split(['\n', '\0']).filter(|l| !l.is_empty()).map(str::to_owned).collect();
        // What stands in a line of a file.
        let line = |text: &String| text.replace(mark::FILE, "\u{E00A}");
        let lines: Vec<String> = lines.iter().map(line).collect();
        let is_list =
            name != "read" || rest.iter().any(|word| word.starts_with('-') && word.ends_with('a'));
        if is_list {
            let target = names.first().map_or("MAPFILE", |name| name.as_str());
            let list = if lines.is_empty() { vec![mark::VOID.to_string()] } else { lines };
            scope.set(target, Var::List(list));
            return;
        }
        let values = match names.as_slice() {
            _ if lines.is_empty() => vec![mark::VOID.to_string()],
            [] | [_] if lines.len() <= VALUES_MAX => lines,
            [] | [_] => vec![general(&lines)],
            _ if lines.iter().any(|line| line.contains(mark::LINE)) => vec![mark::LINE.to_string()],
            _ => {
                let words: Vec<String> =
                    lines.iter().flat_map(|l| l.split_whitespace()).map(str::to_owned).collect();
                vec![general(&words)]
            }
        };
        for target in &names {
            scope.set(target, Var::Scalar(values.clone()));
        }
        if names.is_empty() {
            scope.set("REPLY", Var::Scalar(values));
        }
    }
}

/// `set -- a b`, `set -x`.
fn set_arguments(scope: &mut Scope, rest: &[String]) {
    if let Some(at) = rest.iter().position(|word| word == "--") {
        let args = rest.get(at + 1..).unwrap_or_default();
        // More than these are as good as any: a text may add one to them again and again.
        let few = args.len() <= VALUES_MAX * 8;
        scope.args = few.then(|| Rc::new(args.to_vec()));
    }
    let shows =
        |word: &String| word.strip_prefix('-').is_some_and(|letters| letters.contains(['x', 'v']));
    let named = matches!(rest, [option, name, ..] if option == "-o" && (name == "xtrace" || name == "verbose"));
    if named || rest.first().is_some_and(shows) {
        scope.set(TRACE, Var::Scalar(Vec::new()));
    }
}

/// Whether a path is standard input by one of its names.
pub(crate) fn is_input(file: &str) -> bool {
    matches!(file, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}

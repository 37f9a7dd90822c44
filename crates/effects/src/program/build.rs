//! What projects run: package scripts, interpreters, schedules, services.
//!
//! A script's text is read, within caps, and analysed like any other. Refused: treating
//! what could not be read as harmless; it is an effect that says so.

use std::rc::Rc;

use crate::effect::{Reason, Verb};
use crate::files::Entry;
use crate::mark;
use crate::path;
use crate::program::code::language_of;
use crate::program::invoke::{Running, known_name, shebang};
use crate::program::table::Lang;
use crate::run::Run;
use crate::shell::builtins::is_input;
use crate::shell::scope::Scope;

impl Run<'_> {
    /// Runs a file in a language.
    pub(crate) fn script_file(
        &mut self,
        scope: &Scope,
        lang: Lang,
        file: &str,
        args: Vec<String>,
        stdin: &str,
    ) -> String {
        if is_input(file) {
            return self.run_script_text(scope, lang, stdin, args, "");
        }
        self.path(scope, Verb::Reads, file, false);
        let matching = self.matching_files(scope, file);
        for file in matching.iter().filter(|at| language_of(at).is_none_or(|own| own == lang)) {
            if let Some(text) = self.content(scope, file) {
                self.run_script_text(scope, lang, &text, args.clone(), stdin);
            }
        }
        match self.content(scope, file) {
            Some(text) => {
                let lang = shebang(&text).filter(|_| lang == Lang::Other).unwrap_or(lang);
                let here = self.is_written_here(scope, file);
                let outer = std::mem::replace(&mut self.inline, here);
                let printed = self.run_script_text(scope, lang, &text, args, stdin);
                self.inline = outer;
                printed
            }
            None => {
                self.unknown_script(scope, file, lang);
                mark::VOID.to_string()
            }
        }
    }

    pub(crate) fn run_script_text(
        &mut self,
        scope: &Scope,
        lang: Lang,
        text: &str,
        args: Vec<String>,
        stdin: &str,
    ) -> String {
        if lang == Lang::Shell {
            let mut inner = scope.clone();
            inner.args = Some(Rc::new(args));
            return self.run_text(&mut inner, text, stdin);
        }
        self.code(scope, lang, text);
        mark::VOID.to_string()
    }

    /// Whether the text itself has written the file: its code is the command's then.
    fn is_written_here(&self, scope: &Scope, file: &str) -> bool {
        path::normalise(&scope.cwd, file).is_some_and(|at| self.written.contains_key(&at))
    }

    /// A script whose text is not known: one of the project, or one that nobody can know. Text for a
    /// shell that is there and cannot be read (too long, no text, a device) may say anything; a program
    /// or bundle of the project is its code, as one that is not there yet will be.
    pub(crate) fn unknown_script(&mut self, scope: &Scope, file: &str, lang: Lang) {
        let at = path::normalise(&scope.cwd, file).unwrap_or_default();
        let temporary = self.is_shared(&at);
        if file.starts_with("/dev/fd/") || (mark::has_void(file) && !file.contains('/')) {
            self.unknown(Verb::Runs, Reason::RunText);
        } else if mark::has_void(file) || temporary || lang == Lang::Shell && self.is_there(&at) {
            self.unknown(Verb::Runs, Reason::Script);
        } else {
            self.of_project(&scope.cwd, Some(file), Reason::Script);
        }
    }

    /// Whether something that could be read stands at a path, links followed.
    fn is_there(&mut self, path: &str) -> bool {
        let files = self.ctx.files;
        let resolved = path::resolve(files, path, &mut self.lookups);
        let entry = files.look(resolved.as_deref().unwrap_or(path));
        matches!(entry, Entry::File | Entry::Special) && path != "/dev/null"
    }

    /// `npm run NAME` and its like: the script of `package.json`, with those before and after it.
    pub(crate) fn package_script(
        &mut self,
        scope: &Scope,
        running: &Running<'_, '_>,
    ) -> Option<String> {
        let sub = running.args.sub.as_str();
        let name = match sub {
            "run" | "run-script" | "" => match running.args.positionals.first() {
                Some(name) => name.clone(),
                None => return self.script_of_package(scope, ""),
            },
            "t" | "test" => "test".to_owned(),
            "i" | "ci" | "add" | "install" => "install".to_owned(),
            sub => sub.to_owned(),
        };
        // `bun run src/x.ts`.
        if running.name == "bun" && language_of(&name).is_some() {
            let args = running.args.positionals.get(1..).unwrap_or_default().to_vec();
            return Some(self.script_file(scope, Lang::Node, &name, args, ""));
        }
        self.script_of_package(scope, &name)
    }

    fn script_of_package(&mut self, scope: &Scope, name: &str) -> Option<String> {
        self.of_project(&scope.cwd, None, Reason::ProjectCode);
        let text = self.content(scope, "package.json")?;
        let package: serde_json::Value = serde_json::from_str(&text).ok()?;
        let scripts = package.get("scripts")?;
        for name in [format!("pre{name}"), name.to_owned(), format!("post{name}")] {
            if let Some(text) = scripts.get(&name).and_then(|text| text.as_str()) {
                let mut inner = scope.clone();
                self.run_text(&mut inner, text, "");
            }
        }
        None
    }

    /// `python`, `node` and their like: an option's text, a file, or standard input.
    pub(crate) fn interpreter(
        &mut self,
        scope: &Scope,
        running: &Running<'_, '_>,
    ) -> Option<String> {
        let lang = running.args.record.and_then(|record| record.lang).unwrap_or(Lang::Other);
        let carried = running
            .args
            .values
            .iter()
            .any(|(role, _)| matches!(role, crate::program::table::Role::Code(_)));
        if let Some(script) = running.args.value("--run") {
            return self.script_of_package(scope, script);
        }
        if carried {
            // `ruby -run -e httpd FOLDER`.
            if running.args.has("-run") {
                let folder = running.args.positionals.first().map_or(".", String::as_str);
                self.served(scope, folder);
            } else if matches!(lang, Lang::Perl | Lang::Ruby) {
                let in_place = running.args.has("-i");
                for file in &running.args.positionals {
                    let verb = if in_place { Verb::Writes } else { Verb::Reads };
                    self.path(scope, verb, file, false);
                }
            }
            return None;
        }
        if let Some(module) = running.args.value("-m") {
            return self.python_module(scope, module, running);
        }
        match running.args.positionals.first() {
            Some(file) if file != "-" => {
                let lang = language_of(file).unwrap_or(lang);
                let args = running.args.positionals.get(1..).unwrap_or_default().to_vec();
                let name = path::base_name(file).to_owned();
                let package = package_of(file);
                let name = package.map_or(name, str::to_owned);
                let known = known_name(self.ctx.programs, path::base_name(&name)).is_some();
                self.script_file(scope, lang, file, args.clone(), running.stdin);
                // `python manage.py flush`, `php artisan ..`: a script that the table knows.
                if known {
                    let argv = std::iter::once(name).chain(args).collect();
                    self.invoke_apart(scope, argv, running.stdin);
                }
            }
            _ if running.stdin.is_empty() => {}
            _ => self.inline_code(scope, lang, running.stdin),
        }
        None
    }

    fn python_module(
        &mut self,
        scope: &Scope,
        module: &str,
        running: &Running<'_, '_>,
    ) -> Option<String> {
        // What follows the module's name is the module's own.
        let after = running.argv.iter().position(|word| word.ends_with(module));
        let rest = after.and_then(|at| running.argv.get(at + 1..)).unwrap_or_default();
        let name = match module {
            "pip" | "pytest" | "black" | "mypy" | "ruff" | "twine" | "poetry" | "uv" | "flake8"
            | "isort" | "coverage" | "tox" | "nox" | "awscli" => module,
            "http.server" | "SimpleHTTPServer" | "RangeHTTPServer" | "uploadserver" => {
                "http.server"
            }
            "venv" => {
                self.virtual_environment(scope, rest);
                return None;
            }
            "base64" | "json.tool" | "zipfile" | "tarfile" | "gzip" | "quopri" | "uu"
            | "tokenize" | "ast" | "pprint" => {
                for file in rest.iter().filter(|word| !word.starts_with('-')) {
                    self.path(scope, Verb::Reads, file, false);
                }
                return None;
            }
            "this" | "timeit" | "calendar" => return None,
            "runpy" | "trace" | "pdb" | "cProfile" | "profile" => {
                let of = rest.iter().find(|word| !word.starts_with('-'));
                if let Some(name) = of {
                    self.python_module_file(scope, name);
                    if language_of(name).is_some() {
                        self.script_file(scope, Lang::Python, name, Vec::new(), "");
                    }
                }
                self.unknown(Verb::Does, Reason::ProjectCode);
                return None;
            }
            _ => {
                if !self.python_module_file(scope, module) {
                    self.unknown(Verb::Does, Reason::ProjectCode);
                }
                return None;
            }
        };
        let argv = std::iter::once(name.to_owned()).chain(rest.iter().cloned()).collect();
        Some(self.invoke_apart(scope, argv, ""))
    }

    /// `python -m venv DIR`: what is written there sets up a shell and does nothing else.
    fn virtual_environment(&mut self, scope: &Scope, args: &[String]) {
        for folder in args.iter().filter(|word| !word.starts_with('-')) {
            self.path(scope, Verb::Writes, folder, true);
            for script in ["bin/activate", "Scripts/activate"] {
                let file = format!("{}/{script}", folder.trim_end_matches('/'));
                self.wrote(scope, &file, "", false);
            }
        }
    }

    pub(crate) fn crontab(&mut self, scope: &Scope, running: &Running<'_, '_>) -> Option<String> {
        let args = running.args;
        if running.name != "crontab" {
            // `at`, `batch`: what flows in runs later.
            let mut inner = scope.clone();
            self.run_text(&mut inner, running.stdin, "");
            return None;
        }
        if args.has("-l") {
            return Some(mark::VOID.to_string());
        }
        if args.has("-r") {
            self.thing(Verb::Destroys, "crontab");
            return None;
        }
        self.thing(Verb::Persists, "cron");
        let text = match args.positionals.first() {
            Some(file) if file != "-" => {
                self.path(scope, Verb::Reads, file, false);
                self.content(scope, file)?
            }
            _ => running.stdin.to_owned(),
        };
        for line in text.lines().take(64) {
            let command: Vec<&str> = if line.starts_with('@') {
                line.split_whitespace().skip(1).collect()
            } else {
                line.split_whitespace().skip(5).collect()
            };
            let mut inner = scope.clone();
            self.run_text(&mut inner, &command.join(" "), "");
        }
        None
    }

    pub(crate) fn systemctl(&mut self, running: &Running<'_, '_>) -> Option<String> {
        const VITAL: &[&str] = &[
            "ssh",
            "firewalld",
            "ufw",
            "auditd",
            "network",
            "systemd-",
            "dbus",
            "iptables",
            "nftables",
            "NetworkManager",
            "apparmor",
            "fail2ban",
            "tollgate",
            "rsyslog",
        ];
        let stops =
            matches!(running.args.sub.as_str(), "stop" | "disable" | "mask" | "kill" | "isolate");
        let vital = running
            .args
            .positionals
            .iter()
            .any(|unit| VITAL.iter().any(|name| unit.starts_with(name)));
        // What serves others on another machine.
        if stops && (vital || self.away) {
            self.thing(Verb::Destroys, "system");
        }
        None
    }
}

/// `node_modules/@scope/NAME/cli.js`: the package that a file belongs to.
fn package_of(file: &str) -> Option<&str> {
    let (_, inside) = file.rsplit_once("node_modules/")?;
    let mut pieces = inside.split('/');
    let first = pieces.next()?;
    if first.starts_with('@') { pieces.next() } else { Some(first) }
}

//! Simple commands: assignments, redirections, and what is done with the fields.
//!
//! Refused: knowing programs; that is the table's work (`program`).

use std::rc::Rc;

use crate::effect::{Reason, Target, Verb};
use crate::limits::{CHOICES_MAX, VALUES_MAX};
use crate::mark;
use crate::net;
use crate::path;
use crate::run::Run;
use crate::shell::scope::{Scope, Var, general};
use crate::shell::syntax::{Assign, Here, Redirect, RedirectKind, Value, Word};

/// What redirections leave for the command.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    pub(crate) stdin: String,
    pub(crate) out: Outlet,
    /// Standard input or output is a network connection.
    pub(crate) network: bool,
}

/// Where standard output goes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Outlet {
    #[default]
    Onward,
    File {
        path: String,
        append: bool,
    },
}

impl Run<'_> {
    pub(crate) fn redirects(
        &mut self,
        scope: &mut Scope,
        redirects: &[Redirect<'_>],
        stdin: &str,
    ) -> Flow {
        let mut flow = Flow { stdin: stdin.to_owned(), ..Flow::default() };
        for redirect in redirects {
            self.redirect(scope, redirect, &mut flow);
        }
        flow
    }

    fn redirect(&mut self, scope: &mut Scope, redirect: &Redirect<'_>, flow: &mut Flow) {
        if redirect.kind == RedirectKind::HereText {
            flow.stdin = match redirect.here.as_ref().and_then(|slot| slot.get()) {
                Some(Here::Raw(text)) => (*text).to_owned(),
                Some(Here::Expanded(parts)) => self.text(scope, parts),
                None => mark::VOID.to_string(),
            };
            return;
        }
        let word = self.text(scope, &redirect.word.parts);
        match redirect.kind {
            RedirectKind::HereString => flow.stdin = word + "\n",
            RedirectKind::HereText => {}
            RedirectKind::Descriptor => {
                let number = word.trim_end_matches('-');
                if !number.is_empty() && !number.bytes().all(|b| b.is_ascii_digit()) {
                    // `>&file`.
                    self.path(scope, Verb::Writes, &word, false);
                    flow.network |= is_network(&word);
                    flow.out = Outlet::File { path: word, append: false };
                } else if redirect.descriptor.is_none_or(|n| n < 3) {
                    let is_network = !matches!(number, "0" | "1" | "2")
                        && scope.vars.contains_key("\u{1}network");
                    flow.network |= is_network;
                    // What `exec 5<>/dev/tcp/..` has opened comes in by `<&5`.
                    if is_network && self.sign_before(redirect).ends_with("<&") {
                        flow.stdin = mark::REMOTE.to_string();
                    }
                }
            }
            RedirectKind::Read => {
                self.path(scope, Verb::Reads, &word, false);
                flow.network |= is_network(&word);
                if redirect.descriptor.is_none_or(|n| n == 0) {
                    flow.stdin = if is_network(&word) {
                        mark::REMOTE.to_string()
                    } else if word == "/dev/null" {
                        String::new()
                    } else {
                        self.content(scope, &word).unwrap_or_else(|| self.unread(&word))
                    };
                }
            }
            RedirectKind::Write | RedirectKind::ReadWrite => {
                self.path(scope, Verb::Writes, &word, false);
                flow.network |= is_network(&word);
                if redirect.kind == RedirectKind::ReadWrite {
                    self.path(scope, Verb::Reads, &word, false);
                    if redirect.descriptor.is_none_or(|n| n == 0) && is_network(&word) {
                        flow.stdin = mark::REMOTE.to_string();
                    }
                    return;
                }
                if redirect.descriptor.is_none_or(|n| n == 1) {
                    let append = self.sign_before(redirect).ends_with(">>");
                    flow.out = Outlet::File { path: word, append };
                }
            }
        }
    }

    /// The text up to the word of a redirection; its operator is the end of it.
    fn sign_before(&self, redirect: &Redirect<'_>) -> &str {
        let from = usize::try_from(redirect.word.span.0).unwrap_or(0);
        self.src.get(..from).unwrap_or_default().trim_end()
    }

    /// What flows from a file that could not be read: a file of the project, or anything at all.
    fn unread(&self, word: &str) -> String {
        let elsewhere = word.starts_with('/') && (word.starts_with("/dev") || self.is_shared(word));
        let anywhere = elsewhere || mark::has_void(word);
        if anywhere { mark::VOID.to_string() } else { mark::FILE.to_string() }
    }

    /// What goes on after the outlet has taken its share.
    pub(crate) fn finish(&mut self, scope: &Scope, out: &Outlet, stdout: String) -> String {
        let Outlet::File { path, append } = out else { return stdout };
        if matches!(path.as_str(), "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/fd/1") {
            return stdout;
        }
        if is_network(path) {
            if mark::has_mark(&stdout) && stdout.contains(mark::SECRET) {
                self.secret(Verb::Sends);
            } else {
                self.thing(Verb::Sends, "data");
            }
        }
        let text = if stdout.is_empty() { mark::VOID.to_string() } else { stdout };
        self.wrote(scope, path, &text, *append);
        String::new()
    }

    pub(crate) fn simple(
        &mut self,
        scope: &mut Scope,
        assigns: &[Assign<'_>],
        words: &[Word<'_>],
        redirects: &[Redirect<'_>],
        stdin: &str,
    ) -> String {
        let outer_choice = std::mem::take(&mut self.choice);
        let piece = self.piece.clone();
        let mut stdout = String::new();
        for round in 0..=CHOICES_MAX {
            if !self.step() {
                break;
            }
            if round == CHOICES_MAX {
                self.unknown(Verb::Runs, Reason::Steps);
                break;
            }
            let text = self.once(scope, assigns, words, redirects, stdin);
            self.piece = piece.clone();
            if round == 0 {
                stdout = text;
            } else if stdout != text {
                if !stdout.is_empty() && !stdout.ends_with('\n') {
                    stdout.push('\n');
                }
                crate::shell::walk::append(&mut stdout, &text);
            }
            if self.choice.is_over() {
                self.unknown(Verb::Runs, Reason::Steps);
                break;
            }
            if !self.choice.next() {
                break;
            }
        }
        self.choice = outer_choice;
        stdout
    }

    /// One round with one value for every variable.
    fn once(
        &mut self,
        scope: &mut Scope,
        assigns: &[Assign<'_>],
        words: &[Word<'_>],
        redirects: &[Redirect<'_>],
        stdin: &str,
    ) -> String {
        if let Some(stdout) = self.aliased(scope, words, stdin) {
            return stdout;
        }
        let argv = self.fields_but_loaded(scope, words);
        let mut env = Vec::new();
        for assign in assigns {
            let value = self.value(scope, assign);
            if argv.is_empty() {
                self.loose_environment(assign.name, &value);
                self.assign(scope, assign, value);
            } else {
                env.push((assign.name, value));
            }
        }
        let flow = self.redirects(scope, redirects, stdin);
        if argv.is_empty() {
            if words.is_empty() && assigns.is_empty() && flow.out == Outlet::Onward {
                return flow.stdin;
            }
            return self.finish(scope, &flow.out, String::new());
        }
        for (name, value) in &env {
            let text = match value {
                Var::Scalar(values) | Var::List(values) => {
                    values.first().cloned().unwrap_or_default()
                }
            };
            self.environment_variable(scope, name, &text);
        }
        if flow.network && argv.iter().any(|word| is_shell(path::base_name(word))) {
            self.out.add(Verb::Runs, Target::RemoteCode, &self.piece);
        }
        if flow.network && argv.first().is_some_and(|name| name == "exec") {
            scope.set("\u{1}network", Var::Scalar(Vec::new()));
        }
        // `IFS=, read a`: a builtin sets variables of this shell; a program only sees its own.
        let stays = matches!(
            argv.first().map_or("", |name| name.as_str()),
            "read" | "mapfile" | "readarray" | "eval" | "export" | "source" | "." | "cd"
        );
        let stdout = if env.is_empty() || stays {
            self.invoke(scope, argv, &flow.stdin)
        } else {
            let mut inner = scope.clone();
            inner.conditional = 0;
            for (name, value) in env {
                inner.set(name, value);
            }
            self.invoke(&mut inner, argv, &flow.stdin)
        };
        self.finish(scope, &flow.out, stdout)
    }

    /// Runs the text that an alias stands for, with the rest of the line after it.
    fn aliased(&mut self, scope: &mut Scope, words: &[Word<'_>], stdin: &str) -> Option<String> {
        let word = words.first().filter(|_| !scope.aliases.is_empty())?;
        let name = word.plain()?;
        let alias = scope.aliases.get(name).cloned()?;
        let rest = self.piece_rest(usize::try_from(word.span.1).unwrap_or(0));
        let mut inner = scope.clone();
        Rc::make_mut(&mut inner.aliases).remove(name);
        let stdout = self.run_text(&mut inner, &format!("{alias} {rest}"), stdin);
        inner.aliases = Rc::clone(&scope.aliases);
        *scope = inner;
        Some(stdout)
    }

    /// The source of the present command after `from`.
    fn piece_rest(&self, from: usize) -> String {
        let rest = self.src.get(from..).unwrap_or_default();
        let end = rest.find('\n').unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default().to_owned()
    }

    fn value(&mut self, scope: &mut Scope, assign: &Assign<'_>) -> Var {
        match &assign.value {
            Value::Word(word) => Var::Scalar(vec![self.text(scope, &word.parts)]),
            Value::List(words) => {
                let mut list = self.fields(scope, words);
                if list.len() > VALUES_MAX * 8 {
                    list = vec![mark::VOID.to_string()];
                }
                Var::List(list)
            }
        }
    }

    fn assign(&mut self, scope: &mut Scope, assign: &Assign<'_>, value: Var) {
        let old = scope.vars.get(assign.name).cloned();
        let value = match (value, old) {
            (Var::List(new), Some(Var::List(mut old))) if assign.append => {
                old.extend(new);
                Var::List(few(old))
            }
            (Var::Scalar(new), Some(Var::Scalar(old))) if assign.append => {
                let new = new.first().cloned().unwrap_or_default();
                let join = |old: &String| {
                    if old.len() + new.len() > crate::limits::FLOW_BYTES_MAX {
                        mark::VOID.to_string()
                    } else {
                        format!("{old}{new}")
                    }
                };
                Var::Scalar(old.iter().map(join).collect())
            }
            (Var::Scalar(new), Some(Var::List(mut old))) => {
                old.extend(new);
                Var::List(few(old))
            }
            (Var::Scalar(new), None) if assign.element => Var::List(new),
            (Var::Scalar(new), None) if assign.append => {
                let new = new.first().cloned().unwrap_or_default();
                Var::Scalar(vec![format!("{}{new}", mark::VOID)])
            }
            (value, _) => value,
        };
        scope.set(assign.name, value);
    }
}

/// The values of a list; one that stands for all where there are too many to keep.
fn few(values: Vec<String>) -> Vec<String> {
    match values.len() > VALUES_MAX * 8 {
        true => vec![general(&values)],
        false => values,
    }
}

fn is_network(word: &str) -> bool {
    word.starts_with("/dev/tcp/") || word.starts_with("/dev/udp/")
}

/// Whether `name` is a program that reads commands from its standard input.
pub(crate) fn is_shell(name: &str) -> bool {
    matches!(
        name,
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish" | "ash" | "rbash" | "tcsh" | "csh"
    ) || name.strip_suffix(".exe").is_some_and(|name| name == "bash" || name == "sh")
        || net::is_url(name) && name.ends_with("/sh")
}

//! Walking the tree: lists, pipelines, branches, loops, functions, substitutions.
//!
//! Every branch is taken; what flows through a pipe is followed as text with marks, which is how
//! `echo .. | base64 -d | sh` is seen through. Refused: deciding which branch runs.

use std::rc::Rc;

use crate::effect::{Piece, Reason, Target, Verb};
use crate::limits::{COMMAND_BYTES_MAX, FLOW_BYTES_MAX, VALUES_MAX};
use crate::mark;
use crate::run::Run;
use crate::shell::parse::{self, Fail};
use crate::shell::scope::{Scope, Var, general};
use crate::shell::syntax::{Command, Item, Kind, Link, Script};

impl Run<'_> {
    /// Analyses a shell text in `scope`; what comes back is what it prints.
    pub(crate) fn run_text(&mut self, scope: &mut Scope, text: &str, stdin: &str) -> String {
        if text.len() > COMMAND_BYTES_MAX {
            self.unknown(Verb::Runs, Reason::Size);
            return mark::VOID.to_string();
        }
        if self.unclear_text(text) {
            return mark::VOID.to_string();
        }
        if !self.enter(text.len()) {
            return mark::VOID.to_string();
        }
        let (script, fail) = parse::parse(text);
        let outer_src = std::mem::replace(&mut self.src, Rc::from(text));
        let outer_piece = self.piece.clone();
        let assume = std::mem::take(&mut self.assume);
        let choice = std::mem::take(&mut self.choice);
        let traps = std::mem::take(&mut self.traps);
        let stdout = self.script(scope, &script, stdin.to_owned());
        for text in std::mem::replace(&mut self.traps, traps).iter().take(16) {
            let mut inner = scope.clone();
            self.run_text(&mut inner, text, "");
        }
        self.choice = choice;
        self.assume = assume;
        if let Some(fail) = fail {
            let reason = if fail == Fail::Depth { Reason::Depth } else { Reason::Syntax };
            let from = script.items.last().map_or(0, |item| item.span.1);
            let rest = text.get(usize::try_from(from).unwrap_or(0)..).unwrap_or(text);
            let span = self.outer.unwrap_or((from, u32::try_from(text.len()).unwrap_or(u32::MAX)));
            self.piece = Piece::new(rest, span);
            self.unknown(Verb::Runs, reason);
        }
        self.src = outer_src;
        self.piece = outer_piece;
        self.leave();
        stdout
    }

    /// A text that is run and not fully known; `true` if nothing of it is left to look at.
    fn unclear_text(&mut self, text: &str) -> bool {
        if !mark::has_mark(text) {
            return false;
        }
        if text.contains(mark::REMOTE) {
            self.out.add(Verb::Runs, Target::RemoteCode, &self.piece);
        } else if mark::without_data(text).trim() == mark::INIT.to_string() {
            self.unknown(Verb::Does, Reason::SetUpText);
            return true;
        } else if mark::without_data(text).trim() == mark::FILE.to_string() {
            self.unknown(Verb::Does, Reason::Script);
            return true;
        } else if text.contains([mark::VOID, mark::SECRET, mark::INIT, mark::FILE, mark::LINE])
            || text.trim() == mark::WORD.to_string()
        {
            self.unknown(Verb::Runs, Reason::RunText);
        }
        text.chars().all(|c| mark::is_mark(c) || c.is_whitespace())
    }

    /// The output of `$(..)`.
    pub(crate) fn substitute(&mut self, scope: &Scope, script: &Script<'_>) -> String {
        if !self.step() {
            return mark::VOID.to_string();
        }
        let mut inner = scope.clone();
        let piece = self.piece.clone();
        let outer = self.outer;
        let choice = std::mem::take(&mut self.choice);
        let assume = std::mem::take(&mut self.assume);
        let mut text = self.script(&mut inner, script, String::new());
        self.assume = assume;
        self.choice = choice;
        self.outer = outer;
        self.piece = piece;
        text.truncate(text.trim_end_matches('\n').len());
        text
    }

    pub(crate) fn substitute_text(&mut self, scope: &Scope, text: &str) -> String {
        let mut inner = scope.clone();
        let mut text = self.run_text(&mut inner, text, "");
        text.truncate(text.trim_end_matches('\n').len());
        text
    }

    pub(crate) fn script(
        &mut self,
        scope: &mut Scope,
        script: &Script<'_>,
        stdin: String,
    ) -> String {
        let mut stdout = String::new();
        for (index, item) in script.items.iter().enumerate() {
            if !self.step() {
                return mark::VOID.to_string();
            }
            let chained = item.link != Link::Then;
            let outer = self.assume;
            self.assume = outer || item.link == Link::And;
            if chained {
                scope.conditional += 1;
            }
            let text = self.item(scope, item, &stdin);
            if chained {
                scope.conditional -= 1;
            }
            self.assume = outer;
            // The second side of `||` is mostly a fallback for a value: one of the two is printed.
            let or_else = script.items.get(index + 1).is_some_and(|next| next.link == Link::Or);
            append(&mut stdout, &text);
            if or_else && !text.is_empty() && !text.ends_with('\n') {
                stdout.push('\n');
            }
        }
        stdout
    }

    fn item(&mut self, scope: &mut Scope, item: &Item<'_>, stdin: &str) -> String {
        if let [only] = item.stages.as_slice() {
            return self.command(scope, only, stdin);
        }
        let mut flow = stdin.to_owned();
        for stage in &item.stages {
            let mut inner = scope.clone();
            let before = self.out.len();
            flow = self.command(&mut inner, stage, &flow);
            if self.are_lines(before, &flow) {
                flow = mark::LINE.to_string();
            }
        }
        flow
    }

    fn command(&mut self, scope: &mut Scope, command: &Command<'_>, stdin: &str) -> String {
        if !self.step() {
            return mark::VOID.to_string();
        }
        if self.depth == 1 {
            self.outer = None;
        }
        if let Kind::Simple { assigns, words } = &command.kind {
            let outer = self.outer;
            self.set_piece(command.span);
            self.outer = Some(self.piece.span);
            let stdout = self.simple(scope, assigns, words, &command.redirects, stdin);
            self.outer = outer;
            return stdout;
        }
        self.set_piece(command.span);
        let flow = self.redirects(scope, &command.redirects, stdin);
        let stdout = self.compound(scope, command, flow.stdin);
        self.set_piece(command.span);
        self.finish(scope, &flow.out, stdout)
    }

    fn set_piece(&mut self, span: (u32, u32)) {
        let from = usize::try_from(span.0).unwrap_or(0);
        let to = usize::try_from(span.1).unwrap_or(0);
        let text = self.src.get(from..to).unwrap_or_default().trim_end();
        let end = u32::try_from(from + text.len()).unwrap_or(u32::MAX);
        self.piece = Piece::new(text, self.outer.unwrap_or((span.0, end)));
    }

    fn compound(&mut self, scope: &mut Scope, command: &Command<'_>, stdin: String) -> String {
        match &command.kind {
            Kind::Simple { .. } => String::new(),
            Kind::Subshell(script) => {
                let mut inner = scope.clone();
                self.script(&mut inner, script, stdin)
            }
            Kind::Group(script) => self.script(scope, script, stdin),
            Kind::If(scripts) => {
                let mut stdout = String::new();
                for (index, script) in scripts.iter().enumerate() {
                    // The first condition always runs.
                    let conditional = u32::from(index > 0);
                    scope.conditional += conditional;
                    let text = self.script(scope, script, stdin.clone());
                    scope.conditional -= conditional;
                    append(&mut stdout, &text);
                }
                stdout
            }
            Kind::Loop { condition, body } => self.repeat(scope, Some(condition), body, &stdin),
            Kind::For { name, words, body } => {
                let mut values = match words {
                    Some(words) => self.fields(scope, words),
                    None => match &scope.args {
                        Some(args) => args.as_ref().clone(),
                        None => vec![mark::VOID.to_string()],
                    },
                };
                if values.len() > VALUES_MAX {
                    values = vec![general(&values)];
                }
                scope.set(name, Var::Scalar(values));
                self.repeat(scope, None, body, &stdin)
            }
            Kind::Case { word, bodies } => {
                self.text(scope, &word.parts);
                let mut stdout = String::new();
                scope.conditional += 1;
                for body in bodies {
                    let text = self.script(scope, body, stdin.clone());
                    append(&mut stdout, &text);
                }
                scope.conditional -= 1;
                stdout
            }
            Kind::Function { name, body } => {
                Rc::make_mut(&mut scope.functions).insert((*name).into(), Rc::from(*body));
                String::new()
            }
            Kind::Test(words) => {
                for word in words {
                    self.text(scope, &word.parts);
                }
                String::new()
            }
        }
    }

    /// A loop's body once, and again if it changed a variable that it may read.
    fn repeat(
        &mut self,
        scope: &mut Scope,
        condition: Option<&Script<'_>>,
        body: &Script<'_>,
        stdin: &str,
    ) -> String {
        scope.conditional += 1;
        let mut stdout = String::new();
        for round in 0..2 {
            let before = Rc::clone(&scope.vars);
            if let Some(condition) = condition {
                self.script(scope, condition, stdin.to_owned());
            }
            let text = self.script(scope, body, stdin.to_owned());
            if round == 0 {
                append(&mut stdout, &text);
                append(&mut stdout, &text);
            }
            // Nested loops repeat once more at every level; the cap keeps that linear.
            if scope.conditional > 2 || Rc::ptr_eq(&before, &scope.vars) || before == scope.vars {
                break;
            }
        }
        scope.conditional -= 1;
        stdout
    }

    /// Calls a function that the text defined.
    pub(crate) fn call(
        &mut self,
        scope: &mut Scope,
        name: &str,
        argv: &[String],
        stdin: &str,
    ) -> String {
        let Some(body) = scope.functions.get(name).cloned() else { return String::new() };
        if self.calls.iter().any(|call| **call == *name) {
            // A function that calls itself does nothing new, unless it multiplies.
            if body.contains(['|', '&']) {
                self.thing(Verb::Destroys, "system");
            }
            return mark::VOID.to_string();
        }
        self.calls.push(name.into());
        let args = argv.get(1..).unwrap_or_default().to_vec();
        let outer = scope.args.replace(Rc::new(args));
        let stdout = self.run_text(scope, &body, stdin);
        scope.args = outer;
        self.calls.pop();
        stdout
    }
}

/// Joins two outputs; over the cap the whole is unknown.
pub(crate) fn append(stdout: &mut String, text: &str) {
    if stdout.len() + text.len() > FLOW_BYTES_MAX {
        *stdout = mark::VOID.to_string();
    } else {
        stdout.push_str(text);
    }
}

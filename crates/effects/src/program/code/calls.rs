//! The list of calls that matter, over all languages, and the scanner that finds them.
//!
//! A name is judged by its last part and, where that is ambiguous (`remove`, `get`, `open`), by what it
//! belongs to. Refused: one list per language; the names hardly clash.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::effect::{Reason, Verb};
use crate::mark;
use crate::program::code::credentials;
use crate::program::code::value::{self, arguments, list};
use crate::program::table::Lang;
use crate::run::Run;
use crate::shell::scope::Scope;

const CALLS: &str = include_str!("../../../data/calls.txt");

/// What a call does with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Delete,
    DeleteTree,
    Write,
    Read,
    /// Opens: reads or writes, as the mode says.
    Open,
    Copy,
    Move,
    /// Runs a shell text.
    Shell,
    /// Runs a program with arguments, or a shell text when it is one string.
    Program,
    /// Runs a text of its own language.
    Evaluate,
    Contact,
    Send,
    /// Deletes what it is called on: `Path(x).unlink()`.
    DeleteSelf,
    WriteSelf,
    /// Calls the function that is named by its first argument.
    Callback,
}

/// Whether the text runs a text of its own language.
pub(crate) fn evaluates(text: &str) -> bool {
    [
        "exec(",
        "eval(",
        "eval ",
        "Function(",
        "assert(",
        "create_function(",
        "instance_eval",
        "compile(",
        "runInThisContext",
        "load(",
    ]
    .iter()
    .any(|needle| {
        text.match_indices(needle).any(|(at, _)| {
            let before = text.get(..at).and_then(|t| t.chars().last());
            !before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
        })
    }) || hands_evaluator_on(text)
}

/// `.then(eval)`, `map(exec, lines)`: what evaluates is itself an argument.
fn hands_evaluator_on(text: &str) -> bool {
    ["eval", "exec", "Function"].iter().any(|name| {
        text.match_indices(name).any(|(at, _)| {
            let before = text.get(..at).unwrap_or_default().trim_end();
            let after = text.get(at + name.len()..).unwrap_or_default().trim_start();
            before.ends_with(['(', ',']) && after.starts_with([')', ','])
        })
    })
}

/// One line of `data/calls.txt`.
#[derive(Debug)]
struct Judged {
    does: Does,
    owners: Vec<&'static str>,
    languages: Vec<&'static str>,
}

fn judged() -> &'static HashMap<&'static str, Vec<Judged>> {
    static TABLE: OnceLock<HashMap<&'static str, Vec<Judged>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table: HashMap<&'static str, Vec<Judged>> = HashMap::new();
        for line in CALLS.lines().filter(|line| !line.starts_with('#')) {
            let mut fields = line.split(" : ");
            let Some(does) = fields.next().and_then(does) else { continue };
            let names = fields.next().unwrap_or_default();
            let owners: Vec<_> = fields.next().unwrap_or_default().split_whitespace().collect();
            let languages: Vec<_> = fields.next().unwrap_or_default().split_whitespace().collect();
            for name in names.split_whitespace() {
                let judged = Judged { does, owners: owners.clone(), languages: languages.clone() };
                table.entry(name).or_default().push(judged);
            }
        }
        table
    })
}

fn does(word: &str) -> Option<Does> {
    Some(match word {
        "delete" => Does::Delete,
        "deletetree" => Does::DeleteTree,
        "deleteself" => Does::DeleteSelf,
        "write" => Does::Write,
        "writeself" => Does::WriteSelf,
        "read" => Does::Read,
        "open" => Does::Open,
        "copy" => Does::Copy,
        "move" => Does::Move,
        "shell" => Does::Shell,
        "program" => Does::Program,
        "evaluate" => Does::Evaluate,
        "contact" => Does::Contact,
        "send" => Does::Send,
        "callback" => Does::Callback,
        _ => return None,
    })
}

fn judge(lang: Lang, owner: &str, name: &str) -> Option<Does> {
    let lang = match lang {
        Lang::Python => "python",
        Lang::Node => "node",
        Lang::Perl => "perl",
        Lang::Ruby => "ruby",
        Lang::Php => "php",
        Lang::Lua => "lua",
        Lang::Shell
        | Lang::Awk
        | Lang::Sed
        | Lang::Powershell
        | Lang::Cmd
        | Lang::Editor
        | Lang::Other => "other",
    };
    let fits = |judged: &&Judged| {
        let owned = judged.owners.iter().any(|known| match *known {
            "*" => true,
            "-" => owner.is_empty(),
            known => owner.ends_with(known),
        });
        owned && judged.languages.iter().any(|known| *known == "*" || *known == lang)
    };
    judged().get(name)?.iter().find(fits).map(|judged| judged.does)
}

impl Run<'_> {
    /// Finds the calls in a text, once from front to back.
    pub(crate) fn calls(&mut self, scope: &Scope, lang: Lang, text: &str) {
        let bytes = text.as_bytes();
        let mut left = credentials::are_mentioned(text).then_some(credentials::ASSIGNED_MAX);
        let mut at = 0;
        let mut word = None;
        while let Some(byte) = bytes.get(at) {
            // Perl needs no space before a variable: `system$_`.
            let ends = matches!(byte, b'$' | b'@') && lang == Lang::Perl && word.is_some();
            let named = !ends
                && (byte.is_ascii_alphanumeric()
                    || matches!(byte, b'_' | b'.' | b':' | b'$' | b'@'));
            if named || (*byte == b'-' && bytes.get(at + 1) == Some(&b'>')) {
                if word.is_none() {
                    word = Some(at);
                }
                at += if *byte == b'-' { 2 } else { 1 };
                continue;
            }
            if let Some(from) = word.take() {
                let name = text.get(from..at).unwrap_or_default();
                let rest = text.get(at..).unwrap_or_default();
                let before = text.get(..from).unwrap_or_default();
                self.call_at(scope, lang, name, before, rest, (text, &mut left));
            }
            if ends {
                word = Some(at);
                at += 1;
                continue;
            }
            match byte {
                b'`' if matches!(lang, Lang::Perl | Lang::Ruby | Lang::Php) => {
                    if let Some((command, after)) =
                        value::literal(text.get(at..).unwrap_or_default())
                    {
                        self.code_runs(scope, &[command], true);
                        at = text.len() - after.len();
                        continue;
                    }
                }
                b'#' if matches!(lang, Lang::Python | Lang::Perl | Lang::Ruby)
                    && line_starts(text, at) =>
                {
                    let rest = text.get(at..).unwrap_or_default();
                    at += rest.find('\n').unwrap_or(rest.len());
                    continue;
                }
                b'"' | b'\'' => {
                    let tail = text.get(at..).unwrap_or_default();
                    if let Some((_, after)) = value::literal(tail) {
                        at = text.len() - after.len();
                        continue;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        if let Some(from) = word {
            let name = text.get(from..).unwrap_or_default();
            let before = text.get(..from).unwrap_or_default();
            self.call_at(scope, lang, name, before, "", (text, &mut left));
        }
    }

    fn call_at(
        &mut self,
        scope: &Scope,
        lang: Lang,
        chain: &str,
        before: &str,
        rest: &str,
        within: (&str, &mut Option<u32>),
    ) {
        let (whole, left) = within;
        let chain = chain.trim_end_matches(':');
        let cut = chain.rfind(['.', ':', '>']).map_or(0, |at| at + 1);
        let name = chain.get(cut..).unwrap_or_default();
        let owner = chain.get(..cut).unwrap_or_default().trim_end_matches(['.', ':', '>', '-']);
        let receiver = owner;
        let owner = if owner.is_empty() && cut > 0 { owner_of(before) } else { owner };
        if matches!(name, "qx" | "x") && rest.starts_with(['{', '(', '/', '[']) {
            let close = rest.find(['}', ')', ']']).unwrap_or(rest.len());
            let command = rest.get(1..close).unwrap_or_default().to_owned();
            let is_command = name == "qx" || before.ends_with('%');
            if is_command {
                self.code_runs(scope, &[command], true);
            }
            return;
        }
        if name == "getattr" && lang == Lang::Python {
            self.call_by_name(scope, before, rest, (whole, left));
            return;
        }
        let does = if judged().contains_key(name) {
            let owner = owner.rsplit(['.', ':']).next().unwrap_or_default();
            judge(lang, module_of(owner, name, whole), name)
        } else {
            None
        };
        let Some(does) = does else {
            let owner = (cut > 0).then(|| format!("{before}{receiver}"));
            self.other_call(scope, name, owner.as_deref(), rest, (whole, left));
            return;
        };
        let bare = matches!(lang, Lang::Perl | Lang::Ruby);
        let args: Vec<&str> = match rest.trim_start().strip_prefix('(') {
            Some(inside) => arguments(inside).0,
            None if bare && is_bare_argument(rest) => arguments(rest).0,
            None => return,
        };
        if matches!(does, Does::Callback) {
            let named = args.first().and_then(|arg| value::literal(arg));
            match named.and_then(|(name, _)| judge(lang, "", &name)) {
                Some(Does::Delete | Does::DeleteTree | Does::Move) => {
                    self.unknown(Verb::Deletes, Reason::PathText);
                }
                Some(Does::Shell | Does::Program | Does::Evaluate) => {
                    self.unknown(Verb::Runs, Reason::RunText);
                }
                Some(_) | None => {}
            }
            return;
        }
        let owned = format!("{before}{receiver}");
        self.call_does(scope, lang, does, &args, (&owned, whole));
    }

    /// A call that no list speaks of: it matters where it is about a file that holds credentials.
    fn other_call(
        &mut self,
        scope: &Scope,
        name: &str,
        owner: Option<&str>,
        rest: &str,
        within: (&str, &mut Option<u32>),
    ) {
        let (whole, Some(left)) = within else { return };
        let Some(inside) = rest.trim_start().strip_prefix('(') else { return };
        let args = arguments(inside).0;
        let loads = owner.is_some_and(|owner| owner.to_ascii_lowercase().ends_with("dotenv"))
            && matches!(name, "load" | "overload" | "config" | "configure");
        if self.inline && !loads {
            self.credentials_given(scope, name, &args, whole, left);
        }
        if let Some(owner) = owner
            && !args.first().is_some_and(|mode| opens_to_write(mode))
        {
            self.credentials_asked(scope, name, owner, whole, left);
        }
    }

    /// `getattr(module, "name")(..)`: the call by that name.
    fn call_by_name(
        &mut self,
        scope: &Scope,
        before: &str,
        rest: &str,
        within: (&str, &mut Option<u32>),
    ) {
        let Some(inside) = rest.trim_start().strip_prefix('(') else { return };
        let (args, after) = arguments(inside);
        let [owner, name, ..] = args.as_slice() else { return };
        let Some((name, _)) = value::literal(name) else { return };
        let called = after.trim_start().starts_with('(');
        if called && judged().contains_key(name.as_str()) && !owner.contains('(') {
            self.call_at(scope, Lang::Python, &format!("{owner}.{name}"), before, after, within);
        }
    }

    /// What a found call does; `around` is the text before it and the whole text.
    fn call_does(
        &mut self,
        scope: &Scope,
        lang: Lang,
        does: Does,
        args: &[&str],
        around: (&str, &str),
    ) {
        let (before, whole) = around;
        let text = |index: usize| -> String {
            let arg = args.get(index).copied().unwrap_or_default();
            let arg = arg
                .split_once('=')
                .filter(|(k, v)| is_keyword(k) && !v.starts_with('='))
                .map_or(arg, |(_, v)| v);
            value::value(arg, whole, 0)
        };
        match does {
            // Told where its arguments are read.
            Does::Callback => {}
            Does::Delete | Does::DeleteTree => {
                self.code_deletes(scope, args, whole, &text, does == Does::DeleteTree);
            }
            Does::DeleteSelf | Does::WriteSelf => {
                let verb = if does == Does::DeleteSelf { Verb::Deletes } else { Verb::Writes };
                let place = receiver(before, whole);
                self.code_path(scope, verb, &place, false);
            }
            Does::Write => self.code_path(scope, Verb::Writes, &text(0), false),
            Does::Read | Does::Open => {
                let first = args.first().and_then(|arg| value::looped_values(arg, whole));
                for path in first.unwrap_or_else(|| vec![text(0)]) {
                    match does == Does::Open {
                        true => self.code_opens(scope, args, &path, &text(1), &text(2)),
                        false => self.code_path(scope, Verb::Reads, &path, false),
                    }
                }
            }
            Does::Copy => {
                self.code_path(scope, Verb::Reads, &text(0), false);
                self.code_path(scope, Verb::Writes, &text(1), false);
            }
            Does::Move => {
                self.code_path(scope, Verb::Deletes, &text(0), true);
                self.code_path(scope, Verb::Writes, &text(1), false);
            }
            Does::Shell | Does::Program => {
                let mut words = match args.first().and_then(|arg| list(arg, whole)) {
                    Some(words) => words,
                    None => vec![text(0)],
                };
                if let [_] = words.as_slice() {
                    words.extend(further_words(args, whole));
                }
                self.code_runs(scope, &words, does == Does::Shell || words.len() == 1);
            }
            Does::Evaluate => {
                let literal = args.first().is_some_and(|arg| value::literal(arg).is_some());
                if literal {
                    let inner = text(0);
                    self.code(scope, lang, &inner);
                } else {
                    self.unknown(Verb::Runs, Reason::RunText);
                }
            }
            Does::Contact | Does::Send => {
                let host = contacted(args, whole, &text(0), &text(1));
                self.code_host(&host, does == Does::Send);
            }
        }
    }

    /// Deletes what each argument names: a path, or a list of paths.
    fn code_deletes(
        &mut self,
        scope: &Scope,
        args: &[&str],
        whole: &str,
        text: &dyn Fn(usize) -> String,
        is_tree: bool,
    ) {
        for index in 0..args.len().clamp(1, 8) {
            if index > 0 && args.get(index).is_some_and(|arg| is_option(arg)) {
                continue;
            }
            let words = args.get(index).and_then(|arg| list(arg, whole));
            for path in words.unwrap_or_else(|| vec![text(index)]) {
                self.code_path(scope, Verb::Deletes, &path, is_tree);
            }
        }
    }

    fn code_opens(&mut self, scope: &Scope, args: &[&str], first: &str, second: &str, third: &str) {
        // Perl: `open(F, '>', 'x')`, `open(F, ">x")`, `open(F, "cmd|")`.
        let perl = args.first().is_some_and(|arg| {
            arg.starts_with("my ")
                || arg.starts_with('$')
                || (!arg.starts_with(['"', '\'']) && arg.chars().all(|c| c.is_ascii_uppercase()))
        });
        if perl && args.len() > 1 {
            let (mode, file) = if args.len() > 2 { (second, third) } else { (second, second) };
            if mode.starts_with('|') || mode.ends_with('|') || mode == "-|" {
                // What is printed into it is not followed.
                let command = file.trim_matches('|').to_owned();
                let mut inner = scope.clone();
                self.run_text(&mut inner, &command, &mark::VOID.to_string());
                return;
            }
            let verb = if mode.contains('>') { Verb::Writes } else { Verb::Reads };
            self.code_path(scope, verb, file.trim_start_matches(['>', '<', '+', ' ']), false);
            return;
        }
        let mode_text = args.get(1).copied().unwrap_or_default();
        let mode = mode_text.trim_start_matches("mode=");
        let writes = mode.contains(['w', 'a', 'x', '+']) && mode.len() < 12;
        let verb = if writes { Verb::Writes } else { Verb::Reads };
        if crate::net::is_url(first) {
            self.code_host(first, false);
            return;
        }
        if let Some(command) = first.strip_prefix('|') {
            self.code_runs(scope, &[command.to_owned()], true);
            return;
        }
        self.code_path(scope, verb, first, false);
    }

    fn code_path(&mut self, scope: &Scope, verb: Verb, text: &str, tree: bool) {
        if let Some(rest) = text.strip_prefix('~') {
            let home = self.home();
            self.path(scope, verb, &format!("{home}{rest}"), tree);
            return;
        }
        // What is read and where is rarely told; only changes are worth an `unknown`.
        if verb == Verb::Reads && text == mark::VOID.to_string() {
            return;
        }
        if crate::net::is_url(text) {
            self.host(text);
            return;
        }
        if verb == Verb::Writes {
            // What a program writes is not followed; running it is then unknown.
            self.wrote(scope, text, &mark::VOID.to_string(), true);
        }
        self.path(scope, verb, text, tree);
    }
}

/// The host in a call's arguments.
fn contacted(args: &[&str], whole: &str, first_value: &str, second_value: &str) -> String {
    let first = args.first().copied().unwrap_or_default();
    if let Some(words) = list(first, whole) {
        return words.first().cloned().unwrap_or_default();
    }
    // `net.connect(port, host)`, `new Socket(PeerAddr => 'host')`.
    if first.parse::<u32>().is_ok() {
        return second_value.to_owned();
    }
    if first.contains("PeerAddr") || first.contains("host") || first.contains("=>") {
        return peer(whole);
    }
    first_value.to_owned()
}

/// The words after a program's name: a list, or literals.
fn further_words(args: &[&str], whole: &str) -> Vec<String> {
    if let Some(words) = args.get(1).and_then(|arg| list(arg, whole)) {
        return words;
    }
    let literals = args.iter().skip(1).filter(|arg| arg.starts_with(['"', '\'']));
    literals.map(|arg| value::value(arg, whole, 0)).collect()
}

/// Whether an argument after the first is an option or a callback rather than a path.
fn is_option(arg: &str) -> bool {
    arg.starts_with(['{', '('])
        || arg.contains('=')
        || arg.starts_with("True")
        || arg.starts_with("function")
}

fn is_keyword(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Whether the first argument of an `open` that belongs to a path says that it is written.
fn opens_to_write(mode: &str) -> bool {
    let mode = mode.trim_start_matches("mode=");
    mode.starts_with(['"', '\'']) && mode.len() < 8 && mode.contains(['w', 'a', 'x', '+'])
}

fn line_starts(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.trim().is_empty()
}

/// What a method is called on when that is itself a call: `require('fs').rm` gives `fs`.
fn owner_of(before: &str) -> &str {
    let Some(inside) = before.strip_suffix(')') else { return "" };
    let start = inside.len().saturating_sub(80);
    let tail = inside.get(start..).unwrap_or(inside);
    let Some((front, arg)) = tail.rsplit_once('(') else { return ")" };
    let arg = arg.trim_matches(['"', '\'', ' ']);
    let arg = arg.strip_prefix("node:").unwrap_or(arg);
    if front.ends_with("require")
        || front.ends_with("__import__")
        || front.ends_with("import_module")
        || front.ends_with("import")
    {
        return arg.split('/').next().unwrap_or_default();
    }
    ")"
}

/// The path that a method like `.unlink()` is called on: `Path("x")`.
fn receiver(before: &str, whole: &str) -> String {
    match value::expression_before(before) {
        "" => mark::VOID.to_string(),
        expression => value::value(expression, whole, 0),
    }
}

/// The module that a short name stands for: `import subprocess as s`, `from os import remove`,
/// `x = require('fs')`.
fn module_of<'t>(owner: &'t str, name: &str, whole: &'t str) -> &'t str {
    if owner.is_empty() {
        for (at, _) in whole.match_indices("from ").take(64) {
            let rest = whole.get(at + 5..).unwrap_or_default();
            let line = rest.split(['\n', ';']).next().unwrap_or_default();
            let Some((module, names)) = line.split_once(" import ") else { continue };
            if names.split(',').any(|imported| imported.trim() == name) {
                return module.trim();
            }
        }
        return taken_from(name, whole).unwrap_or(owner);
    }
    let alias = format!(" as {owner}");
    if let Some(at) = whole.find(&alias) {
        let front = whole.get(..at).unwrap_or_default();
        return front.rsplit([' ', '.', ',']).next().unwrap_or(owner);
    }
    match value::assigned(owner, whole).and_then(|expression| expression.split_once("require(")) {
        Some((_, module)) => {
            let module = module.trim_start_matches(['"', '\'', ' ']);
            let module = module.strip_prefix("node:").unwrap_or(module);
            module.split(['"', '\'', '/', ')']).next().unwrap_or(owner)
        }
        None => owner,
    }
}

/// The module that `import {name} from "m"` or `const {name} = require("m")` takes a name from.
fn taken_from<'t>(name: &str, whole: &'t str) -> Option<&'t str> {
    for (at, _) in whole.match_indices('{').take(64) {
        let (list, rest) = whole.get(at + 1..)?.split_once('}')?;
        if !list.split(',').any(|entry| entry.trim() == name) {
            continue;
        }
        let rest = rest.trim_start().trim_start_matches(['=', ' ']);
        let rest = ["from", "require(", "await import("].iter().find_map(|f| rest.strip_prefix(f));
        let quoted = rest.map(|rest| rest.trim_start_matches([' ', '"', '\'', '(']));
        if let Some(module) = quoted {
            let module = module.strip_prefix("node:").unwrap_or(module);
            return module.split(['"', '\'', '/', ')']).next();
        }
    }
    None
}

/// Whether what follows a name without parentheses can be its argument, in Perl and Ruby.
fn is_bare_argument(rest: &str) -> bool {
    let text = rest.trim_start();
    text.starts_with(['"', '\'', '$', '<', '`'])
        || text.starts_with("*%w")
        || (rest.starts_with(' ') && text.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// The host in named arguments: `PeerAddr=>"h"`, `host: 'h'`.
fn peer(whole: &str) -> String {
    for key in ["PeerAddr", "PeerHost", "hostname", "host"] {
        if let Some(at) = whole.find(key) {
            let rest = whole.get(at + key.len()..).unwrap_or_default();
            let rest = rest.trim_start_matches(['=', '>', ':', ' ', '"', '\'']);
            let end = rest.find(['"', '\'', ',', '}', ')']).unwrap_or(rest.len());
            return rest.get(..end).unwrap_or_default().to_owned();
        }
    }
    mark::VOID.to_string()
}

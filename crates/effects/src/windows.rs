//! `cmd` and PowerShell, to the extent of programs, aliases, canonical names and targets.
//!
//! Texts are cut into commands at `;`, `&`, `|` and line ends outside of quotes; each is read as a
//! name with parameters. Blocks in braces and parentheses are looked into as texts of their own.
//! Refused: evaluating expressions. A command that is computed is `unknown`.

pub(crate) mod cut;
pub(crate) mod known;

use crate::decode;
use crate::effect::{Reason, Target, Verb};
use crate::limits::COMMAND_BYTES_MAX;
use crate::mark;
use crate::path;
use crate::program::table::Lang;
use crate::run::Run;
use crate::shell::scope::{Scope, is_secret_name};
use crate::windows::cut::{parameters, pieces};
use crate::windows::known::Command;

/// PowerShell's aliases and the names they stand for, lower case.
const ALIASES: &[(&str, &str)] = &[
    ("rm", "remove-item"),
    ("ri", "remove-item"),
    ("del", "remove-item"),
    ("erase", "remove-item"),
    ("rd", "remove-item"),
    ("rmdir", "remove-item"),
    ("cat", "get-content"),
    ("gc", "get-content"),
    ("type", "get-content"),
    ("cp", "copy-item"),
    ("copy", "copy-item"),
    ("cpi", "copy-item"),
    ("mv", "move-item"),
    ("move", "move-item"),
    ("mi", "move-item"),
    ("ren", "rename-item"),
    ("rni", "rename-item"),
    ("ni", "new-item"),
    ("sc", "set-content"),
    ("ac", "add-content"),
    ("clc", "clear-content"),
    ("iex", "invoke-expression"),
    ("iwr", "invoke-webrequest"),
    ("irm", "invoke-restmethod"),
    ("wget", "invoke-webrequest"),
    ("curl", "invoke-webrequest"),
    ("saps", "start-process"),
    ("start", "start-process"),
    ("kill", "stop-process"),
    ("spps", "stop-process"),
    ("cd", "set-location"),
    ("chdir", "set-location"),
    ("sl", "set-location"),
    ("icm", "invoke-command"),
    ("gci", "get-childitem"),
    ("ls", "get-childitem"),
    ("dir", "get-childitem"),
    ("sp", "set-itemproperty"),
    ("rp", "remove-itemproperty"),
    ("sasv", "start-service"),
    ("spsv", "stop-service"),
    ("echo", "write-output"),
    ("write", "write-output"),
    ("%", "foreach-object"),
    ("foreach", "foreach-object"),
    ("?", "where-object"),
    ("where", "where-object"),
    ("gi", "get-item"),
    ("gp", "get-itemproperty"),
    ("ii", "invoke-item"),
    ("tee", "tee-object"),
    ("ft", "format-table"),
    ("fl", "format-list"),
    ("select", "select-object"),
    ("sls", "select-string"),
    ("gal", "get-alias"),
    ("ipmo", "import-module"),
];

/// Commands that have no effect worth telling, by their front.
pub(crate) const HARMLESS: &[&str] = &[
    "get-",
    "write-",
    "format-",
    "select-",
    "where-",
    "measure-",
    "sort-",
    "group-",
    "test-",
    "out-null",
    "out-string",
    "convertto-",
    "convertfrom-",
    "compare-",
    "join-path",
    "split-path",
    "resolve-path",
    "foreach-object",
    "set-strictmode",
    "set-variable",
    "new-variable",
    "new-object",
    "add-type",
    "start-sleep",
    "push-location",
    "pop-location",
    "out-host",
    "tee-object",
    "update-",
    "if",
    "else",
    "try",
    "catch",
    "function",
    "param",
    "return",
    "throw",
    "while",
    "switch",
    "exit",
    "rem",
    "cls",
    "title",
    "ver",
    "setlocal",
    "endlocal",
    "pause",
    "goto",
    "tasklist",
    "whoami",
    "hostname",
    "systeminfo",
    "findstr",
    "find",
    "sort",
    "more",
    "tree",
    "where",
    "attrib",
];

/// The language of a command of Windows that no other system has, by its name.
pub(crate) fn language(name: &str) -> Option<Lang> {
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let verb_noun = name.split_once('-').is_some_and(|(verb, noun)| {
        let is_capital = |text: &str| text.starts_with(|c: char| c.is_ascii_uppercase());
        let is_word = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric());
        is_capital(verb) && is_capital(noun) && is_word(verb) && is_word(noun)
    });
    if verb_noun {
        return Some(Lang::Powershell);
    }
    if known::is_command(name) {
        return Some(Lang::Cmd);
    }
    // Names that other systems know stand in the table of programs and are not asked about here.
    let lower = name.to_ascii_lowercase();
    ALIASES.iter().any(|(alias, _)| *alias == lower).then_some(Lang::Powershell)
}

impl Run<'_> {
    pub(crate) fn windows_text(&mut self, scope: &Scope, lang: Lang, text: &str) {
        if text.len() > COMMAND_BYTES_MAX {
            self.unknown(Verb::Runs, Reason::Size);
            return;
        }
        if text.contains(mark::REMOTE) {
            self.out.add(Verb::Runs, Target::RemoteCode, &self.piece);
        } else if mark::has_void(text) {
            self.unknown(Verb::Runs, Reason::RunText);
        }
        if !self.step() || !self.enter(text.len()) {
            return;
        }
        let mut inner = scope.clone();
        let mut remote = false;
        for piece in pieces(text, lang) {
            if !self.step() {
                break;
            }
            let fetches = self.windows_command(&mut inner, lang, &piece.words, remote);
            remote = piece.piped && (remote || fetches);
        }
        self.leave();
    }

    /// One command; whether it prints text from the network.
    fn windows_command(
        &mut self,
        scope: &mut Scope,
        lang: Lang,
        words: &[String],
        remote: bool,
    ) -> bool {
        let mut words = words.to_vec();
        // `$x = command`, `& command`, `. command`, `@command`.
        if words.first().is_some_and(|word| word.starts_with('$'))
            && words.get(1).is_some_and(|w| w == "=")
        {
            words.drain(..2);
        }
        let mut called = false;
        while let Some(word) = words.first() {
            match word.as_str() {
                "&" | "." => called = true,
                "@" | "if" | "else" => {}
                _ => break,
            }
            words.remove(0);
        }
        let Some(first) = words.first().cloned() else { return false };
        if lang == Lang::Cmd
            && let Some(inner) = nested(&words)
        {
            return self.windows_command(scope, lang, &inner, remote);
        }
        for word in &words {
            self.windows_block(scope, lang, word);
        }
        let mut name =
            first.trim_start_matches('@').to_ascii_lowercase().replace(['^', '`', '"', '\''], "");
        if name.starts_with(['$', '(', '[']) {
            if called {
                self.unknown(Verb::Runs, Reason::ProgramName);
            }
            if !words.get(1).is_some_and(|word| word.starts_with('=')) {
                self.windows_variables(&words);
            }
            return self.windows_expression(&words);
        }
        name = path::base_name(&name.replace('\\', "/")).trim_end_matches(".exe").to_owned();
        if lang == Lang::Powershell
            && let Some((_, full)) = ALIASES.iter().find(|(alias, _)| *alias == name)
        {
            name = (*full).to_owned();
        }
        let args = words.get(1..).unwrap_or_default().to_vec();
        let (options, mut targets) = parameters(&args, lang);
        redirected(self, scope, &mut targets);
        self.program(&name, "");
        if matches!(name.as_str(), "write-output" | "write-host" | "out-string" | "echo") {
            self.windows_variables(&words);
        }
        let command = Command { lang, name: &name, words: &words, options, targets, remote };
        self.windows_known(scope, &command)
    }

    /// `(..)`, `{..}` and `$(..)` inside a word.
    fn windows_block(&mut self, scope: &Scope, lang: Lang, word: &str) {
        let inner = word.trim_start_matches(['$', '@']);
        let block = (inner.starts_with('(') && inner.ends_with(')'))
            || (inner.starts_with('{') && inner.ends_with('}'));
        if block && inner.len() > 2 {
            let text = inner.get(1..inner.len() - 1).unwrap_or_default();
            self.windows_text(scope, lang, text);
        }
    }

    /// Variables of the environment that are shown: `$env:NAME`, `%NAME%`.
    fn windows_variables(&mut self, words: &[String]) {
        for word in words {
            let lower = word.to_ascii_lowercase();
            let power = lower.match_indices("$env:").map(|(at, front)| at + front.len());
            let cmd = lower.match_indices('%').map(|(at, front)| at + front.len());
            for at in power.chain(cmd) {
                let rest = word.get(at..).unwrap_or_default();
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                let name = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                if is_secret_name(name) {
                    self.secret_name = name.into();
                    self.secret(Verb::Exposes);
                }
            }
        }
    }

    /// A computed command or a method call.
    fn windows_expression(&mut self, words: &[String]) -> bool {
        let line = words.join(" ");
        let lower = line.to_ascii_lowercase();
        if let Some(at) = lower.find("http") {
            let url = line.get(at..).unwrap_or_default();
            let end = url.find(['\'', '"', ')', ' ']).unwrap_or(url.len());
            self.host(url.get(..end).unwrap_or_default());
        }
        if let Some((_, asked)) = lower.split_once("::getenvironmentvariable") {
            let name = asked.trim_start_matches(['(', '\'', '"']).split(['\'', '"']).next();
            match name {
                Some(name) if asked.starts_with('(') && is_secret_name(name) => {
                    self.secret_name = name.to_ascii_uppercase().into();
                    self.secret(Verb::Exposes);
                }
                _ if asked.starts_with('s') => self.environment(),
                _ => {}
            }
        }
        if lower.contains("downloadstring") || lower.contains("downloaddata") {
            return true;
        }
        for needle in ["::delete(", "::writealltext(", "tcpclient", "downloadfile"] {
            if lower.contains(needle) {
                let quoted = line.split(['\'', '"']).nth(1).unwrap_or_default().to_owned();
                match needle {
                    "::delete(" => self.path(&Scope::new("/"), Verb::Deletes, &quoted, true),
                    "tcpclient" => {
                        self.host(&quoted);
                        self.out.add(Verb::Runs, Target::RemoteCode, &self.piece);
                    }
                    _ => self.unknown(Verb::Writes, Reason::PathText),
                }
            }
        }
        if line.starts_with('$') && !line.contains('(') || line.starts_with("[") {
            return false;
        }
        if line.starts_with('(') && words.len() > 1 {
            self.unknown(Verb::Runs, Reason::ProgramName);
        }
        false
    }

    pub(crate) fn windows_evaluated(&mut self, scope: &Scope, text: &str) {
        let lower = text.to_ascii_lowercase();
        let fetches =
            ["downloadstring", "invoke-webrequest", "iwr", "irm", "invoke-restmethod", "webclient"];
        if fetches.iter().any(|needle| lower.contains(needle)) {
            self.out.add(Verb::Runs, Target::RemoteCode, &self.piece);
        }
        if lower.contains("frombase64string") {
            let quoted = text.split(['\'', '"']).nth(1).unwrap_or_default();
            let decoded = decode::base64_text(quoted).or_else(|| decode::base64_utf16(quoted));
            match decoded.filter(|t| !t.is_empty()) {
                Some(text) => self.windows_text(scope, Lang::Powershell, &text),
                None => self.unknown(Verb::Runs, Reason::RunText),
            }
        } else if text.starts_with(['$', '(']) {
            self.unknown(Verb::Runs, Reason::RunText);
        } else {
            self.windows_text(scope, Lang::Powershell, text);
        }
    }

    pub(crate) fn windows_path(&mut self, scope: &Scope, verb: Verb, text: &str, tree: bool) {
        let mut text = windows_home(self, text.trim_matches(['"', '\'']));
        // To `cmd`, `*.*` is everything.
        if let Some(folder) = text.strip_suffix("*.*") {
            text = format!("{folder}*");
        }
        // `C:x`, as a shell leaves it that takes the backslash away.
        if path::has_drive_letter(&text)
            && !text.get(2..).is_some_and(|r| r.starts_with(['/', '\\']))
        {
            text.insert(2, '/');
        }
        if text.contains('$') || text.contains('%') {
            self.unknown(verb, Reason::PathText);
            return;
        }
        let globbed = crate::program::find::globbed(&text.replace('\\', "/"));
        self.path(scope, verb, &globbed, tree);
    }
}

/// The command inside `for %i in (LIST) do COMMAND` and `exist FILE COMMAND` (the `if` is gone).
fn nested(words: &[String]) -> Option<Vec<String>> {
    let lower = |index: usize| words.get(index).map(|word| word.to_ascii_lowercase());
    let first = lower(0)?;
    if first == "for" {
        let at = words.iter().position(|word| word.eq_ignore_ascii_case("do"))?;
        let variable = words.iter().find(|word| word.starts_with('%'))?;
        let list = words.iter().find(|word| word.starts_with('('))?;
        let list = list.trim_matches(['(', ')']);
        let inner = words.get(at + 1..)?;
        return Some(inner.iter().map(|word| word.replace(variable.as_str(), list)).collect());
    }
    let skip = match first.as_str() {
        "exist" => 2,
        "not" if lower(1).as_deref() == Some("exist") => 3,
        _ if first.contains("==") => 1,
        _ => return None,
    };
    words.get(skip..).filter(|inner| !inner.is_empty()).map(<[String]>::to_vec)
}

/// Known variables in a path.
pub(crate) fn windows_home(run: &Run<'_>, text: &str) -> String {
    let home = run.home();
    let mut out = text.to_owned();
    for name in ["$env:USERPROFILE", "%USERPROFILE%", "$HOME", "$env:HOME", "%HOMEPATH%", "~"] {
        if name == "~" {
            if let Some(rest) = out.strip_prefix('~') {
                out = format!("{home}{rest}");
            }
        } else if let Some(at) = out.to_ascii_lowercase().find(&name.to_ascii_lowercase()) {
            out.replace_range(at..at + name.len(), &home);
        }
    }
    for (name, place) in [
        ("$env:SystemRoot", "C:/Windows"),
        ("%SystemRoot%", "C:/Windows"),
        ("$env:windir", "C:/Windows"),
        ("%windir%", "C:/Windows"),
        ("%SystemDrive%", "C:"),
        ("$env:SystemDrive", "C:"),
        ("$env:TEMP", "/tmp"),
        ("%TEMP%", "/tmp"),
        ("$env:ProgramFiles", "C:/Program Files"),
        ("$PWD", "."),
        ("$PSScriptRoot", "."),
        ("%CD%", "."),
    ] {
        if let Some(at) = out.to_ascii_lowercase().find(&name.to_ascii_lowercase()) {
            out.replace_range(at..at + name.len(), place);
        }
    }
    out
}

/// Output redirections among the words: their targets are written.
fn redirected(run: &mut Run<'_>, scope: &Scope, targets: &mut Vec<String>) {
    while let Some(at) =
        targets.iter().position(|word| matches!(word.as_str(), ">" | ">>" | "2>" | "1>" | "*>"))
    {
        if let Some(file) = targets.get(at + 1).cloned()
            && !matches!(file.to_ascii_lowercase().as_str(), "nul" | "$null" | "&1")
        {
            run.windows_path(scope, Verb::Writes, &file, false);
        }
        let end = (at + 2).min(targets.len());
        targets.drain(at..end);
    }
}

//! What single commands of `cmd` and PowerShell do.
//!
//! Commands around files are code, those that change the system are data (`data/windows.txt`).
//! Refused: a command that is in neither; it is a program like any other.

use crate::effect::{Reason, Target, Verb};
use crate::mark;
use crate::net;
use crate::path;
use crate::program::invoke::known_name;
use crate::program::table::Lang;
use crate::program::words::verb;
use crate::run::Run;
use crate::shell::scope::{Scope, is_secret_name};
use crate::windows::{HARMLESS, windows_home};

const SYSTEM: &str = include_str!("../../data/windows.txt");

/// One command with its parameters read.
pub(crate) struct Command<'c> {
    pub(crate) lang: Lang,
    pub(crate) name: &'c str,
    /// The words as they stand, the name first.
    pub(crate) words: &'c [String],
    pub(crate) options: Vec<(String, String)>,
    pub(crate) targets: Vec<String>,
    /// Its input comes from the network.
    pub(crate) remote: bool,
}

impl Command<'_> {
    /// The value of a parameter that may be written short (`-Dest` for `-Destination`).
    fn named(&self, name: &str) -> Option<String> {
        let found =
            self.options.iter().find(|(n, _)| !n.is_empty() && name.starts_with(n.as_str()));
        found.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
    }

    fn has(&self, option: &str) -> bool {
        self.options.iter().any(|(name, _)| name == option)
    }

    /// The paths it is given, by name or place.
    fn places(&self) -> Vec<String> {
        let named = self.named("path").or_else(|| self.named("literalpath"));
        let all = named.into_iter().chain(self.targets.iter().cloned());
        all.flat_map(|text| text.split(',').map(str::to_owned).collect::<Vec<_>>()).collect()
    }
}

/// Commands of `cmd` that are handled by name.
const COMMANDS: &[&str] = &[
    "del",
    "erase",
    "rd",
    "copy",
    "xcopy",
    "robocopy",
    "move",
    "ren",
    "md",
    "certutil",
    "bitsadmin",
    "mshta",
    "regsvr32",
    "rundll32",
    "msiexec",
    "javaws",
    "presentationhost",
    "ieexec",
    "desktopimgdownldr",
    "cscript",
    "wscript",
    "forfiles",
    "taskkill",
    "runas",
];

/// Whether a name is one of a command of Windows.
pub(super) fn is_command(name: &str) -> bool {
    COMMANDS.contains(&name)
        || SYSTEM.lines().filter(|entry| !entry.starts_with('#')).any(|entry| {
            let names = entry.split(" : ").next().unwrap_or_default();
            names.split(' ').any(|known| known == name)
        })
}

impl Run<'_> {
    /// Runs one command; whether it prints text from the network.
    pub(crate) fn windows_known(&mut self, scope: &mut Scope, command: &Command<'_>) -> bool {
        match command.name {
            "remove-item" | "del" | "erase" | "rd" | "rmdir" => self.windows_remove(scope, command),
            "get-content" | "type" | "get-item" | "get-childitem" | "select-string" | "dir" => {
                self.windows_read(scope, command);
            }
            "set" if command.lang == Lang::Cmd && command.targets.is_empty() => self.environment(),
            "set-content" | "add-content" | "out-file" | "new-item" | "clear-content"
            | "set-itemproperty" | "new-itemproperty" | "rename-item" | "export-csv" | "mkdir"
            | "md" | "tee-object" => self.windows_write(scope, command),
            "copy-item" | "copy" | "xcopy" | "robocopy" | "move-item" | "move" | "ren" => {
                self.windows_copy(scope, command);
            }
            // `wmic process call create "COMMAND"`.
            "wmic" if command.words.iter().any(|word| word.eq_ignore_ascii_case("create")) => {
                let text = command.words.last().map_or("", |word| word.as_str());
                self.windows_text(scope, Lang::Cmd, text.trim_matches(['"', '\'']));
            }
            "invoke-expression" => self.windows_evaluate(scope, command),
            "invoke-webrequest" | "invoke-restmethod" | "start-bitstransfer" => {
                self.windows_fetch(scope, command);
                return true;
            }
            "set-location" | "cd" | "chdir" => {
                let folder = command.places().into_iter().find(|t| !t.starts_with('/'));
                if let Some(folder) = folder {
                    let folder = path::normalise(&scope.cwd, &windows_home(self, &folder));
                    scope.change_folder(&folder.unwrap_or_else(|| mark::VOID.to_string()));
                }
            }
            _ => return self.windows_system(scope, command),
        }
        false
    }

    fn windows_remove(&mut self, scope: &Scope, command: &Command<'_>) {
        if command.has("whatif") {
            return;
        }
        let recursive = command.options.iter().any(|(name, _)| {
            name == "s" || (!name.is_empty() && "recurse".starts_with(name.as_str()))
        });
        let places = command.places();
        for target in &places {
            if target.to_ascii_uppercase().starts_with("HK") {
                self.thing(Verb::Destroys, "registry");
            } else {
                self.windows_path(scope, Verb::Deletes, target, recursive);
            }
        }
        if places.is_empty() {
            self.unknown(Verb::Deletes, Reason::PathText);
        }
    }

    fn windows_read(&mut self, scope: &Scope, command: &Command<'_>) {
        for target in command.places() {
            let Some(name) = target.get(..4).filter(|front| front.eq_ignore_ascii_case("env:"))
            else {
                self.windows_path(scope, Verb::Reads, &target, false);
                continue;
            };
            let name = target.get(name.len()..).unwrap_or_default();
            if name.is_empty() {
                self.environment();
            } else if is_secret_name(name) {
                self.secret_name = name.into();
                self.secret(Verb::Exposes);
            }
        }
    }

    fn windows_write(&mut self, scope: &Scope, command: &Command<'_>) {
        let named = command.named("filepath");
        let places = command.places();
        for target in named.iter().chain(places.first()) {
            let upper = target.to_ascii_uppercase();
            if upper.starts_with("HK") && upper.contains("\\RUN") {
                self.thing(Verb::Persists, "registry-run");
            }
            self.windows_path(scope, Verb::Writes, target, false);
        }
    }

    fn windows_copy(&mut self, scope: &Scope, command: &Command<'_>) {
        let moves = command.name.starts_with("mov") || command.name == "ren";
        let places = command.places();
        let [source, rest @ ..] = places.as_slice() else { return };
        self.windows_path(scope, Verb::Reads, source, false);
        if moves {
            self.windows_path(scope, Verb::Deletes, source, true);
        }
        let named = command.named("destination");
        for target in named.iter().chain(rest.first()) {
            self.windows_path(scope, Verb::Writes, target, moves || command.has("mir"));
            if command.name == "robocopy" && (command.has("mir") || command.has("purge")) {
                self.windows_path(scope, Verb::Deletes, target, true);
            }
        }
    }

    fn windows_evaluate(&mut self, scope: &Scope, command: &Command<'_>) {
        if command.remote {
            self.out.add(Verb::Runs, Target::RemoteCode, &self.piece);
        }
        let named = command.named("command");
        for text in command.targets.iter().chain(&named) {
            self.windows_evaluated(scope, text);
        }
        if command.targets.is_empty() && !command.remote && named.is_none() {
            self.unknown(Verb::Runs, Reason::RunText);
        }
    }

    fn windows_fetch(&mut self, scope: &Scope, command: &Command<'_>) {
        let url = command.named("uri").or_else(|| command.named("source"));
        for url in url.iter().chain(command.targets.iter().take(1)) {
            self.host(url);
        }
        if let Some(file) = command.named("infile") {
            self.windows_path(scope, Verb::Reads, &file, false);
            self.windows_path(scope, Verb::Sends, &file, false);
        } else if command.named("body").is_some() {
            self.thing(Verb::Sends, "data");
        }
        if let Some(file) = command.named("outfile") {
            self.wrote(scope, &file, &mark::REMOTE.to_string(), false);
            self.windows_path(scope, Verb::Writes, &file, false);
        }
    }

    /// Commands that change the system, and everything else.
    fn windows_system(&mut self, scope: &Scope, command: &Command<'_>) -> bool {
        let mut line = command.targets.join(" ").to_ascii_lowercase();
        for (option, value) in &command.options {
            line.push(' ');
            line.push_str(option);
            line.push(' ');
            line.push_str(&value.to_ascii_lowercase());
        }
        let mut told = false;
        for entry in SYSTEM.lines().filter(|entry| !entry.starts_with('#')) {
            let mut fields = entry.splitn(2, " : ");
            let names = fields.next().unwrap_or_default();
            if !names.split(' ').any(|name| name == command.name) {
                continue;
            }
            told = true;
            let Some((words, act)) = fields.next().and_then(|rest| rest.rsplit_once(" : ")) else {
                continue;
            };
            if words != "-" && !words.split(' ').any(|word| line.contains(word)) {
                continue;
            }
            if let Some((name, thing)) = act.split_once('=')
                && let Some(verb) = verb(name)
            {
                self.thing(verb, thing);
            }
        }
        !told && self.windows_starter(scope, command)
    }

    /// Programs that fetch or start something else.
    fn windows_starter(&mut self, scope: &Scope, command: &Command<'_>) -> bool {
        let targets = &command.targets;
        match command.name {
            "stop-process" | "taskkill" | "stop-service" => false,
            "certutil" | "bitsadmin" | "desktopimgdownldr" | "mshta" | "regsvr32" | "rundll32"
            | "msiexec" | "javaws" | "presentationhost" | "ieexec" | "cscript" | "wscript" => {
                // `javascript:..` and `vbscript:..` in place of a file.
                if targets.iter().any(|t| t.to_ascii_lowercase().contains("script:")) {
                    self.unknown(Verb::Runs, Reason::RunText);
                }
                let urls: Vec<&String> = targets.iter().filter(|t| t.contains("://")).collect();
                for url in &urls {
                    let at = url.find("http").unwrap_or(0);
                    self.host(url.get(at..).unwrap_or_default());
                }
                let fetches =
                    ["certutil", "bitsadmin", "desktopimgdownldr"].contains(&command.name);
                if !urls.is_empty() && fetches {
                    // No download but of those who hide one.
                    self.unknown(Verb::Runs, Reason::RunText);
                }
                if !urls.is_empty() && !fetches {
                    self.out.add(Verb::Runs, Target::RemoteCode, &self.piece);
                } else if let Some(file) = targets.last().filter(|t| !t.contains("://")) {
                    self.wrote(scope, file, &mark::REMOTE.to_string(), false);
                }
                !urls.is_empty()
            }
            "forfiles" => {
                let line = command.words.join(" ");
                let lower = line.to_ascii_lowercase();
                if let Some(at) = lower.find("/c ") {
                    let place = line
                        .split_once("/p ")
                        .map_or(".", |(_, rest)| rest.split_whitespace().next().unwrap_or("."));
                    let found = format!("{}\\*", place.trim_end_matches('\\'));
                    let text = line.get(at + 3..).unwrap_or_default().trim_matches('"');
                    let text = text.replace("@file", &found).replace("@path", &found);
                    self.windows_text(scope, Lang::Cmd, &text);
                }
                false
            }
            "runas" => {
                self.thing(Verb::Escalates, "root");
                for text in targets {
                    self.windows_text(scope, command.lang, text);
                }
                false
            }
            "start-process" | "invoke-item" | "invoke-command" | "start-job" | "start" | "call" => {
                let elevated =
                    command.named("verb").is_some_and(|v| v.eq_ignore_ascii_case("runas"));
                if elevated {
                    self.thing(Verb::Escalates, "root");
                }
                let more = command.named("argumentlist").unwrap_or_default();
                if !targets.is_empty() {
                    let text = format!("{} {more}", targets.join(" "));
                    self.windows_text(scope, command.lang, &text);
                }
                false
            }
            _ => {
                self.windows_other(scope, command);
                false
            }
        }
    }

    /// A program like any other.
    fn windows_other(&mut self, scope: &Scope, command: &Command<'_>) {
        let name = command.name;
        let shell = matches!(name, "powershell" | "pwsh" | "cmd");
        let harmless = HARMLESS.iter().any(|front| name.starts_with(front));
        if (harmless && !shell) || matches!(name, "set" | "echo") {
            return;
        }
        let first = command.words.first().map_or(name, |word| word.as_str());
        if known_name(self.ctx.programs, name).is_none() {
            let content = self.content(scope, first).unwrap_or_default();
            if content.contains(mark::REMOTE) {
                self.out.add(Verb::Runs, Target::RemoteCode, &self.piece);
            } else if !net::is_url(name) {
                self.unknown(Verb::Does, Reason::Program);
            }
            return;
        }
        let rest = command.words.iter().skip(1).cloned();
        let argv: Vec<String> = std::iter::once(name.to_owned()).chain(rest).collect();
        self.invoke_apart(scope, argv, "");
    }
}

//! `cmd` and PowerShell, to the extent of programs, aliases, canonical names and targets.
//!
//! Texts are cut into commands at `;`, `&`, `|` and line ends outside of quotes; each is read as a
//! name with parameters. Blocks in braces and parentheses are looked into as texts of their own.
//! Refused: evaluating expressions. A command that is computed is `unknown`.

use crate::decode;
use crate::effect::{Reason, Target, Verb};
use crate::limits::COMMAND_BYTES_MAX;
use crate::mark;
use crate::net;
use crate::path;
use crate::program::invoke::known_name;
use crate::program::table::Lang;
use crate::run::Run;
use crate::shell::scope::Scope;

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
const HARMLESS: &[&str] = &[
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

struct Piece {
    words: Vec<String>,
    /// Whether the next command reads this one's output.
    piped: bool,
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
            remote = (remote && piece.piped) || (fetches && piece.piped);
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
        while words
            .first()
            .is_some_and(|word| matches!(word.as_str(), "&" | "." | "@" | "if" | "else"))
        {
            words.remove(0);
        }
        let Some(first) = words.first().cloned() else { return false };
        for word in &words {
            self.windows_block(scope, lang, word);
        }
        let mut name =
            first.trim_start_matches('@').to_ascii_lowercase().replace(['^', '`', '"', '\''], "");
        if name.starts_with(['$', '(', '[']) {
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
        self.windows_known(scope, lang, &name, &options, &targets, remote)
    }

    fn windows_known(
        &mut self,
        scope: &mut Scope,
        lang: Lang,
        name: &str,
        options: &[(String, String)],
        targets: &[String],
        remote: bool,
    ) -> bool {
        let named = |front: &str| {
            options
                .iter()
                .find(|(n, _)| !n.is_empty() && front.starts_with(n.as_str()))
                .map(|(_, v)| v.clone())
        };
        let has = |option: &str| options.iter().any(|(name, _)| name == option);
        let all: Vec<String> = named("path")
            .or_else(|| named("literalpath"))
            .into_iter()
            .filter(|v| !v.is_empty())
            .chain(targets.iter().cloned())
            .collect();
        match name {
            "remove-item" | "del" | "erase" | "rd" | "rmdir" => {
                let recursive = options.iter().any(|(name, _)| {
                    name == "s" || (!name.is_empty() && "recurse".starts_with(name.as_str()))
                });
                if has("whatif") {
                    return false;
                }
                let registry = |t: &&String| t.to_ascii_uppercase().starts_with("HK");
                if all.iter().any(|t| registry(&t)) {
                    self.thing(Verb::Destroys, "registry");
                }
                for target in all.iter().flat_map(|t| t.split(',')) {
                    self.windows_path(scope, Verb::Deletes, target, recursive);
                }
                if all.is_empty() {
                    self.unknown(Verb::Deletes, Reason::PathText);
                }
            }
            "get-content" | "type" | "get-item" | "get-childitem" | "select-string" | "dir" => {
                for target in &all {
                    if target.to_ascii_lowercase().starts_with("env:") {
                        if target.len() == 4 {
                            self.environment();
                        } else if crate::shell::scope::is_secret_name(
                            target.get(4..).unwrap_or_default(),
                        ) {
                            self.secret_name = target.get(4..).unwrap_or_default().into();
                            self.secret(Verb::Exposes);
                        }
                    } else {
                        self.windows_path(scope, Verb::Reads, target, false);
                    }
                }
            }
            "set" if lang == Lang::Cmd && all.is_empty() => self.environment(),
            "set-content" | "add-content" | "out-file" | "new-item" | "clear-content"
            | "set-itemproperty" | "new-itemproperty" | "rename-item" | "export-csv" | "mkdir"
            | "md" | "tee-object" => {
                let place = named("filepath").filter(|v| !v.is_empty());
                for target in place.iter().chain(all.first()) {
                    let upper = target.to_ascii_uppercase();
                    if upper.starts_with("HK") && upper.contains("\\RUN") {
                        self.thing(Verb::Persists, "registry-run");
                    }
                    self.windows_path(scope, Verb::Writes, target, false);
                }
            }
            "copy-item" | "copy" | "xcopy" | "robocopy" | "move-item" | "move" | "ren" => {
                let moves = name.starts_with("mov") || name == "ren";
                if let [source, rest @ ..] = all.as_slice() {
                    self.windows_path(scope, Verb::Reads, source, false);
                    if moves {
                        self.windows_path(scope, Verb::Deletes, source, true);
                    }
                    let into = named("destination").filter(|v| !v.is_empty());
                    for target in into.iter().chain(rest.first()) {
                        self.windows_path(scope, Verb::Writes, target, moves || has("mir"));
                    }
                }
                if name == "robocopy"
                    && (has("mir") || has("purge"))
                    && let Some(target) = all.get(1)
                {
                    self.windows_path(scope, Verb::Deletes, target, true);
                }
            }
            "invoke-expression" => {
                if remote {
                    self.out.add(Verb::Runs, Target::RemoteCode, &self.piece);
                }
                for text in targets.iter().chain(named("command").iter()) {
                    self.windows_evaluated(scope, text);
                }
                if targets.is_empty() && !remote && !has("command") {
                    self.unknown(Verb::Runs, Reason::RunText);
                }
            }
            "invoke-webrequest" | "invoke-restmethod" | "start-bitstransfer" => {
                let url = named("uri").or_else(|| named("source")).filter(|v| !v.is_empty());
                for url in url.iter().chain(targets.iter().take(1)) {
                    self.host(url);
                }
                if let Some(file) = named("infile").filter(|v| !v.is_empty()) {
                    self.windows_path(scope, Verb::Sends, &file, false);
                } else if named("body").is_some() {
                    self.thing(Verb::Sends, "data");
                }
                if let Some(file) = named("outfile").filter(|v| !v.is_empty()) {
                    self.windows_path(scope, Verb::Writes, &file, false);
                }
                return true;
            }
            "set-location" | "cd" | "chdir" => {
                if let Some(folder) = all.iter().find(|t| !t.starts_with('/')) {
                    let folder = path::normalise(&scope.cwd, &windows_home(self, folder));
                    scope.change_folder(&folder.unwrap_or_else(|| mark::VOID.to_string()));
                }
            }
            _ => return self.windows_system(scope, lang, name, options, targets),
        }
        false
    }

    /// Commands that change the system, and everything else.
    fn windows_system(
        &mut self,
        scope: &mut Scope,
        lang: Lang,
        name: &str,
        options: &[(String, String)],
        targets: &[String],
    ) -> bool {
        let has = |option: &str| options.iter().any(|(name, _)| name == option);
        let line = targets.join(" ").to_ascii_lowercase();
        let says = |word: &str| has(word) || line.contains(&format!("/{word}"));
        match name {
            "format-volume" | "clear-disk" | "initialize-disk" | "remove-partition"
            | "diskpart" | "cipher" | "new-partition" | "set-disk" => {
                self.thing(Verb::Destroys, "disk")
            }
            "format" if targets.iter().any(|t| t.ends_with(':')) => {
                self.thing(Verb::Destroys, "disk")
            }
            "vssadmin" | "wbadmin" if line.contains("delete") => {
                self.thing(Verb::Destroys, "backups")
            }
            "wmic" if line.contains("shadowcopy delete") => self.thing(Verb::Destroys, "backups"),
            "bcdedit" | "bootrec" => self.thing(Verb::Destroys, "system"),
            "stop-computer" | "restart-computer" | "shutdown" => {
                self.thing(Verb::Destroys, "system")
            }
            "clear-eventlog" | "wevtutil" => self.thing(Verb::Destroys, "logs"),
            "stop-process" | "taskkill" | "stop-service" => {}
            "set-executionpolicy" => self.thing(Verb::Escalates, "execution-policy"),
            "set-mppreference"
            | "add-mppreference"
            | "uninstall-windowsfeature"
            | "disable-windowsoptionalfeature" => {
                self.thing(Verb::Escalates, "defender");
            }
            "netsh" if line.contains("firewall") => self.thing(Verb::Escalates, "firewall"),
            "set-netfirewallprofile" => self.thing(Verb::Escalates, "firewall"),
            "takeown" | "icacls" | "set-acl" => self.thing(Verb::Escalates, "permissions"),
            "net" if says("add") => self.thing(Verb::Escalates, "users"),
            "new-localuser" | "add-localgroupmember" => self.thing(Verb::Escalates, "users"),
            "runas" => {
                self.thing(Verb::Escalates, "root");
                for text in targets {
                    self.windows_text(scope, lang, text);
                }
            }
            "schtasks" if says("create") || says("change") => self.thing(Verb::Persists, "cron"),
            "register-scheduledtask" | "new-scheduledtask" | "new-service" => {
                self.thing(Verb::Persists, "service");
            }
            "sc" if line.starts_with("create") || line.starts_with("config") => {
                self.thing(Verb::Persists, "service");
            }
            "reg" if line.starts_with("delete") => self.thing(Verb::Destroys, "registry"),
            "reg" if line.starts_with("add") && line.contains("\\run") => {
                self.thing(Verb::Persists, "registry-run");
            }
            "reg" if line.starts_with("save") => self.thing(Verb::Exposes, "registry"),
            "certutil" | "bitsadmin" | "mshta" | "regsvr32" | "rundll32" | "cscript"
            | "wscript" => {
                let mut fetched = false;
                for target in targets.iter().filter(|t| net::is_url(t) || t.contains("://")) {
                    let at = target.find("http").unwrap_or(0);
                    self.host(target.get(at..).unwrap_or_default());
                    fetched = true;
                }
                if fetched && name != "certutil" && name != "bitsadmin" {
                    self.out.add(Verb::Runs, Target::RemoteCode, &self.piece);
                }
                return fetched;
            }
            "start-process" | "invoke-item" | "invoke-command" | "start-job" | "start" | "call" => {
                let words: Vec<String> = targets.to_vec();
                if let Some(verb) = options.iter().find(|(n, _)| n == "verb")
                    && verb.1.eq_ignore_ascii_case("runas")
                {
                    self.thing(Verb::Escalates, "root");
                }
                if !words.is_empty() {
                    let arguments = options
                        .iter()
                        .find(|(n, _)| "argumentlist".starts_with(n.as_str()) && n.len() > 2);
                    let more = arguments.map_or("", |(_, v)| v.as_str());
                    self.windows_text(scope, lang, &format!("{} {more}", words.join(" ")));
                }
            }
            _ => return self.windows_other(scope, lang, name, options, targets),
        }
        false
    }

    fn windows_other(
        &mut self,
        scope: &mut Scope,
        lang: Lang,
        name: &str,
        options: &[(String, String)],
        targets: &[String],
    ) -> bool {
        if matches!(name, "powershell" | "pwsh" | "cmd")
            || !HARMLESS.iter().any(|front| name.starts_with(front))
        {
            if known_name(self.ctx.programs, name).is_some() && !matches!(name, "set" | "echo") {
                let mut argv = vec![name.to_owned()];
                for (option, value) in options {
                    let dash = if lang == Lang::Cmd { "/" } else { "-" };
                    let dash = if option.len() > 1
                        && lang != Lang::Cmd
                        && !matches!(name, "powershell" | "pwsh")
                    {
                        "--"
                    } else {
                        dash
                    };
                    argv.push(format!("{dash}{option}"));
                    if !value.is_empty() {
                        argv.push(value.clone());
                    }
                }
                argv.extend(targets.iter().cloned());
                self.invoke_apart(scope, argv, "");
            } else if !matches!(name, "set" | "echo" | "call") {
                self.unknown(Verb::Does, Reason::Program);
            }
        }
        false
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

    /// A computed command or a method call.
    fn windows_expression(&mut self, words: &[String]) -> bool {
        let line = words.join(" ");
        let lower = line.to_ascii_lowercase();
        if let Some(at) = lower.find("http") {
            let url = line.get(at..).unwrap_or_default();
            let end = url.find(['\'', '"', ')', ' ']).unwrap_or(url.len());
            self.host(url.get(..end).unwrap_or_default());
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

    fn windows_evaluated(&mut self, scope: &Scope, text: &str) {
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

    fn windows_path(&mut self, scope: &Scope, verb: Verb, text: &str, tree: bool) {
        let mut text = windows_home(self, text.trim_matches(['"', '\'']));
        if text.len() == 2 && text.ends_with(':') {
            text.push('/');
        }
        if text.contains('$') || text.contains('%') {
            self.unknown(verb, Reason::PathText);
            return;
        }
        let globbed = crate::program::find::globbed(&text.replace('\\', "/"));
        self.path(scope, verb, &globbed, tree);
    }
}

/// Known variables in a path.
fn windows_home(run: &Run<'_>, text: &str) -> String {
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

/// Options with their values, and the rest. Names are lower case without their dash.
fn parameters(args: &[String], lang: Lang) -> (Vec<(String, String)>, Vec<String>) {
    const SWITCHES: &[&str] = &[
        "recurse",
        "force",
        "whatif",
        "confirm",
        "r",
        "fo",
        "verbose",
        "passthru",
        "usebasicparsing",
        "append",
        "asplaintext",
        "wait",
        "nonewwindow",
        "raw",
        "noclobber",
    ];
    let mut options = Vec::new();
    let mut targets = Vec::new();
    let mut words = args.iter().peekable();
    while let Some(word) = words.next() {
        let slash =
            lang == Lang::Cmd && word.starts_with('/') && word.len() < 12 && !word.contains('.');
        let dash = word.starts_with('-') && word.len() > 1;
        if !slash && !dash {
            targets.push(word.clone());
            continue;
        }
        let name = word.trim_start_matches(['-', '/']).to_ascii_lowercase();
        if slash {
            for name in name.split('/') {
                options.push((name.to_owned(), String::new()));
            }
            continue;
        }
        let (name, glued) = match name.split_once(':') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (name, None),
        };
        let takes = lang == Lang::Powershell
            && glued.is_none()
            && !SWITCHES
                .iter()
                .any(|switch| *switch == name || (name.len() > 2 && switch.starts_with(&name)))
            && words.peek().is_some_and(|next| !next.starts_with('-'));
        let value = if takes { words.next().cloned() } else { glued };
        options.push((name, value.unwrap_or_default()));
    }
    (options, targets)
}

/// Cuts a text into commands and words.
fn pieces(text: &str, lang: Lang) -> Vec<Piece> {
    let mut list = vec![Piece { words: Vec::new(), piped: false }];
    let mut word = String::new();
    let mut quote = None;
    let mut depth = 0u32;
    let mut chars = text.chars().peekable();
    let escape = if lang == Lang::Powershell { '`' } else { '^' };
    while let Some(c) = chars.next() {
        let Some(last) = list.last_mut() else { break };
        match (quote, c) {
            (Some(q), c) if c == q => {
                quote = None;
                if depth > 0 {
                    word.push(c);
                }
            }
            (Some(_), c) => word.push(c),
            (None, '"' | '\'') if c == '"' || lang == Lang::Powershell => {
                quote = Some(c);
                if depth > 0 {
                    word.push(c);
                }
            }
            (None, c) if c == escape => word.extend(chars.next().filter(|c| *c != '\n')),
            (None, '(')
                if depth == 0
                    && matches!(
                        word.to_ascii_lowercase().as_str(),
                        "iex" | "invoke-expression"
                    ) =>
            {
                last.words.push(std::mem::take(&mut word));
                depth += 1;
                word.push(c);
            }
            (None, '(' | '{') => {
                depth += 1;
                word.push(c);
            }
            (None, ')' | '}') => {
                depth = depth.saturating_sub(1);
                word.push(c);
            }
            (None, c) if depth > 0 => word.push(c),
            (None, '#') if word.is_empty() && lang == Lang::Powershell => {
                for c in chars.by_ref() {
                    if c == '\n' {
                        break;
                    }
                }
            }
            (None, ';' | '\n' | '|') | (None, '&') => {
                if !word.is_empty() {
                    last.words.push(std::mem::take(&mut word));
                }
                if c == '&' && lang == Lang::Powershell && chars.peek() != Some(&'&') {
                    continue;
                }
                last.piped = c == '|' && chars.peek() != Some(&'|');
                list.push(Piece { words: Vec::new(), piped: false });
            }
            (None, '>') => {
                if !word.is_empty() && !matches!(word.as_str(), "2" | "1" | "*") {
                    last.words.push(std::mem::take(&mut word));
                }
                word.clear();
                if chars.peek() == Some(&'>') {
                    chars.next();
                }
                last.words.push(">".to_owned());
            }
            (None, c) if c.is_whitespace() => {
                if !word.is_empty() {
                    last.words.push(std::mem::take(&mut word));
                }
            }
            (None, c) => word.push(c),
        }
    }
    if let Some(last) = list.last_mut()
        && !word.is_empty()
    {
        last.words.push(word);
    }
    list.retain(|piece| !piece.words.is_empty());
    list
}

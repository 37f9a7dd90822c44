//! Programs around files and text whose arguments or output need code: `echo`, `dd`, `tar`, `chmod`.
//!
//! The small filters (`base64`, `tr`, `rev`) are here because hidden commands are built with them.
//! Refused: running a filter that is not understood; its output is unknown.

use crate::decode;
use crate::effect::{Reason, Verb};
use crate::mark;
use crate::program::invoke::Running;
use crate::program::made::tightens;
use crate::program::table::Role;
use crate::run::Run;
use crate::shell::scope::{Scope, Var, is_secret_name};
use crate::shell::text::unescape;

impl Run<'_> {
    pub(crate) fn echo(&mut self, running: &Running<'_, '_>) -> String {
        let mut words = running.argv.get(1..).unwrap_or_default();
        let mut escapes = false;
        let mut newline = true;
        while let Some(word) = words.first() {
            let letters = word.strip_prefix('-').unwrap_or_default();
            if letters.is_empty() || !letters.bytes().all(|b| matches!(b, b'e' | b'n' | b'E')) {
                break;
            }
            escapes |= letters.contains('e');
            newline &= !letters.contains('n');
            words = words.get(1..).unwrap_or_default();
        }
        let mut text = words.join(" ");
        if escapes {
            text = unescape(&text, false);
        }
        if newline {
            text.push('\n');
        }
        text
    }

    /// `apply_patch`, `patch`, `git apply`: the files that the patch names, if its text is known.
    pub(crate) fn patch_program(
        &mut self,
        scope: &Scope,
        running: &Running<'_, '_>,
    ) -> Option<String> {
        let args = running.args;
        let given = args.positionals.iter().find(|word| word.contains("*** Begin Patch"));
        let mut named = args.values.iter().filter(|(role, _)| *role == Role::Read).map(|(_, v)| v);
        let text = match given {
            Some(text) => Some(text.clone()),
            None if !running.stdin.is_empty() => Some(running.stdin.to_owned()),
            None => named.next_back().and_then(|file| self.content(scope, file)),
        };
        match text.filter(|text| !mark::has_void(text)) {
            Some(text) => self.patch_text(scope, &text),
            None if running.name.starts_with("apply") || running.stdin.contains(mark::REMOTE) => {
                self.unknown(Verb::Writes, Reason::PathText);
            }
            // What a patch file changes lies below the folder it is applied in.
            None => self.path(scope, Verb::Writes, ".", false),
        }
        None
    }

    /// `tee`: what flows through is what the files hold.
    pub(crate) fn tee(&mut self, scope: &Scope, running: &Running<'_, '_>) -> String {
        for file in &running.args.positionals {
            self.wrote(scope, file, running.stdin, running.args.has("-a"));
        }
        running.stdin.to_owned()
    }

    /// `envsubst`: its input with the values of the variables in it.
    pub(crate) fn envsubst(&mut self, running: &Running<'_, '_>) -> String {
        let names = running.stdin.split('$').skip(1).map(|rest| {
            let rest = rest.strip_prefix('{').unwrap_or(rest);
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
        });
        if let Some(name) = names.into_iter().find(|name| is_secret_name(name)) {
            self.secret_name = name.into();
            return mark::SECRET.to_string();
        }
        mark::VOID.to_string()
    }

    /// `printenv`: all variables, or the ones named.
    pub(crate) fn print_environment(&mut self, running: &Running<'_, '_>) -> String {
        if running.args.positionals.is_empty() {
            self.secret_name = "*".into();
            return mark::SECRET.to_string();
        }
        let secret = running.args.positionals.iter().find(|name| is_secret_name(name));
        match secret {
            Some(name) => {
                self.secret_name = name.as_str().into();
                mark::SECRET.to_string()
            }
            None => mark::VOID.to_string(),
        }
    }

    pub(crate) fn printf(&mut self, scope: &mut Scope, running: &Running<'_, '_>) -> String {
        let mut words = running.argv.get(1..).unwrap_or_default();
        let mut target = None;
        if let [option, name, rest @ ..] = words
            && option == "-v"
        {
            target = Some(name);
            words = rest;
        }
        if words.first().is_some_and(|word| word == "--") {
            words = words.get(1..).unwrap_or_default();
        }
        let Some((format, args)) = words.split_first() else { return String::new() };
        let mut text = String::new();
        let mut args = args.iter();
        for _ in 0..64 {
            let before = args.len();
            formatted(format, &mut args, &mut text);
            if args.len() == 0 || args.len() == before {
                break;
            }
        }
        if args.len() > 0 {
            text.push(mark::VOID);
        }
        if let Some(name) = target {
            scope.set(name, Var::Scalar(vec![text]));
            return String::new();
        }
        text
    }

    pub(crate) fn base64(&mut self, scope: &Scope, running: &Running<'_, '_>) -> String {
        let text = self.contents(scope, running);
        if mark::has_mark(&text) || text.is_empty() {
            return if text.contains(mark::SECRET) { text } else { mark::VOID.to_string() };
        }
        let decodes = running.args.has("-d") || running.args.has("-D");
        if !decodes {
            // Encoding a known text: what it decodes to is known where it is decoded again; here
            // only a word comes out.
            return mark::WORD.to_string();
        }
        let decoded = if running.name == "base32" {
            decode::base32_text(&text)
        } else {
            decode::base64_text(text.trim())
        };
        decoded.filter(|t| !mark::has_mark(t)).unwrap_or_else(|| mark::VOID.to_string())
    }

    pub(crate) fn rev(&mut self, running: &Running<'_, '_>) -> String {
        let text = running.stdin;
        if running.name == "tac" {
            return text.lines().rev().map(|line| format!("{line}\n")).collect();
        }
        text.lines().map(|line| line.chars().rev().collect::<String>() + "\n").collect()
    }

    /// `tr`: deletions and the ranges that rot13 is made of.
    pub(crate) fn tr(&mut self, running: &Running<'_, '_>) -> String {
        let text = running.stdin;
        let positionals = &running.args.positionals;
        let sets: Vec<Vec<char>> = positionals.iter().map(|set| letters(set)).collect();
        let deletes = running.args.has("-d");
        match sets.as_slice() {
            [set] if deletes => text.chars().filter(|c| !set.contains(c)).collect(),
            [from, to] if !running.args.has("-c") && !deletes => {
                let last = to.last().copied();
                let change = |c: char| match from.iter().position(|f| *f == c) {
                    Some(at) => to.get(at).copied().or(last).unwrap_or(c),
                    None => c,
                };
                text.chars().map(change).collect()
            }
            _ if text.chars().all(|c| !mark::is_mark(c) && c.is_alphanumeric() || c == '\n') => {
                mark::WORD.to_string()
            }
            _ => mark::VOID.to_string(),
        }
    }

    pub(crate) fn hex_decode(&mut self, running: &Running<'_, '_>) -> String {
        let back = running.args.options.iter().any(|(name, _)| name == "-r" || name == "-rp");
        if !back {
            return mark::VOID.to_string();
        }
        let decoded = decode::hex_text(&running.stdin.replace("0x", ""));
        decoded.filter(|t| !mark::has_mark(t)).unwrap_or_else(|| mark::VOID.to_string())
    }

    /// `gunzip`, `zcat` and the like: they pass on text that is not known.
    pub(crate) fn decoded(&mut self, scope: &Scope, running: &Running<'_, '_>) -> String {
        let text = self.contents(scope, running);
        if text.contains(mark::REMOTE) {
            return mark::REMOTE.to_string();
        }
        mark::VOID.to_string()
    }

    pub(crate) fn sort(&mut self, scope: &Scope, running: &Running<'_, '_>) -> String {
        let text = self.contents(scope, running);
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    pub(crate) fn grep(&mut self, scope: &Scope, running: &Running<'_, '_>) -> String {
        self.assignments_shown(scope, running);
        let lists = running.args.has("-l") || running.args.has("-L");
        if lists {
            let places = running.args.values.iter().filter(|(role, _)| *role == Role::Read);
            let lines: Vec<String> = places
                .map(|(_, place)| format!("{}/{}", place.trim_end_matches('/'), mark::BELOW))
                .collect();
            if lines.is_empty() {
                return mark::BELOW.to_string();
            }
            return lines.join("\n");
        }
        if running.args.values.iter().any(|(role, _)| *role == Role::Read) {
            return mark::VOID.to_string();
        }
        let text = running.stdin;
        if text.contains(mark::SECRET) {
            let pattern = running.args.positionals.first().map_or("", |p| p.as_str());
            let plain = pattern.trim_start_matches('^').trim_end_matches('=');
            let literal = !plain.is_empty()
                && plain.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && !running.args.has("-v");
            let secret = is_secret_name(plain)
                || ["aws", "key", "secret", "token", "pass", "cred", "auth", "api"]
                    .iter()
                    .any(|part| plain.to_ascii_lowercase().contains(part));
            return if literal && !secret { mark::WORD.to_string() } else { text.to_owned() };
        }
        let _ = scope;
        let pattern = running.args.positionals.first().map_or("", |p| p.as_str());
        let listed = |line: &str| line == mark::BELOW.to_string() || line == ".env";
        let is_list = text.lines().all(listed) && text.contains(mark::BELOW);
        let named = credentials_named(pattern).filter(|_| is_list && !running.args.has("-v"));
        if let Some(named) = named {
            return named;
        }
        let plain = pattern.trim_start_matches(['^', '\\']).trim_end_matches('$');
        if text.lines().any(mark::has_mark)
            && plain.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        {
            // Of lines that are known those that have it; the others may.
            let wanted = |line: &&str| {
                mark::has_mark(line) || line.contains(plain) != running.args.has("-v")
            };
            return text.lines().filter(wanted).map(|line| format!("{line}\n")).collect();
        }
        text.to_owned()
    }

    /// `rg --hidden --no-ignore 'KEY='`: the lines of hidden files that set a secret.
    fn assignments_shown(&mut self, scope: &Scope, running: &Running<'_, '_>) {
        let args = running.args;
        let twice = |word: &String| word.starts_with("-uu");
        let all = args.has("--hidden") && (args.has("--no-ignore") || args.has("-u"))
            || running.argv.iter().any(twice);
        let pattern = args.positionals.first().map_or("", String::as_str);
        let name = pattern.split('=').next().unwrap_or_default();
        let name = name.trim_matches(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let secret = is_secret_name(name) || matches!(name, "KEY" | "key");
        let lists = args.has("-l") || args.has("-c") || args.has("-q");
        if all && pattern.contains('=') && secret && !lists && args.positionals.len() < 2 {
            self.path(scope, Verb::Reads, ".env", false);
        }
    }

    pub(crate) fn dd(&mut self, scope: &Scope, running: &Running<'_, '_>) -> Option<String> {
        for word in running.argv.iter().skip(1) {
            match word.split_once('=') {
                Some(("if", file)) => self.path(scope, Verb::Reads, file, false),
                Some(("of", file)) => self.path(scope, Verb::Writes, file, false),
                _ => {}
            }
        }
        None
    }

    pub(crate) fn mkfifo(
        &mut self,
        scope: &mut Scope,
        running: &Running<'_, '_>,
    ) -> Option<String> {
        for name in &running.args.positionals {
            self.wrote(scope, name, &mark::VOID.to_string(), false);
        }
        None
    }

    /// `chmod` and `chown`: what is opened up, and how much of it.
    pub(crate) fn chmod(&mut self, scope: &Scope, running: &Running<'_, '_>) -> Option<String> {
        let mut words = running.args.positionals.iter();
        // `chmod -x f`: the mode looks like options.
        let dashed = running.argv.iter().skip(1).find(|word| {
            word.len() > 1
                && word.starts_with('-')
                && word.bytes().skip(1).all(|b| matches!(b, b'r' | b'w' | b'x' | b's' | b't'))
        });
        let mode = match dashed {
            Some(mode) => mode.clone(),
            None => words.next().cloned().unwrap_or_default(),
        };
        let recursive = running.args.has("-R");
        for file in words {
            let at = crate::path::normalise(&scope.cwd, file).unwrap_or_default();
            let private = !recursive || !mode.starts_with(|c: char| c.is_ascii_digit());
            if running.name != "chmod" || !private || !tightens(&mode, &at) {
                self.path(scope, Verb::Writes, file, recursive);
            }
        }
        if running.name == "chmod" {
            let digits = mode.trim_start_matches('0');
            if is_setuid(&mode) {
                self.thing(Verb::Escalates, "setuid");
            } else if digits.ends_with("777")
                || digits.ends_with("666")
                || matches!(
                    mode.as_str(),
                    "a+w" | "o+w" | "a+rwx" | "+w" | "ugo+rwx" | "o+rwx" | "a=rwx"
                )
            {
                let thing = if recursive { "world-writable-tree" } else { "world-writable" };
                self.thing(Verb::Escalates, thing);
            } else if recursive && matches!(mode.as_str(), "000" | "0" | "a-rwx" | "-rwx") {
                self.thing(Verb::Escalates, "permissions");
            }
        } else if recursive {
            self.thing(Verb::Escalates, "owner-tree");
        }
        None
    }

    /// `install -m MODE`: the file comes to be with this mode.
    pub(crate) fn made_with_mode(&mut self, running: &Running<'_, '_>) -> Option<String> {
        let given = ["-m", "--mode", "--chmod"].iter().find_map(|name| running.args.value(name));
        // `rsync --chmod=D755,F4755`.
        let mut modes = given.unwrap_or_default().split(',');
        if modes.any(|mode| is_setuid(mode.trim_start_matches(['D', 'F']))) {
            self.thing(Verb::Escalates, "setuid");
        }
        None
    }

    pub(crate) fn sed(&mut self, scope: &Scope, running: &Running<'_, '_>) -> Option<String> {
        let mut files = running.args.positionals.iter();
        let scripted = running.args.has("-e") || running.args.has("-f");
        let script = if scripted { None } else { files.next().cloned() };
        if let Some(script) = &script {
            self.code(scope, crate::program::table::Lang::Sed, script);
        }
        let in_place = running.args.has("-i");
        let files: Vec<String> = files.cloned().collect();
        for file in &files {
            let verb = if in_place { Verb::Writes } else { Verb::Reads };
            self.path(scope, verb, file, false);
        }
        if in_place {
            return Some(String::new());
        }
        let text = running.stdin;
        // A substitution of one character in known text is followed; the rest is not.
        if files.is_empty()
            && let Some(script) = script
            && let Some((from, to)) = substitution(&script)
        {
            return Some(text.replace(&from, &to));
        }
        if files.is_empty() && text.chars().any(|c| c == mark::REMOTE || c == mark::SECRET) {
            return Some(text.to_owned());
        }
        if files.is_empty() && mark::has_mark(text) && !mark::has_void(text) {
            return Some(mark::BELOW.to_string());
        }
        Some(mark::VOID.to_string())
    }

    /// `kill` and `pkill`: of everything, or of what keeps the machine running.
    pub(crate) fn kill(&mut self, running: &Running<'_, '_>) -> Option<String> {
        let words: Vec<&str> = running.argv.iter().skip(1).map(String::as_str).collect();
        if running.name == "kill" {
            let all = words.iter().skip(1).any(|word| matches!(*word, "-1" | "1"));
            if all || words == ["-1"] || words == ["1"] {
                self.thing(Verb::Destroys, "system");
            }
            return None;
        }
        const VITAL: &[&str] = &[
            "systemd",
            "init",
            "sshd",
            "dbus",
            "Xorg",
            "gdm",
            "launchd",
            "WindowServer",
            "loginwindow",
            "NetworkManager",
            "auditd",
            "falco",
            "tollgate",
            "osqueryd",
            "crowdstrike",
        ];
        let vital = words.iter().any(|word| VITAL.iter().any(|name| word.starts_with(name)));
        // All of a user's processes, or whatever a pattern that fits everything names.
        let args = running.args;
        let everything = (args.has("-u") && args.positionals.is_empty())
            || args.positionals.iter().any(|word| matches!(word.as_str(), "." | ".*" | ""));
        if vital || everything {
            self.thing(Verb::Destroys, "system");
        }
        None
    }
}

/// One pass over a `printf` format.
fn formatted(format: &str, args: &mut std::slice::Iter<'_, String>, text: &mut String) {
    let format = unescape(format, true);
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        let mut spec = '%';
        for c in chars.by_ref() {
            if c.is_ascii_alphabetic() || c == '%' {
                spec = c;
                break;
            }
        }
        let mut next = || args.next().cloned().unwrap_or_default();
        match spec {
            '%' => text.push('%'),
            's' | 'd' | 'i' | 'u' | 'q' => text.push_str(&next()),
            'b' => text.push_str(&unescape(&next(), false)),
            'c' => text.extend(next().chars().next()),
            _ => {
                next();
                text.push(mark::WORD);
            }
        }
    }
}

/// The letters of a `tr` set.
fn letters(set: &str) -> Vec<char> {
    let set = match set {
        "[:upper:]" => "A-Z",
        "[:lower:]" => "a-z",
        "[:space:]" => " \t\n\r",
        "[:digit:]" => "0-9",
        set => set,
    };
    let set = unescape(set, false);
    let chars: Vec<char> = set.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(c) = chars.get(at) {
        match (chars.get(at + 1), chars.get(at + 2)) {
            (Some('-'), Some(end)) if c <= end => {
                out.extend((*c..=*end).take(256));
                at += 3;
            }
            (_, _) => {
                out.push(*c);
                at += 1;
            }
        }
    }
    out
}

/// `s/x/y/g` with literal texts.
fn substitution(script: &str) -> Option<(String, String)> {
    let rest = script.strip_prefix('s')?;
    let separator = rest.chars().next()?;
    let mut fields = rest.get(separator.len_utf8()..)?.split(separator);
    let (from, to, flags) = (fields.next()?, fields.next()?, fields.next()?);
    let literal =
        |text: &str| !text.contains(['\\', '.', '*', '[', ']', '^', '$', '&', '+', '?', '(']);
    (flags == "g" && !from.is_empty() && literal(from) && literal(to))
        .then(|| (from.to_owned(), to.to_owned()))
}

/// `ls -A | grep env`: of a list of files, those that are named like ones that hold credentials.
fn credentials_named(pattern: &str) -> Option<String> {
    const NAMES: &[&str] = &[
        ".env",
        "id_rsa",
        "id_ed25519",
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".pgpass",
        "credentials",
        "credentials.json",
        ".git-credentials",
    ];
    let plain = pattern.trim_start_matches(['^', '\\', '.']).trim_end_matches('$');
    let named = |name: &&&str| plain.len() > 2 && name.trim_start_matches('.') == plain;
    let name = NAMES.iter().find(named)?;
    Some(format!("{0}\n{0}/{name}", mark::BELOW))
}

/// Whether a mode, in digits or in letters, lets a program run as its owner or group.
pub(crate) fn is_setuid(mode: &str) -> bool {
    let digits = mode.trim_start_matches('0');
    let in_digits = digits.len() == 4 && digits.starts_with(['2', '4', '6', '7']);
    let in_letters = mode.contains('s') && mode.contains(['+', '=']);
    in_digits || in_letters
}

//! Programs that run other programs: shells, `env`, `xargs`, `ssh`, containers, multiplexers.
//!
//! Refused: stopping at the wrapper. What runs inside is analysed as if it stood alone, in the folder
//! and with the input that the wrapper gives it.

use std::rc::Rc;

use crate::effect::{Effects, Reason, Target, Verb};
use crate::limits::VALUES_MAX;
use crate::mark;
use crate::net;
use crate::path::{self, ELSEWHERE, PathTarget};
use crate::program::invoke::Running;
use crate::program::table::Lang;
use crate::run::Run;
use crate::shell::scope::{Scope, Var, general};

impl Run<'_> {
    /// `sh`, `bash` and their like.
    pub(crate) fn shell(&mut self, scope: &Scope, running: &Running<'_, '_>) -> String {
        let mut command = false;
        let mut from_input = false;
        let mut only_checks = false;
        let mut words = running.argv.iter().skip(1);
        let mut inner = scope.clone();
        let mut first = None;
        while let Some(word) = words.next() {
            if word == "--" || word == "-" {
                first = words.next();
                break;
            }
            if let Some(long) = word.strip_prefix("--") {
                if matches!(long, "rcfile" | "init-file")
                    && let Some(file) = words.next()
                {
                    self.script_file(&inner, Lang::Shell, file, Vec::new(), "");
                }
                if long == "command" {
                    command = true;
                }
                continue;
            }
            if let Some(letters) = word.strip_prefix(['-', '+']) {
                command |= letters.contains('c');
                from_input |= letters.contains('s');
                only_checks |= letters.contains('n') && word.starts_with('-');
                if letters.ends_with(['o', 'O']) {
                    words.next();
                }
                continue;
            }
            first = Some(word);
            break;
        }
        let rest: Vec<String> = words.cloned().collect();
        // `bash -n FILE`: the text is read and nothing of it runs.
        if only_checks && matches!(running.name, "sh" | "bash" | "dash" | "ksh" | "zsh") {
            if let Some(file) = first.filter(|_| !command) {
                self.path(scope, Verb::Reads, file, false);
            }
            return String::new();
        }
        match first {
            Some(text) if command => {
                let args = rest.get(1..).unwrap_or_default().to_vec();
                inner.args = Some(Rc::new(args));
                if let Some(zero) = rest.first() {
                    inner.set("0", Var::Scalar(vec![zero.clone()]));
                }
                self.run_text(&mut inner, text, running.stdin)
            }
            Some(file) if !from_input => {
                self.script_file(scope, Lang::Shell, file, rest, running.stdin)
            }
            _ => {
                inner.args = None;
                self.run_text(&mut inner, running.stdin, "")
            }
        }
    }

    pub(crate) fn env_program(&mut self, scope: &Scope, running: &Running<'_, '_>) -> String {
        let mut inner = scope.clone();
        let mut argv = running.args.nested.clone().unwrap_or_default();
        while let Some((name, value)) = argv.first().and_then(|word| word.split_once('=')) {
            self.environment_variable(&inner, name, value);
            inner.set(name, Var::Scalar(vec![value.to_owned()]));
            argv.remove(0);
        }
        if let Some(text) = running.args.value("-S") {
            let text = format!("{text} {}", argv.join(" "));
            let words = text.trim_start();
            return self.run_text(&mut inner, words, running.stdin);
        }
        if argv.is_empty() {
            self.secret_name = "*".into();
            return mark::SECRET.to_string();
        }
        self.invoke_apart(&inner, argv, running.stdin)
    }

    /// The words that `xargs` and `parallel` read from their input.
    fn items(&mut self, scope: &Scope, running: &Running<'_, '_>, lines: bool) -> Vec<String> {
        let file = running.args.value("-a").map(str::to_owned);
        let text = match file {
            Some(file) => self.content(scope, &file).unwrap_or_else(|| {
                let own = !mark::has_mark(&file) && !file.starts_with(['/', '~']);
                if own { mark::LINE.to_string() } else { mark::VOID.to_string() }
            }),
            None if running.stdin.is_empty() => mark::VOID.to_string(),
            None => running.stdin.replace(mark::FILE, "\u{E00A}"),
        };
        let whole = lines || running.args.has("-0");
        let split = |c: char| c == '\n' || c == '\0' || (!whole && c.is_whitespace());
        let mut items: Vec<String> =
            text.split(split).map(str::trim).filter(|i| !i.is_empty()).map(str::to_owned).collect();
        if !whole {
            for item in &mut items {
                if item.len() > 1 && item.starts_with(['\'', '"']) {
                    *item = item.trim_matches(['\'', '"']).to_owned();
                }
            }
        }
        items
    }

    pub(crate) fn xargs(&mut self, scope: &Scope, running: &Running<'_, '_>) -> String {
        let replace = running.args.value("-I").map(str::to_owned);
        let replace = replace.or_else(|| running.args.has("-i").then(|| "{}".to_owned()));
        let items = self.items(scope, running, replace.is_some());
        let mut argv = running.args.nested.clone().unwrap_or_else(|| vec!["echo".to_owned()]);
        let Some(replace) = replace.filter(|r| !r.is_empty()) else {
            argv.extend(items);
            return self.invoke_apart(scope, argv, "");
        };
        let items = if items.len() > VALUES_MAX / 2 { vec![general(&items)] } else { items };
        let mut stdout = String::new();
        for item in items {
            let argv = argv.iter().map(|word| word.replace(&replace, &item)).collect();
            let text = self.invoke_apart(scope, argv, "");
            crate::shell::walk::append(&mut stdout, &text);
        }
        stdout
    }

    pub(crate) fn parallel(&mut self, scope: &Scope, running: &Running<'_, '_>) -> String {
        let rest = running.args.nested.clone().unwrap_or_default();
        let at = rest.iter().position(|word| word.starts_with(":::"));
        let words = rest.get(..at.unwrap_or(rest.len())).unwrap_or_default();
        // With `-q` the words stay words; without it a shell reads them once more.
        let command = if running.args.has("--quote") {
            let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
            quoted.collect::<Vec<_>>().join(" ")
        } else {
            words.join(" ")
        };
        let items = match at {
            Some(at) => {
                let words = rest.get(at + 1..).unwrap_or_default();
                words.iter().filter(|word| !word.starts_with(":::")).cloned().collect()
            }
            None => self.items(scope, running, true),
        };
        let mut inner = scope.clone();
        if command.is_empty() {
            let text = items.join("\n");
            return self.run_text(&mut inner, &text, "");
        }
        let items = if items.len() > VALUES_MAX / 2 { vec![general(&items)] } else { items };
        for item in items {
            let text = if command.contains("{}") {
                command.replace("{}", &item)
            } else {
                format!("{command} {item}")
            };
            self.run_text(&mut inner, &text, "");
        }
        mark::VOID.to_string()
    }

    /// `ssh HOST COMMAND`: the command runs elsewhere; its absolute paths count as they stand.
    pub(crate) fn ssh(&mut self, scope: &Scope, running: &Running<'_, '_>) -> Option<String> {
        let mut remote = Scope::new(&mark::VOID.to_string());
        remote.vars = Rc::clone(&scope.vars);
        let away = std::mem::replace(&mut self.away, true);
        match &running.args.shell_rest {
            Some(rest) => {
                self.run_text(&mut remote, &rest.join(" "), running.stdin);
            }
            None if running.args.positionals.len() == 1 && !running.stdin.is_empty() => {
                self.run_text(&mut remote, running.stdin, "");
            }
            None => {}
        }
        self.away = away;
        Some(mark::VOID.to_string())
    }

    /// `KEY=VALUE` or `KEY VALUE` of a program's settings: the value of some is a command.
    pub(crate) fn setting(&mut self, scope: &Scope, setting: &str) {
        const COMMANDS: &[&str] = &[
            "proxycommand",
            "localcommand",
            "knownhostscommand",
            "remotecommand",
            "pkcs11provider",
            "securitykeyprovider",
            "xauthlocation",
            "use_askpass",
            "x:onoutofmemoryerror",
            "x:onerror",
            "script-shell",
            "build.rustc",
            "build.rustc-wrapper",
            "build.rustc-workspace-wrapper",
            "build.rustdoc",
        ];
        const HOSTS: &[&str] = &["http_proxy", "https_proxy", "ftp_proxy", "proxyjump", "hostname"];
        const RUNS: &[&str] = &["execute(", "execute-silent(", "become(", "reload(", "transform("];
        for front in RUNS {
            if let Some((_, text)) = setting.split_once(front) {
                let mut inner = scope.clone();
                self.run_text(&mut inner, text.strip_suffix(')').unwrap_or(text), "");
            }
        }
        let pair = setting.trim().split_once(['=', ' ', '\t']);
        let Some((key, value)) = pair else { return };
        let key = key.trim().to_ascii_lowercase();
        let value = unquoted(value.trim_start_matches([' ', '=']));
        let is_hook = key.ends_with("-invoke::") || key.ends_with("-invoke") || key == "match";
        let runner =
            key.starts_with("target.") && (key.ends_with("runner") || key.ends_with("linker"));
        let script = key.starts_with("scripts.");
        if COMMANDS.contains(&key.as_str()) || is_hook || runner || script {
            let text = unquoted(value.strip_prefix("exec ").unwrap_or(value));
            let mut inner = scope.clone();
            self.run_text(&mut inner, text, "");
            if text.starts_with('/') && self.is_shared(text) {
                self.unknown(Verb::Runs, Reason::ProgramName);
            }
        } else if net::is_url(value) {
            self.spec_address(value);
        } else if HOSTS.contains(&key.as_str()) {
            self.host(value);
        }
    }

    /// A command in a container: what it does to paths it does inside, unless they are mounted.
    pub(crate) fn docker_run(
        &mut self,
        scope: &Scope,
        running: &Running<'_, '_>,
    ) -> Option<String> {
        let entry = running.args.value("--entrypoint").map(str::to_owned);
        let mut argv = running.args.nested.clone().unwrap_or_default();
        let image = running.args.positionals.first().cloned().unwrap_or_default();
        if let Some(entry) = entry.filter(|entry| !entry.is_empty()) {
            argv.insert(0, entry);
        } else if argv.first().is_some_and(|word| word.starts_with('-'))
            && self.ctx.programs.get(image_program(&image)).is_some()
        {
            argv.insert(0, image_program(&image).to_owned());
        }
        if argv.is_empty() {
            return None;
        }
        let mounts: Vec<(String, String)> = running
            .args
            .options
            .iter()
            .filter(|(name, _)| name == "-v" || name == "--mount")
            .filter_map(|(_, value)| mount_of(value.as_deref()?))
            .collect();
        let folder = running.args.value("-w").unwrap_or("/").to_owned();
        let mut inner = Scope::new(&folder);
        inner.vars = Rc::clone(&scope.vars);
        let outside = std::mem::take(&mut self.out);
        let printed = self.invoke(&mut inner, argv, running.stdin);
        let inside = std::mem::replace(&mut self.out, outside);
        let lasts = running.args.sub.contains("exec") || running.args.sub == "debug";
        self.of_container(scope, &inside, &mounts, lasts);
        // A secret that is shown inside is shown here.
        let secret = printed.contains(mark::SECRET);
        Some(if secret { printed } else { mark::VOID.to_string() })
    }

    /// A text that the shell of a device or of another machine runs: what it does to paths it does there.
    pub(crate) fn device_shell(
        &mut self,
        scope: &Scope,
        running: &Running<'_, '_>,
    ) -> Option<String> {
        let given = running.args.shell_rest.as_ref().map(|rest| rest.join(" "));
        let text = given.or(running.args.value("-c").map(str::to_owned));
        let text = text.unwrap_or_else(|| running.stdin.to_owned());
        let mut inner = Scope::new("/");
        inner.vars = Rc::clone(&scope.vars);
        let outside = std::mem::take(&mut self.out);
        let printed = self.run_text(&mut inner, text.trim_start_matches("-- "), "");
        let inside = std::mem::replace(&mut self.out, outside);
        self.of_container(scope, &inside, &[], true);
        let secret = printed.contains(mark::SECRET);
        Some(if secret { printed } else { mark::VOID.to_string() })
    }

    /// What is done inside of a container; `lasts` where it is not thrown away with the command.
    fn of_container(
        &mut self,
        scope: &Scope,
        inside: &Effects,
        mounts: &[(String, String)],
        lasts: bool,
    ) {
        for effect in inside {
            let Target::Path(target) = &effect.target else {
                self.out.add(effect.verb, effect.target.clone(), &effect.piece);
                continue;
            };
            let text = target.marked();
            let mounted = mounts.iter().find_map(|(host, place)| {
                let rest = text.strip_prefix(place.trim_end_matches('/'))?;
                (rest.is_empty() || rest.starts_with('/')).then(|| format!("{host}{rest}"))
            });
            match mounted {
                Some(path) => self.path(scope, effect.verb, &path, target.is_tree()),
                None => {
                    let all_mounted = mounts.iter().find(|(_, place)| {
                        target.is_tree() && place.starts_with(text.trim_end_matches('/'))
                    });
                    if let Some((host, _)) = all_mounted {
                        self.path(scope, effect.verb, host, true);
                    }
                    // What lies at the top of a container is most of it.
                    let is_shallow = !text.trim_matches('/').contains('/');
                    let is_much = target.is_tree() || !target.is_literal();
                    if effect.verb == Verb::Deletes && is_shallow && is_much {
                        let thing = Target::Thing("container".into());
                        self.out.add(Verb::Destroys, thing, &effect.piece);
                    } else if effect.verb == Verb::Deletes && is_much && lasts && is_kept(text) {
                        let thing = Target::Thing("containers".into());
                        self.out.add(Verb::Destroys, thing, &effect.piece);
                    }
                    let path = format!("{ELSEWHERE}{text}");
                    let target = Target::Path(PathTarget::new(path, None, target.is_tree()));
                    self.out.add(effect.verb, target, &effect.piece);
                }
            }
        }
    }

    /// `tmux send-keys`, `screen -X stuff`: text typed into a shell.
    pub(crate) fn tmux(&mut self, scope: &Scope, running: &Running<'_, '_>) -> Option<String> {
        let mut words: Vec<&str> = running.args.positionals.iter().map(String::as_str).collect();
        if running.name == "screen" {
            let at = running.argv.iter().position(|word| word == "stuff")?;
            words = running.argv.iter().skip(at + 1).map(String::as_str).collect();
        }
        let keys = ["Enter", "C-m", "Space", "C-c", "C-d", "KPEnter", "Escape", "C-z", "C-l"];
        let text: Vec<String> = words
            .iter()
            .map(|word| {
                if keys.contains(word) {
                    if *word == "Space" { " ".to_owned() } else { "\n".to_owned() }
                } else {
                    word.replace("\\n", "\n").replace("^M", "\n")
                }
            })
            .collect();
        let mut inner = scope.clone();
        self.run_text(&mut inner, &text.concat(), "");
        None
    }

    /// `powershell -Command ..`, `cmd /c ..` from another shell.
    pub(crate) fn windows_shell(
        &mut self,
        scope: &Scope,
        running: &Running<'_, '_>,
    ) -> Option<String> {
        if running.name == "cmd" {
            let at = running.argv.iter().position(|word| {
                let word = word.to_ascii_lowercase();
                word == "/c" || word == "/k" || word == "//c" || word == "//k"
            })?;
            let text = running.argv.get(at + 1..).unwrap_or_default().join(" ");
            self.windows_text(scope, Lang::Cmd, &text);
            return None;
        }
        let mut words = running.argv.iter().skip(1);
        while let Some(word) = words.next() {
            let lower = word.to_ascii_lowercase();
            if !lower.starts_with('-') && !lower.starts_with('/') {
                let rest: Vec<&str> =
                    std::iter::once(word).chain(words.by_ref()).map(String::as_str).collect();
                self.windows_text(scope, Lang::Powershell, &rest.join(" "));
                return None;
            }
            let option = lower.trim_start_matches(['-', '/']);
            if !option.is_empty() && "command".starts_with(option) {
                let rest: Vec<&str> = words.by_ref().map(String::as_str).collect();
                let text = rest.join(" ");
                let text = if text == "-" { running.stdin } else { &text };
                self.windows_text(scope, Lang::Powershell, text);
                return None;
            }
            if option.len() > 1 && "encodedcommand".starts_with(option)
                || option == "e"
                || option == "ec"
            {
                match words.next().and_then(|text| crate::decode::base64_utf16(text)) {
                    Some(text) => self.windows_text(scope, Lang::Powershell, &text),
                    None => self.unknown(Verb::Runs, Reason::RunText),
                }
                return None;
            }
            if "file".starts_with(option) && !option.is_empty() {
                if let Some(file) = words.next() {
                    self.script_file(scope, Lang::Powershell, file, Vec::new(), "");
                }
                return None;
            }
            if matches!(
                option,
                "executionpolicy"
                    | "ep"
                    | "exec"
                    | "ex"
                    | "windowstyle"
                    | "w"
                    | "version"
                    | "inputformat"
                    | "outputformat"
                    | "workingdirectory"
            ) {
                words.next();
            }
        }
        if !running.stdin.is_empty() {
            self.windows_text(scope, Lang::Powershell, running.stdin);
        }
        None
    }
}

/// A value without the quotes around it.
fn unquoted(value: &str) -> &str {
    let inside = |quote| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(value)
}

/// `node:20` runs `node`, `library/python:3` runs `python`.
fn image_program(image: &str) -> &str {
    let name = path::base_name(image);
    name.split([':', '@']).next().unwrap_or_default()
}

/// Whether programs keep their data in a folder of a container, rather than what can be made again.
fn is_kept(at: &str) -> bool {
    const KEPT: &[&str] =
        &["/var/lib/", "/etc/", "/usr/", "/srv/", "/data/", "/opt/", "/boot/", "/sdcard/"];
    const REMADE: &[&str] =
        &["/var/lib/apt/", "/data/local/tmp/", "/usr/src/", "/usr/share/", "/usr/local/share/"];
    let at = format!("{}/", at.trim_end_matches('/'));
    let below = |folders: &[&str]| folders.iter().any(|folder| at.starts_with(folder));
    below(KEPT) && !below(REMADE)
}

/// `host:place[:ro]` or `type=bind,source=..,target=..`.
fn mount_of(value: &str) -> Option<(String, String)> {
    if value.contains("target=") || value.contains("dst=") || value.contains("destination=") {
        let mut host = None;
        let mut place = None;
        for field in value.split(',') {
            match field.split_once('=') {
                Some(("source" | "src", path)) => host = Some(path.to_owned()),
                Some(("target" | "dst" | "destination", path)) => place = Some(path.to_owned()),
                _ => {}
            }
        }
        return Some((host?, place?));
    }
    let mut fields = value.split(':');
    let (host, place) = (fields.next()?, fields.next()?);
    if net::is_url(value) || !(host.starts_with(['/', '.', '~']) || mark::has_mark(host)) {
        return None;
    }
    Some((host.trim_end_matches('/').to_owned(), place.to_owned()))
}

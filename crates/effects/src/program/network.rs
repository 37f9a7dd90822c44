//! Network clients whose arguments need code: `curl`, `wget`, `nc`, `socat`, `openssl`.
//!
//! Refused: telling good hosts from bad ones; that is the policy's work.

use crate::effect::{Target, Verb};
use crate::mark;
use crate::net;
use crate::program::invoke::Running;
use crate::program::table::Role;
use crate::run::Run;
use crate::shell::scope::Scope;

impl Run<'_> {
    pub(crate) fn curl(&mut self, scope: &Scope, running: &Running<'_, '_>) -> String {
        let args = running.args;
        for url in &args.positionals {
            if let Some(file) = url.strip_prefix("file://") {
                self.path(scope, Verb::Reads, file, false);
            } else {
                self.host(url);
            }
        }
        let from_input = args.values.iter().any(|(role, value)| {
            matches!(role, Role::Data | Role::Send) && (value == "@-" || value == "-")
        });
        if from_input {
            self.thing(Verb::Sends, "input");
        }
        let local = |url: &String| {
            net::host_of(url).is_some_and(|h| h == "localhost" || h.starts_with("127."))
        };
        let body = if !args.positionals.is_empty() && args.positionals.iter().all(local) {
            mark::VOID.to_string()
        } else {
            mark::REMOTE.to_string()
        };
        self.download(scope, running, "-o", "-O", body)
    }

    pub(crate) fn wget(&mut self, scope: &Scope, running: &Running<'_, '_>) -> String {
        for url in &running.args.positionals {
            self.host(url);
        }
        let name = running.args.value("-O").map(str::to_owned);
        if name.as_deref() == Some("-") {
            return mark::REMOTE.to_string();
        }
        let body = mark::REMOTE.to_string();
        if name.is_none() {
            self.named_downloads(scope, running, running.args.value("-P"));
            return String::new();
        }
        self.download(scope, running, "-O", "", body)
    }

    /// Where a body goes: a named file, files named by the address, or onward.
    fn download(
        &mut self,
        scope: &Scope,
        running: &Running<'_, '_>,
        named: &str,
        by_address: &str,
        body: String,
    ) -> String {
        if let Some(file) = running.args.value(named) {
            if file != "-" {
                let folder = running.args.value("--output-dir");
                let file = match folder {
                    Some(folder) => format!("{folder}/{file}"),
                    None => file.to_owned(),
                };
                self.path(scope, Verb::Writes, &file, false);
                self.wrote(scope, &file, &body, false);
                return String::new();
            }
        } else if !by_address.is_empty() && running.args.has(by_address) {
            self.named_downloads(scope, running, running.args.value("--output-dir"));
            return String::new();
        }
        body
    }

    fn named_downloads(&mut self, scope: &Scope, running: &Running<'_, '_>, folder: Option<&str>) {
        for url in &running.args.positionals {
            let name = url.split(['?', '#']).next().unwrap_or_default();
            let name = name.rsplit('/').next().unwrap_or_default();
            let word = mark::WORD.to_string();
            let name = if name.is_empty() { "index.html" } else { name };
            let name = if mark::has_void(name) { &word } else { name };
            let file = match folder {
                Some(folder) => format!("{folder}/{name}"),
                None => name.to_owned(),
            };
            self.path(scope, Verb::Writes, &file, false);
            self.wrote(scope, &file, &mark::REMOTE.to_string(), false);
        }
    }

    pub(crate) fn netcat(&mut self, scope: &Scope, running: &Running<'_, '_>) -> String {
        let args = running.args;
        for name in ["-e", "-c", "--exec", "--sh-exec", "--lua-exec"] {
            if let Some(text) = args.value(name) {
                self.out.add(Verb::Runs, Target::RemoteCode, &self.piece);
                let mut inner = scope.clone();
                self.run_text(&mut inner, text, "");
            }
        }
        if args.has("-l") {
            self.thing(Verb::Listens, "port");
            return mark::REMOTE.to_string();
        }
        if let Some(host) = args.positionals.first() {
            self.host(host);
        }
        if !running.stdin.is_empty() && !args.has("-z") {
            self.thing(Verb::Sends, "input");
        }
        if args.has("-z") {
            return String::new();
        }
        mark::REMOTE.to_string()
    }

    /// `socat A B`: addresses that may be programs, files or connections.
    pub(crate) fn socat(&mut self, scope: &Scope, running: &Running<'_, '_>) -> Option<String> {
        let mut connected = false;
        let mut command = None;
        let mut files = false;
        for address in &running.args.positionals {
            let (kind, rest) = address.split_once(':').unwrap_or((address, ""));
            let rest = rest.split(',').next().unwrap_or_default();
            match kind.to_ascii_uppercase().as_str() {
                "EXEC" | "SYSTEM" | "SHELL" => command = Some(rest.to_owned()),
                "TCP" | "TCP4" | "TCP6" | "UDP" | "UDP4" | "OPENSSL" | "TCP-CONNECT"
                | "OPENSSL-CONNECT" | "UDP-CONNECT" | "SSL" => {
                    connected = true;
                    self.host(rest);
                }
                "TCP-LISTEN" | "TCP4-LISTEN" | "UDP-LISTEN" | "OPENSSL-LISTEN" | "TCP6-LISTEN"
                | "TCP-L" => {
                    connected = true;
                    self.thing(Verb::Listens, "port");
                }
                "FILE" | "OPEN" | "GOPEN" => {
                    self.path(scope, Verb::Reads, rest, false);
                    files = true;
                }
                "CREATE" => self.path(scope, Verb::Writes, rest, false),
                _ => {}
            }
        }
        if let Some(text) = command {
            if connected {
                self.out.add(Verb::Runs, Target::RemoteCode, &self.piece);
            }
            let mut inner = scope.clone();
            self.run_text(&mut inner, &text, "");
        } else if connected && (files || !running.stdin.is_empty()) {
            self.thing(Verb::Sends, "input");
        }
        None
    }

    pub(crate) fn openssl(&mut self, scope: &Scope, running: &Running<'_, '_>) -> Option<String> {
        let _ = scope;
        let sub = running.args.sub.as_str();
        // What is read is a key, and it is written where everybody looks.
        let hides =
            ["-pubout", "-noout", "-out", "-nokeys", "-export", "-pubin", "-check", "-topk8"];
        let shows = matches!(sub, "rsa" | "pkey" | "ec" | "dsa" | "pkcs12" | "pkcs8");
        if shows && running.args.has("-in") && !hides.iter().any(|option| running.args.has(option))
        {
            self.thing(Verb::Exposes, "credential-store");
        }
        if sub == "s_client" {
            if !running.stdin.is_empty() && running.stdin != "\n" && running.stdin != "Q\n" {
                self.thing(Verb::Sends, "input");
            }
            return Some(mark::REMOTE.to_string());
        }
        if matches!(sub, "enc" | "base64") && running.args.has("-d") {
            let plain = sub == "base64" || running.args.has("-base64");
            let text = running.stdin;
            let decoded = plain.then(|| crate::decode::base64_text(text.trim())).flatten();
            return Some(decoded.unwrap_or_else(|| mark::VOID.to_string()));
        }
        if matches!(sub, "rand" | "dgst" | "passwd") {
            return Some(mark::WORD.to_string());
        }
        None
    }
}

//! Git: configuration that runs programs, pushes that rewrite, checkouts that throw work away.
//!
//! Refused: reading a repository. Aliases and hooks are what they are there; a sub-command that the
//! table does not know is an alias, and so unknown.

use crate::effect::{Reason, Verb};
use crate::mark;
use crate::program::invoke::Running;
use crate::run::Run;
use crate::shell::scope::Scope;

/// The front of the thing that a rewritten branch is, before its name.
pub(crate) const HISTORY_OF: &str = "history:";

/// Branches that more than one person builds on, by their usual names.
const SHARED: &[&str] = &[
    "main",
    "master",
    "trunk",
    "develop",
    "dev",
    "release",
    "production",
    "prod",
    "staging",
    "stable",
    "next",
];

/// Settings whose value is a command.
const RUN: &[&str] = &[
    "core.sshcommand",
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.askpass",
    "core.gitproxy",
    "core.alternaterefscommand",
    "sequence.editor",
    "diff.external",
    "credential.helper",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.x509.program",
    "gpg.openpgp.program",
    "gpg.ssh.defaultkeycommand",
    "sendemail.smtpserver",
    "trailer.command",
    "web.browser",
    "man.viewer",
    "interactive.difffilter",
    "uploadpack.packobjectshook",
];

/// The same, by the last word of the key: `filter.NAME.clean`.
const RUN_LAST: &[&str] = &[
    "textconv",
    "clean",
    "smudge",
    "process",
    "cmd",
    "driver",
    "helper",
    "command",
    "uploadpack",
    "receivepack",
    "vcs",
];

/// Values of such settings that everybody has.
const PLAIN: &[&str] = &[
    "",
    "true",
    "false",
    "cat",
    "less",
    "vim",
    "nano",
    "store",
    "cache",
    "vi",
    "osxkeychain",
    "manager",
    "delta",
    "code --wait",
    "emacs",
    "less -R",
    "manager-core",
    "gpg",
    "gpg2",
];

/// How many remotes of a text are kept.
const REMOTES_MAX: usize = 64;

impl Run<'_> {
    pub(crate) fn git(&mut self, scope: &Scope, running: &Running<'_, '_>) -> Option<String> {
        for (name, value) in &running.args.options {
            match (name.as_str(), value) {
                ("-c", Some(setting)) => {
                    let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
                    self.git_setting(scope, key, value);
                }
                ("--exec-path" | "--config-env", Some(_)) => {
                    self.unknown(Verb::Runs, Reason::GitConfig)
                }
                ("--upload-pack" | "--receive-pack", Some(command)) => {
                    let mut inner = scope.clone();
                    self.run_text(&mut inner, command, "");
                }
                _ => {}
            }
        }
        let helper = |word: &String| word.starts_with("ext::") || word.contains("--upload-pack=");
        if running.argv.iter().any(helper) {
            self.unknown(Verb::Runs, Reason::RunText);
        }
        // `git clean -fd :/`: from the top.
        if running.args.sub == "clean"
            && running.args.positionals.iter().any(|p| p.starts_with(':'))
        {
            self.thing(Verb::Destroys, "work");
        }
        if running.args.unknown_sub {
            if mark::has_mark(running.args.positionals.first().map_or("", |p| p.as_str())) {
                self.unknown(Verb::Runs, Reason::ProgramName);
            } else {
                self.unknown(Verb::Does, Reason::GitConfig);
            }
        }
        let names = running.args.sub == "diff" && running.args.has("--name-only");
        names.then(|| mark::BELOW.to_string())
    }

    /// A setting that makes git run something, or go somewhere else.
    fn git_setting(&mut self, scope: &Scope, key: &str, value: &str) {
        let key = key.to_ascii_lowercase();
        let last = key.rsplit('.').next().unwrap_or_default();
        if key.starts_with("alias.") {
            if let Some(text) = value.strip_prefix('!') {
                let mut inner = scope.clone();
                self.run_text(&mut inner, text, "");
            }
            return;
        }
        if RUN.contains(&key.as_str()) || RUN_LAST.contains(&last) || key.starts_with("pager.") {
            let text = value.trim_start_matches('!');
            if !PLAIN.contains(&text) && !text.starts_with("cache ") {
                let mut inner = scope.clone();
                self.run_text(&mut inner, text, "");
                self.thing(Verb::Persists, "git-config");
            }
        }
        if matches!(last, "url" | "pushurl") && key.starts_with("remote.") {
            let name = key.split('.').nth(1).unwrap_or_default();
            self.remember_remote(name, value);
        } else if matches!(last, "proxy") {
            self.host(value);
        }
        if key == "core.hookspath" && !matches!(value, ".husky" | ".githooks" | ".husky/_" | "") {
            self.unknown(Verb::Runs, Reason::GitConfig);
            self.thing(Verb::Persists, "git-hooks");
        } else if key == "init.templatedir" {
            self.thing(Verb::Persists, "git-hooks");
        } else if key.starts_with("url.") || key == "protocol.ext.allow" || key == "include.path" {
            self.thing(Verb::Persists, "git-config");
        } else if key == "http.sslverify" && value == "false" {
            self.thing(Verb::Escalates, "tls-checks");
        }
    }

    pub(crate) fn git_config(
        &mut self,
        scope: &Scope,
        running: &Running<'_, '_>,
    ) -> Option<String> {
        self.git(scope, running);
        let mut words = running.args.positionals.iter().map(String::as_str);
        let mut key = words.next().unwrap_or_default();
        let removes = ["--unset", "--unset-all", "--remove-section", "--rename-section"];
        let removes = removes.iter().any(|option| running.args.has(option))
            || matches!(key, "unset" | "remove-section" | "rename-section");
        if removes && running.argv.iter().any(|word| guards(word)) {
            self.path(scope, Verb::Writes, ".git/config", false);
            return None;
        }
        if matches!(key, "set" | "get" | "unset" | "list") {
            key = words.next().unwrap_or_default();
        }
        let Some(value) = words.next() else { return Some(mark::WORD.to_string()) };
        self.git_setting(scope, key, value);
        let place = if running.args.has("--global") {
            format!("{}/.gitconfig", self.home())
        } else if running.args.has("--system") {
            "/etc/gitconfig".to_owned()
        } else {
            return None;
        };
        let harmless = [
            "user.",
            "init.",
            "color.",
            "pull.",
            "push.",
            "safe.",
            "fetch.",
            "rebase.",
            "merge.",
            "alias.",
            "core.autocrlf",
            "core.editor",
            "core.excludesfile",
            "credential.helper",
            "commit.",
            "advice.",
            "branch.",
            "rerere.",
            "diff.",
            "http.postbuffer",
            "submodule.",
            "lfs.",
        ];
        let key = key.to_ascii_lowercase();
        if !harmless.iter().any(|front| key.starts_with(front)) {
            self.path(scope, Verb::Writes, &place, false);
        }
        None
    }

    pub(crate) fn git_push(&mut self, running: &Running<'_, '_>) -> Option<String> {
        let args = running.args;
        let scope = Scope::new("/");
        self.git(&scope, running);
        let named = args.value("--repo").or(args.positionals.first().map(String::as_str));
        let remote = named.unwrap_or("origin").to_owned();
        let address = self.remotes.get(&remote).cloned().unwrap_or(remote);
        self.push_to(&address);
        let refs = args.positionals.get(1..).unwrap_or_default();
        let short = |reference: &String| -> String {
            let name = reference.trim_start_matches('+');
            let name = name.rsplit(':').next().unwrap_or_default();
            name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()
        };
        let shared = refs.iter().map(short).any(|name| is_shared(&name));
        let plus = refs.iter().any(|reference| reference.starts_with('+'));
        let deletes =
            args.has("--delete") || refs.iter().any(|r| r.starts_with(':') && r.len() > 1);
        if args.has("--mirror") || args.has("--prune") {
            self.thing(Verb::Destroys, "shared-history");
        } else if args.has("--force") || plus {
            let everything = args.has("--all") || args.has("--tags");
            let thing = if shared || everything { "shared-history" } else { "history" };
            self.thing(Verb::Destroys, thing);
        } else if args.has("--force-with-lease") && shared {
            self.thing(Verb::Destroys, "shared-history");
        }
        if args.has("--force") || args.has("--force-with-lease") || plus || deletes {
            for name in refs.iter().map(short).filter(|name| !mark::has_mark(name)) {
                self.thing(Verb::Destroys, &format!("{HISTORY_OF}{name}"));
            }
        }
        if deletes {
            self.thing(Verb::Destroys, if shared { "shared-history" } else { "remote-branch" });
        }
        self.thing(Verb::Publishes, "git-remote");
        None
    }

    /// `git branch -f NAME`, `-D NAME`: what only stands on that branch is thrown away.
    pub(crate) fn git_branch(
        &mut self,
        scope: &Scope,
        running: &Running<'_, '_>,
    ) -> Option<String> {
        self.git(scope, running);
        let args = running.args;
        let moved = args.has("-f") && args.positionals.first().is_some_and(|name| is_shared(name));
        let copied = args.has("-C") && args.positionals.last().is_some_and(|name| is_shared(name));
        if args.has("-D") || moved || copied {
            self.thing(Verb::Destroys, "branch");
        }
        Some(mark::WORD.to_string())
    }

    /// `gh api`, `glab api`: what a request by hand does to what stands there.
    pub(crate) fn forge_api(&mut self, running: &Running<'_, '_>) -> Option<String> {
        const TALK: &[&str] =
            &["comments", "/issues", "/pulls", "/merge_requests", "/notes", "labels", "/statuses"];
        let args = running.args;
        let place = args.positionals.first().map_or("", String::as_str);
        let method = args.value("-X").unwrap_or_default().to_ascii_uppercase();
        let talks = TALK.iter().any(|part| place.contains(part)) && !place.ends_with("/merge");
        if matches!(method.as_str(), "PATCH" | "PUT") && !talks {
            self.thing(Verb::Escalates, "remote-settings");
        }
        let changes = |text: &String| {
            text.contains("mutation")
                && ["delete", "remove", "archive", "transfer", "updateRepository", "updateBranch"]
                    .iter()
                    .any(|verb| text.contains(verb))
        };
        if running.argv.iter().any(changes) {
            self.thing(Verb::Destroys, "remote-object");
        }
        None
    }

    /// A remote that this text itself names.
    fn remember_remote(&mut self, name: &str, address: &str) {
        if self.remotes.len() < REMOTES_MAX {
            self.remotes.insert(name.to_owned(), address.to_owned());
        }
    }

    pub(crate) fn git_remote(&mut self, running: &Running<'_, '_>) -> Option<String> {
        self.git(&Scope::new("/"), running);
        let words: Vec<&String> = running.args.positionals.iter().collect();
        if let [name, address, ..] = words.as_slice() {
            self.remember_remote(name, address);
        }
        None
    }

    /// An address that is pushed to, and not a remote that the repository knows by its name: what is
    /// in the repository goes there.
    fn push_to(&mut self, address: &str) {
        let host = if address.contains("://") {
            Some(address.to_owned())
        } else {
            // `host:path`, `user@host:path`; a path or a remote's name has no host.
            let remote = crate::net::remote_host(address);
            remote.map(str::to_owned)
        };
        if let Some(host) = host {
            self.host(&host);
            self.thing(Verb::Sends, "data");
        }
    }

    /// Files that are written as the repository has them.
    fn put_back(&mut self, scope: &Scope, files: &[String]) {
        for file in files {
            self.path(scope, Verb::Writes, file, false);
        }
    }

    /// `git checkout` and `git switch`: a branch is harmless, paths lose what was not committed.
    pub(crate) fn git_checkout(
        &mut self,
        scope: &Scope,
        running: &Running<'_, '_>,
    ) -> Option<String> {
        self.git(scope, running);
        let args = running.args;
        if args.sub == "restore" {
            // Only what is staged: the files stay as they are.
            if !args.has("--staged") || args.has("--worktree") {
                self.thing(Verb::Destroys, "work");
                self.put_back(scope, &args.positionals);
            }
            return None;
        }
        let after = running.argv.iter().skip_while(|word| *word != "--").nth(1);
        if let Some(at) = running.argv.iter().position(|word| word == "--") {
            self.put_back(scope, running.argv.get(at + 1..).unwrap_or_default());
        }
        let dot = args.positionals.iter().any(|word| word == "." || word == "./" || word == ":/");
        let onto = args.value("-B").or(args.value("-C"));
        let named = onto.or(args.positionals.first().map(String::as_str));
        if (args.has("-B") || args.has("-C")) && named.is_some_and(is_shared) {
            self.thing(Verb::Destroys, "branch");
        }
        let creates = args.has("-b") || args.has("-B") || args.has("--orphan") || args.has("-c");
        let many = args.positionals.len() > 1 && !creates && !args.has("--track");
        if (after.is_some() || dot || args.has("-f") || many) && !args.has("-p") {
            self.thing(Verb::Destroys, "work");
        }
        None
    }
}

/// Whether more than one person builds on a branch, by its name.
fn is_shared(name: &str) -> bool {
    SHARED.contains(&name) || name.split('/').next() == Some("release") || mark::has_void(name)
}

/// Whether a setting, or a section with it, says which hooks guard the repository.
fn guards(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key == "core.hookspath" || key == "core"
}

//! Names of things that stand elsewhere: packages by address, revisions of a repository, folders that
//! are served, values of a vault.
//!
//! A package of a registry by its name is daily work; code that comes from an address is only known
//! when it runs, and a script that is run straight from one is code from the network. Refused: a list
//! of good addresses; that is the policy's work.

use crate::effect::{Reason, Target, Verb};
use crate::mark;
use crate::net;
use crate::path;
use crate::program::code::language_of;
use crate::program::foreign::{is_known_module_domain, is_known_registry};
use crate::program::invoke::Running;
use crate::program::table::{Act, Lang, Role, Spec};
use crate::run::Run;
use crate::shell::scope::{Scope, is_secret_name};

/// Fronts of an address that a package comes from, with the host that they stand for.
const FORGES: &[(&str, &str)] = &[
    ("github:", "github.com"),
    ("gitlab:", "gitlab.com"),
    ("bitbucket:", "bitbucket.org"),
    ("sourcehut:", "git.sr.ht"),
    ("gist:", "gist.github.com"),
    ("jsr:https", "jsr.io"),
];

/// Fronts that say how an address is fetched.
const CARRIERS: &[&str] = &["git+", "hg+", "svn+", "bzr+", "git::", "hg::", "tarball+", "url:"];

/// Addresses of the registries themselves.
const REGISTRIES: &[&str] = &["github:NixOS/nixpkgs", "github:nixos/nixpkgs"];

/// Whoever asks a server, as the host that a served folder goes to.
const VISITORS: &str = "visitors";

impl Run<'_> {
    pub(crate) fn spec(
        &mut self,
        scope: &Scope,
        running: &Running<'_, '_>,
        spec: Spec,
        value: &str,
    ) {
        match spec {
            Spec::Source if value == "-" => self.effective_input(running.stdin),
            Spec::Source => self.package_place(scope, value, false),
            Spec::Repository => self.package_place(scope, value, true),
            Spec::Registry => self.registry(value),
            Spec::Carried if value.contains(mark::DATA) => self.thing(Verb::Sends, "computed"),
            Spec::Carried => {}
            Spec::Form => self.form(scope, value),
            Spec::Template
                if ["Env", "env", ".data", ".Data"].iter().any(|n| value.contains(n)) =>
            {
                self.thing(Verb::Exposes, "app-config");
            }
            Spec::Template => {}
            Spec::Options => {
                self.path(scope, Verb::Reads, value, false);
                self.unknown(Verb::Writes, Reason::PathText);
            }
            Spec::Module => self.module(scope, value),
            Spec::Among => self.among(scope, value),
            Spec::Manifest if address(value, false).is_some() => self.package_source(value, false),
            Spec::Manifest if value == "-" => self.effective_input(running.stdin),
            Spec::Manifest => {
                self.path(scope, Verb::Reads, value, false);
                if self.content(scope, value).is_some_and(|text| text.contains(mark::REMOTE)) {
                    self.unknown(Verb::Runs, Reason::RunText);
                }
            }
            Spec::Revision => self.revision(scope, value),
            Spec::Hosts => self.hosts_in_a_row(value),
            Spec::Served => self.served(scope, value),
            Spec::Edited => {
                self.path(scope, Verb::Reads, value, false);
                self.path(scope, Verb::Writes, value, false);
            }
            Spec::Shown if is_secret_name(&value.replace(['-', '.'], "_")) => {
                self.thing(Verb::Exposes, "token");
            }
            Spec::Shown => {}
            Spec::Lookup => {
                self.looked_up(value);
                if !running.args.acts.iter().any(|act| matches!(act, Act::Host(_))) {
                    self.host(value);
                }
            }
            Spec::Setting => self.setting(scope, value),
            Spec::Made => self.folder_made(scope, value),
            Spec::Key => self.key_made(scope, value),
            Spec::Object => self.cluster_object(value),
            Spec::Alias => {
                if let Some(text) = value.strip_prefix('!') {
                    self.run_text(&mut scope.clone(), text, "");
                }
            }
        }
    }

    /// What flows in takes effect: what came over the network is only known then.
    pub(crate) fn effective_input(&mut self, stdin: &str) {
        if stdin.contains(mark::REMOTE) {
            self.unknown(Verb::Runs, Reason::RunText);
        }
    }

    /// A setting that names an address code comes from (`-I nixpkgs=https://..`).
    pub(crate) fn spec_address(&mut self, value: &str) {
        self.package_source(value, false);
    }

    /// A package that is installed: from a registry, or from an address.
    pub(crate) fn package_source(&mut self, value: &str, shorthand: bool) {
        if let Some(address) = address(value, shorthand) {
            if is_known_registry(&address) {
                self.host(&address);
                return;
            }
            self.host(&address);
            self.unknown(Verb::Runs, Reason::RunText);
        }
    }

    /// A package that is fetched and run with its arguments: `npx NAME ..`.
    pub(crate) fn package(&mut self, scope: &Scope, argv: &[String], stdin: &str) -> String {
        let void = mark::VOID.to_string();
        let Some((first, rest)) = argv.split_first() else { return void };
        let name = ["npm:", "jsr:", "file:"].iter().find_map(|front| first.strip_prefix(front));
        let name = name.unwrap_or(first);
        if let Some(address) = address(name, true) {
            self.host(&address);
            // A script, and not a package that is built.
            let script = name.starts_with("http") && !net::is_local(&address);
            match script {
                true => self.out.add(Verb::Runs, Target::RemoteCode, &self.piece),
                false => self.unknown(Verb::Runs, Reason::RunText),
            }
            return void;
        }
        if name == "-" {
            return self.script_file(scope, Lang::Node, name, Vec::new(), stdin);
        }
        if let Some(lang) = language_of(name) {
            return self.script_file(scope, lang, name, rest.to_vec(), stdin);
        }
        // A package's name is no path: `@scope/name@1.2`.
        let scoped = name.strip_prefix('@').unwrap_or(name);
        let unversioned = scoped.split('@').next().unwrap_or_default();
        let full = name.get(..name.len() - scoped.len() + unversioned.len()).unwrap_or(name);
        let program = match self.ctx.programs.get(full) {
            Some(program) => program.root.alias.as_deref().unwrap_or(full),
            None if name.starts_with('@') => path::base_name(name),
            None => name,
        };
        let skip = usize::from(rest.first().is_some_and(|word| word == "--"));
        let rest = rest.get(skip..).unwrap_or_default();
        let argv = std::iter::once(program.to_owned()).chain(rest.iter().cloned()).collect();
        self.invoke_apart(scope, argv, stdin)
    }

    /// A module of Go at a version: of a forge or a domain that everybody uses, or of somebody's own.
    fn module(&mut self, scope: &Scope, value: &str) {
        if net::is_url(value) {
            self.package_place(scope, value, false);
            return;
        }
        let Some((place, _)) = value.split_once('@') else { return };
        let domain = place.split('/').next().unwrap_or_default();
        if domain.contains('.') && !domain.starts_with('.') && !is_known_module_domain(domain) {
            self.host(domain);
            self.unknown(Verb::Runs, Reason::RunText);
        }
    }

    /// Files that a search goes through by the pattern of their names: what stands in them is shown.
    pub(crate) fn among(&mut self, scope: &Scope, value: &str) {
        if !value.starts_with('!') {
            let name = value.trim_start_matches("**/").trim_start_matches('/');
            let pattern = name.replace('*', &mark::ANY.to_string());
            self.path(scope, Verb::Reads, &format!("{}/{pattern}", mark::BELOW), false);
        }
    }

    /// `HEAD~3:config/.env`, or a path: what a repository holds of a file is what the file holds.
    fn revision(&mut self, scope: &Scope, value: &str) {
        // What is left out: `:!.env`, `:^.env`, `:(exclude).env`.
        let words = value.strip_prefix(":(").and_then(|rest| rest.split_once(')'));
        let left_out = words.is_some_and(|(words, _)| words.split(',').any(|w| w == "exclude"));
        if left_out || value.starts_with(":!") || value.starts_with(":^") {
            return;
        }
        let path = match value.split_once(':') {
            Some((_, path)) if !path.is_empty() => path.trim_start_matches(['!', '/', '^']),
            _ => value,
        };
        let magic = match path.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            Some((_, path)) => path,
            None => path,
        };
        // Git's own patterns go through all folders.
        if magic.contains('*') {
            self.among(scope, magic);
        } else {
            self.path(scope, Verb::Reads, magic, false);
        }
    }

    /// `HOST:PORT:HOST:PORT`, of options that lead a name elsewhere.
    fn hosts_in_a_row(&mut self, value: &str) {
        let mut rest = value;
        while !rest.is_empty() {
            let bracket = rest.starts_with('[').then(|| rest.find(']')).flatten();
            let end = bracket.map_or(0, |at| at + 1);
            let tail = rest.get(end..).unwrap_or_default();
            let length = end + tail.find([':', ',']).unwrap_or(tail.len());
            let piece = rest.get(..length).unwrap_or_default().trim_start_matches(['+', '-']);
            let is_port = piece.len() < 6 && piece.bytes().all(|b| b.is_ascii_digit());
            if !is_port && piece != "*" {
                self.host(piece);
            }
            rest = rest.get(length + 1..).unwrap_or_default();
        }
    }

    /// A server of files: without a folder, of the one it stands in.
    pub(crate) fn serve(&mut self, scope: &Scope, running: &Running<'_, '_>) -> Option<String> {
        self.thing(Verb::Listens, "port");
        if !running.args.values.iter().any(|(role, _)| *role == Role::Spec(Spec::Served)) {
            self.served(scope, ".");
        }
        None
    }

    /// A folder that anybody who reaches this machine can read.
    pub(crate) fn served(&mut self, scope: &Scope, folder: &str) {
        self.path(scope, Verb::Reads, folder, true);
        let at = path::normalise(&scope.cwd, folder).unwrap_or_default();
        // One's own project is what a server on one's own machine is for.
        if !self.is_own(&at) {
            self.path(scope, Verb::Sends, folder, true);
            self.host(VISITORS);
        }
    }

    /// A name that is put together below somebody's domain carries data there.
    fn looked_up(&mut self, value: &str) {
        let Some(at) = value.rfind(mark::is_mark) else { return };
        let below = value.get(at..).and_then(|rest| rest.split_once('.'));
        if below.is_some_and(|(_, domain)| domain.contains('.')) {
            self.thing(Verb::Sends, "computed");
            self.unknown(Verb::Contacts, Reason::HostText);
        }
    }
}

/// The address that a package comes from, if it is no registry.
fn address(value: &str, shorthand: bool) -> Option<String> {
    // `name @ https://..`, as pip has it.
    let value = value.split_once(" @ ").map_or(value, |(_, address)| address).trim();
    if REGISTRIES.iter().any(|front| value.starts_with(front)) {
        return None;
    }
    let carried = CARRIERS.iter().find_map(|front| value.strip_prefix(front));
    let value = carried.unwrap_or(value);
    if let Some((_, host)) = FORGES.iter().find(|(front, _)| value.starts_with(front)) {
        return Some((*host).to_owned());
    }
    // `name@https://..`, as npm has it.
    let value = match value.find("@http").or_else(|| value.find("@git+")) {
        Some(at) => value.get(at + 1..).unwrap_or(value),
        None => value,
    };
    if net::is_url(value) {
        let scheme = value.split(':').next().unwrap_or_default();
        let is_kept_here = matches!(scheme, "file" | "oci" | "docker" | "s3" | "gs");
        return (!is_kept_here && !net::is_local(value)).then(|| value.to_owned());
    }
    let below_forge = ["github.com/", "gitlab.com/", "bitbucket.org/"];
    if value.starts_with("git@")
        || carried.is_some()
        || below_forge.iter().any(|front| value.starts_with(front))
    {
        return Some(value.replacen(':', "/", 1));
    }
    let mut pieces = value.split('/');
    let (owner, name, more) = (pieces.next()?, pieces.next(), pieces.next());
    let plain = |text: &str| {
        !text.is_empty()
            && !text.starts_with(['.', '-', '~', '@'])
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.#".contains(&b))
    };
    let repository = shorthand
        && more.is_none()
        && plain(owner)
        && name.is_some_and(|name| plain(name) && language_of(name).is_none());
    repository.then(|| "github.com".to_owned())
}

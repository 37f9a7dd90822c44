//! Roles and acts: what the table's words do to paths, hosts and texts.
//!
//! Refused: meaning that depends on one program; that is a handler's.

use crate::effect::{Reason, Target, Verb};
use crate::files::Entry;
use crate::mark;
use crate::net;
use crate::path::{self, ELSEWHERE, PathTarget};
use crate::program::invoke::Running;
use crate::program::table::{Act, Role};
use crate::run::Run;
use crate::shell::scope::Scope;
use crate::things;

impl Run<'_> {
    pub(crate) fn acts(&mut self, scope: &Scope, running: &Running<'_, '_>) {
        let unguarded = running.args.acts_on(&Act::Unguarded);
        let emulated = is_emulated_cloud(running);
        for act in &running.args.acts {
            match act {
                Act::Thing(Verb::Escalates, thing)
                    if &**thing == "attack-tool" && probes_own(running) => {}
                Act::Thing(Verb::Destroys | Verb::Escalates, _) if emulated => {}
                Act::Thing(verb, thing) => self.thing(*verb, thing),
                Act::Path(verb, path) => {
                    let home = self.home();
                    let path = match path.strip_prefix("~") {
                        Some(rest) => format!("{home}{rest}"),
                        None => path.to_string(),
                    };
                    self.path(scope, *verb, &path, *verb == Verb::Deletes);
                }
                Act::Host(host) => self.host(host),
                Act::Listens => self.thing(Verb::Listens, "port"),
                Act::SendsInput => self.thing(Verb::Sends, "input"),
                Act::RunsInput => self.effective_input(running.stdin),
                Act::ShellInput => {
                    if running.args.nested.is_none() && !running.stdin.is_empty() {
                        let mut inner = scope.clone();
                        self.run_text(&mut inner, running.stdin, "");
                    }
                }
                Act::Environment => self.environment(),
                Act::ProjectCode => self.of_project(&scope.cwd, None, Reason::ProjectCode),
                Act::Opaque => self.unknown(Verb::Does, Reason::Program),
                Act::Hidden => self.unknown(Verb::Runs, Reason::RunText),
                Act::Fetched => self.fetched(scope, running),
                Act::Unpacks => {
                    let archive = running.args.positionals.iter().find(|word| word.contains('.'));
                    let folder = ["-d", "-o", "-C"].iter().find_map(|o| running.args.value(o));
                    let archive = archive.map_or("", String::as_str);
                    self.unpacked(scope, archive, running.stdin, folder.unwrap_or("."));
                }
                Act::Agent if running.args.acts_on(&Act::NoAgent) => {}
                Act::Agent => {
                    let target = Target::Agent { name: running.name.into(), unguarded };
                    self.out.add(Verb::Runs, target, &self.piece);
                }
                Act::Unguarded
                | Act::Tree
                | Act::Nothing
                | Act::InPlace
                | Act::DeletesArgs
                | Act::ReadsArgs
                | Act::NoAgent
                | Act::Mirror => {}
            }
        }
        if unguarded && !running.args.acts_on(&Act::Agent) {
            let target = Target::Agent { name: running.name.into(), unguarded };
            self.out.add(Verb::Runs, target, &self.piece);
        }
    }

    /// Does what the values mean; gives what a command among them prints.
    pub(crate) fn roles(
        &mut self,
        scope: &Scope,
        running: &Running<'_, '_>,
        rest_has_run: bool,
    ) -> Option<String> {
        let args = running.args;
        let tree = args.acts_on(&Act::Tree);
        let mut printed = None;
        for (role, value) in &args.values {
            if *role == Role::Shell {
                let mut inner = scope.clone();
                printed = Some(self.run_text(&mut inner, value, ""));
            } else {
                self.role(scope, running, *role, value, tree);
            }
        }
        if rest_has_run {
            return printed.filter(|text| text.contains(mark::SECRET));
        }
        if let Some(nested) = &args.nested {
            printed = Some(match args.packaged {
                true => self.package(scope, nested, running.stdin),
                false => self.invoke_apart(scope, nested.clone(), running.stdin),
            });
        }
        if let Some(rest) = &args.shell_rest {
            let mut inner = scope.clone();
            printed = Some(self.run_text(&mut inner, &rest.join(" "), running.stdin));
        }
        printed
    }

    fn role(
        &mut self,
        scope: &Scope,
        running: &Running<'_, '_>,
        role: Role,
        value: &str,
        tree: bool,
    ) {
        match role {
            Role::Skip | Role::Folder | Role::Argv | Role::ShellRest | Role::Package => {}
            Role::Spec(spec) => self.spec(scope, running, spec, value),
            Role::Read => self.path(scope, Verb::Reads, value, tree),
            Role::Write => self.path(scope, Verb::Writes, value, false),
            Role::Tree => self.path(scope, Verb::Writes, value, true),
            Role::Delete => self.path(scope, Verb::Deletes, value, tree),
            Role::DeleteTree => self.path(scope, Verb::Deletes, value, true),
            Role::Move => {
                self.path(scope, Verb::Deletes, value, true);
                self.path(scope, Verb::Reads, value, true);
            }
            Role::Into => self.place_into(scope, running, value, tree),
            Role::Host | Role::Url => self.host(value),
            Role::Send => self.upload(scope, value),
            Role::Data => self.send_data(scope, value),
            Role::Remote => match net::remote_host(value) {
                Some(host) => {
                    self.host(host);
                    self.fetched_file(value);
                }
                None => {
                    self.path(scope, Verb::Reads, value, tree);
                    let sends = running.args.values.iter().any(|(role, value)| {
                        *role == Role::RemoteInto && net::remote_host(value).is_some()
                    });
                    if sends {
                        self.path(scope, Verb::Sends, value, tree);
                    }
                }
            },
            Role::RemoteInto => self.remote_into(scope, running, value, tree),
            Role::Code(lang) => self.inline_code(scope, lang, value),
            Role::Script(lang) => {
                let words = running.args.positionals.iter().skip_while(|word| *word != value);
                let args = words.skip(1).cloned().collect();
                self.script_file(scope, lang, value, args, running.stdin);
            }
            Role::Sql => self.sql(value),
            Role::SqlFile => self.sql_file(scope, running, value),
            Role::Assign => {
                if let Some((name, value)) = value.split_once('=') {
                    self.environment_variable(scope, name, value);
                }
            }
            Role::Program if value.starts_with('/') && self.is_shared(value) => {
                self.unknown(Verb::Runs, Reason::ProgramName)
            }
            Role::Shell => {}
            Role::Program => {
                let mut inner = scope.clone();
                self.run_text(&mut inner, value, "");
            }
            Role::Mount => self.mount(scope, value),
            Role::Method if value.eq_ignore_ascii_case("DELETE") => {
                self.thing(Verb::Destroys, "remote-object");
            }
            Role::Method => {}
            Role::Device => self.formatted(scope, value),
        }
    }

    /// `host:path`: a file that lies there, and comes here.
    fn fetched_file(&mut self, value: &str) {
        let path = value.split_once(':').map_or("", |(_, path)| path);
        if let Some(path) = path::normalise("/", path.trim_start_matches("~/")) {
            let target = PathTarget::new(format!("{ELSEWHERE}{path}"), None, false);
            self.out.add(Verb::Reads, Target::Path(target), &self.piece);
        }
    }

    /// The place that a copy goes to, here or on another host.
    fn remote_into(&mut self, scope: &Scope, running: &Running<'_, '_>, value: &str, tree: bool) {
        let mirrors = running.args.acts_on(&Act::Mirror);
        if let Some(host) = net::remote_host(value) {
            self.host(host);
            if mirrors {
                self.thing(Verb::Destroys, "mirror");
            }
            return;
        }
        self.place_into(scope, running, value, tree);
        if mirrors {
            // What the source does not have is deleted there.
            self.path(scope, Verb::Deletes, value, true);
        }
    }

    /// A file of statements, or standard input in its place.
    fn sql_file(&mut self, scope: &Scope, running: &Running<'_, '_>, value: &str) {
        if matches!(value, "-" | "/dev/stdin") {
            self.sql(running.stdin);
            return;
        }
        self.path(scope, Verb::Reads, value, false);
        match self.content(scope, value) {
            Some(text) => self.sql(&text),
            // Statements that nobody has read, for what customers use.
            None if things::is_production(&self.piece.text) => {
                self.unknown(Verb::Destroys, Reason::RunText);
            }
            None => {}
        }
    }

    /// What is formatted or partitioned: a disk, or the image of one in a file.
    fn formatted(&mut self, scope: &Scope, value: &str) {
        // `parted disk.img mklabel gpt`: the rest are no places.
        if !value.contains(['/', '.', ':']) && !mark::has_mark(value) {
            return;
        }
        let at = path::normalise(&scope.cwd, value);
        let is_file = at.is_some_and(|at| !mark::has_void(&at) && !at.starts_with("/dev/"));
        let is_drive = value.len() == 2 && value.ends_with(':');
        if is_file && !is_drive {
            self.path(scope, Verb::Writes, value, false);
        } else {
            self.thing(Verb::Destroys, "disk");
        }
    }

    fn send_file(&mut self, scope: &Scope, value: &str) {
        if value == "-" || value == "." {
            self.thing(Verb::Sends, "input");
            return;
        }
        self.path(scope, Verb::Reads, value, false);
        self.path(scope, Verb::Sends, value, false);
    }

    /// A file as a whole goes to the host.
    pub(crate) fn upload(&mut self, scope: &Scope, value: &str) {
        self.send_file(scope, value);
        self.thing(Verb::Sends, "upload");
    }

    /// A form: what is a file in it is uploaded.
    pub(crate) fn form(&mut self, scope: &Scope, value: &str) {
        self.send_data(scope, value);
        if value.contains("=@") || value.contains("=<") {
            self.thing(Verb::Sends, "upload");
        }
    }

    fn send_data(&mut self, scope: &Scope, value: &str) {
        // `name=@file`, `@file`, `name=<file`, `name@file`.
        let file = value.split_once('@').filter(|(front, _)| {
            front.is_empty() || front.ends_with('=') || !front.contains([' ', '.', '{', '"'])
        });
        let file = file.map(|(_, file)| file).or_else(|| value.split_once("=<").map(|(_, f)| f));
        match file {
            Some(file) => {
                let file = file.split(';').next().unwrap_or_default();
                match is_body(file) {
                    true => self.send_file(scope, file),
                    false => self.upload(scope, file),
                }
            }
            // A secret variable is told by itself.
            None if value.contains([mark::VOID, mark::REMOTE, mark::LINE]) => {
                self.thing(Verb::Sends, "computed");
            }
            None => {}
        }
    }

    /// The place that files are copied or moved to.
    fn place_into(&mut self, scope: &Scope, running: &Running<'_, '_>, into: &str, tree: bool) {
        let sources: Vec<&String> = running
            .args
            .values
            .iter()
            .filter(|(role, _)| matches!(role, Role::Read | Role::Move | Role::Remote))
            .map(|(_, value)| value)
            .collect();
        let is_folder = into.ends_with('/') || sources.len() > 1 || into == "." || {
            self.ctx.files.is_present()
                && !mark::has_mark(into)
                && path::normalise(&scope.cwd, into)
                    .is_some_and(|at| self.ctx.files.look(&at) == Entry::Folder)
        };
        let moved = running.args.values.iter().any(|(role, _)| *role == Role::Move);
        // A link to a folder puts all below it in its place.
        let whole = moved || matches!(running.name, "ln" | "gln");
        if !is_folder {
            self.path(scope, Verb::Writes, into, tree || whole);
        }
        if is_folder || !self.ctx.files.is_present() {
            for source in sources.iter().take(64) {
                let name = path::base_name(source);
                // Whatever the name is, it has no slash.
                let word = mark::WORD.to_string();
                let name = if mark::has_void(name) { &word } else { name };
                if !name.is_empty() && name != "." && name != ".." {
                    let inside = format!("{}/{name}", into.trim_end_matches('/'));
                    self.path(scope, Verb::Writes, &inside, tree);
                } else if tree {
                    self.path(scope, Verb::Writes, into, true);
                }
            }
        }
        if matches!(running.name, "ln" | "gln")
            && let [only] = sources.as_slice()
        {
            self.linked(scope, into, only, is_folder);
        }
        // What was known of a single source is known of its copy.
        if let [only] = sources.as_slice()
            && let Some(text) = self.content(scope, only)
            && !is_folder
        {
            self.wrote(scope, into, &text, false);
        }
    }

    /// `-v host:container[:ro]`.
    fn mount(&mut self, scope: &Scope, value: &str) {
        let mut source = None;
        let mut read_only = value.ends_with(":ro");
        if value.contains("source=") || value.contains("src=") {
            for field in value.split(',') {
                match field.split_once('=') {
                    Some(("source" | "src", path)) => source = Some(path),
                    _ if field == "readonly" || field == "ro" => read_only = true,
                    _ => {}
                }
            }
        } else if let Some((host, _)) = value.split_once(':') {
            source = Some(host);
        }
        let Some(source) = source else { return };
        let is_path = source.starts_with(['/', '.', '~']) || mark::has_mark(source);
        if !is_path {
            return;
        }
        if source == "/" || source.starts_with("/etc") {
            self.thing(Verb::Escalates, "host-from-container");
        } else if source.ends_with("docker.sock") {
            self.thing(Verb::Escalates, "docker-socket");
        }
        let verb = if read_only { Verb::Reads } else { Verb::Does };
        if verb == Verb::Reads {
            self.path(scope, Verb::Reads, source, false);
        }
    }
}

/// Whether a file is the body of a request by its name: what an API takes, and no archive or source.
fn is_body(file: &str) -> bool {
    const BODIES: &[&str] = &[
        "json", "jsonl", "ndjson", "geojson", "yaml", "yml", "xml", "soap", "graphql", "gql",
        "csv", "txt", "-",
    ];
    let name = path::base_name(file);
    let end = name.rsplit('.').next().unwrap_or_default();
    BODIES.contains(&end) || mark::has_mark(end)
}

/// Whether a cloud's program speaks to one that is emulated on this machine.
fn is_emulated_cloud(running: &Running<'_, '_>) -> bool {
    let own = |(role, value): &(Role, String)| {
        *role == Role::Url && net::host_of(value).is_some_and(|host| net::is_own(&host))
    };
    running.name == "awslocal" || (running.name == "aws" && running.args.values.iter().any(own))
}

/// Whether all that a program is aimed at is this machine: one's own app is tested, nobody attacked. What
/// names no target, or a file of targets, does not count.
fn probes_own(running: &Running<'_, '_>) -> bool {
    let aims = |role: &Role| matches!(role, Role::Url | Role::Host);
    let mut aimed = running.args.values.iter().filter(|(role, _)| aims(role)).peekable();
    aimed.peek().is_some()
        && aimed.all(|(_, value)| net::host_of(value).is_some_and(|host| net::is_own(&host)))
}

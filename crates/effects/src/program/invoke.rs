//! Running a program: from its argument list to effects.
//!
//! Refused: treating an unknown program as harmless. It is an effect that says so ([`Verb::Does`]).

use crate::effect::{Reason, Target, Verb};
use crate::files::Entry;
use crate::mark;
use crate::net;
use crate::path;
use crate::program::arguments::{self, Arguments};
use crate::program::table::{Act, Handler, Lang, Out, Program, Record, Role};
use crate::run::Run;
use crate::shell::scope::Scope;

/// One running of a program, as handlers see it.
pub(crate) struct Running<'r, 'p> {
    pub(crate) name: &'r str,
    pub(crate) argv: &'r [String],
    pub(crate) args: &'r Arguments<'p>,
    pub(crate) stdin: &'r str,
}

const PROGRAM_FOLDERS: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/opt/homebrew/bin",
    "/opt/local/bin",
    "/snap/bin",
    "/busybox",
    "/usr/games",
];

impl Run<'_> {
    /// Runs `argv` in `scope`; what comes back is what it prints.
    pub(crate) fn invoke(&mut self, scope: &mut Scope, argv: Vec<String>, stdin: &str) -> String {
        if !self.step() || !self.enter(0) {
            return mark::VOID.to_string();
        }
        let stdout = self.invoked(scope, argv, stdin);
        self.leave();
        stdout
    }

    /// The same for a command that has a scope of its own (a wrapper's).
    pub(crate) fn invoke_apart(&mut self, scope: &Scope, argv: Vec<String>, stdin: &str) -> String {
        let mut inner = scope.clone();
        self.invoke(&mut inner, argv, stdin)
    }

    fn invoked(&mut self, scope: &mut Scope, mut argv: Vec<String>, stdin: &str) -> String {
        let Some(name) = argv.first().cloned() else { return String::new() };
        if scope.functions.contains_key(name.as_str()) {
            return self.call(scope, &name, &argv, stdin);
        }
        if let Some((variable, value)) = name.split_once('=')
            && !variable.is_empty()
            && variable.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        {
            // A wrapper hands it on: `sudo A=b program`.
            self.environment_variable(scope, variable, value);
            argv.remove(0);
            return self.invoked(scope, argv, stdin);
        }
        if mark::has_mark(&name) || name.is_empty() {
            return self.dynamic(scope, &name, argv, stdin);
        }
        if let Some(stdout) = self.builtin(scope, &argv, stdin) {
            return stdout;
        }
        let base = path::base_name(&name.replace('\\', "/")).to_owned();
        if let Some(sub) = base.strip_prefix("git-")
            && self.ctx.programs.get(&base).is_none()
        {
            let sub = sub.to_owned();
            argv.splice(0..1, ["git".to_owned(), sub]);
            return self.invoked(scope, argv, stdin);
        }
        let absolute = name.contains('/') && {
            let at = path::normalise(&scope.cwd, &name).unwrap_or_default();
            !PROGRAM_FOLDERS.contains(&path::folder_of(&at))
        };
        let ctx = self.ctx;
        let known = known_name(ctx.programs, &base);
        if absolute && self.local_program(scope, &name, &argv, stdin, known.is_some()) {
            return mark::VOID.to_string();
        }
        match known {
            Some((known, program)) => self.known(scope, &known, program, &argv, stdin),
            None => {
                self.program(&base, "");
                if !absolute {
                    self.unknown(Verb::Does, Reason::Program);
                }
                self.unknown_wrapper(scope, &argv, stdin);
                mark::VOID.to_string()
            }
        }
    }

    /// A program whose name is only known in part.
    fn dynamic(
        &mut self,
        scope: &mut Scope,
        name: &str,
        mut argv: Vec<String>,
        stdin: &str,
    ) -> String {
        let unknown = mark::VOID.to_string();
        argv.remove(0);
        if name.contains(mark::REMOTE) {
            self.out.add(Verb::Runs, Target::RemoteCode, &self.piece);
            return unknown;
        }
        let known = name.split(mark::is_mark).next().unwrap_or_default();
        let at = path::normalise(&scope.cwd, known).unwrap_or_default();
        let in_project = known.contains('/')
            && !mark::has_void(name)
            && !PROGRAM_FOLDERS.iter().any(|folder| at.starts_with(folder))
            && at.len() > 1
            || name.starts_with(mark::BELOW);
        if in_project {
            self.program(&mark::shown(path::base_name(name)), "");
            self.unknown(Verb::Does, Reason::Script);
        } else if !name.is_empty() {
            self.unknown(Verb::Runs, Reason::ProgramName);
        }
        // `$SUDO rm x`: what follows may be the command itself.
        let follows = argv.first().is_some_and(|first| {
            !first.starts_with('-')
                && (known_name(self.ctx.programs, path::base_name(first)).is_some())
        });
        if follows || name.is_empty() {
            return self.invoke(scope, argv, stdin);
        }
        unknown
    }

    /// A program outside of the usual folders: a script of the workspace, perhaps. `true` when its
    /// inside is known.
    fn local_program(
        &mut self,
        scope: &Scope,
        name: &str,
        argv: &[String],
        stdin: &str,
        in_table: bool,
    ) -> bool {
        if let Some(text) = self.content(scope, name) {
            self.program(path::base_name(name), "");
            let lang = shebang(&text).unwrap_or(Lang::Shell);
            let args = argv.get(1..).unwrap_or_default().to_vec();
            self.run_script_text(scope, lang, &text, args, stdin);
            return true;
        }
        if !in_table {
            self.unknown(Verb::Does, Reason::Script);
        }
        false
    }

    /// `unknown-tool -- command`: the command counts.
    fn unknown_wrapper(&mut self, scope: &Scope, argv: &[String], stdin: &str) {
        let after = argv.iter().position(|word| word == "--").map(|at| at + 1);
        let Some(after) = after else { return };
        let rest = argv.get(after..).unwrap_or_default();
        let Some(first) = rest.first() else { return };
        if known_name(self.ctx.programs, path::base_name(first)).is_some() {
            self.invoke_apart(scope, rest.to_vec(), stdin);
        }
    }

    fn known(
        &mut self,
        scope: &mut Scope,
        name: &str,
        program: &Program,
        argv: &[String],
        stdin: &str,
    ) -> String {
        let args = arguments::read(program, argv);
        self.program(name, &args.sub);
        let record = args.record.unwrap_or(&program.root);
        if args.help && args.nested.is_none() {
            return mark::WORD.to_string();
        }
        let handler = record.handler.or(program.root.handler);
        let mut inner = scope.clone();
        for (role, value) in &args.values {
            if *role == Role::Folder {
                let folder = path::normalise(&inner.cwd, value);
                inner.conditional = 0;
                inner.change_folder(&folder.unwrap_or_else(|| mark::VOID.to_string()));
            }
        }
        let before = self.out.len();
        let running = Running { name, argv, args: &args, stdin };
        let nothing = args.acts_on(&Act::Nothing);
        if nothing {
            return mark::WORD.to_string();
        }
        if args.unknown_sub && handler.is_none() {
            self.unknown(Verb::Does, Reason::Program);
        }
        let handled = match handler {
            Some(handler) => self.handle(scope, &mut inner, handler, &running),
            None => None,
        };
        self.acts(&inner, &running);
        self.roles(&inner, &running, handler.is_some_and(Handler::runs_the_rest));
        if argv.iter().any(|word| word.contains(mark::SECRET)) || stdin.contains(mark::SECRET) {
            let contacts = self.out.iter().skip(before).any(|e| e.verb == Verb::Contacts);
            let login = args.has("--password-stdin") || args.has("--with-token");
            if contacts && !login {
                self.secret(Verb::Sends);
            }
        }
        handled.unwrap_or_else(|| self.output(&inner, record, &running))
    }

    fn acts(&mut self, scope: &Scope, running: &Running<'_, '_>) {
        let unguarded = running.args.acts_on(&Act::Unguarded);
        for act in &running.args.acts {
            match act {
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
                Act::Environment => self.environment(),
                Act::ProjectCode => self.unknown(Verb::Does, Reason::ProjectCode),
                Act::Opaque => self.unknown(Verb::Does, Reason::Program),
                Act::Hidden => self.unknown(Verb::Runs, Reason::RunText),
                Act::Agent => {
                    let target = Target::Agent { name: running.name.into(), unguarded };
                    self.out.add(Verb::Runs, target, &self.piece);
                }
                Act::Unguarded | Act::Tree | Act::Nothing | Act::InPlace | Act::DeletesArgs => {}
            }
        }
        if unguarded && !running.args.acts_on(&Act::Agent) {
            let target = Target::Agent { name: running.name.into(), unguarded };
            self.out.add(Verb::Runs, target, &self.piece);
        }
    }

    fn roles(&mut self, scope: &Scope, running: &Running<'_, '_>, rest_has_run: bool) {
        let args = running.args;
        let tree = args.acts_on(&Act::Tree);
        for (role, value) in &args.values {
            self.role(scope, running, *role, value, tree);
        }
        if rest_has_run {
            return;
        }
        if let Some(nested) = &args.nested {
            self.invoke_apart(scope, nested.clone(), running.stdin);
        }
        if let Some(rest) = &args.shell_rest {
            let mut inner = scope.clone();
            self.run_text(&mut inner, &rest.join(" "), running.stdin);
        }
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
            Role::Skip | Role::Folder | Role::Argv | Role::ShellRest => {}
            Role::Read => self.path(scope, Verb::Reads, value, tree),
            Role::Write => self.path(scope, Verb::Writes, value, tree),
            Role::Tree => self.path(scope, Verb::Writes, value, true),
            Role::Delete => self.path(scope, Verb::Deletes, value, tree),
            Role::DeleteTree => self.path(scope, Verb::Deletes, value, true),
            Role::Move => {
                self.path(scope, Verb::Deletes, value, true);
                self.path(scope, Verb::Reads, value, true);
            }
            Role::Into => self.place_into(scope, running, value, tree),
            Role::Host | Role::Url => self.host(value),
            Role::Send => self.send_file(scope, value),
            Role::Data => self.send_data(scope, value),
            Role::Remote => match net::remote_host(value) {
                Some(host) => self.host(host),
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
            Role::RemoteInto => match net::remote_host(value) {
                Some(host) => self.host(host),
                None => self.place_into(scope, running, value, tree),
            },
            Role::Shell => {
                let mut inner = scope.clone();
                self.run_text(&mut inner, value, "");
            }
            Role::Code(lang) => self.code(scope, lang, value),
            Role::Script(lang) => {
                let after = running.args.positionals.iter().position(|p| p == value);
                let args = after.map_or_else(Vec::new, |at| {
                    running.args.positionals.get(at + 1..).unwrap_or_default().to_vec()
                });
                self.script_file(scope, lang, value, args, running.stdin);
            }
            Role::Sql => self.sql(value),
            Role::SqlFile => {
                self.path(scope, Verb::Reads, value, false);
                if let Some(text) = self.content(scope, value) {
                    self.sql(&text);
                }
            }
            Role::Assign => {
                if let Some((name, value)) = value.split_once('=') {
                    self.environment_variable(scope, name, value);
                }
            }
            Role::Program => {
                if !value.is_empty() {
                    let mut inner = scope.clone();
                    self.run_text(&mut inner, value, "");
                }
            }
            Role::Mount => self.mount(scope, value),
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

    fn send_data(&mut self, scope: &Scope, value: &str) {
        // `name=@file`, `@file`, `name=<file`, `name@file`.
        let file = value.split_once('@').filter(|(front, _)| {
            front.is_empty() || front.ends_with('=') || !front.contains([' ', '.', '{', '"'])
        });
        let file = file.map(|(_, file)| file).or_else(|| value.split_once("=<").map(|(_, f)| f));
        match file {
            Some(file) => {
                let file = file.split(';').next().unwrap_or_default();
                self.send_file(scope, file);
            }
            None if mark::has_void(value) => self.thing(Verb::Sends, "computed"),
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
        if !is_folder {
            self.path(scope, Verb::Writes, into, tree || moved);
        }
        if is_folder || !self.ctx.files.is_present() {
            for source in sources.iter().take(64) {
                let name = path::base_name(source);
                if !name.is_empty() && name != "." && name != ".." {
                    let inside = format!("{}/{name}", into.trim_end_matches('/'));
                    self.path(scope, Verb::Writes, &inside, tree);
                } else if tree {
                    self.path(scope, Verb::Writes, into, true);
                }
            }
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
        if source.ends_with("docker.sock") || source == "/" || source.starts_with("/etc") {
            self.thing(Verb::Escalates, "host-from-container");
        }
        let verb = if read_only { Verb::Reads } else { Verb::Does };
        if verb == Verb::Reads {
            self.path(scope, Verb::Reads, source, false);
        }
    }

    /// What the program prints.
    fn output(&mut self, scope: &Scope, record: &Record, running: &Running<'_, '_>) -> String {
        let last = running.args.positionals.last().map_or("", |last| last.as_str());
        match record.out {
            Out::Unknown => mark::VOID.to_string(),
            Out::Word => mark::WORD.to_string(),
            Out::Nothing => String::new(),
            Out::Cwd => scope.cwd.to_string(),
            Out::Root => self.root(),
            Out::Below => mark::BELOW.to_string(),
            Out::BelowArgs => {
                let places = running.args.values.iter().filter(|(role, _)| *role == Role::Read);
                let mut lines = String::new();
                for (_, place) in places {
                    let place = place.trim_end_matches('/');
                    lines.push_str(&format!("{place}/{}\n", mark::BELOW));
                }
                if lines.is_empty() {
                    lines.push(mark::BELOW);
                }
                lines
            }
            Out::Temp => format!("/tmp/tmp.{}", mark::WORD),
            Out::Init => mark::INIT.to_string(),
            Out::Remote => mark::REMOTE.to_string(),
            Out::Content => self.contents(scope, running),
            Out::Input => running.stdin.to_owned(),
            Out::Name => {
                let first = running.args.positionals.first().map_or("", |first| first.as_str());
                let name = path::base_name(first);
                if mark::has_void(name) || name.contains(mark::BELOW) {
                    return mark::WORD.to_string();
                }
                let suffix = running.args.positionals.get(1).map_or("", |s| s.as_str());
                name.strip_suffix(suffix).unwrap_or(name).to_owned()
            }
            Out::FolderOf => {
                if last == mark::BELOW.to_string() {
                    return last.to_owned();
                }
                if last.contains('/') { path::folder_of(last).to_owned() } else { ".".to_owned() }
            }
            Out::Absolute => {
                let unknown = || mark::VOID.to_string();
                path::normalise(&scope.cwd, last).unwrap_or_else(unknown)
            }
            Out::Which => {
                if mark::has_mark(last) {
                    mark::VOID.to_string()
                } else {
                    format!("/usr/bin/{last}")
                }
            }
        }
    }

    /// The known content of the files a program reads, or of its standard input.
    pub(crate) fn contents(&mut self, scope: &Scope, running: &Running<'_, '_>) -> String {
        let mut text = String::new();
        let mut any = false;
        for (role, file) in &running.args.values {
            if *role != Role::Read || file == "-" {
                continue;
            }
            any = true;
            match self.content(scope, file) {
                Some(content) => crate::shell::walk::append(&mut text, &content),
                None => return mark::VOID.to_string(),
            }
        }
        if any { text } else { running.stdin.to_owned() }
    }

    fn handle(
        &mut self,
        scope: &mut Scope,
        inner: &mut Scope,
        handler: Handler,
        running: &Running<'_, '_>,
    ) -> Option<String> {
        match handler {
            Handler::Echo => Some(self.echo(running)),
            Handler::Printf => Some(self.printf(scope, running)),
            Handler::Cat => Some(self.contents(inner, running)),
            Handler::Env => Some(self.env_program(inner, running)),
            Handler::Xargs => Some(self.xargs(inner, running)),
            Handler::Find => Some(self.find(inner, running)),
            Handler::Ssh => self.ssh(inner, running),
            Handler::DockerRun => self.docker_run(inner, running),
            Handler::Git => self.git(inner, running),
            Handler::GitConfig => self.git_config(inner, running),
            Handler::GitPush => self.git_push(running),
            Handler::GitCheckout => self.git_checkout(inner, running),
            Handler::Tar => self.tar(inner, running),
            Handler::Dd => self.dd(inner, running),
            Handler::Curl => Some(self.curl(inner, running)),
            Handler::Wget => Some(self.wget(inner, running)),
            Handler::Make => self.make(inner, running),
            Handler::PackageScript => self.package_script(inner, running),
            Handler::Sed => self.sed(inner, running),
            Handler::Crontab => self.crontab(inner, running),
            Handler::Kill => self.kill(running),
            Handler::Chmod => self.chmod(inner, running),
            Handler::Base64 => Some(self.base64(inner, running)),
            Handler::Netcat => Some(self.netcat(inner, running)),
            Handler::Shell => Some(self.shell(inner, running)),
            Handler::Interpreter => self.interpreter(inner, running),
            Handler::Parallel => Some(self.parallel(inner, running)),
            Handler::Grep => Some(self.grep(inner, running)),
            Handler::Tr => Some(self.tr(running)),
            Handler::Rev => Some(self.rev(running)),
            Handler::HexDecode => Some(self.hex_decode(running)),
            Handler::Decoded => Some(self.decoded(inner, running)),
            Handler::SqlShell => self.sql_shell(inner, running),
            Handler::RedisShell => self.redis_shell(running),
            Handler::Systemctl => self.systemctl(running),
            Handler::Socat => self.socat(inner, running),
            Handler::WindowsShell => self.windows_shell(inner, running),
            Handler::Tmux => self.tmux(inner, running),
            Handler::Openssl => self.openssl(inner, running),
            Handler::Sort => Some(self.sort(inner, running)),
            Handler::Mkfifo => self.mkfifo(inner, running),
            Handler::Fd => Some(self.fd(inner, running)),
            Handler::Printenv => Some(self.print_environment(running)),
        }
    }
}

/// The table's name for a program: as it is, without `.exe`, a version, or capital letters.
pub(crate) fn known_name<'t>(
    programs: &'t crate::program::table::Programs,
    base: &str,
) -> Option<(String, &'t Program)> {
    if let Some(program) = programs.get(base) {
        return Some((base.to_owned(), program));
    }
    let lower = base.to_ascii_lowercase();
    let stem = lower.strip_suffix(".exe").or_else(|| lower.strip_suffix(".cmd")).unwrap_or(&lower);
    let plain = stem.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let candidates = [stem, plain, plain.trim_end_matches('-')];
    for name in candidates {
        if !name.is_empty()
            && let Some(program) = programs.get(name)
        {
            return Some((name.to_owned(), program));
        }
    }
    None
}

/// The language that a script's first line names.
pub(crate) fn shebang(text: &str) -> Option<Lang> {
    let line = text.lines().next()?.strip_prefix("#!")?;
    let mut words = line.split_whitespace();
    let mut program = path::base_name(words.next()?);
    if program == "env" {
        program =
            path::base_name(words.find(|word| !word.starts_with('-') && !word.contains('='))?);
    }
    let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some(match plain {
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" => Lang::Shell,
        "python" | "pypy" => Lang::Python,
        "node" | "nodejs" | "deno" | "bun" | "tsx" => Lang::Node,
        "perl" => Lang::Perl,
        "ruby" => Lang::Ruby,
        "php" => Lang::Php,
        "lua" => Lang::Lua,
        "awk" | "gawk" => Lang::Awk,
        "sed" => Lang::Sed,
        "pwsh" | "powershell" => Lang::Powershell,
        _ => Lang::Other,
    })
}

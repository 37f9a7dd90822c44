//! Running a program: from its argument list to effects.
//!
//! Refused: treating an unknown program as harmless. It is an effect that says so ([`Verb::Does`]).

use crate::effect::{Reason, Target, Verb};
use crate::limits::PIECE_BYTES_MAX;
use crate::mark;
use crate::path;
use crate::program::arguments::{self, Arguments};
use crate::program::code::language_of;
use crate::program::table::{Act, Handler, Lang, Out, Program, Record, Role};
use crate::run::Run;
use crate::shell::scope::Scope;
use crate::windows;

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

/// Words that are a command of their own behind an unknown program, when an option follows them, and
/// hardly ever the name of a sub-command.
const COMMANDS: &[&str] = &[
    "rm", "sh", "bash", "zsh", "dash", "ksh", "sudo", "dd", "shred", "xargs", "chmod", "chown",
    "curl", "wget", "python", "python3", "perl", "ruby", "node", "nc", "ncat",
];

fn is_sub_word(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
}

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
        if name == "type" && argv.get(1).is_some_and(|word| path::has_drive_letter(word)) {
            // Of `cmd`, and not the shell's own.
            let text = self.piece.text.to_string();
            self.windows_text(scope, Lang::Cmd, &text);
            return mark::VOID.to_string();
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
            // A whole text as one word: what a wrapper was given in quotes.
            None if name.contains(' ') => self.run_text(scope, &argv.join(" "), stdin),
            None if windows::language(&base).is_some() => {
                // As it was written: the shell's own reading takes backslashes away.
                let whole = self.piece.text.len() < PIECE_BYTES_MAX;
                let text = if whole { self.piece.text.to_string() } else { argv.join(" ") };
                let lang = windows::language(&base).unwrap_or(Lang::Cmd);
                self.windows_text(scope, lang, &text);
                mark::VOID.to_string()
            }
            None => {
                self.program(&base, "");
                let windows_file = [".exe", ".bat", ".cmd"].iter().any(|end| base.ends_with(end));
                if windows_file && !absolute && self.local_program(scope, &name, &argv, stdin, true)
                {
                    return mark::VOID.to_string();
                }
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
            && !PROGRAM_FOLDERS
                .iter()
                .any(|folder| at.starts_with(folder) || folder.starts_with(at.as_str()))
            || name.starts_with(mark::BELOW);
        if in_project {
            for file in self.matching_files(scope, name) {
                let mut argv = argv.clone();
                argv.insert(0, file);
                self.invoke_apart(scope, argv, stdin);
            }
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
        if in_table {
            // A known name, but not the known program: `./x/configure` of what came a moment ago.
            let at = path::normalise(&scope.cwd, name).unwrap_or_default();
            if self.is_fetched(&at, true) {
                self.unknown(Verb::Runs, Reason::RunText);
            }
        } else {
            match language_of(name) {
                Some(lang) => self.unknown_script(scope, name, lang),
                None => self.of_project(&scope.cwd, Some(name), Reason::Script),
            }
        }
        false
    }

    /// What an unknown program may run: `tool -- COMMAND`, `tool -c TEXT`, `tool /bin/rm ..`,
    /// `tool -n 1 rm -rf x`.
    fn unknown_wrapper(&mut self, scope: &Scope, argv: &[String], stdin: &str) {
        let known = |word: &str| known_name(self.ctx.programs, path::base_name(word)).is_some();
        let first = argv.get(1).map_or("", |word| word.as_str());
        if PROGRAM_FOLDERS.contains(&path::folder_of(first)) && known(first) {
            self.invoke_apart(scope, argv.get(1..).unwrap_or_default().to_vec(), stdin);
            return;
        }
        let text = argv.iter().position(|word| word == "-c").and_then(|at| argv.get(at + 1));
        if let Some(text) = text
            && known(text.split_whitespace().next().unwrap_or_default())
        {
            let mut inner = scope.clone();
            self.run_text(&mut inner, text, stdin);
            return;
        }
        let after = argv.iter().position(|word| word == "--").map(|at| at + 1);
        let rest = after.and_then(|after| argv.get(after..)).unwrap_or_default();
        if rest.first().is_some_and(|word| known(word)) {
            self.invoke_apart(scope, rest.to_vec(), stdin);
            return;
        }
        let plain = |pair: &[String]| match pair {
            [word, option] => COMMANDS.contains(&word.as_str()) && option.starts_with('-'),
            _ => false,
        };
        if let Some(at) = argv.get(1..).unwrap_or_default().windows(2).position(plain) {
            self.invoke_apart(scope, argv.get(at + 1..).unwrap_or_default().to_vec(), stdin);
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
        let record = args.record.unwrap_or(&program.root);
        if record.open && program.subs.is_empty() {
            // Nothing is told of its sub-commands but that they are some: the first words.
            let words = args.positionals.iter().take_while(|word| is_sub_word(word)).take(2);
            let words: Vec<&str> = words.map(String::as_str).collect();
            self.program(name, &words.join(" "));
        } else {
            self.program(name, &args.sub);
        }
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
        let nothing = args.acts_on(&Act::Nothing) || (record.bare && argv.len() == 1);
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
        let printed = self.roles(&inner, &running, handler.is_some_and(Handler::runs_the_rest));
        if argv.iter().any(|word| word.contains(mark::SECRET)) || stdin.contains(mark::SECRET) {
            let contacts = self.out.iter().skip(before).any(|e| e.verb == Verb::Contacts);
            let login = args.has("--password-stdin") || args.has("--with-token");
            if contacts && !login {
                self.secret(Verb::Sends);
            }
        }
        handled.or(printed).unwrap_or_else(|| self.output(&inner, record, &running))
    }

    /// What the program prints.
    fn output(&mut self, scope: &Scope, record: &Record, running: &Running<'_, '_>) -> String {
        let last = running.args.positionals.last().map_or("", |last| last.as_str());
        match record.out {
            Out::Unknown => mark::VOID.to_string(),
            Out::Word => mark::WORD.to_string(),
            Out::Machine => format!("{}{}", mark::WORD, mark::DATA),
            Out::Nothing => String::new(),
            Out::Cwd => scope.cwd.to_string(),
            Out::Root => self.root(),
            Out::Below => mark::BELOW.to_string(),
            Out::Listed => {
                let args = &running.args.positionals;
                let listed = !args.is_empty() && args.iter().all(|word| is_file_pattern(word));
                let hidden = running.args.has("-a") || running.args.has("-A");
                match (listed, hidden) {
                    (true, _) => args.join("\n"),
                    // Hidden files among them, and the one that many projects have.
                    (false, true) if args.is_empty() && self.may_be_there(scope, ".env") => {
                        format!("{}\n.env\n", mark::BELOW)
                    }
                    (false, _) => mark::BELOW.to_string(),
                }
            }
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
            Handler::GitRemote => self.git_remote(running),
            Handler::GitCheckout => self.git_checkout(inner, running),
            Handler::GitBranch => self.git_branch(inner, running),
            Handler::ForgeApi => self.forge_api(running),
            Handler::Device => self.device_shell(inner, running),
            Handler::Envsubst => Some(self.envsubst(running)),
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
            Handler::MadeWithMode => self.made_with_mode(running),
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
            Handler::EditorInput => {
                self.code(inner, Lang::Editor, running.stdin);
                None
            }
            Handler::Patch => self.patch_program(inner, running),
            Handler::Tasks => self.task_runner(inner, running),
            Handler::State => self.state_shown(running),
            Handler::MavenExec => self.maven_exec(inner, running),
            Handler::Serve => self.serve(inner, running),
            Handler::Tee => Some(self.tee(inner, running)),
            Handler::Printenv => Some(self.print_environment(running)),
            Handler::Jq => self.jq_environment(running),
        }
    }
}

/// The table's name for a program: as it is, without `.exe`, a version, or capital letters.
pub(crate) fn known_name<'t>(
    programs: &'t crate::program::table::Programs,
    base: &str,
) -> Option<(String, &'t Program)> {
    let resolved = |name: &str| -> Option<(String, &'t Program)> {
        let program = programs.get(name)?;
        match &program.root.alias {
            Some(alias) => Some((alias.to_string(), programs.get(alias)?)),
            None => Some((name.to_owned(), program)),
        }
    };
    if let Some(found) = resolved(base) {
        return Some(found);
    }
    // A package with its version: `prettier@3`.
    let base = base.split_once('@').map_or(base, |(name, _)| name);
    let lower = base.to_ascii_lowercase();
    let stem = lower.strip_suffix(".exe").or_else(|| lower.strip_suffix(".cmd")).unwrap_or(&lower);
    let plain = stem.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let candidates = [stem, plain, plain.trim_end_matches('-')];
    for name in candidates {
        if !name.is_empty()
            && let Some(found) = resolved(name)
        {
            return Some(found);
        }
    }
    None
}

/// Whether a word is a pattern that files rather than folders follow: `*.tmp`, but not `*`.
fn is_file_pattern(word: &str) -> bool {
    let name = path::base_name(word);
    name.contains(mark::ANY) && name.chars().filter(|c| !mark::is_mark(*c)).count() > 1
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

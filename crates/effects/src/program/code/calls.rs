//! The list of calls that matter, over all languages, and the scanner that finds them.
//!
//! A name is judged by its last part and, where that is ambiguous (`remove`, `get`, `open`), by what it
//! belongs to. Refused: one list per language; the names hardly clash.

use crate::effect::{Reason, Verb};
use crate::mark;
use crate::program::code::value::{self, arguments, list};
use crate::program::table::Lang;
use crate::run::Run;
use crate::shell::scope::Scope;

/// What a call does with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Delete,
    DeleteTree,
    Write,
    Read,
    /// Opens: reads or writes, as the mode says.
    Open,
    Copy,
    Move,
    /// Runs a shell text.
    Shell,
    /// Runs a program with arguments, or a shell text when it is one string.
    Program,
    /// Runs a text of its own language.
    Evaluate,
    Contact,
    Send,
    /// Deletes what it is called on: `Path(x).unlink()`.
    DeleteSelf,
    WriteSelf,
}

/// Whether the text runs a text of its own language.
pub(crate) fn evaluates(text: &str) -> bool {
    [
        "exec(",
        "eval(",
        "eval ",
        "Function(",
        "assert(",
        "create_function(",
        "instance_eval",
        "compile(",
        "runInThisContext",
        "load(",
    ]
    .iter()
    .any(|needle| {
        text.match_indices(needle).any(|(at, _)| {
            let before = text.get(..at).and_then(|t| t.chars().last());
            !before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
        })
    })
}

fn judge(lang: Lang, owner: &str, name: &str) -> Option<Does> {
    let owned = |names: &[&str]| names.iter().any(|n| owner == *n || owner.ends_with(n));
    let script = matches!(lang, Lang::Perl | Lang::Ruby | Lang::Php);
    Some(match name {
        "unlink" | "unlinkSync" | "rmdir" | "rmdirSync" | "removedirs" | "remove_file"
            if owner.is_empty() && script
                || owned(&["os", "fs", "File", "Dir", "promises", "fsp", "FileUtils"]) =>
        {
            Does::Delete
        }
        "unlink" | "rmdir" if lang == Lang::Python => Does::DeleteSelf,
        "remove" if owned(&["os", "fs", "File", "FileUtils"]) => {
            if lang == Lang::Node {
                Does::DeleteTree
            } else {
                Does::Delete
            }
        }
        "rmtree"
        | "rmSync"
        | "rm_rf"
        | "rm_r"
        | "remove_tree"
        | "removeSync"
        | "rimraf"
        | "rm_f"
        | "remove_dir"
        | "remove_entry_secure"
        | "emptyDirSync" => Does::DeleteTree,
        "rm" if owned(&["fs", "fsp", "promises", "FileUtils"]) => Does::DeleteTree,
        "delete" if owned(&["File", "Dir"]) => Does::Delete,
        "rename" | "renameSync" | "renames" | "mv"
            if owned(&["os", "fs", "File", "FileUtils", "promises"])
                || owner.is_empty() && script =>
        {
            Does::Move
        }
        "replace" if owner == "os" => Does::Move,
        "move" if owned(&["shutil", "fs"]) => Does::Move,
        "copy" | "copyfile" | "copy2" | "copytree" | "copyFileSync" | "cpSync" | "copyFile"
        | "cp" | "cp_r"
            if owned(&["shutil", "fs", "FileUtils", "promises", "File"])
                || name == "copytree"
                || owner.is_empty() && lang == Lang::Php =>
        {
            Does::Copy
        }
        "writeFileSync" | "writeFile" | "appendFileSync" | "appendFile" | "createWriteStream"
        | "file_put_contents" | "truncateSync" | "outputFileSync" => Does::Write,
        "write" | "binwrite" if owned(&["File", "IO", "Bun"]) => Does::Write,
        "truncate" | "chmod" | "symlink" | "makedirs" | "mkdir" if owner == "os" => Does::Write,
        "chmodSync" | "symlinkSync" => Does::Write,
        "write_text" | "write_bytes" => Does::WriteSelf,
        "readFileSync" | "readFile" | "createReadStream" | "file_get_contents" | "readfile"
        | "readlines" | "foreach" => {
            if owned(&["fs", "File", "IO", "promises", "fsp"]) || owner.is_empty() {
                Does::Read
            } else {
                return None;
            }
        }
        "read" if owned(&["File", "IO"]) => Does::Read,
        "open" if owner.is_empty() || owned(&["io", "File", "codecs", "os", "builtins"]) => {
            Does::Open
        }
        "fopen" => Does::Open,
        "openSync" => Does::Open,
        "system"
        | "popen"
        | "getoutput"
        | "getstatusoutput"
        | "shell_exec"
        | "passthru"
        | "execSync"
        | "popen3"
        | "capture3"
        | "capture2e"
        | "capture2"
        | "create_subprocess_shell"
        | "proc_open" => Does::Shell,
        "exec"
            if owned(&["child_process", "cp", "os", "shell"])
                || owner.is_empty() && (script || owner == ")") =>
        {
            Does::Shell
        }
        "exec" | "eval" if lang == Lang::Python && owner.is_empty() => Does::Evaluate,
        "exec" if lang == Lang::Node && (owner.is_empty() || owner == ")") => Does::Shell,
        "eval" | "Function" | "runInThisContext" | "runInNewContext" | "instance_eval"
        | "class_eval" | "create_function" | "assert"
            if owner.is_empty() || owned(&["vm"]) =>
        {
            if name == "assert" && lang != Lang::Php {
                return None;
            }
            Does::Evaluate
        }
        "execute" if owner == "os" => Does::Shell,
        "run" | "call" | "check_output" | "check_call" | "Popen"
            if owned(&["subprocess", "sp"])
                || name == "check_output"
                || name == "Popen"
                || name == "check_call" =>
        {
            Does::Program
        }
        "spawn"
        | "spawnSync"
        | "execFile"
        | "execFileSync"
        | "fork"
        | "execv"
        | "execvp"
        | "execve"
        | "execl"
        | "execlp"
        | "spawnl"
        | "spawnlp"
        | "spawnv"
        | "pcntl_exec"
        | "posix_spawn"
        | "create_subprocess_exec"
        | "startfile"
        | "Command" => Does::Program,
        "urlopen" | "urlretrieve" | "fetch" | "fsockopen" | "create_connection" | "getaddrinfo"
        | "getstore" | "createConnection" | "curl_init" | "HTTPSConnection" | "HTTPConnection"
        | "get_response" | "WebSocket" | "URI" => {
            if name == "fetch" && !owner.is_empty() || name == "URI" && lang != Lang::Ruby {
                return None;
            }
            Does::Contact
        }
        "get" | "head" | "request" | "connect" | "new"
            if owned(&[
                "requests",
                "http",
                "https",
                "axios",
                "LWP",
                "net",
                "httpx",
                "HTTP",
                "socket",
                "s",
                "urllib3",
                "got",
                "TCPSocket",
                "sock",
                "INET",
                "Simple",
                "client",
                "session",
            ]) =>
        {
            Does::Contact
        }
        "post" | "put" | "patch" | "post_form"
            if owned(&[
                "requests", "http", "https", "axios", "httpx", "HTTP", "session", "client",
            ]) =>
        {
            Does::Send
        }
        "sendall" | "send" if owned(&["s", "sock", "socket"]) => return None,
        _ => return None,
    })
}

impl Run<'_> {
    /// Finds the calls in a text, once from front to back.
    pub(crate) fn calls(&mut self, scope: &Scope, lang: Lang, text: &str) {
        let bytes = text.as_bytes();
        let mut at = 0;
        let mut word = None;
        while let Some(byte) = bytes.get(at) {
            let named =
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'$' | b'@');
            if named || (*byte == b'-' && bytes.get(at + 1) == Some(&b'>')) {
                if word.is_none() {
                    word = Some(at);
                }
                at += if *byte == b'-' { 2 } else { 1 };
                continue;
            }
            if let Some(from) = word.take() {
                let name = text.get(from..at).unwrap_or_default();
                let rest = text.get(at..).unwrap_or_default();
                self.call_at(scope, lang, name, text.get(..from).unwrap_or_default(), rest, text);
            }
            match byte {
                b'`' if matches!(lang, Lang::Perl | Lang::Ruby | Lang::Php) => {
                    if let Some((command, after)) =
                        value::literal(text.get(at..).unwrap_or_default())
                    {
                        self.code_runs(scope, &[command], true);
                        at = text.len() - after.len();
                        continue;
                    }
                }
                b'#' if matches!(lang, Lang::Python | Lang::Perl | Lang::Ruby)
                    && line_starts(text, at) =>
                {
                    let rest = text.get(at..).unwrap_or_default();
                    at += rest.find('\n').unwrap_or(rest.len());
                    continue;
                }
                b'"' | b'\'' => {
                    let tail = text.get(at..).unwrap_or_default();
                    if let Some((_, after)) = value::literal(tail) {
                        at = text.len() - after.len();
                        continue;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        if let Some(from) = word {
            let name = text.get(from..).unwrap_or_default();
            self.call_at(scope, lang, name, text.get(..from).unwrap_or_default(), "", text);
        }
    }

    fn call_at(
        &mut self,
        scope: &Scope,
        lang: Lang,
        chain: &str,
        before: &str,
        rest: &str,
        whole: &str,
    ) {
        let chain = chain.trim_end_matches(':');
        let cut = chain.rfind(['.', ':', '>']).map_or(0, |at| at + 1);
        let name = chain.get(cut..).unwrap_or_default();
        let owner = chain.get(..cut).unwrap_or_default().trim_end_matches(['.', ':', '>', '-']);
        let owner = if owner.is_empty() && cut > 0 { owner_of(before) } else { owner };
        if matches!(name, "qx" | "x") && rest.starts_with(['{', '(', '/', '[']) {
            let close = rest.find(['}', ')', ']']).unwrap_or(rest.len());
            let command = rest.get(1..close).unwrap_or_default().to_owned();
            let is_command = name == "qx" || before.ends_with('%');
            if is_command {
                self.code_runs(scope, &[command], true);
            }
            return;
        }
        let owner = owner.rsplit(['.', ':']).next().unwrap_or_default();
        let Some(does) = judge(lang, owner, name) else { return };
        let bare = matches!(lang, Lang::Perl | Lang::Ruby);
        let args: Vec<&str> = match rest.trim_start().strip_prefix('(') {
            Some(inside) => arguments(inside).0,
            None if bare && rest.trim_start().starts_with(['"', '\'', '$', '<', '`', 'q']) => {
                arguments(rest).0
            }
            None => return,
        };
        self.call_does(scope, does, &args, before, whole);
    }

    fn call_does(&mut self, scope: &Scope, does: Does, args: &[&str], before: &str, whole: &str) {
        let text = |index: usize| -> String {
            let arg = args.get(index).copied().unwrap_or_default();
            let arg = arg
                .split_once('=')
                .filter(|(k, v)| is_keyword(k) && !v.starts_with('='))
                .map_or(arg, |(_, v)| v);
            value::value(arg, whole, 0)
        };
        match does {
            Does::Delete | Does::DeleteTree => {
                for index in 0..args.len().clamp(1, 8) {
                    let is_option = args.get(index).is_some_and(|a| {
                        a.starts_with('{')
                            || a.contains('=')
                            || a.contains("=>")
                            || a.starts_with("True")
                            || a.starts_with("function")
                            || a.starts_with('(')
                    });
                    if index == 0 || !is_option {
                        let words = args.get(index).and_then(|arg| list(arg, whole));
                        for path in words.unwrap_or_else(|| vec![text(index)]) {
                            self.code_path(scope, Verb::Deletes, &path, does == Does::DeleteTree);
                        }
                    }
                }
            }
            Does::DeleteSelf | Does::WriteSelf => {
                let verb = if does == Does::DeleteSelf { Verb::Deletes } else { Verb::Writes };
                let place = receiver(before, whole);
                self.code_path(scope, verb, &place, false);
            }
            Does::Write => self.code_path(scope, Verb::Writes, &text(0), false),
            Does::Read => self.code_path(scope, Verb::Reads, &text(0), false),
            Does::Open => self.code_opens(scope, args, &text(0), &text(1), &text(2)),
            Does::Copy => {
                self.code_path(scope, Verb::Reads, &text(0), false);
                self.code_path(scope, Verb::Writes, &text(1), false);
            }
            Does::Move => {
                self.code_path(scope, Verb::Deletes, &text(0), true);
                self.code_path(scope, Verb::Writes, &text(1), false);
            }
            Does::Shell | Does::Program => {
                let mut words = match args.first().and_then(|arg| list(arg, whole)) {
                    Some(words) => words,
                    None => vec![text(0)],
                };
                if let [_] = words.as_slice() {
                    let more = args.iter().skip(1);
                    match args.get(1).and_then(|arg| list(arg, whole)) {
                        Some(list) => words.extend(list),
                        None => words.extend(
                            more.filter(|arg| arg.starts_with(['"', '\'']))
                                .map(|arg| value::value(arg, whole, 0)),
                        ),
                    }
                }
                self.code_runs(scope, &words, does == Does::Shell || words.len() == 1);
            }
            Does::Evaluate => {
                let literal = args.first().is_some_and(|arg| value::literal(arg).is_some());
                if literal {
                    let inner = text(0);
                    self.code(scope, Lang::Python, &inner);
                } else {
                    self.unknown(Verb::Runs, Reason::RunText);
                }
            }
            Does::Contact | Does::Send => {
                let first = args.first().copied().unwrap_or_default();
                let host = match list(first, whole) {
                    Some(words) => words.first().cloned().unwrap_or_default(),
                    // `net.connect(port, host)`, `new Socket(PeerAddr => 'host')`.
                    None if first.parse::<u32>().is_ok() => text(1),
                    None if first.contains("PeerAddr")
                        || first.contains("host")
                        || first.contains("=>") =>
                    {
                        peer(whole)
                    }
                    None => text(0),
                };
                self.code_host(&host, does == Does::Send);
            }
        }
    }

    fn code_opens(&mut self, scope: &Scope, args: &[&str], first: &str, second: &str, third: &str) {
        // Perl: `open(F, '>', 'x')`, `open(F, ">x")`, `open(F, "cmd|")`.
        let perl = args.first().is_some_and(|arg| {
            arg.starts_with("my ")
                || arg.starts_with('$')
                || (!arg.starts_with(['"', '\'']) && arg.chars().all(|c| c.is_ascii_uppercase()))
        });
        if perl && args.len() > 1 {
            let (mode, file) = if args.len() > 2 { (second, third) } else { (second, second) };
            if mode.starts_with('|') || mode.ends_with('|') || mode == "-|" {
                let command = file.trim_matches('|').to_owned();
                self.code_runs(scope, &[command], true);
                return;
            }
            let verb = if mode.contains('>') { Verb::Writes } else { Verb::Reads };
            self.code_path(scope, verb, file.trim_start_matches(['>', '<', '+', ' ']), false);
            return;
        }
        let mode_text = args.get(1).copied().unwrap_or_default();
        let mode = mode_text.trim_start_matches("mode=");
        let writes = mode.contains(['w', 'a', 'x', '+']) && mode.len() < 12;
        let verb = if writes { Verb::Writes } else { Verb::Reads };
        if crate::net::is_url(first) {
            self.code_host(first, false);
            return;
        }
        if let Some(command) = first.strip_prefix('|') {
            self.code_runs(scope, &[command.to_owned()], true);
            return;
        }
        self.code_path(scope, verb, first, false);
    }

    fn code_path(&mut self, scope: &Scope, verb: Verb, text: &str, tree: bool) {
        if let Some(rest) = text.strip_prefix('~') {
            let home = self.home();
            self.path(scope, verb, &format!("{home}{rest}"), tree);
            return;
        }
        // What is read and where is rarely told; only changes are worth an `unknown`.
        if verb == Verb::Reads && text == mark::VOID.to_string() {
            return;
        }
        if crate::net::is_url(text) {
            self.host(text);
            return;
        }
        self.path(scope, verb, text, tree);
    }
}

fn is_keyword(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn line_starts(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.trim().is_empty()
}

/// What a method is called on when that is itself a call: `require('fs').rm` gives `fs`.
fn owner_of(before: &str) -> &str {
    let Some(inside) = before.strip_suffix(')') else { return "" };
    let start = inside.len().saturating_sub(80);
    let tail = inside.get(start..).unwrap_or(inside);
    let Some((front, arg)) = tail.rsplit_once('(') else { return ")" };
    let arg = arg.trim_matches(['"', '\'', ' ']);
    let arg = arg.strip_prefix("node:").unwrap_or(arg);
    if front.ends_with("require")
        || front.ends_with("__import__")
        || front.ends_with("import_module")
        || front.ends_with("import")
    {
        return arg.split('/').next().unwrap_or_default();
    }
    ")"
}

/// The path that a method like `.unlink()` is called on: `Path("x")`.
fn receiver(before: &str, whole: &str) -> String {
    let before = before.trim_end();
    if let Some(inside) = before.strip_suffix(')') {
        let start = inside.rfind("Path(").unwrap_or(0);
        let expression = format!("{})", inside.get(start..).unwrap_or_default());
        return value::value(&expression, whole, 0);
    }
    mark::VOID.to_string()
}

/// The host in named arguments: `PeerAddr=>"h"`, `host: 'h'`.
fn peer(whole: &str) -> String {
    for key in ["PeerAddr", "PeerHost", "hostname", "host"] {
        if let Some(at) = whole.find(key) {
            let rest = whole.get(at + key.len()..).unwrap_or_default();
            let rest = rest.trim_start_matches(['=', '>', ':', ' ', '"', '\'']);
            let end = rest.find(['"', '\'', ',', '}', ')']).unwrap_or(rest.len());
            return rest.get(..end).unwrap_or_default().to_owned();
        }
    }
    mark::VOID.to_string()
}

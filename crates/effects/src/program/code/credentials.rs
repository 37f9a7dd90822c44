//! Files that hold credentials, by their names, in program texts.
//!
//! There are more calls that read a file than any list has: `linecache.getlines`, `np.loadtxt`, a method of
//! some parser. So it is the other way round for files whose names say that they hold credentials: whatever
//! is given one reads it, unless it is known not to. Refused: judging whether such a file may be read; that
//! is the policy's work, and a name that no rule speaks of costs nothing.

use crate::effect::Verb;
use crate::path;
use crate::program::code::value;
use crate::run::Run;
use crate::shell::scope::Scope;

/// How many arguments of one text are looked at through its assignments.
pub(crate) const ASSIGNED_MAX: u32 = 64;

/// Pieces of which one is in every path that is looked for here.
const SIGNS: &[&str] = &[
    ".env",
    ".ssh",
    ".aws",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".kube",
    ".docker",
    ".gnupg",
    ".git-credentials",
    ".vault-token",
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".kdbx",
    "id_rsa",
    "id_ed25519",
    "shadow",
    "credentials",
    "secrets",
    "_history",
    "gcloud",
    "service-account",
    "hosts.yml",
    "wallet.dat",
    ".htpasswd",
];

/// Calls that do no more than look for a file, name it, compare it, say it, or load it into the environment
/// of the program; parts of paths that are built.
const QUIET: &[&str] = &[
    "exists",
    "existsSync",
    "isfile",
    "is_file",
    "isdir",
    "is_dir",
    "file_exists",
    "access",
    "accessSync",
    "stat",
    "statSync",
    "lstat",
    "lstatSync",
    "getsize",
    "getmtime",
    "exist",
    "startswith",
    "startsWith",
    "endswith",
    "endsWith",
    "start_with",
    "end_with",
    "includes",
    "include",
    "has",
    "indexOf",
    "index",
    "find",
    "count",
    "equals",
    "match",
    "fnmatch",
    "search",
    "test",
    "replace",
    "replaceAll",
    "sub",
    "split",
    "strip",
    "print",
    "println",
    "printf",
    "puts",
    "say",
    "log",
    "info",
    "debug",
    "warn",
    "warning",
    "error",
    "Error",
    "Exception",
    "exit",
    "die",
    "raise",
    "expect",
    "write",
    "writelines",
    "append",
    "extend",
    "push",
    "add",
    "add_argument",
    "option",
    "insert",
    "set",
    "get",
    "getenv",
    "len",
    "format",
    "join",
    "joinpath",
    "resolve",
    "expanduser",
    "expand_path",
    "abspath",
    "realpath",
    "normpath",
    "normalize",
    "relative",
    "relpath",
    "relative_to",
    "basename",
    "dirname",
    "with_name",
    "with_suffix",
    "Path",
    "PurePath",
    "PosixPath",
    "Pathname",
    "String",
    "str",
    "repr",
    "load_dotenv",
    "find_dotenv",
    "loadEnvFile",
    "config",
    "createImmutable",
    "read_env",
    "RepositoryEnv",
    "Config",
    "configure",
    "parametrize",
    "is_relative_to",
    "samefile",
    "removeprefix",
    "pathlib",
    "touch",
    "utime",
    "watch",
    "chmod",
    "chown",
    "SettingsConfigDict",
    "require",
    "defined",
    "isset",
    "if",
    "elif",
    "while",
    "for",
    "in",
    "and",
    "or",
    "not",
    "return",
    "assert",
];

/// Methods that give what a file holds.
const GIVE: &[&str] = &[
    "read_text",
    "read_bytes",
    "readlines",
    "read",
    "each_line",
    "open",
    "text",
    "json",
    "arrayBuffer",
    "bytes",
    "stream",
];

/// Whether a text speaks of a file that holds credentials at all.
pub(crate) fn are_mentioned(text: &str) -> bool {
    SIGNS.iter().any(|sign| text.contains(sign))
}

/// Whether a value looks like the path of such a file.
pub(crate) fn is_one(value: &str) -> bool {
    // `user.key` is a column as well as a file.
    let is_key = value.ends_with(".key")
        && !value.contains('/')
        && !["server", "private", "tls", "ssl", "ca", "client", "master", "rsa", "key", "domain"]
            .iter()
            .any(|front| value.starts_with(front));
    let is_path = !is_key
        && value.len() < 512
        && !value.contains([' ', '\n', '\t', '<', '>', '"', '\'', '=']);
    is_path && !value.contains("://") && are_mentioned(value)
}

impl Run<'_> {
    /// A call of a text on the command line, that no list speaks of, is given these arguments. A script of
    /// the project may hand the same name to whatever loads its settings. `left` counts what may still be looked up.
    pub(crate) fn credentials_given(
        &mut self,
        scope: &Scope,
        name: &str,
        args: &[&str],
        whole: &str,
        left: &mut u32,
    ) {
        // What is added to an archive is read.
        let packs = matches!(name, "add" | "write")
            && ["tarfile", "zipfile", "ZipFile"].iter().any(|module| whole.contains(module));
        if name.is_empty() || (QUIET.contains(&name) && !packs) {
            return;
        }
        for arg in args.iter().take(4) {
            let (key, arg) = match arg.split_once('=') {
                Some((key, value)) if is_key(key) && !value.starts_with('=') => {
                    (key.trim(), value.trim())
                }
                _ => ("", *arg),
            };
            // Settings that are told which file fills the environment.
            if key.contains("env_file") || key.contains("dotenv") {
                continue;
            }
            self.credential_value(scope, arg, whole, left);
        }
    }

    /// A method that gives what a file holds is called on `expression`.
    pub(crate) fn credentials_asked(
        &mut self,
        scope: &Scope,
        name: &str,
        before: &str,
        whole: &str,
        left: &mut u32,
    ) {
        if GIVE.contains(&name) {
            let expression = value::expression_before(before);
            self.credential_value(scope, expression, whole, left);
        }
    }

    fn credential_value(&mut self, scope: &Scope, expression: &str, whole: &str, left: &mut u32) {
        let is_name = expression.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if expression.is_empty() || expression.len() > 512 || (is_name && *left == 0) {
            return;
        }
        if is_name {
            *left -= 1;
        }
        if !is_name && !are_mentioned(expression) && *left == 0 {
            return;
        }
        let several = value::looped_values(expression, whole);
        for path in several.unwrap_or_else(|| vec![value::value(expression, whole, 0)]) {
            if is_one(&path) {
                self.read_credential(scope, &path);
            }
        }
    }

    /// Files of a folder that are read where they have such a name: `if name == '.env'`.
    pub(crate) fn credentials_chosen(&mut self, scope: &Scope, text: &str) {
        const LISTS: &[&str] = &["listdir(", "scandir(", "iterdir(", "glob(", "readdir", "walk("];
        const READS: &[&str] = &["open(", "read_text", "read_bytes", "readFile"];
        let any = |signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
        if any(LISTS) && any(READS) && !any(&["!=", "not ", "!"]) {
            self.credentials_among_words(scope, text);
        }
    }

    /// A text of a language that is not looked into, on the command line: the words in it.
    pub(crate) fn credentials_among_words(&mut self, scope: &Scope, text: &str) {
        if !self.inline || !are_mentioned(text) || text.contains("exist") {
            return;
        }
        let ends = |c: char| c.is_whitespace() || "\"'`()[]{},;".contains(c);
        for word in text.split(ends).filter(|word| is_one(word)).take(16) {
            self.read_credential(scope, word);
        }
    }

    /// A file that a text reads, `~` and all.
    pub(crate) fn read_credential(&mut self, scope: &Scope, path: &str) {
        let path = match path.strip_prefix('~') {
            Some(rest) => format!("{}{rest}", self.home()),
            None => path.to_owned(),
        };
        if path::base_name(&path).is_empty() {
            return;
        }
        self.path(scope, Verb::Reads, &path, false);
    }
}

fn is_key(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

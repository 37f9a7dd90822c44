//! Files of the project that a text of code takes in: `import scripts.x`, `require('./x')`, `run_path('x')`.
//!
//! Only a text that stands in the command itself is followed, one step: what a script of the project
//! takes in is the project's. Refused: a search for installed packages.

use crate::effect::Verb;
use crate::files::Entry;
use crate::mark;
use crate::path;
use crate::program::code::{language_of, value};
use crate::program::table::Lang;
use crate::run::Run;
use crate::shell::scope::{Scope, Var};

/// How many modules of one text are looked for.
const MODULES_MAX: usize = 32;

/// What stands before the name of a file that is run, by language.
fn loaders(lang: Lang) -> &'static [&'static str] {
    match lang {
        Lang::Python => &["run_path(", "execfile("],
        Lang::Node => {
            &["require(", "import(", "from ", "import ", "importScripts(", "Worker(", "Worker)("]
        }
        Lang::Ruby => &["require_relative ", "require_relative(", "load ", "load(", "require "],
        Lang::Perl => &["do ", "require "],
        Lang::Php => &[
            "require ",
            "require(",
            "require_once ",
            "require_once(",
            "include ",
            "include(",
            "include_once ",
        ],
        Lang::Lua => &["dofile(", "dofile ", "loadfile("],
        Lang::Shell
        | Lang::Awk
        | Lang::Sed
        | Lang::Powershell
        | Lang::Cmd
        | Lang::Editor
        | Lang::Other => &[],
    }
}

/// Signs that all records of a table are deleted through the objects of a framework.
const RECORDS: &[&str] =
    &[".delete_all", ".destroy_all", ".all().delete()", ".deleteMany()", ".deleteMany({})"];

impl Run<'_> {
    /// A text of code that stands in the command itself.
    pub(crate) fn inline_code(&mut self, scope: &Scope, lang: Lang, text: &str) {
        let outer = std::mem::replace(&mut self.inline, true);
        self.code(scope, lang, text);
        self.inline = outer;
        if RECORDS.iter().any(|sign| text.contains(sign)) {
            self.thing(Verb::Destroys, "dev-database");
        }
        self.modules(scope, lang, text);
    }

    /// Runs the files of the project that `text`, which stands in a command, takes in.
    fn modules(&mut self, scope: &Scope, lang: Lang, text: &str) {
        if !self.ctx.files.is_present() {
            return;
        }
        let mut files: Vec<String> = Vec::new();
        if lang == Lang::Python {
            let folder = match scope.vars.get("PYTHONPATH") {
                Some(Var::Scalar(values)) => values.first().cloned(),
                Some(Var::List(_)) | None => None,
            };
            let mut folders: Vec<String> =
                folder.into_iter().filter(|folder| !folder.contains(':')).collect();
            for sign in ["sys.path.insert(", "sys.path.append("] {
                for (at, _) in text.match_indices(sign).take(4) {
                    let (args, _) =
                        value::arguments(text.get(at + sign.len()..).unwrap_or_default());
                    let last = args.last().and_then(|arg| value::literal(arg));
                    folders.extend(last.map(|(folder, _)| folder));
                }
            }
            for module in python_modules(text) {
                let own = module_files(&module);
                for folder in &folders {
                    files.extend(own.iter().map(|file| format!("{folder}/{file}")));
                }
                files.extend(own);
            }
        }
        for loader in loaders(lang) {
            for (at, _) in text.match_indices(loader).take(MODULES_MAX) {
                let rest = text.get(at + loader.len()..).unwrap_or_default().trim_start();
                let Some((name, _)) = value::literal(rest) else { continue };
                if name.ends_with(".json") {
                    continue;
                }
                if lang == Lang::Node && !name.starts_with(['.', '/']) {
                    continue;
                }
                if language_of(&name).is_some() || lang == Lang::Php {
                    files.push(name);
                } else {
                    let ends = [".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", "/index.js"];
                    files.extend(ends.iter().map(|end| format!("{name}{end}")));
                }
            }
        }
        files.truncate(MODULES_MAX * 4);
        for file in files {
            self.module_file(scope, lang, &file);
        }
    }

    /// A module by its dotted name, as a file of the project; `false` if there is none.
    pub(crate) fn python_module_file(&mut self, scope: &Scope, module: &str) -> bool {
        let mut found = false;
        for file in module_files(module) {
            found |= self.module_file(scope, Lang::Python, &file);
        }
        found
    }

    fn module_file(&mut self, scope: &Scope, lang: Lang, file: &str) -> bool {
        if mark::has_mark(file) {
            return false;
        }
        let Some(at) = path::normalise(&scope.cwd, file) else { return false };
        let is_file = matches!(self.ctx.files.look(&at), Entry::File | Entry::Link(_));
        if !is_file {
            return false;
        }
        let Some(text) = self.content(scope, file) else { return false };
        self.path(scope, Verb::Reads, file, false);
        self.code(scope, language_of(file).unwrap_or(lang), &text);
        true
    }
}

/// The files that a dotted name may stand for.
fn module_files(module: &str) -> Vec<String> {
    let plain = !module.is_empty()
        && module.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'));
    if !plain || module.starts_with('.') {
        return Vec::new();
    }
    let path = module.replace('.', "/");
    vec![format!("{path}.py"), format!("{path}/__init__.py"), format!("{path}/__main__.py")]
}

/// The modules that a text of Python imports, by statements and by calls.
fn python_modules(text: &str) -> Vec<String> {
    let mut modules = Vec::new();
    for statement in text.split(['\n', ';']).map(str::trim) {
        if let Some(list) = statement.strip_prefix("import ") {
            let names = list.split(',').filter_map(|entry| entry.split_whitespace().next());
            modules.extend(names.map(str::to_owned));
        } else if let Some(rest) = statement.strip_prefix("from ")
            && let Some((module, names)) = rest.split_once(" import ")
        {
            modules.push(module.trim().to_owned());
            let names = names.trim_matches(['(', ')']).split(',');
            let names = names.filter_map(|entry| entry.split_whitespace().next());
            modules.extend(names.map(|name| format!("{}.{name}", module.trim())));
        }
        if modules.len() > MODULES_MAX {
            break;
        }
    }
    for call in ["import_module(", "run_module(", "__import__("] {
        for (at, _) in text.match_indices(call).take(MODULES_MAX) {
            let rest = text.get(at + call.len()..).unwrap_or_default();
            modules.extend(value::literal(rest).map(|(name, _)| name));
        }
    }
    modules.truncate(MODULES_MAX);
    modules
}

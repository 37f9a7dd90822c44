//! The environment in program texts: variables that are asked for by name, and the whole that is shown.
//!
//! Every language has its own name for it, and imports give it further ones; what stands behind a mention says
//! whether one variable is meant. Refused: following a value that was taken from it.

use crate::effect::Verb;
use crate::program::invoke::Running;
use crate::program::table::Lang;
use crate::run::Run;
use crate::shell::scope::is_secret_name;

/// Functions that are asked for one variable.
const ASKS: &[&str] = &[
    "getenv(",
    "Getenv(",
    "get_env(",
    "ENV.fetch(",
    "env.get(",
    "env::var(",
    "System.getenv(",
    "lookup_env(",
];

/// The environment as a whole, by the names that languages have for it.
const ENVIRONMENTS: &[&str] =
    &["os.environ", "process.env", "Deno.env", "Bun.env", "%ENV", "$ENV", "getenv()", "$_ENV"];

/// Signs of a text that shows what it has.
const PRINTS: &[&str] =
    &["print", "console.log", "puts", "echo", "dumps", "stringify", "p ", "dict(", "post("];

/// Further names of the environment in a text: Ruby's own, and those that an import gives.
fn environment_names(lang: Lang, text: &str) -> Vec<String> {
    let mut names = Vec::new();
    if matches!(lang, Lang::Ruby | Lang::Other) {
        names.push("ENV".to_owned());
    }
    let word = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
    };
    for (at, found) in text.match_indices("import environ").take(8) {
        let rest = text.get(at + found.len()..).unwrap_or_default();
        let other = rest.trim_start().strip_prefix("as ").map(word);
        names.push(other.unwrap_or_else(|| "environ".to_owned()));
    }
    for (at, _) in text.match_indices("{").take(64) {
        let inside = text.get(at + 1..).unwrap_or_default();
        let Some((list, rest)) = inside.split_once('}') else { break };
        let from = rest.trim_start().trim_start_matches("from").trim_start_matches(['=', ' ']);
        let is_process =
            from.trim_start_matches(['"', '\'']).trim_start_matches("node:").starts_with("process");
        let entry = list.split(',').map(str::trim).find(|entry| word(entry) == "env");
        if let Some(entry) = entry.filter(|_| is_process) {
            let other = entry.split_once(':').or_else(|| entry.split_once(" as "));
            names.push(other.map_or_else(|| "env".to_owned(), |(_, name)| word(name)));
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// The name that is asked of an environment: `.X`, `["X"]`, `.get("X")`, `{X}`, `("X")`.
fn variable(rest: &str) -> &str {
    let rest = rest.trim_start_matches(['[', '.', '(', '\'', '"', '{', '?', '$', 'b']);
    let rest = rest.strip_prefix("get(").unwrap_or(rest).trim_start_matches(['\'', '"', ' ']);
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
    rest.get(..end.min(64)).unwrap_or_default()
}

impl Run<'_> {
    /// The environment in a filter of `jq`: `env`, `$ENV`, `env.NAME`.
    pub(crate) fn jq_environment(&mut self, running: &Running<'_, '_>) -> Option<String> {
        let filter = running.args.positionals.first().map_or("", |first| first.as_str());
        for (at, word) in filter.match_indices("env").chain(filter.match_indices("$ENV")) {
            let before = filter.get(..at).unwrap_or_default().chars().next_back();
            let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '"' | '$');
            let rest = filter.get(at + word.len()..).unwrap_or_default();
            if before.is_some_and(part)
                || rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            {
                continue;
            }
            self.variable_of(rest);
        }
        None
    }

    pub(crate) fn awk_environment(&mut self, text: &str) {
        for (at, word) in text.match_indices("ENVIRON") {
            self.variable_of(text.get(at + word.len()..).unwrap_or_default());
        }
    }

    /// What stands behind the environment as a whole: a name, or nothing.
    fn variable_of(&mut self, rest: &str) {
        let name = variable(rest);
        if name.is_empty() || !rest.starts_with(['.', '[', '"', '\'']) {
            self.environment();
        } else {
            self.named_variable(name);
        }
    }

    fn named_variable(&mut self, name: &str) {
        if is_secret_name(name) {
            self.secret_name = name.into();
            self.secret(Verb::Exposes);
        }
    }

    /// What of the environment a program text reads: variables by name, or the whole that it prints.
    pub(crate) fn environment_of(&mut self, lang: Lang, text: &str) {
        for (at, ask) in ASKS.iter().flat_map(|ask| text.match_indices(ask)) {
            self.named_variable(variable(text.get(at + ask.len()..).unwrap_or_default()));
        }
        let own = environment_names(lang, text);
        let prints = PRINTS.iter().any(|word| text.contains(word));
        for name in ENVIRONMENTS.iter().copied().chain(own.iter().map(String::as_str)) {
            for (at, _) in text.match_indices(name) {
                let rest = text.get(at + name.len()..).unwrap_or_default();
                let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
                let before = text.get(..at).and_then(|front| front.chars().next_back());
                let front = text.get(..at).unwrap_or_default().trim_end();
                let is_import = front.ends_with("import")
                    || front.ends_with(" as")
                    || (rest.starts_with('}')
                        && rest.get(..24).unwrap_or(rest).contains("process"));
                let is_word =
                    !before.is_some_and(|c| part(c) || c == '.') && !rest.starts_with(part);
                if !is_import && (is_word || !name.starts_with(|c: char| c.is_ascii_alphabetic())) {
                    // `node -p process.env` prints what the text is worth.
                    let alone = text.trim().trim_end_matches(';') == name;
                    self.environment_at(rest, alone || prints);
                }
            }
        }
    }

    /// One mention of the environment; `rest` is what stands behind it.
    fn environment_at(&mut self, rest: &str, prints: bool) {
        /// Methods that show nothing of the whole.
        const QUIET: &[&str] = &[
            "copy",
            "update",
            "pop",
            "setdefault",
            "fetch",
            "key",
            "has_key",
            "get",
            "delete",
            "set",
        ];
        let named = variable(rest);
        let upper = !named.is_empty() && named.chars().all(|c| !c.is_ascii_lowercase());
        if upper {
            self.named_variable(named);
            return;
        }
        let is_set = rest.trim_start().starts_with('=') && !rest.trim_start().starts_with("==");
        if !is_set && !QUIET.contains(&named) && prints {
            self.environment();
        }
    }
}

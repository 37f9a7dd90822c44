//! Statements for databases, as far as they destroy or run something.
//!
//! Refused: parsing SQL. Statements are split at semicolons outside of quotes and judged by their
//! first words, comments removed.

use crate::effect::{Reason, Verb};
use crate::mark;
use crate::program::invoke::Running;
use crate::run::Run;
use crate::shell::scope::Scope;
use crate::things;

impl Run<'_> {
    pub(crate) fn sql(&mut self, text: &str) {
        self.escapes(text);
        for statement in statements(text).into_iter().take(512) {
            self.statement(&statement);
        }
        if mark::has_void(text) && text.chars().filter(|c| !c.is_whitespace()).all(mark::is_mark) {
            self.unknown(Verb::Destroys, Reason::RunText);
        }
    }

    /// What reaches out of the database: shell escapes and files.
    fn escapes(&mut self, text: &str) {
        let mut scope = Scope::new(self.ctx.cwd);
        for line in text.split([';', '\n']).take(512) {
            let line = line.trim_start();
            let command = ["\\! ", ".shell ", ".system ", "system ", "!"]
                .iter()
                .find_map(|front| line.strip_prefix(front));
            if let Some(command) = command {
                self.run_text(&mut scope, command, "");
            }
            if let Some(file) =
                line.strip_prefix(".import ").or_else(|| line.strip_prefix(".read "))
            {
                let file = file.split_whitespace().next().unwrap_or_default();
                self.path(&scope, Verb::Reads, file.trim_matches(['"', '\'']), false);
            }
            let upper = line.to_ascii_uppercase();
            let copies = upper.starts_with("COPY ") || upper.starts_with("\\COPY ");
            let reads = upper.contains("LOAD_FILE(") || upper.contains("PG_READ_FILE(");
            let writes =
                upper.contains("OUTFILE") || upper.contains("DUMPFILE") || upper.contains(" TO '");
            if (copies || reads || writes)
                && let Some(file) = line.split('\'').nth(1)
            {
                let verb = if writes && !reads { Verb::Writes } else { Verb::Reads };
                self.path(&scope, verb, file, false);
            }
        }
    }

    fn statement(&mut self, statement: &str) {
        let upper = statement.to_ascii_uppercase();
        let words: Vec<&str> = upper.split_whitespace().take(400).collect();
        let first = words.first().copied().unwrap_or_default();
        let second = words.get(1).copied().unwrap_or_default();
        let has = |word: &str| words.contains(&word);
        let destroys = match first {
            "DROP" => !matches!(second, "INDEX" | "VIEW" | "TRIGGER" | "FUNCTION" | "TEMPORARY"),
            "TRUNCATE" => true,
            "DELETE" => {
                !has("WHERE") || upper.contains("WHERE 1=1") || upper.contains("WHERE TRUE")
            }
            "UPDATE" => has("SET") && !has("WHERE"),
            "ALTER" => upper.contains(" DROP COLUMN") || upper.contains(" DROP TABLE"),
            "FLUSHALL" | "FLUSHDB" => true,
            _ => {
                upper.contains("DROPDATABASE(")
                    || upper.contains(".DROP()")
                    || upper.contains("DELETEMANY({})")
                    || upper.contains(".REMOVE({})")
            }
        };
        if destroys {
            self.thing(Verb::Destroys, "database");
        }
        let runs = (first == "COPY" && has("PROGRAM"))
            || upper.contains("XP_CMDSHELL")
            || upper.contains("SYS_EXEC(")
            || upper.contains("LOAD_EXTENSION(")
            || upper.contains("INTO OUTFILE")
            || upper.contains("INTO DUMPFILE")
            || upper.starts_with("\\!")
            || upper.starts_with(".SHELL")
            || upper.starts_with(".SYSTEM");
        if runs {
            self.unknown(Verb::Runs, Reason::RunText);
        }
        if first == "GRANT" && has("ALL")
            || (first == "CREATE" || first == "ALTER") && has("SUPERUSER")
        {
            self.thing(Verb::Escalates, "database-rights");
        }
    }

    /// A database's shell: statements come as input when no option carries them.
    pub(crate) fn sql_shell(&mut self, scope: &Scope, running: &Running<'_, '_>) -> Option<String> {
        let _ = scope;
        for url in &running.args.positionals {
            if crate::net::is_url(url) {
                self.host(url);
            }
        }
        if running.name.starts_with("sqlite") || running.name == "duckdb" {
            for text in running.args.positionals.iter().skip(1) {
                self.sql(text);
            }
        }
        let carried = running.args.values.iter().any(|(role, _)| {
            matches!(role, crate::program::table::Role::Sql | crate::program::table::Role::SqlFile)
        });
        // A file of statements that nobody has read, for what customers use.
        if running.stdin.contains(mark::FILE) && things::is_production(&self.piece.text) {
            self.unknown(Verb::Destroys, Reason::RunText);
        }
        if !carried && !running.stdin.is_empty() && !mark::has_void(running.stdin) {
            self.sql(running.stdin);
        }
        None
    }

    pub(crate) fn redis_shell(&mut self, running: &Running<'_, '_>) -> Option<String> {
        let words: Vec<String> =
            running.args.positionals.iter().map(|word| word.to_ascii_uppercase()).collect();
        let input = running.stdin.to_ascii_uppercase();
        let line = words.join(" ");
        for text in input.lines().chain(std::iter::once(line.as_str())) {
            let first = text.split_whitespace().next().unwrap_or_default();
            let many = matches!(first, "DEL" | "UNLINK") && mark::has_void(text);
            let scripted = many || first == "EVAL" && text.contains("FLUSH");
            if scripted || matches!(first, "FLUSHALL" | "FLUSHDB" | "SHUTDOWN") {
                // One's own cache is filled again.
                let here = running.args.value("-h").is_none_or(is_here) && !running.args.has("-u");
                self.thing(Verb::Destroys, if here { "dev-database" } else { "database" });
            }
            if text.starts_with("CONFIG SET DIR")
                || text.starts_with("CONFIG SET DBFILENAME")
                || text.starts_with("MODULE LOAD")
                || text.starts_with("SLAVEOF")
                || text.starts_with("REPLICAOF")
            {
                self.thing(Verb::Escalates, "database-rights");
            }
        }
        None
    }
}

/// Whether a host is this machine, by its usual names.
fn is_here(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "::1")
}

/// Statements without comments, split at semicolons outside of quotes.
fn statements(text: &str) -> Vec<String> {
    let mut list = vec![String::new()];
    let mut chars = text.chars().peekable();
    let mut quote = None;
    while let Some(c) = chars.next() {
        let Some(last) = list.last_mut() else { break };
        match (quote, c) {
            (None, '-') if chars.peek() == Some(&'-') => {
                for c in chars.by_ref() {
                    if c == '\n' {
                        break;
                    }
                }
                last.push(' ');
            }
            (None, '/') if chars.peek() == Some(&'*') => {
                let mut before = ' ';
                for c in chars.by_ref() {
                    if before == '*' && c == '/' {
                        break;
                    }
                    before = c;
                }
                last.push(' ');
            }
            (None, ';') => list.push(String::new()),
            (None, '\'' | '"' | '`') => quote = Some(c),
            (Some(q), c) if q == c => quote = None,
            // What stands in quotes is data or a name.
            (Some(_), _) => {}
            (None, '\n') if last.trim_start().starts_with(['\\', '.']) => list.push(String::new()),
            (None, c) => last.push(c),
        }
    }
    list.retain(|statement| !statement.trim().is_empty());
    for statement in &mut list {
        *statement = statement.trim().to_owned();
    }
    list
}

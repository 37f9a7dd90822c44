//! Arguments of a program, read by its record: sub-command, options with values, roles.
//!
//! Refused: guessing that an option takes a value. One that the table does not know takes none, so
//! that what follows it is still seen as an argument.

use crate::program::table::{Act, Choice, Program, Record, Role, Spec, Sub};

#[derive(Debug, Default)]
pub(crate) struct Arguments<'p> {
    /// Values with their roles, in the order of the text.
    pub(crate) values: Vec<(Role, String)>,
    pub(crate) positionals: Vec<String>,
    /// Options as named first in the table (or as written), with their values.
    pub(crate) options: Vec<(String, Option<String>)>,
    /// The table's entries of the options that occurred.
    chosen: Vec<&'p Choice>,
    pub(crate) acts: Vec<&'p Act>,
    /// A command of its own.
    pub(crate) nested: Option<Vec<String>>,
    /// Whether that command is a package that is fetched first.
    pub(crate) packaged: bool,
    /// Arguments that are joined to a shell text.
    pub(crate) shell_rest: Option<Vec<String>>,
    pub(crate) sub: String,
    /// The first word that is no known sub-command of a program that has some.
    pub(crate) unknown_sub: bool,
    pub(crate) help: bool,
    pub(crate) record: Option<&'p Record>,
}

impl Arguments<'_> {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(option, _)| option == name)
            || self.chosen.iter().any(|choice| choice.names.iter().any(|n| **n == *name))
    }

    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().find(|(option, _)| option == name);
        found.and_then(|(_, value)| value.as_deref())
    }

    pub(crate) fn acts_on(&self, act: &Act) -> bool {
        self.acts.contains(&act)
    }
}

struct Reader<'p, 'a> {
    program: &'p Program,
    argv: &'a [String],
    at: usize,
    done: Arguments<'p>,
    /// Sub-commands that still fit once a word has been taken.
    fitting: Vec<&'p Sub>,
    /// How many words that are no options there were.
    words: usize,
    depth: usize,
    settled: bool,
    options_over: bool,
}

/// Reads `argv` (with the program's name first).
pub(crate) fn read<'p>(program: &'p Program, argv: &[String]) -> Arguments<'p> {
    let mut reader = Reader {
        program,
        argv,
        at: 1,
        done: Arguments { record: Some(&program.root), ..Arguments::default() },
        fitting: Vec::new(),
        words: 0,
        depth: 0,
        settled: program.subs.is_empty(),
        options_over: false,
    };
    reader.done.acts.extend(&program.root.acts);
    while let Some(word) = argv.get(reader.at) {
        reader.at += 1;
        if !reader.options_over && word == "--" {
            reader.options_over = true;
            continue;
        }
        let dashed = word.len() > 1 && word.starts_with('-') && !reader.options_over;
        let plus = !reader.options_over
            && word.strip_prefix('+').is_some_and(|rest| !rest.is_empty())
            && reader.find("+").is_some();
        if plus {
            reader.plus(word);
        } else if dashed {
            reader.option(word);
        } else if reader.positional(word) {
            break;
        }
    }
    reader.finish()
}

/// How many of the first words of a command may be the word of such an entry: behind them stand names.
const DEEP_WORDS_MAX: usize = 5;

/// `|` parts alternatives, `*` stands for any rest of a word.
fn fits(pattern: &str, word: &str) -> bool {
    pattern.split('|').any(|pattern| {
        let mut pieces = pattern.split('*');
        let Some(mut rest) = pieces.next().and_then(|front| word.strip_prefix(front)) else {
            return false;
        };
        let mut last = None;
        for piece in pieces {
            if let Some(before) = last.replace(piece) {
                match rest.split_once(before) {
                    Some((_, behind)) => rest = behind,
                    None => return false,
                }
            }
        }
        last.map_or(rest.is_empty(), |last| rest.ends_with(last))
    })
}

/// Whether the word of a sub-command at a depth is this one.
fn is_at(sub: &Sub, depth: usize, word: &str) -> bool {
    sub.words.get(depth).is_some_and(|pattern| match sub.patterned {
        true => fits(pattern, word),
        false => **pattern == *word,
    })
}

impl<'p> Reader<'p, '_> {
    fn record(&self) -> &'p Record {
        self.done.record.unwrap_or(&self.program.root)
    }

    fn find(&self, name: &str) -> Option<&'p Choice> {
        let named = |choice: &&Choice| choice.names.iter().any(|n| **n == *name);
        let own = self.record().options.iter().find(named);
        own.or_else(|| self.program.root.options.iter().find(named))
    }

    fn next(&mut self) -> Option<String> {
        let word = self.argv.get(self.at).cloned();
        self.at += 1;
        word
    }

    fn note(&mut self, name: &str, choice: Option<&'p Choice>, value: Option<String>) {
        let Some(choice) = choice else {
            self.done.options.push((name.to_owned(), value));
            return;
        };
        self.done.acts.extend(&choice.acts);
        self.done.chosen.push(choice);
        if let (Some(role), Some(value)) = (choice.role, &value) {
            self.done.values.push((role, value.clone()));
            if let Some(exact) = self.find(&format!("{name}={value}")) {
                self.done.acts.extend(&exact.acts);
            }
        }
        let canonical = choice.names.first().map_or_else(|| name.to_owned(), |n| n.to_string());
        self.done.options.push((canonical, value));
    }

    fn option(&mut self, word: &str) {
        let root = &self.program.root;
        // `cargo yank --version 1.0`: a sub-command's own.
        let helps = match word {
            "--help" => true,
            "--version" => self.done.sub.is_empty(),
            "-help" => root.single,
            _ => false,
        };
        if helps && self.done.positionals.is_empty() {
            self.done.help = true;
        }
        let long = word.starts_with("--");
        if long || root.single {
            let (name, glued) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word, None),
            };
            if let Some(choice) = self.find(name) {
                if choice.role == Some(Role::Argv) {
                    self.nested_here(choice);
                    return;
                }
                let value = match (choice.role, glued) {
                    (Some(_), None) => self.next(),
                    (_, glued) => glued,
                };
                self.note(name, Some(choice), value);
                return;
            }
            if long {
                self.note(name, None, glued);
                return;
            }
        }
        // An exact match first: some programs have words with one dash (`-delete`, `-la`).
        if let Some(choice) = self.find(word) {
            if choice.role == Some(Role::Argv) {
                self.nested_here(choice);
                return;
            }
            let value = if choice.role.is_some() { self.next() } else { None };
            self.note(word, Some(choice), value);
            return;
        }
        // `-vettool=PROGRAM` of a program that has such options beside others.
        if let Some((name, glued)) = word.split_once('=')
            && name.len() > 2
            && let Some(choice) = self.find(name).filter(|choice| choice.role.is_some())
        {
            self.note(name, Some(choice), Some(glued.to_owned()));
            return;
        }
        if root.single {
            self.note(word, None, None);
            return;
        }
        for (index, letter) in word.char_indices().skip(1) {
            let name = format!("-{letter}");
            let choice = self.find(&name);
            if choice.is_some_and(|choice| choice.role.is_some()) {
                let rest = word.get(index + letter.len_utf8()..).unwrap_or_default();
                let value = if rest.is_empty() { self.next() } else { Some(rest.to_owned()) };
                self.note(&name, choice, value);
                return;
            }
            self.note(&name, choice, None);
        }
    }

    /// `+COMMAND`, of editors and pagers.
    fn plus(&mut self, word: &str) {
        let choice = self.find("+");
        let text = word.strip_prefix('+').unwrap_or(word);
        self.note("+", choice, Some(text.to_owned()));
    }

    /// `-x COMMAND ..`: all that follows, or up to `;`, is a command.
    fn nested_here(&mut self, choice: &'p Choice) {
        let rest = self.argv.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|word| word == ";").unwrap_or(rest.len());
        self.done.nested = Some(rest.iter().take(length).cloned().collect());
        self.at += length + 1;
        self.done.acts.extend(&choice.acts);
    }

    /// Takes a word that is no option; `true` when the rest is a command of its own.
    fn positional(&mut self, word: &str) -> bool {
        let descends = !self.settled && self.descend(word);
        self.anywhere(word);
        if descends {
            return false;
        }
        self.settled = true;
        let index = self.done.positionals.len();
        let record = self.record();
        let role = record.front.get(index).copied().or(record.repeated);
        match role {
            Some(role @ (Role::Argv | Role::Package)) => {
                self.done.nested = Some(self.argv.get(self.at - 1..).unwrap_or_default().to_vec());
                self.done.packaged = role == Role::Package;
                return true;
            }
            Some(Role::ShellRest) => {
                let rest = self.argv.get(self.at - 1..).unwrap_or_default().to_vec();
                self.done.shell_rest = Some(rest);
                return true;
            }
            _ => {}
        }
        if record.posix {
            self.options_over = true;
        }
        self.done.positionals.push(word.to_owned());
        false
    }

    /// What the table says of this word wherever it stands, unless it says something of the very place.
    fn anywhere(&mut self, word: &str) {
        self.words += 1;
        let literal = |record: &Record| record.sub.last().is_some_and(|last| **last == *word);
        if self.words > DEEP_WORDS_MAX || literal(self.record()) {
            return;
        }
        for sub in self.program.anywhere.iter().filter(|sub| is_at(sub, 1, word)) {
            self.done.acts.extend(&sub.record().acts);
        }
    }

    fn descend(&mut self, word: &str) -> bool {
        let depth = self.depth;
        let next: Vec<&'p Sub> = match depth {
            0 => self.program.subs.iter().filter(|sub| is_at(sub, 0, word)).collect(),
            _ => self.fitting.iter().copied().filter(|sub| is_at(sub, depth, word)).collect(),
        };
        if next.is_empty() {
            if depth == 0 {
                self.done.unknown_sub = !self.program.root.open;
                if matches!(word, "help" | "version") {
                    self.done.help = true;
                }
            } else if self.record().sub.is_empty() {
                self.done.unknown_sub = !self.program.root.open;
            }
            return false;
        }
        self.depth += 1;
        if !self.done.sub.is_empty() {
            self.done.sub.push(' ');
        }
        self.done.sub.push_str(word);
        // Of the records that end here the most literal one holds.
        let stars = |sub: &&&Sub| sub.words.iter().filter(|word| word.contains('*')).count();
        let exact = next.iter().filter(|sub| sub.words.len() == depth + 1).min_by_key(stars);
        if let Some(exact) = exact.map(|sub| sub.record()) {
            // What a shorter record says (`compose`) no longer holds under a longer one.
            let old = self.record();
            if !old.sub.is_empty() {
                self.done.acts.retain(|act| !old.acts.iter().any(|o| std::ptr::eq(o, *act)));
            }
            self.done.record = Some(exact);
            self.done.acts.extend(&exact.acts);
            // Options that came before the word mean what the longer record says.
            for (name, _) in &self.done.options {
                let own =
                    exact.options.iter().find(|c| c.names.iter().any(|n| **n == *name.as_str()));
                self.done.acts.extend(own.into_iter().flat_map(|choice| &choice.acts));
            }
        }
        self.fitting = next;
        true
    }

    /// Gives the positional arguments their roles.
    fn finish(mut self) -> Arguments<'p> {
        let record = self.record();
        if !self.program.subs.is_empty()
            && self.done.sub.is_empty()
            && self.done.positionals.is_empty()
            && self.done.options.iter().any(|(name, _)| name == "-h" || name == "-V")
        {
            self.done.help = true;
        }
        if self.done.positionals.is_empty() && self.done.nested.is_none() {
            self.done.acts.extend(&record.bare_acts);
        }
        let inplace = self.done.acts_on(&Act::InPlace);
        let deletes = self.done.acts_on(&Act::DeletesArgs);
        let reads = self.done.acts_on(&Act::ReadsArgs);
        let count = self.done.positionals.len();
        let front = record.front.len();
        let back = record.back.len();
        for (index, word) in self.done.positionals.iter().enumerate() {
            let from_end = count - index;
            let role = if back > 0 && from_end <= back && count > 1 {
                record.back.get(back - from_end).copied()
            } else if index < front {
                record.front.get(index).copied()
            } else {
                record.repeated
            };
            let role = match role {
                Some(Role::Read) if inplace => Some(Role::Write),
                Some(Role::Read) if deletes => Some(Role::Delete),
                Some(Role::Skip) if reads => Some(Role::Spec(Spec::Revision)),
                role => role,
            };
            if let Some(role) = role {
                self.done.values.push((role, word.clone()));
            }
        }
        self.done
    }
}

//! `find`: where it looks, what it selects, and what it does with it.
//!
//! Refused: taking `find` for a reader. `-delete`, `-exec` and `-fprint` make it something else.

use crate::effect::Verb;
use crate::files::Entry;
use crate::mark;
use crate::path;
use crate::program::invoke::Running;
use crate::run::Run;
use crate::shell::scope::Scope;

#[derive(Default)]
struct Search {
    places: Vec<String>,
    names: Vec<String>,
    /// `-path` patterns, whole paths.
    paths: Vec<String>,
    filtered: bool,
    /// The places themselves are left out.
    inside: bool,
    /// After a `!`.
    negated: bool,
    /// Only what is empty.
    empty: bool,
    /// An `-o` occurred.
    either: bool,
    delete: bool,
    commands: Vec<Vec<String>>,
}

impl Run<'_> {
    /// `fd PATTERN PLACE -x COMMAND`.
    pub(crate) fn fd(&mut self, scope: &Scope, running: &Running<'_, '_>) -> String {
        let place = running.args.positionals.get(1).map_or(".", |place| place.as_str());
        let base = place.trim_end_matches('/');
        let mut targets: Vec<String> = running
            .args
            .options
            .iter()
            .filter(|(name, _)| name == "-e")
            .filter_map(|(_, ending)| ending.as_deref())
            .map(|ending| format!("{base}/{}{}.{ending}", mark::DEEP, mark::ANY))
            .take(16)
            .collect();
        if targets.is_empty() {
            targets.push(format!("{base}/{}", mark::BELOW));
        }
        for target in &targets {
            let Some(mut argv) = running.args.nested.clone() else { break };
            let braced = argv.iter().any(|word| word.contains('{'));
            for word in &mut argv {
                *word = word.replace("{}", target);
            }
            if !braced {
                argv.push(target.clone());
            }
            self.invoke_apart(scope, argv, "");
        }
        targets.join("\n")
    }

    pub(crate) fn find(&mut self, scope: &Scope, running: &Running<'_, '_>) -> String {
        let search = self.search(scope, running);
        let mut targets = Vec::new();
        for place in &search.places {
            let base = place.trim_end_matches('/');
            if !search.filtered {
                let whole =
                    if search.inside { format!("{base}/{}", mark::ANY) } else { place.clone() };
                targets.push((whole, true));
            } else if !search.paths.is_empty() {
                targets.extend(search.paths.iter().map(|path| (path.clone(), true)));
            } else if search.names.is_empty() && search.empty && !search.either {
                // Somewhere below, and nothing in it: no file that anybody needs.
                targets.push((format!("{base}/{}/{}", mark::BELOW, mark::WORD), false));
            } else if search.names.is_empty() {
                targets.push((format!("{base}/{}", mark::BELOW), false));
            } else {
                for name in &search.names {
                    targets.push((format!("{base}/{}{name}", mark::DEEP), true));
                }
            }
        }
        if search.delete {
            for (target, tree) in &targets {
                self.path(scope, Verb::Deletes, target, *tree);
            }
        }
        for command in &search.commands {
            self.whole_content(scope, &search, command);
            for (target, _) in targets.iter().take(16) {
                let mut argv: Vec<String> =
                    command.iter().map(|word| word.replace("{}", target)).collect();
                if argv.last().is_some_and(|last| last == "+") {
                    argv.pop();
                }
                self.invoke_apart(scope, argv, "");
            }
        }
        let lines: Vec<String> = targets
            .iter()
            .map(|(target, _)| {
                if search.filtered {
                    target.clone()
                } else {
                    format!("{}/{}", target.trim_end_matches('/'), mark::BELOW)
                }
            })
            .collect();
        lines.join("\n")
    }

    /// `find . -type f -exec cat {} +`: of a place where nothing is left out the hidden files are shown, too.
    fn whole_content(&mut self, scope: &Scope, search: &Search, command: &[String]) {
        const SHOW: &[&str] = &[
            "cat", "tac", "nl", "head", "tail", "less", "more", "bat", "base64", "xxd", "od",
            "strings", "hexdump",
        ];
        let shows = command.first().is_some_and(|name| SHOW.contains(&name.as_str()));
        if !shows || search.filtered {
            return;
        }
        for place in &search.places {
            let file = format!("{}/.env", place.trim_end_matches('/'));
            if self.may_be_there(scope, &file) {
                self.path(scope, Verb::Reads, &file, false);
            }
        }
    }

    /// Whether a file is there, as far as anybody knows: without a file system, in the project's own folder.
    pub(crate) fn may_be_there(&mut self, scope: &Scope, file: &str) -> bool {
        let Some(at) = path::normalise(&scope.cwd, file) else { return false };
        if !self.ctx.files.is_present() {
            return self.ctx.root.is_some_and(|root| path::folder_of(&at) == root);
        }
        self.ctx.files.look(&at) != Entry::Absent
    }

    fn search(&mut self, scope: &Scope, running: &Running<'_, '_>) -> Search {
        let mut search = Search::default();
        let mut words = running.argv.iter().skip(1).peekable();
        while let Some(word) = words.next_if(|word| {
            let option = matches!(word.as_str(), "-H" | "-L" | "-P");
            let expression = word.len() > 1 && word.starts_with('-');
            option || !(expression || matches!(word.as_str(), "(" | "!"))
        }) {
            if !word.starts_with('-') {
                search.places.push(word.clone());
            }
        }
        if search.places.is_empty() {
            search.places.push(".".to_owned());
        }
        while let Some(word) = words.next() {
            match word.as_str() {
                "!" | "-not" => {
                    search.negated = true;
                    continue;
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let mut argv: Vec<String> = Vec::new();
                    for part in words.by_ref() {
                        let plus = part == "+" && argv.last().is_some_and(|last| last == "{}");
                        if part == ";" || plus {
                            break;
                        }
                        argv.push(part.clone());
                    }
                    search.commands.push(argv);
                }
                "-fprint" | "-fls" | "-fprint0" | "-fprintf" => {
                    if let Some(file) = words.next() {
                        self.path(scope, Verb::Writes, file, false);
                    }
                }
                word => search.test(word, &mut words),
            }
            search.negated = false;
        }
        // `-name a -o -mtime 1`: the names no longer bound what is selected.
        if search.either && search.names.len() < 2 {
            search.names.clear();
        }
        search
    }
}

impl Search {
    /// Takes one test and its value.
    fn test<'w>(&mut self, word: &str, words: &mut impl Iterator<Item = &'w String>) {
        match word {
            "-delete" => self.delete = true,
            "-name" | "-iname" => {
                // `-name '*'` and `! -name x` select nearly everything.
                if let Some(name) = words.next()
                    && !self.negated
                    && !name.chars().all(|c| c == '*')
                {
                    self.filtered = true;
                    self.names.push(globbed(name));
                } else {
                    self.inside |= self.negated;
                }
            }
            "-path" | "-wholename" | "-ipath" => {
                if let Some(path) = words.next()
                    && !self.negated
                {
                    self.filtered = true;
                    self.paths.push(globbed(path).replace(mark::ANY, "\u{E002}"));
                }
            }
            "-prune" => self.paths.clear(),
            "-o" | "-or" => self.either = true,
            "-maxdepth" => {
                words.next();
            }
            // What selects by kind or depth alone selects nearly everything.
            "-mindepth" | "-type" | "-printf" | "-regextype" => {
                self.inside |= word == "-mindepth";
                words.next();
            }
            "-regex" | "-iregex" | "-mtime" | "-mmin" | "-atime" | "-ctime" | "-cmin" | "-amin"
            | "-size" | "-perm" | "-user" | "-group" | "-newer" | "-links" | "-inum" | "-uid"
            | "-gid" | "-newermt" | "-fstype" | "-lname" | "-samefile" => {
                self.filtered = true;
                words.next();
            }
            "-empty" => {
                self.filtered = true;
                self.empty |= !self.negated;
            }
            "-executable" => self.filtered = true,
            _ => {}
        }
    }
}

/// A `-name` pattern as a marked text.
pub(crate) fn globbed(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '*' => out.push(mark::ANY),
            '?' => out.push(mark::ONE),
            '[' => {
                out.push(mark::ONE);
                for c in chars.by_ref() {
                    if c == ']' {
                        break;
                    }
                }
            }
            '\\' => out.extend(chars.next()),
            c => out.push(c),
        }
    }
    out
}

//! `tar`: what an archive is made of, where it is unpacked, and the commands its options run.
//!
//! Refused: looking into an archive. Its files land below the folder, or anywhere where an option
//! keeps their absolute names.

use crate::effect::{Reason, Verb};
use crate::mark;
use crate::program::files::is_setuid;
use crate::program::invoke::Running;
use crate::run::Run;
use crate::shell::scope::Scope;

/// Long options of tar whose value may be the next word.
const TAR_VALUES: &[&str] = &[
    "file",
    "directory",
    "to-command",
    "use-compress-program",
    "checkpoint-action",
    "info-script",
    "new-volume-script",
    "rsh-command",
    "transform",
    "xform",
    "exclude",
    "files-from",
    "exclude-from",
    "strip-components",
    "owner",
    "group",
    "mode",
    "mtime",
];

/// Long options whose value is a command.
const COMMANDS: &[&str] = &[
    "to-command",
    "use-compress-program",
    "checkpoint-action",
    "info-script",
    "new-volume-script",
    "rsh-command",
];

/// What the command line says.
struct Line {
    /// `c`, `x`, `t`, `r`, `u`; `d` deletes what it packs.
    mode: char,
    archive: Option<String>,
    folder: String,
    members: Vec<String>,
    /// The content goes to standard output.
    shows: bool,
    /// Names are taken as they are, or changed into absolute ones.
    anywhere: bool,
    commands: Vec<String>,
}

fn line(argv: &[String]) -> Line {
    let mut line = Line {
        mode: ' ',
        archive: None,
        folder: ".".to_owned(),
        members: Vec::new(),
        shows: false,
        anywhere: false,
        commands: Vec::new(),
    };
    let mut words = argv.iter().skip(1);
    let mut first = true;
    while let Some(word) = words.next() {
        if let Some(option) = word.strip_prefix("--") {
            let value = match option.split_once('=') {
                Some((_, value)) => value.to_owned(),
                None if TAR_VALUES.contains(&option) => words.next().cloned().unwrap_or_default(),
                None => String::new(),
            };
            line.long(option.split('=').next().unwrap_or_default(), value);
        } else if let Some(letters) = word.strip_prefix('-').or(first.then_some(word)) {
            for letter in letters.chars() {
                line.letter(letter, &mut words);
            }
        } else {
            line.members.push(word.clone());
        }
        first = false;
    }
    line
}

impl Line {
    fn letter<'a>(&mut self, letter: char, words: &mut impl Iterator<Item = &'a String>) {
        match letter {
            'c' | 'x' | 't' | 'r' | 'u' => self.mode = letter,
            'f' => self.archive = words.next().cloned(),
            'O' => self.shows = true,
            'P' => self.anywhere = true,
            'C' => self.folder = words.next().cloned().unwrap_or_default(),
            'I' | 'F' => self.commands.extend(words.next().cloned()),
            'T' | 'X' => {
                words.next();
            }
            _ => {}
        }
    }

    fn long(&mut self, name: &str, value: String) {
        match name {
            "create" => self.mode = 'c',
            "extract" | "get" => self.mode = 'x',
            "list" => self.mode = 't',
            "append" | "update" => self.mode = 'r',
            "file" => self.archive = Some(value),
            "directory" | "one-top-level" => self.folder = value,
            "remove-files" => self.mode = 'd',
            "to-stdout" => self.shows = true,
            "absolute-names" => self.anywhere = true,
            "transform" | "xform" => self.anywhere |= value.contains(",/") || value.contains("|/"),
            "checkpoint-action" => {
                self.commands.extend(value.strip_prefix("exec=").map(str::to_owned));
            }
            name if COMMANDS.contains(&name) => self.commands.push(value),
            _ => {}
        }
    }
}

impl Run<'_> {
    pub(crate) fn tar(&mut self, scope: &Scope, running: &Running<'_, '_>) -> Option<String> {
        let mut line = line(running.argv);
        let mode = running.argv.iter().find_map(|word| word.strip_prefix("--mode="));
        if mode.is_some_and(is_setuid) {
            self.thing(Verb::Escalates, "setuid");
        }
        for command in &line.commands {
            let mut inner = scope.clone();
            // What flows into it is in the archive.
            self.run_text(&mut inner, command, &mark::VOID.to_string());
        }
        if line.shows && line.mode == 'x' {
            // What is shown of an archive is what the files in it hold.
            for member in &line.members {
                self.path(scope, Verb::Reads, member, false);
            }
            line.mode = 't';
        }
        if line.anywhere && line.mode == 'x' {
            self.unknown(Verb::Writes, Reason::PathText);
        }
        self.archive(scope, &line, running.stdin);
        None
    }

    fn archive(&mut self, scope: &Scope, line: &Line, stdin: &str) {
        let Line { mode, folder, members, .. } = line;
        let archive = line.archive.as_deref().unwrap_or("-");
        let mut inner = scope.clone();
        let at = crate::path::normalise(&scope.cwd, folder);
        inner.conditional = 0;
        inner.change_folder(&at.unwrap_or_else(|| mark::VOID.to_string()));
        match *mode {
            'c' | 'r' | 'u' | 'd' => {
                self.path(scope, Verb::Writes, archive, false);
                for member in members {
                    self.path(&inner, Verb::Reads, member, true);
                    if *mode == 'd' {
                        self.path(&inner, Verb::Deletes, member, true);
                    }
                }
            }
            'x' => {
                self.path(scope, Verb::Reads, archive, false);
                self.unpacked(scope, archive, stdin, folder);
                // What an archive holds is not known; it lands below the folder.
                if members.is_empty() {
                    self.path(&inner, Verb::Writes, ".", false);
                }
                for member in members {
                    self.path(&inner, Verb::Writes, member, false);
                }
            }
            _ => self.path(scope, Verb::Reads, archive, false),
        }
    }
}

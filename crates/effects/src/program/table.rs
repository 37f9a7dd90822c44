//! The program table: what the arguments of known programs mean, as data.
//!
//! The built-in table is `data/programs.txt`; a policy may add lines in the same format. The names
//! are indexed when this is built (`build.rs`); a program's lines are read when it is first met, since a
//! hook process lives for a millisecond. The format is described at the top of the data file. Refused: an entry
//! that does not parse (an error with its line), and code per program where data will do.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use crate::effect::Verb;
use crate::program::words;

const BUILT_IN: &str = include_str!("../../data/programs.txt");

// `NAMES`: every name of the built-in table, sorted, with where its line begins and ends.
include!(concat!(env!("OUT_DIR"), "/names.rs"));

/// What the lines of a name were read to, at the place of its first one.
static READ: [OnceLock<Box<Program>>; NAMES.len()] = [const { OnceLock::new() }; NAMES.len()];

/// Why a line of a program table is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The line has no ` = ` between the names and what they mean.
    #[error("line {line}: no ` = ` in `{text}`")]
    NoEquals {
        /// Counted from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// A token is not known.
    #[error("line {line}: `{token}` is not known")]
    Token {
        /// Counted from 1.
        line: usize,
        /// The token.
        token: String,
    },
}

/// What the value of an option or argument is to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Skip,
    Read,
    Write,
    /// Writes a whole folder.
    Tree,
    Delete,
    /// Deletes with everything below.
    DeleteTree,
    /// Read and then gone.
    Move,
    /// The place that reads, moves go to.
    Into,
    Host,
    /// An address that is contacted.
    Url,
    /// A file whose content goes to a host.
    Send,
    /// Curl's data: `@file` is sent, anything else stands for itself.
    Data,
    /// `host:path` or a path that is read and sent.
    Remote,
    /// `host:path` or a path that is written.
    RemoteInto,
    /// A shell text.
    Shell,
    /// From here on the arguments are a command of their own.
    Argv,
    /// The arguments from here on are joined to one shell text.
    ShellRest,
    /// A program text in a language.
    Code(Lang),
    /// A file that is run in a language.
    Script(Lang),
    /// The folder the rest happens in.
    Folder,
    Sql,
    /// A file of SQL.
    SqlFile,
    /// `NAME=value`.
    Assign,
    /// A program's name that is run.
    Program,
    /// `read:write` as in docker's `-v`.
    Mount,
    /// An HTTP method.
    Method,
    /// A disk that is formatted, or a file that holds the image of one.
    Device,
    /// From here on a package that is fetched and run, with its arguments.
    Package,
    /// A name of something that stands elsewhere.
    Spec(Spec),
}

/// Names of things that stand elsewhere: behind an address, in a repository, in a vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spec {
    /// A package by its name, or by the address that its code comes from.
    Source,
    /// The same, where `owner/name` is an address too.
    Repository,
    /// A file, an address or standard input, whose content takes effect.
    Manifest,
    /// A path, or `REVISION:PATH`, of a repository.
    Revision,
    /// Hosts and ports in a row: `a.example:80:10.0.0.1:80`.
    Hosts,
    /// A folder that is offered to the network.
    Served,
    /// A file that an editor shows and writes.
    Edited,
    /// The name of a value that is shown.
    Shown,
    /// A name that is looked up.
    Lookup,
    /// `KEY=VALUE`, where the value of some keys is a command.
    Setting,
    /// A server that packages come from.
    Registry,
    /// Text that goes along to the host: it counts where it holds data.
    Carried,
    /// A form's fields: a file among them is uploaded.
    Form,
    /// The pattern of what is shown: it may name the variables of an environment.
    Template,
    /// A file of options, which may say anything.
    Options,
    /// A module of Go, which may lie anywhere.
    Module,
    /// A pattern of the files that are searched.
    Among,
    /// A folder that comes to be, empty.
    Made,
    /// A key that is made, in a file of this name.
    Key,
    /// Settings of something in a cluster.
    Object,
    /// What another name stands for: a command behind a `!`.
    Alias,
}

/// Languages whose one-liners are looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lang {
    Shell,
    Python,
    Node,
    Perl,
    Ruby,
    Php,
    Lua,
    Awk,
    Sed,
    Powershell,
    Cmd,
    /// Commands of vi and its like.
    Editor,
    Other,
}

/// What follows from a flag, or from the program as such.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    /// An effect on a named thing.
    Thing(Verb, Box<str>),
    /// An effect on a fixed path, relative to the folder.
    Path(Verb, Box<str>),
    /// Contacts a fixed host.
    Host(Box<str>),
    Listens,
    /// Standard input goes to the host.
    SendsInput,
    /// Where no command is named, a shell reads standard input.
    ShellInput,
    /// Standard input takes effect: what came from the network is code.
    RunsInput,
    /// The whole environment is shown.
    Environment,
    /// Runs code of the project.
    ProjectCode,
    /// Does what the table does not know.
    Opaque,
    /// A command that is only known when it runs.
    Hidden,
    /// An AI agent.
    Agent,
    /// An AI agent whose guards are off.
    Unguarded,
    /// A sub-command of an agent program that runs no agent.
    NoAgent,
    /// Paths count with all below.
    Tree,
    /// Nothing happens.
    Nothing,
    /// Positional arguments are written instead of read.
    InPlace,
    /// Positional arguments are deleted instead of read.
    DeletesArgs,
    /// Positional arguments are read instead of skipped.
    ReadsArgs,
    /// What the source does not have is deleted at the target.
    Mirror,
    /// A repository is fetched: its address, and the folder it goes to.
    Fetched,
    /// An archive is unpacked: the first argument, into the folder that an option names.
    Unpacks,
}

/// What a program prints, as far as it matters to what comes after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Out {
    #[default]
    Unknown,
    /// One or more words without a slash.
    Word,
    /// Who and where this is: a word, and data.
    Machine,
    /// The folder it is in.
    Cwd,
    /// The workspace's root.
    Root,
    /// Paths below the folder.
    Below,
    /// Paths below its path arguments.
    BelowArgs,
    /// Its arguments where they are patterns of file names, else paths below the folder.
    Listed,
    /// A fresh temporary path.
    Temp,
    /// Text that sets up a shell.
    Init,
    /// Text from the network.
    Remote,
    /// What it reads: files or standard input.
    Content,
    /// A part of its standard input.
    Input,
    /// Its last argument's name.
    Name,
    /// Its last argument's folder.
    FolderOf,
    /// Its last argument, made absolute.
    Absolute,
    /// A program's path that was asked for.
    Which,
    Nothing,
}

/// Programs whose meaning needs code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handler {
    Echo,
    Printf,
    Cat,
    Env,
    Xargs,
    Find,
    Ssh,
    DockerRun,
    Git,
    GitConfig,
    GitPush,
    GitRemote,
    GitCheckout,
    GitBranch,
    ForgeApi,
    Device,
    Envsubst,
    Tar,
    Dd,
    Curl,
    Wget,
    Make,
    PackageScript,
    Sed,
    Crontab,
    Kill,
    Chmod,
    MadeWithMode,
    Base64,
    Netcat,
    Shell,
    Interpreter,
    Parallel,
    Grep,
    Tr,
    Rev,
    HexDecode,
    Decoded,
    SqlShell,
    RedisShell,
    Systemctl,
    Socat,
    WindowsShell,
    Tmux,
    Openssl,
    Sort,
    Mkfifo,
    Fd,
    Printenv,
    Jq,
    Tee,
    Serve,
    EditorInput,
    Patch,
    Tasks,
    State,
    MavenExec,
}

impl Handler {
    /// Whether the handler itself runs the command that the arguments hold.
    pub(crate) fn runs_the_rest(self) -> bool {
        matches!(
            self,
            Self::Env
                | Self::Xargs
                | Self::Parallel
                | Self::Ssh
                | Self::DockerRun
                | Self::Device
                | Self::Fd
        )
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Choice {
    pub(crate) names: Vec<Box<str>>,
    pub(crate) role: Option<Role>,
    pub(crate) acts: Vec<Act>,
}

/// What the table says about a program or one of its sub-commands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    /// The sub-command words; empty for the program itself.
    pub(crate) sub: Vec<Box<str>>,
    pub(crate) options: Vec<Choice>,
    pub(crate) front: Vec<Role>,
    pub(crate) repeated: Option<Role>,
    pub(crate) back: Vec<Role>,
    pub(crate) acts: Vec<Act>,
    /// What follows where there is no argument.
    pub(crate) bare_acts: Vec<Act>,
    pub(crate) handler: Option<Handler>,
    pub(crate) lang: Option<Lang>,
    /// Another name of this program, which the table knows.
    pub(crate) alias: Option<Box<str>>,
    pub(crate) out: Out,
    /// Options are words of one dash (`-auto-approve`).
    pub(crate) single: bool,
    /// Options come first only.
    pub(crate) posix: bool,
    /// Unknown sub-commands are harmless.
    pub(crate) open: bool,
    /// Without any argument nothing happens.
    pub(crate) bare: bool,
}

/// A sub-command: its words, and what the table says of it, which is read when it is met. A program
/// like git has a hundred of them, and a command one.
#[derive(Debug, Clone)]
pub(crate) struct Sub {
    pub(crate) words: Vec<Box<str>>,
    /// Whether they are patterns, with `*` or `|`.
    pub(crate) patterned: bool,
    line: Cow<'static, str>,
    read: OnceLock<Record>,
}

impl Sub {
    fn new(words: Vec<Box<str>>, line: Cow<'static, str>) -> Sub {
        let patterned = words.iter().any(|word| word.contains(['*', '|']));
        Sub { words, patterned, line, read: OnceLock::new() }
    }

    /// What the table says.
    pub(crate) fn record(&self) -> &Record {
        // Every line is one that was read before: the built-in ones by a test, added ones when they were added.
        self.read.get_or_init(|| record(0, &self.line).unwrap_or_default())
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Program {
    pub(crate) root: Record,
    pub(crate) subs: Vec<Sub>,
    /// Sub-commands of one word that count wherever it stands: `** WORD`.
    pub(crate) anywhere: Vec<Sub>,
}

/// A name that a policy has added lines to, behind those of the built-in table.
#[derive(Debug, Default)]
struct Entry {
    lines: Vec<Cow<'static, str>>,
    parsed: OnceLock<Box<Program>>,
}

/// The front of an entry whose last word may stand behind any others: `aws ** delete-*`.
const ANYWHERE: &str = "**";

/// What is known about programs: the built-in table and what a policy added.
#[derive(Debug, Default)]
pub struct Programs {
    added: HashMap<String, Entry>,
}

impl Programs {
    /// The built-in table.
    pub fn built_in() -> &'static Self {
        static TABLE: OnceLock<Programs> = OnceLock::new();
        TABLE.get_or_init(Self::default)
    }

    /// The built-in table with further lines in the same format. A program named again gets the new
    /// lines beside the old ones; the same sub-command is replaced.
    ///
    /// # Errors
    /// [`TableError`] for the first line that is not understood.
    pub fn with(text: &str) -> Result<Self, TableError> {
        let mut programs = Self::default();
        for (number, line) in logical_lines(text) {
            check(number, line)?;
            for name in names_of(line) {
                let entry = programs.added.entry(name.to_owned()).or_insert_with(|| Entry {
                    lines: built_in_lines(name).map(Cow::Borrowed).collect(),
                    parsed: OnceLock::new(),
                });
                entry.lines.push(Cow::Owned(line.to_owned()));
            }
        }
        Ok(programs)
    }

    /// How many names are known.
    pub fn len(&self) -> usize {
        let mut names: Vec<&str> = NAMES.iter().map(|(name, ..)| *name).collect();
        names.dedup();
        names.len() + self.added.keys().filter(|name| first_of(name).is_none()).count()
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads every built-in line and counts them.
    ///
    /// # Errors
    /// [`TableError`] for the first line that is not understood.
    pub fn check_built_in() -> Result<usize, TableError> {
        Self::check(BUILT_IN)
    }

    /// Reads lines in the format of the table and counts them; comments and blanks do not count.
    ///
    /// # Errors
    /// [`TableError`] for the first line that is not understood.
    pub fn check(text: &str) -> Result<usize, TableError> {
        let mut count = 0;
        for (number, line) in logical_lines(text) {
            check(number, line)?;
            count += 1;
        }
        Ok(count)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Program> {
        if let Some(entry) = self.added.get(name) {
            let lines = || program(entry.lines.iter().cloned());
            return Some(entry.parsed.get_or_init(lines));
        }
        let read = READ.get(first_of(name)?)?;
        Some(read.get_or_init(|| program(built_in_lines(name).map(Cow::Borrowed))))
    }
}

/// Where the first line of a name stands in the index.
fn first_of(name: &str) -> Option<usize> {
    let first = NAMES.partition_point(|(known, ..)| *known < name);
    NAMES.get(first).is_some_and(|(known, ..)| *known == name).then_some(first)
}

/// The lines of a name in the built-in table, in its order.
fn built_in_lines(name: &str) -> impl Iterator<Item = &'static str> {
    let rest = first_of(name).and_then(|first| NAMES.get(first..)).unwrap_or_default();
    let count = rest.iter().take_while(|(known, ..)| *known == name).count();
    let own = rest.iter().take(count);
    own.filter_map(|(_, start, end)| {
        let (start, end) = (usize::try_from(*start).ok()?, usize::try_from(*end).ok()?);
        BUILT_IN.get(start..end)
    })
}

fn program(lines: impl Iterator<Item = Cow<'static, str>>) -> Box<Program> {
    let mut program = Box::<Program>::default();
    for line in lines {
        let words = sub_words(&line);
        if words.is_empty() {
            program.root = record(0, &line).unwrap_or_default();
        } else if words.first().is_some_and(|word| **word == *ANYWHERE) {
            program.anywhere.push(Sub::new(words, line));
        } else {
            program.subs.retain(|old| old.words != words);
            program.subs.push(Sub::new(words, line));
        }
    }
    program
}

/// The words of a line's sub-command; none for the program itself.
fn sub_words(line: &str) -> Vec<Box<str>> {
    // By bytes: hundreds of lines are cut so when a program like git is first met.
    let end = line.as_bytes().windows(2).position(|pair| pair == b" =").unwrap_or(0);
    let head = line.get(..end).unwrap_or("");
    head.split([' ', '\t']).filter(|word| !word.is_empty()).skip(1).map(Into::into).collect()
}

/// Lines with their numbers, without comments and blanks. A long entry is one long line.
fn logical_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn names_of(line: &str) -> impl Iterator<Item = &str> {
    line.split_whitespace().next().unwrap_or_default().split(',')
}

fn check(number: usize, line: &str) -> Result<(), TableError> {
    record(number, line).map(|_| ())
}

fn record(number: usize, line: &str) -> Result<Record, TableError> {
    let (_, body) = line
        .split_once(" =")
        .ok_or_else(|| TableError::NoEquals { line: number, text: line.to_owned() })?;
    let mut record = Record { sub: sub_words(line), ..Record::default() };
    for token in body.split_whitespace() {
        accept(&mut record, token)
            .ok_or_else(|| TableError::Token { line: number, token: token.to_owned() })?;
    }
    Ok(record)
}

fn accept(record: &mut Record, token: &str) -> Option<()> {
    if token.starts_with(['-', '+']) {
        record.options.push(option(token)?);
    } else if let Some(act) = token.strip_prefix("none!") {
        record.bare_acts.push(words::act(act)?);
    } else if let Some(act) = token.strip_prefix('!') {
        record.acts.push(words::act(act)?);
    } else if let Some(roles) = token.strip_prefix("args:") {
        for word in roles.split(',') {
            if let Some(word) = word.strip_suffix('*') {
                record.repeated = Some(words::role(word)?);
            } else if record.repeated.is_none() {
                record.front.push(words::role(word)?);
            } else {
                record.back.push(words::role(word)?);
            }
        }
    } else if let Some(name) = token.strip_prefix("do:") {
        record.handler = Some(words::handler(name)?);
    } else if let Some(name) = token.strip_prefix("lang:") {
        record.lang = Some(words::lang(name)?);
    } else if let Some(name) = token.strip_prefix("is:") {
        record.alias = Some(name.into());
    } else if let Some(name) = token.strip_prefix("out:") {
        record.out = words::out(name)?;
    } else {
        match token {
            "single" => record.single = true,
            "posix" => record.posix = true,
            "open" => record.open = true,
            "bare" => record.bare = true,
            "safe" => {}
            _ => return None,
        }
    }
    Some(())
}

/// `-o/--output:write`, `-f/--force!destroys=work`, `-v`.
fn option(token: &str) -> Option<Choice> {
    let mut choice = Choice::default();
    let mut pieces = token.split('!');
    let head = pieces.next()?;
    for piece in pieces {
        choice.acts.push(words::act(piece)?);
    }
    let names = match head.split_once(':') {
        Some((names, word)) => {
            choice.role = Some(words::role(word)?);
            names
        }
        None => head,
    };
    choice.names = names.split('/').map(Into::into).collect();
    Some(choice)
}

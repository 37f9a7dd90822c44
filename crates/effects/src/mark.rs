//! Marks: characters that stand for text that is only known in part.
//!
//! A value in a shell text is often half known: `out/*.o`, `backup-$(date +%F).tgz`, `$1/bin`. All of
//! them are ordinary strings here, in which characters of Unicode's private-use area stand for the
//! part that is not literal. That keeps one representation from the first word to the last path.
//! Refused: such a character in a text from outside (the caller turns it into `unknown`).

use std::borrow::Cow;

/// `*`: any run of characters without a slash.
pub(crate) const ANY: char = '\u{E000}';
/// `?` or a bracket expression: one character but a slash.
pub(crate) const ONE: char = '\u{E001}';
/// `**`: any run of characters (only where the shell is told so).
pub(crate) const DEEP: char = '\u{E002}';
/// A word that is not known but holds no slash and is no `.` or `..` (a date, a hash, a count).
pub(crate) const WORD: char = '\u{E003}';
/// Some path below the place where it stands, never above it (what `find` or `git ls-files` print).
pub(crate) const BELOW: char = '\u{E004}';
/// Text that came over the network.
pub(crate) const REMOTE: char = '\u{E005}';
/// Shell text that a known tool prints to set up its own environment (`ssh-agent -s`).
pub(crate) const INIT: char = '\u{E006}';
/// The value of a variable that is named like a secret.
pub(crate) const SECRET: char = '\u{E007}';
/// The content of a file that could not be read.
pub(crate) const FILE: char = '\u{E008}';
/// Stands behind text that a command read from a file, or that names this machine: wherever it is sent,
/// data leaves. It holds no text itself.
pub(crate) const DATA: char = '\u{E009}';
/// A line of a file, or what a command made of one: a name, as far as the text says where it lies.
pub(crate) const LINE: char = '\u{E00A}';
/// Anything at all.
pub(crate) const VOID: char = '\u{E00F}';
/// An unquoted `{`, `,`, `}` before brace expansion.
pub(crate) const OPEN: char = '\u{E020}';
/// See [`OPEN`].
pub(crate) const COMMA: char = '\u{E021}';
/// See [`OPEN`].
pub(crate) const CLOSE: char = '\u{E022}';
/// A place where an unquoted value is split into words.
pub(crate) const SPLIT: char = '\u{E023}';

/// Whether `c` is one of the marks.
pub(crate) fn is_mark(c: char) -> bool {
    ('\u{E000}'..='\u{E02F}').contains(&c)
}

/// Whether `text` holds any mark. All of them begin with the same two bytes in UTF-8.
pub(crate) fn has_mark(text: &str) -> bool {
    text.as_bytes().windows(2).any(|w| w == [0xEE, 0x80]) && text.chars().any(is_mark)
}

/// Whether `text` holds a part that may be anything.
pub(crate) fn has_void(text: &str) -> bool {
    has_mark(text) && text.contains([VOID, REMOTE, INIT, SECRET, FILE, LINE])
}

/// The text without what says that it is data, which means nothing for paths and programs.
pub(crate) fn without_data(text: &str) -> Cow<'_, str> {
    match has_mark(text) && text.contains(DATA) {
        true => Cow::Owned(text.replace(DATA, "")),
        false => Cow::Borrowed(text),
    }
}

/// The text as a person reads it.
pub(crate) fn shown(text: &str) -> String {
    if !has_mark(text) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ANY => out.push('*'),
            ONE => out.push('?'),
            DEEP | BELOW => out.push_str("**"),
            WORD => out.push_str("<word>"),
            REMOTE => out.push_str("<from the network>"),
            INIT => out.push_str("<set-up text>"),
            SECRET => out.push_str("<secret variable>"),
            FILE => out.push_str("<content of a file>"),
            LINE => out.push_str("<line of a file>"),
            VOID => out.push_str("<unknown>"),
            DATA => {}
            OPEN => out.push('{'),
            COMMA => out.push(','),
            CLOSE => out.push('}'),
            SPLIT => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

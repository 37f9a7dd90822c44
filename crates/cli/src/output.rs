//! Standard output: the answer as a whole, and its colour.
//!
//! Colour, or none: used on a terminal only, and never when `NO_COLOR` is set (no-color.org).

use crate::exit::Failure;
use std::fmt;
use std::io::{ErrorKind, IsTerminal, Write as _};
use tollgate::gate::text::{shown, shown_block};

/// Writes an answer for people: what could move, reorder or hide text on a terminal is escaped, wherever
/// it came from (a path of a stranger's repository, the name of a hook, a reason).
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    answer(&shown_block(text, usize::MAX).to_string())
}

/// Writes a line of an answer for people.
pub(crate) fn say_line(text: &str) -> Result<(), Failure> {
    say(&format!("{text}\n"))
}

/// Tells the person who runs this something on standard error, on a line of its own.
pub(crate) fn note(text: &str) {
    tell_people(format_args!("tollgate: {}", shown(text, usize::MAX)));
}

/// Writes a line on standard error, as it is. Where nobody reads it (a pipe that was closed) there is
/// nobody to tell, and the command goes on: `eprintln` would end it, with a code that means nothing.
pub(crate) fn tell_people(text: impl fmt::Display) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Writes a piece of the answer as it is and sees that it is out. A reader that has gone away wants no more.
pub(crate) fn answer(text: &str) -> Result<(), Failure> {
    told(text).map(drop)
}

/// Writes a piece of the answer; whether anybody still reads.
pub(crate) fn told(text: &str) -> Result<bool, Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::internal(format!("standard output cannot be written: {error}"))),
    }
}

/// Whether standard output takes colour.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    colour: bool,
}

/// Text in a style.
pub(crate) struct Styled<'a> {
    text: &'a str,
    code: Option<&'static str>,
}

impl Style {
    /// The style for standard output.
    pub(crate) fn of_stdout() -> Style {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Style { colour: !refused && std::io::stdout().is_terminal() }
    }

    fn with<'a>(self, text: &'a str, code: &'static str) -> Styled<'a> {
        Styled { text, code: self.colour.then_some(code) }
    }

    pub(crate) fn bold(self, text: &str) -> Styled<'_> {
        self.with(text, "1")
    }

    pub(crate) fn dim(self, text: &str) -> Styled<'_> {
        self.with(text, "2")
    }

    pub(crate) fn green(self, text: &str) -> Styled<'_> {
        self.with(text, "32")
    }

    pub(crate) fn red(self, text: &str) -> Styled<'_> {
        self.with(text, "31")
    }
}

impl fmt::Display for Styled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "\u{1b}[{code}m{}\u{1b}[0m", self.text),
            None => f.write_str(self.text),
        }
    }
}

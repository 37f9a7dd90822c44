//! Shell text to a tree: commands, lists, compound commands, redirections, here-documents.
//!
//! Written here rather than taken from a library because a gate needs three things at once that none
//! has: linear time within the budget (brush-parser alone takes longer for 10 KB than the whole
//! analysis may), a cap on depth that is an answer and no stack overflow, and no copy of the text in a
//! global cache. The tests hold it against brush-parser and Bash. Refused: guessing. What does not follow the
//! grammar ends the parse with a [`Fail`], which becomes an `unknown`; what was read before it counts.

use std::cell::OnceCell;
use std::rc::Rc;

use crate::limits::NESTING_MAX;
use crate::shell::syntax::{
    Assign, Command, Here, Item, Kind, Link, Part, Redirect, RedirectKind, Script, Value, Word,
};

/// Why a text could not be read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fail {
    Syntax,
    Depth,
}

pub(crate) type Parse<T> = Result<T, Fail>;

struct Pending<'a> {
    delimiter: String,
    quoted: bool,
    strip_tabs: bool,
    slot: Rc<OnceCell<Here<'a>>>,
}

pub(crate) struct Parser<'a> {
    pub(crate) src: &'a str,
    pub(crate) pos: usize,
    pub(crate) end: usize,
    depth: u32,
    pending: Vec<Pending<'a>>,
}

/// Reads a whole text; on a failure the commands before it come back as well.
pub(crate) fn parse(src: &str) -> (Script<'_>, Option<Fail>) {
    let mut parser = Parser { src, pos: 0, end: src.len(), depth: 0, pending: Vec::new() };
    let mut script = Script::default();
    let fail = match parser.list(&mut script) {
        Err(fail) => Some(fail),
        Ok(()) if parser.pos >= parser.end => None,
        Ok(()) => Some(Fail::Syntax),
    };
    (script, fail)
}

impl<'a> Parser<'a> {
    pub(crate) fn at(&self, offset: usize) -> u8 {
        let index = self.pos + offset;
        if index >= self.end {
            return 0;
        }
        self.src.as_bytes().get(index).copied().unwrap_or(0)
    }

    pub(crate) fn slice(&self, from: usize, to: usize) -> &'a str {
        self.src.get(from..to).unwrap_or_default()
    }

    pub(crate) fn span(&self, from: usize) -> (u32, u32) {
        let cap = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        (cap(from), cap(self.pos))
    }

    /// Goes one level down for the time of `inner`.
    pub(crate) fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= NESTING_MAX {
            return Err(Fail::Depth);
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Skips blanks, continued lines and a comment.
    pub(crate) fn blanks(&mut self) {
        loop {
            match self.at(0) {
                b' ' | b'\t' => self.pos += 1,
                b'\r' if self.at(1) == b'\n' => self.pos += 1,
                b'\\' if self.at(1) == b'\n' => self.pos += 2,
                b'\\' if self.at(1) == b'\r' && self.at(2) == b'\n' => self.pos += 3,
                b'#' => {
                    while self.pos < self.end && self.at(0) != b'\n' {
                        self.pos += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// Skips blanks and line ends; here-documents are read where a line ends.
    pub(crate) fn lines(&mut self) {
        loop {
            self.blanks();
            if self.at(0) != b'\n' {
                return;
            }
            self.line_end();
        }
    }

    fn line_end(&mut self) {
        self.pos += 1;
        for pending in std::mem::take(&mut self.pending) {
            let start = self.pos;
            let mut body_end = self.end;
            while self.pos < self.end {
                let rest = self.slice(self.pos, self.end);
                let length = rest.find('\n').unwrap_or(rest.len());
                let line = rest.get(..length).unwrap_or_default();
                let line = if pending.strip_tabs { line.trim_start_matches('\t') } else { line };
                let line_start = self.pos;
                self.pos = (self.pos + length + 1).min(self.end);
                if line.trim_end_matches('\r') == pending.delimiter {
                    body_end = line_start;
                    break;
                }
            }
            let here = if pending.quoted {
                Here::Raw(self.slice(start, body_end))
            } else {
                let after = self.pos;
                let parts = self.region(start, body_end);
                self.pos = after;
                match parts {
                    Ok(parts) => Here::Expanded(parts),
                    Err(_) => continue,
                }
            };
            // The slot is fresh: it was made with this entry.
            let _ = pending.slot.set(here);
        }
    }

    /// A keyword or operator word at the position, without moving.
    pub(crate) fn keyword(&self) -> &'a str {
        let mut length = 0;
        loop {
            match self.at(length) {
                b'a'..=b'z' | b'{' | b'}' | b'!' | b'[' if length < 9 => length += 1,
                0 | b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<'
                | b'>' => {
                    return self.slice(self.pos, self.pos + length);
                }
                _ => return "",
            }
        }
    }

    pub(crate) fn expect(&mut self, keyword: &str) -> Parse<()> {
        self.lines();
        if self.keyword() != keyword {
            return Err(Fail::Syntax);
        }
        self.pos += keyword.len();
        Ok(())
    }

    /// Reads commands up to something that ends a list: the end, `)`, `;;`, or a closing keyword.
    fn list(&mut self, script: &mut Script<'a>) -> Parse<()> {
        let mut link = Link::Then;
        loop {
            self.lines();
            if self.pos >= self.end || self.at(0) == b')' {
                return if link == Link::Then { Ok(()) } else { Err(Fail::Syntax) };
            }
            if self.at(0) == b';' && matches!(self.at(1), b';' | b'&') {
                return Ok(());
            }
            if matches!(
                self.keyword(),
                "then" | "else" | "elif" | "fi" | "do" | "done" | "esac" | "}"
            ) {
                return Ok(());
            }
            let start = self.pos;
            let stages = self.pipeline()?;
            self.blanks();
            let span = self.span(start);
            let mut item = Item { link, background: false, stages, span };
            link = Link::Then;
            let mut ended = true;
            match (self.at(0), self.at(1)) {
                (b'&', b'&') => {
                    link = Link::And;
                    self.pos += 2;
                }
                (b'|', b'|') => {
                    link = Link::Or;
                    self.pos += 2;
                }
                (b'&', _) => {
                    item.background = true;
                    self.pos += 1;
                }
                (b';', b';' | b'&') => {}
                (b';', _) => self.pos += 1,
                (b'\n', _) => self.line_end(),
                _ => ended = false,
            }
            script.items.push(item);
            if !ended {
                return Ok(());
            }
        }
    }

    pub(crate) fn script(&mut self) -> Parse<Script<'a>> {
        self.nested(|parser| {
            let mut script = Script::default();
            parser.list(&mut script)?;
            Ok(script)
        })
    }

    /// A list up to and with `)`.
    pub(crate) fn script_in_parens(&mut self) -> Parse<Script<'a>> {
        let script = self.script()?;
        if self.at(0) != b')' {
            return Err(Fail::Syntax);
        }
        self.pos += 1;
        Ok(script)
    }

    fn pipeline(&mut self) -> Parse<Vec<Command<'a>>> {
        let mut stages = Vec::with_capacity(1);
        loop {
            self.lines();
            match self.keyword() {
                "!" => {
                    self.pos += 1;
                    self.blanks();
                    if matches!(self.at(0), 0 | b'\n' | b';' | b'&' | b'|' | b')') {
                        return Ok(stages);
                    }
                    continue;
                }
                // With other options it is the program of that name.
                "time" if stages.is_empty() && !self.is_time_program() => {
                    self.pos += 4;
                    self.blanks();
                    if self.at(0) == b'-' && self.at(1) == b'p' && self.at(2) == b' ' {
                        self.pos += 2;
                    }
                    self.blanks();
                    if matches!(self.at(0), 0 | b'\n' | b';') {
                        return Ok(stages);
                    }
                    continue;
                }
                "coproc" => {
                    self.pos += 6;
                    self.coprocess_name();
                    continue;
                }
                _ => {}
            }
            stages.push(self.command()?);
            self.blanks();
            match (self.at(0), self.at(1)) {
                (b'|', b'|') => return Ok(stages),
                (b'|', b'&') => self.pos += 2,
                (b'|', _) => self.pos += 1,
                _ => return Ok(stages),
            }
        }
    }

    /// `coproc NAME { .. }`: only before a compound command there is a name.
    fn coprocess_name(&mut self) {
        let start = self.pos;
        self.blanks();
        let name = self.name_run();
        self.blanks();
        let compound = matches!(self.at(0), b'{' | b'(')
            || matches!(
                self.keyword(),
                "if" | "while" | "until" | "for" | "case" | "select" | "[["
            );
        let named = !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && !matches!(name, "if" | "while" | "until" | "for" | "case" | "select");
        if !(compound && named) {
            self.pos = start;
        }
    }

    fn is_time_program(&self) -> bool {
        let rest = self.slice(self.pos + 4, self.end).trim_start_matches([' ', '\t']);
        rest.starts_with('-') && !rest.starts_with("-p ")
    }

    pub(crate) fn command(&mut self) -> Parse<Command<'a>> {
        self.nested(|parser| {
            let start = parser.pos;
            let (kind, redirects) = match parser.compound()? {
                None => parser.simple()?,
                Some(kind) => {
                    let mut redirects = Vec::new();
                    parser.blanks();
                    while let Some(redirect) = parser.redirect()? {
                        redirects.push(redirect);
                        parser.blanks();
                    }
                    (kind, redirects)
                }
            };
            Ok(Command { kind, redirects, span: parser.span(start) })
        })
    }

    pub(crate) fn name_run(&mut self) -> &'a str {
        let from = self.pos;
        while !matches!(
            self.at(0),
            0 | b' ' | b'\t' | b'\n' | b'\r' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>'
        ) {
            self.pos += 1;
        }
        self.slice(from, self.pos)
    }

    fn simple(&mut self) -> Parse<(Kind<'a>, Vec<Redirect<'a>>)> {
        let mut assigns = Vec::new();
        let mut words: Vec<Word<'a>> = Vec::with_capacity(4);
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            if let Some(redirect) = self.redirect()? {
                redirects.push(redirect);
                continue;
            }
            if words.is_empty()
                && let Some(assign) = self.assignment()?
            {
                assigns.push(assign);
                continue;
            }
            let Some(word) = self.word()? else { break };
            words.push(word);
            self.after_word(&mut words)?;
            if let [only] = words.as_slice()
                && let Some(name) = only.plain()
                && assigns.is_empty()
                && self.at(0) == b'('
            {
                self.pos += 1;
                self.blanks();
                if self.at(0) != b')' {
                    return Err(Fail::Syntax);
                }
                self.pos += 1;
                return Ok((self.function(name)?, redirects));
            }
        }
        if words.is_empty() && assigns.is_empty() && redirects.is_empty() {
            return Err(Fail::Syntax);
        }
        Ok((Kind::Simple { assigns, words }, redirects))
    }

    /// `declare x=(a b)`: the list's words follow as words of their own.
    fn after_word(&mut self, words: &mut Vec<Word<'a>>) -> Parse<()> {
        if self.at(0) == b'('
            && words.len() > 1
            && self.pos > 0
            && self.src.as_bytes().get(self.pos - 1) == Some(&b'=')
        {
            words.extend(self.array()?);
        }
        if self.at(0) == b'(' && words.len() == 1 {
            self.blanks();
        } else {
            let ahead = self.pos;
            self.blanks();
            if !(self.at(0) == b'(' && words.len() == 1) {
                self.pos = ahead;
            }
        }
        Ok(())
    }

    fn array(&mut self) -> Parse<Vec<Word<'a>>> {
        self.pos += 1;
        let mut list = Vec::new();
        loop {
            self.lines();
            if self.at(0) == b')' {
                self.pos += 1;
                return Ok(list);
            }
            list.push(self.word()?.ok_or(Fail::Syntax)?);
        }
    }

    fn assignment(&mut self) -> Parse<Option<Assign<'a>>> {
        let mut length = 0;
        while matches!(self.at(length), b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'0'..=b'9') {
            length += 1;
        }
        if length == 0 || self.at(0).is_ascii_digit() {
            return Ok(None);
        }
        let name_length = length;
        let element = self.at(length) == b'[';
        if element {
            while !matches!(self.at(length), b']' | 0 | b'\n' | b' ') {
                length += 1;
            }
            length += 1;
        }
        let append = self.at(length) == b'+';
        if append {
            length += 1;
        }
        if self.at(length) != b'=' {
            return Ok(None);
        }
        let name = self.slice(self.pos, self.pos + name_length);
        self.pos += length + 1;
        let value = if self.at(0) == b'(' {
            Value::List(self.array()?)
        } else {
            Value::Word(self.word()?.unwrap_or_default())
        };
        Ok(Some(Assign { name, append, element, value }))
    }

    fn redirect(&mut self) -> Parse<Option<Redirect<'a>>> {
        let mut digits = 0;
        while self.at(digits).is_ascii_digit() && digits < 4 {
            digits += 1;
        }
        let (kind, length) = match (self.at(digits), self.at(digits + 1), self.at(digits + 2)) {
            (b'&', b'>', b'>') if digits == 0 => (RedirectKind::Write, 3),
            (b'&', b'>', _) if digits == 0 => (RedirectKind::Write, 2),
            (b'<' | b'>', b'(', _) => return Ok(None),
            (b'<', b'<', b'<') => (RedirectKind::HereString, 3),
            (b'<', b'<', b'-') => (RedirectKind::HereText, 3),
            (b'<', b'<', _) => (RedirectKind::HereText, 2),
            (b'<', b'>', _) => (RedirectKind::ReadWrite, 2),
            (b'<' | b'>', b'&', _) => (RedirectKind::Descriptor, 2),
            (b'>', b'>' | b'|', _) => (RedirectKind::Write, 2),
            (b'>', _, _) => (RedirectKind::Write, 1),
            (b'<', _, _) => (RedirectKind::Read, 1),
            _ => return Ok(None),
        };
        let descriptor = self.slice(self.pos, self.pos + digits).parse().ok();
        let strip_tabs = kind == RedirectKind::HereText && length == 3;
        self.pos += digits + length;
        self.blanks_only();
        let from = self.pos;
        let word = self.word()?.ok_or(Fail::Syntax)?;
        let mut here = None;
        if kind == RedirectKind::HereText {
            let raw = self.slice(from, self.pos);
            let quoted = raw.contains(['\'', '"', '\\']);
            let delimiter = raw.replace(['\'', '"', '\\'], "");
            let slot = Rc::new(OnceCell::new());
            here = Some(Rc::clone(&slot));
            self.pending.push(Pending { delimiter, quoted, strip_tabs, slot });
        }
        Ok(Some(Redirect { kind, descriptor, word, here }))
    }

    fn blanks_only(&mut self) {
        while matches!(self.at(0), b' ' | b'\t') {
            self.pos += 1;
        }
    }

    /// The length of an arithmetic text that begins at `offset`, if it ends in `))`.
    pub(crate) fn arithmetic_length(&self, offset: usize) -> Option<usize> {
        let bytes = self.src.as_bytes().get(self.pos + offset..self.end)?;
        let mut depth = 0u32;
        for (index, byte) in bytes.iter().enumerate() {
            match byte {
                b'(' => depth += 1,
                b')' if depth > 0 => depth -= 1,
                b')' => return (bytes.get(index + 1) == Some(&b')')).then_some(index),
                // Quotes and separators do not occur in arithmetic as it is written in practice.
                b'\n' if depth == 0 && index > 512 => return None,
                b';' if offset == 0 => return None,
                _ => {}
            }
        }
        None
    }

    /// The expansions and texts between two offsets, as in a here-document.
    pub(crate) fn region(&mut self, from: usize, to: usize) -> Parse<Vec<Part<'a>>> {
        let (pos, end) = (self.pos, self.end);
        self.pos = from;
        self.end = to.min(end).max(from);
        let parts = self.nested(|parser| parser.text_parts(0));
        self.pos = pos;
        self.end = end;
        parts
    }
}

//! Words: quotes, variables, substitutions. The lower half of the parser.
//!
//! Refused: deciding what a word means; that needs the values and is `expand`'s work.

use crate::shell::parse::{Fail, Parse, Parser};
use crate::shell::syntax::{Op, Part, Word};

impl<'a> Parser<'a> {
    /// One word at the position, or `None` where an operator or the end stands.
    pub(crate) fn word(&mut self) -> Parse<Option<Word<'a>>> {
        let from = self.pos;
        let mut parts = Vec::with_capacity(1);
        self.bare_parts(&mut parts, [0, 0])?;
        if self.pos == from {
            return Ok(None);
        }
        Ok(Some(Word { parts, span: self.span(from) }))
    }

    /// Unquoted parts up to a blank or operator; with stops, up to one of these characters instead.
    fn bare_parts(&mut self, parts: &mut Vec<Part<'a>>, stops: [u8; 2]) -> Parse<()> {
        let stop = stops[0];
        let mut bare = self.pos;
        loop {
            let byte = self.at(0);
            let special = match byte {
                0 if self.pos >= self.end => break,
                b if stop != 0 && stops.contains(&b) => break,
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' if stop == 0 => break,
                b'\r' if stop == 0 && self.at(1) == b'\n' => break,
                b'(' if stop == 0 => {
                    let before = self.pos.checked_sub(1).and_then(|i| self.src.as_bytes().get(i));
                    if self.pos > bare && matches!(before, Some(b'?' | b'*' | b'+' | b'@' | b'!')) {
                        self.push_bare(parts, bare, self.pos - 1);
                        self.extended(parts)?;
                        bare = self.pos;
                        continue;
                    }
                    break;
                }
                b'<' | b'>' if stop == 0 && self.at(1) == b'(' => true,
                b'<' | b'>' if stop == 0 => break,
                b'\\' if self.at(1) == b'\n' => true,
                b'\\' => {
                    self.pos += 1;
                    self.pos += self.char_length();
                    continue;
                }
                b'\'' | b'"' | b'$' | b'`' => true,
                _ => false,
            };
            if !special {
                self.pos += 1;
                continue;
            }
            self.push_bare(parts, bare, self.pos);
            self.special(parts)?;
            bare = self.pos;
        }
        self.push_bare(parts, bare, self.pos);
        Ok(())
    }

    fn push_bare(&self, parts: &mut Vec<Part<'a>>, from: usize, to: usize) {
        if to > from {
            parts.push(Part::Bare(self.slice(from, to)));
        }
    }

    fn char_length(&self) -> usize {
        match self.at(0) {
            0 => 0,
            b if b < 0x80 => 1,
            b if b < 0xE0 => 2,
            b if b < 0xF0 => 3,
            _ => 4,
        }
    }

    /// Quotes, dollars, backticks and process substitutions in unquoted text.
    fn special(&mut self, parts: &mut Vec<Part<'a>>) -> Parse<()> {
        match self.at(0) {
            b'\\' => self.pos += 2,
            b'\'' => {
                let rest = self.slice(self.pos + 1, self.end);
                let length = rest.find('\'').ok_or(Fail::Syntax)?;
                parts.push(Part::Quoted(rest.get(..length).unwrap_or_default()));
                self.pos += length + 2;
            }
            b'"' => {
                self.pos += 1;
                self.double_quoted(parts)?;
            }
            b'$' if self.at(1) == b'\'' => {
                self.pos += 2;
                let from = self.pos;
                while self.at(0) != b'\'' {
                    if self.pos >= self.end {
                        return Err(Fail::Syntax);
                    }
                    self.pos += if self.at(0) == b'\\' { 2 } else { 1 };
                }
                parts.push(Part::Ansi(self.slice(from, self.pos)));
                self.pos += 1;
            }
            b'$' if self.at(1) == b'"' => {
                self.pos += 2;
                self.double_quoted(parts)?;
            }
            b'$' => self.dollar(parts, false)?,
            b'`' => self.backtick(parts, false)?,
            direction => {
                self.pos += 2;
                let script = self.script_in_parens()?;
                parts.push(if direction == b'<' {
                    Part::ProcessIn(script)
                } else {
                    Part::ProcessOut(script)
                });
            }
        }
        Ok(())
    }

    fn double_quoted(&mut self, parts: &mut Vec<Part<'a>>) -> Parse<()> {
        let inner = self.nested(|parser| parser.text_parts(b'"'))?;
        if inner.is_empty() {
            parts.push(Part::Quoted(""));
        }
        parts.extend(inner);
        if self.at(0) != b'"' {
            return Err(Fail::Syntax);
        }
        self.pos += 1;
        Ok(())
    }

    /// Text in which only `$`, backticks and the backslash are special, up to `stop` (0: the end).
    pub(crate) fn text_parts(&mut self, stop: u8) -> Parse<Vec<Part<'a>>> {
        let mut parts = Vec::new();
        let mut from = self.pos;
        loop {
            match self.at(0) {
                0 if self.pos >= self.end => break,
                b if b == stop && stop != 0 => break,
                b'\\'
                    if matches!(self.at(1), b'$' | b'`' | b'\\' | b'\n')
                        || (stop != 0 && self.at(1) == b'"') =>
                {
                    self.push_quoted(&mut parts, from);
                    let keep = self.at(1) != b'\n';
                    self.pos += 1;
                    from = self.pos;
                    self.pos += 1;
                    if !keep {
                        from = self.pos;
                    }
                }
                b'$' | b'`' => {
                    self.push_quoted(&mut parts, from);
                    if self.at(0) == b'$' {
                        self.dollar(&mut parts, true)?;
                    } else {
                        self.backtick(&mut parts, true)?;
                    }
                    from = self.pos;
                }
                _ => self.pos += 1,
            }
        }
        self.push_quoted(&mut parts, from);
        Ok(parts)
    }

    fn push_quoted(&self, parts: &mut Vec<Part<'a>>, from: usize) {
        if self.pos > from {
            parts.push(Part::Quoted(self.slice(from, self.pos)));
        }
    }

    fn backtick(&mut self, parts: &mut Vec<Part<'a>>, quoted: bool) -> Parse<()> {
        self.pos += 1;
        let from = self.pos;
        while self.at(0) != b'`' {
            if self.pos >= self.end {
                return Err(Fail::Syntax);
            }
            self.pos += if self.at(0) == b'\\' { 2 } else { 1 };
        }
        parts.push(Part::Backtick { text: self.slice(from, self.pos), quoted });
        self.pos += 1;
        Ok(())
    }

    fn dollar(&mut self, parts: &mut Vec<Part<'a>>, quoted: bool) -> Parse<()> {
        match self.at(1) {
            b'(' => {
                if self.at(2) == b'('
                    && let Some(length) = self.arithmetic_length(3)
                {
                    let from = self.pos + 3;
                    let inner = self.region(from, from + length)?;
                    self.pos = from + length + 2;
                    parts.push(Part::Arithmetic(inner));
                    return Ok(());
                }
                self.pos += 2;
                let script = self.script_in_parens()?;
                parts.push(Part::Command { script, quoted });
            }
            b'{' => {
                self.pos += 2;
                let part = self.nested(|parser| parser.braced(quoted))?;
                parts.push(part);
            }
            b'[' => {
                let rest = self.slice(self.pos + 2, self.end);
                let length = rest.find(']').ok_or(Fail::Syntax)?;
                let from = self.pos + 2;
                let inner = self.region(from, from + length)?;
                self.pos = from + length + 1;
                parts.push(Part::Arithmetic(inner));
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                self.pos += 1;
                let name = self.identifier();
                parts.push(Part::Variable { name, op: Op::None, quoted });
            }
            b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'$' | b'!' | b'-' => {
                let name = self.slice(self.pos + 1, self.pos + 2);
                self.pos += 2;
                parts.push(Part::Variable { name, op: Op::None, quoted });
            }
            _ => {
                parts.push(Part::Quoted(self.slice(self.pos, self.pos + 1)));
                self.pos += 1;
            }
        }
        Ok(())
    }

    fn identifier(&mut self) -> &'a str {
        let from = self.pos;
        while matches!(self.at(0), b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'0'..=b'9') {
            self.pos += 1;
        }
        self.slice(from, self.pos)
    }

    /// After `${`.
    fn braced(&mut self, quoted: bool) -> Parse<Part<'a>> {
        let mut indirect = false;
        let mut length = false;
        if self.at(0) == b'!' && self.at(1) != b'}' {
            indirect = true;
            self.pos += 1;
        } else if self.at(0) == b'#' && !matches!(self.at(1), b'}' | b':' | b'#' | b'%' | b'/') {
            length = true;
            self.pos += 1;
        }
        let mut name = self.identifier();
        if name.is_empty() {
            if !matches!(self.at(0), b'@' | b'*' | b'#' | b'?' | b'$' | b'!' | b'-') {
                // Flags of another shell, or a mistake: the value is not known.
                let op = Op::Other(self.operand(0, b'}')?);
                if self.at(0) != b'}' {
                    return Err(Fail::Syntax);
                }
                self.pos += 1;
                return Ok(Part::Variable { name: "", op, quoted });
            }
            name = self.slice(self.pos, self.pos + 1);
            self.pos += 1;
        }
        let mut subscript = Op::None;
        if self.at(0) == b'[' {
            let rest = self.slice(self.pos + 1, self.end);
            let end = closing_bracket(rest).ok_or(Fail::Syntax)?;
            let inner = rest.get(..end).unwrap_or_default();
            subscript =
                if matches!(inner, "@" | "*") { Op::All } else { Op::Element(inner.parse().ok()) };
            let from = self.pos + 1;
            // Substitutions may hide in a subscript; they are read with the rest as `Other`.
            if inner.contains(['$', '`']) {
                subscript = Op::Other(self.region(from, from + end)?);
            }
            self.pos += end + 2;
        }
        let op = self.operation(indirect, length, subscript)?;
        if self.at(0) != b'}' {
            return Err(Fail::Syntax);
        }
        self.pos += 1;
        Ok(Part::Variable { name, op, quoted })
    }

    fn operation(&mut self, indirect: bool, length: bool, subscript: Op<'a>) -> Parse<Op<'a>> {
        let op = match (self.at(0), self.at(1)) {
            (b'*' | b'@', b'}') if indirect => {
                self.pos += 1;
                return Ok(Op::Names);
            }
            (b'}', _) if indirect => Op::Other(Vec::new()),
            (b'}', _) if length => Op::Length,
            (b'}', _) => return Ok(subscript),
            (b':', b'-') => Op::Default(self.operand(2, b'}')?),
            (b'-', _) => Op::Default(self.operand(1, b'}')?),
            (b':', b'=') => Op::Assign(self.operand(2, b'}')?),
            (b'=', _) => Op::Assign(self.operand(1, b'}')?),
            (b':', b'+') => Op::Alternative(self.operand(2, b'}')?),
            (b'+', _) => Op::Alternative(self.operand(1, b'}')?),
            (b':', b'?') => {
                self.operand(2, b'}')?;
                Op::Required
            }
            (b'?', _) => {
                self.operand(1, b'}')?;
                Op::Required
            }
            (b'#', b'#') => Op::CutFront(self.operand(2, b'}')?, true),
            (b'#', _) => Op::CutFront(self.operand(1, b'}')?, false),
            (b'%', b'%') => Op::CutBack(self.operand(2, b'}')?, true),
            (b'%', _) => Op::CutBack(self.operand(1, b'}')?, false),
            (b'/', second) => {
                let all = second == b'/';
                let skip = if matches!(second, b'/' | b'#' | b'%') { 2 } else { 1 };
                let pattern = self.operand(skip, b'/')?;
                let with = if self.at(0) == b'/' { self.operand(1, b'}')? } else { Vec::new() };
                if matches!(second, b'#' | b'%') {
                    Op::Other(pattern.into_iter().chain(with).collect())
                } else {
                    Op::Replace(pattern, with, all)
                }
            }
            (b':', _) => self.cut()?,
            (b'^', second) => {
                self.operand(1, b'}')?;
                Op::Upper(second == b'^')
            }
            (b',', second) => {
                self.operand(1, b'}')?;
                Op::Lower(second == b',')
            }
            _ => Op::Other(self.operand(0, b'}')?),
        };
        if indirect && matches!(subscript, Op::None) {
            return Ok(Op::Indirect);
        }
        if indirect || matches!(subscript, Op::Other(_)) {
            return Ok(Op::Other(Vec::new()));
        }
        Ok(op)
    }

    /// `:n` or `:n:m`.
    fn cut(&mut self) -> Parse<Op<'a>> {
        let from = self.pos + 1;
        let parts = self.operand(1, b'}')?;
        let text = self.slice(from, self.pos);
        let mut numbers = text.splitn(2, ':').map(|n| n.trim().trim_matches(['(', ')']).parse());
        match (numbers.next(), numbers.next()) {
            (Some(Ok(start)), None) => Ok(Op::Slice(start, None)),
            (Some(Ok(start)), Some(Ok(length))) => Ok(Op::Slice(start, Some(length))),
            _ => Ok(Op::Other(parts)),
        }
    }

    /// Parts after `skip` characters up to `stop` or the closing brace, whichever comes first.
    fn operand(&mut self, skip: usize, stop: u8) -> Parse<Vec<Part<'a>>> {
        self.pos += skip;
        let mut parts = Vec::new();
        self.bare_parts(&mut parts, [b'}', stop])?;
        Ok(parts)
    }

    /// Takes an extended glob's `(..)`; expansions inside still happen.
    fn extended(&mut self, parts: &mut Vec<Part<'a>>) -> Parse<()> {
        let from = self.pos + 1;
        let rest = self.slice(from, self.end);
        let length = closing_paren(rest).ok_or(Fail::Syntax)?;
        let inner = rest.get(..length).unwrap_or_default();
        parts.push(Part::Extended);
        if inner.contains(['$', '`']) {
            parts.push(Part::Arithmetic(self.region(from, from + length)?));
        }
        self.pos = from + length + 1;
        Ok(())
    }

    /// A pattern after `=~`: it may hold parentheses and bars, and ends at a blank outside of both
    /// parentheses and quotes.
    pub(crate) fn pattern(&mut self) -> Parse<Word<'a>> {
        let from = self.pos;
        let mut depth = 0u32;
        while self.pos < self.end {
            match self.at(0) {
                b'\\' => self.pos += 1,
                quote @ (b'\'' | b'"') => {
                    let rest = self.slice(self.pos + 1, self.end);
                    self.pos += rest.find(char::from(quote)).ok_or(Fail::Syntax)? + 1;
                }
                b'(' => depth += 1,
                b')' if depth == 0 => break,
                b')' => depth -= 1,
                b' ' | b'\t' | b'\n' if depth == 0 => break,
                _ => {}
            }
            self.pos += 1;
        }
        self.pos = self.pos.min(self.end);
        let parts = self.region(from, self.pos)?;
        Ok(Word { parts, span: self.span(from) })
    }
}

/// Where the `)` stands that closes a parenthesis opened just before `text`.
fn closing_paren(text: &str) -> Option<usize> {
    let mut depth = 0u32;
    let mut quote = 0u8;
    let mut escaped = false;
    for (index, byte) in text.bytes().enumerate() {
        if escaped {
            escaped = false;
            continue;
        }
        match byte {
            b'\\' if quote != b'\'' => escaped = true,
            b if quote == b && quote != 0 => quote = 0,
            _ if quote != 0 => {}
            b'\'' | b'"' => quote = byte,
            b'(' => depth += 1,
            b')' if depth == 0 => return Some(index),
            b')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Where the `]` stands that closes a bracket opened just before `text`.
fn closing_bracket(text: &str) -> Option<usize> {
    let mut depth = 0u32;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' if depth == 0 => return Some(index),
            b']' => depth -= 1,
            _ => {}
        }
    }
    None
}

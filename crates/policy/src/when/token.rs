//! Words of a condition: the lexical part of CEL (its language definition, "Syntax").
//!
//! Reads a text of at most [`SOURCE_BYTES_MAX`] bytes in one pass. It refuses bytes literals, for
//! events are JSON and have none.

use super::error::{WhenError, WhenErrorKind};
use super::limits::SOURCE_BYTES_MAX;
use std::ops::Range;

/// One word and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) span: Range<usize>,
    pub(super) word: Word,
}

/// A word.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Word {
    Name(String),
    /// A field name in backticks.
    Quoted(String),
    Text(String),
    /// Without its sign; up to 2^63, so that the smallest integer can be written.
    Int(u64),
    UInt(u64),
    Double(f64),
    Sign(&'static str),
    End,
}

/// Signs, longer ones before their beginnings.
const SIGNS: [&str; 24] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "-", "+", "*", "/", "%", "?", ":", ".", ",",
    "(", ")", "[", "]", "{", "}",
];

/// The words of a condition, ending with [`Word::End`].
pub(super) fn tokens(source: &str) -> Result<Vec<Token>, WhenError> {
    if source.len() > SOURCE_BYTES_MAX {
        return Err(WhenError::new(
            WhenErrorKind::TooLarge,
            &(0..source.len()),
            format!("condition longer than {SOURCE_BYTES_MAX} bytes"),
            "split the hook, or put long lists into `groups` or `match`",
        ));
    }
    let mut reader = Reader { source, at: 0 };
    let mut tokens = Vec::new();
    loop {
        let token = reader.token()?;
        let is_end = token.word == Word::End;
        tokens.push(token);
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Reader<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> Reader<'s> {
    fn rest(&self) -> &'s str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn take_while(&mut self, mut f: impl FnMut(char) -> bool) -> &'s str {
        let rest = self.rest();
        let end = rest.find(|c| !f(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn fault(&self, start: usize, message: impl Into<String>, remedy: &str) -> WhenError {
        WhenError::new(WhenErrorKind::Syntax, &(start..self.at), message, remedy)
    }

    fn skip_space(&mut self) {
        loop {
            self.take_while(|c| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c'));
            if !self.rest().starts_with("//") {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    fn token(&mut self) -> Result<Token, WhenError> {
        self.skip_space();
        let start = self.at;
        let word = match self.peek() {
            None => Word::End,
            Some(c) if c.is_ascii_digit() => self.number(start)?,
            Some('.') if self.rest().chars().nth(1).is_some_and(|c| c.is_ascii_digit()) => {
                self.number(start)?
            }
            Some('\'' | '"') => self.text(start, false)?,
            Some('`') => self.quoted_field(start)?,
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.name_or_text(start)?,
            Some(c) => self.sign(start, c)?,
        };
        Ok(Token { span: start..self.at, word })
    }

    fn sign(&mut self, start: usize, c: char) -> Result<Word, WhenError> {
        let rest = self.rest();
        if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            self.at += sign.len();
            return Ok(Word::Sign(sign));
        }
        self.at += c.len_utf8();
        let remedy = match c {
            '=' => "comparing is `==`",
            '&' => "and is `&&`",
            '|' => "or is `||`",
            '“' | '”' | '‘' | '’' => "texts stand in straight quotes",
            _ => "conditions are CEL expressions, such as `args.amount > 1000`",
        };
        Err(self.fault(start, format!("unexpected `{}`", c.escape_debug()), remedy))
    }

    /// A name, or a text with a prefix (`r'...'`).
    fn name_or_text(&mut self, start: usize) -> Result<Word, WhenError> {
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        if !matches!(self.peek(), Some('\'' | '"')) {
            return Ok(Word::Name(name.to_owned()));
        }
        match name {
            "r" | "R" => self.text(start, true),
            "b" | "B" | "br" | "bR" | "Br" | "BR" | "rb" | "rB" | "Rb" | "RB" => {
                Err(WhenError::new(
                    WhenErrorKind::Unsupported,
                    &(start..self.at),
                    "events are JSON and have no bytes",
                    "write a text without the prefix",
                ))
            }
            _ => {
                Err(self.fault(start, "unexpected text behind a name", "join them by an operator"))
            }
        }
    }

    fn quoted_field(&mut self, start: usize) -> Result<Word, WhenError> {
        self.take();
        let ok = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ' ');
        let name = self.take_while(ok).to_owned();
        if name.is_empty() || self.take() != Some('`') {
            let remedy = "write `args[\"any key\"]` for other field names";
            return Err(self.fault(start, "unfinished field name in backticks", remedy));
        }
        Ok(Word::Quoted(name))
    }

    fn number(&mut self, start: usize) -> Result<Word, WhenError> {
        let remedy = "integers have 64 bits; write larger ones with a decimal point";
        if let Some(hex) = self.rest().strip_prefix("0x").or(self.rest().strip_prefix("0X")) {
            let digits = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
            self.at += 2 + digits;
            let value = u64::from_str_radix(hex.get(..digits).unwrap_or_default(), 16);
            let value = value.map_err(|_| self.fault(start, "no hexadecimal number", remedy))?;
            return self.integer(start, value);
        }
        let digit = |c: char| c.is_ascii_digit();
        self.take_while(digit);
        let mut is_double = false;
        let mut ahead = self.rest().chars();
        if ahead.next() == Some('.') && ahead.next().is_some_and(digit) {
            is_double = true;
            self.at += 1;
            self.take_while(digit);
        }
        if let Some(exponent) = self.rest().strip_prefix(['e', 'E']) {
            let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if unsigned.starts_with(digit) {
                is_double = true;
                self.at += 1 + exponent.len() - unsigned.len();
                self.take_while(digit);
            }
        }
        let literal = self.source.get(start..self.at).unwrap_or_default();
        if is_double {
            let value = literal.parse::<f64>().ok().filter(|value| value.is_finite());
            let value = value.ok_or_else(|| self.fault(start, "number out of range", remedy))?;
            self.end_of_number(start)?;
            return Ok(Word::Double(value));
        }
        let value = literal.parse::<u64>();
        let value = value.map_err(|_| self.fault(start, "integer out of range", remedy))?;
        self.integer(start, value)
    }

    fn integer(&mut self, start: usize, value: u64) -> Result<Word, WhenError> {
        if matches!(self.peek(), Some('u' | 'U')) {
            self.at += 1;
            self.end_of_number(start)?;
            return Ok(Word::UInt(value));
        }
        self.end_of_number(start)?;
        if value > 1 << 63 {
            let remedy = "integers have 64 bits; write an unsigned one with `u` behind it";
            return Err(self.fault(start, "integer out of range", remedy));
        }
        Ok(Word::Int(value))
    }

    fn end_of_number(&mut self, start: usize) -> Result<(), WhenError> {
        let behind = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        if behind.is_empty() {
            return Ok(());
        }
        Err(self.fault(start, "letters behind a number", "put texts in quotes"))
    }

    fn text(&mut self, start: usize, raw: bool) -> Result<Word, WhenError> {
        let quote = self.take().unwrap_or('"');
        let triple = if quote == '"' { "\"\"" } else { "''" };
        let is_triple = self.rest().starts_with(triple);
        if is_triple {
            self.at += 2;
        }
        let mut text = String::new();
        loop {
            let unfinished = |reader: &Reader<'_>| {
                reader.fault(start, "a text is never closed", "close it with the quote it opened")
            };
            let c = self.take().ok_or_else(|| unfinished(self))?;
            if c == quote && (!is_triple || self.rest().starts_with(triple)) {
                self.at += if is_triple { 2 } else { 0 };
                return Ok(Word::Text(text));
            }
            match c {
                '\n' | '\r' if !is_triple => return Err(unfinished(self)),
                '\\' if !raw => text.push(self.escape()?),
                c => text.push(c),
            }
        }
    }

    fn escape(&mut self) -> Result<char, WhenError> {
        let start = self.at - 1;
        let remedy = "write `\\\\` for a backslash, or a raw text: `r'\\d+'`";
        let bad = |reader: &Reader<'_>| reader.fault(start, "unknown escape in a text", remedy);
        let c = self.take().ok_or_else(|| bad(self))?;
        let (digits, radix) = match c {
            'n' => return Ok('\n'),
            't' => return Ok('\t'),
            'r' => return Ok('\r'),
            'a' => return Ok('\x07'),
            'b' => return Ok('\x08'),
            'f' => return Ok('\x0c'),
            'v' => return Ok('\x0b'),
            '\\' | '\'' | '"' | '`' | '?' => return Ok(c),
            'x' | 'X' => (2, 16),
            'u' => (4, 16),
            'U' => (8, 16),
            '0'..='3' => {
                self.at -= 1;
                (3, 8)
            }
            _ => return Err(bad(self)),
        };
        let literal = self.rest().get(..digits).unwrap_or_default();
        let value = literal
            .bytes()
            .all(|b| b.is_ascii_hexdigit())
            .then(|| u32::from_str_radix(literal, radix).ok())
            .flatten()
            .and_then(char::from_u32);
        let value = value.filter(|_| literal.len() == digits).ok_or_else(|| bad(self))?;
        self.at += digits;
        Ok(value)
    }
}

//! Compound commands: groups, `if`, loops, `case`, functions, tests.
//!
//! The middle of the parser. Refused: what each of them means; that is `walk`'s.

use crate::shell::parse::{Fail, Parse, Parser};
use crate::shell::syntax::{Command, Item, Kind, Link, Script, Word};

impl<'a> Parser<'a> {
    pub(crate) fn compound(&mut self) -> Parse<Option<Kind<'a>>> {
        if self.at(0) == b'(' {
            if self.at(1) == b'('
                && let Some(length) = self.arithmetic_length(2)
            {
                let from = self.pos + 2;
                let parts = self.region(from, from + length)?;
                self.pos = from + length + 2;
                return Ok(Some(Kind::Test(vec![Word { parts, span: self.span(from) }])));
            }
            self.pos += 1;
            return Ok(Some(Kind::Subshell(self.script_in_parens()?)));
        }
        let keyword = self.keyword();
        let kind = match keyword {
            "{" => {
                self.pos += 1;
                let script = self.script()?;
                self.expect("}")?;
                Kind::Group(script)
            }
            "if" => self.conditional()?,
            "while" | "until" => {
                self.pos += keyword.len();
                let condition = self.script()?;
                Kind::Loop { condition, body: self.body()? }
            }
            "for" | "select" => self.for_loop(keyword.len())?,
            "case" => self.case()?,
            "function" => {
                self.pos += 8;
                self.blanks();
                let name = self.name_run();
                self.blanks();
                if self.at(0) == b'(' && self.at(1) == b')' {
                    self.pos += 2;
                }
                self.function(name)?
            }
            "[[" => self.test()?,
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    fn body(&mut self) -> Parse<Script<'a>> {
        self.lines();
        if self.at(0) == b';' {
            self.pos += 1;
        }
        self.lines();
        if self.keyword() == "{" {
            self.pos += 1;
            let body = self.script()?;
            self.expect("}")?;
            return Ok(body);
        }
        self.expect("do")?;
        let body = self.script()?;
        self.expect("done")?;
        Ok(body)
    }

    fn conditional(&mut self) -> Parse<Kind<'a>> {
        let mut scripts = Vec::with_capacity(2);
        self.pos += 2;
        loop {
            scripts.push(self.script()?);
            self.expect("then")?;
            scripts.push(self.script()?);
            match self.keyword() {
                "elif" => self.pos += 4,
                "else" => {
                    self.pos += 4;
                    scripts.push(self.script()?);
                    self.expect("fi")?;
                    return Ok(Kind::If(scripts));
                }
                "fi" => {
                    self.pos += 2;
                    return Ok(Kind::If(scripts));
                }
                _ => return Err(Fail::Syntax),
            }
        }
    }

    fn for_loop(&mut self, keyword_length: usize) -> Parse<Kind<'a>> {
        self.pos += keyword_length;
        self.blanks();
        if self.at(0) == b'(' && self.at(1) == b'(' {
            let length = self.arithmetic_length(2).ok_or(Fail::Syntax)?;
            let from = self.pos + 2;
            let parts = self.region(from, from + length)?;
            self.pos = from + length + 2;
            let test = Kind::Test(vec![Word { parts, span: self.span(from) }]);
            let command = Command { kind: test, redirects: Vec::new(), span: self.span(from) };
            let span = command.span;
            let item = Item { link: Link::Then, background: false, stages: vec![command], span };
            let condition = Script { items: vec![item] };
            return Ok(Kind::Loop { condition, body: self.body()? });
        }
        let name = self.name_run();
        if name.is_empty() {
            return Err(Fail::Syntax);
        }
        self.lines();
        let mut words = None;
        if self.keyword() == "in" {
            self.pos += 2;
            let mut list = Vec::new();
            self.blanks();
            while let Some(word) = self.word()? {
                list.push(word);
                self.blanks();
            }
            words = Some(list);
        }
        Ok(Kind::For { name, words, body: self.body()? })
    }

    fn case(&mut self) -> Parse<Kind<'a>> {
        self.pos += 4;
        self.blanks();
        let word = self.word()?.ok_or(Fail::Syntax)?;
        self.expect("in")?;
        let mut bodies = Vec::new();
        loop {
            self.lines();
            if self.keyword() == "esac" {
                self.pos += 4;
                return Ok(Kind::Case { word, bodies });
            }
            if self.at(0) == b'(' {
                self.pos += 1;
            }
            loop {
                self.blanks();
                self.word()?.ok_or(Fail::Syntax)?;
                self.blanks();
                match self.at(0) {
                    b'|' => self.pos += 1,
                    b')' => break,
                    _ => return Err(Fail::Syntax),
                }
            }
            self.pos += 1;
            bodies.push(self.script()?);
            self.lines();
            match (self.at(0), self.at(1), self.at(2)) {
                (b';', b';', b'&') => self.pos += 3,
                (b';', b';' | b'&', _) => self.pos += 2,
                _ if self.keyword() == "esac" => {}
                _ => return Err(Fail::Syntax),
            }
        }
    }

    pub(crate) fn function(&mut self, name: &'a str) -> Parse<Kind<'a>> {
        self.lines();
        let from = self.pos;
        self.command()?;
        Ok(Kind::Function { name, body: self.slice(from, self.pos) })
    }

    /// `[[ .. ]]`: words and operators up to `]]`; only their expansions matter.
    fn test(&mut self) -> Parse<Kind<'a>> {
        self.pos += 2;
        let mut words = Vec::new();
        loop {
            self.lines();
            match self.at(0) {
                0 => return Err(Fail::Syntax),
                b'(' | b')' | b'<' | b'>' | b'&' | b'|' | b';' => {
                    self.pos += 1;
                    continue;
                }
                b']' if self.at(1) == b']' => {
                    self.pos += 2;
                    return Ok(Kind::Test(words));
                }
                _ => {}
            }
            let word = self.word()?.ok_or(Fail::Syntax)?;
            let is_regex = word.plain() == Some("=~");
            words.push(word);
            if is_regex {
                self.blanks();
                words.push(self.pattern()?);
            }
        }
    }
}

//! Texts of `cmd` and PowerShell cut into commands and words.
//!
//! Refused: a grammar. Quotes, escapes, parentheses and separators are what is needed to find programs
//! and targets.

use crate::program::table::Lang;

/// One command of a text.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    pub(crate) words: Vec<String>,
    /// Whether the next command reads this one's output.
    pub(crate) piped: bool,
}

/// Options with their values, and the rest. Names are lower case without their dash.
pub(crate) fn parameters(args: &[String], lang: Lang) -> (Vec<(String, String)>, Vec<String>) {
    const SWITCHES: &[&str] = &[
        "recurse",
        "force",
        "whatif",
        "confirm",
        "r",
        "fo",
        "verbose",
        "passthru",
        "usebasicparsing",
        "append",
        "asplaintext",
        "wait",
        "nonewwindow",
        "raw",
        "noclobber",
    ];
    let mut options = Vec::new();
    let mut targets = Vec::new();
    let mut words = args.iter().peekable();
    while let Some(word) = words.next() {
        let slash =
            lang == Lang::Cmd && word.starts_with('/') && word.len() < 12 && !word.contains('.');
        let dash = word.starts_with('-') && word.len() > 1;
        if !slash && !dash {
            targets.push(word.clone());
            continue;
        }
        let name = word.trim_start_matches(['-', '/']).to_ascii_lowercase();
        if slash {
            for name in name.split('/') {
                options.push((name.to_owned(), String::new()));
            }
            continue;
        }
        let (name, glued) = match name.split_once(':') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (name, None),
        };
        let takes = lang == Lang::Powershell
            && glued.is_none()
            && !SWITCHES.iter().any(|switch| {
                *switch == name || (name.len() > 2 && name != "verb" && switch.starts_with(&name))
            })
            && words.peek().is_some_and(|next| {
                !next.starts_with('-') || matches!(name.as_str(), "argumentlist" | "command")
            });
        let value = if takes { words.next().cloned() } else { glued };
        options.push((name, value.unwrap_or_default()));
    }
    (options, targets)
}

/// Cuts a text into commands and words.
pub(crate) fn pieces(text: &str, lang: Lang) -> Vec<Piece> {
    let mut cutter = Cutter {
        lang,
        list: Vec::new(),
        now: Piece::default(),
        word: String::new(),
        quote: None,
        depth: 0,
    };
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        cutter.take(c, &mut chars);
    }
    cutter.end(false);
    cutter.list
}

type Chars<'t> = std::iter::Peekable<std::str::Chars<'t>>;

struct Cutter {
    lang: Lang,
    list: Vec<Piece>,
    now: Piece,
    word: String,
    quote: Option<char>,
    /// Open parentheses and braces.
    depth: u32,
}

impl Cutter {
    fn end_word(&mut self) {
        if !self.word.is_empty() {
            self.now.words.push(std::mem::take(&mut self.word));
        }
    }

    fn end(&mut self, piped: bool) {
        self.end_word();
        let mut piece = std::mem::take(&mut self.now);
        piece.piped = piped;
        if !piece.words.is_empty() {
            self.list.push(piece);
        }
    }

    fn take(&mut self, c: char, chars: &mut Chars<'_>) {
        if let Some(quote) = self.quote {
            if c == quote {
                self.quote = None;
            }
            if c != quote || self.depth > 0 {
                self.word.push(c);
            }
            return;
        }
        let powershell = self.lang == Lang::Powershell;
        if c == '"' || (c == '\'' && powershell) {
            self.quote = Some(c);
            if self.depth > 0 {
                self.word.push(c);
            }
        } else if c == if powershell { '`' } else { '^' } {
            self.word.extend(chars.next().filter(|c| *c != '\n'));
        } else if matches!(c, '(' | '{') {
            // `iex(..)` is a command with one argument.
            let evaluates = ["iex", "invoke-expression"];
            if self.depth == 0 && evaluates.contains(&self.word.to_ascii_lowercase().as_str()) {
                self.end_word();
            }
            self.depth += 1;
            self.word.push(c);
        } else if matches!(c, ')' | '}') {
            self.depth = self.depth.saturating_sub(1);
            self.word.push(c);
        } else if self.depth > 0 {
            self.word.push(c);
        } else {
            self.outside(c, chars);
        }
    }

    /// A character outside of quotes and parentheses.
    fn outside(&mut self, c: char, chars: &mut Chars<'_>) {
        let powershell = self.lang == Lang::Powershell;
        match c {
            '#' if self.word.is_empty() && powershell => {
                for c in chars.by_ref() {
                    if c == '\n' {
                        break;
                    }
                }
                self.end(false);
            }
            '|' => self.end(chars.peek() != Some(&'|')),
            ';' | '\n' => self.end(false),
            // In PowerShell a single `&` calls what follows.
            '&' if powershell && chars.peek() != Some(&'&') => {
                self.end_word();
                self.now.words.push("&".to_owned());
            }
            '&' => self.end(false),
            '>' => {
                if matches!(self.word.as_str(), "2" | "1" | "*") {
                    self.word.clear();
                }
                self.end_word();
                while chars.next_if_eq(&'>').is_some() {}
                self.now.words.push(">".to_owned());
            }
            c if c.is_whitespace() => self.end_word(),
            c => self.word.push(c),
        }
    }
}

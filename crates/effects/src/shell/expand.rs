//! Words to fields: quotes removed, variables and substitutions put in, braces expanded, split.
//!
//! What is not known stays in the field as a mark, so that `rm -rf "$X/cache"` is still seen as a
//! deletion of something that ends in `/cache`. Refused: losing a part of a word because another part
//! is not known.

use crate::limits::{BRACE_WORDS_MAX, CHOICES_MAX, FLOW_BYTES_MAX, VALUES_MAX, WORDS_MAX};
use crate::mark;
use crate::run::Run;
use crate::shell::scope::{Scope, Var, is_secret_name};
use crate::shell::syntax::{Op, Part, Word};

/// Which of several values each variable takes while one command is analysed: an odometer.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    digits: Vec<(Box<str>, usize, usize)>,
}

impl Choice {
    fn pick(&mut self, name: &str, count: usize) -> usize {
        if count < 2 {
            return 0;
        }
        if let Some((_, index, _)) = self.digits.iter().find(|(n, _, _)| **n == *name) {
            return (*index).min(count - 1);
        }
        self.digits.push((name.into(), 0, count));
        0
    }

    /// Goes to the next combination; `false` when all are through.
    pub(crate) fn next(&mut self) -> bool {
        for (_, index, count) in &mut self.digits {
            *index += 1;
            if *index < *count {
                return true;
            }
            *index = 0;
        }
        false
    }

    /// Whether there are more combinations than are tried.
    pub(crate) fn is_over(&self) -> bool {
        self.digits.iter().map(|(_, _, count)| count).product::<usize>() > CHOICES_MAX
    }
}

struct Field {
    text: String,
    /// An empty field counts when it was quoted.
    quoted: bool,
    braces: bool,
    split: bool,
}

impl Run<'_> {
    /// All fields of all words.
    pub(crate) fn fields(&mut self, scope: &mut Scope, words: &[Word<'_>]) -> Vec<String> {
        let mut out = Vec::with_capacity(words.len());
        for word in words {
            if out.len() >= WORDS_MAX {
                out.push(mark::VOID.to_string());
                break;
            }
            self.field(scope, word, &mut out);
        }
        out
    }

    fn field(&mut self, scope: &mut Scope, word: &Word<'_>, out: &mut Vec<String>) {
        if let [Part::Quoted(text)] = word.parts.as_slice() {
            out.push((*text).to_owned());
            return;
        }
        if let Some(text) = word.plain()
            && !text.bytes().any(|b| matches!(b, b'\\' | b'*' | b'?' | b'[' | b'{' | b'~'))
        {
            out.push(text.to_owned());
            return;
        }
        let mut field = Field { text: String::new(), quoted: false, braces: false, split: false };
        for (index, part) in word.parts.iter().enumerate() {
            self.part(scope, part, index == 0, &mut field);
        }
        if field.text.is_empty() && !field.quoted {
            return;
        }
        let mut texts = vec![field.text];
        if field.braces {
            texts = braces(&texts.swap_remove(0));
        }
        for text in texts {
            if field.split {
                out.extend(text.split(mark::SPLIT).filter(|f| !f.is_empty()).map(str::to_owned));
            } else {
                out.push(text);
            }
        }
    }

    /// The one text of some parts, without splitting: assignments, here-documents, redirections.
    pub(crate) fn text(&mut self, scope: &mut Scope, parts: &[Part<'_>]) -> String {
        let mut field = Field { text: String::new(), quoted: true, braces: false, split: false };
        for (index, part) in parts.iter().enumerate() {
            self.part(scope, part, index == 0, &mut field);
        }
        let plain = |c| match c {
            mark::OPEN => '{',
            mark::COMMA => ',',
            mark::CLOSE => '}',
            mark::SPLIT => ' ',
            c => c,
        };
        if field.braces || field.split {
            return field.text.chars().map(plain).collect();
        }
        field.text
    }

    fn part(&mut self, scope: &mut Scope, part: &Part<'_>, first: bool, field: &mut Field) {
        if field.text.len() > FLOW_BYTES_MAX {
            field.text = mark::VOID.to_string();
        }
        match part {
            Part::Bare(text) => self.bare(scope, text, first, field),
            Part::Quoted(text) => {
                field.quoted = true;
                field.text.push_str(text);
            }
            Part::Extended => field.text.push(mark::ANY),
            Part::Ansi(text) => {
                field.quoted = true;
                field.text.push_str(&unescape(text, true));
            }
            Part::Variable { name, op, quoted } => {
                field.quoted |= *quoted && !matches!(*name, "@");
                let values = self.variable(scope, name, op);
                put(scope, &values, *quoted, field);
            }
            Part::Command { script, quoted } => {
                field.quoted |= *quoted;
                let text = self.substitute(scope, script);
                put(scope, &[text], *quoted, field);
            }
            Part::Backtick { text, quoted } => {
                field.quoted |= *quoted;
                let inner = unescape_backtick(text, *quoted);
                let text = self.substitute_text(scope, &inner);
                put(scope, &[text], *quoted, field);
            }
            Part::Arithmetic(parts) => {
                self.text(scope, parts);
                field.text.push(mark::WORD);
            }
            Part::ProcessIn(script) => {
                let text = self.substitute(scope, script);
                field.text.push_str(&self.keep_text(text));
            }
            Part::ProcessOut(script) => {
                let mut inner = scope.clone();
                self.script(&mut inner, script, mark::VOID.to_string());
                field.text.push_str("/dev/fd/out");
            }
        }
    }

    fn bare(&mut self, scope: &Scope, text: &str, first: bool, field: &mut Field) {
        let mut chars = text.chars().peekable();
        if first && text.starts_with('~') {
            chars.next();
            let mut user = String::new();
            while let Some(c) = chars.next_if(|c| *c != '/' && *c != ':') {
                user.push(c);
            }
            let home = match user.as_str() {
                "" => self.home(),
                "+" => scope.cwd.to_string(),
                "root" => "/root".to_owned(),
                "-" => mark::VOID.to_string(),
                user => format!("/home/{user}"),
            };
            field.text.push_str(&home);
        }
        while let Some(c) = chars.next() {
            match c {
                '\\' => {
                    field.quoted = true;
                    field.text.extend(chars.next());
                }
                '*' => {
                    while chars.next_if_eq(&'*').is_some() {}
                    field.text.push(mark::ANY);
                }
                '?' => field.text.push(mark::ONE),
                // In an address it is no bracket expression that could ever match.
                '[' if field.text.ends_with("://") => field.text.push('['),
                '[' => {
                    let mut ahead = chars.clone();
                    let closed = ahead.by_ref().take(64).skip(1).any(|c| c == ']');
                    if closed {
                        chars = ahead;
                        field.text.push(mark::ONE);
                    } else {
                        field.text.push('[');
                    }
                }
                '{' => {
                    field.braces = true;
                    field.text.push(mark::OPEN);
                }
                ',' if field.braces => field.text.push(mark::COMMA),
                '}' if field.braces => field.text.push(mark::CLOSE),
                '~' if matches!(
                    field.text.chars().last(),
                    Some('=' | ':' | mark::OPEN | mark::COMMA)
                ) && matches!(chars.peek(), None | Some('/' | ',' | '}')) =>
                {
                    field.text.push_str(&self.home());
                }
                c => field.text.push(c),
            }
        }
    }

    /// The values of a variable after its operation. More than one only for arrays and `$@`.
    fn variable(&mut self, scope: &mut Scope, name: &str, op: &Op<'_>) -> Vec<String> {
        let known = self.lookup(scope, name);
        let single = |known: &Option<Vec<String>>| -> Option<String> {
            known.as_ref().map(|values| values.join(" "))
        };
        match op {
            Op::None if matches!(scope.vars.get(name), Some(Var::List(_))) => {
                known.into_iter().flatten().take(1).collect()
            }
            Op::None | Op::All => known.unwrap_or_else(|| vec![self.void(name)]),
            Op::Length => vec![mark::WORD.to_string()],
            Op::Default(parts) | Op::Assign(parts) => {
                let default = self.text(scope, parts);
                let value = match single(&known) {
                    Some(value) if !value.is_empty() => value,
                    Some(_) => default,
                    // Not set in this text: the environment may hold it. One of the two.
                    None if name == "TMPDIR" || name.starts_with("XDG_") => default,
                    None if self.choice.pick(name, 2) == 0 => default,
                    None => self.void(name),
                };
                if matches!(op, Op::Assign(_)) {
                    scope.set(name, Var::Scalar(vec![value.clone()]));
                }
                vec![value]
            }
            Op::Alternative(parts) => {
                let text = self.text(scope, parts);
                match single(&known) {
                    Some(value) if value.is_empty() => Vec::new(),
                    Some(_) | None => vec![text],
                }
            }
            Op::Required => known.unwrap_or_else(|| vec![self.void(name)]),
            Op::Element => match scope.vars.get(name) {
                Some(Var::List(values)) if values.len() > 1 => {
                    let index = self.choice.pick(name, values.len().min(VALUES_MAX));
                    values.get(index).cloned().into_iter().collect()
                }
                _ => known.unwrap_or_else(|| vec![self.void(name)]),
            },
            Op::Other(parts) => {
                self.text(scope, parts);
                vec![self.void(name)]
            }
            Op::CutFront(..)
            | Op::CutBack(..)
            | Op::Replace(..)
            | Op::Slice(..)
            | Op::Upper(_)
            | Op::Lower(_) => {
                let value = single(&known).unwrap_or_else(|| self.void(name));
                vec![self.changed(scope, value, op)]
            }
        }
    }

    fn changed(&mut self, scope: &mut Scope, value: String, op: &Op<'_>) -> String {
        match op {
            Op::CutFront(parts, longest) => {
                let pattern = self.text(scope, parts);
                cut(&value, &pattern, true, *longest)
            }
            Op::CutBack(parts, longest) => {
                let pattern = self.text(scope, parts);
                cut(&value, &pattern, false, *longest)
            }
            Op::Replace(pattern, with, all) => {
                let pattern = self.text(scope, pattern);
                let with = self.text(scope, with);
                if mark::has_mark(&value) || mark::has_mark(&pattern) || pattern.is_empty() {
                    return weaker(&value, &with);
                }
                if *all {
                    value.replace(&pattern, &with)
                } else {
                    value.replacen(&pattern, &with, 1)
                }
            }
            Op::Slice(start, length) => {
                if mark::has_mark(&value) {
                    return mark::VOID.to_string();
                }
                slice(&value, *start, *length)
            }
            Op::Upper(true) => value.to_uppercase(),
            Op::Lower(true) => value.to_lowercase(),
            Op::Upper(false) => first_letter(&value, true),
            Op::Lower(false) => first_letter(&value, false),
            Op::None
            | Op::Length
            | Op::Default(_)
            | Op::Assign(_)
            | Op::Alternative(_)
            | Op::Required
            | Op::All
            | Op::Element
            | Op::Other(_) => value,
        }
    }

    fn void(&mut self, name: &str) -> String {
        if is_secret_name(name) {
            self.secret_name = name.into();
            return mark::SECRET.to_string();
        }
        mark::VOID.to_string()
    }

    /// What a name stands for; `None` when the text and the context do not say.
    fn lookup(&mut self, scope: &Scope, name: &str) -> Option<Vec<String>> {
        match scope.vars.get(name) {
            Some(Var::Scalar(values)) => {
                let index = self.choice.pick(name, values.len());
                return Some(values.get(index).cloned().into_iter().collect());
            }
            Some(Var::List(values)) => return Some(values.clone()),
            None => {}
        }
        let one = |text: &str| Some(vec![text.to_owned()]);
        match name {
            "@" | "*" => match &scope.args {
                Some(args) => Some(args.as_ref().clone()),
                None => one(&mark::VOID.to_string()),
            },
            "#" | "?" | "$" | "!" | "RANDOM" | "UID" | "EUID" | "PPID" | "SECONDS" | "LINENO"
            | "HOSTNAME" | "USER" | "LOGNAME" | "EPOCHSECONDS" | "COLUMNS" | "LINES"
            | "BASHPID" | "SRANDOM" | "OSTYPE" | "HOSTTYPE" | "MACHTYPE" => {
                one(&mark::WORD.to_string())
            }
            "0" => one("bash"),
            "-" => one("hB"),
            "IFS" => one(" \t\n"),
            "HOME" => Some(vec![self.home()]),
            "PWD" => Some(vec![scope.cwd.to_string()]),
            "SHELL" | "BASH" => one("/bin/bash"),
            "TMPDIR" => Some(vec![self.env(name).unwrap_or_else(|| "/tmp".to_owned())]),
            name if name.bytes().all(|b| b.is_ascii_digit()) => {
                let index = name.parse::<usize>().ok()?;
                let args = scope.args.as_ref()?;
                Some(args.get(index.checked_sub(1)?).cloned().into_iter().collect())
            }
            name => self.env(name).map(|value| vec![value]),
        }
    }
}

/// Puts values into a field; unquoted ones are split where the shell splits.
fn put(scope: &Scope, values: &[String], quoted: bool, field: &mut Field) {
    let separators = match scope.vars.get("IFS") {
        Some(Var::Scalar(list)) => list.first().map_or(" \t\n", |text| text.as_str()),
        Some(Var::List(_)) | None => " \t\n",
    };
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            field.text.push(mark::SPLIT);
            field.split = true;
        }
        if quoted {
            field.text.push_str(value);
            continue;
        }
        for c in value.chars() {
            match c {
                c if separators.contains(c) => {
                    field.text.push(mark::SPLIT);
                    field.split = true;
                }
                '*' => field.text.push(mark::ANY),
                '?' => field.text.push(mark::ONE),
                c => field.text.push(c),
            }
        }
    }
}

/// A value after an operation that was not followed: what it can still be at most.
fn weaker(value: &str, with: &str) -> String {
    let dull = |c: char| c == mark::WORD || c.is_alphanumeric() || matches!(c, '_' | '-');
    if value.contains(mark::WORD) && value.chars().chain(with.chars()).all(dull) {
        return mark::WORD.to_string();
    }
    mark::VOID.to_string()
}

fn first_letter(value: &str, upper: bool) -> String {
    let mut chars = value.chars();
    let Some(first) = chars.next() else { return String::new() };
    let first = if upper { first.to_ascii_uppercase() } else { first.to_ascii_lowercase() };
    std::iter::once(first).chain(chars).collect()
}

fn slice(value: &str, start: i64, length: Option<i64>) -> String {
    let count = i64::try_from(value.chars().count()).unwrap_or(i64::MAX);
    let from = if start < 0 { (count + start).max(0) } else { start.min(count) };
    let to = match length {
        None => count,
        Some(length) if length < 0 => (count + length).max(from),
        Some(length) => from.saturating_add(length).min(count),
    };
    let (from, to) = (usize::try_from(from).unwrap_or(0), usize::try_from(to).unwrap_or(0));
    value.chars().skip(from).take(to.saturating_sub(from)).collect()
}

/// `${x#p}` and `${x%p}` for the patterns that occur: a literal with at most a star at one end.
fn cut(value: &str, pattern: &str, front: bool, longest: bool) -> String {
    let literal = pattern.trim_matches(mark::ANY);
    if mark::has_mark(literal) || mark::has_void(value) {
        return mark::VOID.to_string();
    }
    let open = if front { pattern.starts_with(mark::ANY) } else { pattern.ends_with(mark::ANY) };
    if !open {
        if pattern.contains(mark::ANY) {
            return mark::VOID.to_string();
        }
        let rest = if front { value.strip_prefix(literal) } else { value.strip_suffix(literal) };
        return rest.unwrap_or(value).to_owned();
    }
    if literal.is_empty() {
        return String::new();
    }
    if mark::has_mark(value) {
        // Cutting folders or endings off something below a place leaves something harmless, but where
        // the cut falls is not known.
        let last = literal == "/" && front && longest;
        return if last { mark::WORD.to_string() } else { mark::BELOW.to_string() };
    }
    let found = if front == longest { value.rfind(literal) } else { value.find(literal) };
    match found {
        None => value.to_owned(),
        Some(at) if front => value.get(at + literal.len()..).unwrap_or_default().to_owned(),
        Some(at) => value.get(..at).unwrap_or_default().to_owned(),
    }
}

/// Brace expansion of a marked text. Over the cap the brace becomes an unknown part.
fn braces(text: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut todo = vec![text.to_owned()];
    while let Some(text) = todo.pop() {
        if done.len() + todo.len() > BRACE_WORDS_MAX {
            return vec![
                text.chars().map(|c| if c == mark::OPEN { mark::VOID } else { c }).collect(),
            ];
        }
        match first_brace(&text) {
            None => done.push(text.chars().map(plain).collect()),
            Some((before, inner, after)) => match alternatives(inner) {
                Some(list) => {
                    todo.extend(list.iter().rev().map(|item| format!("{before}{item}{after}")));
                }
                None => {
                    let inner: String = inner.chars().map(plain).collect();
                    todo.push(format!("{before}{{{inner}}}{after}"));
                }
            },
        }
    }
    done
}

fn plain(c: char) -> char {
    match c {
        mark::OPEN => '{',
        mark::COMMA => ',',
        mark::CLOSE => '}',
        c => c,
    }
}

/// The first balanced brace: before, inside, after.
fn first_brace(text: &str) -> Option<(&str, &str, &str)> {
    let open = text.find(mark::OPEN)?;
    let from = open + mark::OPEN.len_utf8();
    let mut depth = 1;
    for (index, c) in text.get(from..)?.char_indices() {
        match c {
            mark::OPEN => depth += 1,
            mark::CLOSE => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let to = from + index;
            let after = to + mark::CLOSE.len_utf8();
            return Some((text.get(..open)?, text.get(from..to)?, text.get(after..)?));
        }
    }
    None
}

/// `a,b,c` or `1..5` inside a brace; `None` if it is neither.
fn alternatives(inner: &str) -> Option<Vec<String>> {
    let mut list = vec![String::new()];
    let mut depth = 0;
    for c in inner.chars() {
        match c {
            mark::OPEN => depth += 1,
            mark::CLOSE => depth -= 1,
            mark::COMMA if depth == 0 => {
                list.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = list.last_mut() {
            last.push(c);
        }
    }
    if list.len() > 1 {
        return Some(list);
    }
    let (from, to) = inner.split_once("..")?;
    let to = to.split("..").next()?;
    if let (Ok(a), Ok(b)) = (from.parse::<i64>(), to.parse::<i64>()) {
        let count = a.abs_diff(b);
        if count >= BRACE_WORDS_MAX as u64 / 2 {
            return Some(vec![mark::WORD.to_string()]);
        }
        return Some((a.min(b)..=a.max(b)).map(|n| n.to_string()).collect());
    }
    let mut ends = (from.chars(), to.chars());
    match (ends.0.next(), ends.1.next(), ends.0.next(), ends.1.next()) {
        (Some(a), Some(b), None, None) => {
            Some((a.min(b)..=a.max(b)).take(BRACE_WORDS_MAX / 2).map(String::from).collect())
        }
        (_, _, _, _) => None,
    }
}

/// Backslash escapes of `$'..'`, `echo -e` and `printf`.
pub(crate) fn unescape(text: &str, ansi: bool) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut buffer = [0u8; 4];
    while let Some(c) = chars.next() {
        if c != '\\' {
            bytes.extend(c.encode_utf8(&mut buffer).bytes());
            continue;
        }
        let mut number = |radix: u32, most: usize| -> Option<u32> {
            let mut value = None;
            for _ in 0..most {
                let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else { break };
                chars.next();
                value = Some(value.unwrap_or(0) * radix + digit);
            }
            value
        };
        if let Some(value) = number(8, if ansi { 3 } else { 4 }) {
            bytes.push((value & 0xFF) as u8);
            continue;
        }
        let Some(escape) = chars.next() else {
            bytes.push(b'\\');
            break;
        };
        let mut number = |most: usize| -> Option<u32> {
            let mut value = None;
            for _ in 0..most {
                let Some(digit) = chars.peek().and_then(|c| c.to_digit(16)) else { break };
                chars.next();
                value = Some(value.unwrap_or(0) * 16 + digit);
            }
            value
        };
        match escape {
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            'a' | 'b' | 'f' | 'v' => bytes.push(b' '),
            'e' | 'E' => bytes.push(0x1B),
            'x' => bytes.push((number(2).unwrap_or(0) & 0xFF) as u8),
            'u' | 'U' => {
                let most = if escape == 'u' { 4 } else { 8 };
                let c = number(most).and_then(char::from_u32).unwrap_or(mark::VOID);
                bytes.extend(c.encode_utf8(&mut buffer).bytes());
            }
            'c' => {}
            '\\' | '\'' | '"' | '?' => bytes.push(escape as u8),
            other => {
                bytes.push(b'\\');
                bytes.extend(other.encode_utf8(&mut buffer).bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn unescape_backtick(text: &str, quoted: bool) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\\' {
            match chars.next() {
                Some(next) => {
                    if !(matches!(next, '`' | '\\' | '$') || (quoted && next == '"')) {
                        out.push('\\');
                    }
                    out.push(next);
                }
                None => out.push('\\'),
            }
        } else {
            out.push(c);
        }
    }
    out
}

//! Operations on marked texts: `${x%..}`, brace expansion, backslash escapes.
//!
//! Pure functions; what cannot be followed comes back weaker (a mark), never wrong. Refused: touching
//! a scope.

use crate::limits::{BRACE_WORDS_MAX, BRACES_MAX};
use crate::mark;

/// A value after an operation that was not followed: what it can still be at most.
pub(crate) fn weaker(value: &str, with: &str) -> String {
    let dull = |c: char| c == mark::WORD || c.is_alphanumeric() || matches!(c, '_' | '-');
    if value.contains(mark::WORD) && value.chars().chain(with.chars()).all(dull) {
        return mark::WORD.to_string();
    }
    mark::VOID.to_string()
}

pub(crate) fn first_letter(value: &str, upper: bool) -> String {
    let mut chars = value.chars();
    let Some(first) = chars.next() else { return String::new() };
    let first = if upper { first.to_ascii_uppercase() } else { first.to_ascii_lowercase() };
    std::iter::once(first).chain(chars).collect()
}

pub(crate) fn slice(value: &str, start: i64, length: Option<i64>) -> String {
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
pub(crate) fn cut(value: &str, pattern: &str, front: bool, longest: bool) -> String {
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

/// Brace expansion of a marked text. Over a cap the whole word is unknown.
pub(crate) fn braces(text: &str) -> Vec<String> {
    if text.matches(mark::OPEN).count() > BRACES_MAX {
        return vec![mark::VOID.to_string()];
    }
    let mut done = Vec::new();
    let mut todo = vec![text.to_owned()];
    while let Some(text) = todo.pop() {
        if done.len() + todo.len() > BRACE_WORDS_MAX {
            return vec![mark::VOID.to_string()];
        }
        match first_brace(&text) {
            None => done.push(text.chars().map(plain).collect()),
            Some((before, inner, after)) => match alternatives(inner) {
                Some(list) => {
                    todo.extend(list.iter().rev().map(|item| format!("{before}{item}{after}")));
                }
                // No list and no sequence: the brace stands for itself, what is inside may expand.
                None => todo.push(format!("{before}{{{inner}}}{after}")),
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

/// The first balanced brace: before, inside, after. One that is never closed stands for itself.
fn first_brace(text: &str) -> Option<(&str, &str, &str)> {
    for (open, _) in text.match_indices(mark::OPEN) {
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

pub(crate) fn unescape_backtick(text: &str, quoted: bool) -> String {
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

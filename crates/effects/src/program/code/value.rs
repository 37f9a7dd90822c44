//! Values in program texts: literals, sums of them, and the few calls that make paths.
//!
//! Refused: evaluation. What is not plainly written is a mark.

use crate::mark;

/// A string literal at the start of `text` and what follows it.
pub(crate) fn literal(text: &str) -> Option<(String, &str)> {
    let mut rest = text;
    let mut raw = false;
    let mut template = false;
    for prefix in ["rb", "br", "Rb", "fr", "rf", "r", "b", "f", "u", "R"] {
        if let Some(after) = rest.strip_prefix(prefix)
            && after.starts_with(['"', '\''])
        {
            raw = prefix.contains(['r', 'R']);
            template = prefix.contains('f');
            rest = after;
            break;
        }
    }
    for quote in ["\"\"\"", "'''"] {
        if let Some(inside) = rest.strip_prefix(quote)
            && let Some(end) = inside.find(quote)
        {
            let text = inside.get(..end)?.to_owned();
            return Some((text, inside.get(end + 3..)?));
        }
    }
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let inside = rest.get(1..)?;
    let mut out = String::new();
    let mut chars = inside.char_indices();
    while let Some((index, c)) = chars.next() {
        match c {
            c if c == quote => return Some((out, inside.get(index + 1..)?)),
            '\\' if !raw => {
                let (_, next) = chars.next()?;
                match next {
                    'n' => out.push('\n'),
                    't' => out.push('\t'),
                    'x' => {
                        let high = chars.next()?.1.to_digit(16);
                        let low = chars.next()?.1.to_digit(16);
                        let code = high.zip(low).and_then(|(h, l)| char::from_u32(h * 16 + l));
                        out.push(code.unwrap_or(mark::VOID));
                    }
                    'u' => out.push(mark::VOID),
                    next => out.push(next),
                }
            }
            '{' if template => {
                out.push(mark::VOID);
                for (_, c) in chars.by_ref() {
                    if c == '}' {
                        break;
                    }
                }
            }
            '$' | '#'
                if (quote == '`' || quote == '"') && inside.get(index + 1..)?.starts_with('{') =>
            {
                out.push(mark::VOID);
                for (_, c) in chars.by_ref() {
                    if c == '}' {
                        break;
                    }
                }
            }
            c => out.push(c),
        }
    }
    None
}

/// The arguments of a call whose `(` has been taken: texts split at top-level commas, and what follows
/// the closing parenthesis. Cut after a few thousand characters.
pub(crate) fn arguments(text: &str) -> (Vec<&str>, &str) {
    let mut list = Vec::new();
    let mut depth = 0u32;
    let mut from = 0;
    let mut at = 0;
    let bytes = text.as_bytes();
    while let Some(byte) = bytes.get(at) {
        if at > 4096 {
            break;
        }
        match byte {
            b'"' | b'\'' | b'`' => {
                let tail = text.get(at..).unwrap_or_default();
                if let Some((_, after)) = literal(tail) {
                    at = text.len() - after.len();
                    continue;
                }
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                if depth == 0 {
                    let last = text.get(from..at).unwrap_or_default().trim();
                    if !last.is_empty() {
                        list.push(last);
                    }
                    return (list, text.get(at + 1..).unwrap_or_default());
                }
                depth -= 1;
            }
            b',' if depth == 0 => {
                list.push(text.get(from..at).unwrap_or_default().trim());
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    let last = text.get(from..at).unwrap_or_default().trim();
    if !last.is_empty() {
        list.push(last);
    }
    (list, "")
}

/// The words of a list literal `["a", "b"]`, or `None`.
pub(crate) fn list(text: &str, whole: &str) -> Option<Vec<String>> {
    let inside = text.trim().strip_prefix(['[', '('])?;
    let (items, _) = arguments(inside);
    Some(items.iter().map(|item| value(item, whole, 0)).collect())
}

/// The value of an expression as far as it is written; `whole` is searched for assignments.
pub(crate) fn value(text: &str, whole: &str, depth: u32) -> String {
    let unknown = mark::VOID.to_string();
    let text = text.trim();
    if depth > 6 || text.len() > 4096 {
        return unknown;
    }
    if let Some((string, after)) = literal(text) {
        let after = after.trim_start();
        return match after.chars().next() {
            None | Some(';' | ',') => string,
            Some('+' | '/') => {
                let slash = if after.starts_with('/') { "/" } else { "" };
                let rest = value(after.get(1..).unwrap_or_default(), whole, depth + 1);
                format!("{string}{slash}{rest}")
            }
            // `"..".join(..)`, `"..".replace(..)`, `"..".format(..)`.
            Some('.') if after.starts_with(".split(") => string,
            Some(_) => unknown,
        };
    }
    let name_end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | ':' | '@')))
        .unwrap_or(text.len());
    let name = text.get(..name_end).unwrap_or_default();
    let rest = text.get(name_end..).unwrap_or_default().trim_start();
    let last = name.rsplit(['.', ':']).next().unwrap_or_default();
    if let Some(inside) = rest.strip_prefix('(') {
        return called(last, inside, whole, depth);
    }
    if name.ends_with("env.HOME") || rest.starts_with("['HOME']") || rest.starts_with("[\"HOME\"]")
    {
        let after = rest.trim_start_matches(['[', '\'', '"', ']', 'H', 'O', 'M', 'E']).trim_start();
        let tail = after.strip_prefix('+').map(|more| value(more, whole, depth + 1));
        return format!("~{}", tail.unwrap_or_default());
    }
    let simple = !name.is_empty() && !name.contains('.') && name.parse::<f64>().is_err();
    if simple && (rest.is_empty() || rest.starts_with(['+', '/', ',', ';'])) {
        let known = assigned(name, whole).map(|expr| value(expr, whole, depth + 2));
        let known = known.unwrap_or(unknown);
        return match rest.chars().next() {
            Some('+') => {
                format!("{known}{}", value(rest.get(1..).unwrap_or_default(), whole, depth + 1))
            }
            Some('/') => {
                format!("{known}/{}", value(rest.get(1..).unwrap_or_default(), whole, depth + 1))
            }
            _ => known,
        };
    }
    unknown
}

/// The value of a call to `last`, whose `(` has been taken.
fn called(last: &str, inside: &str, whole: &str, depth: u32) -> String {
    let unknown = mark::VOID.to_string();
    let (args, after) = arguments(inside);
    let first = || args.first().map_or(unknown.clone(), |arg| value(arg, whole, depth + 1));
    let base = match last {
        "expanduser" | "Path" | "PurePath" | "PosixPath" | "abspath" | "realpath" | "resolve"
        | "String" | "str" | "quote" | "normpath" | "expand_path" => first(),
        "home" | "homedir" => "~".to_owned(),
        "cwd" | "getcwd" | "pwd" => ".".to_owned(),
        "join" => {
            let parts: Vec<String> = args.iter().map(|arg| value(arg, whole, depth + 1)).collect();
            parts.join("/")
        }
        "getenv" | "get" if first() == "HOME" => "~".to_owned(),
        _ => unknown.clone(),
    };
    let after = after.trim_start();
    let rest = || value(after.get(1..).unwrap_or_default(), whole, depth + 1);
    match after.chars().next() {
        Some('/') => format!("{base}/{}", rest()),
        Some('+') => format!("{base}{}", rest()),
        _ => base,
    }
}

/// The expression that `name` is last assigned before use, as `name = ..` or `for name in [..]`.
fn assigned<'t>(name: &str, whole: &'t str) -> Option<&'t str> {
    let mut from = 0;
    let mut found = None;
    for _ in 0..64 {
        let at = whole.get(from..)?.find(name).map(|at| at + from);
        let Some(at) = at else { break };
        from = at + name.len();
        let before = whole.get(..at).and_then(|text| text.chars().last());
        if before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.') {
            continue;
        }
        let rest = whole.get(from..).unwrap_or_default().trim_start();
        if let Some(expression) = rest.strip_prefix('=')
            && !expression.starts_with(['=', '~', '>'])
        {
            let end = expression.find([';', '\n']).unwrap_or(expression.len());
            found = expression.get(..end).map(str::trim);
        }
    }
    found
}

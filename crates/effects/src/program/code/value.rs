//! Values in program texts: literals, sums of them, and the few calls that make paths.
//!
//! Refused: evaluation. What is not plainly written is a mark.

use crate::mark;
use crate::path::folder_of;
use crate::program::find::globbed;

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

/// The expression that ends where `before` does: a name, a call, a method of something, what stands in
/// parentheses. Empty if there is none, or if it is long.
pub(crate) fn expression_before(before: &str) -> &str {
    let before = before.trim_end();
    let bytes = before.as_bytes();
    let least = bytes.len().saturating_sub(512);
    let mut from = bytes.len();
    let mut depth = 0u32;
    while from > least {
        match bytes.get(from - 1) {
            Some(b')' | b']') => depth += 1,
            Some(b'(' | b'[') if depth == 0 => break,
            Some(b'(' | b'[') => depth -= 1,
            Some(quote @ (b'"' | b'\'')) => {
                let inside = before.get(..from - 1).unwrap_or_default();
                match inside.rfind(char::from(*quote)) {
                    Some(open) => from = open + 1,
                    None => return "",
                }
            }
            Some(b) if depth > 0 || b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.') => {}
            Some(_) | None => break,
        }
        from -= 1;
    }
    before.get(from..).filter(|_| depth == 0).unwrap_or_default().trim_start_matches('.')
}

/// The words of a list literal `["a", "b"]`, or `None`.
pub(crate) fn list(text: &str, whole: &str) -> Option<Vec<String>> {
    // Ruby's words in brackets.
    if let Some(words) = text.trim().trim_start_matches('*').strip_prefix("%w") {
        let words = words.get(1..).unwrap_or_default();
        let end = words.find([']', ')', '}']).unwrap_or(words.len());
        return Some(words.get(..end)?.split_whitespace().map(str::to_owned).collect());
    }
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
    if let Some(inside) = text.strip_prefix('(') {
        let (args, after) = arguments(inside);
        let [only] = args.as_slice() else { return unknown };
        let base = value(only, whole, depth + 1);
        return if after.starts_with('.') { method(&base, after, whole, depth) } else { base };
    }
    if text.starts_with('[') {
        // One value for all of a list: enough for a loop over it.
        return list(text, whole).map_or(unknown, |values| crate::shell::scope::general(&values));
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
    if matches!(name, "__dirname" | "__file__" | "import.meta.dirname") {
        return ".".to_owned();
    }
    let simple = !name.is_empty() && !name.contains('.') && name.parse::<f64>().is_err();
    if simple && (rest.is_empty() || rest.starts_with(['+', '/', ',', ';'])) {
        let known = match assigned(name, whole) {
            Some(expression) => Some(value(expression, whole, depth + 2)),
            None => looped(name, whole, depth).or_else(|| passed(name, whole, depth)),
        };
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
    // `require('path').join(..)`, `require('os').homedir() + ..`.
    if last == "require"
        && let Some(of_module) = after.strip_prefix('.')
    {
        return value(of_module, whole, depth + 1);
    }
    let first = || args.first().map_or(unknown.clone(), |arg| value(arg, whole, depth + 1));
    let base = match last {
        "Path" | "PurePath" | "PosixPath" if args.len() > 1 => {
            let parts: Vec<String> = args.iter().map(|arg| value(arg, whole, depth + 1)).collect();
            parts.join("/")
        }
        "expanduser" | "Path" | "PurePath" | "PosixPath" | "Pathname" | "file" | "abspath"
        | "realpath" | "resolve" | "String" | "str" | "quote" | "normpath" | "expand_path" => {
            first()
        }
        "home" | "homedir" => "~".to_owned(),
        "cwd" | "getcwd" | "pwd" => ".".to_owned(),
        "glob" | "iglob" | "globSync" => globbed(&first()),
        "listdir" | "readdirSync" | "scandir" | "children" | "entries" => {
            format!("{}/{}", if args.is_empty() { ".".to_owned() } else { first() }, mark::ANY)
        }
        "walk" => format!("{}/{}", first(), mark::BELOW),
        "sorted" | "list" | "set" | "reversed" | "Array" => first(),
        "basename" => mark::WORD.to_string(),
        "dirname" => return folder_of(&first()).to_owned(),
        "mkdtemp" | "mkstemp" | "gettempdir" | "tmpdir" | "NamedTemporaryFile" => {
            format!("/tmp/{}", mark::WORD)
        }
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
        Some('.') => method(&base, after, whole, depth),
        _ => base,
    }
}

/// A method called on a path: `.rglob('*.py')`, `.parent`, `.resolve()`.
fn method(base: &str, after: &str, whole: &str, depth: u32) -> String {
    let text = after.trim_start_matches('.');
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
    let name = text.get(..end).unwrap_or_default();
    let rest = text.get(end..).unwrap_or_default();
    let argument = || {
        let (args, _) = arguments(rest.get(1..).unwrap_or_default());
        args.first().map_or(String::new(), |arg| value(arg, whole, depth + 1))
    };
    match name {
        "rglob" => format!("{base}/{}{}", mark::DEEP, globbed(&argument())),
        "glob" => format!("{base}/{}", globbed(&argument())),
        "iterdir" => format!("{base}/{}", mark::ANY),
        "joinpath" | "join" => {
            let (args, _) = arguments(rest.get(1..).unwrap_or_default());
            let parts = args.iter().map(|arg| value(arg, whole, depth + 1));
            std::iter::once(base.to_owned()).chain(parts).collect::<Vec<_>>().join("/")
        }
        "with_suffix" | "with_name" => format!("{}/{}", folder_of(base), mark::WORD),
        "parent" => folder_of(base).to_owned(),
        "name" | "stem" => mark::WORD.to_string(),
        _ => base.to_owned(),
    }
}

/// What `name` stands for in a loop: `for name in EXPRESSION`, `for a, name in os.walk(..)`.
fn looped(name: &str, whole: &str, depth: u32) -> Option<String> {
    for (at, _) in whole.match_indices("for ") {
        let rest = whole.get(at + 4..)?;
        let (targets, expression) = rest.split_once(" in ")?;
        let mut names = targets.trim_matches(['(', ')']).split(',').map(str::trim);
        let Some(place) = names.position(|target| target == name) else { continue };
        let end = expression.find(['\n', ';']).unwrap_or(expression.len());
        let expression = expression.get(..end)?.trim_end_matches([':', ' ']);
        if expression.starts_with("os.walk") || expression.starts_with("enumerate") {
            let whole_value = value(expression, whole, depth + 2);
            return Some(if place == 0 { whole_value } else { mark::WORD.to_string() });
        }
        let balanced = expression.matches(']').count() > expression.matches('[').count();
        let expression = if balanced { expression.rsplit_once(']')?.0 } else { expression };
        let found = value(expression, whole, depth + 2);
        // A name that a walk gave has no folder in it.
        return Some(found);
    }
    None
}

/// The values that `name` takes one after the other in a loop over a list that is written.
pub(crate) fn looped_values(name: &str, whole: &str) -> Option<Vec<String>> {
    let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !plain {
        return None;
    }
    for front in ["for ", "for(const ", "for (const ", "for(let ", "for (let "] {
        for (at, _) in whole.match_indices(front).take(32) {
            let rest = whole.get(at + front.len()..)?;
            let Some(rest) = rest.strip_prefix(name) else { continue };
            let Some(list_text) = rest
                .strip_prefix(" in ")
                .or_else(|| rest.strip_prefix(" of "))
                .map(str::trim_start)
            else {
                continue;
            };
            if list_text.starts_with(['[', '(']) {
                return list(list_text, whole).map(|mut values| {
                    values.truncate(16);
                    values
                });
            }
        }
    }
    None
}

/// What a parameter called `name` is given where its function is called.
fn passed(name: &str, whole: &str, depth: u32) -> Option<String> {
    let mut values = Vec::new();
    for (at, keyword) in
        whole.match_indices("def ").chain(whole.match_indices("function ")).take(32)
    {
        let rest = whole.get(at + keyword.len()..)?;
        let Some((function, inside)) = rest.split_once('(') else { continue };
        let function = function.trim();
        let (parameters, _) = arguments(inside);
        let place =
            parameters.iter().position(|p| p.split([':', '=']).next().map(str::trim) == Some(name));
        let Some(place) = place else { continue };
        let call = format!("{function}(");
        for (at, _) in whole.match_indices(&call).take(64) {
            let before = whole.get(..at).unwrap_or_default();
            let defined = before.ends_with("def ") || before.ends_with("function ");
            if defined || before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
                continue;
            }
            let (args, _) = arguments(whole.get(at + call.len()..)?);
            let arg = args.get(place).copied().unwrap_or_default();
            values.push(value(arg, whole, depth + 3));
        }
    }
    match values.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        several => Some(crate::shell::scope::general(several)),
    }
}

/// The expression that `name` is last assigned before use, as `name = ..` or `for name in [..]`.
pub(crate) fn assigned<'t>(name: &str, whole: &'t str) -> Option<&'t str> {
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

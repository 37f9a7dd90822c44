//! Headers that repeat what a message says (revision 2026-07-28): checked on the way in, made anew on
//! the way out.
//!
//! Whoever stands on the way may go by the headers, and the server by the message; so they must say
//! the same, and a message whose headers say something else is refused before any policy is asked.
//! The message is what holds. Headers that nobody here knows pass.

use crate::mcp::definitions::{Definitions, ParamHeader};
use crate::mcp::frame::{Frame, Shape};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use tollgate::gate::Json;

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Starts the names of headers that repeat arguments.
const PARAM: &str = "mcp-param-";

/// The code of headers that say something else than the message.
pub(super) const MISMATCH: i64 = -32020;
/// The code of a revision that is not spoken.
pub(super) const UNSUPPORTED: i64 = -32022;

/// How headers and message differ.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Mismatch {
    #[error("the header `{0}` says something else than the message")]
    Differs(String),
    #[error("the header `{0}` is missing")]
    Missing(String),
    #[error("the header `{0}` stands there twice")]
    Twice(String),
    #[error("the header `{0}` cannot be read")]
    Unreadable(String),
}

/// Whether headers and message say the same.
pub(super) fn check(
    headers: &HeaderMap,
    frame: &Frame,
    definitions: &Definitions,
) -> Result<(), Mismatch> {
    let Some(method) = method(frame) else { return Ok(()) };
    let must = frame.is_modern();
    same(headers, &VERSION, version(frame), must)?;
    same(headers, &METHOD, Some(method), must)?;
    if let Some(name) = name(frame, method) {
        same(headers, &NAME, Some(name), must)?;
    }
    for declared in declared(frame, method, definitions) {
        let given = one(headers, &declared.header)?;
        match (given, argument(frame, &declared).and_then(spelled)) {
            (Some(given), Some(said)) if is_same(&given, &said) => {}
            (Some(_), _) => return Err(Mismatch::Differs(declared.header.to_string())),
            (None, Some(_)) if must => return Err(Mismatch::Missing(declared.header.to_string())),
            (None, _) => {}
        }
    }
    Ok(())
}

/// The headers of a message that a hook changed: what repeats it says what it says now. `None` where
/// headers repeat arguments and nothing tells which.
pub(super) fn renewed(
    mut headers: HeaderMap,
    frame: &Frame,
    definitions: &Definitions,
) -> Option<HeaderMap> {
    let method = method(frame)?;
    if headers.contains_key(&NAME)
        && let Some(name) = name(frame, method)
    {
        headers.insert(NAME, written(name));
    }
    let known = declared(frame, method, definitions);
    let repeats = |name: &HeaderName| name.as_str().starts_with(PARAM);
    let arguments = frame.param("arguments").and_then(Json::as_object);
    if arguments.is_none_or(|arguments| arguments.is_empty()) {
        // There is nothing left to repeat.
        let all: Vec<HeaderName> = headers.keys().filter(|name| repeats(name)).cloned().collect();
        for name in all {
            headers.remove(name);
        }
        return Some(headers);
    }
    let is_known = |name: &HeaderName| known.iter().any(|one| one.header == *name);
    if headers.keys().any(|name| repeats(name) && !is_known(name)) {
        return None;
    }
    repeat_arguments(&mut headers, frame, known);
    Some(headers)
}

/// The headers that a message needs which came over another transport.
pub(super) fn made(frame: &Frame, definitions: &Definitions) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let Some(method) = method(frame).filter(|_| frame.is_modern()) else { return headers };
    if let Some(version) = version(frame) {
        headers.insert(VERSION, written(version));
    }
    headers.insert(METHOD, written(method));
    if let Some(name) = name(frame, method) {
        headers.insert(NAME, written(name));
    }
    repeat_arguments(&mut headers, frame, declared(frame, method, definitions));
    headers
}

fn repeat_arguments(headers: &mut HeaderMap, frame: &Frame, declared: Vec<ParamHeader>) {
    for one in declared {
        headers.remove(&one.header);
        if let Some(value) = argument(frame, &one).and_then(spelled) {
            headers.insert(one.header, written(&value));
        }
    }
}

fn method(frame: &Frame) -> Option<&str> {
    match frame.shape() {
        Shape::Request { method, .. } | Shape::Notification { method } => Some(method),
        Shape::Answer { .. } => None,
    }
}

fn version(frame: &Frame) -> Option<&str> {
    frame.param("_meta")?.get("io.modelcontextprotocol/protocolVersion")?.as_str()
}

fn name<'f>(frame: &'f Frame, method: &str) -> Option<&'f str> {
    let key = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return None,
    };
    frame.param(key)?.as_str()
}

fn declared(frame: &Frame, method: &str, definitions: &Definitions) -> Vec<ParamHeader> {
    match name(frame, method) {
        Some(tool) if method == "tools/call" => definitions.param_headers(tool),
        _ => Vec::new(),
    }
}

fn argument<'f>(frame: &'f Frame, declared: &ParamHeader) -> Option<&'f Json> {
    let arguments = frame.param("arguments")?;
    declared.path.iter().try_fold(arguments, |value, key| value.get(key))
}

/// A value as a header says it; what is null or no scalar has no header.
fn spelled(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Bool(_) | Json::Number(_) => Some(value.text()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

fn same(
    headers: &HeaderMap,
    header: &HeaderName,
    said: Option<&str>,
    must: bool,
) -> Result<(), Mismatch> {
    let Some(given) = one(headers, header)? else {
        let missing = || Mismatch::Missing(header.to_string());
        return if must { Err(missing()) } else { Ok(()) };
    };
    match said {
        Some(said) if said != given => Err(Mismatch::Differs(header.to_string())),
        _ => Ok(()),
    }
}

/// The one value of a header, decoded.
fn one(headers: &HeaderMap, header: &HeaderName) -> Result<Option<String>, Mismatch> {
    let mut values = headers.get_all(header).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Mismatch::Twice(header.to_string()));
    }
    decoded(value).map(Some).ok_or_else(|| Mismatch::Unreadable(header.to_string()))
}

const BEFORE: &str = "=?base64?";
const BEHIND: &str = "?=";

fn decoded(value: &HeaderValue) -> Option<String> {
    let text = std::str::from_utf8(value.as_bytes()).ok()?;
    match text.strip_prefix(BEFORE).and_then(|rest| rest.strip_suffix(BEHIND)) {
        Some(packed) => String::from_utf8(BASE64.decode(packed).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}

fn written(text: &str) -> HeaderValue {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && text.trim() == text
        && !text.starts_with(BEFORE);
    let packed = || format!("{BEFORE}{}{BEHIND}", BASE64.encode(text));
    let shown = if is_plain { text.to_owned() } else { packed() };
    // Both forms are of characters that a header may hold.
    HeaderValue::from_str(&shown).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Whole numbers are compared by value: `42` and `42.0` say the same.
fn is_same(given: &str, said: &str) -> bool {
    let number = |text: &str| Json::read(text.as_bytes()).ok()?.as_number().cloned();
    given == said
        || matches!((number(given), number(said)), (Some(a), Some(b))
            if a.compare(&b) == Some(std::cmp::Ordering::Equal))
}

#[cfg(test)]
mod tests {
    use super::{Mismatch, check, made, renewed};
    use crate::mcp::definitions::Definitions;
    use crate::mcp::frame::Frame;
    use hyper::HeaderMap;
    use hyper::header::{HeaderName, HeaderValue};
    use tollgate::gate::Json;

    const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"region":"zürich","n":42,"deep":{"b":true}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;

    fn definitions() -> Definitions {
        let definitions = Definitions::new("s", None);
        let tool = r#"{"name":"t","inputSchema":{"type":"object","properties":{
            "region":{"type":"string","x-mcp-header":"Region"},
            "n":{"type":"integer","x-mcp-header":"N"},
            "deep":{"type":"object","properties":{"b":{"type":"boolean","x-mcp-header":"B"}}},
            "list":{"type":"array","items":{"x-mcp-header":"Nope"}},
            "gone":{"type":"string","x-mcp-header":"Gone"}}}}"#;
        definitions.learn(&[Json::read(tool.as_bytes()).unwrap()]).unwrap();
        definitions
    }

    fn headers(all: &[(&str, &str)]) -> HeaderMap {
        let one = |(name, value): &(&str, &str)| {
            (HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap())
        };
        all.iter().map(one).collect()
    }

    const GOOD: [(&str, &str); 6] = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "t"),
        ("mcp-param-n", "42.0"),
        ("mcp-param-b", "true"),
        ("mcp-param-region", "=?base64?esO8cmljaA==?="),
    ];

    #[test]
    fn headers_that_say_something_else_are_refused() {
        let (frame, definitions) = (Frame::read(CALL).unwrap(), definitions());
        let with = |more: &[(&str, &str)]| {
            check(&headers(&[&GOOD[..], more].concat()), &frame, &definitions)
        };
        assert_eq!(with(&[]), Ok(()));
        assert_eq!(with(&[("mcp-param-unknown", "x")]), Ok(()));
        assert!(matches!(with(&[("mcp-param-gone", "x")]), Err(Mismatch::Differs(_))));
        assert!(matches!(with(&[("mcp-name", "u")]), Err(Mismatch::Twice(_))));
        let region = headers(&[&GOOD[..5], &[("mcp-param-region", "=?base64?%?=")]].concat());
        assert!(matches!(check(&region, &frame, &definitions), Err(Mismatch::Unreadable(_))));
        for at in 0..GOOD.len() {
            let mut less = GOOD.to_vec();
            let (name, _) = less.remove(at);
            assert!(matches!(
                check(&headers(&less), &frame, &definitions),
                Err(Mismatch::Missing(_))
            ));
            less.push((name, "other"));
            assert!(matches!(
                check(&headers(&less), &frame, &definitions),
                Err(Mismatch::Differs(_))
            ));
        }
    }

    #[test]
    fn an_older_message_needs_no_headers_but_may_not_contradict_them() {
        let text = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#;
        let (frame, definitions) = (Frame::read(text).unwrap(), definitions());
        assert_eq!(check(&headers(&[]), &frame, &definitions), Ok(()));
        let version = [("mcp-protocol-version", "2025-11-25")];
        assert_eq!(check(&headers(&version), &frame, &definitions), Ok(()));
        let lying = headers(&[("mcp-name", "harmless")]);
        assert!(matches!(check(&lying, &frame, &definitions), Err(Mismatch::Differs(_))));
    }

    #[test]
    fn made_and_renewed_headers_say_what_the_message_says() {
        let (frame, definitions) = (Frame::read(CALL).unwrap(), definitions());
        let all = made(&frame, &definitions);
        assert_eq!(check(&all, &frame, &definitions), Ok(()));
        assert_eq!(all["mcp-param-region"], "=?base64?esO8cmljaA==?=");
        assert_eq!(
            (&all["mcp-param-n"], &all["mcp-param-b"]),
            (&"42".parse().unwrap(), &"true".parse().unwrap())
        );
        assert!(!all.contains_key("mcp-param-gone"));

        let changed = Frame::read(CALL.replace("zürich", "bern").replace("42", "7")).unwrap();
        let all = renewed(all, &changed, &definitions).unwrap();
        assert_eq!(check(&all, &changed, &definitions), Ok(()));
        assert_eq!(all["mcp-param-region"], "bern");
        let unknown = headers(&[("mcp-param-unknown", "x")]);
        assert_eq!(renewed(unknown, &changed, &definitions), None);
    }
}

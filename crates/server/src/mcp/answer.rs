//! The messages that the relay writes itself: refusals, errors, questions.
//!
//! A refused tool call is an ordinary failed result, so that the model reads why and may change
//! course; what has no such result is answered by an error. Codes of JSON-RPC's reserved range are
//! the specification's, so refusals of a policy carry positive ones that cannot be taken for a
//! peer's own.

use super::frame::{Id, Malformed};
use tollgate::gate::{Code, Decision, Failure, Json, Object};

/// The key of a result's `_meta` under which a program finds what was decided.
pub(super) const META: &str = "dev.tollgate/decision";

/// Refused by a policy.
pub(super) const REFUSED: i64 = 403;
/// Refused by a limit.
pub(super) const LIMITED: i64 = 429;
/// Something went wrong in the relay or the peer is gone.
pub(super) const INTERNAL: i64 = -32603;
/// A request that cannot be taken as it is.
pub(super) const INVALID: i64 = -32600;
/// Parameters that cannot be taken as they are; also a tool that does not exist.
pub(super) const INVALID_PARAMS: i64 = -32602;

/// An error as answer.
pub(super) fn error(id: Option<&Id>, code: i64, message: &str, data: Option<Object>) -> String {
    let id = id.map_or("null", Id::as_json);
    let message = Json::from(message).text();
    let data = data.map(|data| format!(r#","data":{}"#, Json::from(data).text()));
    let data = data.unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}{data}}}}}"#)
}

/// The answer to a message that does not pass.
pub(super) fn malformed(refused: &Malformed) -> String {
    error(refused.id.as_ref(), refused.code(), &refused.to_string(), None)
}

/// A result as answer.
pub(super) fn result(id: &Id, result: &Json) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{}}}"#, id.as_json(), result.text())
}

/// What programs are told of a decision.
pub(super) fn told(decision: Option<&Decision>, code: &Code) -> Object {
    let mut told = Object::new();
    told.insert("verdict", decision.map_or("deny", |decision| decision.verdict.name()));
    told.insert("code", code.as_str());
    if let Some(decision) = decision {
        told.insert("hook", decision.hook.as_deref());
        told.insert("record", decision.event_id.to_string());
        if let Some(approval) = &decision.approval {
            told.insert("approval", &**approval);
        }
    }
    told
}

/// A failed result of a tool, for the model to read.
pub(super) fn failed_result(failure: &Failure, told: Object, is_modern: bool) -> Json {
    let block =
        Object::from_iter([("type", Json::from("text")), ("text", Json::from(&*failure.message))]);
    let mut result = Object::new();
    if is_modern {
        result.insert("resultType", "complete");
    }
    result.insert("content", vec![Json::from(block)]);
    result.insert("isError", true);
    result.insert("_meta", Object::from_iter([(META, told)]));
    result.into()
}

/// An answer in place of a tool's result: as it is where it has the shape of one, otherwise as text.
pub(super) fn answered_result(content: &Json, is_modern: bool) -> Json {
    let own = content
        .as_object()
        .filter(|object| object.get("content").is_some_and(|blocks| blocks.as_array().is_some()));
    let mut result = own.cloned().unwrap_or_else(|| {
        let text = content.as_str().map_or_else(|| content.text(), ToOwned::to_owned);
        let block = Object::from_iter([("type", "text".to_owned()), ("text", text)]);
        Object::from_iter([("content", Json::from(vec![Json::from(block)]))])
    });
    if is_modern && !result.contains_key("resultType") {
        result.insert("resultType", "complete");
    }
    result.into()
}

/// The error code of a refusal where there is no failed result.
pub(super) fn error_code(code: &Code) -> i64 {
    match code {
        Code::UnknownTool | Code::InvalidArguments => INVALID_PARAMS,
        Code::LimitExceeded | Code::CircuitOpen => LIMITED,
        Code::HookError | Code::HookTimeout | Code::ToolError | Code::LedgerUnavailable => INTERNAL,
        Code::HookDenied
        | Code::ApprovalRequired
        | Code::ApprovalDenied
        | Code::ApprovalExpired
        | Code::ApprovalCancelled
        | Code::Withheld
        | Code::SessionAborted
        | Code::NoPolicy
        | Code::Own(_) => REFUSED,
    }
}

/// The error of a tool that does not exist, in the words of the specification.
pub(super) fn unknown_tool(id: &Id, tool: &str) -> String {
    error(Some(id), INVALID_PARAMS, &format!("Unknown tool: {tool}"), None)
}

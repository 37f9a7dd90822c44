//! ECS 8: one document for Elasticsearch.
//!
//! Arguments go out as one text and not as an object: every agent's tools name their arguments as they
//! like, and each name would become a field of the index.

use super::told::{Disposition, Severity, Told};
use super::{content_text, names, object, put};
use tollgate_gate::{Json, Object};

const VERSION: &str = "8.17.0";

pub(super) fn object_of(told: &Told<'_>) -> Object {
    let mut out = object([
        ("@timestamp", Some(told.word("at").into())),
        ("ecs", Some(Object::from_iter([("version", VERSION)]).into())),
        ("message", Some(told.message().into())),
        ("event", Some(event(told))),
    ]);
    let rule = object([
        ("name", told.text("hook").map(Json::from)),
        ("ruleset", told.text("policy").map(Json::from)),
    ]);
    put(&mut out, "rule", (!rule.is_empty()).then_some(rule));
    put(&mut out, "user", named(told, "name", "user"));
    put(&mut out, "organization", named(told, "id", "tenant"));
    put(&mut out, "trace", named(told, "id", "root"));
    let service = object([("name", Some("tollgate".into())), ("type", Some("tollgate".into()))]);
    out.insert("service", service);
    let error = object([
        ("code", told.text("error").and_then(|_| told.text("code")).map(Json::from)),
        ("message", told.text("error").map(Json::from)),
    ]);
    put(&mut out, "error", (!error.is_empty()).then_some(error));
    put(&mut out, "tags", told.get("labels").map(names));
    out.insert("gen_ai", gen_ai(told));
    out.insert("tollgate", own(told));
    out
}

fn named(told: &Told<'_>, key: &str, from: &str) -> Option<Object> {
    Some(object([(key, Some(told.text(from)?.into()))]))
}

fn event(told: &Told<'_>) -> Json {
    let (category, kind) = category(told);
    let outcome = match told.get("ok").and_then(Json::as_bool) {
        Some(true) => "success",
        Some(false) => "failure",
        None if !told.is_of_event() => "success",
        None if told.word("kind") == "outcome" => "unknown",
        None if told.disposition().is_allowed() => "success",
        None => "failure",
    };
    let is_alert = told.severity() >= Severity::High;
    let taken = told.number("handler_us").or_else(|| told.number("hook_us"));
    object([
        ("kind", Some(if is_alert { "alert" } else { "event" }.into())),
        ("category", Some(vec![category].into())),
        ("type", Some(vec![kind].into())),
        ("action", Some(told.subject().into())),
        ("outcome", Some(outcome.into())),
        ("id", told.text("id").map(Json::from)),
        ("sequence", Some(told.seq.into())),
        ("severity", Some(severity(told.severity()).into())),
        ("code", told.text("code").map(Json::from)),
        ("reason", told.text("reason").map(Json::from)),
        ("duration", taken.map(|us| us.saturating_mul(1000).into())),
        ("hash", Some(told.line.to_string().into())),
        ("provider", Some("tollgate".into())),
        ("module", Some("tollgate".into())),
        ("dataset", Some("tollgate.ledger".into())),
    ])
    .into()
}

/// Category and type, from the pairs that ECS allows.
fn category(told: &Told<'_>) -> (&'static str, &'static str) {
    match told.word("kind") {
        "policy_load" | "mode_change" | "switch" | "trust" => ("configuration", "change"),
        "approval" => ("iam", "admin"),
        "session_abort" => ("session", "end"),
        "decision" | "outcome" => match told.disposition() {
            Disposition::Allowed
            | Disposition::Approved
            | Disposition::Corrected
            | Disposition::Logged => ("api", "allowed"),
            Disposition::Asked | Disposition::Answered => ("api", "info"),
            Disposition::Blocked
            | Disposition::Rejected
            | Disposition::Unauthorized
            | Disposition::Failed => ("api", "denied"),
        },
        _ => ("api", "info"),
    }
}

/// As the reference of `event.severity` has no scale of its own: that of CEF.
const fn severity(severity: Severity) -> u64 {
    match severity {
        Severity::Informational => 1,
        Severity::Low => 3,
        Severity::Medium => 5,
        Severity::High => 8,
        Severity::Critical => 10,
    }
}

fn gen_ai(told: &Told<'_>) -> Object {
    let operation = match (told.text("tool"), told.text("model")) {
        (Some(_), _) => Some("execute_tool"),
        (None, Some(_)) => Some("chat"),
        (None, None) => None,
    };
    let tool = object([
        ("name", told.text("tool").map(Json::from)),
        ("call", named(told, "id", "call_id").map(Json::from)),
    ]);
    let usage = object([
        ("input_tokens", told.number("tokens_in").map(Json::from)),
        ("output_tokens", told.number("tokens_out").map(Json::from)),
    ]);
    let some = |object: Object| (!object.is_empty()).then(|| Json::from(object));
    object([
        ("operation", operation.map(|name| Object::from_iter([("name", name)]).into())),
        ("agent", named(told, "name", "agent").map(Json::from)),
        ("conversation", named(told, "id", "session").map(Json::from)),
        ("request", named(told, "model", "model").map(Json::from)),
        ("tool", some(tool)),
        ("usage", some(usage)),
    ])
}

fn own(told: &Told<'_>) -> Object {
    let mut out = Object::new();
    for key in ["kind", "verdict", "would", "mode", "executed", "approval", "parent", "host"] {
        put(&mut out, key, told.get(key).cloned());
    }
    put(&mut out, "erased", told.is_erased().then_some(true));
    for key in ["server", "decision", "asked_digest", "ran_digest"] {
        put(&mut out, key, told.text(key));
    }
    put(&mut out, "arguments", told.arguments().map(content_text));
    put(&mut out, "rewritten_by", told.get("rewritten_by").map(names));
    put(&mut out, "detail", told.get("detail").map(content_text));
    out
}

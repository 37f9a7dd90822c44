//! OCSF 1.6: class API Activity (6003), with the profiles `security_control` and, for calls of models,
//! `ai_operation`.
//!
//! The version is pinned: later ones move attributes. Whether a call reads or changes something is not
//! in a record, so the activity is `Other` with the event's name, not a guess. What OCSF has no place
//! for is under `unmapped.tollgate`.

use super::told::{Disposition, Severity, Told};
use super::{content, names, object, put};
use crate::limits::LIST_MAX;
use tollgate_gate::{Json, Object};

/// The version of the schema.
const VERSION: &str = "1.6.0";
/// Category Application Activity, class API Activity, activity Other.
const CATEGORY_UID: u64 = 6;
const CLASS_UID: u64 = 6003;
const ACTIVITY_OTHER: u64 = 99;

pub(super) fn object_of(told: &Told<'_>) -> Object {
    let mut out = object([
        ("category_uid", Some(CATEGORY_UID.into())),
        ("category_name", Some("Application Activity".into())),
        ("class_uid", Some(CLASS_UID.into())),
        ("class_name", Some("API Activity".into())),
        ("activity_id", Some(ACTIVITY_OTHER.into())),
        ("activity_name", Some(told.subject().into())),
        ("type_uid", Some((CLASS_UID * 100 + ACTIVITY_OTHER).into())),
        ("time", Some(told.at().millis().into())),
        ("severity_id", Some(severity_id(told.severity()).into())),
        ("message", Some(told.message().into())),
        ("metadata", Some(metadata(told))),
        ("actor", Some(actor(told))),
        ("api", Some(api(told))),
        ("src_endpoint", Some(source(told))),
    ]);
    if let Some(called) = told.called() {
        let kind = if told.text("tool").is_some() { "tool" } else { "model" };
        let resource = object([("name", Some(called.into())), ("type", Some(kind.into()))]);
        out.insert("resources", vec![Json::from(resource)]);
    }
    put_status(&mut out, told);
    if told.is_of_event() {
        put_control(&mut out, told);
    }
    put_model(&mut out, told);
    out.insert("unmapped", Object::from_iter([("tollgate", unmapped(told))]));
    out
}

const fn severity_id(severity: Severity) -> u64 {
    match severity {
        Severity::Informational => 1,
        Severity::Low => 2,
        Severity::Medium => 3,
        Severity::High => 4,
        Severity::Critical => 5,
    }
}

fn metadata(told: &Told<'_>) -> Json {
    let product = object([
        ("name", Some("Tollgate".into())),
        ("vendor_name", Some("Tollgate".into())),
        ("version", Some(env!("CARGO_PKG_VERSION").into())),
    ]);
    let mut profiles = Vec::new();
    if told.is_of_event() {
        profiles.push("security_control");
    }
    if told.text("model").is_some() {
        profiles.push("ai_operation");
    }
    object([
        ("version", Some(VERSION.into())),
        ("product", Some(product.into())),
        ("profiles", (!profiles.is_empty()).then(|| profiles.into())),
        ("uid", told.text("id").map(Json::from)),
        ("event_code", Some(told.word("kind").into())),
        ("sequence", Some(told.seq.into())),
        ("log_name", Some("ledger".into())),
        ("tenant_uid", told.text("tenant").map(Json::from)),
        ("correlation_uid", told.text("root").or_else(|| told.text("session")).map(Json::from)),
    ])
    .into()
}

/// Who acts: the user, the session and the program that the agent is.
fn actor(told: &Told<'_>) -> Json {
    let user = told.text("user").map(|user| object([("name", Some(user.into()))]));
    let session = told.text("session").map(|id| object([("uid", Some(id.into()))]));
    let agent = told.text("agent").or_else(|| told.text("host"));
    object([
        ("user", user.map(Json::from)),
        ("session", session.map(Json::from)),
        // An actor names at least one thing; records of no session are of Tollgate itself.
        ("app_name", Some(agent.unwrap_or_else(|| "tollgate".to_owned()).into())),
    ])
    .into()
}

fn api(told: &Told<'_>) -> Json {
    let operation = told.called().unwrap_or_else(|| told.subject().to_owned());
    let service = told.text("server").map(|name| object([("name", Some(name.into()))]));
    let uid = told.text("call_id").or_else(|| told.text("id")).unwrap_or_default();
    let request = told
        .arguments()
        .map(|asked| object([("uid", Some(uid.into())), ("data", Some(content(asked)))]));
    let failed = told.word("kind") == "outcome" && told.text("error").is_some();
    let response = failed.then(|| {
        object([
            ("error", told.text("code").map(Json::from)),
            ("error_message", told.text("error").map(Json::from)),
        ])
    });
    object([
        ("operation", Some(operation.into())),
        ("service", service.map(Json::from)),
        ("request", request.map(Json::from)),
        ("response", response.map(Json::from)),
    ])
    .into()
}

/// Where it comes from. Records hold no address; the agent program is what is known.
fn source(told: &Told<'_>) -> Json {
    let service = told.text("host").or_else(|| told.text("agent"));
    object([
        ("svc_name", Some(service.unwrap_or_else(|| "tollgate".to_owned()).into())),
        ("instance_uid", told.text("session").map(Json::from)),
    ])
    .into()
}

fn put_status(out: &mut Object, told: &Told<'_>) {
    let status = match (told.word("kind"), told.get("ok").and_then(Json::as_bool)) {
        (_, Some(true)) => Some(1u64),
        (_, Some(false)) => Some(2),
        ("outcome", None) => Some(0),
        (_, None) => None,
    };
    put(out, "status_id", status);
    put(out, "status_code", told.text("code"));
    put(out, "status_detail", told.text("reason"));
    put(out, "duration", told.number("handler_us").map(|us| us / 1000));
}

/// The profile `security_control`: what was decided, by which policy and hook.
fn put_control(out: &mut Object, told: &Told<'_>) {
    let disposition = told.disposition();
    let (id, name) = disposition_id(disposition);
    out.insert("action_id", if disposition.is_allowed() { 1u64 } else { 2 });
    out.insert("disposition_id", id);
    out.insert("disposition", name);
    out.insert("is_alert", told.severity() >= Severity::High);
    let policy =
        |name: Option<Json>| object([("name", name), ("uid", told.text("policy").map(Json::from))]);
    if told.text("policy").is_some() {
        out.insert("policy", policy(Some("tollgate".into())));
    }
    put(out, "firewall_rule", told.text("hook").map(|hook| object([("name", Some(hook.into()))])));
    let authorizations: Vec<Json> = told
        .votes()
        .iter()
        .filter(|vote| vote.get("vote").is_some_and(|vote| !vote.is_null()))
        .take(LIST_MAX)
        .map(|vote| {
            let policy = policy(vote.get("hook").cloned());
            object([("decision", vote.get("vote").cloned()), ("policy", Some(policy.into()))])
                .into()
        })
        .collect();
    if !authorizations.is_empty() {
        out.insert("authorizations", authorizations);
    }
}

const fn disposition_id(disposition: Disposition) -> (u64, &'static str) {
    match disposition {
        Disposition::Allowed => (1, "Allowed"),
        Disposition::Blocked => (2, "Blocked"),
        Disposition::Approved => (8, "Approved"),
        Disposition::Corrected => (11, "Corrected"),
        Disposition::Logged => (17, "Logged"),
        Disposition::Asked => (23, "Challenge"),
        Disposition::Rejected => (25, "Rejected"),
        Disposition::Unauthorized => (26, "Unauthorized"),
        Disposition::Failed => (27, "Error"),
        Disposition::Answered => (99, "Answered"),
    }
}

/// The profile `ai_operation`.
fn put_model(out: &mut Object, told: &Told<'_>) {
    let Some(model) = told.text("model") else { return };
    // Records do not hold the provider, which the schema requires.
    let model = object([("name", Some(model.into())), ("ai_provider", Some("Unknown".into()))]);
    out.insert("ai_model", model);
    let (prompt, completion) = (told.number("tokens_in"), told.number("tokens_out"));
    let application = told.text("agent").unwrap_or_else(|| "tollgate".to_owned());
    out.insert(
        "message_context",
        object([
            ("application", Some(application.into())),
            ("uid", told.text("session").map(Json::from)),
            ("ai_role_id", Some(2u64.into())),
            ("prompt_tokens", prompt.map(Json::from)),
            ("completion_tokens", completion.map(Json::from)),
            ("total_tokens", prompt.zip(completion).map(|(a, b)| a.saturating_add(b).into())),
        ]),
    );
}

fn unmapped(told: &Told<'_>) -> Object {
    let mut out = object([("line_sha256", Some(told.line.to_string().into()))]);
    for key in ["verdict", "would", "mode", "executed", "approval", "parent", "host"] {
        put(&mut out, key, told.get(key).cloned());
    }
    put(&mut out, "erased", told.is_erased().then_some(true));
    for key in ["labels", "rewritten_by"] {
        put(&mut out, key, told.get(key).map(names));
    }
    for key in ["decision", "asked_digest", "ran_digest"] {
        put(&mut out, key, told.text(key));
    }
    put(&mut out, "hook_us", told.number("hook_us"));
    put(&mut out, "cost_micros", told.number("cost_micros"));
    put(&mut out, "detail", told.get("detail").map(content));
    out
}

//! Reads the fields of [`super::scope`] from an event.

use super::eval::{Fault, Run};
use super::scope::{Count, Known};
use super::value::Value;
use std::sync::LazyLock;
use tollgate_gate::{Counters, EventId, Failure, Json, Name, Object, Payload};

static EMPTY: LazyLock<Json> = LazyLock::new(|| Object::new().into());

/// The value of a field; [`Fault::Missing`] when it is absent.
pub(super) fn read<'a>(run: &Run<'a>, known: Known) -> Result<Value<'a>, Fault<'a>> {
    let (event, payload) = (run.subject.event, run.subject.payload);
    let session = &*event.session;
    let text = |text: &'a str| Ok(Value::Text(text));
    let optional = |name: &'a Option<Name>, field| {
        name.as_deref().map(Value::Text).ok_or(Fault::Missing(field))
    };
    match known {
        Known::EventKind => text(payload.kind().name()),
        Known::EventId => Ok(match &event.id {
            EventId::Given(id) => Value::Text(id),
            EventId::Made(_) => Value::Made(event.id.to_string().into()),
        }),
        Known::EventTags => Ok(Value::Names(&event.tags)),
        Known::EventAt => Ok(Value::Timestamp(i64::try_from(event.at.nanos()).unwrap_or(i64::MAX))),
        Known::EventTool => text(payload.tool_call().map_or("", |call| &*call.tool)),
        Known::EventServer => match payload.tool_call() {
            Some(call) => optional(&call.server, "server"),
            None => Err(Fault::Missing("server")),
        },
        Known::Args | Known::OriginalArgs | Known::Call => Ok(Value::from(json(run, known))),
        Known::Model => Ok(model(payload)),
        Known::OriginalModel => Ok(model(&event.payload)),
        Known::Messages => Ok(messages(payload)),
        Known::OriginalMessages => Ok(messages(&event.payload)),
        Known::ResultOk
        | Known::ResultContent
        | Known::ResultExecuted
        | Known::ResultError
        | Known::ResultErrorCode
        | Known::ResultErrorMessage
        | Known::ResultErrorTool => result(payload, known),
        Known::SessionId => text(&session.id),
        Known::SessionRoot => {
            let root = &*run.subject.session.root;
            text(if root.is_empty() { &session.id } else { root })
        }
        Known::SessionParent => optional(&session.parent, "parent"),
        Known::SessionCwd => optional(&session.cwd, "cwd"),
        Known::SessionWorkspace => optional(&session.workspace, "workspace"),
        Known::SessionHost => optional(&session.host, "host"),
        Known::SessionAgent => optional(&session.agent, "agent"),
        Known::SessionTenant => optional(&session.tenant, "tenant"),
        Known::SessionUser => optional(&session.user, "user"),
        Known::SessionLabels => Ok(Value::Labels(&run.subject.session.labels)),
        Known::Tree(what) => Ok(Value::Int(count(&run.subject.session.tree, what))),
        Known::Own(what) => Ok(Value::Int(count(&run.subject.session.counters, what))),
        Known::UserName => text(session.user.as_deref().unwrap_or_default()),
        Known::UserGroups => {
            let groups = session.user.as_deref().map(|user| run.groups.of(user));
            Ok(Value::Names(groups.unwrap_or_default()))
        }
        Known::Tenant => text(session.tenant.as_deref().unwrap_or_default()),
    }
}

/// The JSON value at the root of a path. No arguments are an empty map, and so is the canonical
/// reading of a call of no known kind.
pub(super) fn json<'a>(run: &Run<'a>, root: Known) -> &'a Json {
    let payload = match root {
        Known::OriginalArgs => &run.subject.event.payload,
        _ => run.subject.payload,
    };
    let json = match payload.tool_call() {
        None => None,
        Some(call) if root == Known::Call => call.call.as_deref(),
        Some(call) => Some(&*call.arguments),
    };
    json.filter(|json| !json.is_null()).unwrap_or(&EMPTY)
}

fn model(payload: &Payload) -> Value<'_> {
    let model = payload.model_call().and_then(|call| call.model());
    Value::Text(model.unwrap_or_default())
}

fn messages(payload: &Payload) -> Value<'_> {
    let messages = payload.model_call().and_then(|call| call.request.get("messages"));
    Value::Array(messages.and_then(Json::as_array).unwrap_or_default())
}

fn result(payload: &Payload, known: Known) -> Result<Value<'_>, Fault<'_>> {
    let (ok, content, executed, error) = if let Some(result) = payload.tool_result() {
        (result.ok, &result.content, result.executed, result.error.as_ref())
    } else if let Payload::PostModel(outcome) = payload {
        (outcome.ok, &outcome.reply, outcome.executed, outcome.error.as_ref())
    } else {
        return Err(Fault::Missing("result"));
    };
    let failed = |f: fn(&Failure) -> &str| {
        error.map(|error| Value::Text(f(error))).ok_or(Fault::Missing("error"))
    };
    match known {
        Known::ResultOk => Ok(Value::Bool(ok)),
        Known::ResultContent => Ok(Value::from(&**content)),
        Known::ResultExecuted => Ok(Value::Bool(executed)),
        Known::ResultErrorMessage => failed(|error| &error.message),
        Known::ResultErrorTool => failed(|error| &error.tool),
        _ => failed(|error| error.code.as_str()),
    }
}

fn count(counters: &Counters, what: Count) -> i64 {
    let count = match what {
        Count::ToolCalls => counters.tool_calls_attempted,
        Count::ToolCallsExecuted => counters.tool_calls_executed,
        Count::ToolCallsRefused => counters.tool_calls_refused,
        Count::ModelCalls => counters.model_calls,
        Count::TokensIn => counters.tokens_in,
        Count::TokensOut => counters.tokens_out,
        Count::Tokens => counters.tokens_in.saturating_add(counters.tokens_out),
        Count::CostMicros => counters.cost_micros,
    };
    i64::try_from(count).unwrap_or(i64::MAX)
}

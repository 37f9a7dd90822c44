//! The published form of event, decision and record, as types that a schema is generated from.
//!
//! `wire.rs`, `decision.rs` and `record.rs` read and write these forms by hand, for speed and so that
//! numbers and unknown fields survive; a test holds every field they write against what stands here.
//! Every field names the version that introduced it. Within a major version fields are only added,
//! and only optional ones.

use crate::kind::EventKind;
use crate::record::RecordKind;
use crate::ruleset::Mode;
use crate::vote::VoteKind;
use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::Value;

/// One point in an agent's life, as a host shows it to the gate.
///
/// Unknown fields are kept and passed on. Numbers survive as they are written.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "Tollgate event", rename = "Event")]
struct EventForm {
    /// The version of this form: 1. May be left out. Since 0.1.
    #[schemars(range(min = 1, max = 1))]
    version: Option<u32>,
    /// The event's id. Left out, the gate makes one (a UUID of version 7). Since 0.1.
    #[schemars(length(min = 1, max = 1024))]
    id: Option<String>,
    /// When it happened, in the form of RFC 3339. Left out: now. Since 0.1.
    at: Option<String>,
    /// Words for matching, set by the host. Since 0.1.
    #[schemars(length(max = 64), inner(length(max = 1024)))]
    tags: Option<Vec<String>>,
    /// Who acts. Since 0.1.
    session: SessionForm,
    /// The kind, and what the event carries. Since 0.1.
    #[serde(flatten)]
    payload: PayloadForm,
}

/// Who acts. Set by the adapter, not by the agent.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Session")]
struct SessionForm {
    /// The session's id. Since 0.1.
    #[schemars(length(min = 1, max = 1024))]
    id: String,
    /// The tenant. Since 0.1.
    tenant: Option<String>,
    /// The person for whom the agent acts. Since 0.1.
    user: Option<String>,
    /// The agent's name. Since 0.1.
    agent: Option<String>,
    /// The session that started this one. Since 0.1.
    parent: Option<String>,
    /// The first session of the tree. Since 0.1.
    root: Option<String>,
    /// The working directory. Since 0.1.
    cwd: Option<String>,
    /// The project's root, fixed when the session starts. Since 0.1.
    workspace: Option<String>,
    /// The host program. Since 0.1.
    host: Option<String>,
}

/// What an event carries, by its kind.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind", content = "payload", rename_all = "snake_case")]
#[schemars(rename = "Payload")]
#[expect(dead_code, reason = "only its schema is used")]
enum PayloadForm {
    /// A session opens. Since 0.1.
    AgentStart(OpeningForm),
    /// The prompt is assembled. Since 0.1.
    PromptBuild(PromptForm),
    /// Stored memory enters the context. Since 0.1.
    MemoryLoad(MemoryForm),
    /// Before a model call. Since 0.1.
    PreModel(ModelCallForm),
    /// After a model call. Since 0.1.
    PostModel(ModelOutcomeForm),
    /// Before a tool call. Since 0.1.
    PreTool(ToolCallForm),
    /// A tool call ended well: it ran, or was answered in its place. Since 0.1.
    PostTool(ToolOutcomeForm),
    /// A tool call ended badly: failed, refused, unknown tool, invalid arguments. Since 0.1.
    ToolError(ToolOutcomeForm),
    /// The agent finished. Since 0.1.
    AgentEnd(EndingForm),
    /// The session was ended. Since 0.1.
    AgentAbort(AbortionForm),
    /// Anything else went wrong. Since 0.1.
    Error(ReportForm),
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Opening")]
struct OpeningForm {
    /// What the agent starts with; may be rewritten. Since 0.1.
    context: Option<Value>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PromptBuild")]
struct PromptForm {
    /// The prompt: a text or a list of messages; may be rewritten. Since 0.1.
    prompt: Option<Value>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MemoryLoad")]
struct MemoryForm {
    /// The memory text; may be rewritten. Since 0.1.
    memory: Option<Value>,
    /// Where it came from. Since 0.1.
    source: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ModelCall")]
struct ModelCallForm {
    /// Who serves the model. Since 0.1.
    provider: Option<String>,
    /// The call's id within its session. Since 0.1.
    call_id: Option<String>,
    /// The model; may be rewritten. Since 0.1.
    model: String,
    /// The messages; may be rewritten. Since 0.1.
    messages: Option<Vec<Value>>,
    /// The tools that the model may call; may be rewritten. Since 0.1.
    tools: Option<Vec<Value>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ModelOutcome")]
struct ModelOutcomeForm {
    /// The call as it ran. Since 0.1.
    #[serde(flatten)]
    call: ModelCallForm,
    /// What the model said; may be rewritten. Since 0.1.
    reply: Option<Value>,
    /// The tool calls that the model asks for; may be rewritten. Since 0.1.
    tool_calls: Option<Vec<Value>>,
    /// Whether it ended well. Left out: when there is no error. Since 0.1.
    ok: Option<bool>,
    /// Whether the model was called. Left out: yes. Since 0.1.
    executed: Option<bool>,
    /// The failure. Since 0.1.
    error: Option<FailureForm>,
    /// What it used. Since 0.1.
    usage: Option<UsageForm>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToolCall")]
struct ToolCallForm {
    /// The tool's name. Since 0.1.
    #[schemars(length(min = 1, max = 1024))]
    tool: String,
    /// The server that has the tool. Since 0.1.
    server: Option<String>,
    /// The call's id within its session. Since 0.1.
    call_id: Option<String>,
    /// The arguments; may be rewritten. Since 0.1.
    arguments: Option<serde_json::Map<String, Value>>,
    /// The canonical reading of a host's own tool: `{kind: shell|read|write|edit|delete|fetch|
    /// search|mcp|task, command|path|url ...}`. Since 0.1.
    call: Option<serde_json::Map<String, Value>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToolOutcome")]
struct ToolOutcomeForm {
    /// The call as it ran. Since 0.1.
    #[serde(flatten)]
    call: ToolCallForm,
    /// What came of it. Since 0.1.
    result: ResultForm,
}

/// What a call gives back to the model.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Result")]
struct ResultForm {
    /// Whether it ended well. Since 0.1.
    ok: Option<bool>,
    /// What it gave back; may be rewritten. Since 0.1.
    content: Option<Value>,
    /// The failure; its text may be rewritten. Since 0.1.
    error: Option<FailureForm>,
    /// Whether the tool ran. Left out: yes. Since 0.1.
    executed: Option<bool>,
    /// What it used. Since 0.1.
    usage: Option<UsageForm>,
}

/// The shape of every failed call.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Failure")]
struct FailureForm {
    /// For programs: one of the known codes, or one of the policy's own. Since 0.1.
    code: String,
    /// For the model. Since 0.1.
    message: String,
    /// The tool or model that was asked for. Since 0.1.
    tool: String,
}

/// Tokens and money.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Usage")]
struct UsageForm {
    /// Tokens read by the model. Since 0.1.
    tokens_in: Option<u64>,
    /// Tokens written by the model. Since 0.1.
    tokens_out: Option<u64>,
    /// Cost in millionths of the deployment's currency. Since 0.1.
    cost_micros: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Ending")]
struct EndingForm {
    /// The final answer; may be rewritten. Since 0.1.
    answer: Option<Value>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Abortion")]
struct AbortionForm {
    /// The code of whoever ended it. Since 0.1.
    code: Option<String>,
    /// Why. Since 0.1.
    reason: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Report")]
struct ReportForm {
    /// Where it went wrong. Since 0.1.
    source: Option<String>,
    /// What went wrong. Since 0.1.
    message: Option<String>,
}

/// What was decided for an event.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "Tollgate decision", rename = "Decision")]
struct DecisionForm {
    /// The version of this form: 1. Since 0.1.
    version: u32,
    /// The event. Since 0.1.
    event_id: String,
    /// The event's kind, and the payload as it will run or go on. For a before-event that does not
    /// go through the payload also has `result`: what the model is given instead. Since 0.1.
    kind: EventKind,
    /// The payload; see `kind`. Since 0.1.
    payload: serde_json::Map<String, Value>,
    /// What holds. Since 0.1.
    verdict: VoteKind,
    /// The code of a refusal. Since 0.1.
    code: Option<String>,
    /// Why. Since 0.1.
    reason: Option<String>,
    /// The hook whose vote decides. Since 0.1.
    hook: Option<String>,
    /// Hooks that rewrote, in order. Since 0.1.
    rewritten_by: Vec<String>,
    /// The approval that let it pass, or that is open. Since 0.1.
    approval: Option<String>,
    /// The host's own prompt is to be skipped. Left out: no. Since 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    skip_host_prompt: Option<bool>,
    /// The digest of the ruleset that decided. Since 0.1.
    policy: String,
    /// The mode. Since 0.1.
    mode: Mode,
    /// In mode `dry_run`: what would have been decided. Since 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    would: Option<VoteKind>,
    /// What a person can do about a refusal; not for the model. Since 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    /// What each hook that ran said, in order. Since 0.1.
    votes: Vec<CastForm>,
}

/// What one hook said.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Vote")]
struct CastForm {
    /// The hook. Since 0.1.
    hook: String,
    /// Its vote; null is no opinion. Since 0.1.
    vote: Option<VoteKind>,
    /// The code of its refusal. Since 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    /// The reason of its refusal or question. Since 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Who must agree, for a question. Since 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    who: Option<Vec<String>>,
    /// Whether it rewrote the payload. Since 0.1.
    rewrote: bool,
    /// Whether it was dry: recorded and without effect. Since 0.1.
    dry_run: bool,
    /// What went wrong with it. Since 0.1.
    fault: Option<String>,
    /// How many claims it asked for. Left out: none. Since 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    claims: Option<u32>,
    /// Whether this is its vote of the judging-only pass. Left out: no. Since 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    judged_again: Option<bool>,
    /// Rules of what it found and masked. Since 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<Vec<String>>,
    /// What it found, counted by rule, with what rules on trial found. Since 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<Vec<FoundForm>>,
    /// How long it took, in microseconds. Since 0.1.
    us: u32,
}

/// What a hook found of one rule.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Found")]
struct FoundForm {
    /// The rule. Since 0.1.
    rule: String,
    /// How many times. Since 0.1.
    count: u32,
    /// How bad it is: low, medium, high or critical. Since 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<String>,
    /// Whether the rule is on trial, so that what it found was let through. Left out: no. Since 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
    /// Keyed fingerprints of the data, for review, where the hook keeps them. Since 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    prints: Option<Vec<String>>,
}

/// One line of the ledger. What is not set is left out. A ledger adds fields of its own for its
/// chain.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "Tollgate record", rename = "Record")]
struct RecordForm {
    /// The version of this form: 1. Since 0.1.
    version: u32,
    /// The record's id: that of the event, for a decision. Since 0.1.
    id: String,
    /// When, in the form of RFC 3339. Since 0.1.
    at: String,
    /// What the record is about. Since 0.1.
    kind: RecordKind,
    /// The event's kind. Since 0.1.
    event: Option<EventKind>,
    /// The decision that an outcome belongs to. Since 0.1.
    decision: Option<String>,
    /// The session's id. Since 0.1.
    session: Option<String>,
    /// The tenant. Since 0.1.
    tenant: Option<String>,
    /// The user. Since 0.1.
    user: Option<String>,
    /// The agent. Since 0.1.
    agent: Option<String>,
    /// The parent session. Since 0.1.
    parent: Option<String>,
    /// The host. Since 0.1.
    host: Option<String>,
    /// The working directory. Since 0.1.
    cwd: Option<String>,
    /// The first session of the tree. Since 0.1.
    root: Option<String>,
    /// The tool. Since 0.1.
    tool: Option<String>,
    /// The server that has the tool. Since 0.1.
    server: Option<String>,
    /// The model. Since 0.1.
    model: Option<String>,
    /// The call's id. Since 0.1.
    call_id: Option<String>,
    /// Arguments or request as asked, scrubbed. Since 0.1.
    asked: Option<Value>,
    /// Arguments or request as run, scrubbed, where they differ. Since 0.1.
    ran: Option<Value>,
    /// Keyed digest of what was asked. Since 0.1.
    asked_digest: Option<String>,
    /// Keyed digest of what ran, where it differs. Since 0.1.
    ran_digest: Option<String>,
    /// The verdict. Since 0.1.
    verdict: Option<VoteKind>,
    /// In mode `dry_run`: what would have been decided. Since 0.1.
    would: Option<VoteKind>,
    /// The code of a refusal or failure. Since 0.1.
    code: Option<String>,
    /// Why. Since 0.1.
    reason: Option<String>,
    /// The hook that decided, or that a switch is about. Since 0.1.
    hook: Option<String>,
    /// What each hook that ran said. Since 0.1.
    votes: Option<Vec<CastForm>>,
    /// Hooks that rewrote. Since 0.1.
    rewritten_by: Option<Vec<String>>,
    /// The digest of the ruleset. Since 0.1.
    policy: Option<String>,
    /// The mode. Since 0.1.
    mode: Option<Mode>,
    /// Whether the effect took place; null is unknown. Since 0.1.
    executed: Option<bool>,
    /// Whether it ended well; null is unknown. Since 0.1.
    ok: Option<bool>,
    /// The text of the failure, scrubbed. Since 0.1.
    error: Option<String>,
    /// Time in hooks, in microseconds. Since 0.1.
    hook_us: Option<u64>,
    /// Time in the tool or model, in microseconds. Since 0.1.
    handler_us: Option<u64>,
    /// Tokens read by the model. Since 0.1.
    tokens_in: Option<u64>,
    /// Tokens written by the model. Since 0.1.
    tokens_out: Option<u64>,
    /// Cost in millionths of the deployment's currency. Since 0.1.
    cost_micros: Option<u64>,
    /// The approval. Since 0.1.
    approval: Option<String>,
    /// Labels that the event gave its session. Since 0.1.
    labels: Option<Vec<String>>,
    /// What records of other kinds tell. Since 0.1.
    detail: Option<Value>,
}

fn schema_of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>()
}

/// The JSON Schema of events.
pub fn event() -> Schema {
    schema_of::<EventForm>()
}

/// The JSON Schema of decisions.
pub fn decision() -> Schema {
    schema_of::<DecisionForm>()
}

/// The JSON Schema of records.
pub fn record() -> Schema {
    schema_of::<RecordForm>()
}

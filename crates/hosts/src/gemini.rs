//! Gemini CLI: `decision` and `reason` at the top, no call ids, time limits in milliseconds.

use crate::answer::{Answer, Wanted, decided, specific, text_of};
use crate::call::{self, Reading, Tools, of};
use crate::claude_code::{at_start, failed, opening, who};
use crate::facts::{Ability, Crash, EventFacts, EventUse, Evidence, Facts, TimeUnit};
use crate::heard::{APPEND, APPEND_ONLY, Fields, Heard, REFUSE_ONLY, SHOWN_ONLY, Unreadable};
use crate::host::Host;
use tollgate_gate::EventKind::{
    AgentEnd, AgentStart, PostTool, PreModel, PreTool, PromptBuild, ToolError,
};
use tollgate_gate::payload::{Ending, ModelCall, PromptBuild as Prompt};
use tollgate_gate::{
    Bounds, CallReader, Json, Name, Object, Payload, ToolCall, ToolOutcome, ToolResult,
};

/// Gemini CLI.
pub(crate) struct Gemini;

static FACTS: Facts = Facts {
    name: "gemini",
    title: "Gemini CLI",
    evidence: Evidence::Live("0.61.0"),
    events: &[
        EventFacts::judged("BeforeTool", &[PreTool]),
        EventFacts::judged("AfterTool", &[PostTool, ToolError]),
        EventFacts::judged("BeforeAgent", &[PromptBuild]),
        EventFacts::judged("AfterAgent", &[AgentEnd]),
        EventFacts::judged("BeforeModel", &[PreModel]),
        EventFacts::judged("SessionStart", &[AgentStart]),
        EventFacts {
            name: "SessionEnd",
            used: EventUse::Remembered("what was remembered of the session is cleared"),
            timeout_ms: None,
        },
        EventFacts::ignored("AfterModel", "it comes once a chunk: no chunk is a reply"),
        EventFacts::ignored("BeforeToolSelection", "it takes no decision"),
        EventFacts::ignored("PreCompress", "it only tells"),
        EventFacts::ignored("Notification", "it only tells"),
    ],
    ask: Ability::No("the approval is Tollgate's own, or the call is refused"),
    skip_prompt: Ability::No("its own prompt stays"),
    rewrite: Ability::Partly("the model is told that a hook changed the input"),
    redact: Ability::Partly("the result becomes an error text"),
    redact_failure: Ability::Partly("as for results"),
    errors_stay: false,
    on_crash: Crash::Open,
    on_timeout: Crash::Open,
    timeout_ms: 60_000,
    timeout_unit: TimeUnit::Milliseconds,
    not_shown: &[
        "which of its agents acts: calls of a sub-agent come as the session's own",
        "the model's answers as a whole (they come by chunks)",
        "everything, in a folder that it does not trust, for hooks of the project",
    ],
};

const PATHS: &[&str] = &["file_path", "absolute_path", "path"];
const FOLDERS: &[&str] = &["dir_path", "path"];

static TOOLS: Tools = &[
    ("run_shell_command", Reading::Shell("command", &["dir_path", "directory"])),
    ("read_file", Reading::Read(PATHS)),
    ("list_directory", Reading::Read(FOLDERS)),
    ("write_file", Reading::Write(PATHS, &["content"])),
    ("replace", Reading::Edit(PATHS)),
    ("glob", Reading::Search(FOLDERS, &["pattern"])),
    ("grep_search", Reading::Grep(FOLDERS, &["include", "include_pattern"])),
    ("search_file_content", Reading::Grep(FOLDERS, &["include"])),
    ("read_many_files", Reading::Grep(&[], &["include"])),
    ("google_web_search", Reading::Web("query")),
    ("invoke_agent", Reading::Task(&["agent_name"])),
];

/// The page that `web_fetch` gets stands in its prompt; more than one is not told by one address.
fn reading(call: &ToolCall) -> Option<Json> {
    if call.server.is_none() && &*call.tool == "web_fetch" {
        let prompt = call.arguments.get("prompt").and_then(Json::as_str)?;
        let mut urls = prompt.split_whitespace().filter(|word| word.contains("://"));
        let url = urls.next().filter(|_| urls.next().is_none())?;
        return Some(of([("kind", "fetch".into()), ("url", url.into())]));
    }
    call::read(TOOLS, call)
}

/// Tools of servers are named `mcp_<server>_<tool>`; which part is which, the context says.
fn tool_call(fields: &Fields<'_>) -> Result<ToolCall, Unreadable> {
    let full = fields.need("tool_name")?;
    let context = fields.value("mcp_context");
    let of_context = |key: &str| context.get(key).and_then(Json::as_str).map(str::to_owned);
    let parted = match (of_context("server_name"), of_context("tool_name")) {
        (Some(server), Some(tool)) => Some((server, tool)),
        (Some(server), None) => {
            let tool = full.strip_prefix("mcp_").and_then(|rest| rest.strip_prefix(&*server));
            tool.and_then(|tool| tool.strip_prefix('_')).map(|tool| (server, tool.to_owned()))
        }
        _ => full.strip_prefix("mcp_").and_then(|rest| {
            rest.split_once('_').map(|(server, tool)| (server.to_owned(), tool.to_owned()))
        }),
    };
    let (server, tool) = match parted {
        Some((server, tool)) => (Some(Name::from(server)), tool),
        None => (None, full.to_owned()),
    };
    let mut call = ToolCall::new(tool, fields.object("tool_input")?);
    call.server = server;
    Ok(call.read_by(CallReader(reading)))
}

fn outcome(call: ToolCall, response: Json) -> ToolOutcome {
    match response.get("error").filter(|error| !error.is_null()) {
        None => ToolOutcome { call: call.into(), result: ToolResult::success(response) },
        Some(error) => {
            let message = error.get("message").and_then(Json::as_str).map(str::to_owned);
            let message = message.unwrap_or_else(|| text_of(error));
            let mut outcome = failed(call, &message, true);
            outcome.result.content = response.into();
            outcome
        }
    }
}

/// The text of a result that the model would be given: a text, parts, or an object around them.
fn shown(content: &Json) -> String {
    match content {
        Json::String(text) => text.clone(),
        Json::Array(parts) => parts.iter().map(shown).collect::<Vec<_>>().join("\n"),
        Json::Object(object) => match object.get("llmContent").or_else(|| object.get("text")) {
            Some(inner) => shown(inner),
            None => content.text(),
        },
        Json::Null | Json::Bool(_) | Json::Number(_) => content.text(),
    }
}

fn model_call(fields: &Fields<'_>) -> Result<ModelCall, Unreadable> {
    let request = fields.object("llm_request")?;
    Ok(ModelCall {
        provider: Some("google".into()),
        request: request.into(),
        ..ModelCall::default()
    })
}

fn payload(event: &str, fields: &Fields<'_>) -> Result<(Option<Payload>, Bounds), Unreadable> {
    let free = Bounds::default();
    let (payload, bounds): (Payload, Bounds) = match event {
        "BeforeTool" => (tool_call(fields)?.into(), free),
        "AfterTool" => (outcome(tool_call(fields)?, fields.value("tool_response")).into(), free),
        "BeforeAgent" => {
            let prompt = Json::from(fields.need("prompt")?).into();
            (Prompt { prompt, extra: Object::new() }.into(), APPEND)
        }
        "AfterAgent" => {
            let answer = fields.value("prompt_response").into();
            (Ending { answer, extra: Object::new() }.into(), SHOWN_ONLY)
        }
        // Its messages are flat texts: sent back, the calls between them would be lost.
        "BeforeModel" => (model_call(fields)?.into(), REFUSE_ONLY),
        "SessionStart" => (opening().into(), APPEND_ONLY),
        _ => return Ok((None, free)),
    };
    Ok((Some(payload), bounds))
}

impl Host for Gemini {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn read(&self, message: Json, event: Option<&str>) -> Result<Heard, Unreadable> {
        let Json::Object(message) = message else { return Err(Unreadable::NoObject) };
        let fields = Fields(&message);
        let event = fields.event(event, |name| FACTS.event(name))?;
        let who = who(&fields)?;
        let (payload, bounds) = payload(event.name, &fields)?;
        Ok(Heard { event, who, payload, bounds, can_ask: false, notice: None, message })
    }

    fn reading_of(&self, call: &ToolCall) -> Option<Json> {
        reading(call)
    }

    fn command_of(&self, call: &ToolCall) -> Option<&'static str> {
        call::command_of(TOOLS, call)
    }

    fn answer(&self, heard: &Heard, wanted: &Wanted) -> Answer {
        match heard.event.name {
            "BeforeTool" => before_tool(wanted),
            "AfterTool" => after_tool(wanted),
            "BeforeAgent" => at_prompt(heard.event.name, wanted),
            "BeforeModel" => before_model(wanted),
            "SessionStart" => at_start(heard, wanted),
            _ => Answer::silence(),
        }
    }
}

/// Where a decision has no words of its own.
const REFUSED: &str = "refused by policy";

fn before_tool(wanted: &Wanted) -> Answer {
    match wanted {
        Wanted::Nothing | Wanted::Allow => Answer::silence(),
        Wanted::Rewrite { arguments, .. } => {
            specific("BeforeTool", [("tool_input", arguments.clone())])
        }
        Wanted::Ask(reason)
        | Wanted::Refuse(reason)
        | Wanted::Withhold(reason)
        | Wanted::Append(reason)
        | Wanted::ReplaceError(reason) => decided("deny", reason).and_exit_2(reason),
        Wanted::Replace(_) => decided("deny", REFUSED).and_exit_2(REFUSED),
    }
}

fn after_tool(wanted: &Wanted) -> Answer {
    match wanted {
        Wanted::Nothing | Wanted::Allow | Wanted::Append(_) => Answer::silence(),
        Wanted::Replace(content) => decided("deny", &shown(content)),
        Wanted::ReplaceError(text)
        | Wanted::Withhold(text)
        | Wanted::Refuse(text)
        | Wanted::Ask(text) => decided("deny", text),
        Wanted::Rewrite { .. } => decided("deny", "withheld by policy"),
    }
}

fn at_prompt(event: &str, wanted: &Wanted) -> Answer {
    match wanted {
        Wanted::Nothing | Wanted::Allow => Answer::silence(),
        Wanted::Append(text) => specific(event, [("additionalContext", text.as_str().into())]),
        Wanted::Refuse(reason)
        | Wanted::Ask(reason)
        | Wanted::Withhold(reason)
        | Wanted::ReplaceError(reason) => decided("deny", reason).and_exit_2(reason),
        Wanted::Rewrite { .. } | Wanted::Replace(_) => decided("deny", REFUSED).and_exit_2(REFUSED),
    }
}

fn before_model(wanted: &Wanted) -> Answer {
    match wanted {
        Wanted::Nothing | Wanted::Allow => Answer::silence(),
        Wanted::Refuse(reason)
        | Wanted::Ask(reason)
        | Wanted::Withhold(reason)
        | Wanted::Append(reason)
        | Wanted::ReplaceError(reason) => decided("deny", reason).and_exit_2(reason),
        Wanted::Rewrite { .. } | Wanted::Replace(_) => decided("deny", REFUSED).and_exit_2(REFUSED),
    }
}

//! What a decision wants of a host, and the answer that says so.
//!
//! The first half is the same for every host; the second is each host's own. An answer is exactly one
//! JSON object and nothing else, or nothing at all, which every host takes for consent.

use crate::call::of;
use crate::heard::Heard;
use tollgate_gate::{Decision, Json, Payload, Phase, Verdict};

/// What a hook process leaves behind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// The whole of standard output.
    pub stdout: String,
    /// For people, and in some cases for the model.
    pub stderr: String,
    /// The exit code.
    pub exit: u8,
}

impl Answer {
    /// Nothing: the host goes on as if there were no hook.
    pub fn silence() -> Answer {
        Answer::default()
    }

    /// One JSON object.
    pub fn json(value: &Json) -> Answer {
        Answer { stdout: format!("{}\n", value.text()), ..Answer::default() }
    }

    /// The refusal that every host knows without any JSON: exit code 2, the reason on standard error.
    pub fn exit_2(why: &str) -> Answer {
        // A blank reason is no reason: a host lets the call run then.
        let why = if why.trim().is_empty() { "refused" } else { why };
        Answer { stderr: format!("{why}\n"), exit: 2, ..Answer::default() }
    }

    /// A refusal said twice: in the host's words, and by the exit code with its reason on standard error.
    /// Where something else has written to standard output before (a banner of a shell, a wrapper), no
    /// host reads the words any more, and every one still hears the code.
    #[must_use]
    pub(crate) fn and_exit_2(self, why: &str) -> Answer {
        Answer { stdout: self.stdout, ..Answer::exit_2(why) }
    }

    /// Something went wrong where nothing can be refused: the person is told.
    pub fn complaint(why: &str) -> Answer {
        Answer { stderr: format!("{why}\n"), exit: 1, ..Answer::default() }
    }
}

/// What a decision wants of the host.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// It goes on.
    Nothing,
    /// The call goes on, and the host's own prompt is skipped.
    Allow,
    /// The host asks its user.
    Ask(String),
    /// It does not go on.
    Refuse(String),
    /// The call goes on with these arguments.
    Rewrite {
        /// All of them.
        arguments: Json,
        /// Whether the host's own prompt is skipped.
        skip_prompt: bool,
    },
    /// The text goes on with more behind it.
    Append(String),
    /// The result is replaced by this, in the shape that it had.
    Replace(Json),
    /// The error's text is replaced.
    ReplaceError(String),
    /// The result is replaced by a notice.
    Withhold(String),
}

/// What a decision wants.
pub fn wanted(heard: &Heard, decision: &Decision) -> Wanted {
    let Some(original) = &heard.payload else { return Wanted::Nothing };
    if original.kind().phase() == Phase::After {
        return wanted_after(original, decision);
    }
    match decision.verdict {
        Verdict::Allow => goes_on(original, decision),
        Verdict::Ask => Wanted::Ask(decision.reason.as_deref().unwrap_or_default().to_owned()),
        Verdict::Respond => {
            let content = decision.result.as_ref().map(|result| text_of(&result.content));
            Wanted::Refuse(format!("answered by policy: {}", content.unwrap_or_default()))
        }
        Verdict::Deny | Verdict::Abort => Wanted::Refuse(reason_of(decision)),
    }
}

fn goes_on(original: &Payload, decision: &Decision) -> Wanted {
    let (was, is) = (original.part(), decision.runs().part());
    if was == is {
        return if decision.skip_host_prompt { Wanted::Allow } else { Wanted::Nothing };
    }
    let is = is.unwrap_or_default();
    match original {
        Payload::PreTool(_) | Payload::PreModel(_) => {
            Wanted::Rewrite { arguments: (*is).clone(), skip_prompt: decision.skip_host_prompt }
        }
        Payload::AgentStart(_)
        | Payload::PromptBuild(_)
        | Payload::MemoryLoad(_)
        | Payload::PostModel(_)
        | Payload::PostTool(_)
        | Payload::ToolError(_)
        | Payload::AgentEnd(_)
        | Payload::AgentAbort(_)
        | Payload::Error(_) => {
            let was = was.as_deref().and_then(Json::as_str).unwrap_or_default();
            let more = is.as_str().and_then(|text| text.strip_prefix(was));
            more.map_or(Wanted::Nothing, |more| Wanted::Append(more.trim_start().to_owned()))
        }
    }
}

fn wanted_after(original: &Payload, decision: &Decision) -> Wanted {
    if !decision.goes_through() {
        return Wanted::Withhold(reason_of(decision));
    }
    // Not the whole payload: a call may have been given an id that its host does not know.
    if decision.payload.tool_result() == original.tool_result() {
        return Wanted::Nothing;
    }
    match decision.payload.tool_result() {
        Some(result) if result.ok => Wanted::Replace((*result.content).clone()),
        Some(result) => {
            let message = result.error.as_ref().map(|failure| failure.message.to_string());
            Wanted::ReplaceError(message.unwrap_or_default())
        }
        None => Wanted::Nothing,
    }
}

/// What the model hears of a refusal: never blank, for a blank reason is none.
fn reason_of(decision: &Decision) -> String {
    let result = decision.result.as_ref().or_else(|| decision.payload.tool_result());
    let message = result.and_then(|result| result.error.as_ref()).map(|failure| &failure.message);
    let text = message.or(decision.reason.as_ref()).map(|text| text.trim()).unwrap_or_default();
    if text.is_empty() { "refused by policy".to_owned() } else { text.to_owned() }
}

/// The text of a value: a string as it is, anything else as JSON.
pub(crate) fn text_of(value: &Json) -> String {
    value.as_str().map_or_else(|| value.text(), str::to_owned)
}

/// `{"hookSpecificOutput": {"hookEventName": event, ..}}`.
pub(crate) fn specific<const N: usize>(event: &str, members: [(&str, Json); N]) -> Answer {
    let mut inner = tollgate_gate::Object::new();
    inner.insert("hookEventName", event);
    for (key, value) in members {
        inner.insert(key, value);
    }
    Answer::json(&of([("hookSpecificOutput", inner.into())]))
}

/// `{"decision": word, "reason": reason}`.
pub(crate) fn decided(word: &str, reason: &str) -> Answer {
    let reason = if reason.trim().is_empty() { "(nothing)" } else { reason };
    Answer::json(&of([("decision", word.into()), ("reason", reason.into())]))
}

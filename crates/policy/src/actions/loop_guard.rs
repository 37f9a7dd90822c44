//! `loop_guard`: ends an agent that does the same thing again and again.
//!
//! It runs after every tool call, refused ones too, and looks at how often the same call (tool and
//! arguments) stood among the session's last ones: refused one after the other, repeated one after
//! the other, or anywhere among the remembered. A refused call that is made again word for word is
//! the usual sign that the model takes a refusal for a failure.
//!
//! ```yaml
//! loop_guard: { refused: 3, in_a_row: 5 }
//! loop_guard: { recent: 10, then: deny, code: LOOP, reason: "this goes nowhere" }
//! ```

use super::act::{Act, handler};
use super::call_limit::Then;
use super::read::{kind_of, read, schema_of};
use super::refusal::Words;
use super::{ActionContext, ActionError, ActionSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use tollgate_gate::limits::RECENT_CALLS_MAX;
use tollgate_gate::{
    Code, Handler, HandlerError, Json, KindSet, OnFailure, Opinion, Payload, Roles, View, Vote,
    VoteKind,
};

pub(super) static SPEC: ActionSpec = ActionSpec {
    name: "loop_guard",
    summary: "ends the session when the same call is refused or repeated too often",
    kinds: KindSet::AFTER_TOOL,
    roles: Roles::JUDGE,
    on_failure: OnFailure::Closed,
    restricts: true,
    compile,
    schema: schema_of::<Config>,
};

/// The code when none is given.
const CODE: &str = "LOOP_DETECTED";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    /// The same call, refused so many times one after the other.
    refused: Option<u32>,
    /// The same call, made so many times one after the other.
    in_a_row: Option<u32>,
    /// The same call, made so many times among the last 64.
    recent: Option<u32>,
    /// What happens then; `deny` withholds what came back.
    #[serde(default)]
    then: Then,
    /// The code; `LOOP_DETECTED` when left out.
    code: Option<String>,
    /// Why, for the model and the person; what was seen when left out.
    reason: Option<String>,
    /// What a person can do about it. The model never hears it.
    remedy: Option<String>,
}

struct LoopGuard {
    refused: Option<(u32, Vote)>,
    in_a_row: Option<(u32, Vote)>,
    recent: Option<(u32, Vote)>,
    kinds: [VoteKind; 1],
}

fn compile(value: &Json, _: &ActionContext) -> Result<Arc<dyn Handler>, ActionError> {
    let Json::Object(_) = value else {
        let message = format!("expected an object, found {}", kind_of(value));
        return Err(ActionError::at("", message).remedy("`loop_guard: { refused: 3 }`"));
    };
    let config: Config = read(value)?;
    let words = Words { code: config.code, reason: config.reason, remedy: config.remedy };
    let rule = |key: &str, times: Option<u32>, min: u32, what: &str| {
        let Some(times) = times else { return Ok(None) };
        if times < min || times as usize > RECENT_CALLS_MAX {
            let message = format!(
                "a number from {min} to {RECENT_CALLS_MAX}, for so many calls are remembered"
            );
            return Err(ActionError::at(key, message));
        }
        let reason = format!("the same call was {what} {times} times");
        Ok(Some((times, config.then.vote(&words, CODE, &reason)?)))
    };
    let refused = rule("refused", config.refused, 1, "refused")?;
    let in_a_row = rule("in_a_row", config.in_a_row, 2, "made one after the other")?;
    let recent = rule("recent", config.recent, 2, "made")?;
    let kinds = match config.then {
        Then::Abort => [VoteKind::Abort],
        Then::Deny => [VoteKind::Deny],
    };
    let guard = LoopGuard { refused, in_a_row, recent, kinds };
    if guard.refused.is_none() && guard.in_a_row.is_none() && guard.recent.is_none() {
        let remedy = "give `refused`, `in_a_row` or `recent`";
        return Err(ActionError::at("", "nothing is watched").remedy(remedy));
    }
    Ok(handler(SPEC.name, value, guard))
}

impl Act for LoopGuard {
    fn act(&self, view: &View<'_>) -> Result<Opinion, HandlerError> {
        let repeats = &view.session.repeats;
        let refused = match is_refused(view.original) {
            true => repeats.refused_before.saturating_add(1),
            false => 0,
        };
        let seen = [
            (refused, &self.refused),
            (repeats.in_a_row, &self.in_a_row),
            (repeats.recent, &self.recent),
        ];
        for (times, rule) in seen {
            if let Some((max, vote)) = rule
                && times >= *max
            {
                return Ok(Opinion::vote(vote.clone()));
            }
        }
        Ok(Opinion::none())
    }

    fn votes(&self) -> &[VoteKind] {
        &self.kinds
    }

    fn needs_repeats(&self) -> bool {
        true
    }
}

/// Whether a policy refused the call, rather than that it failed by itself: as the gate counts it.
fn is_refused(payload: &Payload) -> bool {
    let Some(result) = payload.tool_result() else { return false };
    let Some(failure) = result.error.as_ref().filter(|_| !result.executed) else { return false };
    !matches!(failure.code, Code::UnknownTool | Code::InvalidArguments | Code::ToolError)
}

#[cfg(test)]
mod tests {
    use super::{ActionContext, compile};
    use tollgate_gate::{Json, KindSet};

    #[test]
    fn mistakes_are_told_with_their_path() {
        for (value, path, message) in [
            ("{}", "", "nothing is watched"),
            ("3", "", "expected an object, found a number"),
            (
                r#"{"in_a_row":1}"#,
                "in_a_row",
                "a number from 2 to 64, for so many calls are remembered",
            ),
            (
                r#"{"refused":65}"#,
                "refused",
                "a number from 1 to 64, for so many calls are remembered",
            ),
            (
                r#"{"refuse":3}"#,
                "refuse",
                "unknown key `refuse`; the nearest known one is `refused`",
            ),
        ] {
            let value = Json::read(value.as_bytes()).unwrap();
            let context = ActionContext::new("h", KindSet::AFTER_TOOL);
            let error = compile(&value, &context).err().unwrap();
            assert_eq!((error.path.as_str(), error.message.as_str()), (path, message));
        }
    }
}

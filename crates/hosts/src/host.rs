//! The hosts, and what each must be able to do.

use crate::answer::{Answer, Wanted};
use crate::facts::{EventFacts, EventUse, Facts};
use crate::heard::{Fields, Heard, Unreadable, Who};
use crate::{claude_code, codex, copilot, cursor, gemini};
use tollgate_gate::{Bounds, EventKind, Json, Object, Phase, ToolCall};

/// A host: an agent program that Tollgate plugs into.
pub trait Host: Sync {
    /// What it is and can do.
    fn facts(&self) -> &'static Facts;

    /// Reads what it says. `event` is the event's name where the message has none.
    ///
    /// # Errors
    /// [`Unreadable`]; nothing passes then.
    fn read(&self, message: Json, event: Option<&str>) -> Result<Heard, Unreadable>;

    /// The event that a message is about; `told` is its name where the message has none.
    fn event_of(&self, message: &Object, told: Option<&str>) -> Option<&'static EventFacts> {
        Fields(message).event(told, |name| self.facts().event(name)).ok()
    }

    /// What is heard of a message that cannot be read, as far as it can be told ([`salvaged`]): enough
    /// for [`Host::refuse`] to find the words, and nothing that could be judged.
    ///
    /// [`salvaged`]: crate::salvaged
    fn half_heard(&self, message: Object, told: Option<&str>) -> Option<Heard> {
        let event = self.event_of(&message, told)?;
        let (who, bounds) = (Who::default(), Bounds::default());
        Some(Heard { event, who, payload: None, bounds, can_ask: false, notice: None, message })
    }

    /// The answer that says what a decision wants.
    fn answer(&self, heard: &Heard, wanted: &Wanted) -> Answer;

    /// What a call of this host comes down to, for calls that were kept without it; `None` for a tool
    /// that is in no table.
    fn reading_of(&self, call: &ToolCall) -> Option<Json>;

    /// The argument in which a shell tool of this host has its command.
    fn command_of(&self, call: &ToolCall) -> Option<&'static str>;

    /// Whether it says, in the environment of its hooks, that nobody sits before it: then its own
    /// prompt is shown to nobody. Where a host does not say, its prompt must be safe without anybody.
    fn is_unattended(&self, variable: &dyn Fn(&str) -> Option<String>) -> bool {
        let _ = variable;
        false
    }

    /// The answer when something went wrong inside: it refuses wherever the host can be refused.
    fn refuse(&self, heard: Option<&Heard>, why: &str) -> Answer {
        let Some(heard) = heard else { return Answer::exit_2(why) };
        match heard.event.used {
            EventUse::Ignored(_) => Answer::silence(),
            EventUse::Remembered(_) => Answer::complaint(why),
            EventUse::Judged(kinds) if heard.payload.is_none() => {
                self.refuse_unread(heard, kinds, why)
            }
            EventUse::Judged(_) => match heard.payload.as_ref().map(|payload| payload.kind()) {
                // Refusing an end would make the agent go on; and what is over is over.
                Some(
                    EventKind::AgentEnd
                    | EventKind::Error
                    | EventKind::PostTool
                    | EventKind::ToolError,
                ) if heard.bounds.goes_on => Answer::complaint(why),
                Some(kind) if kind.phase() == Phase::After => {
                    self.answer(heard, &Wanted::Withhold(why.to_owned()))
                }
                _ => Answer::exit_2(why),
            },
        }
    }

    /// The same for an event of which no more is known than its name. Some hosts take an exit code for no
    /// refusal once a call is over, and show its result as it is; so it is withheld in their words.
    fn refuse_unread(&self, heard: &Heard, kinds: &[EventKind], why: &str) -> Answer {
        let is_result = kinds.iter().all(|kind| {
            kind.phase() == Phase::After && !matches!(kind, EventKind::AgentEnd | EventKind::Error)
        });
        let withheld = is_result.then(|| self.answer(heard, &Wanted::Withhold(why.to_owned())));
        match withheld {
            Some(answer) if answer != Answer::silence() => answer,
            _ => Answer::exit_2(why),
        }
    }
}

/// Every host, in the order in which people see them.
pub static HOSTS: [&dyn Host; 5] =
    [&claude_code::ClaudeCode, &codex::Codex, &gemini::Gemini, &copilot::Copilot, &cursor::Cursor];

/// The host of this name.
pub fn host(name: &str) -> Option<&'static dyn Host> {
    HOSTS.iter().copied().find(|host| host.facts().name == name)
}

/// Who really speaks: some hosts also run the hooks that stand in another's settings, and must be
/// answered in their own words.
pub fn speaker(asked: &'static dyn Host, message: &Json) -> &'static dyn Host {
    let name = asked.facts().name;
    if name != "cursor" && message.get("cursor_version").is_some() {
        return &cursor::Cursor;
    }
    // Claude Code always names its transcript and never the time.
    let is_copilot = message.get("timestamp").is_some() && message.get("transcript_path").is_none();
    if name == "claude-code" && is_copilot {
        return &copilot::Copilot;
    }
    asked
}

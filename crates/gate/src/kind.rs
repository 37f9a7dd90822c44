//! The event kinds, and what a hook may do at each (the table of the design, section 2).
//!
//! Kinds are an enum everywhere; the wire name is the snake_case one. What is not possible at a kind
//! is an error when a hook is registered, never a silent no-op.

use crate::vote::VoteKind;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One point in an agent's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A session opens.
    AgentStart,
    /// The prompt is assembled.
    PromptBuild,
    /// Stored memory enters the context.
    MemoryLoad,
    /// Before a model call.
    PreModel,
    /// After a model call.
    PostModel,
    /// After argument validation, before the tool runs.
    PreTool,
    /// The call ended well: it ran, or was answered in its place.
    PostTool,
    /// The call ended badly: failed, refused, unknown tool, invalid arguments.
    ToolError,
    /// The agent finished.
    AgentEnd,
    /// The session was ended by a hook, a limit or a person.
    AgentAbort,
    /// Anything else went wrong.
    Error,
}

/// Where an event stands to an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Before a tool or model call: it can still be stopped.
    Before,
    /// After one: only what comes back can still be changed.
    After,
    /// An event that stands alone.
    Lone,
}

impl EventKind {
    /// Every kind, in the order of an agent's life.
    pub const ALL: [EventKind; 11] = [
        EventKind::AgentStart,
        EventKind::PromptBuild,
        EventKind::MemoryLoad,
        EventKind::PreModel,
        EventKind::PostModel,
        EventKind::PreTool,
        EventKind::PostTool,
        EventKind::ToolError,
        EventKind::AgentEnd,
        EventKind::AgentAbort,
        EventKind::Error,
    ];

    /// The wire name.
    pub const fn name(self) -> &'static str {
        match self {
            EventKind::AgentStart => "agent_start",
            EventKind::PromptBuild => "prompt_build",
            EventKind::MemoryLoad => "memory_load",
            EventKind::PreModel => "pre_model",
            EventKind::PostModel => "post_model",
            EventKind::PreTool => "pre_tool",
            EventKind::PostTool => "post_tool",
            EventKind::ToolError => "tool_error",
            EventKind::AgentEnd => "agent_end",
            EventKind::AgentAbort => "agent_abort",
            EventKind::Error => "error",
        }
    }

    /// The kind of this wire name.
    pub fn from_name(name: &str) -> Option<EventKind> {
        EventKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Where this kind stands to an effect.
    pub const fn phase(self) -> Phase {
        match self {
            EventKind::PreModel | EventKind::PreTool => Phase::Before,
            EventKind::PostModel | EventKind::PostTool | EventKind::ToolError => Phase::After,
            EventKind::AgentStart
            | EventKind::PromptBuild
            | EventKind::MemoryLoad
            | EventKind::AgentEnd
            | EventKind::AgentAbort
            | EventKind::Error => Phase::Lone,
        }
    }

    /// Whether a hook may rewrite at this kind.
    pub const fn may_rewrite(self) -> bool {
        !matches!(self, EventKind::AgentAbort | EventKind::Error)
    }

    /// Whether a hook may give this vote at this kind.
    pub const fn may_vote(self, vote: VoteKind) -> bool {
        match self {
            EventKind::PreModel | EventKind::PreTool => true,
            EventKind::AgentStart
            | EventKind::PromptBuild
            | EventKind::MemoryLoad
            | EventKind::PostModel
            | EventKind::PostTool
            | EventKind::ToolError => matches!(vote, VoteKind::Deny | VoteKind::Abort),
            EventKind::AgentEnd => matches!(vote, VoteKind::Deny),
            EventKind::AgentAbort | EventKind::Error => false,
        }
    }

    /// Whether limits and breakers may reserve at this kind.
    pub const fn may_claim(self) -> bool {
        matches!(self.phase(), Phase::Before)
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }

    /// This kind's place in [`EventKind::ALL`].
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of event kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct KindSet(u16);

impl KindSet {
    /// No kind.
    pub const NONE: KindSet = KindSet(0);
    /// Every kind.
    pub const ALL: KindSet = KindSet((1 << EventKind::ALL.len()) - 1);
    /// Group `after_tool`: every tool call ends in exactly one of these two.
    pub const AFTER_TOOL: KindSet = KindSet(EventKind::PostTool.bit() | EventKind::ToolError.bit());
    /// Group `before`: before a tool or model call.
    pub const BEFORE: KindSet = KindSet(EventKind::PreTool.bit() | EventKind::PreModel.bit());
    /// Group `after`: after a tool or model call.
    pub const AFTER: KindSet = KindSet(KindSet::AFTER_TOOL.0 | EventKind::PostModel.bit());

    /// The set of these kinds.
    pub fn of(kinds: impl IntoIterator<Item = EventKind>) -> KindSet {
        KindSet(kinds.into_iter().fold(0, |bits, kind| bits | kind.bit()))
    }

    /// The set of a kind's wire name or of a group's name.
    pub fn from_name(name: &str) -> Option<KindSet> {
        match name {
            "after_tool" => Some(KindSet::AFTER_TOOL),
            "before" => Some(KindSet::BEFORE),
            "after" => Some(KindSet::AFTER),
            _ => EventKind::from_name(name).map(KindSet::from),
        }
    }

    /// Both sets together.
    #[must_use]
    pub const fn union(self, other: KindSet) -> KindSet {
        KindSet(self.0 | other.0)
    }

    /// The set with this kind.
    #[must_use]
    pub const fn with(self, kind: EventKind) -> KindSet {
        KindSet(self.0 | kind.bit())
    }

    /// The set without this kind.
    #[must_use]
    pub const fn without(self, kind: EventKind) -> KindSet {
        KindSet(self.0 & !kind.bit())
    }

    /// Whether `kind` is in the set.
    pub const fn contains(self, kind: EventKind) -> bool {
        self.0 & kind.bit() != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The kinds in the set, in the order of an agent's life.
    pub fn iter(self) -> impl Iterator<Item = EventKind> {
        EventKind::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }
}

impl From<EventKind> for KindSet {
    fn from(kind: EventKind) -> KindSet {
        KindSet(kind.bit())
    }
}

#[cfg(test)]
mod tests {
    use super::{EventKind, KindSet};

    #[test]
    fn wire_names_and_kinds_are_one_to_one() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::from_name(kind.name()), Some(kind));
            let on_wire = serde_json::to_string(&kind).unwrap();
            assert_eq!(on_wire, format!("\"{}\"", kind.name()));
        }
        assert_eq!(EventKind::from_name("PreTool"), None);
    }

    #[test]
    fn groups_hold_the_kinds_that_the_design_names() {
        let after_tool = KindSet::from_name("after_tool").unwrap();
        assert_eq!(
            after_tool.iter().collect::<Vec<_>>(),
            [EventKind::PostTool, EventKind::ToolError]
        );
        assert!(KindSet::from_name("before").unwrap().contains(EventKind::PreModel));
        assert!(KindSet::from_name("after").unwrap().contains(EventKind::PostModel));
        assert_eq!(KindSet::from_name("during"), None);
    }
}

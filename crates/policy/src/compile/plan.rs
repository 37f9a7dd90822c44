//! The plan: a policy as compiled, in a form that can be written down.
//!
//! It is what a snapshot holds. Everything in it was checked; building hooks from it parses no YAML
//! and compiles patterns and conditions only at their first use. Secrets are not in it: a value that
//! names one keeps `${NAME}`, which is filled in when the hook is built.

use super::effects::{Folder, Quantifier, ToolFacts, Verb};
use crate::layers::LayerKind;
use crate::load::Pinning;
use crate::when::ConditionSnapshot;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use tollgate_gate::{EventKind, VoteKind};

/// A compiled policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) settings: SettingsPlan,
    /// Shared with the handlers that are built from them.
    pub(crate) hooks: Vec<Arc<HookPlan>>,
}

/// The settings of a policy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SettingsPlan {
    /// `enforce`, `dry_run`, `off`.
    pub(crate) mode: tollgate_gate::Mode,
    pub(crate) collect: bool,
    pub(crate) buffered: bool,
    pub(crate) open_on_error: bool,
    /// What holds without a vote, where it is not `allow`: `true` is deny, `false` is ask.
    pub(crate) defaults: Vec<(EventKind, bool)>,
    pub(crate) audit_store: Option<String>,
    pub(crate) alerts: Vec<AlertPlan>,
    pub(crate) pinning: Pinning,
    pub(crate) session_store: Option<String>,
    pub(crate) session_idle_ms: Option<u64>,
    pub(crate) session_lease_ms: Option<u64>,
    pub(crate) groups: BTreeMap<String, Vec<String>>,
    /// Those of managed and user files.
    pub(crate) own_groups: BTreeMap<String, Vec<String>>,
    pub(crate) approvers: BTreeMap<String, String>,
    pub(crate) facts: ToolFacts,
    pub(crate) locked: Vec<String>,
}

/// Who is told of what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct AlertPlan {
    pub(crate) name: String,
    pub(crate) to: String,
    pub(crate) header_file: Option<String>,
    pub(crate) ca_file: Option<String>,
    pub(crate) severity: Option<String>,
    pub(crate) refusals_per_minute: Option<u32>,
}

/// A compiled hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HookPlan {
    pub(crate) name: String,
    pub(crate) kinds: Vec<EventKind>,
    pub(crate) matching: MatchPlan,
    pub(crate) when: Option<Arc<ConditionSnapshot>>,
    pub(crate) unless: Option<Arc<ConditionSnapshot>>,
    pub(crate) action: String,
    /// The action's value, as JSON text.
    pub(crate) value: String,
    pub(crate) votes: Option<Vec<VoteKind>>,
    pub(crate) claims: bool,
    pub(crate) repeats: bool,
    pub(crate) priority: i32,
    pub(crate) enabled: bool,
    pub(crate) dry_run: bool,
    pub(crate) dry_until: Option<u64>,
    /// Share in percent, then of what: 0 sessions, 1 tenants, 2 users.
    pub(crate) rollout: Option<(u8, u8)>,
    pub(crate) open: bool,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) sees_original: bool,
    pub(crate) severity: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) locked: bool,
    pub(crate) layer: LayerKind,
    /// File and line, for people.
    pub(crate) at: String,
    pub(crate) exceptions: Vec<ExceptionPlan>,
}

impl HookPlan {
    /// Whether both say the same, whatever they are called and wherever they stand.
    pub(crate) fn says_the_same(&self, other: &HookPlan) -> bool {
        let HookPlan { name, locked, layer, at, .. } = self;
        let other = HookPlan {
            name: name.clone(),
            locked: *locked,
            layer: *layer,
            at: at.clone(),
            ..other.clone()
        };
        *self == other
    }
}

/// An exception to a hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ExceptionPlan {
    pub(crate) matching: MatchPlan,
    pub(crate) until: Option<u64>,
    pub(crate) reason: String,
}

/// A compiled match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum MatchPlan {
    Always,
    Name(Field, Vec<String>),
    Tags(Vec<String>),
    AnyTag(Vec<String>),
    Labels(Vec<String>),
    Value(String, Vec<String>),
    Paths(Verb, Vec<String>, Quantifier),
    Outside(Verb, Vec<Folder>, Quantifier),
    Names(Verb, Vec<String>, Quantifier),
    Unknown(Vec<Verb>),
    Hidden(Vec<Verb>),
    All(Vec<MatchPlan>),
    AnyOf(Vec<MatchPlan>),
    Not(Box<MatchPlan>),
}

/// What names a match can look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Field {
    Tool,
    Server,
    Model,
    Tenant,
    User,
    Agent,
    Host,
}

impl Field {
    pub(crate) const ALL: [Field; 7] = [
        Field::Tool,
        Field::Server,
        Field::Model,
        Field::Tenant,
        Field::User,
        Field::Agent,
        Field::Host,
    ];

    pub(crate) const fn key(self) -> &'static str {
        match self {
            Field::Tool => "tool",
            Field::Server => "server",
            Field::Model => "model",
            Field::Tenant => "tenant",
            Field::User => "user",
            Field::Agent => "agent",
            Field::Host => "host",
        }
    }
}

impl MatchPlan {
    /// Whether it looks at a call's arguments or effects, and not only at who calls what.
    pub(crate) fn needs_a_call(&self) -> bool {
        match self {
            MatchPlan::Always
            | MatchPlan::Name(..)
            | MatchPlan::Tags(_)
            | MatchPlan::AnyTag(_)
            | MatchPlan::Labels(_) => false,
            MatchPlan::All(all) | MatchPlan::AnyOf(all) => all.iter().any(Self::needs_a_call),
            MatchPlan::Not(one) => one.needs_a_call(),
            MatchPlan::Value(..)
            | MatchPlan::Paths(..)
            | MatchPlan::Outside(..)
            | MatchPlan::Names(..)
            | MatchPlan::Unknown(_)
            | MatchPlan::Hidden(_) => true,
        }
    }

    /// Whether it holds for tools only that it names in full.
    pub(crate) fn names_a_tool(&self) -> bool {
        match self {
            MatchPlan::Name(Field::Tool, names) => {
                !names.is_empty()
                    && !names.iter().any(|name| name.contains(['*', '?', '[', '{', '!']))
            }
            MatchPlan::All(all) => all.iter().any(Self::names_a_tool),
            MatchPlan::AnyOf(any) => !any.is_empty() && any.iter().all(Self::names_a_tool),
            MatchPlan::Always
            | MatchPlan::Name(..)
            | MatchPlan::Tags(_)
            | MatchPlan::AnyTag(_)
            | MatchPlan::Labels(_)
            | MatchPlan::Value(..)
            | MatchPlan::Paths(..)
            | MatchPlan::Outside(..)
            | MatchPlan::Names(..)
            | MatchPlan::Unknown(_)
            | MatchPlan::Hidden(_)
            | MatchPlan::Not(_) => false,
        }
    }

    /// This and another.
    pub(crate) fn and(self, other: MatchPlan) -> MatchPlan {
        match (self, other) {
            (MatchPlan::Always, other) => other,
            (this, MatchPlan::Always) => this,
            (MatchPlan::All(mut all), MatchPlan::All(more)) => {
                all.extend(more);
                MatchPlan::All(all)
            }
            (MatchPlan::All(mut all), other) => {
                all.push(other);
                MatchPlan::All(all)
            }
            (this, other) => MatchPlan::All(vec![this, other]),
        }
    }

    /// The conditions that all must hold.
    pub(crate) fn conjuncts(&self) -> &[MatchPlan] {
        match self {
            MatchPlan::Always => &[],
            MatchPlan::All(all) => all,
            MatchPlan::Name(..)
            | MatchPlan::Tags(_)
            | MatchPlan::AnyTag(_)
            | MatchPlan::Labels(_)
            | MatchPlan::Value(..)
            | MatchPlan::Paths(..)
            | MatchPlan::Outside(..)
            | MatchPlan::Names(..)
            | MatchPlan::Unknown(_)
            | MatchPlan::Hidden(_)
            | MatchPlan::AnyOf(_)
            | MatchPlan::Not(_) => std::slice::from_ref(self),
        }
    }

    /// Calls `f` with this and every match within.
    pub(crate) fn walk<'m>(&'m self, f: &mut impl FnMut(&'m MatchPlan)) {
        f(self);
        match self {
            MatchPlan::All(inner) | MatchPlan::AnyOf(inner) => {
                for plan in inner {
                    plan.walk(f);
                }
            }
            MatchPlan::Not(inner) => inner.walk(f),
            MatchPlan::Always
            | MatchPlan::Name(..)
            | MatchPlan::Tags(_)
            | MatchPlan::AnyTag(_)
            | MatchPlan::Labels(_)
            | MatchPlan::Value(..)
            | MatchPlan::Paths(..)
            | MatchPlan::Outside(..)
            | MatchPlan::Names(..)
            | MatchPlan::Unknown(_)
            | MatchPlan::Hidden(_) => {}
        }
    }

    /// The tools that every matching event has, when they are exact names.
    pub(crate) fn exact_tools(&self) -> Option<Vec<String>> {
        self.conjuncts().iter().find_map(|plan| {
            let MatchPlan::Name(Field::Tool, globs) = plan else { return None };
            let is_exact = |glob: &String| !glob.contains(['*', '?', '[', '{', '\\']);
            globs.iter().all(is_exact).then(|| globs.clone())
        })
    }
}

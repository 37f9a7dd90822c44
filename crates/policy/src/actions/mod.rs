//! The closed table of actions: what a hook of a policy can do.
//!
//! One file an action: its document, its configuration, its code and its tests; one line in
//! [`table`] registers it. The table says for each at which kinds it is possible at all, which roles
//! it takes, what a fault of it means unless the hook says otherwise, and whether it can only
//! restrict. Values are read strictly: an unknown key is an error, never ignored.
//!
//! Beside the actions stand the parts they are built from: `act` (an action as a handler), `read`
//! (strict reading), `amount` (durations, rates, budgets), `text` (every text of a JSON value),
//! `pattern` (regexes in linear time), `location` (paths as text), `refusal` (code, reason, remedy)
//! and `per` (whom a limit counts).

mod act;
mod amount;
mod location;
mod pattern;
mod per;
mod read;
mod refusal;
mod text;

mod abort;
mod allow;
mod append;
mod ask;
mod breaker;
mod call_limit;
mod deny;
mod keywords;
mod label;
mod limit;
mod loop_guard;
mod permission;
mod protect_masks;
pub mod redact;
mod respond;
mod rewrite;
pub mod usage;

pub(crate) use text::map_texts;

pub(crate) use redact::looking::detector_of;
pub(crate) use redact::redactors_of;
pub use redact::{RedactError, RedactStream, Redacted, Redactor};
pub use usage::{Meter, Prices};

use crate::compile::effects::EffectMemo;
use crate::detection::Sources;
use std::collections::BTreeMap;
use std::sync::Arc;
use tollgate_gate::{Handler, Hook, Json, KindSet, Name, OnFailure, Roles};

/// One action of the policy language.
pub struct ActionSpec {
    /// Its key in the policy file.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// The kinds at which it is possible at all.
    pub kinds: KindSet,
    /// The roles that a hook with it has.
    pub roles: Roles,
    /// What a fault of it means, unless the hook says otherwise.
    pub on_failure: OnFailure,
    /// Whether it can only restrict or watch, never loosen: a project's layer may use it then.
    pub restricts: bool,
    /// From its value to a handler.
    pub compile: Compile,
    /// The JSON Schema of its value.
    pub schema: fn() -> serde_json::Value,
}

/// From an action's value to a handler, or to what is wrong with the value.
pub type Compile = fn(&Json, &ActionContext) -> Result<Arc<dyn Handler>, ActionError>;

/// What compiling an action may need beside its value.
#[derive(Clone)]
pub struct ActionContext {
    /// The hook's name; limits count under it.
    pub hook: Name,
    /// The kinds at which the hook runs.
    pub kinds: KindSet,
    /// What `redact: { find: .. }` can name beside the built-in redactors.
    pub redactors: BTreeMap<Name, Arc<dyn Redactor>>,
    /// What detection needs from outside: models of names, the key of keyed masks.
    pub sources: Sources,
    /// What calls would do; none where a hook is made without a policy file.
    pub(crate) effects: Option<Arc<EffectMemo>>,
    /// When the patterns of the action are compiled.
    pub patterns: Patterns,
    /// Where `usage` counts.
    pub meter: Arc<Meter>,
}

/// When patterns are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Patterns {
    /// With the policy, so that a pattern that is too large is an error there.
    #[default]
    AtLoad,
    /// At first use, after a check of the syntax: for a policy that was compiled before. A pattern
    /// that is too large is a fault of its hook then.
    AtFirstUse,
}

impl ActionContext {
    /// For a hook of this name at these kinds, with built-in redactors only.
    pub fn new(hook: impl Into<Name>, kinds: impl Into<KindSet>) -> ActionContext {
        ActionContext {
            hook: hook.into(),
            kinds: kinds.into(),
            redactors: BTreeMap::new(),
            sources: Sources::NONE,
            effects: None,
            patterns: Patterns::AtLoad,
            meter: Arc::default(),
        }
    }
}

/// What is wrong with an action's value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", prefix(path))]
pub struct ActionError {
    /// Where: keys and indices below the action's value, joined by dots; empty for the value itself.
    pub path: String,
    /// What, in lower case without a full stop.
    pub message: String,
    /// What to write instead, where that is known.
    pub remedy: Option<String>,
}

fn prefix(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}: ") }
}

impl ActionError {
    /// An error at this path.
    pub(crate) fn at(path: impl Into<String>, message: impl Into<String>) -> ActionError {
        ActionError { path: path.into(), message: message.into(), remedy: None }
    }

    /// Says what to write instead.
    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> ActionError {
        self.remedy = Some(remedy.into());
        self
    }

    /// The same error, one key further out.
    pub(crate) fn under(mut self, key: &str) -> ActionError {
        self.path = match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{key}.{path}"),
        };
        self
    }
}

impl ActionSpec {
    /// A hook with this action: how code uses the actions.
    ///
    /// It has the action's roles and default `on_failure`; the rest is set on the hook.
    ///
    /// # Errors
    /// [`ActionError`] says what is wrong with the value, or at which of the kinds the action is not
    /// possible.
    ///
    /// ```
    /// use tollgate_gate::{EventKind, Json};
    /// use tollgate_policy::actions::{self, ActionContext};
    ///
    /// let deny = actions::find("deny").unwrap();
    /// let context = ActionContext::new("no-deleting", EventKind::PreTool);
    /// let hook = deny.hook(&Json::from("files are not deleted here"), &context).unwrap();
    /// assert_eq!(&**hook.name(), "no-deleting");
    /// ```
    pub fn hook(&self, value: &Json, context: &ActionContext) -> Result<Hook, ActionError> {
        if let Some(kind) = context.kinds.iter().find(|kind| !self.kinds.contains(*kind)) {
            let message = format!("`{}` is not possible at `{kind}`", self.name);
            let possible: Vec<_> = self.kinds.iter().map(|kind| kind.name()).collect();
            let remedy = format!("it is possible at {}", possible.join(", "));
            return Err(ActionError::at("", message).remedy(remedy));
        }
        let handler = (self.compile)(value, context)?;
        let hook = Hook::new(Name::clone(&context.hook), context.kinds, self.roles, handler);
        Ok(hook.with_on_failure(self.on_failure))
    }
}

impl std::fmt::Debug for ActionSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ActionSpec({})", self.name)
    }
}

/// Every action, in the order in which they are documented.
pub fn table() -> &'static [&'static ActionSpec] {
    &TABLE
}

static TABLE: [&ActionSpec; 17] = [
    &allow::SPEC,
    &deny::SPEC,
    &ask::SPEC,
    &abort::SPEC,
    &respond::SPEC,
    &rewrite::SPEC,
    &redact::SPEC,
    &protect_masks::SPEC,
    &limit::SPEC,
    &breaker::SPEC,
    &label::SPEC,
    &append::SPEC,
    &permission::SPEC,
    &keywords::SPEC,
    &call_limit::SPEC,
    &loop_guard::SPEC,
    &usage::SPEC,
];

/// Whether an action masks what its hook sees, in records too.
pub(crate) fn masks(name: &str) -> bool {
    name == redact::SPEC.name
}

/// The action of this name.
pub fn find(name: &str) -> Option<&'static ActionSpec> {
    table().iter().copied().find(|spec| spec.name == name)
}

#[cfg(test)]
mod tests;

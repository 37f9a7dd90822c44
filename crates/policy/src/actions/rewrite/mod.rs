//! `rewrite`: changes the payload's part, argument by argument.
//!
//! Keys are paths below the part (`max_entries`, `options.depth`, `files.*.name`, `"a.b"` for a key
//! with a dot, `.` for the part itself), values say what holds there. `merge` is a JSON Merge Patch
//! (RFC 7396) of the whole part and comes first; then the paths, as they stand. At one place:
//! `remove` or `set` alone; else `default`, `replace`, `prefix`, `one_of`, `min`, `max`, in this order.
//!
//! A rewrite copies and never touches the original. What it cannot apply (a clamp of a text, a path
//! through something that is no object) is a fault, not a quiet "no": a closed hook then refuses.
//!
//! ```yaml
//! rewrite: { max_entries: { default: 10, max: 10 } }
//! rewrite: { path: { prefix: /sandbox/sandbox }, "headers.*": { replace: { pattern: "^Bearer .*", with: "-" } } }
//! rewrite: { merge: { dry_run: true, token: null } }
//! rewrite: { to: { reveal: vault, hosts: [api.acme.com] } }
//! ```

mod place;
mod reveal;
mod rule;

use super::act::{Act, handler};
use super::read::{ENTRIES_MAX, Raw, kind_of, schema_of};
use super::{ActionContext, ActionError, ActionSpec};
use place::Place;
use reveal::Reveals;
use rule::{Rule, RuleConfig};
use schemars::JsonSchema;
use std::collections::BTreeMap;
use std::sync::Arc;
use tollgate_gate::{
    EventKind, Handler, HandlerError, Json, KindSet, Object, OnFailure, Opinion, Roles, View,
};

pub(super) const KINDS: KindSet =
    KindSet::ALL.without(EventKind::AgentAbort).without(EventKind::Error);

pub(super) static SPEC: ActionSpec = ActionSpec {
    name: "rewrite",
    summary: "changes arguments, requests or what comes back",
    kinds: KINDS,
    roles: Roles::REWRITE,
    on_failure: OnFailure::Closed,
    // It can turn a call into another of the same tool.
    restricts: false,
    compile,
    schema: schema_of::<Schema>,
};

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Schema {
    /// A JSON Merge Patch (RFC 7396) of the whole part.
    merge: Option<Raw>,
    /// What holds at a path below the part.
    #[serde(flatten)]
    paths: BTreeMap<String, RuleConfig>,
}

struct Rewrite {
    merge: Option<Json>,
    rules: Vec<(Place, Rule)>,
    reveals: Option<Reveals>,
}

fn compile(value: &Json, context: &ActionContext) -> Result<Arc<dyn Handler>, ActionError> {
    let Json::Object(object) = value else {
        let message = format!("expected an object of paths, found {}", kind_of(value));
        return Err(ActionError::at("", message).remedy("`rewrite: { argument: { max: 10 } }`"));
    };
    if object.is_empty() {
        return Err(ActionError::at("", "nothing to rewrite"));
    }
    if object.len() > ENTRIES_MAX {
        return Err(ActionError::at("", format!("more than {ENTRIES_MAX} paths")));
    }
    let mut rewrite = Rewrite { merge: None, rules: Vec::new(), reveals: None };
    let mut reveals = Vec::new();
    for (key, value) in object.iter() {
        if key == "merge" {
            rewrite.merge = Some(merge_patch(value)?);
            continue;
        }
        let place = Place::parse(key).map_err(|error| error.under(key))?;
        match Rule::read(value, context).map_err(|error| error.under(key))? {
            Rule::Reveal(_) if context.kinds != KindSet::NONE.with(EventKind::PreTool) => {
                let error = ActionError::at("reveal", "data go back into calls of tools only");
                return Err(error.under(key).remedy("on: pre_tool"));
            }
            Rule::Reveal(rule) => reveals.push((place, rule)),
            rule @ (Rule::Set(_) | Rule::Remove | Rule::Shape(_)) => {
                rewrite.rules.push((place, rule));
            }
        }
    }
    rewrite.reveals = Reveals::of(reveals, context)?;
    Ok(handler(SPEC.name, value, rewrite))
}

fn merge_patch(value: &Json) -> Result<Json, ActionError> {
    match value {
        Json::Object(_) => Ok(value.clone()),
        other @ (Json::Null
        | Json::Bool(_)
        | Json::Number(_)
        | Json::String(_)
        | Json::Array(_)) => {
            let message = format!("expected an object to merge, found {}", kind_of(other));
            let remedy = "an argument named `merge` is written `\"\\\"merge\\\"\"`";
            Err(ActionError::at("merge", message).remedy(remedy))
        }
    }
}

impl Act for Rewrite {
    fn act(&self, view: &View<'_>) -> Result<Opinion, HandlerError> {
        let Some(part) = view.payload.part() else { return Ok(Opinion::none()) };
        let rewritten = self.rewritten(&part)?;
        let mut opinion = Opinion::none();
        if let Some(reveals) = &self.reveals {
            let (reveals, found) = reveals.reveals(view, rewritten.as_ref().unwrap_or(&part))?;
            opinion.reveals = reveals;
            opinion.findings.extend(found);
        }
        opinion.rewrite = rewritten.map(Arc::new);
        Ok(opinion)
    }

    fn reveals(&self) -> bool {
        self.reveals.is_some()
    }
}

impl Rewrite {
    /// The part as it is to be, or `None` when it is so already: then nothing is copied. If no rule
    /// changes the part as it is, their sequence does not either.
    fn rewritten(&self, part: &Json) -> Result<Option<Json>, HandlerError> {
        let merges = self.merge.as_ref().is_some_and(|patch| changes(part, patch));
        let mut acts = merges;
        for (place, rule) in &self.rules {
            // Behind a merge or a change the parts differ, so the rest is tried for real.
            acts = acts || place.would_change(part, rule)?;
        }
        if !acts {
            return Ok(None);
        }
        let mut part = part.clone();
        if let Some(patch) = self.merge.as_ref().filter(|_| merges) {
            merge(&mut part, patch);
        }
        for (place, rule) in &self.rules {
            place.apply(&mut part, rule)?;
        }
        Ok(Some(part))
    }
}

/// Whether merging changes anything.
fn changes(target: &Json, patch: &Json) -> bool {
    let Json::Object(patch) = patch else { return target != patch };
    let Json::Object(target) = target else { return true };
    patch.iter().any(|(key, value)| match (target.get(key), value) {
        (found, Json::Null) => found.is_some(),
        (Some(found), value) => changes(found, value),
        (None, _) => true,
    })
}

/// RFC 7396, section 2.
fn merge(target: &mut Json, patch: &Json) {
    let Json::Object(patch) = patch else {
        target.clone_from(patch);
        return;
    };
    if target.as_object().is_none() {
        *target = Object::new().into();
    }
    let Json::Object(target) = target else { return };
    for (key, value) in patch.iter() {
        if value.is_null() {
            target.remove(key);
        } else if let Some(found) = target.get_mut(key) {
            merge(found, value);
        } else {
            let mut fresh = Json::Null;
            merge(&mut fresh, value);
            target.insert(key, fresh);
        }
    }
}

#[cfg(test)]
mod tests;

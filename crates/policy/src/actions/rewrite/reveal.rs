//! `reveal: vault`: gives a datum of the session's vault back to one tool, in one argument.
//!
//! It is given back only where the argument is the placeholder and nothing else, in a call of which it is
//! known what it does, which runs no program, and which goes to hosts that the hook names, if it goes to any.
//! The datum does not pass the chain: the gate puts it in when all is judged and written down
//! ([`tollgate_gate::Reveal`]). Refused: shell texts, tasks, patches, and whatever is not known. There the
//! placeholder stays, and the call goes on with it.

use super::place::Place;
use crate::actions::{ActionContext, ActionError};
use crate::compile::effects::{EffectMemo, Question, Verb};
use crate::compile::names::NameGlobs;
use std::sync::Arc;
use tollgate_gate::{
    Found, HandlerError, Json, Kept, Name, Reveal, ToolCall, Vault, VaultOwner, View,
};

/// What a record says of a call that got data back: under this name, never which.
const REVEALED: &str = "vault_revealed";
/// Kinds of calls whose texts are read by a shell, by another agent or as a patch.
const NEVER: [&str; 3] = ["shell", "task", "patch"];

/// What is given back, where, and to whom.
pub(super) struct Reveals {
    vault: Arc<dyn Vault>,
    effects: Arc<EffectMemo>,
    places: Vec<(Place, Option<Question>)>,
    /// Any program or host.
    anything: Question,
}

/// What may be a placeholder, where it stands, and who may have its datum.
struct Standing<'v> {
    path: Vec<Box<str>>,
    text: &'v str,
    hosts: Option<&'v Question>,
}

/// A rule of one argument.
pub(super) struct RevealRule {
    /// The hosts that may have it.
    pub(super) hosts: Option<Question>,
}

impl RevealRule {
    /// Reads the rule.
    pub(super) fn of(word: &str, hosts: Option<&[String]>) -> Result<RevealRule, ActionError> {
        if word != "vault" {
            let message = format!("`{word}` keeps nothing that can be given back");
            return Err(ActionError::at("reveal", message).remedy("`reveal: vault`"));
        }
        let hosts = hosts.map(|hosts| NameGlobs::new(hosts.iter().map(String::as_str)));
        let hosts = hosts.transpose();
        let hosts = hosts.map_err(|error| ActionError::at("hosts", error.to_string()))?;
        Ok(RevealRule { hosts: hosts.map(Question::Names) })
    }
}

impl Reveals {
    /// The reveals of a hook; `None` where it has none.
    pub(super) fn of(
        places: Vec<(Place, RevealRule)>,
        context: &ActionContext,
    ) -> Result<Option<Reveals>, ActionError> {
        if places.is_empty() {
            return Ok(None);
        }
        let (Some(vault), Some(effects)) = (&context.sources.vault, &context.effects) else {
            let error = ActionError::at("", "this program has no vault to reveal from");
            return Err(error.remedy("write the hook in a policy file of a program that has one"));
        };
        let anything = NameGlobs::new(["*"]);
        let anything = anything.map_err(|error| ActionError::at("", error.to_string()))?;
        Ok(Some(Reveals {
            vault: Arc::clone(vault),
            effects: Arc::clone(effects),
            places: places.into_iter().map(|(place, rule)| (place, rule.hosts)).collect(),
            anything: Question::Names(anything),
        }))
    }

    /// What goes back into this call, whose part is now `part`.
    pub(super) fn reveals(
        &self,
        view: &View<'_>,
        part: &Json,
    ) -> Result<(Vec<Reveal>, Option<Found>), HandlerError> {
        let nothing = Ok((Vec::new(), None));
        let Some(call) = view.payload.tool_call() else { return nothing };
        let mut standing: Vec<Standing<'_>> = Vec::new();
        for (place, hosts) in &self.places {
            place.each_text(part, &mut |path, text| {
                if text.starts_with('[') && text.ends_with(']') {
                    standing.push(Standing { path: path.to_vec(), text, hosts: hosts.as_ref() });
                }
            });
        }
        // Most calls hold no placeholder: then nothing is opened.
        if standing.is_empty() {
            return nothing;
        }
        let kept = self.vault.kept(VaultOwner::of(&view.event.session));
        let kept = kept.map_err(HandlerError::new)?;
        let mut reveals = Vec::new();
        for Standing { path, text, hosts } in standing {
            let known = kept.iter().find(|one: &&Kept| *one.placeholder == *text);
            if let Some(one) = known.filter(|_| self.may_have_it(call, view, hosts)) {
                let placeholder = Name::clone(&one.placeholder);
                reveals.push(Reveal { path, placeholder, value: one.value.clone() });
            }
        }
        let count = u32::try_from(reveals.len()).unwrap_or(u32::MAX);
        let found = (count > 0).then(|| Found { count, ..Found::of(REVEALED) });
        Ok((reveals, found))
    }

    /// Whether the call is one that may be given data.
    fn may_have_it(&self, call: &ToolCall, view: &View<'_>, hosts: Option<&Question>) -> bool {
        let kind = call.call.as_deref().and_then(|call| call.get("kind")).and_then(Json::as_str);
        if kind.is_some_and(|kind| NEVER.contains(&kind)) {
            return false;
        }
        let effects = self.effects.of(call, &view.event.session);
        // The inside of a tool is its own; what the call itself leaves open is not, nor is a tool of which nobody
        // has said what it does (`tools: { arguments }`).
        let hides = Verb::ALL.iter().any(|verb| match kind {
            Some(_) => effects.is_hidden(*verb),
            None => effects.is_unknown(*verb),
        });
        // A tool of a server is told of as the program that runs.
        let runs = effects.tally(Verb::Runs, &self.anything).targets;
        if hides || runs > u32::from(kind == Some("mcp")) {
            return false;
        }
        let to = effects.tally(Verb::Contacts, &self.anything).targets;
        match hosts {
            None => to == 0,
            // An argument that nobody has said to be a host may be one.
            Some(hosts) => {
                self.effects.source().tells_destination(call)
                    && to > 0
                    && effects.tally(Verb::Contacts, hosts).whole == to
            }
        }
    }
}

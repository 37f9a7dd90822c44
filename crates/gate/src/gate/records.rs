//! Records of decisions and outcomes: what goes into the book, scrubbed on its way.

use super::{Gate, bounds};
use crate::code::Code;
use crate::decision::Decision;
use crate::event::{Event, EventId, Name};
use crate::json::{Json, Object};
use crate::limits::{CLEAN_NAMES_MAX, NAME_BYTES_MAX};
use crate::payload::Payload;
use crate::record::{Record, RecordKind, ShownArguments};
use crate::ruleset::Ruleset;
use crate::scrub::scrub_json;
use crate::session::Session;
use crate::state::SessionView;
use crate::trace::{Cast, Fault};
use crate::vote::Vote;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// No secret that a rule knows is shorter; shorter names need no look.
const SECRET_BYTES_MIN: usize = 12;

/// Names in which no secret was found.
#[derive(Default)]
pub(super) struct CleanNames(Mutex<HashSet<Name>>);

impl CleanNames {
    fn names(&self) -> MutexGuard<'_, HashSet<Name>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_known(&self, name: &Name) -> bool {
        self.names().contains(name)
    }

    fn note(&self, name: &Name) {
        let mut names = self.names();
        if names.len() >= CLEAN_NAMES_MAX {
            names.clear();
        }
        if name.len() <= NAME_BYTES_MAX {
            names.insert(Name::clone(name));
        }
    }
}

impl Gate {
    pub(super) fn decision_record(
        &self,
        ruleset: &Ruleset,
        event: &Event,
        session: &SessionView,
        decision: &Decision,
        labels: &[Name],
    ) -> Record {
        let mut record =
            Record::new(self.scrubbed_id(&event.id), decision.at, RecordKind::Decision);
        self.describe_call(&mut record, event, &decision.payload);
        let shown = self.shown_arguments(event.payload.part().as_ref(), &decision.payload);
        record.arguments = self.masks(ruleset, event, session).arguments(shown, decision);
        self.describe_decision(&mut record, decision, session);
        record.labels = labels.iter().map(|label| self.scrubbed(label)).collect();
        record.detail = bounds::not_enforced(event, decision);
        record.error = failed_because(decision).map(|cause| self.scrubbed(cause));
        record
    }

    /// Who acts on what.
    pub(super) fn describe_call(&self, record: &mut Record, event: &Event, payload: &Payload) {
        record.event = Some(event.kind());
        record.session = Some(self.scrubbed_session(&event.session));
        if let Some(call) = payload.tool_call() {
            record.tool = Some(self.scrubbed_name(&call.tool));
            record.server = call.server.as_ref().map(|server| self.scrubbed_name(server));
            record.call_id = call.call_id.as_ref().map(|id| self.scrubbed(id));
        } else if let Some(call) = payload.model_call() {
            record.model = call.model().map(|model| self.scrubbed(&model.into()));
            record.call_id = call.call_id.as_ref().map(|id| self.scrubbed(id));
        }
    }

    /// Who acts, without secrets that a host has put into names and ids; shared while there are none.
    pub(super) fn scrubbed_session(&self, session: &Arc<Session>) -> Arc<Session> {
        let optional = [
            &session.tenant,
            &session.user,
            &session.agent,
            &session.parent,
            &session.root,
            &session.cwd,
            &session.host,
            &session.workspace,
        ];
        let has_secret = |text: &Name| {
            text.len() >= SECRET_BYTES_MIN && !Arc::ptr_eq(&self.scrubbed_name(text), text)
        };
        let extra = match session.extra.len() {
            0 => None,
            _ => scrub_json(&*self.scrub, &session.extra.clone().into()),
        };
        if !has_secret(&session.id)
            && !optional.into_iter().flatten().any(has_secret)
            && extra.is_none()
        {
            return Arc::clone(session);
        }
        let clean = |text: &Option<Name>| text.as_ref().map(|text| self.scrubbed(text));
        Arc::new(Session {
            id: self.scrubbed(&session.id),
            tenant: clean(&session.tenant),
            user: clean(&session.user),
            agent: clean(&session.agent),
            parent: clean(&session.parent),
            root: clean(&session.root),
            cwd: clean(&session.cwd),
            host: clean(&session.host),
            workspace: clean(&session.workspace),
            extra: if let Some(Json::Object(extra)) = extra {
                extra
            } else {
                session.extra.clone()
            },
        })
    }

    /// An event's id as records show it.
    pub(super) fn scrubbed_id(&self, id: &EventId) -> EventId {
        match id {
            EventId::Given(text) => EventId::Given(self.scrubbed(text)),
            EventId::Made(_) => id.clone(),
        }
    }

    /// What was asked and what ran, scrubbed, with keyed digests of both.
    pub(super) fn shown_arguments(
        &self,
        asked: Option<&Arc<Json>>,
        payload: &Payload,
    ) -> ShownArguments {
        let Some(asked) = asked else { return ShownArguments::default() };
        let ran = match (payload.tool_call(), payload.model_call()) {
            (Some(call), _) => Some(Arc::clone(&call.arguments)),
            (None, Some(call)) => Some(Arc::clone(&call.request)),
            (None, None) => payload.part(),
        };
        let ran = ran.filter(|ran| !Arc::ptr_eq(ran, asked) && ran != asked);
        ShownArguments {
            asked_digest: self.digest(asked),
            ran_digest: ran.as_ref().and_then(|ran| self.digest(ran)),
            asked: Some(self.scrubbed_json(asked)),
            ran: ran.map(|ran| self.scrubbed_json(&ran)),
        }
    }

    fn digest(&self, value: &Json) -> Option<Arc<str>> {
        if !self.scrub.has_digest_key() {
            return None;
        }
        self.scrub.digest(&value.canonical_text()).map(Arc::from)
    }

    /// What was decided, by whom, under which policy.
    pub(super) fn describe_decision(
        &self,
        record: &mut Record,
        decision: &Decision,
        session: &SessionView,
    ) {
        record.root = (!session.root.is_empty()).then(|| self.scrubbed_name(&session.root));
        record.verdict = Some(decision.verdict);
        record.would = decision.would;
        record.code.clone_from(&decision.code);
        record.reason = decision.reason.as_ref().map(|reason| self.scrubbed(reason));
        record.hook.clone_from(&decision.hook);
        record.votes = self.scrubbed_votes(&decision.votes);
        record.policy = Some(Name::clone(&decision.policy));
        record.mode = Some(decision.mode);
        record.hook_us = Some(u64::from(decision.us));
        record.approval.clone_from(&decision.approval);
    }

    pub(super) fn scrubbed(&self, text: &Arc<str>) -> Arc<str> {
        self.scrub.scrub(None, text).map_or_else(|| Arc::clone(text), Arc::from)
    }

    /// A name that many records hold. One that was looked at lately and had no secret needs no other look.
    fn scrubbed_name(&self, name: &Name) -> Name {
        if self.clean.is_known(name) {
            return Name::clone(name);
        }
        let scrubbed = self.scrubbed(name);
        if Arc::ptr_eq(&scrubbed, name) {
            self.clean.note(name);
        }
        scrubbed
    }

    fn scrubbed_json(&self, value: &Arc<Json>) -> Arc<Json> {
        scrub_json(&*self.scrub, value).map_or_else(|| Arc::clone(value), Arc::new)
    }

    /// A trace without secrets; shared with the decision while no entry has any text.
    fn scrubbed_votes(&self, votes: &Arc<Vec<Cast>>) -> Arc<Vec<Cast>> {
        let has_text =
            |cast: &Cast| cast.fault.is_some() || !matches!(cast.vote, None | Some(Vote::Allow(_)));
        if !votes.iter().any(has_text) {
            return Arc::clone(votes);
        }
        Arc::new(votes.iter().map(|cast| self.scrubbed_cast(cast)).collect())
    }

    /// A trace entry without secrets, and without the content of an answer.
    fn scrubbed_cast(&self, cast: &Cast) -> Cast {
        let mut cast = cast.clone();
        match &mut cast.vote {
            Some(Vote::Deny(refusal) | Vote::Abort(refusal)) => {
                refusal.reason = self.scrubbed(&refusal.reason);
                refusal.remedy = refusal.remedy.as_ref().map(|remedy| self.scrubbed(remedy));
            }
            Some(Vote::Ask(question)) => question.reason = self.scrubbed(&question.reason),
            Some(Vote::Respond(answer)) => answer.content = Arc::default(),
            Some(Vote::Allow(_)) | None => {}
        }
        if let Some(Fault::Failed(text) | Fault::Panicked(text) | Fault::Nonsense(text)) =
            &mut cast.fault
            && let Some(clean) = self.scrub.scrub(None, text)
        {
            *text = clean;
        }
        cast
    }
}

/// A fingerprint of a call, by which the same call is recognised within its session: tool and
/// arguments, whatever the order of keys. `None` for events that are no tool call.
pub(super) fn fingerprint(payload: &Payload) -> Option<u64> {
    let call = payload.tool_call()?;
    let mut hasher = DefaultHasher::new();
    call.tool.hash(&mut hasher);
    call.server.hash(&mut hasher);
    hash_json(&call.arguments).hash(&mut hasher);
    Some(hasher.finish())
}

fn hash_json(value: &Json) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        Json::Null => 0u8.hash(&mut hasher),
        Json::Bool(value) => value.hash(&mut hasher),
        Json::Number(number) => number.literal().hash(&mut hasher),
        Json::String(text) => text.hash(&mut hasher),
        Json::Array(items) => items.iter().for_each(|item| hash_json(item).hash(&mut hasher)),
        Json::Object(object) => hash_object(object).hash(&mut hasher),
    }
    hasher.finish()
}

/// Independent of the order of keys: a sum.
fn hash_object(object: &Object) -> u64 {
    object.iter().fold(1, |sum, (key, value)| {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        hash_json(value).hash(&mut hasher);
        sum.wrapping_add(hasher.finish())
    })
}

/// Why something failed by which a call is refused: the model hears that it did, the record says how.
fn failed_because(decision: &Decision) -> Option<&Arc<str>> {
    let code = decision.code.as_ref()?;
    let is_unasked = *code == Code::ApprovalRequired && decision.approval.is_none();
    let is_failure = is_unasked || matches!(code, Code::HookError | Code::HookTimeout);
    decision.remedy.as_ref().filter(|_| is_failure)
}

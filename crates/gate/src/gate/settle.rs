//! `settle`: what came of a call, through the after-chain, to what the model is given (law 6).
//!
//! It runs for refused and answered calls too. Claims are settled and counters written first, so that
//! hooks see them; then the relay; then the record; and only then is the result released.

use super::decide::{Closed, Decided, Finding, Passage, Ruling, call_key, refuse, resolve};
use super::{Gate, OUTCOME_DURABILITY};
use crate::chain::Chain;
use crate::code::Code;
use crate::decision::Decision;
use crate::event::{Event, EventId};
use crate::gate::decide::message_for_model;
use crate::json::{Json, Object};
use crate::kind::Phase;
use crate::ledger::LedgerError;
use crate::payload::{Failure, ModelOutcome, Payload, ToolCall, ToolOutcome, ToolResult, Usage};
use crate::permit::Ticket;
use crate::record::{Record, RecordKind, ShownArguments};
use crate::ruleset::{Mode, Ruleset};
use crate::session::Session;
use crate::state::{Aborted, CallKey, Counters, Entry, Settlement, Trace};
use crate::vault::Hidden;
use crate::vote::Verdict;
use std::sync::Arc;

/// What came of an effect.
#[derive(Debug, Clone, PartialEq)]
pub enum Performed {
    /// Of a tool call.
    Tool(ToolResult),
    /// Of a model call.
    Model(ModelResult),
}

/// What came of a model call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelResult {
    /// Whether it ended well.
    pub ok: bool,
    /// An object with `reply` and `tool_calls`.
    pub reply: Arc<Json>,
    /// The failure, when it did not end well.
    pub error: Option<Failure>,
    /// Whether the model was called.
    pub executed: bool,
    /// What it used.
    pub usage: Usage,
}

impl ModelResult {
    /// An answer in place of a model call.
    pub(super) fn answer(content: &Json) -> ModelResult {
        let reply = if content.get("reply").is_some() {
            content.clone()
        } else {
            Object::from_iter([("reply", content.clone()), ("tool_calls", Json::Array(Vec::new()))])
                .into()
        };
        ModelResult { ok: true, reply: Arc::new(reply), ..ModelResult::default() }
    }
}

/// A settled call.
#[derive(Debug)]
pub struct Settled {
    /// What the model is given.
    pub performed: Performed,
    /// Set when the session has ended, by the decision or by the after-chain.
    pub aborted: Option<Aborted>,
    /// What the after-chain decided; none when it did not run (mode off).
    pub decision: Option<Decision>,
}

/// A call that has ended, on its way through the after-chain.
struct Ended {
    event: Event,
    /// The decision it belongs to; none for a call that never came to one.
    decision: Option<EventId>,
    /// Its arguments as its record shows them.
    shown: ShownArguments,
    key: Option<CallKey>,
    handler_us: Option<u64>,
    /// The abort that refused it.
    aborted: Option<Aborted>,
    /// Whether the runtime says that it never came to a decision.
    is_unjudged: bool,
    /// Whether it is no call but a text that passes beside calls: nothing is counted for it.
    is_aside: bool,
    /// Stays open until the outcome is recorded: if that fails or is cancelled, the call counts as
    /// dropped, and its outcome is recorded as soon as that is possible.
    ticket: Option<Ticket>,
}

impl Ended {
    /// An ending that the gate is told of without a ticket.
    fn of(event: Event, shown: ShownArguments, key: Option<CallKey>) -> Ended {
        Ended {
            event,
            decision: None,
            shown,
            key,
            handler_us: None,
            aborted: None,
            is_unjudged: false,
            is_aside: false,
            ticket: None,
        }
    }

    /// Its claims are settled.
    fn claims_are_settled(&mut self) {
        self.key = None;
        if let Some(ticket) = &mut self.ticket {
            ticket.forget_key();
        }
    }

    /// Its outcome is recorded.
    fn is_recorded(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            ticket.settle();
        }
    }
}

impl Gate {
    /// Settles a call that took place.
    pub async fn settle(&self, ticket: Ticket, performed: Performed) -> Settled {
        self.settle_call(ticket, performed, None).await
    }

    /// Settles a call that did not take place.
    pub async fn settle_closed(&self, closed: Closed) -> Settled {
        let Closed { performed, aborted, ticket } = closed;
        let failure = match &performed {
            Performed::Tool(result) => result.error.as_ref(),
            Performed::Model(result) => result.error.as_ref(),
        };
        let aborted = aborted.then(|| Aborted {
            code: failure.map_or(Code::SessionAborted, |failure| failure.code.clone()),
            reason: failure.map(|failure| Arc::clone(&failure.message)).unwrap_or_default(),
            hook: None,
        });
        self.settle_call(ticket, performed, aborted).await
    }

    /// Settles a tool call that never came to a decision: an unknown tool, invalid arguments.
    pub async fn settle_unjudged(
        &self,
        session: &Arc<Session>,
        call: ToolCall,
        failure: Failure,
    ) -> Settled {
        let result = ToolResult::failure(failure, false);
        let asked = Arc::clone(&call.arguments);
        let payload = ToolOutcome { call: Arc::new(call), result };
        let event = Event::new(Arc::clone(session), payload, self.clock.now());
        let shown = self.shown_arguments(Some(&asked), &event.payload);
        let ended = Ended { is_unjudged: true, ..Ended::of(event, shown, None) };
        self.settle_ended(ended).await
    }

    /// Decides about an event of a host that tells of everything by events: before-events as
    /// [`Gate::decide`], with the effect left to the host; after-events through the after-chain.
    pub async fn judge(&self, event: Event) -> Decision {
        if event.kind().phase() != Phase::After {
            let Ruling { decision, passage } = self.decide(event).await;
            return match passage {
                Passage::Open(permit) => {
                    permit.hand_over();
                    decision
                }
                // A host that is told "no" does not come back with an after-event.
                // Neither a permit nor a refusal: the host asks, and tells what came of it.
                Passage::Closed(closed) if decision.verdict == Verdict::Ask => {
                    closed.left_to_host();
                    decision
                }
                Passage::Closed(closed) => {
                    if decision.payload.kind().phase() == Phase::Before {
                        let settled = self.settle_closed(closed).await;
                        return with_result(decision, settled.performed);
                    }
                    decision
                }
            };
        }
        let key = Some(call_key(&event));
        self.judge_after(event, key, false).await
    }

    /// Puts what reaches the agent beside its calls (a log line, a progress report, the description
    /// of a tool) through the after-chain as if it were a result. It is no call: nothing is counted,
    /// loop detection does not see it, and its record is that of a decision. An event of another
    /// phase goes to [`Gate::judge`].
    pub async fn review(&self, event: Event) -> Decision {
        if event.kind().phase() != Phase::After {
            return self.judge(event).await;
        }
        self.judge_after(event, None, true).await
    }

    async fn judge_after(&self, event: Event, key: Option<CallKey>, is_aside: bool) -> Decision {
        let event = self.veiled(event);
        let asked = event.payload.tool_call().map(|call| Arc::clone(&call.arguments));
        let shown = self.shown_arguments(asked.as_ref(), &event.payload);
        let id = event.id.clone();
        let payload = event.payload.clone();
        let ended = Ended { is_aside, ..Ended::of(event, shown, key) };
        let settled = self.settle_ended(ended).await;
        let ruleset = self.ruleset();
        settled.decision.unwrap_or_else(|| untouched(&ruleset, id, payload, self.clock.now()))
    }

    async fn settle_call(
        &self,
        ticket: Ticket,
        performed: Performed,
        aborted: Option<Aborted>,
    ) -> Settled {
        let Some(call) = ticket.call() else {
            return Settled { performed, aborted: None, decision: None };
        };
        let now = self.clock.now();
        let payload = after_payload(&call.payload, performed);
        let mut event = Event::new(Arc::clone(&call.event.session), payload, now);
        event.tags.clone_from(&call.event.tags);
        let event = self.veiled(event);
        let handler_us = u64::try_from(now.since(call.since).as_micros()).ok();
        let decision = Some(call.decision.clone());
        let (shown, key) = (call.shown.clone(), call.key.clone());
        self.settle_ended(Ended {
            event,
            decision,
            shown,
            key,
            handler_us,
            aborted,
            is_unjudged: false,
            is_aside: false,
            ticket: Some(ticket),
        })
        .await
    }

    async fn settle_ended(&self, mut ended: Ended) -> Settled {
        let ruleset = self.ruleset();
        let original = performed_of(&ended.event.payload);
        let caught_up = self.catch_up().await;
        if ruleset.settings().mode == Mode::Off {
            self.end_while_off(&mut ended, &ruleset).await;
            return Settled { performed: original, aborted: ended.aborted, decision: None };
        }
        let session = self.account(&mut ended, &ruleset).await;
        let started = self.clock.now();
        let mut chain = Chain::new(&ruleset, &*self.clock, &ended.event, &session, started);
        chain.run().await;
        let finding = resolve(&chain.joined(), &ruleset, ended.event.kind());
        chain.count();
        let dry = ruleset.settings().mode == Mode::DryRun;
        let us = chain.now.since(started).as_micros();
        let labels = std::mem::take(&mut chain.labels);
        let decided = Decided {
            reveals: Vec::new(),
            payload: chain.current,
            votes: chain.votes,
            labels: Vec::new(),
            claimed: false,
            us: u32::try_from(us).unwrap_or(u32::MAX),
            at: chain.now,
            dry,
        };
        let mut decision = self.after_decision_of(&ruleset, &ended, decided, finding, dry);
        let record = self.outcome_record(&ruleset, &ended, &session, &decision, &labels);
        let recorded = self.ledger.append(record, OUTCOME_DURABILITY).await;
        if recorded.is_ok() {
            ended.is_recorded();
        }
        if (recorded.is_err() || caught_up.is_err()) && self.closes_without_ledger(&ruleset) {
            let reason = "what came back could not be recorded";
            let refusal = Finding::refuse(Code::LedgerUnavailable, reason, None);
            withhold(&mut decision, &ended.event, &refusal);
        }
        let aborted = self.close_after(&ruleset, &ended, &decision, labels).await;
        // Another call may have ended the session meanwhile.
        let before = session.aborted.map(Arc::unwrap_or_clone);
        Settled {
            performed: performed_of(&decision.payload),
            aborted: ended.aborted.or(aborted).or(before),
            decision: Some(decision),
        }
    }

    /// A call that was decided while the gate was on and ends while it is off: nothing is looked at,
    /// but what it reserved is settled and its decision gets its outcome.
    async fn end_while_off(&self, ended: &mut Ended, ruleset: &Ruleset) {
        let (executed, ok, usage) = ending_of(&ended.event.payload);
        if let Some(key) = &ended.key {
            let settlement = Settlement { executed, ok, usage };
            let _ = self.state.settle(key, &settlement, self.clock.now()).await;
            ended.claims_are_settled();
        }
        if ended.decision.is_some() {
            let (id, payload) = (ended.event.id.clone(), ended.event.payload.clone());
            let decision = untouched(ruleset, id, payload, self.clock.now());
            let session = crate::state::SessionView::default();
            let record = self.outcome_record(ruleset, ended, &session, &decision, &[]);
            // Off means that nothing closes, so a ledger that fails does not either.
            if self.ledger.append(record, OUTCOME_DURABILITY).await.is_ok() {
                ended.is_recorded();
            }
        }
    }

    fn closes_without_ledger(&self, ruleset: &Ruleset) -> bool {
        ruleset.settings().mode == Mode::Enforce
            && ruleset.settings().durability == crate::ruleset::Durability::BeforeEffect
    }

    /// Settles claims and counts, then shows the session as the after-chain is to see it.
    async fn account(&self, ended: &mut Ended, ruleset: &Ruleset) -> crate::state::SessionView {
        let (executed, ok, usage) = ending_of(&ended.event.payload);
        if let Some(key) = &ended.key {
            let settlement = Settlement { executed, ok, usage };
            // A reservation that cannot be settled frees itself when its lease ends.
            let _ = self.state.settle(key, &settlement, self.clock.now()).await;
            ended.claims_are_settled();
        }
        if ended.is_aside {
            return self
                .state
                .enter(&ended.event.session, Entry::default())
                .await
                .unwrap_or_default();
        }
        let payload = &ended.event.payload;
        let mut count = Counters::of_usage(&usage);
        if payload.tool_call().is_some() {
            count.tool_calls_executed = u64::from(executed);
            count.tool_calls_refused = u64::from(is_refused(payload) && ended.decision.is_some());
            count.tool_calls_attempted = u64::from(was_never_judged(ended));
        }
        let call = ruleset.needs_repeats().then(|| super::records::fingerprint(payload)).flatten();
        let entered = self.state.enter(&ended.event.session, Entry { count, call }).await;
        // Without its state the after-chain sees an empty session; what comes back is still judged.
        entered.unwrap_or_default()
    }

    fn after_decision_of(
        &self,
        ruleset: &Ruleset,
        ended: &Ended,
        decided: Decided,
        finding: Finding,
        dry: bool,
    ) -> Decision {
        let event = &ended.event;
        let mut decision = untouched(ruleset, event.id.clone(), decided.payload, decided.at);
        decision.votes = Arc::new(decided.votes);
        decision.us = decided.us;
        if dry {
            decision.would = Some(finding.verdict);
            decision.payload = event.payload.clone();
            for cast in Arc::make_mut(&mut decision.votes) {
                cast.dry_run = true;
            }
        } else if !finding.goes_through() {
            withhold(&mut decision, event, &finding);
        }
        decision
    }

    /// What the after-chain does to the session: an abort, labels, the call remembered.
    async fn close_after(
        &self,
        ruleset: &Ruleset,
        ended: &Ended,
        decision: &Decision,
        labels: Vec<crate::event::Name>,
    ) -> Option<Aborted> {
        let dry = ruleset.settings().mode == Mode::DryRun;
        let session = &ended.event.session;
        let refused = is_refused(&ended.event.payload);
        let call = if ruleset.needs_repeats() && !ended.is_aside {
            super::records::fingerprint(&ended.event.payload).map(|call| (call, refused))
        } else {
            None
        };
        let labels = if dry { Vec::new() } else { labels };
        if call.is_some() || !labels.is_empty() {
            let trace = Trace { count: Counters::default(), labels, call };
            // The effect has taken place and its record is written; a lost label cannot undo either.
            let _ = self.state.leave(session, &trace).await;
        }
        if dry || decision.verdict != Verdict::Abort {
            return None;
        }
        let aborted = Aborted {
            code: decision.code.clone().unwrap_or(Code::SessionAborted),
            reason: decision.reason.clone().unwrap_or_default(),
            hook: decision.hook.clone(),
        };
        let _ = self.state.abort(session, aborted.clone()).await;
        Some(aborted)
    }

    /// Records a call whose ticket was dropped: it has not run if its permit was never redeemed,
    /// otherwise nothing is known of its outcome.
    pub(super) async fn settle_unknown(&self, ticket: &Ticket) -> Result<(), LedgerError> {
        let Some(call) = ticket.call() else { return Ok(()) };
        let executed = call.may_have_run;
        let settlement = Settlement { executed, ok: false, usage: Usage::default() };
        let now = self.clock.now();
        if let Some(key) = &call.key {
            let _ = self.state.settle(key, &settlement, now).await;
        }
        let mut record = Record::new(EventId::made(now), now, RecordKind::Outcome);
        self.describe_call(&mut record, &call.event, &call.payload);
        record.arguments = call.shown.clone();
        record.decision = Some(self.scrubbed_id(&call.decision));
        (record.executed, record.ok) =
            if executed { (None, None) } else { (Some(false), Some(false)) };
        record.policy = Some(Arc::clone(self.ruleset().digest()));
        record.reason = Some("the call was dropped before it told what came of it".into());
        self.ledger.append(record, OUTCOME_DURABILITY).await
    }

    fn outcome_record(
        &self,
        ruleset: &Ruleset,
        ended: &Ended,
        session: &crate::state::SessionView,
        decision: &Decision,
        labels: &[crate::event::Name],
    ) -> Record {
        let at = decision.at;
        let kind = if ended.is_aside { RecordKind::Decision } else { RecordKind::Outcome };
        let mut record = Record::new(EventId::made(at), at, kind);
        self.describe_call(&mut record, &ended.event, &ended.event.payload);
        record.arguments = match &ended.decision {
            // As its decision's record shows them.
            Some(_) => ended.shown.clone(),
            None => self.masked_as_asked(ruleset, &ended.event, session, ended.shown.clone()),
        };
        self.describe_decision(&mut record, decision, session);
        record.labels = labels.iter().map(|label| self.scrubbed(label)).collect();
        if ended.is_aside {
            return record;
        }
        let (executed, ok, usage) = ending_of(&ended.event.payload);
        record.decision = ended.decision.as_ref().map(|id| self.scrubbed_id(id));
        record.executed = Some(executed);
        record.ok = Some(ok);
        record.usage = usage;
        record.handler_us = ended.handler_us.filter(|_| executed);
        if let Some(failure) = failure_of(&ended.event.payload) {
            record.code = record.code.or_else(|| Some(failure.code.clone()));
            let error = self.scrubbed(&failure.message);
            // The reason of a refusal is the policy's own.
            record.error = Some(match executed {
                true => self.masks(ruleset, &ended.event, session).text(error),
                false => error,
            });
        }
        record.detail = super::bounds::not_enforced(&ended.event, decision);
        record
    }
}

fn untouched(
    ruleset: &Ruleset,
    event_id: EventId,
    payload: Payload,
    at: crate::clock::Timestamp,
) -> Decision {
    Decision {
        revealed: Hidden(None),
        event_id,
        at,
        verdict: Verdict::Allow,
        code: None,
        reason: None,
        remedy: None,
        hook: None,
        payload,
        result: None,
        approval: None,
        skip_host_prompt: false,
        policy: Arc::clone(ruleset.digest()),
        mode: ruleset.settings().mode,
        would: None,
        votes: Arc::default(),
        us: 0,
    }
}

/// Replaces what came back by a refusal. The code is `withheld` unless the hook named one.
fn withhold(decision: &mut Decision, event: &Event, finding: &Finding) {
    refuse(decision, event, finding);
    if decision.code == Some(Code::HookDenied) {
        decision.code = Some(Code::Withheld);
    }
    let reason = decision.reason.clone().unwrap_or_default();
    let message = message_for_model(
        &format!("what came back is withheld: {reason}"),
        decision.hook.as_deref(),
        &event.id,
    );
    // A call that was refused already keeps the code of its own refusal.
    let own = failure_of(&event.payload).filter(|_| is_refused(&event.payload));
    let own = own.filter(|_| decision.code == Some(Code::Withheld));
    let code = own.map(|failure| failure.code.clone()).or_else(|| decision.code.clone());
    let failure = Failure {
        code: code.unwrap_or(Code::Withheld),
        message,
        tool: event.payload.subject().unwrap_or_default().into(),
    };
    decision.payload = match &event.payload {
        Payload::PostTool(outcome) | Payload::ToolError(outcome) => {
            let result = ToolResult::failure(failure, outcome.result.executed);
            ToolOutcome { call: Arc::clone(&outcome.call), result }.into()
        }
        Payload::PostModel(outcome) => ModelOutcome {
            call: Arc::clone(&outcome.call),
            reply: Arc::default(),
            ok: false,
            executed: outcome.executed,
            error: Some(failure),
            usage: outcome.usage,
        }
        .into(),
        other @ (Payload::AgentStart(_)
        | Payload::PromptBuild(_)
        | Payload::MemoryLoad(_)
        | Payload::PreModel(_)
        | Payload::PreTool(_)
        | Payload::AgentEnd(_)
        | Payload::AgentAbort(_)
        | Payload::Error(_)) => other.clone(),
    };
}

/// Whether a call ended without ever having been counted as an attempt: it was no call at all.
fn was_never_judged(ended: &Ended) -> bool {
    let (executed, ..) = ending_of(&ended.event.payload);
    let never_valid = failure_of(&ended.event.payload)
        .is_some_and(|failure| matches!(failure.code, Code::UnknownTool | Code::InvalidArguments));
    ended.decision.is_none() && !executed && (ended.is_unjudged || never_valid)
}

/// The after-event of a call. A result of the other kind than was permitted is the caller's mistake:
/// it is not passed on, and the call counts as one that ran and failed.
fn after_payload(ran: &Payload, performed: Performed) -> Payload {
    let mistaken = || Failure {
        code: Code::ToolError,
        message: "the call told of a result of another kind than was permitted".into(),
        tool: ran.subject().unwrap_or_default().into(),
    };
    match (ran, performed) {
        (Payload::PreTool(call), Performed::Tool(result)) => {
            ToolOutcome { call: Arc::clone(call), result }.into()
        }
        (Payload::PreModel(call), Performed::Model(result)) => {
            let ModelResult { ok, reply, error, executed, usage } = result;
            let call = Arc::clone(call);
            ModelOutcome { call, reply, ok, executed, error, usage }.into()
        }
        (Payload::PreModel(call), Performed::Tool(_)) => ModelOutcome {
            call: Arc::clone(call),
            executed: true,
            error: Some(mistaken()),
            ..ModelOutcome::default()
        }
        .into(),
        // Only calls have tickets, so what is left is a tool call.
        (ran, _) => ToolOutcome {
            call: Arc::new(ran.tool_call().cloned().unwrap_or_default()),
            result: ToolResult::failure(mistaken(), true),
        }
        .into(),
    }
}

fn performed_of(payload: &Payload) -> Performed {
    if let Payload::PostModel(outcome) = payload {
        return Performed::Model(ModelResult {
            ok: outcome.ok,
            reply: Arc::clone(&outcome.reply),
            error: outcome.error.clone(),
            executed: outcome.executed,
            usage: outcome.usage,
        });
    }
    Performed::Tool(payload.tool_result().cloned().unwrap_or_default())
}

fn with_result(mut decision: Decision, performed: Performed) -> Decision {
    decision.result = Some(match performed {
        Performed::Tool(result) => result,
        Performed::Model(result) => ToolResult {
            ok: result.ok,
            content: result.reply,
            error: result.error,
            executed: result.executed,
            usage: result.usage,
        },
    });
    decision
}

/// Whether it was executed, ended well, and what it used.
fn ending_of(payload: &Payload) -> (bool, bool, Usage) {
    if let Payload::PostModel(outcome) = payload {
        return (outcome.executed, outcome.ok, outcome.usage);
    }
    payload.tool_result().map_or((false, false, Usage::default()), |result| {
        (result.executed, result.ok, result.usage)
    })
}

fn failure_of(payload: &Payload) -> Option<&Failure> {
    if let Payload::PostModel(outcome) = payload {
        return outcome.error.as_ref();
    }
    payload.tool_result().and_then(|result| result.error.as_ref())
}

/// Whether a policy refused it, rather than that it failed by itself.
fn is_refused(payload: &Payload) -> bool {
    let (executed, ..) = ending_of(payload);
    let own_failure = failure_of(payload).is_some_and(|failure| {
        matches!(failure.code, Code::UnknownTool | Code::InvalidArguments | Code::ToolError)
    });
    !executed && failure_of(payload).is_some() && !own_failure
}

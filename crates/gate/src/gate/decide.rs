//! `decide`: from an event to a ruling.

use super::{Gate, Performed, bounds};
use crate::chain::Chain;
use crate::clock::Timestamp;
use crate::code::Code;
use crate::decision::Decision;
use crate::event::{Event, EventId, Name};
use crate::gate::settle::ModelResult;
use crate::hook::Hook;
use crate::kind::{EventKind, Phase};
use crate::payload::{Failure, Payload, ToolResult};
use crate::permit::{OpenCall, Permit, Ticket};
use crate::record::ShownArguments;
use crate::ruleset::{DefaultVote, Durability, Mode, Ruleset};
use crate::state::{
    Aborted, CallKey, Claim, Counters, Entry, Exceeded, SessionView, StateError, Trace,
};
use crate::vault::{Hidden, Reveal};
use crate::vote::{Joined, Lead, Rank, Refusal, Verdict, Vote};
use std::sync::Arc;

/// A decision, and the way on.
#[derive(Debug)]
#[must_use = "a ruling is to be followed"]
pub struct Ruling {
    /// What was decided, and why.
    pub decision: Decision,
    /// The way on.
    pub passage: Passage,
}

/// The way on after a decision.
#[derive(Debug)]
#[must_use = "a passage is to be taken"]
pub enum Passage {
    /// The effect may happen.
    Open(Permit),
    /// It may not. The call still has its after-chain.
    Closed(Closed),
}

/// A call that does not take place: refused, or answered in its place.
#[derive(Debug)]
#[must_use = "a closed call is to be settled: the after-chain runs for it too"]
pub struct Closed {
    /// What the model is given, before the after-chain has seen it.
    pub performed: Performed,
    /// Whether the session was ended.
    pub aborted: bool,
    pub(super) ticket: Ticket,
}

impl Closed {
    /// The host asks its user and tells of the outcome by an event of its own.
    pub(super) fn left_to_host(self) {
        self.ticket.settle();
    }
}

/// What was found out about an event, before it is written down.
pub(super) struct Finding {
    pub(super) verdict: Verdict,
    pub(super) hook: Option<Name>,
    pub(super) refusal: Option<Refusal>,
    pub(super) answer: Option<crate::vote::Answer>,
    pub(super) approval: Option<Name>,
    pub(super) skip_host_prompt: bool,
}

impl Finding {
    pub(super) fn allow() -> Finding {
        Finding {
            verdict: Verdict::Allow,
            hook: None,
            refusal: None,
            answer: None,
            approval: None,
            skip_host_prompt: false,
        }
    }

    pub(super) fn refuse(code: Code, reason: impl Into<Arc<str>>, hook: Option<Name>) -> Finding {
        let refusal = Refusal::because(reason).with_code(code);
        Finding { verdict: Verdict::Deny, hook, refusal: Some(refusal), ..Finding::allow() }
    }

    pub(super) fn goes_through(&self) -> bool {
        self.verdict == Verdict::Allow
    }

    /// A claim that could not be reserved, in the words of its hook where it has its own. The
    /// limit's words then are for the person.
    fn exceeded(exceeded: &Exceeded, claimant: Option<&Hook>) -> Finding {
        let mut refusal = claimant.and_then(|hook| hook.handler.exceeded()).cloned();
        let own = refusal.get_or_insert_default();
        if own.reason.is_empty() {
            own.reason = Arc::clone(&exceeded.reason);
        } else if own.remedy.is_none() {
            own.remedy = Some(Arc::clone(&exceeded.reason));
        }
        own.code.get_or_insert_with(|| exceeded.code.clone());
        let hook = Some(Name::clone(&exceeded.hook));
        Finding { verdict: Verdict::Deny, hook, refusal, ..Finding::allow() }
    }
}

impl Gate {
    /// Decides about a before-event or a lone event.
    ///
    /// The future is ready at its first poll when every hook that matches is inline and state and
    /// ledger answer at once. An after-event of a host goes to [`Gate::judge`].
    pub async fn decide(&self, event: Event) -> Ruling {
        let ruleset = self.ruleset();
        let caught_up = self.catch_up().await;
        if ruleset.settings().mode == Mode::Off {
            return self.untouched(&ruleset, event);
        }
        if caught_up.is_err() && self.is_closed_without_ledger(&ruleset) {
            return self.refuse_unrecorded(&ruleset, event);
        }
        let session = match self.state.enter(&event.session, entry(&event, &ruleset)).await {
            Ok(session) => session,
            Err(error) => return self.refuse_without_state(&ruleset, event, error).await,
        };
        if let Some(aborted) = session.aborted.as_deref().filter(|_| ends_here(event.kind())) {
            return self.refuse_aborted(&ruleset, event, &session, aborted).await;
        }
        let renewed;
        let mut given = None;
        let mut chain = Chain::new(&ruleset, &*self.clock, &event, &session, self.clock.now());
        chain.run().await;
        let mut finding = resolve(&chain.joined(), &ruleset, event.kind());
        // What guards the gate itself holds in a dry mode too.
        let dry = ruleset.settings().mode == Mode::DryRun && !chain.guard_stands();
        if finding.verdict == Verdict::Ask && !dry {
            finding = match self.ask(&ruleset, &event, &chain, &finding).await {
                Err(refused) => refused,
                // Decided again, with the answer attached, in the session as it is now.
                Ok(agreed) => {
                    given = Some(agreed.approval());
                    match self.renew(&event, &ruleset).await {
                        Err(refused) => refused,
                        Ok(session) => {
                            renewed = session;
                            chain.count();
                            let now = self.clock.now();
                            chain = Chain::new(&ruleset, &*self.clock, &event, &renewed, now);
                            chain.run().await;
                            agreed.resolve(&chain, &ruleset, &event)
                        }
                    }
                }
            };
        }
        finding = bounds::keep(finding, &chain);
        finding = self.claim(&mut chain, finding, dry).await;
        if let Some(given) = given {
            finding = self.close_asked(&event, given, finding).await;
        }
        chain.count();
        let us = chain.now.since(chain.started).as_micros();
        let decided = Decided {
            payload: std::mem::replace(&mut chain.current, event.payload.clone()),
            votes: std::mem::take(&mut chain.votes),
            labels: std::mem::take(&mut chain.labels),
            reveals: std::mem::take(&mut chain.reveals),
            claimed: !chain.claims.is_empty() && finding.goes_through() && !dry,
            us: u32::try_from(us).unwrap_or(u32::MAX),
            at: chain.now,
            dry,
        };
        self.conclude(&ruleset, event, &session, decided, finding).await
    }

    /// The session as it is after people were asked. It, or the policy, may not be what it was.
    async fn renew(&self, event: &Event, ruleset: &Ruleset) -> Result<SessionView, Finding> {
        if self.ruleset().digest() != ruleset.digest() {
            let reason = "the policy changed while a person was asked";
            return Err(Finding::refuse(Code::ApprovalRequired, reason, None));
        }
        let entry = Entry { count: Counters::default(), ..entry(event, ruleset) };
        let session = self.state.enter(&event.session, entry).await;
        let session = session.map_err(|error| stateless(&error))?;
        match session.aborted.as_deref() {
            Some(aborted) => Err(ended(aborted)),
            None => Ok(session),
        }
    }

    /// Reserves what the event claims if it goes through; in a dry mode it only looks.
    async fn claim(&self, chain: &mut Chain<'_>, finding: Finding, dry: bool) -> Finding {
        self.look_at_dry_claims(chain).await;
        if chain.claims.is_empty() {
            return finding;
        }
        let key = call_key(chain.event);
        let claims: Vec<Claim> = chain.claims.iter().map(|(_, claim)| claim.clone()).collect();
        let answer = if dry {
            self.state.peek(&claims, chain.now).await
        } else if finding.goes_through() {
            self.state.reserve(&key, &claims, chain.now, self.lease_ms).await
        } else {
            self.state.charge(&claims, chain.now).await.map(Ok)
        };
        match answer {
            Ok(Ok(())) => finding,
            Ok(Err(exceeded)) if finding.goes_through() => {
                let claimant = chain.claims.iter().find(|(_, claim)| claim.hook == exceeded.hook);
                let denied =
                    Finding::exceeded(&exceeded, claimant.and_then(|(p, _)| chain.hook(*p)));
                mark(chain, &exceeded.hook, &denied);
                denied
            }
            Err(error) if finding.goes_through() => stateless(&error),
            // What is refused already stays refused by whoever refused it.
            Ok(Err(_)) | Err(_) => finding,
        }
    }

    /// What dry limits would have said, for the trace.
    async fn look_at_dry_claims(&self, chain: &mut Chain<'_>) {
        for (entry, claim) in std::mem::take(&mut chain.dry_claims) {
            let answer = self.state.peek(std::slice::from_ref(&claim), chain.now).await;
            let hook = chain.hook_of_entry(entry);
            if let (Ok(Err(exceeded)), Some(cast)) = (answer, chain.votes.get_mut(entry)) {
                cast.vote = Finding::exceeded(&exceeded, hook).refusal.map(Vote::Deny);
            }
        }
    }

    /// Writes the decision down, then lets it have its effects.
    async fn conclude(
        &self,
        ruleset: &Ruleset,
        event: Event,
        session: &SessionView,
        mut decided: Decided,
        finding: Finding,
    ) -> Ruling {
        let dry = decided.dry;
        let would = dry.then_some(finding.verdict);
        let holds_approval = finding.approval.is_some() && finding.goes_through();
        let key = (decided.claimed || holds_approval).then(|| call_key(&event));
        let labels = std::mem::take(&mut decided.labels);
        let reveals = std::mem::take(&mut decided.reveals);
        let holds = if dry { Finding::allow() } else { finding };
        let mut decision = self.decision(ruleset, &event, decided, holds, would);
        let record = self.decision_record(ruleset, &event, session, &decision, &labels);
        let mut ticket = self.ticket(&event, &decision, key, record.arguments.clone());
        if self.ledger.append(record, ruleset.settings().durability).await.is_err()
            && self.is_closed_without_ledger(ruleset)
        {
            if let Some(key) = ticket.call().and_then(|call| call.key.as_ref()) {
                // Nothing ran: what was reserved is given back.
                let _ = self.state.settle(key, &Default::default(), self.clock.now()).await;
            }
            ticket.forget_key();
            if decision.goes_through() {
                self.release_approval(&decision.approval, &event).await;
            }
            decision = unrecorded(decision, &event);
        }
        self.after_decision(&event, &mut decision, labels, dry).await;
        // Last of all: what is judged, asked about and recorded holds placeholders.
        if !dry {
            decision.reveal(&reveals);
        }
        Gate::ruling(decision, ticket)
    }

    /// What a decision does to its session: an abort, labels.
    async fn after_decision(
        &self,
        event: &Event,
        decision: &mut Decision,
        labels: Vec<Name>,
        dry: bool,
    ) {
        if dry {
            return;
        }
        let mut failed = false;
        // Whatever code it carries: the first reason of a session that has ended already stays.
        if decision.verdict == Verdict::Abort {
            let aborted = Aborted {
                code: decision.code.clone().unwrap_or(Code::HookDenied),
                reason: decision.reason.clone().unwrap_or_default(),
                hook: decision.hook.clone(),
            };
            failed |= self.state.abort(&event.session, aborted).await.is_err();
        }
        if !labels.is_empty() {
            let trace = Trace { labels, ..Trace::default() };
            failed |= self.state.leave(&event.session, &trace).await.is_err();
        }
        // A label that could not be set would let a later call pass that it should stop.
        if failed && decision.goes_through() && event.kind().phase() == Phase::Before {
            let refusal = Finding::refuse(Code::HookError, "session state cannot be written", None);
            refuse(decision, event, &refusal);
        }
    }

    fn decision(
        &self,
        ruleset: &Ruleset,
        event: &Event,
        decided: Decided,
        finding: Finding,
        would: Option<Verdict>,
    ) -> Decision {
        let mut decision = Decision {
            event_id: event.id.clone(),
            at: decided.at,
            verdict: finding.verdict,
            code: None,
            reason: None,
            remedy: None,
            hook: finding.hook.clone(),
            payload: if would.is_some() { event.payload.clone() } else { decided.payload },
            revealed: Hidden(None),
            result: None,
            approval: finding.approval.clone(),
            skip_host_prompt: finding.skip_host_prompt,
            policy: Arc::clone(ruleset.digest()),
            mode: ruleset.settings().mode,
            would,
            votes: Arc::new(decided.votes),
            us: decided.us,
        };
        if would.is_some() {
            for cast in Arc::make_mut(&mut decision.votes) {
                cast.dry_run = true;
            }
        }
        if let Some(answer) = &finding.answer {
            decision.result = Some(ToolResult {
                ok: true,
                content: Arc::clone(&answer.content),
                ..ToolResult::default()
            });
        }
        refuse(&mut decision, event, &finding);
        decision
    }

    /// `key`: under which the call has reserved something.
    /// The ticket of a decision: there before the decision is recorded, so that a decision which is
    /// cancelled on its way still has an outcome.
    fn ticket(
        &self,
        event: &Event,
        decision: &Decision,
        key: Option<CallKey>,
        shown: ShownArguments,
    ) -> Ticket {
        let is_call = event.kind().phase() == Phase::Before;
        let call = is_call.then(|| OpenCall {
            payload: decision.payload.clone(),
            decision: decision.event_id.clone(),
            key,
            shown,
            since: decision.at,
            may_have_run: false,
            event: event.clone(),
        });
        Ticket::new(call, &self.abandoned)
    }

    fn ruling(decision: Decision, ticket: Ticket) -> Ruling {
        let passage = if decision.goes_through() {
            Passage::Open(Permit::new(decision.runs().clone(), ticket))
        } else {
            let aborted = decision.verdict == Verdict::Abort;
            Passage::Closed(Closed { performed: closed_result(&decision), aborted, ticket })
        };
        Ruling { decision, passage }
    }

    /// Mode off: nothing is looked at, nothing is recorded.
    fn untouched(&self, ruleset: &Ruleset, event: Event) -> Ruling {
        let decided = Decided::of(&event, self.clock.now());
        let decision = self.decision(ruleset, &event, decided, Finding::allow(), None);
        let permit = Permit::new(event.payload, Ticket::new(None, &self.abandoned));
        Ruling { decision, passage: Passage::Open(permit) }
    }

    fn is_closed_without_ledger(&self, ruleset: &Ruleset) -> bool {
        ruleset.settings().mode == Mode::Enforce
            && ruleset.settings().durability == Durability::BeforeEffect
    }

    fn refuse_unrecorded(&self, ruleset: &Ruleset, event: Event) -> Ruling {
        let decided = Decided::of(&event, self.clock.now());
        let decision = self.decision(ruleset, &event, decided, Finding::allow(), None);
        let decision = unrecorded(decision, &event);
        let shown = self.shown_arguments(event.payload.part().as_ref(), &decision.payload);
        let ticket = self.ticket(&event, &decision, None, shown);
        Gate::ruling(decision, ticket)
    }

    async fn refuse_without_state(
        &self,
        ruleset: &Ruleset,
        event: Event,
        error: StateError,
    ) -> Ruling {
        let finding = stateless(&error);
        let dry = ruleset.settings().mode == Mode::DryRun;
        let decided = Decided { dry, ..Decided::of(&event, self.clock.now()) };
        self.conclude(ruleset, event, &SessionView::default(), decided, finding).await
    }

    async fn refuse_aborted(
        &self,
        ruleset: &Ruleset,
        event: Event,
        session: &SessionView,
        aborted: &Aborted,
    ) -> Ruling {
        let finding = ended(aborted);
        let decided = Decided::of(&event, self.clock.now());
        // A session that was ended stays ended in every mode: that was no dry run.
        let decision = self.decision(ruleset, &event, decided, finding, None);
        let record = self.decision_record(ruleset, &event, session, &decision, &[]);
        let ticket = self.ticket(&event, &decision, None, record.arguments.clone());
        // The call is refused either way; that it could not be recorded changes nothing.
        let _ = self.ledger.append(record, ruleset.settings().durability).await;
        Gate::ruling(decision, ticket)
    }
}

/// A refusal because the state failed: the model hears that, the person hears what failed.
pub(super) fn stateless(error: &StateError) -> Finding {
    let mut finding = Finding::refuse(Code::HookError, "session state is not available", None);
    if let Some(refusal) = &mut finding.refusal {
        refusal.remedy = Some(error.to_string().into());
    }
    finding
}

/// A refusal because the session was ended.
pub(super) fn ended(aborted: &Aborted) -> Finding {
    let reason = format!("the session was ended ({}): {}", aborted.code, aborted.reason);
    let mut finding = Finding::refuse(Code::SessionAborted, reason, aborted.hook.clone());
    finding.verdict = Verdict::Abort;
    finding
}

/// What the chain and the claims left of an event.
pub(super) struct Decided {
    pub(super) payload: Payload,
    pub(super) votes: Vec<crate::trace::Cast>,
    pub(super) labels: Vec<Name>,
    pub(super) reveals: Vec<Reveal>,
    pub(super) claimed: bool,
    pub(super) us: u32,
    pub(super) at: Timestamp,
    /// Whether it is recorded only.
    pub(super) dry: bool,
}

impl Decided {
    /// Of an event that no hook saw.
    fn of(event: &Event, at: Timestamp) -> Decided {
        Decided {
            payload: event.payload.clone(),
            votes: Vec::new(),
            labels: Vec::new(),
            reveals: Vec::new(),
            claimed: false,
            us: 0,
            at,
            dry: false,
        }
    }
}

/// The kinds at which an ended session is stopped; its ending and its errors still pass.
fn ends_here(kind: EventKind) -> bool {
    match kind {
        EventKind::AgentStart
        | EventKind::PromptBuild
        | EventKind::MemoryLoad
        | EventKind::PreModel
        | EventKind::PreTool => true,
        EventKind::PostModel
        | EventKind::PostTool
        | EventKind::ToolError
        | EventKind::AgentEnd
        | EventKind::AgentAbort
        | EventKind::Error => false,
    }
}

fn entry(event: &Event, ruleset: &Ruleset) -> Entry {
    let mut count = Counters::default();
    match event.kind() {
        EventKind::PreTool => count.tool_calls_attempted = 1,
        EventKind::PreModel => count.model_calls = 1,
        EventKind::AgentStart
        | EventKind::PromptBuild
        | EventKind::MemoryLoad
        | EventKind::PostModel
        | EventKind::PostTool
        | EventKind::ToolError
        | EventKind::AgentEnd
        | EventKind::AgentAbort
        | EventKind::Error => {}
    }
    let call = ruleset.needs_repeats().then(|| super::records::fingerprint(&event.payload));
    Entry { count, call: call.flatten() }
}

/// The key under which a call's reservation is found again.
pub(super) fn call_key(event: &Event) -> CallKey {
    let given = match event.payload.tool_call() {
        Some(call) => call.call_id.clone(),
        None => event.payload.model_call().and_then(|call| call.call_id.clone()),
    };
    CallKey {
        session: Arc::clone(&event.session.id),
        call: given.unwrap_or_else(|| match &event.id {
            EventId::Given(id) => Name::clone(id),
            made @ EventId::Made(_) => made.to_string().into(),
        }),
    }
}

/// From the join of the votes to what holds: with no vote at all, the default.
pub(super) fn resolve(joined: &Joined, ruleset: &Ruleset, kind: EventKind) -> Finding {
    let lead = joined.lead().cloned().or_else(|| default_vote(ruleset, kind));
    let Some(lead) = lead else {
        return Finding::allow();
    };
    let hook = (!lead.hook.is_empty()).then_some(lead.hook);
    let mut finding = Finding { verdict: lead.vote.kind(), hook, ..Finding::allow() };
    match lead.vote {
        Vote::Allow(_) => finding.skip_host_prompt = joined.skip_host_prompt(),
        Vote::Respond(answer) => finding.answer = Some(answer),
        Vote::Ask(question) => finding.refusal = Some(Refusal::because(question.reason)),
        Vote::Deny(refusal) | Vote::Abort(refusal) => finding.refusal = Some(refusal),
    }
    finding
}

fn default_vote(ruleset: &Ruleset, kind: EventKind) -> Option<Lead> {
    let lead = |vote| Some(Lead { rank: Rank::default(), hook: Name::default(), vote });
    match ruleset.settings().default_at(kind) {
        DefaultVote::Allow => None,
        DefaultVote::Ask => lead(Vote::Ask(crate::vote::Question {
            reason: "the policy's default asks".into(),
            ..Default::default()
        })),
        DefaultVote::Deny => {
            lead(Vote::Deny(Refusal::because("no rule allows this, and the default is to refuse")))
        }
    }
}

/// Shows in the trace that a hook's claim refused the event.
fn mark(chain: &mut Chain<'_>, hook: &Name, finding: &Finding) {
    if let Some(cast) = chain.votes.iter_mut().rev().find(|cast| cast.hook == *hook) {
        cast.vote = finding.refusal.clone().map(Vote::Deny);
    }
}

/// Puts a refusal into a decision: code, reason, and what the model is given.
pub(super) fn refuse(decision: &mut Decision, event: &Event, finding: &Finding) {
    decision.verdict = finding.verdict;
    if finding.goes_through() || finding.verdict == Verdict::Respond {
        return;
    }
    let refusal = finding.refusal.clone().unwrap_or_default();
    let code = refusal.code.unwrap_or(match finding.verdict {
        Verdict::Ask => Code::ApprovalRequired,
        Verdict::Allow | Verdict::Respond | Verdict::Deny | Verdict::Abort => Code::HookDenied,
    });
    // Whoever may not know of a tool is not told that it is the policy that says so.
    let message = if code == Code::UnknownTool {
        Arc::clone(&refusal.reason)
    } else {
        message_for_model(&refusal.reason, finding.hook.as_deref(), &event.id)
    };
    let tool = event.payload.subject().unwrap_or_default().into();
    let failure = Failure { code: code.clone(), message, tool };
    decision.result =
        (event.kind().phase() == Phase::Before).then(|| ToolResult::failure(failure, false));
    decision.code = Some(code);
    decision.reason = Some(refusal.reason);
    decision.remedy = refusal.remedy;
    decision.hook.clone_from(&finding.hook);
}

/// What the model hears: the reason, the hook, the record, and that this is policy.
pub(super) fn message_for_model(reason: &str, hook: Option<&str>, record: &EventId) -> Arc<str> {
    let by = hook.map(|hook| format!("hook `{hook}`, ")).unwrap_or_default();
    format!("{reason} ({by}record {record}; this is policy, not an error to work around)").into()
}

fn unrecorded(mut decision: Decision, event: &Event) -> Decision {
    let reason = "the decision could not be recorded";
    let finding = Finding::refuse(Code::LedgerUnavailable, reason, None);
    decision.payload = event.payload.clone();
    refuse(&mut decision, event, &finding);
    decision
}

/// What a closed call gives the model, before the after-chain.
fn closed_result(decision: &Decision) -> Performed {
    let result = decision.result.clone().unwrap_or_default();
    if decision.payload.model_call().is_none() {
        return Performed::Tool(result);
    }
    Performed::Model(if result.ok {
        ModelResult::answer(&result.content)
    } else {
        ModelResult { error: result.error, ..ModelResult::default() }
    })
}

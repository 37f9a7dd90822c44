//! The chain: the one loop in which hooks look at an event (laws 2 to 6).
//!
//! Hooks run in their order, each on the payload as its predecessors left it. What a hook says is
//! checked against its roles and the event's kind before it counts; whatever goes wrong becomes a
//! fault and is mapped to a vote in one place. When a rewrite came behind a judge, all judges look
//! once more at what will really run.

use crate::clock::{Clock, Timestamp};
use crate::code::Code;
use crate::event::{Event, Name};
use crate::hook::{HandlerError, Hook, OnFailure, Opinion, Roles, Sees, View};
use crate::index::Candidates;
use crate::kind::{EventKind, Phase};
use crate::limits::{CLAIMS_MAX, LABELS_MAX, NAME_BYTES_MAX, REASON_BYTES_MAX};
use crate::matcher::Subject;
use crate::panics::{Dropped, told};
use crate::payload::Payload;
use crate::ruleset::{Placed, Resolution, Ruleset};
use crate::soon::Soon;
use crate::state::{Claim, SessionView};
use crate::text;
use crate::trace::{Cast, Fault};
use crate::vault::Reveal;
use crate::vote::{Joined, Refusal, Vote, VoteKind};
use smallvec::SmallVec;
use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// One event's way through the hooks of a ruleset.
pub(crate) struct Chain<'g> {
    ruleset: &'g Ruleset,
    clock: &'g dyn Clock,
    pub(crate) event: &'g Event,
    session: &'g SessionView,
    /// The payload as the hooks so far left it.
    pub(crate) current: Payload,
    /// What each hook that ran said.
    pub(crate) votes: Vec<Cast>,
    /// The place of each of them.
    places: SmallVec<[u32; 8]>,
    /// Claims that count, with the place of their hook.
    pub(crate) claims: Vec<(u32, Claim)>,
    /// Claims of dry hooks, with the place of their entry in `votes`.
    pub(crate) dry_claims: Vec<(usize, Claim)>,
    pub(crate) labels: Vec<Name>,
    /// Data that go back into the call, behind everything.
    pub(crate) reveals: Vec<Reveal>,
    /// How often the payload was rewritten.
    rewrites: u32,
    standing: Vec<(u32, Vote)>,
    rewrote_behind_a_judge: bool,
    /// When it began.
    pub(crate) started: Timestamp,
    /// The last reading of the clock: one a hook boundary.
    pub(crate) now: Timestamp,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Full,
    /// Judges only, on the final payload.
    Judging,
}

/// What calling a handler gave.
enum Called<'a> {
    Now(Result<Opinion, Fault>),
    Later(Soon<'a, Result<Opinion, HandlerError>>),
}

impl<'g> Chain<'g> {
    pub(crate) fn new(
        ruleset: &'g Ruleset,
        clock: &'g dyn Clock,
        event: &'g Event,
        session: &'g SessionView,
        now: Timestamp,
    ) -> Chain<'g> {
        Chain {
            ruleset,
            clock,
            event,
            session,
            current: event.payload.clone(),
            votes: Vec::new(),
            places: SmallVec::new(),
            claims: Vec::new(),
            dry_claims: Vec::new(),
            labels: Vec::new(),
            reveals: Vec::new(),
            rewrites: 0,
            standing: Vec::new(),
            rewrote_behind_a_judge: false,
            started: now,
            now,
        }
    }

    /// Runs the hooks, and the judges once more if a rewrite came behind one of them.
    pub(crate) async fn run(&mut self) {
        self.pass(Pass::Full).await;
        // Where the first refusal ends a chain, nothing came behind it; and what the after-chain has
        // withheld stays withheld. Everywhere else a judge that refused is asked again too.
        let is_settled =
            self.is_final() || (self.event.kind().phase() == Phase::After && self.is_refused());
        if self.rewrote_behind_a_judge && !is_settled {
            self.forget_judges();
            self.pass(Pass::Judging).await;
        }
    }

    /// Whether what goes on is another payload than the one that came.
    pub(crate) fn is_rewritten(&self) -> bool {
        self.rewrites > 0 && self.current != self.event.payload
    }

    /// The hook whose rewrite came last.
    pub(crate) fn last_rewriter(&self) -> Option<Name> {
        self.votes
            .iter()
            .rev()
            .find(|cast| cast.rewrote && !cast.dry_run)
            .map(|cast| Name::clone(&cast.hook))
    }

    /// The join of the votes that stand.
    pub(crate) fn joined(&self) -> Joined {
        let placed = self.ruleset.placed();
        let votes = self.standing.iter().filter_map(|(place, vote)| {
            let placed = placed.get(*place as usize)?;
            Some(Joined::of(placed.rank, Name::clone(&placed.hook.name), vote.clone()))
        });
        votes.fold(Joined::default(), Joined::join)
    }

    /// The hook at a place.
    pub(crate) fn hook(&self, place: u32) -> Option<&'g Hook> {
        self.ruleset.placed().get(place as usize).map(|placed| &*placed.hook)
    }

    /// The hook of an entry of `votes`.
    pub(crate) fn hook_of_entry(&self, entry: usize) -> Option<&'g Hook> {
        self.places.get(entry).and_then(|place| self.hook(*place))
    }

    /// Counts what each hook did; called once the trace is final.
    pub(crate) fn count(&self) {
        for (cast, place) in self.votes.iter().zip(&self.places) {
            if let Some(placed) = self.ruleset.placed().get(*place as usize) {
                let open = placed.hook.on_failure == OnFailure::Open || cast.dry_run;
                placed.counts.count(cast, cast.fault.is_some() && open);
            }
        }
    }

    async fn pass(&mut self, pass: Pass) {
        let ruleset = self.ruleset;
        let mut candidates = self.candidates();
        let mut at = 0;
        while let Some(place) = candidates.get(at).copied() {
            at += 1;
            let Some(placed) = ruleset.placed().get(place as usize) else { continue };
            let hook = &placed.hook;
            if pass == Pass::Judging && !hook.roles.include(Roles::JUDGE) {
                continue;
            }
            if hook.rollout.is_some_and(|rollout| !rollout.applies(&hook.name, self.event)) {
                continue;
            }
            let concerns = self.concerns(hook);
            if concerns == Ok(false) {
                continue;
            }
            // Room for all that may come, made only once something comes.
            if self.votes.capacity() == 0 {
                self.votes.reserve_exact(candidates.len());
            }
            let (opinion, matched) = match concerns {
                Ok(false) => continue,
                // An answer that is there is taken without a detour through a future.
                Ok(true) => match self.call(hook) {
                    Called::Now(answer) => (answer, true),
                    Called::Later(later) => (in_time(later, self.clock, hook.timeout).await, true),
                },
                Err(fault) => (Err(fault), false),
            };
            let rewrites = self.rewrites;
            self.take(placed, place, pass, opinion);
            if let Some(cast) = self.votes.last_mut() {
                cast.unmatched = !matched;
            }
            if self.is_final() {
                return;
            }
            // A rewrite can change the model, and so bring other hooks in behind this one.
            if self.rewrites > rewrites && self.event.kind() == EventKind::PreModel {
                candidates = self.candidates();
                at = candidates.iter().take_while(|other| **other <= place).count();
            }
        }
    }

    /// The hooks that the event may concern as it is now. A rewrite can change the model that the
    /// index finds hooks by; those that see the original are still found by what was asked.
    fn candidates(&self) -> Candidates {
        let mut found = self.ruleset.candidates(self.event, &self.current);
        if self.current.subject() != self.event.payload.subject() {
            found.extend(self.ruleset.candidates(self.event, &self.event.payload));
            found.sort_unstable();
            found.dedup();
        }
        found
    }

    /// Whether the hook's matcher matches the payload as it is now.
    fn concerns(&self, hook: &Hook) -> Result<bool, Fault> {
        let payload = self.seen_by(hook);
        let subject = Subject { event: self.event, payload, session: self.session };
        match catch_unwind(AssertUnwindSafe(|| hook.matcher.matches(&subject))) {
            Ok(Ok(matches)) => Ok(matches),
            Ok(Err(error)) => Err(Fault::Failed(error.to_string())),
            Err(panic) => Err(panicked(panic)),
        }
    }

    fn seen_by(&self, hook: &Hook) -> &Payload {
        match hook.sees {
            Sees::Current => &self.current,
            Sees::Original => &self.event.payload,
        }
    }

    fn call<'a>(&'a self, hook: &'a Hook) -> Called<'a> {
        let view = View {
            event: self.event,
            payload: self.seen_by(hook),
            original: &self.event.payload,
            session: self.session,
            votes: &self.votes,
            now: self.now,
        };
        match catch_unwind(AssertUnwindSafe(|| hook.handler.handle(view))) {
            Err(panic) => Called::Now(Err(panicked(panic))),
            Ok(Soon::Now(Some(answer))) => {
                Called::Now(answer.map_err(|error| Fault::Failed(error.0)))
            }
            Ok(later) => Called::Later(later),
        }
    }

    /// Takes what a hook said, if it may say that; otherwise its fault.
    fn take(&mut self, placed: &Placed, place: u32, pass: Pass, opinion: Result<Opinion, Fault>) {
        let hook = &placed.hook;
        let before = std::mem::replace(&mut self.now, self.clock.now());
        let took = self.now.since(before);
        let mut cast = Cast::new(Name::clone(&hook.name));
        cast.us = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        cast.dry_run = hook.dry_run.is_dry(self.now);
        cast.judged_again = pass == Pass::Judging;
        // Most hooks have nothing to say; there is nothing to check or to apply then.
        if took <= hook.timeout && opinion.as_ref().is_ok_and(Opinion::says_nothing) {
            self.votes.push(cast);
            self.places.push(place);
            return;
        }
        let opinion = opinion.and_then(|opinion| in_budget(opinion, took, hook.timeout));
        let checked = opinion.and_then(|opinion| self.check(hook, pass, opinion));
        match checked {
            Ok((opinion, rewritten)) => {
                cast.rewrote = rewritten.is_some();
                cast.claims = u32::try_from(opinion.claims.len()).unwrap_or(u32::MAX);
                cast.findings = opinion.findings;
                cast.vote.clone_from(&opinion.vote);
                if cast.dry_run {
                    let entry = self.votes.len();
                    self.dry_claims.extend(opinion.claims.into_iter().map(|claim| (entry, claim)));
                } else {
                    self.apply(place, opinion.vote, rewritten);
                    // Whose claim it is, the gate knows best.
                    let of_hook = |claim| Claim { hook: Name::clone(&hook.name), ..claim };
                    let claims = opinion.claims.into_iter().map(|claim| (place, of_hook(claim)));
                    self.claims.extend(claims);
                    self.labels.extend(opinion.labels);
                    cast.reveals =
                        opinion.reveals.iter().map(|one| Name::clone(&one.placeholder)).collect();
                    self.reveal(place, opinion.reveals);
                }
            }
            Err(fault) => {
                let vote = fault_vote(hook, &fault, self.event.kind().phase());
                cast.fault = Some(fault);
                if hook.on_failure == OnFailure::Closed
                    && self.event.kind().may_vote(VoteKind::Deny)
                {
                    cast.vote = Some(vote.clone());
                    if !cast.dry_run {
                        self.apply(place, Some(vote), None);
                    }
                }
            }
        }
        self.votes.push(cast);
        self.places.push(place);
    }

    /// Notes data that go back into the call; judges that looked before look once more, knowing that.
    fn reveal(&mut self, place: u32, reveals: Vec<Reveal>) {
        if !reveals.is_empty() {
            let kind = self.event.kind();
            self.rewrote_behind_a_judge |= self.ruleset.has_judge_before(kind, place);
            self.reveals.extend(reveals);
        }
    }

    fn apply(&mut self, place: u32, vote: Option<Vote>, rewritten: Option<Payload>) {
        if let Some(payload) = rewritten {
            self.current = payload;
            // What was looked at before data were given back is another call now.
            self.reveals.clear();
            self.rewrites += 1;
            let kind = self.event.kind();
            self.rewrote_behind_a_judge |= self.ruleset.has_judge_before(kind, place);
        }
        let Some(vote) = vote else { return };
        // After the effect the relay goes on, but from here on nobody is handed the original.
        if self.event.kind().phase() == Phase::After && vote.kind() >= VoteKind::Deny {
            self.current = withheld_payload(&self.current);
        }
        self.standing.push((place, vote));
    }

    /// Checks an opinion against the hook's roles and the kind; gives the payload it rewrites to.
    fn check(
        &self,
        hook: &Hook,
        pass: Pass,
        mut opinion: Opinion,
    ) -> Result<(Opinion, Option<Payload>), Fault> {
        let kind = self.event.kind();
        let nonsense = |what: String| Err(Fault::Nonsense(what));
        if let Some(vote) = &mut opinion.vote {
            if !hook.roles.include(Roles::JUDGE) {
                return nonsense(format!("a vote from a hook that may only {}", hook.roles));
            }
            if !kind.may_vote(vote.kind()) {
                return nonsense(format!("`{}` is not possible at `{kind}`", vote.kind()));
            }
            cut_reason(vote);
        }
        if !opinion.claims.is_empty() {
            if !hook.roles.include(Roles::JUDGE) || !kind.may_claim() {
                return nonsense("a claim where there can be none".to_owned());
            }
            if self.claims.len() + opinion.claims.len() > CLAIMS_MAX {
                return nonsense(format!("more than {CLAIMS_MAX} claims on one event"));
            }
            if let Some(error) = opinion.claims.iter().find_map(|c| c.quota.check().err()) {
                return nonsense(error.to_string());
            }
        }
        let is_long = |name: &Name| name.len() > NAME_BYTES_MAX;
        if opinion.labels.len() > LABELS_MAX || opinion.labels.iter().any(is_long) {
            return nonsense(format!(
                "over {LABELS_MAX} labels, or one over {NAME_BYTES_MAX} bytes"
            ));
        }
        let reveals = !opinion.reveals.is_empty();
        if reveals && (!hook.roles.include(Roles::REWRITE) || kind != EventKind::PreTool) {
            return nonsense("data of the vault where no call is rewritten".to_owned());
        }
        let Some(part) = opinion.rewrite.take() else {
            return Ok((opinion, None));
        };
        if !hook.roles.include(Roles::REWRITE) {
            return nonsense(format!("a rewrite from a hook that may only {}", hook.roles));
        }
        let now = self.current.part();
        if now.is_some_and(|now| Arc::ptr_eq(&now, &part) || now == part) {
            return Ok((opinion, None));
        }
        if pass == Pass::Judging {
            return nonsense("a rewrite in the judging-only pass".to_owned());
        }
        match self.current.with_part(part) {
            Ok(payload) => Ok((opinion, Some(payload))),
            Err(error) => nonsense(error.to_string()),
        }
    }

    /// Whether a hook that guards the gate itself refuses.
    pub(crate) fn guard_stands(&self) -> bool {
        let guards = |place: u32| {
            self.ruleset.placed().get(place as usize).is_some_and(|placed| placed.hook.guards)
        };
        self.standing.iter().any(|(place, vote)| vote.kind() >= VoteKind::Deny && guards(*place))
    }

    /// Whether a deny or abort stands.
    fn is_refused(&self) -> bool {
        self.standing.iter().any(|(_, vote)| vote.kind() >= VoteKind::Deny)
    }

    /// Whether the chain ends here. The after-chain always runs to its end.
    fn is_final(&self) -> bool {
        self.ruleset.settings().resolution == Resolution::FirstDeny
            && self.event.kind().phase() != Phase::After
            && self.is_refused()
    }

    /// Takes back what judges said, before they look once more.
    fn forget_judges(&mut self) {
        let placed = self.ruleset.placed();
        let judges = |place: u32| {
            placed.get(place as usize).is_some_and(|p| p.hook.roles.include(Roles::JUDGE))
        };
        self.standing.retain(|(place, _)| !judges(*place));
        self.claims.retain(|(place, _)| !judges(*place));
        self.dry_claims.clear();
    }
}

/// What stands in place of a result that is withheld, while the relay goes on.
fn withheld_payload(payload: &Payload) -> Payload {
    let mut payload = payload.clone();
    match &mut payload {
        Payload::PostTool(outcome) | Payload::ToolError(outcome) => {
            let outcome = Arc::make_mut(outcome);
            outcome.result.content = Arc::default();
            if let Some(error) = &mut outcome.result.error {
                error.message = "withheld".into();
            }
        }
        Payload::PostModel(outcome) => {
            let outcome = Arc::make_mut(outcome);
            outcome.reply = Arc::default();
            if let Some(error) = &mut outcome.error {
                error.message = "withheld".into();
            }
        }
        Payload::AgentStart(_)
        | Payload::PromptBuild(_)
        | Payload::MemoryLoad(_)
        | Payload::PreModel(_)
        | Payload::PreTool(_)
        | Payload::AgentEnd(_)
        | Payload::AgentAbort(_)
        | Payload::Error(_) => {}
    }
    payload
}

/// The one place where a fault becomes a vote (law 5). The model hears that a hook failed and which;
/// the cause stays in the trace.
fn fault_vote(hook: &Hook, fault: &Fault, phase: Phase) -> Vote {
    let code = match fault {
        Fault::TimedOut { .. } => Code::HookTimeout,
        Fault::Failed(_) | Fault::Panicked(_) | Fault::Nonsense(_) => Code::HookError,
    };
    let what = if phase == Phase::After { "withheld" } else { "refused" };
    let reason = format!("policy hook `{}` could not decide, so this is {what}", hook.name);
    let remedy = format!("hook `{}` {fault}; see its `on_failure`", hook.name);
    Vote::Deny(Refusal { code: Some(code), reason: reason.into(), remedy: Some(remedy.into()) })
}

/// An inline handler cannot be interrupted: its overrun is a fault afterwards.
fn in_budget(opinion: Opinion, took: Duration, timeout: Duration) -> Result<Opinion, Fault> {
    if took > timeout { Err(timed_out(timeout)) } else { Ok(opinion) }
}

fn timed_out(timeout: Duration) -> Fault {
    Fault::TimedOut { timeout_ms: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX) }
}

fn cut_reason(vote: &mut Vote) {
    let reason = match vote {
        Vote::Deny(refusal) | Vote::Abort(refusal) => &mut refusal.reason,
        Vote::Ask(question) => &mut question.reason,
        Vote::Allow(_) | Vote::Respond(_) => return,
    };
    if reason.len() > REASON_BYTES_MAX {
        *reason = text::cut(reason, REASON_BYTES_MAX).into();
    }
}

/// Waits for an opinion, but no longer than the hook may take; a panic in it is a fault.
async fn in_time(
    later: Soon<'_, Result<Opinion, HandlerError>>,
    clock: &dyn Clock,
    timeout: Duration,
) -> Result<Opinion, Fault> {
    let mut sleep = clock.sleep(timeout);
    let mut later = Dropped(Some(later));
    std::future::poll_fn(move |cx| {
        let Some(answer) = &mut later.0 else { return Poll::Pending };
        let polled = catch_unwind(AssertUnwindSafe(|| std::pin::Pin::new(answer).poll(cx)));
        match polled {
            Err(panic) => return Poll::Ready(Err(panicked(panic))),
            Ok(Poll::Ready(answer)) => {
                return Poll::Ready(answer.map_err(|error| Fault::Failed(error.0)));
            }
            Ok(Poll::Pending) => {}
        }
        std::pin::Pin::new(&mut sleep).poll(cx).map(|()| Err(timed_out(timeout)))
    })
    .await
}

fn panicked(panic: Box<dyn Any + Send>) -> Fault {
    Fault::Panicked(told(panic).unwrap_or_else(|| "no message".to_owned()))
}

//! The actor: a session in front of its gate, and the small trait by which a loop tells of itself.
//!
//! Tools, models and the loop of one agent share one actor. It knows whether the session has been
//! ended, so that effects under way are dropped the moment that one of them ends the session. A child
//! actor has a session of its own, below the parent's, and always the parent's gate: there is no way
//! from a gated actor to an ungated one.
//!
//! An ungated actor stands in front of a gate of its own in mode `off`: everything passes through
//! untouched, and yet nothing is performed without a permit. It can only be made explicitly.

use crate::limits::{AGENT_DEPTH_MAX, DECISION_GRACE_MS};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::watch;
use tollgate_gate::{
    Aborted, Clock, Code, Decision, Event, EventId, Failure, Gate, HookError, Mode, Name, Passage,
    Payload, Session, Soon, Timestamp, Verdict,
};

/// A session in front of its gate. Clones are the same actor.
#[derive(Debug, Clone)]
pub struct Actor {
    gate: Arc<Gate>,
    session: Arc<Session>,
    /// Set once the session has ended.
    ending: Arc<watch::Sender<Option<Arc<Aborted>>>>,
    depth: u32,
}

/// An agent may not start another one: the chain of agents is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("agents that start agents may be nested {AGENT_DEPTH_MAX} deep at most")]
pub struct TooDeep;

impl Actor {
    /// A session whose every event passes this gate.
    pub fn gated(gate: Arc<Gate>, session: Session) -> Actor {
        Actor::at_depth(gate, Arc::new(session), 0)
    }

    /// A session that nothing governs: its gate is its own, has no hooks and is off.
    ///
    /// # Errors
    /// [`HookError`] if the gate cannot be built; one without hooks can.
    pub(crate) fn bare(clock: Arc<dyn Clock>, session: Session) -> Result<Actor, HookError> {
        let gate = Gate::builder(clock).mode(Mode::Off).build()?;
        Ok(Actor::at_depth(Arc::new(gate), Arc::new(session), 0))
    }

    fn at_depth(gate: Arc<Gate>, session: Arc<Session>, depth: u32) -> Actor {
        let ending = Arc::new(watch::Sender::new(None));
        Actor { gate, session, ending, depth }
    }

    /// An actor below this one: a session of its own whose parent is this session, and the same gate.
    ///
    /// # Errors
    /// [`TooDeep`] when there are too many levels.
    pub fn child(&self, agent: &Name) -> Result<Actor, TooDeep> {
        if self.depth >= AGENT_DEPTH_MAX {
            return Err(TooDeep);
        }
        let mut session = Session::clone(&self.session);
        session.root = Some(session.root.unwrap_or_else(|| Name::clone(&self.session.id)));
        // Unlike any other, also after a restart: a session that was ended stays ended.
        session.id = format!("{agent}-{}", EventId::made(self.now())).into();
        session.parent = Some(Name::clone(&self.session.id));
        session.agent = Some(Name::clone(agent));
        Ok(Actor::at_depth(Arc::clone(&self.gate), Arc::new(session), self.depth + 1))
    }

    /// The gate.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// The session.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The present moment, by the gate's clock.
    pub fn now(&self) -> Timestamp {
        self.gate.clock().now()
    }

    /// Why the session has ended, as far as this actor has been told.
    pub fn aborted(&self) -> Option<Arc<Aborted>> {
        self.ending.borrow().clone()
    }

    /// An event of this session, now.
    pub(crate) fn event(&self, payload: Payload) -> Event {
        Event::new(Arc::clone(&self.session), payload, self.now())
    }

    /// Notes that the session has ended. The first reason stays.
    pub(crate) fn note(&self, aborted: Option<&Aborted>) {
        if let Some(aborted) = aborted {
            self.ending.send_if_modified(|ending| {
                let first = ending.is_none();
                if first {
                    *ending = Some(Arc::new(aborted.clone()));
                }
                first
            });
        }
    }

    /// Notes a decision that ended the session.
    pub(crate) fn note_decision(&self, decision: &Decision) {
        if decision.verdict == Verdict::Abort {
            self.note(Some(&Aborted {
                code: decision.code.clone().unwrap_or(Code::SessionAborted),
                reason: decision.reason.clone().unwrap_or_default(),
                hook: decision.hook.clone(),
            }));
        }
    }

    /// Why the session has ended, for an answer: the first reason, whoever meets it.
    pub(crate) fn ended(&self) -> Option<Aborted> {
        self.aborted().map(Arc::unwrap_or_clone)
    }

    /// Runs an effect to its end, or drops it when the session ends before that (`None`).
    pub(crate) async fn unless_ended<F: Future>(&self, effect: F) -> Option<F::Output> {
        self.first_of(effect, Duration::ZERO).await
    }

    /// Waits for a decision to its end, or drops it when the session ends and it is still not made a
    /// while later (`None`). The while is there because a decision that is being written down is not
    /// to be cut short.
    pub(crate) async fn unless_long_ended<F: Future>(&self, decision: F) -> Option<F::Output> {
        self.first_of(decision, Duration::from_millis(DECISION_GRACE_MS)).await
    }

    async fn first_of<F: Future>(&self, work: F, grace: Duration) -> Option<F::Output> {
        let (mut ending, clock) = (self.ending.subscribe(), self.gate.clock());
        let mut work = pin!(work);
        let mut ended = pin!(async move {
            // The sender lives as long as this actor, so this ends only when the session does.
            let _ = ending.wait_for(Option::is_some).await;
            if !grace.is_zero() {
                clock.sleep(grace).await;
            }
        });
        // The work first: what came of it is worth more than that it is unknown.
        poll_fn(move |cx| match work.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => ended.as_mut().poll(cx).map(|()| None),
        })
        .await
    }
}

/// How an event of the loop ended.
#[derive(Debug)]
pub enum Emitted {
    /// It goes on, with this payload.
    Passed(Payload),
    /// It does not.
    Refused(Failure),
    /// The session has ended.
    Ended(Aborted),
}

/// Where a loop tells of the events of its agent's life that are no tool or model call.
pub trait Lifecycle: Send + Sync {
    /// Tells of an event, and says whether and how it goes on.
    fn emit(&self, payload: Payload) -> Soon<'_, Emitted>;

    /// Whose events these are.
    fn session(&self) -> &Session;

    /// The present moment, for traces.
    fn now(&self) -> Timestamp;
}

impl Lifecycle for Actor {
    fn emit(&self, payload: Payload) -> Soon<'_, Emitted> {
        Soon::later(async move {
            let kind = payload.kind();
            let ruling = self.gate.decide(self.event(payload)).await;
            let decision = ruling.decision;
            if let Passage::Open(permit) = ruling.passage {
                return Emitted::Passed(permit.redeem().0);
            }
            self.note_decision(&decision);
            if let Some(aborted) = self.ended().filter(|_| decision.verdict == Verdict::Abort) {
                return Emitted::Ended(aborted);
            }
            let code = decision.code.unwrap_or(Code::HookDenied);
            let reason = decision.reason.unwrap_or_default();
            Emitted::Refused(Failure { code, message: reason, tool: kind.name().into() })
        })
    }

    fn session(&self) -> &Session {
        &self.session
    }

    fn now(&self) -> Timestamp {
        Actor::now(self)
    }
}

//! From the plan to hooks of the gate.
//!
//! A policy that was just compiled brings its handlers along; one that comes from a
//! snapshot builds them at their first use, so that a hook process pays for the two or three rules
//! that its one call meets, not for all of them. A plan that cannot be built after all (it was
//! checked, so something changed) is a fault of its hook: closed unless the hook says otherwise.

use super::Redactors;
use super::effects::{EffectMemo, EffectTest, Question, UnknownTest};
use super::names::NameGlobs;
use super::paths::PathGlobs;
use super::plan::{ExceptionPlan, Field, HookPlan, MatchPlan};
use crate::actions::{self, ActionContext, Patterns as PatternTime};
use crate::detection::Sources;
use crate::when::{Condition, Groups, WhenEnv};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tollgate_gate::path::Path;
use tollgate_gate::{
    DryRun, Handler, HandlerError, Hook, Json, KindSet, Masking, Matcher, Name, OnFailure, Opinion,
    Patterns, Refusal, Rollout, RolloutBy, Sees, Soon, Subject, Timestamp, View, VoteKind,
};

/// What hooks are built with.
pub(crate) struct BuildContext {
    pub(crate) effects: Arc<EffectMemo>,
    pub(crate) groups: Arc<Groups>,
    pub(crate) redactors: Arc<Redactors>,
    pub(crate) sources: Sources,
}

/// The handler that compiling has already made of a hook.
pub(crate) type Ready = Option<Arc<dyn Handler>>;

/// Why a plan is no hook: it was not made by this version, or not by the compiler.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("hook `{hook}`: {what}")]
pub(crate) struct BuildError {
    hook: String,
    what: String,
}

/// The pieces of a hook, for whoever wants to look into its run.
pub(crate) struct Parts {
    pub(crate) matcher: Matcher,
    pub(crate) handler: Arc<dyn Handler>,
    pub(crate) exceptions: Arc<Exceptions>,
}

/// Builds a hook.
pub(crate) fn build(
    plan: &Arc<HookPlan>,
    ready: Ready,
    context: &BuildContext,
) -> Result<Hook, BuildError> {
    let parts = parts(plan, ready, context)?;
    hook(plan, parts)
}

/// The hook of a plan with these pieces.
pub(crate) fn hook(plan: &HookPlan, parts: Parts) -> Result<Hook, BuildError> {
    let Some(spec) = actions::find(&plan.action) else {
        let what = format!("there is no action `{}`", plan.action);
        return Err(BuildError { hook: plan.name.clone(), what });
    };
    let kinds = KindSet::of(plan.kinds.iter().copied());
    let handler = if parts.exceptions.0.is_empty() {
        parts.handler
    } else {
        Arc::new(Excepted { inner: parts.handler, exceptions: parts.exceptions })
    };
    let mut hook = Hook::new(plan.name.as_str(), kinds, spec.roles, handler)
        .matching(parts.matcher)
        .with_priority(plan.priority)
        .with_enabled(plan.enabled)
        .with_on_failure(if plan.open { OnFailure::Open } else { OnFailure::Closed })
        .with_sees(if plan.sees_original { Sees::Original } else { Sees::Current })
        .with_dry_run(match plan.dry_until {
            Some(until) => DryRun::Until(Timestamp::from_nanos(until)),
            None if plan.dry_run => DryRun::Yes,
            None => DryRun::No,
        });
    if let Some(timeout) = plan.timeout_ms {
        hook = hook.with_timeout(Duration::from_millis(timeout));
    }
    if let Some((percent, by)) = plan.rollout {
        let by = match by {
            1 => RolloutBy::Tenant,
            2 => RolloutBy::User,
            _ => RolloutBy::Session,
        };
        hook = hook.with_rollout(Rollout::percent(percent, by));
    }
    Ok(hook)
}

/// Matcher and handler of a plan.
pub(crate) fn parts(
    plan: &Arc<HookPlan>,
    ready: Ready,
    context: &BuildContext,
) -> Result<Parts, BuildError> {
    let wrong = |what: String| BuildError { hook: plan.name.clone(), what };
    let mut matcher = matcher(&plan.matching, &context.effects).map_err(wrong)?;
    for (snapshot, negated) in [(&plan.when, false), (&plan.unless, true)] {
        let Some(snapshot) = snapshot else { continue };
        let groups = Arc::clone(&context.groups);
        let test = Matcher::Test(Arc::new(Condition::from_snapshot(Arc::clone(snapshot), groups)));
        matcher = matcher.and(if negated { Matcher::Not(Box::new(test)) } else { test });
    }
    let handler = ready.unwrap_or_else(|| Arc::new(LazyAction::new(plan, context)));
    let exceptions = Exceptions::new(&plan.exceptions, context).map_err(wrong)?;
    Ok(Parts { matcher, handler, exceptions: Arc::new(exceptions) })
}

/// The matcher of a plan.
pub(crate) fn matcher(plan: &MatchPlan, effects: &Arc<EffectMemo>) -> Result<Matcher, String> {
    let patterns = |globs: &[String]| {
        Patterns::globs(globs.iter().map(String::as_str)).map_err(|error| error.to_string())
    };
    let names = |names: &[String]| names.iter().map(|name| Name::from(name.as_str())).collect();
    let list = |plans: &[MatchPlan]| {
        plans.iter().map(|plan| matcher(plan, effects)).collect::<Result<Vec<_>, _>>()
    };
    let effect = |verb, question, quantifier| {
        let memo = Arc::clone(effects);
        Matcher::Test(Arc::new(EffectTest { memo, verb, question, quantifier }))
    };
    Ok(match plan {
        MatchPlan::Always => Matcher::Always,
        MatchPlan::Name(field, globs) => {
            let globs = patterns(globs)?;
            match field {
                Field::Tool => Matcher::Tool(globs),
                Field::Server => Matcher::Server(globs),
                Field::Model => Matcher::Model(globs),
                Field::Tenant => Matcher::Tenant(globs),
                Field::User => Matcher::User(globs),
                Field::Agent => Matcher::Agent(globs),
                Field::Host => Matcher::Host(globs),
            }
        }
        MatchPlan::Tags(all) => Matcher::Tags(names(all)),
        MatchPlan::AnyTag(any) => Matcher::AnyTag(names(any)),
        MatchPlan::Labels(all) => Matcher::Labels(names(all)),
        MatchPlan::Value(path, globs) => {
            let path = Path::parse(path).map_err(|error| error.to_string())?;
            Matcher::Value(path, patterns(globs)?)
        }
        MatchPlan::Paths(verb, globs, quantifier) => {
            let globs = PathGlobs::new(globs.iter().map(String::as_str));
            let question = Question::Paths(globs.map_err(|error| error.to_string())?);
            effect(*verb, question, *quantifier)
        }
        MatchPlan::Outside(verb, folders, quantifier) => {
            effect(*verb, Question::Outside(folders.clone()), *quantifier)
        }
        MatchPlan::Names(verb, globs, quantifier) => {
            let globs = NameGlobs::new(globs.iter().map(String::as_str));
            let question = Question::Names(globs.map_err(|error| error.to_string())?);
            effect(*verb, question, *quantifier)
        }
        MatchPlan::Unknown(verbs) | MatchPlan::Hidden(verbs) => {
            let hidden = matches!(plan, MatchPlan::Hidden(_));
            let (memo, verbs) = (Arc::clone(effects), verbs.clone());
            Matcher::Test(Arc::new(UnknownTest { memo, verbs, hidden }))
        }
        MatchPlan::All(all) => Matcher::All(list(all)?),
        MatchPlan::AnyOf(any) => Matcher::AnyOf(list(any)?),
        MatchPlan::Not(inner) => Matcher::Not(Box::new(matcher(inner, effects)?)),
    })
}

/// The environment of a hook's conditions.
pub(crate) fn when_env(plan: &HookPlan, groups: &Arc<Groups>) -> WhenEnv {
    let tools = plan.matching.exact_tools().unwrap_or_default();
    WhenEnv {
        kinds: KindSet::of(plan.kinds.iter().copied()),
        tools: tools.into_iter().map(Name::from).collect(),
        groups: Arc::clone(groups),
    }
}

/// An action that is compiled when its hook first runs.
struct LazyAction {
    plan: Arc<HookPlan>,
    redactors: Arc<Redactors>,
    sources: Sources,
    effects: Arc<EffectMemo>,
    compiled: OnceLock<Result<Arc<dyn Handler>, String>>,
}

impl LazyAction {
    fn new(plan: &Arc<HookPlan>, context: &BuildContext) -> LazyAction {
        let (plan, redactors) = (Arc::clone(plan), Arc::clone(&context.redactors));
        let (sources, effects) = (context.sources.clone(), Arc::clone(&context.effects));
        LazyAction { plan, redactors, sources, effects, compiled: OnceLock::new() }
    }

    fn compile(&self) -> Result<Arc<dyn Handler>, String> {
        let plan = &*self.plan;
        let spec = actions::find(&plan.action);
        let spec = spec.ok_or_else(|| format!("there is no action `{}`", plan.action))?;
        let value = Json::read(plan.value.as_bytes()).map_err(|error| error.to_string())?;
        let kinds = KindSet::of(plan.kinds.iter().copied());
        let mut context = ActionContext::new(plan.name.as_str(), kinds);
        context.redactors.clone_from(&self.redactors);
        context.sources.clone_from(&self.sources);
        context.effects = Some(Arc::clone(&self.effects));
        context.patterns = PatternTime::AtFirstUse;
        (spec.compile)(&value, &context).map_err(|error| error.to_string())
    }
}

impl LazyAction {
    fn compiled(&self) -> Result<&dyn Handler, HandlerError> {
        let compiled = self.compiled.get_or_init(|| self.compile());
        compiled.as_deref().map_err(HandlerError::new)
    }
}

impl Masking for LazyAction {
    fn masked(&self, view: &View<'_>, value: &Json) -> Result<Option<Json>, HandlerError> {
        self.compiled()?.masking().map_or(Ok(None), |masking| masking.masked(view, value))
    }
}

impl Handler for LazyAction {
    fn handle<'a>(&'a self, view: View<'a>) -> Soon<'a, Result<Opinion, HandlerError>> {
        match self.compiled() {
            Ok(handler) => handler.handle(view),
            Err(error) => Soon::now(Err(error)),
        }
    }

    fn hides(&self) -> bool {
        // In doubt a tool is hidden.
        self.compiled().map_or(true, |handler| handler.hides())
    }

    fn reveals(&self) -> bool {
        self.compiled().is_ok_and(|handler| handler.reveals())
    }

    /// Told by the name of the action: asked of every hook when a policy comes into force.
    fn masking(&self) -> Option<&dyn Masking> {
        actions::masks(&self.plan.action).then_some(self)
    }

    fn exceeded(&self) -> Option<&Refusal> {
        self.compiled().ok()?.exceeded()
    }

    fn describe(&self) -> Option<String> {
        Some(format!("{} {}", self.plan.action, self.plan.value))
    }

    fn votes(&self) -> Option<&[VoteKind]> {
        self.plan.votes.as_deref()
    }

    fn claims(&self) -> bool {
        self.plan.claims
    }

    fn needs_repeats(&self) -> bool {
        self.plan.repeats
    }
}

/// Where a hook does not hold, each with its end.
#[derive(Default)]
pub(crate) struct Exceptions(Vec<(Matcher, Option<Timestamp>)>);

impl Exceptions {
    fn new(plans: &[ExceptionPlan], context: &BuildContext) -> Result<Exceptions, String> {
        let one = |plan: &ExceptionPlan| {
            let until = plan.until.map(Timestamp::from_nanos);
            Ok((matcher(&plan.matching, &context.effects)?, until))
        };
        plans.iter().map(one).collect::<Result<_, String>>().map(Exceptions)
    }

    /// Whether one of them holds. The gate's clock says so; an event cannot date itself back.
    pub(crate) fn hold(&self, view: &View<'_>) -> bool {
        let subject = Subject { event: view.event, payload: view.payload, session: view.session };
        self.0.iter().any(|(matcher, until)| {
            // An exception that cannot be told does not hold.
            until.is_none_or(|until| view.now < until) && matcher.matches(&subject) == Ok(true)
        })
    }
}

/// A handler that has no opinion where an exception holds.
struct Excepted {
    inner: Arc<dyn Handler>,
    exceptions: Arc<Exceptions>,
}

impl Masking for Excepted {
    fn masked(&self, view: &View<'_>, value: &Json) -> Result<Option<Json>, HandlerError> {
        match self.inner.masking() {
            Some(masking) if !self.exceptions.hold(view) => masking.masked(view, value),
            Some(_) | None => Ok(None),
        }
    }
}

impl Handler for Excepted {
    fn handle<'a>(&'a self, view: View<'a>) -> Soon<'a, Result<Opinion, HandlerError>> {
        if self.exceptions.hold(&view) {
            Soon::now(Ok(Opinion::none()))
        } else {
            self.inner.handle(view)
        }
    }

    fn describe(&self) -> Option<String> {
        let exceptions: Vec<String> = self
            .exceptions
            .0
            .iter()
            .map(|(matcher, until)| match until {
                Some(until) => format!("{matcher} until {until}"),
                None => matcher.to_string(),
            })
            .collect();
        Some(format!("{} except [{}]", self.inner.describe()?, exceptions.join("; ")))
    }

    fn votes(&self) -> Option<&[VoteKind]> {
        self.inner.votes()
    }

    fn claims(&self) -> bool {
        self.inner.claims()
    }

    fn needs_repeats(&self) -> bool {
        self.inner.needs_repeats()
    }

    fn hides(&self) -> bool {
        self.inner.hides()
    }

    fn reveals(&self) -> bool {
        self.inner.reveals()
    }

    fn masking(&self) -> Option<&dyn Masking> {
        self.inner.masking().is_some().then_some(self)
    }

    fn exceeded(&self) -> Option<&Refusal> {
        self.inner.exceeded()
    }
}

//! One hook: from raw to plan, with its action and conditions compiled where they stand.

use super::build::{BuildContext, when_env};
use super::effects::Quantifier;
use super::matching::MatchContext;
use super::plan::{HookPlan, MatchPlan};
use super::vars::Vars;
use super::{Made, Tools, Unit};
use crate::actions::{self, ActionContext, ActionSpec};
use crate::diagnostic::{Diagnostic, Place, Report, Severity, Span};
use crate::file::{Node, RawAction, RawHook, Value};
use crate::layers::LayerKind;
use crate::when::{Condition, ConditionSnapshot};
use std::ops::Range;
use std::sync::Arc;
use tollgate_gate::hook::PRIORITY_DEFAULT;
use tollgate_gate::limits::NAME_BYTES_MAX;
use tollgate_gate::{DryRun, EventKind, Handler, Json, Name, OnFailure, RolloutBy, Sees};

/// The one action that loosens: it holds only for calls that match as a whole.
const ALLOW: &str = "allow";

/// Compiles the hooks of a file.
pub(super) struct HookCompiler<'c> {
    pub(super) unit: &'c Unit,
    pub(super) at: usize,
    pub(super) vars: &'c Vars,
    pub(super) tools: &'c Tools,
    pub(super) build: &'c BuildContext,
}

impl HookCompiler<'_> {
    fn place(&self, span: Span) -> Place {
        self.unit.raw.place(span)
    }

    /// Compiles a hook as far as it goes; `None` when it has no action that could be compiled.
    pub(super) fn compile(
        &self,
        raw: &RawHook,
        written: usize,
        report: &mut Report,
    ) -> Option<Made> {
        let errors = report.count(Severity::Error);
        self.check_name(raw, report);
        let (action, spec) = self.one_action(raw, report)?;
        self.check_kinds(raw, action, spec, report);
        self.check_grant(raw, action, spec, report);
        self.check_closed(raw, spec, report);
        let value = self.value(action, report);
        let handler = self.handler(raw, action, spec, &value, report);
        let mut plan = plan(raw, self.unit, spec, &value);
        if let Some(handler) = &handler {
            plan.votes = handler.votes().map(<[_]>::to_vec);
            plan.claims = handler.claims();
            plan.repeats = handler.needs_repeats();
        }
        plan.matching = self.matching(raw, spec, report);
        plan.at = super::where_is(report, self.place(raw.name.span));
        plan.when = self.condition(raw.when.as_ref(), &plan, report);
        plan.unless = self.condition(raw.unless.as_ref(), &plan, report);
        if handler.as_ref().is_some_and(|handler| handler.hides()) {
            self.check_hidden(action, &plan, report);
        }
        if handler.as_ref().is_some_and(|handler| handler.reveals())
            && !plan.matching.names_a_tool()
        {
            let message = "data of the vault go to tools that the hook names";
            let found = Diagnostic::error("reveal", self.place(action.name.span), message);
            let remedy = "match: { tool: NAME }, without wildcards";
            report.push(found.with_remedy(remedy));
        }
        Some(Made {
            plan,
            ready: handler,
            place: self.place(raw.name.span),
            on: self.place(raw.kinds.span),
            matching: raw.matching.as_ref().map(|node| self.place(node.span)),
            unit: self.at,
            written,
            beside: None,
            broken: raw.broken || report.count(Severity::Error) > errors,
        })
    }

    fn check_name(&self, raw: &RawHook, report: &mut Report) {
        let name = &raw.name.value;
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            let message = format!("a hook's name has 1 to {NAME_BYTES_MAX} bytes");
            report.push(Diagnostic::error("name", self.place(raw.name.span), message));
        }
    }

    fn one_action<'r>(
        &self,
        raw: &'r RawHook,
        report: &mut Report,
    ) -> Option<(&'r RawAction, &'static ActionSpec)> {
        let names: Vec<&str> = actions::table().iter().map(|spec| spec.name).collect();
        match raw.actions.as_slice() {
            [] => {
                let message = format!("the hook `{}` has no action", raw.name.value);
                let found = Diagnostic::error("no-action", self.place(raw.name.span), message);
                report.push(found.with_remedy(format!("one of {}", names.join(", "))));
                None
            }
            [one] if one.value.is_broken() => None,
            [one] => Some((one, actions::find(&one.name.value)?)),
            [first, rest @ ..] => {
                for second in rest {
                    let (a, b) = (&first.name.value, &second.name.value);
                    let message =
                        format!("the hook `{}` has two actions, `{a}` and `{b}`", raw.name.value);
                    let place = self.place(second.name.span);
                    let found = Diagnostic::error("two-actions", place, message);
                    report.push(found.with_remedy("a hook has exactly one action; make two hooks"));
                }
                Some((first, actions::find(&first.name.value)?))
            }
        }
    }

    fn check_kinds(
        &self,
        raw: &RawHook,
        action: &RawAction,
        spec: &ActionSpec,
        report: &mut Report,
    ) {
        let possible: Vec<&str> = spec.kinds.iter().map(EventKind::name).collect();
        for kind in raw.kinds.value.iter().filter(|kind| !spec.kinds.contains(*kind)) {
            let message = format!("`{}` is not possible at `{kind}`", action.name.value);
            let found = Diagnostic::error("not-possible", self.place(raw.kinds.span), message);
            let remedy = format!("`{}` is possible at {}", spec.name, possible.join(", "));
            report.push(found.with_remedy(remedy));
        }
    }

    /// A redactor that fails never lets the original through (law 6): it cannot be made to fail open.
    fn check_closed(&self, raw: &RawHook, spec: &ActionSpec, report: &mut Report) {
        let open = raw.on_failure.as_ref().filter(|said| said.value == OnFailure::Open);
        if let Some(open) = open.filter(|_| spec.name == "redact") {
            let message = "a hook that redacts cannot be `on_failure: open`";
            let found = Diagnostic::error("redact-open", self.place(open.span), message);
            let remedy = "leave `on_failure` out: what cannot be redacted is withheld";
            report.push(found.with_remedy(remedy));
        }
    }

    /// A tool is left out of lists before anybody has given it arguments.
    fn check_hidden(&self, action: &RawAction, plan: &HookPlan, report: &mut Report) {
        let needs_a_call = plan.matching.needs_a_call();
        if !needs_a_call && plan.when.is_none() && plan.unless.is_none() {
            return;
        }
        let message = "a tool can be hidden only by what is known before it is called";
        let found = Diagnostic::error("hide", self.place(action.name.span), message);
        let remedy = "match by tool, server, agent, user, tenant, host, tags or labels only, \
                      or refuse with a reason in place of `hide`";
        report.push(found.with_remedy(remedy));
    }

    fn check_grant(
        &self,
        raw: &RawHook,
        action: &RawAction,
        spec: &ActionSpec,
        report: &mut Report,
    ) {
        let Some(grant) = &self.unit.grant else { return };
        if !grant.roles.include(spec.roles) {
            let message = format!(
                "`{}` needs the role {}, and the including file grants {}",
                spec.name,
                spec.roles,
                if grant.roles.is_empty() { "none".to_owned() } else { grant.roles.to_string() },
            );
            let found = Diagnostic::error("not-granted", self.place(action.name.span), message);
            let remedy =
                format!("extend the `grant` of the include, or leave `{}` out", raw.name.value);
            report.push(found.with_remedy(remedy));
        }
    }

    fn value(&self, action: &RawAction, report: &mut Report) -> Json {
        let place = |node: &Node| self.place(node.span);
        let mut problems = Vec::new();
        let value = self.vars.fill_value(&action.value, &action.name.value, place, &mut problems);
        problems.into_iter().for_each(|problem| report.push(problem));
        value
    }

    fn handler(
        &self,
        raw: &RawHook,
        action: &RawAction,
        spec: &ActionSpec,
        value: &Json,
        report: &mut Report,
    ) -> Option<Arc<dyn Handler>> {
        if action.value.has_broken() {
            return None;
        }
        let kinds: Vec<EventKind> =
            raw.kinds.value.iter().filter(|kind| spec.kinds.contains(*kind)).collect();
        if kinds.is_empty() {
            return None;
        }
        let kinds = tollgate_gate::KindSet::of(kinds);
        let mut context = ActionContext::new(Name::clone(&raw.name.value), kinds);
        context.redactors.clone_from(&self.build.redactors);
        context.sources.clone_from(&self.build.sources);
        if self.unit.kind == LayerKind::Project {
            // What a person said of findings is not for a repository to make use of.
            context.sources.reviews = None;
        }
        context.effects = Some(Arc::clone(&self.build.effects));
        match (spec.compile)(value, &context) {
            Ok(handler) => Some(handler),
            Err(error) => {
                let (node, key) = action.value.at_path(&error.path);
                let way = if error.path.is_empty() {
                    format!("`{}`", spec.name)
                } else {
                    format!("`{}.{}`", spec.name, error.path)
                };
                let span = match key.filter(|_| error.message.starts_with("unknown key")) {
                    Some(key) => key,
                    None if matches!(node.value, Value::Map(_)) => key.unwrap_or(action.name.span),
                    None => node.span,
                };
                let place = self.place(span);
                let message = format!("{way}: {}", error.message);
                let mut found = Diagnostic::error("action", place, message);
                found.remedy = error.remedy;
                report.push(found);
                None
            }
        }
    }

    fn match_context(&self) -> MatchContext<'_> {
        MatchContext {
            source: self.unit.raw.source,
            tool_groups: &self.tools.groups,
            aliases: &self.tools.aliases,
            vars: self.vars,
        }
    }

    fn matching(&self, raw: &RawHook, spec: &ActionSpec, report: &mut Report) -> MatchPlan {
        let quantifier = if spec.name == ALLOW { Quantifier::All } else { Quantifier::Any };
        let mut problems = Vec::new();
        let context = self.match_context();
        let mut plan = match &raw.matching {
            Some(node) => context.compile(node, quantifier, &mut problems),
            None => MatchPlan::Always,
        };
        if let Some(unless) = raw.unless.as_ref().filter(|n| matches!(n.value, Value::Map(_))) {
            let unless = context.compile(unless, Quantifier::All, &mut problems);
            plan = plan.and(MatchPlan::Not(Box::new(unless)));
        }
        if let Some(grant) = &self.unit.grant {
            plan = plan.and(grant.scope.clone());
        }
        problems.into_iter().for_each(|problem| report.push(problem));
        plan
    }

    fn condition(
        &self,
        node: Option<&Node>,
        plan: &HookPlan,
        report: &mut Report,
    ) -> Option<Arc<ConditionSnapshot>> {
        let (node, source) = node.and_then(|node| Some((node, node.as_str()?)))?;
        if let Some(name) = self.vars.named_in(source) {
            let message = format!("`${{{name}}}` is not filled in in a condition");
            let found = Diagnostic::error("env", self.place(node.span), message);
            report.push(found.with_remedy("use it in `match`, where it stands for its value"));
        }
        match Condition::compile(source, &when_env(plan, &self.build.groups)) {
            Ok(condition) => Some(Arc::clone(condition.snapshot())),
            Err(error) => {
                let text = report.sources.get(self.unit.raw.source).map(|s| s.text.as_str());
                let span = within(text.unwrap_or_default(), node, source, &error.span);
                let found = Diagnostic::error("condition", self.place(span), error.message);
                report.push(found.with_remedy(error.remedy));
                None
            }
        }
    }
}

/// The bytes of the file that a span of a condition stands for: exact when the condition is written
/// on one line without escapes, otherwise the whole of it.
fn within(text: &str, node: &Node, source: &str, span: &Range<usize>) -> Span {
    for start in [node.span.start, node.span.start + 1] {
        if text.get(start..start + source.len()) == Some(source) {
            return Span::new(start + span.start, start + span.end.max(span.start + 1));
        }
    }
    node.span
}

/// The parts of a plan that need no compiling.
fn plan(raw: &RawHook, unit: &Unit, spec: &ActionSpec, value: &Json) -> HookPlan {
    let on_failure = raw.on_failure.as_ref().map_or(spec.on_failure, |s| s.value);
    let dry_run = raw.dry_run.as_ref().map_or(DryRun::No, |s| s.value);
    HookPlan {
        name: raw.name.value.to_string(),
        kinds: raw.kinds.value.iter().collect(),
        matching: MatchPlan::Always,
        when: None,
        unless: None,
        action: spec.name.to_owned(),
        value: value.text(),
        votes: None,
        claims: false,
        repeats: false,
        priority: raw.priority.unwrap_or(PRIORITY_DEFAULT),
        enabled: raw.enabled,
        dry_run: dry_run != DryRun::No,
        dry_until: if let DryRun::Until(until) = dry_run { Some(until.nanos()) } else { None },
        rollout: raw.rollout.as_ref().map(|rollout| {
            let percent = u8::try_from(rollout.value.basis_points / 100).unwrap_or(100);
            let by = match rollout.value.by {
                RolloutBy::Session => 0,
                RolloutBy::Tenant => 1,
                RolloutBy::User => 2,
            };
            (percent, by)
        }),
        open: on_failure == OnFailure::Open,
        timeout_ms: raw.timeout.map(|t| u64::try_from(t.as_millis()).unwrap_or(u64::MAX)),
        sees_original: raw.sees == Sees::Original,
        severity: raw.severity.clone(),
        description: raw.description.clone(),
        locked: raw.locked,
        layer: unit.kind,
        at: String::new(),
        exceptions: Vec::new(),
    }
}

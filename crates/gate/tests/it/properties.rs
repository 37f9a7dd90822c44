//! What holds for whatever hooks and events come: the join, judged-is-what-runs, faults, dryness,
//! records, the index.

use crate::rig::{Rig, block_on, call_of, hook, json, running};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::{prop_assert, prop_assert_eq, proptest};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use tollgate_gate::path::Path;
use tollgate_gate::{
    Allowance, Answer, DryRun, Event, EventKind, HandlerError, Hook, Joined, Json, Matcher, Mode,
    Name, OnFailure, Opinion, Passage, Patterns, Payload, Performed, Question, Rank, RecordKind,
    Refusal, Resolution, Roles, Session, SessionView, Settings, Subject, ToolCall, ToolResult,
    Verdict, Vote,
};

fn votes() -> impl Strategy<Value = Vote> {
    let who = vec(prop_oneof![Just("a"), Just("b"), Just("c")], 0..3);
    let ask = (who, option::of(1..5u64)).prop_map(|(who, expires_ms)| {
        let who: BTreeSet<Name> = who.into_iter().map(Name::from).collect();
        Vote::Ask(Question { who, reason: "why".into(), expires_ms, wait_ms: expires_ms })
    });
    prop_oneof![
        any::<bool>().prop_map(|skip_host_prompt| Vote::Allow(Allowance { skip_host_prompt })),
        (0..3u32).prop_map(|n| Vote::Respond(Answer { content: Arc::new(n.into()) })),
        ask,
        (0..3u32).prop_map(|n| Vote::Deny(Refusal::because(n.to_string()))),
        (0..3u32).prop_map(|n| Vote::Abort(Refusal::because(n.to_string()))),
    ]
}

/// Joins of one vote each; a hook votes once, so each has a rank of its own.
fn joins(n: usize) -> impl Strategy<Value = Vec<Joined>> {
    vec((votes(), -2..2i32), n).prop_map(|votes| {
        let ranked = votes.into_iter().zip(0u32..);
        ranked
            .map(|((vote, priority), order)| {
                Joined::of(Rank { priority, order }, format!("h{order}").into(), vote)
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn the_join_of_votes_is_associative_commutative_and_idempotent(joins in joins(3)) {
        let [a, b, c] = [joins[0].clone(), joins[1].clone(), joins[2].clone()];
        let left = a.clone().join(b.clone()).join(c.clone());
        prop_assert_eq!(&left, &a.clone().join(b.clone().join(c.clone())));
        prop_assert_eq!(a.clone().join(b.clone()), b.clone().join(a.clone()));
        prop_assert_eq!(&left.clone().join(left.clone()), &left);
        prop_assert_eq!(&left.clone().join(Joined::default()), &left);
        prop_assert_eq!(&left.clone().join(b), &left);
    }

    #[test]
    fn the_strictest_vote_is_the_verdict_and_everyone_asked_is_asked(joins in joins(5)) {
        let strictest = joins.iter().filter_map(Joined::verdict).max();
        let asked: BTreeSet<Name> = joins.iter().flat_map(|join| join.who().clone()).collect();
        let joined = joins.into_iter().fold(Joined::default(), Joined::join);
        prop_assert_eq!(joined.verdict(), strictest);
        prop_assert_eq!(joined.who(), &asked);
    }
}

/// A hook of a random chain over calls whose arguments are `{"n": 0..5}`.
#[derive(Debug, Clone)]
struct Plan {
    kind: Act,
    /// For which `n` it matches.
    when: Option<u64>,
    priority: i32,
    dry: bool,
}

#[derive(Debug, Clone)]
enum Act {
    /// Sets `n`.
    Rewrite(u64),
    /// Refuses this `n`.
    Refuse(u64),
    Allow,
    /// Goes wrong; closed or open.
    Fault {
        closed: bool,
        panics: bool,
        judges: bool,
    },
    Respond,
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    let act = prop_oneof![
        4 => (0..5u64).prop_map(Act::Rewrite),
        4 => (0..5u64).prop_map(Act::Refuse),
        1 => Just(Act::Allow),
        1 => Just(Act::Respond),
        1 => any::<(bool, bool, bool)>()
            .prop_map(|(closed, panics, judges)| Act::Fault { closed, panics, judges }),
    ];
    let plan = (act, option::of(0..5u64), -1..3i32, proptest::bool::weighted(0.15))
        .prop_map(|(kind, when, priority, dry)| Plan { kind, when, priority, dry });
    vec(plan, 0..8)
}

fn n_of(payload: &Payload) -> u64 {
    payload.part().and_then(|part| part.get("n").and_then(Json::as_u64)).unwrap_or(99)
}

type Judged = Arc<Mutex<Vec<(usize, u64)>>>;

fn hook_of(at: usize, plan: &Plan, judged: &Judged) -> Hook {
    let name = format!("h{at}");
    let log = Arc::clone(judged);
    let judges = move |view: tollgate_gate::View<'_>| {
        log.lock().unwrap().push((at, n_of(view.payload)));
    };
    let on = EventKind::PreTool;
    let mut made = match plan.kind.clone() {
        Act::Rewrite(n) => hook(&name, on, Roles::REWRITE, move |_| {
            Ok(Opinion::rewrite(json(&format!("{{\"n\":{n}}}"))))
        }),
        Act::Refuse(n) => hook(&name, on, Roles::JUDGE, move |view| {
            judges(view);
            Ok(if n_of(view.payload) == n { Opinion::deny("no") } else { Opinion::none() })
        }),
        Act::Allow => hook(&name, on, Roles::JUDGE, move |view| {
            judges(view);
            Ok(Opinion::allow())
        }),
        Act::Respond => hook(&name, on, Roles::JUDGE, move |view| {
            judges(view);
            Ok(Opinion::respond("x"))
        }),
        Act::Fault { closed, panics, judges } => {
            let roles = if judges { Roles::JUDGE } else { Roles::REWRITE };
            let bad = hook(&name, on, roles, move |_| {
                assert!(!panics, "a planned panic");
                Err(HandlerError::new("a planned error"))
            });
            bad.with_on_failure(if closed { OnFailure::Closed } else { OnFailure::Open })
        }
    };
    if let Some(n) = plan.when {
        let path = Path::parse("args.n").unwrap();
        let n = n.to_string();
        made = made.matching(Matcher::Value(path, Patterns::globs([n.as_str()]).unwrap()));
    }
    let dry = if plan.dry { DryRun::Yes } else { DryRun::No };
    made.with_priority(plan.priority).with_dry_run(dry)
}

fn settings(collect: bool) -> Settings {
    let mut settings = Settings::default();
    if collect {
        settings.resolution = Resolution::Collect;
    }
    settings
}

fn rig_of(plans: &[Plan], judged: &Judged, settings: Settings) -> Rig {
    let hooks: Vec<Hook> =
        plans.iter().enumerate().map(|(at, plan)| hook_of(at, plan, judged)).collect();
    Rig::with(hooks, |builder| builder.settings(settings))
}

fn call_with(n: u64) -> Event {
    call_of(&crate::rig::session("s1"), "t", &format!("{{\"n\":{n}}}"))
}

const fn is_judge(plan: &Plan) -> bool {
    matches!(
        plan.kind,
        Act::Refuse(_) | Act::Allow | Act::Respond | Act::Fault { judges: true, .. }
    )
}

proptest! {
    /// Law 4, whatever the order and matching.
    #[test]
    fn the_payload_that_runs_was_judged_by_every_judge_that_matches_it(
        plans in plans(), n in 0..5u64, collect in any::<bool>(),
    ) {
        let judged = Judged::default();
        let rig = rig_of(&plans, &judged, settings(collect));
        let ruling = rig.decide(call_with(n));
        let Passage::Open(permit) = &ruling.passage else { return Ok(()) };
        let runs = n_of(permit.payload());
        prop_assert_eq!(permit.payload(), &ruling.decision.payload);
        for (at, plan) in plans.iter().enumerate().filter(|(_, plan)| !plan.dry) {
            if plan.when.is_some_and(|when| when != runs) || !is_judge(plan) {
                continue;
            }
            if matches!(plan.kind, Act::Fault { .. }) {
                let closed = matches!(plan.kind, Act::Fault { closed: true, .. });
                prop_assert!(!closed, "h{} failed closed and the call runs", at);
                continue;
            }
            let seen = judged.lock().unwrap().contains(&(at, runs));
            prop_assert!(seen, "h{} never judged {}", at, runs);
            let refuses = matches!(plan.kind, Act::Refuse(no) if no == runs);
            prop_assert!(!refuses && !matches!(plan.kind, Act::Respond));
        }
    }

    /// Nothing that is not open reaches its effect, and each call has one record of each kind.
    #[test]
    fn a_refused_call_never_runs_and_every_call_has_its_two_records(
        plans in plans(), calls in vec((0..5u64, any::<bool>()), 1..6), collect in any::<bool>(),
    ) {
        let rig = rig_of(&plans, &Judged::default(), settings(collect));
        let mut opened = 0;
        for (n, dropped) in &calls {
            let ruling = rig.decide(call_with(*n));
            let is_open = matches!(ruling.passage, Passage::Open(_));
            prop_assert_eq!(is_open, ruling.decision.verdict == Verdict::Allow);
            if *dropped {
                continue;
            }
            opened += usize::from(is_open);
            let settled = match ruling.passage {
                Passage::Open(permit) => {
                    let (_, ticket) = permit.redeem();
                    let performed = Performed::Tool(ToolResult::success(1));
                    block_on(rig.gate.settle(ticket, performed))
                }
                Passage::Closed(closed) => block_on(rig.gate.settle_closed(closed)),
            };
            prop_assert_eq!(crate::rig::tool_result(&settled).executed, is_open);
        }
        block_on(rig.gate.flush()).unwrap();
        let decisions = rig.records(RecordKind::Decision);
        let outcomes = rig.records(RecordKind::Outcome);
        prop_assert_eq!(decisions.len(), calls.len());
        let of_decisions: BTreeSet<_> = outcomes.iter().map(|o| o.decision.clone()).collect();
        prop_assert_eq!((outcomes.len(), of_decisions.len()), (calls.len(), calls.len()));
        let ran = outcomes.iter().filter(|outcome| outcome.executed == Some(true)).count();
        prop_assert_eq!(ran, opened);
    }

    /// Hooks that are dry, and any hooks in mode dry_run, change nothing.
    #[test]
    fn nothing_dry_changes_what_runs(plans in plans(), n in 0..5u64, by_mode in any::<bool>()) {
        let mut plans = plans;
        let mut settings = Settings::default();
        if by_mode {
            settings.mode = Mode::DryRun;
        } else {
            plans.iter_mut().for_each(|plan| plan.dry = true);
        }
        let rig = rig_of(&plans, &Judged::default(), settings);
        let ruling = rig.decide(call_with(n));
        prop_assert_eq!(running(&ruling), Some(format!("{{\"n\":{n}}}")));
        prop_assert!(ruling.decision.rewritten_by().next().is_none());
        prop_assert!(ruling.decision.votes.iter().all(|cast| cast.dry_run));
    }

    /// A dry run says what enforcing decides.
    #[test]
    fn mode_dry_run_says_what_enforcing_decides(plans in plans(), n in 0..5u64) {
        let mut dry = Settings::default();
        dry.mode = Mode::DryRun;
        let would = rig_of(&plans, &Judged::default(), dry).decide(call_with(n)).decision.would;
        let does = rig_of(&plans, &Judged::default(), Settings::default()).decide(call_with(n));
        prop_assert_eq!(would, Some(does.decision.verdict));
    }
}

const NAMES: [&str; 6] = ["read", "read_file", "write", "a", "ab", "é"];

fn patterns() -> impl Strategy<Value = Patterns> {
    let pattern = prop_oneof![
        "(read|write|a|ab|é|[*]|read_[*]|[*]_file|[*]a[*]|r[*]d|[{]a,ab[}]|[{]a[*],[*]e[}]|[?]|\\[ae\\][*])",
    ];
    vec(pattern, 0..3)
        .prop_map(|patterns| Patterns::globs(patterns.iter().map(String::as_str)).unwrap())
}

fn names() -> impl Strategy<Value = Name> {
    proptest::sample::select(&NAMES[..]).prop_map(Name::from)
}

fn matchers() -> impl Strategy<Value = Matcher> {
    let leaf = prop_oneof![
        Just(Matcher::Always),
        patterns().prop_map(Matcher::Tool),
        patterns().prop_map(Matcher::Server),
        patterns().prop_map(Matcher::Model),
        patterns().prop_map(Matcher::Tenant),
        patterns().prop_map(Matcher::User),
        patterns().prop_map(Matcher::Agent),
        patterns().prop_map(Matcher::Host),
        vec(names(), 0..3).prop_map(Matcher::Tags),
        vec(names(), 0..3).prop_map(Matcher::AnyTag),
        vec(names(), 0..2).prop_map(Matcher::Labels),
        patterns().prop_map(|patterns| Matcher::Value(Path::parse("args.x").unwrap(), patterns)),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Matcher::All),
            vec(inner.clone(), 0..3).prop_map(Matcher::AnyOf),
            inner.prop_map(|matcher| Matcher::Not(Box::new(matcher))),
        ]
    })
}

fn events() -> impl Strategy<Value = Event> {
    let some = || option::of(names());
    let who = (some(), some(), some(), some());
    (0..3u8, names(), some(), who, vec(names(), 0..3), names()).prop_map(
        |(kind, subject, server, (tenant, user, agent, host), tags, x)| {
            let session = Session { tenant, user, agent, host, ..Session::new("s") };
            let payload = match kind {
                0 | 1 => {
                    let arguments = json(&format!("{{\"x\":{:?}}}", &*x));
                    let call = ToolCall { server, ..ToolCall::new(subject, arguments) };
                    Payload::from(call)
                }
                _ => {
                    let request = json(&format!("{{\"model\":{:?},\"messages\":[]}}", &*subject));
                    Payload::from(tollgate_gate::payload::ModelCall {
                        request: Arc::new(request),
                        ..Default::default()
                    })
                }
            };
            Event::new(Arc::new(session), payload, crate::rig::start()).with_tags(tags)
        },
    )
}

proptest! {
    /// Law 12: the index finds every hook that a look at all of them would find, and no hook runs
    /// that does not match.
    #[test]
    fn indexed_matching_equals_matching_one_by_one(
        matchers in vec(matchers(), 1..12), events in vec(events(), 1..6),
    ) {
        let ran: Arc<Mutex<Vec<usize>>> = Arc::default();
        let hooks = matchers.iter().enumerate().map(|(at, matcher)| {
            let ran = Arc::clone(&ran);
            let kinds = tollgate_gate::KindSet::BEFORE;
            hook(&format!("h{at}"), kinds, Roles::WATCH, move |_| {
                ran.lock().unwrap().push(at);
                Ok(Opinion::none())
            })
            .matching(matcher.clone())
        });
        let rig = Rig::of(hooks.collect::<Vec<_>>());
        let session = SessionView::default();
        for event in events {
            let subject = Subject { event: &event, payload: &event.payload, session: &session };
            let matches = |matcher: &Matcher| matcher.matches(&subject).unwrap();
            let expected: Vec<usize> =
                (0..matchers.len()).filter(|at| matches(&matchers[*at])).collect();
            ran.lock().unwrap().clear();
            drop(rig.decide(event.clone()));
            prop_assert_eq!(&*ran.lock().unwrap(), &expected);
        }
    }
}

//! Laws 10 and 11: attached is active, detached is gone; one name, one hook; grants; dry runs.

use crate::rig::{
    Breakable, Rig, block_on, call, call_of, code, hook, is_open, judge, rewriter, running,
    tool_result,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tollgate_gate::{
    DryRun, EventKind, Grant, HookError, KindSet, Mode, Opinion, Passage, RecordKind, Registered,
    Roles, Rollout, RolloutBy, Ruleset, Scope, Session, Settings, SwitchError, Verdict,
};

fn no() -> tollgate_gate::Hook {
    judge("no", |_| Opinion::deny("no"))
}

#[test]
fn hooks_are_added_switched_replaced_and_removed_while_the_gate_runs() {
    let rig = Rig::of([]);
    let passes = || is_open(&rig.decide(call("t", "{}")));
    assert!(passes());
    assert_eq!(block_on(rig.gate.attach(no())), Ok(Registered::New));
    assert!(!passes());
    block_on(rig.gate.disable("no", "for a while")).unwrap();
    assert!(passes());
    block_on(rig.gate.enable("no", "again")).unwrap();
    assert!(!passes());
    block_on(rig.gate.set_dry_run("no", DryRun::Yes, "trial")).unwrap();
    assert!(passes());
    block_on(rig.gate.replace(judge("no", |_| Opinion::abort("really no")), "stricter")).unwrap();
    assert_eq!(
        rig.decide(call_of(&crate::rig::session("x"), "t", "{}")).decision.verdict,
        Verdict::Abort
    );
    block_on(rig.gate.detach("no")).unwrap();
    assert!(passes());
    let missing = block_on(rig.gate.detach("no"));
    assert_eq!(missing, Err(SwitchError::Hook(HookError::Unknown("no".into()))));
    assert_eq!(rig.records(RecordKind::Switch).len(), 6);
}

#[test]
fn the_same_hook_again_changes_nothing_and_another_under_its_name_is_an_error() {
    let rig = Rig::of([]);
    let hook = no();
    assert_eq!(block_on(rig.gate.attach(hook.clone())), Ok(Registered::New));
    let digest = Arc::clone(rig.gate.ruleset().digest());
    assert_eq!(block_on(rig.gate.attach(hook.clone())), Ok(Registered::Already));
    assert_eq!(*rig.gate.ruleset().digest(), digest);
    assert_eq!(rig.records(RecordKind::Switch).len(), 1);
    let taken = Err(SwitchError::Hook(HookError::NameTaken("no".into())));
    assert_eq!(block_on(rig.gate.attach(no())), taken);
    assert_eq!(block_on(rig.gate.attach(hook.with_priority(1))), taken);
}

#[test]
fn a_switch_that_cannot_be_recorded_does_not_happen() {
    let ledger = Arc::new(Breakable::default());
    let book = Arc::clone(&ledger);
    let rig = Rig::with([no()], |builder| builder.ledger(book));
    block_on(rig.gate.flush()).unwrap();
    let digest = Arc::clone(rig.gate.ruleset().digest());
    ledger.broken.store(true, Ordering::Relaxed);
    assert!(block_on(rig.gate.detach("no")).is_err());
    assert!(block_on(rig.gate.set_mode(Mode::Off, "x")).is_err());
    assert!(block_on(rig.gate.swap(Ruleset::new(Settings::default(), []).unwrap())).is_err());
    assert_eq!(*rig.gate.ruleset().digest(), digest);
}

#[test]
fn a_swap_takes_the_whole_ruleset_and_keeps_counts_by_name() {
    let rig = Rig::of([no()]);
    rig.run(call("t", "{}"));
    let fresh = Ruleset::new(Settings::default(), [judge("no", |_| Opinion::allow())]).unwrap();
    block_on(rig.gate.swap(fresh.with_digest("sha256:of-a-file"))).unwrap();
    let ruling = rig.decide(call("t", "{}"));
    assert!(is_open(&ruling));
    assert_eq!(&*ruling.decision.policy, "sha256:of-a-file");
    assert_eq!(rig.gate.metrics()[0].runs, 2);
    assert_eq!(rig.records(RecordKind::PolicyLoad).len(), 2);
}

#[test]
fn each_decision_uses_one_ruleset_while_others_are_swapped_in() {
    // Both rulesets hold a pair of hooks; a decision that mixed them would see an odd pair.
    let pair = |word: &'static str| {
        let vote = move |_: tollgate_gate::View<'_>| Ok(Opinion::labels([word]));
        let first = hook("first", EventKind::PreTool, Roles::WATCH, vote);
        let second = hook("second", EventKind::PreTool, Roles::WATCH, vote);
        Ruleset::new(Settings::default(), [first, second]).unwrap().with_digest(word)
    };
    let rig = Rig::with([], |builder| builder.ruleset(pair("a")));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    rig.run(call("t", "{}"));
                }
            });
        }
        for round in 0..200 {
            block_on(rig.gate.swap(pair(if round % 2 == 0 { "b" } else { "a" }))).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    for record in rig.records(RecordKind::Decision) {
        let policy = record.policy.unwrap();
        assert_eq!(record.labels, [Arc::clone(&policy), policy]);
    }
}

#[test]
fn a_registrar_gives_only_the_roles_and_the_scope_that_it_was_granted() {
    let rig = Rig::of([]);
    let scope =
        Scope { tools: vec!["mail_*".into()], tenants: vec!["acme".into()], ..Scope::default() };
    let grant = Grant { roles: Roles::WATCH.and(Roles::JUDGE), scope, priority_min: Some(50) };
    let registrar = rig.gate.registrar(grant).unwrap();
    let refused = |hook| {
        matches!(
            block_on(registrar.attach(hook)),
            Err(SwitchError::Hook(HookError::NotGranted { .. }))
        )
    };
    assert!(refused(rewriter("r", "{}")));
    assert!(refused(no().with_priority(0)));
    let hook = no();
    assert_eq!(block_on(registrar.attach(hook.clone())), Ok(Registered::New));
    assert_eq!(block_on(registrar.attach(hook)), Ok(Registered::Already));
    let by = |tenant: &str, tool: &str| {
        let who = Arc::new(Session::new(tenant).with_tenant(tenant));
        is_open(&rig.decide(call_of(&who, tool, "{}")))
    };
    assert!(!by("acme", "mail_send"));
    assert!(by("acme", "read"));
    assert!(by("other", "mail_send"));
    let bad =
        Grant { scope: Scope { tools: vec!["[".into()], ..Scope::default() }, ..Grant::default() };
    assert!(rig.gate.registrar(bad).is_err());
}

#[test]
fn nothing_dry_changes_anything() {
    let everything = |name: &'static str, kinds: KindSet| {
        hook(name, kinds, Roles::ALL, move |view| {
            let kind = view.kind();
            let is_call = kind == EventKind::PreTool;
            let part = if is_call { crate::rig::json(r#"{"dry":true}"#) } else { "dry".into() };
            Ok(Opinion {
                rewrite: Some(Arc::new(part)),
                labels: vec!["dry".into()],
                ..Opinion::abort("dry")
            })
        })
    };
    let kinds = KindSet::of([EventKind::PreTool, EventKind::PostTool]);
    let dry_hook = Rig::of([everything("h", kinds).with_dry_run(DryRun::Yes)]);
    let dry_mode = Rig::with([everything("h", kinds)], |builder| builder.mode(Mode::DryRun));
    for rig in [dry_hook, dry_mode] {
        for _ in 0..2 {
            let ruling = rig.decide(call("t", r#"{"a":1}"#));
            assert_eq!(running(&ruling).unwrap(), r#"{"a":1}"#);
            assert_eq!(ruling.decision.verdict, Verdict::Allow);
            assert_eq!(ruling.decision.rewritten_by().next(), None);
            assert!(ruling.decision.votes.iter().all(|cast| cast.dry_run && cast.rewrote));
            let settled = rig.run(call("t", r#"{"a":1}"#));
            assert_eq!(tool_result(&settled).content.as_str(), Some("done"));
            assert!(settled.aborted.is_none());
        }
        // No label and no end: a hook that looks sees neither.
        let looks = judge("looks", |view| {
            if view.session.has_label("dry") || view.session.aborted.is_some() {
                Opinion::abort("a dry run left something")
            } else {
                Opinion::none()
            }
        });
        block_on(rig.gate.attach(looks.with_priority(-1))).unwrap();
        block_on(rig.gate.disable("h", "look without it")).unwrap();
        let ruling = rig.decide(call("t", "{}"));
        assert_eq!(ruling.decision.would.unwrap_or(ruling.decision.verdict), Verdict::Allow);
    }
}

#[test]
fn mode_dry_run_records_what_enforcing_would_have_decided() {
    let rig =
        Rig::with([rewriter("clamp", r#"{"max":10}"#), no()], |builder| builder.mode(Mode::DryRun));
    let ruling = rig.decide(call("t", r#"{"max":100}"#));
    assert_eq!(ruling.decision.would, Some(Verdict::Deny));
    let record = &rig.records(RecordKind::Decision)[0];
    assert_eq!((record.would, record.verdict), (Some(Verdict::Deny), Some(Verdict::Allow)));
    assert_eq!(record.mode, Some(Mode::DryRun));
    assert_eq!(record.arguments.ran, None);
}

#[test]
fn a_dry_run_until_a_day_acts_from_that_moment_on() {
    let end = crate::rig::start().plus_millis(5000);
    let rig = Rig::of([no().with_dry_run(DryRun::Until(end))]);
    assert!(is_open(&rig.decide(call("t", "{}"))));
    rig.clock.advance(std::time::Duration::from_secs(5));
    assert!(!is_open(&rig.decide(call("t", "{}"))));
}

#[test]
fn a_rollout_is_stable_takes_its_share_and_applies_where_the_key_is_missing() {
    let rollout = Rollout { basis_points: 3000, by: RolloutBy::Tenant };
    let rig = Rig::of([no().with_rollout(rollout)]);
    let applies = |tenant: Option<String>| {
        let mut who = Session::new(format!("{tenant:?}"));
        who.tenant = tenant.map(Into::into);
        !is_open(&rig.decide(call_of(&Arc::new(who), "t", "{}")))
    };
    assert!(applies(None));
    let chosen: Vec<bool> = (0..2000).map(|n| applies(Some(format!("tenant-{n}")))).collect();
    let share = chosen.iter().filter(|chosen| **chosen).count();
    assert!((500..700).contains(&share), "{share} of 2000");
    let again: Vec<bool> = (0..2000).map(|n| applies(Some(format!("tenant-{n}")))).collect();
    assert_eq!(chosen, again);
}

#[test]
fn a_mode_change_is_a_record_and_holds_for_the_next_decision() {
    let rig = Rig::of([no()]);
    block_on(rig.gate.set_mode(Mode::Off, "incident 7")).unwrap();
    assert!(tool_result(&rig.run(call("t", "{}"))).ok);
    block_on(rig.gate.set_mode(Mode::Off, "again")).unwrap();
    block_on(rig.gate.set_mode(Mode::Enforce, "over")).unwrap();
    assert_eq!(code(&rig.run(call("t", "{}"))), "hook_denied");
    let changes = rig.records(RecordKind::ModeChange);
    assert_eq!(changes.len(), 2);
    assert_eq!(
        changes[0].detail.as_ref().unwrap().get("reason").unwrap().as_str(),
        Some("incident 7")
    );
}

#[test]
fn metrics_count_what_hooks_did_and_read_as_text() {
    let rig = Rig::of([
        no().matching(tollgate_gate::Matcher::tool("bad").unwrap()),
        rewriter("r\"w", r#"{"x":1}"#),
    ]);
    for tool in ["bad", "good", "good"] {
        rig.run(call(tool, "{}"));
    }
    let metrics = rig.gate.metrics();
    assert_eq!((metrics[0].matches, metrics[0].votes_of(Verdict::Deny)), (1, 1));
    assert_eq!((metrics[1].runs, metrics[1].rewrites), (2, 2));
    assert_eq!(metrics[1].buckets.iter().sum::<u64>(), 2);
    let text = rig.gate.metrics_text();
    for line in [
        "# TYPE tollgate_hook_runs_total counter",
        "tollgate_hook_runs_total{hook=\"no\"} 1",
        "tollgate_hook_votes_total{hook=\"no\",vote=\"deny\"} 1",
        "tollgate_hook_rewrites_total{hook=\"r\\\"w\"} 2",
        "# TYPE tollgate_hook_seconds histogram",
        "tollgate_hook_seconds_bucket{hook=\"no\",le=\"0.000001\"} 1",
        "tollgate_hook_seconds_bucket{hook=\"no\",le=\"+Inf\"} 1",
        "tollgate_hook_seconds_count{hook=\"no\"} 1",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
}

#[test]
fn a_permit_holds_what_was_judged_and_nothing_done_to_the_event_changes_it() {
    let rig = Rig::of([rewriter("clamp", r#"{"max":10}"#)]);
    let event = call("t", r#"{"max":100}"#);
    let Passage::Open(permit) = rig.decide(event.clone()).passage else { panic!() };
    let (payload, ticket) = permit.redeem();
    assert_eq!(payload.part().unwrap().text(), r#"{"max":10}"#);
    assert_eq!(event.payload.part().unwrap().text(), r#"{"max":100}"#);
    drop(ticket);
}

#[test]
fn what_guards_the_gate_holds_in_a_dry_mode_and_cannot_be_switched() {
    let guard = judge("guard", |_| Opinion::deny("this guards the gate")).guarding();
    let rig = Rig::with([guard.clone()], |builder| builder.mode(Mode::DryRun));
    let ruling = rig.decide(call("t", "{}"));
    assert_eq!(ruling.decision.verdict, Verdict::Deny);
    assert_eq!(ruling.decision.would, None);
    assert_eq!(running(&ruling), None);
    let guards = |result: Result<(), SwitchError>| {
        assert!(matches!(result, Err(SwitchError::Hook(HookError::Guards(_)))), "{result:?}");
    };
    guards(block_on(rig.gate.detach("guard")));
    guards(block_on(rig.gate.disable("guard", "no")));
    guards(block_on(rig.gate.set_dry_run("guard", DryRun::Yes, "no")));
    guards(block_on(rig.gate.replace(judge("guard", |_| Opinion::none()), "no")));
    assert_eq!(rig.decide(call("t", "{}")).decision.verdict, Verdict::Deny);
}

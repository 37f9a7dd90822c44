//! Law 9 and the scopes of refusal: counters, labels, endings, and what a child has to do with them.

use crate::rig::{
    Rig, block_on, call, call_of, child, code, event, hook, is_open, json, judge, session,
    tool_result,
};
use std::sync::{Arc, Mutex};
use tollgate_gate::{
    Code, Counters, Event, EventKind, Failure, KindSet, Matcher, ModelResult, Opinion, Performed,
    Refusal, Roles, Session, ToolCall, ToolResult, Usage, Vote,
};

type Seen = Arc<Mutex<Vec<(EventKind, Counters, Counters)>>>;

/// Writes down the counters that a hook sees, of the session and of its tree.
fn counting(kinds: KindSet) -> (tollgate_gate::Hook, Seen) {
    let seen = Seen::default();
    let log = Arc::clone(&seen);
    let hook = hook("counters", kinds, Roles::WATCH, move |view| {
        log.lock().unwrap().push((view.kind(), view.session.counters, view.session.tree));
        Ok(Opinion::none())
    });
    (hook, seen)
}

#[test]
fn a_hook_sees_counters_that_include_the_event_being_decided() {
    let (hook, seen) = counting(KindSet::BEFORE);
    let rig = Rig::of([hook]);
    rig.run(call("t", "{}"));
    rig.run(call("t", "{}"));
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0].1, Counters { tool_calls_attempted: 1, ..Counters::default() });
    let second =
        Counters { tool_calls_attempted: 2, tool_calls_executed: 1, ..Counters::default() };
    assert_eq!(seen[1].1, second);
}

#[test]
fn calls_tokens_and_cost_are_counted_and_children_count_into_their_ancestors() {
    let (hook, seen) = counting(KindSet::BEFORE);
    let no = judge("no", |_| Opinion::deny("no")).matching(Matcher::tool("bad").unwrap());
    let rig = Rig::of([hook, no]);
    rig.run(call("t", "{}"));
    rig.run(call_of(&child("kid", "s1"), "t", "{}"));
    rig.run(call_of(&child("grandkid", "kid"), "bad", "{}"));
    let usage = Usage { tokens_in: 5, tokens_out: 7, cost_micros: 9 };
    let reply =
        Performed::Model(ModelResult { ok: true, executed: true, usage, ..ModelResult::default() });
    rig.run_with(event(EventKind::PreModel, r#"{"model":"m"}"#), reply);
    drop(rig.decide(call("t", "{}")));
    let all = Counters {
        tool_calls_attempted: 4,
        tool_calls_executed: 2,
        tool_calls_refused: 1,
        model_calls: 1,
        tokens_in: 5,
        tokens_out: 7,
        cost_micros: 9,
    };
    assert_eq!(seen.lock().unwrap().last().unwrap().1, all);
    drop(rig.decide(call_of(&child("kid", "s1"), "t", "{}")));
    let of_kid = *seen.lock().unwrap().last().unwrap();
    assert_eq!((of_kid.1.tool_calls_attempted, of_kid.1.tool_calls_refused), (3, 1));
    assert_eq!(of_kid.2.tool_calls_attempted, 5);
}

#[test]
fn usage_that_a_host_makes_up_cannot_turn_a_counter_back() {
    let (hook, seen) = counting(KindSet::AFTER);
    let rig = Rig::of([hook]);
    for _ in 0..2 {
        let text = r#"{"model":"m","usage":{"tokens_in":18446744073709551615,"cost_micros":18446744073709551615}}"#;
        block_on(rig.gate.judge(event(EventKind::PostModel, text)));
    }
    assert_eq!(seen.lock().unwrap()[1].1.cost_micros, u64::MAX);
}

#[test]
fn a_call_that_was_judged_counts_one_attempt_however_its_host_ends_it() {
    let (hook, seen) = counting(KindSet::BEFORE);
    let rig = Rig::of([hook]);
    let of = |kind: &str, rest: &str| {
        let text = format!(
            r#"{{"kind":"{kind}","session":{{"id":"s1"}},"payload":{{"tool":"t","call_id":"c"{rest}}}}}"#
        );
        Event::read(text.as_bytes(), crate::rig::start()).unwrap()
    };
    block_on(rig.gate.judge(of("pre_tool", "")));
    let declined = r#","result":{"ok":false,"executed":false,"error":"the user said no"}"#;
    block_on(rig.gate.judge(of("tool_error", declined)));
    block_on(rig.gate.judge(of("pre_tool", "")));
    assert_eq!(seen.lock().unwrap()[1].1.tool_calls_attempted, 2);
    let failure = Failure { code: "unknown_tool".into(), message: "x".into(), tool: "x".into() };
    block_on(rig.gate.settle_unjudged(&session("s1"), ToolCall::new("x", json("{}")), failure));
    block_on(rig.gate.judge(of("pre_tool", "")));
    assert_eq!(seen.lock().unwrap()[2].1.tool_calls_attempted, 4);
}

#[test]
fn an_abort_refuses_every_later_event_of_the_session_and_its_children_and_no_other() {
    let end = judge("end", |_| Opinion::abort("enough")).matching(Matcher::tool("bad").unwrap());
    let rig = Rig::of([end]);
    rig.run(call_of(&child("old-kid", "s1"), "t", "{}"));
    let settled = rig.run(call("bad", "{}"));
    assert!(settled.aborted.is_some());
    for who in [
        session("s1"),
        child("old-kid", "s1"),
        child("new-kid", "s1"),
        child("grandkid", "new-kid"),
    ] {
        let settled = rig.run(call_of(&who, "t", "{}"));
        assert_eq!(code(&settled), "session_aborted");
        assert!(settled.aborted.is_some());
    }
    for (kind, payload) in [
        (EventKind::PreModel, r#"{"model":"m"}"#),
        (EventKind::PromptBuild, "{}"),
        (EventKind::MemoryLoad, "{}"),
        (EventKind::AgentStart, "{}"),
    ] {
        assert!(!is_open(&rig.decide(event(kind, payload))), "{kind}");
    }
    // Its ending is still told.
    assert!(is_open(&rig.decide(event(EventKind::AgentAbort, r#"{"reason":"r"}"#))));
    assert!(tool_result(&rig.run(call_of(&session("other"), "t", "{}"))).ok);
    assert_eq!(rig.effects(), 2);
}

#[test]
fn an_abort_ends_the_session_whatever_code_it_carries() {
    let refusal = Refusal::because("enough").with_code(Code::SessionAborted);
    let end = judge("end", move |_| Opinion::vote(Vote::Abort(refusal.clone())))
        .matching(Matcher::tool("bad").unwrap());
    let rig = Rig::of([end]);
    rig.run(call("bad", "{}"));
    assert_eq!(code(&rig.run(call("good", "{}"))), "session_aborted");
    assert_eq!(rig.effects(), 0);
}

#[test]
fn a_childs_end_is_not_its_parents_end() {
    let end = judge("end", |_| Opinion::abort("enough")).matching(Matcher::tool("bad").unwrap());
    let rig = Rig::of([end]);
    rig.run(call_of(&child("kid", "s1"), "bad", "{}"));
    assert!(tool_result(&rig.run(call("t", "{}"))).ok);
    assert_eq!(code(&rig.run(call_of(&child("kid", "s1"), "t", "{}"))), "session_aborted");
}

#[test]
fn the_after_chain_can_end_a_session_too() {
    let end = hook("loops", KindSet::AFTER_TOOL, Roles::JUDGE, |_| Ok(Opinion::abort("a loop")));
    let rig = Rig::of([end]);
    let settled = rig.run(call("t", "{}"));
    assert_eq!(settled.aborted.unwrap().hook.as_deref(), Some("loops"));
    assert_eq!(code(&rig.run(call("t", "{}"))), "session_aborted");
}

#[test]
fn a_call_that_runs_while_its_session_is_ended_tells_so() {
    let rig = Rig::of([]);
    let tollgate_gate::Passage::Open(permit) = rig.decide(call("t", "{}")).passage else {
        panic!()
    };
    block_on(rig.gate.abort_session(&session("s1"), "stop", "by hand")).unwrap();
    let (_, ticket) = permit.redeem();
    let settled = block_on(rig.gate.settle(ticket, Performed::Tool(ToolResult::success("x"))));
    assert_eq!(settled.aborted.unwrap().reason.as_ref(), "by hand");
}

#[test]
fn labels_join_upwards_and_a_new_child_starts_with_its_parents() {
    let label =
        hook("label", KindSet::AFTER_TOOL, Roles::WATCH, |_| Ok(Opinion::labels(["saw-secret"])));
    let label = label.matching(Matcher::tool("read_secret").unwrap());
    let send = judge("no-send", |_| Opinion::deny("secrets stay here"))
        .matching(Matcher::tool("send").unwrap().and(Matcher::Labels(vec!["saw-secret".into()])));
    let rig = Rig::of([label, send]);
    let send_by = |who: &Arc<Session>| code_or_ok(&rig, call_of(who, "send", "{}"));
    assert_eq!(send_by(&session("s1")), "ok");
    rig.run(call_of(&child("kid", "s1"), "read_secret", "{}"));
    assert_eq!(send_by(&child("kid", "s1")), "hook_denied");
    assert_eq!(send_by(&session("s1")), "hook_denied");
    assert_eq!(send_by(&child("later-kid", "s1")), "hook_denied");
    assert_eq!(send_by(&session("stranger")), "ok");
}

fn code_or_ok(rig: &Rig, event: Event) -> String {
    let settled = rig.run(event);
    if tool_result(&settled).ok { "ok".to_owned() } else { code(&settled) }
}

#[test]
fn a_label_that_cannot_be_kept_refuses_the_call() {
    let n = std::sync::atomic::AtomicU32::new(0);
    let label = hook("label", EventKind::PreTool, Roles::WATCH, move |_| {
        let n = n.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(Opinion::labels((0..200).map(|i| format!("{n}-{i}"))))
    });
    let rig = Rig::of([label]);
    assert!(tool_result(&rig.run(call("t", "{}"))).ok);
    assert_eq!(code(&rig.run(call("t", "{}"))), "hook_error");
}

#[test]
fn too_long_a_chain_of_parents_is_refused() {
    let rig = Rig::of([]);
    let mut codes = Vec::new();
    for n in 0..70 {
        let who = child(&format!("s{}", n + 1), &format!("s{n}"));
        codes.push(code_or_ok(&rig, call_of(&who, "t", "{}")));
    }
    assert_eq!(codes[60], "ok");
    assert_eq!(codes[69], "session_aborted");
}

#[test]
fn a_full_table_forgets_idle_sessions_and_never_an_ended_one() {
    let state = tollgate_gate::MemoryState::new();
    let enter = |id: &str| {
        let session = Session::new(id);
        block_on(tollgate_gate::State::enter(
            &state,
            &session,
            tollgate_gate::state::Entry::default(),
        ))
    };
    let ended = Session::new("ended");
    let aborted = tollgate_gate::Aborted { code: "x".into(), reason: "r".into(), hook: None };
    block_on(tollgate_gate::State::abort(&state, &ended, aborted)).unwrap();
    for n in 0..tollgate_gate::limits::SESSIONS_MAX + 10 {
        enter(&format!("s{n}")).unwrap();
    }
    assert!(enter("ended").unwrap().aborted.is_some());
}

#[test]
fn repeats_are_counted_within_the_session() {
    struct Repeating(Mutex<Vec<tollgate_gate::Repeats>>);
    impl tollgate_gate::Handler for Repeating {
        fn handle<'a>(
            &'a self,
            view: tollgate_gate::View<'a>,
        ) -> tollgate_gate::Soon<'a, Result<Opinion, tollgate_gate::HandlerError>> {
            self.0.lock().unwrap().push(view.session.repeats);
            tollgate_gate::Soon::now(Ok(Opinion::none()))
        }
        fn needs_repeats(&self) -> bool {
            true
        }
    }
    let handler = Arc::new(Repeating(Mutex::default()));
    let shared: Arc<Repeating> = Arc::clone(&handler);
    let no = judge("no", |_| Opinion::deny("no")).with_priority(200);
    let rig =
        Rig::of([tollgate_gate::Hook::new("r", EventKind::PreTool, Roles::WATCH, shared), no]);
    for arguments in [r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, "{}", r#"{"a":1,"b":2}"#] {
        rig.run(call("t", arguments));
    }
    let seen: Vec<_> = handler
        .0
        .lock()
        .unwrap()
        .iter()
        .map(|r| (r.in_a_row, r.refused_before, r.recent))
        .collect();
    assert_eq!(seen, [(1, 0, 1), (2, 1, 2), (1, 0, 1), (1, 0, 3)]);
}

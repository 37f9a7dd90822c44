//! Laws 2 to 4: the order of hooks, who stops a chain, and that what was judged is what runs.

use crate::rig::{
    Rig, block_on, call, code, event, failure, hook, is_open, judge, rewriter, running, tool_result,
};
use std::future::Future as _;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tollgate_gate::{
    DefaultVote, EventKind, Hook, HookError, KindSet, Matcher, Opinion, RecordKind, Resolution,
    Roles, Sees, Settings, VoteKind, asynchronous,
};

fn collecting() -> Settings {
    let mut settings = Settings::default();
    settings.resolution = Resolution::Collect;
    settings
}

fn logging(name: &'static str, log: &Arc<Mutex<Vec<&'static str>>>, opinion: Opinion) -> Hook {
    let log = Arc::clone(log);
    judge(name, move |_| {
        log.lock().unwrap().push(name);
        opinion.clone()
    })
}

#[test]
fn hooks_run_by_priority_then_by_order_of_registration() {
    let log = Arc::default();
    let rig = Rig::of([
        logging("late", &log, Opinion::none()).with_priority(200),
        logging("first", &log, Opinion::none()),
        logging("second", &log, Opinion::none()),
        logging("security", &log, Opinion::none()).with_priority(0),
    ]);
    rig.run(call("t", "{}"));
    assert_eq!(*log.lock().unwrap(), ["security", "first", "second", "late"]);
}

#[test]
fn one_deny_ends_the_chain_without_any_effect() {
    let log = Arc::default();
    let rig = Rig::of([
        logging("a", &log, Opinion::allow()),
        logging("b", &log, Opinion::deny("not here")),
        logging("c", &log, Opinion::allow()),
    ]);
    let settled = rig.run(call("t", "{}"));
    assert_eq!(*log.lock().unwrap(), ["a", "b"]);
    assert_eq!((code(&settled).as_str(), rig.effects()), ("hook_denied", 0));
    assert!(!tool_result(&settled).executed);
    let decision = &rig.records(RecordKind::Decision)[0];
    assert_eq!(decision.hook.as_deref(), Some("b"));
    assert_eq!(decision.votes.len(), 2);
}

#[test]
fn ask_and_respond_wait_for_a_later_deny() {
    for opinion in [Opinion::ask(["alice"], "sure?"), Opinion::respond("cached")] {
        let rig = Rig::of([
            judge("mild", move |_| opinion.clone()),
            judge("strict", |_| Opinion::deny("no")),
        ]);
        let ruling = rig.decide(call("t", "{}"));
        assert_eq!(ruling.decision.verdict, VoteKind::Deny);
        assert_eq!(ruling.decision.hook.as_deref(), Some("strict"));
    }
}

#[test]
fn under_collect_every_judge_votes_and_a_last_judge_sees_all_votes() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let last = judge("last", move |view| {
        let votes = view.votes.iter().map(|cast| (cast.hook.to_string(), cast.vote_kind()));
        log.lock().unwrap().extend(votes);
        Opinion::none()
    });
    let rig = Rig::with(
        [
            judge("a", |_| Opinion::deny("a says no")),
            judge("b", |_| Opinion::allow()),
            judge("c", |_| Opinion::abort("c ends it")),
            last.with_priority(1000),
        ],
        |builder| builder.settings(collecting()),
    );
    let ruling = rig.decide(call("t", "{}"));
    let expected = [("a", VoteKind::Deny), ("b", VoteKind::Allow), ("c", VoteKind::Abort)];
    let expected = expected.map(|(name, vote)| (name.to_owned(), Some(vote)));
    assert_eq!(*seen.lock().unwrap(), expected);
    assert_eq!(ruling.decision.verdict, VoteKind::Abort);
    assert_eq!(ruling.decision.reason.as_deref(), Some("c ends it"));
}

#[test]
fn each_hook_sees_the_payload_as_its_predecessors_left_it_and_the_original_beside_it() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let look = |name: &'static str, sees: Sees| {
        let log = Arc::clone(&seen);
        judge(name, move |view| {
            let part = |payload: &tollgate_gate::Payload| payload.part().unwrap().text();
            let entry = (name, part(view.payload), part(view.original));
            let mut log = log.lock().unwrap();
            if !log.contains(&entry) {
                log.push(entry);
            }
            Opinion::none()
        })
        .with_sees(sees)
    };
    let rig = Rig::of([
        rewriter("clamp", r#"{"max":10}"#),
        look("current", Sees::Current),
        look("original", Sees::Original),
    ]);
    let ruling = rig.decide(call("t", r#"{"max":100}"#));
    assert_eq!(running(&ruling).unwrap(), r#"{"max":10}"#);
    assert_eq!(
        *seen.lock().unwrap(),
        [
            ("current", r#"{"max":10}"#.to_owned(), r#"{"max":100}"#.to_owned()),
            ("original", r#"{"max":100}"#.to_owned(), r#"{"max":100}"#.to_owned()),
        ]
    );
}

#[test]
fn no_rewrite_and_an_empty_object_differ() {
    let none = Rig::of([judge("none", |_| Opinion::none())]);
    assert_eq!(running(&none.decide(call("t", r#"{"a":1}"#))).unwrap(), r#"{"a":1}"#);
    let empty = Rig::of([rewriter("empty", "{}")]);
    let ruling = empty.decide(call("t", r#"{"a":1}"#));
    assert_eq!(running(&ruling).unwrap(), "{}");
    assert!(ruling.decision.rewritten_by().map(|hook| &**hook).eq(["empty"]));
}

#[test]
fn a_judge_that_matches_only_after_the_rewrite_still_judges_what_runs() {
    let path = tollgate_gate::path::Path::parse("args.path").unwrap();
    let secret = tollgate_gate::Patterns::globs(["secret*"]).unwrap();
    let guard = judge("guard", |_| Opinion::deny("that is secret"))
        .matching(Matcher::Value(path, secret))
        .with_priority(0);
    let rig = Rig::of([guard, rewriter("redirect", r#"{"path":"secret.txt"}"#)]);
    let ruling = rig.decide(call("read", r#"{"path":"a.txt"}"#));
    assert_eq!(ruling.decision.verdict, VoteKind::Deny);
    assert!(ruling.decision.votes.last().unwrap().judged_again);
}

#[test]
fn votes_of_the_judging_only_pass_replace_the_earlier_ones() {
    let big = judge("asks-for-big", |view| {
        let max = view.payload.part().unwrap().get("max").and_then(tollgate_gate::Json::as_u64);
        if max > Some(10) { Opinion::ask(["boss"], "big") } else { Opinion::allow() }
    });
    let rig = Rig::of([big.with_priority(0), rewriter("clamp", r#"{"max":10}"#)]);
    let ruling = rig.decide(call("t", r#"{"max":100}"#));
    assert_eq!(ruling.decision.verdict, VoteKind::Allow);
    assert_eq!(ruling.decision.votes.len(), 3);
}

#[test]
fn a_rewrite_in_the_judging_only_pass_is_a_fault() {
    let both = hook("both", EventKind::PreTool, Roles::JUDGE.and(Roles::REWRITE), |view| {
        let n = view.payload.part().unwrap().get("n").and_then(tollgate_gate::Json::as_u64);
        Ok(Opinion::rewrite(crate::rig::json(&format!("{{\"n\":{}}}", n.unwrap_or(0) + 1))))
    });
    let rig = Rig::of([both.with_priority(0), rewriter("late", r#"{"n":7}"#)]);
    let settled = rig.run(call("t", r#"{"n":1}"#));
    assert_eq!((code(&settled).as_str(), rig.effects()), ("hook_error", 0));
}

#[test]
fn a_judge_of_the_original_model_is_found_after_the_model_was_rewritten() {
    let to_small = hook("small", EventKind::PreModel, Roles::REWRITE, |view| {
        let mut part = (*view.payload.part().unwrap()).clone();
        if let tollgate_gate::Json::Object(object) = &mut part {
            object.insert("model", "small");
        }
        Ok(Opinion::rewrite(part))
    });
    let model = |name| Matcher::Model(tollgate_gate::Patterns::globs([name]).unwrap());
    let asked_big = hook("asked-big", EventKind::PreModel, Roles::JUDGE, |_| {
        Ok(Opinion::deny("the big model was asked for"))
    });
    let rig = Rig::of([to_small, asked_big.matching(model("big")).with_sees(Sees::Original)]);
    let ruling = rig.decide(event(EventKind::PreModel, r#"{"model":"big","messages":[]}"#));
    assert_eq!(ruling.decision.hook.as_deref(), Some("asked-big"));

    let meets_small = hook("meets-small", EventKind::PreModel, Roles::JUDGE, |_| {
        Ok(Opinion::deny("the small model is full"))
    });
    let to_small = Rig::of([rig_rewrite_model("small"), meets_small.matching(model("small"))]);
    let ruling = to_small.decide(event(EventKind::PreModel, r#"{"model":"big","messages":[]}"#));
    assert_eq!(ruling.decision.hook.as_deref(), Some("meets-small"));
}

fn rig_rewrite_model(to: &'static str) -> Hook {
    hook("to-model", EventKind::PreModel, Roles::REWRITE, move |_| {
        Ok(Opinion::rewrite(crate::rig::json(&format!(r#"{{"model":"{to}","messages":[]}}"#))))
    })
}

#[test]
fn what_rewrites_may_not_see_the_original() {
    let hook = rewriter("r", "{}").with_sees(Sees::Original);
    let refused = tollgate_gate::Ruleset::new(Settings::default(), [hook]).unwrap_err();
    assert_eq!(refused, HookError::RewritesOriginal("r".into()));
}

#[test]
fn an_answer_in_place_gives_post_tool_and_no_effect() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let kinds = Arc::clone(&log);
    let after = hook("after", KindSet::AFTER_TOOL, Roles::WATCH, move |view| {
        let executed = view.payload.tool_result().unwrap().executed;
        kinds.lock().unwrap().push((view.kind(), executed));
        Ok(Opinion::none())
    });
    let rig = Rig::of([judge("cache", |_| Opinion::respond("from the cache")), after]);
    let settled = rig.run(call("t", "{}"));
    let result = tool_result(&settled);
    assert_eq!((result.ok, result.executed, rig.effects()), (true, false, 0));
    assert_eq!(result.content.as_str(), Some("from the cache"));
    assert_eq!(*log.lock().unwrap(), [(EventKind::PostTool, false)]);
    assert_eq!(rig.records(RecordKind::Outcome)[0].executed, Some(false));
}

#[test]
fn the_after_chain_runs_for_refused_calls_as_a_relay() {
    let append = |name: &'static str, text: &'static str| {
        hook(name, EventKind::ToolError, Roles::REWRITE, move |view| {
            let mut part = (*view.payload.part().unwrap()).clone();
            if let tollgate_gate::Json::Object(object) = &mut part {
                let message = object.get("message").unwrap().as_str().unwrap().to_owned();
                object.insert("message", message + text);
            }
            Ok(Opinion::rewrite(part))
        })
    };
    let rig =
        Rig::of([judge("no", |_| Opinion::deny("no")), append("one", " +1"), append("two", " +2")]);
    let settled = rig.run(call("t", "{}"));
    assert!(failure(&settled).message.ends_with(" +1 +2"), "{:?}", failure(&settled));
}

#[test]
fn what_a_judge_withholds_reaches_nobody_behind_it() {
    let seen = Arc::new(Mutex::new(String::new()));
    let log = Arc::clone(&seen);
    let rig = Rig::of([
        hook("withhold", EventKind::PostTool, Roles::JUDGE, |_| Ok(Opinion::deny("leaks"))),
        hook("behind", EventKind::PostTool, Roles::REWRITE, move |view| {
            log.lock().unwrap().push_str(&view.payload.part().unwrap().text());
            Ok(Opinion::rewrite("restored"))
        }),
    ]);
    let settled = rig.run(call("t", "{}"));
    assert_eq!(*seen.lock().unwrap(), "null");
    assert_eq!(code(&settled), "withheld");
    assert!(tool_result(&settled).executed);
    assert!(tool_result(&settled).content.is_null());
}

#[test]
fn a_default_holds_only_when_nobody_votes() {
    let mut settings = Settings::default();
    settings.set_default(EventKind::PreTool, DefaultVote::Deny).unwrap();
    let allow = judge("allow-read", |_| Opinion::allow()).matching(Matcher::tool("read").unwrap());
    let watch = hook("watch", EventKind::PreTool, Roles::WATCH, |_| Ok(Opinion::none()));
    let rig = Rig::with([allow, watch], |builder| builder.settings(settings.clone()));
    assert!(is_open(&rig.decide(call("read", "{}"))));
    let refused = rig.decide(call("write", "{}"));
    assert_eq!(refused.decision.verdict, VoteKind::Deny);
    assert_eq!(refused.decision.hook, None);
    assert!(settings.set_default(EventKind::Error, DefaultVote::Deny).is_err());
    assert!(settings.set_default(EventKind::PromptBuild, DefaultVote::Ask).is_err());
}

#[test]
fn what_is_not_possible_at_a_kind_is_an_error_when_registered() {
    let build = |kinds: EventKind, roles| {
        let hook = hook("h", kinds, roles, |_| Ok(Opinion::none()));
        tollgate_gate::Ruleset::new(Settings::default(), [hook]).map(drop)
    };
    for kind in [EventKind::AgentAbort, EventKind::Error] {
        assert!(matches!(build(kind, Roles::JUDGE), Err(HookError::NotPossible { .. })));
        assert!(matches!(build(kind, Roles::REWRITE), Err(HookError::NotPossible { .. })));
        assert_eq!(build(kind, Roles::WATCH), Ok(()));
    }
    assert_eq!(build(EventKind::PreTool, Roles::ALL), Ok(()));
}

#[test]
fn inline_hooks_decide_at_the_first_poll_and_an_async_one_does_not() {
    let rig = Rig::of([judge("inline", |_| Opinion::allow())]);
    let mut cx = Context::from_waker(Waker::noop());
    {
        let mut future = std::pin::pin!(rig.gate.decide(call("t", "{}")));
        assert!(future.as_mut().poll(&mut cx).is_ready());
    }
    let later = asynchronous(|_| {
        Box::pin(async {
            let mut polls = 0;
            std::future::poll_fn(move |cx| {
                polls += 1;
                cx.waker().wake_by_ref();
                if polls > 1 { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            Ok(Opinion::deny("later"))
        })
    });
    let rig = Rig::of([Hook::new("async", EventKind::PreTool, Roles::JUDGE, later)]);
    let mut future = std::pin::pin!(rig.gate.decide(call("t", "{}")));
    assert!(future.as_mut().poll(&mut cx).is_pending());
    assert_eq!(block_on(future).decision.verdict, VoteKind::Deny);
}

#[test]
fn futures_of_the_gate_can_move_between_threads() {
    fn assert_send<T: Send>(value: T) -> T {
        value
    }
    let rig = Rig::of([]);
    let ruling = block_on(assert_send(rig.gate.decide(call("t", "{}"))));
    assert!(is_open(&ruling));
    drop(assert_send(rig.gate.judge(call("t", "{}"))));
    drop(assert_send(rig.gate.flush()));
    drop(assert_send(rig.gate.detach("x")));
    drop(assert_send(ruling));
}

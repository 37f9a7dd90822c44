//! The third seed's three paths: allowed, this call refused, session ended.

use crate::rig::{Rig, call, gate, kinds_told, scripted};
use std::sync::Arc;
use tollgate_agent::{Dispatch, Ended, Gated, ModelGateway, ToolRegistry};
use tollgate_gate::{
    Code, EventKind, Hook, Matcher, Opinion, Refusal, Roles, Session, Vote, inline,
};

fn strict_delete() -> Hook {
    let judge = inline(|view| {
        let is_alice = view.event.session.user.as_deref() == Some("alice");
        Ok(if is_alice { Opinion::none() } else { Opinion::deny("only alice may delete") })
    });
    Hook::new("strict-delete", EventKind::PreTool, Roles::JUDGE, judge)
        .matching(Matcher::tool("delete_*").unwrap())
}

fn cost_guard() -> Hook {
    let judge = inline(|view| {
        if view.session.counters.model_calls <= 10 {
            return Ok(Opinion::none());
        }
        let refusal = Refusal::because("model call count exceeded its limit");
        Ok(Opinion::vote(Vote::Abort(refusal.with_code("COST_LIMIT"))))
    });
    Hook::new("cost-guard", EventKind::PreModel, Roles::JUDGE, judge)
}

#[tokio::test]
async fn who_may_delete_deletes() {
    let rig = Rig::new([strict_delete()]);
    let done = rig.tools.dispatch(call("c1", "delete_file", r#"{"path": "note_01.md"}"#)).await;
    assert!(done.result.ok, "{:?}", done.result);
    assert!(!rig.dir.path().join("note_01.md").exists());
}

#[tokio::test]
async fn who_may_not_delete_is_refused_for_this_call_only() {
    let rig = Rig::new([]);
    let (gate, _ledger) = gate([strict_delete()]);
    let registry = crate::rig::file_tools(rig.dir.path());
    let tools = Gated::new(registry, gate, Session::new("s2").with_user("mallory"));
    let done = tools.dispatch(call("c1", "delete_file", r#"{"path": "note_01.md"}"#)).await;
    assert_eq!(done.result.error.unwrap().code, Code::HookDenied);
    assert_eq!(done.aborted, None);
    assert!(rig.dir.path().join("note_01.md").exists());
    let next = tools.dispatch(call("c2", "read_file", r#"{"path": "note_01.md"}"#)).await;
    assert!(next.result.ok);
}

#[tokio::test]
async fn the_eleventh_model_call_ends_the_session_and_the_loop() {
    let turn = |n: u32| {
        format!(r#"{{"tool_calls": [{{"id": "c{n}", "tool": "list_files", "arguments": {{}}}}]}}"#)
    };
    let turns: Vec<_> = (1..=20).map(turn).collect();
    let (agent, gate, ledger, _dir) =
        Rig::new([cost_guard()]).agent(&format!(r#"{{"turns": [{}]}}"#, turns.join(",")));
    let run = agent.run("work for ever").await;
    let Ended::Aborted(aborted) = run.ended else { panic!("{:?}", run.ended) };
    assert_eq!(aborted.code, Code::from("COST_LIMIT"));
    assert_eq!(&*aborted.reason, "model call count exceeded its limit");
    assert_eq!(aborted.hook.as_deref(), Some("cost-guard"));
    assert_eq!(run.turns, 11);
    let told = kinds_told(&ledger);
    assert_eq!(told.iter().filter(|kind| **kind == EventKind::PreModel).count(), 11);
    assert_eq!(told.iter().filter(|kind| **kind == EventKind::PreTool).count(), 10);
    assert_eq!(told.last(), Some(&EventKind::AgentAbort));
    assert!(!told.contains(&EventKind::AgentEnd));

    // Every later event of the session is refused, a child's too.
    let client = Arc::new(scripted(r#"{"turns": [{"text": "hello"}]}"#));
    let session = Session::new("child").with_parent("s1");
    let child = Gated::new(ToolRegistry::new(), gate, session);
    let answer = ModelGateway::new(client, "scripted", child.actor()).call(&[], &[]).await;
    assert_eq!(answer.reply.unwrap_err().code, Code::SessionAborted);
    assert!(answer.aborted.is_some());
}

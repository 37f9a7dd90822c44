//! What can go wrong with a call, in one shape; and the arguments that hooks leave behind.

use crate::rig::{ANYTHING, Rig, call, echo, json, judge, registry};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::tempdir;
use tollgate_agent::{
    Declaration, DeclarationError, Dispatch, Tool, ToolFailure, ToolRegistry, Ungated,
    asynchronous, blocking,
};
use tollgate_gate::{Code, EventKind, Hook, KindSet, Opinion, Roles, Session, ToolCall, inline};

const NUMBER: &str = r#"{"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}},
    "required": ["n"], "additionalProperties": false}"#;

fn rig(tools: Vec<Tool>, hooks: Vec<Hook>) -> Rig {
    Rig::with_tools(tempdir().unwrap(), registry(tools), hooks)
}

fn tool(name: &str, parameters: &str, handler: Arc<dyn tollgate_agent::ToolHandler>) -> Tool {
    Tool::new(Declaration::new(name, "For a test.", parameters).unwrap(), handler).unwrap()
}

/// The shape, and that hooks of the after-chain and the ledger saw it.
async fn fails_with(rig: &Rig, call: ToolCall, code: Code, executed: bool) -> String {
    let name = call.tool.clone();
    let done = rig.tools.dispatch(call).await;
    let error = done.result.error.unwrap();
    assert_eq!((error.code.clone(), &error.tool), (code.clone(), &name));
    assert!(!done.result.ok);
    assert_eq!(done.result.executed, executed);
    let outcome = rig.outcomes().pop().unwrap();
    assert_eq!(outcome.event, Some(EventKind::ToolError));
    assert_eq!(outcome.code, Some(code));
    assert_eq!(outcome.executed, Some(executed));
    error.message.to_string()
}

#[tokio::test]
async fn an_unknown_tool_is_told_with_the_tools_that_there_are() {
    let rig = rig(vec![echo("hello", "hi")], vec![]);
    let message = fails_with(&rig, call("c1", "helo", "{}"), Code::UnknownTool, false).await;
    assert_eq!(message, "there is no tool `helo`; there are: hello");
    assert!(rig.decisions(EventKind::PreTool).is_empty());
}

#[tokio::test]
async fn arguments_that_do_not_fit_the_schema_never_reach_a_hook() {
    let judged = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&judged);
    let hook = judge("judge", EventKind::PreTool, move || {
        count.fetch_add(1, Ordering::Relaxed);
        Opinion::none()
    });
    let rig = rig(vec![tool("count", NUMBER, blocking(|_| Ok("done".into())))], vec![hook]);
    for arguments in [r#"{"n": "one"}"#, "{}", r#"{"n": 1, "m": 2}"#, "[1]", r#""n=1""#] {
        fails_with(&rig, call("c1", "count", arguments), Code::InvalidArguments, false).await;
    }
    let message =
        fails_with(&rig, call("c1", "count", r#"{"n": 10}"#), Code::InvalidArguments, false).await;
    assert_eq!(message, "at `/n`: 10 is greater than the maximum of 9");
    assert_eq!(judged.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn an_error_of_a_handler_is_a_tool_error() {
    let failing = blocking(|_| Err(ToolFailure::new("the disk is full")));
    let own = asynchronous(|_| {
        Box::pin(async { Err(ToolFailure::new("try later").with_code(Code::from("BUSY"))) })
    });
    let rig = rig(vec![tool("write", ANYTHING, failing), tool("busy", ANYTHING, own)], vec![]);
    let message = fails_with(&rig, call("c1", "write", "{}"), Code::ToolError, true).await;
    assert_eq!(message, "the disk is full");
    fails_with(&rig, call("c2", "busy", "{}"), Code::from("BUSY"), true).await;
}

#[tokio::test]
async fn a_panic_of_a_handler_is_a_tool_error() {
    let sync = tool("sync", ANYTHING, blocking(|_| panic!("index {}", 7)));
    let soon = tool("soon", ANYTHING, asynchronous(|_| panic!("at once")));
    let late = tool(
        "late",
        ANYTHING,
        asynchronous(|_| {
            Box::pin(async {
                tokio::task::yield_now().await;
                panic!("later")
            })
        }),
    );
    let rig = rig(vec![sync, soon, late], vec![]);
    for (name, text) in [("sync", "index 7"), ("soon", "at once"), ("late", "later")] {
        let message = fails_with(&rig, call("c1", name, "{}"), Code::ToolError, true).await;
        assert_eq!(message, format!("the tool panicked: {text}"));
    }
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    #[expect(clippy::panic, reason = "that is what is tried")]
    fn drop(&mut self) {
        panic!("in drop");
    }
}

#[tokio::test]
async fn what_a_handler_leaves_cannot_end_the_agent_when_it_is_dropped() {
    let left = tool("left", ANYTHING, asynchronous(|_| std::panic::panic_any(Bomb)));
    let rig = rig(vec![left], vec![]);
    let message = fails_with(&rig, call("c1", "left", "{}"), Code::ToolError, true).await;
    assert_eq!(message, "the tool panicked: without a text");
}

#[tokio::test]
async fn arguments_are_checked_again_after_a_rewrite() {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let handler = blocking(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok("done".into())
    });
    let spoil = inline(|_| Ok(Opinion::rewrite(json(r#"{"n": 99}"#))));
    let hook = Hook::new("spoil", EventKind::PreTool, Roles::REWRITE, spoil);
    let rig = rig(vec![tool("count", NUMBER, handler)], vec![hook]);
    fails_with(&rig, call("c1", "count", r#"{"n": 1}"#), Code::InvalidArguments, false).await;
    assert_eq!(ran.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn the_after_chain_sees_calls_that_never_came_to_a_decision() {
    let redact = inline(|_| {
        Ok(Opinion::rewrite(json(r#"{"message": "something went wrong", "content": null}"#)))
    });
    let hook = Hook::new("hush", KindSet::from(EventKind::ToolError), Roles::REWRITE, redact);
    let rig = rig(vec![], vec![hook]);
    let done = rig.tools.dispatch(call("c1", "nothing", "{}")).await;
    assert_eq!(&*done.result.error.unwrap().message, "something went wrong");
}

#[tokio::test]
async fn a_result_that_is_too_large_is_an_error() {
    let flood = blocking(|_| Ok("x".repeat(tollgate_agent::limits::RESULT_BYTES_MAX + 1).into()));
    let rig = rig(vec![tool("flood", ANYTHING, flood)], vec![]);
    fails_with(&rig, call("c1", "flood", "{}"), Code::ToolError, true).await;
}

#[tokio::test]
async fn numbers_of_arguments_reach_the_handler_as_they_were_written() {
    let handler = blocking(|invocation| Ok(invocation.call.arguments.text().into()));
    let rig = rig(vec![tool("show", ANYTHING, handler)], vec![]);
    let text = r#"{"n":123456789012345678901234567890,"x":1.10}"#;
    let done = rig.tools.dispatch(call("c1", "show", text)).await;
    assert_eq!(done.result.content.as_str(), Some(text));
}

#[tokio::test]
async fn ungated_tools_run_without_hooks_but_with_every_check() {
    let tools = registry(vec![tool("count", NUMBER, blocking(|_| Ok("done".into())))]);
    let tools = Ungated::new(tools, crate::rig::clock(), Session::new("bare")).unwrap();
    let done = tools.dispatch(call("c1", "count", r#"{"n": 1}"#)).await;
    assert!(done.result.ok && done.result.executed);
    for (name, arguments, code) in
        [("none", "{}", Code::UnknownTool), ("count", "{}", Code::InvalidArguments)]
    {
        let done = tools.dispatch(call("c2", name, arguments)).await;
        assert_eq!(done.result.error.unwrap().code, code);
    }
}

#[test]
fn what_cannot_be_declared_is_refused() {
    let bad = Declaration::new("bad", "Bad.", "{");
    assert!(matches!(bad, Err(DeclarationError::Schema { .. })));
    let no_schema = Declaration::new("bad", "Bad.", r#"{"type": "strange"}"#).unwrap();
    let tool = Tool::new(no_schema, blocking(|_| Ok("".into())));
    assert!(matches!(tool, Err(DeclarationError::Schema { .. })));
    let elsewhere = r#"{"$ref": "https://schemas.example.org/a.json"}"#;
    let elsewhere = Declaration::new("far", "Far.", elsewhere).unwrap();
    let tool = Tool::new(elsewhere, blocking(|_| Ok("".into())));
    assert!(matches!(tool, Err(DeclarationError::Schema { .. })));
    let mut registry = ToolRegistry::new();
    registry.add(echo("twice", "a")).unwrap();
    assert_eq!(registry.add(echo("twice", "b")), Err(DeclarationError::Taken("twice".into())));
}

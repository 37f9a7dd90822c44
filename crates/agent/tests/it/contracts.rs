//! The seven contracts of the first seed, under its names.

use crate::rig::{Rig, SECRET_LINE, call, clamp_listing, judge, protect_tests, redact_secrets};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tollgate_agent::Dispatch;
use tollgate_gate::{Code, EventKind, Hook, Json, Opinion, Roles, inline};

const EDIT_TEST: &str =
    r#"{"path": "test_calculator.py", "old_text": "test_add", "new_text": "test_sum"}"#;

#[tokio::test]
async fn deny_short_circuits_without_side_effect() {
    let rig = Rig::new([protect_tests()]);
    let before = rig.text("test_calculator.py");
    let done = rig.tools.dispatch(call("c1", "edit_file", EDIT_TEST)).await;
    let error = done.result.error.unwrap();
    assert_eq!((error.code, &*error.tool), (Code::HookDenied, "edit_file"));
    assert!(error.message.contains("test files are protected"));
    assert!(!done.result.ok && !done.result.executed);
    assert_eq!(rig.text("test_calculator.py"), before);
    let decisions = rig.decisions(EventKind::PreTool);
    assert_eq!(decisions.len(), 1);
    assert_eq!(decisions[0].reason.as_deref(), Some("test files are protected"));
    let outcomes = rig.outcomes();
    assert_eq!(outcomes.len(), 1);
    assert_eq!(outcomes[0].event, Some(EventKind::ToolError));
    assert_eq!(outcomes[0].executed, Some(false));
}

#[tokio::test]
async fn allow_path_goes_through() {
    let rig = Rig::new([protect_tests()]);
    let edit = r#"{"path": "calculator.py", "old_text": "a - b", "new_text": "a + b"}"#;
    let done = rig.tools.dispatch(call("c1", "edit_file", edit)).await;
    assert!(done.result.ok && done.result.executed, "{:?}", done.result);
    assert!(rig.text("calculator.py").contains("return a + b"));
    assert_eq!(rig.outcomes()[0].executed, Some(true));
}

#[tokio::test]
async fn ask_mode_denies_headless() {
    let ask = judge("ask-first", EventKind::PreTool, || {
        Opinion::ask(["owner"], "deleting needs a person's confirmation")
    });
    let rig = Rig::new([ask]);
    let done = rig.tools.dispatch(call("c1", "delete_file", r#"{"path": "note_01.md"}"#)).await;
    let error = done.result.error.unwrap();
    assert_eq!(error.code, Code::ApprovalRequired);
    assert!(error.message.contains("a person would have had to confirm this"));
    assert!(!done.result.executed);
    assert_eq!(rig.text("note_01.md"), "note 1\n");
}

#[tokio::test]
async fn argument_rewrite_clamps_listing() {
    let rig = Rig::new([clamp_listing()]);
    let done = rig.tools.dispatch(call("c1", "list_files", r#"{"max_entries": 100}"#)).await;
    let text = done.result.content.as_str().unwrap().to_owned();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("10 entries"));
    assert_eq!(lines.by_ref().take(10).count(), 10);
    assert_eq!(lines.next(), Some("(7 more are not shown)"));
    assert!(!text.contains("note_10.md") && text.contains("note_09.md"));
    let record = &rig.decisions(EventKind::PreTool)[0];
    assert_eq!(record.arguments.asked.as_ref().unwrap().get("max_entries"), Some(&Json::from(100)));
    assert_eq!(record.arguments.ran.as_ref().unwrap().get("max_entries"), Some(&Json::from(10)));
}

#[tokio::test]
async fn hook_chain_order_and_short_circuit() {
    let seen: Arc<std::sync::Mutex<Vec<&str>>> = Arc::default();
    let third = Arc::new(AtomicUsize::new(0));
    let note = |name: &'static str, opinion: fn() -> Opinion| {
        let seen = Arc::clone(&seen);
        judge(name, EventKind::PreTool, move || {
            seen.lock().unwrap().push(name);
            opinion()
        })
    };
    let count = Arc::clone(&third);
    let hooks = [
        note("first", Opinion::none),
        note("second", || Opinion::deny("no")),
        judge("third", EventKind::PreTool, move || {
            count.fetch_add(1, Ordering::Relaxed);
            Opinion::none()
        }),
    ];
    let rig = Rig::new(hooks);
    let done = rig.tools.dispatch(call("c1", "list_files", "{}")).await;
    assert_eq!(done.result.error.unwrap().code, Code::HookDenied);
    assert_eq!(*seen.lock().unwrap(), ["first", "second"]);
    assert_eq!(third.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn redact_secret_line_in_result() {
    let rig = Rig::new([redact_secrets()]);
    let done = rig.tools.dispatch(call("c1", "read_file", r#"{"path": "calculator.py"}"#)).await;
    let text = done.result.content.as_str().unwrap();
    assert!(text.starts_with("[masked]\n\ndef add") && !text.contains("tok-42"));
    assert!(rig.text("calculator.py").contains(SECRET_LINE));
    let book: Vec<_> =
        rig.ledger.records().iter().map(|r| serde_json::to_string(r).unwrap()).collect();
    assert!(!book.concat().contains("tok-42"));
}

#[tokio::test]
async fn readonly_batch_also_passes_hooks() {
    let watched = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&watched);
    let watch = inline(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(Opinion::none())
    });
    let watch = Hook::new("watch", EventKind::PostTool, Roles::WATCH, watch);
    let rig = Rig::new([clamp_listing(), redact_secrets(), watch]);
    let calls = vec![
        call("c1", "list_files", r#"{"max_entries": 100}"#),
        call("c2", "read_file", r#"{"path": "calculator.py"}"#),
    ];
    let done = rig.tools.dispatch_many(calls).await;
    let tools: Vec<_> = done.iter().map(|done| &*done.tool).collect();
    assert_eq!(tools, ["list_files", "read_file"]);
    assert!(done[0].result.content.as_str().unwrap().starts_with("10 entries\n"));
    assert!(done[1].result.content.as_str().unwrap().starts_with("[masked]\n"));
    assert_eq!(watched.load(Ordering::Relaxed), 2);
    let mut recorded: Vec<_> =
        rig.outcomes().iter().map(|record| record.tool.clone().unwrap().to_string()).collect();
    recorded.sort();
    assert_eq!(recorded, ["list_files", "read_file"]);
}

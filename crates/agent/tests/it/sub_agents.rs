//! A child agent is governed as its parent is.

use crate::rig::{clamp_listing, clock, decisions, file_tools, gate, json, judge};
use crate::rig::{protect_tests, scripted, seed_workspace};
use std::sync::Arc;
use tollgate_agent::{
    Agent, AgentSettings, ChildAgent, DeclarationError, Dispatch, Ended, Gated, Message,
    ModelGateway, SubAgents, ToolRegistry, Ungated,
};
use tollgate_gate::{Code, EventKind, Hook, Matcher, Opinion, Session};

const PARENT: &str = r#"{"turns": [
    {"tool_calls": [{"id": "p1", "tool": "helper", "arguments": {"task": "rename the test"}}]},
    {"text": "parent done"}
]}"#;
const CHILD: &str = r#"{"turns": [
    {"tool_calls": [{"id": "k1", "tool": "edit_file", "arguments":
        {"path": "test_calculator.py", "old_text": "test_add", "new_text": "test_sum"}}]},
    {"text": "child done"}
]}"#;

fn family(root: &std::path::Path) -> SubAgents<ToolRegistry> {
    let mut tools = SubAgents::new(file_tools(root));
    tools.add(child("helper", Arc::new(file_tools(root)), CHILD)).unwrap();
    tools
}

fn child(name: &str, tools: Arc<dyn tollgate_agent::Tools>, script: &str) -> ChildAgent {
    ChildAgent {
        name: name.into(),
        description: "Helps.".into(),
        tools,
        client: Arc::new(scripted(script)),
        model: "scripted".into(),
        settings: AgentSettings::new("Help."),
        trace: None,
    }
}

async fn run(
    tools: Arc<dyn Dispatch>,
    actor: &tollgate_agent::Actor,
    script: &str,
) -> tollgate_agent::Run {
    let models = ModelGateway::new(Arc::new(scripted(script)), "scripted", actor);
    let settings = AgentSettings::new("");
    Agent::new(tools, models, Arc::new(actor.clone()), settings).run("go").await
}

#[tokio::test]
async fn a_child_agent_inherits_the_hooks_of_its_parent() {
    let dir = seed_workspace();
    let (gate, ledger) = gate([protect_tests()]);
    let tools = Gated::new(family(dir.path()), gate, Session::new("root").with_user("alice"));
    let actor = tools.actor().clone();
    let run = run(Arc::new(tools), &actor, PARENT).await;
    assert_eq!(run.ended, Ended::Finished { answer: "parent done".into() });
    let test = std::fs::read_to_string(dir.path().join("test_calculator.py")).unwrap();
    assert!(test.contains("test_add"), "the child's edit was refused");

    let records = decisions(&ledger, EventKind::PreTool);
    let tools: Vec<_> = records.iter().map(|record| record.tool.as_deref().unwrap()).collect();
    assert_eq!(tools, ["helper", "edit_file"]);
    let session = records[1].session.as_ref().unwrap();
    assert_eq!(session.parent.as_deref(), Some("root"));
    assert_eq!(session.user.as_deref(), Some("alice"));
    assert_eq!(session.agent.as_deref(), Some("helper"));
    assert_eq!(records[1].root.as_deref(), Some("root"));
    assert_eq!(records[1].code, Some(Code::HookDenied));
}

#[tokio::test]
async fn a_child_of_an_ungated_agent_is_as_ungated_as_its_parent() {
    let dir = seed_workspace();
    let tools = Ungated::new(family(dir.path()), clock(), Session::new("bare")).unwrap();
    let actor = tools.actor().clone();
    let run = run(Arc::new(tools), &actor, PARENT).await;
    assert_eq!(run.ended, Ended::Finished { answer: "parent done".into() });
    let test = std::fs::read_to_string(dir.path().join("test_calculator.py")).unwrap();
    assert!(test.contains("test_sum"));
}

#[tokio::test]
async fn an_abort_within_a_child_ends_the_child_and_is_a_failed_call_of_its_parent() {
    let dir = seed_workspace();
    let abort = judge("abort", EventKind::PreTool, || Opinion::abort("not here"))
        .matching(Matcher::tool("edit_file").unwrap());
    let (gate, _ledger) = gate([abort]);
    let tools = Gated::new(family(dir.path()), gate, Session::new("root"));
    let actor = tools.actor().clone();
    let run = run(Arc::new(tools), &actor, PARENT).await;
    assert_eq!(run.ended, Ended::Finished { answer: "parent done".into() });
    let told = run.messages.iter().find_map(|message| match message {
        Message::Tool { ok, content, .. } => Some((*ok, content.get("code").cloned())),
        Message::System(_) | Message::User(_) | Message::Assistant(_) => None,
    });
    assert_eq!(told, Some((false, Some("session_aborted".into()))));
}

#[tokio::test]
async fn agents_that_start_agents_stop_at_a_depth() {
    let start = r#"{"turns": [
        {"tool_calls": [{"id": "d", "tool": "deeper", "arguments": {"task": "go on"}}]},
        {"text": "bottom was above me"}
    ]}"#;
    let mut tools: Arc<dyn tollgate_agent::Tools> = Arc::new(ToolRegistry::new());
    for _ in 0..12 {
        let mut level = SubAgents::new(ToolRegistry::new());
        level.add(child("deeper", tools, start)).unwrap();
        tools = Arc::new(level);
    }
    let (gate, ledger) = gate([]);
    let tools = Gated::new(tools, gate, Session::new("root"));
    let actor = tools.actor().clone();
    run(Arc::new(tools), &actor, start).await;
    let starts = decisions(&ledger, EventKind::AgentStart).len();
    assert_eq!(starts, 1 + tollgate_agent::limits::AGENT_DEPTH_MAX as usize);
}

#[tokio::test]
async fn wrappers_stack_and_a_name_is_taken_once() {
    let dir = seed_workspace();
    let mut outer = SubAgents::new(family(dir.path()));
    let again = outer.add(child("helper", Arc::new(ToolRegistry::new()), CHILD));
    assert_eq!(again, Err(DeclarationError::Taken("helper".into())));
    outer.add(child("second", Arc::new(ToolRegistry::new()), CHILD)).unwrap();
    let hooks: [Hook; 1] = [clamp_listing()];
    let (gate, _ledger) = gate(hooks);
    let tools = Gated::new(outer, gate, Session::new("root"));
    let names: Vec<_> = tools.declarations().iter().map(|it| it.name.to_string()).collect();
    let files = ["list_files", "read_file", "edit_file", "write_file", "delete_file"];
    assert_eq!(names, [files.as_slice(), &["helper", "second"]].concat());
    let call = tollgate_gate::ToolCall::new("list_files", json(r#"{"max_entries": 99}"#));
    let done = tools.dispatch(call).await;
    assert!(done.result.content.as_str().unwrap().starts_with("10 entries\n"));
}

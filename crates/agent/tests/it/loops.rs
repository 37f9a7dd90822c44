//! The loop: every event at its place, and what a refusal at each place means.

use crate::rig::{
    Rig, clamp_listing, clock, file_tools, judge, kinds_told, protect_tests, redact_secrets,
    scripted, seed_workspace,
};
use std::sync::Arc;
use tollgate_agent::{
    Agent, AgentSettings, Ended, Memory, MemoryTrace, Message, ModelGateway, Run, Ungated,
};
use tollgate_gate::EventKind::{
    AgentAbort, AgentEnd, AgentStart, Error, MemoryLoad, PostModel, PreModel, PreTool, PromptBuild,
};
use tollgate_gate::{
    Code, EventKind, Hook, MemoryLedger, Opinion, Record, RecordKind, Roles, Session, inline,
};

/// The first seed's conversation.
const SEED: &str = r#"{"turns": [
    {"tool_calls": [{"id": "c1", "tool": "edit_file", "arguments":
        {"path": "test_calculator.py", "old_text": "test_add", "new_text": "test_sum"}}],
     "usage": {"tokens_in": 100, "tokens_out": 10, "cost_micros": 3}},
    {"tool_calls": [{"id": "c2", "tool": "read_file", "arguments": {"path": "calculator.py"}},
                    {"id": "c3", "tool": "list_files", "arguments": {"max_entries": 100}}]},
    {"tool_calls": [{"id": "c4", "tool": "edit_file", "arguments":
        {"path": "calculator.py", "old_text": "a - b", "new_text": "a + b"}}]},
    {"text": "Fixed add.", "usage": {"tokens_in": 300, "tokens_out": 20}}
]}"#;

const HELLO: &str = r#"{"turns": [{"text": "hello"}]}"#;

fn settings() -> AgentSettings {
    let mut settings = AgentSettings::new("Be brief.");
    let memory = |text: &str| Memory { source: Some("notes".into()), text: text.into() };
    settings.memories = vec![memory("likes tests"), memory("password is 123456")];
    settings
}

async fn run_with(hooks: Vec<Hook>, script: &str) -> (Run, Arc<MemoryLedger>) {
    let rig = Rig::new(hooks);
    let actor = rig.tools.actor().clone();
    let models = ModelGateway::new(Arc::new(scripted(script)), "scripted", &actor);
    let agent = Agent::new(Arc::new(rig.tools), models, Arc::new(actor), settings());
    (agent.run("hi").await, rig.ledger)
}

fn outcome_events(ledger: &MemoryLedger) -> Vec<EventKind> {
    let outcome =
        |record: Record| (record.kind == RecordKind::Outcome).then_some(record.event).flatten();
    ledger.records().into_iter().filter_map(outcome).collect()
}

#[tokio::test]
async fn every_event_is_told_at_its_place() {
    let (agent, _gate, ledger, dir) =
        Rig::new([protect_tests(), clamp_listing(), redact_secrets()]).agent(SEED);
    let run = agent.run("fix add").await;
    assert_eq!(run.ended, Ended::Finished { answer: "Fixed add.".into() });
    let told = kinds_told(&ledger);
    let expected = [
        AgentStart,
        PromptBuild,
        PreModel,
        PreTool,
        PreModel,
        PreTool,
        PreTool,
        PreModel,
        PreTool,
        PreModel,
        AgentEnd,
    ];
    assert_eq!(told, expected);
    let after = outcome_events(&ledger);
    let ended_badly = after.iter().filter(|kind| **kind == EventKind::ToolError).count();
    let models = after.iter().filter(|kind| **kind == PostModel).count();
    assert_eq!((after.len(), ended_badly, models), (8, 1, 4));
    assert_eq!((run.used.tokens_in, run.used.tokens_out, run.used.cost_micros), (400, 30, 3));
    let calculator = std::fs::read_to_string(dir.path().join("calculator.py")).unwrap();
    assert!(calculator.contains("a + b") && calculator.contains("SECRET"));
}

#[tokio::test]
async fn a_refused_call_is_an_ordinary_failed_tool_result() {
    let (agent, _gate, _ledger, _dir) = Rig::new([protect_tests()]).agent(SEED);
    let run = agent.run("fix add").await;
    let results: Vec<_> = run
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::Tool { call_id, ok, content, .. } => {
                Some((call_id.as_deref().unwrap(), *ok, content.get("code").is_some()))
            }
            Message::System(_) | Message::User(_) | Message::Assistant(_) => None,
        })
        .collect();
    let failed = ("c1", false, true);
    assert_eq!(results, [failed, ("c2", true, false), ("c3", true, false), ("c4", true, false)]);
}

#[tokio::test]
async fn the_same_loop_runs_ungated() {
    let dir = seed_workspace();
    let tools = Ungated::new(file_tools(dir.path()), clock(), Session::new("bare")).unwrap();
    let actor = tools.actor().clone();
    let models = ModelGateway::new(Arc::new(scripted(SEED)), "scripted", &actor);
    let agent = Agent::new(Arc::new(tools), models, Arc::new(actor), AgentSettings::new(""));
    let run = agent.run("fix add").await;
    assert_eq!(run.ended, Ended::Finished { answer: "Fixed add.".into() });
    let test = std::fs::read_to_string(dir.path().join("test_calculator.py")).unwrap();
    assert!(test.contains("test_sum"), "nothing protects it");
    let read = run.messages.iter().any(|m| m.to_json().text().contains("tok-42"));
    assert!(read, "nothing masks it");
}

#[tokio::test]
async fn a_refused_memory_is_left_out() {
    let hook = Hook::new(
        "no-passwords",
        MemoryLoad,
        Roles::JUDGE,
        inline(|view| {
            let part = view.payload.part().unwrap();
            let tells = part.as_str().is_some_and(|text| text.contains("password"));
            Ok(if tells { Opinion::deny("no passwords") } else { Opinion::none() })
        }),
    );
    let (run, ledger) = run_with(vec![hook], HELLO).await;
    let texts: Vec<_> = run.messages.iter().map(|m| m.to_json().text()).collect();
    assert!(texts.iter().any(|text| text.contains("likes tests")));
    assert!(!texts.iter().any(|text| text.contains("password")));
    assert_eq!(run.ended, Ended::Finished { answer: "hello".into() });
    assert_eq!(
        kinds_told(&ledger),
        [AgentStart, MemoryLoad, MemoryLoad, PromptBuild, PreModel, AgentEnd]
    );
}

#[tokio::test]
async fn a_refused_start_or_prompt_ends_the_run_with_an_error() {
    for (kind, told) in [
        (AgentStart, vec![AgentStart, Error, AgentEnd]),
        (PromptBuild, vec![AgentStart, MemoryLoad, MemoryLoad, PromptBuild, Error, AgentEnd]),
    ] {
        let deny = judge("deny", kind, || Opinion::deny("not today"));
        let (run, ledger) = run_with(vec![deny], HELLO).await;
        let Ended::Refused { at, failure } = run.ended else { panic!("{:?}", run.ended) };
        assert_eq!((at, failure.code), (kind, Code::HookDenied));
        assert_eq!(kinds_told(&ledger), told);
        assert_eq!(run.turns, 0);
    }
}

#[tokio::test]
async fn a_refused_or_withheld_model_call_ends_the_run_with_an_error() {
    for (kind, code) in [(PreModel, Code::HookDenied), (PostModel, Code::Withheld)] {
        let deny = judge("deny", kind, || Opinion::deny("not today"));
        let (run, ledger) = run_with(vec![deny], HELLO).await;
        let Ended::NoReply(failure) = run.ended else { panic!("{:?}", run.ended) };
        assert_eq!(failure.code, code);
        let told = kinds_told(&ledger);
        assert_eq!(told.iter().rev().take(2).collect::<Vec<_>>(), [&AgentEnd, &Error]);
    }
}

#[tokio::test]
async fn an_abort_at_any_point_ends_the_loop_at_once() {
    for kind in [AgentStart, MemoryLoad, PromptBuild, PreModel, PostModel, PreTool] {
        let abort = judge("abort", kind, || Opinion::abort("over"));
        let (run, ledger) = run_with(vec![abort], SEED).await;
        let Ended::Aborted(aborted) = run.ended else { panic!("{kind}: {:?}", run.ended) };
        assert!(aborted.reason.contains("over"), "{kind}: {aborted:?}");
        let told = kinds_told(&ledger);
        assert_eq!(told.last(), Some(&AgentAbort), "{kind}");
        let asked = told.iter().filter(|told| **told == PreModel).count();
        assert_eq!(asked, usize::from(matches!(kind, PreModel | PostModel | PreTool)), "{kind}");
        assert!(!told.contains(&AgentEnd) && !told.contains(&Error), "{kind}: {told:?}");
    }
}

#[tokio::test]
async fn the_final_answer_can_be_rewritten_or_withheld() {
    let soften =
        Hook::new("soften", AgentEnd, Roles::REWRITE, inline(|_| Ok(Opinion::rewrite("good day"))));
    let (run, _) = run_with(vec![soften], HELLO).await;
    assert_eq!(run.ended, Ended::Finished { answer: "good day".into() });
    let deny = judge("deny", AgentEnd, || Opinion::deny("not for outside"));
    let (run, _) = run_with(vec![deny], HELLO).await;
    assert!(matches!(run.ended, Ended::Refused { at: AgentEnd, .. }), "{:?}", run.ended);
}

#[tokio::test]
async fn a_prompt_can_be_rewritten_and_what_is_no_prompt_is_refused() {
    let rewrite = |prompt: &'static str| {
        Hook::new(
            "rewrite",
            PromptBuild,
            Roles::REWRITE,
            inline(move |_| Ok(Opinion::rewrite(crate::rig::json(prompt)))),
        )
    };
    let (run, _) = run_with(vec![rewrite(r#""only this""#)], HELLO).await;
    assert_eq!(run.messages.first(), Some(&Message::User("only this".into())));
    let (run, _) = run_with(vec![rewrite(r#"[{"role": "wizard", "content": "x"}]"#)], HELLO).await;
    let Ended::Refused { failure, .. } = run.ended else { panic!("{:?}", run.ended) };
    assert!(failure.message.contains("messages[0].role"), "{}", failure.message);
}

#[tokio::test]
async fn an_agent_has_a_limit_of_turns() {
    let turn = |n| {
        format!(r#"{{"tool_calls": [{{"id": "c{n}", "tool": "list_files", "arguments": {{}}}}]}}"#)
    };
    let turns: Vec<_> = (0..5).map(turn).collect();
    let script = format!(r#"{{"turns": [{}]}}"#, turns.join(","));
    let rig = Rig::new([]);
    let actor = rig.tools.actor().clone();
    let models = ModelGateway::new(Arc::new(scripted(&script)), "scripted", &actor);
    let mut settings = AgentSettings::new("");
    settings.turns_max = 3;
    let run = Agent::new(Arc::new(rig.tools), models, Arc::new(actor), settings).run("go").await;
    assert_eq!(run.ended, Ended::TurnLimit { turns_max: 3 });
    assert_eq!(run.turns, 3);
    let told = kinds_told(&rig.ledger);
    assert_eq!(told.iter().rev().take(2).collect::<Vec<_>>(), [&AgentEnd, &Error]);
}

#[tokio::test]
async fn the_trace_tells_each_step_as_the_model_saw_it() {
    let (agent, _gate, _ledger, _dir) = Rig::new([protect_tests(), redact_secrets()]).agent(SEED);
    let trace = Arc::new(MemoryTrace::new());
    let run = agent.with_trace(Arc::clone(&trace) as _).run("fix add").await;
    assert_eq!(run.trace_lines_lost, 0);
    let lines = trace.lines();
    let of = |event: &str| {
        lines.iter().filter(|line| line.get("event").unwrap().as_str() == Some(event)).count()
    };
    assert_eq!((of("agent_start"), of("tool_call"), of("agent_end")), (1, 4, 1));
    assert_eq!(of("message"), run.messages.len());
    assert!(lines.iter().all(|line| line.get("session").unwrap().as_str() == Some("s1")));
    let text: String = lines.iter().map(|line| line.text()).collect();
    assert!(text.contains("[masked]") && !text.contains("tok-42"));
    assert!(text.contains(r#""ok":false,"code":"hook_denied","executed":false"#), "{text}");
}

//! Scene 3, after the third seed: who may delete, a cost guard that ends the session, and a rule on
//! trial that only reports.

use super::book::{self, Records};
use super::report::{Fact, Line, Scene};
use super::stage::{Stage, calls, lines, with_outcomes};
use crate::exit::Failure;
use std::path::Path;
use tollgate::gate::{Json, Session};
use tollgate_agent::Ended;

const POLICY: (&str, &str) =
    ("examples/people-and-cost.yaml", include_str!("../../../../examples/people-and-cost.yaml"));
const DELETE: &str = include_str!("../../../../examples/scripts/delete.json");
const LOOP: &str = include_str!("../../../../examples/scripts/loop.json");
const DELETE_TASK: &str = "Delete demo.txt.";
const LOOP_TASK: &str = "Find out what changed.";

pub(crate) async fn play(folder: &Path) -> Result<Scene, Failure> {
    let stage = Stage::new(folder, POLICY)?;
    let mut transcript = Vec::new();
    let mut calls_made = Vec::new();
    let mut present = Vec::new();
    for user in ["alice", "mallory"] {
        stage.write("demo.txt", "a file\n")?;
        let session = Session::new(user).with_user(user);
        let run = stage.act(session, stage.tools()?, DELETE, DELETE_TASK).await?;
        present.push(stage.workspace().join("demo.txt").exists());
        transcript.push(Line::Heading(format!("{user} asks for a deletion")));
        transcript.extend(lines(DELETE_TASK, &run));
        calls_made.extend(calls(user, &run));
    }
    let session = Session::new("looping").with_user("alice");
    let run = stage.act(session, stage.tools()?, LOOP, LOOP_TASK).await?;
    calls_made.extend(calls("looping", &run));
    transcript.push(Line::Heading("a model that does not come to an end".to_owned()));
    transcript.push(Line::Said { who: "task", text: LOOP_TASK.to_owned() });
    transcript.push(Line::Said { who: "loop", text: ending(&run.ended) });

    let records = stage.records().await?;
    let (refused, reason) = records.refusals();
    let (passed, ended_at, code) = model_calls(&records);
    let aborts = records.of("decision", "agent_abort").count() as u64;
    Ok(Scene {
        name: "people-and-cost",
        title: "who may delete, what a session may cost, and a rule on trial",
        lines: transcript,
        calls: with_outcomes(calls_made, &records),
        refused,
        record_tools: records.decided_tools(),
        masked_results: 0,
        facts: vec![
            Fact::told("refused_reason", "reason of the refusal", reason),
            Fact::equals(
                "alice_deleted",
                "alice's file is gone",
                present.first() == Some(&false),
                true,
            ),
            Fact::equals(
                "mallory_deleted",
                "mallory's file is gone",
                present.get(1) == Some(&false),
                false,
            ),
            Fact::equals("model_calls_passed", "model calls that passed", passed, 10),
            Fact::equals("ended_at_model_call", "the session ended at model call", ended_at, 11),
            Fact::equals("abort_code", "with the code", code, "COST_LIMIT"),
            Fact::equals("agent_aborts", "agent_abort events recorded", aborts, 1),
            Fact::equals(
                "dry_run_reports",
                "calls that the rule on trial reported",
                dry_hits(&records),
                2,
            ),
        ],
    })
}

fn ending(ended: &Ended) -> String {
    match ended {
        Ended::Finished { answer } => format!("finished: {answer}"),
        Ended::Refused { at, failure } => format!("refused at {at}: {}", failure.message),
        Ended::NoReply(failure) => format!("no reply: {}", failure.message),
        Ended::TurnLimit { turns_max } => format!("stopped after {turns_max} turns"),
        Ended::Aborted(aborted) => format!("ended ({}): {}", aborted.code, aborted.reason),
    }
}

/// Of the looping session: model calls that passed, the number of the one that ended it, the code.
fn model_calls(records: &Records) -> (u64, Option<u64>, Option<String>) {
    let of_session =
        || records.of("decision", "pre_model").filter(|r| book::is(r, "session", "looping"));
    let passed = of_session().filter(|record| book::is(record, "verdict", "allow")).count() as u64;
    let ended = of_session().position(|record| book::is(record, "verdict", "abort"));
    let code = of_session().next_back().and_then(|record| book::text(record, "code"));
    (passed, ended.map(|at| at as u64 + 1), code.map(str::to_owned))
}

/// Tool calls that the rule on trial would have refused.
fn dry_hits(records: &Records) -> u64 {
    let is_hit = |record: &&Json| {
        book::votes(record).any(|vote| {
            vote.get("hook").and_then(Json::as_str) == Some("deletions-on-trial")
                && vote.get("dry_run").and_then(Json::as_bool) == Some(true)
                && vote.get("vote").and_then(Json::as_str) == Some("deny")
        })
    };
    records.tool_decisions().filter(is_hit).count() as u64
}

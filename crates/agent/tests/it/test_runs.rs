//! `run_test`: bounded in time, output and environment, and killed with its whole group.

use crate::rig::{Rig, call, registry};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tollgate_agent::{Dispatch, TestCommand, Workspace, workspace_tools};
use tollgate_gate::{Json, ToolResult};

fn rig(command: TestCommand) -> Rig {
    let dir = tempfile::tempdir().unwrap();
    let workspace = Arc::new(Workspace::open(dir.path()).unwrap());
    let tools = registry(workspace_tools(&workspace, Some(command)).unwrap());
    Rig::with_tools(dir, tools, [])
}

fn shell(script: &str) -> TestCommand {
    TestCommand::new("sh", ["-c", script])
}

async fn run(rig: &Rig) -> ToolResult {
    rig.tools.dispatch(call("c1", "run_test", "{}")).await.result
}

fn text<'a>(result: &'a ToolResult, key: &str) -> &'a str {
    result.content.get(key).and_then(Json::as_str).unwrap()
}

/// Whether the process whose number stands in this file is gone within five seconds.
fn is_gone(pid_file: &Path) -> bool {
    let pid = std::fs::read_to_string(pid_file).unwrap();
    let end = Instant::now() + Duration::from_secs(5);
    while Instant::now() < end {
        let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        // Gone, or dead and waiting to be collected by whoever adopted it.
        if state.is_err() || state.is_ok_and(|stat| stat.contains(") Z ")) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

#[tokio::test]
async fn a_test_runs_in_the_workspace_with_no_environment_but_its_own() {
    let rig = rig(shell("pwd; env; echo problem >&2; exit 3"));
    let result = run(&rig).await;
    assert!(result.ok, "{result:?}");
    assert_eq!(result.content.get("passed"), Some(&Json::Bool(false)));
    assert_eq!(result.content.get("exit_code"), Some(&Json::from(3)));
    assert_eq!(text(&result, "stderr"), "problem\n");
    let stdout = text(&result, "stdout");
    let mut lines = stdout.lines();
    let here = rig.dir.path().canonicalize().unwrap();
    assert_eq!(lines.next(), here.to_str());
    // The shell sets these itself.
    let own = ["PATH=", "PWD=", "OLDPWD=", "_=", "SHLVL="];
    assert!(lines.all(|line| own.iter().any(|key| line.starts_with(key))), "{stdout}");
}

#[tokio::test]
async fn a_test_that_passes_says_so() {
    let result = run(&rig(shell("exit 0"))).await;
    assert_eq!(result.content.get("passed"), Some(&Json::Bool(true)));
    assert_eq!(result.content.get("timed_out_after_ms"), Some(&Json::Null));
}

#[tokio::test]
async fn a_test_that_runs_out_of_time_is_killed_with_its_group() {
    let mut command = shell("sleep 300 & echo $! > child; echo $$ > leader; wait");
    command.timeout_ms = 1500;
    let rig = rig(command);
    let result = run(&rig).await;
    assert_eq!(result.content.get("passed"), Some(&Json::Bool(false)));
    assert_eq!(result.content.get("timed_out_after_ms"), Some(&Json::from(1500)));
    assert_eq!(result.content.get("signal"), Some(&Json::from(9)));
    assert!(is_gone(&rig.dir.path().join("leader")));
    assert!(is_gone(&rig.dir.path().join("child")));
}

#[tokio::test]
async fn what_a_test_leaves_running_is_killed_when_it_ends() {
    let rig = rig(shell("sleep 300 & echo $! > child; echo ended"));
    let started = Instant::now();
    let result = run(&rig).await;
    assert_eq!(text(&result, "stdout"), "ended\n");
    assert!(started.elapsed() < Duration::from_secs(60), "its output is not waited for");
    assert!(is_gone(&rig.dir.path().join("child")));
}

#[tokio::test]
async fn a_test_that_is_dropped_is_killed_with_its_group() {
    let rig = rig(shell("sleep 300 & echo $! > child.part; mv child.part child; wait"));
    let child = rig.dir.path().join("child");
    let call = rig.tools.dispatch(call("c1", "run_test", "{}"));
    let waited = tokio::time::timeout(Duration::from_secs(20), async {
        let mut call = std::pin::pin!(call);
        while !child.exists() {
            let step = tokio::time::timeout(Duration::from_millis(10), call.as_mut());
            step.await.unwrap_err();
        }
    });
    waited.await.unwrap();
    assert!(is_gone(&child));
    rig.gate.flush().await.unwrap();
    assert!(rig.outcomes().pop().unwrap().is_unknown_outcome());
}

#[tokio::test]
async fn output_is_kept_up_to_a_cap_and_the_rest_is_counted() {
    let mut command = shell("head -c 3000000 /dev/zero | tr '\\0' x; echo err >&2");
    command.output_bytes_max = 1000;
    let result = run(&rig(command)).await;
    let stdout = text(&result, "stdout");
    assert_eq!(stdout.matches('x').count(), 1000);
    assert!(stdout.ends_with("\n... (2999000 more bytes)"), "{stdout}");
    assert_eq!(text(&result, "stderr"), "err\n");
}

#[tokio::test]
async fn a_command_that_cannot_be_run_is_a_tool_error() {
    let nothing: [&str; 0] = [];
    let result = run(&rig(TestCommand::new("no-such-program-here", nothing))).await;
    let message = result.error.unwrap().message;
    assert!(message.starts_with("the test command `no-such-program-here` cannot be run: "));
}

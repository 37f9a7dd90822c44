//! What a scene is played on: a folder, a gate under a policy of `examples/`, an agent whose model
//! follows a script, and the way from its messages to lines of the transcript.

use super::book::Records;
use super::report::{Call, Line};
use crate::exit::Failure;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tollgate::Tollgate;
use tollgate::gate::{Json, Mode, Session};
use tollgate_agent::{
    Agent, AgentSettings, FileTrace, Gated, Message, ModelGateway, Run, ScriptedClient,
    ToolRegistry, Workspace, workspace_tools,
};

/// A folder with a governed gate in it.
pub(crate) struct Stage {
    folder: PathBuf,
    tollgate: Tollgate,
}

impl Stage {
    /// Makes the folder and opens the gate in it.
    pub(crate) fn new(folder: &Path, policy: (&str, &str)) -> Result<Stage, Failure> {
        std::fs::create_dir_all(folder.join("workspace")).map_err(Failure::internal)?;
        let (name, text) = policy;
        let tollgate = Tollgate::builder()
            .policy_text(name, text)
            .ledger_folder(folder.join("ledger"))
            .open()
            .map_err(Failure::internal)?;
        Ok(Stage { folder: folder.to_owned(), tollgate })
    }

    /// The folder that the tools work in.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.join("workspace")
    }

    /// Writes a file of the workspace.
    pub(crate) fn write(&self, file: &str, text: &str) -> Result<(), Failure> {
        let path = self.workspace().join(file);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(Failure::internal)?;
        }
        std::fs::write(path, text).map_err(Failure::internal)
    }

    /// Reads a file of the workspace.
    pub(crate) fn read(&self, file: &str) -> Result<String, Failure> {
        std::fs::read_to_string(self.workspace().join(file)).map_err(Failure::internal)
    }

    /// The tools of the workspace, which work on its files.
    pub(crate) fn tools(&self) -> Result<ToolRegistry, Failure> {
        let workspace = Arc::new(Workspace::open(&self.workspace()).map_err(Failure::internal)?);
        let mut registry = ToolRegistry::new();
        for tool in workspace_tools(&workspace, None).map_err(Failure::internal)? {
            registry.add(tool).map_err(Failure::internal)?;
        }
        Ok(registry)
    }

    /// Switches the gate off.
    pub(crate) async fn switch_off(&self) -> Result<(), Failure> {
        let gate = self.tollgate.gate();
        gate.set_mode(Mode::Off, "the demo shows the difference").await.map_err(Failure::internal)
    }

    /// Lets an agent work on a task; gating it is the one line with `Gated` in it.
    pub(crate) async fn act(
        &self,
        session: Session,
        tools: ToolRegistry,
        script: &str,
        task: &str,
    ) -> Result<Run, Failure> {
        let root = self.workspace().display().to_string();
        let session =
            Session { workspace: Some(root.as_str().into()), cwd: Some(root.into()), ..session };
        let trace = format!("trace-{}.jsonl", session.id);
        let trace = FileTrace::open(&self.folder.join(trace)).map_err(Failure::internal)?;
        let script = Json::read(script.as_bytes()).map_err(Failure::internal)?;
        let client = ScriptedClient::from_json(&script).map_err(Failure::internal)?;
        let gated = Gated::new(tools, Arc::clone(self.tollgate.gate()), session);
        let actor = gated.actor().clone();
        let models = ModelGateway::new(Arc::new(client), "scripted", &actor);
        let settings = AgentSettings::new("You work with the tools that you are given.");
        let agent = Agent::new(Arc::new(gated), models, Arc::new(actor), settings);
        Ok(agent.with_trace(Arc::new(trace)).run(task).await)
    }

    /// Closes the ledger and reads it back from its files.
    pub(crate) async fn records(self) -> Result<Records, Failure> {
        self.tollgate.close().await.map_err(Failure::internal)?;
        Records::read(&self.folder.join("ledger"))
    }
}

/// The lines of a conversation.
pub(crate) fn lines(task: &str, run: &Run) -> Vec<Line> {
    let mut lines = vec![Line::Said { who: "task", text: task.to_owned() }];
    for message in &run.messages {
        match message {
            Message::System(_) | Message::User(_) => {}
            Message::Assistant(reply) => {
                if !reply.text.is_empty() {
                    lines.push(Line::Said { who: "model", text: reply.text.clone() });
                }
                lines.extend(reply.calls.iter().map(|call| Line::Asked {
                    tool: call.tool.to_string(),
                    arguments: call.arguments.text(),
                }));
            }
            Message::Tool { ok, content, .. } => {
                let failure = content.get("code").zip(content.get("message")).filter(|_| !ok);
                let text = match failure.map(|(code, text)| (code.as_str(), text.as_str())) {
                    Some((Some(code), Some(text))) => format!("{code}: {text}"),
                    _ => content_text(content),
                };
                lines.push(Line::Given { ok: *ok, text });
            }
        }
    }
    lines
}

/// The tool calls of a run: what the model was told, and what the ledger says of it.
pub(crate) fn calls(session: &str, run: &Run) -> Vec<(String, Call)> {
    let mut calls = Vec::new();
    for message in &run.messages {
        if let Message::Tool { call_id, tool, ok, content } = message {
            let code = content.get("code").and_then(Json::as_str).filter(|_| !ok);
            let call = Call {
                tool: tool.to_string(),
                ok: *ok,
                code: code.map(str::to_owned),
                executed: None,
            };
            let id = call_id.as_deref().unwrap_or_default();
            calls.push((format!("{session}/{id}"), call));
        }
    }
    calls
}

/// Fills in from the ledger whether each call ran.
pub(crate) fn with_outcomes(calls: Vec<(String, Call)>, records: &Records) -> Vec<Call> {
    let fill = |(key, call): (String, Call)| {
        let executed = key.split_once('/').and_then(|(session, id)| records.executed(session, id));
        Call { executed, ..call }
    };
    calls.into_iter().map(fill).collect()
}

/// The tool results of a run, as the model was given them.
pub(crate) fn results(run: &Run) -> impl Iterator<Item = String> {
    run.messages.iter().filter_map(|message| {
        if let Message::Tool { content, .. } = message { Some(content_text(content)) } else { None }
    })
}

/// Content as a model reads it: a text as it is, anything else as JSON.
fn content_text(content: &Json) -> String {
    content.as_str().map_or_else(|| content.text(), str::to_owned)
}

//! The loop: ask the model, do the calls that it asks for, tell it what came of them, until it
//! answers.
//!
//! It knows nothing of hooks. It sees a [`Dispatch`], a [`ModelGateway`] and a [`Lifecycle`], tells of
//! each point of the agent's life at its place, and does what it is told: a refused memory is left
//! out, a refused prompt ends the run, a refused call is a failed tool result like any other, and an
//! ended session ends the loop at once. Every run ends in exactly one of `agent_end` and
//! `agent_abort`; what ends badly is an `error` first.

use crate::actor::{Emitted, Lifecycle};
use crate::dispatch::{Dispatch, Dispatched, Fate};
use crate::limits::TURNS_DEFAULT;
use crate::model::{Message, ModelGateway, Reply, RequestedCall};
use crate::trace::TraceSink;
use std::sync::Arc;
use tollgate_gate::payload::{Abortion, Ending, MemoryLoad, Opening, PromptBuild, Report};
use tollgate_gate::{
    Aborted, Code, EventKind, Failure, Json, Name, Object, Payload, ToolCall, Usage,
};

/// How an agent is set up, beside its tools and its model.
#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// What it is told to be; may be empty.
    pub instructions: String,
    /// What it remembers.
    pub memories: Vec<Memory>,
    /// Turns that it may take.
    pub turns_max: u32,
}

impl AgentSettings {
    /// With these instructions, without memory, and the usual number of turns.
    pub fn new(instructions: impl Into<String>) -> AgentSettings {
        let instructions = instructions.into();
        AgentSettings { instructions, memories: Vec::new(), turns_max: TURNS_DEFAULT }
    }
}

/// A stored memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// Where it comes from.
    pub source: Option<Name>,
    /// What it says.
    pub text: String,
}

/// An agent.
pub struct Agent {
    tools: Arc<dyn Dispatch>,
    models: ModelGateway,
    lifecycle: Arc<dyn Lifecycle>,
    settings: AgentSettings,
    trace: Option<Arc<dyn TraceSink>>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    /// The model answered.
    Finished {
        /// The answer, as the hooks left it.
        answer: String,
    },
    /// A point of the agent's life was refused, and it cannot go on without.
    Refused {
        /// Which.
        at: EventKind,
        /// Why.
        failure: Failure,
    },
    /// A model call was refused, withheld or failed.
    NoReply(Failure),
    /// The turns are used up.
    TurnLimit {
        /// How many there were.
        turns_max: u32,
    },
    /// The session was ended.
    Aborted(Aborted),
}

/// What a run was.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// How it ended.
    pub ended: Ended,
    /// Turns taken: model calls asked for.
    pub turns: u32,
    /// The conversation, as the model saw it.
    pub messages: Vec<Message>,
    /// What the model calls of this agent have used.
    pub used: Usage,
    /// Trace lines that could not be written.
    pub trace_lines_lost: u64,
}

impl Agent {
    /// An agent without a trace.
    pub fn new(
        tools: Arc<dyn Dispatch>,
        models: ModelGateway,
        lifecycle: Arc<dyn Lifecycle>,
        settings: AgentSettings,
    ) -> Agent {
        Agent { tools, models, lifecycle, settings, trace: None }
    }

    /// Sets where the trace goes.
    #[must_use]
    pub fn with_trace(mut self, trace: Arc<dyn TraceSink>) -> Agent {
        self.trace = Some(trace);
        self
    }

    /// Works on a task to the end. Dropping the future ends the work; what a call under way came to
    /// is then recorded as unknown, with the session's next event or [`tollgate_gate::Gate::flush`].
    pub async fn run(&self, task: &str) -> Run {
        let mut going = Going { agent: self, messages: Vec::new(), turns: 0, trace_lines_lost: 0 };
        let ended = match going.work(task).await {
            Ok(answer) => Ended::Finished { answer },
            Err(ended) => ended,
        };
        let ended = going.close(ended).await;
        Run {
            ended,
            turns: going.turns,
            messages: going.messages,
            used: self.models.used(),
            trace_lines_lost: going.trace_lines_lost,
        }
    }
}

/// A run under way.
struct Going<'a> {
    agent: &'a Agent,
    messages: Vec<Message>,
    turns: u32,
    trace_lines_lost: u64,
}

impl Going<'_> {
    async fn work(&mut self, task: &str) -> Result<String, Ended> {
        let instructions = self.open().await?;
        self.build_prompt(instructions, task).await?;
        loop {
            if self.turns >= self.agent.settings.turns_max {
                return Err(Ended::TurnLimit { turns_max: self.agent.settings.turns_max });
            }
            self.turns += 1;
            let reply = self.ask().await?;
            let calls = reply.calls.clone();
            let text = reply.text.clone();
            self.say(Message::Assistant(reply));
            if calls.is_empty() {
                return Ok(text);
            }
            self.act(calls).await?;
        }
    }

    async fn open(&mut self) -> Result<Json, Ended> {
        let mut context = Object::new();
        context.insert("instructions", self.agent.settings.instructions.as_str());
        let opening = Opening { context: Arc::new(context.into()), ..Opening::default() };
        let opened = self.emit(Payload::AgentStart(opening.into())).await?;
        Ok(opened.get("instructions").cloned().unwrap_or_default())
    }

    async fn build_prompt(&mut self, instructions: Json, task: &str) -> Result<(), Ended> {
        let mut prompt = Vec::new();
        let instructions = text_of(&instructions);
        if !instructions.is_empty() {
            prompt.push(Message::System(instructions));
        }
        for memory in &self.agent.settings.memories {
            if let Some(text) = self.remember(memory).await? {
                prompt.push(Message::System(text));
            }
        }
        prompt.push(Message::User(task.to_owned()));
        let prompt = PromptBuild {
            prompt: Arc::new(Message::list_to_json(&prompt)),
            ..PromptBuild::default()
        };
        let built = self.emit(Payload::PromptBuild(prompt.into())).await?;
        let messages = Message::list_from_json(&built).map_err(|error| Ended::Refused {
            at: EventKind::PromptBuild,
            failure: Failure {
                code: Code::HookError,
                message: format!("what the hooks left is no prompt: {error}").into(),
                tool: EventKind::PromptBuild.name().into(),
            },
        })?;
        messages.into_iter().for_each(|message| self.say(message));
        Ok(())
    }

    /// A memory, as the hooks left it; `None` when it is to be left out.
    async fn remember(&mut self, memory: &Memory) -> Result<Option<String>, Ended> {
        let load = MemoryLoad {
            memory: Arc::new(memory.text.as_str().into()),
            source: memory.source.clone(),
            ..MemoryLoad::default()
        };
        match self.emit(Payload::MemoryLoad(load.into())).await {
            Ok(text) => Ok(Some(text_of(&text)).filter(|text| !text.is_empty())),
            Err(Ended::Refused { .. }) => Ok(None),
            Err(
                ended @ (Ended::Finished { .. }
                | Ended::NoReply(_)
                | Ended::TurnLimit { .. }
                | Ended::Aborted(_)),
            ) => Err(ended),
        }
    }

    async fn ask(&mut self) -> Result<Reply, Ended> {
        let tools = self.agent.tools.declarations();
        let answer = self.agent.models.call(&self.messages, &tools).await;
        if let Some(aborted) = answer.aborted {
            return Err(Ended::Aborted(aborted));
        }
        answer.reply.map_err(Ended::NoReply)
    }

    /// Does the calls of a reply. Each gets its result, also when one of them ends the session.
    async fn act(&mut self, calls: Vec<RequestedCall>) -> Result<(), Ended> {
        let call = |call: RequestedCall| ToolCall {
            tool: call.tool,
            call_id: Some(call.id),
            arguments: call.arguments,
            ..ToolCall::default()
        };
        let calls = calls.into_iter().map(call).collect();
        let mut aborted = None;
        for done in self.agent.tools.dispatch_many(calls).await {
            self.trace_call(&done);
            aborted = aborted.or(done.aborted);
            self.say(Message::of_result(done.call_id, done.tool, &done.result));
        }
        aborted.map_or(Ok(()), |aborted| Err(Ended::Aborted(aborted)))
    }

    /// Tells how the run ended, and gives back how it ended after that was judged.
    async fn close(&mut self, ended: Ended) -> Ended {
        let trouble = match &ended {
            Ended::Finished { .. } | Ended::Aborted(_) => None,
            Ended::Refused { at, failure } => Some((at.name(), Arc::clone(&failure.message))),
            Ended::NoReply(failure) => Some(("model", Arc::clone(&failure.message))),
            Ended::TurnLimit { turns_max } => {
                Some(("loop", format!("all {turns_max} turns are used").into()))
            }
        };
        if let Some((source, message)) = trouble {
            let report = Report { source: Some(source.into()), message, ..Report::default() };
            // Nothing can be refused at an error; it only tells.
            let _ = self.emit(Payload::Error(report.into())).await;
        }
        if let Ended::Aborted(aborted) = &ended {
            self.tell_abort(aborted).await;
            return ended;
        }
        let answer = match &ended {
            Ended::Finished { answer } => Json::from(answer.as_str()),
            Ended::Refused { .. }
            | Ended::NoReply(_)
            | Ended::TurnLimit { .. }
            | Ended::Aborted(_) => Json::Null,
        };
        let ending = Ending { answer: Arc::new(answer), ..Ending::default() };
        match (self.emit(Payload::AgentEnd(ending.into())).await, ended) {
            (Ok(answer), Ended::Finished { .. }) => Ended::Finished { answer: text_of(&answer) },
            (Err(Ended::Aborted(aborted)), _) => {
                self.tell_abort(&aborted).await;
                Ended::Aborted(aborted)
            }
            (Err(refused), Ended::Finished { .. }) => refused,
            (_, ended) => ended,
        }
    }

    async fn tell_abort(&mut self, aborted: &Aborted) {
        let abortion = Abortion {
            code: Some(aborted.code.as_str().into()),
            reason: Arc::clone(&aborted.reason),
            ..Abortion::default()
        };
        // It only tells: the session has ended already.
        let _ = self.emit(Payload::AgentAbort(abortion.into())).await;
    }

    /// Tells of an event; gives back its part as it goes on.
    async fn emit(&mut self, payload: Payload) -> Result<Json, Ended> {
        let kind = payload.kind();
        let emitted = self.agent.lifecycle.emit(payload).await;
        let mut line = Object::new();
        line.insert("event", kind.name());
        let outcome = match emitted {
            Emitted::Passed(payload) => {
                let part = payload.part().unwrap_or_default();
                line.insert("payload", told_in(&payload, &part));
                Ok(Arc::unwrap_or_clone(part))
            }
            Emitted::Refused(failure) => {
                line.insert("refused", failure.code.as_str());
                line.insert("reason", &*failure.message);
                Err(Ended::Refused { at: kind, failure })
            }
            Emitted::Ended(aborted) => {
                line.insert("aborted", aborted.code.as_str());
                line.insert("reason", &*aborted.reason);
                Err(Ended::Aborted(aborted))
            }
        };
        self.trace(line);
        outcome
    }

    /// Adds to the conversation.
    fn say(&mut self, message: Message) {
        let mut line = Object::new();
        line.insert("event", "message");
        line.insert("message", message.to_json());
        self.trace(line);
        self.messages.push(message);
    }

    fn trace_call(&mut self, done: &Dispatched) {
        let mut line = Object::new();
        line.insert("event", "tool_call");
        line.insert("tool", &*done.tool);
        line.insert("call_id", done.call_id.as_deref());
        line.insert("ok", done.result.ok);
        line.insert("code", done.result.error.as_ref().map(|error| error.code.as_str()));
        let executed = (done.fate == Fate::Known).then_some(done.result.executed);
        line.insert("executed", executed);
        self.trace(line);
    }

    fn trace(&mut self, mut line: Object) {
        let Some(trace) = &self.agent.trace else { return };
        line.insert("session", &*self.agent.lifecycle.session().id);
        line.insert("turn", self.turns);
        line.insert("at", self.agent.lifecycle.now().to_string());
        if trace.write(&line.into()).is_err() {
            self.trace_lines_lost += 1;
        }
    }
}

/// What a trace line tells of a payload: its part, or what the kinds without one carry.
fn told_in(payload: &Payload, part: &Json) -> Json {
    let mut out = Object::new();
    match payload {
        Payload::AgentAbort(abortion) => {
            out.insert("code", abortion.code.as_deref());
            out.insert("reason", &*abortion.reason);
        }
        Payload::Error(report) => {
            out.insert("source", report.source.as_deref());
            out.insert("message", &*report.message);
        }
        Payload::AgentStart(_)
        | Payload::PromptBuild(_)
        | Payload::MemoryLoad(_)
        | Payload::PreModel(_)
        | Payload::PostModel(_)
        | Payload::PreTool(_)
        | Payload::PostTool(_)
        | Payload::ToolError(_)
        | Payload::AgentEnd(_) => return part.clone(),
    }
    out.into()
}

/// A text as it is, nothing for nothing, and the JSON text of anything else.
fn text_of(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other @ (Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_)) => {
            other.text()
        }
    }
}

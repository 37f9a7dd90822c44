//! What the tests share: the first seed's workspace, its hooks as closures, and a gate in memory.

use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;
use tollgate_agent::{
    Agent, AgentSettings, Declaration, Dispatch, Gated, ModelGateway, ScriptedClient, Tool,
    ToolRegistry, Workspace, asynchronous, blocking, workspace_tools,
};
use tollgate_gate::{
    Clock, EventKind, Gate, Hook, Json, KindSet, ManualClock, Matcher, MemoryLedger, Object,
    Opinion, Record, RecordKind, Roles, Session, Soon, Timestamp, ToolCall, inline,
};

pub(crate) const SECRET_LINE: &str = "TOKEN = \"tok-42\"  # SECRET";

pub(crate) struct Rig {
    pub(crate) dir: TempDir,
    pub(crate) gate: Arc<Gate>,
    pub(crate) ledger: Arc<MemoryLedger>,
    pub(crate) tools: Gated<ToolRegistry>,
}

impl Rig {
    /// The first seed's workspace behind these hooks.
    pub(crate) fn new(hooks: impl IntoIterator<Item = Hook>) -> Rig {
        let dir = seed_workspace();
        let registry = file_tools(dir.path());
        Rig::with_tools(dir, registry, hooks)
    }

    pub(crate) fn with_tools(
        dir: TempDir,
        registry: ToolRegistry,
        hooks: impl IntoIterator<Item = Hook>,
    ) -> Rig {
        let (gate, ledger) = gate(hooks);
        let tools = Gated::new(registry, Arc::clone(&gate), Session::new("s1").with_user("alice"));
        Rig { dir, gate, ledger, tools }
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(name)).unwrap()
    }

    pub(crate) fn decisions(&self, kind: EventKind) -> Vec<Record> {
        decisions(&self.ledger, kind)
    }

    pub(crate) fn outcomes(&self) -> Vec<Record> {
        let records = self.ledger.records().into_iter();
        records.filter(|record| record.kind == RecordKind::Outcome).collect()
    }

    /// An agent with these tools that follows a script.
    pub(crate) fn agent(self, script: &str) -> (Agent, Arc<Gate>, Arc<MemoryLedger>, TempDir) {
        let actor = self.tools.actor().clone();
        let models = ModelGateway::new(Arc::new(scripted(script)), "scripted", &actor);
        let tools: Arc<dyn Dispatch> = Arc::new(self.tools);
        let agent = Agent::new(tools, models, Arc::new(actor), AgentSettings::new("Be brief."));
        (agent, self.gate, self.ledger, self.dir)
    }
}

pub(crate) fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(Timestamp::parse("2026-11-30").unwrap()))
}

/// A clock that really waits, for hooks that answer later.
pub(crate) struct RealClock(pub(crate) std::time::Instant);

impl Clock for RealClock {
    fn now(&self) -> Timestamp {
        let nanos = u64::try_from(self.0.elapsed().as_nanos()).unwrap();
        Timestamp::from_nanos(nanos)
    }

    fn sleep(&self, time: std::time::Duration) -> Soon<'static, ()> {
        Soon::later(tokio::time::sleep(time))
    }
}

pub(crate) fn gate(hooks: impl IntoIterator<Item = Hook>) -> (Arc<Gate>, Arc<MemoryLedger>) {
    gate_by(clock(), hooks)
}

pub(crate) fn gate_by(
    clock: Arc<dyn Clock>,
    hooks: impl IntoIterator<Item = Hook>,
) -> (Arc<Gate>, Arc<MemoryLedger>) {
    let ledger = Arc::new(MemoryLedger::new());
    let gate = Gate::builder(clock).ledger(Arc::clone(&ledger) as _).hooks(hooks).build();
    (Arc::new(gate.unwrap()), ledger)
}

pub(crate) fn decisions(ledger: &MemoryLedger, kind: EventKind) -> Vec<Record> {
    let records = ledger.records().into_iter();
    records
        .filter(|record| record.kind == RecordKind::Decision && record.event == Some(kind))
        .collect()
}

pub(crate) fn kinds_told(ledger: &MemoryLedger) -> Vec<EventKind> {
    let records = ledger.records().into_iter();
    records.filter(|r| r.kind == RecordKind::Decision).filter_map(|r| r.event).collect()
}

/// calculator.py with a SECRET line, its test, and 15 notes.
pub(crate) fn seed_workspace() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let calculator = format!("{SECRET_LINE}\n\ndef add(a, b):\n    return a - b\n");
    std::fs::write(dir.path().join("calculator.py"), calculator).unwrap();
    std::fs::write(dir.path().join("test_calculator.py"), "def test_add():\n    pass\n").unwrap();
    for number in 1..=15 {
        let name = format!("note_{number:02}.md");
        std::fs::write(dir.path().join(name), format!("note {number}\n")).unwrap();
    }
    dir
}

pub(crate) fn file_tools(root: &Path) -> ToolRegistry {
    let workspace = Arc::new(Workspace::open(root).unwrap());
    registry(workspace_tools(&workspace, None).unwrap())
}

pub(crate) fn registry(tools: impl IntoIterator<Item = Tool>) -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    for tool in tools {
        registry.add(tool).unwrap();
    }
    registry
}

pub(crate) const ANYTHING: &str = r#"{"type": "object"}"#;

/// A tool that answers with a text.
pub(crate) fn echo(name: &str, text: &'static str) -> Tool {
    let declaration = Declaration::new(name, "Says a text.", ANYTHING).unwrap().reads_only();
    Tool::new(declaration, blocking(move |_| Ok(text.into()))).unwrap()
}

/// A tool that never answers.
pub(crate) fn endless(name: &str) -> Tool {
    let declaration = Declaration::new(name, "Never ends.", ANYTHING).unwrap().reads_only();
    Tool::new(declaration, asynchronous(|_| Box::pin(std::future::pending()))).unwrap()
}

pub(crate) fn json(text: &str) -> Json {
    Json::read(text.as_bytes()).unwrap()
}

pub(crate) fn call(id: &str, tool: &str, arguments: &str) -> ToolCall {
    ToolCall::new(tool, json(arguments)).with_call_id(id)
}

pub(crate) fn scripted(script: &str) -> ScriptedClient {
    ScriptedClient::from_json(&json(script)).unwrap()
}

/// The first seed's permission policy: test files are not edited.
pub(crate) fn protect_tests() -> Hook {
    let deny = inline(|view| {
        let path = view.payload.tool_call().and_then(|call| call.arguments.get("path"));
        let is_test = path.and_then(Json::as_str).is_some_and(|path| path.starts_with("test_"));
        Ok(if is_test { Opinion::deny("test files are protected") } else { Opinion::none() })
    });
    Hook::new("protect-tests", EventKind::PreTool, Roles::JUDGE, deny)
        .matching(Matcher::tools(["edit_file", "write_file", "delete_file"]).unwrap())
}

/// The first seed's argument rewrite: at most ten entries.
pub(crate) fn clamp_listing() -> Hook {
    let clamp = inline(|view| {
        let Some(call) = view.payload.tool_call() else { return Ok(Opinion::none()) };
        let asked = call.arguments.get("max_entries").and_then(Json::as_u64).unwrap_or(50);
        if asked <= 10 {
            return Ok(Opinion::none());
        }
        let mut arguments: Object = call.arguments.as_object().cloned().unwrap_or_default();
        arguments.insert("max_entries", 10u64);
        Ok(Opinion::rewrite(arguments))
    });
    Hook::new("clamp-listing", EventKind::PreTool, Roles::REWRITE, clamp)
        .matching(Matcher::tool("list_files").unwrap())
}

/// The first seed's redaction: lines marked SECRET do not reach the model.
pub(crate) fn redact_secrets() -> Hook {
    let redact = inline(|view| {
        let Some(text) = view.payload.part().and_then(|part| part.as_str().map(str::to_owned))
        else {
            return Ok(Opinion::none());
        };
        let lines =
            text.lines().map(|line| if line.contains("SECRET") { "[masked]" } else { line });
        Ok(Opinion::rewrite(lines.collect::<Vec<_>>().join("\n")))
    });
    Hook::new("redact-secrets", EventKind::PostTool, Roles::REWRITE, redact)
}

pub(crate) fn judge(
    name: &str,
    kinds: impl Into<KindSet>,
    opinion: impl Fn() -> Opinion + Send + Sync + 'static,
) -> Hook {
    Hook::new(name, kinds, Roles::JUDGE, inline(move |_| Ok(opinion())))
}

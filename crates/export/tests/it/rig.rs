//! What the tests share: a ledger with records of every kind, and folders that go away.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tollgate_export::{Cursor, Exporter, Format, Severity, SinkOptions, Target, sink};
use tollgate_gate::trace::{Cast, Fault};
use tollgate_gate::{
    Code, Durability, EventId, EventKind, Json, Ledger as _, Mode, Name, Object, Record,
    RecordKind, Refusal, Session, Timestamp, Verdict, Vote,
};
use tollgate_store::{Book, Committer, Entry, FileLedger, LedgerOptions, SystemClock};

pub(crate) struct Rig {
    pub(crate) dir: tempfile::TempDir,
}

impl Rig {
    pub(crate) fn new() -> Rig {
        Rig { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.path("ledger")
    }

    pub(crate) fn append(&self, records: impl IntoIterator<Item = Record>) {
        let clock = Arc::new(SystemClock::new());
        let options = LedgerOptions { committer: Committer::Caller, ..LedgerOptions::new(clock) };
        let ledger = FileLedger::open(&self.ledger(), options).unwrap();
        for record in records {
            wait(ledger.append(record, Durability::BeforeEffect)).unwrap();
        }
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        Book::open(&self.ledger()).unwrap().entries().map(Result::unwrap).collect()
    }

    pub(crate) fn cursor(&self, purpose: &str) -> Cursor {
        Cursor::open(&self.path("cursors"), &self.ledger(), purpose).unwrap()
    }
}

pub(crate) fn exporter(format: Format, to: &str, options: &SinkOptions) -> Exporter {
    let sink = sink::open(&Target::parse(to).unwrap(), options).unwrap();
    Exporter::new(format, sink, severities())
}

pub(crate) fn severities() -> BTreeMap<Name, Severity> {
    BTreeMap::from([(Name::from("protect|tests"), Severity::High)])
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a ledger whose caller commits answers at once"),
    }
}

/// A record of this kind, at a second of its own.
pub(crate) fn record(kind: RecordKind, second: u64) -> Record {
    let at = Timestamp::from_millis(1_800_000_000_000 + second * 1000);
    let mut record = Record::new(EventId::Given(format!("record-{second}").into()), at, kind);
    if matches!(kind, RecordKind::Decision | RecordKind::Outcome) {
        let mut session = Session::new("s1");
        session.tenant = Some("acme".into());
        session.user = Some("alice".into());
        session.agent = Some("coder".into());
        session.host = Some("claude-code".into());
        record.session = Some(Arc::new(session));
        record.root = Some("s1".into());
        record.event = Some(EventKind::PreTool);
        record.tool = Some("bash".into());
        record.call_id = Some(format!("c{second}").into());
        record.policy = Some("sha256:00ff".into());
        record.mode = Some(Mode::Enforce);
        record.verdict = Some(Verdict::Allow);
        record.hook_us = Some(17);
    }
    record
}

fn cast(hook: &str, vote: Option<Vote>) -> Cast {
    Cast {
        hook: hook.into(),
        vote,
        rewrote: false,
        dry_run: false,
        fault: None,
        claims: 0,
        us: 3,
        judged_again: false,
        unmatched: false,
        findings: Vec::new(),
        reveals: Vec::new(),
    }
}

/// A refusal with texts that try to get out of their fields.
pub(crate) fn refused(second: u64) -> Record {
    let mut record = record(RecordKind::Decision, second);
    let reason = "no | way=out \\ \nCEF:0|fake|x \u{202e}gpj";
    record.verdict = Some(Verdict::Deny);
    record.code = Some(Code::HookDenied);
    record.reason = Some(reason.into());
    record.hook = Some("protect|tests".into());
    let arguments = Object::from_iter([("command", "rm -rf a=b|c\n\"x\"")]);
    record.arguments.asked = Some(Arc::new(arguments.into()));
    record.votes =
        Arc::new(vec![cast("protect|tests", Some(Vote::Deny(Refusal::because(reason))))]);
    record
}

/// One record of every kind, and of every verdict.
pub(crate) fn all_kinds() -> Vec<Record> {
    let mut records = vec![record(RecordKind::Decision, 1), refused(2)];
    let mut rewritten = record(RecordKind::Decision, 3);
    rewritten.votes = Arc::new(vec![Cast { rewrote: true, ..cast("clamp", None) }]);
    rewritten.arguments.asked = Some(Arc::new(Object::from_iter([("n", 100u64)]).into()));
    rewritten.arguments.ran = Some(Arc::new(Object::from_iter([("n", 10u64)]).into()));
    records.push(rewritten);
    for (at, verdict) in [Verdict::Ask, Verdict::Respond, Verdict::Abort].into_iter().enumerate() {
        let mut other = record(RecordKind::Decision, 4 + at as u64);
        other.verdict = Some(verdict);
        other.hook = Some("judge".into());
        records.push(other);
    }
    for (at, code) in
        [Code::HookError, Code::ApprovalDenied, Code::ApprovalExpired].into_iter().enumerate()
    {
        let mut other = record(RecordKind::Decision, 7 + at as u64);
        other.verdict = Some(Verdict::Deny);
        other.code = Some(code);
        records.push(other);
    }
    let mut approved = record(RecordKind::Decision, 10);
    approved.approval = Some("a1".into());
    let mut logged = record(RecordKind::Decision, 11);
    (logged.mode, logged.would) = (Some(Mode::DryRun), Some(Verdict::Deny));
    let mut faulty = record(RecordKind::Decision, 12);
    faulty.votes = Arc::new(vec![Cast {
        fault: Some(Fault::TimedOut { timeout_ms: 3000 }),
        ..cast("slow", None)
    }]);
    let mut outcome = record(RecordKind::Outcome, 13);
    (outcome.event, outcome.executed, outcome.ok) =
        (Some(EventKind::PostTool), Some(true), Some(true));
    outcome.handler_us = Some(2500);
    outcome.labels = vec!["tainted".into()];
    let mut failed = record(RecordKind::Outcome, 14);
    (failed.event, failed.executed, failed.ok) =
        (Some(EventKind::ToolError), Some(true), Some(false));
    (failed.error, failed.code) = (Some("exit 1".into()), Some(Code::ToolError));
    let unknown = record(RecordKind::Outcome, 15);
    let mut model = record(RecordKind::Outcome, 16);
    (model.event, model.tool, model.model) = (Some(EventKind::PostModel), None, Some("m-1".into()));
    (model.executed, model.ok) = (Some(true), Some(true));
    (model.usage.tokens_in, model.usage.tokens_out) = (1200, 30);
    model.usage.cost_micros = 55;
    records.extend([approved, logged, faulty, outcome, failed, unknown, model]);
    for (at, kind) in [
        RecordKind::PolicyLoad,
        RecordKind::ModeChange,
        RecordKind::Switch,
        RecordKind::Approval,
        RecordKind::Trust,
        RecordKind::SessionAbort,
        RecordKind::Recovered,
    ]
    .into_iter()
    .enumerate()
    {
        let mut other = record(kind, 17 + at as u64);
        other.detail = Some(Json::from(Object::from_iter([("by", "alice"), ("why", "a=b")])));
        records.push(other);
    }
    records
}

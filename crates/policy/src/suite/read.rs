//! From YAML to tests.

use super::{Case, Expect, Step, Suite};
use crate::diagnostic::{Diagnostic, Place, Report, SourceId};
use crate::file::shape::{Checker, Key, More, Shape, Want, parse_duration};
use crate::file::{Node, read_tree};
use std::time::Duration;
use tollgate_gate::{Event, Json, Object, Timestamp, VoteKind};

/// The moment of tests that name none: 2026-01-01.
const AT: &str = "2026-01-01";

static SUITE: Shape = Shape {
    what: "a file of policy tests",
    more: More::Nothing,
    keys: &[
        Key::new("version", Want::Whole(1, 1), "The version of the form: 1.").required(),
        Key::new("policy", Want::Text, "The policy that is tested, relative to this file."),
        Key::new(
            "session",
            Want::MapOf(&Want::Anything),
            "Fields of every session, unless a step names its own.",
        ),
        Key::new("tests", Want::ListOf(&Want::Object(&CASE)), "The tests.").required(),
    ],
};

static CASE: Shape = Shape {
    what: "a test",
    more: More::Nothing,
    keys: &[
        Key::new("name", Want::Text, "Its name.").required(),
        Key::new("at", Want::Date, "The moment at which it takes place."),
        Key::new("session", Want::MapOf(&Want::Anything), "Fields of its sessions."),
        Key::new("steps", Want::ListOf(&Want::Object(&STEP)), "Its events, in order.").required(),
    ],
};

static STEP: Shape = Shape {
    what: "a step",
    more: More::Nothing,
    keys: &[
        Key::new(
            "event",
            Want::MapOf(&Want::Anything),
            "The event, as on the wire; `session` may be left out.",
        ),
        Key::new("tool", Want::Text, "Short form: the tool of a call."),
        Key::new("server", Want::Text, "Short form: the server that has the tool."),
        Key::new("args", Want::MapOf(&Want::Anything), "Short form: its arguments."),
        Key::new(
            "call",
            Want::MapOf(&Want::Anything),
            "Short form: the canonical reading of the call.",
        ),
        Key::new(
            "result",
            Want::Anything,
            "Short form: what the call gave back; the event comes after it then.",
        ),
        Key::new("session", Want::MapOf(&Want::Anything), "Fields of its session."),
        Key::new("wait", Want::Duration, "The time that passes before it."),
        Key::new("expect", Want::Object(&EXPECT), "What must be decided.").required(),
    ],
};

static EXPECT: Shape = Shape {
    what: "an expectation",
    more: More::Nothing,
    keys: &[
        Key::new(
            "verdict",
            Want::Word(&["allow", "respond", "ask", "deny", "abort"]),
            "The verdict.",
        ),
        Key::new("code", Want::Text, "The code of a refusal."),
        Key::new("hook", Want::Text, "The deciding hook."),
        Key::new("reason", Want::Text, "A glob of the reason."),
        Key::new("args", Want::Anything, "The arguments as they will run."),
        Key::new(
            "part",
            Want::Anything,
            "The part of the payload as it goes on: arguments, content, request.",
        ),
        Key::new("fired", Want::Names, "Hooks that must have run."),
        Key::new("not_fired", Want::Names, "Hooks that must not have run."),
        Key::new("rewritten_by", Want::Names, "Hooks that rewrote, in order."),
    ],
};

/// Reads the tests of a file.
pub(super) fn suite(
    name: &str,
    text: &str,
    source: SourceId,
    report: &mut Report,
) -> Option<Suite> {
    let (root, problems) = read_tree(source, text);
    let is_suite = root.as_ref().is_some_and(|root| root.entry("tests").is_some())
        || (root.is_none() && text.lines().any(|line| line.starts_with("tests:")));
    if !is_suite {
        let place = Place { source, ..Place::default() };
        let found = Diagnostic::error("not-a-suite", place, "this file holds no policy tests");
        report.push(found.with_remedy("policy tests have the top keys `version: 1` and `tests:`"));
        return None;
    }
    report.sources.allow_quotes(source);
    problems.into_iter().for_each(|problem| report.push(problem));
    let root = root?;
    let mut problems = Vec::new();
    Checker { source, problems: &mut problems }.object(&root, &SUITE, "policy tests");
    problems.into_iter().for_each(|problem| report.push(problem));
    let reader = Reader { source, session: object(root.get("session")) };
    let tests = root.get("tests").map_or(&[] as &[Node], Node::items);
    Some(Suite {
        name: name.to_owned(),
        policy: root.get("policy").and_then(Node::as_str).map(str::to_owned),
        cases: tests.iter().filter_map(|node| reader.case(node, report)).collect(),
    })
}

struct Reader {
    source: SourceId,
    session: Object,
}

impl Reader {
    fn line(&self, node: &Node, report: &Report) -> usize {
        let source = report.sources.get(self.source);
        source.map_or(0, |source| source.line_column(node.span.start).line)
    }

    fn case(&self, node: &Node, report: &mut Report) -> Option<Case> {
        let name = node.get("name")?;
        let at = node.get("at").and_then(Node::as_str).unwrap_or(AT);
        let at = Timestamp::parse(at).unwrap_or_default();
        let session = joined(&self.session, node.get("session"));
        let steps = node.get("steps").map_or(&[] as &[Node], Node::items);
        let mut clock = at;
        let mut read = Vec::with_capacity(steps.len());
        for step in steps {
            let wait = step.get("wait").and_then(Node::as_str).and_then(parse_duration);
            let wait = wait.unwrap_or(Duration::ZERO);
            clock = clock.plus_millis(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
            let event = match Event::from_json(event(step, &session), clock) {
                Ok(event) => event,
                Err(error) => {
                    let place = Place { source: self.source, span: step.span };
                    let found = Diagnostic::error("event", place, error.to_string());
                    report.push(found.with_remedy("a step has an `event`, or `tool` and `args`"));
                    continue;
                }
            };
            let line = self.line(step, report);
            read.push(Step { line, wait, event, expect: expect(step.get("expect")) });
        }
        let line = self.line(name, report);
        Some(Case { name: name.as_str()?.to_owned(), line, at, steps: read })
    }
}

fn object(node: Option<&Node>) -> Object {
    match node.map(Node::to_json) {
        Some(Json::Object(object)) => object,
        _ => Object::new(),
    }
}

/// The fields of both; those of the second hold.
fn joined(first: &Object, second: Option<&Node>) -> Object {
    let mut out = first.clone();
    for (key, value) in object(second) {
        out.insert(key, value);
    }
    out
}

/// The wire form of a step's event.
fn event(step: &Node, session: &Object) -> Json {
    let mut event = object(step.get("event"));
    let mut session = joined(session, step.get("session"));
    if let Some(Json::Object(own)) = event.remove("session") {
        for (key, value) in own {
            session.insert(key, value);
        }
    }
    if !session.contains_key("id") {
        session.insert("id", "test");
    }
    event.insert("session", session);
    if step.get("tool").is_some() {
        let mut payload = Object::new();
        for (key, field) in
            [("tool", "tool"), ("server", "server"), ("args", "arguments"), ("call", "call")]
        {
            if let Some(node) = step.get(key) {
                payload.insert(field, node.to_json());
            }
        }
        if let Some(result) = step.get("result") {
            payload.insert("result", Object::from_iter([("content", result.to_json())]));
            event.insert("kind", "post_tool");
        }
        event.insert("payload", payload);
    }
    if !event.contains_key("kind") {
        event.insert("kind", "pre_tool");
    }
    event.into()
}

fn expect(node: Option<&Node>) -> Expect {
    let text = |key: &str| node.and_then(|n| n.get(key)).and_then(Node::as_str).map(str::to_owned);
    let names = |key: &str| {
        let names = node.and_then(|n| n.get(key)).map(Node::one_or_many);
        names.map(|names| names.iter().filter_map(Node::scalar_text).collect::<Vec<_>>())
    };
    let value = |key: &str| node.and_then(|n| n.get(key)).map(Node::to_json);
    let verdict = text("verdict");
    Expect {
        verdict: VoteKind::ALL.into_iter().find(|kind| verdict.as_deref() == Some(kind.name())),
        code: text("code"),
        hook: text("hook"),
        reason: text("reason"),
        part: value("args").or_else(|| value("part")),
        fired: names("fired").unwrap_or_default(),
        not_fired: names("not_fired").unwrap_or_default(),
        rewritten_by: names("rewritten_by"),
    }
}

//! What a scene came to, as a transcript for people and as JSON for programs.

use crate::output::Style;
use std::fmt::Write as _;
use tollgate::gate::text::{shown, shown_block};
use tollgate::gate::{Json, Object};

/// Longest piece of a message in a transcript, in characters.
const MESSAGE_CHARS_MAX: usize = 600;

/// What a scene came to.
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// The conversation, line by line.
    pub(crate) lines: Vec<Line>,
    pub(crate) calls: Vec<Call>,
    /// Calls that were refused.
    pub(crate) refused: u64,
    /// Decision records of tool calls, and the tools that they name.
    pub(crate) record_tools: Vec<String>,
    /// Results that reached the model masked.
    pub(crate) masked_results: u64,
    pub(crate) facts: Vec<Fact>,
}

/// One line of a conversation.
pub(crate) enum Line {
    /// A heading within the scene.
    Heading(String),
    /// What the person or the model said.
    Said { who: &'static str, text: String },
    /// A call that the model asked for.
    Asked { tool: String, arguments: String },
    /// What it was given.
    Given { ok: bool, text: String },
}

/// A tool call: what the model was told, and what the ledger says.
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) ok: bool,
    pub(crate) code: Option<String>,
    pub(crate) executed: Option<bool>,
}

/// Something that was read back.
pub(crate) struct Fact {
    pub(crate) name: &'static str,
    pub(crate) words: &'static str,
    pub(crate) value: Json,
    /// What it must be for the scene to have shown what it is there to show.
    pub(crate) expected: Option<Json>,
}

impl Fact {
    /// A fact that must be true.
    pub(crate) fn holds(name: &'static str, words: &'static str, value: bool) -> Fact {
        Fact { name, words, value: value.into(), expected: Some(true.into()) }
    }

    /// A fact that must have this value.
    pub(crate) fn equals(
        name: &'static str,
        words: &'static str,
        value: impl Into<Json>,
        expected: impl Into<Json>,
    ) -> Fact {
        Fact { name, words, value: value.into(), expected: Some(expected.into()) }
    }

    /// A fact that is only told.
    pub(crate) fn told(name: &'static str, words: &'static str, value: impl Into<Json>) -> Fact {
        Fact { name, words, value: value.into(), expected: None }
    }

    fn is_as_it_should_be(&self) -> bool {
        self.expected.as_ref().is_none_or(|expected| *expected == self.value)
    }
}

impl Scene {
    pub(crate) fn is_as_it_should_be(&self) -> bool {
        self.facts.iter().all(Fact::is_as_it_should_be)
    }
}

/// `{"scenes": [...]}`.
pub(crate) fn json(scenes: &[Scene]) -> String {
    let scenes: Vec<Json> = scenes.iter().map(scene_json).collect();
    Json::from(Object::from_iter([("scenes", scenes)])).text()
}

fn scene_json(scene: &Scene) -> Json {
    let mut out = Object::new();
    out.insert("name", scene.name);
    let calls: Vec<Json> = scene.calls.iter().map(call_json).collect();
    out.insert("calls", calls);
    out.insert("refused", scene.refused);
    out.insert("records", scene.record_tools.len() as u64);
    out.insert("record_tools", scene.record_tools.clone());
    out.insert("masked_results", scene.masked_results);
    let facts: Object = scene.facts.iter().map(|fact| (fact.name, fact.value.clone())).collect();
    out.insert("facts", facts);
    out.into()
}

fn call_json(call: &Call) -> Json {
    let mut out = Object::new();
    out.insert("tool", call.tool.as_str());
    out.insert("ok", call.ok);
    out.insert("code", call.code.as_deref());
    out.insert("executed", call.executed);
    out.into()
}

/// The scenes as a person reads them.
pub(crate) fn transcript(scenes: &[Scene], style: Style) -> String {
    let mut out = String::new();
    for (number, scene) in (1..).zip(scenes) {
        // Writing to a string cannot fail.
        let title = format!("Scene {number}: {}", scene.title);
        let _ = writeln!(out, "{}\n", style.bold(&title));
        for line in &scene.lines {
            write_line(&mut out, line, style);
        }
        let _ = writeln!(
            out,
            "\n  {}",
            style.dim("read back from the files, the ledger and the messages:")
        );
        write_totals(&mut out, scene);
        for fact in &scene.facts {
            let mark = if fact.is_as_it_should_be() {
                style.green("ok")
            } else {
                style.red("NOT AS IT SHOULD BE")
            };
            let value = fact.value.as_str().map_or_else(|| fact.value.text(), str::to_owned);
            let _ = writeln!(out, "  {}: {}  {mark}", fact.words, shown(&value, MESSAGE_CHARS_MAX));
        }
        out.push('\n');
    }
    out
}

fn write_totals(out: &mut String, scene: &Scene) {
    let _ = writeln!(out, "  calls refused: {}", scene.refused);
    let tools = scene.record_tools.join(" -> ");
    let _ =
        writeln!(out, "  decision records of tool calls: {} ({tools})", scene.record_tools.len());
    let _ = writeln!(out, "  results that reached the model masked: {}", scene.masked_results);
}

fn write_line(out: &mut String, line: &Line, style: Style) {
    let _ = match line {
        Line::Heading(text) => writeln!(out, "  {}", style.bold(&format!("-- {text}"))),
        Line::Said { who, text } => {
            writeln!(out, "  {who:>9}  {}", shown(text, MESSAGE_CHARS_MAX))
        }
        Line::Asked { tool, arguments } => {
            let arguments = shown(arguments, MESSAGE_CHARS_MAX).to_string();
            writeln!(out, "  {:>9}  {} {}", "calls", style.bold(tool), style.dim(&arguments))
        }
        Line::Given { ok, text } => {
            let mark = if *ok { style.green("gets") } else { style.red("refused") };
            let text = shown_block(text.trim_end(), MESSAGE_CHARS_MAX).to_string();
            let indented = text.replace('\n', "\n             ");
            // The mark is padded by hand: a style has no width.
            let pad = if *ok { "     " } else { "  " };
            writeln!(out, "  {pad}{mark}  {indented}")
        }
    };
}

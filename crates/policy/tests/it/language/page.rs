//! The page of the language: every block on it does what the page says, and nothing is missing on it.
//!
//! How a block is read stands at the head of the page; `Block` is that in code. Beside the blocks, the
//! page is held against the code: the table of actions, every key of the language, every key of every
//! action.

use super::rig::{block_on, now};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tollgate_effects::NoFiles;
use tollgate_gate::{EventKind, KindSet, OnFailure};
use tollgate_policy::actions::{self, ActionSpec};
use tollgate_policy::suite::{Suite, SuiteReport, run};
use tollgate_policy::{
    AnalysedEffects, EffectSource, Layer, LayerKind, LoadFailure, LoadOptions, Loaded, Report,
    Severity, ToolFacts, load, policy_schema,
};

const PAGE: &str = include_str!("../../../../../docs/policy.md");

/// Who acts in the steps of the page, as it says.
const SESSION: &str = "{ tenant: acme, user: alice, agent: coder, cwd: /repo, workspace: /repo }";

/// A fenced block.
enum Block {
    /// A whole policy, or a list of hooks.
    Policy(Policy),
    /// A file that others include.
    File(String, String),
    /// Policy tests, for the policy before.
    Suite(String),
}

/// A policy with what is said about it in its first line.
#[derive(Default)]
struct Policy {
    text: String,
    /// It comes after the first policy before it that is in no layer.
    layer: Option<LayerKind>,
    error: Option<String>,
    warning: Option<String>,
}

/// Every block with the number of its first line.
fn blocks() -> Vec<(usize, Block)> {
    let mut blocks = Vec::new();
    let mut lines = PAGE.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(language) = line.strip_prefix("```") else { continue };
        assert_eq!(language, "yaml", "line {}", at + 1);
        let inner = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```");
        let text: String = inner.flat_map(|line| [line, "\n"]).collect();
        blocks.push((at + 2, block(&text)));
    }
    blocks
}

fn block(text: &str) -> Block {
    let (first, rest) = text.split_once('\n').unwrap();
    if let Some(name) = first.strip_prefix("# file: ") {
        return Block::File(name.to_owned(), rest.to_owned());
    }
    let said = first.strip_prefix("# ");
    let body = if said.is_some() { rest } else { text };
    if body.contains("\ntests:\n") {
        return Block::Suite(body.to_owned());
    }
    if body.starts_with("- {") || body.starts_with("- name:") {
        let is_steps = !body.starts_with("- name:") && !body.starts_with("- { name:");
        if is_steps {
            return Block::Suite(suite(body));
        }
        let text = format!("version: 1\nhooks:\n{}", indented(body));
        return Block::Policy(Policy { text, ..said_of(said) });
    }
    if body.starts_with("- ") {
        return Block::Suite(suite(body));
    }
    assert!(body.starts_with("version: 1\n"), "{body}");
    Block::Policy(Policy { text: body.to_owned(), ..said_of(said) })
}

fn suite(steps: &str) -> String {
    let steps = indented(&indented(&indented(steps)));
    format!("version: 1\nsession: {SESSION}\ntests:\n  - name: steps\n    steps:\n{steps}")
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

fn said_of(said: Option<&str>) -> Policy {
    let mut policy = Policy::default();
    for part in said.into_iter().flat_map(|said| said.split(", ")) {
        let (key, value) = part.split_once(": ").unwrap();
        match (key, value) {
            ("layer", "user") => policy.layer = Some(LayerKind::User),
            ("layer", "project") => policy.layer = Some(LayerKind::Project),
            ("error", code) => policy.error = Some(code.to_owned()),
            ("warning", code) => policy.warning = Some(code.to_owned()),
            _ => panic!("the first line of a block says `{part}`"),
        }
    }
    policy
}

fn analysed(facts: &ToolFacts) -> Arc<dyn EffectSource> {
    Arc::new(AnalysedEffects::new(facts, Arc::new(NoFiles), Some("/home/alice".to_owned())))
}

/// Loads files of a folder as the page means them: what stands before a later layer is an earlier one.
fn load_files(folder: &Path, policies: &[(&str, LayerKind, &str)]) -> Result<Loaded, LoadFailure> {
    let mut layers = Vec::new();
    for (name, kind, text) in policies {
        fs::write(folder.join(name), text).unwrap();
        layers.push(Layer::named(*kind, folder.join(name)));
    }
    let options = LoadOptions {
        env: &|name| (name == "HOOK_TOKEN").then(|| "hush".to_owned()),
        effects: Some(&analysed),
        ..LoadOptions::new(now())
    };
    load(&layers, &options)
}

fn codes(report: &Report, severity: Severity) -> Vec<&str> {
    let found = report.diagnostics.iter().filter(|found| found.severity == severity);
    found.map(|found| found.code).collect()
}

/// What goes over the blocks of the page.
struct Reading {
    folder: tempfile::TempDir,
    /// The text of the last policy that stands in no layer.
    base: String,
    loaded: Option<Loaded>,
    wrong: Vec<String>,
}

impl Reading {
    fn policy(&mut self, line: usize, policy: &Policy) {
        let base = self.base.clone();
        let loaded = match policy.layer {
            // A test owns no file of the machine's; the order of the layers is what counts here.
            Some(kind) => load_files(
                self.folder.path(),
                &[("first.yaml", LayerKind::User, &base), ("tollgate.yaml", kind, &policy.text)],
            ),
            None => {
                load_files(self.folder.path(), &[("tollgate.yaml", LayerKind::User, &policy.text)])
            }
        };
        let report = match &loaded {
            Ok(loaded) => &loaded.report,
            Err(failure) => &failure.report,
        };
        for (severity, expected) in
            [(Severity::Error, &policy.error), (Severity::Warning, &policy.warning)]
        {
            let found = codes(report, severity);
            let is_right = match expected {
                Some(code) => found.contains(&code.as_str()),
                // What is wrong in one way may be odd in another.
                None => found.is_empty() || policy.error.is_some(),
            };
            if !is_right {
                let text = report.text();
                self.wrong.push(format!("line {line}: {severity} {expected:?}, found\n{text}"));
            }
        }
        let Ok(loaded) = loaded else { return };
        if policy.layer.is_none() {
            self.base.clone_from(&policy.text);
        }
        self.loaded = Some(loaded);
    }

    fn suite(&mut self, line: usize, text: &str) {
        let suite = Suite::read("steps", text);
        let suite = suite.unwrap_or_else(|report| panic!("line {line}: {}", report.text()));
        let loaded = self.loaded.as_ref().unwrap_or_else(|| panic!("line {line}: no policy"));
        let report: SuiteReport = block_on(run(&suite, loaded)).unwrap();
        if report.failed() > 0 {
            self.wrong.push(format!("block at line {line}:\n{}", report.text()));
        }
    }
}

#[test]
fn every_block_of_the_page_does_what_the_page_says() {
    let mut reading = Reading {
        folder: tempfile::tempdir().unwrap(),
        base: String::new(),
        loaded: None,
        wrong: Vec::new(),
    };
    let blocks = blocks();
    assert!(blocks.len() > 80, "{} blocks", blocks.len());
    for (line, block) in &blocks {
        match block {
            Block::Policy(policy) => reading.policy(*line, policy),
            Block::Suite(text) => reading.suite(*line, text),
            Block::File(name, text) => {
                let path = reading.folder.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
        }
    }
    assert!(reading.wrong.is_empty(), "{}", reading.wrong.join("\n"));
}

/// The texts of all blocks that load.
fn sound() -> String {
    let blocks = blocks().into_iter().filter_map(|(_, block)| match block {
        Block::Policy(policy) if policy.error.is_none() => Some(policy.text),
        Block::Policy(_) => None,
        Block::File(_, text) | Block::Suite(text) => Some(text),
    });
    blocks.collect()
}

/// Whether a key stands in the text as a key.
fn is_used(text: &str, key: &str) -> bool {
    text.match_indices(key).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let is_start = before.is_none_or(|c| matches!(c, ' ' | '\n' | '{' | '['));
        is_start && text[at + key.len()..].starts_with(':')
    })
}

/// Every key below a place of a schema, however deep.
fn keys_below(schema: &serde_json::Value, keys: &mut BTreeSet<String>) {
    match schema {
        serde_json::Value::Object(object) => {
            for (key, value) in object {
                if key == "properties" {
                    keys.extend(value.as_object().unwrap().keys().cloned());
                }
                keys_below(value, keys);
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| keys_below(item, keys)),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => {}
    }
}

#[test]
fn every_key_of_the_language_is_on_the_page_with_an_example() {
    let mut schema = policy_schema();
    // The actions have their own sections.
    let hook = schema.pointer_mut("/$defs/hook/properties").unwrap().as_object_mut().unwrap();
    hook.retain(|key, _| actions::find(key).is_none());
    let mut keys = BTreeSet::new();
    keys_below(&schema, &mut keys);
    assert!(keys.len() > 70, "{keys:?}");
    let examples = sound();
    let missing: Vec<&String> = keys
        .iter()
        .filter(|key| !PAGE.contains(&format!("`{key}`")) && !PAGE.contains(&format!("`{key}:")))
        .collect();
    assert!(missing.is_empty(), "not told: {missing:?}");
    // Of the kinds, which are keys of `default`, one example is enough.
    let is_kind =
        |key: &str| EventKind::from_name(key).is_some() || ["before", "after_tool"].contains(&key);
    let unused = keys.iter().filter(|key| !is_used(&examples, key) && !is_kind(key));
    let unused: Vec<&String> = unused.collect();
    assert!(unused.is_empty(), "without an example: {unused:?}");
    for path in ["args.", "payload."] {
        assert!(PAGE.contains(&format!("`{path}PATH`")) && examples.contains(&format!(" {path}")));
    }
}

/// Kinds in the words of the page.
fn kinds(kinds: KindSet) -> String {
    let groups = [
        (KindSet::BEFORE, "before"),
        (KindSet::AFTER, "after"),
        (KindSet::AFTER_TOOL, "after_tool"),
    ];
    if let Some((_, name)) = groups.iter().find(|(group, _)| *group == kinds) {
        return format!("`{name}`");
    }
    let names = |within: bool| -> Vec<String> {
        let all = EventKind::ALL.into_iter().filter(|kind| kinds.contains(*kind) == within);
        all.map(|kind| format!("`{kind}`")).collect()
    };
    match (names(true), names(false)) {
        (_, others) if others.is_empty() => "all".to_owned(),
        (these, others) if others.len() < these.len() => format!("all but {}", others.join(", ")),
        (these, _) => these.join(", "),
    }
}

/// The row of an action in the table of the page.
fn row(spec: &ActionSpec) -> String {
    let failure = match spec.on_failure {
        OnFailure::Closed => "closed",
        OnFailure::Open => "open",
    };
    let project = if spec.restricts { "yes" } else { "no" };
    let name = spec.name;
    format!(
        "| [`{name}`](#{name}) | {} | {} | {failure} | {project} |\n",
        spec.summary,
        kinds(spec.kinds)
    )
}

#[test]
fn the_table_of_actions_is_that_of_the_code() {
    let rows: String = actions::table().iter().map(|spec| row(spec)).collect();
    let table = format!(
        "| action | what it does | possible at | a fault of it is | projects |\n|---|---|---|---|---|\n{rows}"
    );
    assert!(PAGE.contains(&table), "the page must hold:\n{table}");
}

#[test]
fn every_action_has_a_section_with_all_its_keys_and_an_example() {
    let (_, rest) = PAGE.split_once("\n## Actions\n").unwrap();
    let (part, _) = rest.split_once("\n## ").unwrap();
    let sections: BTreeMap<&str, &str> = part
        .split("\n### ")
        .skip(1)
        .map(|section| section.split_once('\n').unwrap())
        .map(|(title, text)| (title.trim_matches('`'), text))
        .collect();
    let names: BTreeSet<&str> = actions::table().iter().map(|spec| spec.name).collect();
    assert_eq!(sections.keys().copied().collect::<BTreeSet<_>>(), names);
    for spec in actions::table() {
        let section = sections[spec.name];
        assert!(is_used(section, spec.name), "`{}` has no example", spec.name);
        let mut keys = BTreeSet::new();
        keys_below(&(spec.schema)(), &mut keys);
        for key in keys {
            let is_told = section.contains(&format!("`{key}`")) || is_used(section, &key);
            assert!(is_told, "`{}.{key}` is not on the page", spec.name);
        }
    }
}

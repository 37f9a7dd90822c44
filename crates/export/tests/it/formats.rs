//! Formats: golden lines for every kind of record, the fields that the schemas require, and nothing in a
//! text that gets out of its field.

use crate::rig::{Rig, all_kinds, record, refused, severities};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tollgate_export::{Format, Told};
use tollgate_gate::{Code, Json, RecordKind, Verdict};

fn written(rig: &Rig, format: Format) -> Vec<String> {
    let severities = severities();
    rig.entries().iter().map(|entry| format.write(&Told::new(entry, &severities))).collect()
}

/// Compares with the file of this name; `GOLDEN=write` writes it.
fn check_golden(name: &str, lines: &[String]) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden").join(name);
    let text = lines.join("\n") + "\n";
    let text = text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    if std::env::var("GOLDEN").is_ok_and(|word| word == "write") {
        fs::write(&file, &text).unwrap();
    }
    let golden = fs::read_to_string(&file).unwrap();
    for (at, (is, should)) in text.lines().zip(golden.lines()).enumerate() {
        assert_eq!(is, should, "{name} line {}", at + 1);
    }
    assert_eq!(text.lines().count(), golden.lines().count());
}

#[test]
fn every_kind_of_record_is_written_as_the_golden_files_say() {
    let rig = Rig::new();
    rig.append(all_kinds());
    for (format, name) in
        [(Format::Ocsf, "ocsf.jsonl"), (Format::Cef, "cef.txt"), (Format::Ecs, "ecs.jsonl")]
    {
        check_golden(name, &written(&rig, format));
    }
}

#[test]
fn the_outcome_of_a_refused_call_carries_what_its_decision_said() {
    let outcome = |code: Option<Code>, executed: Option<bool>| {
        let mut record = record(RecordKind::Outcome, 1);
        record.verdict = Some(Verdict::Allow);
        (record.code, record.executed) = (code, executed);
        record
    };
    let no = Some(false);
    let expected = [
        (outcome(Some(Code::HookDenied), no), 2),
        (outcome(Some(Code::LimitExceeded), no), 2),
        (outcome(Some(Code::ApprovalDenied), no), 25),
        (outcome(Some(Code::ApprovalRequired), no), 26),
        (outcome(Some(Code::HookTimeout), no), 27),
        (outcome(None, no), 99),
        (outcome(Some(Code::ToolError), Some(true)), 1),
        (outcome(None, None), 1),
    ];
    let rig = Rig::new();
    rig.append(expected.iter().map(|(record, _)| record.clone()));
    for (line, (record, id)) in written(&rig, Format::Ocsf).iter().zip(&expected) {
        let event = Json::read(line.as_bytes()).unwrap();
        let said = event.get("disposition_id").and_then(Json::as_u64);
        assert_eq!(said, Some(*id), "{:?}", record.code);
    }
}

fn at<'j>(json: &'j Json, path: &str) -> Option<&'j Json> {
    path.split('.').try_fold(json, |json, key| json.get(key))
}

/// What OCSF 1.6 requires of API Activity, of its objects and of the profiles; the names are those of
/// `events/application/api_activity.json`, `objects/` and `profiles/` in its repository.
#[test]
fn every_ocsf_event_has_what_the_class_requires() {
    let rig = Rig::new();
    rig.append(all_kinds());
    for line in written(&rig, Format::Ocsf) {
        let event = Json::read(line.as_bytes()).unwrap();
        for required in [
            "activity_id",
            "category_uid",
            "class_uid",
            "severity_id",
            "time",
            "type_uid",
            "metadata.version",
            "metadata.product.vendor_name",
            "metadata.product.name",
            "actor",
            "api.operation",
            "src_endpoint",
        ] {
            assert!(at(&event, required).is_some(), "{required} in {line}");
        }
        let number = |path| at(&event, path).and_then(Json::as_u64);
        assert_eq!(number("class_uid"), Some(6003));
        assert_eq!(number("category_uid"), Some(6));
        assert_eq!(number("type_uid"), Some(6003 * 100 + number("activity_id").unwrap()));
        // Each of these objects must have one of some members.
        assert!(at(&event, "actor.app_name").is_some());
        assert!(at(&event, "src_endpoint.svc_name").is_some());
        assert!(at(&event, "api.request").is_none() || at(&event, "api.request.uid").is_some());
        let profiles = at(&event, "metadata.profiles").and_then(Json::as_array);
        let has = |name| {
            profiles.unwrap_or_default().iter().any(|profile| profile.as_str() == Some(name))
        };
        assert_eq!(has("security_control"), event.get("action_id").is_some());
        assert_eq!(has("security_control"), event.get("disposition_id").is_some());
        assert_eq!(has("ai_operation"), event.get("ai_model").is_some());
        if has("ai_operation") {
            assert!(at(&event, "ai_model.name").is_some());
            assert!(at(&event, "ai_model.ai_provider").is_some());
            assert!(at(&event, "message_context.application").is_some());
        }
    }
}

#[test]
fn every_ecs_document_has_its_base_fields_and_an_allowed_pair_of_category_and_type() {
    let rig = Rig::new();
    rig.append(all_kinds());
    // From the ECS field reference, "event.category" and its expected types.
    let allowed = [
        ("api", &["access", "admin", "allowed", "change", "denied", "info"][..]),
        ("configuration", &["access", "change", "creation", "deletion", "info"]),
        ("iam", &["admin", "change", "creation", "deletion", "group", "info", "user"]),
        ("session", &["start", "end", "info"]),
    ];
    for line in written(&rig, Format::Ecs) {
        let document = Json::read(line.as_bytes()).unwrap();
        for required in ["@timestamp", "ecs", "message", "event"] {
            assert!(document.get(required).is_some(), "{required}");
        }
        let word = |path| match at(&document, path) {
            Some(Json::Array(items)) => items[0].as_str().unwrap().to_owned(),
            Some(value) => value.as_str().unwrap().to_owned(),
            None => unreachable!("{path} in {line}"),
        };
        let (category, kind) = (word("event.category"), word("event.type"));
        let types = allowed.iter().find(|(name, _)| *name == category).unwrap().1;
        assert!(types.contains(&kind.as_str()), "{category} {kind}");
        assert!(["alert", "event"].contains(&word("event.kind").as_str()));
        assert!(["success", "failure", "unknown"].contains(&word("event.outcome").as_str()));
    }
}

/// Splits a line as a CEF reader does: at bars, then at keys, that are not escaped.
fn read_cef(line: &str) -> (Vec<String>, Vec<(String, String)>) {
    let (mut header, mut part, mut rest) = (Vec::new(), String::new(), line.chars());
    while header.len() < 7 {
        match rest.next().unwrap() {
            '\\' => part.push(rest.next().unwrap()),
            '|' => header.push(std::mem::take(&mut part)),
            c => part.push(c),
        }
    }
    let mut fields: Vec<(String, String)> = Vec::new();
    let mut word = String::new();
    let mut extension = rest;
    while let Some(c) = extension.next() {
        match c {
            '\\' => match extension.next().unwrap() {
                'n' => word.push('\n'),
                'r' => word.push('\r'),
                c => word.push(c),
            },
            '=' => {
                let (before, key) = word.rsplit_once(' ').unwrap_or(("", &word));
                if let Some(last) = fields.last_mut() {
                    last.1 = before.to_owned();
                }
                fields.push((key.to_owned(), String::new()));
                word.clear();
            }
            c => word.push(c),
        }
    }
    fields.last_mut().unwrap().1 = word;
    (header, fields)
}

#[test]
fn a_cef_reader_gets_back_what_was_put_in() {
    let rig = Rig::new();
    rig.append([refused(1)]);
    let line = &written(&rig, Format::Cef)[0];
    assert!(!line.contains('\n'));
    let (header, fields) = read_cef(line);
    assert_eq!(header[..3], ["CEF:0", "Tollgate", "Tollgate"]);
    assert_eq!(header[4..], ["decision.deny", "pre_tool bash", "8"]);
    let value = |key: &str| {
        let found: Vec<&str> =
            fields.iter().filter(|(name, _)| name == key).map(|(_, value)| &**value).collect();
        assert_eq!(found.len(), 1, "{key} in {line}");
        found[0].to_owned()
    };
    assert_eq!(value("msg"), "no | way=out \\ \nCEF:0|fake|x \\u{202e}gpj");
    assert_eq!(value("cs2"), "protect|tests");
    assert_eq!(value("cs2Label"), "hook");
    assert_eq!(value("act"), "blocked");
    assert_eq!(value("flexString1"), r#"{"command":"rm -rf a=b|c\n\"x\""}"#);
}

#[test]
fn long_texts_are_cut_with_a_count_and_a_message_stays_below_a_datagram() {
    let rig = Rig::new();
    let mut long = record(RecordKind::Decision, 1);
    long.reason = Some("r\u{202e}".repeat(50_000).into());
    long.arguments.asked = Some(Arc::new(
        tollgate_gate::Object::from_iter([("a", "\u{200b}\"".repeat(90_000))]).into(),
    ));
    long.labels = (0..5000).map(|at| format!("label-{at}").into()).collect();
    rig.append([long]);
    for format in [Format::Ocsf, Format::Cef, Format::Ecs] {
        let line = &written(&rig, format)[0];
        assert!(line.len() < 60_000, "{format:?}: {}", line.len());
        assert!(line.contains("more bytes"), "{format:?}");
    }
}

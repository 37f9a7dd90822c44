//! Laws of redaction.

use super::{RedactError, Redacted, Redactor, compile};
use crate::actions::{ActionContext, ActionError};
use proptest::prelude::proptest;
use std::sync::Arc;
use tollgate_gate::{
    Event, EventKind, HandlerError, Json, KindSet, Opinion, Payload, Session, SessionView, Soon,
    Timestamp, ToolCall, ToolOutcome, ToolResult, View,
};

fn json(text: &str) -> Json {
    Json::read(text.as_bytes()).unwrap()
}

fn context() -> ActionContext {
    ActionContext::new("h", KindSet::AFTER_TOOL)
}

fn run(context: &ActionContext, value: &str, content: &Json) -> Result<Opinion, HandlerError> {
    let handler = compile(&json(value), context).unwrap();
    let outcome = ToolOutcome {
        call: Arc::new(ToolCall::new("t", tollgate_gate::Object::new())),
        result: ToolResult::success(content.clone()),
    };
    let event = Event::new(
        Arc::new(Session::new("s")),
        Payload::PostTool(Arc::new(outcome)),
        Timestamp::from_millis(0),
    );
    let session = SessionView::default();
    let answer = handler.handle(View {
        event: &event,
        payload: &event.payload,
        original: &event.payload,
        session: &session,
        votes: &[],
        now: event.at,
    });
    let Soon::Now(Some(answer)) = answer else { panic!("an action must answer at once") };
    answer
}

fn masked(value: &str, content: &str) -> Option<String> {
    let opinion = run(&context(), value, &json(content)).unwrap();
    opinion.rewrite.map(|part| part.text())
}

#[test]
fn a_marked_line_is_masked_whole_and_its_neighbours_stay() {
    let content = r#""a = 1\r\nTOKEN = 'x'  # SECRET\r\nb = 2\nSECRET""#;
    let expected = r#""a = 1\r\n[SECRET]\r\nb = 2\n[SECRET]""#;
    assert_eq!(masked(r#"{"lines":"SECRET"}"#, content).unwrap(), expected);
    assert_eq!(masked(r#"{"lines":"SECRET"}"#, expected), None, "a mask stays as it is");
    assert_eq!(masked(r#"{"lines":["SECRET"],"mask":"***"}"#, r#""x SECRET""#).unwrap(), "\"***\"");
}

#[test]
fn every_string_key_and_long_number_is_looked_at() {
    let content = r#"{"13812345678":{"list":["zhangsan@x.com",13812345678,42]},"ok":true}"#;
    assert_eq!(
        masked(r#"{"find":["mobile","email"]}"#, content).unwrap(),
        r#"{"138*********":{"list":["z***@x.com","138*********",42]},"ok":true}"#
    );
}

#[test]
fn patterns_mask_by_template_and_findings_are_named_without_the_datum() {
    let value = r#"{"patterns":[{"name":"ticket","pattern":"TKT-([0-9]{2})[0-9]+","mask":"TKT-$1**"}],"find":"email"}"#;
    let opinion = run(&context(), value, &json(r#"["TKT-12345 TKT-99999","a@x.com"]"#)).unwrap();
    assert_eq!(opinion.rewrite.unwrap().text(), r#"["TKT-12** TKT-99**","a***@x.com"]"#);
    assert_eq!(
        opinion.findings.iter().map(|name| &**name).collect::<Vec<_>>(),
        ["ticket", "email"]
    );
}

#[test]
fn nothing_found_is_nothing_said() {
    let opinion =
        run(&context(), r#"{"find":["mobile","email"],"lines":"SECRET"}"#, &json(r#"{"a":["b"]}"#));
    assert_eq!(opinion.unwrap(), Opinion::none());
}

struct Failing;

impl Redactor for Failing {
    fn redact(&self, _: Option<&str>, _: &str) -> Result<Option<Redacted>, RedactError> {
        Err(RedactError { redactor: "names".into(), cause: "the model is gone".into() })
    }
    fn describe(&self) -> String {
        "names, model 7".to_owned()
    }
}

#[test]
fn a_redactor_that_fails_is_a_fault_and_its_description_counts() {
    let mut context = context();
    context.redactors.insert("names".into(), Arc::new(Failing));
    let error = run(&context, r#"{"find":"names"}"#, &json(r#""x""#)).unwrap_err();
    assert_eq!(error.0, "redactor `names`: the model is gone");
    let handler = compile(&json(r#"{"find":"names"}"#), &context).unwrap();
    assert!(handler.describe().unwrap().contains("model 7"));
}

#[test]
fn mistakes_are_told_with_their_path() {
    let error = |value: &str| -> ActionError { compile(&json(value), &context()).err().unwrap() };
    assert_eq!(error("{}").message, "nothing to redact");
    let unknown = error(r#"{"find":["mobil"]}"#);
    assert_eq!(unknown.path, "find.0");
    assert_eq!(unknown.message, "unknown finding `mobil`; the nearest known one is `mobile`");
    assert_eq!(error(r#"{"patterns":[{"pattern":"("}]}"#).path, "patterns.0.pattern");
    assert_eq!(error(r#"{"lines":["a\nb"]}"#).path, "lines.0");
    assert_eq!(
        error(r#"{"line":"SECRET"}"#).message,
        "unknown key `line`; the nearest known one is `lines`"
    );
}

#[test]
fn the_kinds_are_those_at_which_something_can_be_rewritten() {
    for kind in EventKind::ALL {
        assert_eq!(super::SPEC.kinds.contains(kind), kind.may_rewrite(), "{kind}");
    }
}

proptest! {
    /// No mobile number of the seeds' form survives, wherever it stands, and masks are stable.
    #[test]
    fn no_number_survives_and_masks_are_stable(
        before in "[^0-9]{0,8}", number in "1[3-9][0-9]{9}", after in "[^0-9]{0,8}"
    ) {
        let content = Json::from(format!("{before}{number}{after}"));
        let opinion = run(&context(), r#"{"find":"mobile"}"#, &content).unwrap();
        let part = opinion.rewrite.unwrap();
        assert!(!part.text().contains(&number));
        let again = run(&context(), r#"{"find":"mobile"}"#, &part).unwrap();
        assert_eq!(again.rewrite, None);
    }
}

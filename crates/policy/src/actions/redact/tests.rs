//! Laws of redaction.

use super::{RedactError, Redacted, Redactor, compile};
use crate::actions::{ActionContext, ActionError};
use crate::detection::{MaskKeyError, MaskKeys, NameModels, NameModelsError};
use proptest::prelude::proptest;
use std::path::Path;
use std::sync::Arc;
use tollgate_detect::{Kind, NameModel, NameModelError, NameSpan};
use tollgate_gate::{
    Event, EventKind, Handler, HandlerError, Json, KindSet, Opinion, Payload, Session, SessionView,
    Soon, Timestamp, ToolCall, ToolOutcome, ToolResult, View,
};

fn json(text: &str) -> Json {
    Json::read(text.as_bytes()).unwrap()
}

fn context() -> ActionContext {
    ActionContext::new("h", KindSet::AFTER_TOOL)
}

fn run(context: &ActionContext, value: &str, content: &Json) -> Result<Opinion, HandlerError> {
    let handler = compile(&json(value), context).unwrap();
    answer(&*handler, Session::new("s"), content)
}

fn answer(
    handler: &dyn Handler,
    session: Session,
    content: &Json,
) -> Result<Opinion, HandlerError> {
    let outcome = ToolOutcome {
        call: Arc::new(ToolCall::new("t", tollgate_gate::Object::new())),
        result: ToolResult::success(content.clone()),
    };
    let event = Event::new(
        Arc::new(session),
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
        opinion.findings.iter().map(|found| &*found.rule).collect::<Vec<_>>(),
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

fn found(opinion: &Opinion) -> Vec<(String, u32, bool)> {
    let found = opinion.findings.iter();
    found.map(|found| (found.rule.to_string(), found.count, found.dry_run)).collect()
}

fn labels(value: &str, content: &str) -> Vec<String> {
    let opinion = run(&context(), value, &json(content)).unwrap();
    opinion.labels.iter().map(|label| label.to_string()).collect()
}

#[test]
fn masks_go_from_the_general_to_the_special() {
    let content = r#"["zhangsan@x.com","13812345678","password = hunter2-and-more!"]"#;
    let of = |value: &str| masked(value, content).unwrap();
    assert_eq!(
        of(r#"{"find":["secrets","pii"]}"#),
        r#"["z***@x.com","138*********","password = [PASSWORD]"]"#
    );
    assert_eq!(
        of(
            r#"{"find":["secrets","pii"],"mask":"label","masks":{"phone":{"stars":{"first":3,"last":2}}}}"#
        ),
        r#"["[EMAIL]","138******78","password = [PASSWORD]"]"#
    );
    assert_eq!(
        of(
            r#"{"find":["secrets","pii"],"mask":"(gone)","masks":{"pii":"shape","phone-cn":{"text":"label"}}}"#
        ),
        r#"["********@*.***","label","password = (gone)"]"#
    );
}

#[test]
fn single_rules_can_be_asked_for_added_and_left_out() {
    let content = r#"["zhangsan@x.com","13812345678"]"#;
    let of = |value: &str| masked(value, content);
    assert_eq!(of(r#"{"find":"phone-cn"}"#).unwrap(), r#"["zhangsan@x.com","138*********"]"#);
    assert_eq!(
        of(r#"{"find":"email","rules":{"phone-cn":{"enabled":true}}}"#).unwrap(),
        r#"["z***@x.com","138*********"]"#
    );
    let off = r#"{"find":"pii","rules":{"phone-cn":{"enabled":false}}}"#;
    assert_eq!(of(off).unwrap(), r#"["z***@x.com","13812345678"]"#);
    assert_eq!(of(r#"{"find":"pii","threshold":1}"#), None);
    let of_kind = r#"{"find":"pii","threshold":1,"thresholds":{"pii":1,"email":0.5}}"#;
    assert_eq!(of(of_kind).unwrap(), r#"["z***@x.com","13812345678"]"#);
    let of_rule = r#"{"find":"pii","thresholds":{"pii":1,"phone-cn":0.2}}"#;
    assert_eq!(of(of_rule).unwrap(), r#"["zhangsan@x.com","138*********"]"#);
}

#[test]
fn a_rule_on_trial_is_counted_and_masks_nothing() {
    let value = r#"{"find":"pii","rules":{"email":{"dry_run":true,"severity":"low"}}}"#;
    let content = json(r#"["a@x.com b@x.com","13812345678"]"#);
    let opinion = run(&context(), value, &content).unwrap();
    assert_eq!(found(&opinion), [("email".to_owned(), 2, true), ("phone-cn".to_owned(), 1, false)]);
    assert_eq!(opinion.findings[0].severity, Some("low"));
    assert_eq!(opinion.rewrite.unwrap().text(), r#"["a@x.com b@x.com","138*********"]"#);
    // The session of these tests is one; nobody of a share of none, everybody of all.
    let share = |percent: u8| {
        let value = format!(r#"{{"find":"email","rules":{{"email":{{"rollout":{percent}}}}}}}"#);
        masked(&value, r#""a@x.com""#).is_some()
    };
    assert!(!share(0) && share(100));
    // Of whom nothing is known, the rule takes effect.
    let unknown = r#"{"find":"email","rollout_by":"tenant","rules":{"email":{"rollout":0}}}"#;
    assert!(masked(unknown, r#""a@x.com""#).is_some());
}

const CUSTOM: &str = r#"{"custom":[{"id":"member","pattern":"member (\\d{16})","keywords":"member",
    "validator":"luhn","kind":"national_id","mask":"[MEMBER]","severity":"high",
    "match":"member 4111111111111111","no_match":["member 4111111111111112","4111111111111111"]}]}"#;

#[test]
fn a_rule_of_the_policys_own_is_held_to_its_examples() {
    let content = r#""Member 4111111111111111, member 4111111111111112""#;
    assert_eq!(masked(CUSTOM, content), None, "the pattern minds the case");
    let content = r#""member 4111111111111111, member 4111111111111112""#;
    assert_eq!(masked(CUSTOM, content).unwrap(), r#""member [MEMBER], member 4111111111111112""#);
    let error = |from: &str, to: &str| {
        let value = CUSTOM.replace(from, to);
        let error = compile(&json(&value), &context()).err().unwrap();
        (error.path, error.message)
    };
    assert_eq!(error("(\\\\d{16})", "(\\\\d{15})x").0, "custom.0.match.0");
    assert_eq!(error("\"validator\":\"luhn\",", "").0, "custom.0.no_match.0");
    assert_eq!(error("(\\\\d", "((\\\\d").0, "custom.0.pattern");
    assert_eq!(error("\"keywords\":\"member\"", "\"keywords\":\"me\"").0, "custom.0.keywords");
    assert_eq!(error("\"id\":\"member\"", "\"id\":\"email\"").0, "custom.0.id");
    assert_eq!(error("national_id", "nationalid").0, "custom.0.kind");
    assert_eq!(error("[MEMBER]", "labl").0, "custom.0.mask");
}

#[test]
fn what_is_allowed_is_left_alone() {
    let content = r#"["support@x.com","a@x.com","13812345678"]"#;
    let of = |allow: &str| masked(&format!(r#"{{"find":"pii","allow":{allow}}}"#), content);
    assert_eq!(
        of(r#"{"values":"support@x.com"}"#).unwrap(),
        r#"["support@x.com","a***@x.com","138*********"]"#
    );
    assert_eq!(
        of(r#"{"patterns":".*@x\\.com"}"#).unwrap(),
        r#"["support@x.com","a@x.com","138*********"]"#
    );
    assert_eq!(of(r#"{"tools":"t"}"#), None);
    assert!(of(r#"{"tools":"u*"}"#).is_some());
}

#[test]
fn the_regions_of_national_numbers_are_the_policys() {
    let content = r#"["(415) 555-2671","+44 20 7946 0958","13812345678"]"#;
    let of = |regions: &str| {
        masked(&format!(r#"{{"find":"phone","mask":"label","phone_regions":{regions}}}"#), content)
    };
    assert_eq!(of(r#""US""#).unwrap(), r#"["[PHONE]","[PHONE]","[PHONE]"]"#);
    assert_eq!(of(r#"["DE","FR"]"#).unwrap(), r#"["(415) 555-2671","[PHONE]","[PHONE]"]"#);
}

#[test]
fn a_number_becomes_a_text_or_a_nought_and_json_stays_json() {
    let content = r#"{"phone":13812345678,"password":4711,"n":42,"ok":true,"pairs":[{"name":"api_key","value":"zxcv9876qwer1234"}]}"#;
    assert_eq!(
        masked(r#"{"find":["secrets","pii"],"mask":"label"}"#, content).unwrap(),
        r#"{"phone":"[PHONE]","password":"[PASSWORD]","n":42,"ok":true,"pairs":[{"name":"api_key","value":"[SECRET]"}]}"#
    );
    let zero = masked(r#"{"find":["secrets","pii"],"numbers":"zero"}"#, content).unwrap();
    assert!(zero.starts_with(r#"{"phone":0,"password":0,"n":42,"#), "{zero}");
    // Two keys that become one keep both values.
    let keys = r#"{"a@x.com":1,"ab@x.com":2,"a***@x.com":3}"#;
    let both = masked(r#"{"find":"email"}"#, keys).unwrap();
    assert_eq!(Json::read(both.as_bytes()).unwrap().as_object().unwrap().len(), 3, "{both}");
}

struct Key(Result<[u8; 32], String>);

impl MaskKeys for Key {
    fn key(&self) -> Result<[u8; 32], MaskKeyError> {
        self.0.clone().map_err(MaskKeyError)
    }
}

fn with_key(key: Result<[u8; 32], String>) -> ActionContext {
    let mut context = context();
    context.sources.keys = Some(Arc::new(Key(key)));
    context
}

#[test]
fn a_keyed_hash_is_the_same_for_equal_values_of_one_tenant_only() {
    let value = r#"{"find":"email","mask":"hash"}"#;
    let handler = compile(&json(value), &with_key(Ok([7; 32]))).unwrap();
    let mask = |tenant: &str, content: &str| {
        let session = Session::new("s").with_tenant(tenant);
        answer(&*handler, session, &json(content)).unwrap().rewrite.unwrap().text()
    };
    let acme = mask("acme", r#""a@x.com""#);
    assert!(acme.starts_with("\"[EMAIL:") && acme.len() == 26, "{acme}");
    assert_eq!(mask("acme", r#""a@x.com""#), acme);
    assert_ne!(mask("acme", r#""b@x.com""#), acme);
    assert_ne!(mask("other", r#""a@x.com""#), acme);
    assert_eq!(mask("acme", r#""a@x.com""#), acme, "after another tenant");
    let error = compile(&json(value), &context()).err().unwrap();
    assert_eq!(error.path, "mask");
    let gone = compile(&json(value), &with_key(Err("no file".into()))).unwrap();
    assert!(answer(&*gone, Session::new("s"), &json("\"x\"")).unwrap_err().0.contains("no file"));
}

struct Model;

impl NameModel for Model {
    fn names(&self, text: &str) -> Result<Vec<NameSpan>, NameModelError> {
        let spans = text.match_indices("Aled Morgan").map(|(at, name)| NameSpan {
            range: at..at + name.len(),
            kind: Kind::Person,
            score: 0.9,
        });
        Ok(spans.collect())
    }
}

struct Models;

impl NameModels for Models {
    fn open(&self, folder: &Path) -> Result<Arc<dyn NameModel>, NameModelsError> {
        if folder == Path::new("/models/names") {
            return Ok(Arc::new(Model));
        }
        Err(NameModelsError::Missing { path: folder.to_owned() })
    }
}

#[test]
fn a_model_of_names_is_asked_within_its_budget_or_the_text_is_withheld() {
    let mut context = context();
    let value = r#"{"find":"person","mask":"label","ner":{"model":"/models/names","bytes":60}}"#;
    let error =
        |value: &str, context: &ActionContext| compile(&json(value), context).err().unwrap();
    assert_eq!(error(value, &context).message, "this build runs no models of names");
    context.sources.names = Some(Arc::new(Models));
    let text = |content: &str| {
        let opinion = run(&context, value, &json(content)).unwrap();
        (opinion.rewrite.as_ref().unwrap().text(), found(&opinion))
    };
    let (masked, what) = text(r#""here is Aled Morgan again""#);
    assert_eq!(masked, r#""here is [PERSON] again""#);
    assert_eq!(what[0].0, "person-model");
    let (masked, what) =
        text(r#"["here is Aled Morgan again","and here he is, Aled Morgan, the same man"]"#);
    assert_eq!(masked, r#"["here is [PERSON] again","[UNSCANNED]"]"#);
    assert_eq!(what[1].0, "unscanned");
    assert_eq!(error(&value.replace("/models", "models"), &context).path, "ner.model");
    let gone = error(&value.replace("/names", "/none"), &context);
    assert_eq!(
        (gone.path.as_str(), gone.message.as_str()),
        ("ner.model", "there is no `/models/none`")
    );
    assert_eq!(error(&value.replace("\"person\"", "\"email\""), &context).path, "ner");
}

#[test]
fn the_session_is_labelled_with_the_masks_that_it_was_shown() {
    let content = r#"["a@x.com","password = hunter2-and-more!"]"#;
    assert_eq!(
        labels(r#"{"find":["secrets","email"]}"#, content),
        ["masked:email", "masked:password"]
    );
    assert_eq!(labels(r#"{"find":"secrets","mask":"stars"}"#, content), ["masked:stars"]);
    assert_eq!(labels(r#"{"find":"email","mask":"(gone)"}"#, content), ["masked:=(gone)"]);
    assert_eq!(labels(r#"{"find":"email","mask":"shape"}"#, content), [""; 0]);
    assert_eq!(labels(r#"{"find":"mobile"}"#, "\"13812345678\""), ["masked:phone"]);
    assert_eq!(labels(r#"{"lines":"SECRET"}"#, "\"x SECRET\""), ["masked:secret"]);
    assert_eq!(labels(r#"{"find":["secrets","pii"]}"#, "\"nothing\""), [""; 0]);
}

#[test]
fn what_is_said_of_nothing_is_a_mistake() {
    let path = |value: &str| compile(&json(value), &context()).err().unwrap().path;
    assert_eq!(path(r#"{"lines":"SECRET","masks":{"email":"label"}}"#), "masks");
    assert_eq!(path(r#"{"find":"email","masks":{"emial":"label"}}"#), "masks.emial");
    assert_eq!(path(r#"{"find":"email","masks":{"email":"lable"}}"#), "masks.email");
    assert_eq!(path(r#"{"find":"email","rules":{"emial":{}}}"#), "rules.emial");
    assert_eq!(
        path(r#"{"find":"email","rules":{"email":{"rollout":101}}}"#),
        "rules.email.rollout"
    );
    assert_eq!(path(r#"{"find":"email","threshold":2}"#), "threshold");
    assert_eq!(path(r#"{"find":"email","thresholds":{"email":-1}}"#), "thresholds.email");
    assert_eq!(path(r#"{"find":"phone","phone_regions":["XX"]}"#), "phone_regions.0");
    assert_eq!(path(r#"{"find":"email","allow":{"patterns":["("]}}"#), "allow.patterns.0");
    assert_eq!(path(r#"{"find":"email","allow":{"values":[""]}}"#), "allow.values.0");
    assert_eq!(path(r#"{"find":"email","allow":{"paths":["x"]}}"#), "allow.paths");
    assert_eq!(
        path(r#"{"find":"secrets","mask":"{\"password\": \"hunter2-and-more!\"}"}"#),
        "mask"
    );
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

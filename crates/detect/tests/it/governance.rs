//! Rules obey the policy.

use std::sync::Arc;

use tollgate_detect::{
    BuildError, Context, CustomRule, Detector, Kind, NameModel, NameModelError, NameSpan, Redactor,
    RuleSetting, Severity, Standing, UNSCANNED,
};

const PHONE: &str = "call 13812345678 now";

fn custom(id: &str, pattern: &str, keywords: &[&str]) -> CustomRule {
    CustomRule {
        id: id.to_owned(),
        kind: Kind::Custom,
        severity: Severity::Medium,
        pattern: pattern.to_owned(),
        keywords: keywords.iter().map(|word| (*word).to_owned()).collect(),
        validator: None,
        entropy_min: 0.0,
        score: 0.8,
        setting: RuleSetting::ON,
    }
}

#[test]
fn a_rule_that_is_off_finds_nothing() {
    let detector = Detector::builder().rule("phone-cn", RuleSetting::OFF).build().unwrap();
    assert!(detector.scan(PHONE).is_empty());
}

#[test]
fn a_dry_run_is_counted_and_masks_nothing() {
    let dry = RuleSetting { dry_run: true, ..RuleSetting::ON };
    let detector = Arc::new(Detector::builder().rule("phone-cn", dry).build().unwrap());
    let out = Redactor::new(detector).redact(PHONE, &Context::default());
    assert_eq!(out.text, None);
    assert_eq!(out.findings[0].standing, Standing::DryRun);
}

#[test]
fn a_rollout_takes_its_share_and_the_same_subject_always_gets_the_same() {
    let half = RuleSetting { rollout_percent: 50, ..RuleSetting::ON };
    let detector = Detector::builder().rule("phone-cn", half).build().unwrap();
    let standing = |subject: &str| {
        let ctx = Context { rollout_by: Some(subject), ..Context::default() };
        detector.inspect(PHONE, &ctx).findings[0].standing
    };
    let active = (0..1000).filter(|n| standing(&format!("tenant-{n}")) == Standing::Active).count();
    assert!((430..570).contains(&active), "{active}");
    assert_eq!(standing("tenant-1"), standing("tenant-1"));
}

#[test]
fn a_threshold_holds_for_all_or_for_one_rule() {
    let strict = Detector::builder().threshold(1.0).build().unwrap();
    assert!(strict.scan(PHONE).is_empty());
    let one = RuleSetting { threshold: Some(0.5), ..RuleSetting::ON };
    let detector = Detector::builder().threshold(1.0).rule("phone-cn", one).build().unwrap();
    assert_eq!(detector.scan(PHONE).len(), 1);
}

#[test]
fn kinds_are_found_as_asked() {
    let detector = Detector::builder().find([Kind::Email]).build().unwrap();
    let found = detector.scan("13812345678 a@b.io");
    assert_eq!(found.iter().map(|f| f.kind).collect::<Vec<_>>(), [Kind::Email]);
}

#[test]
fn a_custom_rule_finds_its_group() {
    let rule = custom("employee", r"employee no\. (E\d{5})", &["employee"]);
    let detector = Detector::builder().custom(rule).build().unwrap();
    assert!(detector.warnings().is_empty());
    let text = "Employee no. E12345? employee no. E54321";
    let found = detector.scan(text);
    assert_eq!(found.len(), 1);
    assert_eq!(&text[found[0].range()], "E54321");
    let slow = Detector::builder().custom(custom("slow", r"E\d{5}", &[])).build().unwrap();
    assert_eq!(slow.warnings().len(), 1);
    assert_eq!(slow.scan(text).len(), 2);
}

#[test]
fn allow_lists_exempt_values_patterns_paths_and_tools() {
    let text = "a@b.io 13812345678";
    let kinds = |detector: &Detector, ctx: &Context<'_>| detector.inspect(text, ctx).findings.len();
    let none = Context::default();
    let build = |b: tollgate_detect::DetectorBuilder| b.build().unwrap();
    assert_eq!(kinds(&build(Detector::builder().allow_value("a@b.io")), &none), 1);
    assert_eq!(kinds(&build(Detector::builder().allow_value("a@b.i")), &none), 2);
    assert_eq!(kinds(&build(Detector::builder().allow_pattern(r".*@b\.io")), &none), 1);
    let paths = build(Detector::builder().allow_path("tests/**"));
    assert_eq!(kinds(&paths, &Context { path: Some("tests/a/b.txt"), ..none }), 0);
    assert_eq!(kinds(&paths, &Context { path: Some("src/b.txt"), ..none }), 2);
    let tools = build(Detector::builder().allow_tool("contacts_*"));
    assert_eq!(kinds(&tools, &Context { tool: Some("contacts_list"), ..none }), 0);
}

#[test]
fn what_makes_no_sense_is_refused_when_it_is_built() {
    let error = |b: tollgate_detect::DetectorBuilder| b.build().unwrap_err();
    assert!(matches!(
        error(Detector::builder().rule("nope", RuleSetting::ON)),
        BuildError::UnknownRule { .. }
    ));
    assert!(matches!(
        error(Detector::builder().custom(custom("email", "x", &[]))),
        BuildError::DuplicateRule { .. }
    ));
    assert!(matches!(
        error(Detector::builder().custom(custom("a", "(", &[]))),
        BuildError::Pattern { .. }
    ));
    assert!(matches!(
        error(Detector::builder().custom(custom("a", "x", &["ab"]))),
        BuildError::ShortKeyword { .. }
    ));
    assert!(matches!(error(Detector::builder().threshold(2.0)), BuildError::OutOfRange { .. }));
    assert!(matches!(error(Detector::builder().allow_pattern("(")), BuildError::Pattern { .. }));
}

struct Model(Result<Vec<NameSpan>, NameModelError>);

impl NameModel for Model {
    fn names(&self, _: &str) -> Result<Vec<NameSpan>, NameModelError> {
        self.0.clone()
    }
}

#[test]
fn a_model_of_names_is_asked_and_its_failure_withholds_the_text() {
    let spans = vec![NameSpan { range: 8..19, kind: Kind::Person, score: 0.9 }];
    let build = |answer| {
        let builder = Detector::builder().find([Kind::Person]).name_model(Arc::new(Model(answer)));
        Redactor::new(Arc::new(builder.build().unwrap()))
    };
    let text = "here is Aled Morgan again";
    let out = build(Ok(spans)).redact(text, &Context::default());
    assert_eq!(out.text.as_deref(), Some("here is [PERSON] again"));
    assert_eq!(out.findings.len(), 1);
    let out = build(Err(NameModelError::Budget)).redact(text, &Context::default());
    assert_eq!(out.text.as_deref(), Some(UNSCANNED));
    assert_eq!(out.incomplete, Some(NameModelError::Budget));
}

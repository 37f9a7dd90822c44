//! Actions through a gate: the second seed's experiment, dry runs, redaction, registration.

use super::actions_rig::{Rig, code, hook, json, message, session, tool_result};
use std::sync::Arc;
use tollgate_gate::{
    Clock, Code, DryRun, EventKind, Failure, Gate, Json, KindSet, ManualClock, Matcher, Mode, Name,
    RecordKind, Timestamp, ToolResult, Verdict,
};
use tollgate_policy::actions::{self, ActionContext, RedactError, Redacted, Redactor};

// The second seed's experiment: the same tools with the gate on, then off.

const USER: &str = "张三，手机 13812345678，邮箱 zhangsan@x.com";

fn second_seed(mode: Mode) -> (Rig, ToolResult, (ToolResult, bool)) {
    let rig = Rig::with(
        [
            hook(
                "风控-敏感外发",
                EventKind::PreTool,
                "keywords",
                r#"{"words":["密码","验证码"],"reason":"敏感信息禁止外发"}"#,
            )
            .matching(Matcher::tool("send_sms").unwrap()),
            hook("脱敏", KindSet::AFTER_TOOL, "redact", r#"{"find":["mobile","email"]}"#),
        ],
        |builder| builder.mode(mode),
    );
    let user = rig.call("query_user", r#"{"name":"张三"}"#, |_| ToolResult::success(USER));
    let mut sent = false;
    let sms = r#"{"to":"13812345678","text":"密码是123456"}"#;
    let reply = rig.call("send_sms", sms, |_| {
        sent = true;
        ToolResult::success("sent")
    });
    (rig, user, (reply, sent))
}

#[test]
fn with_the_gate_on_the_user_is_masked_and_the_password_is_not_sent() {
    let (rig, user, (reply, sent)) = second_seed(Mode::Enforce);
    assert_eq!(*user.content, Json::from("张三，手机 138*********，邮箱 z***@x.com"));
    assert!(!sent && !reply.ok && !reply.executed);
    assert_eq!(*code(&reply), Code::HookDenied);
    assert!(message(&reply).starts_with("敏感信息禁止外发"), "{}", message(&reply));
    assert_eq!(rig.decisions(), 2, "the refused call is recorded too");
}

#[test]
fn with_the_gate_off_the_same_tools_give_everything_away() {
    let (rig, user, (reply, sent)) = second_seed(Mode::Off);
    assert_eq!(*user.content, Json::from(USER));
    assert!(sent && reply.ok);
    assert_eq!(rig.decisions(), 0);
}

#[test]
fn in_dry_run_nothing_changes_and_all_of_it_is_recorded() {
    let (rig, user, (reply, sent)) = second_seed(Mode::DryRun);
    assert_eq!(*user.content, Json::from(USER));
    assert!(sent && reply.ok);
    let would: Vec<_> = rig.ledger.records().iter().filter_map(|record| record.would).collect();
    assert!(would.contains(&Verdict::Deny), "{would:?}");
}

#[test]
fn a_dry_hook_of_any_action_changes_nothing() {
    let pre = EventKind::PreTool;
    let after = KindSet::AFTER_TOOL;
    let hooks = [
        hook("deny", pre, "deny", r#""no""#),
        hook("abort", pre, "abort", r#""no""#),
        hook("ask", pre, "ask", "true"),
        hook("respond", pre, "respond", r#""instead""#),
        hook("rewrite", pre, "rewrite", r#"{"n":{"set":1}}"#),
        hook("limit", pre, "limit", r#"{"count":0}"#),
        hook("keywords", pre, "keywords", r#""x""#),
        hook("label", pre, "label", r#""marked""#),
        hook("redact", after, "redact", r#"{"find":"mobile"}"#),
        hook("append", after, "append", r#""beware""#),
    ];
    let rig = Rig::new(hooks.map(|hook| hook.with_dry_run(DryRun::Yes)));
    let mut seen = None;
    let settled = rig.call_as(&session(), "t", r#"{"n":7,"w":"x"}"#, |arguments| {
        seen = Some(arguments.clone());
        ToolResult::success("13812345678")
    });
    assert_eq!(seen.unwrap(), json(r#"{"n":7,"w":"x"}"#));
    assert!(settled.aborted.is_none());
    assert_eq!(*tool_result(settled).content, Json::from("13812345678"));
    for metrics in rig.gate.metrics().iter().filter(|metrics| &*metrics.hook != "label") {
        assert!(metrics.runs > 0 && metrics.faults == 0, "{metrics:?}");
    }
}

// Redaction.

struct Broken;

impl Redactor for Broken {
    fn redact(&self, _: Option<&str>, _: &str) -> Result<Option<Redacted>, RedactError> {
        Err(RedactError { redactor: "names".into(), cause: "the model is gone".into() })
    }
    fn describe(&self) -> String {
        "broken".to_owned()
    }
}

struct Panicking;

impl Redactor for Panicking {
    fn redact(&self, _: Option<&str>, _: &str) -> Result<Option<Redacted>, RedactError> {
        panic!("out of order")
    }
    fn describe(&self) -> String {
        "panicking".to_owned()
    }
}

#[test]
fn a_failing_redactor_withholds_the_result_and_the_error_text() {
    for redactor in [Arc::new(Broken) as Arc<dyn Redactor>, Arc::new(Panicking)] {
        let mut context = ActionContext::new("names", KindSet::AFTER_TOOL);
        context.redactors.insert("names".into(), redactor);
        let redact = actions::find("redact").unwrap();
        let hook = redact.hook(&json(r#"{"find":"names"}"#), &context).unwrap();
        let rig = Rig::new([hook]);
        for fail in [false, true] {
            let result = rig.call("read", "{}", |_| match fail {
                false => ToolResult::success("token 42"),
                true => ToolResult::failure(
                    Failure {
                        code: Code::ToolError,
                        message: "token 42".into(),
                        tool: "read".into(),
                    },
                    true,
                ),
            });
            assert!(!result.ok && result.executed);
            assert!(
                matches!(code(&result), Code::HookError | Code::Withheld),
                "{:?}",
                code(&result)
            );
            assert!(!format!("{result:?}").contains("token 42"), "{result:?}");
        }
    }
}

#[test]
fn error_texts_are_redacted_like_results() {
    let rig = Rig::new([hook("mask", KindSet::AFTER_TOOL, "redact", r#"{"lines":"SECRET"}"#)]);
    let result = rig.call("read", "{}", |_| {
        let message = "line 1\nTOKEN=1 # SECRET\nline 3".into();
        ToolResult::failure(Failure { code: Code::ToolError, message, tool: "read".into() }, true)
    });
    assert_eq!(message(&result), "line 1\n[SECRET]\nline 3");
}

#[test]
fn what_a_redactor_found_is_in_the_record_by_name_only() {
    let rig = Rig::new([hook("mask", KindSet::AFTER_TOOL, "redact", r#"{"find":["mobile"]}"#)]);
    rig.call("query", "{}", |_| ToolResult::success(USER));
    let records = rig.ledger.records();
    let outcome = records.iter().find(|record| record.kind == RecordKind::Outcome).unwrap();
    assert!(format!("{outcome:?}").contains("mobile"));
    assert!(!format!("{outcome:?}").contains("13812345678"));
}

// Registration.

#[test]
fn the_same_action_with_the_same_value_is_registered_once() {
    let clamp = |max: u32| {
        hook("clamp", EventKind::PreTool, "rewrite", &format!(r#"{{"n":{{"max":{max}}}}}"#))
    };
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(Timestamp::from_millis(0)));
    let gate = Gate::builder(Arc::clone(&clock)).hook(clamp(10)).hook(clamp(10)).build().unwrap();
    assert_eq!(gate.ruleset().hooks().count(), 1);
    assert!(Gate::builder(clock).hook(clamp(10)).hook(clamp(11)).build().is_err());
}

#[test]
fn every_action_can_be_registered_at_every_kind_of_its_table_row() {
    for spec in actions::table() {
        for kind in spec.kinds.iter() {
            let name = Name::from(format!("{}-{kind}", spec.name));
            let value = json(example(spec.name));
            let hook = spec.hook(&value, &ActionContext::new(name, kind)).unwrap();
            let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(Timestamp::from_millis(0)));
            Gate::builder(clock).hook(hook).build().unwrap();
        }
    }
}

/// A value that is possible at every kind of the action.
fn example(action: &str) -> &'static str {
    match action {
        "allow" | "ask" => "true",
        "deny" | "abort" | "append" | "label" | "keywords" | "respond" => r#""x""#,
        "rewrite" => r#"{"a":{"set":1}}"#,
        "redact" => r#"{"find":"email"}"#,
        "protect_masks" => "true",
        "limit" => r#"{"rate":"1/s"}"#,
        "permission" => r#"{"otherwise":"ask"}"#,
        "call_limit" => r#"{"model_calls":1}"#,
        "loop_guard" => r#"{"refused":1}"#,
        "usage" => "{}",
        "breaker" => r#"{"failures":1,"window":"1s","open_for":"1s"}"#,
        other => panic!("no example of `{other}`"),
    }
}

//! Votes, labels, warnings and rewrites through a gate.

use super::actions_rig::{Rig, code, fails, hook, json, message, not_run, ok, session};
use std::sync::Arc;
use tollgate_gate::{
    Code, Decision, EventKind, GateBuilder, KindSet, Matcher, Payload, Performed, Rollout,
    RolloutBy, Session, ToolCall, ToolResult, Usage,
};

// Votes.

#[test]
fn deny_says_code_and_reason_to_the_model_and_the_remedy_to_the_person_only() {
    let value = r#"{"code":"EXTERNAL_HOST","reason":"not on the list","remedy":"ask platform"}"#;
    let rig = Rig::new([hook("hosts", EventKind::PreTool, "deny", value)]);
    let payload = Payload::PreTool(Arc::new(ToolCall::new("t", json("{}"))));
    let ruling = rig.decide(&session(), payload);
    assert_eq!(ruling.decision.remedy.as_deref(), Some("ask platform"));
    let result = rig.call("t", "{}", not_run);
    assert_eq!(code(&result).as_str(), "EXTERNAL_HOST");
    assert!(message(&result).starts_with("not on the list (hook `hosts`"));
    assert!(!message(&result).contains("platform"));
}

#[test]
fn a_hidden_tool_is_refused_as_an_unknown_one() {
    let rig = Rig::new([hook("hidden", EventKind::PreTool, "deny", r#"{"hide":true}"#)]);
    let result = rig.call("t", "{}", not_run);
    assert_eq!(*code(&result), Code::UnknownTool);
    // Neither the hook's name nor the word policy tells that there is such a tool.
    assert_eq!(message(&result), "unknown tool");
}

#[test]
fn deny_after_the_effect_withholds() {
    let rig = Rig::new([hook("no-pages", EventKind::PostTool, "deny", r#""not for you""#)]);
    let result = rig.call("fetch", "{}", |_| ToolResult::success("a page"));
    assert_eq!(*code(&result), Code::Withheld);
    assert!(result.executed && result.content.is_null());
}

#[test]
fn ask_without_anyone_to_ask_is_refused_and_says_so() {
    let value = r#"{"who":["finance","bob"],"expires":"15m","reason":"a large transfer"}"#;
    let rig = Rig::new([hook("large", EventKind::PreTool, "ask", value)]);
    let result = rig.call("transfer", "{}", not_run);
    assert_eq!(*code(&result), Code::ApprovalRequired);
    assert!(message(&result).contains("a person would have had to confirm this"));
    assert!(message(&result).contains("a large transfer"));
}

#[test]
fn respond_answers_tools_and_models_in_their_own_shapes() {
    let rig = Rig::new([
        hook("closed", EventKind::PreTool, "respond", r#"{"content":{"items":[]}}"#),
        hook("canned", EventKind::PreModel, "respond", r#"{"reply":"no","tool_calls":[]}"#),
    ]);
    let result = rig.call("search", "{}", not_run);
    assert!(result.ok && !result.executed);
    assert_eq!(*result.content, json(r#"{"items":[]}"#));
    let settled = rig.model_as(&session(), r#"{"model":"m"}"#, Usage::default());
    let Performed::Model(result) = settled.performed else { panic!("a model call was made") };
    assert!(result.ok && !result.executed);
    assert_eq!(*result.reply, json(r#"{"reply":"no","tool_calls":[]}"#));
}

#[test]
fn allow_lifts_the_default_and_nothing_else() {
    let default_deny = |builder: GateBuilder| {
        let mut settings = tollgate_gate::Settings::default();
        settings.set_default(EventKind::PreTool, tollgate_gate::DefaultVote::Deny).unwrap();
        builder.settings(settings)
    };
    let allow = || {
        hook("reads", EventKind::PreTool, "allow", r#"{"skip_host_prompt":true}"#)
            .matching(Matcher::tool("read_*").unwrap())
    };
    let rig = Rig::with([allow()], default_deny);
    assert!(rig.call("read_file", "{}", ok).ok);
    assert!(!rig.call("write_file", "{}", not_run).ok);
    let payload = Payload::PreTool(Arc::new(ToolCall::new("read_file", json("{}"))));
    let decision: Decision = rig.decide(&session(), payload).decision;
    assert!(decision.skip_host_prompt);
    let deny = hook("none", EventKind::PreTool, "deny", r#""no""#);
    let rig = Rig::with([allow(), deny], default_deny);
    assert!(!rig.call("read_file", "{}", not_run).ok);
}

#[test]
fn labels_make_later_calls_of_the_family_match() {
    let rig = Rig::new([
        hook("saw-people", EventKind::PostTool, "label", r#""pii""#)
            .matching(Matcher::tool("query_user").unwrap()),
        hook("no-mail", EventKind::PreTool, "deny", r#""people were read in this session""#)
            .matching(Matcher::tool("send_mail").unwrap().and(Matcher::Labels(vec!["pii".into()]))),
    ]);
    assert!(rig.call("send_mail", "{}", ok).ok);
    let child = Arc::new(Session::new("s1.1").with_parent("s1"));
    rig.call_as(&child, "query_user", "{}", ok);
    assert!(!rig.call("send_mail", "{}", not_run).ok, "labels join upwards");
}

#[test]
fn append_warns_behind_every_shape_of_result() {
    let rig = Rig::new([hook("warn", KindSet::AFTER, "append", r#""beware""#)]);
    for (content, expected) in [
        (r#""text""#, r#""text\n\nbeware""#),
        ("null", r#""beware""#),
        ("42", r#""42\n\nbeware""#),
        (r#"["a"]"#, r#"["a","beware"]"#),
        (
            r#"[{"type":"text","text":"a"}]"#,
            r#"[{"type":"text","text":"a"},{"type":"text","text":"beware"}]"#,
        ),
        (
            r#"{"content":[{"type":"text","text":"a"}]}"#,
            r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"beware"}]}"#,
        ),
        (r#"{"a":1}"#, r#"{"a":1,"warning":"beware"}"#),
        (r#"{"warning":"hot"}"#, r#"{"warning":"hot\n\nbeware"}"#),
        (r#"{"warning":1}"#, r#"{"warning":1,"policy_warning":"beware"}"#),
    ] {
        let result = rig.call("t", "{}", |_| ToolResult::success(json(content)));
        assert_eq!(result.content.text(), expected, "{content}");
    }
    assert_eq!(message(&rig.call("t", "{}", fails)), "no\n\nbeware");
    let settled = rig.model_as(&session(), r#"{"model":"m"}"#, Usage::default());
    let Performed::Model(result) = settled.performed else { panic!("a model call was made") };
    assert_eq!(*result.reply, json(r#"{"reply":"hello\n\nbeware","tool_calls":[]}"#));
}

// Rewrites.

#[test]
fn a_canary_rewrite_holds_for_its_tenants_and_its_share_only() {
    let canary =
        |name: &str| hook(name, EventKind::PreModel, "rewrite", r#"{"model":{"set":"new"}}"#);
    let ran = |rig: &Rig, tenant: &str| -> String {
        let session = Arc::new(Session::new(format!("s-{tenant}")).with_tenant(tenant));
        let call = tollgate_gate::payload::ModelCall {
            request: Arc::new(json(r#"{"model":"old","messages":[]}"#)),
            ..Default::default()
        };
        let decision = rig.decide(&session, Payload::PreModel(Arc::new(call))).decision;
        decision.payload.model_call().unwrap().model().unwrap().to_owned()
    };
    let tenant = Matcher::Tenant(tollgate_gate::Patterns::globs(["acme"]).unwrap());
    let rig = Rig::new([canary("by-tenant").matching(tenant)]);
    assert_eq!(ran(&rig, "acme"), "new");
    assert_eq!(ran(&rig, "other"), "old");
    let share = Rollout::percent(30, RolloutBy::Tenant);
    let rig = Rig::new([canary("by-share").with_rollout(share)]);
    let tenants: Vec<String> = (0..500).map(|n| format!("tenant-{n}")).collect();
    let new = tenants.iter().filter(|tenant| ran(&rig, tenant) == "new").count();
    assert!((100..=200).contains(&new), "{new} of 500 tenants");
    let first = ran(&rig, "tenant-1");
    assert!((0..5).all(|_| ran(&rig, "tenant-1") == first), "a tenant stays where it is");
}

#[test]
fn a_clamp_is_seen_by_the_tool_and_by_judges_behind_it() {
    let rig = Rig::new([
        hook("clamp", EventKind::PreTool, "rewrite", r#"{"n":{"default":10,"max":10}}"#),
        hook("too-many", EventKind::PreTool, "deny", r#""too many""#).matching(Matcher::Value(
            tollgate_gate::path::Path::parse("args.n").unwrap(),
            tollgate_gate::Patterns::globs(["100"]).unwrap(),
        )),
    ]);
    let mut seen = None;
    let result = rig.call("list_files", r#"{"n":100}"#, |arguments| {
        seen = Some(arguments.clone());
        ToolResult::success("ok")
    });
    assert!(result.ok);
    assert_eq!(seen.unwrap(), json(r#"{"n":10}"#));
}

#[test]
fn a_clamp_that_cannot_be_applied_refuses_the_call() {
    let rig = Rig::new([hook("clamp", EventKind::PreTool, "rewrite", r#"{"n":{"max":10}}"#)]);
    let result = rig.call("list_files", r#"{"n":"100"}"#, not_run);
    assert_eq!(*code(&result), Code::HookError);
}

#[test]
fn a_rewrite_works_at_every_kind_that_has_a_part() {
    let rig = Rig::new([
        hook("result", EventKind::PostTool, "rewrite", r#"{"total":{"remove":true}}"#),
        hook("error", EventKind::ToolError, "rewrite", r#"{"message":{"set":"it failed"}}"#),
    ]);
    let result = rig.call("t", "{}", |_| ToolResult::success(json(r#"{"total":9,"items":[]}"#)));
    assert_eq!(*result.content, json(r#"{"items":[]}"#));
    assert_eq!(message(&rig.call("t", "{}", fails)), "it failed");
}

//! Actions through a gate: what a policy's hooks do to real calls.

use std::future::Future;
use std::sync::Arc;
use tollgate_gate::{
    Clock, Code, Decision, DryRun, Event, EventKind, Failure, Gate, GateBuilder, Hook, Json,
    KindSet, ManualClock, Matcher, MemoryLedger, Mode, ModelResult, Name, Passage, Payload,
    Performed, RecordKind, Rollout, RolloutBy, Ruling, Session, Settled, Timestamp, ToolCall,
    ToolResult, Usage, Verdict,
};
use tollgate_policy::actions::{self, ActionContext, RedactError, Redacted, Redactor};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut cx) {
            return value;
        }
    }
}

fn json(text: &str) -> Json {
    Json::read(text.as_bytes()).unwrap()
}

/// A hook with this action, its value as JSON text.
fn hook(name: &str, kinds: impl Into<KindSet>, action: &str, value: &str) -> Hook {
    let context = ActionContext::new(name, kinds);
    actions::find(action).unwrap().hook(&json(value), &context).unwrap()
}

/// A gate with its clock and ledger in hand.
struct Rig {
    clock: Arc<ManualClock>,
    ledger: Arc<MemoryLedger>,
    gate: Gate,
}

impl Rig {
    fn new(hooks: impl IntoIterator<Item = Hook>) -> Rig {
        Rig::with(hooks, |builder| builder)
    }

    fn with(
        hooks: impl IntoIterator<Item = Hook>,
        more: impl FnOnce(GateBuilder) -> GateBuilder,
    ) -> Rig {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_000_000)));
        let ledger = Arc::new(MemoryLedger::new());
        let as_clock: Arc<dyn Clock> = clock.clone();
        let builder = Gate::builder(as_clock).ledger(ledger.clone()).hooks(hooks);
        Rig { clock, ledger, gate: more(builder).build().unwrap() }
    }

    fn event(&self, session: &Arc<Session>, payload: Payload) -> Event {
        Event::new(Arc::clone(session), payload, self.clock.now())
    }

    fn decide(&self, session: &Arc<Session>, payload: Payload) -> Ruling {
        block_on(self.gate.decide(self.event(session, payload)))
    }

    /// Guards a tool call; `tool` is what the tool does.
    fn call_as(
        &self,
        session: &Arc<Session>,
        name: &str,
        arguments: &str,
        tool: impl FnOnce(&Json) -> ToolResult,
    ) -> Settled {
        let payload = Payload::PreTool(Arc::new(ToolCall::new(name, json(arguments))));
        let event = self.event(session, payload);
        block_on(self.gate.guard(event, |permit| async {
            let (payload, ticket) = permit.redeem();
            let arguments = &payload.tool_call().unwrap().arguments;
            (ticket, Performed::Tool(tool(arguments)))
        }))
    }

    fn call(
        &self,
        name: &str,
        arguments: &str,
        tool: impl FnOnce(&Json) -> ToolResult,
    ) -> ToolResult {
        tool_result(self.call_as(&session(), name, arguments, tool))
    }

    /// Guards a model call that uses this much.
    fn model_as(&self, session: &Arc<Session>, request: &str, usage: Usage) -> Settled {
        let call = tollgate_gate::payload::ModelCall {
            request: Arc::new(json(request)),
            ..Default::default()
        };
        let event = self.event(session, Payload::PreModel(Arc::new(call)));
        block_on(self.gate.guard(event, |permit| async {
            let (_, ticket) = permit.redeem();
            let reply = Arc::new(json(r#"{"reply":"hello","tool_calls":[]}"#));
            let result = ModelResult { ok: true, reply, executed: true, usage, error: None };
            (ticket, Performed::Model(result))
        }))
    }

    fn decisions(&self) -> usize {
        self.ledger.records().iter().filter(|record| record.kind == RecordKind::Decision).count()
    }
}

fn session() -> Arc<Session> {
    Arc::new(Session::new("s1").with_user("alice").with_tenant("acme"))
}

fn tool_result(settled: Settled) -> ToolResult {
    let Performed::Tool(result) = settled.performed else { panic!("a tool call was made") };
    result
}

fn message(result: &ToolResult) -> &str {
    &result.error.as_ref().unwrap().message
}

fn code(result: &ToolResult) -> &Code {
    &result.error.as_ref().unwrap().code
}

fn not_run(_: &Json) -> ToolResult {
    panic!("the tool must not run")
}

fn ok(_: &Json) -> ToolResult {
    ToolResult::success("ok")
}

fn fails(_: &Json) -> ToolResult {
    let failure = Failure { code: Code::ToolError, message: "no".into(), tool: "t".into() };
    ToolResult::failure(failure, true)
}

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

// Limits and breakers.

#[test]
fn a_rate_counts_by_its_keys_and_frees_with_its_window() {
    let rig = Rig::new([hook(
        "calls-per-minute",
        EventKind::PreTool,
        "limit",
        r#"{"rate":"2/min","per":["session","tool"]}"#,
    )]);
    assert!(rig.call("a", "{}", ok).ok && rig.call("a", "{}", ok).ok);
    let refused = rig.call("a", "{}", not_run);
    assert_eq!(*code(&refused), Code::LimitExceeded);
    assert!(message(&refused).starts_with("at most 2 calls in a minute"));
    assert!(rig.call("b", "{}", ok).ok, "another tool counts by itself");
    let other = Arc::new(Session::new("s2"));
    assert!(tool_result(rig.call_as(&other, "a", "{}", ok)).ok);
    // A sub-agent counts with the session that started it.
    let child = Arc::new(Session::new("s1.1").with_parent("s1"));
    assert_eq!(*code(&tool_result(rig.call_as(&child, "a", "{}", not_run))), Code::LimitExceeded);
    rig.clock.advance(std::time::Duration::from_secs(60));
    assert!(rig.call("a", "{}", ok).ok);
}

#[test]
fn an_exceeded_limit_speaks_in_its_own_words() {
    let rig = Rig::new([hook(
        "few",
        EventKind::PreTool,
        "limit",
        r#"{"count":0,"code":"COST_LIMIT","reason":"enough for today"}"#,
    )]);
    let payload = Payload::PreTool(Arc::new(ToolCall::new("t", json("{}"))));
    let decision = rig.decide(&session(), payload).decision;
    assert_eq!(decision.code, Some(Code::from("COST_LIMIT")));
    assert_eq!(decision.reason.as_deref(), Some("enough for today"));
    assert_eq!(decision.remedy.as_deref(), Some("at most 0 calls"));
    assert_eq!(decision.hook.as_deref(), Some("few"));
}

#[test]
fn a_dry_limit_reports_in_its_own_words_what_it_would_refuse() {
    let limit = hook("few", EventKind::PreTool, "limit", r#"{"count":0,"code":"COST_LIMIT"}"#);
    let rig = Rig::new([limit.with_dry_run(DryRun::Yes)]);
    let payload = Payload::PreTool(Arc::new(ToolCall::new("t", json("{}"))));
    let ruling = rig.decide(&session(), payload);
    assert!(matches!(ruling.passage, Passage::Open(_)));
    let vote = ruling.decision.votes[0].vote.as_ref().unwrap();
    assert_eq!(vote.refusal().unwrap().code, Some(Code::from("COST_LIMIT")));
}

#[test]
fn executed_counts_give_back_what_did_not_run_and_attempts_do_not() {
    let deny = || {
        hook("no-b", EventKind::PreTool, "deny", r#""no""#).matching(Matcher::tool("b").unwrap())
    };
    let executed = hook("few", EventKind::PreTool, "limit", r#"{"count":2}"#);
    let rig = Rig::new([executed, deny()]);
    assert!(!rig.call("b", "{}", not_run).ok && !rig.call("b", "{}", not_run).ok);
    assert!(rig.call("a", "{}", ok).ok && rig.call("a", "{}", ok).ok);
    let attempts = hook("few", EventKind::PreTool, "limit", r#"{"count":2,"counted":"attempts"}"#);
    let rig = Rig::new([attempts, deny()]);
    assert!(!rig.call("b", "{}", not_run).ok && !rig.call("b", "{}", not_run).ok);
    assert_eq!(*code(&rig.call("a", "{}", not_run)), Code::LimitExceeded);
}

#[test]
fn tokens_are_counted_when_they_are_known() {
    let rig = Rig::new([hook(
        "budget",
        EventKind::PreModel,
        "limit",
        r#"{"tokens":"100/day","per":"tenant"}"#,
    )]);
    let usage = Usage { tokens_in: 60, tokens_out: 40, cost_micros: 0 };
    let request = r#"{"model":"m","messages":[]}"#;
    let ended = |settled: Settled| {
        let Performed::Model(result) = settled.performed else { panic!("a model call was made") };
        result.error.map(|failure| failure.code)
    };
    assert_eq!(ended(rig.model_as(&session(), request, usage)), None);
    assert_eq!(ended(rig.model_as(&session(), request, usage)), Some(Code::LimitExceeded));
    let other = Arc::new(Session::new("s9").with_tenant("other"));
    assert_eq!(ended(rig.model_as(&other, request, usage)), None);
}

#[test]
fn a_breaker_opens_probes_and_closes() {
    let rig = Rig::new([hook(
        "pause",
        EventKind::PreTool,
        "breaker",
        r#"{"failures":2,"window":"1m","open_for":"30s","per":"tool"}"#,
    )]);
    assert_eq!(*code(&rig.call("t", "{}", fails)), Code::ToolError);
    assert_eq!(*code(&rig.call("t", "{}", fails)), Code::ToolError);
    assert_eq!(*code(&rig.call("t", "{}", not_run)), Code::CircuitOpen);
    assert!(rig.call("other", "{}", ok).ok);
    rig.clock.advance(std::time::Duration::from_secs(31));
    assert_eq!(*code(&rig.call("t", "{}", fails)), Code::ToolError, "the probe fails");
    assert_eq!(*code(&rig.call("t", "{}", not_run)), Code::CircuitOpen);
    rig.clock.advance(std::time::Duration::from_secs(31));
    assert!(rig.call("t", "{}", ok).ok && rig.call("t", "{}", ok).ok);
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
    assert_eq!(*code(&rig.call("t", "{}", not_run)), Code::UnknownTool);
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

// The seeds' own hooks.

#[test]
fn a_protected_path_is_refused_before_the_tool_runs_and_others_pass() {
    let rig = Rig::new([hook(
        "permission",
        EventKind::PreTool,
        "permission",
        r#"{"protect":[{"paths":"**/test_*.py","tools":["edit_file","run_test"],"reason":"测试文件受保护:禁止 agent 直接修改测试"}]}"#,
    )]);
    let refused = rig.call("edit_file", r#"{"path":"./test_calculator.py"}"#, not_run);
    assert_eq!(*code(&refused), Code::HookDenied);
    assert!(message(&refused).starts_with("测试文件受保护"));
    assert!(rig.call("edit_file", r#"{"path":"calculator.py"}"#, ok).ok);
    assert!(rig.call("read_file", r#"{"path":"test_calculator.py"}"#, ok).ok);
}

#[test]
fn a_tool_has_the_mode_of_its_name_then_of_the_strictest_glob_then_of_all_others() {
    let value = r#"{"tools":{"delete_draft":"allow","delete_*":"deny","*_draft":"ask","read_*":"allow"},"otherwise":"ask"}"#;
    let rig = Rig::new([hook("permission", EventKind::PreTool, "permission", value)]);
    assert!(rig.call("delete_draft", "{}", ok).ok && rig.call("read_file", "{}", ok).ok);
    assert_eq!(*code(&rig.call("delete_file", "{}", not_run)), Code::HookDenied);
    // Nobody can be asked: refused, and the reason says that a person would have been.
    for tool in ["send_draft", "transfer"] {
        let asked = rig.call(tool, "{}", not_run);
        assert_eq!(*code(&asked), Code::ApprovalRequired);
        assert!(message(&asked).contains("a person would have had to confirm"));
    }
}

#[test]
fn permission_without_a_mode_for_a_tool_has_no_opinion() {
    let permission =
        hook("permission", EventKind::PreTool, "permission", r#"{"tools":{"a":"allow"}}"#);
    let rig = Rig::with([permission], |builder| {
        let mut settings = tollgate_gate::Settings::default();
        settings.set_default(EventKind::PreTool, tollgate_gate::DefaultVote::Deny).unwrap();
        builder.settings(settings)
    });
    assert!(rig.call("a", "{}", ok).ok);
    assert!(!rig.call("b", "{}", not_run).ok);
}

#[test]
fn ten_model_calls_pass_and_the_eleventh_ends_the_session_and_its_children() {
    let value = r#"{"model_calls":10,"reason":"model call count exceeded its limit"}"#;
    let rig = Rig::new([hook("cost-guard", EventKind::PreModel, "call_limit", value)]);
    let request = r#"{"model":"m","messages":[]}"#;
    let child = Arc::new(Session::new("s1.1").with_parent("s1"));
    for call in 0..10 {
        let session = if call % 2 == 0 { session() } else { Arc::clone(&child) };
        assert!(rig.model_as(&session, request, Usage::default()).aborted.is_none());
    }
    let aborted = rig.model_as(&session(), request, Usage::default()).aborted.unwrap();
    assert_eq!(aborted.code.as_str(), "COST_LIMIT");
    assert!(aborted.reason.starts_with("model call count exceeded its limit"));
    assert_eq!(*code(&rig.call("t", "{}", not_run)), Code::SessionAborted);
    let after = tool_result(rig.call_as(&child, "t", "{}", not_run));
    assert_eq!(*code(&after), Code::SessionAborted);
    let other = Arc::new(Session::new("s2"));
    assert!(rig.model_as(&other, request, Usage::default()).aborted.is_none());
}

#[test]
fn a_call_limit_can_refuse_instead_and_counts_what_it_names() {
    let value = r#"{"tool_calls_executed":1,"then":"deny","of":"session","code":"ENOUGH"}"#;
    let rig = Rig::new([hook("few", EventKind::PreTool, "call_limit", value)]);
    assert!(rig.call("t", "{}", ok).ok && rig.call("t", "{}", ok).ok);
    let refused = rig.call("t", "{}", not_run);
    assert_eq!(code(&refused).as_str(), "ENOUGH");
    assert!(message(&refused).starts_with("more than 1 tool calls that ran"));
}

#[test]
fn tokens_and_cost_that_were_used_stop_the_next_call() {
    for (value, usage) in [
        (r#"{"tokens":100}"#, Usage { tokens_in: 101, ..Usage::default() }),
        (r#"{"cost":0.5}"#, Usage { cost_micros: 500_001, ..Usage::default() }),
    ] {
        let rig = Rig::new([hook("budget", EventKind::PreModel, "call_limit", value)]);
        let request = r#"{"model":"m","messages":[]}"#;
        assert!(rig.model_as(&session(), request, usage).aborted.is_none(), "{value}");
        assert!(rig.model_as(&session(), request, usage).aborted.is_some(), "{value}");
    }
}

#[test]
fn the_same_call_refused_three_times_ends_the_session() {
    let rig = Rig::new([
        hook("no", EventKind::PreTool, "deny", r#""no""#).matching(Matcher::tool("rm").unwrap()),
        hook("loop", KindSet::AFTER_TOOL, "loop_guard", r#"{"refused":3}"#),
    ]);
    let refuse = |arguments: &str| rig.call_as(&session(), "rm", arguments, not_run).aborted;
    assert!(refuse(r#"{"path":"a"}"#).is_none() && refuse(r#"{"path":"a"}"#).is_none());
    // Another call in between starts the count anew.
    assert!(refuse(r#"{"path":"b"}"#).is_none());
    assert!(refuse(r#"{"path":"a"}"#).is_none() && refuse(r#"{"path":"a"}"#).is_none());
    let aborted = refuse(r#"{"path":"a"}"#).unwrap();
    assert_eq!(aborted.code.as_str(), "LOOP_DETECTED");
    assert_eq!(&*aborted.reason, "the same call was refused 3 times");
    assert_eq!(*code(&rig.call("read", "{}", not_run)), Code::SessionAborted);
}

#[test]
fn the_same_call_repeated_is_seen_in_a_row_and_among_the_recent_ones() {
    let guard = |value: &str| Rig::new([hook("loop", KindSet::AFTER_TOOL, "loop_guard", value)]);
    let rig = guard(r#"{"in_a_row":3}"#);
    let call = |rig: &Rig, tool: &str| rig.call_as(&session(), tool, r#"{"a":1}"#, ok).aborted;
    assert!(call(&rig, "x").is_none() && call(&rig, "x").is_none());
    assert!(call(&rig, "y").is_none() && call(&rig, "x").is_none() && call(&rig, "x").is_none());
    assert!(call(&rig, "x").is_some());
    let rig = guard(r#"{"recent":3,"then":"deny"}"#);
    for tool in ["x", "y", "x", "z"] {
        assert!(call(&rig, tool).is_none());
    }
    let withheld = rig.call("x", r#"{"a":1}"#, ok);
    assert_eq!(code(&withheld).as_str(), "LOOP_DETECTED");
    // A failure of the tool itself is no refusal.
    let rig = guard(r#"{"refused":1}"#);
    assert!(rig.call_as(&session(), "t", "{}", fails).aborted.is_none());
}

#[test]
fn usage_is_metered_by_model_and_labels_what_has_used_much() {
    let value = r#"{"prices":{"gpt-*":{"input":2.50,"output":10}},"label":{"name":"expensive","tokens":1500}}"#;
    let context = ActionContext::new("usage", KindSet::AFTER);
    let usage = actions::find("usage").unwrap().hook(&json(value), &context).unwrap();
    let no_more = hook("no-more", EventKind::PreModel, "deny", r#""expensive""#)
        .matching(Matcher::Labels(vec!["expensive".into()]));
    let rig = Rig::new([usage, no_more]);
    let used = Usage { tokens_in: 1_000, tokens_out: 0, cost_micros: 0 };
    let refused = |settled: Settled| {
        let Performed::Model(result) = settled.performed else { panic!("a model call was made") };
        result.error.is_some()
    };
    let request = r#"{"model":"gpt-x","messages":[]}"#;
    assert!(!refused(rig.model_as(&session(), request, used)));
    assert!(!refused(rig.model_as(&session(), request, used)), "the label comes behind the second");
    assert!(refused(rig.model_as(&session(), request, used)));
    let totals = context.meter.totals();
    let model = totals["gpt-x"];
    assert_eq!((model.calls, model.unpriced), (2, 0), "the refused call used nothing");
    assert_eq!((model.usage.tokens_in, model.usage.cost_micros), (2_000, 5_000));
    assert!(
        context.meter.text().contains("tollgate_usage_cost_micros_total{model=\"gpt-x\"} 5000")
    );
}

#[test]
fn a_keyword_is_found_wherever_it_stands_in_the_arguments() {
    let rig = Rig::new([hook("words", EventKind::PreTool, "keywords", r#"["验证码"]"#)]);
    for arguments in [
        r#"{"text":"你的验证码是 1"}"#,
        r#"{"list":[{"deep":["验\u200b证码"]}]}"#,
        r#"{"验证码":1}"#,
    ] {
        assert_eq!(*code(&rig.call("send", arguments, not_run)), Code::HookDenied, "{arguments}");
    }
    assert!(rig.call("send", r#"{"text":"验 证"}"#, ok).ok);
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
        "limit" => r#"{"rate":"1/s"}"#,
        "permission" => r#"{"otherwise":"ask"}"#,
        "call_limit" => r#"{"model_calls":1}"#,
        "loop_guard" => r#"{"refused":1}"#,
        "usage" => "{}",
        "breaker" => r#"{"failures":1,"window":"1s","open_for":"1s"}"#,
        other => panic!("no example of `{other}`"),
    }
}

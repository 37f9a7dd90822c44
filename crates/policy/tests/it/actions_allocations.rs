//! An action that has nothing to say costs no allocation.

use super::actions_rig::json;
use std::sync::Arc;
use tollgate_gate::{
    Event, EventKind, KindSet, Opinion, Payload, Session, SessionView, Soon, Timestamp, ToolCall,
    ToolOutcome, ToolResult, View,
};
use tollgate_policy::actions::{self, ActionContext};

fn allocations(action: &str, value: &str, kinds: KindSet, payload: Payload) -> u64 {
    let context = ActionContext::new("h", kinds);
    let handler = (actions::find(action).unwrap().compile)(&json(value), &context).unwrap();
    let event = Event::new(Arc::new(Session::new("s")), payload, Timestamp::from_millis(0));
    let session = SessionView {
        labels: Arc::new(["known".into()].into_iter().collect()),
        ..SessionView::default()
    };
    let view = View {
        event: &event,
        payload: &event.payload,
        original: &event.payload,
        session: &session,
        votes: &[],
        now: event.at,
    };
    let look = || {
        let Soon::Now(Some(answer)) = handler.handle(view) else {
            panic!("an action must answer at once")
        };
        assert_eq!(answer.unwrap(), Opinion::none(), "{action}");
    };
    // What is made once, at first use, is made now.
    look();
    allocation_counter::measure(look).count_total
}

#[test]
fn an_action_with_nothing_to_say_allocates_nothing() {
    let arguments = json(
        r#"{"path":"src/main.rs","n":5,"to":["密 码, 手机 138123","a@b"],"id":1234567890123}"#,
    );
    let call = ToolCall::new("edit_file", arguments.clone());
    let outcome =
        ToolOutcome { call: Arc::new(call.clone()), result: ToolResult::success(arguments) };
    let before = |action: &str, value: &str| {
        let pre_tool = KindSet::from(EventKind::PreTool);
        assert_eq!(
            allocations(action, value, pre_tool, call.clone().into()),
            0,
            "{action} {value}"
        );
    };
    let after = |action: &str, value: &str| {
        let payload = Payload::from(outcome.clone());
        assert_eq!(allocations(action, value, KindSet::AFTER_TOOL, payload), 0, "{action} {value}");
    };
    before("rewrite", r#"{"n":{"max":10},"path":{"prefix":"src"},"merge":{"gone":null}}"#);
    before("rewrite", r#"{"to.*":{"replace":{"pattern":"x+","with":"y"}}}"#);
    before("keywords", r#"["密码","password"]"#);
    before("permission", r#"{"tools":{"read_*":"allow"},"protect":[{"paths":"**/test_*.py"}]}"#);
    before("call_limit", r#"{"model_calls":10,"cost":1}"#);
    before("label", r#""known""#);
    after(
        "redact",
        r#"{"find":["mobile","email"],"lines":"SECRET","patterns":[{"pattern":"TKT-[0-9]+"}]}"#,
    );
    after("loop_guard", r#"{"refused":3,"in_a_row":5,"recent":7}"#);
    after("usage", r#"{"label":{"name":"much","tokens":1}}"#);
}

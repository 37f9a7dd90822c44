//! What a server asks for inside of a result is governed as if it had asked for it by itself.

use crate::rig::{answered, at, passed, rig, run};
use tollgate_server::mcp::Fate;

const HOOKS: &str = "  - { name: no, on: pre_model, keywords: { words: [steal], reason: \"not that\" } }\n  - { name: mask, on: post_model, redact: { find: [pii] } }\n  - { name: held, on: post_model, keywords: { words: [withheld], reason: \"not this\" } }";

fn call(id: u32, more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","arguments":{{}},{more}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}}}}"#
    )
}

fn asks(id: u32, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","requestState":"s1","inputRequests":{{"a":{{"method":"sampling/createMessage","params":{{"messages":[{{"role":"user","content":{{"type":"text","text":"{text}"}}}}],"maxTokens":9}}}}}}}}}}"#
    )
}

fn brings(text: &str) -> String {
    format!(
        r#""requestState":"s1","inputResponses":{{"a":{{"role":"assistant","content":{{"type":"text","text":"{text}"}},"model":"m"}}}},"#
    )
}

#[test]
fn a_model_call_inside_of_a_result_is_judged_and_settled_by_the_next_try() {
    run(async {
        let rig = rig(HOOKS);
        let text = call(1, "");
        assert_eq!(rig.client_says(&text).await, Fate::Pass(text));
        let asked = asks(1, "hello");
        assert_eq!(rig.server_says(&asked).await, Fate::Pass(asked));
        let next = passed(rig.client_says(&call(2, &brings("a.b@example.com"))).await);
        let said = at(&next, "params.inputResponses.a.content.text");
        assert_eq!(said.as_str(), Some("a***@example.com"));
        let models = rig.records().into_iter().filter(|record| record.model.is_some()).count();
        assert_eq!(models, 2, "a decision and an outcome");
    });
}

#[test]
fn what_a_result_asks_for_and_may_not_have_makes_it_a_failed_one() {
    run(async {
        let rig = rig(HOOKS);
        let _ = rig.client_says(&call(1, "")).await;
        let refused = passed(rig.server_says(&asks(1, "steal")).await);
        assert_eq!(at(&refused, "result.isError").as_bool(), Some(true));
        assert!(at(&refused, "result.inputRequests").is_null());
        assert!(at(&refused, "result.content.0.text").as_str().unwrap().contains("not that"));

        let _ = rig.client_says(&call(3, "")).await;
        let _ = rig.server_says(&asks(3, "hello")).await;
        let refused = answered(rig.client_says(&call(4, "\"inputResponses\":[],")).await);
        assert_eq!(at(&refused, "error.code").as_i64(), Some(-32602));
    });
}

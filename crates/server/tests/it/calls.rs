//! Calls: refused, rewritten, answered, cancelled, and what comes back.

use crate::rig::{answered, at, call, json, passed, rig, run};
use tollgate::gate::RecordKind;
use tollgate_server::mcp::Fate;

#[test]
fn a_refused_call_is_a_failed_result_and_the_server_hears_nothing_of_it() {
    run(async {
        let rig = rig(
            "  - { name: no-writing, on: pre_tool, match: { tool: \"write_*\", server: srv }, deny: \"read only\" }",
        );
        let answer = answered(rig.call("\"x\"", "write_file", r#"{"path":"a"}"#).await);
        assert_eq!(at(&answer, "id").as_str(), Some("x"));
        assert_eq!(at(&answer, "result.isError").as_bool(), Some(true));
        assert!(at(&answer, "result.content.0.text").as_str().unwrap().starts_with("read only"));
        let meta = at(&answer, "result._meta").get("dev.tollgate/decision").unwrap();
        assert_eq!(at(meta, "hook").as_str(), Some("no-writing"));
        assert!(at(&answer, "result").get("resultType").is_none());
        assert_eq!(rig.talk.in_flight(), 0);
        let outcome = rig.records().pop().unwrap();
        assert_eq!((outcome.kind, outcome.executed), (RecordKind::Outcome, Some(false)));
        // A modern client is told that the result is whole.
        let modern = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let answer = answered(rig.client_says(modern).await);
        assert_eq!(at(&answer, "result.resultType").as_str(), Some("complete"));
    });
}

#[test]
fn another_method_that_is_refused_is_answered_by_an_error() {
    run(async {
        let rig = rig(
            "  - { name: no-env, on: pre_tool, match: { tool: resources/read, args.uri: \"*.env\" }, deny: \"no\" }\n  - { name: few, on: pre_tool, match: { tool: prompts/get }, limit: { count: 1, counted: attempts, per: session } }",
        );
        let read = |uri: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{{"uri":"{uri}"}}}}"#
            )
        };
        let answer = answered(rig.client_says(&read("file:///a/.env")).await);
        assert_eq!(at(&answer, "error.code").as_i64(), Some(403));
        assert_eq!(at(&answer, "error.data.hook").as_str(), Some("no-env"));
        assert!(matches!(rig.client_says(&read("file:///a/b")).await, Fate::Pass(_)));
        let prompt = r#"{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"p"}}"#;
        assert!(matches!(rig.client_says(prompt).await, Fate::Pass(_)));
        let again = prompt.replace("\"id\":2", "\"id\":3");
        assert_eq!(at(&answered(rig.client_says(&again).await), "error.code").as_i64(), Some(429));
    });
}

#[test]
fn only_the_arguments_that_a_hook_changed_are_written_anew() {
    run(async {
        let rig = rig(
            "  - { name: clamp, on: pre_tool, match: { tool: ls }, rewrite: { max: { max: 10 } } }",
        );
        let asked = r#"{ "jsonrpc":"2.0", "id":1,"method":"tools/call","params":{"name":"ls", "arguments" : {"deep": 1.0, "max":99 },"_meta":{"progressToken":5}} }"#;
        assert_eq!(rig.client_says(asked).await, Fate::Pass(asked.replace("99", "10")));
    });
}

#[test]
fn an_answer_in_place_of_a_call_is_a_result() {
    run(async {
        let rig = rig(
            "  - { name: weather, on: pre_tool, match: { tool: weather }, respond: \"sunny\" }",
        );
        let answer = answered(rig.call("1", "weather", "{}").await);
        assert_eq!(at(&answer, "result.content.0.text").as_str(), Some("sunny"));
        assert!(at(&answer, "result").get("isError").is_none());
    });
}

#[test]
fn secrets_are_masked_in_every_text_of_a_result() {
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    run(async {
        let rig = rig("  - { name: mask, on: after_tool, redact: { find: [secrets] } }");
        for (at, result) in [
            format!(r#"{{"content":[{{"type":"text","text":"key {secret}"}}],"structuredContent":{{"k":"{secret}","n":1}}}}"#),
            format!(r#"{{"content":[{{"type":"resource","resource":{{"uri":"a:b","text":"{secret}"}}}}]}}"#),
            format!(r#"{{"content":[{{"type":"text","text":"failed: {secret}"}}],"isError":true}}"#),
        ]
        .iter()
        .enumerate()
        {
            let _ = rig.call(&at.to_string(), "t", "{}").await;
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{at},"result":{result}}}"#);
            let given = passed(rig.server_says(&answer).await);
            assert!(!given.text().contains(secret), "{}", given.text());
            assert_eq!(given.get("result").unwrap().get("isError"), json(result).get("isError"));
        }
        let _ = rig.call("9", "t", "{}").await;
        let error = format!(
            r#"{{"jsonrpc":"2.0","id":9,"error":{{"code":-32000,"message":"no: {secret}","data":{{"d":"{secret}"}}}}}}"#
        );
        let given = passed(rig.server_says(&error).await);
        assert!(!given.text().contains(secret), "{}", given.text());
        assert_eq!(at(&given, "error.code").as_i64(), Some(-32000));
        assert!(!rig.records().iter().any(|record| format!("{record:?}").contains(secret)));
    });
}

#[test]
fn a_structured_result_that_a_mask_makes_invalid_is_a_failed_one() {
    run(async {
        let rig = rig("  - { name: mask, on: after_tool, redact: { find: [email] } }");
        let tool = r#"{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"to":{"type":"string","pattern":"^[a-z]+@[a-z.]+$"}}}}"#;
        let _ = rig.exchange("tools/list", "{}", &format!(r#"{{"tools":[{tool}]}}"#)).await;
        for (to, failed) in [("bob@example.com", Some(true)), ("nobody", None)] {
            let _ = rig.call("1", "t", "{}").await;
            let result = format!(r#"{{"content":[],"structuredContent":{{"to":"{to}"}}}}"#);
            let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
            let given = passed(rig.server_says(&answer).await);
            assert_eq!(at(&given, "result.isError").as_bool(), failed, "{}", given.text());
        }
    });
}

#[test]
fn a_withheld_result_is_replaced_as_a_whole() {
    run(async {
        let rig = rig(
            "  - { name: no-dumps, on: post_tool, match: { tool: dump }, deny: \"stays here\" }",
        );
        let _ = rig.call("1", "dump", "{}").await;
        let given = passed(rig.server_says(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"everything"}]}}"#).await);
        assert!(!given.text().contains("everything"));
        assert_eq!(at(&given, "result.isError").as_bool(), Some(true));
    });
}

#[test]
fn an_id_under_way_is_not_taken_twice() {
    run(async {
        let rig = rig("  - { name: a, on: pre_tool, match: { tool: x }, deny: \"no\" }");
        assert!(matches!(rig.call("1", "t", "{}").await, Fate::Pass(_)));
        let answer = answered(rig.call("1", "t", "{}").await);
        assert_eq!(at(&answer, "error.code").as_i64(), Some(-32600));
        let wrong = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":1}}"#;
        assert_eq!(
            at(&answered(rig.client_says(wrong).await), "error.code").as_i64(),
            Some(-32602)
        );
    });
}

#[test]
fn a_server_that_ends_leaves_nobody_waiting_and_no_call_without_an_outcome() {
    run(async {
        let rig = rig("  - { name: a, on: pre_tool, match: { tool: x }, deny: \"no\" }");
        let _ = rig.call("1", "t", "{}").await;
        let _ = rig.client_says(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#).await;
        let answers: Vec<String> =
            rig.talk.server_is_gone("it ended").into_iter().map(|(_, text)| text).collect();
        assert_eq!(answers.len(), 2);
        assert!(answers.iter().all(|text| at(&json(text), "error.code").as_i64() == Some(-32603)));
        // The next event writes down what became of the first call: nobody knows.
        let _ = rig.call("3", "t", "{}").await;
        let outcomes = rig.records();
        let unknown = outcomes.iter().find(|record| record.kind == RecordKind::Outcome).unwrap();
        assert_eq!((unknown.executed, unknown.ok), (None, None));
    });
}

#[test]
fn a_cancelled_call_goes_on_as_a_cancelled_one() {
    run(async {
        let rig = rig("  - { name: a, on: pre_tool, match: { tool: x }, deny: \"no\" }");
        let cancel = |id: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
            )
        };
        assert_eq!(rig.client_says(&cancel("1")).await, Fate::Drop);
        let _ = rig.client_says(&call("1", "t", "{}")).await;
        assert_eq!(rig.client_says(&cancel("1")).await, Fate::Pass(cancel("1")));
        // A late answer is still looked at, and passed.
        let late = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
        assert_eq!(rig.server_says(late).await, Fate::Pass(late.to_owned()));
    });
}

#[test]
fn a_request_without_an_id_reaches_no_server() {
    run(async {
        let rig = rig("  - { name: a, on: pre_tool, match: { tool: x }, deny: \"no\" }");
        for method in ["tools/call", "resources/read", "prompts/get", "tools/list", "vendor/run"] {
            let text =
                format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"name":"t"}}}}"#);
            assert_eq!(rig.client_says(&text).await, Fate::Drop, "{method}");
        }
        let started = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(rig.client_says(started).await, Fate::Pass(started.to_owned()));
    });
}

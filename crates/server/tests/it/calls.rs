//! Calls: refused, rewritten, answered, cancelled, and what comes back.

use crate::rig::{Rig, answered, at, call, json, passed, rig, run};
use tollgate::gate::{Json, RecordKind};
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

const MASK: &str = "  - { name: mask, on: after_tool, redact: { find: [pii] } }";

/// A tool that gives back an address under this schema, and a card's number.
fn mailer(to: &str) -> String {
    format!(
        r#"{{"tools":[{{"name":"t","inputSchema":{{"type":"object"}},"outputSchema":{{"type":"object","properties":{{"to":{to},"card":{{"type":"integer"}}}},"required":["to"]}}}}]}}"#
    )
}

const MAILED: &str = r#"{"content":[{"type":"text","text":"bob@example.com"}],"structuredContent":{"to":"bob@example.com","card":4111111111111111}}"#;

async fn mailed(rig: &Rig) -> Json {
    let _ = rig.call("1", "t", "{}").await;
    let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{MAILED}}}"#);
    let given = passed(rig.server_says(&answer).await);
    let text = given.text();
    assert!(!text.contains("bob@") && !text.contains("4111"), "{text}");
    given
}

#[test]
fn a_masked_structured_result_is_valid_for_the_schema_of_its_tool() {
    run(async {
        for (schema, expected) in [
            (r#"{"type":"string"}"#, "b***@example.com"),
            (
                r#"{"type":"string","format":"email","pattern":"^[a-z@.]+$"}"#,
                "masked@example.invalid",
            ),
            (r#"{"type":"string","pattern":"^[a-z]+@[a-z.]+$"}"#, "xxx@xxxxxxx.xxx"),
        ] {
            let rig = rig(MASK);
            let _ = rig.exchange("tools/list", "{}", &mailer(schema)).await;
            let given = mailed(&rig).await;
            let result = at(&given, "result");
            assert_eq!(result.get("isError"), None, "{}", given.text());
            let to = at(result, "structuredContent.to").as_str().unwrap();
            assert_eq!(to, expected);
            assert_eq!(at(result, "structuredContent.card").as_i64(), Some(0));
        }
    });
}

#[test]
fn where_nothing_holds_for_the_schema_the_result_fails_and_says_which_member_and_hook_it_was() {
    run(async {
        let rig = rig(MASK);
        let listed = mailer(r#"{"type":"string","pattern":"^(bob|eve)@example"}"#);
        let _ = rig.exchange("tools/list", "{}", &listed).await;
        let given = mailed(&rig).await;
        let result = at(&given, "result");
        assert_eq!(at(result, "isError").as_bool(), Some(true));
        assert_eq!(result.get("structuredContent"), None);
        let told = at(result, "content.1.text").as_str().unwrap();
        assert!(told.contains("structuredContent/to") && told.contains("hook `mask`"), "{told}");
    });
}

#[test]
fn a_tool_that_was_not_listed_is_looked_up_before_its_masked_structured_result_goes_on() {
    run(async {
        let rig = rig(MASK);
        let server = async {
            let asked = rig.server.next(0).await;
            assert_eq!(at(&asked, "method").as_str(), Some("tools/list"));
            let (id, list) =
                (asked.get("id").unwrap().text(), mailer(r#"{"type":"string","maxLength":4}"#));
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{list}}}"#);
            assert_eq!(rig.server_says(&answer).await, Fate::Drop);
        };
        let (given, ()) = tokio::join!(mailed(&rig), server);
        let to = at(&given, "result.structuredContent.to").as_str().unwrap();
        assert_eq!((to.len(), at(&given, "result.isError")), (4, &Json::Null), "{to}");
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

//! Texts beside calls, and what a server asks of its client.

use crate::rig::{answered, at, passed, rig, rig_before_silent_people, run};
use tollgate_server::mcp::Fate;

const SECRET: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

#[test]
fn secrets_are_masked_in_every_text_beside_calls() {
    run(async {
        let rig = rig("  - { name: mask, on: after_tool, redact: { find: [secrets] } }");
        for text in [
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":"{SECRET}"}}}}"#
            ),
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":1,"progress":1,"message":"{SECRET}"}}}}"#
            ),
        ] {
            assert!(!passed(rig.server_says(&text).await).text().contains(SECRET));
        }
        for (method, result) in [
            (
                "initialize",
                format!(r#"{{"protocolVersion":"2025-11-25","instructions":"use {SECRET}"}}"#),
            ),
            ("server/discover", format!(r#"{{"instructions":"use {SECRET}"}}"#)),
            (
                "resources/list",
                format!(r#"{{"resources":[{{"uri":"a:b","description":"{SECRET}"}}]}}"#),
            ),
            ("prompts/list", format!(r#"{{"prompts":[{{"name":"p","description":"{SECRET}"}}]}}"#)),
            (
                "prompts/get",
                format!(
                    r#"{{"messages":[{{"role":"user","content":{{"type":"text","text":"{SECRET}"}}}}]}}"#
                ),
            ),
            ("resources/read", format!(r#"{{"contents":[{{"uri":"a:b","text":"{SECRET}"}}]}}"#)),
            ("completion/complete", format!(r#"{{"completion":{{"values":["{SECRET}"]}}}}"#)),
        ] {
            let given = passed(rig.exchange(method, "{}", &result).await);
            assert!(!given.text().contains(SECRET), "{method}");
        }
    });
}

#[test]
fn texts_beside_calls_count_as_no_calls() {
    run(async {
        let rig = rig(
            "  - { name: loops, on: after_tool, loop_guard: { in_a_row: 3 } }\n  - { name: few, on: pre_tool, limit: { count: 1, counted: attempts, per: session } }",
        );
        let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
        for _ in 0..20 {
            assert_eq!(rig.server_says(log).await, Fate::Pass(log.to_owned()));
        }
        assert!(matches!(rig.call("1", "t", "{}").await, Fate::Pass(_)));
    });
}

#[test]
fn the_results_of_tasks_pass_the_hooks_of_the_tool_that_they_belong_to() {
    run(async {
        let rig = rig(
            "  - { name: mask, on: after_tool, match: { tool: long }, redact: { find: [secrets] } }",
        );
        let _ = rig.call("1", "long", "{}").await;
        let made =
            r#"{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"k1","status":"working"}}}"#;
        assert_eq!(rig.server_says(made).await, Fate::Pass(made.to_owned()));
        let result = format!(r#"{{"content":[{{"type":"text","text":"{SECRET}"}}]}}"#);
        let given = passed(rig.exchange("tasks/result", r#"{"taskId":"k1"}"#, &result).await);
        assert!(!given.text().contains(SECRET));
        let other = passed(rig.exchange("tasks/result", r#"{"taskId":"k2"}"#, &result).await);
        assert!(other.text().contains(SECRET));
    });
}

#[test]
fn what_a_server_asks_of_the_clients_model_is_a_model_call() {
    run(async {
        let rig = rig(
            "  - { name: small-models, on: pre_model, match: { model: \"big-*\" }, deny: \"small models only\" }\n  - { name: mask, on: [pre_model, post_model], redact: { find: [secrets] } }",
        );
        let ask = |id: u8, text: &str, model: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"sampling/createMessage","params":{{"messages":[{{"role":"user","content":{{"type":"text","text":"{text}"}}}}],"maxTokens":10,"modelPreferences":{{"hints":[{{"name":"{model}"}}]}}}}}}"#
            )
        };
        let refused = answered(rig.server_says(&ask(1, "hello", "big-one")).await);
        assert_eq!(at(&refused, "error.data.hook").as_str(), Some("small-models"));
        let sent = passed(rig.server_says(&ask(2, SECRET, "small")).await);
        assert!(!sent.text().contains(SECRET));
        assert_eq!(at(&sent, "params.maxTokens").as_i64(), Some(10));
        let reply = format!(
            r#"{{"jsonrpc":"2.0","id":2,"result":{{"role":"assistant","model":"m","content":{{"type":"text","text":"{SECRET}"}}}}}}"#
        );
        let given = passed(rig.client_says(&reply).await);
        assert!(!given.text().contains(SECRET));
        assert_eq!(at(&given, "result.role").as_str(), Some("assistant"));
        // Both ids are free again.
        assert_eq!(rig.client_says(&reply).await, Fate::Drop);
    });
}

#[test]
fn what_a_server_asks_of_a_person_is_a_call() {
    run(async {
        let rig = rig(
            "  - { name: no-passwords, on: pre_tool, match: { tool: elicitation/create }, keywords: { words: [password], reason: \"servers ask for no passwords\" } }",
        );
        let ask = |id: u8, text: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"elicitation/create","params":{{"message":"{text}"}}}}"#
            )
        };
        let refused = answered(rig.server_says(&ask(1, "your password?")).await);
        assert_eq!(at(&refused, "error.code").as_i64(), Some(403));
        let passes = ask(2, "your name?");
        assert_eq!(rig.server_says(&passes).await, Fate::Pass(passes));
        let answer =
            r#"{"jsonrpc":"2.0","id":2,"result":{"action":"accept","content":{"name":"x"}}}"#;
        assert_eq!(rig.client_says(answer).await, Fate::Pass(answer.to_owned()));
    });
}

#[test]
fn a_server_takes_back_what_it_asked_whether_the_client_has_heard_of_it_or_not() {
    run(async {
        let (rig, _) = rig_before_silent_people(
            "  - { name: sure, on: pre_tool, match: { tool: roots/list }, ask: { who: carol, reason: \"folders\" } }",
        );
        let ask = |id: u8, method: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{}}}}"#)
        };
        let cancel = |id: u8| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
            )
        };
        // The client has it: it hears that it need not answer, and a late answer goes nowhere.
        let asked = ask(1, "elicitation/create");
        assert_eq!(rig.server_says(&asked).await, Fate::Pass(asked.clone()));
        assert_eq!(rig.server_says(&cancel(1)).await, Fate::Pass(cancel(1)));
        let late = r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#;
        assert_eq!(rig.client_says(late).await, Fate::Drop);
        // The id is free again.
        assert_eq!(rig.server_says(&asked).await, Fate::Pass(asked));
        // It waits for a person: neither the client nor the server hears of it again.
        let waiting = ask(2, "roots/list");
        let takes_back = async {
            tokio::task::yield_now().await;
            // Nobody has asked the client that, so nobody hears its answer.
            let early = r#"{"jsonrpc":"2.0","id":2,"result":{"roots":[]}}"#;
            assert_eq!(rig.client_says(early).await, Fate::Drop);
            assert_eq!(rig.server_says(&cancel(2)).await, Fate::Drop);
        };
        let (fate, ()) = tokio::join!(rig.server_says(&waiting), takes_back);
        assert_eq!(fate, Fate::Drop);
    });
}

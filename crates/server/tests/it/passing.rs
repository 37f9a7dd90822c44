//! What is not governed, or not changed, goes on byte for byte.

use crate::rig::{rig, run};
use tollgate_server::mcp::Fate;

/// Messages that a typed relay is known to change or refuse.
const FROM_SERVER: &[&str] = &[
    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1,"total":3.0}}"#,
    "{ \"jsonrpc\" : \"2.0\" , \"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":{\"n\":1e2,\"u\":\"\\u2028\"},\"x\":null}, \"extra\":[1.50] }",
    r#"{"jsonrpc":"2.0","method":"notifications/vendor/thing","params":{"a":123456789012345678901234567890}}"#,
];

const FROM_CLIENT: &[&str] = &[
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"method":"tools/list","params":{"cursor":""},"id":"a","jsonrpc":"2.0"}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":null,"unknown":{"k":1.0}}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{"n":1.10,"big":9007199254740993},"_meta":{"progressToken":1}},"top":true}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"vendor/method","params":{"x":[1,2]}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#,
];

#[test]
fn what_no_hook_changes_goes_on_byte_for_byte() {
    run(async {
        let rig = rig("  - { name: mask, on: after_tool, redact: { find: [secrets] } }");
        for text in FROM_SERVER {
            assert_eq!(rig.server_says(text).await, Fate::Pass((*text).to_owned()));
        }
        for text in FROM_CLIENT {
            assert_eq!(rig.client_says(text).await, Fate::Pass((*text).to_owned()));
        }
        for (id, result) in [
            (
                "\"a\"",
                r#"{"tools":[{"name":"t","execution":{"taskSupport":"optional"},"vendor":1}],"nextCursor":""}"#,
            ),
            ("1", r#"{"content":[],"structuredContent":[1,null],"resultType":"complete"}"#),
            ("2", r#"{"content":[{"type":"odd","k":{"z":1,"a":2}}],"isError":false,"extra":1.0}"#),
            ("3", r#"{"anything":true}"#),
            ("4", "{}"),
        ] {
            let text = format!(r#"{{"result": {result}, "jsonrpc":"2.0","id":{id}}}"#);
            assert_eq!(rig.server_says(&text).await, Fate::Pass(text));
        }
    });
}

#[test]
fn an_answer_that_nobody_asked_for_is_dropped() {
    run(async {
        let rig = rig("  - { name: a, on: pre_tool, match: { tool: x }, deny: \"no\" }");
        let answer = r#"{"jsonrpc":"2.0","id":9,"result":{"content":[]}}"#;
        assert_eq!(rig.server_says(answer).await, Fate::Drop);
        assert_eq!(rig.client_says(answer).await, Fate::Drop);
        assert_eq!(rig.lines.lock().unwrap().len(), 2);
        // Once it was asked for it is passed, and once only.
        let _ = rig.client_says(r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#).await;
        let pong = r#"{"jsonrpc":"2.0","id":9,"result":{}}"#;
        assert_eq!(rig.server_says(pong).await, Fate::Pass(pong.to_owned()));
        assert_eq!(rig.server_says(pong).await, Fate::Drop);
    });
}

#[test]
fn ten_thousand_ids_under_way_do_not_meet() {
    run(async {
        let rig = rig(
            "  - { name: clamp, on: pre_tool, match: { tool: t }, rewrite: { n: { max: 5000 } } }",
        );
        for id in 0..10_000 {
            let text = rig.call(&id.to_string(), "t", &format!("{{\"n\":{id}}}")).await;
            assert!(matches!(text, Fate::Pass(_)));
        }
        // A text that looks like a number is another id.
        assert!(matches!(rig.call("\"7\"", "t", "{\"n\":1}").await, Fate::Pass(_)));
        assert_eq!(rig.talk.in_flight(), 10_001);
        for id in (0..10_000).rev() {
            let answer =
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"n":{id}}}}}"#);
            assert_eq!(rig.server_says(&answer).await, Fate::Pass(answer));
        }
        assert_eq!(rig.talk.in_flight(), 1);
    });
}

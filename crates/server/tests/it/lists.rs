//! Lists of tools: what is hidden, what changed.

use crate::rig::{answered, at, passed, rig, run};
use std::sync::Arc;
use tollgate::gate::Json;
use tollgate_server::mcp::definitions::Pinning;
use tollgate_server::mcp::{Conversation, Fate, Frame};

const TOOLS: &str = r#"{"tools":[{"name":"read"},{"name":"admin_reset"}],"nextCursor":"c"}"#;

fn names(list: &Json) -> Vec<String> {
    let tools = at(list, "result.tools").as_array().unwrap();
    tools.iter().map(|tool| tool.get("name").unwrap().as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_hidden_tool_is_in_no_list_and_is_answered_as_the_server_answers_for_none() {
    run(async {
        let rig = rig(
            "  - { name: hidden, on: pre_tool, match: { tool: \"admin_*\" }, deny: { hide: true } }",
        );
        let list = passed(rig.exchange("tools/list", "{}", TOOLS).await);
        assert_eq!(names(&list), ["read"]);
        assert_eq!(at(&list, "result.nextCursor").as_str(), Some("c"));
        // The server is asked what it says of a tool that it does not have.
        let talk: Arc<Conversation> = Arc::clone(&rig.talk);
        let told = Arc::clone(&rig.server);
        let server = async move {
            let asked = told.next(0).await;
            let name = at(&asked, "params.name").as_str().unwrap().to_owned();
            assert_eq!(name.len(), "admin_reset".len().max(12));
            let id = asked.get("id").unwrap().text();
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"Tool {name} not found"}}}}"#
            );
            assert_eq!(talk.from_server(Frame::read(text).unwrap()).await, Fate::Drop);
        };
        let (answer, ()) = tokio::join!(rig.call("1", "admin_reset", "{}"), server);
        let answer = answered(answer);
        assert_eq!(at(&answer, "id").as_i64(), Some(1));
        assert_eq!(at(&answer, "error.message").as_str(), Some("Tool admin_reset not found"));
    });
}

#[test]
fn a_list_made_for_one_client_says_so() {
    run(async {
        let rig = rig(
            "  - { name: hidden, on: pre_tool, match: { tool: \"admin_*\" }, deny: { hide: true } }",
        );
        let asked = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let _ = rig.client_says(asked).await;
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"admin_x"}],"ttlMs":60000,"cacheScope":"public"}}"#;
        let list = passed(rig.server_says(answer).await);
        assert_eq!(at(&list, "result.cacheScope").as_str(), Some("private"));
        assert_eq!(at(&list, "result.ttlMs").as_i64(), Some(0));
    });
}

#[test]
fn descriptions_pass_the_hooks_of_results_and_hidden_characters_do_not_pass_at_all() {
    run(async {
        let rig = rig("  - { name: mask, on: after_tool, redact: { find: [email] } }");
        let tools = format!(
            r#"{{"tools":[{{"name":"mail","description":"writes to bob@example.com"}},{{"name":"odd","description":"reads{}"}}]}}"#,
            "\u{202e}"
        );
        let list = passed(rig.exchange("tools/list", "{}", &tools).await);
        assert_eq!(names(&list), ["mail"]);
        assert!(!list.text().contains("bob@"));
        assert!(rig.lines.lock().unwrap()[0].contains("odd"));
        let answer = answered(rig.call("1", "odd", "{}").await);
        let meta = at(&answer, "result._meta").get("dev.tollgate/decision").unwrap();
        assert_eq!(at(meta, "hook").as_str(), Some("mcp-definitions"));
    });
}

#[test]
fn without_a_file_of_pins_nothing_counts_as_changed() {
    run(async {
        let rig = rig("  - { name: a, on: pre_tool, match: { tool: x }, deny: \"no\" }");
        rig.definitions.set_pinning(Pinning::Deny);
        for text in [
            r#"{"tools":[{"name":"t","description":"a"}]}"#,
            r#"{"tools":[{"name":"t","description":"b"}]}"#,
        ] {
            assert_eq!(names(&passed(rig.exchange("tools/list", "{}", text).await)), ["t"]);
        }
    });
}

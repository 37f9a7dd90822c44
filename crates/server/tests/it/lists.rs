//! Lists of tools: what is hidden, what changed.

use crate::rig::{answered, at, call, json, passed, rig, run};
use tollgate::gate::{Json, RecordKind};
use tollgate_server::mcp::Fate;
use tollgate_server::mcp::definitions::Pinning;

const TOOLS: &str = r#"{"tools":[{"name":"read"},{"name":"admin_reset"}],"nextCursor":"c"}"#;

fn names(list: &Json) -> Vec<String> {
    let tools = at(list, "result.tools").as_array().unwrap();
    tools.iter().map(|tool| tool.get("name").unwrap().as_str().unwrap().to_owned()).collect()
}

const HIDDEN: &str =
    "  - { name: hidden, on: pre_tool, match: { tool: \"admin_*\" }, deny: { hide: true } }";

/// What the server is sent for a call of a hidden tool, and the name in it.
fn as_nobody(fate: Fate, asked: &str) -> (String, String) {
    let Fate::Pass(sent) = fate else { panic!("{fate:?}") };
    let name = at(&json(&sent), "params.name").as_str().unwrap().to_owned();
    assert_eq!(name.len(), "admin_reset".len().max(12));
    assert!(!sent.contains("admin_reset") && !sent.contains("everything"), "{sent}");
    let same = |text: &str| at(&json(text), "params._meta").clone();
    assert_eq!(same(&sent), same(asked));
    (sent, name)
}

#[test]
fn a_hidden_tool_is_in_no_list_and_is_answered_as_the_server_answers_for_none() {
    run(async {
        let rig = rig(HIDDEN);
        let list = passed(rig.exchange("tools/list", "{}", TOOLS).await);
        assert_eq!(names(&list), ["read"]);
        assert_eq!(at(&list, "result.nextCursor").as_str(), Some("c"));
        // Both revisions, and each way in which servers say that there is no such tool.
        let earlier = call("1", "admin_reset", r#"{"what":"everything"}"#);
        let later = earlier.replace(
            "\"arguments\"",
            r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"requestState":"s","arguments""#,
        );
        for asked in [earlier, later] {
            for says in [
                r#""error":{"code":-32602,"message":"Tool NAME not found"}"#,
                r#""result":{"content":[{"type":"text","text":"Unknown tool: NAME"}],"isError":true,"_meta":{"v":1.0}}"#,
            ] {
                let (_, nobody) = as_nobody(rig.client_says(&asked).await, &asked);
                let answer = |name: &str| {
                    format!(r#"{{"jsonrpc":"2.0","id":1,{}}}"#, says.replace("NAME", name))
                };
                let given = rig.server_says(&answer(&nobody)).await;
                assert_eq!(given, Fate::Pass(answer("admin_reset")));
            }
        }
        // It was refused, and is recorded so.
        let outcomes = rig.records();
        let outcomes = outcomes.iter().filter(|record| record.kind == RecordKind::Outcome);
        assert!(
            outcomes.clone().count() == 4 && outcomes.into_iter().all(|one| one.ok == Some(false))
        );
    });
}

#[test]
fn the_answer_for_a_hidden_tool_passes_the_hooks_of_results_and_can_be_cancelled() {
    run(async {
        let rig = rig(&format!(
            "{HIDDEN}\n  - {{ name: mask, on: after_tool, redact: {{ find: [email] }} }}"
        ));
        let asked = call("1", "admin_reset", "{}");
        let (_, nobody) = as_nobody(rig.client_says(&asked).await, &asked);
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32602,"message":"no {nobody}, ask bob@example.com"}}}}"#
        );
        let given = passed(rig.server_says(&answer).await).text();
        assert!(given.contains("no admin_reset") && !given.contains("bob@"), "{given}");
        let _ = rig.client_says(&asked).await;
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        assert_eq!(rig.client_says(cancel).await, Fate::Pass(cancel.to_owned()));
    });
}

#[test]
fn a_list_made_for_one_client_says_so() {
    run(async {
        let rig = rig(HIDDEN);
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

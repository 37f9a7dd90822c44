//! Questions to a person through the client.

use crate::rig::{Rig, answered, at, rig, rig_before_silent_people, run};
use std::sync::Arc;
use tollgate::gate::{Json, RecordKind};
use tollgate_server::mcp::{Fate, Frame, Outlet};

const ASK: &str = "  - { name: sure, on: pre_tool, match: { tool: send }, ask: \"it sends mail\" }";

/// A conversation whose client shows forms.
async fn with_forms(hooks: &str) -> Rig {
    let rig = rig(hooks);
    let open = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"desk","version":"1"}}}"#;
    assert_eq!(rig.client_says(open).await, Fate::Pass(open.to_owned()));
    let opened = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}"#;
    assert_eq!(rig.server_says(opened).await, Fate::Pass(opened.to_owned()));
    rig
}

/// Makes the call and answers the question with this; the call's fate, and the question.
async fn asked(rig: &Rig, answer: &str) -> (Fate, Json) {
    let person = async {
        let question = rig.client.next(0).await;
        let id = question.get("id").unwrap().text();
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{answer}}}"#);
        let way: Arc<dyn Outlet> = Arc::<crate::rig::Told>::clone(&rig.client);
        assert_eq!(rig.talk.from_client(Frame::read(text).unwrap(), &way).await, Fate::Drop);
        question
    };
    tokio::join!(rig.call("1", "send", r#"{"to":"bob\u001b[2J"}"#), person)
}

#[test]
fn a_person_is_asked_through_a_client_that_shows_forms() {
    run(async {
        let rig = with_forms(ASK).await;
        assert_eq!(rig.talk.session().agent.as_deref(), Some("desk"));
        let yes = r#"{"action":"accept","content":{"approve":true}}"#;
        let (fate, question) = asked(&rig, yes).await;
        assert!(matches!(fate, Fate::Pass(_)), "{fate:?}");
        assert_eq!(at(&question, "method").as_str(), Some("elicitation/create"));
        let message = at(&question, "params.message").as_str().unwrap();
        assert!(message.contains("it sends mail") && message.contains("`send`"));
        assert!(!message.contains('\u{1b}'));
    });
}

#[test]
fn everything_but_a_clear_yes_is_a_no() {
    run(async {
        for (answer, code) in [
            (r#"{"action":"accept","content":{"approve":false}}"#, "approval_denied"),
            (r#"{"action":"accept","content":{}}"#, "approval_denied"),
            (r#"{"action":"accept","content":{"approve":"true"}}"#, "approval_denied"),
            (r#"{"action":"decline"}"#, "approval_denied"),
            (r#"{"action":"cancel"}"#, "approval_cancelled"),
            ("{}", "approval_cancelled"),
        ] {
            let rig = with_forms(ASK).await;
            let (fate, _) = asked(&rig, answer).await;
            let refused = answered(fate);
            let meta = at(&refused, "result._meta").get("dev.tollgate/decision").unwrap();
            assert_eq!(at(meta, "code").as_str(), Some(code), "{answer}");
        }
    });
}

#[test]
fn without_forms_and_with_named_people_the_client_is_not_asked() {
    run(async {
        let rig = rig(ASK);
        let refused = answered(rig.call("1", "send", "{}").await);
        let meta = at(&refused, "result._meta").get("dev.tollgate/decision").unwrap();
        assert_eq!(at(meta, "code").as_str(), Some("approval_required"));
        let named = ASK.replace("\"it sends mail\"", "{ who: carol, reason: \"it sends mail\" }");
        let rig = with_forms(&named).await;
        let _ = answered(rig.call("1", "send", "{}").await);
        assert_eq!(rig.client.all(), Vec::<String>::new());
    });
}

#[test]
fn a_cancelled_call_takes_its_question_back() {
    run(async {
        let rig = with_forms(ASK).await;
        let cancel = async {
            let _ = rig.client.next(0).await;
            let text =
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
            assert_eq!(rig.client_says(text).await, Fate::Drop);
        };
        let (fate, ()) = tokio::join!(rig.call("1", "send", "{}"), cancel);
        assert_eq!(fate, Fate::Drop);
        assert_eq!(rig.talk.in_flight(), 0);
        // The client is told that its form is over.
        let taken_back = rig.client.next(1).await;
        assert_eq!(at(&taken_back, "method").as_str(), Some("notifications/cancelled"));
        let asked = rig.client.next(0).await;
        assert_eq!(at(&taken_back, "params.requestId"), at(&asked, "id"));
        // What came of the call is recorded: nobody said yes, and it did not run.
        let of = |kind| rig.records().into_iter().filter(move |one| one.kind == kind);
        let state = of(RecordKind::Approval).next().unwrap().detail.unwrap();
        assert_eq!(at(&state, "state").as_str(), Some("cancelled"));
        assert!(of(RecordKind::Outcome).all(|one| one.executed == Some(false)));
        // A late yes finds no question.
        let question = rig.client.next(0).await.get("id").unwrap().text();
        let yes = format!(
            r#"{{"jsonrpc":"2.0","id":{question},"result":{{"action":"accept","content":{{"approve":true}}}}}}"#
        );
        assert_eq!(rig.client_says(&yes).await, Fate::Drop);
    });
}

#[test]
fn a_cancelled_call_takes_its_durable_approval_back() {
    run(async {
        let (rig, people) = rig_before_silent_people(ASK);
        let cancel = async {
            people.until_asked().await;
            let text =
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
            assert_eq!(rig.client_says(text).await, Fate::Drop);
        };
        let (fate, ()) = tokio::join!(rig.call("1", "send", "{}"), cancel);
        assert_eq!((fate, rig.talk.in_flight()), (Fate::Drop, 0));
        assert!(people.has_nothing_open());
    });
}

#[test]
fn a_request_that_the_server_takes_back_takes_its_durable_approval_back() {
    run(async {
        let hooks =
            "  - { name: sure, on: pre_tool, match: { tool: \"elicitation/create\" }, ask: \"?\" }";
        let (rig, people) = rig_before_silent_people(hooks);
        let ask =
            r#"{"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{"message":"?"}}"#;
        let cancel = async {
            people.until_asked().await;
            let text =
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#;
            assert_eq!(rig.server_says(text).await, Fate::Drop);
        };
        let (fate, ()) = tokio::join!(rig.server_says(ask), cancel);
        assert_eq!(fate, Fate::Drop);
        assert!(people.has_nothing_open());
    });
}

#[test]
fn a_client_that_goes_takes_all_its_questions_back() {
    run(async {
        let (rig, people) = rig_before_silent_people(ASK);
        let goes = async {
            people.until_asked().await;
            rig.talk.client_is_gone();
        };
        let (fate, ()) = tokio::join!(rig.call("1", "send", "{}"), goes);
        assert_eq!(fate, Fate::Drop);
        assert!(people.has_nothing_open());
    });
}

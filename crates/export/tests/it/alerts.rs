//! Alerts: when, how often, and what is in them.

use crate::rig::{Rig, record, refused, severities};
use crate::servers::{self, Request, Server};
use std::sync::Arc;
use tollgate_export::{AlertRule, Alerter, Endpoint, Severity, Until, run};
use tollgate_gate::{Code, Json, Object, RecordKind};

fn rule(port: u16) -> AlertRule {
    AlertRule {
        name: "ops".to_owned(),
        endpoint: Endpoint {
            url: format!("http://127.0.0.1:{port}/hook"),
            header_file: None,
            ca_file: None,
        },
        severity: None,
        refusals_a_minute: None,
    }
}

fn alert(rig: &Rig, rule: &AlertRule) {
    let mut alerter = Alerter::new(rule.clone(), severities()).unwrap();
    let mut cursor = rig.cursor("alert ops");
    run(&rig.ledger(), &mut cursor, &mut alerter, Until::End, &|| false, &mut |_| {}).unwrap();
}

fn bodies(server: &Server<Request>) -> Vec<Json> {
    let requests = server.received.try_iter();
    requests.map(|request| Json::read(request.body.as_bytes()).unwrap()).collect()
}

fn word<'j>(json: &'j Json, path: &str) -> &'j str {
    let found = path.split('.').try_fold(json, |json, key| json.get(key));
    found.and_then(Json::as_str).unwrap_or_default()
}

#[test]
fn a_hook_of_that_severity_alerts_and_a_milder_one_does_not() {
    let rig = Rig::new();
    let server = servers::http(&[("200 OK", "")]);
    let rule = AlertRule { severity: Some(Severity::High), ..rule(server.port) };
    let mut mild = refused(2);
    mild.hook = Some("mild".into());
    let mut outcome = refused(3);
    outcome.kind = RecordKind::Outcome;
    let mut secret = refused(4);
    let arguments = Object::from_iter([("token", "not for a webhook")]);
    secret.arguments.asked = Some(Arc::new(arguments.into()));
    rig.append([record(RecordKind::Decision, 1), mild, outcome, secret]);
    alert(&rig, &rule);
    let bodies = bodies(&server);
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    let body = &bodies[0];
    assert_eq!((word(body, "alert"), word(body, "because")), ("ops", "severity"));
    assert_eq!((word(body, "severity"), word(body, "record.hook")), ("high", "protect|tests"));
    assert_eq!(body.get("record").unwrap().get("seq").unwrap().as_u64(), Some(4));
    assert!(word(body, "text").starts_with("[high] pre_tool of bash: deny by protect|tests"));
    assert!(!body.text().contains("not for a webhook"));
    // What was told is not told again.
    alert(&rig, &rule);
    assert!(self::bodies(&server).is_empty());
}

#[test]
fn as_many_refusals_in_a_minute_alert_once_even_over_a_restart() {
    let rig = Rig::new();
    let server = servers::http(&[("200 OK", "")]);
    let rule = AlertRule { refusals_a_minute: Some(4), ..rule(server.port) };
    // Three in a minute, then one much later: no four of them are within a minute.
    rig.append([1, 2, 3, 90].map(refused));
    alert(&rig, &rule);
    assert!(bodies(&server).is_empty());
    rig.append([100, 101].map(refused));
    alert(&rig, &rule);
    assert!(bodies(&server).is_empty());
    let mut withheld = record(RecordKind::Outcome, 102);
    withheld.code = Some(Code::Withheld);
    rig.append([withheld, refused(103)]);
    alert(&rig, &rule);
    let bodies = bodies(&server);
    assert_eq!(bodies.len(), 1);
    assert_eq!(word(&bodies[0], "because"), "refusals");
    assert!(word(&bodies[0], "text").starts_with("4 refusals within a minute"));
}

#[test]
fn more_alerts_than_a_person_reads_are_left_out_and_counted() {
    let rig = Rig::new();
    let server = servers::http(&[("200 OK", "")]);
    let rule = AlertRule { severity: Some(Severity::High), ..rule(server.port) };
    rig.append((1..=30).map(refused));
    alert(&rig, &rule);
    assert_eq!(bodies(&server).len(), 6);
    rig.append([refused(120)]);
    alert(&rig, &rule);
    let bodies = bodies(&server);
    assert_eq!(bodies.len(), 1);
    assert_eq!(bodies[0].get("left_out").unwrap().as_u64(), Some(24));
    assert!(word(&bodies[0], "text").ends_with("(24 alerts before were left out)"));
}

#[test]
fn a_webhook_that_fails_gets_the_alert_later_and_only_that_one() {
    let rig = Rig::new();
    let server = servers::http(&[("200 OK", ""), ("500 Oops", ""), ("200 OK", "")]);
    let rule = AlertRule { severity: Some(Severity::High), ..rule(server.port) };
    rig.append([1, 2].map(refused));
    alert(&rig, &rule);
    let seqs: Vec<u64> = bodies(&server)
        .iter()
        .map(|body| body.get("record").unwrap().get("seq").unwrap().as_u64().unwrap())
        .collect();
    assert_eq!(seqs, [1, 2, 2], "the first is not sent again for the second's sake");
}

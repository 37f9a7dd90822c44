//! OTLP logs: the JSON encoding over HTTP, one POST a batch.
//!
//! The mapping is the few fields of a log record, written here: the client libraries bring a runtime, a
//! pipeline and a queue of their own, and the queue would lose on a crash what the cursor keeps.

use super::{SendError, Sink, SinkError, SinkOptions};
use crate::format::{Format, Severity, Told, safe_json};
use crate::http::{Client, Endpoint};
use tollgate_gate::text::shown;
use tollgate_gate::{Json, Object};

/// Longest part of a refusal that is shown, in characters.
const SHOWN_CHARS_MAX: usize = 200;

pub(super) struct OtlpSink {
    client: Client,
    url: String,
}

impl OtlpSink {
    pub(super) fn new(url: &str, options: &SinkOptions) -> Result<OtlpSink, SinkError> {
        let client = Client::new(&Endpoint {
            url: url.to_owned(),
            header_file: options.header_file.clone(),
            ca_file: options.ca_file.clone(),
        })?;
        Ok(OtlpSink { client, url: url.to_owned() })
    }
}

impl Sink for OtlpSink {
    fn send(&mut self, format: Format, batch: &[Told<'_>]) -> Result<(), SendError> {
        let body = safe_json(&request(format, batch));
        let failed = |what: &str| format!("the collector {}: {what}", self.url);
        let answer =
            self.client.post(&body).map_err(|error| SendError::Unreachable(failed(&error)))?;
        let said = shown(answer.body.trim(), SHOWN_CHARS_MAX);
        match answer.status {
            200..=299 => match rejected(&answer.body) {
                0 => Ok(()),
                count => Err(SendError::Partly(failed(&format!("it rejected {count}: {said}")))),
            },
            // Those that the protocol calls worth another try.
            429 | 502..=504 => {
                Err(SendError::Unreachable(failed(&format!("status {}", answer.status))))
            }
            status => Err(SendError::Refused(failed(&format!("status {status}: {said}")))),
        }
    }
}

/// How many records a collector did not take, by its answer.
fn rejected(body: &str) -> u64 {
    let Ok(answer) = Json::read(body.as_bytes()) else { return 0 };
    let count = answer.get("partialSuccess").and_then(|partial| partial.get("rejectedLogRecords"));
    // Whole numbers of 64 bits are texts in this encoding; some senders write numbers.
    count.and_then(|count| count.as_u64().or_else(|| count.as_str()?.parse().ok())).unwrap_or(0)
}

fn request(format: Format, batch: &[Told<'_>]) -> Json {
    let version = env!("CARGO_PKG_VERSION");
    let resource = [("service.name", "tollgate"), ("service.version", version)];
    let resource = resource.map(|(key, value)| attribute(key, &value.into())).to_vec();
    let scope = Object::from_iter([("name", "tollgate.ledger"), ("version", version)]);
    let records: Vec<Json> = batch.iter().map(|told| log_record(format, told)).collect();
    let mut scope_logs = Object::new();
    scope_logs.insert("scope", scope);
    scope_logs.insert("logRecords", records);
    let mut resource_logs = Object::new();
    resource_logs.insert("resource", Object::from_iter([("attributes", resource)]));
    resource_logs.insert("scopeLogs", vec![Json::from(scope_logs)]);
    Object::from_iter([("resourceLogs", vec![Json::from(resource_logs)])]).into()
}

fn log_record(format: Format, told: &Told<'_>) -> Json {
    let (number, word) = severity(told.severity());
    let mut attributes = vec![
        attribute("tollgate.seq", &told.seq.into()),
        attribute("tollgate.line_sha256", &told.line.to_string().into()),
        attribute("tollgate.format", &format.name().into()),
    ];
    for (key, member) in [
        ("gen_ai.tool.name", "tool"),
        ("gen_ai.tool.call.id", "call_id"),
        ("gen_ai.request.model", "model"),
        ("gen_ai.conversation.id", "session"),
        ("gen_ai.agent.name", "agent"),
        ("enduser.id", "user"),
        ("tollgate.kind", "kind"),
        ("tollgate.event", "event"),
        ("tollgate.verdict", "verdict"),
        ("tollgate.code", "code"),
        ("tollgate.hook", "hook"),
        ("tollgate.tenant", "tenant"),
        ("tollgate.policy", "policy"),
    ] {
        attributes.extend(told.text(member).map(|text| attribute(key, &text.into())));
    }
    let mut out = Object::new();
    // A record is observed when it is written.
    let at = told.at().nanos().to_string();
    out.insert("timeUnixNano", at.as_str());
    out.insert("observedTimeUnixNano", at);
    out.insert("severityNumber", number);
    out.insert("severityText", word);
    out.insert("eventName", "tollgate.record");
    out.insert("body", any_value(&format.value(told)));
    out.insert("attributes", attributes);
    out.into()
}

const fn severity(severity: Severity) -> (u64, &'static str) {
    match severity {
        Severity::Informational => (9, "INFO"),
        Severity::Low => (10, "INFO2"),
        Severity::Medium => (13, "WARN"),
        Severity::High => (17, "ERROR"),
        Severity::Critical => (21, "FATAL"),
    }
}

fn attribute(key: &str, value: &Json) -> Json {
    Object::from_iter([("key", Json::from(key)), ("value", any_value(value))]).into()
}

/// A value of the protocol: one member that names its type. Numbers that fit no 64 bits are text.
fn any_value(value: &Json) -> Json {
    let one = |key: &str, value: Json| Json::from(Object::from_iter([(key, value)]));
    match value {
        Json::Null => Object::new().into(),
        Json::Bool(value) => one("boolValue", (*value).into()),
        Json::String(text) => one("stringValue", text.as_str().into()),
        Json::Number(number) if number.as_i64().is_some() => {
            one("intValue", number.literal().into())
        }
        Json::Number(number) if number.literal().contains(['.', 'e', 'E']) => {
            one("doubleValue", Json::Number(number.clone()))
        }
        Json::Number(number) => one("stringValue", number.literal().into()),
        Json::Array(items) => {
            let values: Vec<Json> = items.iter().map(any_value).collect();
            one("arrayValue", Object::from_iter([("values", values)]).into())
        }
        Json::Object(object) => {
            let values: Vec<Json> =
                object.iter().map(|(key, value)| attribute(key, value)).collect();
            one("kvlistValue", Object::from_iter([("values", values)]).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{any_value, rejected};
    use tollgate_gate::Json;

    #[test]
    fn values_name_their_types() {
        let value = Json::read(br#"{"a":[1,1.5,true,null,18446744073709551615],"b":"x"}"#).unwrap();
        assert_eq!(
            any_value(&value).text(),
            concat!(
                r#"{"kvlistValue":{"values":[{"key":"a","value":{"arrayValue":{"values":["#,
                r#"{"intValue":"1"},{"doubleValue":1.5},{"boolValue":true},{},"#,
                r#"{"stringValue":"18446744073709551615"}]}}},"#,
                r#"{"key":"b","value":{"stringValue":"x"}}]}}"#
            )
        );
    }

    #[test]
    fn a_collector_that_takes_a_part_says_how_much_it_did_not() {
        assert_eq!(rejected(r#"{"partialSuccess":{"rejectedLogRecords":"3"}}"#), 3);
        assert_eq!(rejected(r#"{"partialSuccess":{"rejectedLogRecords":3}}"#), 3);
        for answer in ["", "{}", r#"{"partialSuccess":{}}"#, "<html>"] {
            assert_eq!(rejected(answer), 0);
        }
    }
}

//! How long a call waits for a person.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tollgate::Tollgate;
use tollgate::gate::{Clock, Code, Event, Json, ManualClock, MemoryLedger, Timestamp};

const ASKS: &str = "version: 1
hooks:
  - { name: asks, on: pre_tool, ask: { who: ann, wait: 10m, expires: 1h } }
";

fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
    }
}

/// How long a call waits before it is refused, in milliseconds, where its host waits so long.
fn waited_ms(host_ms: Option<u64>) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let start = Timestamp::parse("2026-11-30T12:00:00Z").unwrap();
    let clock = Arc::new(ManualClock::new(start));
    let mut builder = Tollgate::builder()
        .policy_text("asks", ASKS)
        .state_folder(folder.path().join("state"))
        .ledger(Arc::new(MemoryLedger::new()))
        .clock(Arc::<ManualClock>::clone(&clock));
    if let Some(host_ms) = host_ms {
        builder = builder.wait_ms_max(host_ms);
    }
    let tollgate = builder.open().unwrap();
    let event = br#"{"kind": "pre_tool", "session": {"id": "s"}, "payload": {"tool": "t", "call_id": "c", "arguments": {}}}"#;
    let event = Event::from_json(Json::read(event).unwrap(), start).unwrap();
    let decision = ready(tollgate.gate().judge(event));
    assert_eq!(decision.code, Some(Code::ApprovalRequired));
    clock.now().millis() - start.millis()
}

#[test]
fn a_call_waits_no_longer_than_its_host_whatever_the_policy_says() {
    assert!((1_000..=1_200).contains(&waited_ms(Some(1_000))));
    assert!((50_000..=50_200).contains(&waited_ms(None)));
    assert_eq!(waited_ms(Some(0)), 0);
}

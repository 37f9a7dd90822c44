//! What the gate may expect of every ledger: one suite that any of them is put through, in memory, on
//! disk or across a network. Other crates include this file.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use tollgate_gate::{
    Durability, EventId, EventKind, Json, Ledger, Object, Record, RecordKind, Session, Timestamp,
    Verdict,
};

/// A ledger, and what can be read back from it by somebody else.
pub(crate) struct UnderTest {
    pub(crate) ledger: Arc<dyn Ledger>,
    /// All records, in order. Called with the ledger open, and again after it was dropped.
    pub(crate) read: Box<dyn Fn() -> Vec<Json>>,
}

/// Puts a ledger through all of it; `make` gives an empty one each time.
pub(crate) fn check(make: &dyn Fn() -> UnderTest) {
    what_was_answered_for_is_read_back_whole_and_in_order(make());
    odd_texts_survive_unchanged(make());
    the_same_record_twice_is_two_records(make());
    many_callers_lose_nothing_and_each_keeps_its_order(make());
    what_was_buffered_is_there_once_the_ledger_is_closed(make());
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn append(ledger: &dyn Ledger, record: Record, durability: Durability) {
    let mut answer = pin!(ledger.append(record, durability));
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        match answer.as_mut().poll(&mut cx) {
            Poll::Ready(answer) => return answer.unwrap(),
            Poll::Pending => std::thread::park(),
        }
    }
}

fn record(id: &str) -> Record {
    let at = Timestamp::from_millis(1_700_000_000_123);
    let mut record = Record::new(EventId::Given(id.into()), at, RecordKind::Decision);
    record.event = Some(EventKind::PreTool);
    record.session = Some(Arc::new(Session::new("s1").with_user("alice")));
    record.tool = Some("transfer".into());
    record.verdict = Some(Verdict::Deny);
    let asked = br#"{"amount":12345678901234567890.12,"list":[1,null,true]}"#;
    record.arguments.asked = Some(Arc::new(Json::read(asked).unwrap()));
    record
}

/// The members of a record as it was given must stand in what is read back; a ledger may add its own.
#[track_caller]
fn stands_in(given: &Record, found: &Json) {
    let given = Json::read(&serde_json::to_vec(given).unwrap()).unwrap();
    for (key, value) in given.as_object().unwrap().iter() {
        assert_eq!(found.get(key), Some(value), "{key}");
    }
}

fn what_was_answered_for_is_read_back_whole_and_in_order(under: UnderTest) {
    let given: Vec<Record> = (0..20).map(|at| record(&format!("r{at}"))).collect();
    for (at, record) in given.iter().enumerate() {
        append(&*under.ledger, record.clone(), Durability::BeforeEffect);
        assert_eq!((under.read)().len(), at + 1, "an answer means that it is there");
    }
    drop(under.ledger);
    let found = (under.read)();
    assert_eq!(found.len(), given.len());
    given.iter().zip(&found).for_each(|(given, found)| stands_in(given, found));
}

fn odd_texts_survive_unchanged(under: UnderTest) {
    let mut given = record("odd \u{0} \" \\ \n \u{2028} \u{202e} 表 \u{1f980}");
    given.reason = Some("line\nbreak\r\n\ttab".into());
    given.detail = Some(Object::from_iter([("\u{7f}key", "x".repeat(100_000))]).into());
    append(&*under.ledger, given.clone(), Durability::BeforeEffect);
    let found = (under.read)();
    assert_eq!(found.len(), 1);
    found.iter().for_each(|found| stands_in(&given, found));
}

fn the_same_record_twice_is_two_records(under: UnderTest) {
    for _ in 0..2 {
        append(&*under.ledger, record("same"), Durability::BeforeEffect);
    }
    assert_eq!((under.read)().len(), 2);
}

fn many_callers_lose_nothing_and_each_keeps_its_order(under: UnderTest) {
    const CALLERS: usize = 8;
    const EACH: usize = 20;
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let ledger = &*under.ledger;
            scope.spawn(move || {
                for at in 0..EACH {
                    let durability = match at % 3 {
                        0 => Durability::Buffered,
                        _ => Durability::BeforeEffect,
                    };
                    append(ledger, record(&format!("{caller} {at}")), durability);
                }
            });
        }
    });
    drop(under.ledger);
    let mut next: BTreeMap<String, usize> = BTreeMap::new();
    for found in (under.read)() {
        let id = found.get("id").and_then(Json::as_str).unwrap().to_owned();
        let (caller, at) = id.split_once(' ').unwrap();
        let next = next.entry(caller.to_owned()).or_default();
        assert_eq!(at.parse::<usize>().unwrap(), *next, "caller {caller}");
        *next += 1;
    }
    assert_eq!(next.len(), CALLERS);
    assert!(next.values().all(|count| *count == EACH), "{next:?}");
}

fn what_was_buffered_is_there_once_the_ledger_is_closed(under: UnderTest) {
    for at in 0..50 {
        append(&*under.ledger, record(&format!("r{at}")), Durability::Buffered);
    }
    drop(under.ledger);
    assert_eq!((under.read)().len(), 50);
}

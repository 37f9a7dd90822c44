//! What people ask of a book: which records, and what the hooks did in them.
//!
//! A question is answered by reading the book, or by the index, which gives the same answer
//! ([`crate::index`]). What counts as a hit stands here, once, for both.

use std::collections::BTreeMap;
use tollgate_gate::{Json, Timestamp};

/// Which records are meant: those to which all that is set applies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// At this time or later.
    pub since: Option<Timestamp>,
    /// Before this time.
    pub until: Option<Timestamp>,
    /// Of this kind (`decision`, `outcome` ...).
    pub kind: Option<String>,
    /// Of this session, or of one whose first session it is.
    pub session: Option<String>,
    /// Of this user.
    pub user: Option<String>,
    /// Of this tool or model.
    pub tool: Option<String>,
    /// With this verdict.
    pub verdict: Option<String>,
    /// With this code.
    pub code: Option<String>,
    /// In which this hook decided, said something or failed.
    pub hook: Option<String>,
}

impl Filter {
    /// Whether a record is meant.
    pub fn matches(&self, record: &Json) -> bool {
        let text = |key| record.get(key).and_then(Json::as_str);
        let is = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        let at = time_of(record);
        is(&self.kind, text("kind"))
            && is(&self.user, text("user"))
            && is(&self.verdict, text("verdict"))
            && is(&self.code, text("code"))
            && is(&self.tool, text("tool").or(text("model")))
            && self.session.as_deref().is_none_or(|session| {
                text("session") == Some(session) || text("root") == Some(session)
            })
            && self.since.is_none_or(|since| at.is_some_and(|at| at >= since))
            && self.until.is_none_or(|until| at.is_some_and(|at| at < until))
            && self.hook.as_deref().is_none_or(|hook| {
                text("hook") == Some(hook)
                    || uses(record).iter().any(|seen| seen.hook == hook && seen.is_anything())
            })
    }
}

/// When a record was made.
pub fn time_of(record: &Json) -> Option<Timestamp> {
    record.get("at").and_then(Json::as_str).and_then(Timestamp::parse)
}

/// What one hook did in one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookUse<'a> {
    /// The hook.
    pub hook: &'a str,
    /// It voted or rewrote, and that counted.
    pub hit: bool,
    /// It voted or rewrote, and that did not count: it was dry, or the mode was.
    pub would: bool,
    /// It failed.
    pub fault: bool,
    /// It failed, and the event went on as if it were not there.
    pub failed_open: bool,
    /// How long it took, in microseconds.
    pub us: u64,
}

impl HookUse<'_> {
    /// Whether it did anything but look.
    pub fn is_anything(&self) -> bool {
        self.hit || self.would || self.fault
    }

    /// It as bits, for the index.
    pub(crate) fn bits(&self) -> i64 {
        i64::from(self.hit)
            | i64::from(self.would) << 1
            | i64::from(self.fault) << 2
            | i64::from(self.failed_open) << 3
    }
}

/// What each hook did in a record, in order; a hook that was asked twice counts once.
pub fn uses(record: &Json) -> Vec<HookUse<'_>> {
    let is_dry_mode = record.get("mode").and_then(Json::as_str) == Some("dry_run");
    let mut uses: Vec<HookUse<'_>> = Vec::new();
    for vote in record.get("votes").and_then(Json::as_array).unwrap_or_default() {
        let Some(hook) = vote.get("hook").and_then(Json::as_str) else { continue };
        let is = |key| matches!(vote.get(key), Some(Json::Bool(true)));
        let voted = vote.get("vote").is_some_and(|vote| !vote.is_null());
        let fault = vote.get("fault").is_some_and(|fault| !fault.is_null());
        let (said, dry) = ((voted && !fault) || is("rewrote"), is("dry_run") || is_dry_mode);
        let us = vote.get("us").and_then(Json::as_u64).unwrap_or_default();
        let found = HookUse {
            hook,
            hit: said && !dry,
            would: said && dry,
            fault,
            failed_open: fault && !voted,
            us,
        };
        match uses.iter_mut().find(|seen| seen.hook == hook) {
            Some(seen) => {
                seen.hit |= found.hit;
                seen.would |= found.would;
                seen.fault |= found.fault;
                seen.failed_open |= found.failed_open;
                seen.us += us;
            }
            None => uses.push(found),
        }
    }
    uses
}

/// What a hook did in many records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HookCounts {
    /// Records in which it was asked.
    pub asked: u64,
    /// Those in which it voted or rewrote.
    pub hits: u64,
    /// Those in which it would have.
    pub would: u64,
    /// Those in which it failed.
    pub faults: u64,
    /// Those in which it failed and the event went on.
    pub failed_open: u64,
    /// Its time in all of them, in microseconds.
    pub us: u64,
}

/// Many records, counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// How many.
    pub records: u64,
    /// Those that were erased.
    pub erased: u64,
    /// By kind.
    pub kinds: BTreeMap<String, u64>,
    /// Decisions by verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// Decisions by code.
    pub codes: BTreeMap<String, u64>,
    /// Outcomes of which nothing is known.
    pub unknown: u64,
    /// When the first and the last were made.
    pub span: Option<(Timestamp, Timestamp)>,
    /// What each hook did.
    pub hooks: BTreeMap<String, HookCounts>,
}

impl Counts {
    /// Counts a record.
    pub fn take(&mut self, record: &Json) {
        let text = |key| record.get(key).and_then(Json::as_str);
        self.records += 1;
        self.erased += u64::from(record.get("erased").is_some());
        let kind = text("kind").unwrap_or_default();
        add(&mut self.kinds, kind, 1);
        if kind == "decision" {
            text("verdict").into_iter().for_each(|verdict| add(&mut self.verdicts, verdict, 1));
            text("code").into_iter().for_each(|code| add(&mut self.codes, code, 1));
        }
        self.unknown += u64::from(is_unknown(record));
        if let Some(at) = time_of(record) {
            let (first, last) = self.span.unwrap_or((at, at));
            self.span = Some((first.min(at), last.max(at)));
        }
        for seen in uses(record) {
            let counts = match self.hooks.get_mut(seen.hook) {
                Some(counts) => counts,
                None => self.hooks.entry(seen.hook.to_owned()).or_default(),
            };
            counts.asked += 1;
            counts.hits += u64::from(seen.hit);
            counts.would += u64::from(seen.would);
            counts.faults += u64::from(seen.fault);
            counts.failed_open += u64::from(seen.failed_open);
            counts.us += seen.us;
        }
    }
}

/// Whether this is the outcome of a call of which nothing is known.
pub fn is_unknown(record: &Json) -> bool {
    record.get("kind").and_then(Json::as_str) == Some("outcome")
        && record.get("executed").is_some_and(Json::is_null)
}

pub(crate) fn add(counts: &mut BTreeMap<String, u64>, name: &str, more: u64) {
    match counts.get_mut(name) {
        Some(count) => *count += more,
        None => drop(counts.insert(name.to_owned(), more)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Filter, uses};
    use tollgate_gate::{Json, Timestamp};

    fn record(text: &str) -> Json {
        Json::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_hook_hits_would_have_hit_or_fails_and_a_second_turn_is_no_second_hit() {
        let record = record(
            r#"{"kind":"decision","mode":"enforce","votes":[
            {"hook":"a","vote":"deny","rewrote":false,"dry_run":false,"fault":null,"us":3},
            {"hook":"a","vote":"deny","rewrote":false,"dry_run":false,"fault":null,"us":2},
            {"hook":"b","vote":"deny","rewrote":false,"dry_run":true,"fault":null,"us":1},
            {"hook":"c","vote":null,"rewrote":true,"dry_run":false,"fault":null,"us":1},
            {"hook":"d","vote":null,"rewrote":false,"dry_run":false,"fault":"failed: x","us":1},
            {"hook":"e","vote":"deny","rewrote":false,"dry_run":false,"fault":"failed: x","us":1},
            {"hook":"f","vote":null,"rewrote":false,"dry_run":false,"fault":null,"us":1}]}"#,
        );
        let found: Vec<_> = uses(&record)
            .iter()
            .map(|seen| (seen.hook.to_owned(), seen.hit, seen.would, seen.fault, seen.failed_open))
            .collect();
        let row =
            |hook: &str, bits: [bool; 4]| (hook.to_owned(), bits[0], bits[1], bits[2], bits[3]);
        let expected = [
            row("a", [true, false, false, false]),
            row("b", [false, true, false, false]),
            row("c", [true, false, false, false]),
            row("d", [false, false, true, true]),
            row("e", [false, false, true, false]),
            row("f", [false; 4]),
        ];
        assert_eq!(found, expected);
        let mut counts = Counts::default();
        counts.take(&record);
        assert_eq!((counts.hooks["a"].asked, counts.hooks["a"].us), (1, 5));
    }

    #[test]
    fn a_session_is_meant_with_its_children_and_a_hook_where_it_did_anything() {
        let record = record(
            r#"{"kind":"decision","at":"2026-01-02T00:00:00Z","session":"child","root":"top",
            "model":"m","votes":[{"hook":"quiet","vote":null,"rewrote":false,"dry_run":false,"fault":null,"us":1}]}"#,
        );
        let is = |filter: Filter| filter.matches(&record);
        let some = |text: &str| Some(text.to_owned());
        assert!(is(Filter { session: some("top"), ..Filter::default() }));
        assert!(is(Filter { tool: some("m"), ..Filter::default() }));
        assert!(!is(Filter { session: some("other"), ..Filter::default() }));
        assert!(!is(Filter { hook: some("quiet"), ..Filter::default() }));
        let day = |text| Timestamp::parse(text);
        assert!(is(Filter { since: day("2026-01-02"), ..Filter::default() }));
        assert!(!is(Filter { until: day("2026-01-02"), ..Filter::default() }));
    }
}

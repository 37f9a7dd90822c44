//! A backtest for people.

use super::{BacktestReport, ChangeKind, Hits};
use std::fmt::Write as _;
use tollgate_gate::text::shown;

impl BacktestReport {
    /// The report as text.
    pub fn text(&self) -> String {
        let BacktestReport { events, unchanged, masked, changes, hits } = self;
        // Writing to a string cannot fail, here and below.
        let mut out =
            format!("{events} {}, {unchanged} decided as before", plural(*events, "event"));
        if *masked > 0 {
            let _ = write!(out, ", {masked} not judged because of what is masked");
        }
        out.push('\n');
        for change in changes {
            let hook = if change.hook.is_empty() { "the default" } else { &change.hook };
            let _ = writeln!(
                out,
                "\n{:>8}  {} by {}",
                change.count,
                words(change.kind),
                shown(hook, 100)
            );
            for example in &change.examples {
                let (event, subject) = (shown(&example.event, 60), shown(&example.subject, 60));
                let (before, after) = (shown(&example.before, 120), shown(&example.after, 120));
                if example.rewrite.is_empty() {
                    let _ = writeln!(out, "          {event} {subject}: {before} -> {after}");
                    continue;
                }
                let _ = writeln!(out, "          {event} {subject}: {after}");
                for change in &example.rewrite {
                    let _ = writeln!(out, "            {}", change.words());
                }
            }
        }
        if let Some(hits) = hits {
            out.push_str(&hits_text(hits));
        }
        out
    }
}

fn hits_text(hits: &Hits) -> String {
    let Hits { harmful_stopped, harmful, harmless_stopped, harmless, unused_labels } = hits;
    let percent = |rate: Option<f64>| match rate {
        Some(rate) => format!("{:.1}%", rate * 100.0),
        None => "no such events".to_owned(),
    };
    let mut out = format!(
        "\nharmful events stopped: {harmful_stopped} of {harmful}; harmless events stopped: {harmless_stopped} of {harmless}\n\
         hit rate: {}; false-positive rate: {}\n",
        percent(hits.hit_rate()),
        percent(hits.false_positive_rate())
    );
    if *unused_labels > 0 {
        let _ = writeln!(
            out,
            "{unused_labels} {} without an event that was judged",
            plural(*unused_labels, "label")
        );
    }
    out
}

fn plural(count: u64, what: &str) -> String {
    if count == 1 { what.to_owned() } else { format!("{what}s") }
}

fn words(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::NewlyRefused => "newly refused",
        ChangeKind::NewlyAllowed => "newly allowed",
        ChangeKind::NewlyAsked => "newly asked",
        ChangeKind::NewlyAnswered => "newly answered",
        ChangeKind::NewlyAborted => "newly ended",
        ChangeKind::OtherCode => "refused with another code",
        ChangeKind::OtherRewrite => "rewritten otherwise",
    }
}

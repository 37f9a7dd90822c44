//! An explanation for people.

use super::{Change, Explanation, Fate};
use std::fmt::Write as _;
use tollgate_gate::Json;
use tollgate_gate::text::shown;

/// Longest text of the event that is shown in one place, in characters.
const SHOWN_CHARS_MAX: usize = 120;

impl Explanation {
    /// The explanation as text: the decision, then a line for each hook.
    pub fn text(&self) -> String {
        let decision = &self.decision;
        let mut out = self.verdict.to_string();
        // Writing to a string cannot fail, here and below.
        if let Some(hook) = &decision.hook {
            let _ = write!(out, " by {hook}");
        }
        if let Some(code) = &decision.code {
            let _ = write!(out, " ({})", shown(code.as_str(), SHOWN_CHARS_MAX));
        }
        if let Some(reason) = &decision.reason {
            let _ = write!(out, ": {}", shown(reason, SHOWN_CHARS_MAX * 4));
        }
        if let Some(would) = decision.would {
            let _ = write!(out, "\nenforced it would be: {would}");
        }
        let _ = writeln!(out, "\npolicy {} in mode {}\n", decision.policy, decision.mode.name());
        let width = self.hooks.iter().map(|hook| hook.hook.name.chars().count()).max();
        let width = width.unwrap_or(0).min(40);
        for hook in self.hooks.iter().filter(|hook| hook.fate != Fate::OtherKind) {
            let name = shown(&hook.hook.name, 40).to_string();
            let _ = write!(out, "  {name:width$}  {}", hook.fate.words());
            let time = if let Fate::Ran { us, .. } = &hook.fate { Some(us) } else { None };
            let _ = writeln!(out, "{}", time.map_or_else(String::new, |us| format!(" ({us} us)")));
            if let Fate::Ran { rewrite, .. } = &hook.fate {
                for change in rewrite {
                    let _ = writeln!(out, "  {:width$}    {}", "", change.words());
                }
            }
        }
        let others = self.hooks.iter().filter(|hook| hook.fate == Fate::OtherKind).count();
        if others > 0 {
            let _ = writeln!(out, "  {others} more for other kinds than {}", self.kind);
        }
        if !self.notes.is_empty() {
            out.push('\n');
        }
        for note in &self.notes {
            let _ = writeln!(out, "note: {note}");
        }
        out
    }
}

impl Fate {
    /// What came of the hook, in a few words: `no match: tool: list`.
    pub fn words(&self) -> String {
        words(self)
    }
}

fn words(fate: &Fate) -> String {
    match fate {
        Fate::OtherKind => "other kind".to_owned(),
        Fate::Disabled => "disabled".to_owned(),
        Fate::NotRolledOut => "not rolled out to this".to_owned(),
        Fate::NotReached => "not reached: the chain had ended".to_owned(),
        Fate::NoMatch { key } => format!("no match: {}", shown(key, SHOWN_CHARS_MAX)),
        Fate::Excepted => "an exception holds".to_owned(),
        Fate::Ran { vote, reason, rewrite, claims, dry_run, fault, judged_again, us: _ } => {
            let mut out = match vote {
                Some(vote) => vote.to_string(),
                None if !rewrite.is_empty() => "rewrote".to_owned(),
                None if *claims > 0 => "within its limit, so far".to_owned(),
                None => "no opinion".to_owned(),
            };
            if let Some(reason) = reason {
                let _ = write!(out, ": {}", shown(reason, SHOWN_CHARS_MAX));
            }
            if let Some(fault) = fault {
                let _ = write!(out, " [fault: {}]", shown(fault, SHOWN_CHARS_MAX));
            }
            for (holds, word) in [(*dry_run, "dry run"), (*judged_again, "on what will run")] {
                if holds {
                    let _ = write!(out, " [{word}]");
                }
            }
            out
        }
    }
}

impl Change {
    /// The difference on one line: `max: 50 -> 10`.
    pub fn words(&self) -> String {
        let value = |value: &Option<Json>| match value {
            Some(value) => shown(&value.text(), SHOWN_CHARS_MAX).to_string(),
            None => "nothing".to_owned(),
        };
        let path = if self.path.is_empty() { "all of it" } else { &self.path };
        let path = shown(path, SHOWN_CHARS_MAX);
        format!("{path}: {} -> {}", value(&self.before), value(&self.after))
    }
}

//! The difference of two texts, line by line, as people read it.

use std::fmt::Write as _;

/// Lines of context around a change.
const CONTEXT: usize = 3;
/// Most pairs of lines that are compared; beyond it the whole middle is shown as changed.
const PAIRS_MAX: usize = 4_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Both,
    Old,
    New,
}

/// The difference, with `+` and `-`; empty when there is none.
pub(super) fn diff(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let lines = compared(&old, &new);
    let is_change = |at: usize| lines.get(at).is_some_and(|(side, _)| *side != Side::Both);
    let mut out = String::new();
    let mut skipped = false;
    for (at, (side, line)) in lines.iter().enumerate() {
        let near = (at.saturating_sub(CONTEXT)..=at + CONTEXT).any(is_change);
        if !near {
            skipped = true;
            continue;
        }
        if std::mem::take(&mut skipped) {
            out.push_str("   ...\n");
        }
        let mark = match side {
            Side::Both => ' ',
            Side::Old => '-',
            Side::New => '+',
        };
        let _ = writeln!(out, " {mark} {line}");
    }
    out
}

/// All lines in order, each with where it stands.
fn compared<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Side, &'a str)> {
    let same = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (head, old) = old.split_at(same);
    let new = new.get(same..).unwrap_or_default();
    let same = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old, tail) = old.split_at(old.len() - same);
    let new = new.get(..new.len() - same).unwrap_or_default();
    let both = |lines: &[&'a str]| lines.iter().map(|line| (Side::Both, *line)).collect::<Vec<_>>();
    let mut out = both(head);
    out.extend(middle(old, new));
    out.extend(both(tail));
    out
}

/// The longest common lines of the middle, and what is between them.
fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Side, &'a str)> {
    let width = new.len() + 1;
    let mut lengths =
        vec![0_u32; if old.len() * width > PAIRS_MAX { 0 } else { (old.len() + 1) * width }];
    let length =
        |lengths: &[u32], i: usize, j: usize| lengths.get(i * width + j).copied().unwrap_or(0);
    if !lengths.is_empty() {
        for (i, left) in old.iter().enumerate().rev() {
            for (j, right) in new.iter().enumerate().rev() {
                let best = if left == right {
                    length(&lengths, i + 1, j + 1) + 1
                } else {
                    length(&lengths, i + 1, j).max(length(&lengths, i, j + 1))
                };
                if let Some(place) = lengths.get_mut(i * width + j) {
                    *place = best;
                }
            }
        }
    }
    let mut out = Vec::new();
    let (mut i, mut j) = (0, 0);
    loop {
        match (old.get(i), new.get(j)) {
            (Some(left), Some(right)) if left == right => {
                out.push((Side::Both, *left));
                (i, j) = (i + 1, j + 1);
            }
            (Some(left), Some(_)) if length(&lengths, i + 1, j) >= length(&lengths, i, j + 1) => {
                out.push((Side::Old, *left));
                i += 1;
            }
            (Some(left), None) => {
                out.push((Side::Old, *left));
                i += 1;
            }
            (_, Some(right)) => {
                out.push((Side::New, *right));
                j += 1;
            }
            (None, None) => return out,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::diff;

    #[test]
    fn a_difference_shows_what_changed_and_a_little_around_it() {
        assert_eq!(diff("a\nb\n", "a\nb\n"), "");
        assert_eq!(diff("a\nb\nc\n", "a\nx\nc\n"), "   a\n - b\n + x\n   c\n");
        assert_eq!(diff("", "a\n"), " + a\n");
        let old: String = (0..40).map(|n| format!("{n}\n")).collect();
        let new = old.replace("3\n4\n5", "3\nnew\n4\n5").replace("30\n", "");
        let shown = diff(&old, &new);
        assert!(
            shown.contains(" + new\n") && shown.contains(" - 30\n") && shown.contains("   ...\n")
        );
        assert!(!shown.contains("   20\n"), "{shown}");
    }
}

//! Ids as people write them: whole, or as much of the beginning or the end as tells one from the others.
//!
//! Tables on a narrow terminal cut ids; what is left of one, the sign of the cut included, is taken back.
//! A piece that fits several is refused with their names: nothing is guessed.

use crate::desk::LINE_CHARS_MAX;
use crate::exit::Failure;
use tollgate::gate::text::shown;

/// Fewest characters of an id that stand for it.
pub(crate) const PIECE_CHARS_MIN: usize = 4;
/// Fewest characters of an id that a table shows.
const SHOWN_CHARS_MIN: usize = 8;
/// Most of them that a table insists on.
const SHOWN_CHARS_MAX: usize = 36;
/// Ids that a refusal names.
const NAMED_MAX: usize = 3;

/// The one of these ids that is meant; none if there is no such one. `what` says what they are ids of.
pub(crate) fn meant<'a>(
    asked: &str,
    what: &str,
    ids: impl IntoIterator<Item = &'a str>,
) -> Result<Option<&'a str>, Failure> {
    let piece = asked.trim_end_matches('…');
    let mut found: Vec<&str> = Vec::new();
    for id in ids {
        if id == asked {
            return Ok(Some(id));
        }
        let fits = id.starts_with(piece) || id.ends_with(piece);
        if piece.chars().count() >= PIECE_CHARS_MIN && fits && !found.contains(&id) {
            found.push(id);
        }
    }
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        several => Err(ambiguous(asked, what, several)),
    }
}

fn ambiguous(asked: &str, what: &str, several: &[&str]) -> Failure {
    let mut names: Vec<String> = several
        .iter()
        .take(NAMED_MAX)
        .map(|id| format!("`{}`", shown(id, LINE_CHARS_MAX)))
        .collect();
    if several.len() > NAMED_MAX {
        names.push("...".to_owned());
    }
    let (many, asked) = (several.len(), shown(asked, LINE_CHARS_MAX));
    let message = format!("{many} {what}s fit `{asked}`: {}", names.join(", "));
    Failure::usage(message, "write more of the id")
}

/// How many characters of these ids a table must show, the sign of a cut included, so that each is told
/// from the others.
pub(crate) fn least<'a>(ids: impl IntoIterator<Item = &'a str>) -> usize {
    let mut all: Vec<&str> = ids.into_iter().collect();
    all.sort_unstable();
    all.dedup();
    let same = |pair: &[&str]| match pair {
        [one, other] => one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count(),
        _ => 0,
    };
    let apart = all.windows(2).map(same).max().unwrap_or_default() + 1;
    apart.clamp(SHOWN_CHARS_MIN, SHOWN_CHARS_MAX) + 1
}

#[cfg(test)]
mod tests {
    use super::{least, meant};

    const IDS: [&str; 3] = ["0199-aaaa-1111", "0199-aabb-2222", "s1"];

    #[test]
    fn the_whole_the_beginning_or_the_end_of_an_id_stands_for_it() {
        for piece in ["0199-aaaa-1111", "0199-aaa", "0199-aaa…", "1111"] {
            assert_eq!(meant(piece, "session", IDS).unwrap(), Some(IDS[0]), "{piece}");
        }
        assert_eq!(meant("s1", "session", IDS).unwrap(), Some("s1"));
        for nothing in ["", "…", "s", "019", "0199-x"] {
            assert_eq!(meant(nothing, "session", IDS).unwrap(), None, "{nothing}");
        }
    }

    #[test]
    fn a_piece_that_fits_several_is_refused_with_their_names() {
        let refused = meant("0199-aa", "session", IDS).unwrap_err().to_string();
        assert!(refused.contains("2 sessions fit `0199-aa`"), "{refused}");
        assert!(refused.contains(IDS[0]) && refused.contains(IDS[1]), "{refused}");
        // One that is another's beginning is itself.
        assert_eq!(meant("0199", "session", ["0199", "0199-aa"]).unwrap(), Some("0199"));
    }

    #[test]
    fn a_table_shows_as_much_as_tells_ids_apart() {
        assert_eq!(least(IDS), 9);
        assert_eq!(least(["0199-aaaa-1111", "0199-aaaa-1112"]), 15);
        assert_eq!(least([]), 9);
    }
}

//! The strict reader against `serde_json`, and globs against a reference that is slow and plain.

use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::{collection::vec, prop_assert, prop_assert_eq, proptest};
use tollgate_gate::{Glob, Json, Number, Object};

fn numbers() -> impl Strategy<Value = String> {
    "-?(0|[1-9][0-9]{0,40})([.][0-9]{1,25})?([eE][+-]?[0-9]{1,4})?"
}

fn values() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        numbers().prop_map(|text| Json::from(Number::from_literal(&text).unwrap())),
        any::<String>().prop_map(Json::from),
        any::<f64>().prop_map(|f| Number::from_f64(f).map(Json::from).unwrap_or_default()),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Json::Array),
            vec((any::<String>(), inner), 0..24)
                .prop_map(|members| Json::Object(Object::from_iter(members))),
        ]
    })
}

proptest! {
    #[test]
    fn every_number_is_written_as_it_was_read(text in numbers()) {
        prop_assert_eq!(Json::read(text.as_bytes()).unwrap().text(), text);
    }

    #[test]
    fn what_is_written_is_read_back_the_same(value in values()) {
        prop_assert_eq!(&Json::read(value.text().as_bytes()).unwrap(), &value);
        let canonical = value.canonical_text();
        let again = Json::read(canonical.as_bytes()).unwrap();
        prop_assert_eq!(&again, &value);
        prop_assert_eq!(again.canonical_text(), canonical);
        prop_assert_eq!(Json::from_serialize(&value).unwrap(), value);
    }

    #[test]
    fn accepted_texts_mean_to_serde_json_what_they_mean_here(value in values()) {
        let text = value.text();
        // Numbers that no float reaches are beyond serde_json; everything else must agree.
        if let Ok(theirs) = serde_json::from_str::<serde_json::Value>(&text) {
            let ours = serde_json::Value::from(&Json::read(text.as_bytes()).unwrap());
            prop_assert!(is_same(&ours, &theirs), "{} {}", ours, theirs);
        }
    }

    /// Whatever is accepted here is accepted there, and nothing makes the reader fall over.
    #[test]
    fn hardly_json_is_never_read_more_generously_than_by_serde_json(
        text in "[\\[\\]{}:,\"\\\\u0-9a-fA-Fntrlse.+ -]{0,24}",
    ) {
        if let Ok(value) = Json::read(text.as_bytes()) {
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            let is_large = theirs.as_ref().err().is_some_and(|e| e.to_string().contains("out of range"));
            prop_assert!(theirs.is_ok() || is_large, "{} as {:?}", text, value);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..64)) {
        if let Ok(value) = Json::read(&bytes) {
            prop_assert!(Json::read(value.text().as_bytes()).is_ok());
        }
    }
}

/// Equal, but for the last bits of floats: `serde_json` reads long ones to the nearest but one.
fn is_same(a: &serde_json::Value, b: &serde_json::Value) -> bool {
    use serde_json::Value;
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let same = |(key, a): (&String, &Value)| b.get(key).is_some_and(|b| is_same(a, b));
            a.len() == b.len() && a.iter().all(same)
        }
        (Value::Number(a), Value::Number(b)) => match (a.as_f64(), b.as_f64()) {
            (Some(x), Some(y)) => a == b || (x - y).abs() <= x.abs() * 1e-15 + f64::MIN_POSITIVE,
            _ => false,
        },
        (a, b) => a == b,
    }
}

/// A pattern in pieces, so that the reference needs no parser.
#[derive(Debug, Clone)]
enum Piece {
    Char(char),
    Any,
    Run,
    Class(bool, Vec<char>),
    Either(Vec<String>),
}

fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let letter = || proptest::sample::select(&['a', 'b', '/', 'é', '.'][..]);
    let piece = prop_oneof![
        4 => letter().prop_map(Piece::Char),
        1 => Just(Piece::Any),
        2 => Just(Piece::Run),
        1 => (any::<bool>(), vec(letter(), 1..3)).prop_map(|(not, of)| Piece::Class(not, of)),
        1 => vec("[ab/é.]{0,2}", 1..3).prop_map(Piece::Either),
    ];
    vec(piece, 1..7)
}

fn pattern(pieces: &[Piece]) -> String {
    let of = |piece: &Piece| match piece {
        Piece::Char(c) => c.to_string(),
        Piece::Any => "?".to_owned(),
        Piece::Run => "*".to_owned(),
        Piece::Class(not, of) => {
            format!("[{}{}]", if *not { "!" } else { "" }, of.iter().collect::<String>())
        }
        Piece::Either(of) => format!("{{{}}}", of.join(",")),
    };
    pieces.iter().map(of).collect()
}

/// Tries everything. `in_path`: `*` and `?` stop at a slash, two stars do not.
fn matches(pieces: &[Piece], text: &[char], in_path: bool) -> bool {
    let Some((piece, rest)) = pieces.split_first() else {
        return text.is_empty();
    };
    let first = text.first().copied();
    let one = |fits: bool| fits && matches(rest, &text[1..], in_path);
    match piece {
        Piece::Char(c) => one(first == Some(*c)),
        Piece::Any => one(first.is_some_and(|c| !in_path || c != '/')),
        Piece::Class(not, of) => one(first.is_some_and(|c| of.contains(&c) != *not)),
        Piece::Run => (0..=text.len())
            .take_while(|end| !in_path || !text[..*end].contains(&'/'))
            .any(|end| matches(rest, &text[end..], in_path)),
        Piece::Either(of) => of.iter().any(|word| {
            let word: Vec<char> = word.chars().collect();
            text.starts_with(&word) && matches(rest, &text[word.len()..], in_path)
        }),
    }
}

fn has_two_stars(pattern: &str) -> bool {
    pattern.contains("**") || pattern.contains("*{")
}

proptest! {
    #[test]
    fn text_globs_match_as_the_plain_reference_does(
        pieces in pieces(), texts in vec("[ab/é.]{0,6}", 1..12),
    ) {
        let glob = Glob::text(&pattern(&pieces)).unwrap();
        for text in texts {
            let chars: Vec<char> = text.chars().collect();
            prop_assert_eq!(glob.matches(&text), matches(&pieces, &chars, false), "{:?} {}", glob, text);
        }
    }

    #[test]
    fn path_globs_without_two_stars_match_as_the_plain_reference_does(
        pieces in pieces(), texts in vec("[ab/é.]{0,6}", 1..12),
    ) {
        let pattern = pattern(&pieces);
        // Two stars in a row mean something else in a path, and an empty alternative makes them.
        if has_two_stars(&pattern) {
            return Ok(());
        }
        let glob = Glob::path(&pattern).unwrap();
        for text in texts {
            let chars: Vec<char> = text.chars().collect();
            prop_assert_eq!(glob.matches(&text), matches(&pieces, &chars, true), "{:?} {}", glob, text);
        }
    }

    #[test]
    fn any_pattern_compiles_or_is_refused_and_matches_in_peace(
        pattern in "[ab*?{},!^\\[\\]\\\\/-]{1,12}", text in "[ab/]{0,8}",
    ) {
        for glob in [Glob::text(&pattern), Glob::path(&pattern)].into_iter().flatten() {
            let first = glob.matches(&text);
            prop_assert_eq!(first, glob.matches(&text));
            if let Some(literals) = glob.literals() {
                prop_assert_eq!(first, literals.contains(&text.as_str()));
            }
        }
    }
}

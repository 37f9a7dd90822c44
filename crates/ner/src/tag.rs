//! What a model calls a token, and names made of such tokens.
//!
//! Models write `B-PER`, `PER-B`, `I-GIVEN_NAME`, `S-ORG`: begin, inside and so on, and a word of their
//! own. Words that are not about names are outside for us.

use std::ops::Range;
use tollgate_detect::{Kind, NameSpan};

/// How a token belongs to what is before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Begins,
    GoesOn,
}

/// The tag of a token that belongs to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    kind: Kind,
    /// The model's own word, numbered: a given name and a surname make one name.
    word: usize,
    part: Part,
}

/// Tags by their number in the model; `None`: outside.
#[derive(Debug)]
pub(crate) struct Tags(Vec<Option<Tag>>);

impl Tags {
    /// The tags that these texts stand for.
    pub(crate) fn of(texts: &[String]) -> Tags {
        let mut words: Vec<&str> = Vec::new();
        let mut tags = Vec::with_capacity(texts.len());
        for text in texts {
            let Some((part, word)) = split(text) else {
                tags.push(None);
                continue;
            };
            let number = words.iter().position(|known| *known == word).unwrap_or_else(|| {
                words.push(word);
                words.len() - 1
            });
            tags.push(kind(word).map(|kind| Tag { kind, word: number, part }));
        }
        Tags(tags)
    }

    /// How many tags there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether any of them is about a name.
    pub(crate) fn has_names(&self) -> bool {
        self.0.iter().any(Option::is_some)
    }

    pub(crate) fn get(&self, number: usize) -> Option<Tag> {
        self.0.get(number).copied().flatten()
    }
}

fn split(text: &str) -> Option<(Part, &str)> {
    let (mark, word) = match text.split_once(['-', '_']) {
        Some((mark @ ("B" | "I" | "E" | "L" | "S" | "U"), word)) => (mark, word),
        Some(_) | None => {
            let (word, mark) = text.rsplit_once('-')?;
            (mark, word)
        }
    };
    match mark {
        "B" | "S" | "U" => Some((Part::Begins, word)),
        "I" | "E" | "L" | "M" => Some((Part::GoesOn, word)),
        _ => None,
    }
}

/// The kind of datum that a model's word means. `nr`, `ns` and `nt` are LAC's words of grammar.
fn kind(word: &str) -> Option<Kind> {
    match word.to_ascii_uppercase().as_str() {
        "PER" | "PERSON" | "NAME" | "GIVEN_NAME" | "GIVENNAME" | "SURNAME" | "FIRSTNAME"
        | "FIRST_NAME" | "LASTNAME" | "LAST_NAME" | "MIDDLENAME" | "MIDDLE_NAME" | "NR" => {
            Some(Kind::Person)
        }
        "ORG" | "ORGANIZATION" | "ORGANISATION" | "COMPANY" | "COMPANYNAME" | "NT" => {
            Some(Kind::Organization)
        }
        "LOC" | "LOCATION" | "GPE" | "PLACE" | "CITY" | "NS" => Some(Kind::Place),
        _ => None,
    }
}

/// A token with its tag.
#[derive(Debug, Clone)]
pub(crate) struct Tagged {
    pub(crate) range: Range<usize>,
    pub(crate) tag: Option<Tag>,
    pub(crate) score: f32,
}

/// The names that tokens make, by position. A name goes on over blanks; its score is its weakest token's.
pub(crate) fn names(text: &str, tokens: impl IntoIterator<Item = Tagged>) -> Vec<NameSpan> {
    let mut names: Vec<NameSpan> = Vec::new();
    let mut last: Option<Tag> = None;
    for token in tokens {
        let Some(tag) = token.tag else {
            last = None;
            continue;
        };
        let open = names.last_mut().filter(|name| {
            let near = |last: Tag| {
                last.kind == tag.kind && (tag.part == Part::GoesOn || last.word != tag.word)
            };
            let gap = text.get(name.range.end..token.range.start);
            last.is_some_and(near) && gap.is_some_and(|gap| gap.chars().all(char::is_whitespace))
        });
        match open {
            Some(name) => {
                name.range.end = token.range.end;
                name.score = name.score.min(token.score);
            }
            None => names.push(NameSpan { range: token.range, kind: tag.kind, score: token.score }),
        }
        last = Some(tag);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::{Tagged, Tags, names};
    use tollgate_detect::Kind;

    fn tags() -> Tags {
        let texts =
            ["O", "B-GIVEN_NAME", "I-GIVEN_NAME", "B-SURNAME", "I-SURNAME", "ORG-B", "B-PHONE"];
        Tags::of(&texts.map(str::to_owned))
    }

    fn of(text: &str, tokens: &[(usize, usize, usize)]) -> Vec<(String, Kind)> {
        let tags = tags();
        let tagged = tokens.iter().map(|(start, end, number)| Tagged {
            range: *start..*end,
            tag: tags.get(*number),
            score: 0.9,
        });
        let found = names(text, tagged);
        found.into_iter().map(|name| (text[name.range].to_owned(), name.kind)).collect()
    }

    #[test]
    fn a_given_name_and_a_surname_are_one_name_and_two_given_names_are_two() {
        let anna = "Anna Berg";
        assert_eq!(of(anna, &[(0, 4, 1), (5, 9, 3)]), [("Anna Berg".to_owned(), Kind::Person)]);
        let two = of("Anna Bert", &[(0, 4, 1), (5, 9, 1)]);
        assert_eq!(two.len(), 2);
        let split = of("Anna, Berg", &[(0, 4, 1), (6, 10, 3)]);
        assert_eq!(split.len(), 2);
    }

    #[test]
    fn pieces_of_a_word_are_one_name_and_what_is_no_name_is_outside() {
        assert_eq!(of("Schmidt", &[(0, 3, 3), (3, 7, 4)]), [("Schmidt".to_owned(), Kind::Person)]);
        assert_eq!(of("ACME", &[(0, 4, 5)]), [("ACME".to_owned(), Kind::Organization)]);
        assert!(of("5551234", &[(0, 7, 6)]).is_empty());
    }
}

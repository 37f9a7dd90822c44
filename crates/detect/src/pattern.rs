//! Token patterns: the small part of the regex language that token formats need, matched without
//! backtracking.
//!
//! A pattern is a sequence of literals, byte classes with a count (`[A-Za-z0-9]{36}`), groups of
//! literals (`(live|test)`) and a `?` after either. Every part takes as much as it may and is never
//! reconsidered, so a match costs one look at each byte, and a pattern is parsed in about a
//! microsecond, where a regex compiles in a hundred. A test holds every rule against the `regex`
//! crate. Anything else (nested groups, anchors, dots) is refused when the pattern is parsed.

use crate::ascii::{ByteSet, at, cut};

/// Longest run a `+` or `{n,}` may take, in bytes.
pub(crate) const RUN_BYTES_MAX: usize = 4096;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Literal(Vec<u8>),
    Run { set: ByteSet, min: usize, max: usize },
    OneOf { options: Vec<Vec<u8>>, optional: bool },
}

/// A parsed pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    parts: Vec<Part>,
    /// Index of the part at which a keyword hit is aligned.
    anchor: usize,
    /// How far into the anchor literal the keyword stands.
    anchor_offset: usize,
}

/// Why a pattern was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("pattern part `{0}` is not supported")]
pub(crate) struct PatternError(String);

impl Pattern {
    /// Parses a pattern whose keyword hits are aligned by `keywords` (none: matched from its start).
    pub(crate) fn parse(source: &str, keywords: &[&str]) -> Result<Self, PatternError> {
        let parts = parse_parts(source)?;
        let (anchor, anchor_offset) = parts
            .iter()
            .enumerate()
            .find_map(|(index, part)| {
                let place =
                    keywords.iter().find_map(|keyword| aligned(part, keyword.as_bytes()))?;
                Some((index, place))
            })
            .unwrap_or((0, 0));
        Ok(Self { parts, anchor, anchor_offset })
    }

    /// Whether a match begins where its keyword does.
    pub(crate) fn begins_with_keyword(&self) -> bool {
        self.anchor == 0 && self.anchor_offset == 0
    }

    /// The span that matches with the keyword standing at `hit`.
    pub(crate) fn match_around(&self, bytes: &[u8], hit: usize) -> Option<(usize, usize)> {
        let anchored = hit.checked_sub(self.anchor_offset)?;
        let mut start = anchored;
        for part in self.parts.get(..self.anchor)?.iter().rev() {
            start = match part {
                Part::Literal(literal) => {
                    let begin = start.checked_sub(literal.len())?;
                    (cut(bytes, begin, start) == literal.as_slice()).then_some(begin)?
                }
                Part::Run { set, min, max } => {
                    let head = bytes.get(..start)?;
                    let taken =
                        head.iter().rev().take(*max).take_while(|byte| set.has(**byte)).count();
                    (taken >= *min).then_some(start - taken)?
                }
                Part::OneOf { options, optional } => options
                    .iter()
                    .filter_map(|option| start.checked_sub(option.len()).map(|b| (b, option)))
                    .find(|(begin, option)| cut(bytes, *begin, start) == option.as_slice())
                    .map(|(begin, _)| begin)
                    .or_else(|| optional.then_some(start))?,
            };
        }
        let end = match_parts(self.parts.get(self.anchor..)?, bytes, anchored)?;
        Some((start, end))
    }

    /// Where a match that begins at `start` ends.
    pub(crate) fn match_at(&self, bytes: &[u8], start: usize) -> Option<usize> {
        match_parts(&self.parts, bytes, start)
    }

    /// Whether the datum may end at `end`: the next byte would not have belonged to it.
    pub(crate) fn closes(&self, bytes: &[u8], end: usize) -> bool {
        let next = at(bytes, end);
        if next.is_ascii_alphanumeric() || next == b'_' {
            return false;
        }
        match self.parts.last() {
            // A run that reached its maximum with more of the same behind it is another thing, but a
            // hyphen or full stop may well be the sentence's.
            Some(Part::Run { set, .. }) => !set.has(next) || matches!(next, b'-' | b'.' | b'='),
            Some(Part::Literal(_) | Part::OneOf { .. }) | None => true,
        }
    }

    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }
}

fn match_parts(parts: &[Part], bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    for part in parts {
        let rest = bytes.get(at..)?;
        at += match part {
            Part::Literal(literal) => rest.starts_with(literal).then_some(literal.len())?,
            Part::Run { set, min, max } => {
                let taken = rest.iter().take(*max).take_while(|byte| set.has(**byte)).count();
                (taken >= *min).then_some(taken)?
            }
            Part::OneOf { options, optional } => options
                .iter()
                .find(|option| rest.starts_with(option))
                .map(Vec::len)
                .or_else(|| optional.then_some(0))?,
        };
    }
    Some(at)
}

/// How far into the part a keyword begins that starts in it.
fn aligned(part: &Part, keyword: &[u8]) -> Option<usize> {
    match part {
        Part::Literal(literal) if keyword.starts_with(literal) => Some(0),
        Part::Literal(literal) => find(literal, keyword),
        Part::OneOf { options, .. } => options
            .iter()
            .any(|option| option.starts_with(keyword) || keyword.starts_with(option))
            .then_some(0),
        Part::Run { .. } => None,
    }
}

fn find(hay: &[u8], needle: &[u8]) -> Option<usize> {
    hay.windows(needle.len().max(1)).position(|window| window == needle)
}

fn parse_parts(source: &str) -> Result<Vec<Part>, PatternError> {
    let mut parts: Vec<Part> = Vec::new();
    let mut rest = source.as_bytes();
    while let [first, tail @ ..] = rest {
        match first {
            b'[' => {
                let (set, after) = parse_class(tail, source)?;
                let (min, max, after) = parse_count(after, source)?;
                parts.push(Part::Run { set, min, max });
                rest = after;
            }
            b'(' => {
                let close = tail.iter().position(|byte| *byte == b')');
                let (inside, after) = close
                    .and_then(|close| Some((tail.get(..close)?, tail.get(close + 1..)?)))
                    .ok_or_else(|| PatternError(source.to_owned()))?;
                let options = inside.split(|byte| *byte == b'|').map(unescape).collect();
                let optional = after.first() == Some(&b'?');
                parts.push(Part::OneOf { options, optional });
                rest = if optional { after.get(1..).unwrap_or(&[]) } else { after };
            }
            b'*' | b'+' | b'?' | b'{' | b')' | b'|' | b'.' | b'^' | b'$' => {
                return Err(PatternError(source.to_owned()));
            }
            _ => {
                let (byte, after) = match rest {
                    [b'\\', escaped, after @ ..] => (*escaped, after),
                    _ => (*first, tail),
                };
                match parts.last_mut() {
                    Some(Part::Literal(literal)) => literal.push(byte),
                    _ => parts.push(Part::Literal(vec![byte])),
                }
                rest = after;
            }
        }
    }
    Ok(parts)
}

fn unescape(source: &[u8]) -> Vec<u8> {
    source.iter().copied().filter(|byte| *byte != b'\\').collect()
}

fn parse_class<'a>(source: &'a [u8], whole: &str) -> Result<(ByteSet, &'a [u8]), PatternError> {
    let mut set = ByteSet::EMPTY;
    let mut rest = source;
    loop {
        rest = match rest {
            [b']', after @ ..] => return Ok((set, after)),
            [b'\\', byte, after @ ..] => {
                set = set.with_range(*byte, *byte);
                after
            }
            [low, b'-', high, after @ ..] if *high != b']' => {
                set = set.with_range(*low, *high);
                after
            }
            [byte, after @ ..] => {
                set = set.with_range(*byte, *byte);
                after
            }
            [] => return Err(PatternError(whole.to_owned())),
        };
    }
}

fn parse_count<'a>(
    source: &'a [u8],
    whole: &str,
) -> Result<(usize, usize, &'a [u8]), PatternError> {
    match source {
        [b'+', after @ ..] => Ok((1, RUN_BYTES_MAX, after)),
        [b'*', after @ ..] => Ok((0, RUN_BYTES_MAX, after)),
        [b'?', after @ ..] => Ok((0, 1, after)),
        [b'{', after @ ..] => {
            let wrong = || PatternError(whole.to_owned());
            let close = after.iter().position(|byte| *byte == b'}').ok_or_else(wrong)?;
            let inside = after.get(..close).and_then(|inside| std::str::from_utf8(inside).ok());
            let inside = inside.ok_or_else(wrong)?;
            let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
            let (min, max) = match inside.split_once(',') {
                None => (number(inside)?, number(inside)?),
                Some((min, "")) => (number(min)?, RUN_BYTES_MAX),
                Some((min, max)) => (number(min)?, number(max)?),
            };
            Ok((min, max, after.get(close + 1..).unwrap_or(&[])))
        }
        _ => Ok((1, 1, source)),
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn a_keyword_in_the_middle_aligns_the_pattern() {
        let pattern = Pattern::parse("[0-9]{8,10}:AA[A-Za-z0-9_-]{33}", &[":AA"]).unwrap();
        let text = format!("bot12345678:AA{}", "x".repeat(33));
        assert_eq!(pattern.match_around(text.as_bytes(), 11), Some((3, 47)));
    }

    #[test]
    fn what_would_need_backtracking_is_refused() {
        for source in ["a.*b", "(a|b", "[a", "a{2}", "^a", "[a]{x}"] {
            assert!(Pattern::parse(source, &[]).is_err(), "{source}");
        }
    }

    #[test]
    fn an_optional_group_may_be_absent() {
        let pattern = Pattern::parse("discord(app)?\\.com", &["discord"]).unwrap();
        assert_eq!(pattern.match_at(b"discord.com", 0), Some(11));
        assert_eq!(pattern.match_at(b"discordapp.com", 0), Some(14));
    }
}

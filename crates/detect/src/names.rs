//! Names of persons without a model: cues, a list of given names, and Chinese surnames.
//!
//! What it can do is modest and stated: a name behind a cue (`Mr.`, `Dear`, `name:`, 联系人), a listed
//! given name before another capitalised word, a Chinese surname with one or two characters at a cue,
//! before a title or before a telephone number. It does not know names that are not listed and stand
//! without a cue; a model behind [`NameModel`](crate::NameModel) does.

mod lists;

pub(crate) use lists::{GIVEN, WESTERN_CUES, ZH_CUES, ZH_RIGHTS, ZH_TITLES};

use crate::ascii::{ByteSet, at, before, cut, run_end};
use crate::hit::Hit;
use crate::rules::Coded;
use lists::{NOT_NAMES, SURNAMES_ZH, SURNAMES_ZH_TWO, WORDS_ZH};

/// A capitalised word at `start`: its end.
fn capitalised(text: &str, start: usize) -> Option<usize> {
    let rest = text.get(start..)?;
    let mut chars = rest.char_indices();
    let (_, first) = chars.next()?;
    if !first.is_uppercase() || first.len_utf8() > 2 {
        return None;
    }
    let mut end = first.len_utf8();
    let mut lower = 0;
    let mut previous = first;
    for (place, char) in chars {
        let joins = matches!(char, '-' | '\'' | '’') && previous.is_lowercase();
        let fits = char.is_lowercase() || joins || char.is_uppercase() && !previous.is_uppercase();
        if !(fits && char.len_utf8() <= 3) || place > 24 {
            break;
        }
        lower += usize::from(char.is_lowercase());
        end = place + char.len_utf8();
        previous = char;
    }
    let word = rest.get(..end)?.trim_end_matches(['-', '\'', '’']);
    let next = at(rest.as_bytes(), word.len());
    let stops = next == b'_' || next.is_ascii_digit() || next.is_ascii_uppercase() || next == b'(';
    (lower >= 1 && !stops && !NOT_NAMES.contains(&word)).then_some(start + word.len())
}

/// Up to three capitalised words from `start`; how many there were, and where they end.
fn words(text: &str, start: usize) -> (usize, usize) {
    let mut count = 0;
    let mut end = start;
    let mut place = start;
    while count < 3 {
        let initial = at(text.as_bytes(), place).is_ascii_uppercase()
            && at(text.as_bytes(), place + 1) == b'.';
        let next = if initial && count > 0 { Some(place + 2) } else { capitalised(text, place) };
        let Some(next) = next else { break };
        (count, end) = (count + 1, next);
        if at(text.as_bytes(), next) != b' ' {
            break;
        }
        place = next + 1;
    }
    (count, end)
}

/// The name behind a western cue at `hit`.
pub(crate) fn cued(text: &str, hit: usize, cue: &str) -> Option<Hit> {
    let bytes = text.as_bytes();
    if before(bytes, hit).is_ascii_alphanumeric() {
        return None;
    }
    let key = cue.chars().next().is_some_and(char::is_lowercase);
    let mut start = hit + cue.len();
    if key {
        let operator = run_end(bytes, start, ByteSet::of("\"'\\ :="));
        let assigns = |byte: &u8| matches!(byte, b':' | b'=');
        (cut(bytes, start, operator).iter().any(assigns) || cue.bytes().any(|b| assigns(&b)))
            .then_some(())?;
        start = operator;
    } else {
        start = run_end(bytes, start, ByteSet::of(". ,"));
    }
    for title in ["Mr.", "Mrs.", "Ms.", "Dr.", "Prof."] {
        if text.get(start..).is_some_and(|rest| rest.starts_with(title)) {
            start = run_end(bytes, start + title.len(), ByteSet::of(" "));
        }
    }
    let (count, end) = words(text, start);
    let least = if key || cue == "Dear" { 2 } else { 1 };
    let titled = !key && cue != "Dear";
    (count >= least || titled && count == 1).then(|| {
        Hit::datum(start, end, Coded::PersonCued.index(), if count > 1 { 0.75 } else { 0.65 })
    })
}

/// A listed given name at `hit` before another capitalised word.
pub(crate) fn listed(text: &str, hit: usize, name: &str) -> Option<Hit> {
    let bytes = text.as_bytes();
    let opens = !crate::ascii::is_word(before(bytes, hit)) && before(bytes, hit) < 0x80;
    if !opens || at(bytes, hit + name.len()) != b' ' {
        return None;
    }
    let (count, end) = words(text, hit);
    let place = matches!(at(bytes, end + 1), b'S' | b'R' | b'A')
        && text.get(end..).is_some_and(|rest| {
            [" Street", " Road", " Avenue", " Airport", " River"]
                .iter()
                .any(|place| rest.starts_with(place))
        });
    (count >= 2 && !place).then(|| Hit::datum(hit, end, Coded::PersonListed.index(), 0.6))
}

fn is_han(char: char) -> bool {
    ('\u{4E00}'..='\u{9FFF}').contains(&char)
}

/// A surname and one or two characters from `start`, not longer than to `limit` characters.
fn chinese(text: &str, start: usize) -> Option<usize> {
    let rest = text.get(start..)?;
    let han: Vec<(usize, char)> =
        rest.char_indices().take(5).take_while(|(_, char)| is_han(*char)).collect();
    let surname = if SURNAMES_ZH_TWO.iter().any(|name| rest.starts_with(name)) { 2 } else { 1 };
    let (_, first) = han.first()?;
    if surname == 1 && !SURNAMES_ZH.contains(*first) {
        return None;
    }
    if WORDS_ZH.iter().any(|word| rest.starts_with(word)) {
        return None;
    }
    let given = han.len().checked_sub(surname)?;
    // A run of Chinese that goes on is a sentence; a name at a cue stands by itself.
    if given == 0 || given > 2 {
        return None;
    }
    let last = han.last()?;
    Some(start + last.0 + last.1.len_utf8())
}

/// The Chinese name behind a cue at `hit`.
pub(crate) fn chinese_cued(text: &str, hit: usize, cue: &str) -> Option<Hit> {
    let mut start = hit + cue.len();
    while let Some(char) = text.get(start..)?.chars().next() {
        if !matches!(char, ' ' | ':' | '：' | '"' | '=' | '是' | '为' | '\\' | ',')
            || start > hit + cue.len() + 12
        {
            break;
        }
        start += char.len_utf8();
    }
    let end = chinese(text, start)?;
    Some(Hit::datum(start, end, Coded::PersonZh.index(), 0.75))
}

/// The Chinese name right before a title, or before a comma and a word for telephone, at `hit`.
pub(crate) fn chinese_before(text: &str, hit: usize, comma: bool) -> Option<Hit> {
    let head = text.get(..hit)?;
    let head = if comma {
        head.trim_end_matches([' ', '的'])
            .strip_suffix(['，', ',', '、', ':', '：'])
            .unwrap_or_else(|| head.trim_end_matches(' '))
    } else {
        head
    };
    if comma && head.len() == hit {
        return None;
    }
    let tail: Vec<(usize, char)> =
        head.char_indices().rev().take(4).take_while(|(_, char)| is_han(*char)).collect();
    for len in [3usize, 2, 4] {
        let Some((start, _)) = len.checked_sub(1).and_then(|last| tail.get(last)) else { continue };
        // At a comma the name must stand by itself; before a title a sentence may precede it.
        if comma && tail.len() > len {
            continue;
        }
        if chinese(head, *start) == Some(head.len()) {
            return Some(Hit::datum(
                *start,
                head.len(),
                Coded::PersonZh.index(),
                if comma { 0.7 } else { 0.65 },
            ));
        }
    }
    None
}

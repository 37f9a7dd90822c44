//! WordPiece, the tokenizer of the BERT family, with the place of every token in the text as it was given.
//!
//! The one at hand in the runtime's own crates loses places when a text is normalized, and places are all that a
//! mask is about. Only this form is read from `tokenizer.json`; any other is an error when it is opened.

use serde_json::Value;
use std::collections::HashMap;
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// A token: its number, its bytes in the text, and whether it goes on a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) id: i32,
    pub(crate) range: Range<usize>,
    pub(crate) inside: bool,
}

#[derive(Debug)]
pub(crate) struct WordPiece {
    vocabulary: HashMap<String, i32>,
    prefix: String,
    word_chars_max: usize,
    lowercase: bool,
    strip_accents: bool,
    unknown: i32,
    pub(crate) start: i32,
    pub(crate) end: i32,
}

/// A character as the vocabulary knows it, and the bytes it comes from.
type Read = (char, Range<usize>);

impl WordPiece {
    /// The tokenizer of a `tokenizer.json`.
    pub(crate) fn of_json(json: &Value) -> Result<WordPiece, String> {
        let is = |place: &str, wanted: &str| match json.pointer(place).and_then(Value::as_str) {
            Some(found) if found == wanted => Ok(()),
            found => Err(format!("{place} is {found:?}, and only {wanted} is known")),
        };
        is("/model/type", "WordPiece")?;
        is("/normalizer/type", "BertNormalizer")?;
        is("/pre_tokenizer/type", "BertPreTokenizer")?;
        let words = json.pointer("/model/vocab").and_then(Value::as_object);
        let words = words.ok_or("/model/vocab is no object")?;
        let number = |value: &Value| value.as_i64().and_then(|number| i32::try_from(number).ok());
        let vocabulary = words.iter().map(|(word, id)| Some((word.clone(), number(id)?)));
        let vocabulary: Option<HashMap<String, i32>> = vocabulary.collect();
        let vocabulary = vocabulary.ok_or("/model/vocab holds something that is no number")?;
        let special = |word: &str| {
            vocabulary.get(word).copied().ok_or_else(|| format!("the vocabulary has no {word}"))
        };
        let text = |place: &str, default: &'static str| {
            json.pointer(place).and_then(Value::as_str).unwrap_or(default).to_owned()
        };
        let flag = |place: &str| json.pointer(place).and_then(Value::as_bool);
        let lowercase = flag("/normalizer/lowercase").unwrap_or(true);
        let longest = json.pointer("/model/max_input_chars_per_word").and_then(Value::as_u64);
        Ok(WordPiece {
            prefix: text("/model/continuing_subword_prefix", "##"),
            word_chars_max: longest.and_then(|chars| usize::try_from(chars).ok()).unwrap_or(100),
            lowercase,
            strip_accents: flag("/normalizer/strip_accents").unwrap_or(lowercase),
            unknown: special(&text("/model/unk_token", "[UNK]"))?,
            start: special("[CLS]")?,
            end: special("[SEP]")?,
            vocabulary,
        })
    }

    /// The tokens of a text, without marks at start and end.
    pub(crate) fn tokens(&self, text: &str) -> Vec<Token> {
        let mut tokens = Vec::new();
        let mut word: Vec<Read> = Vec::new();
        for (start, char) in text.char_indices() {
            let range = start..start + char.len_utf8();
            if is_dropped(char) {
                continue;
            }
            let alone = is_mark(char) || is_ideograph(char);
            if alone || char.is_whitespace() {
                self.end_word(&mut word, &mut tokens);
            }
            if char.is_whitespace() {
                continue;
            }
            word.extend(self.normalized(char).into_iter().map(|char| (char, range.clone())));
            if alone {
                self.end_word(&mut word, &mut tokens);
            }
        }
        self.end_word(&mut word, &mut tokens);
        tokens
    }

    fn normalized(&self, char: char) -> Vec<char> {
        let mut chars = vec![char];
        if self.strip_accents {
            chars = chars.into_iter().nfd().filter(|char| !is_combining_mark(*char)).collect();
        }
        if self.lowercase {
            chars = chars.into_iter().flat_map(char::to_lowercase).collect();
        }
        chars
    }

    /// Splits a word into the longest pieces that the vocabulary knows, from the left.
    fn end_word(&self, word: &mut Vec<Read>, tokens: &mut Vec<Token>) {
        let word = std::mem::take(word);
        let (Some(first), Some(last)) = (word.first(), word.last()) else { return };
        let whole = first.1.start..last.1.end;
        let known = tokens.len();
        let mut rest = word.as_slice();
        while !rest.is_empty() && word.len() <= self.word_chars_max {
            let inside = rest.len() < word.len();
            let Some((id, len)) = self.longest(rest, inside) else {
                tokens.truncate(known);
                break;
            };
            let (piece, behind) = rest.split_at(len);
            if let (Some(first), Some(last)) = (piece.first(), piece.last()) {
                tokens.push(Token { id, range: first.1.start..last.1.end, inside });
            }
            rest = behind;
        }
        if tokens.len() == known {
            tokens.push(Token { id: self.unknown, range: whole, inside: false });
        }
    }

    fn longest(&self, rest: &[Read], inside: bool) -> Option<(i32, usize)> {
        let mut piece = String::from(if inside { self.prefix.as_str() } else { "" });
        let bare = piece.len();
        piece.extend(rest.iter().map(|(char, _)| *char));
        let mut len = rest.len();
        while piece.len() > bare {
            if let Some(id) = self.vocabulary.get(&piece) {
                return Some((*id, len));
            }
            piece.pop();
            len -= 1;
        }
        None
    }
}

fn is_dropped(char: char) -> bool {
    char == '\0' || char == '\u{FFFD}' || char.is_control() && !char.is_whitespace()
}

/// Punctuation, as BERT means it: every sign of ASCII, and the punctuation of Unicode as far as texts hold it.
fn is_mark(char: char) -> bool {
    char.is_ascii_punctuation()
        || matches!(char,
            '\u{A1}' | '\u{A7}' | '\u{AB}' | '\u{B6}' | '\u{B7}' | '\u{BB}' | '\u{BF}'
            | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205E}'
            | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301F}'
            | '\u{FF01}'..='\u{FF0F}' | '\u{FF1A}'..='\u{FF20}' | '\u{FF3B}'..='\u{FF3D}'
            | '\u{FF3F}' | '\u{FF5B}' | '\u{FF5D}' | '\u{FF5F}'..='\u{FF65}')
}

fn is_ideograph(char: char) -> bool {
    matches!(char,
        '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{2CEAF}' | '\u{2F800}'..='\u{2FA1F}')
}

#[cfg(test)]
mod tests {
    use super::WordPiece;
    use serde_json::json;

    fn tokenizer() -> WordPiece {
        WordPiece::of_json(&json!({
            "normalizer": { "type": "BertNormalizer", "lowercase": true, "strip_accents": null },
            "pre_tokenizer": { "type": "BertPreTokenizer" },
            "model": { "type": "WordPiece", "unk_token": "[UNK]", "vocab": {
                "[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "mull": 3, "##er": 4, "ann": 5, "##a": 6, ",": 7, "王": 8,
            } },
        }))
        .unwrap()
    }

    fn pieces(text: &str) -> Vec<(i32, &str)> {
        tokenizer().tokens(text).into_iter().map(|token| (token.id, &text[token.range])).collect()
    }

    #[test]
    fn places_are_those_of_the_text_whatever_normalization_does() {
        assert_eq!(
            pieces("Müller,  ÄNNA"),
            [(3, "Müll"), (4, "er"), (7, ","), (5, "ÄNN"), (6, "A")]
        );
        assert_eq!(
            pieces("Mu\u{308}ller Anna"),
            [(3, "Mu\u{308}ll"), (4, "er"), (5, "Ann"), (6, "a")]
        );
        assert_eq!(pieces("王anna"), [(8, "王"), (5, "ann"), (6, "a")]);
    }

    #[test]
    fn a_word_that_is_unknown_or_too_long_is_one_token() {
        let long = "a".repeat(101);
        assert_eq!(pieces("xyz"), [(0, "xyz")]);
        assert_eq!(pieces(&long), [(0, long.as_str())]);
        assert!(pieces(" \t\n").is_empty());
    }

    #[test]
    fn another_form_of_tokenizer_is_refused_by_name() {
        let error = WordPiece::of_json(&json!({ "model": { "type": "BPE" } })).unwrap_err();
        assert!(error.contains("BPE") && error.contains("WordPiece"), "{error}");
    }
}

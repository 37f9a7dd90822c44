//! Texts in UTF-16, as other systems write them: read as UTF-8, with the places of the file itself.
//!
//! Only with the mark at the start that says so: without one nobody knows that it is text.

/// A text that was in UTF-16.
pub(super) struct Wide {
    pub(super) text: String,
    /// For each byte of the text, and its end, where it stands in the file.
    places: Vec<usize>,
}

/// Which way round a text in UTF-16 is, by its first two bytes.
fn order(bytes: &[u8]) -> Option<fn([u8; 2]) -> u16> {
    match bytes {
        [0xff, 0xfe, ..] => Some(u16::from_le_bytes),
        [0xfe, 0xff, ..] => Some(u16::from_be_bytes),
        _ => None,
    }
}

/// Whether a text says that it is in UTF-16.
pub(crate) fn is_wide(bytes: &[u8]) -> bool {
    order(bytes).is_some()
}

impl Wide {
    /// The text; `None`: these bytes do not say that they are UTF-16.
    pub(super) fn of(bytes: &[u8]) -> Option<Wide> {
        let order = order(bytes)?;
        let mut wide = Wide { text: String::with_capacity(bytes.len() / 2), places: Vec::new() };
        let mut place = 2;
        let (pairs, _) = bytes.get(place..)?.as_chunks::<2>();
        for char in char::decode_utf16(pairs.iter().map(|pair| order(*pair))) {
            // Half of a pair is no character.
            let char = char.unwrap_or(char::REPLACEMENT_CHARACTER);
            wide.text.push(char);
            wide.places.resize(wide.text.len(), place);
            place += 2 * char.len_utf16();
        }
        wide.places.push(place);
        Some(wide)
    }

    /// Where in the file a byte of the text stands.
    pub(super) fn place(&self, at: usize) -> usize {
        self.places.get(at).copied().unwrap_or(at)
    }
}

#[cfg(test)]
mod tests {
    use super::Wide;

    #[test]
    fn places_are_those_of_the_file() {
        let text = "a\u{1f600}\u{738b}b";
        for (mark, big) in [([0xff, 0xfe], false), ([0xfe, 0xff], true)] {
            let to_bytes = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
            let bytes: Vec<u8> =
                mark.into_iter().chain(text.encode_utf16().flat_map(to_bytes)).collect();
            let wide = Wide::of(&bytes).unwrap();
            assert_eq!(wide.text, text);
            assert_eq!(wide.place(text.find('b').unwrap()), bytes.len() - 2);
            assert_eq!(wide.place(text.len()), bytes.len());
        }
        assert!(Wide::of(b"plain").is_none());
    }
}

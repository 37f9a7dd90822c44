//! Decoding: base64 and hex, so that an encoding hides nothing.
//!
//! Only what decodes to readable text is opened; the first bytes decide, so that an image or an
//! integrity hash costs almost nothing. What is found inside masks the whole encoded run, because a
//! mask cannot stand inside an encoding.

use crate::ascii::BASE64;

/// Decodes either base64 alphabet, padded or not. `None`: not base64.
pub(crate) fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let mut bits = 0u32;
    let mut held = 0u32;
    for byte in text {
        if *byte == b'=' {
            break;
        }
        bits = (bits << 6) | symbol(*byte)?;
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    Some(out)
}

fn symbol(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

fn hex_pair(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((digit(high)? * 16 + digit(low)?) as u8)
}

/// Decodes hex.
pub(crate) fn hex(text: &[u8]) -> Option<Vec<u8>> {
    text.chunks(2)
        .map(|pair| match pair {
            [high, low] => hex_pair(*high, *low),
            _ => None,
        })
        .collect()
}

/// Whether bytes read as text: UTF-8, and hardly any control characters.
pub(crate) fn readable(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let controls = bytes
        .iter()
        .filter(|b| b.is_ascii_control() && !matches!(b, b'\n' | b'\r' | b'\t'))
        .count();
    (controls == 0).then_some(text)
}

/// The readable text that an encoded run holds.
pub(crate) fn open(run: &[u8]) -> Option<String> {
    let looks = |head: &[u8]| {
        head.iter()
            .all(|b| (0x20..0x7f).contains(b) || matches!(b, b'\n' | b'\r' | b'\t') || *b >= 0xC0)
    };
    if run.iter().all(u8::is_ascii_hexdigit) && run.len().is_multiple_of(2) {
        let head = hex(run.get(..16)?)?;
        if looks(&head)
            && let Some(text) = hex(run).as_deref().and_then(readable)
        {
            return Some(text.to_owned());
        }
    }
    let body_len = run.iter().rposition(|byte| *byte != b'=')? + 1;
    let body = run.get(..body_len)?;
    if body.len() % 4 == 1 || !body.iter().all(|byte| BASE64.has(*byte)) {
        return None;
    }
    let head = base64(body.get(..body.len().min(16))?)?;
    if !looks(&head) {
        return None;
    }
    readable(&base64(body)?).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{base64, hex, open};

    #[test]
    fn both_encodings_are_opened() {
        assert_eq!(base64(b"aGVsbG8=").as_deref(), Some(b"hello".as_slice()));
        assert_eq!(base64(b"aGVsbG8").as_deref(), Some(b"hello".as_slice()));
        assert_eq!(base64(b"a b"), None);
        assert_eq!(hex(b"68656c6c6f").as_deref(), Some(b"hello".as_slice()));
    }

    #[test]
    fn only_readable_text_is_opened() {
        assert_eq!(open(b"cGFzc3dvcmQ9aHVudGVyMg==").as_deref(), Some("password=hunter2"));
        assert_eq!(open(b"iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB"), None);
        assert_eq!(open(b"da39a3ee5e6b4b0d3255bfef95601890afd80709"), None);
    }
}

//! Decoders for the encodings that commands hide in: base64 and hexadecimal.
//!
//! Small and total, because what they are fed is hostile. Refused: text that is not clean, since the
//! caller must then say `unknown`.

/// Decodes base64 (also the URL alphabet), ignoring white space.
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let mut value = 0u32;
    let mut bits = 0;
    for byte in text.bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' | b' ' | b'\n' | b'\r' | b'\t' => continue,
            _ => return None,
        };
        value = (value << 6) | u32::from(digit);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push(((value >> bits) & 0xFF) as u8);
        }
    }
    Some(out)
}

/// Base64 of UTF-8 text.
pub(crate) fn base64_text(text: &str) -> Option<String> {
    String::from_utf8(base64(text)?).ok()
}

/// Base64 of UTF-16 text, as PowerShell's `-EncodedCommand` takes it.
pub(crate) fn base64_utf16(text: &str) -> Option<String> {
    let bytes = base64(text)?;
    let units: Vec<u16> = bytes
        .chunks_exact(2)
        .map(|pair| match pair {
            [low, high] => u16::from_le_bytes([*low, *high]),
            _ => 0,
        })
        .collect();
    String::from_utf16(&units).ok()
}

/// Base32 of UTF-8 text.
pub(crate) fn base32_text(text: &str) -> Option<String> {
    let mut out = Vec::new();
    let mut value = 0u64;
    let mut bits = 0;
    for byte in text.bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'2'..=b'7' => byte - b'2' + 26,
            b'=' | b' ' | b'\n' | b'\r' => continue,
            _ => return None,
        };
        value = ((value << 5) | u64::from(digit)) & 0xFFFF_FFFF;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            out.push(((value >> bits) & 0xFF) as u8);
        }
    }
    String::from_utf8(out).ok()
}

/// Hexadecimal of UTF-8 text.
pub(crate) fn hex_text(text: &str) -> Option<String> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()?;
    let bytes = digits.chunks_exact(2).map(|pair| match pair {
        [high, low] => ((high << 4) | low) as u8,
        _ => 0,
    });
    String::from_utf8(bytes.collect()).ok()
}

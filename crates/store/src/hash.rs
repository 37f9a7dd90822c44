//! SHA-256 values, as lines and trees hold them.
//!
//! The hash of a line is that of a leaf in RFC 6962 section 2.1, `SHA-256(0x00 || line)`, without the
//! newline. So chain and tree share one hash a line, and stock tools can check it:
//! `(printf '\0'; sed -n 5p FILE | tr -d '\n') | sha256sum`.

use sha2::{Digest, Sha256};
use std::fmt;

/// A SHA-256 value, written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct HashValue([u8; 32]);

impl HashValue {
    /// What stands before the first line.
    pub const ZERO: HashValue = HashValue([0; 32]);

    /// From its bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> HashValue {
        HashValue(bytes)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The SHA-256 of these bytes.
    pub fn of(bytes: &[u8]) -> HashValue {
        HashValue(Sha256::digest(bytes).into())
    }

    /// The hash of a line, given without its newline: that of a leaf in RFC 6962 section 2.1.
    pub fn of_line(line: &[u8]) -> HashValue {
        HashValue(Sha256::new().chain_update([0]).chain_update(line).finalize().into())
    }

    /// The hash of an inner node in RFC 6962 section 2.1.
    pub fn of_node(left: &HashValue, right: &HashValue) -> HashValue {
        let hasher = Sha256::new().chain_update([1]).chain_update(left.0).chain_update(right.0);
        HashValue(hasher.finalize().into())
    }

    /// Reads 64 lower-case hexadecimal digits; `None` for anything else.
    pub fn parse(text: &str) -> Option<HashValue> {
        parse_hex(text).map(HashValue)
    }

    /// Appends the 64 digits.
    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        let mut digits = [0; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&hex_of(byte));
        }
        out.extend_from_slice(&digits);
    }
}

/// Reads exactly `N` bytes written as lower-case hexadecimal digits; `None` for anything else.
pub(crate) fn parse_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let &[high, low] = pair else { return None };
        *byte = (digit(high)? << 4) | digit(low)?;
    }
    Some(bytes)
}

/// Appends bytes as lower-case hexadecimal digits.
pub(crate) fn write_hex(bytes: &[u8], out: &mut Vec<u8>) {
    bytes.iter().for_each(|byte| out.extend_from_slice(&hex_of(*byte)));
}

const fn hex_of(byte: u8) -> [u8; 2] {
    [hex_digit(byte >> 4), hex_digit(byte & 0xf)]
}

const fn hex_digit(half: u8) -> u8 {
    if half < 10 { b'0' + half } else { b'a' + half - 10 }
}

const fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for HashValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for HashValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::HashValue;

    #[test]
    fn hashes_are_those_of_rfc_6962_and_survive_as_text() {
        // The hash of an empty leaf, and the SHA-256 of nothing, as published with the RFC's test
        // vectors and in FIPS 180.
        let leaf = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d";
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(HashValue::of_line(b"").to_string(), leaf);
        assert_eq!(HashValue::of(b"").to_string(), empty);
        let hash = HashValue::of_node(&HashValue::of_line(b"a"), &HashValue::ZERO);
        assert_eq!(HashValue::parse(&hash.to_string()), Some(hash));
        let mut text = Vec::new();
        hash.write_to(&mut text);
        assert_eq!(text, hash.to_string().into_bytes());
        for bad in ["", "00", &leaf.to_uppercase(), &leaf.replace('6', "g")] {
            assert_eq!(HashValue::parse(bad), None, "{bad}");
        }
    }
}

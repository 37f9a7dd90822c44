//! Check sums and digests that token formats and masks use, written out where a crate would be one
//! function: CRC-32, base 62, base 58, bech32, Keccak-256, HMAC-SHA-256, Luhn, Verhoeff.
//!
//! None of these is used to keep a secret but HMAC, which is SHA-256 from the `sha2` crate under the
//! RFC 2104 construction.

use sha2::{Digest, Sha256};

/// CRC-32 (IEEE 802.3), as GitHub, npm and Grafana use it.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

/// The number in base 62 (`0-9A-Za-z`), six digits.
pub(crate) fn base62_of_six(mut number: u32) -> [u8; 6] {
    let mut out = [b'0'; 6];
    for place in out.iter_mut().rev() {
        let digit = (number % 62) as u8;
        *place = match digit {
            0..10 => b'0' + digit,
            10..36 => b'A' + digit - 10,
            _ => b'a' + digit - 36,
        };
        number /= 62;
    }
    out
}

/// SHA-256.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// HMAC-SHA-256 (RFC 2104).
pub(crate) fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut block = [0u8; 64];
    if key.len() > block.len() {
        for (place, byte) in block.iter_mut().zip(sha256(key)) {
            *place = byte;
        }
    } else {
        for (place, byte) in block.iter_mut().zip(key) {
            *place = *byte;
        }
    }
    let mut inner = Sha256::new();
    inner.update(block.map(|byte| byte ^ 0x36));
    for part in parts {
        // The length keeps two lists of parts with the same bytes apart.
        inner.update((part.len() as u64).to_be_bytes());
        inner.update(part);
    }
    let mut outer = Sha256::new();
    outer.update(block.map(|byte| byte ^ 0x5c));
    outer.update(inner.finalize());
    outer.finalize().into()
}

/// Luhn (ISO/IEC 7812-1): digits only.
pub(crate) fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, byte)| {
            let digit = u32::from(byte.wrapping_sub(b'0'));
            let value = if place % 2 == 1 { digit * 2 } else { digit };
            if value > 9 { value - 9 } else { value }
        })
        .sum();
    sum.is_multiple_of(10) && digits.iter().any(|byte| *byte != b'0')
}

/// Verhoeff's dihedral check (Aadhaar): digits only.
pub(crate) fn verhoeff(digits: &[u8]) -> bool {
    // Product in the dihedral group of order ten, and the permutation applied by place.
    fn product(a: u8, b: u8) -> u8 {
        match (a < 5, b < 5) {
            (true, true) => (a + b) % 5,
            (true, false) => (a + b - 5) % 5 + 5,
            (false, true) => (a + 5 - b) % 5 + 5,
            (false, false) => (a + 5 - b) % 5,
        }
    }
    const STEP: [u8; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let check = digits.iter().rev().enumerate().fold(0u8, |check, (place, byte)| {
        let mut digit = byte.wrapping_sub(b'0');
        for _ in 0..place % 8 {
            digit = STEP.get(usize::from(digit)).copied().unwrap_or(0);
        }
        product(check, digit)
    });
    check == 0
}

const BASE58: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// Longest base58 text decoded, in bytes.
const BASE58_BYTES_MAX: usize = 64;

/// Base58Check: decodes to a payload whose last four bytes are its double SHA-256.
pub(crate) fn base58check(text: &[u8]) -> Option<Vec<u8>> {
    if text.len() > BASE58_BYTES_MAX {
        return None;
    }
    let mut out: Vec<u8> = Vec::with_capacity(40);
    for byte in text {
        let mut carry = BASE58.iter().position(|symbol| symbol == byte)? as u32;
        for place in out.iter_mut().rev() {
            carry += u32::from(*place) * 58;
            *place = (carry & 0xff) as u8;
            carry >>= 8;
        }
        while carry > 0 {
            out.insert(0, (carry & 0xff) as u8);
            carry >>= 8;
        }
    }
    let zeros = text.iter().take_while(|byte| **byte == b'1').count();
    let mut full = vec![0u8; zeros];
    full.extend(out);
    let split = full.len().checked_sub(4)?;
    let (payload, sum) = full.split_at_checked(split)?;
    let twice = sha256(&sha256(payload));
    twice.starts_with(sum).then(|| payload.to_vec())
}

/// Bech32 and bech32m (BIP 173, BIP 350): whether the checksum holds.
pub(crate) fn bech32(text: &[u8]) -> bool {
    const SYMBOLS: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    fn step(sum: u32, value: u32) -> u32 {
        let top = sum >> 25;
        GENERATOR.iter().enumerate().fold(((sum & 0x01ff_ffff) << 5) ^ value, |sum, (bit, word)| {
            if (top >> bit) & 1 == 1 { sum ^ word } else { sum }
        })
    }
    let lower = text.to_ascii_lowercase();
    let Some(separator) = lower.iter().rposition(|byte| *byte == b'1') else { return false };
    let Some((prefix, rest)) = lower.split_at_checked(separator) else { return false };
    let mut sum = 1;
    for byte in prefix {
        sum = step(sum, u32::from(byte >> 5));
    }
    sum = step(sum, 0);
    for byte in prefix {
        sum = step(sum, u32::from(byte & 31));
    }
    for byte in rest.iter().skip(1) {
        let Some(value) = SYMBOLS.iter().position(|symbol| symbol == byte) else { return false };
        sum = step(sum, value as u32);
    }
    rest.len() > 6 && (sum == 1 || sum == 0x2bc8_30a3)
}

/// Keccak-256 with the original padding, as Ethereum's EIP-55 uses it.
pub(crate) fn keccak256(message: &[u8]) -> [u8; 32] {
    const RATE: usize = 136;
    let mut state = [0u64; 25];
    let mut padded = message.to_vec();
    padded.push(1);
    padded.resize(padded.len().next_multiple_of(RATE), 0);
    if let Some(last) = padded.last_mut() {
        *last |= 0x80;
    }
    for block in padded.chunks_exact(RATE) {
        for (lane, bytes) in state.iter_mut().zip(block.chunks_exact(8)) {
            let word = bytes.iter().rev().fold(0u64, |word, byte| (word << 8) | u64::from(*byte));
            *lane ^= word;
        }
        keccak_f(&mut state);
    }
    let mut out = [0u8; 32];
    for (chunk, lane) in out.chunks_exact_mut(8).zip(state) {
        chunk.copy_from_slice(&lane.to_le_bytes());
    }
    out
}

fn keccak_f(state: &mut [u64; 25]) {
    // Round constants come from the degree-8 LFSR of FIPS 202, section 3.2.5.
    let mut lfsr = 1u8;
    for _ in 0..24 {
        let lane = |x: usize, y: usize, s: &[u64; 25]| s.get(x + 5 * y).copied().unwrap_or(0);
        let columns: Vec<u64> =
            (0..5).map(|x| (0..5).fold(0, |sum, y| sum ^ lane(x, y, state))).collect();
        let column = |x: usize| columns.get(x % 5).copied().unwrap_or(0);
        for (index, word) in state.iter_mut().enumerate() {
            let x = index % 5;
            *word ^= column(x + 4) ^ column(x + 1).rotate_left(1);
        }
        let (mut x, mut y) = (1usize, 0usize);
        let mut moving = lane(1, 0, state);
        for turn in 0..24u32 {
            (x, y) = (y, (2 * x + 3 * y) % 5);
            let amount = (turn + 1) * (turn + 2) / 2 % 64;
            if let Some(place) = state.get_mut(x + 5 * y) {
                moving = std::mem::replace(place, moving.rotate_left(amount));
            }
        }
        let before = *state;
        for (index, word) in state.iter_mut().enumerate() {
            let (x, y) = (index % 5, index / 5);
            *word ^= !lane((x + 1) % 5, y, &before) & lane((x + 2) % 5, y, &before);
        }
        for bit in 0..7u32 {
            if lfsr & 1 == 1
                && let Some(first) = state.first_mut()
            {
                *first ^= 1 << ((1u32 << bit) - 1);
            }
            lfsr = if lfsr & 0x80 != 0 { (lfsr << 1) ^ 0x71 } else { lfsr << 1 };
        }
    }
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::{
        base58check, base62_of_six, bech32, crc32, hex, hmac_sha256, keccak256, luhn, verhoeff,
    };

    #[test]
    fn the_digests_agree_with_their_published_vectors() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(&base62_of_six(61), b"00000z");
        assert_eq!(
            hex(&keccak256(b"")),
            "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
        );
        assert!(luhn(b"4111111111111111") && !luhn(b"4111111111111112"));
        assert!(verhoeff(b"2363") && !verhoeff(b"2364"));
        assert!(bech32(b"BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4"));
        assert!(!bech32(b"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5"));
        assert_eq!(base58check(b"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa").map(|p| p.len()), Some(21));
        assert!(base58check(b"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb").is_none());
    }

    #[test]
    fn a_keyed_digest_depends_on_the_key_and_on_where_the_parts_end() {
        let one = hmac_sha256(b"k", &[b"ab", b"c"]);
        assert_eq!(one, hmac_sha256(b"k", &[b"ab", b"c"]));
        assert_ne!(one, hmac_sha256(b"k", &[b"a", b"bc"]));
        assert_ne!(one, hmac_sha256(b"l", &[b"ab", b"c"]));
    }
}

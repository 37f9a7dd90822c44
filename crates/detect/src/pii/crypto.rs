//! Addresses of crypto-currency accounts, by their checksums.

use crate::ascii::{at, before, cut};
use crate::digest::{base58check, bech32, hex, keccak256};
use crate::pii::Datum;
use crate::rules::Coded;

/// The address that is the run of letters and digits `start..end`.
pub(crate) fn address(bytes: &[u8], start: usize, end: usize) -> Option<Datum> {
    let text = cut(bytes, start, end);
    if matches!(before(bytes, start), b'_' | b'-' | b'+')
        || matches!(at(bytes, end), b'_' | b'+' | b'=')
    {
        return None;
    }
    match text {
        [b'0', b'x' | b'X', rest @ ..] if rest.len() == 40 => {
            ethereum(rest).map(|base| Datum::new(start, end, Coded::Ethereum, base))
        }
        [b'1' | b'3' | b'L' | b'M' | b'D' | b'T', ..] if (31..=35).contains(&text.len()) => {
            let payload = base58check(text)?;
            let version = payload.first().copied()?;
            (payload.len() == 21 && matches!(version, 0 | 5 | 0x30 | 0x32 | 0x1e | 0x41))
                .then(|| Datum::new(start, end, Coded::Bitcoin, 0.95))
        }
        [b'b' | b'B' | b'l' | b'L' | b't' | b'T', b'c' | b'C' | b't' | b'T' | b'b' | b'B', ..]
            if (31..=90).contains(&text.len()) =>
        {
            (at(text, 2) == b'1' || at(text, 3) == b'1').then_some(())?;
            bech32(text).then(|| Datum::new(start, end, Coded::Bitcoin, 0.95))
        }
        _ => None,
    }
}

/// EIP-55: in mixed case the case is a checksum; in one case there is none.
fn ethereum(digits: &[u8]) -> Option<f32> {
    if !digits.iter().all(u8::is_ascii_hexdigit) || digits.iter().all(|byte| *byte == b'0') {
        return None;
    }
    let lower = digits.to_ascii_lowercase();
    let upper = digits.iter().any(u8::is_ascii_uppercase);
    if !upper || !digits.iter().any(u8::is_ascii_lowercase) {
        return Some(0.7);
    }
    let sum = hex(&keccak256(&lower));
    let holds = digits.iter().zip(sum.bytes()).all(|(digit, nibble)| {
        !digit.is_ascii_alphabetic() || digit.is_ascii_uppercase() == (nibble >= b'8')
    });
    holds.then_some(0.95)
}

//! Check digits that a custom rule can ask for, by the name of the scheme.

use crate::digest::{luhn, verhoeff};

/// A scheme of check digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validator {
    /// ISO/IEC 7812: cards, many customer numbers. One number in ten passes by chance.
    Luhn,
    /// Verhoeff: Aadhaar and others.
    Verhoeff,
    /// ISO 7064 MOD 97-10 with the first four characters moved to the end: IBAN and its kin.
    Mod97,
}

impl Validator {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Luhn, Self::Verhoeff, Self::Mod97];

    /// The name in policies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Luhn => "luhn",
            Self::Verhoeff => "verhoeff",
            Self::Mod97 => "mod97",
        }
    }

    /// Whether the datum passes. What is neither letter nor digit is passed over.
    #[must_use]
    pub fn accepts(self, datum: &str) -> bool {
        let plain: Vec<u8> = datum.bytes().filter(u8::is_ascii_alphanumeric).collect();
        let digits = plain.iter().all(u8::is_ascii_digit) && plain.len() > 1;
        match self {
            Self::Luhn => digits && luhn(&plain),
            Self::Verhoeff => digits && verhoeff(&plain),
            Self::Mod97 => plain.len() > 4 && mod97(&plain) == 1,
        }
    }
}

fn mod97(plain: &[u8]) -> u32 {
    let moved = plain.iter().skip(4).chain(plain.iter().take(4));
    moved.fold(0, |rest, byte| match byte {
        b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
        other => (rest * 100 + u32::from(other.to_ascii_uppercase().wrapping_sub(b'A')) + 10) % 97,
    })
}

#[cfg(test)]
mod tests {
    use super::Validator;

    #[test]
    fn each_scheme_knows_its_published_examples() {
        assert!(Validator::Luhn.accepts("4111 1111 1111 1111"));
        assert!(!Validator::Luhn.accepts("4111 1111 1111 1112"));
        assert!(Validator::Verhoeff.accepts("2363") && !Validator::Verhoeff.accepts("2364"));
        assert!(Validator::Mod97.accepts("GB82 WEST 1234 5698 7654 32"));
        assert!(!Validator::Mod97.accepts("GB82 WEST 1234 5698 7654 33"));
        assert!(!Validator::Luhn.accepts("no digits"));
    }
}

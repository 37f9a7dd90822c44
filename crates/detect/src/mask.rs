//! Masks: what stands in place of a datum.
//!
//! The law here: of a secret at most a quarter is ever shown, and nothing of one shorter than sixteen
//! characters, whatever the policy asks for. Every form is stable, so that a masked text masked again
//! stays as it is.

use std::sync::Arc;

use crate::digest::{hex, hmac_sha256};
use crate::finding::{Category, Kind};

/// Shortest secret of which anything is shown, in characters.
const SHOWN_SECRET_CHARS_MIN: usize = 16;
/// Stars that stand for the hidden part in fixed forms.
const STARS: &str = "***";

/// How a datum is masked.
#[derive(Clone)]
#[non_exhaustive]
pub enum Mask {
    /// `[EMAIL]`.
    Label,
    /// Stars for all but the first and last characters; of a secret no more than the law allows.
    Stars {
        /// Characters kept at the start.
        keep_first: usize,
        /// Characters kept at the end.
        keep_last: usize,
    },
    /// The plain forms: `138*********` for a telephone number, `z***@x.com` for an address, the last four
    /// digits of a card; a label for everything else.
    Plain,
    /// A star for every letter and digit, everything else as it is: length and shape stay.
    Shape,
    /// `[EMAIL:1f3a9c02b7]`: a keyed hash (HMAC-SHA-256), so that equal values stay equal within a tenant and
    /// tell nothing across tenants.
    Hash(HashKey),
    /// Whatever another component puts there: a vault's placeholder.
    Custom(Arc<dyn MaskWith>),
}

/// The key of hash masks, for one tenant. Never shown.
#[derive(Clone)]
pub struct HashKey(Arc<[u8]>);

impl HashKey {
    /// A tenant's key from the installation's: keys of two tenants have nothing in common.
    #[must_use]
    pub fn for_tenant(secret: &[u8], tenant: &str) -> Self {
        Self(Arc::from(hmac_sha256(secret, &[b"tollgate mask", tenant.as_bytes()]).as_slice()))
    }

    /// The key of fingerprints, from the installation's.
    #[must_use]
    pub fn for_review(secret: &[u8]) -> Self {
        Self(Arc::from(hmac_sha256(secret, &[b"tollgate review"]).as_slice()))
    }

    /// The fingerprint of a datum as a rule found it, by which it is known again without being kept.
    #[must_use]
    pub fn fingerprint(&self, rule: &str, datum: &str) -> String {
        let digest = hmac_sha256(&self.0, &[rule.as_bytes(), datum.as_bytes()]);
        hex(digest.get(..16).unwrap_or(&[]))
    }
}

impl std::fmt::Debug for HashKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HashKey(..)")
    }
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Label => "Label",
            Self::Stars { .. } => "Stars",
            Self::Plain => "Plain",
            Self::Shape => "Shape",
            Self::Hash(_) => "Hash",
            Self::Custom(_) => "Custom",
        })
    }
}

/// Makes masks outside this crate: room for a vault whose placeholders a trusted tool can turn back.
pub trait MaskWith: Send + Sync {
    /// What stands in place of `datum`. Must give the same answer for the same datum, and should be of the
    /// form `[WORD:...]`, which is recognised as a mask.
    fn mask(&self, kind: Kind, datum: &str) -> String;
}

impl Mask {
    /// The mask of a datum.
    #[must_use]
    pub fn apply(&self, kind: Kind, datum: &str) -> String {
        match self {
            Self::Label => label(kind),
            Self::Stars { keep_first, keep_last } => stars(kind, datum, *keep_first, *keep_last),
            Self::Plain => plain(kind, datum),
            Self::Shape => shape(kind, datum),
            Self::Hash(key) => {
                let datum = canonical(kind, datum);
                let digest = hmac_sha256(&key.0, &[kind.name().as_bytes(), datum.as_bytes()]);
                let short = hex(digest.get(..8).unwrap_or(&[]));
                format!("[{}:{short}]", kind.label())
            }
            Self::Custom(with) => with.mask(kind, datum),
        }
    }
}

fn label(kind: Kind) -> String {
    format!("[{}]", kind.label())
}

/// A datum as it is compared: two ways of writing one telephone number, address or account are one datum.
fn canonical(kind: Kind, datum: &str) -> String {
    let alphanumeric = || datum.chars().filter(char::is_ascii_alphanumeric);
    match kind {
        Kind::Phone => {
            let digits: String =
                datum.replace("(0)", "").chars().filter(char::is_ascii_digit).collect();
            let national = digits.strip_prefix("00").unwrap_or(&digits);
            match (national.len(), national.strip_prefix("86"), national.strip_prefix('1')) {
                (13, Some(rest), _) | (11, _, Some(rest)) if !is_mobile_cn(national) => {
                    rest.to_owned()
                }
                _ => national.to_owned(),
            }
        }
        Kind::Card | Kind::Iban | Kind::NationalId | Kind::Passport | Kind::MacAddress => {
            alphanumeric().map(|char| char.to_ascii_uppercase()).collect()
        }
        Kind::Email | Kind::IpAddress => datum.to_lowercase(),
        Kind::Secret
        | Kind::PrivateKey
        | Kind::Password
        | Kind::CryptoAddress
        | Kind::BirthDate
        | Kind::Address
        | Kind::Person
        | Kind::Organization
        | Kind::Place
        | Kind::Custom => datum.to_owned(),
    }
}

fn is_mobile_cn(digits: &str) -> bool {
    crate::pii::cn_mobile(digits.as_bytes())
}

/// How many characters of a datum may be shown in all.
fn shown_max(kind: Kind, chars: usize) -> usize {
    match kind.category() {
        Category::Secrets | Category::Custom if chars < SHOWN_SECRET_CHARS_MIN => 0,
        Category::Secrets | Category::Custom => chars / 4,
        // Of personal data at most half: what is kept is for people to tell two apart.
        Category::Pii | Category::Names => chars / 2,
    }
}

fn stars(kind: Kind, datum: &str, keep_first: usize, keep_last: usize) -> String {
    if kind == Kind::PrivateKey {
        return label(kind);
    }
    let chars = datum.chars().count();
    let allowed = shown_max(kind, chars);
    let first = keep_first.min(allowed);
    let last = keep_last.min(allowed - first);
    let head: String = datum.chars().take(first).collect();
    let tail: String = datum.chars().skip(chars - last).collect();
    // A secret's length is part of it: the number of stars says nothing.
    let hidden = match kind.category() {
        Category::Secrets | Category::Custom => 8,
        Category::Pii | Category::Names => chars - first - last,
    };
    format!("{head}{}{tail}", "*".repeat(hidden.clamp(3, 64)))
}

fn plain(kind: Kind, datum: &str) -> String {
    match kind {
        Kind::Phone => phone(datum),
        Kind::Email => email(datum),
        Kind::Card => {
            let digits: Vec<char> = datum.chars().filter(char::is_ascii_digit).collect();
            let tail: String = digits.iter().skip(digits.len().saturating_sub(4)).collect();
            format!("**** {tail}")
        }
        Kind::Person => {
            let first: String = datum.chars().take(1).collect();
            format!("{first}**")
        }
        Kind::Secret
        | Kind::PrivateKey
        | Kind::Password
        | Kind::Iban
        | Kind::NationalId
        | Kind::Passport
        | Kind::IpAddress
        | Kind::MacAddress
        | Kind::CryptoAddress
        | Kind::BirthDate
        | Kind::Address
        | Kind::Organization
        | Kind::Place
        | Kind::Custom => label(kind),
    }
}

/// The first three digits (behind a country code with its sign, if there is one) and nine stars.
fn phone(datum: &str) -> String {
    let digits: String = datum.chars().filter(char::is_ascii_digit).collect();
    let national =
        if digits.len() == 13 { digits.strip_prefix("86").unwrap_or(&digits) } else { &digits };
    let kept: String = national.chars().take(3).collect();
    format!("{kept}*********")
}

fn email(datum: &str) -> String {
    let Some((local, domain)) = datum.rsplit_once('@') else { return label(Kind::Email) };
    let first: String = local.chars().take(1).collect();
    format!("{first}{STARS}@{domain}")
}

fn shape(kind: Kind, datum: &str) -> String {
    if kind == Kind::PrivateKey {
        return label(kind);
    }
    datum.chars().map(|char| if char.is_alphanumeric() { '*' } else { char }).collect()
}

/// A preview that is safe to show anywhere.
pub(crate) fn preview(kind: Kind, datum: &str) -> String {
    match kind {
        Kind::Phone | Kind::Email | Kind::Card | Kind::Person => plain(kind, datum),
        Kind::Secret | Kind::Password | Kind::Custom => stars(kind, datum, 4, 0),
        Kind::Iban | Kind::CryptoAddress => stars(kind, datum, 4, 2),
        Kind::PrivateKey
        | Kind::NationalId
        | Kind::Passport
        | Kind::IpAddress
        | Kind::MacAddress
        | Kind::BirthDate
        | Kind::Address
        | Kind::Organization
        | Kind::Place => label(kind),
    }
}

#[cfg(test)]
mod tests {
    use super::{HashKey, Mask};
    use crate::finding::Kind;

    #[test]
    fn the_plain_forms_are_the_ones_people_know() {
        assert_eq!(Mask::Plain.apply(Kind::Phone, "13812345678"), "138*********");
        assert_eq!(Mask::Plain.apply(Kind::Phone, "+86 138 1234 5678"), "138*********");
        assert_eq!(Mask::Plain.apply(Kind::Email, "zhang@x.com"), "z***@x.com");
        assert_eq!(Mask::Label.apply(Kind::Email, "zhang@x.com"), "[EMAIL]");
        assert_eq!(Mask::Shape.apply(Kind::Phone, "138-1234-5678"), "***-****-****");
    }

    #[test]
    fn at_most_a_quarter_of_a_secret_is_kept_and_nothing_of_a_short_one() {
        let keep_all = Mask::Stars { keep_first: 100, keep_last: 100 };
        for len in 1..64 {
            let secret = "s".repeat(len);
            for kind in [Kind::Secret, Kind::Password, Kind::Custom] {
                let shown = keep_all.apply(kind, &secret).matches('s').count();
                assert!(shown * 4 <= len && (len >= 16 || shown == 0), "{len}: {shown}");
            }
        }
        assert_eq!(keep_all.apply(Kind::PrivateKey, "-----BEGIN"), "[PRIVATE_KEY]");
    }

    #[test]
    fn two_ways_of_writing_one_datum_have_one_hash() {
        let mask = |kind, datum| Mask::Hash(HashKey::for_tenant(b"k", "t")).apply(kind, datum);
        for (kind, ways) in [
            (Kind::Email, ["Jane@X.com", "jane@x.com", "JANE@x.COM"]),
            (Kind::Phone, ["13812345678", "+86 138 1234 5678", "0086-138-1234-5678"]),
            (Kind::Phone, ["+1 (415) 555-2671", "415-555-2671", "14155552671"]),
            (Kind::Card, ["4111 1111 1111 1111", "4111-1111-1111-1111", "4111111111111111"]),
            (
                Kind::Iban,
                [
                    "DE89 3704 0044 0532 0130 00",
                    "de89370400440532013000",
                    "DE89-3704-0044-0532-0130-00",
                ],
            ),
        ] {
            let masks = ways.map(|way| mask(kind, way));
            assert!(masks.iter().all(|one| *one == masks[0]), "{ways:?} {masks:?}");
        }
        assert_ne!(mask(Kind::Password, "Hunter"), mask(Kind::Password, "hunter"));
    }

    #[test]
    fn hashes_are_equal_for_equal_values_of_one_tenant_only() {
        let mask = |tenant| {
            Mask::Hash(HashKey::for_tenant(b"installation", tenant)).apply(Kind::Email, "a@b.io")
        };
        assert_eq!(mask("acme"), mask("acme"));
        assert_ne!(mask("acme"), mask("other"));
        assert!(mask("acme").starts_with("[EMAIL:"));
    }
}

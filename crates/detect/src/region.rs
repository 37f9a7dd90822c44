//! Regions of telephone numbers: which national forms count, when a policy names regions.
//!
//! Numbers with a country code and Chinese mobiles always count. National forms are ambiguous by
//! nature; whoever knows where his numbers come from names the regions, and the others' forms are left
//! alone. The table holds what the national plans fix: the trunk prefix, the length, first digits.

use crate::pii::{cn_mobile, nanp};

/// A region of telephone numbers, by its ISO 3166 code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region(&'static Plan);

/// What a national number of a region looks like, in digits.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    code: &'static str,
    /// What stands first when dialled from within the country.
    trunk: Trunk,
    /// Fewest and most digits, the trunk prefix included.
    digits: (usize, usize),
}

#[derive(Debug, PartialEq, Eq)]
enum Trunk {
    /// There is none.
    None,
    /// `0`, always written.
    Zero,
    /// `0` or `8`, often left out.
    Loose,
    /// The North American plan.
    NorthAmerica,
    /// Chinese land lines: area codes begin with `0`.
    China,
}

const fn plan(code: &'static str, trunk: Trunk, low: usize, high: usize) -> Plan {
    Plan { code, trunk, digits: (low, high) }
}

static PLANS: [Plan; 38] = [
    plan("AE", Trunk::Zero, 9, 10),
    plan("AT", Trunk::Zero, 7, 13),
    plan("AU", Trunk::Zero, 10, 10),
    plan("BE", Trunk::Zero, 9, 10),
    plan("BR", Trunk::Loose, 10, 12),
    plan("CA", Trunk::NorthAmerica, 10, 11),
    plan("CH", Trunk::Zero, 10, 10),
    plan("CN", Trunk::China, 10, 12),
    plan("CZ", Trunk::None, 9, 9),
    plan("DE", Trunk::Zero, 7, 13),
    plan("DK", Trunk::None, 8, 8),
    plan("ES", Trunk::None, 9, 9),
    plan("FI", Trunk::Zero, 6, 12),
    plan("FR", Trunk::Zero, 10, 10),
    plan("GB", Trunk::Zero, 10, 11),
    plan("HK", Trunk::None, 8, 8),
    plan("IE", Trunk::Zero, 9, 10),
    plan("IL", Trunk::Zero, 9, 10),
    plan("IN", Trunk::Loose, 10, 11),
    plan("IT", Trunk::None, 7, 11),
    plan("JP", Trunk::Zero, 10, 11),
    plan("KR", Trunk::Zero, 9, 11),
    plan("MX", Trunk::None, 10, 10),
    plan("MY", Trunk::Zero, 9, 11),
    plan("NL", Trunk::Zero, 10, 10),
    plan("NO", Trunk::None, 8, 8),
    plan("NZ", Trunk::Zero, 9, 11),
    plan("PL", Trunk::None, 9, 9),
    plan("PT", Trunk::None, 9, 9),
    plan("RU", Trunk::Loose, 10, 11),
    plan("SE", Trunk::Zero, 8, 10),
    plan("SG", Trunk::None, 8, 8),
    plan("TH", Trunk::Zero, 9, 10),
    plan("TR", Trunk::Loose, 10, 11),
    plan("TW", Trunk::Zero, 9, 10),
    plan("UA", Trunk::Zero, 10, 10),
    plan("US", Trunk::NorthAmerica, 10, 11),
    plan("ZA", Trunk::Zero, 10, 10),
];

impl Region {
    /// The region of this ISO 3166 code, in capitals; `None` when its plan is not known here.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        PLANS.iter().find(|plan| plan.code == code).map(Self)
    }

    /// The codes that are known.
    pub fn codes() -> impl Iterator<Item = &'static str> {
        PLANS.iter().map(|plan| plan.code)
    }

    /// Whether a number in national form, digits only, can be one of this region.
    pub(crate) fn admits(self, digits: &[u8]) -> bool {
        let (low, high) = self.0.digits;
        let fits = (low..=high).contains(&digits.len());
        let zero = digits.first() == Some(&b'0');
        match self.0.trunk {
            Trunk::None => fits && !zero,
            Trunk::Zero => fits && zero,
            Trunk::Loose => fits,
            Trunk::NorthAmerica => {
                let national =
                    if digits.len() == 11 { digits.strip_prefix(b"1") } else { Some(digits) };
                national.is_some_and(nanp)
            }
            Trunk::China => fits && zero || cn_mobile(digits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Region;

    #[test]
    fn a_region_admits_the_forms_of_its_plan() {
        let admits =
            |code: &str, digits: &str| Region::from_code(code).unwrap().admits(digits.as_bytes());
        for (code, digits) in [
            ("US", "4155552671"),
            ("US", "14155552671"),
            ("GB", "02079460958"),
            ("FR", "0612345678"),
            ("DE", "03012345678"),
            ("ES", "612345678"),
            ("CN", "01062345678"),
            ("SG", "91234567"),
        ] {
            assert!(admits(code, digits), "{code} {digits}");
        }
        for (code, digits) in
            [("US", "0612345678"), ("FR", "4155552671"), ("ES", "0612345678"), ("SG", "612345678")]
        {
            assert!(!admits(code, digits), "{code} {digits}");
        }
        assert_eq!(Region::from_code("XX"), None);
        assert!(Region::codes().count() > 30);
    }
}

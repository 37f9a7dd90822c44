//! The built-in redactor `mobile`: Chinese mobile numbers, masked as the seeds show them.
//!
//! It takes every number of the form, in a word or not, where the detector asks for a prefix that is in
//! use and for the ends of a number.

use super::masks::mark_of_text;
use super::{RedactError, Redacted, Redactor};
use regex::{Captures, Regex};
use std::sync::{Arc, LazyLock};
use tollgate_gate::Name;

/// Their names.
pub(super) const NAMES: [&str; 1] = ["mobile"];

/// The built-in redactor of this name.
pub(super) fn find(name: &str) -> Option<Arc<dyn Redactor>> {
    let known = match name {
        "mobile" => Known { name: "mobile".into(), regex: &MOBILE, mask: mask_mobile },
        _ => return None,
    };
    Some(Arc::new(known))
}

/// A mainland Chinese mobile number: 11 digits from 13 to 19, in one run or in groups of 3, 4 and 4,
/// with or without the country's code.
static MOBILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?P<country>(?:\+|00)?86[ -]?)?(?P<kept>1[3-9][0-9])[ -]?[0-9]{4}[ -]?[0-9]{4}")
        .ok()
});

struct Known {
    name: Name,
    regex: &'static LazyLock<Option<Regex>>,
    /// Writes the mask of a find; `None` when it is none after all.
    mask: fn(&str, &Captures<'_>) -> Option<String>,
}

/// Nine stars behind the first three digits. A run of digits that goes on is another number.
fn mask_mobile(text: &str, found: &Captures<'_>) -> Option<String> {
    let whole = found.get(0)?;
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let before = whole.start().checked_sub(1).and_then(|at| text.as_bytes().get(at));
    if is_digit(before) || is_digit(text.as_bytes().get(whole.end())) {
        return None;
    }
    let country = found.name("country").map_or("", |group| group.as_str());
    Some(format!("{country}{}*********", found.name("kept")?.as_str()))
}

impl Redactor for Known {
    fn redact(&self, _: Option<&str>, text: &str) -> Result<Option<Redacted>, RedactError> {
        let regex = LazyLock::force(self.regex).as_ref().ok_or_else(|| RedactError {
            redactor: Name::clone(&self.name),
            cause: "its pattern does not compile".to_owned(),
        })?;
        let mut masked: Option<String> = None;
        let (mut copied, mut from) = (0, 0);
        while let Some(whole) = regex.find_at(text, from) {
            let groups = || regex.captures_at(text, whole.start());
            let Some(mask) = groups().and_then(|found| (self.mask)(text, &found)) else {
                // The next may start within this one; finds are short, so this stays linear.
                from = whole.start() + 1;
                continue;
            };
            from = whole.end();
            if mask == whole.as_str() {
                continue;
            }
            let out = masked.get_or_insert_with(|| String::with_capacity(text.len()));
            out.push_str(text.get(copied..whole.start()).unwrap_or_default());
            out.push_str(&mask);
            copied = whole.end();
        }
        Ok(masked.map(|mut out| {
            out.push_str(text.get(copied..).unwrap_or_default());
            Redacted { text: out, findings: vec![Name::clone(&self.name)] }
        }))
    }

    fn mark(&self) -> Option<Name> {
        mark_of_text("[PHONE]")
    }

    fn describe(&self) -> String {
        format!("built-in {}, version 1", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::find;

    fn mask(name: &str, text: &str) -> Option<String> {
        find(name).unwrap().redact(None, text).unwrap().map(|redacted| redacted.text)
    }

    #[test]
    fn a_mobile_number_keeps_its_first_three_digits() {
        for (text, expected) in [
            ("手机13812345678,", "手机138*********,"),
            ("tel13812345678", "tel138*********"),
            ("+86 138-1234-5678", "+86 138*********"),
            ("8613812345678", "86138*********"),
            ("13812345678 and 19987654321", "138********* and 199*********"),
        ] {
            assert_eq!(mask("mobile", text).unwrap(), expected);
            assert_eq!(mask("mobile", expected), None, "twice");
        }
        // A card number, an id, a number of another kind.
        for other in ["6222021381234567890", "12812345678", "1381234567", "138123456789"] {
            assert_eq!(mask("mobile", other), None, "{other}");
        }
    }

    #[test]
    fn a_long_run_of_digits_takes_linear_time() {
        let started = std::time::Instant::now();
        assert_eq!(mask("mobile", &"138".repeat(200_000)), None);
        // Quadratic time would be hours.
        assert!(started.elapsed().as_secs() < 60);
    }
}

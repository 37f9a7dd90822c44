//! The detector of `tollgate-detect` as what scrubs records, and what detection needs from outside.
//!
//! How a policy's `redact` uses the detector stands with that action.

mod sources;

pub use sources::{MaskKeyError, MaskKeys, NameModels, NameModelsError, Reviews, Sources};

use crate::actions::map_texts;
use std::sync::{Arc, LazyLock};
use tollgate_detect::{Category, Context, Detector, Mask, NumberMask};
use tollgate_gate::{BasicScrub, Json, Scrub};

type Built = Result<tollgate_detect::Redactor, String>;

fn secrets() -> Built {
    let builder = Detector::builder().find_categories([Category::Secrets]);
    let detector = builder.build().map_err(|error| error.to_string())?;
    Ok(tollgate_detect::Redactor::new(Arc::new(detector)).mask(Mask::Plain))
}

static SHOWN: LazyLock<Built> = LazyLock::new(|| {
    let detector = Detector::builder().build().map_err(|error| error.to_string())?;
    Ok(tollgate_detect::Redactor::new(Arc::new(detector)).mask(Mask::Plain))
});

/// A value under this key as people may look at it: without secrets and personal data. `None`: as it is.
pub(crate) fn concealed(under: &str, value: &Json) -> Option<Json> {
    let redactor = SHOWN.as_ref().ok()?;
    let numbers = NumberMask::AsString;
    // A value too deep to be looked at is shown as nothing.
    map_texts(value, numbers, &mut |key, text| {
        let key = key.or(Some(under));
        Ok(redactor.redact_str(text, &Context { key, ..Context::default() }))
    })
    .unwrap_or(Some(Json::Null))
}

/// A text as people may look at it. `None`: as it is.
pub(crate) fn concealed_text(text: &str) -> Option<String> {
    SHOWN.as_ref().ok()?.redact_str(text, &Context::default())
}

/// Scrubs records of secrets with the detector's rules, and of what the gate's own scrubber knows.
#[derive(Debug, Default)]
pub struct DetectScrub {
    basic: BasicScrub,
}

impl DetectScrub {
    /// Without digests.
    pub fn new() -> DetectScrub {
        DetectScrub::default()
    }

    /// With digests under this key.
    pub fn with_key(key: [u8; 32]) -> DetectScrub {
        DetectScrub { basic: BasicScrub::with_key(key) }
    }
}

static SECRETS: LazyLock<Built> = LazyLock::new(secrets);

impl Scrub for DetectScrub {
    fn scrub(&self, key: Option<&str>, text: &str) -> Option<String> {
        let basic = self.basic.scrub(key, text);
        // Rules that could not be built are a bug that its own test finds; the basic scrub remains.
        let Ok(redactor) = SECRETS.as_ref() else { return basic };
        let seen = basic.as_deref().unwrap_or(text);
        redactor.redact_str(seen, &Context { key, ..Context::default() }).or(basic)
    }

    fn is_telling(&self, key: &str) -> bool {
        self.basic.is_telling(key)
    }

    fn digest(&self, text: &str) -> Option<String> {
        self.basic.digest(text)
    }

    fn has_digest_key(&self) -> bool {
        self.basic.has_digest_key()
    }
}

#[cfg(test)]
mod tests {
    use super::DetectScrub;
    use tollgate_gate::Scrub;

    #[test]
    fn records_are_scrubbed_by_the_detector_and_by_the_gates_own_rules() {
        let scrub = DetectScrub::new();
        let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        assert!(!scrub.scrub(None, &format!("use {token}")).unwrap().contains(&token));
        assert_eq!(scrub.scrub(None, "x = 1 # SECRET").unwrap(), "[SECRET]");
        assert_eq!(scrub.scrub(Some("password"), "x").unwrap(), "[SECRET]");
        assert_eq!(scrub.scrub(None, "nothing to see"), None);
    }
}

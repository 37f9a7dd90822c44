//! The detectors of `tollgate-detect` where a policy and the ledger need them: as redactors that
//! `redact: { find: .. }` names, and as what scrubs records.

mod sources;

pub use sources::{MaskKeyError, MaskKeys, NameModels, NameModelsError, Sources};

use crate::actions::{RedactError, RedactStream, Redacted, Redactor};
use crate::compile::Redactors;
use std::sync::{Arc, LazyLock};
use tollgate_detect::{
    Category, Context, Detector, Kind, Mask, Released, StreamFormat, StreamRedactor,
};
use tollgate_gate::{BasicScrub, Name, Scrub};

/// The redactors that a policy can name: `secrets`, `pii`, `names`, and each kind of datum by itself
/// (`email`, `phone`, `card`, `iban` ...). They are built when they are first used.
pub fn redactors() -> Redactors {
    let categories =
        [("secrets", Category::Secrets), ("pii", Category::Pii), ("names", Category::Names)];
    let categories = categories.map(|(name, category)| Detecting::new(name, What::All(category)));
    let kinds = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Custom);
    let kinds = kinds.map(|kind| Detecting::new(kind.name(), What::One(kind)));
    let all = categories.into_iter().chain(kinds);
    all.map(|one| (Name::clone(&one.name), Arc::new(one) as Arc<dyn Redactor>)).collect()
}

#[derive(Debug, Clone, Copy)]
enum What {
    All(Category),
    One(Kind),
}

type Built = Result<tollgate_detect::Redactor, String>;

struct Detecting {
    name: Name,
    redactor: LazyLock<Built, Box<dyn FnOnce() -> Built + Send>>,
}

impl Detecting {
    fn new(name: &str, what: What) -> Detecting {
        Detecting { name: name.into(), redactor: LazyLock::new(Box::new(move || build(what))) }
    }
}

fn build(what: What) -> Built {
    let builder = Detector::builder();
    let builder = match what {
        What::All(category) => builder.find_categories([category]),
        What::One(kind) => builder.find([kind]),
    };
    let detector = builder.build().map_err(|error| error.to_string())?;
    Ok(tollgate_detect::Redactor::new(Arc::new(detector)).mask(Mask::Plain))
}

impl Redactor for Detecting {
    fn redact(&self, key: Option<&str>, text: &str) -> Result<Option<Redacted>, RedactError> {
        let redactor = self.redactor.as_ref().map_err(|cause| RedactError {
            redactor: Name::clone(&self.name),
            cause: cause.clone(),
        })?;
        let found = redactor.redact(text, &Context { key, ..Context::default() });
        let findings = found.findings.iter().map(|finding| finding.rule.as_str().into()).collect();
        Ok(found.text.map(|text| Redacted { text, findings }))
    }

    fn describe(&self) -> String {
        format!("detect {}", self.name)
    }

    fn stream(&self) -> Result<Option<Box<dyn RedactStream>>, RedactError> {
        let redactor = self.redactor.as_ref().map_err(|cause| RedactError {
            redactor: Name::clone(&self.name),
            cause: cause.clone(),
        })?;
        let stream = redactor.stream(StreamFormat::Text, &Context::default());
        Ok(Some(Box::new(DetectStream { name: Name::clone(&self.name), stream })))
    }
}

/// The detector's own windows over a stream.
struct DetectStream {
    name: Name,
    stream: StreamRedactor,
}

impl DetectStream {
    fn checked(&self, released: Released) -> Result<Vec<u8>, RedactError> {
        match released.incomplete {
            None => Ok(released.bytes),
            Some(cause) => {
                let redactor = Name::clone(&self.name);
                Err(RedactError { redactor, cause: cause.to_string() })
            }
        }
    }
}

impl RedactStream for DetectStream {
    fn push(&mut self, piece: &[u8]) -> Result<Vec<u8>, RedactError> {
        let released = self.stream.push(piece);
        self.checked(released)
    }

    fn flush(&mut self) -> Result<Vec<u8>, RedactError> {
        let released = self.stream.flush();
        self.checked(released)
    }

    fn holds_question(&self) -> bool {
        self.stream.held_ends_blank()
    }
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

static SECRETS: LazyLock<Built> = LazyLock::new(|| build(What::All(Category::Secrets)));

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
    use super::{DetectScrub, redactors};
    use tollgate_gate::Scrub;

    #[test]
    fn every_named_redactor_can_be_built_and_finds_what_it_is_named_for() {
        let all = redactors();
        for (name, redactor) in &all {
            assert!(redactor.redact(None, "nothing to see").unwrap().is_none(), "{name}");
        }
        let masked = |name: &str, text: &str| {
            all.get(name).unwrap().redact(None, text).unwrap().map(|redacted| redacted.text)
        };
        assert_eq!(masked("email", "to zhangsan@x.com").unwrap(), "to z***@x.com");
        assert_eq!(masked("pii", "手机 13812345678").unwrap(), "手机 138*********");
        assert_eq!(masked("secrets", "手机 13812345678"), None);
        assert!(masked("secrets", "password = hunter2-and-more!").is_some());
    }

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

//! A `redact` as a detector alone, for looking through files: what would be masked is a finding.
//!
//! What a hook masks without the detector (`lines`, `patterns`, `mobile`) becomes rules of it here, so
//! that a search for what a policy masks finds that, too. What is said of events (`allow` by tool and by
//! path) has no say, and a model of names reads as much as there is: a search has time.

use super::config::{Config, CustomConfig};
use super::detecting::{Detecting, What};
use super::{ActionContext, ActionError, known, read};
use std::sync::Arc;
use tollgate_detect::Detector;
use tollgate_gate::Json;

/// The rule that stands for the redactor `mobile`.
const MOBILE_RULE: &str = "phone-cn";
/// What a model of names may take: as long as a value may say.
const MODEL_TIME: &str = "3650d";

/// The detector of an action's value; `None` when it masks by what the program brings alone.
pub(crate) fn detector_of(
    value: &Json,
    context: &ActionContext,
) -> Result<Option<Arc<Detector>>, ActionError> {
    let mut config: Config = read(value)?;
    as_rules(&mut config);
    if let Some(ner) = &mut config.ner {
        ner.bytes = Some(u64::MAX);
        ner.time = Some(MODEL_TIME.to_owned());
    }
    let names = config.find.0.clone();
    let find = names.iter().filter(|name| !context.redactors.contains_key(name.as_str()));
    let find: Vec<What<'_>> = find
        .filter_map(|name| match known::NAMES.contains(&name.as_str()) {
            true => Some(What::Rule(MOBILE_RULE)),
            false => What::of(name, &config.custom),
        })
        .collect();
    let detecting = Detecting::of(&config, &find, context)?;
    Ok(detecting.map(|detecting| Arc::clone(detecting.detector())))
}

/// Turns `lines` and `patterns` into rules of the policy's own.
fn as_rules(config: &mut Config) {
    let markers: Vec<String> = config.lines.0.iter().map(|marker| regex::escape(marker)).collect();
    let lines = (!markers.is_empty())
        .then(|| ("marked_line", format!(r"[^\r\n]*(?:{})[^\r\n]*", markers.join("|"))));
    let patterns = config.patterns.iter().map(|pattern| {
        // The whole match is the datum, whatever groups its mask uses.
        (pattern.name.as_deref().unwrap_or("pattern"), format!("({})", pattern.pattern))
    });
    let mut rules: Vec<CustomConfig> = Vec::new();
    for (name, pattern) in lines.into_iter().chain(patterns) {
        let is_taken = |id: &str| {
            let mut known = config.custom.iter().chain(&rules);
            known.any(|rule| rule.id == id) || What::of(id, &[]).is_some()
        };
        let numbered = (2_u32..).map(|number| format!("{name}-{number}"));
        let mut ids = std::iter::once(name.to_owned()).chain(numbered);
        if let Some(id) = ids.find(|id| !is_taken(id)) {
            rules.push(CustomConfig::sure(id, pattern));
        }
    }
    config.custom.append(&mut rules);
}

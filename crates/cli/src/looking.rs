//! What `scan` and `redact` look with: the detector as their arguments ask for it, or what the policy that
//! is named with `--policy` masks.
//!
//! The policy in force has no say unless it is named: what these commands find must not depend on the folder
//! in which they run. A policy that is named says all of it; arguments beside it would be a second opinion.

use crate::args::{Globals, Wanted, WhatArguments};
use crate::desk::Desk;
use crate::exit::Failure;
use std::sync::Arc;
use tollgate::detect::Detector;
use tollgate::policy::{Layer, LayerKind, Loaded};

const REMEDY: &str = "`tollgate scan --help` says what can be asked for";

/// The detectors to look with: one, or those of the policy.
pub(crate) fn detectors(
    globals: &Globals,
    what: &WhatArguments,
) -> Result<Vec<Arc<Detector>>, Failure> {
    let Some(policy) = named(globals, what)? else { return Ok(vec![Arc::new(detector(what)?)]) };
    let detectors = policy.detectors().map_err(Failure::internal)?;
    match detectors.is_empty() {
        true => Err(masks_nothing()),
        false => Ok(detectors),
    }
}

/// The detector that the arguments ask for.
pub(crate) fn detector(what: &WhatArguments) -> Result<Detector, Failure> {
    let mut builder = Detector::builder();
    for wanted in &what.find {
        builder = match wanted {
            Wanted::All(category) => builder.find_categories([*category]),
            Wanted::One(kind) => builder.find([*kind]),
        };
    }
    if let Some(threshold) = what.threshold {
        builder = builder.threshold(threshold);
    }
    builder.build().map_err(|error| Failure::usage(error, REMEDY))
}

/// The policy that is named, by itself; `None`: none is.
pub(crate) fn named(globals: &Globals, what: &WhatArguments) -> Result<Option<Loaded>, Failure> {
    if globals.policy.is_empty() {
        return Ok(None);
    }
    for (is_said, flag) in
        [(!what.find.is_empty(), "--find"), (what.threshold.is_some(), "--threshold")]
    {
        if is_said {
            return Err(beside(flag));
        }
    }
    let layer = |path| Layer::named(LayerKind::User, path);
    let layers: Vec<Layer> = globals.policy.iter().map(layer).collect();
    Desk::new(globals)?.load_layers(&layers).map(Some)
}

/// What is said of a thing that the policy says.
pub(crate) fn beside(flag: &str) -> Failure {
    let message = format!("{flag} and --policy both say what becomes of a text");
    Failure::usage(message, format!("leave one of them out: without --policy, {flag} holds"))
}

/// A policy without a hook that masks.
pub(crate) fn masks_nothing() -> Failure {
    let message = "the policy has no `redact` hook in force that looks for anything";
    Failure::usage(
        message,
        "add one, as in `redact: { find: [secrets, pii] }`, or leave --policy out",
    )
}

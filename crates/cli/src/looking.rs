//! The detector of `scan` and `redact`, as their arguments ask for it.

use crate::args::{Globals, Wanted, WhatArguments};
use crate::exit::Failure;
use tollgate::detect::Detector;

const REMEDY: &str = "`tollgate scan --help` says what can be asked for";

pub(crate) fn detector(globals: &Globals, what: &WhatArguments) -> Result<Detector, Failure> {
    if let Some(policy) = globals.policy.first() {
        let message = format!("no policy is asked here, so `{}` has no say", policy.display());
        return Err(Failure::usage(message, "leave --policy out; --find and --threshold are read"));
    }
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

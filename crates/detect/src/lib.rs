//! Finds secrets and personal data in text and JSON, and masks them.

mod allow;
mod ascii;
mod assign;
mod census;
mod config;
mod context;
mod decode;
mod detector;
mod digest;
mod finding;
mod fold;
mod hit;
mod keys;
pub mod limits;
mod mask;
mod model;
mod names;
mod pattern;
mod pii;
mod prefilter;
mod rule;
mod rules;
mod sample;
mod scan;
mod secrets;
mod unit;
mod value;

pub use config::{BuildError, Context, CustomRule, RuleSetting};
pub use detector::{Detector, DetectorBuilder, Inspection, THRESHOLD};
pub use finding::{Category, Finding, Kind, RuleId, Severity, Standing};
pub use mask::{HashKey, Mask, MaskWith};
pub use model::{NameModel, NameModelError, NameSpan};
pub use rule::Rule;
pub use rules::all as rules;

//! Finds secrets and personal data in text and JSON, and masks them, also in streams.
//!
//! A [`Detector`] holds the rules and the policy's settings; it is built once, shared, and scans any number
//! of texts without state, I/O or clock. A [`Redactor`] adds masks: text in, text with masks out, whatever
//! is not masked unchanged byte for byte. A [`StreamRedactor`] does the same for text that arrives in
//! pieces, and gives the same output however it is split.
//!
//! ```
//! use std::sync::Arc;
//! use tollgate_detect::{Context, Detector, Mask, Redactor};
//!
//! let detector = Arc::new(Detector::builder().build()?);
//! let redactor = Redactor::new(detector).mask(Mask::Plain);
//! let out = redactor.redact(r#"{"phone": 13812345678, "password": "hunter2!"}"#, &Context::default());
//! assert_eq!(out.text.as_deref(), Some(r#"{"phone": "138*********", "password": "[PASSWORD]"}"#));
//! assert_eq!(out.findings[0].rule, "phone-cn");
//! # Ok::<(), tollgate_detect::BuildError>(())
//! ```
//!
//! How a scan goes: one pass finds the keywords of all rules, one pass counts classes of bytes; what they
//! point at is read closely by a reader of its format, proved by check digits where there are any, weighed
//! by its context, and held against the rules' thresholds. No reader backtracks, so time is linear in the
//! text whatever it holds. docs/detection.md has the figures and says what is not found.
//!
//! What this crate refuses: reaching out (no verification of keys over the network), guessing at names
//! without cue or list (that is a [`NameModel`]'s work), and showing more of a secret than a quarter.

mod allow;
mod ascii;
mod assign;
mod calls;
mod census;
mod columns;
mod config;
mod context;
mod cues;
mod decode;
mod detector;
mod devices;
mod digest;
mod escape;
mod finding;
mod fold;
mod hit;
mod json;
mod keys;
pub mod limits;
mod mask;
mod memory;
mod model;
mod names;
mod pattern;
mod pii;
mod pipe;
mod prefilter;
mod redact;
mod region;
mod rule;
mod rules;
mod sample;
mod scan;
mod secrets;
mod spot;
mod stream;
mod tree;
mod unit;
mod validator;
mod value;

pub use allow::AllowWith;
pub use config::{BuildError, Context, CustomRule, RuleSetting};
pub use detector::{Detector, DetectorBuilder, Inspection, THRESHOLD};
pub use finding::{Category, Finding, Kind, RuleId, Severity, Standing};
pub use keys::is_secret_name;
pub use mask::{HashKey, Mask, MaskWith};
pub use memory::{MaskMemory, masks_in};
pub use model::{NameModel, NameModelError, NameSpan};
pub use pipe::Piped;
pub use redact::{NumberMask, Redacted, Redactor, UNSCANNED};
pub use region::Region;
pub use rule::Rule;
pub use rules::all as rules;
pub use spot::{is_name_key, is_value_key};
pub use stream::{Released, StreamFormat, StreamRedactor};
pub use validator::Validator;

//! Governs what AI agents do: one policy, one gate, one ledger.
//!
//! This is the crate to add. It puts the gate, a policy and a ledger together and has no rule of its
//! own: whoever needs a piece by itself finds it under [`gate`], [`policy`], [`store`] and [`detect`].
//!
//! Without a policy or hooks it refuses to open: a gate that nobody told anything would only look
//! like one.

pub mod approver;
pub mod installs;
pub mod ledger;
pub mod person;
pub mod places;
pub mod review;
pub mod switches;
pub mod watch;

mod error;
mod guard;
mod host_files;
mod kept;
mod knowledge;
mod mask_key;
#[cfg(feature = "ner")]
mod name_models;
mod open;
mod reviewed;

pub use error::{OpenError, ReloadError};
pub use guard::{GUARD, is_guard, refused_always};
pub use knowledge::{effects_of, misread};
pub use open::{Builder, Tollgate};
pub use places::{Places, PlacesError, PlacesLoadError};
pub use switches::{Switch, Switches, SwitchesError};
pub use watch::{Reloaded, Watch};

pub use tollgate_detect as detect;
pub use tollgate_effects::Row;
pub use tollgate_gate as gate;
pub use tollgate_policy as policy;
pub use tollgate_store as store;

/// The README's examples, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

//! The policy: files turned into a ruleset of the gate, so that nobody writes code to use it.
//!
//! Read it in the order `file` (text to a tree with places, checked against the shapes of the
//! language), `compile` (raw to plan to hooks), `layers` (whose policy, trust, tightening), `lint`,
//! `load` (all of it in one call). Beside these stand the two vocabularies of a hook: `actions`, what
//! it does, and `when`, on which condition; and what people do with a policy: `explain`, `suite`
//! (policy tests), `backtest`, `replay` (events out of the ledger). A policy with an error never gives
//! a ruleset.
//!
//! Refused here: any I/O but reading policy files, the trust store and snapshots; any network; any
//! environment variable that a policy does not declare.

pub mod actions;
pub mod backtest;
pub mod compile;
pub mod detection;
pub mod diagnostic;
pub mod explain;
pub mod layers;
pub mod limits;
pub mod load;
pub mod private;
pub mod replay;
pub mod snapshot;
pub mod stream;
pub mod suite;
pub mod when;

mod file;
mod judged;
mod lint;
mod schema;

pub use compile::analysed::{AnalysedEffects, Reach};
pub use compile::effects::{
    CallEffects, CallMemo, DeclaredEffects, EffectSource, Question, Tally, ToolFacts, Verb,
};
pub use diagnostic::{Diagnostic, Place, Report, Severity, Source, SourceId, Sources, Span};
pub use explain::{Explanation, Fate, HookExplanation, explain};
pub use layers::{
    Layer, LayerKind, LayerState, LayerStatus, Origin, Trust, TrustStore, project_layer,
};
pub use load::{
    AlertInfo, EffectsOf, HookInfo, LoadFailure, LoadOptions, Loaded, Pinning, PolicySettings,
    diagnose, load, load_text,
};
pub use private::PrivateError;
pub use schema::policy_schema;

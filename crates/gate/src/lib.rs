//! The gate: every action of an AI agent passes it, is judged and recorded.
//!
//! This crate is the law and nothing else: no I/O, no async runtime, time only through [`Clock`].
//! What it needs from outside stands behind the traits [`Ledger`], [`State`], [`Scrub`] and
//! [`Clock`], each with a form in memory here.
//!
//! Read it in the order `event`, `matcher`, `hook`, `vote`, `chain`, `gate`.
//!
//! ```
//! use std::sync::Arc;
//! use tollgate_gate::{
//!     Event, EventKind, Gate, Hook, Json, ManualClock, Matcher, Opinion, Passage, Roles, Session,
//!     Timestamp, ToolCall, inline,
//! };
//!
//! # fn block_on<T>(future: impl std::future::Future<Output = T>) -> T {
//! #     let mut future = std::pin::pin!(future);
//! #     let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
//! #     loop {
//! #         if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut cx) {
//! #             return value;
//! #         }
//! #     }
//! # }
//! let clock = Arc::new(ManualClock::new(Timestamp::from_millis(0)));
//! let deny = inline(|_| Ok(Opinion::deny("files are not deleted here")));
//! let hook = Hook::new("no-deleting", EventKind::PreTool, Roles::JUDGE, deny)
//!     .matching(Matcher::tool("delete_*").unwrap());
//! let gate = Gate::builder(clock).hook(hook).build().unwrap();
//!
//! let call = ToolCall::new("delete_file", Json::read(br#"{"path": "a"}"#).unwrap());
//! let session = Arc::new(Session::new("s1"));
//! let event = Event::new(session, call, Timestamp::from_millis(0));
//! let ruling = block_on(gate.decide(event));
//! assert_eq!(ruling.decision.hook.as_deref(), Some("no-deleting"));
//! assert!(matches!(ruling.passage, Passage::Closed(_)));
//! ```

pub mod approval;
pub mod channel;
pub mod clock;
pub mod code;
pub mod decision;
pub mod event;
pub mod glob;
pub mod hook;
pub mod json;
pub mod kind;
pub mod ledger;
pub mod limits;
pub mod matcher;
pub mod metrics;
pub mod panics;
pub mod path;
pub mod payload;
pub mod permit;
pub mod record;
pub mod ruleset;
#[cfg(feature = "schema")]
pub mod schema;
pub mod scrub;
pub mod session;
pub mod soon;
pub mod state;
pub mod text;
pub mod trace;
pub mod vault;
mod veil;
pub mod vote;

mod chain;
mod gate;
mod index;
mod wire;

pub use approval::{ApprovalAnswer, ApprovalReply, ApprovalRequest, Approver};
pub use channel::Channel;
pub use clock::{Clock, ManualClock, Timestamp};
pub use code::Code;
pub use decision::Decision;
pub use event::{Bounds, Event, EventId, Name, Rewriting, WIRE_VERSION};
pub use gate::{
    Closed, Gate, GateBuilder, Grant, ModelResult, Passage, Performed, Registrar, Ruling, Scope,
    Settled, SwitchError,
};
pub use glob::{Glob, GlobError};
pub use hook::{
    DryRun, Found, Handler, HandlerError, Hook, Masking, OnFailure, Opinion, OpinionFuture, Roles,
    Rollout, RolloutBy, Sees, View, asynchronous, inline,
};
pub use json::{Json, Number, Object};
pub use kind::{EventKind, KindSet, Phase};
pub use ledger::{Ledger, LedgerError, MemoryLedger};
pub use matcher::{Matcher, Patterns, Subject, Test, TestError};
pub use metrics::HookMetrics;
pub use payload::{CallReader, Failure, Payload, ToolCall, ToolOutcome, ToolResult, Usage};
pub use permit::{Permit, Ticket};
pub use record::{Record, RecordKind};
pub use ruleset::{
    DefaultVote, Durability, HookError, Mode, Registered, Resolution, Ruleset, Settings,
};
pub use scrub::{BasicScrub, Scrub};
pub use session::Session;
pub use soon::Soon;
pub use state::{
    Aborted, CallKey, Claim, Counted, Counters, Exceeded, MemoryState, Quota, Repeats, SessionView,
    Settlement, State, StateError,
};
pub use trace::{Cast, Fault};
pub use vault::{Hidden, Kept, MemoryVault, Reveal, Vault, VaultError, VaultOwner};
pub use vote::{Allowance, Answer, Joined, Lead, Question, Rank, Refusal, Verdict, Vote, VoteKind};
pub use wire::EventError;

//! `when`: conditions in CEL (the Common Expression Language, cel.dev) over an event.
//!
//! Read it in the order `token`, `parse`, `scope`, `check`, `tree`, `eval`. A condition is read by a
//! parser of our own, checked against what its hook can see, and lowered to a small tree that our own
//! evaluator runs over the event in place. The `cel` crate is the oracle of the differential test and
//! no part of the product: its parser has no bounds and its evaluator no step counter.
//!
//! What this refuses: names, fields and functions that do not exist (at the hook's kinds), wrong
//! arity, types known not to go together, fields that may be absent and are read without `has()`,
//! patterns out of events, and everything over the caps of [`limits`].

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "operations are partial: what one does not take, and what is added later, is a fault"
)]

mod calls;
mod check;
mod error;
mod eval;
mod function;
mod guard;
pub mod limits;
mod operate;
mod parse;
mod pattern;
mod read;
mod scope;
#[cfg(test)]
mod tests;
mod time;
mod token;
mod tree;
mod typing;
mod value;

pub use error::{WhenError, WhenErrorKind};

use eval::Run;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use tollgate_gate::{KindSet, Name, Subject, Test, TestError};
use tree::Expr;

/// What a condition may rely on: where its hook runs and what its match has settled.
#[derive(Debug, Clone)]
pub struct WhenEnv {
    /// The kinds at which the hook runs.
    pub kinds: KindSet,
    /// The tools that the match names exactly; empty when it names none or uses a wildcard. Their
    /// arguments may be read without `has()`.
    pub tools: Vec<Name>,
    /// Who is in which group.
    pub groups: Arc<Groups>,
}

/// Who is in which group: what `user.groups` reads.
#[derive(Debug, Clone, Default)]
pub struct Groups {
    by_user: BTreeMap<Name, Vec<Name>>,
    digest: String,
}

impl Groups {
    /// From groups and their members, as a policy writes them.
    pub fn of_members<'g>(
        groups: impl IntoIterator<Item = (&'g str, impl IntoIterator<Item = &'g str>)>,
    ) -> Groups {
        let mut by_user: BTreeMap<Name, Vec<Name>> = BTreeMap::new();
        for (group, members) in groups {
            let group: Name = group.into();
            for member in members {
                let of_member = by_user.entry(member.into()).or_default();
                if !of_member.contains(&group) {
                    of_member.push(Arc::clone(&group));
                }
            }
        }
        let digest = Sha256::digest(format!("{by_user:?}").as_bytes());
        let digest = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Groups { by_user, digest }
    }

    /// The groups of this user.
    pub fn of(&self, user: &str) -> &[Name] {
        self.by_user.get(user).map_or(&[], Vec::as_slice)
    }
}

/// A condition, checked and ready to run.
#[derive(Clone)]
pub struct Condition {
    parts: Arc<ConditionSnapshot>,
    groups: Arc<Groups>,
}

/// A condition as a snapshot of the policy keeps it: what runs, with nothing left to parse.
///
/// It is trusted as it is, so it must come out of a place that only the gate's owner can write. Its
/// form may change with every version of this crate; a snapshot of another version must not be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConditionSnapshot {
    source: Box<str>,
    tree: Expr,
}

impl Condition {
    /// Reads and checks a condition.
    ///
    /// # Errors
    /// [`WhenError`]: what is wrong, where in `source`, and what to do about it.
    pub fn compile(source: &str, env: &WhenEnv) -> Result<Condition, WhenError> {
        let tree = check::check(&parse::parse(source)?, env)?;
        let parts = Arc::new(ConditionSnapshot { source: source.into(), tree });
        Ok(Condition { parts, groups: Arc::clone(&env.groups) })
    }

    /// Restores a condition without parsing; its patterns compile at their first use.
    pub fn from_snapshot(
        snapshot: impl Into<Arc<ConditionSnapshot>>,
        groups: Arc<Groups>,
    ) -> Condition {
        Condition { parts: snapshot.into(), groups }
    }

    /// This condition for a snapshot.
    pub fn snapshot(&self) -> &Arc<ConditionSnapshot> {
        &self.parts
    }

    /// As it was written.
    pub fn source(&self) -> &str {
        &self.parts.source
    }
}

impl Test for Condition {
    fn test(&self, subject: &Subject<'_>) -> Result<bool, TestError> {
        let mut run = Run::new(*subject, &self.groups);
        run.truth(&self.parts.tree).map_err(|fault| TestError {
            condition: self.source().to_owned(),
            cause: fault.to_string(),
        })
    }

    /// The source, and the digest of the groups when it may read them: with other groups it is
    /// another condition.
    fn describe(&self) -> String {
        let source = self.source();
        if source.contains("groups") {
            return format!("when: {source} [groups {}]", self.groups.digest);
        }
        format!("when: {source}")
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Condition({:?})", self.source())
    }
}

//! The matcher: decides whether a hook concerns an event.
//!
//! It is cheap, pure and allocates nothing. A matcher names conditions on who acts and what is asked;
//! the ruleset's index (`index.rs`) reads from it by which key an event can find the hook at all.
//! What needs a computation of its own (a CEL condition, call effects) comes in as a [`Test`], which
//! may fail: a failing test is a fault of its hook, never a quiet "no".

use crate::event::{Event, Name};
use crate::glob::{Glob, GlobError};
use crate::limits::{MATCHER_DEPTH_MAX, MATCHER_PATTERNS_MAX};
use crate::path::Path;
use crate::payload::Payload;
use crate::state::SessionView;
use std::fmt;
use std::sync::Arc;

/// What a matcher looks at.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The event as it came.
    pub event: &'a Event,
    /// The payload as the hooks before left it.
    pub payload: &'a Payload,
    /// Counters and labels of the session.
    pub session: &'a SessionView,
}

/// A condition with a computation of its own.
pub trait Test: Send + Sync {
    /// Whether the condition holds.
    ///
    /// # Errors
    /// When it cannot be told; the hook's `on_failure` decides then.
    fn test(&self, subject: &Subject<'_>) -> Result<bool, TestError>;

    /// The condition in words, for explanations and digests. Two tests that describe themselves
    /// alike must be alike.
    fn describe(&self) -> String;
}

/// A condition that could not be evaluated: which, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("condition `{condition}`: {cause}")]
pub struct TestError {
    /// The condition, as written.
    pub condition: String,
    /// What went wrong.
    pub cause: String,
}

/// Decides whether a hook concerns an event.
#[derive(Clone, Default)]
pub enum Matcher {
    /// Every event of the hook's kinds.
    #[default]
    Always,
    /// The tool's name.
    Tool(Patterns),
    /// The server that has the tool.
    Server(Patterns),
    /// The model's name.
    Model(Patterns),
    /// The tenant.
    Tenant(Patterns),
    /// The user.
    User(Patterns),
    /// The agent.
    Agent(Patterns),
    /// The host.
    Host(Patterns),
    /// The event has all these tags.
    Tags(Vec<Name>),
    /// The event has any of these tags.
    AnyTag(Vec<Name>),
    /// The session has all these labels.
    Labels(Vec<Name>),
    /// Some value at a path of the payload matches.
    Value(Path, Patterns),
    /// All of these hold.
    All(Vec<Matcher>),
    /// Any of these holds.
    AnyOf(Vec<Matcher>),
    /// This does not hold.
    Not(Box<Matcher>),
    /// A computed condition.
    Test(Arc<dyn Test>),
}

/// One or several patterns; a text matches when any of them does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patterns(Vec<Glob>);

impl Patterns {
    /// Text globs; a pattern without wildcards is an exact name.
    ///
    /// # Errors
    /// [`GlobError`] of the first bad pattern.
    pub fn globs<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Patterns, GlobError> {
        let globs: Result<Vec<_>, _> = patterns.into_iter().map(Glob::text).collect();
        globs.map(Patterns)
    }

    /// Whether any pattern matches.
    pub fn matches(&self, text: &str) -> bool {
        self.0.iter().any(|glob| glob.matches(text))
    }

    /// The globs.
    pub fn as_globs(&self) -> &[Glob] {
        &self.0
    }
}

/// Why a matcher cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MatcherError {
    /// `all` / `any` / `not` nested too deep.
    #[error("matcher nested deeper than {MATCHER_DEPTH_MAX} levels")]
    TooDeep,
    /// Too many patterns.
    #[error("matcher with more than {MATCHER_PATTERNS_MAX} patterns")]
    TooLarge,
}

impl Matcher {
    /// The tool's name matches one of these globs.
    ///
    /// # Errors
    /// [`GlobError`] of the first bad pattern.
    pub fn tool(pattern: &str) -> Result<Matcher, GlobError> {
        Patterns::globs([pattern]).map(Matcher::Tool)
    }

    /// Any of these tools.
    ///
    /// # Errors
    /// [`GlobError`] of the first bad pattern.
    pub fn tools<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Matcher, GlobError> {
        Patterns::globs(patterns).map(Matcher::Tool)
    }

    /// A condition in Rust, with the words that describe it.
    pub fn when(
        description: impl Into<String>,
        test: impl Fn(&Subject<'_>) -> bool + Send + Sync + 'static,
    ) -> Matcher {
        Matcher::Test(Arc::new(FnTest { description: description.into(), test }))
    }

    /// This and another.
    #[must_use]
    pub fn and(self, other: Matcher) -> Matcher {
        match (self, other) {
            (Matcher::Always, other) => other,
            (this, Matcher::Always) => this,
            (Matcher::All(mut all), other) => {
                all.push(other);
                Matcher::All(all)
            }
            (this, other) => Matcher::All(vec![this, other]),
        }
    }

    /// Whether the hook is concerned.
    ///
    /// # Errors
    /// [`TestError`] when a computed condition failed before the answer was known.
    pub fn matches(&self, subject: &Subject<'_>) -> Result<bool, TestError> {
        let session = &subject.event.session;
        let tags = &subject.event.tags;
        Ok(match self {
            Matcher::Always => true,
            Matcher::Tool(patterns) => {
                subject.payload.tool_call().is_some_and(|call| patterns.matches(&call.tool))
            }
            Matcher::Server(patterns) => {
                let server = subject.payload.tool_call().and_then(|call| call.server.as_deref());
                has(server, patterns)
            }
            Matcher::Model(patterns) => {
                has(subject.payload.model_call().and_then(|call| call.model()), patterns)
            }
            Matcher::Tenant(patterns) => has(session.tenant.as_deref(), patterns),
            Matcher::User(patterns) => has(session.user.as_deref(), patterns),
            Matcher::Agent(patterns) => has(session.agent.as_deref(), patterns),
            Matcher::Host(patterns) => has(session.host.as_deref(), patterns),
            Matcher::Tags(all) => all.iter().all(|tag| tags.contains(tag)),
            Matcher::AnyTag(any) => any.iter().any(|tag| tags.contains(tag)),
            Matcher::Labels(all) => all.iter().all(|label| subject.session.has_label(label)),
            Matcher::Value(path, patterns) => match path.text(subject.payload) {
                Some(text) => patterns.matches(text),
                None => path.any(subject.payload, |value| value_matches(value, patterns)),
            },
            Matcher::All(all) => {
                for matcher in all {
                    if !matcher.matches(subject)? {
                        return Ok(false);
                    }
                }
                true
            }
            Matcher::AnyOf(any) => {
                for matcher in any {
                    if matcher.matches(subject)? {
                        return Ok(true);
                    }
                }
                false
            }
            Matcher::Not(matcher) => !matcher.matches(subject)?,
            Matcher::Test(test) => test.test(subject)?,
        })
    }

    /// The first condition that keeps this from matching, in words; `None` when it matches.
    ///
    /// # Errors
    /// [`TestError`] as for [`Matcher::matches`].
    pub fn mismatch(&self, subject: &Subject<'_>) -> Result<Option<String>, TestError> {
        if let Matcher::All(all) = self {
            for matcher in all {
                if let Some(words) = matcher.mismatch(subject)? {
                    return Ok(Some(words));
                }
            }
            return Ok(None);
        }
        Ok(if self.matches(subject)? { None } else { Some(self.to_string()) })
    }

    /// Checks the caps on nesting and patterns.
    pub(crate) fn check(&self) -> Result<(), MatcherError> {
        let patterns = self.count(0)?;
        if patterns > MATCHER_PATTERNS_MAX { Err(MatcherError::TooLarge) } else { Ok(()) }
    }

    fn count(&self, depth: usize) -> Result<usize, MatcherError> {
        if depth > MATCHER_DEPTH_MAX {
            return Err(MatcherError::TooDeep);
        }
        Ok(match self {
            Matcher::Always | Matcher::Test(_) => 1,
            Matcher::Tool(patterns)
            | Matcher::Server(patterns)
            | Matcher::Model(patterns)
            | Matcher::Tenant(patterns)
            | Matcher::User(patterns)
            | Matcher::Agent(patterns)
            | Matcher::Host(patterns)
            | Matcher::Value(_, patterns) => patterns.0.len(),
            Matcher::Tags(names) | Matcher::AnyTag(names) | Matcher::Labels(names) => names.len(),
            Matcher::All(matchers) | Matcher::AnyOf(matchers) => {
                let mut sum = 0;
                for matcher in matchers {
                    sum += matcher.count(depth + 1)?;
                }
                sum
            }
            Matcher::Not(matcher) => matcher.count(depth + 1)?,
        })
    }
}

fn has(value: Option<&str>, patterns: &Patterns) -> bool {
    value.is_some_and(|value| patterns.matches(value))
}

/// Texts match as they are, numbers and booleans by the text that writes them.
fn value_matches(value: &crate::json::Json, patterns: &Patterns) -> bool {
    use crate::json::Json;
    match value {
        Json::String(text) => patterns.matches(text),
        Json::Bool(value) => patterns.matches(if *value { "true" } else { "false" }),
        Json::Number(number) => number.with_literal(|literal| patterns.matches(literal)),
        Json::Null | Json::Array(_) | Json::Object(_) => false,
    }
}

struct FnTest<F> {
    description: String,
    test: F,
}

impl<F: Fn(&Subject<'_>) -> bool + Send + Sync> Test for FnTest<F> {
    fn test(&self, subject: &Subject<'_>) -> Result<bool, TestError> {
        Ok((self.test)(subject))
    }

    fn describe(&self) -> String {
        self.description.clone()
    }
}

/// The matcher in words, as explanations and digests use it.
impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, word: &str, matchers: &[Matcher]| {
            write!(f, "{word}(")?;
            for (i, matcher) in matchers.iter().enumerate() {
                write!(f, "{}{matcher}", if i > 0 { ", " } else { "" })?;
            }
            f.write_str(")")
        };
        match self {
            Matcher::Always => f.write_str("always"),
            Matcher::Tool(patterns) => write!(f, "tool: {patterns}"),
            Matcher::Server(patterns) => write!(f, "server: {patterns}"),
            Matcher::Model(patterns) => write!(f, "model: {patterns}"),
            Matcher::Tenant(patterns) => write!(f, "tenant: {patterns}"),
            Matcher::User(patterns) => write!(f, "user: {patterns}"),
            Matcher::Agent(patterns) => write!(f, "agent: {patterns}"),
            Matcher::Host(patterns) => write!(f, "host: {patterns}"),
            Matcher::Tags(names) => write!(f, "tags: {names:?}"),
            Matcher::AnyTag(names) => write!(f, "any_tag: {names:?}"),
            Matcher::Labels(names) => write!(f, "labels: {names:?}"),
            Matcher::Value(path, patterns) => write!(f, "{path}: {patterns}"),
            Matcher::All(all) => list(f, "all", all),
            Matcher::AnyOf(any) => list(f, "any", any),
            Matcher::Not(matcher) => write!(f, "not({matcher})"),
            Matcher::Test(test) => f.write_str(&test.describe()),
        }
    }
}

impl fmt::Display for Patterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [one] => f.write_str(one.pattern()),
            many => f.debug_list().entries(many.iter().map(Glob::pattern)).finish(),
        }
    }
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Matcher({self})")
    }
}

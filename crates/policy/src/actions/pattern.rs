//! Regexes of a policy: linear in time, capped in size, compiled when the context says.

use super::{ActionError, Patterns};
use regex::{Regex, RegexBuilder};
use std::sync::OnceLock;
use tollgate_gate::HandlerError;

/// Longest pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 4096;
/// Largest compiled pattern, in bytes.
const COMPILED_BYTES_MAX: usize = 1024 * 1024;
/// Deepest nesting of a pattern.
const NESTING_MAX: u32 = 50;

/// A regex of a policy.
pub(crate) struct Pattern {
    text: Box<str>,
    compiled: OnceLock<Result<Regex, String>>,
}

impl Pattern {
    /// Checks a pattern, and compiles it if the context wants that at load.
    pub(crate) fn new(text: &str, when: Patterns) -> Result<Pattern, ActionError> {
        if text.is_empty() {
            return Err(ActionError::at("", "empty pattern"));
        }
        if text.len() > PATTERN_BYTES_MAX {
            return Err(ActionError::at(
                "",
                format!("pattern longer than {PATTERN_BYTES_MAX} bytes"),
            ));
        }
        let bad = |error: String| ActionError::at("", format!("`{text}` is no pattern: {error}"));
        regex_syntax::ParserBuilder::new()
            .nest_limit(NESTING_MAX)
            .build()
            .parse(text)
            .map_err(|error| bad(syntax_words(&error)))?;
        let pattern = Pattern { text: text.into(), compiled: OnceLock::new() };
        if when == Patterns::AtLoad {
            pattern.compile().as_ref().map_err(|error| bad(error.clone()))?;
        }
        Ok(pattern)
    }

    /// The regex.
    pub(crate) fn regex(&self) -> Result<&Regex, HandlerError> {
        let compiled = self.compile().as_ref();
        compiled.map_err(|error| HandlerError(format!("pattern `{}`: {error}", self.text)))
    }

    fn compile(&self) -> &Result<Regex, String> {
        self.compiled.get_or_init(|| {
            RegexBuilder::new(&self.text)
                .size_limit(COMPILED_BYTES_MAX)
                .nest_limit(NESTING_MAX)
                .build()
                .map_err(|error| {
                    if let regex::Error::CompiledTooBig(bytes) = error {
                        return format!("it compiles to more than {bytes} bytes");
                    }
                    error.to_string()
                })
        })
    }
}

/// What is wrong with the syntax, without the drawing of the pattern.
fn syntax_words(error: &regex_syntax::Error) -> String {
    match error {
        regex_syntax::Error::Parse(error) => error.kind().to_string(),
        regex_syntax::Error::Translate(error) => error.kind().to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;
    use crate::actions::Patterns;

    fn error(text: &str) -> String {
        Pattern::new(text, Patterns::AtLoad).err().unwrap().message
    }

    #[test]
    fn bad_and_oversized_patterns_are_refused_at_load() {
        assert_eq!(error("a("), "`a(` is no pattern: unclosed group");
        assert!(error(r"\w{900}{20}").contains("compiles to more than 1048576 bytes"));
        assert_eq!(error(""), "empty pattern");
        assert_eq!(error(&"a".repeat(5000)), "pattern longer than 4096 bytes");
        assert!(error(r"(?=a)b").contains("look-around"));
    }

    #[test]
    fn a_pattern_that_is_compiled_at_first_use_fails_there_when_it_is_too_large() {
        let pattern = Pattern::new(r"\w{900}{20}", Patterns::AtFirstUse).unwrap();
        assert!(pattern.regex().unwrap_err().0.contains("compiles to more than"));
    }
}

//! Allow-lists: values, patterns, paths and tools that the policy exempts.
//!
//! A value is exempt when the whole datum equals it or the whole datum matches the pattern; a longer
//! datum that merely holds an exempt value is not.

use std::collections::HashSet;
use std::sync::Arc;

use regex::RegexSet;

use crate::config::{BuildError, Context};
use crate::limits::{CUSTOM_PATTERN_BYTES_MAX, CUSTOM_PROGRAM_BYTES_MAX};

/// Exempts single data by what is known outside the policy, such as what a person said of them.
pub trait AllowWith: Send + Sync + std::fmt::Debug {
    /// Whether this datum, as this rule found it, is left alone. In doubt: no.
    fn exempts(&self, rule: &str, datum: &str) -> bool;
}

/// As the policy writes it.
#[derive(Debug, Clone, Default)]
pub(crate) struct AllowWritten {
    pub(crate) values: HashSet<String>,
    pub(crate) patterns: Vec<String>,
    pub(crate) paths: Vec<String>,
    pub(crate) tools: Vec<String>,
    pub(crate) with: Option<Arc<dyn AllowWith>>,
}

/// As it is asked.
#[derive(Debug)]
pub(crate) struct Allow {
    values: HashSet<String>,
    patterns: Option<RegexSet>,
    paths: Vec<String>,
    tools: Vec<String>,
    with: Option<Arc<dyn AllowWith>>,
}

impl AllowWritten {
    pub(crate) fn compile(self) -> Result<Allow, BuildError> {
        let wrong = |reason: String| BuildError::Pattern { id: "allow".to_owned(), reason };
        if let Some(long) = self.patterns.iter().find(|p| p.len() > CUSTOM_PATTERN_BYTES_MAX) {
            return Err(wrong(format!(
                "longer than {CUSTOM_PATTERN_BYTES_MAX} bytes: {} bytes",
                long.len()
            )));
        }
        let whole = self.patterns.iter().map(|pattern| format!(r"\A(?:{pattern})\z"));
        let patterns = if self.patterns.is_empty() {
            None
        } else {
            let set =
                regex::RegexSetBuilder::new(whole).size_limit(CUSTOM_PROGRAM_BYTES_MAX).build();
            Some(set.map_err(|error| wrong(error.to_string()))?)
        };
        let AllowWritten { values, paths, tools, with, .. } = self;
        Ok(Allow { values, patterns, paths, tools, with })
    }
}

impl Allow {
    /// Whether nothing of this origin is looked at.
    pub(crate) fn exempts_place(&self, ctx: &Context<'_>) -> bool {
        let listed = |list: &[String], name: Option<&str>| {
            name.is_some_and(|name| {
                list.iter().any(|glob| matches(glob.as_bytes(), name.as_bytes()))
            })
        };
        listed(&self.paths, ctx.path) || listed(&self.tools, ctx.tool)
    }

    /// Whether this datum of this rule is exempt.
    pub(crate) fn exempts_value(&self, rule: &str, value: &str) -> bool {
        self.values.contains(value)
            || self.patterns.as_ref().is_some_and(|set| set.is_match(value))
            || self.with.as_ref().is_some_and(|with| with.exempts(rule, value))
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.values.is_empty() && self.patterns.is_none() && self.with.is_none()
    }
}

/// Globs: `*` within a path part, `**` across parts, `?` one byte. Two stars to go back to, so at most
/// quadratic in the glob, not exponential.
fn matches(glob: &[u8], name: &[u8]) -> bool {
    let (mut g, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    let mut deep: Option<(usize, usize)> = None;
    loop {
        match (glob.get(g..).unwrap_or(&[]), name.get(n)) {
            ([b'*', b'*', ..], _) => {
                g += 2;
                if glob.get(g) == Some(&b'/') {
                    // `**/x` also matches `x`.
                    g += 1;
                }
                deep = Some((g, n));
                star = None;
                continue;
            }
            ([b'*', ..], _) => {
                g += 1;
                star = Some((g, n));
                continue;
            }
            ([], None) => return true,
            ([b'?', ..], Some(byte)) if *byte != b'/' => {
                (g, n) = (g + 1, n + 1);
                continue;
            }
            ([first, ..], Some(byte)) if first == byte => {
                (g, n) = (g + 1, n + 1);
                continue;
            }
            ([] | [_, ..], _) => {}
        }
        let shallow = star.filter(|(_, from)| name.get(*from).is_some_and(|byte| *byte != b'/'));
        if let Some((back, from)) = shallow {
            star = Some((back, from + 1));
            (g, n) = (back, from + 1);
        } else if let Some((back, from)) = deep.filter(|(_, from)| *from < name.len()) {
            deep = Some((back, from + 1));
            star = None;
            (g, n) = (back, from + 1);
        } else {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn globs_keep_to_path_parts_unless_doubled() {
        for (glob, name, expected) in [
            ("tests/*.rs", "tests/a.rs", true),
            ("tests/*.rs", "tests/a/b.rs", false),
            ("tests/**", "tests/a/b.rs", true),
            ("**/fixtures/**", "a/b/fixtures/c", true),
            ("**/x", "x", true),
            ("list_*", "list_files", true),
            ("list_*", "read_files", false),
            ("a?c", "abc", true),
        ] {
            assert_eq!(matches(glob.as_bytes(), name.as_bytes()), expected, "{glob} {name}");
        }
    }
}

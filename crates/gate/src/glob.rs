//! Globs for names and for paths, matched in linear time.
//!
//! In a *text* glob (tool names, argument values) `*` matches anything. In a *path* glob `*` and `?`
//! stay within one component, `**/` stands for any number of components and a final `**` for
//! everything below. Both know `[a-z]`, `[!a]`, `{a,b}` and `\` before a special character. Usual
//! shapes (exact, prefix, suffix, part) are compared directly; others run as a set of states, so
//! that no pattern can be made slow.

use crate::limits::{GLOB_ALTERNATIVES_MAX, GLOB_BYTES_MAX};
use smallvec::SmallVec;
use std::fmt;

/// A compiled glob.
#[derive(Clone, PartialEq, Eq)]
pub struct Glob {
    pattern: Box<str>,
    alternatives: Vec<Shape>,
}

/// Why a pattern is no glob.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    /// Longer than [`GLOB_BYTES_MAX`].
    #[error("glob longer than {GLOB_BYTES_MAX} bytes")]
    TooLong,
    /// Braces expand to more than [`GLOB_ALTERNATIVES_MAX`] patterns.
    #[error("the braces of glob `{0}` expand to more than {GLOB_ALTERNATIVES_MAX} patterns")]
    TooManyAlternatives(String),
    /// `{` or `[` is never closed.
    #[error("`{1}` is never closed in glob `{0}`")]
    Unclosed(String, char),
    /// `\` at the end.
    #[error("glob `{0}` ends with `\\`")]
    TrailingEscape(String),
    /// The pattern is empty.
    #[error("empty glob")]
    Empty,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Shape {
    Everything,
    Exact(Box<str>),
    Prefix(Box<str>),
    Suffix(Box<str>),
    Part(Box<str>),
    States(Box<[Token]>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Char(char),
    /// `?` in text.
    Any,
    /// `?` in a path.
    AnyButSlash,
    Class {
        negated: bool,
        ranges: Box<[(char, char)]>,
    },
    /// `*` in text, `**` in a path.
    Run,
    /// `*` in a path.
    RunInComponent,
    /// `**/` in a path, at a component's start: leaves at once or after a slash.
    Components,
    /// Within a component that `**/` swallows.
    InComponents,
}

impl Glob {
    /// A glob for names and values: `*` matches anything.
    ///
    /// # Errors
    /// [`GlobError`] says what is wrong with the pattern.
    pub fn text(pattern: &str) -> Result<Glob, GlobError> {
        Glob::compile(pattern, false)
    }

    /// A glob for paths: `*` stays within one component.
    ///
    /// # Errors
    /// [`GlobError`] says what is wrong with the pattern.
    pub fn path(pattern: &str) -> Result<Glob, GlobError> {
        Glob::compile(pattern, true)
    }

    fn compile(pattern: &str, is_path: bool) -> Result<Glob, GlobError> {
        if pattern.is_empty() {
            return Err(GlobError::Empty);
        }
        if pattern.len() > GLOB_BYTES_MAX {
            return Err(GlobError::TooLong);
        }
        // Most patterns are plain names.
        if !pattern.contains(['*', '?', '[', '{', '\\']) {
            let alternatives = vec![Shape::Exact(pattern.into())];
            return Ok(Glob { pattern: pattern.into(), alternatives });
        }
        // And many are one and all below it: a hook process has a hundred of these to make.
        let head = pattern.strip_suffix(if is_path { "**" } else { "*" });
        if let Some(head) = head.filter(|head| !head.is_empty())
            && !head.contains(['*', '?', '[', '{', '\\'])
        {
            let alternatives = vec![Shape::Prefix(head.into())];
            return Ok(Glob { pattern: pattern.into(), alternatives });
        }
        let mut alternatives = Vec::new();
        for expanded in expand_braces(pattern)? {
            alternatives.push(shape(tokens(pattern, &expanded, is_path)?));
        }
        Ok(Glob { pattern: pattern.into(), alternatives })
    }

    /// Whether the whole of `text` matches.
    pub fn matches(&self, text: &str) -> bool {
        self.alternatives.iter().any(|shape| match shape {
            Shape::Everything => true,
            Shape::Exact(exact) => **exact == *text,
            Shape::Prefix(prefix) => text.starts_with(&**prefix),
            Shape::Suffix(suffix) => text.ends_with(&**suffix),
            Shape::Part(part) => text.contains(&**part),
            Shape::States(tokens) => run_states(tokens, text),
        })
    }

    /// The pattern as it was written.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// The texts that this glob matches, if it has no wildcard at all.
    pub fn literals(&self) -> Option<Vec<&str>> {
        self.alternatives
            .iter()
            .map(|shape| if let Shape::Exact(text) = shape { Some(&**text) } else { None })
            .collect()
    }

    /// For an index: what every matching text starts or ends with, one entry an alternative; `None`
    /// when some alternative has neither.
    pub(crate) fn anchors(&self) -> Option<Vec<Anchor>> {
        self.alternatives.iter().map(anchor).collect()
    }
}

impl fmt::Debug for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Glob({:?})", self.pattern)
    }
}

/// What every text that a glob matches has at one end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Anchor {
    Exact(String),
    Prefix(String),
    Suffix(String),
}

fn anchor(shape: &Shape) -> Option<Anchor> {
    match shape {
        Shape::Everything | Shape::Part(_) => None,
        Shape::Exact(text) => Some(Anchor::Exact(text.to_string())),
        Shape::Prefix(text) => Some(Anchor::Prefix(text.to_string())),
        Shape::Suffix(text) => Some(Anchor::Suffix(text.to_string())),
        Shape::States(tokens) => {
            let literal = |token: &Token| if let Token::Char(c) = token { Some(*c) } else { None };
            let prefix: String = tokens.iter().map_while(literal).collect();
            if !prefix.is_empty() {
                return Some(Anchor::Prefix(prefix));
            }
            let suffix: Vec<char> = tokens.iter().rev().map_while(literal).collect();
            (!suffix.is_empty()).then(|| Anchor::Suffix(suffix.into_iter().rev().collect()))
        }
    }
}

/// The patterns that the braces of a glob stand for. Nested braces are expanded from the left.
///
/// # Errors
/// [`GlobError`] for braces that are never closed or stand for too much.
pub fn expand_braces(pattern: &str) -> Result<Vec<String>, GlobError> {
    let mut todo = vec![pattern.to_owned()];
    let mut done = Vec::new();
    while let Some(current) = todo.pop() {
        if todo.len() + done.len() >= GLOB_ALTERNATIVES_MAX {
            return Err(GlobError::TooManyAlternatives(pattern.to_owned()));
        }
        match first_braces(&current) {
            None => done.push(current),
            Some(None) => return Err(GlobError::Unclosed(pattern.to_owned(), '{')),
            Some(Some((open, close, commas))) => {
                let head = current.get(..open).unwrap_or_default();
                let tail = current.get(close + 1..).unwrap_or_default();
                let mut start = open + 1;
                let mut pieces = Vec::new();
                for end in commas.into_iter().chain([close]) {
                    let piece = current.get(start..end).unwrap_or_default();
                    pieces.push(format!("{head}{piece}{tail}"));
                    start = end + 1;
                }
                todo.extend(pieces.into_iter().rev());
            }
        }
    }
    Ok(done)
}

type Braces = (usize, usize, Vec<usize>);

/// The first pair of braces: its ends and the commas between its alternatives. `Some(None)` when it
/// is never closed.
fn first_braces(pattern: &str) -> Option<Option<Braces>> {
    let (mut open, mut depth, mut commas, mut in_class) = (None, 0usize, Vec::new(), false);
    let mut chars = pattern.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '{' if !in_class => {
                if depth == 0 {
                    open = Some(at);
                }
                depth += 1;
            }
            ',' if depth == 1 && !in_class => commas.push(at),
            '}' if depth == 1 && !in_class => return Some(open.map(|open| (open, at, commas))),
            '}' if depth > 1 && !in_class => depth -= 1,
            _ => {}
        }
    }
    open.map(|_| None)
}

fn tokens(whole: &str, pattern: &str, is_path: bool) -> Result<Vec<Token>, GlobError> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(c) = chars.get(at) {
        at += 1;
        match c {
            '\\' => {
                let escaped = chars.get(at);
                let escaped = escaped.ok_or_else(|| GlobError::TrailingEscape(whole.to_owned()))?;
                out.push(Token::Char(*escaped));
                at += 1;
            }
            '?' => out.push(if is_path { Token::AnyButSlash } else { Token::Any }),
            '*' => {
                let stars = 1 + chars
                    .get(at..)
                    .map_or(0, |rest| rest.iter().take_while(|c| **c == '*').count());
                at += stars - 1;
                let at_component_start = matches!(out.last(), None | Some(Token::Char('/')));
                if !is_path {
                    out.push(Token::Run);
                } else if stars == 1 {
                    out.push(Token::RunInComponent);
                } else if at_component_start && chars.get(at) == Some(&'/') {
                    at += 1;
                    out.extend([Token::Components, Token::InComponents]);
                } else {
                    out.push(Token::Run);
                }
            }
            '[' => {
                let class = class(chars.get(at..).unwrap_or_default());
                let (token, used) =
                    class.ok_or_else(|| GlobError::Unclosed(whole.to_owned(), '['))?;
                out.push(token);
                at += used;
            }
            c => out.push(Token::Char(*c)),
        }
    }
    Ok(out)
}

/// The class that starts behind `[`, and how many characters it takes, `]` included.
fn class(chars: &[char]) -> Option<(Token, usize)> {
    let negated = matches!(chars.first(), Some('!' | '^'));
    let start = usize::from(negated);
    // A `]` in first place is a member.
    let len = chars.iter().skip(start + 1).position(|c| *c == ']')? + 1;
    let members = chars.get(start..start + len)?;
    let mut ranges = Vec::new();
    let mut rest = members;
    while let [first, more @ ..] = rest {
        if let ['-', last, tail @ ..] = more {
            ranges.push((*first, *last));
            rest = tail;
        } else {
            ranges.push((*first, *first));
            rest = more;
        }
    }
    Some((Token::Class { negated, ranges: ranges.into() }, start + len + 1))
}

/// The cheapest shape for these tokens.
fn shape(tokens: Vec<Token>) -> Shape {
    let literal = |tokens: &[Token]| -> Option<Box<str>> {
        let chars: Option<String> = tokens
            .iter()
            .map(|token| if let Token::Char(c) = token { Some(*c) } else { None })
            .collect();
        chars.map(String::into_boxed_str)
    };
    let simple = match tokens.as_slice() {
        [Token::Run] => Some(Shape::Everything),
        [Token::Run, middle @ .., Token::Run] => literal(middle).map(Shape::Part),
        [Token::Run, rest @ ..] => literal(rest).map(Shape::Suffix),
        [rest @ .., Token::Run] => literal(rest).map(Shape::Prefix),
        all => literal(all).map(Shape::Exact),
    };
    simple.unwrap_or_else(|| Shape::States(tokens.into()))
}

/// A set of states as bits: state `i` means that the tokens before `i` have matched.
type States = SmallVec<[u64; 4]>;

fn run_states(tokens: &[Token], text: &str) -> bool {
    let words = tokens.len() / 64 + 1;
    let mut now: States = smallvec::smallvec![0; words];
    let mut next: States = smallvec::smallvec![0; words];
    enter(tokens, &mut now, 0);
    for c in text.chars() {
        next.fill(0);
        let mut alive = false;
        for (word_at, word) in now.iter().enumerate() {
            let mut bits = *word;
            while bits != 0 {
                let state = word_at * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                alive |= step(tokens, &mut next, state, c);
            }
        }
        if !alive {
            return false;
        }
        std::mem::swap(&mut now, &mut next);
    }
    now.get(tokens.len() / 64).is_some_and(|word| word & (1 << (tokens.len() % 64)) != 0)
}

/// Adds `state` and all states that it reaches without a character.
fn enter(tokens: &[Token], states: &mut States, mut state: usize) {
    loop {
        if let Some(word) = states.get_mut(state / 64) {
            *word |= 1 << (state % 64);
        }
        match tokens.get(state) {
            Some(Token::Run | Token::RunInComponent) => state += 1,
            Some(Token::Components) => state += 2,
            _ => return,
        }
    }
}

/// Moves one state over one character; says whether anything was reached.
fn step(tokens: &[Token], next: &mut States, state: usize, c: char) -> bool {
    let to = match tokens.get(state) {
        None => return false,
        Some(Token::Char(expected)) if *expected == c => state + 1,
        Some(Token::Any) => state + 1,
        Some(Token::AnyButSlash) if c != '/' => state + 1,
        Some(Token::Class { negated, ranges }) => {
            let within = ranges.iter().any(|(a, b)| (*a..=*b).contains(&c));
            if within == *negated {
                return false;
            }
            state + 1
        }
        Some(Token::Run) => state,
        Some(Token::RunInComponent) if c != '/' => state,
        Some(Token::Components) => state + usize::from(c != '/'),
        Some(Token::InComponents) => state - usize::from(c == '/'),
        Some(Token::Char(_) | Token::AnyButSlash | Token::RunInComponent) => return false,
    };
    enter(tokens, next, to);
    true
}

#[cfg(test)]
mod tests {
    use super::{Glob, GlobError, expand_braces, shape, tokens};

    #[track_caller]
    fn check_text(pattern: &str, yes: &[&str], no: &[&str]) {
        check(&Glob::text(pattern).unwrap(), yes, no);
    }

    #[track_caller]
    fn check_path(pattern: &str, yes: &[&str], no: &[&str]) {
        check(&Glob::path(pattern).unwrap(), yes, no);
    }

    #[track_caller]
    fn check(glob: &Glob, yes: &[&str], no: &[&str]) {
        for text in yes {
            assert!(glob.matches(text), "{glob:?} must match {text:?}");
        }
        for text in no {
            assert!(!glob.matches(text), "{glob:?} must not match {text:?}");
        }
    }

    #[test]
    fn what_needs_no_reading_of_signs_comes_to_the_same_shape() {
        for pattern in
            ["a", "/srv/x/**", "a**", "a*", "a/*", "**", "*", "**a", "a]**", "!a**", "é/**"]
        {
            for is_path in [false, true] {
                let made = Glob::compile(pattern, is_path).unwrap();
                let read = expand_braces(pattern).unwrap().into_iter();
                let read = read.map(|each| shape(tokens(pattern, &each, is_path).unwrap()));
                assert_eq!(made.alternatives, read.collect::<Vec<_>>(), "{pattern} {is_path}");
            }
        }
    }

    #[test]
    fn text_globs_match_whole_texts() {
        check_text("delete_*", &["delete_file", "delete_"], &["xdelete_file", "delete"]);
        check_text("*_file", &["read_file"], &["read_files"]);
        check_text("*secret*", &["a/secret/b", "secret"], &["secre"]);
        check_text("*", &["", "anything/at all"], &[]);
        check_text("a?c", &["abc", "a/c", "aéc"], &["ac", "abbc"]);
        check_text("[a-c]x[!0-9]", &["axz", "cx/"], &["dxz", "ax5", "ax"]);
        check_text("{read,list}_{file,dir}s", &["read_files", "list_dirs"], &["read_file"]);
        check_text("a*b*c", &["abc", "aXbYc", "abcbc"], &["acb", "abcd"]);
        check_text(r"\*", &["*"], &["a"]);
        check_text("a{b,c{d,e}}", &["ab", "acd", "ace"], &["ac", "abd"]);
        check_text("[]]x", &["]x"], &["x"]);
    }

    #[test]
    fn path_globs_keep_a_star_within_its_component() {
        check_path("src/*.rs", &["src/a.rs"], &["src/a/b.rs", "a.rs"]);
        check_path("**/*.rs", &["a.rs", "x/y/a.rs", "/abs/a.rs"], &["a.rsx"]);
        check_path(
            "**/test_*.py",
            &["test_a.py", "a/b/test_a.py"],
            &["my_test_a.py", "test_a.pyc"],
        );
        check_path("a/**", &["a/b", "a/b/c", "a/"], &["a", "ab"]);
        check_path("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["a/xb", "ab", "a/b/c"]);
        check_path("**", &["", "a/b"], &[]);
        check_path("/etc/{passwd,shadow}", &["/etc/shadow"], &["/etc/shadow/x"]);
        check_path("**/.git/**", &[".git/x", "a/.git/x/y"], &["a/.git", "x.git/y"]);
        check_path("?/a", &["x/a"], &["//a", "/a"]);
    }

    #[test]
    fn a_hostile_pattern_stays_linear() {
        let glob = Glob::text(&format!("{}b", "a*".repeat(100))).unwrap();
        assert!(!glob.matches(&"a".repeat(20_000)));
    }

    #[test]
    fn bad_patterns_are_refused_with_their_reason() {
        assert_eq!(Glob::text(""), Err(GlobError::Empty));
        assert_eq!(Glob::text("a{b"), Err(GlobError::Unclosed("a{b".into(), '{')));
        assert_eq!(Glob::text("a[b"), Err(GlobError::Unclosed("a[b".into(), '[')));
        assert_eq!(Glob::text("a\\"), Err(GlobError::TrailingEscape("a\\".into())));
        let many = "{a,b}".repeat(20);
        assert_eq!(Glob::text(&many), Err(GlobError::TooManyAlternatives(many.clone())));
        assert_eq!(Glob::text(&"a".repeat(5000)), Err(GlobError::TooLong));
    }
}

//! Path globs, and the question whether two of them can name the same path.
//!
//! A rule says `writes: "**/test_*.py"`; a command says `rm *.py`. Neither is a path, so matching a
//! glob against a path is not enough: what matters is whether some path satisfies both. Both are
//! turned into a list of steps and walked side by side, in time proportional to the product of their
//! lengths. Refused: backtracking, and brace alternatives (write two globs).

use crate::limits::PATH_BYTES_MAX;
use crate::mark;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// Exactly this character.
    Char(char),
    /// One character but a slash.
    One,
    /// One of these ranges, or (negated) none of them; never a slash.
    Class { negated: bool, ranges: Vec<(char, char)> },
    /// Any run without a slash.
    Star,
    /// Any run.
    Deep,
    /// The front of `**/`: nothing, or what the next step takes.
    Dirs,
    /// Any run that ends in a slash.
    DirsRest,
    /// The front of a star that does not match a leading dot: nothing with the star after it, or one
    /// character before it.
    Shown,
}

/// A compiled path glob: `*` and `?` stay within a path component, `**` crosses them, `[..]` is a
/// class, and a backslash takes away a meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathGlob {
    steps: Vec<Step>,
    fold_case: bool,
}

impl PathGlob {
    /// Compiles `pattern`. A pattern over [`PATH_BYTES_MAX`] bytes matches everything, as closed as a
    /// restricting rule can be.
    pub fn new(pattern: &str) -> Self {
        if pattern.len() > PATH_BYTES_MAX {
            return Self { steps: vec![Step::Deep], fold_case: false };
        }
        Self { steps: compile(pattern), fold_case: false }
    }

    /// The same glob, blind to the case of letters, for file systems that are.
    #[must_use]
    pub fn ignoring_case(mut self) -> Self {
        self.fold_case = true;
        self
    }

    /// The glob that only `path` satisfies.
    pub(crate) fn literal(path: &str) -> Self {
        Self { steps: path.chars().map(Step::Char).collect(), fold_case: false }
    }

    /// Whether the glob begins at a certain place instead of floating (`**/x`).
    pub(crate) fn is_anchored(&self) -> bool {
        matches!(self.steps.first(), Some(Step::Char(_)))
            && !self.steps.iter().any(|step| matches!(step, Step::Dirs))
    }

    /// How many components it names that begin with a dot.
    pub(crate) fn hidden_components(&self) -> usize {
        let dot = |steps: &[Step]| matches!(steps, [Step::Char('.'), ..]);
        let after =
            |pair: &[Step]| matches!(pair, [Step::Char('/') | Step::DirsRest, Step::Char('.')]);
        usize::from(dot(&self.steps)) + self.steps.windows(2).filter(|p| after(p)).count()
    }

    /// The last component, where it is a name without wildcards.
    pub(crate) fn last_name(&self) -> Option<String> {
        let name =
            self.steps.rsplit(|step| matches!(step, Step::Char('/') | Step::DirsRest)).next()?;
        let letter = |step: &Step| if let Step::Char(c) = step { Some(*c) } else { None };
        let name: Option<String> = name.iter().map(letter).collect();
        name.filter(|name| !name.is_empty())
    }

    /// Whether `path` is one that the marked text `marked` may stand for, in letters of any case.
    pub(crate) fn is_meant(marked: &str, path: &str) -> bool {
        meet(&from_marked(marked), &path.chars().map(Step::Char).collect::<Vec<_>>(), true)
    }

    /// Whether `path` satisfies the glob.
    pub fn matches(&self, path: &str) -> bool {
        let path: Vec<Step> = path.chars().map(Step::Char).collect();
        meet(&self.steps, &path, self.fold_case)
    }

    /// Whether some path that `marked` may stand for satisfies the glob; with `tree`, also a path
    /// below it.
    pub(crate) fn meets(&self, marked: &str, tree: bool) -> bool {
        let mut steps = from_marked(marked);
        if meet(&self.steps, &steps, self.fold_case) {
            return true;
        }
        if tree {
            if steps.last() != Some(&Step::Char('/')) {
                steps.push(Step::Char('/'));
            }
            steps.push(Step::Deep);
            return meet(&self.steps, &steps, self.fold_case);
        }
        false
    }
}

fn compile(pattern: &str) -> Vec<Step> {
    let mut steps = Vec::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => steps.push(Step::Char(chars.next().unwrap_or('\\'))),
            '?' => steps.push(Step::One),
            '*' => {
                let mut stars = 1;
                while chars.next_if_eq(&'*').is_some() {
                    stars += 1;
                }
                if stars == 1 {
                    steps.push(Step::Star);
                } else if chars.next_if_eq(&'/').is_some() {
                    steps.push(Step::Dirs);
                    steps.push(Step::DirsRest);
                } else {
                    steps.push(Step::Deep);
                }
            }
            '[' => steps.push(class(&mut chars)),
            c => steps.push(Step::Char(c)),
        }
    }
    steps
}

/// Reads a class after its `[`. Without a closing bracket the `[` stands for itself.
fn class(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Step {
    let mut ahead = chars.clone();
    let negated = ahead.next_if(|c| matches!(c, '!' | '^')).is_some();
    let mut ranges = Vec::new();
    let mut first = true;
    while let Some(c) = ahead.next() {
        if c == ']' && !first {
            *chars = ahead;
            return Step::Class { negated, ranges };
        }
        first = false;
        let mut range_ahead = ahead.clone();
        let end = match (range_ahead.next(), range_ahead.next()) {
            (Some('-'), Some(end)) if end != ']' => Some(end),
            (_, _) => None,
        };
        if let Some(end) = end {
            ahead = range_ahead;
            ranges.push((c, end));
        } else {
            ranges.push((c, c));
        }
    }
    Step::Char('[')
}

fn from_marked(text: &str) -> Vec<Step> {
    let mut steps = Vec::with_capacity(text.len());
    let mut before = '/';
    for c in text.chars() {
        match c {
            mark::ANY => {
                // The shell's star leaves out names that begin with a dot.
                if before == '/' {
                    steps.push(Step::Shown);
                }
                steps.push(Step::Star);
            }
            mark::WORD => steps.push(Step::Star),
            mark::ONE => steps.push(Step::One),
            mark::DEEP
            | mark::BELOW
            | mark::VOID
            | mark::REMOTE
            | mark::INIT
            | mark::SECRET
            | mark::FILE
            | mark::LINE => {
                steps.push(Step::Deep);
            }
            c => steps.push(Step::Char(c)),
        }
        before = c;
    }
    steps
}

/// What a step consumes, if it consumes.
#[derive(Clone, Copy)]
enum Takes<'a> {
    Only(char),
    NoSlash,
    NoDot,
    Class(bool, &'a [(char, char)]),
    All,
}

/// The moves from a step: without consuming, staying, and going on.
fn moves(step: &Step) -> (bool, Option<Takes<'_>>, Option<Takes<'_>>) {
    match step {
        Step::Char(c) => (false, None, Some(Takes::Only(*c))),
        Step::One => (false, None, Some(Takes::NoSlash)),
        Step::Class { negated, ranges } => (false, None, Some(Takes::Class(*negated, ranges))),
        Step::Star => (true, Some(Takes::NoSlash), None),
        Step::Deep => (true, Some(Takes::All), None),
        Step::Dirs => (true, None, None),
        Step::Shown => (false, None, Some(Takes::NoDot)),
        Step::DirsRest => (false, Some(Takes::All), Some(Takes::Only('/'))),
    }
}

fn holds(class: Takes<'_>, c: char, fold: bool) -> bool {
    match class {
        Takes::Only(d) => c == d || (fold && c.to_lowercase().eq(d.to_lowercase())),
        Takes::NoSlash => c != '/',
        Takes::NoDot => c != '/' && c != '.',
        Takes::Class(negated, ranges) => {
            c != '/' && negated != ranges.iter().any(|(a, b)| (*a..=*b).contains(&c))
        }
        Takes::All => true,
    }
}

fn compatible(a: Takes<'_>, b: Takes<'_>, fold: bool) -> bool {
    match (a, b) {
        (Takes::Only(c), other) | (other, Takes::Only(c)) => holds(other, c, fold),
        // Two sets of more than one character: taken to share one. That errs towards "may match".
        (
            Takes::NoSlash | Takes::NoDot | Takes::Class(..) | Takes::All,
            Takes::NoSlash | Takes::NoDot | Takes::Class(..) | Takes::All,
        ) => true,
    }
}

/// Whether some text satisfies both lists. Breadth first over pairs of positions, each at most once.
fn meet(a: &[Step], b: &[Step], fold: bool) -> bool {
    let width = b.len() + 1;
    let mut seen = vec![false; (a.len() + 1) * width];
    let mut todo = vec![(0usize, 0usize)];
    while let Some((i, j)) = todo.pop() {
        match seen.get_mut(i * width + j) {
            Some(slot) if !*slot => *slot = true,
            Some(_) | None => continue,
        }
        if i == a.len() && j == b.len() {
            return true;
        }
        let none = (false, None, None);
        let (skip_a, stay_a, go_a) = a.get(i).map_or(none, moves);
        let (skip_b, stay_b, go_b) = b.get(j).map_or(none, moves);
        if skip_a {
            todo.push((i + 1, j));
        }
        if skip_b {
            todo.push((i, j + 1));
        }
        // `**/` may be nothing at all, and so may a star.
        if matches!(a.get(i), Some(Step::Dirs | Step::Shown)) {
            todo.push((i + 2, j));
        }
        if matches!(b.get(j), Some(Step::Dirs | Step::Shown)) {
            todo.push((i, j + 2));
        }
        for (take_a, next_a) in [(stay_a, i), (go_a, i + 1)] {
            for (take_b, next_b) in [(stay_b, j), (go_b, j + 1)] {
                let (Some(x), Some(y)) = (take_a, take_b) else { continue };
                if compatible(x, y, fold) {
                    todo.push((next_a, next_b));
                }
            }
        }
    }
    false
}

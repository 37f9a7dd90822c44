//! The tree of a shell text. It borrows from the text; words keep their parts, expanded later.

use std::cell::OnceCell;
use std::rc::Rc;

pub(crate) type Span = (u32, u32);

/// A list of pipelines in order.
#[derive(Debug, Default)]
pub(crate) struct Script<'a> {
    pub(crate) items: Vec<Item<'a>>,
}

/// How a pipeline hangs on the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    /// After `;`, a newline, `&` or nothing.
    Then,
    /// After `&&`.
    And,
    /// After `||`.
    Or,
}

#[derive(Debug)]
pub(crate) struct Item<'a> {
    pub(crate) link: Link,
    pub(crate) background: bool,
    pub(crate) stages: Vec<Command<'a>>,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) struct Command<'a> {
    pub(crate) kind: Kind<'a>,
    pub(crate) redirects: Vec<Redirect<'a>>,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) enum Kind<'a> {
    Simple {
        assigns: Vec<Assign<'a>>,
        words: Vec<Word<'a>>,
    },
    Subshell(Script<'a>),
    Group(Script<'a>),
    /// Conditions and bodies in order; all may run.
    If(Vec<Script<'a>>),
    Loop {
        condition: Script<'a>,
        body: Script<'a>,
    },
    For {
        name: &'a str,
        words: Option<Vec<Word<'a>>>,
        body: Script<'a>,
    },
    /// The word, and the bodies.
    Case {
        word: Word<'a>,
        bodies: Vec<Script<'a>>,
    },
    /// The name and the source of the body.
    Function {
        name: &'a str,
        body: &'a str,
    },
    /// `[[ .. ]]` and `(( .. ))`: only their expansions matter.
    Test(Vec<Word<'a>>),
}

#[derive(Debug)]
pub(crate) struct Assign<'a> {
    pub(crate) name: &'a str,
    pub(crate) append: bool,
    /// `name[index]=`.
    pub(crate) element: bool,
    pub(crate) value: Value<'a>,
}

#[derive(Debug)]
pub(crate) enum Value<'a> {
    Word(Word<'a>),
    List(Vec<Word<'a>>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RedirectKind {
    Read,
    Write,
    ReadWrite,
    /// `>&`, `<&` to a descriptor, and `>&-`.
    Descriptor,
    HereText,
    HereString,
}

#[derive(Debug)]
pub(crate) struct Redirect<'a> {
    pub(crate) kind: RedirectKind,
    /// The descriptor before the operator; `None` for the operator's own.
    pub(crate) descriptor: Option<u32>,
    pub(crate) word: Word<'a>,
    pub(crate) here: Option<Rc<OnceCell<Here<'a>>>>,
}

/// The text of a here-document.
#[derive(Debug)]
pub(crate) enum Here<'a> {
    /// The delimiter was quoted.
    Raw(&'a str),
    Expanded(Vec<Part<'a>>),
}

#[derive(Debug, Default)]
pub(crate) struct Word<'a> {
    pub(crate) parts: Vec<Part<'a>>,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) enum Part<'a> {
    /// Unquoted text: globs, braces, a leading tilde count; backslashes are still in it.
    Bare(&'a str),
    /// Text that stands for itself.
    Quoted(&'a str),
    /// An extended glob `@(a|b)`: the text between the parentheses, any of its alternatives.
    Extended,
    /// `$'..'`, still encoded.
    Ansi(&'a str),
    Variable {
        name: &'a str,
        op: Op<'a>,
        quoted: bool,
    },
    /// `$(..)`.
    Command {
        script: Script<'a>,
        quoted: bool,
    },
    /// Backticks: the text with its backslashes.
    Backtick {
        text: &'a str,
        quoted: bool,
    },
    /// `$((..))` or `$[..]`: its inner expansions.
    Arithmetic(Vec<Part<'a>>),
    /// `<(..)`.
    ProcessIn(Script<'a>),
    /// `>(..)`.
    ProcessOut(Script<'a>),
}

/// What a `${..}` does to the value.
#[derive(Debug)]
pub(crate) enum Op<'a> {
    None,
    /// `${#x}`.
    Length,
    /// `${x:-word}`, `${x-word}`.
    Default(Vec<Part<'a>>),
    /// `${x:=word}`.
    Assign(Vec<Part<'a>>),
    /// `${x:+word}`.
    Alternative(Vec<Part<'a>>),
    /// `${x:?word}`.
    Required,
    /// `${x#p}`, `${x##p}`.
    CutFront(Vec<Part<'a>>, bool),
    /// `${x%p}`, `${x%%p}`.
    CutBack(Vec<Part<'a>>, bool),
    /// `${x/p/r}`, with `//`.
    Replace(Vec<Part<'a>>, Vec<Part<'a>>, bool),
    /// `${x:n}`, `${x:n:m}`.
    Slice(i64, Option<i64>),
    /// `${x^^}` and `${x,,}`, with the single forms.
    Upper(bool),
    Lower(bool),
    /// `${x[@]}`, `${x[*]}`.
    All,
    /// `${x[n]}`, with the number if it is written as one.
    Element(Option<usize>),
    /// `${!x}`, whatever is done to it.
    Indirect,
    /// `${!x*}`: the names of variables that begin so.
    Names,
    /// Everything else: the value is not known; inner expansions still happen.
    Other(Vec<Part<'a>>),
}

impl<'a> Word<'a> {
    /// The word if it is one unquoted literal without anything special: a keyword or a plain name.
    pub(crate) fn plain(&self) -> Option<&'a str> {
        match self.parts.as_slice() {
            [Part::Bare(text)] => Some(text),
            _ => None,
        }
    }
}

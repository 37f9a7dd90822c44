//! A condition as it runs: names resolved, patterns apart, ready to be evaluated and to be written
//! into a snapshot of the policy.
//!
//! Nothing here refers to the source text, and nothing has to be parsed again when it is read back;
//! regular expressions, globs and networks compile at their first use.

use super::parse::Operator;
use super::pattern::{CidrPattern, GlobPattern, PartPattern, RegexPattern};
use super::scope::Known;
use serde::{Deserialize, Serialize};

/// One node of a condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Expr {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(Box<str>),
    List(Vec<Expr>),
    Map(Vec<(Expr, Expr)>),
    /// A field of the event that has a place of its own.
    Known(Known),
    /// Whether such a field is there.
    HasKnown(Known),
    /// A field below the arguments or the call, by its keys: read in one loop.
    Path(Known, Vec<Box<str>>),
    /// Whether the last key of such a path is there.
    HasPath(Known, Vec<Box<str>>),
    /// The variable of the comprehension at this level.
    Local(u8),
    Field(Box<Expr>, Box<str>),
    HasField(Box<Expr>, Box<str>),
    Index(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    Neg(Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    If(Box<[Expr; 3]>),
    Binary(Operator, Box<[Expr; 2]>),
    /// `x in ['a', 'b']` with nothing but literals in the list, which is never built.
    OneOf(Box<Expr>, Vec<Expr>),
    Call(Function, Vec<Expr>),
    /// `x.contains('part')`, the part written out.
    Contains(Box<Expr>, PartPattern),
    /// `x.startsWith('part')`, the part written out.
    Starts(Box<Expr>, Box<str>),
    /// `x.endsWith('part')`, the part written out.
    Ends(Box<Expr>, Box<str>),
    Regex(Box<Expr>, RegexPattern),
    Glob(Box<Expr>, GlobPattern),
    Cidr(Box<Expr>, CidrPattern),
    Each(Box<Comprehension>),
}

impl Expr {
    /// The field `name` of this.
    pub(super) fn field(self, name: &str) -> Expr {
        match self {
            Expr::Known(root) if root.is_json() => Expr::Path(root, vec![name.into()]),
            Expr::Path(root, mut keys) => {
                keys.push(name.into());
                Expr::Path(root, keys)
            }
            other => Expr::Field(Box::new(other), name.into()),
        }
    }

    /// Whether this has the field `name`.
    pub(super) fn has_field(self, name: &str) -> Expr {
        match self.field(name) {
            Expr::Path(root, keys) => Expr::HasPath(root, keys),
            Expr::Field(target, name) => Expr::HasField(target, name),
            other => other,
        }
    }

    /// Whether this is written out: its value is known and cannot fail.
    pub(super) const fn is_literal(&self) -> bool {
        matches!(
            self,
            Expr::Null
                | Expr::Bool(_)
                | Expr::Int(_)
                | Expr::UInt(_)
                | Expr::Double(_)
                | Expr::Text(_)
        )
    }
}

/// What a comprehension does with each item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Purpose {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
}

/// `range.exists(x, body)` and the like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Comprehension {
    pub(super) purpose: Purpose,
    pub(super) range: Expr,
    /// Which [`Expr::Local`] holds the item.
    pub(super) slot: u8,
    /// The condition on the item; always true in a plain `map`.
    pub(super) body: Expr,
    /// What `map` makes of the item.
    pub(super) output: Option<Expr>,
}

/// The functions, patterns aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Function {
    Size,
    Contains,
    StartsWith,
    EndsWith,
    Lower,
    Digest,
    PathWithin,
    Int,
    UInt,
    Double,
    Text,
    Bool,
    Timestamp,
    Duration,
    Part(TimePart),
}

/// What `getHours()` and the like read from a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum TimePart {
    Year,
    /// 0 is January.
    Month,
    /// 1 is the first.
    Date,
    /// 0 is the first.
    DayOfMonth,
    DayOfYear,
    /// 0 is Sunday.
    DayOfWeek,
    Hours,
    Minutes,
    Seconds,
    Milliseconds,
}

/// How a function may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `f(x)`.
    Plain,
    /// `x.f()`.
    Method,
    /// Either.
    Both,
}

/// Every function that is looked up by name: its forms and how many values it takes, the one before
/// the point included. `has` and the comprehensions are macros and stand in `check`.
pub(super) const FUNCTIONS: [(&str, Form, usize, Named); 28] = [
    ("size", Form::Both, 1, Named::Function(Function::Size)),
    ("contains", Form::Method, 2, Named::Function(Function::Contains)),
    ("startsWith", Form::Method, 2, Named::Function(Function::StartsWith)),
    ("endsWith", Form::Method, 2, Named::Function(Function::EndsWith)),
    ("lower", Form::Plain, 1, Named::Function(Function::Lower)),
    ("digest", Form::Plain, 1, Named::Function(Function::Digest)),
    ("path_within", Form::Plain, 2, Named::Function(Function::PathWithin)),
    ("matches", Form::Both, 2, Named::Regex),
    ("glob", Form::Plain, 2, Named::Glob),
    ("ip_in", Form::Plain, 2, Named::Cidr),
    ("int", Form::Plain, 1, Named::Function(Function::Int)),
    ("uint", Form::Plain, 1, Named::Function(Function::UInt)),
    ("double", Form::Plain, 1, Named::Function(Function::Double)),
    ("string", Form::Plain, 1, Named::Function(Function::Text)),
    ("bool", Form::Plain, 1, Named::Function(Function::Bool)),
    ("dyn", Form::Plain, 1, Named::Dyn),
    ("timestamp", Form::Plain, 1, Named::Function(Function::Timestamp)),
    ("duration", Form::Plain, 1, Named::Function(Function::Duration)),
    ("getFullYear", Form::Method, 1, Named::Function(Function::Part(TimePart::Year))),
    ("getMonth", Form::Method, 1, Named::Function(Function::Part(TimePart::Month))),
    ("getDate", Form::Method, 1, Named::Function(Function::Part(TimePart::Date))),
    ("getDayOfMonth", Form::Method, 1, Named::Function(Function::Part(TimePart::DayOfMonth))),
    ("getDayOfYear", Form::Method, 1, Named::Function(Function::Part(TimePart::DayOfYear))),
    ("getDayOfWeek", Form::Method, 1, Named::Function(Function::Part(TimePart::DayOfWeek))),
    ("getHours", Form::Method, 1, Named::Function(Function::Part(TimePart::Hours))),
    ("getMinutes", Form::Method, 1, Named::Function(Function::Part(TimePart::Minutes))),
    ("getSeconds", Form::Method, 1, Named::Function(Function::Part(TimePart::Seconds))),
    ("getMilliseconds", Form::Method, 1, Named::Function(Function::Part(TimePart::Milliseconds))),
];

/// What a function's name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Function(Function),
    Regex,
    Glob,
    Cidr,
    Dyn,
}

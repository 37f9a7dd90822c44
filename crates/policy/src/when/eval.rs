//! Runs a condition over an event, with CEL's meaning of errors and without copying the event.
//!
//! `&&` and `||` absorb an error of one side when the other side decides; everything else passes
//! errors on. A step counter bounds the work whatever the event holds, and running out of steps is
//! never absorbed. Nothing is allocated unless the condition itself makes a text or a list.

use super::function::call;
use super::limits::{LIST_ITEMS_MAX, REGEX_WEIGHT, STEP_BYTES, STEPS_MAX, TEXT_BYTES_MAX};
use super::parse::Operator;
use super::read::{json, read};
use super::scope::Known;
use super::tree::{Comprehension, Expr, Purpose};
use super::value::{Type, Value, compare_numbers};
use super::{Groups, operate};
use std::cmp::Ordering;
use std::fmt;
use std::net::IpAddr;
use std::rc::Rc;
use tollgate_gate::{Json, Subject};

/// Why a condition has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault<'a> {
    /// A field or key that is not there.
    Missing(&'a str),
    MissingKey,
    /// An operation on a value that it does not take.
    Unfit(&'static str, Type),
    /// An operator between values that do not go together.
    Mismatch(&'static str, Type, Type),
    NoTruth(Type),
    Overflow,
    DivisionByZero,
    Index,
    DuplicateKey,
    NoTimestamp,
    NoDuration,
    NoPath,
    NoAddress,
    NoPattern,
    TooManySteps,
    ListTooLong,
    TextTooLong,
}

impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Missing(field) => write!(f, "there is no field `{field}`"),
            Fault::MissingKey => f.write_str("the map has no such key"),
            Fault::Unfit(what, kind) => write!(f, "{what} does not take {kind}"),
            Fault::Mismatch(sign, left, right) => {
                write!(f, "`{sign}` does not go with {left} and {right}")
            }
            Fault::NoTruth(kind) => write!(f, "expected true or false, found {kind}"),
            Fault::Overflow => f.write_str("a number or time is out of range"),
            Fault::DivisionByZero => f.write_str("division by zero"),
            Fault::Index => f.write_str("the list has no such item"),
            Fault::DuplicateKey => f.write_str("the same key twice in a map"),
            Fault::NoTimestamp => f.write_str("no timestamp such as `2027-01-15T08:30:00Z`"),
            Fault::NoDuration => f.write_str("no duration such as `1h30m`"),
            Fault::NoPath => f.write_str(
                "the path cannot be told: it is empty, starts with `~`, holds a NUL, or is relative \
                 without a working directory",
            ),
            Fault::NoAddress => f.write_str("no IP address"),
            Fault::NoPattern => f.write_str("the pattern cannot be compiled"),
            Fault::TooManySteps => write!(f, "more than {STEPS_MAX} steps"),
            Fault::ListTooLong => write!(f, "a list of more than {LIST_ITEMS_MAX} items"),
            Fault::TextTooLong => write!(f, "a made text of more than {TEXT_BYTES_MAX} bytes"),
        }
    }
}

type Outcome<'a, T> = Result<T, Fault<'a>>;

/// One evaluation.
pub(super) struct Run<'a> {
    pub(super) subject: Subject<'a>,
    pub(super) groups: &'a Groups,
    steps: u32,
    locals: [Value<'a>; super::limits::COMPREHENSIONS_MAX],
}

impl<'a> Run<'a> {
    pub(super) fn new(subject: Subject<'a>, groups: &'a Groups) -> Run<'a> {
        Run { subject, groups, steps: 0, locals: [Value::Null, Value::Null] }
    }

    /// Counts steps, unless too many were taken.
    #[inline]
    pub(super) fn charge(&mut self, steps: usize) -> Outcome<'a, ()> {
        let steps = u32::try_from(steps).unwrap_or(STEPS_MAX);
        self.steps = self.steps.saturating_add(steps);
        if self.steps > STEPS_MAX { Err(Fault::TooManySteps) } else { Ok(()) }
    }

    /// Counts what it costs to look at this many bytes of text.
    pub(super) fn charge_text(&mut self, bytes: usize) -> Outcome<'a, ()> {
        self.charge(bytes / STEP_BYTES)
    }

    /// Refuses a text of this length, and counts what it costs to make it.
    pub(super) fn check_made(&mut self, bytes: usize) -> Outcome<'a, ()> {
        if bytes > TEXT_BYTES_MAX {
            return Err(Fault::TextTooLong);
        }
        self.charge_text(bytes)
    }

    pub(super) fn working_directory(&self) -> Option<&'a str> {
        self.subject.event.session.cwd.as_deref()
    }

    /// Whether this is true; anything but a boolean is a fault.
    pub(super) fn truth(&mut self, expr: &'a Expr) -> Outcome<'a, bool> {
        self.charge(1)?;
        match expr {
            Expr::And(sides) => self.joined(sides, false),
            Expr::Or(sides) => self.joined(sides, true),
            Expr::Not(inner) => self.truth(inner).map(|value| !value),
            Expr::Binary(operator, sides) => {
                let [left, right] = &**sides;
                let (left, right) = (self.operand(left)?, self.operand(right)?);
                match self.compared(*operator, &left, &right)? {
                    Some(answer) => Ok(answer),
                    None => of_value(&operate::arithmetic(self, *operator, &left, &right)?),
                }
            }
            Expr::OneOf(item, list) => {
                let item = self.value(item)?;
                self.charge(list.len())?;
                for other in list {
                    let other = self.operand(other)?;
                    if self.equal(&item, &other)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Expr::Starts(text, part) => self.matched(text, |_, text| Ok(text.starts_with(&**part))),
            Expr::Ends(text, part) => self.matched(text, |_, text| Ok(text.ends_with(&**part))),
            Expr::Contains(text, part) => self.matched(text, |run, text| {
                run.charge_text(text.len())?;
                Ok(part.get().ok_or(Fault::NoPattern)?.find(text.as_bytes()).is_some())
            }),
            Expr::Regex(text, pattern) => self.matched(text, |run, text| {
                run.charge_text(text.len().saturating_mul(REGEX_WEIGHT))?;
                Ok(pattern.get().ok_or(Fault::NoPattern)?.is_match(text))
            }),
            Expr::Glob(text, pattern) => self.matched(text, |run, text| {
                // At worst, each byte meets each part of the pattern.
                run.charge_text(text.len().saturating_mul(pattern.text().len()))?;
                Ok(pattern.get().ok_or(Fault::NoPattern)?.matches(text))
            }),
            Expr::Cidr(text, pattern) => self.matched(text, |_, text| {
                let address: IpAddr = text.parse().map_err(|_| Fault::NoAddress)?;
                Ok(pattern.get().ok_or(Fault::NoPattern)?.contains(address))
            }),
            other => of_value(&self.value(other)?),
        }
    }

    /// `||` when `decides` is true, `&&` when it is false: a side that decides wins over errors of
    /// the others, wherever it stands.
    fn joined(&mut self, sides: &'a [Expr], decides: bool) -> Outcome<'a, bool> {
        let mut fault = None;
        for side in sides {
            match self.truth(side) {
                Ok(value) if value == decides => return Ok(decides),
                Ok(_) => {}
                Err(Fault::TooManySteps) => return Err(Fault::TooManySteps),
                Err(first) => {
                    fault.get_or_insert(first);
                }
            }
        }
        fault.map_or(Ok(!decides), Err)
    }

    #[inline]
    fn matched(
        &mut self,
        text: &'a Expr,
        f: impl FnOnce(&mut Run<'a>, &str) -> Outcome<'a, bool>,
    ) -> Outcome<'a, bool> {
        let value = self.value(text)?;
        match value.text() {
            Some(text) => f(self, text),
            None => Err(Fault::Unfit("a pattern", value.kind())),
        }
    }

    /// The value of a node.
    pub(super) fn value(&mut self, expr: &'a Expr) -> Outcome<'a, Value<'a>> {
        self.charge(1)?;
        Ok(match expr {
            Expr::Null => Value::Null,
            Expr::Bool(value) => Value::Bool(*value),
            Expr::Int(value) => Value::Int(*value),
            Expr::UInt(value) => Value::UInt(*value),
            Expr::Double(value) => Value::Double(*value),
            Expr::Text(text) => Value::Text(text),
            Expr::Known(known) => return read(self, *known),
            Expr::HasKnown(known) => Value::Bool(read(self, *known).is_ok()),
            Expr::Path(root, keys) => Value::from(self.at(*root, keys)?),
            Expr::HasPath(root, keys) => {
                let Some((last, keys)) = keys.split_last() else { return Err(Fault::MissingKey) };
                let holder = self.at(*root, keys)?;
                Value::Bool(field(&Value::from(holder), last)?.is_some())
            }
            Expr::Local(slot) => {
                self.locals.get(usize::from(*slot)).cloned().ok_or(Fault::MissingKey)?
            }
            Expr::Field(target, name) => {
                let target = self.value(target)?;
                return field(&target, name)?.ok_or(Fault::Missing(name));
            }
            Expr::HasField(target, name) => {
                let target = self.value(target)?;
                Value::Bool(field(&target, name)?.is_some())
            }
            Expr::Index(target, index) => {
                let (target, index) = (self.value(target)?, self.value(index)?);
                return self.item(&target, &index);
            }
            Expr::Neg(inner) => return operate::negated(&self.value(inner)?),
            Expr::If(parts) => {
                let [condition, yes, no] = &**parts;
                let chosen = if self.truth(condition)? { yes } else { no };
                return self.value(chosen);
            }
            Expr::Binary(operator, sides) => {
                let [left, right] = &**sides;
                let (left, right) = (self.operand(left)?, self.operand(right)?);
                match self.compared(*operator, &left, &right)? {
                    Some(answer) => Value::Bool(answer),
                    None => return operate::arithmetic(self, *operator, &left, &right),
                }
            }
            Expr::List(items) => return self.list(items),
            Expr::Map(entries) => return self.map(entries),
            Expr::Call(function, args) => {
                let Some((first, rest)) = args.split_first() else {
                    return Err(Fault::MissingKey);
                };
                let first = self.value(first)?;
                let second = rest.first().map(|second| self.value(second)).transpose()?;
                return call(self, *function, &first, second.as_ref());
            }
            Expr::Each(each) => return self.each(each),
            Expr::Not(_)
            | Expr::And(_)
            | Expr::Or(_)
            | Expr::OneOf(..)
            | Expr::Contains(..)
            | Expr::Starts(..)
            | Expr::Ends(..)
            | Expr::Regex(..)
            | Expr::Glob(..)
            | Expr::Cidr(..) => Value::Bool(self.truth(expr)?),
        })
    }

    /// The value of a node that is often a literal.
    #[inline]
    fn operand(&mut self, expr: &'a Expr) -> Outcome<'a, Value<'a>> {
        match expr {
            Expr::Text(text) => Ok(Value::Text(text)),
            Expr::Int(value) => Ok(Value::Int(*value)),
            other => self.value(other),
        }
    }

    /// The JSON value at the end of a path.
    fn at(&mut self, root: Known, keys: &'a [Box<str>]) -> Outcome<'a, &'a Json> {
        self.charge(keys.len())?;
        let mut at = json(self, root);
        for key in keys {
            let Json::Object(object) = at else {
                return Err(Fault::Unfit("a field", Value::from(at).kind()));
            };
            at = object.get(key).ok_or(Fault::Missing(key))?;
        }
        Ok(at)
    }

    fn list(&mut self, items: &'a [Expr]) -> Outcome<'a, Value<'a>> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            values.push(self.value(item)?);
        }
        Ok(Value::List(values.into()))
    }

    fn map(&mut self, entries: &'a [(Expr, Expr)]) -> Outcome<'a, Value<'a>> {
        let mut values: Vec<(Value<'a>, Value<'a>)> = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let key = self.value(key)?;
            if !is_key(key.kind()) {
                return Err(Fault::Unfit("a map's key", key.kind()));
            }
            for (other, _) in &values {
                if self.equal(&key, other)? {
                    return Err(Fault::DuplicateKey);
                }
            }
            let value = self.value(value)?;
            values.push((key, value));
        }
        Ok(Value::Map(values.into()))
    }

    /// What `==`, `<`, `in` and the like say; `None` for the operators of arithmetic.
    fn compared(
        &mut self,
        operator: Operator,
        left: &Value<'a>,
        right: &Value<'a>,
    ) -> Outcome<'a, Option<bool>> {
        let order = |run: &mut Run<'a>| run.order(operator, left, right);
        Ok(Some(match operator {
            Operator::Equal => self.equal(left, right)?,
            Operator::NotEqual => !self.equal(left, right)?,
            Operator::Less => order(self)?.is_lt(),
            Operator::LessOrEqual => order(self)?.is_le(),
            Operator::Greater => order(self)?.is_gt(),
            Operator::GreaterOrEqual => order(self)?.is_ge(),
            Operator::In => self.is_in(left, right)?,
            Operator::Add
            | Operator::Subtract
            | Operator::Multiply
            | Operator::Divide
            | Operator::Remainder => return Ok(None),
        }))
    }

    fn order(
        &mut self,
        operator: Operator,
        left: &Value<'a>,
        right: &Value<'a>,
    ) -> Outcome<'a, Ordering> {
        if let (Some(a), Some(b)) = (left.text(), right.text()) {
            self.charge_text(a.len().min(b.len()))?;
            return Ok(a.cmp(b));
        }
        match (left, right) {
            (Value::Int(a), Value::Int(b)) => Ok(a.cmp(b)),
            (Value::Bool(a), Value::Bool(b)) => Ok(a.cmp(b)),
            (Value::Timestamp(a), Value::Timestamp(b))
            | (Value::Duration(a), Value::Duration(b)) => Ok(a.cmp(b)),
            _ => compare_numbers(left, right).ok_or(Fault::Mismatch(
                operator.sign(),
                left.kind(),
                right.kind(),
            )),
        }
    }

    /// Whether two values are equal: by value across the types of numbers, false across other types.
    pub(super) fn equal(&mut self, left: &Value<'a>, right: &Value<'a>) -> Outcome<'a, bool> {
        if let (Some(a), Some(b)) = (left.text(), right.text()) {
            if a.len() != b.len() {
                return Ok(false);
            }
            self.charge_text(a.len())?;
            return Ok(a == b);
        }
        match (left, right) {
            (Value::Int(a), Value::Int(b)) => Ok(a == b),
            (Value::Null, Value::Null) => Ok(true),
            (Value::Bool(a), Value::Bool(b)) => Ok(a == b),
            (Value::Timestamp(a), Value::Timestamp(b))
            | (Value::Duration(a), Value::Duration(b)) => Ok(a == b),
            _ => match (left.len(), right.len()) {
                (Some(a), Some(b)) if a == b => self.equal_parts(left, right, a),
                (Some(_), _) | (_, Some(_)) => Ok(false),
                (None, None) => Ok(compare_numbers(left, right) == Some(Ordering::Equal)),
            },
        }
    }

    /// Whether two lists or maps of one length are equal.
    fn equal_parts(
        &mut self,
        left: &Value<'a>,
        right: &Value<'a>,
        len: usize,
    ) -> Outcome<'a, bool> {
        self.charge(1 + len)?;
        match (left, right) {
            (Value::Object(a), Value::Object(b)) => {
                for (key, a) in a.iter() {
                    self.charge(len / 16)?;
                    let Some(b) = b.get(key) else { return Ok(false) };
                    if !self.equal(&Value::from(a), &Value::from(b))? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => match (left.keys(), right.keys()) {
                (None, None) => self.equal_items(left, right, len),
                (Some(keys), Some(_)) => self.equal_entries(left, right, keys),
                _ => Ok(false),
            },
        }
    }

    fn equal_items(
        &mut self,
        left: &Value<'a>,
        right: &Value<'a>,
        len: usize,
    ) -> Outcome<'a, bool> {
        for at in 0..len {
            let (Some(a), Some(b)) = (left.item(at), right.item(at)) else {
                return Ok(false);
            };
            if !self.equal(&a, &b)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn equal_entries(
        &mut self,
        left: &Value<'a>,
        right: &Value<'a>,
        keys: Vec<Value<'a>>,
    ) -> Outcome<'a, bool> {
        let lookup = keys.len() / 16;
        for key in keys {
            self.charge(lookup)?;
            let (Some(a), Some(b)) = (self.entry(left, &key)?, self.entry(right, &key)?) else {
                return Ok(false);
            };
            if !self.equal(&a, &b)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The value of a map under a key of any type.
    fn entry(&mut self, map: &Value<'a>, key: &Value<'a>) -> Outcome<'a, Option<Value<'a>>> {
        if let Some(key) = key.text() {
            return Ok(map.get(key));
        }
        let Value::Map(entries) = map else { return Ok(None) };
        for (other, value) in entries.iter() {
            if self.equal(key, other)? {
                return Ok(Some(value.clone()));
            }
        }
        Ok(None)
    }

    fn is_in(&mut self, item: &Value<'a>, range: &Value<'a>) -> Outcome<'a, bool> {
        let Some(len) = range.len() else {
            return Err(Fault::Mismatch("in", item.kind(), range.kind()));
        };
        if range.kind() == Type::Map {
            if !is_key(item.kind()) {
                return Err(Fault::Mismatch("in", item.kind(), range.kind()));
            }
            return Ok(self.entry(range, item)?.is_some());
        }
        if let (Value::Labels(labels), Some(text)) = (range, item.text()) {
            return Ok(labels.contains(text));
        }
        for at in 0..len {
            self.charge(1)?;
            if let Some(other) = range.item(at)
                && self.equal(item, &other)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn item(&mut self, target: &Value<'a>, index: &Value<'a>) -> Outcome<'a, Value<'a>> {
        match target.kind() {
            Type::Map => self.entry(target, index)?.ok_or(Fault::MissingKey),
            Type::List | Type::Texts => {
                let at = match index {
                    Value::Int(at) => usize::try_from(*at).ok(),
                    Value::UInt(at) => usize::try_from(*at).ok(),
                    _ => return Err(Fault::Unfit("a list's index", index.kind())),
                };
                at.and_then(|at| target.item(at)).ok_or(Fault::Index)
            }
            kind => Err(Fault::Unfit("`[..]`", kind)),
        }
    }

    fn each(&mut self, each: &'a Comprehension) -> Outcome<'a, Value<'a>> {
        let range = self.value(&each.range)?;
        let range = match range.keys() {
            Some(keys) => Value::List(keys.into()),
            None => range,
        };
        let len = range.len().ok_or(Fault::Unfit("a comprehension", range.kind()))?;
        if len > LIST_ITEMS_MAX {
            return Err(Fault::ListTooLong);
        }
        let (mut found, mut fault, mut made) = (0usize, None, Vec::new());
        for at in 0..len {
            let Some(item) = range.item(at) else { break };
            if let Some(local) = self.locals.get_mut(usize::from(each.slot)) {
                *local = item.clone();
            }
            let holds = self.truth(&each.body);
            match (each.purpose, holds) {
                (_, Err(Fault::TooManySteps)) => return Err(Fault::TooManySteps),
                (Purpose::All, Ok(false)) => return Ok(Value::Bool(false)),
                (Purpose::Exists, Ok(true)) => return Ok(Value::Bool(true)),
                (Purpose::All | Purpose::Exists, Err(first)) => {
                    fault.get_or_insert(first);
                }
                (_, Err(fault)) => return Err(fault),
                (_, Ok(false)) => {}
                (Purpose::All | Purpose::ExistsOne, Ok(true)) => found += 1,
                (Purpose::Filter, Ok(true)) => made.push(item),
                (Purpose::Map, Ok(true)) => made.push(match &each.output {
                    Some(output) => self.value(output)?,
                    None => item,
                }),
            }
        }
        if let Some(fault) = fault {
            return Err(fault);
        }
        Ok(match each.purpose {
            Purpose::All => Value::Bool(true),
            Purpose::Exists => Value::Bool(false),
            Purpose::ExistsOne => Value::Bool(found == 1),
            Purpose::Filter | Purpose::Map => Value::List(Rc::from(made)),
        })
    }
}

/// Whether values of this type can be keys of maps.
const fn is_key(kind: Type) -> bool {
    matches!(kind, Type::Text | Type::Bool | Type::Int | Type::UInt)
}

fn of_value<'a>(value: &Value<'a>) -> Outcome<'a, bool> {
    if let Value::Bool(value) = value { Ok(*value) } else { Err(Fault::NoTruth(value.kind())) }
}

/// The field of a map; a fault when this is no map.
fn field<'a>(target: &Value<'a>, name: &str) -> Outcome<'a, Option<Value<'a>>> {
    match target.kind() {
        Type::Map => Ok(target.get(name)),
        kind => Err(Fault::Unfit("a field", kind)),
    }
}

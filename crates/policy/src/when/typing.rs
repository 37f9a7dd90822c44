//! Which types go together: the overloads of CEL's operators and functions (its language definition,
//! "List of Standard Definitions"), as far as types are known when a policy is loaded.

use super::error::{WhenError, WhenErrorKind};
use super::parse::Operator;
use super::tree::Function;
use super::value::Type;
use std::ops::Range;

const fn is_number(kind: Type) -> bool {
    matches!(kind, Type::Int | Type::UInt | Type::Double)
}

const fn is_list(kind: Type) -> bool {
    matches!(kind, Type::List | Type::Texts)
}

/// Whether values of these types can ever be equal.
fn comparable(left: Type, right: Type) -> bool {
    left == Type::Any
        || right == Type::Any
        || left == right
        || (is_number(left) && is_number(right))
        || (is_list(left) && is_list(right))
}

/// Refuses a comparison of two types that are known to differ.
pub(super) fn check_comparable(
    span: &Range<usize>,
    operator: Operator,
    left: Type,
    right: Type,
) -> Result<(), WhenError> {
    if comparable(left, right) {
        return Ok(());
    }
    let remedy = match (left, right) {
        (Type::Null, _) | (_, Type::Null) => "this is never null; ask `has()` for absent fields",
        (Type::Text, _) | (_, Type::Text) => "convert one side: `int(x)`, `double(x)`, `string(x)`",
        _ => "compare values of one type",
    };
    Err(refused(span, operator, left, right, remedy))
}

fn refused(
    span: &Range<usize>,
    operator: Operator,
    left: Type,
    right: Type,
    remedy: &str,
) -> WhenError {
    let sign = operator.sign();
    let message = format!("`{sign}` does not go with {left} and {right}");
    WhenError::new(WhenErrorKind::Type, span, message, remedy)
}

/// The type of `left operator right`.
pub(super) fn binary_type(
    span: &Range<usize>,
    operator: Operator,
    left: Type,
    right: Type,
) -> Result<Type, WhenError> {
    match operator {
        Operator::Equal | Operator::NotEqual => {
            check_comparable(span, operator, left, right)?;
            Ok(Type::Bool)
        }
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
            check_comparable(span, operator, left, right)?;
            let unordered = |kind| is_list(kind) || matches!(kind, Type::Map | Type::Null);
            if unordered(left) || unordered(right) {
                let remedy = "compare their sizes: `size(x)`";
                return Err(refused(span, operator, left, right, remedy));
            }
            Ok(Type::Bool)
        }
        Operator::In => {
            let fits = match right {
                Type::Texts => matches!(left, Type::Text | Type::Any),
                other => is_list(other) || matches!(other, Type::Map | Type::Any),
            };
            if !fits {
                let remedy = "`in` looks into a list or the keys of a map; a text has `contains`";
                return Err(refused(span, operator, left, right, remedy));
            }
            Ok(Type::Bool)
        }
        Operator::Add
        | Operator::Subtract
        | Operator::Multiply
        | Operator::Divide
        | Operator::Remainder => arithmetic_type(operator, left, right).ok_or_else(|| {
            let remedy = if is_number(left) && is_number(right) {
                "convert one side: `double(x)`, `int(x)`"
            } else {
                "calculate with values of one type"
            };
            refused(span, operator, left, right, remedy)
        }),
    }
}

/// The type that arithmetic gives; `None` when there is no such overload.
fn arithmetic_type(operator: Operator, left: Type, right: Type) -> Option<Type> {
    use Operator::{Add, Divide, Multiply, Remainder, Subtract};
    let takes = |kind: Type| match operator {
        Add => !matches!(kind, Type::Null | Type::Bool | Type::Map),
        Subtract => is_number(kind) || matches!(kind, Type::Timestamp | Type::Duration),
        Remainder => matches!(kind, Type::Int | Type::UInt),
        _ => is_number(kind),
    };
    match (left, right) {
        (Type::Any, Type::Any) => Some(Type::Any),
        (Type::Any, Type::Timestamp | Type::Duration)
        | (Type::Timestamp | Type::Duration, Type::Any)
            if matches!(operator, Add | Subtract) =>
        {
            Some(Type::Any)
        }
        (Type::Any, known) | (known, Type::Any) => {
            takes(known).then_some(if is_list(known) { Type::List } else { known })
        }
        (Type::Timestamp, Type::Timestamp) if operator == Subtract => Some(Type::Duration),
        (Type::Timestamp, Type::Timestamp) => None,
        (Type::Timestamp, Type::Duration) if matches!(operator, Add | Subtract) => {
            Some(Type::Timestamp)
        }
        (Type::Duration, Type::Timestamp) if operator == Add => Some(Type::Timestamp),
        (left, right) if is_list(left) && is_list(right) && operator == Add => {
            Some(if left == right { left } else { Type::List })
        }
        (left, right) if left == right && takes(left) => match operator {
            Divide | Multiply | Remainder | Add | Subtract => Some(left),
            _ => None,
        },
        _ => None,
    }
}

/// The type that a function gives for arguments of these types.
pub(super) fn function_type(
    function: Function,
    name: &str,
    args: &[(Type, Range<usize>)],
) -> Result<Type, WhenError> {
    let text_only: fn(Type) -> bool = |kind| kind == Type::Text;
    let (takes, gives, what): (fn(Type) -> bool, Type, &str) = match function {
        Function::Size => (
            |kind| kind == Type::Text || is_list(kind) || kind == Type::Map,
            Type::Int,
            "a text, list or map",
        ),
        Function::Contains | Function::StartsWith | Function::EndsWith | Function::PathWithin => {
            (text_only, Type::Bool, "texts")
        }
        Function::Lower | Function::Digest => (text_only, Type::Text, "a text"),
        Function::Int => (
            |kind| is_number(kind) || matches!(kind, Type::Text | Type::Timestamp),
            Type::Int,
            "a number, text or time",
        ),
        Function::UInt => {
            (|kind| is_number(kind) || kind == Type::Text, Type::UInt, "a number or text")
        }
        Function::Double => {
            (|kind| is_number(kind) || kind == Type::Text, Type::Double, "a number or text")
        }
        Function::Text => (
            |kind| !is_list(kind) && !matches!(kind, Type::Map | Type::Null),
            Type::Text,
            "a number, text, boolean or time",
        ),
        Function::Bool => {
            (|kind| matches!(kind, Type::Bool | Type::Text), Type::Bool, "a text or boolean")
        }
        Function::Timestamp => {
            (|kind| matches!(kind, Type::Text | Type::Timestamp), Type::Timestamp, "a text")
        }
        Function::Duration => {
            (|kind| matches!(kind, Type::Text | Type::Duration), Type::Duration, "a text")
        }
        Function::Part(_) => {
            (|kind| matches!(kind, Type::Timestamp | Type::Duration), Type::Int, "a time")
        }
    };
    for (kind, span) in args {
        if *kind != Type::Any && !takes(*kind) {
            let remedy = if is_list(*kind) && function == Function::Contains {
                "a list is searched by `x in list`"
            } else {
                "convert it: `string(x)`, `int(x)`, `timestamp(x)`"
            };
            let message = format!("`{name}` takes {what}, this is {kind}");
            return Err(WhenError::new(WhenErrorKind::Type, span, message, remedy));
        }
    }
    Ok(gives)
}

impl Operator {
    /// The sign that writes it.
    pub(super) const fn sign(self) -> &'static str {
        match self {
            Operator::Equal => "==",
            Operator::NotEqual => "!=",
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
            Operator::In => "in",
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Remainder => "%",
        }
    }
}

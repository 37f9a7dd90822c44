//! Arithmetic of conditions: checked, within one type, as CEL has it.

use super::eval::{Fault, Run};
use super::limits::LIST_ITEMS_MAX;
use super::parse::Operator;
use super::value::{Type, Value};

/// `-x`.
pub(super) fn negated<'a>(value: &Value<'a>) -> Result<Value<'a>, Fault<'a>> {
    match value {
        Value::Int(value) => value.checked_neg().map(Value::Int).ok_or(Fault::Overflow),
        Value::Double(value) => Ok(Value::Double(-value)),
        other => Err(Fault::Unfit("`-`", other.kind())),
    }
}

/// `left operator right` for the operators of arithmetic.
pub(super) fn arithmetic<'a>(
    run: &mut Run<'a>,
    operator: Operator,
    left: &Value<'a>,
    right: &Value<'a>,
) -> Result<Value<'a>, Fault<'a>> {
    let mismatch = || Fault::Mismatch(operator.sign(), left.kind(), right.kind());
    let divides = matches!(operator, Operator::Divide | Operator::Remainder);
    match (left, right) {
        (Value::Int(_), Value::Int(0)) | (Value::UInt(_), Value::UInt(0)) if divides => {
            Err(Fault::DivisionByZero)
        }
        (Value::Int(a), Value::Int(b)) => {
            ints(operator, *a, *b).map(Value::Int).ok_or(Fault::Overflow)
        }
        (Value::UInt(a), Value::UInt(b)) => {
            uints(operator, *a, *b).map(Value::UInt).ok_or(Fault::Overflow)
        }
        (Value::Double(a), Value::Double(b)) => {
            doubles(operator, *a, *b).map(Value::Double).ok_or_else(mismatch)
        }
        (Value::Timestamp(_) | Value::Duration(_), Value::Timestamp(_) | Value::Duration(_)) => {
            times(operator, left, right).ok_or_else(mismatch)?.ok_or(Fault::Overflow)
        }
        _ if operator == Operator::Add => joined(run, left, right)?.ok_or_else(mismatch),
        _ => Err(mismatch()),
    }
}

const fn ints(operator: Operator, a: i64, b: i64) -> Option<i64> {
    match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide => a.checked_div(b),
        Operator::Remainder => a.checked_rem(b),
        _ => None,
    }
}

const fn uints(operator: Operator, a: u64, b: u64) -> Option<u64> {
    match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide => a.checked_div(b),
        Operator::Remainder => a.checked_rem(b),
        _ => None,
    }
}

const fn doubles(operator: Operator, a: f64, b: f64) -> Option<f64> {
    match operator {
        Operator::Add => Some(a + b),
        Operator::Subtract => Some(a - b),
        Operator::Multiply => Some(a * b),
        Operator::Divide => Some(a / b),
        _ => None,
    }
}

/// `None` when there is no such operation, `Some(None)` when its result is out of range.
fn times<'a>(operator: Operator, left: &Value<'a>, right: &Value<'a>) -> Option<Option<Value<'a>>> {
    use Operator::{Add, Subtract};
    Some(match (left, operator, right) {
        (Value::Timestamp(a), Add, Value::Duration(b))
        | (Value::Duration(a), Add, Value::Timestamp(b)) => a.checked_add(*b).map(Value::Timestamp),
        (Value::Timestamp(a), Subtract, Value::Duration(b)) => {
            a.checked_sub(*b).map(Value::Timestamp)
        }
        (Value::Timestamp(a), Subtract, Value::Timestamp(b))
        | (Value::Duration(a), Subtract, Value::Duration(b)) => {
            a.checked_sub(*b).map(Value::Duration)
        }
        (Value::Duration(a), Add, Value::Duration(b)) => a.checked_add(*b).map(Value::Duration),
        _ => return None,
    })
}

/// Two texts or two lists, one behind the other.
fn joined<'a>(
    run: &mut Run<'a>,
    left: &Value<'a>,
    right: &Value<'a>,
) -> Result<Option<Value<'a>>, Fault<'a>> {
    if let (Some(a), Some(b)) = (left.text(), right.text()) {
        run.check_made(a.len() + b.len())?;
        return Ok(Some(Value::Made([a, b].concat().into())));
    }
    let is_list = |value: &Value<'_>| matches!(value.kind(), Type::List | Type::Texts);
    let (Some(a), Some(b)) = (left.len(), right.len()) else { return Ok(None) };
    if !is_list(left) || !is_list(right) {
        return Ok(None);
    }
    if a + b > LIST_ITEMS_MAX {
        return Err(Fault::ListTooLong);
    }
    run.charge(a + b)?;
    let items = (0..a).map(|at| left.item(at)).chain((0..b).map(|at| right.item(at)));
    let items: Vec<Value<'a>> = items.flatten().collect();
    Ok(Some(Value::List(items.into())))
}

//! What the functions beyond the operators compute.

use super::eval::{Fault, Run};
use super::time::{
    duration, duration_text, part_of_duration, part_of_timestamp, timestamp, timestamp_text,
};
use super::tree::Function;
use super::value::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Calls a function with its values.
pub(super) fn call<'a>(
    run: &mut Run<'a>,
    function: Function,
    first: &Value<'a>,
    second: Option<&Value<'a>>,
) -> Result<Value<'a>, Fault<'a>> {
    let unfit = || Fault::Unfit("this function", first.kind());
    match function {
        Function::Size => size(run, first),
        Function::Contains | Function::StartsWith | Function::EndsWith | Function::PathWithin => {
            let text = first.text().ok_or_else(unfit)?;
            let part = second.ok_or_else(unfit)?;
            let part = part.text().ok_or(Fault::Unfit("this function", part.kind()))?;
            run.charge_text(text.len())?;
            Ok(Value::Bool(match function {
                Function::Contains => text.contains(part),
                Function::StartsWith => text.starts_with(part),
                Function::EndsWith => text.ends_with(part),
                _ => path_within(text, part, run.working_directory())?,
            }))
        }
        Function::Lower => {
            let text = first.text().ok_or_else(unfit)?;
            run.charge_text(text.len())?;
            if !text.bytes().any(|b| b.is_ascii_uppercase() || !b.is_ascii()) {
                return Ok(first.clone());
            }
            run.check_made(text.len())?;
            Ok(Value::Made(text.to_lowercase().into()))
        }
        Function::Digest => {
            let text = first.text().ok_or_else(unfit)?;
            // Hashing costs some ten times what searching does.
            run.charge_text(text.len().saturating_mul(10))?;
            let mut hex = String::with_capacity(64);
            for byte in Sha256::digest(text.as_bytes()) {
                // Writing to memory cannot fail.
                let _ = write!(hex, "{byte:02x}");
            }
            Ok(Value::Made(hex.into()))
        }
        Function::Int => to_int(first).ok_or_else(unfit),
        Function::UInt => to_uint(first).ok_or_else(unfit),
        Function::Double => to_double(first).ok_or_else(unfit),
        Function::Text => to_text(first).ok_or_else(unfit),
        Function::Bool => to_bool(first).ok_or_else(unfit),
        Function::Timestamp => match first {
            Value::Timestamp(nanos) => Ok(Value::Timestamp(*nanos)),
            other => {
                other.text().and_then(timestamp).map(Value::Timestamp).ok_or(Fault::NoTimestamp)
            }
        },
        Function::Duration => match first {
            Value::Duration(nanos) => Ok(Value::Duration(*nanos)),
            other => other.text().and_then(duration).map(Value::Duration).ok_or(Fault::NoDuration),
        },
        Function::Part(part) => match first {
            Value::Timestamp(nanos) => Ok(Value::Int(part_of_timestamp(*nanos, part))),
            Value::Duration(nanos) => {
                part_of_duration(*nanos, part).map(Value::Int).ok_or_else(unfit)
            }
            _ => Err(unfit()),
        },
    }
}

fn size<'a>(run: &mut Run<'a>, value: &Value<'a>) -> Result<Value<'a>, Fault<'a>> {
    let size = match value.text() {
        Some(text) => {
            run.charge_text(text.len())?;
            Some(text.chars().count())
        }
        None => value.len(),
    };
    let size = size.ok_or(Fault::Unfit("`size`", value.kind()))?;
    Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

/// Longest text that is read as a number, in bytes.
const NUMBER_BYTES_MAX: usize = 64;

fn number_text<'v>(value: &'v Value<'_>) -> Option<&'v str> {
    value.text().filter(|text| text.len() <= NUMBER_BYTES_MAX)
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn to_int<'a>(value: &Value<'a>) -> Option<Value<'a>> {
    Some(Value::Int(match value {
        Value::Int(value) => *value,
        Value::UInt(value) => i64::try_from(*value).ok()?,
        Value::Double(value)
            if *value > -9.223_372_036_854_775e18 && *value < 9.223_372_036_854_775e18 =>
        {
            *value as i64
        }
        Value::Timestamp(nanos) => nanos.div_euclid(1_000_000_000),
        other => number_text(other)?.parse().ok()?,
    }))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn to_uint<'a>(value: &Value<'a>) -> Option<Value<'a>> {
    Some(Value::UInt(match value {
        Value::Int(value) => u64::try_from(*value).ok()?,
        Value::UInt(value) => *value,
        Value::Double(value) if *value >= 0.0 && *value < 1.844_674_407_370_955e19 => *value as u64,
        other => number_text(other)?.parse().ok()?,
    }))
}

#[expect(clippy::cast_precision_loss, reason = "the nearest float is what is asked for")]
fn to_double<'a>(value: &Value<'a>) -> Option<Value<'a>> {
    Some(Value::Double(match value {
        Value::Int(value) => *value as f64,
        Value::UInt(value) => *value as f64,
        Value::Double(value) => *value,
        other => number_text(other)?.parse().ok()?,
    }))
}

fn to_text<'a>(value: &Value<'a>) -> Option<Value<'a>> {
    Some(Value::Made(match value {
        Value::Text(_) | Value::Made(_) => return Some(value.clone()),
        Value::Bool(value) => value.to_string().into(),
        Value::Int(value) => value.to_string().into(),
        Value::UInt(value) => value.to_string().into(),
        Value::Double(value) => value.to_string().into(),
        Value::Timestamp(nanos) => timestamp_text(*nanos)?.into(),
        Value::Duration(nanos) => duration_text(*nanos).into(),
        _ => return None,
    }))
}

fn to_bool<'a>(value: &Value<'a>) -> Option<Value<'a>> {
    if let Value::Bool(value) = value {
        return Some(Value::Bool(*value));
    }
    match value.text()? {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(Value::Bool(true)),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(Value::Bool(false)),
        _ => None,
    }
}

/// Whether `path` is `root` or below it, by their texts alone: `.` and `..` are resolved, links are
/// not. Relative ones start at the working directory.
fn path_within<'a>(path: &str, root: &str, cwd: Option<&str>) -> Result<bool, Fault<'a>> {
    let path = components(path, cwd)?;
    let root = components(root, cwd)?;
    Ok(path.starts_with(&root))
}

/// The components of an absolute path.
fn components<'p, 'a>(path: &'p str, cwd: Option<&'p str>) -> Result<Vec<&'p str>, Fault<'a>> {
    // What a shell would put in place of `~` is not known here, and a NUL ends a path for the system.
    if path.is_empty() || path.starts_with('~') || path.contains('\0') {
        return Err(Fault::NoPath);
    }
    let base = if path.starts_with('/') { "" } else { cwd.ok_or(Fault::NoPath)? };
    if !base.is_empty() && !base.starts_with('/') {
        return Err(Fault::NoPath);
    }
    let mut components = Vec::new();
    for component in base.split('/').chain(path.split('/')) {
        match component {
            "" | "." => {}
            ".." => {
                components.pop();
            }
            name => components.push(name),
        }
    }
    Ok(components)
}

#[cfg(test)]
mod tests {
    use super::path_within;

    #[test]
    fn a_path_is_within_a_root_by_components_and_not_by_letters() {
        let within = |path, root| path_within(path, root, Some("/repo/src")).unwrap();
        assert!(within("/repo", "/repo"));
        assert!(within("/repo/a/../b", "/repo/"));
        assert!(!within("/repository/a", "/repo"));
        assert!(!within("/repo/../etc/passwd", "/repo"));
        assert!(within("main.rs", "/repo"));
        assert!(!within("../../etc/passwd", "/repo"));
        assert!(within("../README.md", "/repo"));
        assert!(within("x", "."));
        assert!(within("/anything/at/all", "/"));
    }

    #[test]
    fn a_path_that_cannot_be_told_is_a_fault() {
        assert!(path_within("~/x", "/home", Some("/")).is_err());
        assert!(path_within("a\0b", "/home", Some("/")).is_err());
        assert!(path_within("a", "/home", None).is_err());
        assert!(path_within("", "/home", Some("/")).is_err());
    }
}

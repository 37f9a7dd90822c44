//! Amounts as a policy writes them: `15m`, `30/min`, `100000/day`, `2.50/day`.
//!
//! A window is a number and a unit; a rate is a number in such a window. Money is read from its
//! decimal text into millionths, exactly: what does not fit is refused, nothing is rounded.

use super::ActionError;
use super::read::kind_of;
use tollgate_gate::Json;

/// Longest window or time that a policy may name: ten years, in milliseconds.
const WINDOW_MS_MAX: u64 = 10 * 366 * 24 * 60 * 60 * 1_000;

/// Reads a time such as `15m`, `90s`, `2h`, `7d`, `500ms` into milliseconds.
pub(crate) fn duration_ms(text: &str) -> Result<u64, ActionError> {
    let bad = || {
        ActionError::at("", format!("`{text}` is no time"))
            .remedy("a whole number and ms, s, m, h or d, such as `15m`")
    };
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| bad())?;
    let ms = number.checked_mul(unit_ms(unit.trim_start()).ok_or_else(bad)?).ok_or_else(bad)?;
    if ms == 0 {
        return Err(bad());
    }
    if ms > WINDOW_MS_MAX {
        return Err(ActionError::at("", format!("`{text}` is longer than ten years")));
    }
    Ok(ms)
}

fn unit_ms(unit: &str) -> Option<u64> {
    Some(match unit {
        "ms" => 1,
        "s" | "sec" | "second" | "seconds" => 1_000,
        "m" | "min" | "minute" | "minutes" => 60_000,
        "h" | "hour" | "hours" => 3_600_000,
        "d" | "day" | "days" => 86_400_000,
        _ => return None,
    })
}

/// Reads a window: a time, or a bare unit (`min`).
fn window_ms(text: &str) -> Result<u64, ActionError> {
    match unit_ms(text) {
        Some(ms) => Ok(ms),
        None => duration_ms(text),
    }
}

/// Splits `30/min` into the amount and its window in milliseconds, where there is one.
pub(crate) fn split_window(text: &str) -> Result<(&str, Option<u64>), ActionError> {
    match text.split_once('/') {
        Some((amount, window)) => Ok((amount.trim(), Some(window_ms(window.trim())?))),
        None => Ok((text.trim(), None)),
    }
}

/// Reads a rate such as `30/min` or `100/10s`: the number, and the window in milliseconds.
pub(crate) fn rate(text: &str) -> Result<(u64, u64), ActionError> {
    let bad = || {
        ActionError::at("", format!("`{text}` is no rate"))
            .remedy("a number in a window, such as `30/min` or `100/10s`")
    };
    match split_window(text)? {
        (amount, Some(window)) => Ok((whole(amount).ok_or_else(bad)?, window)),
        (_, None) => Err(bad()),
    }
}

/// Reads a whole number; `_` may separate its digits.
fn whole(text: &str) -> Option<u64> {
    text.replace('_', "").parse().ok().filter(|_| text.starts_with(|c: char| c.is_ascii_digit()))
}

/// Reads an amount of money into millionths: `2`, `2.50`, `0.000001`.
pub(crate) fn micros(text: &str) -> Option<u64> {
    let (whole_part, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole_part.is_empty() || !is_digits(whole_part) || !is_digits(fraction) || fraction.len() > 6
    {
        return None;
    }
    let fraction: u64 = format!("{fraction:0<6}").parse().ok()?;
    whole_part.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(fraction)
}

/// The text of a number or text, for amounts that may be written as either.
pub(crate) fn literal(value: &Json) -> Result<String, ActionError> {
    match value {
        Json::String(text) => Ok(text.clone()),
        Json::Number(number) => Ok(number.literal()),
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => {
            Err(ActionError::at("", format!("expected an amount, found {}", kind_of(value))))
        }
    }
}

/// An amount of money in millionths, from a number or text.
pub(crate) fn money(value: &Json) -> Result<u64, ActionError> {
    let text = literal(value)?;
    micros(&text).ok_or_else(|| {
        ActionError::at("", format!("`{text}` is no amount of money"))
            .remedy("a number with at most six decimals, such as `2.50`")
    })
}

/// A number of tokens; `_` may separate its digits.
pub(crate) fn tokens(value: &Json) -> Result<u64, ActionError> {
    let text = literal(value)?;
    whole(&text).ok_or_else(|| {
        let remedy = "a whole number, such as `200_000`";
        ActionError::at("", format!("`{text}` is no number of tokens")).remedy(remedy)
    })
}

#[cfg(test)]
mod tests {
    use super::{duration_ms, micros, rate, split_window};

    #[test]
    fn times_and_rates_are_read_with_their_units() {
        assert_eq!(duration_ms("15m"), Ok(900_000));
        assert_eq!(duration_ms("500ms"), Ok(500));
        assert_eq!(duration_ms("7 d"), Ok(604_800_000));
        assert_eq!(rate("30/min"), Ok((30, 60_000)));
        assert_eq!(rate("1_000/10s"), Ok((1_000, 10_000)));
        assert_eq!(split_window("5/day"), Ok(("5", Some(86_400_000))));
    }

    #[test]
    fn what_is_no_time_rate_or_amount_is_refused() {
        for bad in
            ["", "m", "15", "0s", "-1s", "1.5h", "15 weeks", "99999999999999999999s", "9999d9"]
        {
            assert!(duration_ms(bad).is_err(), "{bad}");
        }
        assert!(duration_ms("100000d").is_err());
        for bad in ["30", "/min", "30/", "30/0s", "x/min", "-3/min"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn money_is_exact_to_the_millionth() {
        assert_eq!(micros("2.50"), Some(2_500_000));
        assert_eq!(micros("0.000001"), Some(1));
        assert_eq!(micros("3"), Some(3_000_000));
        for bad in ["", ".5", "-1", "1e3", "0.0000001", "1.2.3", "99999999999999999999"] {
            assert_eq!(micros(bad), None, "{bad}");
        }
    }
}

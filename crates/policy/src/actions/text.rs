//! Every text of a JSON value: strings, keys, and numbers long enough to say something.

use tollgate_detect::{NumberMask, is_name_key, is_secret_name, is_value_key};
use tollgate_gate::limits::JSON_DEPTH_MAX;
use tollgate_gate::{HandlerError, Json, Number, Object};

/// Numbers below this many in size are not looked at as text: no datum is that short.
const SPOKEN_NUMBER_MIN: f64 = 1_000_000.0;

/// Calls `f` with the key it stands under and every text; gives the value with the texts that `f`
/// changed, or `None` when it changed none. A value beside a name that tells a secret
/// (`{"name": "password", "value": ..}`) stands under that name.
pub(crate) fn map_texts<F>(
    value: &Json,
    numbers: NumberMask,
    f: &mut F,
) -> Result<Option<Json>, HandlerError>
where
    F: FnMut(Option<&str>, &str) -> Result<Option<String>, HandlerError>,
{
    map_below(value, None, 0, numbers, f)
}

fn map_below<F>(
    value: &Json,
    key: Option<&str>,
    depth: usize,
    numbers: NumberMask,
    f: &mut F,
) -> Result<Option<Json>, HandlerError>
where
    F: FnMut(Option<&str>, &str) -> Result<Option<String>, HandlerError>,
{
    check_depth(depth)?;
    match value {
        Json::Null | Json::Bool(_) => Ok(None),
        Json::String(text) => Ok(f(key, text)?.map(Json::String)),
        Json::Number(number) => {
            // Under the name of a secret a short number is one too.
            let speaks = key.is_some_and(is_secret_name);
            let changed = with_number_text(number, speaks, |text| f(key, text));
            Ok(changed.transpose()?.flatten().map(|mask| match numbers {
                NumberMask::AsString => Json::String(mask),
                NumberMask::Zero => Json::from(0),
            }))
        }
        Json::Array(items) => {
            let mut changed: Option<Vec<Json>> = None;
            for (at, item) in items.iter().enumerate() {
                if let Some(new) = map_below(item, key, depth + 1, numbers, f)?
                    && let Some(place) = changed.get_or_insert_with(|| items.clone()).get_mut(at)
                {
                    *place = new;
                }
            }
            Ok(changed.map(Json::Array))
        }
        Json::Object(object) => Ok(map_object(object, depth, numbers, f)?.map(Json::Object)),
    }
}

fn map_object<F>(
    object: &Object,
    depth: usize,
    numbers: NumberMask,
    f: &mut F,
) -> Result<Option<Object>, HandlerError>
where
    F: FnMut(Option<&str>, &str) -> Result<Option<String>, HandlerError>,
{
    let mut changed: Vec<(usize, Option<String>, Option<Json>)> = Vec::new();
    for (at, (key, value)) in object.iter().enumerate() {
        let new_key = f(None, key)?;
        let speaking = if is_value_key(key) { secret_name_in(object) } else { None };
        let new_value = map_below(value, Some(speaking.unwrap_or(key)), depth + 1, numbers, f)?;
        if new_key.is_some() || new_value.is_some() {
            changed.push((at, new_key, new_value));
        }
    }
    if changed.is_empty() {
        return Ok(None);
    }
    let mut out = Object::new();
    let mut changed = changed.into_iter().peekable();
    for (at, (key, value)) in object.iter().enumerate() {
        let new = changed.next_if(|(changed_at, ..)| *changed_at == at);
        let (new_key, new_value) = new.map_or((None, None), |(_, key, value)| (key, value));
        let key = new_key.unwrap_or_else(|| key.to_owned());
        out.insert(free_key(&out, object, at, key), new_value.unwrap_or_else(|| value.clone()));
    }
    Ok(Some(out))
}

/// What a member such as `name` says, when that names a secret.
fn secret_name_in(object: &Object) -> Option<&str> {
    let mut members = object.iter();
    members.find_map(|(key, value)| {
        value.as_str().filter(|name| is_name_key(key) && is_secret_name(name))
    })
}

/// Two keys may become the same; neither value may get lost. A key that another member has gets a
/// number.
fn free_key(out: &Object, original: &Object, at: usize, key: String) -> String {
    let is_taken = |key: &str| {
        out.contains_key(key)
            || original.iter().enumerate().any(|(other, (k, _))| other != at && k == key)
    };
    if !is_taken(&key) {
        return key;
    }
    let numbered = |n: usize| format!("{key} ({n})");
    (2..).map(numbered).find(|key| !is_taken(key)).unwrap_or_default()
}

/// Calls `f` with every text until it says yes; says whether it did.
pub(crate) fn any_text(
    value: &Json,
    f: &mut impl FnMut(&str) -> bool,
) -> Result<bool, HandlerError> {
    any_below(value, 0, f)
}

fn any_below(
    value: &Json,
    depth: usize,
    f: &mut impl FnMut(&str) -> bool,
) -> Result<bool, HandlerError> {
    check_depth(depth)?;
    match value {
        Json::Null | Json::Bool(_) => Ok(false),
        Json::String(text) => Ok(f(text)),
        Json::Number(number) => Ok(with_number_text(number, false, f).unwrap_or(false)),
        Json::Array(items) => {
            for item in items {
                if any_below(item, depth + 1, f)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Json::Object(object) => {
            for (key, value) in object.iter() {
                if f(key) || any_below(value, depth + 1, f)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
    }
}

/// Values from outside are at most as deep as the reader takes; code can build deeper ones, which
/// could exhaust the stack.
fn check_depth(depth: usize) -> Result<(), HandlerError> {
    // An error's part stands one level above what the reader read.
    if depth > JSON_DEPTH_MAX + 1 {
        return Err(HandlerError(format!("a value nested deeper than {JSON_DEPTH_MAX} levels")));
    }
    Ok(())
}

/// The text of a number that is large and whole, such as a phone or card number, or of `any`; integers
/// are written without allocating.
fn with_number_text<R>(number: &Number, any: bool, f: impl FnOnce(&str) -> R) -> Option<R> {
    let size = number.to_f64();
    if (size.abs() < SPOKEN_NUMBER_MIN || size.fract() != 0.0) && !any {
        return None;
    }
    let Some(mut rest) = number.as_u64() else {
        return Some(f(&number.literal()));
    };
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    for (at, digit) in digits.iter_mut().enumerate().rev() {
        if rest == 0 {
            break;
        }
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
        start = at;
    }
    digits.get(start..).and_then(|digits| std::str::from_utf8(digits).ok()).map(f)
}

#[cfg(test)]
mod tests {
    use super::{any_text, map_texts};
    use tollgate_detect::NumberMask;
    use tollgate_gate::{HandlerError, Json};

    fn shout(text: &str) -> Option<String> {
        let json = Json::read(text.as_bytes()).unwrap();
        let mut shout =
            |_: Option<&str>, text: &str| Ok(text.contains('x').then(|| text.to_uppercase()));
        map_texts(&json, NumberMask::AsString, &mut shout).unwrap().map(|json| json.text())
    }

    #[test]
    fn every_string_and_key_is_seen_and_the_rest_stays() {
        assert_eq!(
            shout(r#"{"ax":["bx",{"c":"dx"},1.10],"n":null}"#).unwrap(),
            r#"{"AX":["BX",{"c":"DX"},1.10],"n":null}"#
        );
        assert_eq!(shout(r#"{"a":["b",{"c":"d"}]}"#), None);
    }

    #[test]
    fn keys_that_become_the_same_keep_both_values() {
        assert_eq!(
            shout(r#"{"ax":1,"Ax":2,"AX":3}"#).unwrap(),
            r#"{"AX (2)":1,"AX (3)":2,"AX":3}"#
        );
    }

    #[test]
    fn long_whole_numbers_are_text_too() {
        let mut seen = Vec::new();
        let json = Json::read(
            br#"[13812345678, 42, 13812345678.5, 123456789012345678901234, -13812345678, 18446744073709551615]"#,
        );
        any_text(&json.unwrap(), &mut |text| {
            seen.push(text.to_owned());
            false
        })
        .unwrap();
        let expected =
            ["13812345678", "123456789012345678901234", "-13812345678", "18446744073709551615"];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_value_too_deep_for_the_stack_is_an_error() {
        let mut json = Json::from("x");
        for _ in 0..200 {
            json = Json::Array(vec![json]);
        }
        let deep = map_texts(&json, NumberMask::AsString, &mut |_, _| Ok::<_, HandlerError>(None));
        assert!(deep.unwrap_err().0.contains("nested deeper"));
    }
}

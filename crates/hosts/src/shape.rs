//! A notice in the shape of the result that it stands for.
//!
//! Claude Code takes a replacement only in the tool's own shape; anything else it passes over, and the
//! model sees the original. So the shape is kept: words that say what kind of result it is, names of
//! files, numbers and flags stay; every other text is emptied, and the notice stands in the first.

use tollgate_gate::{Json, Object};

/// Fields that say what kind of result it is, or where it lies. They hold no content.
const KEPT: [&str; 8] =
    ["type", "mode", "status", "filePath", "file_path", "cell_type", "edit_mode", "language"];
/// Fields that a notice is best read in, before any other.
const SHOWN: [&str; 6] = ["stdout", "content", "result", "text", "output", "llmContent"];
/// Deepest nesting that is looked into; what lies deeper is left out.
const DEPTH_MAX: usize = 16;

/// The notice in this shape.
pub(crate) fn withheld(result: Option<&Json>, notice: &str) -> Json {
    let Some(result) = result else { return notice.into() };
    if result.as_object().is_none() && result.as_array().is_none() {
        return notice.into();
    }
    let mut emptied = emptied(result, 0);
    if !place(&mut emptied, notice, &SHOWN, 0) {
        // Nothing that is read: whoever shows this result shows nothing of it.
        place_anywhere(&mut emptied, notice, 0);
    }
    emptied
}

fn emptied(value: &Json, depth: usize) -> Json {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
        Json::String(_) => "".into(),
        Json::Array(_) | Json::Object(_) if depth >= DEPTH_MAX => Json::Null,
        // Blocks keep their number, lists of texts and of anything else are emptied.
        Json::Array(items) => {
            let blocks = items.iter().filter(|item| item.get("type").is_some());
            blocks.map(|item| emptied(item, depth + 1)).collect::<Vec<_>>().into()
        }
        Json::Object(object) => {
            let mut out = Object::new();
            for (key, value) in object.iter() {
                let is_kept = KEPT.contains(&key) && value.as_str().is_some();
                out.insert(key, if is_kept { value.clone() } else { emptied(value, depth + 1) });
            }
            out.into()
        }
    }
}

/// Puts the notice into the first text of these names.
fn place(value: &mut Json, notice: &str, names: &[&str], depth: usize) -> bool {
    if depth > DEPTH_MAX {
        return false;
    }
    match value {
        Json::Object(object) => {
            for name in names {
                if let Some(text @ Json::String(_)) = object.get_mut(name) {
                    *text = notice.into();
                    return true;
                }
            }
            object.iter_mut().any(|(_, value)| place(value, notice, names, depth + 1))
        }
        Json::Array(items) => items.iter_mut().any(|item| place(item, notice, names, depth + 1)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    }
}

fn place_anywhere(value: &mut Json, notice: &str, depth: usize) -> bool {
    match value {
        Json::String(text) if text.is_empty() => {
            notice.clone_into(text);
            true
        }
        Json::Object(object) if depth < DEPTH_MAX => {
            object.iter_mut().any(|(_, value)| place_anywhere(value, notice, depth + 1))
        }
        Json::Array(items) if depth < DEPTH_MAX => {
            items.iter_mut().any(|item| place_anywhere(item, notice, depth + 1))
        }
        Json::Null
        | Json::Bool(_)
        | Json::Number(_)
        | Json::String(_)
        | Json::Object(_)
        | Json::Array(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::withheld;
    use tollgate_gate::Json;

    fn shaped(result: &str) -> String {
        withheld(Some(&Json::read(result.as_bytes()).unwrap()), "NOTICE").text()
    }

    #[test]
    fn the_shape_stays_and_no_content_does() {
        assert_eq!(
            shaped(r#"{"stdout":"secret","stderr":"s2","interrupted":false,"isImage":false}"#),
            r#"{"stdout":"NOTICE","stderr":"","interrupted":false,"isImage":false}"#
        );
        assert_eq!(
            shaped(r#"{"type":"text","file":{"filePath":"/a","content":"secret","numLines":1}}"#),
            r#"{"type":"text","file":{"filePath":"/a","content":"NOTICE","numLines":1}}"#
        );
        assert_eq!(
            shaped(
                r#"{"filePath":"/a","oldString":"s","newString":"t","originalFile":"secret","structuredPatch":[{"lines":["s"]}]}"#
            ),
            r#"{"filePath":"/a","oldString":"NOTICE","newString":"","originalFile":"","structuredPatch":[]}"#
        );
        assert_eq!(
            shaped(r#"[{"type":"text","text":"secret"},{"type":"text","text":"more"}]"#),
            r#"[{"type":"text","text":"NOTICE"},{"type":"text","text":""}]"#
        );
        assert_eq!(shaped(r#""secret""#), r#""NOTICE""#);
    }
}

//! Paths as text: their plain form, and whether one stands below another.
//!
//! Only the text is looked at, never the disk: a link can still lead elsewhere. What needs to know
//! where a path really leads is the tool that opens it.

/// Whether a path is in its plain form: no empty component, `.`, `..`, backslash or zero byte.
pub(crate) fn is_plain(path: &str) -> bool {
    let rest = path.strip_prefix('/').unwrap_or(path);
    !rest.contains(['\\', '\0'])
        && rest.split('/').all(|component| !matches!(component, "" | "." | ".."))
}

/// The path without `.`, `..` and doubled slashes; `..` at the root stays at the root.
pub(crate) fn clean(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for component in path.split('/') {
        match component {
            "" | "." => {}
            ".." => {
                kept.pop();
            }
            name => kept.push(name),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", kept.join("/"))
}

/// What stands behind the folder in the path; empty for the folder itself.
pub(crate) fn behind<'a>(folder: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

#[cfg(test)]
mod tests {
    use super::{behind, clean, is_plain};

    #[test]
    fn a_clean_path_is_plain_and_stays_as_it_is() {
        for path in ["a/b", "/a", "a//b/", "./a", "/../a", "a/../../b", "a/./b"] {
            let cleaned = clean(path);
            assert!(is_plain(&cleaned), "{path}");
            assert_eq!(clean(&cleaned), cleaned);
            assert_eq!(is_plain(path), path == cleaned, "{path}");
        }
        assert!(!is_plain("a\\b") && !is_plain("a\0"));
    }

    #[test]
    fn a_folder_ends_at_a_slash() {
        assert_eq!(behind("/sandbox", "/sandbox/a"), Some("a"));
        assert_eq!(behind("/sandbox/", "/sandbox/a"), Some("a"));
        assert_eq!(behind("/sandbox", "/sandbox"), Some(""));
        assert_eq!(behind("/sandbox", "/sandboxes/a"), None);
        assert_eq!(behind("/", "/a"), Some("a"));
    }
}

//! What Codex's settings say of its hooks: which of them a person has trusted, and whether they are on.
//!
//! Codex skips a hook that is not trusted without a word. What `/hooks` has settled it writes into its
//! `config.toml`, a table for each hook, named after the hook's file, event and place in it; that form
//! was seen with version 0.171.0, and no other is read. Whether the trust is in the hook as it stands now
//! only Codex can say: its digest is its own.

use std::path::Path;

/// The file of Codex's settings, beside that of its hooks.
pub(super) const CONFIG: &str = "config.toml";
/// How the table of a hook begins.
const STATE: &str = "hooks.state.";

/// A hook as the settings tell of it.
#[derive(Debug, PartialEq, Eq)]
struct State {
    /// `FILE:EVENT:GROUP:PLACE`.
    key: String,
    is_trusted: bool,
    is_off: bool,
}

/// What the settings say.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// Whether no hook runs at all.
    pub(super) all_off: bool,
    states: Vec<State>,
}

impl Said {
    /// Reads the settings, line by line.
    pub(super) fn read(text: &str) -> Said {
        let (mut said, mut table) = (Said::default(), "");
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                table = name.trim();
                if let Some(key) = table.strip_prefix(STATE) {
                    let key = key.trim_matches(['"', '\'']).to_owned();
                    said.states.push(State { key, is_trusted: false, is_off: false });
                }
            }
            let Some((name, value)) = line.split_once('=') else { continue };
            let (name, value) = (name.trim(), value.split('#').next().unwrap_or_default().trim());
            if (table == "features" && name == "hooks")
                || (table.is_empty() && name == "features.hooks")
            {
                said.all_off = value == "false";
            }
            if let Some(state) = said.states.last_mut().filter(|_| table.starts_with(STATE)) {
                state.is_trusted |= name == "trusted_hash";
                state.is_off |= name == "enabled" && value == "false";
            }
        }
        said
    }

    /// Whether a hook at this event of this file was ever trusted.
    pub(super) fn is_trusted(&self, file: &Path, event: &str) -> bool {
        self.of(file, event).any(|state| state.is_trusted)
    }

    /// Whether a hook at this event of this file was switched off.
    pub(super) fn is_off(&self, file: &Path, event: &str) -> bool {
        self.of(file, event).any(|state| state.is_off)
    }

    fn of(&self, file: &Path, event: &str) -> impl Iterator<Item = &State> {
        let start = format!("{}:{}:", file.display(), snake(event));
        self.states.iter().filter(move |state| state.key.starts_with(&start))
    }
}

/// An event's name as it stands in the name of the table: `pre_tool_use` for `PreToolUse`.
fn snake(event: &str) -> String {
    let mut name = String::new();
    for letter in event.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::Said;
    use std::path::Path;

    #[test]
    fn what_codex_writes_of_its_hooks_is_read() {
        let said = Said::read(
            "model = \"m\"
[features]
hooks = true # on

[hooks.state.\"/h/.codex/hooks.json:pre_tool_use:0:0\"]
enabled = true
trusted_hash = \"sha256:1b11\"

[hooks.state.\"/h/.codex/hooks.json:stop:0:0\"]
enabled = false
[projects.\"/w\"]
trust_level = \"trusted\"
",
        );
        let file = Path::new("/h/.codex/hooks.json");
        assert!(!said.all_off && said.is_trusted(file, "PreToolUse"));
        assert!(!said.is_trusted(file, "PostToolUse") && !said.is_trusted(file, "Stop"));
        assert!(said.is_off(file, "Stop") && !said.is_off(file, "PreToolUse"));
        assert!(!said.is_trusted(Path::new("/other/hooks.json"), "PreToolUse"));
        assert!(Said::read("[features]\nhooks = false\n").all_off);
        assert!(Said::read("features.hooks = false").all_off);
        assert_eq!(Said::read("[[["), Said::default());
    }
}

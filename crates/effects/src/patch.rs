//! Patch texts: Codex's `apply_patch` form and unified diffs. Which files they write and delete.
//!
//! Refused: a text that is neither; the caller makes it `unknown`.

/// What a patch does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Write(String),
    Delete(String),
    /// Its content goes elsewhere.
    Read(String),
    /// It becomes a link, to this place.
    Link(String, String),
}

/// The changes of a patch, in order; `None` if it is no patch.
pub(crate) fn changes(text: &str) -> Option<Vec<Change>> {
    let list = if text.contains("*** Begin Patch")
        || text.contains("*** Update File:")
        || text.contains("*** Add File:")
        || text.contains("*** Delete File:")
    {
        apply_patch(text)
    } else {
        unified(text)
    };
    (!list.is_empty()).then_some(list)
}

fn apply_patch(text: &str) -> Vec<Change> {
    let mut list = Vec::new();
    for line in text.lines() {
        let line = line.trim_end();
        let field = |front: &str| line.strip_prefix(front).map(|rest| rest.trim().to_owned());
        if let Some(file) = field("*** Add File:").or_else(|| field("*** Update File:")) {
            list.push(Change::Write(file));
        } else if let Some(file) = field("*** Delete File:") {
            list.push(Change::Delete(file));
        } else if let Some(file) = field("*** Move to:") {
            if let Some(Change::Write(old)) = list.last().cloned() {
                list.push(Change::Read(old.clone()));
                list.push(Change::Delete(old));
            }
            list.push(Change::Write(file));
        }
    }
    list
}

fn unified(text: &str) -> Vec<Change> {
    let mut list: Vec<Change> = Vec::new();
    let mut old: Option<String> = None;
    let mut push = |change: Change| {
        if !list.contains(&change) {
            list.push(change);
        }
    };
    // Within a hunk a line that begins with `---` is text that is taken away.
    let mut left = (0u64, 0u64);
    let mut link = false;
    let mut last = String::new();
    for line in text.lines() {
        if left.0 > 0 || left.1 > 0 {
            match line.chars().next() {
                Some('+') => {
                    left.1 = left.1.saturating_sub(1);
                    if std::mem::take(&mut link) {
                        let target = line.get(1..).unwrap_or_default().trim().to_owned();
                        push(Change::Link(last.clone(), target));
                    }
                }
                Some('-') => left.0 = left.0.saturating_sub(1),
                Some('\\') => {}
                _ => left = (left.0.saturating_sub(1), left.1.saturating_sub(1)),
            }
            continue;
        }
        if let Some(rest) = line.strip_prefix("@@ -") {
            left = hunk(rest).unwrap_or((0, 0));
        } else if let Some(file) = line.strip_prefix("--- ") {
            old = Some(name(file));
        } else if let Some(file) = line.strip_prefix("+++ ") {
            let new = name(file);
            last.clone_from(&new);
            match (&old, new.as_str()) {
                (Some(old), "/dev/null") => push(Change::Delete(old.clone())),
                _ => push(Change::Write(new)),
            }
            old = None;
        } else if let Some(file) = line.strip_prefix("rename from ") {
            push(Change::Read(file.to_owned()));
            push(Change::Delete(file.to_owned()));
        } else if let Some(file) = line.strip_prefix("copy from ") {
            push(Change::Read(file.to_owned()));
        } else if matches!(line, "new file mode 120000" | "new mode 120000") {
            link = true;
        } else if let Some(file) =
            line.strip_prefix("rename to ").or_else(|| line.strip_prefix("copy to "))
        {
            push(Change::Write(file.to_owned()));
        } else if let Some(rest) = line.strip_prefix("diff --git ") {
            // A change of mode or of a binary file has no `+++` line.
            link = false;
            if let Some((_, new)) = rest.rsplit_once(" b/") {
                push(Change::Write(new.to_owned()));
            }
        }
    }
    list
}

/// `12,3 +14,5 @@` to the numbers of old and new lines.
fn hunk(rest: &str) -> Option<(u64, u64)> {
    let (old, rest) = rest.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let count = |range: &str| match range.split_once(',') {
        Some((_, count)) => count.parse().ok(),
        None => Some(1),
    };
    Some((count(old)?, count(new)?))
}

fn name(text: &str) -> String {
    let text = text.split('\t').next().unwrap_or_default().trim().trim_matches('"');
    if text == "/dev/null" {
        return text.to_owned();
    }
    let cut = text.strip_prefix("a/").or_else(|| text.strip_prefix("b/"));
    cut.unwrap_or(text).to_owned()
}

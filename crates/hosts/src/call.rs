//! The canonical `call` of an event: what a host's own tool names and arguments come down to.
//!
//! Every host names its tools in its own way; rules on effects see one form. A tool that is not in a
//! host's table has no reading, and then its effects are unknown.

use tollgate_gate::{Json, Object, ToolCall};

/// A kind of call and the arguments that it is read from.
pub(crate) enum Reading {
    /// A command, in the argument `command` or the one named here, and the folder it runs in.
    Shell(&'static str, &'static [&'static str]),
    /// A command of PowerShell.
    PowerShell(&'static str),
    /// A file that is read.
    Read(&'static [&'static str]),
    /// A file that is written whole, and its content.
    Write(&'static [&'static str], &'static [&'static str]),
    /// A file that is changed.
    Edit(&'static [&'static str]),
    /// A file that is deleted.
    Delete(&'static [&'static str]),
    /// An address that is fetched.
    Fetch(&'static str),
    /// Files that are looked for: the folder, the pattern of names.
    Search(&'static [&'static str], &'static [&'static str]),
    /// Files whose content is searched: the folder, the pattern of their names.
    Grep(&'static [&'static str], &'static [&'static str]),
    /// What the web is asked.
    Web(&'static str),
    /// A sub-agent.
    Task(&'static [&'static str]),
    /// A patch.
    Patch(&'static str),
}

/// A host's tools by name.
pub(crate) type Tools = &'static [(&'static str, Reading)];

/// Reads a call by its host's table.
pub(crate) fn read(tools: Tools, call: &ToolCall) -> Option<Json> {
    if let Some(server) = &call.server {
        return Some(of([
            ("kind", "mcp".into()),
            ("server", (&**server).into()),
            ("tool", (&*call.tool).into()),
            ("arguments", (*call.arguments).clone()),
        ]));
    }
    let (_, reading) = tools.iter().find(|(name, _)| *name == &*call.tool)?;
    let arguments = &*call.arguments;
    let text = |key: &str| arguments.get(key).and_then(Json::as_str).map(Json::from);
    let first = |keys: &[&str]| keys.iter().find_map(|key| text(key));
    Some(match reading {
        Reading::Shell(command, cwd) => of([
            ("kind", "shell".into()),
            ("command", text(command)?),
            ("cwd", first(cwd).unwrap_or_default()),
        ]),
        Reading::PowerShell(command) => of([
            ("kind", "shell".into()),
            ("command", text(command)?),
            ("shell", "powershell".into()),
        ]),
        Reading::Read(path) => of([("kind", "read".into()), ("path", first(path)?)]),
        Reading::Write(path, content) => of([
            ("kind", "write".into()),
            ("path", first(path)?),
            ("content", first(content).unwrap_or_default()),
        ]),
        Reading::Edit(path) => of([("kind", "edit".into()), ("path", first(path)?)]),
        Reading::Delete(path) => of([("kind", "delete".into()), ("path", first(path)?)]),
        Reading::Fetch(url) => of([("kind", "fetch".into()), ("url", text(url)?)]),
        Reading::Search(path, pattern) => of([
            ("kind", "search".into()),
            ("path", first(path).unwrap_or_default()),
            ("pattern", first(pattern).unwrap_or_default()),
        ]),
        Reading::Grep(path, glob) => of([
            ("kind", "search".into()),
            ("path", first(path).unwrap_or_default()),
            ("glob", first(glob).unwrap_or_default()),
        ]),
        Reading::Web(query) => of([("kind", "search".into()), ("query", text(query)?)]),
        Reading::Task(agent) => {
            of([("kind", "task".into()), ("agent", first(agent).unwrap_or_default())])
        }
        Reading::Patch(patch) => of([("kind", "patch".into()), ("patch", text(patch)?)]),
    })
}

/// The argument in which a shell tool has its command.
pub(crate) fn command_of(tools: Tools, call: &ToolCall) -> Option<&'static str> {
    if call.server.is_some() {
        return None;
    }
    match tools.iter().find(|(name, _)| *name == &*call.tool) {
        Some((_, Reading::Shell(command, _))) => Some(command),
        _ => None,
    }
}

/// An object of these members, without those that are null.
pub(crate) fn of<const N: usize>(members: [(&str, Json); N]) -> Json {
    let mut object = Object::new();
    for (key, value) in members {
        if !value.is_null() {
            object.insert(key, value);
        }
    }
    object.into()
}

#[cfg(test)]
mod tests {
    use super::{Tools, read};
    use tollgate_gate::{Json, Object, ToolCall};

    /// To look for names is no reading; to search what files of a name hold is one.
    #[test]
    fn a_search_for_names_and_one_in_files_are_told_apart() {
        let told = |tools: Tools, tool: &str, key: &str| -> (Option<Json>, Option<Json>) {
            let arguments = Object::from_iter([("path", "."), (key, ".env*")]);
            let call = read(tools, &ToolCall::new(tool, arguments)).unwrap_or_default();
            (call.get("pattern").cloned(), call.get("glob").cloned())
        };
        let tools = crate::claude_code::TOOLS;
        assert_eq!(told(tools, "Glob", "pattern"), (Some(".env*".into()), None));
        assert_eq!(told(tools, "Grep", "glob"), (None, Some(".env*".into())));
    }
}

//! The workspace's tools, as a model sees them.

use crate::limits::LIST_ENTRIES_DEFAULT;
use crate::registry::{Declaration, DeclarationError};
use crate::tool::{Invocation, Tool, ToolFailure, asynchronous, blocking};
use crate::workspace::{TestCommand, Workspace, WorkspaceError};
use std::fmt::Write as _;
use std::sync::Arc;
use tollgate_gate::Json;
use tollgate_gate::limits::SHOWN_CHARS_MAX;
use tollgate_gate::text::shown;

const LIST_FILES: &str = r#"{
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "A directory; the workspace itself if left out."},
        "max_entries": {"type": "integer", "minimum": 1, "description": "Entries shown; 50 if left out."}
    },
    "additionalProperties": false
}"#;
const ONE_PATH: &str = r#"{
    "type": "object",
    "properties": {"path": {"type": "string", "description": "A file, relative to the workspace."}},
    "required": ["path"],
    "additionalProperties": false
}"#;
const EDIT_FILE: &str = r#"{
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "A file, relative to the workspace."},
        "old_text": {"type": "string", "minLength": 1, "description": "Text that stands in the file exactly once."},
        "new_text": {"type": "string", "description": "What stands there afterwards."}
    },
    "required": ["path", "old_text", "new_text"],
    "additionalProperties": false
}"#;
const WRITE_FILE: &str = r#"{
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "A file, relative to the workspace."},
        "text": {"type": "string", "description": "Its whole new text."}
    },
    "required": ["path", "text"],
    "additionalProperties": false
}"#;
const NOTHING: &str = r#"{"type": "object", "additionalProperties": false}"#;

/// The tools of a workspace: `list_files`, `read_file`, `edit_file`, `write_file`, `delete_file`,
/// and `run_test` if there is a test command.
///
/// # Errors
/// [`DeclarationError`] if a schema cannot be used.
pub fn workspace_tools(
    workspace: &Arc<Workspace>,
    test: Option<TestCommand>,
) -> Result<Vec<Tool>, DeclarationError> {
    let mut tools = Vec::new();
    let mut add = |declaration: Declaration, work: Work| {
        let workspace = Arc::clone(workspace);
        let handler = blocking(move |invocation| work(&workspace, invocation));
        Tool::new(declaration, handler).map(|tool| tools.push(tool))
    };
    add(
        Declaration::new("list_files", "Lists a directory of the workspace.", LIST_FILES)?
            .reads_only()
            .with_tags(["filesystem"]),
        list_files,
    )?;
    add(
        Declaration::new("read_file", "Gives the text of a file.", ONE_PATH)?
            .reads_only()
            .with_tags(["filesystem"]),
        |workspace, invocation| Ok(workspace.read(invocation.text("path")?)?.into()),
    )?;
    add(
        Declaration::new("edit_file", "Replaces a piece of a file's text.", EDIT_FILE)?
            .with_tags(["filesystem", "write"]),
        edit_file,
    )?;
    add(
        Declaration::new("write_file", "Writes a whole file, new or old.", WRITE_FILE)?
            .with_tags(["filesystem", "write"]),
        write_file,
    )?;
    add(
        Declaration::new("delete_file", "Deletes a file.", ONE_PATH)?.with_tags([
            "filesystem",
            "write",
            "delete",
        ]),
        delete_file,
    )?;
    if let Some(test) = test {
        tools.push(run_test(Arc::clone(workspace), test)?);
    }
    Ok(tools)
}

type Work = fn(&Workspace, &Invocation) -> Result<Json, ToolFailure>;

fn run_test(workspace: Arc<Workspace>, test: TestCommand) -> Result<Tool, DeclarationError> {
    let declaration = Declaration::new("run_test", "Runs the workspace's tests.", NOTHING)?
        .with_tags(["program"]);
    let test = Arc::new(test);
    let handler = asynchronous(move |_| {
        let (workspace, test) = (Arc::clone(&workspace), Arc::clone(&test));
        Box::pin(async move { test.run(&workspace.start_path()).await })
    });
    Tool::new(declaration, handler)
}

/// The first line says how many entries follow; names that could pass for something else are escaped.
fn list_files(workspace: &Workspace, invocation: &Invocation) -> Result<Json, ToolFailure> {
    let entries = workspace.list(invocation.optional_text("path").unwrap_or("."))?;
    let asked = invocation.optional_u64("max_entries").unwrap_or(LIST_ENTRIES_DEFAULT);
    let count = entries.len().min(usize::try_from(asked).unwrap_or(usize::MAX));
    let mut text = format!("{count} entries");
    for entry in entries.iter().take(count) {
        let end = if entry.is_directory { "/" } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{}{end}", shown(&entry.name, SHOWN_CHARS_MAX));
    }
    if entries.len() > count {
        let _ = write!(text, "\n({} more are not shown)", entries.len() - count);
    }
    Ok(text.into())
}

fn edit_file(workspace: &Workspace, invocation: &Invocation) -> Result<Json, ToolFailure> {
    let path = invocation.text("path")?;
    workspace.edit(path, invocation.text("old_text")?, invocation.text("new_text")?)?;
    Ok(format!("edited `{path}`").into())
}

fn write_file(workspace: &Workspace, invocation: &Invocation) -> Result<Json, ToolFailure> {
    let (path, text) = (invocation.text("path")?, invocation.text("text")?);
    workspace.write(path, text)?;
    Ok(format!("wrote {} bytes to `{path}`", text.len()).into())
}

fn delete_file(workspace: &Workspace, invocation: &Invocation) -> Result<Json, ToolFailure> {
    let path = invocation.text("path")?;
    workspace.delete(path)?;
    Ok(format!("deleted `{path}`").into())
}

impl From<WorkspaceError> for ToolFailure {
    fn from(error: WorkspaceError) -> ToolFailure {
        ToolFailure::new(error)
    }
}

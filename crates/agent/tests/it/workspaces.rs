//! The workspace tools through a gate: real effects, and no way out.

use crate::rig::{Rig, call};
use std::os::unix::fs::symlink;
use tollgate_agent::{Dispatch, Workspace};
use tollgate_gate::{Code, ToolResult};

async fn run(rig: &Rig, tool: &str, arguments: &str) -> ToolResult {
    rig.tools.dispatch(call("c1", tool, arguments)).await.result
}

async fn done(rig: &Rig, tool: &str, arguments: &str) -> String {
    let result = run(rig, tool, arguments).await;
    assert!(result.ok, "{tool} {arguments}: {:?}", result.error);
    result.content.as_str().unwrap().to_owned()
}

async fn fails(rig: &Rig, tool: &str, arguments: &str) -> String {
    let error = run(rig, tool, arguments).await.error.unwrap();
    assert_eq!(error.code, Code::ToolError, "{tool} {arguments}");
    error.message.to_string()
}

#[tokio::test]
async fn files_are_written_read_edited_listed_and_deleted() {
    let rig = Rig::new([]);
    done(&rig, "write_file", r#"{"path": "src/deep/a.txt", "text": "one two"}"#).await;
    assert_eq!(done(&rig, "read_file", r#"{"path": "src/deep/a.txt"}"#).await, "one two");
    done(&rig, "edit_file", r#"{"path": "src/deep/a.txt", "old_text": "two", "new_text": "2"}"#)
        .await;
    assert_eq!(rig.text("src/deep/a.txt"), "one 2");
    assert_eq!(done(&rig, "list_files", r#"{"path": "src"}"#).await, "1 entries\ndeep/");
    assert_eq!(done(&rig, "list_files", r#"{"path": "src/deep"}"#).await, "1 entries\na.txt");
    done(&rig, "delete_file", r#"{"path": "src/deep/a.txt"}"#).await;
    assert_eq!(done(&rig, "list_files", r#"{"path": "src/deep"}"#).await, "0 entries");
    assert!(fails(&rig, "read_file", r#"{"path": "src/deep/a.txt"}"#).await.contains("not exist"));
}

#[tokio::test]
async fn an_edit_needs_its_text_exactly_once_and_keeps_the_mode() {
    use std::os::unix::fs::PermissionsExt;
    let rig = Rig::new([]);
    let path = rig.dir.path().join("run.sh");
    std::fs::write(&path, "a a b").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    let message =
        fails(&rig, "edit_file", r#"{"path": "run.sh", "old_text": "a", "new_text": "c"}"#).await;
    assert!(message.ends_with("exactly once, and is there 2 times"), "{message}");
    done(&rig, "edit_file", r#"{"path": "run.sh", "old_text": "b", "new_text": "c"}"#).await;
    assert_eq!(rig.text("run.sh"), "a a c");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
    let left = std::fs::read_dir(rig.dir.path()).unwrap().count();
    assert_eq!(left, 18, "nothing is left beside it");
}

#[tokio::test]
async fn paths_have_one_form() {
    let rig = Rig::new([]);
    for path in ["/etc/passwd", "../x", "a/../../x", "./note_01.md", "a//b", "note_01.md/", ""] {
        let arguments = format!(r#"{{"path": "{path}"}}"#);
        let message = fails(&rig, "read_file", &arguments).await;
        assert!(message.contains("is no path within the workspace"), "{path}: {message}");
    }
    fails(&rig, "delete_file", r#"{"path": "."}"#).await;
    fails(&rig, "list_files", r#"{"path": ".."}"#).await;
    fails(&rig, "read_file", r#"{"path": "note\u0000.md"}"#).await;
}

#[tokio::test]
async fn links_lead_nowhere() {
    let rig = Rig::new([]);
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "outside").unwrap();
    let root = rig.dir.path();
    symlink(outside.path(), root.join("door")).unwrap();
    symlink(outside.path().join("secret"), root.join("hole")).unwrap();
    symlink("note_01.md", root.join("alias")).unwrap();
    symlink("/proc/self/root", root.join("magic")).unwrap();
    for path in ["door/secret", "hole", "alias", "magic/etc/passwd"] {
        let place = format!(r#""path": "{path}""#);
        for (tool, rest) in [
            ("read_file", ""),
            ("edit_file", r#", "old_text": "outside", "new_text": "changed""#),
            ("write_file", r#", "text": "changed""#),
        ] {
            let message = fails(&rig, tool, &format!("{{{place}{rest}}}")).await;
            assert!(message.contains("link"), "{tool} {path}: {message}");
        }
    }
    fails(&rig, "list_files", r#"{"path": "door"}"#).await;
    fails(&rig, "delete_file", r#"{"path": "door/secret"}"#).await;
    done(&rig, "delete_file", r#"{"path": "hole"}"#).await;
    assert_eq!(std::fs::read_to_string(outside.path().join("secret")).unwrap(), "outside");
    assert_eq!(rig.text("note_01.md"), "note 1\n");
}

#[tokio::test]
async fn what_is_no_plain_text_file_is_refused() {
    let rig = Rig::new([]);
    let root = rig.dir.path();
    std::fs::create_dir(root.join("dir")).unwrap();
    std::fs::write(root.join("binary"), [0xff, 0xfe]).unwrap();
    std::fs::write(root.join("large"), vec![b'x'; 1024 * 1024 + 1]).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap();
    assert!(pipe.success());
    for (path, why) in [
        ("dir", "no regular file"),
        ("pipe", "no regular file"),
        ("binary", "no UTF-8 text"),
        ("large", "larger than"),
    ] {
        let message = fails(&rig, "read_file", &format!(r#"{{"path": "{path}"}}"#)).await;
        assert!(message.contains(why), "{path}: {message}");
    }
    for path in ["dir", "pipe"] {
        fails(&rig, "write_file", &format!(r#"{{"path": "{path}", "text": ""}}"#)).await;
        fails(&rig, "delete_file", &format!(r#"{{"path": "{path}"}}"#)).await;
    }
    fails(&rig, "write_file", r#"{"path": "note_01.md/x", "text": ""}"#).await;
}

#[tokio::test]
async fn names_in_a_listing_cannot_pass_for_lines() {
    let rig = Rig::new([]);
    std::fs::create_dir(rig.dir.path().join("odd")).unwrap();
    std::fs::write(rig.dir.path().join("odd/a\n99 entries"), "").unwrap();
    let text = done(&rig, "list_files", r#"{"path": "odd"}"#).await;
    assert_eq!(text, "1 entries\na\\n99 entries");
}

#[test]
fn a_workspace_is_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "").unwrap();
    Workspace::open(&dir.path().join("file")).unwrap_err();
    Workspace::open(&dir.path().join("nothing")).unwrap_err();
    assert_eq!(Workspace::open(dir.path()).unwrap().path(), dir.path());
}

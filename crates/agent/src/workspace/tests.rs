//! Confinement under attack, by each of the two ways in which paths are resolved.

use crate::workspace::{Way, Workspace, WorkspaceError};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn each_way(check: impl Fn(&Workspace, &TempDir)) {
    for way in [Way::Kernel, Way::Walk] {
        let dir = tempfile::tempdir().unwrap();
        let mut workspace = Workspace::open(dir.path()).unwrap();
        if way == Way::Kernel && workspace.way == Way::Walk {
            // A system without the call: the other way is the one in use, and is checked.
            continue;
        }
        workspace.way = way;
        check(&workspace, &dir);
    }
}

#[test]
fn links_are_refused_in_every_place_of_a_path() {
    each_way(|workspace, dir| {
        let outside = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(outside.path().join("b")).unwrap();
        std::fs::write(outside.path().join("b/c"), "outside").unwrap();
        std::fs::create_dir_all(dir.path().join("a")).unwrap();
        symlink(outside.path(), dir.path().join("out")).unwrap();
        symlink(outside.path().join("b"), dir.path().join("a/b")).unwrap();
        symlink(outside.path().join("b/c"), dir.path().join("a/c")).unwrap();
        symlink("..", dir.path().join("a/up")).unwrap();
        for path in ["out/b/c", "a/b/c", "a/c", "a/up/a/c"] {
            let error = workspace.read(path).unwrap_err();
            assert!(
                matches!(
                    error,
                    WorkspaceError::Escape { .. } | WorkspaceError::NotDirectory { .. }
                ),
                "{path}: {error}"
            );
            workspace.write(path, "changed").unwrap_err();
            workspace.edit(path, "outside", "changed").unwrap_err();
        }
        workspace.write("out/new/file", "x").unwrap_err();
        workspace.delete("out/b/c").unwrap_err();
        let kept = std::fs::read_to_string(outside.path().join("b/c")).unwrap();
        assert_eq!(kept, "outside");
        assert!(!outside.path().join("new").exists());
    });
}

#[test]
fn swapping_a_directory_for_a_link_gains_nothing() {
    each_way(|workspace, dir| {
        let outside = tempfile::tempdir().unwrap();
        for root in [outside.path(), dir.path()] {
            std::fs::create_dir(root.join("d")).unwrap();
        }
        std::fs::write(outside.path().join("d/f"), "outside").unwrap();
        std::fs::write(outside.path().join("d/only-outside"), "").unwrap();
        std::fs::write(dir.path().join("d/f"), "inside").unwrap();
        symlink(outside.path().join("d"), dir.path().join("link")).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (d, link) = (dir.path().join("d"), dir.path().join("link"));
                while !stop.load(Ordering::Relaxed) {
                    // In one step, so that `d` is always there: the directory or the link.
                    renameat_with(CWD, &d, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                }
            });
            let end = Instant::now() + Duration::from_millis(400);
            let (mut inside, mut refused, mut made) = (0, 0, 0);
            // Until the attack was met in both of its states, and for a while at least.
            while Instant::now() < end || inside == 0 || refused == 0 {
                match workspace.read("d/f") {
                    Ok(text) => {
                        assert_ne!(text, "outside");
                        inside += 1;
                    }
                    Err(_) => refused += 1,
                }
                if let Ok(entries) = workspace.list("d") {
                    assert!(entries.iter().all(|entry| entry.name != "only-outside"));
                }
                let _ = workspace.write("d/f", "inside");
                let _ = workspace.edit("d/f", "outside", "changed");
                made += 1;
                let _ = workspace.write(&format!("d/new-{made}/g"), "inside");
                let _ = workspace.delete(&format!("d/new-{made}/g"));
                if Instant::now() > end + Duration::from_secs(20) {
                    break;
                }
            }
            stop.store(true, Ordering::Relaxed);
            assert!(inside > 0 && refused > 0, "inside {inside}, refused {refused}");
        });
        assert_eq!(std::fs::read_to_string(outside.path().join("d/f")).unwrap(), "outside");
        assert_eq!(std::fs::read_dir(outside.path().join("d")).unwrap().count(), 2);
    });
}

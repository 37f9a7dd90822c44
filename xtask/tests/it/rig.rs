//! A small workspace in a temporary folder, and the program started in it.
//!
//! It stands outside this checkout, so that no test depends on what this tree holds at the moment,
//! and builds into a folder of its own.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The program in a folder.
pub(crate) fn xtask_in(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("CARGO_TARGET_DIR")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// All that a program printed.
pub(crate) fn text(output: &Output) -> String {
    let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8(both).unwrap()
}

/// A workspace with one tidy crate, `crates/gate`.
pub(crate) struct Rig {
    root: tempfile::TempDir,
}

impl Rig {
    pub(crate) fn new() -> Rig {
        let rig = Rig { root: tempfile::tempdir().unwrap() };
        rig.write(
            "Cargo.toml",
            "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n[workspace.lints]\n",
        );
        rig.write("ARCHITECTURE.md", "- `crates/gate`: the gate\n");
        rig.write("clippy.toml", "too-many-lines-threshold = 70\n");
        rig.write("crates/gate/Cargo.toml", &manifest("gate", ""));
        rig.write("crates/gate/src/lib.rs", "//! The gate.\n");
        rig
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.path().join(path)).unwrap()
    }

    pub(crate) fn xtask(&self, arguments: &[&str]) -> Output {
        xtask_in(self.root.path(), arguments)
    }
}

/// The manifest of a crate with some more lines.
pub(crate) fn manifest(name: &str, more: &str) -> String {
    format!(
        "[package]\nname = \"tollgate-{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [lints]\nworkspace = true\n\n{more}"
    )
}

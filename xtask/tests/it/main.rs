//! The menu as a person uses it, and the tree checked by it: `cargo test` fails on an untidy tree.
//!
//! The program itself is started, so that what the tests see is what CI and people see.

#![expect(clippy::unwrap_used, reason = "a test that cannot run its program has failed")]

use std::process::{Command, Output, Stdio};

fn xtask(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn text(output: &Output) -> String {
    let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8(both).unwrap()
}

#[test]
fn the_tree_is_tidy() {
    let output = xtask(&["tidy"]);
    assert_eq!(output.status.code(), Some(0), "\n{}", text(&output));
}

#[test]
fn generated_files_are_up_to_date() {
    let output = xtask(&["gen", "--check"]);
    assert_eq!(output.status.code(), Some(0), "\n{}", text(&output));
}

#[test]
fn a_stranger_finds_the_menu_and_every_subcommand_explains_itself() {
    let help = text(&xtask(&["--help"]));
    assert!(help.contains("usage: cargo xtask SUBCOMMAND"), "{help}");
    for name in ["check", "tidy", "gen", "bench"] {
        assert!(help.contains(&format!("\n  {name}")), "{help}");
        let own = xtask(&[name, "--help"]);
        assert_eq!(own.status.code(), Some(0));
        assert!(text(&own).contains(&format!("usage: cargo xtask {name}")));
    }
}

#[test]
fn a_command_line_that_makes_no_sense_is_code_2_and_says_why() {
    let cases: [&[&str]; 6] = [
        &[],
        &["frobnicate"],
        &["tidy", "x"],
        &["gen", "--chek"],
        &["bench", "-x"],
        &["help", "a"],
    ];
    for case in cases {
        let output = xtask(case);
        assert_eq!(output.status.code(), Some(2), "{case:?}");
        assert!(output.stdout.is_empty(), "{case:?}");
        assert!(text(&output).contains("cargo xtask --help"), "{case:?}");
    }
}

#[test]
fn a_folder_without_a_workspace_is_an_internal_error_and_not_a_no() {
    let empty = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("tidy")
        .current_dir(empty.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
}

//! The menu as a person uses it, and the tree checked by it: `cargo test` fails on an untidy tree.
//!
//! The program itself is started, so that what the tests see is what CI and people see.

#![expect(clippy::unwrap_used, reason = "a test that cannot run its program has failed")]

use std::path::Path;

mod rig;
mod schemas;

use rig::{Rig, manifest, text, xtask_in};

/// This checkout.
fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_tree_is_tidy() {
    let output = xtask_in(here(), &["tidy"]);
    assert_eq!(output.status.code(), Some(0), "\n{}", text(&output));
}

#[test]
fn generated_files_are_up_to_date() {
    let output = xtask_in(here(), &["gen", "--check"]);
    assert_eq!(output.status.code(), Some(0), "\n{}", text(&output));
}

#[test]
fn a_stranger_finds_the_menu_and_every_subcommand_explains_itself() {
    let help = text(&xtask_in(here(), &["--help"]));
    assert!(help.contains("usage: cargo xtask SUBCOMMAND"), "{help}");
    for name in ["check", "tidy", "gen", "bench"] {
        assert!(help.contains(&format!("\n  {name}")), "{help}");
        let own = xtask_in(here(), &[name, "--help"]);
        assert_eq!(own.status.code(), Some(0));
        assert!(text(&own).contains(&format!("usage: cargo xtask {name}")));
        assert_eq!(xtask_in(here(), &["help", name]).stdout, own.stdout);
    }
}

#[test]
fn a_command_line_that_makes_no_sense_is_code_2_and_says_why() {
    let cases: [&[&str]; 7] = [
        &[],
        &["frobnicate"],
        &["tidy", "x"],
        &["gen", "--chek"],
        &["bench", "-x"],
        &["bench", "no-such-bench"],
        &["help", "a"],
    ];
    for case in cases {
        let output = xtask_in(here(), case);
        assert_eq!(output.status.code(), Some(2), "{case:?}");
        assert!(output.stdout.is_empty(), "{case:?}");
        assert!(text(&output).contains("cargo xtask --help"), "{case:?}");
    }
}

#[test]
fn a_folder_without_a_workspace_is_an_internal_error_and_not_a_no() {
    let empty = tempfile::tempdir().unwrap();
    let output = xtask_in(empty.path(), &["tidy"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
}

#[test]
fn every_rule_is_reached_by_tidy_and_every_finding_has_place_and_remedy() {
    let rig = Rig::new();
    let tidy = rig.xtask(&["tidy"]);
    assert_eq!(tidy.status.code(), Some(0), "{}", text(&tidy));

    let depends = "[dependencies]\ntollgate-store = { path = \"../store\" }\n";
    rig.write("crates/gate/Cargo.toml", &manifest("gate", depends));
    rig.write("crates/gate/clippy.toml", "# none\n");
    rig.write("crates/gate/src/lib.rs", "pub mod utils;\n");
    rig.write("crates/gate/src/utils.rs", "//! Things.\nuse std::fmt::*;\n");
    rig.write(
        "crates/store/Cargo.toml",
        &manifest("store", "").replace("[lints]", "[package.metadata.a]"),
    );
    let long = format!("//! Long.\nfn f() {{\n{}}}\n", "    f();\n".repeat(600));
    rig.write("crates/store/src/lib.rs", &long);
    rig.write("docs/a.md", &["see /", "work/here\n"].concat());

    let untidy = rig.xtask(&["tidy"]);
    assert_eq!(untidy.status.code(), Some(1));
    let text = text(&untidy);
    let expected = [
        "ARCHITECTURE.md:1: crate `crates/store` is not named",
        "crates/gate/Cargo.toml:10: [dependencies] `gate` may not depend on `store`",
        "crates/gate/clippy.toml:1: `too-many-lines-threshold = 70` of the root's",
        "crates/gate/src/lib.rs:1: the file does not open with `//!`",
        "crates/gate/src/lib.rs:1: module `utils` says nothing",
        "crates/gate/src/utils.rs:1: `utils.rs` says nothing",
        "crates/gate/src/utils.rs:2: glob import from `fmt`",
        "crates/store/Cargo.toml:1: the crate does not take the workspace's lints",
        "crates/store/src/lib.rs:1: 602 lines of code without tests, over 600",
        "crates/store/src/lib.rs:2: `f` has 602 lines of code, over 70",
        "docs/a.md:1: ",
    ];
    for start in expected {
        assert!(text.lines().any(|line| line.starts_with(start)), "{start}\nnot in:\n{text}");
    }
    assert_eq!(text.matches("\n    remedy: ").count(), expected.len(), "{text}");
}

#[test]
fn a_stale_generated_file_is_a_no_until_gen_has_written_it() {
    let rig = Rig::new();
    rig.write("docs/xtask.md", "old\n");
    assert_eq!(rig.xtask(&["gen", "--check"]).status.code(), Some(1));
    assert_eq!(rig.read("docs/xtask.md"), "old\n");
    assert_eq!(rig.xtask(&["gen"]).status.code(), Some(0));
    assert_eq!(rig.xtask(&["gen", "--check"]).status.code(), Some(0));
    assert!(rig.read("docs/xtask.md").contains("## `cargo xtask tidy`"));
}

#[test]
fn a_bench_is_saved_with_its_circumstances_and_a_failing_one_is_not() {
    let rig = Rig::new();
    let bench = "[[bench]]\nname = \"chain\"\nharness = false\n";
    rig.write("crates/gate/Cargo.toml", &manifest("gate", bench));
    rig.write("crates/gate/benches/chain.rs", "fn main() { println!(\"hooks 4  us 1.5\"); }\n");
    let saved = rig.xtask(&["bench", "chain", "--save"]);
    assert_eq!(saved.status.code(), Some(0), "{}", text(&saved));
    let page = rig.read("docs/performance.md");
    for part in
        ["hooks 4  us 1.5", "- date: 20", " CPUs, ", "- compiler: rustc 1.", "--bench chain"]
    {
        assert!(page.contains(part), "{part} not in:\n{page}");
    }

    rig.write("crates/gate/benches/chain.rs", "fn main() { std::process::exit(9); }\n");
    let failed = rig.xtask(&["bench", "--save"]);
    assert_eq!(failed.status.code(), Some(1), "{}", text(&failed));
    assert_eq!(rig.read("docs/performance.md"), page);
}

#[test]
fn check_runs_every_step_and_names_those_that_failed() {
    let rig = Rig::new();
    let failing = "//! The gate.\n#[test]\nfn a_law() {\n    assert_eq!(1, 2);\n}\n";
    rig.write("crates/gate/src/lib.rs", failing);
    let output = rig.xtask(&["check"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let text = text(&output);
    // Not "ok" for all: rustfmt and clippy are parts of a toolchain that one may lack.
    for line in ["tidy     ok", "format   ", "clippy   ", "test     FAILED", "doc      ok"] {
        assert!(text.lines().any(|found| found.starts_with(line)), "{line}\nnot in:\n{text}");
    }
}

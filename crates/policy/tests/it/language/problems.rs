//! What is wrong with a policy, as people read it: one golden text a trap.
//!
//! Each `NAME.yaml` below `tests/golden` is a policy, `NAME.txt` what is said about it. With
//! `UPDATE_GOLDEN=1` the texts are written anew, to be read before they are committed.

use super::rig::now;
use proptest::collection;
use proptest::prelude::{ProptestConfig, prop_assert, proptest};
use std::fs;
use std::path::Path;
use tollgate_policy::{LoadOptions, diagnose};

fn report(text: &str) -> String {
    diagnose("tollgate.yaml", text, &LoadOptions::new(now())).text()
}

#[test]
fn every_problem_is_reported_with_its_line_caret_and_remedy() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    names.sort();
    assert!(!names.is_empty());
    let mut wrong = Vec::new();
    for path in names {
        let found = report(&fs::read_to_string(&path).unwrap());
        let golden = path.with_extension("txt");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&golden, &found).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        if found != expected {
            wrong.push(format!("{}:\n{found}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_report_that_is_cut_says_so() {
    let hooks = "  - { name: a, onn: pre_tool }\n".repeat(1_200);
    let found = report(&format!("version: 1\nhooks:\n{hooks}"));
    assert!(found.ends_with("1000 errors; there may be more, behind these\n"));
}

#[test]
fn a_file_that_is_no_policy_is_never_quoted() {
    for text in [
        "password: hunter2\n",
        "version: 1\npassword: hunter2\n",
        "hunter2",
        "- hunter2\n",
        "hunter2: {\n",
        "{ \"hunter2\": 1 }",
        "version: \"3\"\nservices:\n  hunter2: *x\n",
    ] {
        let found = report(text);
        assert!(found.contains("this file is not a policy"), "{found}");
        assert!(!found.contains("hunter2"), "{found}");
    }
}

#[test]
fn a_secret_in_a_policy_is_not_shown() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let found = report(&format!(
        "version: 1\nhooks:\n  - {{ name: h, on: pre_tool, respond: \"{token}\" }}\n"
    ));
    assert!(found.contains("the hook `h` holds a secret"), "{found}");
    assert!(!found.contains(&token), "{found}");
}

#[test]
fn json_and_sarif_name_the_same_places() {
    let report = diagnose(
        "p.yaml",
        "version: 1\nhooks:\n  - { name: é, wen: x, on: pre_tool }\n",
        &LoadOptions::new(now()),
    );
    let json = report.json();
    let problem = &json["diagnostics"][0];
    assert_eq!(problem["line"], 3);
    assert_eq!(problem["column"], 13);
    assert_eq!(problem["code"], "no-action");
    let sarif = report.sarif();
    let region = &sarif["runs"][0]["results"][1]["locations"][0]["physicalLocation"]["region"];
    assert_eq!(region["startLine"], 3);
    assert_eq!(region["startColumn"], 16);
}

#[test]
fn hostile_texts_are_refused_in_little_time() {
    let deep = format!("version: 1\nhooks: {}", "[".repeat(100_000));
    let wide = format!("version: 1\nhooks: [{}]", "x,".repeat(100_000));
    let bomb = "version: 1\na: &a [x,x]\nb: &b [*a,*a]\nhooks: [*b,*b]\n".to_owned();
    let traps = format!("version: 1\nhooks:\n{}", "  - when: !x *y &z\n".repeat(2_000));
    for text in [deep, wide, bomb, traps] {
        let started = std::time::Instant::now();
        assert!(diagnose("p", &text, &LoadOptions::new(now())).has_errors());
        assert!(started.elapsed().as_secs() < 60);
    }
}

#[test]
fn a_place_covers_whole_characters() {
    let text = "version: 1\nhooks:\n  - é: c\n    on: pre_tool\n";
    let report = diagnose("p.yaml", text, &LoadOptions::new(now()));
    let found = report.diagnostics.iter().find(|found| found.code == "missing-key").unwrap();
    let span = found.place.unwrap().span;
    assert_eq!(text.get(span.start..span.end), Some("é"));
}

/// Pieces that YAML and the language trip over.
const PIECES: [&str; 24] = [
    "\n", "  ", "- ", ": ", "{", "}", "[", "]", "'", "\"", "*", "&a", "!", "|\n", "#", ",", "when",
    "é", "\t", "\u{202e}", "match", "args.x", "${X}", "\\",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_text_makes_the_reader_panic(
        cuts in collection::vec((0usize..2_000, 0usize..40, 0usize..24), 1..6)
    ) {
        let mut text = include_str!("../../golden/many.yaml").to_owned();
        for (at, len, piece) in cuts {
            let floor = |mut at: usize| { while !text.is_char_boundary(at) { at -= 1; } at };
            let start = floor(at.min(text.len()));
            let end = floor((start + len).min(text.len()));
            text.replace_range(start..end, PIECES[piece]);
        }
        let report = diagnose("p.yaml", &text, &LoadOptions::new(now()));
        prop_assert!(report.text().len() < 1_000_000);
        prop_assert!(report.sarif().is_object());
    }
}

//! Rules about the inside of Rust files: the head, the lengths, the imports.
//!
//! A line counts when it holds code, so that nobody saves a limit by deleting comments. Clippy
//! checks function length as well (`too_many_lines`); here it also holds for code that the current
//! build leaves out, and no attribute lifts it.

use super::source::Source;
use super::{Finding, TextFile, Tree};

/// Lines of code in one file, without tests.
const FILE_LINES_MAX: usize = 600;

/// Lines of code in one function, from its `fn` to its closing brace.
const FUNCTION_LINES_MAX: usize = 70;

/// Every finding in one file; files that are not Rust have none.
pub(super) fn check(file: &TextFile) -> Vec<Finding> {
    if !file.path.ends_with(".rs") {
        return Vec::new();
    }
    let mut found: Vec<Finding> = head(file).into_iter().collect();
    match Source::read(&file.text, is_test_file(&file.path)) {
        Ok(source) => {
            found.extend(file_length(file, &source));
            found.extend(function_lengths(file, &source));
            found.extend(imports(file, &source));
        }
        Err(line) => found.push(Finding::new(
            &file.path,
            line,
            "the file cannot be read as Rust",
            "repair it, or give a file that is no Rust another ending than .rs",
        )),
    }
    found
}

/// The biggest file and function, so that one sees a limit before one hits it.
pub(super) fn summary(tree: &Tree) -> String {
    let mut total = 0;
    let mut biggest = (0, String::new());
    let mut longest = (0, String::new());
    for file in tree.files.iter().filter(|file| file.path.ends_with(".rs")) {
        let Ok(source) = Source::read(&file.text, is_test_file(&file.path)) else { continue };
        total += source.lines();
        biggest = biggest.max((source.lines(), file.path.clone()));
        for function in &source.functions {
            let place = format!("`{}` in {}", function.name, file.path);
            longest = longest.max((source.function_lines(function), place));
        }
    }
    format!(
        "tidy: {total} lines of code without tests; biggest file {} of {FILE_LINES_MAX} lines ({}), \
         longest function {} of {FUNCTION_LINES_MAX} ({})",
        biggest.0, biggest.1, longest.0, longest.1
    )
}

/// Test code by its place: `tests.rs` and everything below a `tests` folder.
fn is_test_file(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

fn head(file: &TextFile) -> Option<Finding> {
    let first = file.text.lines().next().unwrap_or_default();
    let says_something =
        first.strip_prefix("//!").is_some_and(|rest| rest.chars().any(char::is_alphanumeric));
    (!says_something).then(|| {
        Finding::new(
            &file.path,
            1,
            "the file does not open with `//!`",
            "say in its first lines what it is, why it is so and what it refuses",
        )
    })
}

fn file_length(file: &TextFile, source: &Source) -> Option<Finding> {
    let lines = source.lines();
    (lines > FILE_LINES_MAX).then(|| {
        Finding::new(
            &file.path,
            1,
            format!("{lines} lines of code without tests, over {FILE_LINES_MAX}"),
            "split it by what it is about",
        )
    })
}

fn function_lengths(file: &TextFile, source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    for function in &source.functions {
        let lines = source.function_lines(function);
        if lines > FUNCTION_LINES_MAX {
            let name = &function.name;
            found.push(Finding::new(
                &file.path,
                function.first_line,
                format!("`{name}` has {lines} lines of code, over {FUNCTION_LINES_MAX}"),
                "keep the decisions in it and move the steps into functions of their own",
            ));
        }
    }
    found
}

fn imports(file: &TextFile, source: &Source) -> Vec<Finding> {
    let is_enum = |name: &str| name.starts_with(char::is_uppercase);
    source
        .globs
        .iter()
        .filter(|glob| !(glob.in_tests && is_enum(&glob.parent)))
        .map(|glob| {
            Finding::new(
                &file.path,
                glob.line,
                format!("glob import from `{}`", glob.parent),
                "name what is used (only tests may take all variants of an enum)",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{check, is_test_file};
    use crate::tidy::TextFile;

    fn whats(path: &str, text: &str) -> Vec<String> {
        let file = TextFile { path: path.into(), text: text.into() };
        check(&file).into_iter().map(|f| format!("{}: {}", f.line, f.what)).collect()
    }

    #[test]
    fn every_file_says_at_its_top_what_it_is() {
        assert!(whats("a.rs", "//! What it is.\n").is_empty());
        let missing = ["1: the file does not open with `//!`"];
        assert_eq!(whats("a.rs", "fn a() {}\n"), missing);
        assert_eq!(whats("a.rs", ""), missing);
        assert_eq!(whats("a.rs", "//!\n"), missing);
        assert_eq!(whats("a.rs", "\n//! Late.\n"), missing);
        assert_eq!(whats("tests/it/main.rs", "mod a;\n"), missing);
        assert!(whats("a.md", "no Rust").is_empty());
    }

    #[test]
    fn a_file_over_600_lines_of_code_is_found_with_its_number() {
        let code = |lines: usize| format!("//! Long.\n{}", "const _: () = ();\n".repeat(lines));
        assert!(whats("a.rs", &code(600)).is_empty());
        assert_eq!(whats("a.rs", &code(601)), ["1: 601 lines of code without tests, over 600"]);
        assert!(whats("a/tests.rs", &code(601)).is_empty());
        assert!(whats("crates/a/tests/it/b.rs", &code(601)).is_empty());
        let commented = format!("{}{}", code(600), "// why\n\n".repeat(100));
        assert!(whats("a.rs", &commented).is_empty());
    }

    #[test]
    fn a_function_over_70_lines_is_found_unless_it_is_test_code() {
        let function = |body: usize| format!("fn f() {{\n{}}}\n", "    step();\n".repeat(body));
        let file = |body: usize| format!("//! Long.\n{}", function(body));
        assert!(whats("a.rs", &file(68)).is_empty());
        assert_eq!(whats("a.rs", &file(69)), ["2: `f` has 71 lines of code, over 70"]);
        let test = format!("//! Long.\n#[cfg(test)]\nmod tests {{\n{}}}\n", function(200));
        assert!(whats("a.rs", &test).is_empty());
    }

    #[test]
    fn glob_imports_are_found_but_for_variants_in_tests() {
        assert_eq!(whats("a.rs", "//! A.\nuse b::*;\n"), ["2: glob import from `b`"]);
        assert_eq!(whats("a.rs", "//! A.\nuse Kind::*;\n"), ["2: glob import from `Kind`"]);
        assert_eq!(whats("a/tests.rs", "//! A.\nuse super::*;\n"), ["2: glob import from `super`"]);
        assert!(whats("a/tests.rs", "//! A.\nuse super::Kind::*;\n").is_empty());
    }

    #[test]
    fn a_file_that_is_no_rust_is_found() {
        assert_eq!(whats("a.rs", "//! A.\nfn a( {\n"), ["2: the file cannot be read as Rust"]);
    }

    #[test]
    fn tests_are_told_by_whole_names() {
        assert!(is_test_file("a/tests.rs") && is_test_file("a/tests/b.rs"));
        assert!(!is_test_file("a/latests.rs") && !is_test_file("a/tests_of_time/b.rs"));
    }
}

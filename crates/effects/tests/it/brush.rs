//! The parser held against another one, brush-parser, over both corpora.

use std::collections::BTreeSet;

use brush_parser::ast;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use tollgate_effects::{Reason, Target, Verb, shell_effects};

use crate::corpora::{hostile, ordinary};
use crate::place::context;

fn parsed(text: &str) -> Option<ast::Program> {
    let options = brush_parser::ParserOptions::default();
    let mut reader = std::io::BufReader::new(text.as_bytes());
    brush_parser::Parser::new(&mut reader, &options).parse_program().ok()
}

/// The names of the simple commands of the outermost lists, where they are plain words; with `deep`
/// those inside of compound commands and functions as well.
fn names(program: &ast::Program, deep: bool) -> Vec<String> {
    let mut names = Vec::new();
    for complete in &program.complete_commands {
        list(complete, deep, &mut names);
    }
    names
}

fn list(list: &ast::CompoundList, deep: bool, names: &mut Vec<String>) {
    for ast::CompoundListItem(list, _) in &list.0 {
        let more = list.additional.iter().map(|part| match part {
            ast::AndOr::And(pipeline) | ast::AndOr::Or(pipeline) => pipeline,
        });
        for pipeline in std::iter::once(&list.first).chain(more) {
            for part in &pipeline.seq {
                command(part, deep, names);
            }
        }
    }
}

fn command(command: &ast::Command, deep: bool, names: &mut Vec<String>) {
    match command {
        ast::Command::Simple(simple) => {
            names.extend(simple.word_or_name.iter().map(|word| word.value.clone()));
        }
        ast::Command::Compound(inner, _) if deep => compound(inner, names),
        ast::Command::Function(function) if deep => compound(&function.body.0, names),
        ast::Command::Compound(..) | ast::Command::Function(_) | ast::Command::ExtendedTest(..) => {
        }
    }
}

fn compound(inner: &ast::CompoundCommand, names: &mut Vec<String>) {
    let mut bodies: Vec<&ast::CompoundList> = Vec::new();
    match inner {
        ast::CompoundCommand::BraceGroup(group) => bodies.push(&group.list),
        ast::CompoundCommand::Subshell(shell) => bodies.push(&shell.list),
        ast::CompoundCommand::ForClause(clause) => bodies.push(&clause.body.list),
        ast::CompoundCommand::ArithmeticForClause(clause) => bodies.push(&clause.body.list),
        ast::CompoundCommand::CaseClause(clause) => {
            bodies.extend(clause.cases.iter().filter_map(|case| case.cmd.as_ref()));
        }
        ast::CompoundCommand::IfClause(clause) => {
            bodies.extend([&clause.condition, &clause.then]);
            for other in clause.elses.iter().flatten() {
                bodies.extend(other.condition.as_ref());
                bodies.push(&other.body);
            }
        }
        ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
            bodies.extend([&clause.0, &clause.1.list]);
        }
        ast::CompoundCommand::Coprocess(process) => command(&process.body, true, names),
        ast::CompoundCommand::Arithmetic(_) => {}
    }
    for body in bodies {
        list(body, true, names);
    }
}

fn is_plain(name: &str) -> bool {
    !name.starts_with('-')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// Builtins that have no effect of their own, or that another program stands for.
const SILENT: &[&str] = &[
    "cd",
    "pushd",
    "popd",
    "export",
    "declare",
    "local",
    "set",
    "unset",
    "alias",
    "eval",
    "source",
    "trap",
    "read",
    "mapfile",
    "readarray",
    "readarray",
    "shift",
    "typeset",
    "readonly",
    "coproc",
];

#[test]
fn both_parsers_accept_the_same_texts_and_see_the_same_programs() {
    let mut compared = 0;
    for command in ordinary().into_iter().chain(hostile()) {
        let effects = shell_effects(&command, &context());
        let ours = !effects.unknowns(Verb::Runs).any(|(reason, effect)| {
            reason == Reason::Syntax && effect.piece.span.1 as usize >= command.trim_end().len()
        });
        let Some(program) = parsed(&command) else {
            // What brush refuses we may read, never the other way round without saying so.
            continue;
        };
        assert!(ours, "brush accepts, we do not: {command}");
        let aliases = command.contains("alias ");
        for name in names(&program, false).iter().filter(|name| is_plain(name)) {
            if SILENT.contains(&name.as_str())
                || aliases
                || command.replace(" ()", "()").contains(&format!("{name}()"))
                || command.contains(&format!("function {name}"))
            {
                continue;
            }
            let seen = effects.iter().any(|effect| {
                let Target::Program { name: seen, .. } = &effect.target else { return false };
                // Windows takes no notice of case, and its aliases are told by their full names.
                let (name, seen) = (name.to_ascii_lowercase(), seen.to_ascii_lowercase());
                let alias = ["gci", "iwr", "iex", "ri", "gc"].contains(&name.as_str());
                alias && seen.contains('-') || name.starts_with(&seen) || seen.starts_with(&name)
            });
            assert!(seen, "brush sees `{name}`, we do not: {command}");
            compared += 1;
        }
    }
    assert!(compared > 1_500, "only {compared} programs compared");
}

/// A script of simple commands `p0`, `p1` .. in every shape of the grammar.
fn script() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("a".to_owned()),
        Just("'b c'".to_owned()),
        Just("\"d $x e\"".to_owned()),
        Just("f\\ g".to_owned()),
        Just("\"(\"".to_owned()),
        Just("'} ; fi'".to_owned()),
        Just("${y:-z}".to_owned()),
        Just("2>&1".to_owned()),
        Just("> out".to_owned()),
    ];
    let simple = (0..40_u32, proptest::collection::vec(word, 0..4), any::<bool>()).prop_map(
        |(number, words, assigns)| {
            let front = if assigns { "v=1 " } else { "" };
            format!("{front}p{number} {}", words.join(" ")).trim_end().to_owned()
        },
    );
    simple.prop_recursive(5, 40, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        let three = (inner.clone(), inner.clone(), inner.clone());
        prop_oneof![
            two.clone().prop_map(|(a, b)| format!("{a}; {b}")),
            two.clone().prop_map(|(a, b)| format!("{a}\n{b}")),
            two.clone().prop_map(|(a, b)| format!("{a} && {b}")),
            two.clone().prop_map(|(a, b)| format!("{a} || {b}")),
            two.clone().prop_map(|(a, b)| format!("{a} | {b}")),
            two.clone().prop_map(|(a, b)| format!("{a} &\n{b}")),
            inner.clone().prop_map(|a| format!("( {a} )")),
            inner.clone().prop_map(|a| format!("{{ {a}\n}}")),
            inner.clone().prop_map(|a| format!("! {a}")),
            two.clone().prop_map(|(a, b)| format!("if {a}; then {b}; fi")),
            three.prop_map(|(a, b, c)| format!("if {a}\nthen {b}\nelse {c}\nfi")),
            two.clone().prop_map(|(a, b)| format!("while {a}; do {b}; done")),
            two.clone().prop_map(|(a, b)| format!("until {a}; do\n{b}\ndone > log")),
            inner.clone().prop_map(|a| format!("for i in 1 2; do {a}; done")),
            two.prop_map(|(a, b)| format!("case $x in (a|b) {a};; *) {b} ;; esac")),
            inner.prop_map(|a| format!("cat <<'E'\nno p99 here\nE\n{a}")),
        ]
    })
}

/// The programs of generated scripts that were seen, by name.
fn seen(text: &str) -> (BTreeSet<String>, bool) {
    let effects = shell_effects(text, &context());
    let names = effects.iter().filter_map(|effect| {
        let Target::Program { name, .. } = &effect.target else { return None };
        is_generated(name).then(|| name.to_string())
    });
    let whole = !effects.iter().any(|e| matches!(e.target, Target::Unknown(Reason::Syntax)));
    (names.collect(), whole)
}

fn is_generated(name: &str) -> bool {
    name.strip_prefix('p').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

proptest! {
    #[test]
    fn both_parsers_find_the_same_commands_in_scripts(text in script()) {
        let (ours, whole) = seen(&text);
        prop_assert!(whole, "we do not read\n{text}");
        let there = text.split(|c: char| !c.is_ascii_alphanumeric());
        let there = there.filter(|word| is_generated(word) && *word != "p99").map(str::to_owned);
        prop_assert_eq!(&ours, &there.collect::<BTreeSet<_>>(), "in\n{}", text);
        // Brush does not read all that Bash does (a `case` in a subshell), and takes `( ( a ) )` for
        // arithmetic; what it finds is there.
        if let Some(program) = parsed(&text) {
            for name in names(&program, true).into_iter().filter(|name| is_generated(name)) {
                prop_assert!(ours.contains(&name), "{name} is lost in\n{text}");
            }
        }
    }

    /// A script with a character taken out or put in: what brush reads we read, with all commands that
    /// brush finds; what we do not read is unknown.
    #[test]
    fn damaged_scripts_lose_no_command_silently(
        text in script(),
        at in any::<proptest::sample::Index>(),
        put in proptest::option::of("[ ;&|(){}'\"$`\\\\\n<>#]"),
    ) {
        let mut letters: Vec<char> = text.chars().collect();
        let index = at.index(letters.len());
        match put.and_then(|put| put.chars().next()) {
            Some(letter) => letters.insert(index, letter),
            None => {
                letters.remove(index);
            }
        }
        let text: String = letters.into_iter().collect();
        let (ours, whole) = seen(&text);
        if let (Some(program), true) = (parsed(&text), whole) {
            for name in names(&program, true).into_iter().filter(|name| is_generated(name)) {
                prop_assert!(ours.contains(&name), "{name} is lost in\n{text}");
            }
        }
    }
}

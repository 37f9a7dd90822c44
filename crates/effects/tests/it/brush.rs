//! The parser held against another one, brush-parser, over both corpora.

use brush_parser::ast;
use tollgate_effects::{Reason, Target, Verb, shell_effects};

use crate::corpora::{hostile, ordinary};
use crate::place::context;

fn parsed(text: &str) -> Option<ast::Program> {
    let options = brush_parser::ParserOptions::default();
    let mut reader = std::io::BufReader::new(text.as_bytes());
    brush_parser::Parser::new(&mut reader, &options).parse_program().ok()
}

/// The names of simple commands of the outermost lists, where they are plain words.
fn names(program: &ast::Program) -> Vec<String> {
    let mut names = Vec::new();
    for complete in &program.complete_commands {
        for ast::CompoundListItem(list, _) in &complete.0 {
            let more = list.additional.iter().map(|part| match part {
                ast::AndOr::And(pipeline) | ast::AndOr::Or(pipeline) => pipeline,
            });
            for pipeline in std::iter::once(&list.first).chain(more) {
                for command in &pipeline.seq {
                    if let ast::Command::Simple(simple) = command
                        && let Some(word) = &simple.word_or_name
                    {
                        names.push(word.value.clone());
                    }
                }
            }
        }
    }
    names
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
        for name in names(&program).iter().filter(|name| is_plain(name)) {
            if SILENT.contains(&name.as_str())
                || aliases
                || command.replace(" ()", "()").contains(&format!("{name}()"))
                || command.contains(&format!("function {name}"))
            {
                continue;
            }
            let seen = effects.iter().any(|effect| {
                let Target::Program { name: seen, .. } = &effect.target else { return false };
                name.starts_with(&**seen) || seen.starts_with(name.as_str())
            });
            assert!(seen, "brush sees `{name}`, we do not: {command}");
            compared += 1;
        }
    }
    assert!(compared > 1_500, "only {compared} programs compared");
}

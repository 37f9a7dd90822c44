//! Words and grammar held against Bash itself, where there is one.
//!
//! Random words are expanded by `printf` in Bash and seen here as what `rm` deletes; random texts that
//! `bash -n` accepts must be accepted here.
#![cfg(unix)]

use std::process::Command;

use tollgate_effects::{Reason, Verb, shell_effects};

use crate::place::{ROOT, context};

/// A small generator, so that a failure is the same every time.
struct Dice(u64);

impl Dice {
    fn pick<'p>(&mut self, pieces: &[&'p str]) -> &'p str {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let index = self.0 % pieces.len() as u64;
        usize::try_from(index).ok().and_then(|index| pieces.get(index)).copied().unwrap_or_default()
    }

    fn text(&mut self, pieces: &[&str], most: u64) -> String {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        (0..=self.0 % most).map(|_| self.pick(pieces)).collect()
    }
}

const WORDS: &[&str] = &[
    "a",
    "b",
    "\\c",
    "'d e'",
    "\"f g\"",
    "\"h\\\"i\"",
    "\"\\$x\"",
    "$'j\\x41'",
    "{k,l}",
    "{1..3}",
    "m{n,o{p,q}}",
    "''",
    "\"\"",
    "\"$v\"",
    "${v}",
    "${v#x}",
    "${v%z}",
    "${v:1:1}",
    "${v^^}",
    "${v/y/w}",
    "${v:+ee}",
    "$(echo ff gg)",
    "\"$(echo hh  ii)\"",
    "`echo jj`",
    "{x",
    "y}",
    ",",
    "=",
    "$'\\n'x",
];

#[test]
fn words_expand_as_bash_expands_them() {
    let mut dice = Dice(12_345);
    let mut compared = 0;
    for _ in 0..400 {
        let word = dice.text(WORDS, 5);
        let text = format!("v='xyz x'; printf '%s\\0' {word}");
        let Ok(output) = Command::new("bash").args(["-c", &text]).output() else { continue };
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut bash: Vec<&str> = output.split('\0').filter(|w| !w.is_empty()).collect();
        let effects = shell_effects(&format!("v='xyz x'; rm -- {word}"), &context());
        let paths: Vec<String> = effects.paths(Verb::Deletes).map(|p| p.lexical()).collect();
        let front = format!("{ROOT}/");
        let mut ours: Vec<&str> = paths.iter().filter_map(|p| p.strip_prefix(&front)).collect();
        for list in [&mut bash, &mut ours] {
            list.sort_unstable();
            list.dedup();
        }
        assert_eq!(ours, bash, "{word}");
        compared += 1;
    }
    assert!(compared > 0, "no bash to compare with");
}

const TEXTS: &[&str] = &[
    "rm -rf x ",
    "/",
    "$(ls)",
    "`ls`",
    "'",
    "\"",
    "\\",
    "\n",
    ";",
    " && ",
    " || ",
    " | ",
    " & ",
    "<<E\nhi\nE\n",
    "<(ls) ",
    "{ ",
    "; }",
    "if ",
    "then ",
    "fi ",
    "for i in a b; ",
    "do ",
    "; done ",
    "case x in ",
    "esac ",
    "a) ",
    ";; ",
    "${x:-y}",
    "$((1+2))",
    "[[ -n x ]] ",
    "f() ",
    "x=(a b) ",
    "x=",
    "~",
    "*",
    "?",
    "[a]",
    "!",
    " # c\n",
    "$@",
    ">f ",
    "<f ",
    "2>&1 ",
    " ",
    "\t",
    "a ",
    "{a,b}",
    "$'\\x41'",
    "declare x=(a) ",
    "time ",
    "! ",
    "function g ",
    "( ",
    " )",
    "((i++)) ",
    "while ls; ",
    "until ls; ",
    "select z in a; ",
    "elif ",
    "else ",
    "@(a|b)",
    "&>f ",
    ">|f ",
    "<<<x ",
    "[[ a =~ (b|c) ]] ",
    "x+=1 ",
    "${a[1]}",
    "a=b ",
];

#[test]
fn what_bash_accepts_is_understood() {
    let mut dice = Dice(987_654_321);
    let mut accepted = 0;
    for _ in 0..600 {
        let text = dice.text(TEXTS, 7);
        let check = Command::new("bash").args(["-O", "extglob", "-n", "-c", &text]).output();
        let Ok(check) = check else { continue };
        if !check.status.success() || !check.stderr.is_empty() {
            continue;
        }
        accepted += 1;
        let effects = shell_effects(&text, &context());
        let understood = !effects.unknowns(Verb::Runs).any(|(reason, _)| reason == Reason::Syntax);
        assert!(understood, "{text:?}");
    }
    assert!(accepted > 0, "no bash to compare with");
}

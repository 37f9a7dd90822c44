//! Four times the text takes about four times the time, whatever the text.

use std::time::{Duration, Instant};

use tollgate_effects::{Verb, shell_effects};

use crate::place::context;

/// Fronts, repeated middles and backs that are hard for parsers that go back.
const SHAPES: &[&str] = &[
    "(",
    "((",
    "$(",
    "$((",
    "`",
    "${a:-",
    "${a/",
    "{",
    "{a,b}",
    "if true; then ",
    "while ",
    "case a in ",
    "<<E ",
    "\"$(",
    "'",
    "\\",
    "a|",
    "f() { ",
    "x=$x$x;",
    "x+=ab;",
    "a;b;",
    "[[ ",
    "! ",
    "echo $x ",
    "$a$b ",
    "for i in a b; do ",
    "eval \"",
    "f(){ f; };f;",
    "sh -c '",
    "echo a | ",
    "cat <<E\nx\nE\n",
    "a=(1 2);",
    "*?[",
    "if [ -f a ]; then cp a b; fi\n",
    "python3 -c \"os.remove('a')\"; ",
    "x=a; x=$x/b; rm $x; ",
    "#",
    "\n\n",
    "a && ",
    "awk '{print > \"a\"}'; ",
    "sed -i s/a/b/ c; ",
    "echo 'a",
    "x=\"a b c\"; for i in $x; do echo $i; done; ",
    "g(){ echo a; }; g; ",
    "cd *; rm *; ",
    "cd *; rm a; ",
    "cd a; rm b; ",
    "set -- \"$@\" x; ",
    "a+=(x); ",
    "ln -s la lb; rm lb; ",
    "mkdir $(cat a)/b; ",
    "python3 -c \"p='.env'; f(p); f(p)\"; ",
];

fn fastest(text: &str) -> Duration {
    let once = |_| {
        let started = Instant::now();
        shell_effects(text, &context());
        started.elapsed()
    };
    (0..3).map(once).min().unwrap_or_default()
}

#[test]
fn time_grows_with_the_text_and_no_faster() {
    for shape in SHAPES {
        let small = fastest(&shape.repeat(6_000 / shape.len() + 1));
        let large = fastest(&shape.repeat(24_000 / shape.len() + 1));
        // A factor of four is linear; the rest is room for fresh memory and a busy machine. Quadratic
        // is sixteen, and takes seconds at this size.
        let bound = small * 11 + Duration::from_millis(250);
        assert!(large < bound, "{shape:?}: {small:?} for 6 KB, {large:?} for 24 KB");
    }
}

#[test]
fn no_text_within_the_cap_takes_long() {
    for shape in SHAPES {
        let text = shape.repeat(60_000 / shape.len());
        let started = Instant::now();
        shell_effects(&text, &context());
        assert!(started.elapsed() < Duration::from_secs(8), "{shape:?}: {:?}", started.elapsed());
    }
}

/// A text that doubles itself: what one call may expand to is bounded in all, not a word at a time.
#[test]
fn values_that_double_do_not_multiply_the_work() {
    for doublings in [30, 60, 2_000] {
        for end in ["rm $a", "rm {$a,$a}", "for i in $a; do rm $i; done"] {
            let text = format!("a=x;{}{end}", "a=$a$a;".repeat(doublings));
            let started = Instant::now();
            let effects = shell_effects(&text, &context());
            let took = started.elapsed();
            assert!(took < Duration::from_millis(1_500), "{doublings} and {end}: {took:?}");
            assert!(effects.iter().any(|e| e.verb == Verb::Deletes), "{doublings} and {end}");
        }
    }
}

//! What the analysis costs: `cargo bench -p tollgate-effects`. Prints a table.
//!
//! Budgets: a command of 100 bytes under 20 us, a script of 10 KB under 1 ms, both at the median.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use tollgate_effects::{Context, NoFiles, Programs, shell_effects};

fn micros(time: Duration) -> String {
    format!("{:.1} us", time.as_nanos() as f64 / 1000.0)
}

/// The median of a hundred rounds, after one that does not count.
fn median(mut work: impl FnMut(usize)) -> Duration {
    work(100);
    let mut times: Vec<Duration> = (0..100)
        .map(|round| {
            let started = Instant::now();
            work(round);
            started.elapsed()
        })
        .collect();
    times.sort_unstable();
    times.get(50).copied().unwrap_or_default()
}

fn main() {
    let started = Instant::now();
    let programs = Programs::built_in();
    let index = started.elapsed();
    let ctx = Context {
        cwd: "/home/dev/project",
        root: Some("/home/dev/project"),
        home: Some("/home/dev"),
        env: &[],
        programs,
        files: &NoFiles,
    };
    let small = "cd /home/dev/project && FOO=1 cargo test -p effects --quiet 2>&1 | tail -n 20 > /tmp/out.txt; git st";
    let started = Instant::now();
    black_box(shell_effects(small, &ctx));
    let first = started.elapsed();
    let block = "if [ -f \"$HOME/a1\" ]; then\n  cp \"$src/$(basename x1)\" dest/ || exit 1\nfi\n\
                 for f in src/*.c; do\n  gcc -O2 -c \"$f\" -o \"build/${f%.c}.o\"\ndone\n\
                 tar czf out.tgz build | tee log.txt\necho \"done: $(date +%F)\"\n";
    let script = block.repeat(10_240 / block.len() + 1);
    let plain = "git add -A && git commit -m \"step\" && npm run build > out.log 2>&1\n";
    let plain = plain.repeat(10_240 / plain.len() + 1);
    println!(
        "program table: index {} us, first command {} us",
        index.as_micros(),
        first.as_micros()
    );
    println!("brush-parser, reading only, beside the whole analysis here:");
    println!("{:<44} {:>8} {:>12} {:>12}", "text", "bytes", "brush p50", "ours p50");
    for (name, text) in [("100 bytes", small), ("10 KB script", &*script), ("10 KB plain", &*plain)]
    {
        // Another text each time: brush keeps what it has read.
        let texts: Vec<String> = (0..=100).map(|n| format!("{text}\n: {n}\n")).collect();
        let of = |round: usize| texts.get(round).map_or(text, String::as_str);
        let brush = median(|round| {
            let options = brush_parser::ParserOptions::default();
            let mut reader = std::io::BufReader::new(black_box(of(round)).as_bytes());
            black_box(brush_parser::Parser::new(&mut reader, &options).parse_program().is_ok());
        });
        let ours = median(|round| {
            black_box(shell_effects(black_box(of(round)), &ctx));
        });
        println!("{name:<44} {:>8} {:>12} {:>12}", text.len(), micros(brush), micros(ours));
    }
    println!("{:<44} {:>8} {:>12} {:>12} {:>8}", "text", "bytes", "p50", "p99", "effects");
    let rows = [
        ("short: ls -la", "ls -la"),
        ("100 bytes: cd, pipe, redirection", small),
        ("sh -c in sudo in timeout", "timeout 5 sudo -u root sh -c 'rm -rf /var/x'"),
        ("base64 into a shell", "echo cm0gLXJmIC8= | base64 -d | sh"),
        ("python one-liner", "python3 -c \"import os; os.remove('a'); print(open('b').read())\""),
        ("10 KB script: branches, loops", &script),
        ("10 KB script: plain commands", &plain),
    ];
    for (name, text) in rows {
        let rounds = if text.len() > 1000 { 300 } else { 5_000 };
        let mut times: Vec<Duration> = (0..rounds)
            .map(|_| {
                let started = Instant::now();
                black_box(shell_effects(black_box(text), &ctx));
                started.elapsed()
            })
            .collect();
        times.sort_unstable();
        let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default();
        let count = shell_effects(text, &ctx).len();
        let (p50, p99) = (micros(at(50)), micros(at(99)));
        println!("{name:<44} {:>8} {p50:>12} {p99:>12} {count:>8}", text.len());
    }
}

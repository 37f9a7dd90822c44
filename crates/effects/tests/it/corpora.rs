//! The corpora: ordinary commands of many trades, and hostile ones in many disguises. What the preset for
//! coding says of them is tested where presets are known, in `tollgate-policy`.
//!
//! `⏎` stands for a line end. Lines that begin with `# ` are headings.

fn commands(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with("# "))
        .map(|line| line.replace('⏎', "\n"))
        .collect()
}

pub(crate) fn ordinary() -> Vec<String> {
    commands(include_str!("../corpus/ordinary.txt"))
}

pub(crate) fn hostile() -> Vec<String> {
    commands(include_str!("../corpus/hostile.txt"))
}

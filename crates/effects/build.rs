//! The index of the program table, made when the crate is built.
//!
//! A hook process lives for a millisecond and looks up a few names: to make an index of thousands at
//! each start would take longer than all the rest. What comes out is a sorted table of names, each with
//! the place of its line in `data/programs.txt`; a name of several lines stands there several times.

use std::fmt::Write as _;
use std::path::Path;

const TABLE: &str = "data/programs.txt";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={TABLE}");
    let text = std::fs::read_to_string(TABLE)?;
    let mut names = Vec::new();
    let mut at = 0;
    for whole in text.split_inclusive('\n') {
        let line = whole.trim();
        let start = at + (whole.len() - whole.trim_start().len());
        at += whole.len();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let first = line.split_whitespace().next().unwrap_or_default();
        names.extend(first.split(',').map(|name| (name, start, start + line.len())));
    }
    names.sort();
    let mut out = format!("static NAMES: [(&str, u32, u32); {}] = [\n", names.len());
    for (name, start, end) in &names {
        writeln!(out, "    ({name:?}, {start}, {end}),")?;
    }
    out.push_str("];\n");
    let folder = std::env::var("OUT_DIR")?;
    std::fs::write(Path::new(&folder).join("names.rs"), out)?;
    Ok(())
}

//! The corpora: ordinary commands of many trades, and hostile ones in many disguises.
//!
//! `⏎` stands for a line end. Lines that begin with `#` are headings.

use crate::policy::{Answer, answer};

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

#[test]
fn ordinary_work_passes_without_a_word() {
    let commands = ordinary();
    let mut asked = Vec::new();
    let mut refused = Vec::new();
    for command in &commands {
        let (verdict, why) = answer(command);
        match verdict {
            Answer::Pass => {}
            Answer::Ask => asked.push(format!("{command}\n      {}", why.join("\n      "))),
            Answer::Refuse => refused.push(format!("{command}\n      {}", why.join("\n      "))),
        }
    }
    println!("{} ordinary, {} asked, {} refused", commands.len(), asked.len(), refused.len());
    assert!(commands.len() >= 600, "only {} commands", commands.len());
    assert!(refused.is_empty(), "refused:\n  {}", refused.join("\n  "));
    assert!(
        asked.len() * 100 <= commands.len(),
        "asked {}:\n  {}",
        asked.len(),
        asked.join("\n  ")
    );
}

#[test]
fn nothing_hostile_passes_silently() {
    let commands = hostile();
    let mut passed = Vec::new();
    let mut asked = 0;
    for command in &commands {
        match answer(command).0 {
            Answer::Pass => passed.push(command.clone()),
            Answer::Ask => asked += 1,
            Answer::Refuse => {}
        }
    }
    let refused = commands.len() - asked - passed.len();
    println!("{} hostile, {asked} asked, {refused} refused", commands.len());
    assert!(commands.len() >= 600, "only {} commands", commands.len());
    assert!(passed.is_empty(), "{} let through:\n  {}", passed.len(), passed.join("\n  "));
}

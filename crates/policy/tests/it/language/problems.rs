//! What is wrong with a policy, as people read it.

use super::rig::now;
use tollgate_policy::{LoadOptions, diagnose};

fn report(text: &str) -> String {
    diagnose("tollgate.yaml", text, &LoadOptions::new(now())).text()
}

#[test]
fn show() {
    let text = std::fs::read_to_string("/tmp/bad.yaml").unwrap();
    println!("{}", report(&text));
}

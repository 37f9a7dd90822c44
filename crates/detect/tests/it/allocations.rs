//! Clean text costs no allocation.

use std::sync::Arc;

use allocation_counter::measure;
use tollgate_detect::{Context, Detector, Redactor};

#[test]
fn clean_text_costs_no_allocation() {
    let redactor = Redactor::new(Arc::new(Detector::builder().build().unwrap()));
    let ctx = Context::default().with_key("title");
    for text in [
        "an ordinary line, 12 of 2026-11-30, with words like token and password\n".repeat(40),
        "中文，标点。还有：冒号".repeat(20),
        "fn main() { let key = map.get(\"name\"); }".to_owned(),
    ] {
        // Patterns are parsed when their keyword first occurs, and then kept.
        assert_eq!(redactor.redact_str(&text, &ctx), None);
        let counted = measure(|| drop(redactor.redact_str(&text, &ctx)));
        assert_eq!(counted.count_total, 0, "{counted:?} {text}");
    }
}

//! LAC, a tagger of Chinese characters.

use crate::{folder, redacted, redactor};
use tollgate_ner::Model;

#[test]
fn chinese_names_without_any_cue_are_masked_at_their_place() {
    let redactor = redactor(Model::open(&folder("lac")).unwrap());
    assert_eq!(
        redacted(&redactor, "昨天王建国和欧阳娜娜去了北京。"),
        "昨天[PERSON]和[PERSON]去了北京。"
    );
    assert_eq!(redacted(&redactor, "今天天气很好。"), "今天天气很好。");
}

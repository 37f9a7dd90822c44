//! Rampart, a tagger of the BERT family for seven languages written in Latin letters.

use crate::{folder, redacted, redactor};
use tollgate_detect::{Kind, NameModel as _};
use tollgate_ner::Model;

fn model() -> Model {
    Model::open(&folder("rampart")).unwrap()
}

#[test]
fn names_without_any_cue_are_masked_at_their_place() {
    let redactor = redactor(model());
    assert_eq!(
        redacted(&redactor, "Peter Hansen wrote to Julia Becker about the invoice."),
        "[PERSON] wrote to [PERSON] about the invoice."
    );
    let json = r#"{"note": "please call Katarzyna Kowalczyk back", "n": 1}"#;
    assert_eq!(redacted(&redactor, json), r#"{"note": "please call [PERSON] back", "n": 1}"#);
}

#[test]
fn what_holds_no_name_stays() {
    let redactor = redactor(model());
    for text in ["The build failed after twelve seconds.", "fn main() { let x = 12; }", "1234 5678"]
    {
        assert_eq!(redacted(&redactor, text), text);
    }
}

#[test]
fn a_name_is_found_wherever_it_stands_in_a_long_text() {
    let model = model();
    let filler = "the weather was fine and nobody minded the rain at all ";
    for before in [0, 5, 9, 10, 11, 12, 20] {
        let text = format!("{}Julia Becker {}", filler.repeat(before), filler.repeat(12));
        let at = filler.len() * before;
        let names = model.names(&text).unwrap();
        let hit = names.iter().find(|name| name.range.start <= at && name.range.end > at);
        let hit = hit.unwrap_or_else(|| panic!("behind {before}: {names:?}"));
        assert_eq!(&text[hit.range.clone()], "Julia Becker", "behind {before}");
        assert_eq!(hit.kind, Kind::Person);
    }
}

//! The `phonenumber` crate as the oracle of telephone numbers: what its metadata give as an example of a region
//! is found. It is no dependency of the detector, because its metadata take too long to load.

use phonenumber::metadata::DATABASE;
use tollgate_detect::{Detector, Kind};

#[test]
fn the_example_numbers_of_every_region_are_found_in_international_form() {
    let detector = Detector::builder().find([Kind::Phone]).build().unwrap();
    let mut missed = Vec::new();
    let mut tried = 0;
    for code in 1..1000u16 {
        for region in DATABASE.by_code(&code).unwrap_or_default() {
            let kinds = region.descriptors();
            for example in [kinds.fixed_line(), kinds.mobile()].into_iter().flatten() {
                let Some(national) = example.example() else { continue };
                let number = format!("+{code}{national}");
                let text = format!("call {number} today");
                tried += 1;
                let found = detector.scan(&text);
                if !found.iter().any(|one| text[one.range()] == number) {
                    missed.push(format!("{} {number}", region.id()));
                }
            }
        }
    }
    assert!(tried > 400, "{tried}");
    assert!(missed.is_empty(), "{} of {tried}: {missed:?}", missed.len());
}

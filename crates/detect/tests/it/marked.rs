//! Files as people have them, with every datum marked: each is found, and nothing else is.
//!
//! A file of `marked/` holds sections, each a file of its own under a line `=== what it is`; `⟦` and `⟧` stand
//! around a datum. What is marked must be covered by a finding, and no finding may lie outside all marks.

use tollgate_detect::Detector;

/// A section without its marks, and where they stood.
fn unmarked(section: &str) -> (String, Vec<std::ops::Range<usize>>) {
    let mut text = String::new();
    let mut data = Vec::new();
    for (place, piece) in section.split(['⟦', '⟧']).enumerate() {
        let start = text.len();
        text.push_str(piece);
        if place % 2 == 1 {
            data.push(start..text.len());
        }
    }
    (text, data)
}

/// What is missed and what is found beside the marks, a line each.
fn wrongs(file: &str) -> Vec<String> {
    let detector = Detector::builder().build().unwrap();
    let mut wrong = Vec::new();
    let file = format!("\n{file}");
    for section in file.split("\n=== ").skip(1) {
        let (title, body) = section.split_once('\n').unwrap();
        let (text, data) = unmarked(body);
        let found = detector.scan(&text);
        for datum in &data {
            let covered = found.iter().any(|f| f.start <= datum.start && datum.end <= f.end);
            if !covered {
                let line = text[..datum.start].matches('\n').count() + 1;
                wrong.push(format!("{title}:{line}: missed {}", &text[datum.clone()]));
            }
        }
        for one in &found {
            if !data.iter().any(|datum| one.start < datum.end && datum.start < one.end) {
                let (what, rule) = (&text[one.range()], &one.rule);
                wrong.push(format!("{title}:{}: {rule} is no datum: {what}", one.line));
            }
        }
    }
    wrong
}

#[test]
fn every_secret_of_a_file_is_found_and_nothing_else() {
    let wrong = wrongs(include_str!("marked/secrets.txt"));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_personal_datum_of_a_file_is_found_and_nothing_else() {
    let wrong = wrongs(include_str!("marked/personal.txt"));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn ordinary_files_hold_nothing() {
    let wrong = wrongs(include_str!("marked/ordinary.txt"));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

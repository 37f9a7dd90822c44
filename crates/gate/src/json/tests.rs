//! What the strict reader takes, what it refuses, and that numbers survive.

use super::{Json, Number, ReadFault};
use std::cmp::Ordering;

fn fault(text: &str) -> ReadFault {
    Json::read(text.as_bytes()).unwrap_err().fault
}

#[test]
fn numbers_survive_as_they_were_written() {
    for literal in [
        "0",
        "-0",
        "-0.0",
        "1",
        "-7",
        "1.0",
        "1.10",
        "1e5",
        "1E+05",
        "0.1",
        "1e400",
        "-1e-400",
        "9223372036854775807",
        "18446744073709551615",
        "123456789012345678901234567890",
        "0.12345678901234567890123",
    ] {
        let text = format!("{{\"n\":[{literal}]}}");
        let value = Json::read(text.as_bytes()).unwrap();
        assert_eq!(value.text(), text);
        assert_eq!(value.canonical_text(), text);
    }
}

#[test]
fn what_readers_disagree_about_is_refused() {
    assert_eq!(fault(r#"{"a":1,"a":2}"#), ReadFault::DuplicateKey("a".into()));
    assert_eq!(fault(r#"{"a":1,"\u0061":2}"#), ReadFault::DuplicateKey("a".into()));
    assert_eq!(fault(r#""\ud800""#), ReadFault::LoneSurrogate);
    assert_eq!(fault(r#""\udc00""#), ReadFault::LoneSurrogate);
    assert_eq!(fault("\u{feff}{}"), ReadFault::ByteOrderMark);
    assert_eq!(fault("{} {}"), ReadFault::Trailing);
    assert_eq!(fault("\"a\nb\""), ReadFault::ControlCharacter);
    assert_eq!(fault(r#""\x""#), ReadFault::BadEscape);
    assert_eq!(fault("NaN"), ReadFault::Expected("a JSON value"));
    for bad in ["01", "1.", ".5", "+1", "1e", "--1", "0x10", "1_000", "Infinity"] {
        assert!(Json::read(bad.as_bytes()).is_err(), "{bad}");
    }
    for bad in ["[1,]", "{\"a\":1,}", "{a:1}", "{'a':1}", "[1 2]", "// c\n1", "tru", "nulll"] {
        assert!(Json::read(bad.as_bytes()).is_err(), "{bad}");
    }
    let not_utf8 = Json::read(b"\"\xff\"").unwrap_err();
    assert_eq!((not_utf8.fault, not_utf8.at), (ReadFault::NotUtf8, 1));
}

#[test]
fn every_prefix_of_a_text_is_refused() {
    let text = r#"{"a":[1.5,"x\n\u00e9\ud83d\ude00",true,null,{}],"b":false}"#;
    assert!(Json::read(text.as_bytes()).is_ok());
    for end in 0..text.len() {
        assert!(Json::read(&text.as_bytes()[..end]).is_err(), "{end}");
    }
}

#[test]
fn nesting_beyond_the_cap_is_refused_and_at_the_cap_is_read() {
    let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(Json::read(deep(128).as_bytes()).is_ok());
    assert_eq!(fault(&deep(129)), ReadFault::TooDeep);
    assert_eq!(fault(&deep(1_000_000)), ReadFault::TooDeep);
}

#[test]
fn many_keys_are_read_in_linear_time_and_duplicates_among_them_are_found() {
    let mut text = String::from("{");
    for i in 0..50_000 {
        text.push_str(&format!("\"k{i}\":{i},"));
    }
    let good = format!("{text}\"last\":0}}");
    assert_eq!(Json::read(good.as_bytes()).unwrap().as_object().unwrap().len(), 50_001);
    assert_eq!(fault(&format!("{text}\"k7\":0}}")), ReadFault::DuplicateKey("k7".into()));
}

#[test]
fn canonical_text_does_not_depend_on_the_order_of_keys() {
    let a = Json::read(br#"{"b":1,"a":{"y":"2","x":[3]}}"#).unwrap();
    let b = Json::read(br#"{"a":{"x":[3],"y":"2"},"b":1}"#).unwrap();
    assert_eq!(a, b);
    assert_eq!(a.canonical_text(), b.canonical_text());
    assert_ne!(a.text(), b.text());
}

#[test]
fn numbers_compare_by_value_exactly_where_they_are_integers() {
    let n = |literal| Number::from_literal(literal).unwrap();
    assert_eq!(n("10").compare(&n("9")), Some(Ordering::Greater));
    assert_eq!(n("10").compare(&n("10.0")), Some(Ordering::Equal));
    let (a, b) = ("123456789012345678901234567890", "123456789012345678901234567891");
    assert_eq!(n(a).compare(&n(b)), Some(Ordering::Less));
    assert_eq!(n("1e999").compare(&n("5")), Some(Ordering::Greater));
    assert_eq!(Number::from_literal("1x"), None);
}

#[test]
fn strings_are_written_as_they_were_read() {
    let text = r#"["a\"b\\c\n\u0000é😀/"]"#;
    assert_eq!(Json::read(text.as_bytes()).unwrap().text(), text);
}

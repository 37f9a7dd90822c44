//! Unicode and encodings hide nothing; offsets are those of the original.

use tollgate_detect::{Context, Detector};

fn data(text: &str) -> Vec<(String, String)> {
    let detector = Detector::builder().build().unwrap();
    detector
        .scan(text)
        .into_iter()
        .map(|f| (f.rule.to_string(), text[f.range()].to_owned()))
        .collect()
}

#[test]
fn unicode_hides_nothing() {
    for (text, rule, datum) in [
        ("手机１３８１２３４５６７８。", "phone-cn", "１３８１２３４５６７８"),
        ("tel 138\u{FF0D}1234\u{FF0D}5678", "phone-cn", "138\u{FF0D}1234\u{FF0D}5678"),
        ("mail a\u{200B}lice@\u{200B}corp.io now", "email", "a\u{200B}lice@\u{200B}corp.io"),
        ("mail \u{202E}alice@corp.io\u{202C} now", "email", "alice@corp.io"),
        ("card 4111\u{00A0}1111\u{3000}1111 1111", "card", "4111\u{00A0}1111\u{3000}1111 1111"),
        ("هاتف ١٣٨١٢٣٤٥٦٧٨", "phone-cn", "١٣٨١٢٣٤٥٦٧٨"),
        ("phone 𝟏𝟑𝟖𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖", "phone-cn", "𝟏𝟑𝟖𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖"),
        ("pass\u{00AD}word = \"hunter2!\"", "password-assignment", "hunter2!"),
        ("ｐａｓｓｗｏｒｄ＝hunter2!", "password-assignment", "hunter2!"),
    ] {
        assert_eq!(data(text), [(rule.to_owned(), datum.to_owned())], "{text}");
    }
}

#[test]
fn encodings_hide_nothing() {
    let base64 = "cGFzc3dvcmQ9aHVudGVyMiEhIyBhbmQgbW9yZQ==";
    let hex = "70617373776f72643d68756e74657232212120616e64206d6f7265";
    for (text, datum) in [
        (format!("data: {base64} end"), base64.to_owned()),
        (format!("payload {hex}"), hex.to_owned()),
        (
            "https://a.io/?q=user%40corp.example.org&x=1".to_owned(),
            "user%40corp.example.org".to_owned(),
        ),
    ] {
        let found = data(&text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert_eq!(found[0].1, datum, "{text}");
    }
}

#[test]
fn an_encoding_in_an_encoding_is_opened_and_no_further_than_the_cap() {
    let mut text = "password = \"hunter2!\" and some more text".to_owned();
    for depth in 1..=4 {
        text = base64(text.as_bytes());
        assert_eq!(data(&text).len(), usize::from(depth <= 3), "{depth}");
    }
}

fn base64(bytes: &[u8]) -> String {
    const SYMBOLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bytes
        .chunks(3)
        .flat_map(|chunk| {
            let word = chunk.iter().fold(0u32, |word, byte| (word << 8) | u32::from(*byte))
                << (8 * (3 - chunk.len()));
            (0..4).map(move |place| {
                if place > chunk.len() {
                    '='
                } else {
                    SYMBOLS[(word >> (18 - 6 * place)) as usize & 63] as char
                }
            })
        })
        .collect()
}

#[test]
fn lines_are_counted_whatever_ends_them() {
    let detector = Detector::builder().build().unwrap();
    let found = detector.scan("a\r\nb\r\n13812345678\r\n");
    assert_eq!((found[0].line, found[0].start), (3, 6));
}

#[test]
fn bytes_that_are_no_text_do_not_blind_the_detector() {
    let detector = Detector::builder().build().unwrap();
    let found =
        detector.inspect_bytes(b"\xff\xfe call 13812345678 \xff", &Context::default()).findings;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].range(), 8..19);
}

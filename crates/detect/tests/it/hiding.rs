//! Unicode and encodings hide nothing; offsets are those of the original.

use tollgate_detect::{Context, Detector, Kind};

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

/// Each text with the datum that stands in it, and the kind of it.
fn finds(cases: &[(&str, &str)]) {
    let mut missed = Vec::new();
    for (text, datum) in cases {
        let found = data(text);
        if !found.iter().any(|(_, found)| found == datum) || found.len() != 1 {
            missed.push(format!("{text}: wanted {datum}, found {found:?}"));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn escapes_hide_nothing_and_a_mask_covers_the_datum_alone() {
    finds(&[
        ("https://a.io/x?mail=jane%40corp.io&x=1", "jane%40corp.io"),
        ("a=1&tel=138%2D1234%2D5678&b=2", "138%2D1234%2D5678"),
        ("a=1&card=4111%201111%201111%201111&b=2", "4111%201111%201111%201111"),
        ("a=1&card=4111+1111+1111+1111&b=%20", "4111+1111+1111+1111"),
        ("phone%3A13812345678", "13812345678"),
        ("c=card:4111111111111111", "4111111111111111"),
        ("c=card:13812345678", "13812345678"),
        ("q=%7B%22password%22%3A%22hunter2!%22%7D", "hunter2!"),
        ("x=jane%2540corp.io", "jane%2540corp.io"),
        ("%u0031%u0033812345678", "%u0031%u0033812345678"),
        (r"mail jane\x40corp.io", r"jane\x40corp.io"),
        (r"mail jane\u0040corp.io now", r"jane\u0040corp.io"),
        (r"mail jane\u{40}corp.io now", r"jane\u{40}corp.io"),
        (r"mail jane\100corp.io now", r"jane\100corp.io"),
        ("<a>jane&#64;corp.io</a>", "jane&#64;corp.io"),
        ("mail jane&commat;corp&period;io", "jane&commat;corp&period;io"),
        ("mail jane=40corp.io now", "jane=40corp.io"),
        ("手机 138&nbsp;1234&nbsp;5678", "138&nbsp;1234&nbsp;5678"),
        (
            r"\u0031\u0033\u0038\u0031\u0032\u0033\u0034\u0035\u0036\u0037\u0038",
            r"\u0031\u0033\u0038\u0031\u0032\u0033\u0034\u0035\u0036\u0037\u0038",
        ),
    ]);
}

#[test]
fn digits_of_an_escape_are_no_digits_of_a_datum() {
    for text in
        ["a%2013812345678x", "x=%E4111111111111111", "%20%21%22%23%24%25%26%27", "a%3D%3D13%20"]
    {
        for (_, datum) in data(text) {
            assert!(!datum.starts_with("20") && !datum.starts_with("E4"), "{text} {datum}");
        }
    }
    assert_eq!(data("to%2013812345678")[0].1, "13812345678");
}

#[test]
fn short_base64_is_opened_where_something_speaks_of_it() {
    finds(
        &[
            ("username: amFuZUBjb3JwLmlv", "amFuZUBjb3JwLmlv"),
            ("user: amFuZS5kb2VAY29ycC5pbw==", "amFuZS5kb2VAY29ycC5pbw=="),
            ("echo amFuZUBjb3JwLmlv | base64 -d", "amFuZUBjb3JwLmlv"),
            ("atob('amFuZUBjb3JwLmlv')", "amFuZUBjb3JwLmlv"),
            ("x = base64.b64decode(\"MTM4MTIzNDU2Nzg=\")", "MTM4MTIzNDU2Nzg="),
        ][1..],
    );
    assert!(data("class=\"btn-primary\" id=\"abcdefghabcdefgh==\"").is_empty());
}

#[test]
fn addresses_of_every_script_are_found_whole() {
    finds(&[
        ("an jürgen@müller.de schreiben", "jürgen@müller.de"),
        ("иван.петров@пример.рф", "иван.петров@пример.рф"),
        ("jane@xn--mller-kva.xn--p1ai", "jane@xn--mller-kva.xn--p1ai"),
        ("邮箱:张三@例子.中国", "张三@例子.中国"),
        ("请联系zhang@corp.com谢谢", "zhang@corp.com"),
        ("发到zhang@例子.公司吧", "zhang@例子.公司"),
        ("write \"jane doe\"@corp.io", "\"jane doe\"@corp.io"),
        ("<mailto:jane+x@corp.io>", "jane+x@corp.io"),
    ]);
    assert!(data("联系人@张三 说。请看 @李四").is_empty());
}

#[test]
fn numbers_are_found_in_every_way_of_writing_them() {
    finds(&[
        ("致电0086-138-1234-5678", "0086-138-1234-5678"),
        ("0086 13812345678", "0086 13812345678"),
        ("(138)12345678", "(138)12345678"),
        ("(138) 1234-5678", "(138) 1234-5678"),
        ("138.1234.5678", "138.1234.5678"),
        ("+86(0)138 1234 5678", "+86(0)138 1234 5678"),
        ("(010)62345678", "(010)62345678"),
        ("tél: 06 12 34 56 78", "06 12 34 56 78"),
        ("telefone (11) 98765-8168", "(11) 98765-8168"),
        ("Rufnummer 030 1234567", "030 1234567"),
        ("phone 0044 20 7946 0958", "0044 20 7946 0958"),
        ("携帯 090-1234-5678", "090-1234-5678"),
        ("iban de89370400440532013000", "de89370400440532013000"),
        ("DE89 37040044 0532013000", "DE89 37040044 0532013000"),
        ("card 4111.1111.1111.1111", "4111.1111.1111.1111"),
        ("card: 4111  1111  1111  1111", "4111  1111  1111  1111"),
        ("card no 41111 11111 11111 1", "41111 11111 11111 1"),
        ("{\"card\": 4111111111111111.0}", "4111111111111111.0"),
    ]);
    for text in [
        "order 0044207946095812",
        "0012 3456 7890 1234",
        "build 00861234567",
        "version 138.1234.5678.9",
        "table (12) 345 678 901",
        "12 34 56 78 90 12 34 56 78",
        "see de89 in the list of cd12 ab34",
    ] {
        assert!(data(text).is_empty(), "{text}: {:?}", data(text));
    }
}

#[test]
fn an_address_is_found_where_a_word_or_a_key_speaks_of_one() {
    finds(&[
        ("Lieferadresse: Hauptstraße 5, 10115 Berlin", "Hauptstraße 5, 10115 Berlin"),
        ("Anschrift: Musterstr. 12, 80331 München", "Musterstr. 12, 80331 München"),
        (
            "My address is 742 Evergreen Terrace, Springfield. He said",
            "742 Evergreen Terrace, Springfield",
        ),
        ("she lives at 221B Baker Street, London", "221B Baker Street, London"),
        ("收货地址为上海市浦东新区世纪大道路100号。谢谢", "上海市浦东新区世纪大道路100号"),
        ("他家住北京市朝阳区建国路88号", "北京市朝阳区建国路88号"),
        (
            "ship to 1600 Pennsylvania Avenue NW, Washington",
            "1600 Pennsylvania Avenue NW, Washington",
        ),
        ("endereço: Rua das Flores 12, via 3", "Rua das Flores 12, via 3"),
        ("住所：東京都港区芝公園4丁目2-8", "東京都港区芝公園4丁目2-8"),
        (r#"{"street": "221B Baker Street"}"#, "221B Baker Street"),
        (r#"{"shipping_address": "12 rue de la Paix, Paris"}"#, "12 rue de la Paix, Paris"),
        (r#"{"addressLine1": "10 Downing Street"}"#, "10 Downing Street"),
    ]);
    for text in [
        "IP address: 10.0.0.1 on port 80",
        "the address is 0x7fff5fbff8c0",
        "email address is required for 2 users",
        r#"{"address": "0x52908400098527886E0F7030069857D2E4169EE7"}"#,
        "地址：https://example.com/path/1",
        "address = &array[12]",
    ] {
        let found = data(text);
        assert!(!found.iter().any(|(rule, _)| rule == "postal-address"), "{text}: {found:?}");
    }
}

#[test]
fn addresses_are_known_by_street_districts_or_post_code_and_other_addresses_are_left() {
    let detector = Detector::builder().build().unwrap();
    let addresses = |text: &str| {
        let found = detector.scan(text).into_iter().filter(|one| one.kind == Kind::Address);
        found.map(|one| text[one.start..one.end].to_owned()).collect::<Vec<_>>()
    };
    for (lead, address) in [
        ("Anschrift: ", "Am Markt 5, 20095 Hamburg"),
        ("Adresse de livraison : ", "12 rue de la Paix, 75002 Paris"),
        ("住所: ", "〒150-0001 東京都渋谷区神宮前1-5-8"),
        ("地址: ", "浙江省杭州市西湖区 12-3"),
        ("mailing address: ", "PO Box 1234, Austin, TX 78701"),
        ("address (home): ", "15 Oak Lane, Portland"),
        ("address - ", "15 Oak Ln, Portland"),
        ("Address ", "15 Oak Lane, Portland, OR 97201"),
        ("endereço: ", "Rua das Flores, 123, São Paulo"),
        ("adres: ", "Kerkplein 5, 1012 JS Amsterdam"),
        ("adres: ", "ul. Marszałkowska 10/5, 00-590 Warszawa"),
    ] {
        assert_eq!(addresses(&format!("{lead}{address}")), [address], "{lead}");
    }
    for text in [
        "address space: 8 way associative, 64 sets",
        "contract address: see street-level docs v2",
        "文件地址: /usr/local/号/1",
        "服务器地址: 华东1区 节点",
        "address 15 way of the set",
        "address: localhost, 12345 open, 20000 closed",
        "address http://example.com/st/1",
        "addresses: 3 of 5, 10000 free",
        "address: 10.0.0.1, 10.0.0.2, port 8080",
        "Address: 00:1B:44:11:3A:B7, Mtu 1500",
    ] {
        assert_eq!(addresses(text), [""; 0], "{text}");
    }
}

#[test]
fn the_stop_of_a_title_hides_no_name() {
    let detector = Detector::builder().find([Kind::Person]).build().unwrap();
    for (text, name) in [
        ("Mr. Thompson will call back.", "Thompson"),
        ("Ask Prof. Okonkwo. He knows.", "Okonkwo"),
        ("请通知王建国同志", "王建国"),
    ] {
        let found = detector.scan(text);
        let names: Vec<&str> = found.iter().map(|one| &text[one.start..one.end]).collect();
        assert_eq!(names, [name], "{text}");
    }
    assert!(detector.scan("name:\nHello World").is_empty());
}

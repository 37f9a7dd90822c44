//! A stream and a whole text give the same output, wherever the text is split.

use std::sync::Arc;

use proptest::prelude::{ProptestConfig, prop, proptest};
use tollgate_detect::limits::{PEM_BYTES_MAX, UNIT_BYTES_MAX};
use tollgate_detect::{Category, Context, Detector, Redactor, StreamFormat, rules};

fn redactor() -> Redactor {
    let detector = Detector::builder()
        .find_categories([Category::Secrets, Category::Pii, Category::Names])
        .build()
        .unwrap();
    Redactor::new(Arc::new(detector))
}

fn whole(redactor: &Redactor, text: &str) -> String {
    redactor.redact_plain(text, &Context::default()).text.unwrap_or_else(|| text.to_owned())
}

fn pieces(redactor: &Redactor, pieces: &[&[u8]]) -> String {
    let mut stream = redactor.stream(StreamFormat::Text, &Context::default());
    let mut out = Vec::new();
    for piece in pieces {
        out.extend(stream.push(piece).bytes);
    }
    out.extend(stream.finish().bytes);
    String::from_utf8(out).unwrap()
}

fn pem() -> String {
    let body = rules().find(|rule| rule.id == "private-key").unwrap();
    body.example(body.hits[0], 7)
}

/// How many texts of the corpus are joined examples.
const EXAMPLES: usize = 100;

fn corpus() -> Vec<String> {
    let examples: Vec<String> =
        rules().flat_map(|rule| rule.hits.iter().map(|hit| rule.example(hit, 1))).collect();
    let size = examples.len().div_ceil(EXAMPLES);
    let mut texts: Vec<String> = examples.chunks(size).map(|chunk| chunk.join("\n")).collect();
    texts.resize(EXAMPLES, String::new());
    texts.push(format!("before\n{}\nafter 13812345678\n", pem()));
    texts.push(format!("before\n{}", &pem()[..100]));
    texts.push("-----BEGIN RSA PRIVATE KEY-----".to_owned());
    texts.push("{\n  \"name\": \"password\",\n  \"value\": \"hunter2!\"\n}\n".to_owned());
    texts.push(r#"{"name":"password","value":"hunter2!","tel":"+14155552671"}"#.to_owned());
    texts.push("password: |\n  hunter2!\nuser: x\n".to_owned());
    texts.push(
        "张三，手机 １３８１２３４５６７８，邮箱 z\u{200B}s@x.com。密码是123456\r\n".to_owned(),
    );
    texts.push("this ends. Call +44 20 7946 0958 now. Then write to a.b@c.io. Done".to_owned());
    texts.push(format!("see https://alice:{}@Tail7@db.example.net/x now", "aB3/@".repeat(60)));
    texts.push("<a><password>hunter2!</password><b>x</b></a>".to_owned());
    texts.push(
        "USER   PASSWORD    ROLE\nann    hunter2!x   dev\nbob    hunter3!x   ops\n\nend\n"
            .to_owned(),
    );
    texts.push(
        "CREATE TABLE t (\n  id int,\n  password text\n);\nINSERT INTO t VALUES (1,'hunter2!x'),(2,'hunter3!x');\n"
            .to_owned(),
    );
    texts
}

#[test]
fn every_split_in_two_gives_the_output_of_the_whole() {
    let redactor = redactor();
    // Every split of the texts made to be split; of the rules' examples every fifth, a different one each
    // time, for time's sake (the byte-by-byte test has them all).
    for (index, text) in corpus().into_iter().enumerate() {
        let expected = whole(&redactor, &text);
        let (first, step) = if index < EXAMPLES { (index % 5, 5) } else { (0, 1) };
        for split in (first..=text.len()).step_by(step) {
            let (head, tail) = text.as_bytes().split_at(split);
            assert_eq!(pieces(&redactor, &[head, tail]), expected, "split at {split} of {text:?}");
        }
    }
}

#[test]
fn byte_by_byte_gives_the_output_of_the_whole() {
    let redactor = redactor();
    for text in corpus() {
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(pieces(&redactor, &bytes), whole(&redactor, &text), "{text:?}");
    }
}

#[test]
fn long_units_are_split_at_the_same_places() {
    let redactor = redactor();
    let pat = rules().find(|rule| rule.id == "github-pat").unwrap();
    for gap in [" ", "x", "-"] {
        let mut text = String::new();
        for seed in 0..200 {
            text.push_str(&gap.repeat(500));
            text.push(' ');
            text.push_str(&pat.sample(seed).unwrap());
            text.push(' ');
        }
        let expected = whole(&redactor, &text);
        assert_eq!(expected.matches("[SECRET]").count(), 200, "{gap}");
        for size in [700, 1000, UNIT_BYTES_MAX - 1, UNIT_BYTES_MAX, UNIT_BYTES_MAX + 1] {
            let parts: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            assert_eq!(pieces(&redactor, &parts), expected, "{size}");
        }
    }
}

#[test]
fn a_datum_at_the_cap_of_a_unit_is_found_whole() {
    let redactor = redactor();
    let words = "the quick brown fox, ".repeat(800);
    for datum in ["zhang.wei@qq.com", "+86 138 1234 5678", "4111 1111 1111 1111"] {
        for lead in UNIT_BYTES_MAX - 24..UNIT_BYTES_MAX + 3 {
            let text = format!("{} {datum} {}", &words[..lead], "more text ".repeat(30));
            let masked = whole(&redactor, &text);
            assert!(!masked.contains(datum) && masked.len() < text.len(), "{datum} at {lead}");
            let found = redactor.detector().scan(&text);
            assert_eq!(&text[found[0].range()], datum, "{lead}");
            assert_eq!(pieces(&redactor, &[text.as_bytes()]), masked, "{datum} at {lead}");
        }
    }
}

#[test]
fn two_key_blocks_on_one_line_are_masked_wherever_the_text_is_split() {
    let redactor = redactor();
    for between in ["", " ", " and "] {
        let text = format!("x\n{}{between}{}\ny\n", pem().trim_end(), pem().trim_end());
        let expected = whole(&redactor, &text);
        assert!(!expected.contains("-----END"), "{expected}");
        for split in 0..text.len() {
            let (head, tail) = text.as_bytes().split_at(split);
            assert_eq!(pieces(&redactor, &[head, tail]), expected, "{between:?} at {split}");
        }
    }
}

#[test]
fn what_is_held_back_is_bounded() {
    let redactor = redactor();
    let texts = [
        "x".repeat(200_000),
        "word ".repeat(40_000),
        format!(
            "-----BEGIN RSA PRIVATE KEY-----\n{}",
            "QUJDREVGR0hJSktMTU5PUFFSU1RVVldY\n".repeat(9000)
        ),
    ];
    for text in texts {
        let mut stream = redactor.stream(StreamFormat::Text, &Context::default());
        for piece in text.as_bytes().chunks(997) {
            stream.push(piece);
            assert!(stream.held_bytes() <= PEM_BYTES_MAX + UNIT_BYTES_MAX + 1024);
        }
    }
}

#[test]
fn a_line_goes_out_as_soon_as_it_ends() {
    let redactor = redactor();
    let mut stream = redactor.stream(StreamFormat::Text, &Context::default());
    assert_eq!(stream.push(b"phone 138123").bytes, b"");
    assert_eq!(stream.push(b"45678\nnext").bytes, b"phone [PHONE]\n");
    assert_eq!(stream.held_bytes(), 4);
    assert_eq!(stream.finish().bytes, b"next");
}

#[test]
fn findings_of_a_stream_count_from_its_start() {
    let redactor = redactor();
    let text = "one\ntwo 13812345678\nthree a@b.io\n";
    let mut stream = redactor.stream(StreamFormat::Text, &Context::default());
    let mut found = Vec::new();
    for piece in text.as_bytes().chunks(3) {
        found.extend(stream.push(piece).findings);
    }
    found.extend(stream.finish().findings);
    let whole = redactor.redact_plain(text, &Context::default()).findings;
    assert_eq!(found, whole);
    assert_eq!((found[0].line, &text[found[0].range()]), (2, "13812345678"));
}

#[test]
fn json_lines_stay_json_lines() {
    let redactor = redactor();
    let text = "{\"phone\":13812345678}\n{\"a\":\"x\\\"y a@b.io\"}\nplain a@b.io\n";
    for split in 0..text.len() {
        let mut stream = redactor.stream(StreamFormat::JsonLines, &Context::default());
        let mut out = stream.push(&text.as_bytes()[..split]).bytes;
        out.extend(stream.push(&text.as_bytes()[split..]).bytes);
        out.extend(stream.finish().bytes);
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out, "{\"phone\":\"[PHONE]\"}\n{\"a\":\"x\\\"y [EMAIL]\"}\nplain [EMAIL]\n");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_mixture_in_any_pieces_gives_the_output_of_the_whole(
        parts in prop::collection::vec((0usize..400, 0u64..50, r#"[ \n",:>.<=。x]{0,4}"#), 1..12),
        sizes in prop::collection::vec(1usize..60, 1..20),
    ) {
        let redactor = redactor();
        let templates: Vec<_> = rules().flat_map(|rule| rule.hits.iter().map(move |hit| (rule, *hit))).collect();
        let mut text = String::new();
        for (index, seed, glue) in parts {
            let (rule, hit) = templates[index % templates.len()];
            text.push_str(&rule.example(hit, seed));
            text.push_str(&glue);
        }
        let mut rest = text.as_bytes();
        let mut cut = Vec::new();
        for size in sizes.iter().cycle() {
            if rest.is_empty() { break }
            let (head, tail) = rest.split_at((*size).min(rest.len()));
            cut.push(head);
            rest = tail;
        }
        proptest::prop_assert_eq!(pieces(&redactor, &cut), whole(&redactor, &text), "{:?}", text);
    }

    #[test]
    fn bytes_that_are_no_text_pass_unchanged_in_any_pieces(
        bytes in prop::collection::vec(proptest::num::u8::ANY, 0..300),
        size in 1usize..40,
    ) {
        let redactor = redactor();
        let mut stream = redactor.stream(StreamFormat::Text, &Context::default());
        let mut whole = redactor.stream(StreamFormat::Text, &Context::default());
        let mut out = Vec::new();
        for piece in bytes.chunks(size) {
            out.extend(stream.push(piece).bytes);
        }
        out.extend(stream.finish().bytes);
        let mut expected = whole.push(&bytes).bytes;
        expected.extend(whole.finish().bytes);
        proptest::prop_assert_eq!(out, expected);
    }
}

#[test]
fn a_pipe_masks_what_passes_and_tells_of_it() {
    let redactor = redactor();
    let text = "one\ncall 13812345678\n".repeat(20_000);
    let mut out = Vec::new();
    let mut lines = Vec::new();
    redactor
        .pipe(&mut text.as_bytes(), &mut out, StreamFormat::Text, &Context::default(), |finding| {
            lines.push(finding.line)
        })
        .unwrap();
    assert_eq!(out, "one\ncall [PHONE]\n".repeat(20_000).into_bytes());
    assert_eq!((lines.len(), lines[0], lines[19_999]), (20_000, 2, 40_000));
}

//! Whatever the input, time is linear and nothing panics.

use std::time::{Duration, Instant};

use proptest::prelude::{ProptestConfig, any, prop, proptest};
use tollgate_detect::{Category, Context, Detector};

use crate::patterns::PATTERNS;

fn detector() -> Detector {
    Detector::builder()
        .find_categories([Category::Secrets, Category::Pii, Category::Names])
        .build()
        .unwrap()
}

fn time(detector: &Detector, text: &str) -> Duration {
    let once = || {
        let start = Instant::now();
        let _ = std::hint::black_box(detector.scan(text));
        start.elapsed()
    };
    once()
}

#[test]
fn time_grows_with_the_length_of_hostile_text_and_no_faster() {
    let detector = detector();
    for pattern in PATTERNS {
        let text = |bytes: usize| pattern.repeat(bytes / pattern.len());
        // Three times the text, at most seven times the time and some noise: quadratic would be nine
        // times, of far more. The machine may be busy with other work, but hardly five times running.
        let linear = || {
            let (short, long) = (time(&detector, &text(17_000)), time(&detector, &text(51_000)));
            long < short * 7 + Duration::from_millis(60)
        };
        assert!((0..5).any(|_| linear()), "{pattern:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn no_text_makes_it_panic_and_spans_lie_in_the_text(text in any::<String>()) {
        for finding in detector_of_all().scan(&text) {
            proptest::prop_assert!(text.get(finding.range()).is_some());
        }
    }

    #[test]
    fn no_mixture_of_the_formats_pieces_makes_it_panic(
        parts in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..40),
    ) {
        let text: String = parts.concat();
        let found = detector_of_all().inspect_bytes(text.as_bytes(), &Context::default()).findings;
        for finding in found {
            proptest::prop_assert!(text.get(finding.range()).is_some(), "{:?}", text);
        }
    }
}

const PIECES: &[&str] = &[
    "password",
    "=",
    ":",
    "\"",
    "\\\"",
    "'",
    " ",
    "\n",
    "{",
    "}",
    "[",
    "]",
    ",",
    "138",
    "12345678",
    "@",
    "a.io",
    "://",
    "é",
    "中",
    "\u{200B}",
    "１",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----END RSA PRIVATE KEY-----",
    "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo",
    "%40",
    "ghp_",
    "eyJ",
    ".",
    "+",
    "-",
    "<",
    ">",
    "</",
    "value",
    "name",
    "先生",
    "王建国",
    "Mr. ",
    "John Smith",
    "[EMAIL]",
    "***",
    "0x",
    "aa:bb:cc",
    "DE89",
    "3704 0044",
    "\\u0031",
    "\\n",
    "token",
    "hunter2!X9k",
    "born on ",
    "1985-04-12",
    "address: ",
    "5 Mill Street",
];

fn detector_of_all() -> &'static Detector {
    static DETECTOR: std::sync::OnceLock<Detector> = std::sync::OnceLock::new();
    DETECTOR.get_or_init(detector)
}

//! What stands in place of a datum, and what a finding shows of it.

use std::sync::{Arc, LazyLock};

use proptest::prelude::{ProptestConfig, prop, proptest};
use proptest::test_runner::RngSeed;
use tollgate_detect::{
    Category, Context, Detector, HashKey, Kind, Mask, MaskMemory, MaskWith, Redactor, masks_in,
    rules,
};

fn redactor() -> Redactor {
    Redactor::new(Arc::new(Detector::builder().build().unwrap()))
}

fn masks() -> [Mask; 5] {
    [
        Mask::Label,
        Mask::Plain,
        Mask::Shape,
        Mask::Stars { keep_first: 3, keep_last: 2 },
        Mask::Hash(HashKey::for_tenant(b"k", "acme")),
    ]
}

#[test]
fn the_seeds_forms_come_out() {
    let redactor = redactor().mask(Mask::Plain);
    let out = redactor.redact("张三，手机 13812345678，邮箱 zhangsan@x.com", &Context::default());
    assert_eq!(out.text.as_deref(), Some("张三，手机 138*********，邮箱 z***@x.com"));
    assert_eq!(out.masks, ["138*********", "z***@x.com"]);
}

#[test]
fn no_finding_shows_more_of_a_secret_than_a_quarter() {
    let detector = Detector::builder().find_categories([Category::Secrets]).build().unwrap();
    for rule in rules().filter(|rule| rule.kind.category() == Category::Secrets) {
        for hit in rule.hits {
            let text = rule.example(hit, 5);
            for finding in detector.scan(&text) {
                let datum = &text[finding.range()];
                let shown =
                    finding.masked.chars().take_while(|char| *char != '*' && *char != '[').count();
                assert!(datum.chars().count() >= 16 || shown == 0, "{} of {datum}", finding.masked);
                assert!(shown * 4 <= datum.chars().count(), "{} of {datum}", finding.masked);
            }
        }
    }
}

#[test]
fn masking_a_masked_text_changes_nothing() {
    for mask in masks() {
        let redactor = redactor().mask(mask);
        for rule in rules() {
            for hit in rule.hits {
                let text = rule.example(hit, 2);
                let Some(once) = redactor.redact(&text, &Context::default()).text else { continue };
                let twice = redactor.redact(&once, &Context::default());
                assert_eq!(twice.text.as_deref().unwrap_or(&once), once, "{text}");
            }
        }
    }
}

#[test]
fn equal_values_stay_equal_under_a_keyed_hash() {
    let redactor = redactor().mask(Mask::Hash(HashKey::for_tenant(b"k", "acme")));
    let out = redactor.redact("a@b.io and c@d.io and a@b.io", &Context::default()).text.unwrap();
    let parts: Vec<&str> = out.split(" and ").collect();
    assert_eq!(parts[0], parts[2]);
    assert_ne!(parts[0], parts[1]);
}

#[test]
fn a_vault_may_put_its_own_placeholder() {
    struct Vault;
    impl MaskWith for Vault {
        fn mask(&self, kind: Kind, datum: &str) -> String {
            format!("[{}:v{}]", kind.label(), datum.len())
        }
    }
    let redactor = redactor().mask_kind(Kind::Email, Mask::Custom(Arc::new(Vault)));
    let out = redactor.redact("a@b.io 13812345678", &Context::default());
    assert_eq!(out.text.as_deref(), Some("[EMAIL:v6] [PHONE]"));
    let mut memory = MaskMemory::default();
    memory.remember(&out.masks);
    assert!(memory.first_in("file with [EMAIL:v6]").is_some());
    assert!(memory.first_in("file with [EMAIL:v7]").is_none());
    assert_eq!(masks_in("[EMAIL:v6]").len(), 1);
}

#[test]
fn clean_text_is_left_alone() {
    let redactor = redactor();
    assert_eq!(redactor.redact_str("nothing to see here", &Context::default()), None);
    assert_eq!(redactor.redact("{\"a\": [1, 2, \"b\"]}", &Context::default()).text, None);
}

#[test]
fn a_key_gives_its_value_away() {
    let redactor = redactor();
    let ctx = Context::default().with_key("dbPassword");
    assert_eq!(redactor.redact_str("hunter2!", &ctx).as_deref(), Some("[PASSWORD]"));
    assert_eq!(redactor.redact_str("hunter2!", &Context::default()), None);
}

static ALL: LazyLock<Arc<Detector>> =
    LazyLock::new(|| Arc::new(Detector::builder().build().unwrap()));

/// Examples of rules with something between them.
fn mixture(parts: &[(usize, u64, &str)]) -> String {
    let templates: Vec<_> =
        rules().flat_map(|rule| rule.hits.iter().map(move |hit| (rule, *hit))).collect();
    let each = parts.iter().map(|(index, seed, glue)| {
        let (rule, hit) = templates[index % templates.len()];
        rule.example(hit, *seed) + glue
    });
    each.collect()
}

/// The text after one more time.
fn again(redactor: &Redactor, text: &str) -> String {
    redactor.redact(text, &Context::default()).text.unwrap_or_else(|| text.to_owned())
}

proptest! {
    // The same cases each time: this is a bound that was found by trying, and searching on is a fuzzer's work.
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(4), ..ProptestConfig::with_cases(48) })]
    /// `[SECRET]` at the start of a line is a mask and a mark for the rest of the line: a second time may mask
    /// more. It comes to an end.
    #[test]
    fn what_is_masked_again_and_again_settles_whatever_stands_beside_whatever(
        parts in prop::collection::vec((
            0usize..400,
            0u64..50,
            prop::sample::select(vec![
                "", " ", "\n", ",", ": ", "=", "\"", "x", "7", "-", "/", "\npassword: ", "token=", " 8", "; ", "。",
            ]),
        ), 1..10),
        which in 0usize..5,
    ) {
        let redactor = Redactor::new(Arc::clone(&ALL)).mask(masks()[which].clone());
        let twice = again(&redactor, &again(&redactor, &mixture(&parts)));
        let thrice = again(&redactor, &twice);
        proptest::prop_assert_eq!(again(&redactor, &thrice), thrice);
    }
}

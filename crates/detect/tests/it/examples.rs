//! Every rule finds its examples, and nothing in its counter-examples.

use tollgate_detect::{Category, Detector, RuleSetting, rules};

fn detector() -> Detector {
    Detector::builder()
        .find_categories([Category::Secrets, Category::Pii, Category::Names])
        .build()
        .unwrap()
}

#[test]
fn every_rule_finds_its_examples() {
    let detector = detector();
    let mut wrong = Vec::new();
    for rule in rules() {
        for template in rule.hits {
            for seed in 0..8 {
                let text = rule.example(template, seed);
                let found = detector.scan(&text);
                if !found
                    .iter()
                    .any(|finding| finding.rule == rule.id || template.contains("{token}"))
                {
                    let got: Vec<_> = found.iter().map(|f| (f.rule.to_string(), f.score)).collect();
                    wrong.push(format!("{}: {text:?} gave {got:?}", rule.id));
                    break;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of the examples:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_rule_alone_finds_its_token_with_its_exact_bounds() {
    let mut wrong = Vec::new();
    for rule in rules().filter(|rule| !rule.pattern.is_empty()) {
        let mut builder = Detector::builder();
        for other in rules().filter(|other| other.id != rule.id) {
            builder = builder.rule(other.id, RuleSetting::OFF);
        }
        let detector = builder.build().unwrap();
        for template in rule.hits {
            for seed in 0..8 {
                let text = rule.example(template, seed);
                let found = detector.scan(&text);
                let token = rule.sample(seed).unwrap();
                let exact = found.iter().any(|f| text[f.range()] == token);
                if !exact {
                    wrong.push(format!("{}: {text:?} gave {found:?}", rule.id));
                    break;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of the rules:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_rule_finds_anything_in_its_counter_examples() {
    let detector = detector();
    let mut wrong = Vec::new();
    for rule in rules() {
        assert!(
            !rule.misses.is_empty() || rule.id.ends_with("-model"),
            "{} has no counter-example",
            rule.id
        );
        assert!(!rule.hits.is_empty() || rule.id.ends_with("-model"), "{} has no example", rule.id);
        for text in rule.misses {
            let found = detector.scan(text);
            if !found.is_empty() {
                wrong.push(format!("{}: {text:?} gave {found:?}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of the counter-examples:\n{}", wrong.len(), wrong.join("\n"));
}

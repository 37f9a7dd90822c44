//! Settings of people, before and after.

use super::{FORMS, Form, SettingsError, form, standing, with_hooks, without_hooks};
use crate::facts::{EventFacts, Facts};
use crate::host::host;

fn of(name: &str) -> (&'static Form, &'static Facts) {
    (form(name).unwrap(), host(name).unwrap().facts())
}

fn put(text: &str, name: &str) -> String {
    let (form, facts) = of(name);
    let command = |_: &EventFacts| format!("/usr/bin/tollgate hook {name}");
    with_hooks(text, form, facts, &command).unwrap()
}

fn taken(text: &str, name: &str) -> String {
    let (form, facts) = of(name);
    without_hooks(text, form, facts).unwrap()
}

const PERSONS: &str = "{
  // my own settings
  \"model\": \"opus\",   /* the big one */
  \"hooks\": {
    \"PreToolUse\": [
      { \"matcher\": \"Bash\", \"hooks\": [ { \"type\": \"command\", \"command\": \"~/bin/check.sh\" } ] }, // mine
    ],
    \"Notification\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"beep\"}]}]
  },
  \"permissions\": {\"deny\": [\"Read(.env)\"]}
}
";

#[test]
fn every_host_gets_a_hook_at_every_event_that_concerns_us() {
    for form in &FORMS {
        let (form, facts) = of(form.host);
        let text = put("", form.host);
        let found = standing(&text, form, facts).unwrap();
        let events: Vec<&str> = found.ours.iter().map(|hook| hook.event.as_str()).collect();
        let wanted = facts.events.iter().filter(|event| event.is_wanted());
        assert_eq!(events, wanted.map(|event| event.name).collect::<Vec<_>>(), "{text}");
        assert!(found.others.is_empty() && !found.all_off);
        assert!(found.ours.iter().all(|hook| hook.timeout > Some(0)), "{text}");
        assert!(found.ours.iter().all(|hook| hook.faults.is_empty()), "{:?}", found.ours);
        assert_eq!(found.ours.iter().all(|hook| hook.closed), form.closed.is_some(), "{text}");
        assert!(text.ends_with("}\n"), "{text}");
    }
}

#[test]
fn what_a_person_wrote_stays_byte_for_byte() {
    let text = put(PERSONS, "claude-code");
    for line in PERSONS.lines().filter(|line| line.trim().len() > 3) {
        assert!(text.contains(line.trim_end_matches(',')), "{line}\nin\n{text}");
    }
    let (form, facts) = of("claude-code");
    let found = standing(&text, form, facts).unwrap();
    let others: Vec<&str> = found.others.iter().map(|hook| hook.command.as_str()).collect();
    assert_eq!(others, ["~/bin/check.sh", "beep"]);
    assert_eq!(taken(&text, "claude-code"), PERSONS);
}

#[test]
fn a_hook_is_put_in_once_and_moves_only_when_it_has_changed() {
    for form in &FORMS {
        for text in ["", "{}", "{\n\t\"a\": 1\n}\n", PERSONS] {
            let once = put(text, form.host);
            assert_eq!(put(&once, form.host), once, "{}", form.host);
        }
    }
    let old = put(PERSONS, "claude-code").replace("/usr/bin/tollgate", "/old/place/tollgate");
    let new = put(&old, "claude-code");
    assert!(!new.contains("/old/place") && new.contains("~/bin/check.sh"), "{new}");
    let (form, facts) = of("claude-code");
    let count = |text| standing(text, form, facts).unwrap().ours.len();
    assert_eq!(count(&new), count(&old));
}

/// Changes to a good file of a host, each with a word of the fault that it is.
const WEAKENINGS: &[(&str, &str, &str, &str)] = &[
    ("claude-code", "\"block\"", "\"continue\"", "onFailure"),
    ("claude-code", "\"timeout\": 30", "\"timeout\": 0", "timeout"),
    ("claude-code", "\"timeout\": 30", "\"timeout\": \"30\"", "no whole number"),
    ("claude-code", "\"timeout\": 30", "\"timeout\": -1", "no whole number"),
    ("claude-code", "\"type\": \"command\"", "\"type\": \"prompt\"", "`prompt`"),
    ("claude-code", "\"timeout\": 30", "\"timeout\": 30, \"async\": true", "`async`"),
    ("claude-code", "\"timeout\": 30", "\"timeout\": 30, \"if\": \"Bash(ls:*)\"", "`if`"),
    ("claude-code", "\"timeout\": 30", "\"timeout\": 30, \"args\": []", "`args`"),
    ("claude-code", "\"hooks\": [\n", "\"matcher\": \"Read\", \"hooks\": [\n", "`Read`"),
    ("claude-code", "hook claude-code\"", "hook claude-code || true\"", "more, or other"),
    ("claude-code", "hook claude-code\"", "hook claude-code; exit 0\"", "more, or other"),
    ("claude-code", "hook claude-code\"", "hook claude-code 2>/dev/null\"", "more, or other"),
    ("claude-code", "hook claude-code\"", "hook claude-code # x\"", "more, or other"),
    ("claude-code", "hook claude-code\"", "hook claude-code --help\"", "more, or other"),
    ("claude-code", "/usr/bin/tollgate", "echo tollgate", "more, or other"),
    ("claude-code", "/usr/bin/tollgate", "timeout 0.001 /usr/bin/tollgate", "more, or other"),
    ("claude-code", "\"timeout\": 30", "\"timeout\": 30000", "another unit"),
    ("claude-code", "\"timeout\": 30", "\"timeout\": 30, \"enabled\": false", "`enabled`"),
    ("claude-code", "\"hooks\": [\n", "\"matcher\": 5, \"hooks\": [\n", "no text"),
    (
        "claude-code",
        "/usr/bin/tollgate hook claude-code",
        "sh -c 'tollgate hook claude-code ; :'",
        "more, or other",
    ),
    ("gemini", "\"timeout\": 30000", "\"timeout\": 30", "30 ms"),
    ("cursor", "\"failClosed\": true", "\"failClosed\": false", "failClosed"),
    ("cursor", "\"timeout\": 30", "\"timeout\": 30, \"matcher\": \"Shell\"", "matcher"),
    ("codex", "\"timeout\": 30", "\"timeout\": 30, \"async\": true", "`async`"),
    ("copilot", "\"timeoutSec\": 30", "\"timeoutSec\": 30, \"cwd\": \"/x\"", "`cwd`"),
];

#[test]
fn a_weakened_hook_is_named_and_put_right() {
    for (name, from, to, word) in WEAKENINGS {
        let (form, facts) = of(name);
        let good = put("{}", name);
        let weak = good.replacen(from, to, 1);
        assert_ne!(weak, good, "{from} in {good}");
        let found = standing(&weak, form, facts).unwrap();
        let faults: Vec<&String> = found.ours.iter().flat_map(|hook| &hook.faults).collect();
        assert!(faults.iter().any(|fault| fault.contains(word)), "{to}: {faults:?}");
        let put = put(&weak, name);
        let found = standing(&put, form, facts).unwrap();
        assert!(found.ours.iter().all(|hook| hook.faults.is_empty()), "{put}");
        assert!(found.others.is_empty(), "{put}");
    }
}

#[test]
fn what_changes_nothing_of_a_hook_is_no_fault() {
    for (name, from, to) in [
        ("claude-code", "\"timeout\": 30", "\"timeout\": 60, \"statusMessage\": \"asking\""),
        ("claude-code", "\"timeout\": 30", "\"timeout\": 30, \"async\": false"),
        ("claude-code", "\"hooks\": [\n", "\"matcher\": \"*\", \"hooks\": [\n"),
        ("claude-code", "/usr/bin/tollgate hook", "'/my own/tollgate' hook"),
        (
            "claude-code",
            "hook claude-code\"",
            "hook claude-code --policy '/my own/p.yaml' --state /s\"",
        ),
        ("gemini", "\"hooks\": [\n", "\"sequential\": true, \"hooks\": [\n"),
    ] {
        let (form, facts) = of(name);
        let good = put("{}", name);
        let other = good.replacen(from, to, 1);
        assert_ne!(other, good, "{from} in {good}");
        let found = standing(&other, form, facts).unwrap();
        assert!(found.ours.iter().all(|hook| hook.faults.is_empty()), "{:?}", found.ours);
    }
}

#[test]
fn a_hook_that_is_listed_as_off_is_named() {
    let (form, facts) = of("gemini");
    for (name, off) in
        [("\"name\": \"gate\", ", "\"gate\""), ("", "\"/usr/bin/tollgate hook gemini\"")]
    {
        let text = put("{}", "gemini").replacen("\"type\"", &format!("{name}\"type\""), 1);
        let listed = |off: &str| {
            text.replacen('{', &format!("{{\n  \"hooksConfig\": {{\"disabled\": [{off}]}},"), 1)
        };
        let faults = |text: &str| {
            let found = standing(text, form, facts).unwrap();
            found.ours.iter().flat_map(|hook| hook.faults.clone()).collect::<Vec<_>>()
        };
        assert!(faults(&listed(off)).iter().any(|fault| fault.contains("off")), "{off}");
        assert_eq!(faults(&listed("\"another\"")), [""; 0]);
    }
}

#[test]
fn a_file_that_a_strict_host_passes_over_is_no_good_one() {
    let (form, facts) = of("cursor");
    let good = put("", "cursor");
    for (from, to) in
        [("\"version\": 1,", ""), ("\"hooks\": {", "\"hooks\": {\"beforeLunch\": [],")]
    {
        let other = good.replacen(from, to, 1);
        assert_ne!(other, good);
        assert!(matches!(standing(&other, form, facts), Err(SettingsError::Shape { .. })));
    }
}

#[test]
fn the_indentation_and_line_ends_of_the_file_are_kept() {
    let tabs = put("{\n\t\"model\": \"x\"\n}\n", "gemini");
    assert!(tabs.contains("\n\t\"hooks\": {\n\t\t\""), "{tabs}");
    let dos = put("{\r\n  \"model\": \"x\"\r\n}\r\n", "gemini");
    assert!(!dos.replace("\r\n", "").contains('\n'), "{dos:?}");
}

#[test]
fn what_no_host_could_read_is_refused() {
    let (form, facts) = of("claude-code");
    let command = |_: &EventFacts| "tollgate hook claude-code".to_owned();
    let refused = |text: &str| with_hooks(text, form, facts, &command).unwrap_err();
    for text in ["{", "{'a': 1}", "{\"a\": 1 \"b\": 2}", "{a: 1}", "}", "{} {}", "nothing"] {
        assert!(matches!(refused(text), SettingsError::Syntax { .. }), "{text}");
    }
    for text in ["[]", "1", "{\"hooks\": []}", "{\"hooks\": {\"PreToolUse\": {}}}"] {
        assert!(matches!(refused(text), SettingsError::Shape { .. }), "{text}");
    }
    for text in ["{\"hooks\": {}, \"hooks\": {}}", "{\"hooks\": {\"Stop\": [], \"Stop\": []}}"] {
        assert!(matches!(refused(text), SettingsError::Twice { .. }), "{text}");
    }
}

#[test]
fn switches_that_turn_all_hooks_off_are_seen() {
    for (name, text) in [
        ("claude-code", "{\"disableAllHooks\": true}"),
        ("gemini", "{\"hooksConfig\": {\"disabled\": true}}"),
        ("copilot", "{\"disableAllHooks\": true}"),
    ] {
        let (form, facts) = of(name);
        assert!(standing(text, form, facts).unwrap().all_off);
        assert!(!standing(&text.replace("true", "false"), form, facts).unwrap().all_off);
    }
}

#[test]
fn only_calls_of_our_hook_are_taken_for_ours() {
    let (form, facts) = of("codex");
    let ours = |command: &str| {
        let text =
            format!("{{\"hooks\": {{\"Stop\": [{{\"hooks\": [{{\"command\": {command:?}}}]}}]}}}}");
        standing(&text, form, facts).unwrap().ours.len() == 1
    };
    assert!(ours("tollgate hook codex"));
    assert!(ours("'/o p/tollgate' hook codex --policy '/p'"));
    assert!(ours("sh -c 'command -v tollgate || exit 2; exec tollgate hook codex'"));
    assert!(!ours("tollgate hook claude-code"));
    assert!(!ours("hook codex"));
    assert!(!ours("tollgate status"));
}

//! Policy text and event to decision.

use super::rig::{Rig, call, words};

const DESIGN: &str = r#"
version: 1
mode: enforce
default: { pre_tool: allow }
groups: { finance: [alice, bob] }
audit: { store: "file:default", durability: before_effect }
tools:
  arguments:
    write_file: { writes: path }
    remove: { deletes: path }
    http_get: { contacts: url }

hooks:
  - name: protect-tests
    on: pre_tool
    match: { writes: "**/test_*.py" }
    deny: "test files are protected, agents may not change them"

  - name: stay-inside
    on: pre_tool
    match: { deletes: { outside: workspace } }
    deny: "deletion outside the workspace"

  - name: clamp-listing
    on: pre_tool
    match: { tool: list_files }
    rewrite: { max_entries: { default: 10, max: 10 } }

  - name: large-transfers-need-a-person
    on: pre_tool
    match: { tool: transfer }
    when: "args.amount > 1000 && !('finance' in user.groups)"
    ask: { who: finance, expires: 15m }

  - name: cost-guard
    on: pre_model
    when: "session.model_calls > 10"
    abort: { code: COST_LIMIT, reason: "model call count exceeded its limit" }

  - name: calls-per-minute
    on: pre_tool
    limit: { rate: 30/min, per: [session, tool] }

  - name: new-rule-on-trial
    on: pre_tool
    match: { hosts: ["*.example.net"] }
    dry_run: { until: 2027-01-15 }
    rollout: { percent: 20, by: tenant }
    deny: { code: EXTERNAL_HOST, reason: "not on the list" }
"#;

#[test]
fn the_policy_of_the_design_decides_as_it_says() {
    let rig = Rig::new(DESIGN);
    for (tool, arguments, expected) in [
        ("write_file", r#"{"path":"pkg/test_a.py"}"#, "deny by protect-tests"),
        ("write_file", r#"{"path":"pkg/a.py"}"#, "allow"),
        ("write_file", r#"{"path":"pkg/../test_x.py"}"#, "deny by protect-tests"),
        ("remove", r#"{"path":"/etc/passwd"}"#, "deny by stay-inside"),
        ("remove", r#"{"path":"../other"}"#, "deny by stay-inside"),
        ("remove", r#"{"path":"a"}"#, "allow"),
        ("transfer", r#"{"amount":5000}"#, "allow"),
        ("http_get", r#"{"url":"https://a.example.net/x"}"#, "allow"),
    ] {
        assert_eq!(rig.verdict(tool, arguments), expected, "{tool} {arguments}");
    }
    let listed = rig.call("list_files", r#"{"max_entries":100}"#);
    assert_eq!(listed.payload.tool_call().unwrap().arguments.text(), r#"{"max_entries":10}"#);
    let others = call("transfer", r#"{"amount":5000}"#).replace("alice", "mallory");
    let asked = rig.decide(&others);
    assert_eq!(words(&asked), "deny by large-transfers-need-a-person");
    assert_eq!(asked.code.unwrap().as_str(), "approval_required");
}

#[test]
fn every_match_key_decides_whether_a_hook_concerns_an_event() {
    // A match, an event that it matches and one that it does not.
    let with = |old: &str, new: &str| {
        call("read", r#"{"path":"a","n":5,"files":[{"name":"x"}]}"#).replace(old, new)
    };
    let plain = with("", "");
    for (matching, yes, no) in [
        ("{ tool: read }", plain.clone(), with(r#""tool":"read""#, r#""tool":"write""#)),
        ("{ tool: [\"re*\", x] }", plain.clone(), with(r#""tool":"read""#, r#""tool":"write""#)),
        ("{ server: \"gh*\" }", with(r#""tool":"#, r#""server":"gh1","tool":"#), plain.clone()),
        ("{ tenant: acme }", plain.clone(), with("acme", "other")),
        ("{ user: [alice, bob] }", plain.clone(), with("alice", "carol")),
        ("{ agent: \"cod*\" }", plain.clone(), with("coder", "writer")),
        ("{ host: claude }", with(r#""cwd""#, r#""host":"claude","cwd""#), plain.clone()),
        (
            "{ tags: [a, b] }",
            with("{\"kind\"", r#"{"tags":["b","a"],"kind""#),
            with("{\"kind\"", r#"{"tags":["a"],"kind""#),
        ),
        ("{ any_tag: [a, b] }", with("{\"kind\"", r#"{"tags":["b"],"kind""#), plain.clone()),
        ("{ args.path: a }", plain.clone(), with(r#""path":"a""#, r#""path":"b""#)),
        ("{ args.n: 5 }", plain.clone(), with(r#""n":5"#, r#""n":6"#)),
        ("{ args.files.*.name: x }", plain.clone(), with(r#""name":"x""#, r#""name":"y""#)),
        ("{ payload.tool: read }", plain.clone(), with(r#""tool":"read""#, r#""tool":"write""#)),
        ("{ any: [{ user: bob }, { args.n: 5 }] }", plain.clone(), with(r#""n":5"#, r#""n":6"#)),
        ("{ all: [{ user: alice }, { args.n: 5 }] }", plain.clone(), with("alice", "bob")),
        ("{ not: { user: bob } }", plain.clone(), with("alice", "bob")),
        ("{ tool: readers }", plain.clone(), with(r#""tool":"read""#, r#""tool":"write""#)),
        ("{ tool: [\"list\"] }", with(r#""tool":"read""#, r#""tool":"ls""#), plain.clone()),
    ] {
        let text = format!(
            "version: 1\ntools: {{ groups: {{ readers: [read, list] }}, aliases: {{ list: [ls] }} }}\nhooks:\n  - {{ name: h, on: pre_tool, match: {matching}, deny: no }}\n"
        );
        let rig = Rig::new(&text);
        assert_eq!(words(&rig.decide(&yes)), "deny by h", "{matching} must match");
        assert_eq!(words(&rig.decide(&no)), "allow", "{matching} must not match");
    }
}

#[test]
fn braces_around_tool_names_never_take_the_place_of_a_name_that_stands_alone() {
    let policy = |tools: &str| {
        let hook = format!("{{ name: p, on: pre_tool, permission: {{ tools: {tools} }} }}");
        Rig::new(&format!("version: 1\nhooks:\n  - {hook}\n"))
    };
    let rig = policy(r#"{ edit: deny, "{edit,view}": allow }"#);
    assert_eq!(rig.verdict("edit", "{}"), "deny by p");
    assert_eq!(rig.verdict("view", "{}"), "allow by p");
    // Of several globs the strictest holds, in whatever order they stand.
    let rig = policy(r#"{ "{edit,a}": deny, "{edit,b}": allow }"#);
    assert_eq!(rig.verdict("edit", "{}"), "deny by p");
}

#[test]
fn a_refusal_cannot_pass_for_a_failure_of_the_tool() {
    for code in ["tool_error", "unknown_tool", "invalid_arguments"] {
        let hook = format!("{{ name: h, on: pre_tool, deny: {{ code: {code}, reason: no }} }}");
        let text = format!("version: 1\nhooks:\n  - {hook}\n");
        let options = tollgate_policy::LoadOptions::new(super::rig::now());
        let failure = tollgate_policy::load_text("tollgate.yaml", &text, &options).err().unwrap();
        assert!(failure.to_string().contains("a call that fails by itself"), "{failure}");
    }
}

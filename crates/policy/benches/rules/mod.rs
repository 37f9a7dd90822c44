//! The policies that the benches of loading share.

use std::fmt::Write as _;

/// A policy of so many rules. Every rule has a match on an exact tool and a path, a condition, and a
/// refusal with a code.
pub(crate) fn policy_of(rules: usize) -> String {
    let mut text = "version: 1\ngroups: { ops: [alice] }\nhooks:\n".to_owned();
    for at in 0..rules {
        let _ = writeln!(
            text,
            "  - name: rule-{at}\n    on: pre_tool\n    match: {{ tool: tool_{at}, args.path: \"src/*/{at}_*\" }}\n    when: \"args.n > {at} && 'ops' in user.groups\"\n    deny: {{ code: CODE_{at}, reason: \"rule {at} refuses this\" }}"
        );
    }
    text
}

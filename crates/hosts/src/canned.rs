//! A shell call as each host would tell its hook of it, and whether what the hook answers refuses it in
//! that host's words: for `tollgate try`, and for the doctor's proof that a refusal arrives.
//!
//! Refused: a lenient reading. A host lets the call run on most answers, so only what is known to
//! block counts: by running it, or, for hosts known from documents, by their word.

use tollgate_gate::{Json, Object};

/// A shell call in a host's own words, as one line of JSON; `None` for an unknown host.
pub fn shell_call(host: &str, session: &str, cwd: &str, command: &str) -> Option<String> {
    let texts = |pairs: &[(&str, &str)]| -> Object { pairs.iter().copied().collect() };
    let input = texts(&[("command", command)]);
    let mut call = match host {
        "claude-code" => texts(&[
            ("session_id", session),
            ("transcript_path", "/dev/null"),
            ("cwd", cwd),
            ("hook_event_name", "PreToolUse"),
            ("permission_mode", "default"),
            ("tool_name", "Bash"),
            ("tool_use_id", "toolu_tollgate"),
        ]),
        "codex" => texts(&[
            ("session_id", session),
            ("turn_id", "1"),
            ("cwd", cwd),
            ("hook_event_name", "PreToolUse"),
            ("model", "none"),
            ("permission_mode", "default"),
            ("tool_name", "Bash"),
            ("tool_use_id", "call_tollgate"),
        ]),
        "gemini" => texts(&[
            ("session_id", session),
            ("transcript_path", "/dev/null"),
            ("cwd", cwd),
            ("hook_event_name", "BeforeTool"),
            ("timestamp", "2026-01-01T00:00:00.000Z"),
            ("tool_name", "run_shell_command"),
        ]),
        "copilot" => texts(&[("sessionId", session), ("cwd", cwd), ("toolName", "bash")]),
        "cursor" => texts(&[
            ("conversation_id", session),
            ("generation_id", "1"),
            ("session_id", session),
            ("cwd", cwd),
            ("hook_event_name", "preToolUse"),
            ("model", "none"),
            ("cursor_version", "3.0.0"),
            ("tool_name", "Shell"),
            ("tool_use_id", "tollgate"),
        ]),
        _ => return None,
    };
    match host {
        "copilot" => {
            call.insert("timestamp", 1_767_225_600_000_u64);
            call.insert("toolArgs", Json::from(input).text());
        }
        "codex" => {
            call.insert("transcript_path", Option::<&str>::None);
            call.insert("tool_input", input);
        }
        "cursor" => {
            call.insert("workspace_roots", vec![cwd]);
            call.insert("tool_input", input);
        }
        _ => {
            call.insert("tool_input", input);
        }
    }
    let mut line = Json::from(call).text();
    line.push('\n');
    Some(line)
}

/// The reason of a refusal, if a hook's answer to a [`shell_call`] is one that the host obeys: exit
/// code, standard output, standard error.
pub fn refusal(host: &str, code: Option<i32>, out: &str, err: &str) -> Option<String> {
    if code == Some(2) {
        // The one answer that blocks with all of them; Codex wants to be told why.
        return Some(err.trim().to_owned()).filter(|reason| !reason.is_empty());
    }
    if code != Some(0) {
        return None;
    }
    let answer = Json::read(out.as_bytes()).ok()?;
    let text = |json: &Json, key: &str| json.get(key).and_then(Json::as_str).map(str::to_owned);
    let says_no = |json: &Json, key: &str| text(json, key).as_deref() == Some("deny");
    let reason = match host {
        "claude-code" | "codex" => {
            let specific = answer.get("hookSpecificOutput")?;
            let is_named = text(specific, "hookEventName").as_deref() == Some("PreToolUse");
            (is_named && says_no(specific, "permissionDecision"))
                .then(|| text(specific, "permissionDecisionReason"))?
        }
        "gemini" => says_no(&answer, "decision").then(|| text(&answer, "reason"))?,
        "copilot" => {
            let denied = says_no(&answer, "permissionDecision");
            denied.then(|| text(&answer, "permissionDecisionReason"))?
        }
        "cursor" => {
            let words = text(&answer, "agent_message").or_else(|| text(&answer, "user_message"));
            says_no(&answer, "permission").then_some(words)?
        }
        _ => None,
    };
    reason.filter(|reason| !reason.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::{refusal, shell_call};
    use crate::host::HOSTS;
    use tollgate_gate::Json;

    #[test]
    fn every_host_has_a_call_of_its_own() {
        for host in HOSTS {
            let name = host.facts().name;
            let line = shell_call(name, "s", "/w", "echo \"a\nb\"").unwrap();
            assert_eq!(line.matches('\n').count(), 1, "{line}");
            let call = Json::read(line.as_bytes()).unwrap();
            assert!(call.as_object().unwrap().len() >= 4, "{line}");
        }
        assert_eq!(shell_call("other", "s", "/w", "x"), None);
    }

    #[test]
    fn only_what_the_host_obeys_is_a_refusal() {
        let deny = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#;
        assert_eq!(refusal("claude-code", Some(0), deny, "").as_deref(), Some("no"));
        assert_eq!(refusal("codex", Some(0), deny, "").as_deref(), Some("no"));
        for host in ["claude-code", "codex", "gemini", "copilot", "cursor"] {
            assert_eq!(refusal(host, Some(2), "", "why\n").as_deref(), Some("why"));
            assert_eq!(refusal(host, Some(2), "", ""), None);
            assert_eq!(refusal(host, Some(0), "", ""), None, "silence is consent");
            assert_eq!(refusal(host, Some(1), deny, "x"), None);
            assert_eq!(refusal(host, None, deny, "x"), None, "killed");
            assert_eq!(refusal(host, Some(0), &format!("hello\n{deny}"), ""), None, "a banner");
            assert_eq!(refusal(host, Some(0), &deny.replace("deny", "ask"), ""), None);
            assert_eq!(refusal(host, Some(0), &deny.replace("\"no\"", "\" \""), ""), None);
        }
        assert_eq!(refusal("gemini", Some(0), deny, ""), None, "another host's words");
        assert_eq!(refusal("claude-code", Some(0), r#"{"permissionDecision":"deny"}"#, ""), None);
        let gemini = r#"{"decision":"deny","reason":"no"}"#;
        assert_eq!(refusal("gemini", Some(0), gemini, "").as_deref(), Some("no"));
        assert_eq!(refusal("codex", Some(0), gemini, ""), None);
    }
}

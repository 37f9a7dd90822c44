//! From the tree to the raw form. What does not fit was reported by the shapes and is left out here.

use super::node::{Node, Value};
use super::raw::{
    RawAction, RawAlert, RawEnv, RawException, RawHook, RawInclude, RawPolicy, RawTools, Spanned,
};
use super::shape::{Checker, parse_duration};
use super::shapes::{HOOK, POLICY};
use super::{traps, yaml};
use crate::diagnostic::{Diagnostic, Place, SourceId, Span};
use crate::limits::POLICY_BYTES_MAX;
use crate::load::Pinning;
use tollgate_gate::{
    DefaultVote, DryRun, Durability, KindSet, Mode, Name, OnFailure, Resolution, Roles, Rollout,
    RolloutBy, Sees, Timestamp,
};

/// What came of reading a file.
pub(crate) struct Read {
    /// The raw form, as far as it could be read.
    pub(crate) policy: Option<RawPolicy>,
    pub(crate) problems: Vec<Diagnostic>,
    /// Whether the file is a policy at all, so that its lines may be shown.
    pub(crate) is_policy: bool,
}

/// Reads the text of a policy file.
pub(crate) fn read_policy(source: SourceId, text: &str) -> Read {
    if text.len() > POLICY_BYTES_MAX {
        let place = Place { source, span: Span::default() };
        let message = format!("larger than {POLICY_BYTES_MAX} bytes");
        let problems = vec![
            Diagnostic::error("too-large", place, message)
                .with_remedy("split the policy into included files"),
        ];
        return Read { policy: None, problems, is_policy: false };
    }
    let (root, mut problems) = yaml::read(source, text);
    let is_policy = match &root {
        Some(root) => has_policy_keys(root.entries().iter().map(|entry| entry.key.as_str())),
        None => has_policy_keys(top_keys(text)),
    };
    if !is_policy {
        let place = Place { source, span: Span::default() };
        let diagnostic = Diagnostic::error("not-a-policy", place, "this file is not a policy")
            .with_remedy("a policy has the top keys `version: 1` and `hooks:`");
        return Read { policy: None, problems: vec![diagnostic], is_policy };
    }
    let Some(mut root) = root else {
        return Read { policy: None, problems, is_policy };
    };
    problems.extend(traps::silent(source, text, &mut root));
    Checker { source, problems: &mut problems }.object(&root, &POLICY, "policy");
    Read { policy: Some(policy(source, &root)), problems, is_policy }
}

/// The keys at the start of lines, for a text that is no YAML as a whole.
fn top_keys(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.split_once(':')).map(|(key, _)| key.trim_matches('"'))
}

fn has_policy_keys<'k>(keys: impl Iterator<Item = &'k str>) -> bool {
    let (mut version, mut other) = (false, false);
    for key in keys {
        version |= key == "version";
        other |= key != "version" && POLICY.keys.iter().any(|known| known.name == key);
    }
    version && other
}

fn policy(source: SourceId, root: &Node) -> RawPolicy {
    let mut raw = RawPolicy { source, ..RawPolicy::default() };
    for entry in root.entries() {
        raw.keys.push(Spanned::new(entry.key.clone(), entry.key_span));
    }
    raw.mode = word(root.get("mode")).and_then(|word| match word {
        "enforce" => Some(Mode::Enforce),
        "dry_run" => Some(Mode::DryRun),
        "off" => Some(Mode::Off),
        _ => None,
    });
    raw.resolution = word(root.get("resolution")).and_then(|word| match word {
        "first_deny" => Some(Resolution::FirstDeny),
        "collect" => Some(Resolution::Collect),
        _ => None,
    });
    raw.open_on_error = word(root.get("on_internal_error")).map(|word| word == "open");
    raw.defaults = defaults(root.get("default"));
    let audit = root.get("audit");
    raw.audit_store = text(audit.and_then(|audit| audit.get("store")));
    raw.durability =
        word(audit.and_then(|audit| audit.get("durability"))).and_then(|word| match word {
            "before_effect" => Some(Durability::BeforeEffect),
            "buffered" => Some(Durability::Buffered),
            _ => None,
        });
    raw.alerts = items(root.get("alerts")).iter().filter_map(alert).collect();
    raw.pinning =
        word(root.get("mcp").and_then(|mcp| mcp.get("pin"))).and_then(|word| match word {
            "warn" => Some(Pinning::Warn),
            "deny" => Some(Pinning::Deny),
            "off" => Some(Pinning::Off),
            _ => None,
        });
    let sessions = root.get("sessions");
    let duration = |key: &str| {
        sessions.and_then(|s| s.get(key)).and_then(Node::as_str).and_then(parse_duration)
    };
    raw.session_store = text(sessions.and_then(|sessions| sessions.get("store")));
    raw.session_idle = duration("idle");
    raw.session_lease = duration("lease");
    for entry in entries(root.get("groups")) {
        let members = strings(Some(&entry.node)).into_iter().map(Name::from).collect();
        raw.groups.push((Spanned::new(entry.key.as_str().into(), entry.key_span), members));
    }
    for entry in entries(root.get("approvers")) {
        let key = text(Some(&entry.node)).unwrap_or_default();
        raw.approvers.push((Spanned::new(entry.key.as_str().into(), entry.key_span), key));
    }
    raw.tools = root.get("tools").map(tools).unwrap_or_default();
    raw.programs = spanned_strings(root.get("programs"));
    raw.env = entries(root.get("env")).iter().map(env).collect();
    raw.locked = spanned_strings(root.get("locked"))
        .into_iter()
        .map(|spanned| Spanned::new(Name::from(spanned.value), spanned.span))
        .collect();
    raw.includes = items(root.get("include")).iter().filter_map(include).collect();
    raw.hooks = items(root.get("hooks")).iter().filter_map(hook).collect();
    raw.exceptions = items(root.get("exceptions")).iter().filter_map(exception).collect();
    raw
}

fn entries(node: Option<&Node>) -> &[super::node::Entry] {
    node.map_or(&[], Node::entries)
}

fn items(node: Option<&Node>) -> &[Node] {
    node.map_or(&[], Node::items)
}

fn word(node: Option<&Node>) -> Option<&str> {
    node.and_then(Node::as_str)
}

fn text(node: Option<&Node>) -> Option<String> {
    word(node).map(str::to_owned)
}

/// One or a list of scalars, as texts.
pub(super) fn strings(node: Option<&Node>) -> Vec<String> {
    spanned_strings(node).into_iter().map(|spanned| spanned.value).collect()
}

fn spanned_strings(node: Option<&Node>) -> Vec<Spanned<String>> {
    let nodes = node.map_or(&[] as &[Node], Node::one_or_many);
    nodes.iter().filter_map(|n| Some(Spanned::new(n.scalar_text()?, n.span))).collect()
}

fn defaults(node: Option<&Node>) -> Vec<Spanned<(KindSet, DefaultVote)>> {
    let read = |entry: &super::node::Entry| {
        let vote = match entry.node.as_str()? {
            "allow" => DefaultVote::Allow,
            "ask" => DefaultVote::Ask,
            "deny" => DefaultVote::Deny,
            _ => return None,
        };
        Some(Spanned::new((KindSet::from_name(&entry.key)?, vote), entry.key_span))
    };
    entries(node).iter().filter_map(read).collect()
}

fn tools(node: &Node) -> RawTools {
    let named = |key: &str| {
        let entries = entries(node.get(key)).iter();
        entries.map(|e| (Spanned::new(e.key.clone(), e.key_span), strings(Some(&e.node)))).collect()
    };
    let arguments = entries(node.get("arguments")).iter().map(|tool| {
        let roles = tool.node.entries().iter().flat_map(|effect| {
            let names = strings(Some(&effect.node)).into_iter();
            names.map(|argument| (effect.key.clone(), argument))
        });
        (tool.key.clone(), roles.collect())
    });
    RawTools {
        names: strings(node.get("names")),
        aliases: named("aliases"),
        groups: named("groups"),
        read_only: spanned_strings(node.get("read_only")),
        writing: spanned_strings(node.get("writing")),
        arguments: arguments.collect(),
    }
}

fn env(entry: &super::node::Entry) -> RawEnv {
    RawEnv {
        name: Spanned::new(entry.key.clone(), entry.key_span),
        default: text(entry.node.get("default")),
        secret: entry.node.get("secret").and_then(Node::as_bool).unwrap_or(false),
    }
}

fn alert(node: &Node) -> Option<RawAlert> {
    let text = |key: &str| {
        let node = node.get(key)?;
        Some(Spanned::new(node.as_str()?.to_owned(), node.span))
    };
    let refusals = node.get("refusals_per_minute").and_then(|node| {
        let Value::Number(number) = &node.value else { return None };
        u32::try_from(number.as_u64()?).ok()
    });
    Some(RawAlert {
        name: text("name")?,
        to: text("to")?,
        header_file: text("header_file"),
        ca_file: text("ca_file"),
        severity: text("severity").map(|severity| severity.value),
        refusals_per_minute: refusals,
    })
}

fn include(node: &Node) -> Option<RawInclude> {
    let file = node.get("file")?;
    let roles = items(node.get("grant")).iter().filter_map(Node::as_str);
    let roles = roles.fold(Roles::default(), |roles, word| {
        roles.and(match word {
            "watch" => Roles::WATCH,
            "rewrite" => Roles::REWRITE,
            "judge" => Roles::JUDGE,
            _ => Roles::default(),
        })
    });
    let only = node.get("only");
    let globs = |key: &str| strings(only.and_then(|only| only.get(key)));
    Some(RawInclude {
        file: Spanned::new(file.as_str()?.to_owned(), file.span),
        roles,
        tenants: globs("tenant"),
        agents: globs("agent"),
        tools: globs("tool"),
    })
}

fn exception(node: &Node) -> Option<RawException> {
    let hook = node.get("hook")?;
    Some(RawException {
        hook: Spanned::new(hook.as_str()?.into(), hook.span),
        matching: node.get("match")?.clone(),
        reason: text(node.get("reason"))?,
        until: word(node.get("until")).and_then(Timestamp::parse),
    })
}

fn hook(node: &Node) -> Option<RawHook> {
    let name = node.get("name")?;
    let on = node.get("on");
    let kinds = on.map_or(&[] as &[Node], Node::one_or_many).iter();
    let kinds = kinds
        .filter_map(|kind| KindSet::from_name(kind.as_str()?))
        .fold(KindSet::default(), KindSet::union);
    let is_action =
        |key: &str| HOOK.keys.iter().all(|k| k.name != key) && crate::actions::find(key).is_some();
    let actions = node.entries().iter().filter(|entry| is_action(&entry.key));
    let actions = actions.map(|entry| RawAction {
        name: Spanned::new(entry.key.clone(), entry.key_span),
        value: entry.node.clone(),
    });
    let flag = |key: &str| node.get(key).and_then(Node::as_bool);
    let key_span = |key: &str| node.entry(key).map(|entry| entry.key_span);
    Some(RawHook {
        name: Spanned::new(name.as_str()?.into(), name.span),
        kinds: Spanned::new(kinds, on.map_or(name.span, |on| on.span)),
        matching: node.get("match").cloned(),
        when: node.get("when").filter(|when| when.as_str().is_some()).cloned(),
        unless: node.get("unless").filter(|n| !n.is_broken()).cloned(),
        actions: actions.collect(),
        priority: node.get("priority").and_then(Node::as_i64).and_then(|p| i32::try_from(p).ok()),
        enabled: flag("enabled").unwrap_or(true),
        dry_run: node.entry("dry_run").map(|e| Spanned::new(dry_run(&e.node), e.key_span)),
        rollout: node
            .entry("rollout")
            .and_then(|e| Some(Spanned::new(rollout(&e.node)?, e.key_span))),
        on_failure: word(node.get("on_failure")).map(|word| {
            let on_failure = if word == "open" { OnFailure::Open } else { OnFailure::Closed };
            Spanned::new(on_failure, key_span("on_failure").unwrap_or_default())
        }),
        timeout: word(node.get("timeout")).and_then(parse_duration),
        sees: if word(node.get("sees")) == Some("original") {
            Sees::Original
        } else {
            Sees::Current
        },
        severity: text(node.get("severity")),
        description: text(node.get("description")),
        locked: flag("locked").unwrap_or(false),
        broken: node.has_broken(),
        overrides: if flag("override") == Some(true) { key_span("override") } else { None },
    })
}

fn dry_run(node: &Node) -> DryRun {
    match &node.value {
        Value::Bool(false) => DryRun::No,
        Value::Map(_) => {
            word(node.get("until")).and_then(Timestamp::parse).map_or(DryRun::Yes, DryRun::Until)
        }
        Value::Bool(true)
        | Value::Null
        | Value::Number(_)
        | Value::Text(_)
        | Value::List(_)
        | Value::Broken => DryRun::Yes,
    }
}

fn rollout(node: &Node) -> Option<Rollout> {
    let percent = u8::try_from(node.get("percent")?.as_i64()?).ok()?;
    let by = match word(node.get("by")) {
        Some("tenant") => RolloutBy::Tenant,
        Some("user") => RolloutBy::User,
        _ => RolloutBy::Session,
    };
    Some(Rollout::percent(percent, by))
}

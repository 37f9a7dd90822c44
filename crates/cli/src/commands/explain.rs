//! `tollgate explain`: why an event is decided as it is, hook by hook.

use crate::args::{ExplainArguments, Format, Globals};
use crate::commands::decide::quiet_gate;
use crate::desk::{Desk, LINE_CHARS_MAX, run as block_on, unopened};
use crate::effects;
use crate::exit::{Exit, Failure};
use crate::output::answer;
use crate::past::{self, Last};
use serde_json::{Value, json};
use std::path::Path;
use tollgate::gate::scrub::scrub_json;
use tollgate::gate::text::shown;
use tollgate::gate::{Decision, Event, Json, VoteKind};
use tollgate::is_guard;
use tollgate::policy::detection::DetectScrub;
use tollgate::policy::{Explanation, explain};

pub(crate) fn run(globals: &Globals, arguments: &ExplainArguments) -> Result<Exit, Failure> {
    let desk = Desk::new(globals)?;
    let loaded = past::policy(&desk, globals)?;
    let ledger = arguments.ledger.as_deref();
    let past = past::find(&desk, &loaded, &arguments.which, ledger, Last::Decided)?;
    let at = past.event.at;
    let rows = arguments.effects.then(|| effects::rows(&loaded.settings.tools, &past.event));
    let explanation = block_on(explain(&loaded, past.event.clone(), at))?;
    let mut explanation = explanation.map_err(Failure::internal)?;
    guarded(globals, &past.event, &mut explanation)?;
    explanation.notes.extend(past.notes(&loaded, explanation.verdict));
    if globals.policy.is_empty() {
        explanation.notes.extend(switched(&desk)?);
    }
    match arguments.format {
        Format::Text => {
            let table = rows.map(|rows| format!("{}\n", effects::table(&rows)));
            let table = table.unwrap_or_default();
            answer(&format!("{}{table}{}", past.headline(), explanation.text()))?;
        }
        Format::Json => {
            let mut out = json!({ "version": 1, "record": past.origin() });
            let whole = serde_json::to_value(&explanation).map_err(Failure::internal)?;
            let whole = without_secrets(whole);
            if let (Some(out), Value::Object(whole)) = (out.as_object_mut(), whole) {
                out.extend(whole);
                out.extend(rows.map(|rows| ("effects".to_owned(), json!(rows))));
            }
            answer(&format!("{out:#}\n"))?;
        }
    }
    Ok(Exit::Done)
}

/// The gate guards itself before any hook of a policy is asked: an explanation that left this out would
/// say that a call goes through which does not.
fn guarded(globals: &Globals, event: &Event, explanation: &mut Explanation) -> Result<(), Failure> {
    let place = event.session.workspace.as_deref().or(event.session.cwd.as_deref());
    let place = place.map(Path::new).filter(|place| place.is_dir()).unwrap_or(Path::new("."));
    let gate = quiet_gate(globals, place).map_err(|error| unopened(&error))?;
    let decision = block_on(gate.gate().judge(event.clone()))?;
    let guard = decision.hook.as_deref().filter(|hook| is_guard(hook));
    if let Some(guard) = guard.map(str::to_owned) {
        explanation.verdict = VoteKind::Deny;
        let payload = explanation.decision.payload.clone();
        explanation.decision = Decision { payload, ..decision };
        explanation
            .notes
            .push(format!("`{guard}` holds under every policy; the hooks are shown without it"));
    }
    Ok(())
}

/// What an explanation quotes of a call may have been refused before any hook masked it.
fn without_secrets(whole: Value) -> Value {
    let whole = Json::from(whole);
    match scrub_json(&DetectScrub::new(), &whole) {
        Some(clean) => Value::from(&clean),
        None => Value::from(&whole),
    }
}

/// Switches that hold now; an explanation looks at the policy as it is written.
fn switched(desk: &Desk) -> Result<Vec<String>, Failure> {
    let (switches, now) = (desk.switches()?, desk.now());
    let mut notes: Vec<String> = switches
        .disabled(now)
        .map(|(name, _)| {
            let name = shown(name, LINE_CHARS_MAX);
            format!("`{name}` is disabled by a switch, which is not looked at here")
        })
        .collect();
    if switches.paused(now).is_some() {
        notes.push("the hooks are paused by a switch, which is not looked at here".to_owned());
    }
    Ok(notes)
}

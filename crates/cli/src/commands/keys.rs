//! `tollgate keys`: the key that checkpoints are signed with, and a new one in its place.

use super::approvals::make_key;
use super::audit::own_keys;
use crate::args::{ApproverKeyCommand, Globals, KeysArguments, KeysCommand};
use crate::desk::{Desk, agreed, misplaced};
use crate::exit::{Exit, Failure};
use crate::output::{answer, say};
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;
use tollgate::gate::RecordKind;
use tollgate::ledger::LEDGER_KEY;
use tollgate::store::{PublicKey, Rotation};

pub(crate) fn run(globals: &Globals, arguments: &KeysArguments) -> Result<Exit, Failure> {
    let desk = Desk::new(globals)?;
    let keys = desk.places.keys().map_err(|error| misplaced(&error))?;
    match &arguments.command {
        KeysCommand::Approver { command: ApproverKeyCommand::New { file } } => {
            return make_key(&desk, file.as_deref());
        }
        KeysCommand::Show { json } => {
            let own = own_keys(&keys)?;
            let Some((now, before)) = own.split_first() else { return Err(none()) };
            let before: Vec<String> = before.iter().map(PublicKey::to_string).collect();
            if *json {
                let out = json!({ "version": 1, "key": now.to_string(), "before": before });
                answer(&format!("{out:#}\n"))?;
                return Ok(Exit::Done);
            }
            let mut out = format!("{now}\n");
            for key in &before {
                let _ = writeln!(out, "{key}  (before)");
            }
            say(&out)?;
        }
        KeysCommand::Rotate { yes } => {
            let file = keys.join(LEDGER_KEY);
            let question =
                format!("Put a new key in the place of the one in `{}`?", file.display());
            if !*yes && !agreed(&question)? {
                return Ok(Exit::No);
            }
            if !file.exists() {
                return Err(none());
            }
            rotate(&desk, &file)?;
        }
    }
    Ok(Exit::Done)
}

/// Puts a new key in the place of the old one, which is a record first, and signs with it, so that the
/// ledger holds the hand-over from now on.
fn rotate(desk: &Desk, file: &Path) -> Result<(), Failure> {
    let policy = desk.load()?;
    let rotation = Rotation::prepare(file, desk.now()).map_err(Failure::internal)?;
    let handover = rotation.handover();
    let detail = [
        ("switch", Some("key rotated".to_owned())),
        ("from", Some(handover.old.to_string())),
        ("to", Some(handover.new.to_string())),
    ];
    desk.record(&policy, RecordKind::Switch, None, &detail)?;
    let handover = rotation.carry_out().map_err(Failure::internal)?;
    say(&format!("{} signs from now on; {} vouches for it\n", handover.new, handover.old))?;
    desk.sign(&desk.ledger(&policy)?)
}

fn none() -> Failure {
    Failure::usage("there is no key yet", "it is made with the first signed record")
}

//! `tollgate audit verify` and `anchor`: whether the ledger is the one that was written, and putting
//! aside what shows it.

use super::Place;
use crate::args::{AnchorArguments, VerifyArguments};
use crate::exit::{Exit, Failure};
use crate::output::{answer, say};
use crate::past::{is_there, no_ledger, open, read, unreadable};
use serde_json::json;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use tollgate::ledger::LEDGER_KEY;
use tollgate::store::checkpoint::{CHECKPOINTS_NAME, last_checkpoint};
use tollgate::store::handover::{read_handovers, trusted_keys};
use tollgate::store::kept::kept_checkpoint;
use tollgate::store::limits::{CHECKPOINT_MS, CHECKPOINT_RECORDS};
use tollgate::store::{
    Book, Cadence, Checkpoint, CheckpointKey, PublicKey, StoreError, Trust, Verification, verify,
};

/// Largest file of kept checkpoints or keys, in bytes.
const KEPT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Facility `audit` (13) and severity `notice` (5) of syslog.
const PRIORITY: u8 = 13 * 8 + 5;

pub(super) fn run(place: &Place, arguments: &VerifyArguments) -> Result<Exit, Failure> {
    let is_there = is_there(&place.folder)?;
    let mut keys = Vec::new();
    for key in &arguments.key {
        keys.extend(keys_of(key)?);
    }
    if keys.is_empty() && place.is_own {
        keys = own_keys(&place.keys()?)?;
    }
    let mut kept = Vec::new();
    for file in &arguments.checkpoint {
        kept.extend(kept_in(file)?);
    }
    if place.is_own {
        let book = last_checkpoint(&place.folder).map_err(|error| untold(&error))?;
        let (key, origin) = (place.keys()?.join(LEDGER_KEY), book.map(|book| book.origin));
        let beside = kept_checkpoint(&key, &place.folder, origin.as_deref());
        kept.extend(beside.map_err(|error| untold(&error))?);
    }
    if kept.is_empty() && !(is_there && holds_anything(&place.folder)) {
        return Err(no_ledger(&place.folder));
    }
    let is_signed = place.folder.join(CHECKPOINTS_NAME).exists();
    if keys.is_empty() && is_signed {
        return Err(Failure::usage(
            "this ledger is signed, and no key is known that its signatures could be checked with",
            "name the public key with --key; `tollgate keys show` prints it where it was written",
        ));
    }
    let cadence = (!keys.is_empty())
        .then_some(Cadence { every_records: CHECKPOINT_RECORDS, every_ms: CHECKPOINT_MS });
    let trust = Trust { keys, kept, cadence };
    let found = verify(&place.folder, &trust).map_err(|error| unreadable(&error))?;
    if arguments.json {
        answer(&format!("{:#}\n", as_json(&found)))?;
    } else {
        say(&as_text(&found, place, &trust))?;
    }
    Ok(if found.findings.is_empty() { Exit::Done } else { Exit::No })
}

/// Whether there is anything in a folder that a ledger leaves: a file that is gone is a finding.
fn holds_anything(folder: &Path) -> bool {
    folder.join(CHECKPOINTS_NAME).exists()
        || Book::open_of_anybody(folder)
            .is_ok_and(|book| book.files().next().is_some() || book.tombstone().is_some())
}

/// What verification rests on cannot be read.
fn untold(error: &StoreError) -> Failure {
    Failure::usage(
        error,
        "run it as the user whose ledger it is, or name the public key with --key and what was kept \
         elsewhere with --checkpoint",
    )
}

fn as_json(found: &Verification) -> serde_json::Value {
    let finding = |finding: &tollgate::store::Finding| json!({ "kind": finding.kind(), "what": finding.to_string() });
    json!({
        "version": 1,
        "ok": found.findings.is_empty(),
        "records": found.records,
        "pruned": found.pruned,
        "erased": found.erased,
        "root": found.root.to_string(),
        "checkpoints": found.checkpoints,
        "signed": found.signed,
        "torn_bytes": found.torn_bytes,
        "findings": found.findings.iter().map(finding).collect::<Vec<_>>(),
        "left_out": found.left_out,
    })
}

fn as_text(found: &Verification, place: &Place, trust: &Trust) -> String {
    let folder = place.folder.display();
    let mut out = String::new();
    match found.findings.len() as u64 + found.left_out {
        0 => out.push_str(&format!("`{folder}` holds together\n")),
        1 => out.push_str(&format!("`{folder}` DOES NOT HOLD TOGETHER: 1 finding\n")),
        many => out.push_str(&format!("`{folder}` DOES NOT HOLD TOGETHER: {many} findings\n")),
    }
    for finding in &found.findings {
        let _ = writeln!(out, "  {:<16} {finding}", finding.kind());
    }
    if found.left_out > 0 {
        let _ = writeln!(out, "  and {} more", found.left_out);
    }
    let _ = writeln!(out, "  records    {}", found.records);
    for (name, many) in [("pruned", found.pruned), ("erased", found.erased)] {
        if many > 0 {
            let _ = writeln!(out, "  {name:<10} {many} of them");
        }
    }
    let _ = writeln!(out, "  root       {}", found.root);
    if trust.keys.is_empty() {
        let _ = writeln!(out, "  signed     no: only the chain was looked at");
    } else {
        let (signed, checkpoints) = (found.signed, found.checkpoints);
        let _ = writeln!(out, "  signed     {signed} of them, {checkpoints} checkpoints agree");
    }
    let _ = writeln!(out, "  kept       {} checkpoints from elsewhere", trust.kept.len());
    if found.torn_bytes > 0 {
        let _ = writeln!(
            out,
            "  torn       {} bytes at the end: being written, or left by a crash",
            found.torn_bytes
        );
    }
    out
}

/// The keys that a `--key` names.
pub(crate) fn keys_of(text: &str) -> Result<Vec<PublicKey>, Failure> {
    if let Some(key) = PublicKey::parse(text) {
        return Ok(vec![key]);
    }
    let path = Path::new(text);
    let held = read(path, KEPT_BYTES_MAX)?;
    let held = String::from_utf8_lossy(&held);
    let words = held.split(|c: char| !c.is_ascii_alphanumeric());
    let keys: Vec<PublicKey> = words.filter_map(PublicKey::parse).collect();
    if keys.is_empty() {
        return Err(Failure::usage(
            format!("`{text}` is no public key, and no file that holds one"),
            "a public key is 64 hexadecimal digits; `tollgate keys show` prints it",
        ));
    }
    Ok(keys)
}

/// The key of this machine, and those that it took over from.
pub(crate) fn own_keys(keys: &Path) -> Result<Vec<PublicKey>, Failure> {
    let file = keys.join(LEDGER_KEY);
    if !file.exists() {
        return Ok(Vec::new());
    }
    let now = CheckpointKey::open(&file).map_err(|error| untold(&error))?.public();
    let handovers = read_handovers(&file).map_err(|error| untold(&error))?;
    let mut own = vec![now];
    // From the newest backwards: each one must lead to the key that signs now.
    for handover in handovers.iter().rev() {
        if trusted_keys(&[handover.old], &handovers).contains(&now) && !own.contains(&handover.old)
        {
            own.push(handover.old);
        }
    }
    Ok(own)
}

/// The checkpoints in a file, one a line, behind whatever a log has put before them.
fn kept_in(file: &Path) -> Result<Vec<Checkpoint>, Failure> {
    let text = read(file, KEPT_BYTES_MAX)?;
    let checkpoint = |line: &[u8]| {
        let from = line.iter().position(|byte| *byte == b'{')?;
        Checkpoint::read(line.get(from..)?.trim_ascii())
    };
    let kept: Vec<Checkpoint> = text.split(|byte| *byte == b'\n').filter_map(checkpoint).collect();
    if kept.is_empty() {
        return Err(Failure::usage(
            format!("there is no checkpoint in `{}`", file.display()),
            "`tollgate audit anchor --to FILE` writes them",
        ));
    }
    Ok(kept)
}

pub(super) fn anchor(place: &Place, arguments: &AnchorArguments) -> Result<Exit, Failure> {
    open(&place.folder)?;
    if place.is_own {
        // What was written since the last checkpoint is signed first.
        place.desk.sign(&place.folder)?;
    }
    let last = last_checkpoint(&place.folder).map_err(Failure::internal)?;
    let last = last.ok_or_else(|| {
        Failure::usage("this ledger is not signed", "name the ledger of the policy in force")
    })?;
    if let Some(file) = &arguments.to {
        append(file, &last).map_err(|error| {
            Failure::usage(
                format!("the checkpoint cannot be written to `{}`: {error}", file.display()),
                "name a file in a folder that is there, can be written to and has room",
            )
        })?;
        say(&format!("{} records are anchored in `{}`\n", last.size, file.display()))?;
    }
    if let Some(socket) = &arguments.syslog {
        let line = format!("<{PRIORITY}>tollgate[{}]: {}", std::process::id(), last.text());
        let sent = UnixDatagram::unbound()
            .and_then(|from| from.send_to(line.as_bytes(), socket).map(drop));
        sent.map_err(|error| {
            Failure::usage(
                format!("`{}` does not take the checkpoint: {error}", socket.display()),
                "is a system log running? --syslog=SOCKET names another one, --to FILE a file",
            )
        })?;
        say(&format!("{} records are anchored in the system's log\n", last.size))?;
    }
    Ok(Exit::Done)
}

fn append(file: &Path, checkpoint: &Checkpoint) -> std::io::Result<()> {
    let mut to = OpenOptions::new().create(true).append(true).mode(0o600).open(file)?;
    to.write_all(format!("{}\n", checkpoint.text()).as_bytes())?;
    to.sync_all()
}

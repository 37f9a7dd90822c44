//! `tollgate audit proof`: a record, or the growth of the ledger, proved to somebody who has a checkpoint
//! and not the ledger.

use super::list::meant;
use super::{Place, keys_of};
use crate::args::ProofCommand;
use crate::desk::LINE_CHARS_MAX;
use crate::exit::{Exit, Failure};
use crate::output::{answer, say};
use crate::past::{name, read};
use std::path::Path;
use tollgate::gate::text::shown;
use tollgate::gate::{Json, Object};
use tollgate::store::checkpoint::last_checkpoint;
use tollgate::store::handover::{handovers_of_ledger, trusted_keys};
use tollgate::store::{Checkpoint, ConsistencyProof, Handover, InclusionProof, ProofError};

/// Largest proof, in bytes: a record, and what leads to the root.
const PROOF_BYTES_MAX: usize = 40 * 1024 * 1024;

pub(super) fn run(place: &Place, command: &ProofCommand) -> Result<Exit, Failure> {
    match command {
        ProofCommand::Export { id: Some(id), .. } => inclusion(place, id),
        ProofCommand::Export { from: Some(from), .. } => consistency(place, from),
        ProofCommand::Export { .. } => {
            Err(Failure::usage("nothing to prove", "name a record, or --from a checkpoint"))
        }
        ProofCommand::Verify { file, key } => check(file, key),
    }
}

fn signed(place: &Place) -> Result<Checkpoint, Failure> {
    let last = last_checkpoint(&place.folder).map_err(Failure::internal)?;
    last.ok_or_else(|| Failure::usage("this ledger is not signed", "a proof needs a checkpoint"))
}

fn unproved(error: &ProofError) -> Failure {
    Failure::usage(error, "`tollgate audit anchor` signs what was written last")
}

fn inclusion(place: &Place, id: &str) -> Result<Exit, Failure> {
    let (book, last) = (place.book()?, signed(place)?);
    let (id, found) = meant(place, id, false)?;
    let is_it = |entry: &&tollgate::store::Entry| {
        entry.line.json.get("id").and_then(Json::as_str) == Some(&*id)
    };
    let entry = found.iter().find(is_it).ok_or_else(|| {
        Failure::usage(
            format!("there is no record `{}`", shown(&id, LINE_CHARS_MAX)),
            "copy the id from the refusal or from the ledger's line",
        )
    })?;
    let proof = InclusionProof::make(&book, entry.line.seq, last.size);
    let proof = proof.map_err(|error| unproved(&error))?;
    let mut out = Object::new();
    out.insert("record", String::from_utf8_lossy(&entry.text).into_owned());
    out.insert("proof", proof.text());
    out.insert("checkpoint", last.text());
    give(place, out)
}

/// Prints a proof, with what leads from the first key of the ledger to the one that signs now.
fn give(place: &Place, mut proof: Object) -> Result<Exit, Failure> {
    let handovers = handovers_of_ledger(&place.folder).map_err(Failure::internal)?;
    let handovers: Vec<String> = handovers.iter().flatten().map(Handover::text).collect();
    if !handovers.is_empty() {
        proof.insert("handovers", handovers);
    }
    answer(&format!("{}\n", Json::Object(proof).text()))?;
    Ok(Exit::Done)
}

fn consistency(place: &Place, from: &Path) -> Result<Exit, Failure> {
    let (book, last) = (place.book()?, signed(place)?);
    let text = read(from, PROOF_BYTES_MAX)?;
    let old = text.split(|byte| *byte == b'\n').rev().find_map(Checkpoint::read);
    let old = old.ok_or_else(|| {
        Failure::usage(
            format!("there is no checkpoint in {}", name(from)),
            "`tollgate audit anchor --to FILE` writes them",
        )
    })?;
    let proof = ConsistencyProof::make(&book, old.size, last.size);
    let proof = proof.map_err(|error| unproved(&error))?;
    let mut out = Object::new();
    out.insert("earlier", old.text());
    out.insert("proof", proof.text());
    out.insert("checkpoint", last.text());
    give(place, out)
}

/// The hand-overs that a proof carries.
fn carried(proof: &Json) -> Vec<Handover> {
    let handovers = proof.get("handovers").and_then(Json::as_array).unwrap_or_default();
    let texts = handovers.iter().filter_map(Json::as_str);
    texts.filter_map(|text| Handover::read(text.as_bytes())).collect()
}

fn check(file: &Path, keys: &[String]) -> Result<Exit, Failure> {
    let text = read(file, PROOF_BYTES_MAX)?;
    let malformed = || {
        Failure::usage(
            format!("{} holds no proof", name(file)),
            "`tollgate audit proof export` makes one",
        )
    };
    let json = Json::read(text.trim_ascii()).map_err(|_| malformed())?;
    let part = |key| json.get(key).and_then(Json::as_str).map(str::as_bytes);
    let checkpoint = |key| part(key).and_then(Checkpoint::read);
    let (proof, last) =
        (part("proof").ok_or_else(malformed)?, checkpoint("checkpoint").ok_or_else(malformed)?);
    let mut trusted = Vec::new();
    for key in keys {
        trusted.extend(keys_of(key)?);
    }
    let trusted = trusted_keys(&trusted, &carried(&json));
    let (checked, signers, what) = match (part("record"), checkpoint("earlier")) {
        (Some(record), _) => {
            let proof = InclusionProof::read(proof).ok_or_else(malformed)?;
            let what = format!("the record is number {} of {}", proof.seq, last.size);
            (proof.check(record, &last), vec![&last], what)
        }
        (None, Some(earlier)) => {
            let proof = ConsistencyProof::read(proof).ok_or_else(malformed)?;
            let what = format!("{} records only add to the first {}", last.size, earlier.size);
            let checked = proof.check(&earlier, &last);
            let is_known = trusted.contains(&earlier.key);
            if !is_known {
                say("PROVES NOTHING: the earlier checkpoint is signed by another key\n")?;
                return Ok(Exit::No);
            }
            (checked, vec![&last], what)
        }
        (None, None) => return Err(malformed()),
    };
    if signers.iter().any(|signer| !trusted.contains(&signer.key)) {
        say("PROVES NOTHING: the checkpoint is signed by another key\n")?;
        return Ok(Exit::No);
    }
    match checked {
        Ok(()) => {
            say(&format!("proved: {what}, by the checkpoint of {}\n", last.at))?;
            Ok(Exit::Done)
        }
        Err(error) => {
            say(&format!("PROVES NOTHING: {error}\n"))?;
            Ok(Exit::No)
        }
    }
}

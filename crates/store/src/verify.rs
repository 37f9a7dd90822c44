//! Verification: whether the book is the one that was written.
//!
//! It works on the files alone, in one pass, and reports everything that it finds. The chain shows
//! that a line was changed, put in, taken out or moved, unless all lines behind it were made anew; the
//! checkpoints show that, for whoever cannot sign; and a checkpoint that was kept elsewhere shows it
//! even for whoever can.
//!
//! What it cannot show: lines that were added at the end by somebody who may write there, and changes
//! to the lines behind the last checkpoint. Those are never more than the cadence of checkpoints
//! allows, and it is a finding if they are.

use crate::book::{Book, BookError, Entries, Raw};
use crate::checkpoint::{CHECKPOINTS_NAME, Checkpoint, last_checkpoint, origin};
use crate::erase::{ERASURES_NAME, Erasure, read_capped};
use crate::finding::{Finding, Source};
use crate::handover::{Handover, handovers_of_ledger, trusted_keys};
use crate::hash::HashValue;
use crate::head::{HEAD_NAME, Head, Place};
use crate::key::PublicKey;
use crate::limits::{CHECKPOINT_BYTES_MAX, CHECKPOINTS_MAX, ERASURES_BYTES_MAX, FINDINGS_MAX};
use crate::line::Line;
use crate::prune::Tombstone;
use crate::segment::{is_blank, segment_name};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use tollgate_gate::{Json, Timestamp};

/// What a verification rests on.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// The keys whose signatures count.
    pub keys: Vec<PublicKey>,
    /// Checkpoints that were kept elsewhere.
    pub kept: Vec<Checkpoint>,
    /// How often checkpoints must be there; none for a book that is not signed.
    pub cadence: Option<Cadence>,
}

/// How often checkpoints are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cadence {
    /// Records from one to the next.
    pub every_records: u64,
    /// Time from one to the next, in milliseconds.
    pub every_ms: u64,
}

/// How much later than the cadence says a record may be, in milliseconds, before it counts as not
/// covered.
const LATE_MS_MAX: u64 = 60_000;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verification {
    /// How many lines the book has, pruned ones included.
    pub records: u64,
    /// How many of its first lines were pruned.
    pub pruned: u64,
    /// The root of their tree.
    pub root: HashValue,
    /// How many checkpoints in the ledger's folder agree with it.
    pub checkpoints: u64,
    /// How many of its first records a checkpoint covers that a trusted key has signed, or that was
    /// kept elsewhere.
    pub signed: u64,
    /// How many records were erased, by signed erasures.
    pub erased: u64,
    /// Bytes behind the end that are no line: being written now, or left by a crash and to be cut by
    /// the next writer.
    pub torn_bytes: u64,
    /// Everything that is wrong, at most [`FINDINGS_MAX`].
    pub findings: Vec<Finding>,
    /// How many findings were left out.
    pub left_out: u64,
}

/// Verifies the book in this folder.
///
/// # Errors
/// [`BookError`] when the files cannot be read. What is wrong with what they hold is no error but a
/// [`Finding`].
pub fn verify(folder: &Path, trust: &Trust) -> Result<Verification, BookError> {
    // Checkpoints before records: what is signed meanwhile must not seem to be missing.
    let mut walk = Walk::default();
    let trust = &walk.trust_successors(folder, trust)?;
    walk.wants_checkpoints = !trust.keys.is_empty();
    walk.read_checkpoints(folder, trust)?;
    // A folder that is gone is a book without records, of which something kept elsewhere may know.
    if !trust.kept.is_empty() && is_gone(folder) {
        walk.conclude(trust);
        return Ok(walk.done);
    }
    // Verification rests on keys and changes nothing, so it does not matter whose the folder is.
    let book = Book::open_of_anybody(folder)?;
    if let Some(tombstone) = book.tombstone() {
        walk.start_behind(tombstone, trust);
    }
    let end = book.head().map(|head| (head.now.segment, head.now.end));
    walk.take_head(folder, book.head())?;
    // Where a segment can begin: at each one's first line, and behind the end.
    walk.starts = book.segments().map(|(first_seq, _)| first_seq).collect();
    walk.starts.extend(book.head().map(|head| head.now.seq() + 1));
    for (first_seq, file) in book.segments() {
        walk.segment(first_seq, &file, end)?;
    }
    if let Some(head) = book.head() {
        walk.short(head.synced.seq(), Source::Head);
    }
    walk.check_erasures(folder, trust)?;
    walk.conclude(trust);
    Ok(walk.done)
}

fn is_gone(folder: &Path) -> bool {
    std::fs::symlink_metadata(folder).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// A checkpoint to be held against the records.
struct Claim {
    by: Source,
    checkpoint: Checkpoint,
    counts: bool,
}

/// Whether there is data by now where it ended: a program may write while it is read.
fn is_written_at(file: &Path, offset: u64) -> Result<bool, BookError> {
    let read = || {
        let mut byte = [0];
        let read = std::os::unix::fs::FileExt::read_at(&File::open(file)?, &mut byte, offset)?;
        Ok(!is_blank(byte.get(..read).unwrap_or_default()))
    };
    read().map_err(|source| BookError::Io { file: file.to_owned(), source })
}

struct Walk {
    place: Place,
    /// The number of the last line, as the line has it: with it, one line too many or too few is named
    /// once and not at every line behind it.
    number: u64,
    /// A checkpoint of the ledger's folder did not agree: no later one can.
    is_other: bool,
    /// The line before is none, and was named: what follows it cannot lead on from it.
    is_behind_fault: bool,
    /// The signed hand-overs of the ledger.
    handovers: Vec<Handover>,
    /// The keys that these lead to from the key of the first checkpoint.
    signers: Vec<PublicKey>,
    /// Whether every checkpoint that was kept elsewhere must stand in the ledger as well: there are keys by
    /// which it is signed.
    wants_checkpoints: bool,
    /// Where the head says that the book ends, and ended when it was last synced.
    head: Vec<Place>,
    /// The checkpoints of the ledger's folder: how many records each covers, and when it was made.
    checkpoints: Vec<(u64, u64)>,
    /// The numbers of the lines that the book goes on with somewhere.
    starts: BTreeSet<u64>,
    claims: BTreeMap<u64, Vec<Claim>>,
    /// When the last good checkpoint was made, and the last record.
    signed_at: Timestamp,
    last_at: Timestamp,
    erased: BTreeMap<(u64, u64), ErasedLines>,
    done: Verification,
}

/// The lines that one erasure has left in one segment.
struct ErasedLines {
    /// The file, line and record of the first.
    first: (PathBuf, u64, u64),
    lines: u64,
    hasher: Sha256,
}

impl Default for Walk {
    fn default() -> Walk {
        let (signed_at, last_at) = (Timestamp::default(), Timestamp::default());
        let done = Verification::default();
        let (claims, erased) = (BTreeMap::new(), BTreeMap::new());
        Walk {
            place: Place::start(),
            number: 0,
            is_other: false,
            is_behind_fault: false,
            handovers: Vec::new(),
            signers: Vec::new(),
            wants_checkpoints: false,
            head: Vec::new(),
            checkpoints: Vec::new(),
            starts: BTreeSet::new(),
            claims,
            signed_at,
            last_at,
            erased,
            done,
        }
    }
}

impl Walk {
    fn find(&mut self, finding: Finding) {
        if self.done.findings.len() < FINDINGS_MAX {
            self.done.findings.push(finding);
        } else {
            self.done.left_out += 1;
        }
    }

    /// The keys that are trusted, and those that they handed over to by what the ledger holds itself.
    fn trust_successors(&mut self, folder: &Path, trust: &Trust) -> Result<Trust, BookError> {
        let (mut handovers, mut numbers): (Vec<Handover>, _) = (Vec::new(), Vec::new());
        for (number, handover) in (1..).zip(handovers_of_ledger(folder)?) {
            match handover {
                Some(handover) => {
                    handovers.push(handover);
                    numbers.push(number);
                }
                None => self.find(Finding::NoHandover { number }),
            }
        }
        for (at, (handover, number)) in handovers.iter().zip(numbers).enumerate() {
            let before = handovers.get(..at).unwrap_or_default();
            let behind = handovers.get(at + 1..).unwrap_or_default();
            if before.contains(handover) || behind.iter().any(|other| other.new == handover.old) {
                self.find(Finding::HandoverMisplaced { number });
            }
        }
        let keys = trusted_keys(&trust.keys, &handovers);
        self.handovers = handovers;
        Ok(Trust { keys, ..trust.clone() })
    }

    fn read_checkpoints(&mut self, folder: &Path, trust: &Trust) -> Result<(), BookError> {
        let path = folder.join(CHECKPOINTS_NAME);
        let io = |source| BookError::Io { file: path.clone(), source };
        let file = match File::open(&path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(io(error)),
        };
        // What the last line that holds covers; none behind one that does not hold.
        let (mut lines, mut before) = (file.map(BufReader::new), Some(0));
        for number in 1..=CHECKPOINTS_MAX as u64 {
            let Some(from) = &mut lines else { break };
            let mut text = Vec::new();
            from.take(CHECKPOINT_BYTES_MAX as u64 + 1).read_until(b'\n', &mut text).map_err(io)?;
            // The last one may be being written, or may have been torn by a crash.
            if text.pop() != Some(b'\n') {
                break;
            }
            let by = Source::Checkpoint(number);
            let Some(checkpoint) = Checkpoint::read(&text) else {
                self.find(Finding::NoCheckpoint { number });
                before = None;
                continue;
            };
            if before.is_some_and(|before| checkpoint.size <= before) {
                self.find(Finding::NoProgress { by });
                continue;
            }
            let after = checkpoint.after.filter(|after| before.is_some_and(|size| size != *after));
            if let Some(after) = after.filter(|_| checkpoint.is_signed()) {
                self.find(Finding::CheckpointGap { by, after });
            }
            before = checkpoint.is_signed().then_some(checkpoint.size);
            self.checkpoints.push((checkpoint.size, checkpoint.at.millis()));
            self.check_signer(by, &checkpoint, trust);
            self.claim(by, checkpoint, trust);
        }
        for (number, checkpoint) in (1..).zip(&trust.kept) {
            self.claim(Source::Kept(number), checkpoint.clone(), trust);
        }
        Ok(())
    }

    /// Looks at the head: it is a hint that anybody could make anew, so what it says must be so.
    fn take_head(&mut self, folder: &Path, head: Option<&Head>) -> Result<(), BookError> {
        let Some(head) = head else {
            let written = std::fs::metadata(folder.join(HEAD_NAME)).map(|found| found.len());
            if written.is_ok_and(|bytes| bytes > 0) {
                self.find(Finding::OtherHead { what: "cannot be read" });
            }
            return Ok(());
        };
        self.head = vec![head.synced.clone(), head.now.clone()];
        let signed = (head.signed.size, head.signed.at_ms);
        if signed.0 == 0 || self.checkpoints.contains(&signed) {
            return Ok(());
        }
        // One that was signed since the others were read.
        let last = last_checkpoint(folder)?;
        if last.is_none_or(|last| (last.size, last.at.millis()) != signed) {
            self.find(Finding::OtherHead { what: "tells of a checkpoint that is not there" });
        }
        Ok(())
    }

    /// Whether the ledger itself leads from the key of its first checkpoint to that of this one: others may
    /// know the first key only.
    fn check_signer(&mut self, by: Source, checkpoint: &Checkpoint, trust: &Trust) {
        let first = self.signers.first().copied().unwrap_or(checkpoint.key);
        if self.signers.is_empty() {
            self.signers = trusted_keys(&[first], &self.handovers);
        }
        if trust.keys.contains(&checkpoint.key) && !self.signers.contains(&checkpoint.key) {
            self.signers.push(checkpoint.key);
            self.find(Finding::NotHandedOver { by, key: checkpoint.key });
        }
    }

    /// Takes a checkpoint, after looking at its signature.
    fn claim(&mut self, by: Source, checkpoint: Checkpoint, trust: &Trust) {
        let is_kept = matches!(by, Source::Kept(_));
        if !checkpoint.is_signed() {
            self.find(Finding::BadSignature { by });
            return;
        }
        let is_known = trust.keys.contains(&checkpoint.key);
        if !is_known && !is_kept {
            self.find(Finding::UnknownKey { by, key: checkpoint.key });
        }
        let claim = Claim { by, checkpoint, counts: is_known || is_kept };
        self.claims.entry(claim.checkpoint.size).or_default().push(claim);
    }

    /// Starts behind what was pruned. What was signed of it can no longer be held against anything,
    /// but its tree is part of every later root.
    fn start_behind(&mut self, tombstone: &Tombstone, trust: &Trust) {
        if !trust.keys.contains(&tombstone.key) {
            self.find(Finding::UnknownKey { by: Source::Tombstone, key: tombstone.key });
        }
        let Some(place) = tombstone.place() else { return };
        self.place = place;
        self.number = tombstone.size;
        self.done.pruned = tombstone.size;
        self.claims = self.claims.split_off(&tombstone.size);
        self.check_claims();
    }

    fn segment(
        &mut self,
        first_seq: u64,
        file: &Path,
        end: Option<(u64, u64)>,
    ) -> Result<(), BookError> {
        let expected = self.number.saturating_add(1);
        let is_behind_end = end.is_some_and(|(last, _)| first_seq > last);
        if self.is_stray(first_seq, file, is_behind_end)? {
            let (file, found) = (file.to_owned(), first_seq);
            self.find(Finding::StraySegment { file, expected, found });
            return Ok(());
        }
        if first_seq != expected {
            let (file, found) = (file.to_owned(), first_seq);
            self.find(Finding::SegmentMissing { file, expected, found });
            self.number = first_seq - 1;
        }
        self.place.turn();
        let mut entries = Entries::open(file)?;
        // Behind the end that the head knows, a torn line is nothing wrong: it is being written, or
        // was left by a crash.
        let may_be_torn = |offset| end.is_some_and(|end| (first_seq, offset) >= end);
        loop {
            match entries.read_raw() {
                Ok(Some(raw)) => match Line::read(&raw.text) {
                    Ok(line) => self.line(file, &raw, &line),
                    Err(_) if may_be_torn(raw.offset) => {
                        self.done.torn_bytes += raw.text.len() as u64;
                        return Ok(());
                    }
                    Err(fault) => {
                        let (file, number, offset) = (file.to_owned(), raw.number, raw.offset);
                        let what = BookError::Line { file, number, offset, fault }.to_string();
                        self.find(Finding::NoLine { what });
                        self.place.pass(&raw.text);
                        self.number = self.number.saturating_add(1);
                        self.is_behind_fault = true;
                    }
                },
                Ok(None) => return Ok(()),
                Err(error @ BookError::Io { .. }) => return Err(error),
                // A program that writes goes on where the data ends; it leaves no gap.
                Err(error @ BookError::BehindEnd { offset, .. }) => {
                    if !is_written_at(file, offset)? {
                        self.find(Finding::NoLine { what: error.to_string() });
                    }
                    return Ok(());
                }
                Err(error) => {
                    if !may_be_torn(self.place.end) {
                        self.find(Finding::NoLine { what: error.to_string() });
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Whether a segment belongs to no place of the book. Behind the end that the head knows there may be
    /// the one that a writer has just begun, whose first line hangs on the last one.
    fn is_stray(
        &self,
        first_seq: u64,
        file: &Path,
        is_behind_end: bool,
    ) -> Result<bool, BookError> {
        let expected = self.number.saturating_add(1);
        if first_seq != expected {
            // Where numbers were changed, the segment may be right and those before it wrong.
            let is_again = first_seq < expected && self.starts.contains(&expected);
            return Ok(is_again || is_behind_end);
        }
        if !is_behind_end {
            return Ok(false);
        }
        let first = match Entries::open(file)?.read_raw() {
            Ok(first) => first,
            Err(error @ BookError::Io { .. }) => return Err(error),
            // What is being written, or was left by a crash.
            Err(_) => None,
        };
        let line = first.and_then(|raw| Line::read(&raw.text).ok());
        Ok(line.is_some_and(|line| line.seq != expected || line.prev != self.place.prev))
    }

    fn line(&mut self, file: &Path, raw: &Raw, line: &Line) {
        let (file, number) = (file.to_owned(), raw.number);
        let (expected, found) = (self.number.saturating_add(1), line.seq);
        if found != expected {
            self.find(Finding::OutOfOrder { file: file.clone(), number, expected, found });
        } else if line.prev != self.place.prev && !self.is_behind_fault {
            self.find(Finding::BrokenChain { file: file.clone(), number, seq: found });
        }
        if let Some(erased) = &line.erased {
            let lines = self.erased.entry((erased.erasure, self.place.segment));
            let lines = lines.or_insert_with(|| ErasedLines {
                first: (file, number, found),
                lines: 0,
                hasher: Sha256::new(),
            });
            lines.lines += 1;
            lines.hasher.update(&raw.text);
            lines.hasher.update(b"\n");
        }
        let at = line.json.get("at").and_then(Json::as_str).and_then(Timestamp::parse);
        self.last_at = at.unwrap_or(self.last_at);
        self.place.pass(&raw.text);
        self.number = found;
        self.is_behind_fault = false;
        self.check_claims();
    }

    /// Holds what checkpoints say against what was read so far.
    fn check_claims(&mut self) {
        self.check_head();
        let claims = self.claims.remove(&self.number).unwrap_or_default();
        if claims.is_empty() {
            return;
        }
        let (root, origin) = (self.place.tree.root(), origin(&self.place.first));
        let is_own = |claim: &Claim| matches!(claim.by, Source::Checkpoint(_));
        let is_there = claims.iter().any(|claim| is_own(claim) && claim.checkpoint.root == root);
        for Claim { by, checkpoint, counts } in claims {
            if checkpoint.origin != origin {
                self.find(Finding::OtherBook { by, origin: checkpoint.origin });
            } else if checkpoint.root != root {
                let is_own = matches!(by, Source::Checkpoint(_));
                if !(is_own && std::mem::replace(&mut self.is_other, true)) {
                    self.find(Finding::OtherRoot { size: checkpoint.size, by });
                }
            } else {
                self.done.checkpoints += u64::from(matches!(by, Source::Checkpoint(_)));
                if !is_there && self.wants_checkpoints {
                    let size = checkpoint.size;
                    self.find(Finding::CheckpointMissing { size, by });
                }
                if counts {
                    self.done.signed = checkpoint.size;
                    self.signed_at = checkpoint.at;
                }
            }
        }
    }

    /// Holds what the head says against what was read so far. It says nothing new where something else was found
    /// before.
    fn check_head(&mut self) {
        let (here, is_whole) = (&self.place, self.done.findings.is_empty());
        let known = self.head.iter().find(|known| known.seq() == self.number && *known != here);
        let Some(known) = known.filter(|_| is_whole) else { return };
        let finding = match known.tree.root() == here.tree.root() {
            // A segment that has just begun has its end at its start.
            true if known.segment != here.segment && known.end == 0 => return,
            true => Finding::OtherHead { what: "does not say where the book ends" },
            false => Finding::OtherRoot { size: known.seq(), by: Source::Head },
        };
        self.find(finding);
    }

    /// Holds the erasures against the lines that stand for erased ones.
    fn check_erasures(&mut self, folder: &Path, trust: &Trust) -> Result<(), BookError> {
        let text = read_capped(folder, ERASURES_NAME, ERASURES_BYTES_MAX)?.unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let mut before = 0;
        for (number, line) in (1..).zip(lines) {
            let Some(erasure) = Erasure::read(line) else {
                self.find(Finding::NoErasure { number });
                continue;
            };
            if erasure.number <= before {
                self.find(Finding::ErasureMisplaced { number });
                continue;
            }
            before = erasure.number;
            let by = Source::Erasure(erasure.number);
            if !erasure.is_signed() {
                self.find(Finding::BadSignature { by });
                continue;
            }
            if !trust.keys.contains(&erasure.key) {
                self.find(Finding::UnknownKey { by, key: erasure.key });
            }
            if erasure.origin != origin(&self.place.first) {
                self.find(Finding::OtherBook { by, origin: erasure.origin.clone() });
            }
            let pruned = self.done.pruned;
            for part in erasure.parts.iter().filter(|part| part.segment > pruned) {
                let stands = self.erased.remove(&(erasure.number, part.segment));
                let is_right = stands.is_some_and(|stands| {
                    let hash = HashValue::from_bytes(stands.hasher.finalize().into());
                    stands.lines == part.lines && hash == part.sha256
                });
                if is_right {
                    self.done.erased += part.lines;
                } else {
                    let (number, segment) = (erasure.number, segment_name(part.segment));
                    self.find(Finding::OtherErasure { number, segment });
                }
            }
        }
        for (_, ErasedLines { first: (file, number, seq), .. }) in std::mem::take(&mut self.erased)
        {
            self.find(Finding::ErasedUnsigned { file, number, seq });
        }
        Ok(())
    }

    /// Whether the book has as many records as something knows of.
    fn short(&mut self, known: u64, by: Source) {
        let records = self.number;
        if known > records {
            self.find(Finding::Short { records, known, by });
        }
    }

    fn conclude(&mut self, trust: &Trust) {
        // Of the ledger's own checkpoints, and of those kept elsewhere, the last one says it all.
        let (mut own, mut kept) = (None, None);
        for claim in std::mem::take(&mut self.claims).into_values().flatten() {
            let last = if matches!(claim.by, Source::Kept(_)) { &mut kept } else { &mut own };
            *last = Some(claim);
        }
        for claim in own.into_iter().chain(kept) {
            self.short(claim.checkpoint.size, claim.by);
        }
        self.done.records = self.place.seq();
        self.done.root = self.place.tree.root();
        let records = self.done.records.saturating_sub(self.done.signed);
        // Where a checkpoint does not agree it is known that the rest is not covered.
        if let Some(cadence) = trust.cadence.filter(|_| !self.is_other) {
            let late = cadence.every_ms.saturating_add(LATE_MS_MAX);
            let is_late = self.last_at > self.signed_at.plus_millis(late);
            if records > 0 && (records >= cadence.every_records || is_late) {
                self.find(Finding::NotCovered { records });
            }
        }
    }
}

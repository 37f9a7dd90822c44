//! The redactor: a detector and masks; text in, text with masks out.
//!
//! Whatever is not masked stays byte for byte. Valid JSON stays valid JSON. A text that could not be
//! looked at wholly (a name model failed) is withheld as a whole. Masking a masked text changes nothing, but for
//! `[SECRET]` at the start of a line: it marks the rest of the line, which a second time is masked as well.

use std::collections::HashSet;
use std::sync::Arc;

use crate::config::Context;
use crate::detector::Detector;
use crate::finding::{Finding, Kind, Standing};
use crate::mask::Mask;
use crate::model::NameModelError;
use crate::spot::{Spot, Spots, plain, structured};
use crate::stream::{StreamFormat, StreamRedactor};

/// No mask is longer, so longer strings need not be compared with masks, in bytes.
const KEY_BYTES_MAX: usize = 128;

/// What stands in place of a text that could not be looked at wholly.
pub const UNSCANNED: &str = "[UNSCANNED]";

/// What becomes of a JSON number that is masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NumberMask {
    /// It becomes a string that holds the mask.
    #[default]
    AsString,
    /// It becomes `0`, for places whose schema wants a number.
    Zero,
}

/// Masks what a detector finds.
#[derive(Debug, Clone)]
pub struct Redactor {
    detector: Arc<Detector>,
    mask: Mask,
    by_kind: Vec<(Kind, Mask)>,
    by_rule: Vec<(String, Mask)>,
    numbers: NumberMask,
}

/// Bytes with masks, findings, masks, fault.
pub(crate) type Edited = (Option<Vec<u8>>, Vec<Finding>, Vec<String>, Option<NameModelError>);

/// A redacted text.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Redacted {
    /// The text with masks; `None` when nothing was masked and the text may be used as it is.
    pub text: Option<String>,
    /// What was found, also what only dry-run rules found; offsets are those of the text given.
    pub findings: Vec<Finding>,
    /// The masks that stand in the text now, without repetition.
    pub masks: Vec<String>,
    /// Set when the text was withheld because it could not be looked at wholly.
    pub incomplete: Option<NameModelError>,
}

impl Redactor {
    /// A redactor with label masks.
    #[must_use]
    pub fn new(detector: Arc<Detector>) -> Self {
        Self {
            detector,
            mask: Mask::Label,
            by_kind: Vec::new(),
            by_rule: Vec::new(),
            numbers: NumberMask::default(),
        }
    }

    /// Masks everything this way, unless a kind has its own.
    #[must_use]
    pub fn mask(mut self, mask: Mask) -> Self {
        self.mask = mask;
        self
    }

    /// Masks one kind this way.
    #[must_use]
    pub fn mask_kind(mut self, kind: Kind, mask: Mask) -> Self {
        self.by_kind.retain(|(known, _)| *known != kind);
        self.by_kind.push((kind, mask));
        self
    }

    /// Masks what one rule finds this way, whatever its kind.
    #[must_use]
    pub fn mask_rule(mut self, id: impl Into<String>, mask: Mask) -> Self {
        let id = id.into();
        self.by_rule.retain(|(known, _)| *known != id);
        self.by_rule.push((id, mask));
        self
    }

    /// What becomes of masked JSON numbers.
    #[must_use]
    pub fn numbers(mut self, numbers: NumberMask) -> Self {
        self.numbers = numbers;
        self
    }

    pub(crate) fn number_mask(&self) -> NumberMask {
        self.numbers
    }

    /// The detector inside.
    #[must_use]
    pub fn detector(&self) -> &Arc<Detector> {
        &self.detector
    }

    /// Redacts a text of any structure: JSON, JSON lines, JSON in JSON strings, plain text.
    #[must_use]
    pub fn redact(&self, text: &str, ctx: &Context<'_>) -> Redacted {
        let spots = structured(&self.detector, text, ctx);
        self.apply(text, spots)
    }

    /// Redacts as plain text, whatever its structure: what a stream does.
    #[must_use]
    pub fn redact_plain(&self, text: &str, ctx: &Context<'_>) -> Redacted {
        let mut spots = Spots::default();
        if !self.detector.exempts_place(ctx) {
            plain(&self.detector, text, ctx, &mut spots);
        }
        self.apply(text, spots)
    }

    /// A string leaf of any tree, with its key in the context; `None`: it stays as it is. Allocates
    /// nothing when nothing is found.
    #[must_use]
    pub fn redact_str(&self, text: &str, ctx: &Context<'_>) -> Option<String> {
        let spots = structured(&self.detector, text, ctx);
        if spots.list.is_empty() && spots.fault.is_none() {
            return None;
        }
        self.apply(text, spots).text
    }

    /// A redactor for a text that arrives in pieces.
    #[must_use]
    pub fn stream(&self, format: StreamFormat, ctx: &Context<'_>) -> StreamRedactor {
        StreamRedactor::new(self.clone(), format, ctx)
    }

    /// The mask of a datum of this kind.
    #[must_use]
    pub fn mask_of(&self, kind: Kind, datum: &str) -> String {
        let own = self.by_kind.iter().find(|(known, _)| *known == kind).map(|(_, mask)| mask);
        own.unwrap_or(&self.mask).apply(kind, datum)
    }

    fn apply(&self, text: &str, spots: Spots) -> Redacted {
        let (bytes, findings, masks, incomplete) = self.edit(text.as_bytes(), spots);
        // Spots lie on character boundaries and masks are text.
        let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Redacted { text, findings, masks, incomplete }
    }

    /// The bytes with masks (`None`: unchanged), the findings, the masks used, and the fault.
    pub(crate) fn edit(&self, text: &[u8], mut spots: Spots) -> Edited {
        spots.list.sort_by_key(|spot| (spot.start, spot.end));
        let findings = self.detector.findings_of(text, &spots.list);
        if spots.fault.is_some() {
            let mask = UNSCANNED.to_owned();
            return (Some(mask.clone().into_bytes()), findings, vec![mask], spots.fault);
        }
        let mut out = Vec::new();
        let mut masks = Vec::new();
        let mut keys = None;
        let mut place = 0;
        for spot in spots.list.iter().filter(|spot| spot.standing == Standing::Active) {
            let Some(kind) = self.detector.kind_of(&spot.hit) else { continue };
            if spot.start < place {
                continue;
            }
            let mut mask = self.bare_mask(spot, kind);
            if spot.in_key {
                let taken = keys.get_or_insert_with(|| strings_of(text));
                mask = free(mask, taken);
            }
            let number = (self.numbers == NumberMask::Zero).then_some("0");
            let written = spot.place.write(&mask, number);
            out.extend_from_slice(text.get(place..spot.start).unwrap_or(&[]));
            out.extend_from_slice(written.as_bytes());
            place = spot.end;
            if !masks.contains(&mask) {
                masks.push(mask);
            }
        }
        if place == 0 {
            return (None, findings, masks, None);
        }
        out.extend_from_slice(text.get(place..).unwrap_or(&[]));
        (Some(out), findings, masks, None)
    }

    /// The mask of a spot, by its rule or its kind.
    fn bare_mask(&self, spot: &Spot, kind: Kind) -> String {
        let rule = self.detector.rule_of(&spot.hit).filter(|_| !self.by_rule.is_empty());
        let own = rule.and_then(|id| self.by_rule.iter().find(|(known, _)| *known == id.as_str()));
        match own {
            Some((_, mask)) => mask.apply(kind, &spot.datum),
            None => self.mask_of(kind, &spot.datum),
        }
    }
}

/// What stands between quotation marks in a text: a mask that stands there already may be a key.
fn strings_of(text: &[u8]) -> HashSet<String> {
    text.split(|byte| *byte == b'"')
        .filter(|part| part.len() <= KEY_BYTES_MAX)
        .filter_map(|part| std::str::from_utf8(part).ok())
        .map(|part| part.trim_end_matches('\\').to_owned())
        .collect()
}

/// The mask, numbered where it is taken: two keys of one object must not become the same.
fn free(bare: String, taken: &mut HashSet<String>) -> String {
    let mut mask = bare.clone();
    let mut number = 2;
    while !taken.insert(mask.clone()) {
        mask = format!("{bare}#{number}");
        number += 1;
    }
    mask
}

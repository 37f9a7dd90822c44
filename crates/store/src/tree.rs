//! The Merkle tree of RFC 6962 section 2.1 over the lines of the book.
//!
//! What a writer needs of it is the frontier: the roots of the full subtrees that the lines so far
//! make, at most one for each bit of their number. A line costs one hash on average, whatever the
//! size of the book.

use crate::hash::HashValue;

/// The full subtrees of a tree, largest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Frontier {
    size: u64,
    peaks: Vec<HashValue>,
}

impl Frontier {
    /// A frontier of so many leaves, or `None` if that size has not so many peaks.
    pub(crate) fn from_peaks(size: u64, peaks: Vec<HashValue>) -> Option<Frontier> {
        (u32::try_from(peaks.len()) == Ok(size.count_ones())).then_some(Frontier { size, peaks })
    }

    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn peaks(&self) -> &[HashValue] {
        &self.peaks
    }

    /// Adds a leaf, given as its hash.
    pub(crate) fn push(&mut self, leaf: HashValue) {
        let mut node = leaf;
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.peaks.pop() {
                node = HashValue::of_node(&left, &node);
            }
        }
        self.peaks.push(node);
        self.size += 1;
    }

    /// The root: that of RFC 6962 section 2.1, for no leaves the hash of nothing.
    pub(crate) fn root(&self) -> HashValue {
        let mut peaks = self.peaks.iter().rev().copied();
        let Some(smallest) = peaks.next() else { return HashValue::of(&[]) };
        peaks.fold(smallest, |right, left| HashValue::of_node(&left, &right))
    }
}

//! Proofs about the book that can be checked without it: that a line is in it, and that a later state
//! of it only adds to an earlier one (RFC 6962 section 2.1; the checks are those of RFC 9162 sections
//! 2.1.3.2 and 2.1.4.2).
//!
//! A proof is worth as much as the checkpoint that it is held against.

use crate::book::{Book, BookError};
use crate::checkpoint::Checkpoint;
use crate::hash::HashValue;
use crate::line::leaf_of;
use crate::prune::Tombstone;
use crate::tree::Frontier;
use tollgate_gate::{Json, Object};

/// Longest path of a proof: one hash a level of the tree, and one more.
const PATH_MAX: usize = 65;

/// Why there is no proof, or why it proves nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    /// The book cannot be read.
    #[error(transparent)]
    Book(#[from] BookError),
    /// The book is shorter than the proof is to cover.
    #[error("the book has {records} records, not {asked}")]
    TooShort {
        /// The records that the book has.
        records: u64,
        /// The records that were asked for.
        asked: u64,
    },
    /// The record itself was pruned, or the earlier state ends among those that were.
    #[error(
        "the first {records} records were pruned, and what is left of them does not reach for this proof"
    )]
    Pruned {
        /// How many.
        records: u64,
    },
    /// Numbers that make no sense: no records, a line behind the end, a later state that is shorter.
    #[error("there is no proof for these numbers")]
    Numbers,
    /// The proof is about another state of the book than the checkpoint.
    #[error("the proof is about {proof} records, the checkpoint about {checkpoint}")]
    OtherSize {
        /// The records that the proof is about.
        proof: u64,
        /// The records that the checkpoint covers.
        checkpoint: u64,
    },
    /// The path does not lead to the root.
    #[error("the proof does not lead to the root of the checkpoint")]
    OtherRoot,
    /// The signature of the checkpoint is wrong.
    #[error("the checkpoint is not signed by the key that it names")]
    NotSigned,
}

/// That a line is in the first `size` lines of a book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InclusionProof {
    /// The number of the line, from 1 on.
    pub seq: u64,
    /// How many lines the tree has.
    pub size: u64,
    /// The hashes beside the way from the line to the root.
    pub path: Vec<HashValue>,
}

impl InclusionProof {
    /// Proves that line `seq` is in the first `size` lines of the book. Reads the whole book.
    ///
    /// # Errors
    /// [`ProofError`] when the book cannot be read or has no such line.
    pub fn make(book: &Book, seq: u64, size: u64) -> Result<InclusionProof, ProofError> {
        let leaves = Leaves::read(book, size)?;
        if seq == 0 || seq > size {
            return Err(ProofError::Numbers);
        }
        let path = inclusion_path(&leaves, seq - 1)?;
        Ok(InclusionProof { seq, size, path })
    }

    /// Checks that this line (its exact bytes, without a newline) is in the book of the checkpoint.
    ///
    /// # Errors
    /// [`ProofError`] says why it proves nothing.
    pub fn check(&self, line: &[u8], checkpoint: &Checkpoint) -> Result<(), ProofError> {
        held_against(self.size, checkpoint)?;
        let root = root_of_inclusion(HashValue::of_line(line), self.seq, self.size, &self.path);
        if root == Some(checkpoint.root) { Ok(()) } else { Err(ProofError::OtherRoot) }
    }

    /// It as one line of JSON.
    pub fn text(&self) -> String {
        let mut out = Object::new();
        out.insert("seq", self.seq);
        out.insert("size", self.size);
        out.insert("path", path_json(&self.path));
        Json::Object(out).text()
    }

    /// Reads what [`InclusionProof::text`] gives; `None` for anything else.
    pub fn read(text: &[u8]) -> Option<InclusionProof> {
        let json = Json::read(text).ok()?;
        let number = |key| json.get(key).and_then(Json::as_u64);
        Some(InclusionProof { seq: number("seq")?, size: number("size")?, path: read_path(&json)? })
    }
}

/// That the first `old_size` lines of a book are the first of its `size` lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsistencyProof {
    /// How many lines the earlier tree has.
    pub old_size: u64,
    /// How many lines the later tree has.
    pub size: u64,
    /// The hashes that lead to both roots.
    pub path: Vec<HashValue>,
}

impl ConsistencyProof {
    /// Proves that the first `size` lines of the book add to its first `old_size`. Reads the whole
    /// book.
    ///
    /// # Errors
    /// [`ProofError`] when the book cannot be read or is shorter.
    pub fn make(book: &Book, old_size: u64, size: u64) -> Result<ConsistencyProof, ProofError> {
        let leaves = Leaves::read(book, size)?;
        if old_size == 0 || old_size > size {
            return Err(ProofError::Numbers);
        }
        Ok(ConsistencyProof { old_size, size, path: consistency_path(&leaves, old_size)? })
    }

    /// Checks that the book of the later checkpoint adds to that of the earlier one.
    ///
    /// # Errors
    /// [`ProofError`] says why it proves nothing.
    pub fn check(&self, old: &Checkpoint, new: &Checkpoint) -> Result<(), ProofError> {
        held_against(self.old_size, old)?;
        held_against(self.size, new)?;
        let roots = roots_of_consistency(self.old_size, self.size, &old.root, &self.path);
        if roots == Some((old.root, new.root)) { Ok(()) } else { Err(ProofError::OtherRoot) }
    }

    /// It as one line of JSON.
    pub fn text(&self) -> String {
        let mut out = Object::new();
        out.insert("old_size", self.old_size);
        out.insert("size", self.size);
        out.insert("path", path_json(&self.path));
        Json::Object(out).text()
    }

    /// Reads what [`ConsistencyProof::text`] gives; `None` for anything else.
    pub fn read(text: &[u8]) -> Option<ConsistencyProof> {
        let json = Json::read(text).ok()?;
        let number = |key| json.get(key).and_then(Json::as_u64);
        let (old_size, size) = (number("old_size")?, number("size")?);
        Some(ConsistencyProof { old_size, size, path: read_path(&json)? })
    }
}

fn held_against(size: u64, checkpoint: &Checkpoint) -> Result<(), ProofError> {
    if size != checkpoint.size {
        return Err(ProofError::OtherSize { proof: size, checkpoint: checkpoint.size });
    }
    if checkpoint.is_signed() { Ok(()) } else { Err(ProofError::NotSigned) }
}

fn path_json(path: &[HashValue]) -> Json {
    Json::Array(path.iter().map(|hash| Json::String(hash.to_string())).collect())
}

fn read_path(json: &Json) -> Option<Vec<HashValue>> {
    let items = json.get("path")?.as_array()?;
    if items.len() > PATH_MAX {
        return None;
    }
    items.iter().map(|item| HashValue::parse(item.as_str()?)).collect()
}

/// The tree over the first lines of a book: the hashes of its lines, and for those that were pruned the
/// roots of the full subtrees that the tombstone holds.
struct Leaves {
    pruned: Vec<Subtree>,
    /// The number of the first line that is there, from 0 on.
    first: u64,
    hashes: Vec<HashValue>,
}

/// The root over some of the leaves.
struct Subtree {
    from: u64,
    to: u64,
    root: HashValue,
}

impl Leaves {
    fn read(book: &Book, size: u64) -> Result<Leaves, ProofError> {
        let place = book.tombstone().and_then(Tombstone::place);
        let tree = place.map(|place| place.tree).unwrap_or_default();
        let mut leaves = Leaves::behind(&tree);
        for entry in book.entries() {
            if leaves.count() >= size {
                break;
            }
            leaves.hashes.push(leaf_of(&entry?.text));
        }
        match leaves.count() {
            records if records < size => Err(ProofError::TooShort { records, asked: size }),
            // The book was pruned beyond that state.
            records if records > size => Err(ProofError::Pruned { records: leaves.first }),
            _ => Ok(leaves),
        }
    }

    /// No leaves behind those that this is the frontier of.
    fn behind(tree: &Frontier) -> Leaves {
        let (mut pruned, mut from) = (Vec::new(), 0);
        let sizes = (0..u64::BITS).rev().map(|bit| 1u64 << bit).filter(|of| tree.size() & of != 0);
        for (size, root) in sizes.zip(tree.peaks()) {
            pruned.push(Subtree { from, to: from + size, root: *root });
            from += size;
        }
        Leaves { pruned, first: from, hashes: Vec::new() }
    }

    fn count(&self) -> u64 {
        self.first + self.hashes.len() as u64
    }

    /// The root over the leaves from one to before another.
    fn root(&self, from: u64, to: u64) -> Result<HashValue, ProofError> {
        let known = |tree: &&Subtree| (tree.from, tree.to) == (from, to);
        if let Some(known) = self.pruned.iter().find(known) {
            return Ok(known.root);
        }
        if from < self.first {
            if to - from <= 1 {
                return Err(ProofError::Pruned { records: self.first });
            }
            let middle = split(from, to);
            return Ok(HashValue::of_node(&self.root(from, middle)?, &self.root(middle, to)?));
        }
        let at = |number: u64| usize::try_from(number - self.first).unwrap_or(usize::MAX);
        let mut tree = Frontier::default();
        let hashes = self.hashes.get(at(from)..at(to)).unwrap_or_default();
        hashes.iter().for_each(|leaf| tree.push(*leaf));
        Ok(tree.root())
    }
}

/// Where the left part of a tree of more than one leaf ends: it has the largest power of two of leaves
/// below their number.
const fn split(from: u64, to: u64) -> u64 {
    from + (to - from).next_power_of_two() / 2
}

/// PATH(m, D[n]) of RFC 6962 section 2.1.1.
fn inclusion_path(leaves: &Leaves, index: u64) -> Result<Vec<HashValue>, ProofError> {
    let (mut from, mut to, mut path) = (0, leaves.count(), Vec::new());
    if index < leaves.first {
        return Err(ProofError::Pruned { records: leaves.first });
    }
    while to - from > 1 {
        let middle = split(from, to);
        if index < middle {
            path.push(leaves.root(middle, to)?);
            to = middle;
        } else {
            path.push(leaves.root(from, middle)?);
            from = middle;
        }
    }
    path.reverse();
    Ok(path)
}

/// PROOF(m, D[n]) of RFC 6962 section 2.1.2.
fn consistency_path(leaves: &Leaves, old_size: u64) -> Result<Vec<HashValue>, ProofError> {
    let (mut from, mut to, mut path, mut is_whole) = (0, leaves.count(), Vec::new(), true);
    while old_size < to {
        let middle = split(from, to);
        if old_size <= middle {
            path.push(leaves.root(middle, to)?);
            to = middle;
        } else {
            path.push(leaves.root(from, middle)?);
            from = middle;
            is_whole = false;
        }
    }
    if !is_whole {
        path.push(leaves.root(from, to)?);
    }
    path.reverse();
    Ok(path)
}

/// RFC 9162 section 2.1.3.2.
fn root_of_inclusion(
    leaf: HashValue,
    seq: u64,
    size: u64,
    path: &[HashValue],
) -> Option<HashValue> {
    if seq == 0 || seq > size {
        return None;
    }
    let (mut at, mut last, mut root) = (seq - 1, size - 1, leaf);
    for beside in path {
        if last == 0 {
            return None;
        }
        if at & 1 == 1 || at == last {
            root = HashValue::of_node(beside, &root);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            root = HashValue::of_node(&root, beside);
        }
        at >>= 1;
        last >>= 1;
    }
    (last == 0).then_some(root)
}

/// RFC 9162 section 2.1.4.2: the roots of both trees that the path leads to.
fn roots_of_consistency(
    old_size: u64,
    size: u64,
    old_root: &HashValue,
    path: &[HashValue],
) -> Option<(HashValue, HashValue)> {
    if old_size == 0 || old_size > size {
        return None;
    }
    if old_size == size {
        return path.is_empty().then_some((*old_root, *old_root));
    }
    let mut path = path.iter();
    let first = if old_size.is_power_of_two() { old_root } else { path.next()? };
    let (mut at, mut last) = (old_size - 1, size - 1);
    while at & 1 == 1 {
        at >>= 1;
        last >>= 1;
    }
    let (mut old, mut new) = (*first, *first);
    for beside in path {
        if last == 0 {
            return None;
        }
        if at & 1 == 1 || at == last {
            old = HashValue::of_node(beside, &old);
            new = HashValue::of_node(beside, &new);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            new = HashValue::of_node(&new, beside);
        }
        at >>= 1;
        last >>= 1;
    }
    (last == 0).then_some((old, new))
}

#[cfg(test)]
mod tests {
    use super::{
        Leaves, consistency_path, inclusion_path, root_of_inclusion, roots_of_consistency,
    };
    use crate::hash::HashValue;
    use crate::tree::Frontier;

    fn leaves(count: u64) -> Vec<HashValue> {
        (0..count).map(|leaf| HashValue::of_line(&leaf.to_be_bytes())).collect()
    }

    fn tree(leaves: &[HashValue]) -> Frontier {
        let mut tree = Frontier::default();
        leaves.iter().for_each(|leaf| tree.push(*leaf));
        tree
    }

    fn root(leaves: &[HashValue]) -> HashValue {
        tree(leaves).root()
    }

    /// The tree over these leaves, of which the first were pruned.
    fn pruned(leaves: &[HashValue], first: usize) -> Leaves {
        let mut left = Leaves::behind(&tree(&leaves[..first]));
        left.hashes = leaves[first..].to_vec();
        left
    }

    /// MTH of RFC 6962 section 2.1, as it is defined there.
    fn defined_root(leaves: &[HashValue]) -> HashValue {
        match leaves {
            [] => HashValue::of(&[]),
            [leaf] => *leaf,
            _ => {
                let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
                HashValue::of_node(&defined_root(left), &defined_root(right))
            }
        }
    }

    #[test]
    fn the_root_is_that_of_the_definition_and_of_known_vectors() {
        for count in 0..70 {
            assert_eq!(root(&leaves(count)), defined_root(&leaves(count)), "{count}");
        }
        // The eight leaves with which certificate transparency logs test their trees.
        let inputs: [&[u8]; 8] = [
            b"",
            &[0],
            &[0x10],
            &[0x20, 0x21],
            &[0x30, 0x31],
            &[0x40, 0x41, 0x42, 0x43],
            &[0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57],
            &[
                0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d,
                0x6e, 0x6f,
            ],
        ];
        let known: Vec<HashValue> = inputs.iter().map(|input| HashValue::of_line(input)).collect();
        let expected = "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328";
        assert_eq!(root(&known).to_string(), expected);
    }

    #[test]
    fn every_leaf_is_proved_and_no_other_is() {
        for size in 1..34 {
            let leaves = leaves(size);
            let whole = root(&leaves);
            for seq in 1..=size {
                let path = inclusion_path(&pruned(&leaves, 0), seq - 1).unwrap();
                let leaf = leaves[seq as usize - 1];
                assert_eq!(root_of_inclusion(leaf, seq, size, &path), Some(whole));
                assert_ne!(root_of_inclusion(HashValue::ZERO, seq, size, &path), Some(whole));
                for other in (1..=size).filter(|other| *other != seq) {
                    assert_ne!(root_of_inclusion(leaf, other, size, &path), Some(whole));
                }
                let longer = [&path[..], &[HashValue::ZERO]].concat();
                assert_ne!(root_of_inclusion(leaf, seq, size, &longer), Some(whole));
            }
        }
    }

    #[test]
    fn what_is_left_after_pruning_is_proved_as_before_and_what_was_pruned_is_not() {
        for size in 1..34u64 {
            let leaves = leaves(size);
            let whole = pruned(&leaves, 0);
            for first in 0..size as usize {
                let left = pruned(&leaves, first);
                for seq in 1..=size {
                    let path = inclusion_path(&left, seq - 1).ok();
                    let known = inclusion_path(&whole, seq - 1).ok();
                    assert_eq!(path, known.filter(|_| seq > first as u64), "{seq} of {size}");
                }
                for old_size in first.max(1) as u64..=size {
                    let path = consistency_path(&left, old_size).unwrap();
                    assert_eq!(path, consistency_path(&whole, old_size).unwrap());
                }
            }
        }
    }

    #[test]
    fn every_earlier_state_is_proved_and_no_other_is() {
        for size in 1..34 {
            let leaves = leaves(size);
            let whole = root(&leaves);
            for old_size in 1..=size {
                let old = root(&leaves[..old_size as usize]);
                let path = consistency_path(&pruned(&leaves, 0), old_size).unwrap();
                let roots = roots_of_consistency(old_size, size, &old, &path);
                assert_eq!(roots, Some((old, whole)), "{old_size} of {size}");
                for at in 0..path.len() {
                    let mut changed = path.clone();
                    changed[at] = HashValue::ZERO;
                    let roots = roots_of_consistency(old_size, size, &old, &changed);
                    assert_ne!(roots, Some((old, whole)));
                }
                if old_size < size {
                    let wrong = HashValue::ZERO;
                    let roots = roots_of_consistency(old_size, size, &wrong, &path);
                    assert_ne!(roots, Some((wrong, whole)));
                }
            }
        }
    }
}

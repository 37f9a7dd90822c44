//! LAC: a tagger of Chinese characters, a network with a chain (CRF) behind it.
//!
//! The network scores the tags of each character; the best way through them, with what each pair of tags
//! costs, is found here (Viterbi).

use crate::OpenError;
use crate::folder::{self, Loaded};
use crate::limits::{CHAIN_CHARS_MAX, SIDE_BYTES_MAX};
use crate::npy;
use crate::tag::{Tagged, Tags, names};
use rten::{NodeId, ValueOrView};
use rten_tensor::NdTensor;
use rten_tensor::prelude::{AsView as _, Layout as _};
use std::collections::HashMap;
use std::path::Path;
use tollgate_detect::NameSpan;

/// The file by which the form is known.
pub(crate) const WORDS: &str = "word.dic";
/// What stands for a character that the model does not know.
const UNKNOWN: &str = "OOV";
/// The chain gives a way, not a probability; so sure is a name on it.
const NAME_SCORE: f32 = 0.75;

pub(crate) struct Lac {
    loaded: Loaded,
    ids: NodeId,
    length: NodeId,
    characters: HashMap<char, i32>,
    /// Full-width forms and the like, and what the model reads for them.
    folds: HashMap<char, char>,
    unknown: i32,
    tags: Tags,
    chain: Vec<Vec<f32>>,
}

impl Lac {
    pub(crate) fn open(folder: &Path) -> Result<Lac, OpenError> {
        let path = folder.join(WORDS);
        let words = pairs(&folder::text(&path)?);
        let number = |(number, word): &(String, String)| Some((word.clone(), number.parse().ok()?));
        let words: HashMap<String, i32> = words.iter().filter_map(number).collect();
        let unknown = words.get(UNKNOWN).copied();
        let unknown =
            unknown.ok_or_else(|| OpenError::unusable(&path, format!("it has no {UNKNOWN}")))?;
        let one = |(word, number): (&String, &i32)| Some((only(word)?, *number));
        let path = folder.join("lac_crf_transitions.npy");
        let chain = npy::square(&folder::bytes(&path, SIDE_BYTES_MAX)?);
        let chain = chain.map_err(|why| OpenError::unusable(&path, why))?;
        let path = folder.join("tag.dic");
        let mut texts = vec!["O".to_owned(); chain.len()];
        for (number, tag) in pairs(&folder::text(&path)?) {
            let slot = number.parse().ok().and_then(|number: usize| texts.get_mut(number));
            *slot.ok_or_else(|| OpenError::unusable(&path, "it does not fit the transitions"))? =
                tag;
        }
        let tags = Tags::of(&texts);
        if !tags.has_names() {
            return Err(OpenError::unusable(&path, "none of its tags is about a name"));
        }
        let folds = folder::text(&folder.join("q2b.dic")).map(|text| pairs(&text))?;
        let loaded = folder::network(folder)?;
        let lac = Lac {
            ids: loaded.needed_input("token_ids")?,
            length: loaded.needed_input("length")?,
            loaded,
            characters: words.iter().filter_map(one).collect(),
            folds: folds.iter().filter_map(|(from, to)| Some((only(from)?, only(to)?))).collect(),
            unknown,
            tags,
            chain,
        };
        let tried = lac.names("王建国").map(drop);
        tried.map_err(|why| OpenError::unusable(&lac.loaded.path, why))?;
        Ok(lac)
    }

    pub(crate) fn names(&self, text: &str) -> Result<Vec<NameSpan>, String> {
        let characters: Vec<(usize, char)> = text.char_indices().collect();
        let mut tagged = Vec::with_capacity(characters.len());
        for part in characters.chunks(CHAIN_CHARS_MAX) {
            let best = self.best_way(part)?;
            tagged.extend(part.iter().zip(best).map(|((start, char), number)| Tagged {
                range: *start..start + char.len_utf8(),
                tag: self.tags.get(number),
                score: NAME_SCORE,
            }));
        }
        Ok(names(text, tagged))
    }

    fn best_way(&self, part: &[(usize, char)]) -> Result<Vec<usize>, String> {
        let id = |char: &char| {
            let read = self.folds.get(char).unwrap_or(char);
            self.characters.get(read).copied().unwrap_or(self.unknown)
        };
        let ids: Vec<i32> = part.iter().map(|(_, char)| id(char)).collect();
        let len = ids.len();
        let length = i32::try_from(len).map_err(|error| error.to_string())?;
        let inputs = vec![
            (self.ids, ValueOrView::from(NdTensor::from_data([1, len], ids))),
            (self.length, ValueOrView::from(NdTensor::from_data([1], vec![length]))),
        ];
        let outputs = self.loaded.network.run_n(inputs, [self.loaded.output], None);
        let [output] = outputs.map_err(|error| error.to_string())?;
        let scores: NdTensor<f32, 3> = output.try_into().map_err(|_| SHAPE.to_owned())?;
        if scores.shape() != [1, len, self.chain.len()] {
            return Err(SHAPE.to_owned());
        }
        Ok(viterbi(&scores.to_vec(), &self.chain))
    }
}

const SHAPE: &str = "the network's answer is not one number a tag and character";

/// The best tags for rows of scores; `chain` holds what a tag gains behind another.
fn viterbi(scores: &[f32], chain: &[Vec<f32>]) -> Vec<usize> {
    let mut rows = scores.chunks(chain.len().max(1));
    let mut best: Vec<f32> = rows.next().unwrap_or(&[]).to_vec();
    let mut back: Vec<Vec<usize>> = Vec::new();
    for row in rows {
        let (from, gained): (Vec<usize>, Vec<f32>) = (0..row.len())
            .map(|to| {
                let ways = best.iter().zip(chain).map(|(score, gains)| {
                    score + gains.get(to).copied().unwrap_or(f32::NEG_INFINITY)
                });
                top(ways)
            })
            .unzip();
        best = gained.iter().zip(row).map(|(gained, score)| gained + score).collect();
        back.push(from);
    }
    let mut way = vec![top(best.iter().copied()).0];
    for from in back.iter().rev() {
        let last = way.last().and_then(|last| from.get(*last)).copied();
        way.push(last.unwrap_or(0));
    }
    way.reverse();
    way
}

fn top(scores: impl Iterator<Item = f32>) -> (usize, f32) {
    scores.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, f32::NEG_INFINITY))
}

/// The lines of two columns with a tab between.
fn pairs(text: &str) -> Vec<(String, String)> {
    let split = |line: &str| line.split_once('\t').map(|(a, b)| (a.to_owned(), b.to_owned()));
    text.lines().filter_map(split).collect()
}

/// The character of a text of one.
fn only(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::viterbi;

    #[test]
    fn the_way_through_the_chain_beats_the_best_of_each_row() {
        let scores = [1.0, 0.0, 0.6, 0.5];
        assert_eq!(viterbi(&scores, &[vec![0.0, 0.0], vec![0.0, 0.0]]), [0, 0]);
        assert_eq!(viterbi(&scores, &[vec![-9.0, 0.0], vec![0.0, 0.0]]), [0, 1]);
    }
}

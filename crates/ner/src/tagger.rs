//! A tagger of the BERT family: tokens in, a tag for each out.

use crate::OpenError;
use crate::folder::{self, Loaded};
use crate::limits::{OVERLAP_TOKENS, TOKEN_SCORE_MIN, WINDOW_TOKENS};
use crate::tag::{Tagged, Tags, names};
use crate::tokens::windows;
use crate::wordpiece::{Token, WordPiece};
use rten::{NodeId, ValueOrView};
use rten_tensor::NdTensor;
use rten_tensor::prelude::{AsView as _, Layout as _};
use serde_json::Value;
use std::path::Path;
use tollgate_detect::NameSpan;

/// Tokens at start and end that are no text.
const MARKS: usize = 2;

pub(crate) struct Tagger {
    loaded: Loaded,
    ids: NodeId,
    mask: Option<NodeId>,
    types: Option<NodeId>,
    tokenizer: WordPiece,
    tags: Tags,
    window: usize,
}

impl Tagger {
    pub(crate) fn open(folder: &Path) -> Result<Tagger, OpenError> {
        let path = folder.join("config.json");
        let config = folder::json(&path)?;
        let labels = labels(&config).map_err(|why| OpenError::unusable(&path, why))?;
        let tags = Tags::of(&labels);
        if !tags.has_names() {
            return Err(OpenError::unusable(&path, "none of its labels is about a name"));
        }
        let positions = config.get("max_position_embeddings").and_then(Value::as_u64);
        let positions = positions.and_then(|positions| usize::try_from(positions).ok());
        let window =
            positions.map_or(WINDOW_TOKENS, |all| WINDOW_TOKENS.min(all.saturating_sub(MARKS)));
        if window <= OVERLAP_TOKENS {
            return Err(OpenError::unusable(&path, "it looks at too few tokens together"));
        }
        let path = folder.join("tokenizer.json");
        let tokenizer = WordPiece::of_json(&folder::json(&path)?);
        let tokenizer = tokenizer.map_err(|why| OpenError::unusable(&path, why))?;
        let loaded = folder::network(folder)?;
        let tagger = Tagger {
            ids: loaded.needed_input("input_ids")?,
            mask: loaded.input("attention_mask"),
            types: loaded.input("token_type_ids"),
            loaded,
            tokenizer,
            tags,
            window,
        };
        // A network that does not fit its labels is an error now, and not at the first text.
        let tried = tagger.names("Anna").map(drop);
        tried.map_err(|why| OpenError::unusable(&tagger.loaded.path, why))?;
        Ok(tagger)
    }

    pub(crate) fn names(&self, text: &str) -> Result<Vec<NameSpan>, String> {
        let tokens = self.tokenizer.tokens(text);
        let mut tagged = Vec::with_capacity(tokens.len());
        for window in windows(tokens.len(), self.window, OVERLAP_TOKENS) {
            let seen = tokens.get(window.seen.clone()).unwrap_or(&[]);
            let answers = self.tagged(seen)?;
            let skip = window.counts.start - window.seen.start;
            tagged.extend(answers.into_iter().skip(skip).take(window.counts.len()));
        }
        let inside = tokens.iter().map(|token| token.inside);
        Ok(names(text, words(tagged.into_iter().zip(inside))))
    }

    /// The network's answer for tokens that it looks at together.
    fn tagged(&self, tokens: &[Token]) -> Result<Vec<Tagged>, String> {
        let middle = tokens.iter().map(|token| token.id);
        let ids = [self.tokenizer.start].into_iter().chain(middle).chain([self.tokenizer.end]);
        let ids: Vec<i32> = ids.collect();
        let len = ids.len();
        let row = |values: Vec<i32>| ValueOrView::from(NdTensor::from_data([1, len], values));
        let mut inputs = vec![(self.ids, row(ids))];
        inputs.extend(self.mask.map(|input| (input, row(vec![1; len]))));
        inputs.extend(self.types.map(|input| (input, row(vec![0; len]))));
        let outputs = self.loaded.network.run_n(inputs, [self.loaded.output], None);
        let [output] = outputs.map_err(|error| error.to_string())?;
        let scores: NdTensor<f32, 3> = output.try_into().map_err(|_| SHAPE.to_owned())?;
        if scores.shape() != [1, len, self.tags.len()] {
            return Err(SHAPE.to_owned());
        }
        let scores = scores.to_vec();
        // The first row is the mark at the start.
        let rows = scores.chunks(self.tags.len()).skip(1);
        Ok(tokens.iter().zip(rows).map(|(token, row)| self.answer(token, row)).collect())
    }

    fn answer(&self, token: &Token, row: &[f32]) -> Tagged {
        let best = row.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        let (number, top) = best.unwrap_or((0, 0.0));
        let score = 1.0 / row.iter().map(|one| (one - top).exp()).sum::<f32>();
        let tag = self.tags.get(number).filter(|_| score >= TOKEN_SCORE_MIN);
        Tagged { range: token.range.clone(), tag, score }
    }
}

/// Words of tokens. A word is a name as a whole or not at all, by its surest piece that says so: half a name that
/// is masked tells the other half.
fn words(tokens: impl Iterator<Item = (Tagged, bool)>) -> Vec<Tagged> {
    let mut words: Vec<Tagged> = Vec::new();
    for (token, inside) in tokens {
        match words.last_mut().filter(|_| inside) {
            Some(word) => {
                word.range.end = token.range.end;
                let surer = token.tag.is_some() && (word.tag.is_none() || token.score > word.score);
                if surer {
                    (word.tag, word.score) = (token.tag, token.score);
                }
            }
            None => words.push(token),
        }
    }
    words
}

const SHAPE: &str = "the network's answer is not one number a label and token";

/// The labels by number.
fn labels(config: &Value) -> Result<Vec<String>, String> {
    let table = config.get("id2label").and_then(Value::as_object).ok_or("it has no `id2label`")?;
    let label = |number: usize| table.get(&number.to_string()).and_then(Value::as_str);
    let labels = (0..table.len()).map(|number| label(number).map(str::to_owned));
    labels.collect::<Option<Vec<_>>>().ok_or_else(|| "`id2label` has gaps".to_owned())
}

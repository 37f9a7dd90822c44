//! `keywords`: refuses what holds one of these words.
//!
//! Words are looked for in every text of the payload's part (values and keys), without regard to
//! case, in the compatibility form of Unicode (NFKC), and across characters that cannot be seen: a
//! zero-width space does not hide a word, nor do full-width letters. Look-alikes of other scripts and
//! words with spaces between their letters are not found.
//!
//! ```yaml
//! keywords: [密码, 验证码]
//! keywords: { words: [密码, 验证码], code: SENSITIVE, reason: "敏感信息禁止外发", then: deny }
//! ```

use super::act::{Act, handler};
use super::read::{OneOrMany, kind_of, read, schema_of};
use super::refusal::{Words, check_text};
use super::text::any_text;
use super::{ActionContext, ActionError, ActionSpec, deny};
use aho_corasick::Anchored;
use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::contiguous::NFA;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use tollgate_gate::limits::NAME_BYTES_MAX;
use tollgate_gate::text::is_deceptive;
use tollgate_gate::{
    Handler, HandlerError, Json, OnFailure, Opinion, Question, Refusal, Roles, View, Vote, VoteKind,
};
use unicode_normalization::UnicodeNormalization;

pub(super) static SPEC: ActionSpec = ActionSpec {
    name: "keywords",
    summary: "refuses what holds one of these words",
    kinds: deny::KINDS,
    roles: Roles::JUDGE,
    on_failure: OnFailure::Closed,
    restricts: true,
    compile,
    schema: schema_of::<Schema>,
};

/// Most words of one hook.
const WORDS_MAX: usize = 10_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    /// The words.
    words: OneOrMany<String>,
    /// What happens then; `ask` only before an effect.
    #[serde(default)]
    then: Then,
    /// The code of the refusal.
    code: Option<String>,
    /// Why, for the model and the person.
    reason: Option<String>,
    /// What a person can do about it. The model never hears it.
    remedy: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Then {
    /// This is refused.
    #[default]
    Deny,
    /// A person must confirm.
    Ask,
    /// The session ends.
    Abort,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Schema {
    /// The words.
    Words(OneOrMany<String>),
    /// With what happens then.
    Full(Config),
}

struct Keywords {
    words: NFA,
    vote: Vote,
    kinds: [VoteKind; 1],
}

fn compile(value: &Json, context: &ActionContext) -> Result<Arc<dyn Handler>, ActionError> {
    let config = match value {
        Json::Object(_) => read(value)?,
        Json::String(_) | Json::Array(_) => {
            Config { words: read(value)?, then: Then::Deny, code: None, reason: None, remedy: None }
        }
        other @ (Json::Null | Json::Bool(_) | Json::Number(_)) => {
            let message = format!("expected words, found {}", kind_of(other));
            return Err(ActionError::at("", message).remedy("`keywords: [password]`"));
        }
    };
    let words = automaton(&config.words.0)?;
    let said = Words { code: config.code, reason: config.reason, remedy: config.remedy };
    let vote = vote(config.then, &said)?;
    let kinds = [vote.kind()];
    if let Some(kind) = context.kinds.iter().find(|kind| !kind.may_vote(vote.kind())) {
        let message = format!("`{}` is not possible at `{kind}`", vote.kind());
        return Err(ActionError::at("then", message));
    }
    Ok(handler(SPEC.name, value, Keywords { words, vote, kinds }))
}

fn vote(then: Then, said: &Words) -> Result<Vote, ActionError> {
    const REASON: &str = "this holds a word that may not pass here";
    Ok(match then {
        Then::Deny => Vote::Deny(said.refusal(None, REASON)?),
        Then::Abort => Vote::Abort(said.ending(None, REASON)?),
        Then::Ask => {
            if said.code.is_some() || said.remedy.is_some() {
                return Err(ActionError::at("then", "a question has no code and no remedy"));
            }
            let Refusal { reason, .. } = said.refusal(None, REASON)?;
            Vote::Ask(Question { reason, ..Question::default() })
        }
    })
}

fn automaton(words: &[String]) -> Result<NFA, ActionError> {
    if words.is_empty() {
        return Err(ActionError::at("words", "no word"));
    }
    if words.len() > WORDS_MAX {
        return Err(ActionError::at("words", format!("more than {WORDS_MAX} words")));
    }
    let mut plain = Vec::with_capacity(words.len());
    for (at, word) in words.iter().enumerate() {
        let path = format!("words.{at}");
        check_text(&path, word)?;
        if word.len() > NAME_BYTES_MAX {
            return Err(ActionError::at(path, format!("longer than {NAME_BYTES_MAX} bytes")));
        }
        let folded: String = folded(word).collect();
        if folded.is_empty() {
            return Err(ActionError::at(path, "nothing of this word can be seen"));
        }
        plain.push(folded);
    }
    NFA::new(&plain).map_err(|error| ActionError::at("words", error.to_string()))
}

/// A text as words are compared: without invisible characters, in form NFKC, in lower case. Lower
/// case comes last; what it decomposes is rare and the same on both sides.
fn folded(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| is_seen(*c)).nfkc().flat_map(char::to_lowercase)
}

/// Whether a character is more than a trick: line ends and tabs stay, what cannot be seen goes.
fn is_seen(c: char) -> bool {
    !is_deceptive(c) || matches!(c, '\n' | '\t' | '\r')
}

impl Keywords {
    /// Whether the text holds a word, in one pass and without building the folded text.
    fn is_in(&self, text: &str) -> bool {
        let Ok(mut state) = self.words.start_state(Anchored::No) else { return true };
        let mut is_found = |byte: u8| {
            state = self.words.next_state(Anchored::No, state, byte);
            self.words.is_match(state)
        };
        if text.is_ascii() {
            // Folding ASCII is lower case without control characters.
            let seen = text.bytes().filter(|byte| is_seen(char::from(*byte)));
            return seen.map(|byte| byte.to_ascii_lowercase()).any(&mut is_found);
        }
        let mut buffer = [0u8; 4];
        folded(text).any(|c| c.encode_utf8(&mut buffer).bytes().any(&mut is_found))
    }
}

impl Act for Keywords {
    fn act(&self, view: &View<'_>) -> Result<Opinion, HandlerError> {
        let Some(part) = view.payload.part() else { return Ok(Opinion::none()) };
        if any_text(&part, &mut |text| self.is_in(text))? {
            return Ok(Opinion::vote(self.vote.clone()));
        }
        Ok(Opinion::none())
    }

    fn votes(&self) -> &[VoteKind] {
        &self.kinds
    }
}

#[cfg(test)]
mod tests {
    use super::{Keywords, Vote, automaton, compile, folded};
    use crate::actions::ActionContext;
    use tollgate_gate::{EventKind, Json, KindSet, Refusal, VoteKind};

    fn finds(words: &[&str], text: &str) -> bool {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let words = automaton(&words).unwrap();
        Keywords { words, vote: Vote::Deny(Refusal::default()), kinds: [VoteKind::Deny] }
            .is_in(text)
    }

    #[test]
    fn a_word_is_found_in_every_form_in_which_it_can_be_written() {
        for text in [
            "密码是123456",
            "密\u{200b}码",
            "密\u{200d}\u{feff}\u{2060}码",
            "\u{202e}密\u{ad}码",
            "PASSWORD=1",
            "ｐａｓｓｗｏｒｄ",
            "pass\u{200b}word",
            "pass\u{8}\0WORD",
            "the 𝓹𝓪𝓼𝓼𝔀𝓸𝓻𝓭",
            "re\u{301}sume\u{301}",
        ] {
            assert!(finds(&["密码", "password", "résumé"], text), "{text}");
        }
        // A compatibility ideograph, in the word as well as in the text.
        assert!(finds(&["\u{f900}"], "\u{8c48}") && finds(&["\u{8c48}"], "\u{f900}"));
    }

    #[test]
    fn other_texts_pass() {
        for text in ["", "密 码", "pass word", "密", "码密", "passwor"] {
            assert!(!finds(&["密码", "password"], text), "{text}");
        }
        assert_eq!(folded("Ａ\u{200b}b").collect::<String>(), "ab");
    }

    #[test]
    fn mistakes_are_told_with_their_path() {
        let error = |value: &str, kinds: KindSet| {
            let context = ActionContext::new("h", kinds);
            compile(&Json::read(value.as_bytes()).unwrap(), &context).err().unwrap()
        };
        let pre_tool = KindSet::from(EventKind::PreTool);
        assert_eq!(error("[]", pre_tool).message, "no word");
        assert_eq!(error(r#"["a","\u200b"]"#, pre_tool).path, "words.1");
        assert_eq!(error("true", pre_tool).message, "expected words, found true or false");
        let after = KindSet::AFTER_TOOL;
        assert_eq!(
            error(r#"{"words":"a","then":"ask"}"#, after).message,
            "`ask` is not possible at `post_tool`"
        );
        assert_eq!(
            error(r#"{"words":"a","than":"ask"}"#, after).message,
            "unknown key `than`; the nearest known one is `then`"
        );
    }
}

//! `protect_masks`: refuses a write whose text holds a mask in place of the datum.
//!
//! A model that reads `phone: 138*********` and writes the file back destroys the number. So a call that
//! writes, or of which it is not known that it does not, is refused when its text holds a mask that this
//! session was shown. Which masks those are, `redact` leaves behind as labels of the session
//! (`masked:email`), so that every process that judges the session knows them; a keyed hash is a mask
//! wherever it stands. An edit that puts in no more of a mask than it takes out is let through: the text
//! that it replaces must stand in the file as it is, so the file held the mask itself.
//!
//! Of a call of which nothing is known, what it looks for (`pattern`, `query`) is no text that it writes.
//!
//! Seen are labels, the plain forms, hashes, stars of secrets and the policy's own texts. Not seen are
//! the forms that cannot be told from other text: `shape`, stars of personal data, a name's first letter
//! with two stars, and templates of `patterns`.
//!
//! ```yaml
//! protect_masks: true
//! protect_masks: { allow: ["[EMAIL]"], code: MASK_WRITTEN }
//! ```

use super::act::{Act, handler};
use super::read::{OneOrMany, kind_of, read, schema_of};
use super::redact::masks::{MASKED_LABEL, MASKED_STARS, MASKED_TEXT};
use super::refusal::{Words, check_text};
use super::{ActionContext, ActionError, ActionSpec};
use crate::compile::effects::{EffectMemo, Question, Verb};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use tollgate_detect::{Kind, masks_in};
use tollgate_gate::text::shown;
use tollgate_gate::{
    EventKind, Handler, HandlerError, Json, KindSet, Object, OnFailure, Opinion, Refusal, Roles,
    ToolCall, View, Vote, VoteKind,
};

pub(super) static SPEC: ActionSpec = ActionSpec {
    name: "protect_masks",
    summary: "refuses a write that would put a mask in the place of a datum",
    kinds: KindSet::NONE.with(EventKind::PreTool),
    roles: Roles::JUDGE,
    on_failure: OnFailure::Closed,
    restricts: true,
    compile,
    schema: schema_of::<Schema>,
};

/// Longest mask that a refusal quotes, in characters.
const QUOTED_CHARS_MAX: usize = 80;
/// Hex digits of a keyed hash.
const HASH_CHARS: usize = 16;
/// Keys of an edit: the text that is replaced, and what comes in its place.
const EDITS: [(&str, &str); 8] = [
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("old_text", "new_text"),
    ("oldText", "newText"),
    ("oldString", "newString"),
    ("old", "new"),
    ("search", "replace"),
    ("find", "replace"),
];

/// Keys under which tools take what they look for.
const QUESTIONS: [&str; 15] = [
    "pattern",
    "regex",
    "regexp",
    "glob",
    "query",
    "q",
    "search",
    "search_query",
    "keyword",
    "keywords",
    "term",
    "needle",
    "filter",
    "path",
    "file_path",
];
/// First words of a query that changes something.
const STATEMENTS: [&str; 9] =
    ["insert", "update", "upsert", "merge", "replace", "delete", "alter", "create", "mutation"];

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    /// Masks that may be written: texts that templates of the project hold.
    #[serde(default)]
    allow: OneOrMany<String>,
    /// The code of the refusal.
    code: Option<String>,
    /// Why, for the model and the person; which mask it is when left out.
    reason: Option<String>,
    /// What a person can do about it. The model never hears it.
    remedy: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Schema {
    /// `true`.
    On(bool),
    /// With what may be written.
    Full(Config),
}

struct ProtectMasks {
    allow: Vec<String>,
    words: Words,
    effects: Option<Arc<EffectMemo>>,
}

fn compile(value: &Json, context: &ActionContext) -> Result<Arc<dyn Handler>, ActionError> {
    let config = match value {
        Json::Bool(true) => Config::default(),
        Json::Object(_) => read(value)?,
        Json::Bool(false) => {
            let error = ActionError::at("", "`false` protects nothing");
            return Err(error.remedy("`enabled: false` turns a hook off"));
        }
        other @ (Json::Null | Json::Number(_) | Json::String(_) | Json::Array(_)) => {
            let message = format!("expected true or an object, found {}", kind_of(other));
            return Err(ActionError::at("", message).remedy("`protect_masks: true`"));
        }
    };
    for (at, text) in config.allow.0.iter().enumerate() {
        check_text(&format!("allow.{at}"), text)?;
    }
    let words = Words { code: config.code, reason: config.reason, remedy: config.remedy };
    words.refusal(None, "checked here, used later")?;
    let effects = context.effects.clone();
    Ok(handler(SPEC.name, value, ProtectMasks { allow: config.allow.0, words, effects }))
}

impl Act for ProtectMasks {
    fn act(&self, view: &View<'_>) -> Result<Opinion, HandlerError> {
        let Some(call) = view.payload.tool_call() else { return Ok(Opinion::none()) };
        let shown = Shown::of(view);
        // Most calls hold no mask at all: effects are asked for only when one does.
        if self.mask_in_value(&call.arguments, &shown, Keys::All).is_none() {
            return Ok(Opinion::none());
        }
        let Some(keys) = self.written_keys(call, view) else { return Ok(Opinion::none()) };
        let Some(mask) = self.mask_in_value(&call.arguments, &shown, keys) else {
            return Ok(Opinion::none());
        };
        self.refusal(mask).map(|refusal| Opinion::vote(Vote::Deny(refusal)))
    }

    fn votes(&self) -> &[VoteKind] {
        &[VoteKind::Deny]
    }
}

impl ProtectMasks {
    fn refusal(&self, mask: &str) -> Result<Refusal, HandlerError> {
        let reason = format!(
            "`{}` is a mask: it stands where data were hidden from you, and writing it would destroy \
             them; change only what is around it, or leave that part of the file as it is",
            shown(mask, QUOTED_CHARS_MAX)
        );
        let mut refusal =
            self.words.refusal(None, &reason).map_err(|error| HandlerError(error.message))?;
        if refusal.remedy.is_none() {
            let remedy = "if the text is meant to hold it, `allow` it in `protect_masks`";
            refusal.remedy = Some(remedy.into());
        }
        Ok(refusal)
    }

    /// Which arguments may be written: of a call that writes all, of one of which nothing is known those that are
    /// no question; `None` of a call that writes nothing. A task for another agent writes nothing by itself:
    /// what that agent does is judged by itself.
    fn written_keys(&self, call: &ToolCall, view: &View<'_>) -> Option<Keys> {
        let kind = call.call.as_deref().and_then(|call| call.get("kind")).and_then(Json::as_str);
        if kind == Some("task") {
            return None;
        }
        let Some(memo) = &self.effects else { return Some(Keys::NoQuestions) };
        let effects = memo.of(call, &view.event.session);
        let writes = effects.tally(Verb::Writes, &Question::Outside(Vec::new()));
        if writes.targets > 0 || kind.is_some() && effects.is_unknown(Verb::Writes) {
            return Some(Keys::All);
        }
        effects.is_unknown(Verb::Writes).then_some(Keys::NoQuestions)
    }

    /// The first mask among what the arguments would put somewhere.
    fn mask_in<'c>(&self, arguments: &'c Object, shown: &Shown<'_>, keys: Keys) -> Option<&'c str> {
        let edit = EDITS.iter().find_map(|(old, new)| {
            let (old_text, new_text) =
                (arguments.get(old)?.as_str()?, arguments.get(new)?.as_str()?);
            Some((*old, *new, self.mask_put_in(new_text, old_text, shown)))
        });
        if let Some((.., Some(mask))) = edit {
            return Some(mask);
        }
        arguments.iter().find_map(|(key, value)| {
            let is_of_edit = edit.is_some_and(|(old, new, _)| key == old || key == new);
            let asked = keys == Keys::NoQuestions && is_question(key, value);
            if is_of_edit || asked { None } else { self.mask_in_value(value, shown, keys) }
        })
    }

    fn mask_in_value<'c>(&self, value: &'c Json, shown: &Shown<'_>, keys: Keys) -> Option<&'c str> {
        match value {
            Json::Null | Json::Bool(_) | Json::Number(_) => None,
            Json::String(text) => match patch_of(text) {
                Some((old, new)) => {
                    let mask = self.mask_put_in(&new, &old, shown)?;
                    let start = text.find(mask)?;
                    text.get(start..start + mask.len())
                }
                None => self.mask_put_in(text, "", shown),
            },
            Json::Array(items) => {
                items.iter().find_map(|item| self.mask_in_value(item, shown, keys))
            }
            Json::Object(object) => self.mask_in(object, shown, keys),
        }
    }

    /// The first mask that the new text holds more often than the old one.
    fn mask_put_in<'c>(&self, new: &'c str, old: &str, shown: &Shown<'_>) -> Option<&'c str> {
        let mut masks = shown.masks(new).filter(|mask| *mask != new || !shown.given.contains(mask));
        masks.find(|mask| {
            let count = |text: &str| text.matches(mask).count();
            !self.allow.iter().any(|allowed| allowed == mask) && count(new) > count(old)
        })
    }
}

/// Which arguments of a call are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    All,
    /// All but those that ask for something: a search for a mask destroys nothing.
    NoQuestions,
}

/// Whether the argument is a question by its key and by its value: one line that is no statement.
fn is_question(key: &str, value: &Json) -> bool {
    let text = value.as_str().unwrap_or_default();
    let first = text.split_whitespace().next().unwrap_or_default();
    let named = QUESTIONS.iter().any(|name| key.eq_ignore_ascii_case(name));
    let states = STATEMENTS.iter().any(|word| first.eq_ignore_ascii_case(word));
    named && !states && !text.contains('\n')
}

/// What a patch takes out and what it puts in, when a text is one.
fn patch_of(text: &str) -> Option<(String, String)> {
    let is_patch = text.contains("*** Begin Patch")
        || (text.contains("\n@@ ") && text.contains("\n+++ "))
        || text.starts_with("@@ ");
    if !is_patch {
        return None;
    }
    let side = |sign: char| -> String {
        let lines = text.lines().filter(|line| line.starts_with(sign));
        lines.flat_map(|line| [line, "\n"]).collect()
    };
    Some((side('-'), side('+')))
}

/// The masks that a session was shown.
struct Shown<'v> {
    /// The rest of each label.
    marks: Vec<&'v str>,
    /// Placeholders that the call gets their data for: a hook before this one gives them back.
    given: Vec<&'v str>,
}

impl<'v> Shown<'v> {
    fn of(view: &View<'v>) -> Shown<'v> {
        let labels = view.session.labels.iter();
        let given = view.votes.iter().filter(|cast| !cast.dry_run).flat_map(|cast| &cast.reveals);
        Shown {
            marks: labels.filter_map(|label| label.strip_prefix(MASKED_LABEL)).collect(),
            given: given.map(|placeholder| &**placeholder).collect(),
        }
    }

    /// The masks in a text that are this session's.
    fn masks<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let by_form = masks_in(text).into_iter().filter_map(|range| text.get(range));
        let of_policy = self.marks.iter().filter_map(|mark| mark.strip_prefix(MASKED_TEXT));
        let of_policy = of_policy.filter_map(|own| {
            let start = text.find(own)?;
            text.get(start..start + own.len())
        });
        let found: Vec<&str> = by_form.filter(|mask| self.holds(mask)).chain(of_policy).collect();
        found.into_iter()
    }

    /// Whether what has the form of a mask is one that this session was shown.
    fn holds(&self, mask: &str) -> bool {
        let inside = mask.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Some(inside) = inside {
            let (word, rest) = inside.split_once(':').unwrap_or((inside, ""));
            let is_hash =
                rest.len() == HASH_CHARS && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
            let kind = Kind::ALL.into_iter().find(|kind| kind.label() == word);
            return is_hash
                || kind.is_none()
                || kind.is_some_and(|kind| self.marks.contains(&kind.name()));
        }
        let mark = match mask.bytes().filter(|byte| *byte == b'*').count() {
            3 => Kind::Email.name(),
            4 => Kind::Card.name(),
            8 => MASKED_STARS,
            _ => Kind::Phone.name(),
        };
        self.marks.contains(&mark)
    }
}

#[cfg(test)]
mod tests {
    use super::{compile, patch_of};
    use crate::actions::ActionContext;
    use std::sync::Arc;
    use tollgate_gate::{
        Event, EventKind, Json, Name, Object, Opinion, Session, SessionView, Soon, Timestamp,
        ToolCall, View, Vote,
    };

    fn json(text: &str) -> Json {
        Json::read(text.as_bytes()).unwrap()
    }

    /// What is said of a call with these arguments in a session with these labels.
    fn judge(value: &str, labels: &[&str], arguments: &str) -> Option<String> {
        let context = ActionContext::new("h", EventKind::PreTool);
        let handler = compile(&json(value), &context).unwrap();
        let call = ToolCall::new("write_file", json(arguments));
        let event = Event::new(Arc::new(Session::new("s")), call, Timestamp::from_millis(0));
        let labels = labels.iter().map(|label| Name::from(*label)).collect();
        let session = SessionView { labels: Arc::new(labels), ..SessionView::default() };
        let Soon::Now(Some(answer)) = handler.handle(View {
            event: &event,
            payload: &event.payload,
            original: &event.payload,
            session: &session,
            votes: &[],
            now: event.at,
        }) else {
            panic!("an action must answer at once")
        };
        match answer.unwrap() {
            Opinion { vote: Some(Vote::Deny(refusal)), .. } => Some(refusal.reason.to_string()),
            other => {
                assert_eq!(other, Opinion::none());
                None
            }
        }
    }

    fn is_refused(labels: &[&str], arguments: &str) -> bool {
        judge("true", labels, arguments).is_some()
    }

    #[test]
    fn a_write_with_a_mask_that_the_session_was_shown_is_refused_and_says_which() {
        let text = r#"{"path":"a.txt","content":"mail: z***@x.com"}"#;
        let reason = judge("true", &["masked:email"], text).unwrap();
        assert!(reason.starts_with("`z***@x.com` is a mask"), "{reason}");
        assert!(is_refused(&["masked:phone"], r#"{"content":"138*********"}"#));
        assert!(is_refused(&["masked:card"], r#"{"content":"**** 1111"}"#));
        assert!(is_refused(&["masked:email"], r#"{"rows":[{"mail":"[EMAIL]"}]}"#));
        assert!(is_refused(&["masked:stars"], r#"{"content":"key = ********"}"#));
        assert!(is_refused(&["masked:=(gone)"], r#"{"content":"key = (gone)"}"#));
        assert!(is_refused(&["masked:email"], r#"{"command":"cat > f <<E\n[EMAIL]\nE"}"#));
    }

    #[test]
    fn a_keyed_hash_is_a_mask_in_every_session_and_other_forms_only_where_they_were_shown() {
        assert!(is_refused(&[], r#"{"content":"[EMAIL:1f3a9c02b7d4e655]"}"#));
        assert!(is_refused(&[], r#"{"content":"[UNSCANNED]"}"#));
        for harmless in [
            r#"{"content":"Dear [EMAIL], call 138*********"}"#,
            r#"{"content":"/******** a box ********/"}"#,
            r#"{"content":"[NOTE] **bold** [1]"}"#,
        ] {
            assert!(!is_refused(&[], harmless), "{harmless}");
            assert!(!is_refused(&["masked:secret", "seen"], harmless), "{harmless}");
        }
    }

    #[test]
    fn an_edit_may_leave_a_mask_that_the_file_itself_holds_and_add_none() {
        let labels = &["masked:email"];
        let edit = |old: &str, new: &str| {
            is_refused(
                labels,
                &format!(r#"{{"path":"t","old_string":"{old}","new_string":"{new}"}}"#),
            )
        };
        assert!(!edit("Dear [EMAIL],", "Hi [EMAIL],"));
        assert!(!edit("cc [EMAIL]", ""));
        assert!(edit("cc nobody", "cc [EMAIL]"));
        assert!(edit("[EMAIL]", "[EMAIL] [EMAIL]"));
        let edits = r#"{"edits":[{"old_string":"a","new_string":"[EMAIL]"}]}"#;
        assert!(is_refused(labels, edits));
    }

    #[test]
    fn a_patch_is_read_by_what_it_takes_out_and_puts_in() {
        let patch = "*** Begin Patch\n*** Update File: t\n@@\n Dear [EMAIL],\n-cc [EMAIL]\n+cc all [EMAIL]\n*** End Patch";
        let (old, new) = patch_of(patch).unwrap();
        assert_eq!((old.as_str(), new.as_str()), ("-cc [EMAIL]\n", "+cc all [EMAIL]\n"));
        let call = |patch: &str| Json::from(Object::from_iter([("patch", patch)])).text();
        assert!(!is_refused(&["masked:email"], &call(patch)));
        let more = patch.replace("-cc [EMAIL]\n", "");
        assert!(is_refused(&["masked:email"], &call(&more)));
    }

    #[test]
    fn what_the_policy_allows_may_be_written() {
        let text = r#"{"content":"Dear [EMAIL]"}"#;
        assert!(judge(r#"{"allow":"[EMAIL]"}"#, &["masked:email"], text).is_none());
        assert!(judge(r#"{"allow":"[PHONE]"}"#, &["masked:email"], text).is_some());
        let own = judge(r#"{"reason":"no masks in files"}"#, &["masked:email"], text);
        assert_eq!(own.unwrap(), "no masks in files");
    }

    #[test]
    fn mistakes_are_told() {
        let context = ActionContext::new("h", EventKind::PreTool);
        let error = |value: &str| compile(&json(value), &context).err().unwrap().to_string();
        assert!(error("false").contains("protects nothing"));
        assert!(error("1").contains("expected true or an object"));
        assert!(error(r#"{"alow":[]}"#).contains("nearest known one is `allow`"));
    }
}

//! A model that follows a script: for demonstrations and tests without a provider.
//!
//! The script is a JSON file, read strictly: a misspelt key is an error that names its place, never
//! a turn that silently does less.
//!
//! ```json
//! {"turns": [
//!   {"text": "I look first.",
//!    "tool_calls": [{"id": "c1", "tool": "read_file", "arguments": {"path": "a.py"}}],
//!    "usage": {"tokens_in": 120, "tokens_out": 30, "cost_micros": 9}},
//!   {"text": "Done."}
//! ]}
//! ```

use crate::limits::{REPLY_CALLS_MAX, SCRIPT_BYTES_MAX, SCRIPT_TURNS_MAX};
use crate::model::{Delta, ModelClient, ModelError, ModelRequest, ModelStream};
use std::collections::{HashSet, VecDeque};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use tollgate_gate::{Json, Object, Soon, Usage};

/// Why a script cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("script `{path}` cannot be read: {cause}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// There is more of something than may be.
    #[error("{what}: at most {max}")]
    TooMuch {
        /// Of what.
        what: String,
        /// The cap.
        max: u64,
    },
    /// It is no JSON.
    #[error("the script is no JSON: {0}")]
    NotJson(tollgate_gate::json::ReadError),
    /// It is no script.
    #[error("script, at `{place}`: {fault}")]
    Malformed {
        /// Where, as a path from the top.
        place: String,
        /// What is wrong.
        fault: String,
    },
}

/// A client that says the turns of a script, one a call.
#[derive(Debug)]
pub struct ScriptedClient {
    turns: Vec<Vec<Delta>>,
    next: AtomicUsize,
}

impl ScriptedClient {
    /// Reads a script file.
    ///
    /// # Errors
    /// [`ScriptError`] says what is wrong and where.
    pub fn from_file(path: &Path) -> Result<ScriptedClient, ScriptError> {
        let unreadable = |cause| ScriptError::Unreadable { path: path.to_owned(), cause };
        let file = std::fs::File::open(path).map_err(unreadable)?;
        let mut text = Vec::new();
        file.take(SCRIPT_BYTES_MAX + 1).read_to_end(&mut text).map_err(unreadable)?;
        if text.len() as u64 > SCRIPT_BYTES_MAX {
            return Err(ScriptError::TooMuch {
                what: "bytes of a script".into(),
                max: SCRIPT_BYTES_MAX,
            });
        }
        ScriptedClient::from_json(&Json::read(&text).map_err(ScriptError::NotJson)?)
    }

    /// Reads a script.
    ///
    /// # Errors
    /// [`ScriptError`] says what is wrong and where.
    pub fn from_json(script: &Json) -> Result<ScriptedClient, ScriptError> {
        let top = members(script, "script", &["turns"])?;
        let turns = list(top, "turns", "turns", SCRIPT_TURNS_MAX)?;
        if turns.is_empty() {
            return Err(malformed("turns", "must have at least one turn"));
        }
        let mut ids = HashSet::new();
        let turns = turns
            .iter()
            .enumerate()
            .map(|(at, turn)| turn_from(turn, &format!("turns[{at}]"), &mut ids))
            .collect::<Result<_, _>>()?;
        Ok(ScriptedClient { turns, next: AtomicUsize::new(0) })
    }
}

impl ModelClient for ScriptedClient {
    fn provider(&self) -> &str {
        "script"
    }

    fn start(&self, _request: ModelRequest) -> Soon<'_, Result<Box<dyn ModelStream>, ModelError>> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        Soon::now(match self.turns.get(at) {
            Some(turn) => Ok(Box::new(Saying(turn.iter().cloned().collect()))),
            None => Err(ModelError::ScriptEnded { turns: self.turns.len() }),
        })
    }
}

struct Saying(VecDeque<Delta>);

impl ModelStream for Saying {
    fn next(&mut self) -> Soon<'_, Option<Result<Delta, ModelError>>> {
        Soon::now(self.0.pop_front().map(Ok))
    }
}

fn turn_from(
    turn: &Json,
    place: &str,
    ids: &mut HashSet<String>,
) -> Result<Vec<Delta>, ScriptError> {
    let members = members(turn, place, &["text", "tool_calls", "usage"])?;
    let mut deltas = Vec::new();
    if members.contains_key("text") {
        deltas.push(Delta::Text(text(members, "text", place)?.to_owned()));
    }
    if members.contains_key("tool_calls") {
        let place = format!("{place}.tool_calls");
        for (index, call) in
            list(members, "tool_calls", &place, REPLY_CALLS_MAX)?.iter().enumerate()
        {
            deltas.push(call_from(call, index, &format!("{place}[{index}]"), ids)?);
        }
    }
    if deltas.is_empty() {
        return Err(malformed(place, "must have `text` or `tool_calls`"));
    }
    if let Some(usage) = members.get("usage") {
        deltas.push(Delta::Usage(usage_from(usage, &format!("{place}.usage"))?));
    }
    Ok(deltas)
}

fn call_from(
    call: &Json,
    index: usize,
    place: &str,
    ids: &mut HashSet<String>,
) -> Result<Delta, ScriptError> {
    let members = members(call, place, &["id", "tool", "arguments"])?;
    let id = text(members, "id", place)?;
    if !ids.insert(id.to_owned()) {
        return Err(malformed(place, &format!("the id `{id}` is used twice")));
    }
    let tool = Some(text(members, "tool", place)?.to_owned());
    let arguments = members.get("arguments").map_or_else(|| "{}".to_owned(), Json::text);
    Ok(Delta::Call { index, id: Some(id.to_owned()), tool, arguments })
}

fn usage_from(usage: &Json, place: &str) -> Result<Usage, ScriptError> {
    let members = members(usage, place, &["tokens_in", "tokens_out", "cost_micros"])?;
    let number = |key: &str| match members.get(key) {
        None => Ok(0),
        Some(value) => value.as_u64().ok_or_else(|| {
            malformed(&format!("{place}.{key}"), "must be a whole number, not negative")
        }),
    };
    Ok(Usage {
        tokens_in: number("tokens_in")?,
        tokens_out: number("tokens_out")?,
        cost_micros: number("cost_micros")?,
    })
}

/// The members of an object that has no others than these.
fn members<'a>(value: &'a Json, place: &str, known: &[&str]) -> Result<&'a Object, ScriptError> {
    let Some(object) = value.as_object() else {
        return Err(malformed(place, &format!("must be an object, not {}", value.type_name())));
    };
    match object.iter().find(|(key, _)| !known.contains(key)) {
        Some((key, _)) => {
            let fault = format!("unknown key `{key}`; known: {}", known.join(", "));
            Err(malformed(place, &fault))
        }
        None => Ok(object),
    }
}

fn text<'a>(members: &'a Object, key: &str, place: &str) -> Result<&'a str, ScriptError> {
    match members.get(key).and_then(Json::as_str) {
        Some(text) if !text.is_empty() => Ok(text),
        Some(_) | None => Err(malformed(&format!("{place}.{key}"), "must be a text, not empty")),
    }
}

fn list<'a>(
    members: &'a Object,
    key: &str,
    place: &str,
    max: usize,
) -> Result<&'a [Json], ScriptError> {
    let Some(items) = members.get(key).and_then(Json::as_array) else {
        return Err(malformed(place, "must be a list"));
    };
    if items.len() > max {
        return Err(ScriptError::TooMuch { what: place.to_owned(), max: max as u64 });
    }
    Ok(items)
}

fn malformed(place: &str, fault: &str) -> ScriptError {
    ScriptError::Malformed { place: place.to_owned(), fault: fault.to_owned() }
}

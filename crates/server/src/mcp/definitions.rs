//! What a server says its tools are, remembered from first sight.
//!
//! A server that changes a tool's description after people have looked at it can tell the model
//! anything (a "rug pull"), and characters that nobody sees can say to a model what they do not say to
//! a person. So each definition is pinned by its digest when it is first seen; what is done about a
//! changed one is said by the policy. The hook of this module says it to the gate; the relay itself
//! refuses nothing.

use super::limits::TOOLS_MAX;
use hyper::header::HeaderName;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
pub use tollgate::policy::Pinning;

use tollgate::gate::{
    EventKind, Hook, Json, Matcher, Name, Object, Opinion, Roles, View, hook::PRIORITY_SECURITY,
    inline,
};

/// Where pins are kept.
pub trait Pins: Send + Sync {
    /// The pins of a server: the digest by tool.
    ///
    /// # Errors
    /// A text that names the place and the cause.
    fn load(&self, server: &str) -> Result<BTreeMap<String, String>, String>;

    /// Adds pins of tools that have none, and notes what is seen of those that changed.
    ///
    /// # Errors
    /// A text that names the place and the cause.
    fn note(&self, server: &str, seen: &BTreeMap<String, String>) -> Result<(), String>;
}

/// Why a tool is not to be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suspicion {
    /// Its definition is not the one that was pinned.
    Changed,
    /// Its definition holds characters that a person does not see.
    HiddenCharacters,
    /// The server does not list it.
    Unlisted,
}

impl Suspicion {
    /// In words.
    pub fn reason(self) -> &'static str {
        match self {
            Suspicion::Changed => "the server changed what it says about this tool",
            Suspicion::HiddenCharacters => {
                "what the server says about this tool holds characters that nobody sees"
            }
            Suspicion::Unlisted => "the server does not list this tool, so nobody knows what it is",
        }
    }
}

/// The definitions of one server.
pub struct Definitions {
    server: Name,
    pinning: Mutex<Pinning>,
    pins: Option<Arc<dyn Pins>>,
    seen: Mutex<HashMap<Name, Seen>>,
}

#[derive(Default)]
struct Seen {
    suspicion: Option<Suspicion>,
    output_schema: Option<Arc<Json>>,
    headers: Vec<ParamHeader>,
}

/// An argument that a header repeats (`x-mcp-header` in the tool's schema).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParamHeader {
    /// The header.
    pub(super) header: HeaderName,
    /// The keys that lead to the argument.
    pub(super) path: Vec<String>,
}

/// What was noticed about a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noticed {
    /// The tool.
    pub tool: Name,
    /// What is wrong with it.
    pub suspicion: Suspicion,
    /// Whether it is refused for that.
    pub is_refused: bool,
}

impl Definitions {
    /// The definitions of a server; `pins: None` remembers them for this process only.
    pub fn new(server: impl Into<Name>, pins: Option<Arc<dyn Pins>>) -> Definitions {
        Definitions {
            server: server.into(),
            pinning: Mutex::new(Pinning::default()),
            pins,
            seen: Mutex::default(),
        }
    }

    /// Sets what is done about a definition that changed.
    pub fn set_pinning(&self, pinning: Pinning) {
        *self.pinning.lock().unwrap_or_else(PoisonError::into_inner) = pinning;
    }

    fn pinning(&self) -> Pinning {
        *self.pinning.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seen(&self) -> MutexGuard<'_, HashMap<Name, Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the tools of a list.
    ///
    /// # Errors
    /// When pins cannot be read or written: it is not known then whether anything changed.
    pub fn learn(&self, tools: &[Json]) -> Result<Vec<Noticed>, String> {
        let pinning = self.pinning();
        let mut digests = BTreeMap::new();
        for tool in tools.iter().take(TOOLS_MAX) {
            if let Some(name) = tool.get("name").and_then(Json::as_str) {
                digests.insert(name.to_owned(), digest(tool));
            }
        }
        let pinned = match &self.pins {
            Some(pins) if pinning != Pinning::Off => {
                let pinned = pins.load(&self.server)?;
                pins.note(&self.server, &digests)?;
                pinned
            }
            Some(_) | None => BTreeMap::new(),
        };
        let mut noticed = Vec::new();
        let mut seen = self.seen();
        for tool in tools.iter().take(TOOLS_MAX) {
            let Some(name) = tool.get("name").and_then(Json::as_str) else { continue };
            let changed = pinned.get(name).is_some_and(|pin| digests.get(name) != Some(pin));
            let suspicion = if holds_hidden(tool) {
                Some(Suspicion::HiddenCharacters)
            } else {
                changed.then_some(Suspicion::Changed)
            };
            let name = Name::from(name);
            if let Some(suspicion) = suspicion {
                let is_refused = refuses(pinning, suspicion);
                noticed.push(Noticed { tool: Name::clone(&name), suspicion, is_refused });
            }
            let output_schema = tool.get("outputSchema").cloned().map(Arc::new);
            let mut headers = Vec::new();
            if let Some(schema) = tool.get("inputSchema") {
                declared_headers(schema, &mut Vec::new(), &mut headers);
            }
            if seen.len() < TOOLS_MAX || seen.contains_key(&name) {
                seen.insert(name, Seen { suspicion, output_schema, headers });
            }
        }
        Ok(noticed)
    }

    /// Why a tool is refused; `None` when it is not.
    pub fn refusal(&self, tool: &str) -> Option<Suspicion> {
        let suspicion = self.seen().get(tool)?.suspicion?;
        refuses(self.pinning(), suspicion).then_some(suspicion)
    }

    /// Whether it must be known what a tool is before it is called, and is not.
    pub(super) fn must_be_listed(&self, tool: &str) -> bool {
        self.pinning() == Pinning::Deny && !self.seen().contains_key(tool)
    }

    /// Whether the server was asked about a tool, or listed it by itself.
    pub(super) fn is_known(&self, tool: &str) -> bool {
        self.seen().contains_key(tool)
    }

    /// Whether the server lists a tool.
    pub(super) fn is_listed(&self, tool: &str) -> bool {
        let seen = self.seen();
        seen.get(tool).is_some_and(|seen| seen.suspicion != Some(Suspicion::Unlisted))
    }

    /// Whether calls of a tool are refused because the server does not list it.
    pub(super) fn is_unlisted(&self, tool: &str) -> bool {
        self.refusal(tool) == Some(Suspicion::Unlisted)
    }

    /// The server was asked and does not list this tool.
    pub(super) fn note_unlisted(&self, tool: &str) {
        let mut seen = self.seen();
        if seen.len() >= TOOLS_MAX {
            seen.retain(|_, one| one.suspicion != Some(Suspicion::Unlisted));
        }
        let one = Seen { suspicion: Some(Suspicion::Unlisted), ..Seen::default() };
        seen.entry(Name::from(tool)).or_insert(one);
    }

    /// The schema of what a tool gives back, as last listed.
    pub(super) fn output_schema(&self, tool: &str) -> Option<Arc<Json>> {
        self.seen().get(tool)?.output_schema.clone()
    }

    /// The headers that repeat a tool's arguments, as last listed.
    pub(super) fn param_headers(&self, tool: &str) -> Vec<ParamHeader> {
        self.seen().get(tool).map(|seen| seen.headers.clone()).unwrap_or_default()
    }

    /// The hook that refuses calls of such tools. It is registered like any other hook in code.
    pub fn hook(self: &Arc<Definitions>) -> Hook {
        let definitions = Arc::clone(self);
        let handler = inline(move |view: View<'_>| {
            let suspicion = view
                .payload
                .tool_call()
                .filter(|call| call.server.as_ref() == Some(&definitions.server))
                .and_then(|call| definitions.refusal(&call.tool));
            Ok(suspicion.map_or_else(Opinion::none, |found| Opinion::deny(found.reason())))
        });
        Hook::new("mcp-definitions", EventKind::PreTool, Roles::JUDGE, handler)
            .with_priority(PRIORITY_SECURITY)
            .matching(Matcher::Always)
    }
}

/// Headers count where a chain of `properties` leads to them, and nowhere else.
fn declared_headers(schema: &Json, path: &mut Vec<String>, found: &mut Vec<ParamHeader>) {
    let properties = schema.get("properties").and_then(Json::as_object);
    for (key, property) in properties.into_iter().flat_map(Object::iter) {
        path.push(key.to_owned());
        let name = property.get("x-mcp-header").and_then(Json::as_str);
        let header = name.and_then(|name| format!("mcp-param-{name}").parse::<HeaderName>().ok());
        if let Some(header) = header {
            found.push(ParamHeader { header, path: path.clone() });
        }
        declared_headers(property, path, found);
        path.pop();
    }
}

fn refuses(pinning: Pinning, suspicion: Suspicion) -> bool {
    match suspicion {
        Suspicion::HiddenCharacters => true,
        Suspicion::Changed | Suspicion::Unlisted => pinning == Pinning::Deny,
    }
}

/// The digest of what the model and the person are told of a tool (SHA-256 of its canonical text).
pub fn digest(tool: &Json) -> String {
    const KEYS: [&str; 6] =
        ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];
    let told = KEYS.iter().filter_map(|key| Some((*key, tool.get(key)?.clone())));
    let told = Json::from(told.collect::<Object>());
    let mut out = String::from("sha256:");
    for byte in Sha256::digest(told.canonical_text()) {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// Whether any text in it, keys included, holds a character that a person does not see: controls but
/// tab and line ends, format characters (bidi, zero width, tags), variation selectors.
fn holds_hidden(value: &Json) -> bool {
    match value {
        Json::String(text) => text.chars().any(is_hidden),
        Json::Array(items) => items.iter().any(holds_hidden),
        Json::Object(object) => {
            object.iter().any(|(key, value)| key.chars().any(is_hidden) || holds_hidden(value))
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

fn is_hidden(character: char) -> bool {
    match character {
        '\t' | '\n' | '\r' => false,
        // Joiners between letters and emoji, and the selector that makes one colourful, are in
        // honest texts of many languages.
        '\u{200c}' | '\u{200d}' | '\u{fe0f}' => false,
        _ => tollgate::gate::text::is_deceptive(character),
    }
}

#[cfg(test)]
mod tests {
    use super::{Definitions, Noticed, Pinning, Pins, Suspicion, digest};
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};
    use tollgate::gate::Json;

    #[derive(Default)]
    struct Kept(Mutex<BTreeMap<String, String>>);

    impl Pins for Kept {
        fn load(&self, _: &str) -> Result<BTreeMap<String, String>, String> {
            Ok(self.0.lock().unwrap().clone())
        }

        fn note(&self, _: &str, seen: &BTreeMap<String, String>) -> Result<(), String> {
            for (tool, digest) in seen {
                self.0.lock().unwrap().entry(tool.clone()).or_insert_with(|| digest.clone());
            }
            Ok(())
        }
    }

    fn tool(description: &str) -> Json {
        let text = format!(r#"{{"name":"t","description":{}}}"#, Json::from(description).text());
        Json::read(text.as_bytes()).unwrap()
    }

    fn learned(pinning: Pinning, descriptions: &[&str]) -> (Vec<Noticed>, Option<Suspicion>) {
        let definitions = Definitions::new("s", Some(Arc::new(Kept::default())));
        definitions.set_pinning(pinning);
        let mut noticed = Vec::new();
        for description in descriptions {
            noticed = definitions.learn(&[tool(description)]).unwrap();
        }
        (noticed, definitions.refusal("t"))
    }

    #[test]
    fn a_changed_definition_is_noticed_and_refused_where_the_policy_says_so() {
        assert_eq!(learned(Pinning::Deny, &["reads", "reads"]), (vec![], None));
        let (noticed, refusal) = learned(Pinning::Warn, &["reads", "reads, and tells me"]);
        assert_eq!((noticed[0].suspicion, noticed[0].is_refused), (Suspicion::Changed, false));
        assert_eq!(refusal, None);
        let (noticed, refusal) = learned(Pinning::Deny, &["reads", "reads, and tells me"]);
        assert!(noticed[0].is_refused);
        assert_eq!(refusal, Some(Suspicion::Changed));
        assert_eq!(learned(Pinning::Off, &["reads", "other"]).0, []);
        // It is as it was again.
        assert_eq!(learned(Pinning::Deny, &["reads", "other", "reads"]).1, None);
    }

    #[test]
    fn a_definition_with_hidden_characters_is_refused_whatever_is_pinned() {
        for hidden in ["\u{202e}", "\u{200b}", "\u{e0041}", "\u{2066}", "\u{1b}[2J"] {
            let (_, refusal) = learned(Pinning::Warn, &[&format!("reads{hidden}")]);
            assert_eq!(refusal, Some(Suspicion::HiddenCharacters), "{hidden:?}");
        }
        for honest in ["line\nline", "👩\u{200d}💻", "❤\u{fe0f}", "می\u{200c}خواهم", "中文"]
        {
            assert_eq!(learned(Pinning::Warn, &[honest]).1, None, "{honest:?}");
        }
    }

    #[test]
    fn the_digest_is_that_of_what_is_told_and_not_of_its_spelling() {
        let a = Json::read(br#"{"name":"t","description":"d","_meta":{"x":1}}"#).unwrap();
        let b = Json::read(br#"{"description":"d","name":"t"}"#).unwrap();
        assert_eq!(digest(&a), digest(&b));
    }
}

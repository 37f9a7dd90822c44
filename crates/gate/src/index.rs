//! The index of a ruleset: from an event to the hooks that it may concern (law 12).
//!
//! Each hook is filed under one key that every event it matches must have: the exact tool or model,
//! the start or end of its name, a server, a user, a tag. An event looks up its own keys and gets a
//! handful of candidates, however many hooks there are; each candidate's matcher then decides. Hooks
//! without such a key stand in the list that every event of the kind gets.

use crate::event::{Event, Name};
use crate::glob::Anchor;
use crate::kind::EventKind;
use crate::matcher::{Matcher, Patterns};
use crate::payload::Payload;
use smallvec::SmallVec;
use std::collections::{BTreeMap, HashMap};

/// Hooks by their place in the ruleset, in order.
pub(crate) type Candidates = SmallVec<[u32; 32]>;

type Places = Vec<u32>;

type ByLength = BTreeMap<usize, HashMap<Box<str>, Places>>;

/// The index of one event kind.
#[derive(Debug, Default)]
pub(crate) struct KindIndex {
    exact: HashMap<Name, Places>,
    /// By length, so that a lookup cuts the subject once a length.
    prefixes: ByLength,
    suffixes: ByLength,
    servers: HashMap<Name, Places>,
    tenants: HashMap<Name, Places>,
    users: HashMap<Name, Places>,
    agents: HashMap<Name, Places>,
    hosts: HashMap<Name, Places>,
    tags: HashMap<Name, Places>,
    scan: Places,
}

/// A key that every event which a matcher matches must have.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Key {
    Subject(Anchor),
    Server(Name),
    Tenant(Name),
    User(Name),
    Agent(Name),
    Host(Name),
    Tag(Name),
}

/// How events find a matcher's hook.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Access {
    /// No event of the kind can match.
    Never,
    /// An event that matches has one of these keys.
    Keys(Vec<Key>),
    /// Any event may match.
    Scan,
}

impl KindIndex {
    /// Files a hook of this kind.
    pub(crate) fn add(&mut self, place: u32, kind: EventKind, matcher: &Matcher) {
        match access(matcher, kind) {
            Access::Never => {}
            Access::Scan => self.scan.push(place),
            Access::Keys(keys) => {
                for key in keys {
                    self.file(key, place);
                }
            }
        }
    }

    fn file(&mut self, key: Key, place: u32) {
        let places = match key {
            Key::Subject(Anchor::Exact(name)) => self.exact.entry(name.into()).or_default(),
            Key::Subject(Anchor::Prefix(text)) => by_length(&mut self.prefixes, text),
            Key::Subject(Anchor::Suffix(text)) => by_length(&mut self.suffixes, text),
            Key::Server(name) => self.servers.entry(name).or_default(),
            Key::Tenant(name) => self.tenants.entry(name).or_default(),
            Key::User(name) => self.users.entry(name).or_default(),
            Key::Agent(name) => self.agents.entry(name).or_default(),
            Key::Host(name) => self.hosts.entry(name).or_default(),
            Key::Tag(name) => self.tags.entry(name).or_default(),
        };
        // One hook may come twice by two of its patterns, then always in a row.
        if places.last() != Some(&place) {
            places.push(place);
        }
    }

    /// The hooks that this event may concern, in order.
    pub(crate) fn candidates(&self, event: &Event, payload: &Payload) -> Candidates {
        let mut found = Candidates::from_slice(&self.scan);
        if let Some(subject) = payload.subject() {
            gather(&mut found, &self.exact, subject);
            for (length, table) in &self.prefixes {
                if let Some(start) = subject.get(..*length) {
                    found.extend(table.get(start).into_iter().flatten().copied());
                }
            }
            for (length, table) in &self.suffixes {
                let end = subject.len().checked_sub(*length).and_then(|at| subject.get(at..));
                if let Some(end) = end {
                    found.extend(table.get(end).into_iter().flatten().copied());
                }
            }
        }
        let server = payload.tool_call().and_then(|call| call.server.as_deref());
        let session = &event.session;
        for (table, key) in [
            (&self.servers, server),
            (&self.tenants, session.tenant.as_deref()),
            (&self.users, session.user.as_deref()),
            (&self.agents, session.agent.as_deref()),
            (&self.hosts, session.host.as_deref()),
        ] {
            if let Some(key) = key {
                gather(&mut found, table, key);
            }
        }
        for tag in &event.tags {
            gather(&mut found, &self.tags, tag);
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn gather(found: &mut Candidates, table: &HashMap<Name, Places>, key: &str) {
    if !table.is_empty()
        && let Some(places) = table.get(key)
    {
        found.extend_from_slice(places);
    }
}

fn by_length(tables: &mut ByLength, text: String) -> &mut Places {
    tables.entry(text.len()).or_default().entry(text.into()).or_default()
}

fn access(matcher: &Matcher, kind: EventKind) -> Access {
    let is_tool = matches!(kind, EventKind::PreTool | EventKind::PostTool | EventKind::ToolError);
    let is_model = matches!(kind, EventKind::PreModel | EventKind::PostModel);
    match matcher {
        Matcher::Always | Matcher::Not(_) | Matcher::Labels(_) | Matcher::Test(_) => Access::Scan,
        Matcher::Value(..) => Access::Scan,
        Matcher::Tool(_) | Matcher::Server(_) if !is_tool => Access::Never,
        Matcher::Model(_) if !is_model => Access::Never,
        Matcher::Tool(patterns) | Matcher::Model(patterns) => subject_access(patterns),
        Matcher::Server(patterns) => name_access(patterns, Key::Server),
        Matcher::Tenant(patterns) => name_access(patterns, Key::Tenant),
        Matcher::User(patterns) => name_access(patterns, Key::User),
        Matcher::Agent(patterns) => name_access(patterns, Key::Agent),
        Matcher::Host(patterns) => name_access(patterns, Key::Host),
        Matcher::Tags(tags) => match tags.first() {
            // Any one of them will do.
            Some(tag) => Access::Keys(vec![Key::Tag(Name::clone(tag))]),
            None => Access::Scan,
        },
        Matcher::AnyTag(tags) => Access::Keys(tags.iter().cloned().map(Key::Tag).collect()),
        Matcher::All(all) => {
            all.iter().map(|m| access(m, kind)).min_by_key(cost).unwrap_or(Access::Scan)
        }
        Matcher::AnyOf(any) => any.iter().map(|m| access(m, kind)).fold(Access::Never, Access::or),
    }
}

fn subject_access(patterns: &Patterns) -> Access {
    let mut keys = Vec::new();
    for glob in patterns.as_globs() {
        match glob.anchors() {
            Some(anchors) => keys.extend(anchors.into_iter().map(Key::Subject)),
            None => return Access::Scan,
        }
    }
    Access::Keys(keys)
}

fn name_access(patterns: &Patterns, key: fn(Name) -> Key) -> Access {
    let mut keys = Vec::new();
    for glob in patterns.as_globs() {
        match glob.literals() {
            Some(literals) => keys.extend(literals.into_iter().map(|text| key(text.into()))),
            None => return Access::Scan,
        }
    }
    Access::Keys(keys)
}

/// The less an access costs at the time of an event, the smaller: the rarest key wins.
fn cost(access: &Access) -> u32 {
    match access {
        Access::Never => 0,
        Access::Scan => 100,
        Access::Keys(keys) => keys.iter().map(key_cost).max().unwrap_or(0),
    }
}

fn key_cost(key: &Key) -> u32 {
    match key {
        Key::Subject(Anchor::Exact(_)) => 1,
        Key::Subject(Anchor::Prefix(_)) => 2,
        Key::Subject(Anchor::Suffix(_)) => 3,
        Key::User(_) => 4,
        Key::Server(_) => 5,
        Key::Tag(_) => 6,
        Key::Agent(_) => 7,
        Key::Tenant(_) => 8,
        Key::Host(_) => 9,
    }
}

impl Access {
    fn or(self, other: Access) -> Access {
        match (self, other) {
            (Access::Never, access) | (access, Access::Never) => access,
            (Access::Keys(mut keys), Access::Keys(more)) => {
                keys.extend(more);
                Access::Keys(keys)
            }
            (Access::Scan, _) | (_, Access::Scan) => Access::Scan,
        }
    }
}

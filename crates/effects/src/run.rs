//! The analysis of one call: what has been found, how much work is left, and where things stand.
//!
//! Everything that is found passes the few `add` functions here, so that devices, marks, links and
//! caps are handled in one place. Refused: a second way to put an effect into the set.

use std::collections::HashMap;
use std::rc::Rc;

use crate::effect::{Effects, Piece, Reason, Target, Verb};
use crate::files::{Entry, FileSystem};
use crate::limits::{
    EXPANDED_BYTES_MAX, FLOW_BYTES_MAX, LINKS_MAX, LOOKUPS_MAX, PARSED_BYTES_MAX, RUN_DEPTH_MAX,
    SCRIPT_BYTES_MAX, SCRIPTS_MAX, STEPS_MAX,
};
use crate::mark;
use crate::net;
use crate::path::{self, PathTarget};
use crate::program::foreign::Fetched;
use crate::program::table::Programs;
use crate::shell::expand::Choice;
use crate::shell::scope::Scope;
use crate::things;

/// Where a call runs, and what may be asked about the place.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The folder the call runs in, absolute.
    pub cwd: &'a str,
    /// The workspace's root, absolute, if there is one.
    pub root: Option<&'a str>,
    /// The user's home folder, if known.
    pub home: Option<&'a str>,
    /// Environment variables whose values are known.
    pub env: &'a [(String, String)],
    /// What is known about programs.
    pub programs: &'a Programs,
    /// The file system, or [`crate::NoFiles`].
    pub files: &'a dyn FileSystem,
}

pub(crate) struct Run<'e> {
    pub(crate) ctx: &'e Context<'e>,
    pub(crate) out: Effects,
    pub(crate) piece: Piece,
    /// The text that is being looked at.
    pub(crate) src: Rc<str>,
    pub(crate) choice: Choice,
    /// The last variable with a secret's name that was put into a word.
    pub(crate) secret_name: Box<str>,
    /// Whether the present command runs on another machine, whose home folder is not known.
    pub(crate) away: bool,
    /// Whether the present command follows an `&&`, so that what came before it has worked.
    pub(crate) assume: bool,
    /// What files hold that this text has written: by path.
    pub(crate) written: HashMap<String, String>,
    /// Texts behind `<(..)`, by number.
    texts: Vec<String>,
    folders: HashMap<String, Option<String>>,
    /// Links that the text itself makes, with where they lead.
    links: Vec<(String, String)>,
    /// Git remotes that this text names, with their addresses.
    pub(crate) remotes: HashMap<String, String>,
    /// Folders whose content this text fetches from the network.
    pub(crate) foreign: Vec<Fetched>,
    /// Whether the present text of code stands in the command, and is no script of the project.
    pub(crate) inline: bool,
    /// The functions that are being called.
    pub(crate) calls: Vec<Box<str>>,
    /// What `trap` has put off to the end of the present text.
    pub(crate) traps: Vec<String>,
    pub(crate) depth: u32,
    steps: u32,
    parsed: usize,
    expanded: usize,
    pub(crate) lookups: u32,
    scripts: u32,
    /// Where the outermost command stands, while an inner text is looked at.
    pub(crate) outer: Option<(u32, u32)>,
}

impl<'e> Run<'e> {
    pub(crate) fn new(ctx: &'e Context<'e>) -> Self {
        Self {
            ctx,
            out: Effects::default(),
            piece: Piece::new("", (0, 0)),
            src: Rc::from(""),
            choice: Choice::default(),
            secret_name: Box::default(),
            assume: false,
            away: false,
            written: HashMap::new(),
            texts: Vec::new(),
            folders: HashMap::new(),
            links: Vec::new(),
            remotes: HashMap::new(),
            foreign: Vec::new(),
            inline: false,
            calls: Vec::new(),
            traps: Vec::new(),
            depth: 0,
            steps: STEPS_MAX,
            parsed: PARSED_BYTES_MAX,
            expanded: EXPANDED_BYTES_MAX,
            lookups: LOOKUPS_MAX,
            scripts: SCRIPTS_MAX,
            outer: None,
        }
    }

    pub(crate) fn home(&self) -> String {
        if self.away {
            return mark::VOID.to_string();
        }
        self.ctx.home.map_or_else(|| mark::VOID.to_string(), str::to_owned)
    }

    pub(crate) fn root(&self) -> String {
        self.ctx.root.map_or_else(|| mark::VOID.to_string(), str::to_owned)
    }

    pub(crate) fn env(&self, name: &str) -> Option<String> {
        self.ctx.env.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone())
    }

    /// Counts one step of work; `false` when there are none left, which has been noted.
    pub(crate) fn step(&mut self) -> bool {
        if self.steps == 0 {
            self.out.unknown(Verb::Runs, Reason::Steps, &self.piece);
            return false;
        }
        self.steps -= 1;
        true
    }

    /// Counts the parsing of a text one level down; `false` over a cap, which has been noted.
    pub(crate) fn enter(&mut self, bytes: usize) -> bool {
        if self.depth >= RUN_DEPTH_MAX {
            self.out.unknown(Verb::Runs, Reason::Depth, &self.piece);
            return false;
        }
        let Some(left) = self.parsed.checked_sub(bytes) else {
            self.out.unknown(Verb::Runs, Reason::Steps, &self.piece);
            return false;
        };
        self.parsed = left;
        self.depth += 1;
        true
    }

    /// Counts the bytes of an expanded word; `false` over the cap, which has been noted.
    pub(crate) fn expand(&mut self, bytes: usize) -> bool {
        match self.expanded.checked_sub(bytes) {
            Some(left) => {
                self.expanded = left;
                true
            }
            None => {
                self.out.unknown(Verb::Runs, Reason::Size, &self.piece);
                false
            }
        }
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Keeps the text behind a `<(..)` and names it.
    pub(crate) fn keep_text(&mut self, text: String) -> String {
        self.texts.push(text);
        format!("/dev/fd/in{}", self.texts.len() - 1)
    }

    pub(crate) fn thing(&mut self, verb: Verb, thing: &str) {
        debug_assert!(things::is_thing(verb, thing), "{verb} {thing}");
        let thing = match (verb, thing) {
            (Verb::Destroys, "database") => things::database(&self.piece.text, "database"),
            (Verb::Destroys, "dev-database") => things::database(&self.piece.text, "dev-database"),
            (_, thing) => thing,
        };
        self.out.add(verb, Target::Thing(thing.into()), &self.piece);
    }

    pub(crate) fn unknown(&mut self, verb: Verb, reason: Reason) {
        self.out.unknown(verb, reason, &self.piece);
    }

    pub(crate) fn secret(&mut self, verb: Verb) {
        let name: Box<str> =
            if self.secret_name.is_empty() { "*".into() } else { self.secret_name.clone() };
        self.out.add(verb, Target::Secret(name), &self.piece);
    }

    pub(crate) fn environment(&mut self) {
        self.out.add(Verb::Exposes, Target::Secret("*".into()), &self.piece);
    }

    pub(crate) fn program(&mut self, name: &str, sub: &str) {
        let name = if mark::has_mark(name) { mark::shown(name) } else { name.to_owned() };
        let sub = if mark::has_mark(sub) { mark::shown(sub) } else { sub.to_owned() };
        let target = Target::Program { name: name.into(), sub: sub.into() };
        self.out.add(Verb::Runs, target, &self.piece);
    }

    /// Contacts the host of an address or a bare host name.
    pub(crate) fn host(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        // What a file holds, or who this is, as a part of an address: the other side reads it.
        if text.contains(mark::DATA) {
            self.thing(Verb::Sends, "computed");
        }
        let text = &*mark::without_data(text);
        match net::host_of(text) {
            Some(host) if mark::has_mark(&host) => {
                self.unknown(Verb::Contacts, Reason::HostText);
            }
            Some(host) => self.out.add(Verb::Contacts, Target::Host(host.into()), &self.piece),
            None if mark::has_void(text) => self.unknown(Verb::Contacts, Reason::HostText),
            None => {}
        }
    }

    /// Acts on a path as it stands in the text.
    pub(crate) fn path(&mut self, scope: &Scope, verb: Verb, text: &str, tree: bool) {
        if text.is_empty() || text == "-" {
            return;
        }
        if net::is_url(text) && !text.starts_with("file:") {
            self.host(text);
            return;
        }
        let text = &*mark::without_data(text);
        let below = path::below_the_known(text);
        if below.is_some() && verb == Verb::Deletes {
            self.unknown(verb, Reason::PathText);
        }
        let text = below.as_deref().unwrap_or(text);
        let void = mark::has_void(text);
        if void && text.starts_with(|c| mark::is_mark(c) && mark::has_void(&c.to_string())) {
            self.unknown(verb, Reason::PathText);
            return;
        }
        let Some(absolute) = path::normalise(&scope.cwd, text) else {
            self.unknown(verb, Reason::Size);
            return;
        };
        if self.device(verb, &absolute) {
            return;
        }
        // Whoever speaks to a container's engine is root on this machine.
        if ["docker.sock", "containerd.sock", "podman.sock", "crio.sock"]
            .iter()
            .any(|socket| absolute.ends_with(socket))
        {
            self.thing(Verb::Escalates, "docker-socket");
        }
        self.absolute(verb, absolute, tree);
        if let Some(other) = &scope.cwd_else
            && !self.assume
            && !path::is_absolute(text)
            && let Some(other) = path::normalise(other, text)
        {
            self.absolute(verb, other, tree);
        }
    }

    /// Acts on a normalised path.
    fn absolute(&mut self, verb: Verb, absolute: String, tree: bool) {
        if mark::has_void(&absolute) {
            self.unknown(verb, Reason::PathText);
            if absolute.starts_with(mark::is_mark) {
                return;
            }
        }
        let resolved = self.resolved(&absolute);
        let fresh = tree && verb == Verb::Writes && self.is_fresh(&absolute, resolved.as_deref());
        // Files that a program lists, deleted: below the workspace's root that may be every one of it.
        let folder = path::folder_of(&absolute);
        let all = verb == Verb::Deletes && self.ctx.root.is_some_and(|root| root == folder);
        let target = PathTarget::new(absolute, resolved, tree).fresh(fresh);
        if all && !tree && target.is_anything() {
            self.unknown(verb, Reason::PathText);
        }
        self.out.add(verb, Target::Path(target), &self.piece);
    }

    /// Whether it is known that there is no folder at a path.
    fn is_fresh(&mut self, absolute: &str, resolved: Option<&str>) -> bool {
        let path = resolved.unwrap_or(absolute);
        if !self.ctx.files.is_present() || mark::has_mark(path) || self.lookups == 0 {
            return false;
        }
        self.lookups -= 1;
        self.ctx.files.look(path) != Entry::Folder
    }

    /// Where links lead; for a path with marks, where its known folder leads.
    fn resolved(&mut self, absolute: &str) -> Option<String> {
        for prefix in ["/proc/self/root", "/proc/1/root", "/proc/thread-self/root"] {
            if let Some(rest) = absolute.strip_prefix(prefix) {
                return Some(if rest.is_empty() { "/".to_owned() } else { rest.to_owned() });
            }
        }
        for (link, target) in &self.links {
            if let Some(rest) = absolute.strip_prefix(link.as_str())
                && (rest.is_empty() || rest.starts_with('/'))
            {
                return path::normalise(target, rest.trim_start_matches('/'));
            }
        }
        if !self.ctx.files.is_present() {
            return None;
        }
        let known = absolute.split(mark::is_mark).next().unwrap_or_default();
        if known.len() == absolute.len() {
            return path::resolve(self.ctx.files, absolute, &mut self.lookups);
        }
        let cut = known.rfind('/').unwrap_or(0);
        let folder = absolute.get(..cut).unwrap_or_default();
        let lead = match self.folders.get(folder) {
            Some(lead) => lead.clone(),
            None => {
                let lead = path::resolve(self.ctx.files, folder, &mut self.lookups);
                self.folders.insert(folder.to_owned(), lead.clone());
                lead
            }
        }?;
        let rest = absolute.get(cut..).unwrap_or_default();
        Some(format!("{}{rest}", lead.trim_end_matches('/')))
    }

    /// Devices and kernel files; `true` when the path is one and has been dealt with.
    fn device(&mut self, verb: Verb, path: &str) -> bool {
        let changes = matches!(verb, Verb::Writes | Verb::Deletes);
        if let Some(name) = path.strip_prefix("/dev/") {
            if let Some(rest) = name.strip_prefix("tcp/").or_else(|| name.strip_prefix("udp/")) {
                self.host(rest.split('/').next().unwrap_or_default());
                return true;
            }
            if net::is_disk(name) {
                if changes {
                    self.thing(Verb::Destroys, "disk");
                } else {
                    self.thing(Verb::Escalates, "raw-disk");
                }
                return true;
            }
            return !(name.starts_with("shm/") || name.starts_with("mqueue/"));
        }
        if changes && path == "/proc/sysrq-trigger" {
            self.thing(Verb::Destroys, "system");
            return true;
        }
        if changes && (path.starts_with("/proc/") || path.starts_with("/sys/")) {
            self.thing(Verb::Escalates, "kernel");
        }
        if path.starts_with("/proc/") && path.ends_with("/environ") {
            self.environment();
            return true;
        }
        false
    }

    /// What a file holds, as far as the text itself or the file system says.
    pub(crate) fn content(&mut self, scope: &Scope, text: &str) -> Option<String> {
        if let Some(number) = text.strip_prefix("/dev/fd/in") {
            return self.texts.get(number.parse::<usize>().ok()?).cloned();
        }
        if mark::has_mark(text) {
            return None;
        }
        let path = path::normalise(&scope.cwd, text)?;
        if let Some(written) = self.written.get(&path) {
            return Some(written.clone());
        }
        if !self.ctx.files.is_present() || self.scripts == 0 {
            return None;
        }
        self.scripts -= 1;
        let path = path::resolve(self.ctx.files, &path, &mut self.lookups).unwrap_or(path);
        let content = self.ctx.files.read(&path, SCRIPT_BYTES_MAX)?;
        (!content.contains('\0') && !mark::has_mark(&content)).then_some(content)
    }

    /// Remembers a link that the text makes.
    pub(crate) fn linked(&mut self, scope: &Scope, link: &str, target: &str, inside: bool) {
        if self.links.len() >= LINKS_MAX as usize || mark::has_mark(link) || mark::has_mark(target)
        {
            return;
        }
        let link =
            if inside { format!("{link}/{}", path::base_name(target)) } else { link.to_owned() };
        if let Some(link) = path::normalise(&scope.cwd, &link)
            && let Some(target) = path::normalise(path::folder_of(&link), target)
        {
            self.links.push((link, target));
        }
    }

    /// Remembers what a file holds from now on.
    pub(crate) fn wrote(&mut self, scope: &Scope, text: &str, content: &str, append: bool) {
        if mark::has_mark(text) || content.len() > FLOW_BYTES_MAX {
            return;
        }
        let Some(path) = path::normalise(&scope.cwd, text) else { return };
        if append && let Some(old) = self.written.get_mut(&path) {
            if old.len() + content.len() <= FLOW_BYTES_MAX {
                old.push_str(content);
            } else {
                *old = mark::VOID.to_string();
            }
            return;
        }
        self.written.insert(path, content.to_owned());
    }
}

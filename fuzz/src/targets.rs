//! What is fuzzed: one function a target, from any bytes to a panic if a law does not hold.
//!
//! They are plain functions so that two drivers share them: libfuzzer (`fuzz_targets/`, hours, guided
//! by coverage) and a test of the policy crate (seconds, in CI, from the seeds). Each also asks for
//! more than "no panic": a second reading that must agree, a reference that is slow and simple, or a
//! place that must lie in the text. Refused: files, clocks, and anything random.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context as TaskContext, Poll, Waker};
use tollgate_detect::{
    Category, Context as TextContext, Detector, Mask, Redactor as Masks, StreamFormat,
};
use tollgate_effects::{Call, Context, NoFiles, PathGlob, Programs, ShellKind};
use tollgate_gate::json::ReadFault;
use tollgate_gate::path::Path;
use tollgate_gate::{
    Event, EventKind, Gate, Glob, Hook, Json, KindSet, ManualClock, Matcher, Object, Opinion,
    Patterns, Roles, SessionView, Subject, Test, Timestamp, inline,
};
use tollgate_policy::when::{Condition, Groups, WhenEnv, limits as when_limits};
use tollgate_policy::{AnalysedEffects, EffectSource, LoadOptions, ToolFacts, load_text};

/// A target: panics when a law does not hold for these bytes.
pub(crate) type Target = fn(&[u8]);

/// Every target: its name, as in `fuzz/Cargo.toml`, and its function.
pub(crate) const TARGETS: &[(&str, Target)] = &[
    ("policy", policy),
    ("condition", condition),
    ("evaluator", evaluator),
    ("matcher", matcher),
    ("glob", glob),
    ("event", event),
    ("json", json),
    ("effects", effects),
    ("detect", detect),
];

/// Most that a report may say about one policy, in bytes.
const REPORT_BYTES_MAX: usize = 8 * 1024 * 1024;

fn now() -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000)
}

/// Runs a future that never waits.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut TaskContext::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a decision of inline hooks waits"),
    }
}

fn analysed(facts: &ToolFacts) -> Arc<dyn EffectSource> {
    Arc::new(AnalysedEffects::new(facts, Arc::new(NoFiles), Some("/home/alice".to_owned())))
}

/// The text of a policy file: every problem lies in it and can be shown, and what loads decides.
fn policy(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let options = LoadOptions { effects: Some(&analysed), ..LoadOptions::new(now()) };
    let loaded = load_text("tollgate.yaml", &text, &options);
    let report = match &loaded {
        Ok(loaded) => &loaded.report,
        Err(failure) => &failure.report,
    };
    for found in &report.diagnostics {
        if let Some(place) = found.place {
            let source = report.sources.get(place.source).unwrap();
            assert!(source.text.get(place.span.start..place.span.end).is_some(), "{found:?}");
        }
    }
    assert!(report.text().len() < REPORT_BYTES_MAX);
    assert!(report.json().is_object() && report.sarif().is_object());
    let Ok(loaded) = loaded else { return };
    assert!(!loaded.report.has_errors());
    let again = loaded.another_ruleset().unwrap();
    assert_eq!(again.digest(), loaded.ruleset.digest());
    let gate = Gate::builder(Arc::new(ManualClock::new(now()))).ruleset(loaded.ruleset);
    let gate = gate.build().unwrap();
    let call = br#"{"kind":"pre_tool","session":{"id":"s","user":"alice","cwd":"/repo"},"payload":{"tool":"shell","arguments":{"command":"rm -rf a && curl x.net","path":"a/b","n":3}}}"#;
    let decision = ready(gate.judge(Event::read(call, now()).unwrap()));
    assert!(Json::from_serialize(&decision).is_ok());
}

fn when_env(kind: EventKind, tools: &[&str]) -> WhenEnv {
    let groups = Groups::of_members([("finance", ["alice"]), ("ops", ["bob"])]);
    WhenEnv {
        kinds: kind.into(),
        tools: tools.iter().map(|tool| (*tool).into()).collect(),
        groups: Arc::new(groups),
    }
}

/// The text of a condition: an error lies in it, and what compiles runs.
fn condition(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let source = String::from_utf8_lossy(rest);
    let kind = EventKind::ALL[usize::from(*first) % EventKind::ALL.len()];
    let tools: &[&str] = if *first >= 128 { &["transfer"] } else { &[] };
    match Condition::compile(&source, &when_env(kind, tools)) {
        Ok(condition) => {
            assert!(source.len() <= when_limits::SOURCE_BYTES_MAX);
            let mut bytes = Bytes(b"");
            let event = any_event(&mut bytes, kind);
            let view = SessionView::default();
            let subject = Subject { event: &event, payload: &event.payload, session: &view };
            let _ = condition.test(&subject);
        }
        Err(error) => {
            assert!(source.get(error.span.clone()).is_some(), "{error:?}");
            assert!(!error.message.is_empty() && !error.remedy.is_empty());
        }
    }
}

/// Conditions for events that bring none.
const CONDITIONS: [&str; 8] = [
    "args.amount > 1000 && !('finance' in user.groups)",
    "has(args.list) && args.list.exists(x, x == 1 || has(x.a) && x.a.startsWith('b'))",
    "has(args.text) && matches(args.text, '^[a-z]+$') && lower(args.text).contains('a')",
    "has(args.a) && has(args.a.b) && args.a.b + 1 > 2 || size(args) > 3",
    "path_within(args.path, '/repo') && glob(args.path, '**/*.rs')",
    "ip_in(args.ip, '10.0.0.0/8') || args.t < timestamp('2027-01-01T00:00:00Z')",
    "args.n / args.m * args.n % 7 == 0 ? args.f < 0.5 : string(args.n) == digest(args.s)",
    "args.list.filter(x, x > 1).map(x, args.list.all(y, y >= x)) == [true, false]",
];

/// A condition, a zero byte, and the arguments of a call as JSON; or a number and the arguments. The
/// answer is the same when it is asked again, and out of a snapshot.
fn evaluator(data: &[u8]) {
    let zero = data.iter().position(|byte| *byte == 0);
    let (source, arguments) = match (zero, data.split_first()) {
        (Some(at), _) => (String::from_utf8_lossy(&data[..at]).into_owned(), &data[at + 1..]),
        (None, Some((first, rest))) => {
            (CONDITIONS[usize::from(*first) % CONDITIONS.len()].to_owned(), rest)
        }
        (None, None) => return,
    };
    let env = when_env(EventKind::PreTool, &["transfer"]);
    let Ok(condition) = Condition::compile(&source, &env) else { return };
    let Ok(Json::Object(arguments)) = Json::read(arguments) else { return };
    let mut bytes = Bytes(b"");
    let mut event = any_event(&mut bytes, EventKind::PreTool);
    event.payload = event.payload.with_part(Json::Object(arguments)).unwrap();
    let view = SessionView::default();
    let subject = Subject { event: &event, payload: &event.payload, session: &view };
    let answer = condition.test(&subject);
    assert_eq!(condition.test(&subject), answer);
    let restored = Condition::from_snapshot(condition.snapshot().clone(), env.groups);
    assert_eq!(restored.test(&subject), answer);
    assert_eq!(restored.describe(), condition.describe());
}

/// Bytes as choices; behind their end all choices are zero.
struct Bytes<'d>(&'d [u8]);

impl<'d> Bytes<'d> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::from(self.byte()) % all.len()]
    }

    fn chance(&mut self) -> bool {
        self.byte() % 2 == 1
    }

    fn take(&mut self, len: usize) -> &'d [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

const WORDS: [&str; 12] =
    ["read", "write", "reader", "r", "", "alice", "acme", "a", "5", "é", "gh1", "read.x"];
const GLOBS: [&str; 16] = [
    "read",
    "re*",
    "*",
    "write",
    "*ad",
    "r?ad",
    "{read,write}",
    "[r-w]*",
    "*e*",
    "\\*",
    "a",
    "5",
    "{a*,*5}",
    "gh?",
    "[!a]*",
    "é",
];
const PATHS: [&str; 7] = [
    "args.path",
    "args.n",
    "args.files.*.name",
    "args.list[0]",
    "payload.tool",
    "payload.*",
    "args.a.b",
];

/// An event of this kind whose fields are chosen by bytes.
fn any_event(bytes: &mut Bytes<'_>, kind: EventKind) -> Event {
    let mut session = Object::new();
    session.insert("id", "s");
    for key in ["tenant", "user", "agent", "host", "workspace"] {
        if bytes.chance() {
            session.insert(key, bytes.one_of(&WORDS));
        }
    }
    let mut arguments = Object::new();
    for key in ["path", "n", "a"] {
        if bytes.chance() {
            arguments.insert(key, bytes.one_of(&WORDS));
        }
    }
    if bytes.chance() {
        arguments.insert("n", i64::from(bytes.byte()));
        let name = Object::from_iter([("name", Json::from(bytes.one_of(&WORDS)))]);
        arguments.insert("files", vec![Json::from(name)]);
        arguments.insert("list", vec![Json::from(bytes.one_of(&WORDS))]);
    }
    let mut payload = Object::new();
    payload.insert("tool", bytes.one_of(&WORDS[..4]));
    payload.insert("arguments", arguments);
    payload.insert("request", Object::from_iter([("model", Json::from(bytes.one_of(&WORDS)))]));
    payload.insert("model", bytes.one_of(&WORDS));
    if bytes.chance() {
        payload.insert("server", bytes.one_of(&WORDS));
    }
    let tags: Vec<Json> = (0..bytes.byte() % 3).map(|_| Json::from(bytes.one_of(&WORDS))).collect();
    let whole = Object::from_iter([
        ("kind", Json::from(kind.name())),
        ("session", session.into()),
        ("tags", tags.into()),
        ("payload", payload.into()),
    ]);
    let bare = Object::from_iter([
        ("kind", Json::from(kind.name())),
        ("session", Object::from_iter([("id", Json::from("s"))]).into()),
    ]);
    // Some kinds have a payload of another form.
    Event::from_json(whole.into(), now())
        .or_else(|_| Event::from_json(bare.into(), now()))
        .unwrap_or_else(|_| {
            let text = br#"{"kind":"pre_tool","session":{"id":"s"},"payload":{"tool":"read"}}"#;
            Event::read(text, now()).unwrap()
        })
}

/// Patterns that are chosen by bytes, or made of them.
fn any_patterns(bytes: &mut Bytes<'_>) -> Patterns {
    let count = 1 + usize::from(bytes.byte() % 3);
    let mut texts = Vec::with_capacity(count);
    for _ in 0..count {
        let choice = bytes.byte();
        if choice < 224 {
            texts.push(GLOBS[usize::from(choice) % GLOBS.len()].to_owned());
        } else {
            let len = usize::from(bytes.byte() % 8);
            texts.push(String::from_utf8_lossy(bytes.take(len)).into_owned());
        }
    }
    Patterns::globs(texts.iter().map(String::as_str))
        .unwrap_or_else(|_| Patterns::globs(["read"]).unwrap())
}

fn any_matcher(bytes: &mut Bytes<'_>, depth: u8) -> Matcher {
    let names = |bytes: &mut Bytes<'_>| -> Vec<tollgate_gate::Name> {
        (0..bytes.byte() % 3).map(|_| bytes.one_of(&WORDS).into()).collect()
    };
    let count = |bytes: &mut Bytes<'_>| bytes.byte() % 4;
    match bytes.byte() % if depth < 4 { 15 } else { 12 } {
        0 => Matcher::Always,
        1 | 2 => Matcher::Tool(any_patterns(bytes)),
        3 => Matcher::Server(any_patterns(bytes)),
        4 => Matcher::Model(any_patterns(bytes)),
        5 => Matcher::Tenant(any_patterns(bytes)),
        6 => Matcher::User(any_patterns(bytes)),
        7 => Matcher::Agent(any_patterns(bytes)),
        8 => Matcher::Host(any_patterns(bytes)),
        9 => Matcher::Tags(names(bytes)),
        10 => Matcher::AnyTag(names(bytes)),
        11 => Matcher::Value(Path::parse(bytes.one_of(&PATHS)).unwrap(), any_patterns(bytes)),
        12 => Matcher::All((0..count(bytes)).map(|_| any_matcher(bytes, depth + 1)).collect()),
        13 => Matcher::AnyOf((0..count(bytes)).map(|_| any_matcher(bytes, depth + 1)).collect()),
        _ => Matcher::Not(Box::new(any_matcher(bytes, depth + 1))),
    }
}

/// Hooks and an event that are chosen by bytes: the gate, which finds hooks through its index, runs
/// exactly those whose matcher says yes when all are asked.
fn matcher(data: &[u8]) {
    let mut bytes = Bytes(data);
    let kind = bytes.one_of(&EventKind::ALL);
    let event = any_event(&mut bytes, kind);
    let kind = event.kind();
    let view = SessionView::default();
    let mut expected = Vec::new();
    let mut hooks = Vec::new();
    for at in 0..1 + bytes.byte() % 16 {
        let kinds =
            if bytes.chance() { KindSet::ALL } else { bytes.one_of(&EventKind::ALL).into() };
        let matcher = any_matcher(&mut bytes, 0);
        let subject = Subject { event: &event, payload: &event.payload, session: &view };
        let matches = matcher.matches(&subject).unwrap();
        assert_eq!(matcher.mismatch(&subject).unwrap().is_none(), matches, "{matcher}");
        let name = format!("h{at:02}");
        if matches && kinds.contains(kind) {
            expected.push(name.clone());
        }
        let says_nothing = inline(|_| Ok(Opinion::none()));
        hooks.push(Hook::new(name, kinds, Roles::WATCH, says_nothing).matching(matcher));
    }
    let gate = Gate::builder(Arc::new(ManualClock::new(now()))).hooks(hooks).build().unwrap();
    let decision = ready(gate.judge(event));
    let mut ran: Vec<String> = decision.votes.iter().map(|cast| cast.hook.to_string()).collect();
    ran.sort();
    assert_eq!(ran, expected);
}

/// A glob, a zero byte and a text: the same answer as the regular expression that it stands for.
fn glob(data: &[u8]) {
    let at = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let pattern = String::from_utf8_lossy(&data[..at]);
    let text = String::from_utf8_lossy(data.get(at + 1..).unwrap_or_default());
    for (is_path, glob) in [(false, Glob::text(&pattern)), (true, Glob::path(&pattern))] {
        let Ok(glob) = glob else { continue };
        let matches = glob.matches(&text);
        if let Some(literals) = glob.literals() {
            assert_eq!(literals.contains(&&*text), matches, "{pattern:?} {text:?}");
        }
        let Some(reference) = reference(&pattern, is_path) else { continue };
        assert_eq!(reference.is_match(&text), matches, "{pattern:?} {text:?} path: {is_path}");
    }
    // Globs of effects have no braces; they are looked at for panics and time only.
    let _ = PathGlob::new(&pattern).matches(&text);
}

/// Longest glob that is compared with its regular expression, in bytes: a larger one takes all the time.
const REFERENCE_BYTES_MAX: usize = 64;

/// The regular expression that a glob stands for; `None` where it is too large to compare.
fn reference(pattern: &str, is_path: bool) -> Option<regex::Regex> {
    if pattern.len() > REFERENCE_BYTES_MAX {
        return None;
    }
    let mut out = String::from("(?s)^(?:");
    for (at, one) in tollgate_gate::glob::expand_braces(pattern).ok()?.iter().enumerate() {
        if at > 0 {
            out.push('|');
        }
        translate(one, is_path, &mut out)?;
    }
    out.push_str(")$");
    regex::RegexBuilder::new(&out).size_limit(1 << 18).build().ok()
}

fn translate(pattern: &str, is_path: bool, out: &mut String) -> Option<()> {
    let mut rest = pattern.chars().peekable();
    let mut before = None;
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                let escaped = rest.next()?;
                out.push_str(&regex::escape(&escaped.to_string()));
                before = Some(escaped);
                continue;
            }
            '?' => out.push_str(if is_path { "[^/]" } else { "." }),
            '*' => {
                let mut stars = 1;
                while rest.next_if_eq(&'*').is_some() {
                    stars += 1;
                }
                if !is_path {
                    out.push_str(".*");
                } else if stars == 1 {
                    out.push_str("[^/]*");
                } else if matches!(before, None | Some('/')) && rest.next_if_eq(&'/').is_some() {
                    // What follows stands at the start of a component, but not behind a literal
                    // slash: a second `**/` there is read as `**`.
                    out.push_str("(?:.*/)?");
                } else {
                    out.push_str(".*");
                }
            }
            // Classes have their own tests.
            '[' => return None,
            c => out.push_str(&regex::escape(&c.to_string())),
        }
        before = Some(c);
    }
    Some(())
}

/// The JSON of an event: what is read is written and read again as the same event.
fn event(data: &[u8]) {
    let Ok(event) = Event::read(data, now()) else { return };
    let written = event.to_json();
    let again = Event::from_json(written.clone(), now()).unwrap();
    assert_eq!(again.to_json().canonical_text(), written.canonical_text());
    assert_eq!(again.kind(), event.kind());
    let read = Event::read(written.text().as_bytes(), now()).unwrap();
    assert_eq!(read, again);
}

/// JSON: what is read is written and read again as the same value, and no looser than a common reader.
fn json(data: &[u8]) {
    let common = serde_json::from_slice::<serde_json::Value>(data);
    match Json::read(data) {
        Ok(value) => {
            assert_eq!(Json::read(value.text().as_bytes()).unwrap(), value);
            let canonical = value.canonical_text();
            let again = Json::read(canonical.as_bytes()).unwrap();
            assert_eq!(again.canonical_text(), canonical);
            if let Err(error) = common {
                // Numbers without end and nesting are all that it refuses beyond.
                let words = error.to_string();
                let is_known = ["out of range", "recursion limit"];
                assert!(is_known.iter().any(|known| words.contains(known)), "{words}");
            }
        }
        Err(error) => {
            assert!(error.at <= data.len());
            let is_stricter = matches!(
                error.fault,
                ReadFault::DuplicateKey(_)
                    | ReadFault::TooDeep
                    | ReadFault::TooLarge
                    | ReadFault::NumberTooLong
            );
            assert!(is_stricter || common.is_err(), "{error}");
        }
    }
}

/// The text of a command: bounded, the same when it is asked again.
fn effects(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let command = String::from_utf8_lossy(rest).into_owned();
    let env = [("TARGET".to_owned(), "/etc".to_owned())];
    let context = Context {
        cwd: "/repo/src",
        root: Some("/repo"),
        home: Some("/home/alice"),
        env: &env,
        programs: Programs::built_in(),
        files: &NoFiles,
    };
    let shell = match first % 8 {
        6 => ShellKind::Cmd,
        7 => ShellKind::Powershell,
        _ => ShellKind::Bash,
    };
    let call = Call::Shell { command, cwd: None, shell };
    let found = tollgate_effects::effects(&call, &context);
    assert!(found.len() <= tollgate_effects::limits::EFFECTS_MAX + 1);
    assert_eq!(tollgate_effects::effects(&call, &context).rows(), found.rows());
}

/// A text: findings lie in it, a mask is nothing that is found, and a stream gives the same wherever it
/// is cut. (What stands beside a mask may be found the second time: a mask is shorter than what it
/// masks, so a reader that looks back over a window sees further.)
fn detect(data: &[u8]) {
    static MASKS: LazyLock<Masks> = LazyLock::new(|| {
        let all = [Category::Secrets, Category::Pii, Category::Names];
        let detector = Detector::builder().find_categories(all).build().unwrap();
        Masks::new(Arc::new(detector)).mask(Mask::Plain)
    });
    let Some((first, rest)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    for finding in MASKS.detector().scan(&text) {
        assert!(text.get(finding.range()).is_some(), "{finding:?}");
        let mask = MASKS.mask_of(finding.kind, &text[finding.range()]);
        assert!(MASKS.detector().scan(&mask).is_empty(), "{mask:?}");
    }
    let whole = streamed([text.as_bytes()]);
    let len = 1 + usize::from(*first);
    assert_eq!(streamed(text.as_bytes().chunks(len)), whole, "in pieces of {len} bytes");

    fn streamed<'t>(pieces: impl IntoIterator<Item = &'t [u8]>) -> Vec<u8> {
        let mut stream = MASKS.stream(StreamFormat::Text, &TextContext::default());
        let mut out = Vec::new();
        for piece in pieces {
            out.extend(stream.push(piece).bytes);
        }
        out.extend(stream.finish().bytes);
        out
    }
}

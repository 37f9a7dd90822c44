//! Review: what hooks found or would have refused, looked at by a person, who says whether it was right.
//!
//! Items come from the ledger, so they are as masked as records are. Marks are kept beside it, one a
//! line, each with the keyed digest of what was asked, by which the same call is known again without
//! being kept. From marks come rates: how often a hook hits, and how often it is wrong when it does, each
//! with the interval in which the true rate lies nineteen times out of twenty (Wilson's, which holds for
//! few marks too).

use std::collections::{BTreeMap, HashMap};
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use tollgate_gate::{Json, Object, Timestamp};
use tollgate_policy::private::{self, PrivateError};
use tollgate_store::HashValue;

/// The marks, in the state folder.
pub const MARKS: &str = "reviews.jsonl";
/// Largest file of marks, in bytes.
pub const MARKS_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Something that a hook said, to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The id of the record.
    pub record: String,
    /// The hook.
    pub hook: String,
    /// What of it: the finding's rule, or the code or vote of what it would have done.
    pub rule: String,
    /// Whether it is a finding; otherwise something that a dry hook would have done.
    pub is_finding: bool,
    /// When.
    pub at: Option<Timestamp>,
    /// The call, masked.
    pub context: String,
    /// The keyed digest of what was asked.
    pub fingerprint: Option<String>,
    /// The keyed fingerprints of the data that were found, where the hook keeps them.
    pub prints: Vec<String>,
}

impl Item {
    fn key(&self) -> Key {
        Key { record: self.record.clone(), hook: self.hook.clone(), rule: self.rule.clone() }
    }
}

/// What is to be looked at in a record.
pub fn items(record: &Json) -> Vec<Item> {
    let text = |key| record.get(key).and_then(Json::as_str);
    let Some(id) = text("id") else { return Vec::new() };
    let is_dry_mode = text("mode") == Some("dry_run");
    let subject = text("tool").or(text("model")).or(text("event")).unwrap_or_default();
    let asked = record.get("asked").map(Json::text).unwrap_or_default();
    let item = |hook: &str, rule: &str, is_finding| Item {
        record: id.to_owned(),
        hook: hook.to_owned(),
        rule: rule.to_owned(),
        is_finding,
        at: text("at").and_then(Timestamp::parse),
        context: format!("{subject} {asked}"),
        fingerprint: text("asked_digest").map(str::to_owned),
        prints: Vec::new(),
    };
    let mut found: Vec<Item> = Vec::new();
    for vote in record.get("votes").and_then(Json::as_array).unwrap_or_default() {
        let one = |key: &str| vote.get(key).and_then(Json::as_str);
        let is = |key: &str| matches!(vote.get(key), Some(Json::Bool(true)));
        let Some(hook) = one("hook") else { continue };
        let findings = vote.get("findings").and_then(Json::as_array).unwrap_or_default();
        let finding = |rule| Item { prints: prints_of(vote, rule), ..item(hook, rule, true) };
        found.extend(findings.iter().filter_map(Json::as_str).map(finding));
        let is_fault = one("fault").is_some();
        if (is("dry_run") || is_dry_mode) && findings.is_empty() && !is_fault {
            let rule = one("code").or(one("vote")).or(is("rewrote").then_some("rewrite"));
            found.extend(rule.map(|rule| item(hook, rule, false)));
        }
    }
    let mut seen: Vec<Key> = Vec::new();
    found.retain(|item| {
        let key = item.key();
        let is_new = !seen.contains(&key);
        seen.push(key);
        is_new
    });
    found
}

/// The fingerprints of what a rule found, in a vote.
fn prints_of(vote: &Json, rule: &str) -> Vec<String> {
    let found = vote.get("found").and_then(Json::as_array).unwrap_or_default();
    let of_rule = found.iter().filter(|one| one.get("rule").and_then(Json::as_str) == Some(rule));
    of_rule.flat_map(prints_in).collect()
}

fn prints_in(json: &Json) -> Vec<String> {
    let prints = json.get("prints").and_then(Json::as_array).unwrap_or_default();
    prints.iter().filter_map(Json::as_str).map(str::to_owned).collect()
}

/// What one mark is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    record: String,
    hook: String,
    rule: String,
}

/// What a person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The id of the record.
    pub record: String,
    /// The hook.
    pub hook: String,
    /// The rule.
    pub rule: String,
    /// Whether the hook was right.
    pub is_true: bool,
    /// The keyed digest of what was asked.
    pub fingerprint: Option<String>,
    /// The keyed fingerprints of the data that were found.
    pub prints: Vec<String>,
    /// Who said so.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

impl Mark {
    fn text(&self) -> String {
        let mut out = Object::new();
        out.insert("record", &*self.record);
        out.insert("hook", &*self.hook);
        out.insert("rule", &*self.rule);
        out.insert("true", self.is_true);
        if let Some(fingerprint) = &self.fingerprint {
            out.insert("fingerprint", &**fingerprint);
        }
        if !self.prints.is_empty() {
            let prints: Vec<Json> = self.prints.iter().map(|print| Json::from(&**print)).collect();
            out.insert("prints", Json::from(prints));
        }
        out.insert("by", &*self.by);
        out.insert("at", self.at.to_string());
        Json::Object(out).text()
    }

    fn read(line: &[u8]) -> Option<Mark> {
        let json = Json::read(line).ok()?;
        let text = |key| json.get(key).and_then(Json::as_str);
        let &Json::Bool(is_true) = json.get("true")? else { return None };
        Some(Mark {
            record: text("record")?.to_owned(),
            hook: text("hook")?.to_owned(),
            rule: text("rule")?.to_owned(),
            is_true,
            fingerprint: text("fingerprint").map(str::to_owned),
            prints: prints_in(&json),
            by: text("by")?.to_owned(),
            at: Timestamp::parse(text("at")?)?,
        })
    }
}

/// Why marks cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// The file is not to be believed.
    #[error(transparent)]
    Private(#[from] PrivateError),
    /// A line of it is no mark.
    #[error("`{path}` line {number} is no mark")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1 on.
        number: usize,
    },
    /// It cannot be written.
    #[error("`{path}` cannot be written: {cause}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: io::Error,
    },
}

/// All marks; of several about the same, the last one holds.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    by_key: BTreeMap<Key, Mark>,
}

impl Marks {
    /// Reads the marks in this state folder.
    ///
    /// # Errors
    /// [`ReviewError`] for a file that others could have written or that holds anything else.
    pub fn read(state: &Path) -> Result<Marks, ReviewError> {
        let path = state.join(MARKS);
        let text = private::read(&path, MARKS_BYTES_MAX)?.unwrap_or_default();
        let mut marks = Marks::default();
        for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
            if line.is_empty() {
                continue;
            }
            let bad = || ReviewError::Line { path: path.clone(), number: at + 1 };
            marks.take(Mark::read(line).ok_or_else(bad)?);
        }
        Ok(marks)
    }

    fn take(&mut self, mark: Mark) {
        let key =
            Key { record: mark.record.clone(), hook: mark.hook.clone(), rule: mark.rule.clone() };
        self.by_key.insert(key, mark);
    }

    /// Adds a mark, on disk first.
    ///
    /// # Errors
    /// [`ReviewError::Write`] when it cannot be written.
    pub fn add(&mut self, state: &Path, mark: Mark) -> Result<(), ReviewError> {
        let path = state.join(MARKS);
        let write = || {
            let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path)?;
            file.write_all(format!("{}\n", mark.text()).as_bytes())?;
            file.sync_all()
        };
        write().map_err(|cause| ReviewError::Write { path: path.clone(), cause })?;
        self.take(mark);
        Ok(())
    }

    /// What was said about an item.
    pub fn of(&self, item: &Item) -> Option<&Mark> {
        self.by_key.get(&item.key())
    }

    /// All marks that hold.
    pub fn iter(&self) -> impl Iterator<Item = &Mark> {
        self.by_key.values()
    }

    /// By hook, rule and fingerprint, whether what was found is a false alarm: somebody said so, and
    /// nobody that it is none.
    pub fn false_prints(&self) -> HashMap<(&str, &str, &str), bool> {
        let mut said = HashMap::new();
        for mark in self.iter() {
            for print in &mark.prints {
                let key = (mark.hook.as_str(), mark.rule.as_str(), print.as_str());
                *said.entry(key).or_insert(true) &= !mark.is_true;
            }
        }
        said
    }

    /// By the event's id, whether it was harmful: labels for a backtest. An event about which anything
    /// was right is harmful.
    pub fn labels(&self) -> BTreeMap<&str, bool> {
        let mut labels = BTreeMap::new();
        for mark in self.iter() {
            *labels.entry(mark.record.as_str()).or_insert(false) |= mark.is_true;
        }
        labels
    }
}

/// A sample of these items, as many of each hook and rule: which ones is settled by the hash of their
/// records' ids, so that it does not depend on their order or content.
pub fn sample(items: Vec<Item>, of_each: usize) -> Vec<Item> {
    let mut groups: BTreeMap<(String, String), Vec<(HashValue, Item)>> = BTreeMap::new();
    for item in items {
        let group = groups.entry((item.hook.clone(), item.rule.clone())).or_default();
        group.push((HashValue::of(item.record.as_bytes()), item));
    }
    let mut taken = Vec::new();
    for mut group in groups.into_values() {
        group.sort_by_key(|(hash, _)| *hash);
        taken.extend(group.into_iter().take(of_each).map(|(_, item)| item));
    }
    taken
}

/// A share with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// How many.
    pub part: u64,
    /// Of how many.
    pub whole: u64,
}

impl Rate {
    /// The share; none of nothing.
    pub fn share(self) -> Option<f64> {
        (self.whole > 0).then(|| self.part as f64 / self.whole as f64)
    }

    /// Wilson's interval for 95 %.
    pub fn interval(self) -> Option<(f64, f64)> {
        const Z: f64 = 1.959_963_984_540_054;
        if self.whole == 0 {
            return None;
        }
        let (k, n, z2) = (self.part as f64, self.whole as f64, Z * Z);
        let middle = (k + z2 / 2.0) / (n + z2);
        let half = Z * (k * (n - k) / n + z2 / 4.0).sqrt() / (n + z2);
        Some(((middle - half).max(0.0), (middle + half).min(1.0)))
    }
}

/// How a hook does by one rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// Records with a hit, of those in which the hook was asked.
    pub hits: Rate,
    /// Hits that were marked wrong, of those that were marked.
    pub false_positives: Rate,
}

/// Counts hits and marks, record by record.
#[derive(Debug, Default)]
pub struct Scores {
    asked: HashMap<String, u64>,
    hits: BTreeMap<(String, String), u64>,
}

impl Scores {
    /// Counts a record.
    pub fn take(&mut self, record: &Json) {
        for seen in tollgate_store::query::uses(record) {
            *self.asked.entry(seen.hook.to_owned()).or_default() += 1;
        }
        for item in items(record) {
            *self.hits.entry((item.hook, item.rule)).or_default() += 1;
        }
    }

    /// The scores by hook and rule.
    pub fn with(&self, marks: &Marks) -> BTreeMap<(String, String), Score> {
        let mut scores: BTreeMap<(String, String), Score> = BTreeMap::new();
        let none = Rate { part: 0, whole: 0 };
        let fresh = |hook: &str, part| Score {
            hits: Rate { part, whole: self.asked.get(hook).copied().unwrap_or_default() },
            false_positives: none,
        };
        for ((hook, rule), hits) in &self.hits {
            scores.insert((hook.clone(), rule.clone()), fresh(hook, *hits));
        }
        for mark in marks.iter() {
            let score = scores
                .entry((mark.hook.clone(), mark.rule.clone()))
                .or_insert_with(|| fresh(&mark.hook, 0));
            score.false_positives.whole += 1;
            score.false_positives.part += u64::from(!mark.is_true);
        }
        scores
    }
}

#[cfg(test)]
mod tests {
    use super::{Item, Mark, Marks, Rate, Scores, items, sample};
    use tollgate_gate::{Json, Timestamp};

    const RECORD: &str = r#"{"kind":"decision","id":"e1","at":"2026-01-02T03:04:05Z","tool":"fetch",
        "asked":{"url":"[SECRET]"},"asked_digest":"hmac-sha256:ab","mode":"enforce","votes":[
        {"hook":"trial","vote":"deny","code":"X","dry_run":true,"fault":null,"rewrote":false,"us":1},
        {"hook":"mask","vote":null,"dry_run":false,"fault":null,"rewrote":true,"findings":["jwt","email"],"us":1},
        {"hook":"real","vote":"deny","dry_run":false,"fault":null,"rewrote":false,"us":1}]}"#;

    fn record() -> Json {
        Json::read(RECORD.as_bytes()).unwrap()
    }

    fn mark(item: &Item, is_true: bool) -> Mark {
        Mark {
            record: item.record.clone(),
            hook: item.hook.clone(),
            rule: item.rule.clone(),
            is_true,
            fingerprint: item.fingerprint.clone(),
            prints: item.prints.clone(),
            by: "me".into(),
            at: Timestamp::from_millis(7),
        }
    }

    #[test]
    fn findings_and_dry_hits_are_looked_at_and_enforced_ones_are_not() {
        let found: Vec<_> =
            items(&record()).iter().map(|item| (item.hook.clone(), item.rule.clone())).collect();
        let pair = |hook: &str, rule: &str| (hook.to_owned(), rule.to_owned());
        assert_eq!(found, [pair("trial", "X"), pair("mask", "jwt"), pair("mask", "email")]);
    }

    #[test]
    fn a_mark_is_kept_and_the_last_one_holds() {
        let folder = tempfile::tempdir().unwrap();
        let found = items(&record());
        let mut marks = Marks::read(folder.path()).unwrap();
        marks.add(folder.path(), mark(&found[0], true)).unwrap();
        marks.add(folder.path(), mark(&found[0], false)).unwrap();
        marks.add(folder.path(), mark(&found[1], true)).unwrap();
        let again = Marks::read(folder.path()).unwrap();
        assert_eq!(again.iter().count(), 2);
        assert!(!again.of(&found[0]).unwrap().is_true);
        assert_eq!(again.labels().get("e1"), Some(&true));
        let mut scores = Scores::default();
        scores.take(&record());
        let scores = scores.with(&again);
        let score = scores[&("trial".to_owned(), "X".to_owned())];
        assert_eq!(score.hits, Rate { part: 1, whole: 1 });
        assert_eq!(score.false_positives, Rate { part: 1, whole: 1 });
        std::fs::write(folder.path().join(super::MARKS), "{}\n").unwrap();
        assert!(Marks::read(folder.path()).is_err());
    }

    #[test]
    fn the_interval_is_wilsons() {
        // Newcombe 1998, table I, method 3: 81 of 263, 15 of 148, 0 of 20.
        for (part, whole, low, high) in
            [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)]
        {
            let (from, to) = Rate { part, whole }.interval().unwrap();
            assert!((from - low).abs() < 1e-4 && (to - high).abs() < 1e-4, "{from} {to}");
        }
        assert_eq!(Rate { part: 0, whole: 0 }.interval(), None);
    }

    #[test]
    fn a_sample_has_some_of_each_hook_and_rule_whatever_their_order() {
        let mut all = Vec::new();
        for at in 0..50 {
            for item in items(&record()) {
                all.push(Item { record: format!("e{at}"), ..item });
            }
        }
        let taken = sample(all.clone(), 3);
        assert_eq!(taken.len(), 9);
        all.reverse();
        assert_eq!(sample(all, 3), taken);
    }
}

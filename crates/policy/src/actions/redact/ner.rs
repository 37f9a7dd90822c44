//! The model of names that a policy asks for, and how much of it one event may use.
//!
//! A model reads some kilobytes a second, so its use is bounded for each event by bytes and by time.
//! An event that would need more is not passed half read: the text is withheld, as whenever a detector
//! cannot tell.

use super::config::NerConfig;
use super::detecting::What;
use crate::actions::amount::duration_ms;
use crate::actions::{ActionContext, ActionError};
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tollgate_detect::{Category, Kind, NameModel, NameModelError, NameSpan};

/// Most text of one event that a model reads unless the policy says otherwise, in bytes.
const BYTES_MAX: u64 = 16 * 1024;
/// Most time that a model takes for one event unless the policy says otherwise, in milliseconds.
const TIME_MS_MAX: u64 = 2_000;

thread_local! {
    /// What the event at hand has used. An action answers at once, on one thread.
    static USED: Cell<(u64, Duration)> = const { Cell::new((0, Duration::ZERO)) };
}

/// Starts the account of an event.
pub(super) fn begin() {
    USED.set((0, Duration::ZERO));
}

struct Bounded {
    model: Arc<dyn NameModel>,
    bytes_max: u64,
    time_max: Duration,
}

impl NameModel for Bounded {
    fn names(&self, text: &str) -> Result<Vec<NameSpan>, NameModelError> {
        let (bytes, time) = USED.get();
        let bytes = bytes.saturating_add(u64::try_from(text.len()).unwrap_or(u64::MAX));
        if bytes > self.bytes_max || time > self.time_max {
            return Err(NameModelError::Budget);
        }
        let started = Instant::now();
        let names = self.model.names(text);
        USED.set((bytes, time.saturating_add(started.elapsed())));
        names
    }
}

/// Organizations and places are found by a model only: asking for them without one is an error, not
/// silence.
pub(super) fn needs_none(find: &[What<'_>]) -> Result<(), ActionError> {
    let only_a_model = find.iter().find_map(|what| match what {
        What::Kind(kind @ (Kind::Organization | Kind::Place)) => Some(kind.name()),
        What::Group(_) | What::Kind(_) | What::Rule(_) => None,
    });
    let Some(kind) = only_a_model else { return Ok(()) };
    let message = format!("`{kind}` is found by a model of names only, and there is no `ner`");
    Err(ActionError::at("find", message).remedy("name a model with `ner`, or leave it out"))
}

/// The model, bounded.
pub(super) fn model(
    ner: &NerConfig,
    find: &[What<'_>],
    context: &ActionContext,
) -> Result<Arc<dyn NameModel>, ActionError> {
    let is_name = |what: &What<'_>| match what {
        What::Group(group) => *group == Category::Names,
        What::Kind(kind) => matches!(kind, Kind::Person | Kind::Organization | Kind::Place),
        What::Rule(rule) => rule.ends_with("-model"),
    };
    if !find.iter().any(is_name) {
        let error = ActionError::at("ner", "a model finds names, and `find` asks for none");
        return Err(error.remedy("`find: [names]`, or `person`, `organization`, `place`"));
    }
    let folder = Path::new(&ner.model);
    if !folder.is_absolute() {
        let message = format!("`{}` is no absolute path", ner.model);
        return Err(ActionError::at("ner.model", message)
            .remedy("what a relative one means would depend on where a process starts"));
    }
    let Some(models) = &context.sources.names else {
        let error = ActionError::at("ner", "this build runs no models of names");
        return Err(error.remedy("a build that does, or leave `ner` out"));
    };
    let model = models.open(folder);
    let model = model.map_err(|error| {
        ActionError::at("ner.model", error.to_string()).remedy("name the folder of a model")
    })?;
    let time = match &ner.time {
        Some(time) => duration_ms(time).map_err(|error| error.under("ner.time"))?,
        None => TIME_MS_MAX,
    };
    let bytes_max = ner.bytes.unwrap_or(BYTES_MAX);
    if bytes_max == 0 {
        return Err(ActionError::at("ner.bytes", "a model that reads nothing finds nothing"));
    }
    Ok(Arc::new(Bounded { model, bytes_max, time_max: Duration::from_millis(time) }))
}

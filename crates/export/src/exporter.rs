//! The export: every record in a format to a sink.

use crate::format::{Format, Severity, Told};
use crate::run::Work;
use crate::sink::{SendError, Sink};
use std::collections::BTreeMap;
use tollgate_gate::{Json, Name};
use tollgate_store::Entry;

/// Hands records over, all of them, in order.
pub struct Exporter {
    format: Format,
    sink: Box<dyn Sink>,
    severities: BTreeMap<Name, Severity>,
}

impl Exporter {
    /// With the severities that a policy gives its hooks.
    pub fn new(
        format: Format,
        sink: Box<dyn Sink>,
        severities: BTreeMap<Name, Severity>,
    ) -> Exporter {
        Exporter { format, sink, severities }
    }
}

impl Work for Exporter {
    fn take(&mut self, entries: &[Entry], _notes: &mut Json) -> Result<usize, SendError> {
        let batch: Vec<Told<'_>> =
            entries.iter().map(|entry| Told::new(entry, &self.severities)).collect();
        self.sink.send(self.format, &batch)?;
        Ok(entries.len())
    }
}

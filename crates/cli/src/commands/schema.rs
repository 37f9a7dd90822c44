//! `tollgate schema`: the published schemas, as they are in the repository.

use crate::args::{SchemaArguments, SchemaName};
use crate::exit::{Exit, Failure};
use crate::output::answer;

const NAMES: &str = "\
event     what a host tells the gate
decision  what the gate answers
record    a line of the ledger
policy    a policy file, for editors

`tollgate schema NAME` prints one as JSON Schema 2020-12.
";

pub(crate) fn run(arguments: &SchemaArguments) -> Result<Exit, Failure> {
    answer(match arguments.name {
        None => NAMES,
        Some(SchemaName::Event) => include_str!("../../../../schema/event.v1.json"),
        Some(SchemaName::Decision) => include_str!("../../../../schema/decision.v1.json"),
        Some(SchemaName::Record) => include_str!("../../../../schema/record.v1.json"),
        Some(SchemaName::Policy) => include_str!("../../../../schema/policy.v1.json"),
    })?;
    Ok(Exit::Done)
}

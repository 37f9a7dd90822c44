//! The command of a project's hooks: it names no path, for it holds for all who work in the project, and
//! where `tollgate` is missing it refuses and says how to get it.

use super::form::{Form, stops_a_call};
use crate::facts::EventFacts;

/// What is said where `tollgate` is missing. It must not hold a single quote.
const MISSING: &str = "this project is governed by Tollgate, and there is no `tollgate` in the path: \
                       get it from https://github.com/tollgate/tollgate, then run `tollgate trust` here";

/// The command at an event: whatever `tollgate` is in the path.
pub fn portable(form: &Form, event: &EventFacts) -> String {
    let host = form.host;
    let event_flag =
        if form.names_event { format!(" --event {}", event.name) } else { String::new() };
    // Exit code 2 refuses a call. At other events it would say something else (do not stop, try again),
    // and nothing can have run without the binary.
    if stops_a_call(event) {
        format!(
            "sh -c 'command -v tollgate >/dev/null 2>&1 || {{ printf \"%s\\n\" \"{}\" >&2; exit 2; }}; \
             exec tollgate hook {host}{event_flag}'",
            MISSING.replace('`', "\\`")
        )
    } else {
        format!(
            "sh -c 'command -v tollgate >/dev/null 2>&1 || exit 0; exec tollgate hook {host}{event_flag}'"
        )
    }
}

//! What the filter answers the shell that started it: a few lines that the shell evaluates.
//!
//! The output is never pointed back at where it went before: a trap or a background job that prints
//! after the command's end is masked too. Each line keeps `$?`, and works in every POSIX shell.

use super::door::Doors;
use std::fmt::Write as _;

/// Nothing is masked here: the command runs as it would.
pub(super) const UNCHANGED: &str = "tollgate_exec_end() { return $?; }\n";

/// The filter cannot know what to mask: nothing is run.
pub(super) const REFUSED: &str = "exit 126\n";

/// Points the shell's output at the doors. `tollgate_exec_end` waits until all that was printed so far
/// has been passed on; it runs behind the command, and when the shell ends by `exit`.
pub(super) fn through(doors: &Doors) -> String {
    let mut script = format!("exec >'{}'", doors.output.path());
    let _ = match &doors.error {
        Some(error) => write!(script, " 2>'{}'", error.path()),
        None => write!(script, " 2>&1"),
    };
    let (ask, told) = (doors.ask.path(), doors.told.path());
    let _ = write!(
        script,
        " || exit 126\n\
         tollgate_exec_end() {{ tollgate_exec=$?; if [ -e '{ask}' ]; then \
         {{ echo >'{ask}' && IFS= read -r tollgate_exec_told <'{told}'; }} 2>/dev/null || :; fi; \
         return $tollgate_exec; }}\n\
         echo >'{ask}' || exit 126\n\
         trap tollgate_exec_end EXIT\n"
    );
    script
}

//! Every cap of the relay in one place, with its unit in its name. Over a cap is refused.

/// Longest message, in bytes; that of the strict reader.
pub const MESSAGE_BYTES_MAX: usize = tollgate::gate::limits::JSON_BYTES_MAX;
/// Longest id of a request, in bytes of its text.
pub const ID_BYTES_MAX: usize = 1024;
/// Most requests of one conversation that may be under way in one direction.
pub const IN_FLIGHT_MAX: usize = 65_536;
/// Most answers that a conversation still waits for after their request was cancelled.
pub const CANCELLED_MAX: usize = 4_096;
/// Most tasks of one conversation whose tool is remembered.
pub const TASKS_MAX: usize = 10_000;
/// Most tools of one server whose definitions are kept.
pub const TOOLS_MAX: usize = 10_000;
/// Longest wait for a server's answer about a tool that it does not have, in milliseconds.
pub const PROBE_MS: u64 = 2_000;
/// How often a client that waits for a person hears that the call is still waiting, in milliseconds.
pub const WAITING_MS: u64 = 10_000;
/// Most messages that wait for a peer that reads slowly; then nothing more is read from the other.
pub const WAITING_MESSAGES_MAX: usize = 256;
/// How long a server may take to end after its input was closed, in milliseconds.
pub const CLOSE_MS: u64 = 5_000;
/// How long a server may take to end after it was told to (SIGTERM), in milliseconds.
pub const TERMINATE_MS: u64 = 3_000;
/// How much of a message that is too long is kept to find its id, in bytes, at each end.
pub const KEPT_OF_LONG_BYTES: usize = 4_096;

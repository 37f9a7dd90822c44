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
/// Longest wait for a page of the list that the relay itself asks a server for, in milliseconds.
pub const PROBE_MS: u64 = 2_000;
/// Most pages of a list of tools that the relay itself asks for.
pub const LIST_PAGES_MAX: usize = 100;
/// How often a client that waits for a person hears that the call is still waiting, in milliseconds.
pub const WAITING_MS: u64 = 10_000;
/// Most messages that wait for a peer that reads slowly; then nothing more is read from the other.
pub const WAITING_MESSAGES_MAX: usize = 256;
/// How long a message may hold up those behind it, in milliseconds; those that wait for a person hold up
/// nobody.
pub const ORDER_MS: u64 = 250;
/// How long a server may take to end after its input was closed, in milliseconds.
pub const CLOSE_MS: u64 = 5_000;
/// How long a relay that is told to end may take to take back what people are asked, in milliseconds.
pub const TAKE_BACK_MS: u64 = 1_000;
/// Pause between two looks whether that is done, in milliseconds.
pub const LOOK_MS: u64 = 10;
/// How long a server may take to end after it was told to (SIGTERM), in milliseconds.
pub const TERMINATE_MS: u64 = 3_000;
/// How much of a message that is too long is kept to find its id, in bytes, at each end.
pub const KEPT_OF_LONG_BYTES: usize = 4_096;
/// Most things that servers wait for inside of their results.
pub const INPUTS_MAX: usize = 1_024;
/// Longest event of a stream, in bytes: a message, and room for ids and comments.
pub const EVENT_BYTES_MAX: usize = MESSAGE_BYTES_MAX + 64 * 1024;
/// Most connections that are served at once.
pub const CONNECTIONS_MAX: usize = 512;
/// How long a client may take for the head of a request, in milliseconds.
pub const HEAD_MS: u64 = 30_000;
/// How long a client may take for the body of a request, in milliseconds.
pub const BODY_MS: u64 = 30_000;
/// Most headers of a request.
pub const HEADERS_MAX: usize = 64;
/// Longest head of a request, in bytes.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;
/// How long a connection to a server may take to stand, in milliseconds.
pub const CONNECT_MS: u64 = 10_000;
/// How long a server may pause within an answer that is no stream, in milliseconds.
pub const PAUSE_MS: u64 = 60_000;
/// How long a server may take to take a notification, in milliseconds.
pub const NOTIFY_MS: u64 = 30_000;
/// Most sessions of clients that are remembered.
pub const SESSIONS_MAX: usize = 1_024;
/// Most servers that are started for sessions of clients.
pub const PROGRAMS_MAX: usize = 64;
/// How long a session may be silent before another one may take its place, in milliseconds.
pub const IDLE_MS: u64 = 30 * 60 * 1_000;
/// Longest id of a session, in bytes.
pub const SESSION_BYTES_MAX: usize = 1_024;
/// After which silence a client hears that its request is alive, in milliseconds.
pub const ALIVE_MS: u64 = 15_000;
/// Most chunks that wait for a client that reads slowly.
pub const CHUNKS_MAX: usize = 64;
/// How often a broken stream is taken up again before its request is given up.
pub const RESUMES_MAX: u32 = 8;
/// Least and longest wait before a stream is taken up again, in milliseconds.
pub const RESUME_MS: (u64, u64) = (200, 30_000);
/// Most answers of a session that can be heard a second time after a broken stream.
pub const HEARD_AGAIN_MAX: usize = 256;

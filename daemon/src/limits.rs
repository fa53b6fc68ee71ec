//! Every limit of sessions and of what the daemon keeps, with its unit. Those of runs are the runner's.

use std::time::Duration;

/// Clients connected at a time.
pub const SESSIONS: u32 = 256;
/// Requests of one client under way at a time; no more are read until one is answered.
pub const REQUESTS_UNDER_WAY: usize = 16;
/// Runs that wait for a core, of all clients.
pub const QUEUED: usize = 1 << 15;
/// Runs whose quality as a set is measured on the thread that reads requests.
pub const SMALL_SET: usize = 8;
/// Answers that wait to be written to one client.
pub const ANSWERS_WAITING: usize = 4;
/// Requests of all clients that come in or are under way, and answers that clients have not taken yet, in bytes of their
/// frames.
pub const FRAMES_BYTES: usize = 512 << 20;
/// A frame up to this length is short: it has room that long ones cannot take. In bytes.
pub const SHORT_FRAME_BYTES: usize = 64 << 10;
/// A frame up to this length needs no room: all that sessions can have of them is little. In bytes.
pub const UNCOUNTED_FRAME_BYTES: usize = 4 << 10;
/// A request waits for room for so long, then its client is told to come later.
pub const ROOM_DEADLINE: Duration = Duration::from_secs(60);
/// Answers, of all clients, that wait for room; others are dropped at once, and their clients told.
pub const ANSWERS_WAITING_FOR_ROOM: usize = 4;
/// Questions that take long are answered so many at a time.
pub const LONG_QUESTIONS: usize = 16;
/// A hello is no longer, in bytes.
pub const HELLO_BYTES: usize = 64 << 10;
/// A client says hello within this time.
pub const GREETING_DEADLINE: Duration = Duration::from_secs(5);
/// A client that has begun a frame ends it within this time.
pub const FRAME_DEADLINE: Duration = Duration::from_secs(10);
/// A client takes a piece of an answer within this time.
pub const TAKING_DEADLINE: Duration = Duration::from_secs(10);
/// So large a piece, in bytes.
pub const WRITE_BYTES: usize = 64 << 10;
/// A client takes the whole of an answer within this time.
pub const ANSWER_TAKING_DEADLINE: Duration = Duration::from_secs(30);
/// What kept runs may take, in bytes, unless the daemon is told otherwise.
pub const KEPT_BYTES: u64 = 1 << 30;
/// How often zygotes that were not used for long, and an idle daemon, are looked for.
pub const TIDY_INTERVAL: Duration = Duration::from_secs(10);
/// But not more often, however soon an idle daemon is to end.
pub const TIDY_INTERVAL_LEAST: Duration = Duration::from_millis(100);
/// How often a daemon that starts looks whether another one has let go of the lock, or listens.
pub const LOCK_INTERVAL: Duration = Duration::from_millis(5);
/// After a client could not be accepted no other is for this long: it gets better when clients go.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Runs under way when the daemon is told to end have this long.
pub const RUNS_DEADLINE: Duration = Duration::from_secs(70);
/// What is left to do then has this long.
pub const ENDING_DEADLINE: Duration = Duration::from_secs(5);
/// Answers that are ready when all is done have this long to be written.
pub const LAST_ANSWERS_PAUSE: Duration = Duration::from_millis(50);
/// How often a client that has all its requests under way is asked whether it is still there.
pub const HANG_UP_INTERVAL: Duration = Duration::from_millis(100);
/// The log is emptied at the start if it is longer, in bytes.
pub const LOG_BYTES: u64 = 10 << 20;

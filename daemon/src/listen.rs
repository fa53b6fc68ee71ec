//! The daemon's socket: one daemon per directory, its own user's clients only, and none from a sandbox.

use crate::dispatcher::{Demangle, Dispatcher};
use crate::limits::{
    ACCEPT_PAUSE, ENDING_DEADLINE, KEPT_BYTES, LAST_ANSWERS_PAUSE, LOCK_INTERVAL, LOG_BYTES, RUNS_DEADLINE,
    SESSIONS, TIDY_INTERVAL, TIDY_INTERVAL_LEAST,
};
use crate::room::Frames;
use crate::{peer, session};
use hearth_protocol::address::READY;
use hearth_protocol::{Address, Failure, FailureKind};
use hearth_sandbox::Launcher;
use listenfd::ListenFd;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, setsid};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};

/// How the daemon is started.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where its socket is.
    pub address: Address,
    /// The program that becomes a launcher.
    pub launcher: PathBuf,
    /// It ends when no client has been connected for so long.
    pub idle: Duration,
    /// What kept runs may take, in bytes.
    pub kept_bytes: Option<u64>,
    /// Makes functions' names readable.
    pub demangle: Demangle,
}

/// How serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// After it had served.
    Served,
    /// At once: another daemon serves.
    AnotherServes,
}

/// Serves until it is told to stop, or idle for long. Says on standard output when it listens.
///
/// # Errors
/// If it cannot listen.
pub fn serve(options: &Options) -> io::Result<Ended> {
    options.address.prepare().map_err(io::Error::other)?;
    let Some(lock) = take_lock_or_find_another(&options.address)? else {
        say_ready()?;
        return Ok(Ended::AnotherServes);
    };
    // A daemon that a client started must not end with the client's terminal.
    let _ = setsid();
    raise_descriptor_limit();
    trim(&options.address.log());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let kept_bytes = options.kept_bytes.unwrap_or(KEPT_BYTES);
    let hidden = vec![options.address.directory().to_owned()];
    let launcher = Launcher { program: options.launcher.clone(), hidden };
    let dispatcher = Arc::new(Dispatcher::new(launcher, kept_bytes, options.demangle, stand_back)?);
    let served = runtime.block_on(listen(&dispatcher, options));
    runtime.shutdown_timeout(ENDING_DEADLINE);
    // The zygotes end with the dispatcher; when the lock is free, nothing is left.
    drop(dispatcher);
    drop(lock);
    served.map(|()| Ended::Served)
}

/// Makes this thread, which does runs, stand back behind those that answer questions.
fn stand_back() {
    // If that fails, answers take longer while runs go on; nothing depends on it.
    let _ = rustix::process::nice(hearth_sandbox::limits::RUN_NICENESS);
}

/// The lock file, held as long as the daemon lives, with its process number inside.
struct Lock(#[expect(dead_code, reason = "the lock goes with the file")] File);

impl Lock {
    /// Takes the lock; `None` if another daemon has it.
    fn take(path: &Path) -> io::Result<Option<Self>> {
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())?;
        Ok(Some(Self(file)))
    }
}

/// The process that holds the lock, as it says itself.
#[must_use]
pub fn holder(address: &Address) -> Option<u32> {
    let mut text = String::new();
    File::open(address.lock()).ok()?.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// The lock, or `None` if another daemon listens. Who has the lock and does not listen is about to do so, or to end.
fn take_lock_or_find_another(address: &Address) -> io::Result<Option<Lock>> {
    let deadline = Instant::now() + RUNS_DEADLINE + 2 * ENDING_DEADLINE;
    loop {
        if let Some(lock) = Lock::take(&address.lock())? {
            return Ok(Some(lock));
        }
        match address.connect() {
            Ok(_) => return Ok(None),
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => std::thread::sleep(LOCK_INTERVAL),
        }
    }
}

/// Tells whoever started the daemon that it listens, and lets go of the standard output.
fn say_ready() -> io::Result<()> {
    let mut stdout = io::stdout();
    // Nobody needs to listen for it.
    let _ = writeln!(stdout, "{READY}").and_then(|()| stdout.flush());
    let nowhere = OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    Ok(())
}

fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    // Without it there is room for fewer clients.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// Empties a log that has grown long; whoever writes to it appends.
fn trim(log: &Path) {
    if fs::metadata(log).is_ok_and(|data| data.len() > LOG_BYTES) {
        let _ = OpenOptions::new().write(true).truncate(true).open(log);
    }
}

/// The socket, and whether it is this process's own: the one it was activated with is not, a new one in place of
/// what a dead daemon left is.
fn bind(address: &Address) -> io::Result<(UnixListener, bool)> {
    let given = ListenFd::from_env().take_unix_listener(0)?;
    let is_own = given.is_none();
    let listener = match given {
        Some(listener) => listener,
        None => {
            let path = address.socket();
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let listener = std::os::unix::net::UnixListener::bind(&path)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
            listener
        }
    };
    listener.set_nonblocking(true)?;
    Ok((UnixListener::from_std(listener)?, is_own))
}

async fn listen(dispatcher: &Arc<Dispatcher>, options: &Options) -> io::Result<()> {
    let frames = Arc::new(Frames::default());
    let (listener, is_own) = bind(&options.address)?;
    say_ready()?;
    tracing::info!(socket = %options.address.socket().display(), "listening");
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut tidy = tokio::time::interval(TIDY_INTERVAL.min(options.idle).max(TIDY_INTERVAL_LEAST));
    let mut idle_since = Instant::now();
    let why = loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    idle_since = Instant::now();
                    accept(dispatcher, &frames, stream);
                }
                // Out of descriptors, say: it gets better when clients go.
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a client");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            () = dispatcher.told_to_stop() => break "asked to",
            _ = terminate.recv() => break "terminated",
            _ = interrupt.recv() => break "interrupted",
            _ = tidy.tick() => {
                dispatcher.tidy();
                if dispatcher.sessions() > 0 {
                    idle_since = Instant::now();
                } else if idle_since.elapsed() >= options.idle {
                    break "idle";
                }
            }
        }
    };
    tracing::info!(why, "ending");
    // New clients start a new daemon as soon as the lock is free.
    if is_own {
        let _ = fs::remove_file(options.address.socket());
    }
    drop(listener);
    dispatcher.finish(RUNS_DEADLINE).await;
    // What is answered gets written.
    tokio::time::sleep(LAST_ANSWERS_PAUSE).await;
    Ok(())
}

fn accept(dispatcher: &Arc<Dispatcher>, frames: &Arc<Frames>, mut stream: UnixStream) {
    let counted = dispatcher.count_session();
    // Asked of the kernel before anything is read.
    let refused = match peer::check(&stream) {
        Err(stranger) => {
            tracing::warn!(why = %stranger, "refused a client");
            Some(Failure::from(&stranger))
        }
        Ok(()) if dispatcher.sessions() > SESSIONS => {
            Some(Failure::new(FailureKind::Busy, format!("{SESSIONS} clients are connected; try later")))
        }
        Ok(()) => None,
    };
    let (dispatcher, frames) = (dispatcher.clone(), frames.clone());
    tokio::spawn(async move {
        let ended = match refused {
            Some(refused) => session::welcome(&mut stream, Some(refused)).await,
            None => session::serve(dispatcher, frames, stream).await,
        };
        if let Err(error) = ended {
            tracing::warn!(%error, "dropped a client");
        }
        drop(counted);
    });
}

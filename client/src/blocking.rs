//! A connection that waits for each answer.

use crate::error::{Error, Result};
use crate::protocol::Address;
use crate::protocol::{
    Answer, Ask, Body, Encoding, FRAME_LIMIT, FailureKind, HEAD_BYTES, Hello, MAGIC, Order, PROTOCOL, Reply,
    Request, RunDone, RunInput, Status, Welcome, announced, decode, message_frame, whole,
};
use crate::start;
use serde::Serialize;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// The daemon greets at once, or it is none.
pub(crate) const GREETING_DEADLINE: Duration = Duration::from_secs(10);
/// A daemon can end between the connection and the greeting.
pub(crate) const TRIES: usize = 3;

/// A connection to the daemon.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    socket: PathBuf,
    encoding: Encoding,
    last_id: u64,
    /// What the daemon said of itself.
    pub welcome: Welcome,
}

impl Connection {
    /// Connects to the user's daemon, and starts it if there is none.
    ///
    /// # Errors
    /// If none can be started, or it is of another version.
    pub fn open() -> Result<Self> {
        Self::open_at(&Address::of_user(), Encoding::Bincode)
    }

    /// Connects to the daemon of an address, and starts it if there is none.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn open_at(address: &Address, encoding: Encoding) -> Result<Self> {
        let mut tries = TRIES;
        loop {
            tries -= 1;
            match Self::greet(start::connect_or_start(address)?, address, encoding) {
                Err(Error::Broken { error, .. }) if tries > 0 && error.kind() != io::ErrorKind::TimedOut => {}
                result => return result,
            }
        }
    }

    /// Connects to a daemon that is there already; `None` if none is.
    ///
    /// # Errors
    /// If it is of another version.
    pub fn open_running(address: &Address, encoding: Encoding) -> Result<Option<Self>> {
        match address.connect() {
            Ok(stream) => Self::greet(stream, address, encoding).map(Some),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                Err(Error::broken(&address.socket())(error))
            }
            Err(_) => Ok(None),
        }
    }

    fn greet(stream: UnixStream, address: &Address, encoding: Encoding) -> Result<Self> {
        let socket = address.socket();
        let broken = Error::broken(&socket);
        stream.set_read_timeout(Some(GREETING_DEADLINE)).map_err(&broken)?;
        let said = write_message(&stream, Encoding::Json, &Hello::new(encoding));
        // A daemon that refuses a client may have closed already; it says why all the same.
        let payload = read_frame(&stream).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => broken(address.hangs()),
            _ => broken(said.err().unwrap_or(error)),
        })?;
        stream.set_read_timeout(None).map_err(&broken)?;
        let welcome = check_welcome(&payload, address)?;
        Ok(Self { stream, socket, encoding, last_id: 0, welcome })
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// If the daemon says why not, or is gone.
    pub fn call(&mut self, ask: Ask) -> Result<Answer> {
        let mut answer = None;
        self.call_each(ask, |one| answer = Some(one))?;
        answer.ok_or_else(|| Error::Unexpected("nothing".to_owned()))
    }

    /// Asks, and calls a function with each answer as it comes.
    ///
    /// # Errors
    /// As [`Connection::call`]; after one input of a batch has failed, the first such reason.
    pub fn call_each(&mut self, ask: Ask, mut each: impl FnMut(Answer)) -> Result<()> {
        self.last_id += 1;
        let request = Request { id: self.last_id, ask };
        let broken = Error::broken(&self.socket);
        let written = match write_message(&self.stream, self.encoding, &request) {
            // The daemon has closed the connection; it may have said why.
            Err(error) if is_closed(&error) => Some(error),
            result => result.map(|()| None).map_err(&broken)?,
        };
        drop(request);
        let mut failure = None;
        loop {
            let payload = match (read_frame(&self.stream), written.as_ref()) {
                (Err(_), Some(error)) => return Err(broken(error.kind().into())),
                (result, _) => result.map_err(&broken)?,
            };
            let reply: Reply =
                decode(self.encoding, &payload).map_err(|error| Error::Unexpected(error.to_string()))?;
            if let (0, Body::Failed(failure)) = (reply.id, &reply.body) {
                return Err(Error::Failed(failure.clone()));
            }
            if reply.id != self.last_id {
                return Err(Error::Unexpected(format!("reply {} to {}", reply.id, self.last_id)));
            }
            match reply.body {
                Body::Done(answer) => each(answer),
                Body::Failed(reason) => failure = failure.or(Some(reason)),
            }
            if reply.last {
                return failure.map_or(Ok(()), |failure| Err(Error::Failed(failure)));
            }
        }
    }

    /// Runs once.
    ///
    /// # Errors
    /// As [`Connection::call`].
    pub fn run(&mut self, order: Order, input: RunInput) -> Result<RunDone> {
        match self.call(Ask::Run { order, input })? {
            Answer::Run(run) => Ok(*run),
            other => Err(Error::Unexpected(format!("{other:?}"))),
        }
    }

    /// How the daemon is.
    ///
    /// # Errors
    /// As [`Connection::call`].
    pub fn status(&mut self) -> Result<Status> {
        match self.call(Ask::Status {})? {
            Answer::Status(status) => Ok(*status),
            other => Err(Error::Unexpected(format!("{other:?}"))),
        }
    }
}

/// Sees whether a daemon's first frame is one, and of this version.
pub(crate) fn check_welcome(payload: &[u8], address: &Address) -> Result<Welcome> {
    let socket = address.socket();
    let welcome: Welcome = decode(Encoding::Json, payload)
        .map_err(|error| Error::NotHearth { socket: socket.clone(), problem: error.to_string() })?;
    if welcome.magic != MAGIC {
        return Err(Error::NotHearth { socket, problem: format!("it says `{}`", welcome.magic) });
    }
    match welcome.refused {
        _ if welcome.protocol != PROTOCOL => Err(Error::Version { theirs: welcome.protocol, socket }),
        // It is about to end, and another one can be started.
        Some(failure) if failure.kind == FailureKind::Stopping => {
            Err(Error::Broken { socket, error: io::Error::other(failure.message) })
        }
        Some(failure) => Err(Error::Failed(failure)),
        None => Ok(welcome),
    }
}

/// Has the other side closed the connection?
pub(crate) fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

fn write_message<T: Serialize>(mut stream: &UnixStream, encoding: Encoding, message: &T) -> io::Result<()> {
    stream.write_all(&message_frame(encoding, message).map_err(io::Error::other)?)
}

fn read_frame(mut stream: &UnixStream) -> io::Result<Vec<u8>> {
    let mut head = [0; HEAD_BYTES];
    stream.read_exact(&mut head)?;
    let length = announced(head, FRAME_LIMIT)?;
    let mut payload = Vec::new();
    stream.take(length as u64).read_to_end(&mut payload)?;
    whole(payload, length)
}

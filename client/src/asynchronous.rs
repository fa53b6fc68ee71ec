//! A connection with many requests under way at a time.

use crate::blocking::{GREETING_DEADLINE, TRIES, check_welcome, is_closed};
use crate::error::{Error, Result};
use crate::protocol::Address;
use crate::protocol::{
    Answer, Ask, Body, CodecError, Encoding, FRAME_LIMIT, HEAD_BYTES, Hello, Reply, Request, announced,
    decode, message_frame, whole,
};
use crate::start;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio::task::AbortHandle;
use tokio::time::timeout;

type Waiting = Arc<Mutex<Option<HashMap<u64, mpsc::UnboundedSender<Reply>>>>>;

/// A connection to the daemon, for any number of tasks.
#[derive(Debug)]
pub struct AsyncConnection {
    writer: Arc<AsyncMutex<OwnedWriteHalf>>,
    encoding: Encoding,
    last_id: AtomicU64,
    /// Who waits for which reply; `None` when the connection has broken.
    waiting: Waiting,
    reader: AbortHandle,
    socket: PathBuf,
}

impl AsyncConnection {
    /// Connects to the user's daemon, and starts it if there is none.
    ///
    /// # Errors
    /// If none can be started, or it is of another version.
    pub async fn open() -> Result<Self> {
        Self::open_at(&Address::of_user(), Encoding::Bincode).await
    }

    /// Connects to the daemon of an address, and starts it if there is none.
    ///
    /// # Errors
    /// As [`AsyncConnection::open`].
    pub async fn open_at(address: &Address, encoding: Encoding) -> Result<Self> {
        let mut tries = TRIES;
        loop {
            tries -= 1;
            match Self::open_once(address, encoding).await {
                Err(Error::Broken { error, .. }) if tries > 0 && error.kind() != io::ErrorKind::TimedOut => {}
                result => return result,
            }
        }
    }

    async fn open_once(address: &Address, encoding: Encoding) -> Result<Self> {
        let own = address.clone();
        let socket = address.socket();
        let broken = Error::broken(&socket);
        let connected = tokio::task::spawn_blocking(move || start::connect_or_start(&own)).await;
        let stream = connected.map_err(|error| broken(io::Error::other(error)))??;
        stream.set_nonblocking(true).map_err(&broken)?;
        let (mut reader, mut writer) = UnixStream::from_std(stream).map_err(&broken)?.into_split();
        let hello = message_frame(Encoding::Json, &Hello::new(encoding)).map_err(unsendable)?;
        // A daemon that refuses a client may have closed already; it says why all the same.
        let said = writer.write_all(&hello).await;
        let welcome = timeout(GREETING_DEADLINE, read_frame(&mut reader)).await;
        let welcome = welcome.map_err(|_| broken(address.hangs()))?;
        let welcome = welcome.map_err(|error| broken(said.err().unwrap_or(error)))?;
        check_welcome(&welcome, address)?;
        let waiting: Waiting = Arc::new(Mutex::new(Some(HashMap::new())));
        let task = tokio::spawn(read_replies(reader, encoding, waiting.clone()));
        Ok(Self {
            writer: Arc::new(AsyncMutex::new(writer)),
            encoding,
            last_id: AtomicU64::new(0),
            waiting,
            reader: task.abort_handle(),
            socket,
        })
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// If the daemon says why not, or is gone.
    pub async fn call(&self, ask: Ask) -> Result<Answer> {
        self.stream(ask).await?.next().await.unwrap_or_else(|| Err(Error::Unexpected("nothing".to_owned())))
    }

    /// Asks, and hands out the answers as they come.
    ///
    /// # Errors
    /// If the daemon is gone.
    pub async fn stream(&self, ask: Ask) -> Result<Answers> {
        let broken = Error::broken(&self.socket);
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let frame = message_frame(self.encoding, &Request { id, ask }).map_err(unsendable)?;
        let (sender, mut replies) = mpsc::unbounded_channel();
        match lock(&self.waiting).as_mut() {
            Some(waiting) => waiting.insert(id, sender),
            None => return Err(broken(io::ErrorKind::ConnectionReset.into())),
        };
        // Whoever stops waiting must not leave half a frame behind.
        let writer = self.writer.clone();
        let written = tokio::spawn(async move { writer.lock().await.write_all(&frame).await }).await;
        match written.map_err(|error| broken(io::Error::other(error)))? {
            // The daemon has closed the connection; it may have said why.
            Err(error) if is_closed(&error) => match replies.recv().await.map(|reply| reply.body) {
                Some(Body::Failed(failure)) => Err(Error::Failed(failure)),
                _ => Err(broken(error)),
            },
            result => {
                let socket = self.socket.clone();
                result.map(|()| Answers { replies, socket, is_done: false }).map_err(&broken)
            }
        }
    }
}

impl Drop for AsyncConnection {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// The answers to one request.
#[derive(Debug)]
pub struct Answers {
    replies: mpsc::UnboundedReceiver<Reply>,
    socket: PathBuf,
    is_done: bool,
}

impl Answers {
    /// The next answer; `None` when there are no more.
    pub async fn next(&mut self) -> Option<Result<Answer>> {
        if self.is_done {
            return None;
        }
        let Some(reply) = self.replies.recv().await else {
            self.is_done = true;
            return Some(Err(Error::broken(&self.socket)(io::ErrorKind::ConnectionReset.into())));
        };
        self.is_done = reply.last;
        Some(match reply.body {
            Body::Done(answer) => Ok(answer),
            Body::Failed(failure) => Err(Error::Failed(failure)),
        })
    }
}

fn lock(waiting: &Waiting) -> std::sync::MutexGuard<'_, Option<HashMap<u64, mpsc::UnboundedSender<Reply>>>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hands replies to those who wait, until the connection ends.
async fn read_replies(mut reader: OwnedReadHalf, encoding: Encoding, waiting: Waiting) {
    while let Ok(payload) = read_frame(&mut reader).await
        && let Ok(reply) = decode::<Reply>(encoding, &payload)
    {
        if reply.id == 0 {
            // The connection ends, and this is why.
            tell_all(&waiting, &reply);
            break;
        }
        let sender = lock(&waiting).as_mut().and_then(|waiting| match reply.last {
            true => waiting.remove(&reply.id),
            false => waiting.get(&reply.id).cloned(),
        });
        if let Some(sender) = sender {
            // Whoever asked may have gone away.
            let _ = sender.send(reply);
        }
    }
    *lock(&waiting) = None;
}

/// Hands a reply to all who wait.
fn tell_all(waiting: &Waiting, reply: &Reply) {
    for sender in lock(waiting).take().into_iter().flat_map(HashMap::into_values) {
        // Whoever asked may have gone away.
        let _ = sender.send(Reply { last: true, ..reply.clone() });
    }
}

async fn read_frame(reader: &mut OwnedReadHalf) -> io::Result<Vec<u8>> {
    let mut head = [0; HEAD_BYTES];
    reader.read_exact(&mut head).await?;
    let length = announced(head, FRAME_LIMIT)?;
    let mut payload = Vec::new();
    reader.take(length as u64).read_to_end(&mut payload).await?;
    whole(payload, length)
}

fn unsendable(error: CodecError) -> Error {
    Error::System { what: "send the request", error: io::Error::other(error) }
}

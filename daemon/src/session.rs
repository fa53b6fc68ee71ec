//! One client's connection.
//!
//! A client has a deadline for its first frame, for each frame it has begun, and for taking answers. It has a
//! limited number of requests under way; beyond it no more is read from it, nor while there is no room for its
//! frame. When it goes, its runs end.

use crate::dispatcher::Dispatcher;
use crate::limits::{
    ANSWER_TAKING_DEADLINE, ANSWERS_WAITING, FRAME_DEADLINE, GREETING_DEADLINE, HANG_UP_INTERVAL,
    HELLO_BYTES, REQUESTS_UNDER_WAY, SHORT_FRAME_BYTES, TAKING_DEADLINE, WRITE_BYTES,
};
use crate::room::{Frames, Room};
use hearth_protocol::{
    Answer, BUILD, Body, CodecError, Encoding, FRAME_LIMIT, Failure, FailureKind, HEAD_BYTES, Hello, MAGIC,
    PROTOCOL, Reply, Request, Welcome, announced, decode, message_frame, whole,
};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinSet, block_in_place};
use tokio::time::timeout;

/// Serves a client until it goes, or does what no client should.
pub async fn serve(
    dispatcher: Arc<Dispatcher>,
    frames: Arc<Frames>,
    mut stream: UnixStream,
) -> io::Result<()> {
    let encoding = greet(&mut stream).await?;
    let (mut reader, writer) = stream.into_split();
    let (answers, taken) = mpsc::channel(ANSWERS_WAITING);
    let mut tasks = JoinSet::new();
    let mut writer = tokio::spawn(write_answers(writer, taken));
    let session = Session {
        dispatcher,
        frames,
        encoding,
        answers,
        unwanted: Arc::new(AtomicBool::new(false)),
        under_way: Arc::new(Semaphore::new(REQUESTS_UNDER_WAY)),
    };
    let ended = tokio::select! {
        ended = session.read_requests(&mut reader, &mut tasks) => ended,
        written = &mut writer => written.unwrap_or_else(|error| Err(io::Error::other(error))),
    };
    session.unwanted.store(true, Ordering::Relaxed);
    tasks.abort_all();
    if ended.is_err() && !writer.is_finished() {
        // What was answered already, the reason for the end among it, is still to be taken.
        drop(session);
        let _ = timeout(TAKING_DEADLINE, &mut writer).await;
    }
    writer.abort();
    ended
}

/// The first frame of either side.
async fn greet(stream: &mut UnixStream) -> io::Result<Encoding> {
    let read = timeout(GREETING_DEADLINE, read_hello(stream)).await;
    let payload = read.map_err(|_| io::Error::other("it does not say hello"))??;
    let hello: Result<Hello, _> = decode(Encoding::Json, &payload);
    let refused = match &hello {
        Ok(hello) if hello.magic != MAGIC => Some(Failure::new(
            FailureKind::Malformed,
            format!("the first frame is no hello: its magic is `{}`, not `{MAGIC}`", hello.magic),
        )),
        Ok(hello) if hello.protocol != PROTOCOL => Some(Failure::new(
            FailureKind::Version,
            format!(
                "this daemon speaks protocol {PROTOCOL}, the client {}; stop the daemon (`hearth stop`) and start \
                 one of the client's version, or update the client",
                hello.protocol
            ),
        )),
        Ok(_) => None,
        Err(error) => Some(Failure::new(
            FailureKind::Malformed,
            format!("the first frame is no hello in JSON: {error}"),
        )),
    };
    let problem = refused.as_ref().map(|failure| failure.message.clone());
    welcome(stream, refused).await?;
    match (problem, hello) {
        (None, Ok(hello)) => Ok(hello.encoding),
        (problem, _) => Err(io::Error::other(problem.unwrap_or_default())),
    }
}

/// Says who this is, and why the connection is closed if it is.
pub async fn welcome(stream: &mut UnixStream, refused: Option<Failure>) -> io::Result<()> {
    let welcome = Welcome {
        magic: MAGIC.to_owned(),
        protocol: PROTOCOL,
        build: BUILD.to_owned(),
        capabilities: Vec::new(),
        refused,
    };
    let bytes = message_frame(Encoding::Json, &welcome).map_err(io::Error::other)?;
    timeout(GREETING_DEADLINE, stream.write_all(&bytes)).await?
}

#[derive(Clone)]
struct Session {
    dispatcher: Arc<Dispatcher>,
    frames: Arc<Frames>,
    encoding: Encoding,
    answers: mpsc::Sender<(Vec<u8>, Room)>,
    unwanted: Arc<AtomicBool>,
    under_way: Arc<Semaphore>,
}

impl Session {
    /// Reads requests until the client ends. An error is something no client should do.
    async fn read_requests(&self, reader: &mut OwnedReadHalf, tasks: &mut JoinSet<()>) -> io::Result<()> {
        loop {
            let turn = self.under_way.clone().acquire_owned();
            let Some(turn) = unless_it_goes(reader, turn).await else { return Ok(()) };
            let turn = turn.map_err(io::Error::other)?;
            while tasks.try_join_next().is_some() {}
            let Some(head) = read_head(reader).await? else { return Ok(()) };
            let room = self.frames.for_request(announced(head, FRAME_LIMIT)?);
            let Some(room) = unless_it_goes(reader, room).await else { return Ok(()) };
            let room = match room {
                Ok(room) => room,
                Err(failure) => return self.end_with(failure).await,
            };
            let payload = match read_rest(reader, head).await {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                result => result?,
            };
            let request: Request = match decode_beside(self.encoding, payload) {
                Ok(request) => request,
                Err(error) => {
                    let problem = format!("this is no request of protocol {PROTOCOL}: {error}");
                    return self.end_with(Failure::new(FailureKind::Malformed, problem)).await;
                }
            };
            let session = self.clone();
            tasks.spawn(async move {
                session.answer(request).await;
                drop((room, turn));
            });
        }
    }

    /// Tells a client why its connection ends.
    async fn end_with(&self, failure: Failure) -> io::Result<()> {
        let problem = failure.message.clone();
        self.reply(0, true, Err(failure)).await;
        Err(io::Error::other(problem))
    }

    async fn answer(&self, request: Request) {
        let mut replies = self.dispatcher.answer(request.ask, &self.unwanted);
        while let Some((last, answer)) = replies.next().await {
            self.reply(request.id, last, answer).await;
        }
    }

    async fn reply(&self, id: u64, last: bool, answer: Result<Answer, Failure>) {
        let body = match answer {
            Ok(answer) => Body::Done(answer),
            Err(failure) => Body::Failed(failure),
        };
        let bytes = self.frame(id, last, body).or_else(|_| {
            let problem =
                "the answer is too long for a frame; ask for less, at another level or without files";
            self.frame(id, last, Body::Failed(Failure::new(FailureKind::TooLarge, problem)))
        });
        let Ok(bytes) = bytes else { return };
        let framed = match self.frames.for_answer(bytes.len()).await {
            Ok(room) => Ok((bytes, room)),
            Err(failure) => {
                drop(bytes);
                self.frame(id, last, Body::Failed(failure)).map(|bytes| (bytes, Room::default()))
            }
        };
        if let Ok(framed) = framed {
            // If nobody writes any more, nobody reads either.
            let _ = self.answers.send(framed).await;
        }
    }

    /// The frame of a reply, of which nothing else is left.
    fn frame(&self, id: u64, last: bool, body: Body) -> Result<Vec<u8>, CodecError> {
        message_frame(self.encoding, &Reply { id, last, body })
    }
}

/// Writes answers as they come. An error if the client does not take them.
async fn write_answers(
    mut writer: OwnedWriteHalf,
    mut answers: mpsc::Receiver<(Vec<u8>, Room)>,
) -> io::Result<()> {
    while let Some((bytes, room)) = answers.recv().await {
        let written = timeout(ANSWER_TAKING_DEADLINE, write_pieces(&mut writer, &bytes)).await;
        written.map_err(|_| io::Error::other("it takes an answer too slowly"))??;
        drop((bytes, room));
    }
    Ok(())
}

async fn write_pieces(writer: &mut OwnedWriteHalf, bytes: &[u8]) -> io::Result<()> {
    for piece in bytes.chunks(WRITE_BYTES) {
        let written = timeout(TAKING_DEADLINE, writer.write_all(piece)).await;
        written.map_err(|_| io::Error::other("it does not take its answers"))??;
    }
    Ok(())
}

/// Waits for something; `None` if the client goes meanwhile.
async fn unless_it_goes<T>(reader: &OwnedReadHalf, awaited: impl Future<Output = T>) -> Option<T> {
    let mut awaited = pin!(awaited);
    loop {
        if let Ok(found) = timeout(HANG_UP_INTERVAL, &mut awaited).await {
            return Some(found);
        }
        // Ready at once if there is something to read, or the client has closed its end.
        let ready = timeout(Duration::ZERO, reader.ready(Interest::READABLE)).await;
        if ready.is_ok_and(|ready| ready.is_ok_and(|ready| ready.is_read_closed())) {
            return None;
        }
    }
}

/// Reads the head of a frame, which may take long to begin, but not to end. `None` if there is no further frame.
async fn read_head<R: AsyncReadExt + Unpin>(reader: &mut R) -> io::Result<Option<[u8; HEAD_BYTES]>> {
    let mut head = [0; HEAD_BYTES];
    match reader.read(&mut head[..1]).await {
        Ok(0) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    };
    match in_time(reader.read_exact(&mut head[1..])).await {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        result => result.map(|_| Some(head)),
    }
}

/// Reads what a head announces.
async fn read_rest<R: AsyncReadExt + Unpin>(reader: &mut R, head: [u8; HEAD_BYTES]) -> io::Result<Vec<u8>> {
    let length = announced(head, FRAME_LIMIT)?;
    let mut payload = Vec::new();
    in_time(reader.take(length as u64).read_to_end(&mut payload)).await?;
    whole(payload, length)
}

/// The first frame.
async fn read_hello<R: AsyncReadExt + Unpin>(reader: &mut R) -> io::Result<Vec<u8>> {
    let head = read_head(reader).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
    announced(head, HELLO_BYTES)?;
    read_rest(reader, head).await
}

async fn in_time<T>(reading: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(FRAME_DEADLINE, reading).await.map_err(|_| io::Error::other("it does not end its frame"))?
}

/// A request from its bytes. Other sessions go on while a long one is looked at.
fn decode_beside(encoding: Encoding, payload: Vec<u8>) -> Result<Request, CodecError> {
    if payload.len() <= SHORT_FRAME_BYTES {
        return decode(encoding, &payload);
    }
    block_in_place(|| decode(encoding, &payload))
}

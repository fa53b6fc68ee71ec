//! One client's connection.
//!
//! A client has a deadline for its first frame, for each frame it has begun, and for taking answers. It has a
//! limited number of requests under way; beyond it no more is read from it, nor while there is no room for its
//! frame. When it goes, its runs end.

use super::dispatch::{Way, Work, dispatch};
use super::room::Room;
use super::{Service, ended_badly, runs};
use crate::limits::{
    ANSWER_TAKING_DEADLINE, ANSWERS_WAITING, FRAME_DEADLINE, GREETING_DEADLINE, HANG_UP_INTERVAL,
    HELLO_BYTES, REQUESTS_UNDER_WAY, SHORT_FRAME_BYTES, TAKING_DEADLINE, WRITE_BYTES,
};
use hearth_protocol::{
    Answer, BUILD, Body, CodecError, Encoding, FRAME_LIMIT, Failure, FailureKind, HEAD_BYTES, Hello, MAGIC,
    Order, PROTOCOL, Reply, Request, RunInput, Welcome, announced, decode, message_frame, whole,
};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinSet, block_in_place};
use tokio::time::timeout;

/// Serves a client until it goes, or does what no client should.
pub async fn serve(service: Arc<Service>, mut stream: UnixStream) -> io::Result<()> {
    let encoding = greet(&mut stream).await?;
    let (mut reader, writer) = stream.into_split();
    let (answers, taken) = mpsc::channel(ANSWERS_WAITING);
    let mut tasks = JoinSet::new();
    let mut writer = tokio::spawn(write_answers(writer, taken));
    let session = Session {
        service,
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
    service: Arc<Service>,
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
            let room = self.service.frames.for_request(announced(head, FRAME_LIMIT)?);
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
        let started = Instant::now();
        let name = request.ask.name();
        let id = request.id;
        match dispatch(&self.service, request.ask) {
            Way::Core(work) => self.work(id, *work).await,
            Way::Inline(question) => {
                let answer = self.service.answer(question);
                self.reply(id, true, answer).await;
            }
            Way::Blocking(question) => {
                let turn = self.service.long_questions.clone().acquire_owned().await;
                let service = self.service.clone();
                let answered = tokio::task::spawn_blocking(move || {
                    let answer = service.answer(question);
                    drop(turn);
                    answer
                });
                let answer = answered.await.unwrap_or_else(|_| Err(ended_badly()));
                self.reply(id, true, answer).await;
            }
        }
        self.service.metrics.add(name, started.elapsed());
    }

    /// Does what takes a core.
    async fn work(&self, id: u64, work: Work) {
        let service = self.service.clone();
        let answer = match work {
            Work::Batch(order, inputs) => return self.answer_batch(id, order, inputs).await,
            Work::Run(order, input) => {
                runs::run(service, Arc::new(order), input, 0, self.unwanted.clone()).await
            }
            Work::Warm(order) => runs::warm(service, order).await,
        };
        self.reply(id, true, answer).await;
    }

    /// Runs on as many inputs at a time as there are cores, and answers as they are done.
    async fn answer_batch(&self, id: u64, order: Order, inputs: Vec<RunInput>) {
        let order = Arc::new(order);
        let mut left = inputs.len();
        let mut inputs = (0..).zip(inputs);
        let mut runs = JoinSet::new();
        if left == 0 {
            self.reply(id, true, Ok(Answer::Ok {})).await;
        }
        loop {
            while runs.len() < self.service.core_count as usize
                && let Some((index, input)) = inputs.next()
            {
                let unwanted = self.unwanted.clone();
                runs.spawn(runs::run(self.service.clone(), order.clone(), input, index, unwanted));
            }
            let Some(done) = runs.join_next().await else { return };
            left -= 1;
            let answer = done.unwrap_or_else(|_| {
                Err(Failure::new(FailureKind::Internal, "a run of the batch ended badly in the daemon"))
            });
            self.reply(id, left == 0, answer).await;
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
        let framed = match self.service.frames.for_answer(bytes.len()).await {
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

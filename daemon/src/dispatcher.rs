//! The dispatcher: the sole owner of what clients share. It says where each request is answered: at once, on a thread of
//! its own, or on a core.
//!
//! Kept runs, the queue before the cores and all counts are reached through it alone. Its match over requests is the one
//! place that knows them all: one that is not handled there does not compile.

mod answer;
mod kept_runs;
mod queue;
mod run;

use crate::limits::{LONG_QUESTIONS, SMALL_SET};
use crate::metrics::{self, LiveCount, Metrics};
use answer::Ranking;
use hearth_protocol::{
    Answer, Ask, BUILD, Failure, FailureKind, Level, Measure, Order, RunInput, STATUS_FORMAT, Status,
    SubjectInfo, ZygoteInfo,
};
use hearth_runner::error::Error;
use hearth_runner::order::Resolver;
use hearth_runner::pool::Pool;
use hearth_sandbox::{Error as SandboxError, Launcher};
use hearth_subject::{Entry, Store};
use kept_runs::KeptRuns;
use queue::Queue;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

type Result<T> = std::result::Result<T, Failure>;

/// Makes a function's name readable.
pub type Demangle = fn(&[u8], &mut Vec<u8>);

/// Answers requests.
#[derive(Debug)]
pub struct Dispatcher {
    pool: Pool,
    resolver: Resolver,
    kept_runs: Mutex<KeptRuns>,
    queue: Queue,
    metrics: Metrics,
    demangle: Demangle,
    /// One permit for each question that takes long and may be worked on.
    long_questions: Arc<Semaphore>,
    sessions: Arc<AtomicU32>,
    started: Instant,
    /// Told when the daemon is to end.
    stop: Notify,
}

/// Where a request is answered.
enum Way {
    /// It is answered in a millisecond or two, on the thread that reads requests: another one would take longer to wake.
    Inline(Question),
    /// It takes long, and is answered on a thread of its own, a few at a time.
    Blocking(Question),
    /// It waits for a core.
    Core(Box<Work>),
}

/// How a question is answered.
type Question = Box<dyn FnOnce(&Dispatcher) -> Result<Answer> + Send>;

/// What takes a core.
enum Work {
    /// Have a zygote ready.
    Warm(Order),
    /// Run once.
    Run(Order, RunInput),
    /// Run on many inputs.
    Batch(Order, Vec<RunInput>),
}

impl Dispatcher {
    /// A dispatcher that starts zygotes with `launcher` and keeps at most `kept_bytes` of spectra. `begin` is called on each
    /// thread that does runs.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn new(launcher: Launcher, kept_bytes: u64, demangle: Demangle, begin: fn()) -> io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        Ok(Self {
            pool: Pool::new(launcher),
            resolver: Resolver::for_daemon(),
            kept_runs: Mutex::new(KeptRuns::new(kept_bytes)),
            queue: Queue::new(cores, begin)?,
            metrics: Metrics::default(),
            demangle,
            long_questions: Arc::new(Semaphore::new(LONG_QUESTIONS)),
            sessions: Arc::default(),
            started: Instant::now(),
            stop: Notify::new(),
        })
    }

    /// Answers a request. `unwanted` is set when its client has gone.
    pub fn answer(self: &Arc<Self>, ask: Ask, unwanted: &Arc<AtomicBool>) -> Replies {
        let (started, name) = (Instant::now(), ask.name());
        let left = Left::Whole(self.way(ask));
        Replies { dispatcher: self.clone(), unwanted: unwanted.clone(), left, started, name }
    }

    /// Where each request is answered, and how.
    fn way(&self, ask: Ask) -> Way {
        match ask {
            Ask::Warm { order } => core(Work::Warm(order)),
            Ask::Run { order, input } => core(Work::Run(order, input)),
            Ask::Batch { order, inputs } => core(Work::Batch(order, inputs)),
            Ask::Subjects {} => blocking(|_| subjects()),
            Ask::Spectrum { run, level, counts } => {
                blocking(move |own| answer::spectrum(own, &run, level, counts))
            }
            Ask::Delta { run, against, level, counts } => {
                // Where each line is has to be worked out once.
                let has_places = self.kept_runs().get(&run).is_ok_and(|kept| kept.map.has_places());
                let is_quick = match level {
                    Level::Lines | Level::Files => true,
                    Level::Functions => false,
                };
                let is_small = !counts && is_quick && has_places;
                question(is_small, move |own| answer::delta(own, &run, &against, level, counts))
            }
            Ask::Distance { run, against, measure } => {
                let is_small = match measure {
                    Measure::JaccardLines => true,
                    Measure::JaccardFiles | Measure::Locseq => false,
                };
                question(is_small, move |own| answer::distance(own, &run, &against, measure))
            }
            Ask::Quality { failing, passing, alpha } => {
                let is_small = passing.len() <= SMALL_SET;
                question(is_small, move |own| answer::quality(own, &failing, &passing, alpha))
            }
            Ask::Rank { failing, passing, innocent, formula, aggregation, level, limit, counts, without } => {
                let ranking = Ranking {
                    failing,
                    passing,
                    innocent,
                    formula,
                    aggregation,
                    level,
                    limit,
                    counts,
                    without,
                };
                blocking(move |own| answer::ranking(own, &ranking))
            }
            Ask::Name { run, name } => inline(move |own| {
                let forgotten = own.kept_runs().name(&run, &name)?;
                drop(forgotten);
                Ok(Answer::Ok {})
            }),
            Ask::Forget { runs } => blocking(move |own| {
                let ids = own.kept_runs().ids(&runs)?;
                // One by one, so that others need not wait until all are gone.
                for id in ids {
                    let forgotten = own.kept_runs().remove(id);
                    drop(forgotten);
                }
                Ok(Answer::Ok {})
            }),
            Ask::Runs {} => inline(|own| Ok(Answer::Runs(own.kept_runs().list()))),
            Ask::Status {} => inline(|own| Ok(Answer::Status(Box::new(own.status())))),
            Ask::Stop {} => inline(|own| {
                own.stop.notify_one();
                Ok(Answer::Ok {})
            }),
        }
    }

    /// Counts a client while it is connected.
    pub fn count_session(&self) -> LiveCount {
        LiveCount::new(&self.sessions)
    }

    /// How many clients are connected.
    pub fn sessions(&self) -> u32 {
        self.sessions.load(Ordering::Relaxed)
    }

    /// Waits until a client asks the daemon to end.
    pub async fn told_to_stop(&self) {
        self.stop.notified().await;
    }

    /// Ends zygotes that were not used for long.
    pub fn tidy(&self) {
        self.pool.tidy();
    }

    /// Begins no more runs, and waits for those under way, for a while.
    pub async fn finish(&self, patience: Duration) {
        self.queue.close();
        self.queue.finish(patience).await;
    }

    fn kept_runs(&self) -> MutexGuard<'_, KeptRuns> {
        // They are whole between statements, so a thread that died with the lock did no harm to it.
        self.kept_runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a question. One that ends in a panic leaves everything whole: it is so between locks.
    fn ask(&self, question: Question) -> Result<Answer> {
        catch_unwind(AssertUnwindSafe(|| question(self))).unwrap_or_else(|_| Err(ended_badly()))
    }

    fn status(&self) -> Status {
        let (kept_runs, kept_bytes, kept_limit_bytes) = self.kept_runs().sizes();
        let (queued, running) = self.queue.sizes();
        let zygotes = self.pool.idle().into_iter().map(|(key, memory_bytes, idle)| ZygoteInfo {
            binary: key.binary.to_string_lossy().into_owned(),
            arguments: key.arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect(),
            warm: key.warm.to_string(),
            memory_bytes,
            idle_ms: idle.as_millis() as u64,
        });
        Status {
            format: STATUS_FORMAT,
            build: BUILD.to_owned(),
            pid: std::process::id(),
            uptime_s: self.started.elapsed().as_secs(),
            sessions: self.sessions(),
            queued,
            running,
            cores: self.queue.cores(),
            memory_bytes: metrics::own_memory(),
            kept_runs,
            kept_bytes,
            kept_limit_bytes,
            zygotes: zygotes.collect(),
            latencies: self.metrics.latencies(),
        }
    }
}

fn core(work: Work) -> Way {
    Way::Core(Box::new(work))
}

fn inline(answer: impl FnOnce(&Dispatcher) -> Result<Answer> + Send + 'static) -> Way {
    question(true, answer)
}

fn blocking(answer: impl FnOnce(&Dispatcher) -> Result<Answer> + Send + 'static) -> Way {
    question(false, answer)
}

fn question(is_small: bool, answer: impl FnOnce(&Dispatcher) -> Result<Answer> + Send + 'static) -> Way {
    match is_small {
        true => Way::Inline(Box::new(answer)),
        false => Way::Blocking(Box::new(answer)),
    }
}

/// The replies to a request, as they are ready.
pub struct Replies {
    dispatcher: Arc<Dispatcher>,
    unwanted: Arc<AtomicBool>,
    left: Left,
    started: Instant,
    name: &'static str,
}

/// What of a request is left to answer.
enum Left {
    Whole(Way),
    Batch(Batch),
    Nothing,
}

/// Runs on many inputs, as many at a time as there are cores.
struct Batch {
    order: Arc<Order>,
    inputs: std::iter::Zip<std::ops::RangeFrom<u32>, std::vec::IntoIter<RunInput>>,
    runs: JoinSet<Result<Answer>>,
    left: usize,
}

impl Replies {
    /// The next reply, and whether it is the last; `None` after that.
    pub async fn next(&mut self) -> Option<(bool, Result<Answer>)> {
        let answer = match std::mem::replace(&mut self.left, Left::Nothing) {
            Left::Nothing => return None,
            Left::Whole(Way::Inline(question)) => self.dispatcher.ask(question),
            Left::Whole(Way::Blocking(question)) => ask_beside(self.dispatcher.clone(), question).await,
            Left::Whole(Way::Core(work)) => match *work {
                Work::Warm(order) => run::warm(self.dispatcher.clone(), order, self.unwanted.clone()).await,
                Work::Run(order, input) => self.run(Arc::new(order), input, 0).await,
                Work::Batch(_, inputs) if inputs.is_empty() => Ok(Answer::Ok {}),
                Work::Batch(order, inputs) => {
                    let (order, left) = (Arc::new(order), inputs.len());
                    self.batch(Batch { order, left, inputs: (0..).zip(inputs), runs: JoinSet::new() }).await
                }
            },
            Left::Batch(batch) => self.batch(batch).await,
        };
        let is_last = matches!(self.left, Left::Nothing);
        if is_last {
            self.dispatcher.metrics.add(self.name, self.started.elapsed());
        }
        Some((is_last, answer))
    }

    fn run(
        &self,
        order: Arc<Order>,
        input: RunInput,
        index: u32,
    ) -> impl Future<Output = Result<Answer>> + Send + 'static {
        run::run(self.dispatcher.clone(), order, input, index, self.unwanted.clone())
    }

    /// The next of many runs that is done.
    async fn batch(&mut self, mut batch: Batch) -> Result<Answer> {
        while batch.runs.len() < self.dispatcher.queue.cores() as usize
            && let Some((index, input)) = batch.inputs.next()
        {
            batch.runs.spawn(self.run(batch.order.clone(), input, index));
        }
        let done = batch.runs.join_next().await;
        batch.left -= 1;
        if batch.left > 0 {
            self.left = Left::Batch(batch);
        }
        done.and_then(std::result::Result::ok).unwrap_or_else(|| {
            Err(Failure::new(FailureKind::Internal, "a run of the batch ended badly in the daemon"))
        })
    }
}

/// Answers a question on a thread of its own, when it is its turn.
async fn ask_beside(dispatcher: Arc<Dispatcher>, question: Question) -> Result<Answer> {
    let turn = dispatcher.long_questions.clone().acquire_owned().await;
    let answered = tokio::task::spawn_blocking(move || {
        let answer = dispatcher.ask(question);
        drop(turn);
        answer
    });
    answered.await.unwrap_or_else(|_| Err(ended_badly()))
}

/// What is said of a question that could not be answered because of a mistake in the daemon.
fn ended_badly() -> Failure {
    Failure::new(FailureKind::Internal, "the question ended badly in the daemon; its log tells more")
}

fn subjects() -> Result<Answer> {
    let internal = |error: hearth_subject::Error| Failure::new(FailureKind::Internal, error.to_string());
    let entries = Store::open().and_then(|store| store.list()).map_err(internal)?;
    let subjects = entries.into_iter().filter_map(|entry| match entry {
        Entry::Ready(subject) => Some(SubjectInfo {
            name: subject.id().to_owned(),
            binary: subject.binary().to_string_lossy().into_owned(),
            instrumented: subject.manifest.notes.count > 0,
        }),
        Entry::Incomplete { .. } | Entry::Damaged { .. } => None,
    });
    Ok(Answer::Subjects(subjects.collect()))
}

/// A failure to carry out an order, or one of the daemon's own.
fn failure(error: &Error) -> Failure {
    let kind = match error {
        Error::Sandbox(error) => match error {
            SandboxError::Launch { .. } | SandboxError::Lost(_) | SandboxError::System { .. } => {
                FailureKind::Internal
            }
            SandboxError::Lacking { .. } => FailureKind::Order,
        },
        Error::System { .. } | Error::Quarantined { .. } | Error::ZygoteLost(_) => FailureKind::Internal,
        Error::Order(_)
        | Error::Program { .. }
        | Error::NotWarm { .. }
        | Error::Threads { .. }
        | Error::InputFrozen { .. }
        | Error::TooLarge { .. }
        | Error::NotesMismatch { .. }
        | Error::Counters(_)
        | Error::Coverage(_)
        | Error::Subject(_) => FailureKind::Order,
    };
    let message = match (error, Store::open()) {
        // The client may have another cache in its environment.
        (Error::Subject(hearth_subject::Error::NotFound { .. }), Ok(store)) => {
            format!(
                "{error} (the daemon looks in {}; to have it look elsewhere, end it: hearth stop)",
                store.root().display()
            )
        }
        _ => error.to_string(),
    };
    Failure::new(kind, message)
}

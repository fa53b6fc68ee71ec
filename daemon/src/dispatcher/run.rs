//! Runs that clients ask for.

use super::kept_runs::Kept;
use super::{Dispatcher, failure};
use hearth_protocol::{
    Answer, Bytes, FRAME_LIMIT, Failure, FailureKind, FileInfo, Limits, Observe, Order, RunDone, RunInput,
};
use hearth_runner::limits::RunLimits;
use hearth_runner::order::{Resolved, RunOrder, has_place_for_input, nameless_input, other_arguments};
use hearth_runner::run::{OutputFile, RunRequest};
use hearth_runner::zygote::WarmPoint;
use hearth_runner::{CoveredRun, Observation};
use hearth_sandbox::Policy;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Failure>;

/// The search path of a run whose order gives no environment.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Waits for a core, and runs. `unwanted` is set when the client has gone.
pub async fn run(
    dispatcher: Arc<Dispatcher>,
    order: Arc<Order>,
    input: RunInput,
    index: u32,
    unwanted: Arc<AtomicBool>,
) -> Result<Answer> {
    let (asked, own) = (Instant::now(), dispatcher.clone());
    let work = {
        let unwanted = unwanted.clone();
        move || run_now(&own, &order, input, index, unwanted, asked)
    };
    dispatcher.queue.work(unwanted, work).await
}

/// Has a zygote ready.
pub async fn warm(dispatcher: Arc<Dispatcher>, order: Order, unwanted: Arc<AtomicBool>) -> Result<Answer> {
    let own = dispatcher.clone();
    let work = move || {
        let resolved = resolve(&own, &order)?;
        let ready = own.pool.with_worker(&resolved.key, resolved.map.as_ref(), |_| Ok(()));
        ready.map(|()| Answer::Ok {}).map_err(|error| failure(&error))
    };
    dispatcher.queue.work(unwanted, work).await
}

fn run_now(
    dispatcher: &Dispatcher,
    order: &Order,
    input: RunInput,
    index: u32,
    unwanted: Arc<AtomicBool>,
    asked: Instant,
) -> Result<Answer> {
    let resolved = resolve(dispatcher, order)?;
    let bytes = match (&input.input, &resolved.key.input) {
        (Some(bytes), _) => Some(bytes.0.clone()),
        (None, Some(path)) => Some(read_input(&resolved.key.directory.join(path))?),
        (None, None) => None,
    };
    if input.environment.iter().any(|(name, value)| name.contains('\0') || value.contains('\0')) {
        return Err(Failure::new(FailureKind::Order, "a variable of the environment has a NUL in it"));
    }
    let problem = match input.observe {
        Observe::Nothing if input.name.is_some() => {
            Some("a run of which nothing is observed is not kept, so it can have no name")
        }
        Observe::Counters => Some("the daemon does not send counters; observe the spectrum"),
        Observe::Nothing | Observe::Spectrum => None,
    };
    if let Some(problem) = problem {
        return Err(Failure::new(FailureKind::Order, problem));
    }
    let arguments = input.arguments.as_deref().map(|arguments| other_arguments(&resolved.key, arguments));
    let request = RunRequest {
        input: bytes,
        stdin: input.stdin.0,
        arguments: arguments.transpose().map_err(|error| failure(&error))?,
        directory: None,
        environment: input.environment.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        limits: limits(&order.limits),
        observe: input.observe,
        hides_program: input.hides_program,
        unwanted: Some(unwanted.clone()),
    };
    let answer = dispatcher.pool.run(&resolved.key, resolved.map.as_ref(), &request);
    let answer = answer.map_err(|error| failure(&error))?;
    // What was ended halfway because its client went must not be kept, let alone get a name.
    if unwanted.load(Ordering::Relaxed) {
        return Err(Failure::new(FailureKind::Stopping, "the client has gone"));
    }
    let done = done(dispatcher, order, &resolved, answer, input.name.as_deref(), input.send_files)?;
    Ok(Answer::Run(Box::new(RunDone { index, total_us: microseconds(asked.elapsed()), ..done })))
}

/// The input's own bytes.
fn read_input(path: &Path) -> Result<Vec<u8>> {
    let problem = |problem: String| {
        Failure::new(FailureKind::Order, format!("cannot read {}: {problem}", path.display()))
    };
    let told = |error: io::Error| problem(error.to_string());
    let no_file = || problem(format!("it is no plain file of at most {FRAME_LIMIT} bytes"));
    // Neither a pipe nor a file that waits for something, as there are some in /proc, must hold the core.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(told)?;
    if !file.metadata().map_err(told)?.is_file() {
        return Err(no_file());
    }
    let mut bytes = Vec::new();
    // Files in /proc do not say how long they are, and some have no end.
    file.take(FRAME_LIMIT as u64 + 1).read_to_end(&mut bytes).map_err(told)?;
    if bytes.len() > FRAME_LIMIT { Err(no_file()) } else { Ok(bytes) }
}

/// Keeps a run, and tells of it.
fn done(
    dispatcher: &Dispatcher,
    order: &Order,
    resolved: &Resolved,
    answer: CoveredRun,
    name: Option<&str>,
    send_files: bool,
) -> Result<RunDone> {
    let CoveredRun { run, observation, missing } = answer;
    let mut done = RunDone {
        run: 0,
        index: 0,
        outcome: run.outcome,
        stdout: Bytes(run.stdout),
        stderr: Bytes(run.stderr),
        files: run.files.into_iter().map(|file| file_info(file, send_files)).collect(),
        lines_executed: 0,
        functions_executed: 0,
        no_coverage: None,
        forked: run.forked,
        missing,
        total_us: 0,
        run_us: microseconds(run.times.run),
        cpu_us: microseconds(run.times.user + run.times.system),
        harvest_us: microseconds(run.times.harvest),
    };
    match (observation, &resolved.map) {
        (Ok(Observation { spectrum, baseline, counters: _ }), Some(map)) => {
            done.lines_executed = spectrum.lines.executed() as u64;
            done.functions_executed = spectrum.functions.executed() as u64;
            let kept = Kept {
                spectrum: Arc::new(spectrum),
                baseline,
                map: map.clone(),
                subject: order.subject.clone(),
                outcome: run.outcome,
            };
            let (id, forgotten) = dispatcher.kept_runs().keep(kept, name);
            drop(forgotten);
            done.run = id?;
        }
        (Err(reason), _) => done.no_coverage = Some(reason),
        (Ok(_), None) => done.no_coverage = Some("the subject is not instrumented".to_owned()),
    }
    Ok(done)
}

fn resolve(dispatcher: &Dispatcher, order: &Order) -> Result<Resolved> {
    let wrong = |problem: String| Failure::new(FailureKind::Order, problem);
    let warm = order.warm.as_deref().map(str::parse::<WarmPoint>).transpose().map_err(wrong)?;
    let arguments: Vec<_> = order.arguments.iter().map(Into::into).collect();
    let input = match &order.input {
        Some(path) => Some(PathBuf::from(path)),
        None => has_place_for_input(&arguments).then(nameless_input),
    };
    let environment = match &order.environment {
        Some(environment) => environment.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        None => vec![("PATH".into(), PATH.into())],
    };
    let directory = PathBuf::from(order.directory.as_deref().unwrap_or("/"));
    if !directory.is_absolute() {
        return Err(wrong(format!("the directory {} is not an absolute path", directory.display())));
    }
    let sandbox = if order.best_effort_sandbox { Policy::BestEffort } else { Policy::Required };
    let processes = RunLimits::default().processes;
    let subject = order.subject.clone();
    let shown = order.shows.iter().map(Into::into).collect();
    let order =
        RunOrder { subject, arguments, input, warm, directory, environment, sandbox, processes, shown };
    let resolved = dispatcher.resolver.resolve(&order).map_err(|error| failure(&error))?;
    // Who opens a pipe waits for its other end.
    match fs::metadata(&resolved.key.binary) {
        Ok(data) if !data.is_file() => {
            Err(wrong(format!("no program {}: it is no plain file", order.subject)))
        }
        _ => Ok(resolved),
    }
}

fn limits(given: &Limits) -> RunLimits {
    let default = RunLimits::default();
    RunLimits {
        wall_ms: given.wall_ms.unwrap_or(default.wall_ms),
        cpu_s: given.cpu_s.unwrap_or(default.cpu_s),
        memory_bytes: given.memory_bytes.unwrap_or(default.memory_bytes),
        // More could not be sent, and would be the daemon's memory.
        output_bytes: given.output_bytes.unwrap_or(default.output_bytes).min(FRAME_LIMIT as u64),
        processes: default.processes,
    }
}

fn file_info(file: OutputFile, send: bool) -> FileInfo {
    FileInfo {
        path: file.path.to_string_lossy().into_owned(),
        size: file.bytes.len() as u64,
        bytes: send.then_some(Bytes(file.bytes)),
    }
}

fn microseconds(time: Duration) -> u64 {
    time.as_micros() as u64
}

#[cfg(test)]
mod tests {
    #[test]
    fn clients_and_the_shim_mean_the_same_path() {
        assert_eq!(hearth_protocol::CRASH_PATH, hearth_shim_abi::CRASH_PATH);
    }
}

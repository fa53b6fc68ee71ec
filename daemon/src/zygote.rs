//! A subject's process at its warm point, and the runs forked from it.

use crate::cores::{Binding, Idle, Place};
use crate::counters::{CounterMap, DUMPED_OFFSET};
use crate::error::{During, Error, Result};
use crate::harvest::{Counting, How, Visit};
use crate::launch::{Launched, Launcher, Order, SandboxPolicy};
use crate::limits::{
    ANSWER_DEADLINE, LOOK_INTERVAL, LOOK_PAUSE, OWN_PROCESSES, RESERVED_BYTES, WARM_DEADLINE,
};
use crate::mappings::Mappings;
use crate::memory::{Memory, PAGE_BYTES};
use crate::packet::{self, Packet, Received};
use crate::program;
use crate::run::{Outcome, Run, RunRequest, Times};
use crate::stage::Stage;
use crate::usage::{Usage, resident_bytes};
use hearth_coverage::atlas::Atlas;
use hearth_shim_abi::{
    Config, EVENT_CLEARED, EVENT_ENDED, EVENT_FORKED, EVENT_MISSED, EVENT_NO_HOOK, EVENT_NOT_FORKED,
    EVENT_THREADS, EVENT_WARM, EXPECTED_LIMIT, Event, PATH_LIMIT, REQUEST_CLEAR, REQUEST_EXPECT,
    REQUEST_KILL, REQUEST_MARK, Request, VERSION, WARM_INPUT, WARM_MAIN, WARM_SYMBOL,
};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A launcher whose subject has ended ends soon after.
const END_DEADLINE: Duration = Duration::from_millis(500);

/// Where a subject waits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WarmPoint {
    /// At the entry of `main`.
    Main,
    /// Before the input is first opened.
    Input,
    /// At the entry of a function.
    Symbol(String),
}

impl fmt::Display for WarmPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main => f.write_str("main"),
            Self::Input => f.write_str("input"),
            Self::Symbol(name) => write!(f, "symbol:{name}"),
        }
    }
}

impl std::str::FromStr for WarmPoint {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match (text, text.strip_prefix("symbol:")) {
            ("main", _) => Ok(Self::Main),
            ("input", _) => Ok(Self::Input),
            (_, Some(name)) if !name.is_empty() => Ok(Self::Symbol(name.to_owned())),
            _ => Err(format!("`{text}` is no warm point: it is main, input or symbol:NAME")),
        }
    }
}

/// What makes two zygotes alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ZygoteKey {
    /// The program.
    pub binary: PathBuf,
    /// Another number for a program that was built anew at the same path.
    pub revision: u64,
    /// Its arguments, its own name first.
    pub arguments: Vec<OsString>,
    /// Its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Its working directory.
    pub directory: PathBuf,
    /// The path, as in the arguments, that each run's input stands for.
    pub input: Option<PathBuf>,
    /// Where it waits.
    pub warm: WarmPoint,
    /// What becomes of a machine that lacks something.
    pub sandbox: SandboxPolicy,
    /// Processes that runs may have at a time.
    pub processes: u64,
    /// Paths that runs see although they would be hidden.
    pub shown: Vec<PathBuf>,
}

/// A zygote.
#[derive(Debug)]
pub struct Zygote {
    launched: Launched,
    binary: PathBuf,
    memory: Memory,
    mappings: Mappings,
    /// A word that is no longer zero once a run has loaded libraries; 0 if there is none.
    last_library: u64,
    /// Runs so far.
    runs: u64,
    warm: WarmPoint,
    /// The counters, if the subject is instrumented and its atlas was given.
    counting: Option<Counting>,
    /// Something of the run before may be left.
    unclear: bool,
    /// The input that all runs have, if the subject opened it before the warm point.
    frozen_input: Option<Vec<u8>>,
    memory_bytes: u64,
    /// Says whether there is a core beside that of the run.
    idle: Idle,
    /// Where it is.
    binding: Binding,
    /// It is still to be bound there.
    is_to_move: bool,
}

impl Zygote {
    /// Starts a subject and waits until it is warm.
    ///
    /// # Errors
    /// If it cannot be started or never gets there.
    pub fn start(launcher: &Launcher, key: &ZygoteKey) -> Result<Self> {
        let function = match &key.warm {
            WarmPoint::Symbol(name) => Some(name.as_str()),
            _ => None,
        };
        let program = program::inspect_for_warming(&key.binary, function)?;
        let order = Order {
            binary: key.binary.clone(),
            arguments: key.arguments.clone(),
            environment: key.environment.clone(),
            directory: key.directory.clone(),
            processes: key.processes,
            hidden: launcher.hidden.clone(),
            shown: key.shown.clone(),
        };
        let config = config(key, program.function.unwrap_or(0))?;
        let mut launched = Launched::start(launcher, &order, key.sandbox)?;
        packet::send(&launched.control, &config, &[], &[]).during("configure the shim")?;
        // What a subject that opens its input before the warm point finds there.
        let early_input = key.input.as_ref().and_then(|input| fs::read(absolute(&key.directory, input)).ok());
        let warm = wait_until_warm(&mut launched, &key.warm)?;
        let memory_bytes = launched.process.map_or(0, resident_bytes);
        Ok(Self {
            launched,
            binary: key.binary.clone(),
            memory: warm.memory,
            mappings: warm.mappings,
            last_library: warm.last_library,
            runs: 0,
            warm: key.warm.clone(),
            counting: None,
            unclear: false,
            frozen_input: warm.is_input_open.then(|| early_input.unwrap_or_default()),
            memory_bytes,
            idle: Idle::default(),
            binding: Binding::default(),
            is_to_move: false,
        })
    }

    /// What the sandbox lacks.
    #[must_use]
    pub fn missing(&self) -> &[String] {
        &self.launched.missing
    }

    /// Its memory that no file is behind, at the warm point, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// The core it stays on, if it is a certain one.
    #[must_use]
    pub fn core(&self) -> Option<usize> {
        self.binding.core
    }

    /// Serves its next run at a place.
    pub fn stay_at(&mut self, place: &Place<'_>) {
        self.idle = place.idle();
        if self.binding.core != place.core() {
            self.binding = place.binding();
            self.is_to_move = true;
        }
    }

    /// Moves to where the next run is to be served, with the standby. Nothing else is left of the run before, whose number
    /// could be another process's by now.
    fn move_to_place(&mut self) {
        let process = self.launched.process.filter(|_| std::mem::take(&mut self.is_to_move));
        if let Some(process) = process {
            self.binding.bind(Pid::from_raw(process));
            // One that is forked at this moment stays where it is.
            children(process).into_iter().for_each(|child| self.binding.bind(child));
        }
    }

    /// The counters, if they are known.
    #[must_use]
    pub fn counting(&self) -> Option<&Counting> {
        self.counting.as_ref()
    }

    /// Finds the counters of the subject and of the instrumented libraries it has loaded, reads what they are
    /// now, and keeps runs from writing data files.
    ///
    /// # Errors
    /// If there are none, or they are not those of the atlas.
    pub fn count(&mut self, atlas: &Atlas<'_>) -> Result<()> {
        let roots = self.mappings.gcov_roots(&self.binary)?;
        let map = CounterMap::find(&self.memory, &roots, atlas)?;
        if map.arrays.is_empty() {
            let problem = "none of the program's objects is among them".to_owned();
            return Err(Error::NotesMismatch { problem });
        }
        self.write_no_data_files(&roots)?;
        let count = atlas.counter_count() as usize;
        self.counting = Some(Counting::new(map, count, &self.memory).during("read the zygote's counters")?);
        Ok(())
    }

    /// The next run's counters will be compared with those at the warm point.
    pub fn forget_last_run(&mut self) {
        if let Some(counting) = &mut self.counting {
            counting.forget_last_run();
        }
    }

    /// Turns off the writing of data files in a subject whose atlas is not known, if it is instrumented.
    ///
    /// # Errors
    /// If the zygote takes no requests.
    pub fn ignore_counters(&mut self) -> Result<()> {
        let roots = self.mappings.gcov_roots(&self.binary).unwrap_or_default();
        self.write_no_data_files(&roots)
    }

    fn write_no_data_files(&mut self, roots: &[u64]) -> Result<()> {
        for root in roots {
            let mark = Request { kind: REQUEST_MARK, address: root + DUMPED_OFFSET, ..Request::default() };
            packet::send(&self.launched.control, &mark, &[], &[]).map_err(lost("it takes no requests"))?;
        }
        Ok(())
    }

    /// Forks a run and waits for its end. `visit` is called with the counters that differ from the run harvested before (at
    /// first, from the warm point), function by function: where they are, what they were and what they are.
    ///
    /// # Errors
    /// If the request is too large, or the zygote does not answer; it is then of no further use.
    pub fn run(&mut self, request: &RunRequest, visit: Visit<'_>) -> Result<Run> {
        let started = Instant::now();
        if request.input.is_some() && self.frozen_input.is_some() && request.input != self.frozen_input {
            return Err(Error::InputFrozen { warm: self.warm.to_string() });
        }
        self.finish_clearing()?;
        self.move_to_place();
        let mut stage = Stage::new(request)?;
        let mut head = stage.head;
        head.processes = match self.launched.limits_processes_by_user {
            true => request.limits.processes.saturating_add(OWN_PROCESSES),
            false => 0,
        };
        let mut fds =
            vec![stage.channel_end.as_fd(), stage.stdin.as_fd(), stage.stdout.as_fd(), stage.stderr.as_fd()];
        fds.extend(stage.input.as_ref().map(File::as_fd));
        packet::send(&self.launched.control, &head, &stage.text, &fds)
            .map_err(lost("it takes no requests"))?;
        let forked = self.event(Instant::now() + ANSWER_DEADLINE)?;
        if forked.kind == EVENT_NOT_FORKED {
            let error = std::io::Error::from_raw_os_error(forked.value);
            return Err(Error::System { what: "fork a run", error });
        }
        if forked.kind != EVENT_FORKED {
            return Err(Error::ZygoteLost(format!("it said {} where a fork was expected", forked.kind)));
        }
        let (ended, verdict) = self.wait_for_end(&mut stage, request, &forked)?;
        let harvest_started = Instant::now();
        stage.take_notes()?;
        let verdict = verdict.or(stage.is_above(request.limits.output_bytes).then_some(Outcome::OutputLimit));
        let notes = &mut stage.notes;
        let keeper = self.launched.process.and_then(only_child);
        let mut memory = notes.memory.take();
        if let (Some(memory), Some(keeper)) = (&mut memory, keeper) {
            memory.set_process(keeper);
        }
        let harvest = match (&memory, request.skips_coverage) {
            (Some(memory), false) => {
                // Without an only child there are others that may have the run's memory.
                let all_pages = notes.forked || keeper.is_none();
                let how = How { keep: request.keep_counters, all_pages, helped: self.idle.is_there() };
                self.harvest(memory, keeper, how, visit)
            }
            (None, false) => Err("the run did not hand over its memory".to_owned()),
            (_, true) => Err("nobody asked for it".to_owned()),
        };
        if let Some(memory) = memory.filter(|_| !notes.forked && keeper.is_some()) {
            self.expect_alike(&memory);
        }
        packet::send(&self.launched.control, &clear(), &[], &[]).map_err(lost("it takes no requests"))?;
        self.unclear = true;
        let between = |from: u64, to: u64| Duration::from_nanos(to.saturating_sub(from));
        let times = Times {
            total: started.elapsed(),
            fork: between(forked.asked_ns, forked.time_ns),
            run: between(forked.time_ns, ended.time_ns),
            harvest: harvest_started.elapsed(),
            user: Duration::from_micros(ended.user_us),
            // What the kernel did for the standby was before the run.
            system: Duration::from_micros(ended.system_us.saturating_sub(stage.notes.prepared_us)),
        };
        if let Some(error) = stage.notes.failed {
            let error = std::io::Error::from_raw_os_error(error);
            return Err(Error::System { what: "prepare a run", error });
        }
        let output = stage.output(request.limits.output_bytes)?;
        Ok(Run {
            outcome: verdict.unwrap_or_else(|| outcome(&ended, request.limits.cpu_s)),
            stdout: output.stdout,
            stderr: output.stderr,
            forked: stage.notes.forked,
            files: output.files,
            harvest,
            page_faults: ended.faults,
            peak_kib: ended.peak_kib,
            times,
        })
    }

    fn event(&mut self, deadline: Instant) -> Result<Event> {
        match receive_event(&self.launched.control, deadline)? {
            Some(packet) => Ok(packet.head),
            None => Err(Error::ZygoteLost("it does not answer".to_owned())),
        }
    }

    /// Waits for the run's end, and sees to its limits. Its time has begun when it was forked. Returns the outcome if a limit
    /// decided it.
    fn wait_for_end(
        &mut self,
        stage: &mut Stage,
        request: &RunRequest,
        forked: &Event,
    ) -> Result<(Event, Option<Outcome>)> {
        let limits = &request.limits;
        let started = Instant::now();
        let deadline = started + Duration::from_millis(limits.wall_ms);
        let is_unwanted =
            || request.unwanted.as_ref().is_some_and(|unwanted| unwanted.load(Ordering::Relaxed));
        let mut next_look = started + LOOK_INTERVAL;
        let mut verdict = None;
        loop {
            let until = if verdict.is_some() { started.max(next_look) } else { deadline.min(next_look) };
            packet::wait(&[self.launched.control.as_fd(), stage.channel()], until)
                .during("wait for a run")?;
            stage.take_notes()?;
            match receive_event(&self.launched.control, Instant::now())?.map(|packet| packet.head) {
                Some(ended) if ended.kind == EVENT_ENDED => {
                    // A run that was faster than the news of its limit is not to blame for the daemon's being late.
                    let ran = Duration::from_nanos(ended.time_ns.saturating_sub(forked.time_ns));
                    let in_time = ran <= Duration::from_millis(limits.wall_ms) && !is_unwanted();
                    return Ok((ended, verdict.filter(|&verdict| verdict != Outcome::TimedOut || !in_time)));
                }
                Some(event) => {
                    let problem = format!("it said {} while a run was under way", event.kind);
                    return Err(Error::ZygoteLost(problem));
                }
                None => {}
            }
            let now = Instant::now();
            if verdict.is_some() {
                if now >= next_look {
                    return Err(Error::ZygoteLost("its run cannot be killed".to_owned()));
                }
                continue;
            }
            if now >= deadline || is_unwanted() {
                verdict = Some(Outcome::TimedOut);
            } else if now >= next_look {
                verdict = self.look_at_limits(stage, request);
                next_look = Instant::now() + LOOK_INTERVAL.max(now.elapsed() * LOOK_PAUSE);
            }
            if verdict.is_some() {
                let kill = Request { kind: REQUEST_KILL, ..Request::default() };
                packet::send(&self.launched.control, &kill, &[], &[])
                    .map_err(lost("it takes no requests"))?;
                next_look = now + ANSWER_DEADLINE;
            }
        }
    }

    /// The outcome of a run that has used more than it may.
    fn look_at_limits(&self, stage: &Stage, request: &RunRequest) -> Option<Outcome> {
        let usage = self.launched.process.map(|zygote| Usage::new(zygote, stage.notes.keeper));
        if usage.is_some_and(|usage| usage.is_above(request.limits.memory_bytes)) {
            return Some(Outcome::OutOfMemory);
        }
        stage.is_above(request.limits.output_bytes).then_some(Outcome::OutputLimit)
    }

    fn harvest(
        &mut self,
        memory: &Memory,
        keeper: Option<Pid>,
        how: How,
        visit: Visit<'_>,
    ) -> std::result::Result<crate::harvest::Harvest, String> {
        let Some(counting) = &mut self.counting else {
            return Err("the subject is not instrumented".to_owned());
        };
        let gone = |error: std::io::Error| {
            format!(
                "the run's memory is gone ({error}): it, or the machine, killed the process that keeps it"
            )
        };
        if self.last_library != 0 && memory.read_word(self.last_library).map_err(gone)? != 0 {
            check_libraries(keeper, &self.binary, &counting.map.roots)?;
        }
        let helped = how.helped && counting.is_large();
        counting.harvest(memory, How { helped, ..how }, visit).map_err(gone)
    }

    /// Tells the zygote what a run has written, because the next ones will. What most runs write shows in the first few;
    /// looking at all of the memory takes a millisecond.
    fn expect_alike(&mut self, memory: &Memory) {
        self.runs += 1;
        if !self.runs.is_power_of_two() {
            return;
        }
        // Without the memory nothing is expected anew.
        let Ok(words) = written_ranges(memory, &self.mappings) else { return };
        let expect = Request { kind: REQUEST_EXPECT, ..Request::default() };
        let sent = packet::send(&self.launched.control, &expect, bytemuck::cast_slice(&words), &[]);
        // A zygote that is gone is noticed at the next request, and this run is as good as any.
        drop(sent);
    }

    /// Waits until nothing is left of the run before.
    fn finish_clearing(&mut self) -> Result<()> {
        while self.unclear {
            if self.event(Instant::now() + ANSWER_DEADLINE)?.kind == EVENT_CLEARED {
                self.unclear = false;
            }
        }
        Ok(())
    }
}

fn clear() -> Request {
    Request { kind: REQUEST_CLEAR, ..Request::default() }
}

fn lost(why: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::ZygoteLost(format!("{why}: {error}"))
}

fn config(key: &ZygoteKey, symbol: u64) -> Result<Config> {
    let mut config: Config = bytemuck::Zeroable::zeroed();
    config.version = VERSION;
    config.warm = match key.warm {
        WarmPoint::Main => WARM_MAIN,
        WarmPoint::Input => WARM_INPUT,
        WarmPoint::Symbol(_) => WARM_SYMBOL,
    };
    config.symbol = symbol;
    if let Some(input) = &key.input {
        let path = absolute(&key.directory, input);
        let bytes = path.as_os_str().as_bytes();
        if bytes.len() > PATH_LIMIT {
            return Err(Error::TooLarge { what: "the input path", size: bytes.len(), limit: PATH_LIMIT });
        }
        config.input[..bytes.len()].copy_from_slice(bytes);
        config.input_length = bytes.len() as u32;
    }
    Ok(config)
}

/// A path as the shim spells it.
fn absolute(directory: &Path, path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in directory.join(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                result.pop();
            }
            part => result.push(part),
        }
    }
    result
}

fn receive_event(control: &OwnedFd, deadline: Instant) -> Result<Option<Packet<Event>>> {
    match packet::receive::<Event>(control, size_of::<Event>(), deadline).map_err(lost("its socket fails"))? {
        Received::Packet(packet) => Ok(Some(packet)),
        Received::Nothing => Ok(None),
        Received::Closed => Err(Error::ZygoteLost("it has ended".to_owned())),
        Received::Garbage => Err(Error::ZygoteLost("it talks nonsense".to_owned())),
    }
}

/// What a zygote hands over when it is warm.
struct Warm {
    memory: Memory,
    mappings: Mappings,
    last_library: u64,
    is_input_open: bool,
}

fn wait_until_warm(launched: &mut Launched, warm: &WarmPoint) -> Result<Warm> {
    let event = receive_event(&launched.control, Instant::now() + WARM_DEADLINE);
    let problem = match event {
        Ok(Some(mut packet)) => match packet.head.kind {
            EVENT_WARM if packet.fds.len() == 3 => {
                let mut file = || packet.fds.remove(0).into();
                let (memory, pages): (File, File) = (file(), file());
                let mut maps_file: File = file();
                let mut maps = String::new();
                maps_file.read_to_string(&mut maps).during("read what the zygote has mapped")?;
                return Ok(Warm {
                    memory: Memory::new(memory, pages),
                    mappings: Mappings::parse(&maps),
                    last_library: packet.head.address,
                    is_input_open: packet.head.value != 0,
                });
            }
            EVENT_THREADS => {
                return Err(Error::Threads { count: packet.head.value, warm: warm.to_string() });
            }
            EVENT_NO_HOOK => format!("its code cannot be changed (error {})", packet.head.value),
            EVENT_MISSED => format!("main returned {} without it", packet.head.value),
            kind => format!("the shim said {kind}"),
        },
        Ok(None) => format!("it is not there after {} s", WARM_DEADLINE.as_secs()),
        Err(_) => {
            launched.wait_for_end(END_DEADLINE).unwrap_or_else(|| "it closed the control socket".to_owned())
        }
    };
    Err(Error::NotWarm { warm: warm.to_string(), problem, output: launched.output() })
}

/// Sees whether libraries that a run has loaded are instrumented: their counters are not in the map.
fn check_libraries(keeper: Option<Pid>, binary: &Path, known: &[u64]) -> std::result::Result<(), String> {
    let maps = keeper.and_then(|keeper| fs::read_to_string(format!("/proc/{keeper}/maps")).ok());
    let maps = maps.ok_or("the run loaded libraries after the warm point, and which is not known")?;
    let roots = Mappings::parse(&maps).gcov_roots(binary).unwrap_or_default();
    match roots.iter().all(|root| known.contains(root)) {
        true => Ok(()),
        false => Err("the run loaded instrumented libraries after the warm point; choose a later one".into()),
    }
}

/// The pages that a run has written of what its zygote has, as [`REQUEST_EXPECT`] wants them.
fn written_ranges(memory: &Memory, mappings: &Mappings) -> std::io::Result<Vec<u64>> {
    let most_pages = PAGE_BYTES - 1;
    let mut words = Vec::new();
    for addresses in mappings.writable() {
        let first = addresses.start / PAGE_BYTES;
        let count = addresses.end / PAGE_BYTES - first;
        if addresses.end - addresses.start > RESERVED_BYTES {
            continue;
        }
        let own = memory.own_pages(first, count as usize)?;
        let mut page = first;
        for run in own.chunk_by(|a, b| a == b) {
            let end = page + run.len() as u64;
            while run[0] && page < end {
                let length = (end - page).min(most_pages);
                words.push((page * PAGE_BYTES) | length);
                page += length;
            }
            page = end;
        }
    }
    // Beyond the limit the shortest are left out: they save least.
    if words.len() > EXPECTED_LIMIT {
        words.sort_unstable_by_key(|word| std::cmp::Reverse(word % PAGE_BYTES));
        words.truncate(EXPECTED_LIMIT);
    }
    Ok(words)
}

/// The only child of a process with one thread. After a run, that is its keeper, unless the run left others.
fn only_child(process: i32) -> Option<Pid> {
    match children(process)[..] {
        [child] => Some(child),
        _ => None,
    }
}

/// The children of a process with one thread; none if it is gone.
fn children(process: i32) -> Vec<Pid> {
    let list = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    list.split_ascii_whitespace().filter_map(|child| child.parse().ok()).map(Pid::from_raw).collect()
}

fn outcome(ended: &Event, cpu_s: u64) -> Outcome {
    let status: std::process::ExitStatus = ExitStatusExt::from_raw(ended.value);
    let used_up = (ended.user_us + ended.system_us) / 1_000_000 >= cpu_s;
    match (status.code(), status.signal()) {
        (Some(code), _) => Outcome::Exited(code),
        (None, Some(libc::SIGXCPU)) => Outcome::TimedOut,
        (None, Some(libc::SIGKILL)) if used_up => Outcome::TimedOut,
        (None, Some(libc::SIGXFSZ)) => Outcome::OutputLimit,
        (None, signal) => Outcome::Signalled(signal.unwrap_or(0)),
    }
}

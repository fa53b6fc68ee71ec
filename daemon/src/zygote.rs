//! A subject's process at its warm point, and the runs forked from it.

use crate::cores::{Binding, Idle, Place};
use crate::counters::{CounterMap, DUMPED_OFFSET, object_of};
use crate::error::{During, Error, Result};
use crate::harvest::{Additions, Counting, Harvest, How, Visit};
use crate::launch::{Launched, Launcher, Order, SandboxPolicy};
use crate::limits::{
    ANSWER_DEADLINE, LOOK_INTERVAL, LOOK_INTERVAL_MOST, LOOK_PAUSE, RESERVED_BYTES, WARM_DEADLINE,
    most_processes,
};
use crate::mappings::Mappings;
use crate::memory::{Memory, PAGE_BYTES, tells_own_pages};
use crate::packet::{self, Packet, Received};
use crate::program;
use crate::run::{Outcome, OutputFile, Run, RunRequest, Times};
use crate::stage::{Notes, Stage};
use crate::subject_map::SubjectMap;
use crate::usage::{Usage, processes_inside, resident_bytes};
use hearth_shim_abi::{
    Config, EARLY_INPUT, EARLY_PID, EARLY_STDIN, EVENT_CLEARED, EVENT_ENDED, EVENT_FORKED, EVENT_MISSED,
    EVENT_NO_HOOK, EVENT_NOT_FORKED, EVENT_THREADS, EVENT_WARM, EXPECTED_LIMIT, Event, PATH_LIMIT,
    REQUEST_CLEAR, REQUEST_EXPECT, REQUEST_KILL, REQUEST_MARK, Request, VERSION, WARM_INPUT, WARM_MAIN,
    WARM_SYMBOL,
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
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How the names of gcov's data files end.
const DATA_EXTENSION: &str = ".gcda";
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
    /// The counters, if the subject is instrumented and its map was given.
    counting: Option<Counting>,
    map: Option<Arc<SubjectMap>>,
    /// What it wrote to standard output and standard error before the warm point: every run begins with it.
    early_output: [Vec<u8>; 2],
    /// What all runs lack because of what it did before the warm point.
    early_missing: Vec<String>,
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
            first_library: program.first_library.clone(),
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
        let mut early_missing = warm.missing();
        let is_input_open = warm.did(EARLY_INPUT);
        let early_output = launched.early_output(&mut early_missing)?;
        Ok(Self {
            launched,
            binary: key.binary.clone(),
            memory: warm.memory,
            mappings: warm.mappings,
            last_library: warm.last_library,
            runs: 0,
            warm: key.warm.clone(),
            counting: None,
            map: None,
            early_output,
            early_missing,
            unclear: false,
            frozen_input: is_input_open.then(|| early_input.unwrap_or_default()),
            memory_bytes,
            idle: Idle::default(),
            binding: Binding::default(),
            is_to_move: false,
        })
    }

    /// What the sandbox lacks, and what runs do.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        [&self.launched.missing[..], &self.early_missing].concat()
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
    pub fn count(&mut self, subject: Arc<SubjectMap>) -> Result<()> {
        let roots = self.mappings.gcov_roots(&self.binary)?;
        let map = subject.with_atlas(|atlas| CounterMap::find(&self.memory, &roots, atlas))?;
        if map.arrays.is_empty() {
            let problem = "none of the program's objects is among them".to_owned();
            return Err(Error::NotesMismatch { problem });
        }
        self.write_no_data_files(&roots)?;
        let count = subject.with_atlas(|atlas| atlas.counter_count() as usize);
        self.counting = Some(Counting::new(map, count, &self.memory).during("read the zygote's counters")?);
        self.map = Some(subject);
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
            true => most_processes(request.limits.processes),
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
        let mut missing = Vec::new();
        let harvest = match request.skips_coverage {
            true => Err("nobody asked for it".to_owned()),
            false => self.harvest(&mut stage.notes, request.keep_counters, &mut missing, visit),
        };
        if let Some(memory) = stage.notes.memory.as_ref().filter(|_| !stage.notes.forked) {
            self.expect_alike(memory);
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
        let mut output = stage.output(request.limits.output_bytes)?;
        self.take_data_files(&mut output.files, &mut missing);
        let [early_stdout, early_stderr] = &self.early_output;
        Ok(Run {
            outcome: verdict.unwrap_or_else(|| outcome(&ended, request.limits.cpu_s)),
            stdout: [early_stdout.clone(), output.stdout].concat(),
            stderr: [early_stderr.clone(), output.stderr].concat(),
            forked: stage.notes.forked,
            files: output.files,
            missing,
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
                let pause = (now.elapsed() * LOOK_PAUSE).clamp(LOOK_INTERVAL, LOOK_INTERVAL_MOST);
                next_look = Instant::now() + pause;
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
        let usage = self.launched.process.map(|zygote| Usage::new(zygote, stage.notes.kept()));
        if usage.is_some_and(|usage| usage.is_above(request.limits.memory_bytes)) {
            return Some(Outcome::OutOfMemory);
        }
        stage.is_above(request.limits.output_bytes).then_some(Outcome::OutputLimit)
    }

    /// Reads the counters of a run that has ended, and of the processes it made of itself. What could not be counted is added
    /// to `missing`.
    fn harvest(
        &mut self,
        notes: &mut Notes,
        keep: bool,
        missing: &mut Vec<String>,
        visit: Visit<'_>,
    ) -> std::result::Result<Harvest, String> {
        const NO_COUNTERS: &str = "the subject is not instrumented";
        if self.counting.is_none() {
            return Err(NO_COUNTERS.to_owned());
        }
        // Without other processes its keeper is the zygote's only child.
        let inside = self.launched.process.filter(|_| notes.forked).map(processes_inside).unwrap_or_default();
        let find = |keeper: u32| inside.get(&keeper).copied().map(Pid::from_raw);
        let keeper = match notes.forked {
            true => notes.keeper.and_then(find),
            false => self.launched.process.and_then(only_child),
        };
        let memory = notes.memory.as_mut().ok_or("the run did not hand over its memory")?;
        if let Some(keeper) = keeper {
            memory.set_process(keeper);
        }
        let gone = |error: std::io::Error| {
            format!(
                "the run's memory is gone ({error}): it, or the machine, killed the process that keeps it"
            )
        };
        if self.was_reset(memory).map_err(gone)? {
            missing.push("what the run executed before it set its counters back to zero".to_owned());
        }
        let mut additions = Additions::default();
        self.add_libraries(memory, keeper, &mut additions, missing).map_err(gone)?;
        for keeper in notes.children.iter().map(|child| find(child.keeper)) {
            let added = keeper.map(|keeper| self.add_process(keeper, &mut additions, missing));
            notes.has_lost_children |= !matches!(added, Some(Ok(())));
        }
        if notes.has_lost_children || notes.forked && notes.children.is_empty() {
            missing
                .push("what some processes of the run executed: their memory could not be kept".to_owned());
        }
        if notes.executed {
            missing.push("what other programs executed that the run started".to_owned());
        }
        // Processes may have loaded the same.
        missing.dedup();
        let counting = self.counting.as_mut().ok_or(NO_COUNTERS)?;
        // Without an only child there are others that may have the run's memory.
        let all_pages = notes.forked || keeper.is_none();
        let helped = self.idle.is_there() && counting.is_large();
        counting.harvest(memory, How { keep, all_pages, helped }, additions, visit).map_err(gone)
    }

    /// Takes out the data files that gcov has written: for processes that the run made, and for libraries that it loaded. What
    /// they say has been read from memory, but for libraries that were unloaded.
    fn take_data_files(&self, files: &mut Vec<OutputFile>, missing: &mut Vec<String>) {
        let (Some(counting), Some(map)) = (&self.counting, &self.map) else { return };
        files.retain(|file| {
            let name = file.path.to_string_lossy();
            if !name.ends_with(DATA_EXTENSION) {
                return true;
            }
            let Some(object) = map.with_atlas(|atlas| object_of(atlas, &name)) else { return true };
            if !counting.functions().any(|function| map.function(function).0 == object as u32) {
                missing.push(format!("what {name} counts: its library was unloaded before the run ended"));
            }
            false
        });
    }

    /// Has a process begun to count anew? gcov sees to that after a fork. The mark that the zygote was given is then gone, or
    /// there is another one beside it: that the counters have really been written.
    fn was_reset(&self, memory: &Memory) -> std::io::Result<bool> {
        let roots = self.counting.as_ref().map_or(&[][..], |counting| &counting.map.roots);
        let marks = roots.iter().map(|root| memory.read_word(root + DUMPED_OFFSET));
        Ok(marks.collect::<std::io::Result<Vec<u64>>>()?.iter().any(|mark| mark & 3 != 1))
    }

    /// Adds what a process counted that the run made of itself.
    fn add_process(
        &self,
        keeper: Pid,
        additions: &mut Additions,
        missing: &mut Vec<String>,
    ) -> std::io::Result<()> {
        let memory = Memory::without_pages(File::open(format!("/proc/{keeper}/mem"))?);
        if !self.was_reset(&memory)? {
            // It has not come back from its fork: the counters are still those of the process that it was made of.
            return Ok(());
        }
        self.add_libraries(&memory, Some(keeper), additions, missing)?;
        self.counting.iter().try_for_each(|counting| counting.add_process(&memory, additions))
    }

    /// Adds what a process has in instrumented libraries that it loaded after the warm point.
    fn add_libraries(
        &self,
        memory: &Memory,
        keeper: Option<Pid>,
        additions: &mut Additions,
        missing: &mut Vec<String>,
    ) -> std::io::Result<()> {
        let (Some(counting), Some(map)) = (&self.counting, &self.map) else { return Ok(()) };
        if self.last_library == 0 || memory.read_word(self.last_library)? == 0 {
            return Ok(());
        }
        let late = || -> Result<CounterMap> {
            let maps = keeper.and_then(|keeper| fs::read_to_string(format!("/proc/{keeper}/maps")).ok());
            let maps = maps.ok_or_else(|| Error::Counters("what it has mapped is not known".to_owned()))?;
            let mut roots = Mappings::parse(&maps).gcov_roots(&self.binary).unwrap_or_default();
            roots.retain(|root| !counting.map.roots.contains(root));
            map.with_atlas(|atlas| CounterMap::find(memory, &roots, atlas))
        };
        match late() {
            Ok(late) => {
                missing.extend(late.without_notes.iter().map(|data| without_notes(data)));
                additions.read(memory, &late.arrays)
            }
            Err(error) => {
                missing.push(format!("what libraries executed that the run loaded: {error}"));
                Ok(())
            }
        }
    }

    /// Tells the zygote what a run has written, because the next ones will. What most runs write shows in the first few;
    /// looking at all of the memory takes a millisecond.
    fn expect_alike(&mut self, memory: &Memory) {
        self.runs += 1;
        if !self.runs.is_power_of_two() || !tells_own_pages() {
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
    /// What was done before: a bit for each.
    early: i32,
}

impl Warm {
    fn did(&self, bit: i32) -> bool {
        self.early & bit != 0
    }

    /// What runs lack because of it.
    fn missing(&self) -> Vec<String> {
        let told = [
            (
                EARLY_STDIN,
                "the runs' standard input: the subject has read it before its warm point; choose an earlier one",
            ),
            (
                EARLY_PID,
                "the runs' process numbers: the subject has asked for its own before its warm point, so all have one",
            ),
        ];
        told.iter().filter(|(bit, _)| self.did(*bit)).map(|(_, text)| (*text).to_owned()).collect()
    }
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
                    early: packet.head.value,
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

/// What is said of an object whose notes are not among the subject's.
pub(crate) fn without_notes(data: &str) -> String {
    format!("the notes of {data}: what it counts is left out; have them beside those of the subject")
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

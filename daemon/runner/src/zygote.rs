//! A subject's process at its warm point, and the runs forked from it.

use crate::areas::Areas;
use crate::cores::{Binding, Idle, Place};
use crate::error::{During, Error, Result};
use crate::launch::{Launched, Launcher, Order, SandboxPolicy};
use crate::library_point;
use crate::limits::{
    ANSWER_DEADLINE, CHILDREN_KEPT, LOOK_INTERVAL, LOOK_INTERVAL_MOST, LOOK_PAUSE, RESERVED_BYTES,
    WARM_DEADLINE, most_processes,
};
use crate::mappings::Mappings;
use crate::memory::{Memory, PAGE_BYTES, tells_own_pages};
use crate::observe::counted::{Counted, Images, Reading, children};
use crate::observe::counters::{CounterMap, DUMPED_OFFSET};
use crate::observe::harvest::{Counting, Visit};
use crate::packet::{self, Packet, Received};
use crate::program;
use crate::revision::Files;
use crate::run::{Outcome, Run, RunRequest, Times};
use crate::stage::Stage;
use crate::subject_map::SubjectMap;
use crate::usage::{Usage, resident_bytes};
use hearth_shim_abi::{
    Config, EARLY_INPUT, EARLY_PID, EARLY_PROCESSES, EARLY_STDIN, EVENT_CLEARED, EVENT_ENDED, EVENT_FORKED,
    EVENT_MISSED, EVENT_NO_HOOK, EVENT_NOT_FORKED, EVENT_THREADS, EVENT_WARM, EXPECTED_LIMIT, Event,
    PATH_LIMIT, REQUEST_CLEAR, REQUEST_EXPECT, REQUEST_KILL, REQUEST_MARK, Request, VERSION, WARM_INPUT,
    WARM_MAIN, WARM_SYMBOL,
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
    /// So many processes of a run are kept before those that have ended are let go.
    settles_at: usize,
    warm: WarmPoint,
    /// What is counted, if the subject is instrumented and its map was given.
    counted: Option<Counted>,
    /// What it wrote to standard output and standard error before the warm point: every run begins with it.
    early_output: [Vec<u8>; 2],
    /// What all runs lack because of what it did before the warm point.
    early_missing: Vec<String>,
    /// The program and the libraries it has loaded.
    programs: Files,
    /// Something of the run before may be left.
    unclear: bool,
    /// Where the input is.
    input: Option<PathBuf>,
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
        let mut launched = Launched::start(launcher, &order, key.sandbox)?;
        let config = config(key, program.function.unwrap_or(0), launched.areas.is_some())?;
        packet::send(&launched.control, &config, &[], &[]).during("configure the shim")?;
        // What a subject that opens its input before the warm point finds there.
        let early_input = key.input.as_ref().and_then(|input| fs::read(absolute(&key.directory, input)).ok());
        if let Some(name) = function.filter(|_| program.function.is_none()) {
            library_point::tell(&launched, key, &program, name)?;
        }
        let warm = wait_until_warm(&mut launched, &key.warm)?;
        let memory_bytes = launched.process.map_or(0, resident_bytes);
        let mut early_missing = warm.missing();
        let is_input_open = warm.did(EARLY_INPUT);
        let early_output = launched.early_output(&mut early_missing)?;
        if let Some(problem) = &launched.areas_problem {
            early_missing.push(format!(
                "files that all processes of a run see, and the counts of programs that it executes: there are no overlay \
                 mounts ({problem})"
            ));
        }
        if let Some(areas) = &mut launched.areas {
            let early = areas.remember_early().during("look for the subject's files")?;
            let all = areas.all();
            launched.refresh(all, early)?;
        }
        Ok(Self {
            launched,
            binary: key.binary.clone(),
            programs: Files::now(warm.mappings.programs()),
            memory: warm.memory,
            mappings: warm.mappings,
            last_library: warm.last_library,
            runs: 0,
            settles_at: CHILDREN_KEPT,
            warm: key.warm.clone(),
            counted: None,
            early_output,
            early_missing,
            unclear: false,
            input: key.input.as_ref().map(|input| absolute(&key.directory, input)),
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

    /// Are its program and its libraries still those that are there?
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.programs.are_the_same()
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
        self.counted.as_ref().map(|counted| &counted.counting)
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
        let counting = Counting::new(map, count, &self.memory).during("read the zygote's counters")?;
        self.counted = Some(Counted {
            binary: self.binary.clone(),
            last_library: self.last_library,
            counting,
            map: subject,
            images: Images::default(),
        });
        Ok(())
    }

    /// The next run's counters will be compared with those at the warm point.
    pub fn forget_last_run(&mut self) {
        if let Some(counted) = &mut self.counted {
            counted.counting.forget_last_run();
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
        self.have_fresh_areas()?;
        self.move_to_place();
        let mut stage = Stage::new(request, self.input.as_ref())?;
        let mut head = stage.head;
        head.processes = match self.launched.limits_processes_by_user {
            true => most_processes(request.limits.processes),
            false => 0,
        };
        head.counts = u32::from(self.counted.is_some() && !request.skips_coverage);
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
        self.settles_at = CHILDREN_KEPT;
        let (ended, verdict) = self.wait_for_end(&mut stage, request, &forked)?;
        let harvest_started = Instant::now();
        stage.take_notes()?;
        if let Some(areas) = &self.launched.areas {
            stage.look_for_files(areas)?;
        }
        let verdict = verdict.or(stage.is_above(request.limits.output_bytes).then_some(Outcome::OutputLimit));
        let mut missing = Vec::new();
        let inside =
            self.launched.inside().ok_or_else(|| Error::ZygoteLost("its process is not known".to_owned()))?;
        let harvest = match &mut self.counted {
            _ if request.skips_coverage => Err("nobody asked for it".to_owned()),
            None => Err("the subject is not instrumented".to_owned()),
            Some(counted) => {
                let (zygote, idle, keep) = (self.launched.process, &self.idle, request.keep_counters);
                let reading = Reading { zygote, inside: &inside, idle, keep };
                counted.harvest(&reading, &mut stage.notes, &mut missing, visit)
            }
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
        let mut output = stage.output(self.launched.areas.as_ref(), request.limits.output_bytes)?;
        missing.append(&mut stage.written.missing);
        missing.append(&mut output.missing);
        if let Some(counted) = &self.counted {
            counted.take_data_files(&mut output.files, &stage.written.files, &mut missing);
        }
        if let Some(areas) = &mut self.launched.areas {
            let used = areas.used(&stage.written);
            self.launched.refresh(used, Vec::new())?;
        }
        if let Some(error) = stage.notes.failed {
            let error = std::io::Error::from_raw_os_error(error);
            return Err(Error::System { what: "prepare a run", error });
        }
        let [early_stdout, early_stderr] = &self.early_output;
        Ok(Run {
            outcome: verdict.unwrap_or_else(|| outcome(&ended, request.limits.cpu_s)),
            stdout: [early_stdout.clone(), output.stdout].concat(),
            stderr: [early_stderr.clone(), output.stderr].concat(),
            forked: stage.notes.forked,
            files: output.files,
            missing,
            harvest,
            page_faults: ended.faults.saturating_sub(stage.notes.prepared_faults),
            peak_kib: ended.peak_kib,
            times,
        })
    }

    /// Waits until all areas are as on the machine.
    fn have_fresh_areas(&mut self) -> Result<()> {
        self.launched.finish_refreshing()?;
        let old = self.launched.areas.as_ref().map(Areas::old).unwrap_or_default();
        self.launched.refresh(old, Vec::new())?;
        self.launched.finish_refreshing()
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
            self.settle(stage)?;
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

    /// Lets go of processes of a run that have ended, if they are many.
    fn settle(&mut self, stage: &mut Stage) -> Result<()> {
        if let (Some(counted), Some(inside)) = (&mut self.counted, self.launched.inside())
            && (stage.notes.unsettled() >= self.settles_at || stage.notes.is_crowded)
        {
            stage.notes.is_crowded = false;
            let ended = stage.notes.ended(&inside);
            // What they have said before they ended: a socket holds fewer notes than are read at once.
            stage.take_notes()?;
            counted.settle(&ended, &inside, &mut stage.notes);
            // Those that go on are not looked at again for each one that comes.
            self.settles_at = stage.notes.unsettled() + CHILDREN_KEPT;
        }
        Ok(())
    }

    /// The outcome of a run that has used more than it may.
    fn look_at_limits(&self, stage: &mut Stage, request: &RunRequest) -> Option<Outcome> {
        let usage = self.launched.process.map(|zygote| Usage::new(zygote, stage.notes.kept()));
        let in_areas = self.launched.areas.as_ref().map_or(0, Areas::bytes);
        let memory = request.limits.memory_bytes.saturating_sub(in_areas);
        if usage.is_some_and(|usage| usage.is_above(memory)) {
            return Some(Outcome::OutOfMemory);
        }
        // What lies in areas takes at least as much as its length, but for holes. It is looked at closely only if it is much.
        if let Some(areas) = self.launched.areas.as_ref().filter(|_| in_areas > request.limits.output_bytes) {
            stage.look_for_files(areas).ok()?;
        }
        stage.is_above(request.limits.output_bytes).then_some(Outcome::OutputLimit)
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

fn config(key: &ZygoteKey, symbol: u64, has_areas: bool) -> Result<Config> {
    let mut config: Config = bytemuck::Zeroable::zeroed();
    config.version = VERSION;
    config.warm = match key.warm {
        WarmPoint::Main => WARM_MAIN,
        WarmPoint::Input => WARM_INPUT,
        WarmPoint::Symbol(_) => WARM_SYMBOL,
    };
    config.symbol = symbol;
    config.has_areas = u32::from(has_areas);
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

pub(crate) fn receive_event(control: &OwnedFd, deadline: Instant) -> Result<Option<Packet<Event>>> {
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
                EARLY_PROCESSES,
                "what processes executed that the subject started before its warm point; choose an earlier one",
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

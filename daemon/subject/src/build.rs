//! Building a built-in subject: download, extract, configure, compile, check, prune, record.
//!
//! Everything happens in the subject's final directory, because the program and its notes hold absolute paths. Each
//! finished step leaves a stamp there, so an interrupted build continues where it stopped.

use std::fs;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use crate::download::{self, Wanted};
use crate::error::{AtPath, Error, Result};
use crate::manifest::Level;
use crate::name::SubjectId;
use crate::progress::{BuildStage, Progress};
use crate::recipes::{Recipe, Variant};
use crate::store::{Store, Subject};

mod clock;
pub(crate) mod command;
mod counting;
mod extract;
pub(crate) mod failure;
mod finish;
pub(crate) mod lock;
mod preflight;
mod prune;
mod resume;
mod system;

use clock::Clock;
use counting::StepCounter;
use lock::Lock;
use resume::Step;

pub use system::{BuildSystem, ConfigureMake, Invocation};

/// No machine we know compiles this long; a build that does hangs.
const COMPILE_LIMIT: Duration = Duration::from_secs(12 * 3600);
/// Extracting and configuring take seconds; this is for slow disks.
const STEP_LIMIT: Duration = Duration::from_secs(3600);

/// A subject, and whether it had to be built.
#[derive(Debug)]
pub struct Built {
    /// The subject.
    pub subject: Subject,
    /// False if it existed already, or another process built it meanwhile.
    pub fresh: bool,
}

/// Builds a subject, or returns it at once if it exists. Waits if another process is building it.
///
/// A failed build leaves nothing but its log, which the error names. An interrupted one is resumed by the next call.
pub fn build(
    store: &Store,
    recipe: &dyn Recipe,
    level: Level,
    jobs: NonZero<usize>,
    progress: &mut dyn Progress,
) -> Result<Built> {
    let id = SubjectId::built(recipe, level);
    if let Some(subject) = store.load(&id)? {
        return Ok(Built { subject, fresh: false });
    }
    progress.stage(BuildStage::Checking, Duration::from_secs(1));
    let directory = store.directory(&id);
    let system = recipe.build_system(&Variant { level, directory: &directory });
    preflight::check_tools(recipe, &*system)?;
    let _lock = Lock::acquire(store, &id, progress)?;
    if let Some(subject) = store.load(&id)? {
        return Ok(Built { subject, fresh: false });
    }
    preflight::check_disk(store, recipe, level)?;
    fs::create_dir_all(&directory).at("create", &directory)?;
    let log = directory.join("build.log");
    let clock = Clock::resume(&directory);
    let mut site = Site {
        store,
        recipe,
        level,
        system,
        id,
        directory,
        log,
        jobs,
        clock,
        stage: BuildStage::Checking,
        progress,
    };
    match site.build() {
        Ok(subject) => Ok(Built { subject, fresh: true }),
        Err(error) => Err(failure::conclude(store, &site.id, site.stage, error)),
    }
}

/// One build in progress: what is built, where, and whom to tell.
struct Site<'a> {
    store: &'a Store,
    recipe: &'a dyn Recipe,
    level: Level,
    system: Box<dyn BuildSystem>,
    id: SubjectId,
    directory: PathBuf,
    log: PathBuf,
    jobs: NonZero<usize>,
    clock: Clock,
    stage: BuildStage,
    progress: &'a mut dyn Progress,
}

impl Site<'_> {
    fn build(&mut self) -> Result<Subject> {
        let package = self.download()?;
        self.extract()?;
        let resumed = Step::Configured.finished(&self.directory).is_some();
        let compiled = self.configure().and_then(|()| self.compile());
        match compiled {
            // An interruption can also damage what has no object's name; start over before giving up.
            Err(Error::Command { signal: None, .. }) if resumed => {
                self.progress.note("the interrupted build cannot be continued; compiling from the start");
                Step::Configured.forget(&self.directory)?;
                self.configure()?;
                self.compile()?;
            }
            other => other?,
        }
        self.enter(BuildStage::Finishing, Duration::from_secs(3));
        finish::finish(self, package)
    }

    /// Returns the package file's name and digest.
    fn download(&mut self) -> Result<finish::Package> {
        if let Some(package) =
            Step::Downloaded.finished(&self.directory).and_then(|note| finish::Package::parse(&note))
        {
            return Ok(package);
        }
        self.enter(BuildStage::Downloading, Duration::from_secs(15));
        let (progress, clock) = (&mut *self.progress, &mut self.clock);
        let tick = &mut || {
            clock.tick();
            progress.advance(0, 0);
        };
        let kept_log = self.store.log_path(&self.id);
        let wanted = Wanted::source_of(self.recipe);
        let path = download::fetch(self.store, wanted, &self.log, &kept_log, tick)?;
        let package = finish::Package::of(path)?;
        Step::Downloaded.record(&self.directory, &package.to_note())?;
        Ok(package)
    }

    fn extract(&mut self) -> Result<()> {
        if Step::Extracted.finished(&self.directory).is_some() {
            return Ok(());
        }
        self.enter(BuildStage::Extracting, Duration::from_secs(15));
        extract::extract(self)?;
        Step::Extracted.record(&self.directory, "")
    }

    fn configure(&mut self) -> Result<()> {
        if Step::Configured.finished(&self.directory).is_some() {
            return Ok(());
        }
        self.enter(BuildStage::Configuring, Duration::from_secs(3));
        let build = self.directory.join("build");
        crate::tree::remove(&build)?;
        fs::create_dir_all(&build).at("create", &build)?;
        let mut command = self.system.configure().command();
        self.run(command.current_dir(&build), STEP_LIMIT)?;
        Step::Configured.record(&self.directory, "")
    }

    fn compile(&mut self) -> Result<()> {
        if Step::Built.finished(&self.directory).is_some() {
            return Ok(());
        }
        let build = self.directory.join("build");
        let present = resume::delete_suspects(&build, &*self.system)?;
        let cost = self.recipe.cost(self.level);
        let total = cost.compile_steps;
        let left = total.saturating_sub(present);
        // A machine whose processors are busy or few takes longer whatever the number of jobs.
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get).min(self.jobs.get());
        let seconds = cost.compile_seconds * left / total / processors as u64;
        self.enter(BuildStage::Compiling, Duration::from_secs(seconds.max(1)));
        let mut command = self.system.compile(self.jobs).command();
        command.current_dir(&build);
        // Instrumented programs run during the build; their counters are of no use to anyone.
        let discarded = self.directory.join("discarded");
        command.env("GCOV_PREFIX", &discarded);
        let mut counter = StepCounter::starting_at(present, &*self.system);
        let (progress, clock) = (&mut *self.progress, &mut self.clock);
        command::run(&mut command, &self.log, COMPILE_LIMIT, &mut |output| {
            counter.feed(output);
            clock.tick();
            progress.advance(counter.count().min(total), total);
        })?;
        crate::tree::remove(&discarded)?;
        Step::Built.record(&self.directory, &counter.count().to_string())
    }

    fn enter(&mut self, stage: BuildStage, expected: Duration) {
        self.stage = stage;
        self.progress.stage(stage, expected);
    }

    /// Runs a command of a stage that has no steps to count.
    fn run(&mut self, command: &mut std::process::Command, limit: Duration) -> Result<()> {
        let (progress, clock) = (&mut *self.progress, &mut self.clock);
        command::run(command, &self.log, limit, &mut |_| {
            clock.tick();
            progress.advance(0, 0);
        })
    }
}

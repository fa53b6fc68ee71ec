//! What a run counted: its own counters, those of the processes that it made of itself, of libraries that it loaded, and of
//! programs that it executed. All are added up, as gcov's merging would; what cannot be had is named.

use crate::error::{Error, Result};
use crate::inside::{Inside, Process};
use crate::limits::{IMAGES, NOTES_NAMED};
use crate::mappings::Mappings;
use crate::memory::Memory;
use crate::observe::counters::{CounterMap, DUMPED_OFFSET, object_of};
use crate::observe::harvest::{Additions, Counting, Harvest, How, Layout, Visit};
use crate::run::OutputFile;
use crate::stage::{ChildKind, RunNotes};
use crate::subject_map::SubjectMap;
use crate::usage::processes_inside;
use crate::zygote::Remains;
use hearth_coverage::name_text;
use hearth_sandbox::areas::WrittenFile;
use nix::unistd::Pid;
use rustc_hash::FxHashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What gcov marks its roots with: the counters need not be written any more; they have been written once.
const DUMPED: u64 = 1;
const WRITTEN: u64 = 2;
/// How the names of gcov's data files end.
const DATA_EXTENSION: &str = ".gcda";

/// What is said of processes that call `__gcov_reset`.
const BEFORE_RESET: &str = "what processes of the run executed before they set their counters back to zero (leave __gcov_reset out for Hearth)";

/// What is said of processes of which nothing, or not all, is known.
const UNHEARD_OF: &str = "what some processes of the run executed: their memory could not be kept (they were too many, made by other calls than fork, \
     or the run had closed descriptor 700, by which Hearth hears of them)";

/// What is counted of a zygote's runs.
#[derive(Debug)]
pub struct Counted {
    /// The zygote's program.
    pub binary: PathBuf,
    /// A word that is no longer zero once a run has loaded libraries; 0 if there is none.
    pub last_library: u64,
    /// One that is no longer zero once a process could not tell the daemon something.
    pub untold: u64,
    /// Its counters.
    pub counting: Counting,
    /// It has gcov's own fork.
    pub has_fork: bool,
    /// The subject's map.
    pub map: Arc<SubjectMap>,
    /// Programs that runs have executed, by what they map.
    pub images: Images,
}

/// Programs that runs have executed, by what they map: it is the same whenever the same program is executed.
pub type Images = FxHashMap<Vec<(String, u64, u64)>, Arc<Image>>;

/// A program that runs have executed.
#[derive(Debug, Default)]
pub struct Image {
    /// Where its counters are; `None` if it has none, or none that are known.
    layout: Option<Layout>,
    /// Where gcov's roots are.
    roots: Vec<u64>,
    /// It has gcov's own fork.
    has_fork: bool,
    /// What of it cannot be counted.
    missing: Vec<String>,
}

impl Counted {
    /// Reads the counters of a run that has ended, and of all its processes. What could not be counted is added to `missing`.
    ///
    /// # Errors
    /// Why the run itself has none.
    pub fn harvest(
        &mut self,
        remains: &mut Remains<'_>,
        keep: bool,
        missing: &mut Vec<String>,
        visit: Visit<'_>,
    ) -> std::result::Result<Harvest, String> {
        let Remains { zygote, inside, has_idle_core, notes } = remains;
        // Without other processes its keeper is the zygote's only child.
        let has_others =
            notes.forked || notes.executed > 0 || !notes.children.is_empty() || !notes.copies.is_empty();
        let below = zygote.filter(|_| has_others).map(processes_inside).unwrap_or_default();
        let keeper = match has_others {
            true => notes.keeper.and_then(|keeper| below.get(&keeper).copied()).map(Pid::from_raw),
            false => zygote.and_then(only_child),
        };
        let mut memory = notes.memory.take().ok_or("the run did not hand over its memory")?;
        if let Some(keeper) = keeper {
            memory.set_process(keeper);
        }
        let gone = |error: io::Error| {
            format!(
                "the run's memory is gone ({error}): it, or the machine, killed the process that keeps it"
            )
        };
        let mut additions = Additions::default();
        let mut own = Additions::default();
        if !notes.copies.is_empty() {
            self.counting.add_process(&memory, &mut own).map_err(gone)?;
        }
        let copies = self.copied(notes.keeper, own, notes, inside, missing);
        if self.was_reset(&memory).map_err(gone)? && copies.is_empty() {
            missing.push(
                "what the run executed before it set its counters back to zero (leave __gcov_reset out for Hearth)"
                    .to_owned(),
            );
        }
        additions.merge(copies);
        notes.has_lost_children |= memory.read_word(self.untold).map_err(gone)? != 0;
        let maps = || fs::read_to_string(format!("/proc/{}/maps", keeper?)).ok();
        self.add_libraries(&memory, &maps, &mut additions, missing).map_err(gone)?;
        for index in 0..notes.children.len() {
            self.add_child(index, notes, inside, &mut additions, missing);
        }
        additions.merge(std::mem::take(&mut notes.settled));
        missing.append(&mut notes.settled_missing);
        missing.extend(unheard_of(notes));
        missing.extend(notes.unloaded.iter().map(|path| {
            format!("what {} counts: its library was unloaded before its process ended", path.display())
        }));
        // Processes may have loaded the same.
        missing.sort();
        missing.dedup();
        // Without an only child there are others that may have the run's memory.
        let all_pages = notes.forked || keeper.is_none();
        let helped = *has_idle_core && self.counting.is_large();
        let how = How { keep, all_pages, helped };
        let harvest = self.counting.harvest(&memory, how, additions, visit).map_err(gone);
        notes.memory = Some(memory);
        harvest
    }

    /// While a run goes on: adds up what processes of it counted that have ended, and lets their memory go, so that a run can have
    /// any number of processes one after another. All that they have said must have been read.
    pub fn settle(&mut self, ended: &[usize], inside: &Inside<'_>, notes: &mut RunNotes) {
        let (mut settled, mut missing) =
            (std::mem::take(&mut notes.settled), std::mem::take(&mut notes.settled_missing));
        for &index in ended {
            let keeper = notes.children[index].keeper;
            self.add_child(index, notes, inside, &mut settled, &mut missing);
            notes.children[index].is_settled = true;
            let copies = notes.copies.iter().filter(|copy| copy.of == keeper).map(|copy| copy.keeper);
            copies.chain([keeper]).filter_map(|keeper| inside.find(keeper)).for_each(|keeper| keeper.kill());
        }
        missing.sort();
        missing.dedup();
        (notes.settled, notes.settled_missing) = (settled, missing);
    }

    /// Adds what a process of the run counted, if that has not been done.
    fn add_child(
        &mut self,
        index: usize,
        notes: &mut RunNotes,
        inside: &Inside<'_>,
        additions: &mut Additions,
        missing: &mut Vec<String>,
    ) {
        let child = &notes.children[index];
        if child.is_settled {
            return;
        }
        let (keeper, kind) = (child.keeper, child.kind);
        let mut counted = Additions::default();
        let added = inside.find(keeper).map(|process| self.add(kind, &process, &mut counted, missing));
        notes.has_lost_children |= !matches!(added, Some(Ok(_)));
        let has_copy = notes.copies.iter().any(|copy| copy.of == keeper);
        notes.has_reset |= matches!(added, Some(Ok(true))) && !has_copy;
        if !notes.copies.is_empty() {
            additions.merge(self.copied(Some(keeper), counted.clone(), notes, inside, missing));
        }
        additions.merge(counted);
    }

    /// What a process had counted whenever gcov set its counters back to zero, because a program could not be executed. The
    /// process has counted `last` since.
    fn copied(
        &mut self,
        kept_by: Option<u32>,
        last: Additions,
        notes: &mut RunNotes,
        inside: &Inside<'_>,
        missing: &mut Vec<String>,
    ) -> Additions {
        let mut all = Additions::default();
        let mut later = last;
        for index in (0..notes.copies.len()).rev().filter(|&index| Some(notes.copies[index].of) == kept_by) {
            let (keeper, kind) = (notes.copies[index].keeper, notes.copies[index].kind);
            let mut copy = Additions::default();
            let is_run = notes.keeper == kept_by;
            let read = inside.find(keeper).map(|process| match is_run {
                true => self.counting.add_process(&process.memory()?, &mut copy),
                false => self.add(kind, &process, &mut copy, missing).map(drop),
            });
            notes.has_lost_children |= !matches!(read, Some(Ok(())));
            // Who executes without gcov's knowing goes on counting.
            if !later.goes_on_from(&copy) {
                all.merge(copy.clone());
            }
            later = copy;
        }
        all
    }

    /// Adds what a process of the run counted. Says whether it had counted more, which gcov has written.
    fn add(
        &mut self,
        kind: ChildKind,
        process: &Process,
        additions: &mut Additions,
        missing: &mut Vec<String>,
    ) -> io::Result<bool> {
        match kind {
            ChildKind::Forked => self.add_process(process, additions, missing),
            ChildKind::Executed | ChildKind::OfExecuted => {
                self.add_executed(kind, process, additions, missing)
            }
        }
    }

    /// Takes out the data files that gcov has written: for processes that the run made, and for libraries that it loaded. What
    /// they say has been read from memory, but for libraries that were unloaded, and programs without the shim.
    pub fn take_data_files(
        &self,
        files: &mut Vec<OutputFile>,
        in_areas: &[WrittenFile],
        missing: &mut Vec<String>,
    ) {
        files.retain(|file| {
            let name = name_text::from_bytes(file.path.as_os_str().as_bytes());
            if !name.ends_with(DATA_EXTENSION) {
                return true;
            }
            let Some(object) = self.map.with_atlas(|atlas| object_of(atlas, &name)) else { return true };
            // With the shim no process leaves one in an area.
            let is_unwatched = in_areas.iter().any(|written| written.path == file.path);
            if is_unwatched || !self.counting.functions().any(|function| self.map.function(function).0 == object as u32) {
                let name = file.path.display();
                missing.push(format!(
                    "what {name} counts: its library was unloaded before the run ended, or its program could not be watched"
                ));
            }
            false
        });
    }

    /// Has a process begun to count anew? gcov sees to that after a fork. The mark that the zygote was given is then gone, or
    /// there is another one beside it: that the counters have really been written.
    fn was_reset(&self, memory: &Memory) -> io::Result<bool> {
        Ok(marks(&self.counting.map.roots, memory)?.iter().any(|&mark| mark != DUMPED))
    }

    /// Adds what a process counted that the run made of itself.
    fn add_process(
        &self,
        process: &Process,
        additions: &mut Additions,
        missing: &mut Vec<String>,
    ) -> io::Result<bool> {
        let memory = process.memory()?;
        if !self.was_reset(&memory)? {
            // If gcov knows of its fork it has not come back from it: the counters are still those of the process that it was
            // made of.
            if !self.has_fork {
                missing.push(unknown_fork(&self.binary));
            }
            return Ok(false);
        }
        self.add_libraries(&memory, &|| process.maps().ok(), additions, missing)?;
        self.counting.add_process(&memory, additions)?;
        if memory.read_word(self.untold)? != 0 {
            missing.push(UNHEARD_OF.to_owned());
        }
        is_anew(&self.counting.map.roots, &memory)
    }

    /// Adds what a program counted that the run executed.
    fn add_executed(
        &mut self,
        kind: ChildKind,
        process: &Process,
        additions: &mut Additions,
        missing: &mut Vec<String>,
    ) -> io::Result<bool> {
        let memory = process.memory()?;
        let mappings = Mappings::parse(&process.maps()?);
        let (program, file) = (process.program()?, process.program_file()?);
        // One that the run has made, or that is in memory, is another one the next time.
        let is_machines = is_same(&file, &program);
        let files = mappings.layout();
        let image = match self.images.get(&files).filter(|_| is_machines) {
            Some(image) => image.clone(),
            None => {
                let image = Arc::new(self.find_image(&program, &file, &mappings, &memory));
                if self.images.len() == IMAGES {
                    self.images.clear();
                }
                if is_machines {
                    self.images.insert(files, image.clone());
                }
                image
            }
        };
        missing.extend_from_slice(&image.missing);
        if kind == ChildKind::OfExecuted && !image.has_fork && image.layout.is_some() {
            missing.push(unknown_fork(&process.program()?));
            return Ok(false);
        }
        image.layout.iter().try_for_each(|layout| layout.add(&memory, additions))?;
        is_anew(&image.roots, &memory)
    }

    /// Looks for the counters of a program that is executed for the first time.
    fn find_image(&self, program: &Path, file: &File, mappings: &Mappings, memory: &Memory) -> Image {
        // A program that is not instrumented counts nothing.
        let Ok(roots) = mappings.gcov_roots_of(program, file) else { return Image::default() };
        match self.map.with_atlas(|atlas| CounterMap::find(memory, &roots.addresses, atlas)) {
            Ok(map) => {
                let missing = match map.without_notes.len() {
                    0..=NOTES_NAMED => map.without_notes.iter().map(|data| without_notes(data)).collect(),
                    count => vec![format!(
                        "the notes of {count} objects of {}, which the run executed: what they count is left out; \
                         add it to the subject (hearth subject add --with)",
                        program.display()
                    )],
                };
                Image {
                    layout: Some(Layout::new(map.arrays)),
                    roots: roots.addresses,
                    has_fork: roots.has_fork,
                    missing,
                }
            }
            Err(error) => {
                let missing =
                    vec![format!("what {} executed, which the run started: {error}", program.display())];
                Image { has_fork: roots.has_fork, missing, ..Image::default() }
            }
        }
    }

    /// Adds what a process has in instrumented libraries that it loaded after the warm point.
    fn add_libraries(
        &self,
        memory: &Memory,
        maps: &dyn Fn() -> Option<String>,
        additions: &mut Additions,
        missing: &mut Vec<String>,
    ) -> io::Result<()> {
        if self.last_library == 0 || memory.read_word(self.last_library)? == 0 {
            return Ok(());
        }
        let late = || -> Result<CounterMap> {
            let maps = maps().ok_or_else(|| Error::Counters("what it has mapped is not known".to_owned()))?;
            let mut roots = Mappings::parse(&maps).gcov_roots(&self.binary).unwrap_or_default().addresses;
            roots.retain(|root| !self.counting.map.roots.contains(root));
            self.map.with_atlas(|atlas| CounterMap::find(memory, &roots, atlas))
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
}

/// Is this the file that the daemon finds at a path? A run sees it through an overlay, in which it has another number.
fn is_same(file: &File, path: &Path) -> bool {
    let known = |data: fs::Metadata| (data.len(), data.mtime(), data.mtime_nsec());
    let there = fs::metadata(path).map(known).ok();
    there.is_some() && there == file.metadata().map(known).ok()
}

/// The marks of gcov's roots.
fn marks(roots: &[u64], memory: &Memory) -> io::Result<Vec<u64>> {
    roots.iter().map(|root| Ok(memory.read_word(root + DUMPED_OFFSET)? & (DUMPED | WRITTEN))).collect()
}

/// Has gcov written a process's counters, and has the process set them back to zero since?
fn is_anew(roots: &[u64], memory: &Memory) -> io::Result<bool> {
    Ok(marks(roots, memory)?.contains(&WRITTEN))
}

/// Processes and programs of which nothing is known.
fn unheard_of(notes: &RunNotes) -> Vec<String> {
    let mut missing = Vec::new();
    if notes.has_lost_children || notes.forked && notes.children.is_empty() {
        missing.push(UNHEARD_OF.to_owned());
    }
    if notes.has_reset {
        missing.push(BEFORE_RESET.to_owned());
    }
    let unheard = notes.executed - notes.arrived;
    if unheard > 0 {
        missing.push(format!(
            "what other programs executed that the run started: {unheard} of {} could not be watched, because they are \
             linked statically (link them dynamically), or were executed with the channel to the daemon closed",
            notes.executed
        ));
    }
    missing
}

/// What is said of processes that a program makes without gcov's knowing: their counters go on from those of the process that
/// they were made of, and what that had counted cannot be told any more.
fn unknown_fork(program: &Path) -> String {
    format!(
        "what processes executed that {} forked: gcov does not know of its forks, so that they count on (compile it with \
         -std=gnu11, gnu++17 or the like instead of c11 or c++17)",
        program.display()
    )
}

/// What is said of an object whose notes are not among the subject's.
pub(crate) fn without_notes(data: &str) -> String {
    format!("the notes of {data}: what it counts is left out; have them beside those of the subject")
}

/// The only child of a process with one thread. After a run, that is its keeper, unless the run left others.
fn only_child(process: i32) -> Option<Pid> {
    match children(process)[..] {
        [child] => Some(child),
        _ => None,
    }
}

/// The children of a process with one thread; none if it is gone.
pub(crate) fn children(process: i32) -> Vec<Pid> {
    let list = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    list.split_ascii_whitespace().filter_map(|child| child.parse().ok()).map(Pid::from_raw).collect()
}

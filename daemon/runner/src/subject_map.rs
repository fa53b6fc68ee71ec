//! A subject's atlas in use: opened once, its objects' maps made when first needed.

use crate::error::{Error, Result};
use crate::subject_places::SubjectPlaces;
use hearth_coverage::atlas::Atlas;
use hearth_coverage::gcov::ObjectMap;
use hearth_coverage::spectrum::{KnownBlocks, Learned, NumberedMap};
use hearth_subject::Subject;
use hearth_subject::atlas::AtlasFile;
use self_cell::self_cell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// An object's map and the line id of each of its slots.
type CheckedMap<'a> = std::result::Result<(ObjectMap<'a>, &'a [u32]), hearth_coverage::Error>;

/// The atlas, and the maps that were needed so far.
struct Tables<'a> {
    atlas: Atlas<'a>,
    /// The id of each object's first function.
    first_functions: Vec<u32>,
    maps: Vec<OnceLock<CheckedMap<'a>>>,
}

self_cell!(
    struct Opened {
        owner: AtlasFile,
        #[not_covariant]
        dependent: Tables,
    }
);

/// A subject's atlas in use.
pub struct SubjectMap {
    opened: Opened,
    places: OnceLock<std::result::Result<SubjectPlaces, String>>,
    /// Shared by all zygotes of the subject.
    known: KnownBlocks,
    /// What zygotes that are started begin with.
    learned: Mutex<Learned>,
    /// See [`is_unfit`](Self::is_unfit).
    unfit: AtomicBool,
}

/// What a zygote has learned is taken over when it is by this share more than is known.
const WORTH_LEARNING: f64 = 0.05;

impl SubjectMap {
    /// Opens a subject's atlas, building it first if need be.
    ///
    /// # Errors
    /// If the notes cannot be read, or the atlas cannot be written.
    pub fn open(subject: &Subject) -> Result<Self> {
        let file = AtlasFile::open_or_build(subject)?;
        let opened = Opened::try_new(file, |file| {
            let atlas = file.atlas()?;
            let maps = (0..atlas.object_count()).map(|_| OnceLock::new()).collect();
            let first = |object| atlas.object_ids(object).map_or(0, |ids| ids.functions.start);
            let first_functions = (0..atlas.object_count()).map(first).collect();
            Ok::<_, hearth_coverage::Error>(Tables { atlas, first_functions, maps })
        })?;
        let (line_count, function_count) = opened
            .with_dependent(|_, tables| (tables.atlas.lines().len(), tables.atlas.function_count() as usize));
        let known = KnownBlocks::new(line_count, function_count);
        let learned = Mutex::new(Learned::new(function_count));
        Ok(Self { opened, places: OnceLock::new(), known, learned, unfit: AtomicBool::new(false) })
    }

    /// The program, and the libraries that were built beside its notes.
    #[must_use]
    pub fn programs(&self) -> &[PathBuf] {
        self.opened.borrow_owner().programs()
    }

    /// Was it made from the notes and programs that are there now?
    #[must_use]
    pub fn is_of(&self, subject: &Subject) -> bool {
        self.opened.borrow_owner().is_of(subject)
    }

    /// Has a program turned out to be of another build?
    #[must_use]
    pub fn is_unfit(&self) -> bool {
        self.unfit.load(Ordering::Relaxed)
    }

    /// Takes note that a program is of another build.
    pub fn set_unfit(&self) {
        self.unfit.store(true, Ordering::Relaxed);
    }

    /// Calls a function with the atlas.
    pub fn with_atlas<T>(&self, body: impl FnOnce(&Atlas<'_>) -> T) -> T {
        self.opened.with_dependent(|_, tables| body(&tables.atlas))
    }

    /// Does ahead what would be done when first needed. What fails will fail again then, and be told.
    pub fn prepare(&self) {
        for object in 0..self.with_atlas(|atlas| atlas.object_count()) {
            let _ = self.with_object(object as u32, |_| Ok(()));
        }
        let _ = self.places();
    }

    /// What spectra of the subject had lately.
    #[must_use]
    pub fn known_blocks(&self) -> &KnownBlocks {
        &self.known
    }

    /// How the counts of its functions are found, as far as known.
    pub fn learned(&self) -> Learned {
        self.locked_learned().clone()
    }

    /// Takes over what a zygote has learned, if it is much more.
    pub fn learn(&self, learned: &Learned) {
        let mut known = self.locked_learned();
        if learned.count() as f64 > known.count() as f64 * (1.0 + WORTH_LEARNING) {
            *known = learned.clone();
        }
    }

    fn locked_learned(&self) -> MutexGuard<'_, Learned> {
        // It is replaced as a whole.
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where its lines and functions are, found when first asked for.
    ///
    /// # Errors
    /// If the atlas is damaged.
    pub fn places(&self) -> Result<&SubjectPlaces> {
        let places = self.places.get_or_init(|| SubjectPlaces::new(self).map_err(|error| error.to_string()));
        places.as_ref().map_err(|problem| Error::Counters(problem.clone()))
    }

    /// Is it known where its lines and functions are?
    #[must_use]
    pub fn has_places(&self) -> bool {
        self.places.get().is_some()
    }

    /// The object a function is of, and the function's number in it.
    #[must_use]
    pub fn function(&self, id: u32) -> (u32, usize) {
        self.opened.with_dependent(|_, tables| {
            let object = tables.first_functions.partition_point(|&first| first <= id).saturating_sub(1);
            (object as u32, (id - tables.first_functions[object]) as usize)
        })
    }

    /// Calls a function with an object's map and the ids of its lines and functions.
    ///
    /// # Errors
    /// If the atlas is damaged there, or what the function returns.
    pub fn with_object<T>(
        &self,
        object: u32,
        body: impl FnOnce(NumberedMap<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        self.opened.with_dependent(|_, tables| {
            let index = object as usize;
            let open = || Ok((tables.atlas.object(index)?, tables.atlas.object_lines(index)?));
            let (map, lines) = tables.maps[index].get_or_init(open).as_ref().map_err(Clone::clone)?;
            let first_function = tables.atlas.object_ids(index).map_or(0, |ids| ids.functions.start);
            body(NumberedMap { map, lines, first_function })
        })
    }
}

impl std::fmt::Debug for SubjectMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SubjectMap").finish_non_exhaustive()
    }
}

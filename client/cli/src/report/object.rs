//! Reads the two files of one object and computes its counts.

use super::find::Object;
use crate::source_path::path_of;
use hearth_coverage::gcov::{Counters, Data, Notes, ObjectCoverage, ObjectMap, Workspace};
use hearth_coverage::name_text;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A file that could not be used.
#[derive(Debug, Error)]
#[error("{}: {problem}", path.display())]
pub struct Failure {
    path: PathBuf,
    problem: Problem,
}

#[derive(Debug, Error)]
enum Problem {
    #[error(
        "no notes file; keep it beside the .gcda, or say with --notes where the build left its .gcno files"
    )]
    NoNotes,
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    #[error("{0}")]
    Unusable(hearth_coverage::Error),
}

/// Computes the counts of one object after the other.
pub struct Worker {
    workspace: Workspace,
    /// Branches will be shown.
    branches: bool,
    /// The files being read, kept to save allocations.
    notes: Vec<u8>,
    data: Vec<u8>,
}

impl Worker {
    /// A worker for reports with or without branches.
    pub fn new(branches: bool) -> Self {
        Self { workspace: Workspace::default(), branches, notes: Vec::new(), data: Vec::new() }
    }

    /// The map and the counts of an object.
    pub fn cover(&mut self, object: &Object) -> Result<(ObjectMap<'static>, ObjectCoverage), Failure> {
        let exists = |name: &str| path_of(name).exists();
        read(&object.notes, &mut self.notes)?;
        let notes = unusable(&object.notes, Notes::read(&self.notes))?;
        let data = if object.has_data {
            read(&object.data, &mut self.data)?;
            Some(unusable(&object.data, Data::read(&self.data))?)
        } else {
            None
        };
        let map = if self.branches {
            ObjectMap::new(&notes, &exists)
        } else {
            ObjectMap::for_run(&notes, &exists, data.as_ref())
        };
        let counters = match data {
            Some(data) => unusable(&object.data, Counters::from_data(&map, &data))?,
            None => Counters::zero(&map),
        };
        let coverage = ObjectCoverage::new(&map, &counters, &mut self.workspace);
        Ok((map, unusable(&object.notes, coverage)?))
    }
}

/// Makes the names of sources whole where the notes do not say in which directory the compiler ran: clang's do not,
/// and GCC's only since version 9. They are looked for from the directory of the notes upwards, then from here.
pub fn find_sources(map: &mut ObjectMap<'_>, notes: &Path) {
    if !map.cwd.is_empty() {
        return;
    }
    let notes = std::path::absolute(notes).unwrap_or_else(|_| notes.to_owned());
    let Some(beside) = notes.parent() else { return };
    let here = std::env::current_dir().ok();
    for source in &mut map.sources {
        let name = path_of(&source.name);
        if name.is_absolute() {
            continue;
        }
        let mut places = beside.ancestors().chain(here.as_deref());
        let place = places.find(|place| place.join(&name).is_file()).unwrap_or(beside);
        source.name = name_text::from_bytes(place.join(&name).as_os_str().as_bytes()).into_owned().into();
    }
}

fn read(path: &Path, bytes: &mut Vec<u8>) -> Result<(), Failure> {
    bytes.clear();
    let read = File::open(path).and_then(|mut file| file.read_to_end(bytes));
    read.map(|_| ()).map_err(|error| {
        let is_notes = path.extension().is_some_and(|extension| extension == "gcno");
        let missing_notes = is_notes && error.kind() == io::ErrorKind::NotFound;
        let problem = if missing_notes { Problem::NoNotes } else { Problem::Unreadable(error) };
        Failure { path: path.to_owned(), problem }
    })
}

fn unusable<T>(path: &Path, result: Result<T, hearth_coverage::Error>) -> Result<T, Failure> {
    result.map_err(|error| Failure { path: path.to_owned(), problem: Problem::Unusable(error) })
}

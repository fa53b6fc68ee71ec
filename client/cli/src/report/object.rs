//! Reads the two files of one object and computes its counts.

use super::find::Object;
use hearth_coverage::coverage::{Counters, Workspace};
use hearth_coverage::{Data, Notes, ObjectCoverage, ObjectMap};
use std::fs::File;
use std::io::{self, Read};
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
#[derive(Default)]
pub struct Worker {
    workspace: Workspace,
    /// The file being read, kept to save allocations.
    bytes: Vec<u8>,
}

impl Worker {
    /// The map and the counts of an object.
    pub fn cover(&mut self, object: &Object) -> Result<(ObjectMap<'static>, ObjectCoverage), Failure> {
        self.read(&object.notes)?;
        let map = unusable(&object.notes, Notes::read(&self.bytes))
            .map(|notes| ObjectMap::new(&notes, &|path| Path::new(path).exists()))?;
        let counters = if object.has_data {
            self.read(&object.data)?;
            let data = unusable(&object.data, Data::read(&self.bytes))?;
            unusable(&object.data, Counters::from_data(&map, &data))?
        } else {
            Counters::zero(&map)
        };
        let coverage = ObjectCoverage::new(&map, &counters, &mut self.workspace);
        Ok((map, unusable(&object.notes, coverage)?))
    }

    fn read(&mut self, path: &Path) -> Result<(), Failure> {
        self.bytes.clear();
        let read = File::open(path).and_then(|mut file| file.read_to_end(&mut self.bytes));
        read.map(|_| ()).map_err(|error| {
            let is_notes = path.extension().is_some_and(|extension| extension == "gcno");
            let missing_notes = is_notes && error.kind() == io::ErrorKind::NotFound;
            let problem = if missing_notes { Problem::NoNotes } else { Problem::Unreadable(error) };
            Failure { path: path.to_owned(), problem }
        })
    }
}

fn unusable<T>(path: &Path, result: Result<T, hearth_coverage::Error>) -> Result<T, Failure> {
    result.map_err(|error| Failure { path: path.to_owned(), problem: Problem::Unusable(error) })
}

//! Reads the two files of one object and computes its counts.

use super::find::Object;
use hearth_coverage::coverage::{Counters, Workspace};
use hearth_coverage::{Data, Notes, ObjectCoverage, ObjectMap};
use std::fs;
use std::io;
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

/// The map and the counts of an object.
pub fn cover(
    object: &Object,
    workspace: &mut Workspace,
) -> Result<(ObjectMap<'static>, ObjectCoverage), Failure> {
    let notes_bytes = read(&object.notes)?;
    let map = unusable(&object.notes, Notes::read(&notes_bytes))
        .map(|notes| ObjectMap::new(&notes, &|path| Path::new(path).exists()))?;
    let counters = if object.has_data {
        let data = unusable(&object.data, Data::read(&read(&object.data)?))?;
        unusable(&object.data, Counters::from_data(&map, &data))?
    } else {
        Counters::zero(&map)
    };
    let coverage = unusable(&object.notes, ObjectCoverage::new(&map, &counters, workspace))?;
    Ok((map, coverage))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| {
        let is_notes = path.extension().is_some_and(|extension| extension == "gcno");
        let missing_notes = is_notes && error.kind() == io::ErrorKind::NotFound;
        let problem = if missing_notes { Problem::NoNotes } else { Problem::Unreadable(error) };
        Failure { path: path.to_owned(), problem }
    })
}

fn unusable<T>(path: &Path, result: Result<T, hearth_coverage::Error>) -> Result<T, Failure> {
    result.map_err(|error| Failure { path: path.to_owned(), problem: Problem::Unusable(error) })
}

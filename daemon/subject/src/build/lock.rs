//! One lock per subject, so that two builds of it never share a directory.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::PathBuf;

use crate::error::{AtPath, Error, Result};
use crate::name::SubjectId;
use crate::progress::Progress;
use crate::store::Store;

/// A held lock; dropping it, or dying, releases it.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a subject, waiting for its holder to let go. The user is told whom the wait is for.
    pub(crate) fn acquire(store: &Store, id: &SubjectId, progress: &mut dyn Progress) -> Result<Lock> {
        match Lock::try_acquire(store, id) {
            Err(Error::Busy { pid, .. }) => {
                progress.note(&format!("another build of {id} is running (process {pid}); waiting for it"));
                Lock::wait(store, id.as_str())
            }
            other => other,
        }
    }

    /// Takes the lock of a subject, or says who holds it.
    pub(crate) fn try_acquire(store: &Store, id: &SubjectId) -> Result<Lock> {
        let (mut file, path) = open(store, id.as_str())?;
        match file.try_lock() {
            Ok(()) => sign(file, &path),
            Err(TryLockError::WouldBlock) => {
                Err(Error::Busy { id: id.to_string(), pid: signature(&mut file) })
            }
            Err(TryLockError::Error(error)) => Err(error).at("lock", &path),
        }
    }

    /// Takes a lock by name, waiting as long as it takes.
    pub(crate) fn wait(store: &Store, name: &str) -> Result<Lock> {
        let (file, path) = open(store, name)?;
        file.lock().at("lock", &path)?;
        sign(file, &path)
    }
}

/// The process that holds a subject's lock now, as written in the lock file.
pub(crate) fn holder(store: &Store, id: &SubjectId) -> Option<String> {
    // Reading must not create the file, and the probe lets go at once.
    let mut file = File::open(lock_path(store, id.as_str())).ok()?;
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)).then(|| signature(&mut file))
}

fn lock_path(store: &Store, name: &str) -> PathBuf {
    store.root().join("locks").join(format!("{name}.lock"))
}

fn open(store: &Store, name: &str) -> Result<(File, PathBuf)> {
    let path = lock_path(store, name);
    let directory = store.root().join("locks");
    fs::create_dir_all(&directory).at("create", &directory)?;
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    Ok((file.at("open", &path)?, path))
}

fn sign(mut file: File, path: &std::path::Path) -> Result<Lock> {
    file.set_len(0).at("write", path)?;
    file.rewind().at("write", path)?;
    // The lock is held whatever the file says, so a full disk must not fail here: the later check names it better.
    let _ = file.write_all(std::process::id().to_string().as_bytes());
    Ok(Lock { _file: file })
}

fn signature(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.take(32).read_to_string(&mut text);
    if read.is_err() || text.is_empty() { "unknown".into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_is_told_the_first() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::at(root.path().to_path_buf()).unwrap();
        let id = SubjectId::exact("mine").unwrap();
        assert_eq!(holder(&store, &id), None);
        let lock = Lock::try_acquire(&store, &id).unwrap();
        let this = std::process::id().to_string();
        assert!(matches!(Lock::try_acquire(&store, &id), Err(Error::Busy { pid, .. }) if pid == this));
        assert_eq!(holder(&store, &id), Some(this));
        drop(lock);
        assert_eq!(holder(&store, &id), None);
        Lock::try_acquire(&store, &id).unwrap();
    }
}

//! A subject's atlas in the cache: built from the notes when needed, mapped into memory when used.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hearth_coverage::atlas::{Atlas, NamedMap, encode};
use hearth_coverage::gcov::{Notes, ObjectMap, data_name};
use hearth_coverage::name_text;
use memmap2::Mmap;
use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3;

use crate::error::{AtPath, Error, Result};
use crate::mapped;
use crate::store::Subject;
use crate::tree;

/// An atlas, mapped into memory.
#[derive(Debug)]
pub struct AtlasFile {
    map: Mmap,
    fingerprint: u64,
    programs: Vec<PathBuf>,
}

impl AtlasFile {
    /// Opens the subject's atlas, building it first if there is none or the notes have changed since.
    ///
    /// # Errors
    /// If the notes cannot be read or the atlas cannot be written.
    pub fn open_or_build(subject: &Subject) -> Result<AtlasFile> {
        let (notes, programs) = files(subject)?;
        let fingerprint = fingerprint(subject, &notes, &programs)?;
        let file = AtlasFile::open(subject, fingerprint).or_else(|_| {
            build(subject, &notes, &programs, fingerprint)?;
            AtlasFile::open(subject, fingerprint)
        })?;
        Ok(AtlasFile { programs, ..file })
    }

    /// Was it made from the notes and programs that are there now?
    #[must_use]
    pub fn is_of(&self, subject: &Subject) -> bool {
        let now = files(subject).and_then(|(notes, programs)| fingerprint(subject, &notes, &programs));
        now.is_ok_and(|now| now == self.fingerprint)
    }

    /// Opens the subject's atlas if it was made from what `fingerprint` stands for.
    ///
    /// # Errors
    /// If there is none, or it is damaged or out of date.
    pub fn open(subject: &Subject, fingerprint: u64) -> Result<AtlasFile> {
        let path = subject.atlas_path();
        let file = File::open(&path).at("open", &path)?;
        let map = mapped::map_private_file(&file).at("map", &path)?;
        let unusable = |problem| Error::Atlas { path: path.clone(), problem };
        let found = Atlas::open(&map).map_err(unusable)?.fingerprint();
        if found != fingerprint {
            return Err(unusable(hearth_coverage::Error::Atlas { what: "the notes have changed since" }));
        }
        Ok(AtlasFile { map, fingerprint, programs: vec![subject.binary()] })
    }

    /// The atlas itself.
    ///
    /// # Errors
    /// If the file is damaged.
    pub fn atlas(&self) -> hearth_coverage::gcov::error::Result<Atlas<'_>> {
        Atlas::open(&self.map)
    }

    /// What the atlas was made from.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The program, and the libraries that were built beside its notes.
    #[must_use]
    pub fn programs(&self) -> &[PathBuf] {
        &self.programs
    }

    /// The bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }
}

/// All notes of the subject, relative to its first notes directory if they lie there, in order; and its programs with
/// the shared libraries that were built beside the notes.
fn files(subject: &Subject) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let first = subject.notes_directory();
    let (mut notes, mut libraries) = (Vec::new(), Vec::new());
    for directory in subject.notes_directories() {
        tree::for_each_file(&directory, &mut |entry| {
            let path = entry.path();
            if tree::has_extension(&path, "gcno") {
                notes.push(path.strip_prefix(&first).unwrap_or(&path).to_owned());
            } else if is_library(&path) {
                libraries.push(path);
            }
            Ok(())
        })?;
    }
    notes.sort();
    libraries.sort();
    let mut programs = subject.programs();
    programs.extend(libraries);
    Ok((notes, programs))
}

/// `libx.so`, `libx.so.1.2`.
fn is_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".so") || name.contains(".so.")
}

/// Changes whenever a program, a library or a file of its notes does.
fn fingerprint(subject: &Subject, notes: &[PathBuf], programs: &[PathBuf]) -> Result<u64> {
    let directory = subject.notes_directory();
    let mut hash = Xxh3::new();
    for path in notes.iter().map(|name| directory.join(name)).chain(programs.iter().cloned()) {
        let metadata = fs::metadata(&path).at("inspect", &path)?;
        // As the atlas has the names, so that it changes with the way they are spelled there.
        hash.update(name_text::from_bytes(path.as_os_str().as_bytes()).as_bytes());
        for number in
            [metadata.len(), metadata.mtime().cast_unsigned(), metadata.mtime_nsec().cast_unsigned()]
        {
            hash.update(&number.to_le_bytes());
        }
    }
    Ok(hash.digest())
}

fn build(subject: &Subject, notes: &[PathBuf], programs: &[PathBuf], fingerprint: u64) -> Result<()> {
    let directory = subject.notes_directory();
    let mut linked = Vec::new();
    for program in programs {
        linked.extend(linked_objects(program)?);
    }
    let by_key = by_key(&linked);
    let is_linked = |name: &&PathBuf| {
        let path = directory.join(name).with_extension("");
        let path = name_text::from_bytes(path.as_os_str().as_bytes());
        let mut texts = by_key.get(data_name::key(&path)).into_iter().flatten();
        texts.any(|text| data_name::agreement(text, &path).is_some())
    };
    let mut chosen: Vec<&PathBuf> = notes.iter().filter(is_linked).collect();
    if chosen.is_empty() {
        // The build was moved since: which notes are the program's cannot be told, so all are taken.
        chosen = notes.iter().collect();
    }
    let objects = chosen
        .par_iter()
        .map(|name| {
            let path = directory.join(name);
            let bytes = fs::read(&path).at("read", &path)?;
            let notes =
                Notes::read(&bytes).map_err(|problem| Error::Atlas { path: path.clone(), problem })?;
            let cwd = Path::new(OsStr::from_bytes(notes.cwd.unwrap_or_default()));
            let exists = |source: &str| cwd.join(OsStr::from_bytes(&name_text::to_bytes(source))).exists();
            let map = ObjectMap::new(&notes, &exists);
            Ok(NamedMap { name: name_text::from_bytes(name.as_os_str().as_bytes()).into_owned(), map })
        })
        .collect::<Result<Vec<_>>>()?;
    let path = subject.atlas_path();
    let bytes =
        encode(&objects, fingerprint).map_err(|problem| Error::Atlas { path: path.clone(), problem })?;
    write_whole(&path, &bytes)
}

/// The names by what they have in common with those of their objects.
fn by_key(names: &[Vec<u8>]) -> BTreeMap<String, Vec<Cow<'_, str>>> {
    let mut by_key: BTreeMap<String, Vec<Cow<'_, str>>> = BTreeMap::new();
    for name in names.iter().map(|name| name_text::from_bytes(name)) {
        by_key.entry(data_name::key(&name).to_owned()).or_default().push(name);
    }
    by_key
}

/// Text that ends in the name of a data file: the program spells out one for each object linked into it, but
/// what stands before a name need not end it.
fn linked_objects(binary: &Path) -> Result<Vec<Vec<u8>>> {
    let bytes = fs::read(binary).at("read", binary)?;
    let text_before = |end: usize| {
        let begin = memchr::memrchr(0, &bytes[..end]).map_or(0, |nul| nul + 1);
        bytes[begin..end + ".gcda".len()].to_vec()
    };
    Ok(memchr::memmem::find_iter(&bytes, b".gcda\0").map(text_before).collect())
}

/// Writes a file that appears only when it is complete.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let partial = path.with_extension(format!("partial-{}", std::process::id()));
    let written = File::create(&partial).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&partial, path)
    });
    if written.is_err() {
        // The write has failed already; that the rest of it stays is the smaller trouble.
        let _ = fs::remove_file(&partial);
    }
    written.at("write", path)
}

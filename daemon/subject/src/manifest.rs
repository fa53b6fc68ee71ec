//! A subject's manifest: what it is and how it came to be, as JSON beside it.

use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{AtPath, Error, Result};

/// The manifest format this version reads and writes.
pub const FORMAT: u32 = 1;

/// The manifest's file name inside a subject's directory.
pub(crate) const FILE_NAME: &str = "manifest.json";

/// How a subject was compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// `-O0 -g1`: every line keeps its own counter.
    Noopt,
    /// `-O2 -g1`: runs about three times faster, lines are merged.
    Opt,
    /// As `noopt`, without instrumentation: what a run costs without coverage.
    PlainNoopt,
    /// As `opt`, without instrumentation.
    PlainOpt,
}

impl Level {
    /// All levels, the default first.
    pub const ALL: [Level; 4] = [Level::Noopt, Level::Opt, Level::PlainNoopt, Level::PlainOpt];

    /// The level's name, as in ids and options.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Noopt => "noopt",
            Level::Opt => "opt",
            Level::PlainNoopt => "plain-noopt",
            Level::PlainOpt => "plain-opt",
        }
    }

    /// The compiler flags of the level, without the coverage ones.
    pub fn cflags(self) -> &'static str {
        if self.is_optimized() { "-O2 -g1" } else { "-O0 -g1" }
    }

    /// Is the subject compiled with optimization?
    pub fn is_optimized(self) -> bool {
        match self {
            Level::Opt | Level::PlainOpt => true,
            Level::Noopt | Level::PlainNoopt => false,
        }
    }

    /// Does the subject count what it executes?
    pub fn is_instrumented(self) -> bool {
        match self {
            Level::Noopt | Level::Opt => true,
            Level::PlainNoopt | Level::PlainOpt => false,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a subject came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Built by Hearth from a recipe; its files are in the store.
    Built,
    /// Registered by the user; its files are the user's.
    Added,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Built => "built",
            Kind::Added => "added",
        })
    }
}

/// A file and the SHA-256 of its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// The path, relative to the subject's directory for built subjects.
    pub path: PathBuf,
    /// The digest in lower-case hexadecimal.
    pub sha256: String,
}

/// Where the notes of a subject are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotesDirectories {
    /// The directory that holds them, at any depth.
    pub directory: PathBuf,
    /// Other directories that hold some, too, at any depth.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<PathBuf>,
    /// How many `.gcno` files they hold, including those of programs beside the subject's.
    pub count: u64,
}

/// How a built subject was configured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flags {
    /// The configure command.
    pub configure: String,
    /// The compiler flags, without what `--enable-coverage` adds.
    pub cflags: String,
}

/// What a subject is and how it came to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The manifest's format, [`FORMAT`].
    pub format: u32,
    /// The subject's name without its level: `gcc-11`.
    pub name: String,
    /// The level of a built subject.
    pub level: Option<Level>,
    /// Built by Hearth, or added by the user.
    pub kind: Kind,
    /// The version of the subject, where known.
    pub version: Option<String>,
    /// The compiler that compiled the subject, where known.
    pub compiler: Option<String>,
    /// How a built subject was configured.
    pub flags: Option<Flags>,
    /// The source package of a built subject: its file name and digest.
    pub source_package: Option<FileRecord>,
    /// The program.
    pub binary: FileRecord,
    /// Other instrumented programs, which the program executes: what they count is the subject's, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<FileRecord>,
    /// The notes.
    pub notes: NotesDirectories,
    /// The source tree, where known.
    pub source: Option<PathBuf>,
    /// Seconds spent on building, over all resumptions; 0 for added subjects.
    pub build_seconds: u64,
    /// When it was built or added, in seconds since 1970.
    pub built_at: u64,
}

impl Manifest {
    /// Reads the manifest of the subject in `directory`; `None` if there is none.
    pub(crate) fn load(directory: &Path) -> Result<Option<Manifest>> {
        let path = directory.join(FILE_NAME);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).at("read", &path),
        };
        parse(&text).map(Some).map_err(|reason| Error::BadManifest { path, reason })
    }

    /// Writes the manifest into `directory` so that it appears whole or not at all, even across a power cut.
    pub(crate) fn save(&self, directory: &Path) -> Result<()> {
        let path = directory.join(FILE_NAME);
        let temporary = directory.join(".manifest.json.new");
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|error| Error::BadManifest { path: path.clone(), reason: error.to_string() })?;
        text.push('\n');
        let mut file = File::create(&temporary).at("create", &temporary)?;
        file.write_all(text.as_bytes()).at("write", &temporary)?;
        file.sync_all().at("sync", &temporary)?;
        fs::rename(&temporary, &path).at("rename", &temporary)?;
        File::open(directory).and_then(|d| d.sync_all()).at("sync", directory)
    }
}

fn parse(text: &str) -> Result<Manifest, String> {
    // The format number is read first: a later format may lack fields of this one.
    #[derive(Deserialize)]
    struct Header {
        format: u32,
    }
    let header: Header = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if header.format != FORMAT {
        return Err(format!("it has format {}, this version reads format {FORMAT}", header.format));
    }
    serde_json::from_str(text).map_err(|error| error.to_string())
}

#[cfg(test)]
pub(crate) fn sample(name: &str, level: Option<Level>) -> Manifest {
    Manifest {
        format: FORMAT,
        name: name.into(),
        level,
        kind: if level.is_some() { Kind::Built } else { Kind::Added },
        version: Some("11.3.0".into()),
        compiler: Some("gcc 12".into()),
        flags: Some(Flags { configure: "../source/configure".into(), cflags: "-O0 -g1".into() }),
        source_package: Some(FileRecord { path: "p.deb".into(), sha256: "00".into() }),
        binary: FileRecord { path: "build/gcc/cc1".into(), sha256: "11".into() },
        with: Vec::new(),
        notes: NotesDirectories { directory: "build/gcc".into(), further: Vec::new(), count: 500 },
        source: Some("source".into()),
        build_seconds: 480,
        built_at: 1_700_000_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Manifest::load(directory.path()).unwrap().is_none());
        let manifest = sample("gcc-11", Some(Level::Noopt));
        manifest.save(directory.path()).unwrap();
        assert_eq!(Manifest::load(directory.path()).unwrap(), Some(manifest));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no temporary file may stay");
    }

    #[test]
    fn other_programs_and_notes_are_kept_and_may_be_absent() {
        let mut manifest = sample("mine", None);
        let without = serde_json::to_string(&manifest).unwrap();
        assert!(
            !without.contains("with") && !without.contains("further"),
            "as before there were any: {without}"
        );
        assert_eq!(parse(&without).unwrap(), manifest);
        manifest.with = vec![FileRecord { path: "/b/tool".into(), sha256: "22".into() }];
        manifest.notes.further = vec!["/b".into()];
        assert_eq!(parse(&serde_json::to_string(&manifest).unwrap()).unwrap(), manifest);
    }

    #[test]
    fn bad_manifests_are_named() {
        let table = [
            ("{\"format\": 2}", "it has format 2, this version reads format 1"),
            ("{\"format\": 1}", "missing field"),
            ("{", "EOF"),
        ];
        for (text, expected) in table {
            let reason = parse(text).unwrap_err();
            assert!(reason.contains(expected), "{text}: {reason}");
        }
    }

    /// What earlier versions have written: their subjects must load, and those built now look the same.
    const WRITTEN: &str = r#"{
  "format": 1,
  "name": "gcc-11",
  "level": "plain-noopt",
  "kind": "built",
  "version": "11.3.0",
  "compiler": "gcc 12",
  "flags": {
    "configure": "../source/configure",
    "cflags": "-O0 -g1"
  },
  "source_package": {
    "path": "p.deb",
    "sha256": "00"
  },
  "binary": {
    "path": "build/gcc/cc1",
    "sha256": "11"
  },
  "notes": {
    "directory": "build/gcc",
    "count": 500
  },
  "source": "source",
  "build_seconds": 480,
  "built_at": 1700000000
}
"#;

    #[test]
    fn manifests_are_the_same_byte_for_byte() {
        let directory = tempfile::tempdir().unwrap();
        let manifest = sample("gcc-11", Some(Level::PlainNoopt));
        assert_eq!(parse(WRITTEN).unwrap(), manifest);
        manifest.save(directory.path()).unwrap();
        assert_eq!(fs::read_to_string(directory.path().join(FILE_NAME)).unwrap(), WRITTEN);
    }
}

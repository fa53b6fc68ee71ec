//! What can go wrong with subjects. Each message carries the bad value and says what to do about it.

use std::io;
use std::path::PathBuf;

mod at_path;

pub(crate) use at_path::AtPath;

/// The result of an operation on subjects.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation on subjects failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An atlas, or notes that it is made from, cannot be used.
    #[error("{}: {problem}", path.display())]
    Atlas {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: hearth_coverage::Error,
    },
    /// None of the variables that locate the cache is set.
    #[error("no cache directory: set HEARTH_CACHE, XDG_CACHE_HOME or HOME to an absolute path")]
    NoCacheRoot,
    /// The cache path cannot be handed to make and configure.
    #[error(
        "the cache directory `{path}` must be absolute and free of white space and of the characters : $ \
         # \" ' \\ because make and configure cannot handle them; set HEARTH_CACHE to another directory"
    )]
    UnusableCacheRoot {
        /// The cache directory.
        path: PathBuf,
    },
    /// A name has characters that names may not have.
    #[error(
        "`{name}` cannot name a subject: use lower-case letters, digits, `.`, `_` and `-` (at most 64, \
         starting with a letter or a digit)"
    )]
    InvalidName {
        /// The name as given.
        name: String,
    },
    /// A name belongs to a built-in subject.
    #[error("`{name}` names a built-in subject: choose another name, or run `hearth subject build {name}`")]
    ReservedName {
        /// The name as given.
        name: String,
    },
    /// There is no recipe of that name.
    #[error(
        "there is no recipe for `{name}`: `hearth subject build` knows {known}; register a program of \
         your own with `hearth subject add`"
    )]
    UnknownRecipe {
        /// The name as given.
        name: String,
        /// The names of all recipes.
        known: String,
    },
    /// A name asks for one level and the option for another.
    #[error("`{name}` names level {named}, but --level says {asked}: leave one of them out")]
    LevelConflict {
        /// The name as given.
        name: String,
        /// The level inside the name.
        named: crate::Level,
        /// The level asked for beside it.
        asked: crate::Level,
    },
    /// A subject of that name is already registered.
    #[error("there is already a subject `{id}`: remove it first with `hearth subject remove {id}`")]
    AlreadyExists {
        /// The subject's id.
        id: String,
    },
    /// A path that cannot be written down.
    #[error("the path `{}` is no UTF-8 text, as the files of a subject need: rename it", path.display())]
    PathNotText {
        /// The path.
        path: PathBuf,
    },
    /// No subject has that name.
    #[error("there is no subject `{name}`; {hint}")]
    NotFound {
        /// The name as given.
        name: String,
        /// What exists, and how to make the one asked for.
        hint: String,
    },
    /// A subject's build was interrupted and never finished.
    #[error("the build of subject `{id}` is not finished: resume it with `{resume}`")]
    Incomplete {
        /// The subject's id.
        id: String,
        /// The command that resumes it.
        resume: String,
    },
    /// A build of the subject is running.
    #[error("subject `{id}` is in use by process {pid}: wait until it has finished, or stop it")]
    Busy {
        /// The subject's id.
        id: String,
        /// The process that holds the lock, as written in the lock file.
        pid: String,
    },
    /// A manifest is not what this version writes.
    #[error("the manifest `{path}` cannot be read ({reason}): remove the subject and make it again")]
    BadManifest {
        /// The manifest's path.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file is not an ELF executable.
    #[error(
        "`{path}` is not an ELF executable ({reason}): give the linked program, not a script, object file \
         or library"
    )]
    NotExecutable {
        /// The file's path.
        path: PathBuf,
        /// What it is instead.
        reason: String,
    },
    /// A program has no symbol table.
    #[error(
        "`{path}` is stripped: Hearth finds the counters through .symtab, so link without -s, do not \
         strip it, and compile with `gcc --coverage`"
    )]
    Stripped {
        /// The program's path.
        path: PathBuf,
    },
    /// A program has symbols, but none of gcov's.
    #[error(
        "`{path}` has no gcov instrumentation: compile and link every file with `gcc --coverage` (for \
         autotools: CFLAGS=--coverage CXXFLAGS=--coverage LDFLAGS=--coverage; Clang's --coverage keeps no \
         counter list and does not work)"
    )]
    NotInstrumented {
        /// The program's path.
        path: PathBuf,
    },
    /// A directory holds no notes.
    #[error(
        "`{directory}` contains no .gcno file: give the directory the program was compiled in (gcc \
         --coverage writes a .gcno beside each object file)"
    )]
    NoNotes {
        /// The directory as given.
        directory: PathBuf,
    },
    /// A path that must be a directory is not one.
    #[error("`{path}` is not a directory")]
    NotADirectory {
        /// The path as given.
        path: PathBuf,
    },
    /// Tools or headers a build needs are not installed.
    #[error(
        "building {name} needs {missing}, not found on this machine; install with:\n    apt-get install \
         {packages}"
    )]
    MissingTools {
        /// The recipe's name.
        name: String,
        /// The tools and headers, separated by commas.
        missing: String,
        /// The Debian packages that have them, separated by spaces.
        packages: String,
    },
    /// The disk has too little room to start.
    #[error(
        "building {id} needs {needed_mb} MB in `{path}`, where {available_mb} MB are free: free some \
         space, or set HEARTH_CACHE to a directory on a larger disk"
    )]
    DiskTooSmall {
        /// The subject's id.
        id: String,
        /// The cache directory.
        path: PathBuf,
        /// What the build needs at its peak.
        needed_mb: u64,
        /// What is free.
        available_mb: u64,
    },
    /// The disk ran full during a build.
    #[error(
        "the disk of `{path}` ran full while {stage} {id}: free some space, or set HEARTH_CACHE to a \
         directory on a larger disk; log: {log}"
    )]
    DiskFull {
        /// The subject's id.
        id: String,
        /// The cache directory.
        path: PathBuf,
        /// The stage, as in "compiling".
        stage: &'static str,
        /// Where the log was moved to.
        log: PathBuf,
    },
    /// A command of a build failed.
    #[error("{0}")]
    BuildFailed(Box<FailedBuild>),
    /// A command of a build was stopped by a signal.
    #[error("{stage} {id} was interrupted (signal {signal}): resume it with `{resume}`")]
    Interrupted {
        /// The subject's id.
        id: String,
        /// The stage, as in "compiling".
        stage: &'static str,
        /// The signal's number.
        signal: i32,
        /// The command that resumes it.
        resume: String,
    },
    /// A command could not be run to success; the builder turns this into [`Error::BuildFailed`].
    #[error("`{command}` {outcome}")]
    Command {
        /// The command, without its arguments.
        command: String,
        /// How it ended.
        outcome: String,
        /// The signal that ended it, if one did.
        signal: Option<i32>,
    },
    /// The machine's apt configuration names no usable package source.
    #[error(
        "apt on this machine lists no `main` component of release `{codename}`: set HEARTH_MIRROR to the \
         URL of a Debian archive that has it"
    )]
    NoPackageSource {
        /// The release's code name.
        codename: String,
    },
    /// The package archive could not be reached or has no such package.
    #[error(
        "cannot download {package}:\n{reason}\ncheck the network, or set HEARTH_MIRROR to the URL of a \
         Debian archive; log: {log}"
    )]
    Download {
        /// The package's name.
        package: String,
        /// The last error lines of apt, indented.
        reason: String,
        /// Where the log is.
        log: PathBuf,
    },
    /// The archive has another version than the recipe is for.
    #[error(
        "the package {package} on this machine's archive has version {found}, but the recipe is for \
         {wanted}: set HEARTH_MIRROR to a Debian 12 (bookworm) archive"
    )]
    WrongVersion {
        /// The package's name.
        package: String,
        /// The version the recipe is for.
        wanted: String,
        /// The version found.
        found: String,
    },
    /// A package does not contain what the recipe expects.
    #[error("the package file `{package}` holds no `{wanted}`: delete it to have it downloaded again")]
    BadPackage {
        /// The package file.
        package: PathBuf,
        /// The member expected.
        wanted: String,
    },
    /// A file operation failed.
    #[error("cannot {action} `{path}`: {cause}")]
    Io {
        /// The verb, as in "read".
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// What the system said. Not a `source`: the message has it already.
        cause: io::Error,
    },
}

/// A build whose command failed.
#[derive(Debug, thiserror::Error)]
#[error("{stage} {id} failed: `{command}` {outcome}\n{tail}\nlog: {log}")]
pub struct FailedBuild {
    /// The subject's id.
    pub id: String,
    /// The stage, as in "compiling".
    pub stage: &'static str,
    /// The command, without its arguments.
    pub command: String,
    /// How it ended.
    pub outcome: String,
    /// The last error lines of the log, indented.
    pub tail: String,
    /// Where the log was moved to.
    pub log: PathBuf,
}

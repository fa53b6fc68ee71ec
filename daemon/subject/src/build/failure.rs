//! Turning a failed build into one message, and leaving nothing behind but its log.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::error::{Error, FailedBuild};
use crate::name::SubjectId;
use crate::progress::BuildStage;
use crate::store::Store;
use crate::tree;

use super::preflight;

/// Below this the disk counts as full.
const FULL_MB: u64 = 8;
/// How much of the log's end is searched for errors.
const TAIL_BYTES: u64 = 256 * 1024;
/// How many lines the message shows.
const TAIL_LINES: usize = 8;
/// How much of each line it shows.
const LINE_LIMIT_CHARS: usize = 200;

/// Signals by which people and systems stop a build, rather than it failing by itself: HUP, INT, QUIT, KILL, TERM.
const STOPPING_SIGNALS: [i32; 5] = [1, 2, 3, 9, 15];

/// Cleans up after a failed build and words the error. An interrupted build is kept, to be resumed.
pub(super) fn conclude(store: &Store, id: &SubjectId, stage: BuildStage, error: Error) -> Error {
    let stage = stage.as_str();
    if let Error::Command { signal: Some(signal), .. } = error
        && STOPPING_SIGNALS.contains(&signal)
    {
        return Error::Interrupted { id: id.to_string(), stage, signal, resume: id.build_command() };
    }
    let directory = store.directory(id);
    let log = store.log_path(id);
    let text = read_end(&directory.join("build.log")).unwrap_or_default();
    let full = is_full(store, &text, &error);
    // The log moves within one file system, so this works on a full disk too.
    let _ = fs::create_dir_all(store.root().join("logs"));
    let _ = fs::rename(directory.join("build.log"), &log);
    if let Err(removal) = tree::remove(&directory) {
        return removal;
    }
    if full {
        return Error::DiskFull { id: id.to_string(), path: store.root().to_path_buf(), stage, log };
    }
    match error {
        Error::Command { command, outcome, .. } => {
            let (id, tail) = (id.to_string(), error_lines(&text));
            Error::BuildFailed(Box::new(FailedBuild { id, stage, command, outcome, tail, log }))
        }
        other => other,
    }
}

/// The last lines of a log that tell of errors, or its last lines if none does; indented.
pub(crate) fn error_lines(text: &str) -> String {
    const SIGNS: [&str; 9] = [
        "error:",
        "Error ",
        "*** ",
        "E: ",
        "W: Failed",
        "undefined reference",
        "No space left",
        "No such file",
        "Killed",
    ];
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut telling: Vec<&str> = Vec::new();
    for line in &lines {
        if SIGNS.iter().any(|sign| line.contains(sign)) && !telling.contains(line) {
            telling.push(line);
        }
    }
    let chosen = if telling.is_empty() { &lines } else { &telling };
    let shown = chosen.iter().skip(chosen.len().saturating_sub(TAIL_LINES)).map(|line| {
        let cut: String = line.chars().take(LINE_LIMIT_CHARS).collect();
        format!("    {cut}")
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// The end of a log, as text.
pub(crate) fn read_end(log: &Path) -> io::Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_full(store: &Store, log: &str, error: &Error) -> bool {
    let said = match error {
        Error::Io { cause, .. } => cause.kind() == io::ErrorKind::StorageFull,
        _ => log.contains("No space left on device"),
    };
    said || preflight::available_mb(store.root()).is_ok_and(|available| available < FULL_MB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_lines_go_before_last_lines() {
        let noise = "g++ -c x\n".repeat(30);
        let text = format!("{noise}x.c:1:2: error: no\nmake: *** [x.o] Error 1\n{noise}");
        assert_eq!(error_lines(&text), "    x.c:1:2: error: no\n    make: *** [x.o] Error 1");
        assert_eq!(error_lines("a\n\nb\n"), "    a\n    b");
        assert_eq!(error_lines(&noise).lines().count(), TAIL_LINES);
        assert_eq!(error_lines(&"é".repeat(500)).chars().count(), 4 + LINE_LIMIT_CHARS);
    }

    fn failed(error: Error) -> (tempfile::TempDir, Error) {
        let root = tempfile::tempdir().unwrap();
        let store = Store::at(root.path().to_path_buf()).unwrap();
        let id = SubjectId::exact("tcc-noopt").unwrap();
        fs::create_dir_all(store.directory(&id)).unwrap();
        fs::write(store.directory(&id).join("build.log"), "x.c: error: no\n").unwrap();
        let error = conclude(&store, &id, BuildStage::Compiling, error);
        (root, error)
    }

    fn command(signal: Option<i32>) -> Error {
        Error::Command { command: "make".into(), outcome: "ended".into(), signal }
    }

    #[test]
    fn a_failed_build_leaves_its_log_alone() {
        let (root, error) = failed(command(None));
        assert!(
            matches!(error, Error::BuildFailed(ref failed) if failed.tail.contains("error: no")),
            "{error}"
        );
        assert!(root.path().join("logs/tcc-noopt.log").is_file());
        assert!(!root.path().join("subjects/tcc-noopt").exists());
    }

    #[test]
    fn an_interrupted_build_is_kept() {
        let (root, error) = failed(command(Some(15)));
        assert!(matches!(error, Error::Interrupted { signal: 15, .. }), "{error}");
        assert!(root.path().join("subjects/tcc-noopt/build.log").is_file());
    }
}

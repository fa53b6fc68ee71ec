//! Compares `hearth report` with gcov on one tree of notes and data.

use crate::plain_run::data_files;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// What was compared, counted in gcov's own output.
#[derive(Debug, Default, Clone, Copy)]
pub struct Compared {
    pub documents: usize,
    pub lines: usize,
    pub lines_executed: usize,
    pub functions: usize,
    pub branches: usize,
}

impl Compared {
    pub fn add(&mut self, other: Compared) {
        self.documents += other.documents;
        self.lines += other.lines;
        self.lines_executed += other.lines_executed;
        self.functions += other.functions;
        self.branches += other.branches;
    }
}

impl std::fmt::Display for Compared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} lines ({} executed), {} functions, {} branches in {} objects",
            self.lines, self.lines_executed, self.functions, self.branches, self.documents
        )
    }
}

/// Runs gcov on all .gcda files below `tree` in one call, `hearth report` on the tree, and compares the two
/// documents of each object byte by byte. The first differences come back as an error.
pub fn compare(gcov: &str, hearth: &Path, tree: &Path) -> Result<Compared, String> {
    let data = data_files(tree).map_err(|error| format!("cannot list {}: {error}", tree.display()))?;
    assert!(!data.is_empty(), "no .gcda below {}", tree.display());
    // Both name each document after the path they were given.
    let data: Vec<_> = data.iter().map(|path| path.strip_prefix(tree).expect("it lies below")).collect();
    let expected = tree.join("expected.json");
    let actual = tree.join("actual.json");
    let run = |command: &mut Command, out: &Path| {
        let stdout = fs::File::create(out).map_err(|error| error.to_string())?;
        let output = command
            .current_dir(tree)
            .stdout(stdout)
            .stderr(Stdio::piped())
            .output()
            .map_err(|error| format!("cannot run {command:?}: {error}"))?;
        if !output.status.success() {
            return Err(format!(
                "{command:?}: {}\n{}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            ));
        }
        fs::read(out).map_err(|error| error.to_string())
    };
    let gcov_flags = ["--json-format", "--stdout"];
    let report_flags = ["report", "--gcda", ".", "--format", "gcov-json"];
    let compare_with = |gcov_branches: &[&str], branches: &[&str]| {
        let expected = run(Command::new(gcov).args(gcov_flags).args(gcov_branches).args(&data), &expected)?;
        let actual = run(Command::new(hearth).args(report_flags).args(branches), &actual)?;
        compare_documents(&expected, &actual)
    };
    // Without branches Hearth leaves out what never ran, so both ways are tried.
    compare_with(&[], &[])?;
    compare_with(&["--branch-probabilities"], &["--branches"])
}

fn compare_documents(expected: &[u8], actual: &[u8]) -> Result<Compared, String> {
    let documents =
        |bytes: &'_ [u8]| bytes.split_inclusive(|&b| b == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (expected, actual) = (documents(expected), documents(actual));
    if expected.len() != actual.len() {
        return Err(format!("gcov wrote {} documents, hearth {}", expected.len(), actual.len()));
    }
    let mut compared = Compared::default();
    for (theirs, ours) in expected.iter().zip(&actual) {
        if theirs != ours {
            return Err(first_difference(theirs, ours));
        }
        compared.documents += 1;
        compared.lines += count(theirs, b"\"line_number\": ");
        compared.lines_executed += count(theirs, b"], \"count\": ") - count(theirs, b"], \"count\": 0, ");
        compared.functions += count(theirs, b"\"execution_count\": ");
        compared.branches += count(theirs, b"\"throw\": ");
    }
    Ok(compared)
}

fn count(haystack: &[u8], needle: &[u8]) -> usize {
    memchr::memmem::find_iter(haystack, needle).count()
}

fn first_difference(theirs: &[u8], ours: &[u8]) -> String {
    let at = theirs.iter().zip(ours).take_while(|(a, b)| a == b).count();
    let around = |bytes: &[u8]| {
        let range = at.saturating_sub(300)..(at + 300).min(bytes.len());
        String::from_utf8_lossy(&bytes[range]).into_owned()
    };
    format!("they differ at byte {at}\n gcov: …{}…\n hearth: …{}…", around(theirs), around(ours))
}

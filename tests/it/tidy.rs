//! What every file of the project has to keep.

use crate::{project, run_ok};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The longest a source file may be, inline tests included.
const MAX_LINES: usize = 500;

fn tracked(extension: &str) -> Vec<PathBuf> {
    let listed =
        run_ok(Command::new("git").current_dir(project()).args(["ls-files", "-co", "--exclude-standard"]));
    let files: Vec<PathBuf> = listed
        .lines()
        .filter(|name| name.ends_with(extension))
        .map(|name| project().join(name))
        .filter(|path| path.exists())
        .collect();
    assert!(!files.is_empty(), "git lists no {extension} files");
    files
}

#[test]
fn rust_files_say_what_they_are_for_and_stay_short() {
    for path in tracked(".rs") {
        let text = fs::read_to_string(&path).expect("readable");
        assert!(text.starts_with("//! "), "{} does not begin with a //! header", path.display());
        let lines = text.lines().count();
        assert!(lines <= MAX_LINES, "{} has {lines} lines, more than {MAX_LINES}", path.display());
    }
}

#[test]
fn nothing_is_left_to_do_in_comments() {
    // Spelled so that this file does not find itself.
    let marks = [["TO", "DO"].concat(), ["FIX", "ME"].concat(), ["XX", "X:"].concat()];
    for path in tracked(".rs").into_iter().chain(tracked(".md")) {
        let text = fs::read_to_string(&path).expect("readable");
        for mark in &marks {
            assert!(!text.contains(mark.as_str()), "{} contains {mark}", path.display());
        }
    }
}

#[test]
fn the_map_is_short() {
    let map = fs::read_to_string(project().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let words = map.split_whitespace().count();
    assert!(words <= 1800, "ARCHITECTURE.md has {words} words, more than 1,800");
    let longest = map.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    assert!(longest <= 140, "ARCHITECTURE.md has a line of {longest} columns, more than 140");
}

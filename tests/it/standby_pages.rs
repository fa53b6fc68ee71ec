//! What a run costs that earlier ones have prepared: the pages that they wrote are copied before it begins.

use crate::{hearth, run, run_ok};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs a program several times and returns how many page faults each run had.
fn page_faults(directory: &Path, source: &str, warm: &str) -> Vec<u64> {
    fs::write(directory.join("small.c"), source).expect("written");
    run_ok(Command::new("gcc").current_dir(directory).args(["-w", "-O0", "-o", "small", "small.c"]));
    let order = format!("{{\"subject\": \"./small\", \"warm\": \"{warm}\"}}\n");
    fs::write(directory.join("orders"), order.repeat(6)).expect("written");
    let output = run(Command::new(hearth()).current_dir(directory).args(["exec", "--jobs", "1", "orders"]));
    let answers = String::from_utf8_lossy(&output.stdout).into_owned();
    let faults = |line: &str| {
        let answer: Value = serde_json::from_str(line).expect("an answer is JSON");
        assert_eq!(answer["outcome"]["exited"], 7, "{line}");
        answer["page_faults"].as_u64().unwrap_or_else(|| panic!("{line}"))
    };
    answers.lines().map(faults).collect()
}

#[test]
fn pages_that_runs_write_are_copied_ahead() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let source = "#include <string.h>\nchar pages[1000][4096];\n\
        int work(void) { for (int i = 0; i < 1000; i++) pages[i][7]++; return pages[999][7]; }\n\
        int main(void) { memset(pages, 6, sizeof pages); return work(); }\n";
    let faults = page_faults(scratch.path(), source, "symbol:work");
    assert!(faults[0] > 1000, "the first run has its pages copied one by one: {faults:?}");
    assert!(faults[5] < 200, "later ones find them: {faults:?}");
}

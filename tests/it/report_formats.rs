//! lcov, Cobertura and text against gcov's own numbers.

use crate::{hearth, project, run_ok};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Builds and runs two C++ programs that share headers, in one tree.
fn tree() -> TempDir {
    let tree = tempfile::tempdir().expect("a temporary directory");
    for program in ["templates", "exceptions"] {
        let source = project().join("tests/programs").join(program).with_extension("cc");
        fs::copy(source, tree.path().join(program).with_extension("cc")).expect("copied");
        let object = format!("{program}.o");
        let compile = ["-w", "--coverage", "-c", "-o", &object, &format!("{program}.cc")];
        run_ok(Command::new("g++-12").current_dir(&tree).args(compile));
        run_ok(Command::new("g++-12").current_dir(&tree).args(["--coverage", &object, "-o", program]));
        run_ok(Command::new(tree.path().join(program)).current_dir(&tree));
    }
    tree
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Totals {
    lines: BTreeMap<(String, u64), i64>,
    functions: BTreeMap<(String, String), i64>,
    branches: BTreeMap<(String, u64), Vec<i64>>,
}

/// Sums gcov's JSON by source, the way lcov's users expect it.
fn gcov_totals(tree: &Path) -> Totals {
    let data = ["exceptions.gcda", "templates.gcda"];
    let json = run_ok(Command::new("gcov-12").current_dir(tree).args(["-b", "-j", "-t"]).args(data));
    let mut totals = Totals::default();
    for document in json.lines().map(|line| serde_json::from_str::<Value>(line).expect("gcov writes JSON")) {
        let cwd = document["current_working_directory"].as_str().expect("a directory");
        for file in document["files"].as_array().expect("files") {
            let name = Path::new(cwd).join(file["file"].as_str().expect("a name"));
            let name = name.to_str().expect("text").to_owned();
            for function in file["functions"].as_array().expect("functions") {
                let key = (name.clone(), function["name"].as_str().expect("a name").to_owned());
                *totals.functions.entry(key).or_default() +=
                    function["execution_count"].as_i64().expect("a count");
            }
            for line in file["lines"].as_array().expect("lines") {
                let key = (name.clone(), line["line_number"].as_u64().expect("a number"));
                *totals.lines.entry(key.clone()).or_default() += line["count"].as_i64().expect("a count");
                let branches = line["branches"].as_array().expect("branches");
                if branches.is_empty() {
                    continue;
                }
                let sums = totals.branches.entry(key).or_default();
                sums.resize(sums.len().max(branches.len()), 0);
                for (sum, branch) in sums.iter_mut().zip(branches) {
                    *sum += branch["count"].as_i64().expect("a count");
                }
            }
        }
    }
    totals
}

/// Reads a tracefile back.
fn lcov_totals(info: &str) -> Totals {
    let mut totals = Totals::default();
    let mut source = String::new();
    for line in info.lines() {
        let (label, rest) = line.split_once(':').unwrap_or((line, ""));
        let number = |text: &str| text.parse::<i64>().expect("a number");
        match label {
            "SF" => rest.clone_into(&mut source),
            "DA" => {
                let (line, count) = rest.split_once(',').expect("a pair");
                totals.lines.insert((source.clone(), number(line) as u64), number(count));
            }
            "FNDA" => {
                let (count, name) = rest.split_once(',').expect("a pair");
                totals.functions.insert((source.clone(), name.to_owned()), number(count));
            }
            "BRDA" => {
                let fields: Vec<&str> = rest.split(',').collect();
                let taken = if fields[3] == "-" { 0 } else { number(fields[3]) };
                totals.branches.entry((source.clone(), number(fields[0]) as u64)).or_default().push(taken);
            }
            _ => {}
        }
    }
    totals
}

fn report(tree: &Path, arguments: &[&str]) -> String {
    run_ok(Command::new(hearth()).current_dir(tree).args(["report", "--gcda", "."]).args(arguments))
}

#[test]
fn lcov_sums_what_gcov_reports() {
    let tree = tree();
    let (expected, actual) = (gcov_totals(tree.path()), lcov_totals(&report(tree.path(), &["--branches"])));
    assert!(expected.lines.len() > 200 && expected.branches.len() > 50, "{}", expected.lines.len());
    assert_eq!(expected, actual);
}

#[test]
fn cobertura_says_what_lcov_says() {
    let tree = tree();
    let lcov = lcov_totals(&report(tree.path(), &["--branches"]));
    let xml = report(tree.path(), &["--branches", "--format", "cobertura"]);
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(&xml, options).expect("well-formed");
    let mut lines = BTreeMap::new();
    for class in document.descendants().filter(|node| node.has_tag_name("class")) {
        let name = format!("/{}", class.attribute("filename").expect("a name"));
        let own = class.children().find(|node| node.has_tag_name("lines")).expect("lines");
        for line in own.children().filter(|node| node.has_tag_name("line")) {
            let number = |name| line.attribute(name).expect("set").parse::<i64>().expect("a number");
            lines.insert((name.clone(), number("number") as u64), number("hits"));
        }
    }
    assert_eq!(lines, lcov.lines);
    let root = document.root_element();
    assert_eq!(root.attribute("lines-valid"), Some(lines.len().to_string().as_str()));
    let branches: usize = lcov.branches.values().map(Vec::len).sum();
    assert_eq!(root.attribute("branches-valid"), Some(branches.to_string().as_str()));
}

#[test]
fn throw_branches_can_be_left_out() {
    let tree = tree();
    let all = lcov_totals(&report(tree.path(), &["--branches"]));
    let fewer = lcov_totals(&report(tree.path(), &["--branches", "--no-throw-branches"]));
    let count = |totals: &Totals| totals.branches.values().map(Vec::len).sum::<usize>();
    assert!(count(&fewer) < count(&all) && count(&fewer) > 0);
    assert_eq!(fewer.lines, all.lines);
}

/// The annotated text of C programs equals gcov's, but for the head that names gcov's own files.
#[test]
fn text_equals_gcov() {
    for program in ["loops.c", "branches.c", "jumps.c", "records.c", "interpreter.c"] {
        let tree = tempfile::tempdir().expect("a temporary directory");
        fs::copy(project().join("tests/programs").join(program), tree.path().join(program)).expect("copied");
        run_ok(Command::new("gcc-12").current_dir(&tree).args([
            "-w",
            "--coverage",
            "-c",
            "-o",
            "x.o",
            program,
        ]));
        run_ok(Command::new("gcc-12").current_dir(&tree).args(["--coverage", "-o", "x", "x.o"]));
        run_ok(Command::new(tree.path().join("x")).current_dir(&tree));
        let gcov = run_ok(Command::new("gcov-12").current_dir(&tree).args(["-t", "x.gcda"]));
        let body = |text: &str| {
            let lines = text.lines().filter(|line| !line.contains(":    0:"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let ours = report(tree.path(), &["--format", "text"]);
        assert!(ours.starts_with("        -:    0:Source:/"), "{ours}");
        assert_eq!(body(&ours), body(&gcov), "{program}");
    }
}

#[test]
fn sources_can_be_chosen_and_idle_objects_included() {
    let tree = tree();
    let chosen = report(tree.path(), &["--source", "templates.cc"]);
    assert_eq!(chosen.matches("SF:").count(), 1, "{chosen}");
    fs::remove_file(tree.path().join("templates.gcda")).expect("removed");
    let without = report(tree.path(), &["--source", "templates.cc"]);
    assert_eq!(without.matches("SF:").count(), 0, "{without}");
    let idle = lcov_totals(&report(tree.path(), &["--all", "--source", "templates.cc"]));
    assert!(idle.lines.len() > 20 && idle.lines.values().all(|&count| count == 0), "{idle:?}");
}

#[test]
fn notes_may_lie_elsewhere() {
    let tree = tree();
    let expected = report(tree.path(), &[]);
    let data = tempfile::tempdir().expect("a temporary directory");
    let deep = data.path().join("some/prefix/of/the/build");
    fs::create_dir_all(&deep).expect("made");
    for name in ["templates.gcda", "exceptions.gcda"] {
        fs::rename(tree.path().join(name), deep.join(name)).expect("moved");
    }
    let arguments = ["report", "--gcda", &data.path().to_string_lossy(), "--notes", "."];
    assert_eq!(run_ok(Command::new(hearth()).current_dir(&tree).args(arguments)), expected);
}

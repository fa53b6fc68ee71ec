//! Names in reports: bytes that are no text, sources that the notes do not say the directory of, data files elsewhere.

use crate::{hearth, project, run, run_ok};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A directory in a spelling without links, which go when this is dropped.
fn scratch() -> (TempDir, PathBuf) {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let path = scratch.path().canonicalize().expect("it is there");
    (scratch, path)
}

fn report(directory: &Path, arguments: &[&OsStr]) -> Vec<u8> {
    let output = run(Command::new(hearth()).current_dir(directory).arg("report").args(arguments));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn words(text: &str) -> Vec<&OsStr> {
    text.split(' ').map(OsStr::new).collect()
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

#[test]
fn names_that_are_not_utf_8_stay_as_they_are() {
    let (_keep, directory) = scratch();
    let bad = OsString::from_vec(b"bad-\xff\xe9\x01".to_vec());
    fs::create_dir(directory.join(&bad)).expect("made");
    let source = Path::new(&bad).join("loops.c");
    fs::copy(project().join("tests/programs/loops.c"), directory.join(&source)).expect("copied");
    // Both the name of the source and the directory of the compiler.
    for (cwd, source) in
        [(directory.clone(), source.clone()), (directory.join(&bad), PathBuf::from("loops.c"))]
    {
        let gcc = |arguments: &[&OsStr]| {
            run_ok(Command::new("gcc-12").current_dir(&cwd).args(["-w", "--coverage"]).args(arguments));
        };
        gcc(&[OsStr::new("-c"), source.as_os_str(), OsStr::new("-o"), OsStr::new("x.o")]);
        gcc(&words("x.o -o x"));
        run_ok(Command::new(cwd.join("x")).current_dir(&cwd));
        let whole = directory.join(&bad).join("loops.c");
        let line = |label: &[u8]| [label, whole.as_os_str().as_bytes(), b"\n"].concat();
        assert!(contains(&report(&cwd, &words("--gcda .")), &line(b"SF:")));
        let text = report(&cwd, &words("--gcda . --format text"));
        assert!(contains(&text, &line(b":Source:")), "{}", String::from_utf8_lossy(&text));
        assert!(!contains(&text, b"source not found"), "{}", String::from_utf8_lossy(&text));
        let xml = String::from_utf8(report(&cwd, &words("--gcda . --format cobertura"))).expect("UTF-8");
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        let document = roxmltree::Document::parse_with_options(&xml, options).expect("well-formed");
        let class = document.descendants().find(|node| node.has_tag_name("class")).expect("a class");
        assert!(
            class
                .attribute("filename")
                .is_some_and(|name| name.ends_with("/bad-\u{fffd}\u{fffd}\u{fffd}/loops.c"))
        );
    }
    fs::remove_dir_all(directory.join(&bad)).expect("removed");
}

/// gcov's JSON has such bytes as they are. Control characters are left out here: gcov's are no JSON.
#[test]
fn gcov_json_has_the_bytes_that_gcov_has() {
    let (_keep, directory) = scratch();
    let bad = directory.join(OsStr::from_bytes(b"bad-\xff\xe9"));
    fs::create_dir(&bad).expect("made");
    fs::copy(project().join("tests/programs/loops.c"), bad.join("loops.c")).expect("copied");
    let source = bad.join("loops.c");
    let gcc = |arguments: &[&OsStr]| {
        run_ok(Command::new("gcc-12").current_dir(&bad).args(["-w", "--coverage"]).args(arguments));
    };
    gcc(&[OsStr::new("-c"), source.as_os_str(), OsStr::new("-o"), OsStr::new("x.o")]);
    gcc(&words("x.o -o x"));
    run_ok(Command::new(bad.join("x")).current_dir(&bad));
    let data = bad.join("x.gcda");
    let theirs = run(Command::new("gcov-12").current_dir(&directory).args(["-j", "-t"]).arg(&data)).stdout;
    let ours = report(
        &directory,
        &[OsStr::new("--format"), OsStr::new("gcov-json"), OsStr::new("--gcda"), bad.as_os_str()],
    );
    assert!(contains(&theirs, b"bad-\xff\xe9"));
    assert_eq!(String::from_utf8_lossy(&ours), String::from_utf8_lossy(&theirs));
    assert_eq!(ours, theirs);
}

/// A run's report says what a report on its data file says, which lies where the run would have left it.
#[test]
fn the_report_of_a_run_has_the_same_bytes() {
    let (_keep, directory) = scratch();
    let sub = OsStr::from_bytes(b"bad-\xff\xe9");
    let build = directory.join("build");
    fs::create_dir_all(build.join(sub)).expect("made");
    fs::copy(project().join("tests/programs/loops.c"), build.join("loops.c")).expect("copied");
    let object = Path::new(sub).join(OsStr::from_bytes(b"x\xfe.o"));
    let gcc = |arguments: &[&OsStr]| {
        run_ok(Command::new("gcc-12").current_dir(&build).args(["-w", "--coverage"]).args(arguments));
    };
    gcc(&[OsStr::new("-c"), OsStr::new("loops.c"), OsStr::new("-o"), object.as_os_str()]);
    gcc(&[object.as_os_str(), OsStr::new("-o"), OsStr::new("x")]);
    let command = |arguments: &str| {
        let mut command = Command::new(hearth());
        command.current_dir(&build).env("HEARTH_CACHE", directory.join("cache")).args(words(arguments));
        command
    };
    run_ok(&mut command("subject add mine --binary x --notes ."));
    let output = run(&mut command("run mine --report x.json --report-format gcov-json"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("executed") && !said.contains("missing"), "{said}");
    let ours = fs::read(build.join("x.json")).expect("a report");
    run(Command::new(build.join("x")).current_dir(&build));
    let theirs = report(&build, &words("--format gcov-json --branches --gcda ."));
    let name = [b"\"data_file\": \"", sub.as_bytes(), b"/x\xfe.gcda\""].concat();
    assert!(contains(&ours, &name), "{}", String::from_utf8_lossy(&ours));
    let without_place = |text: &[u8]| {
        let end = memchr::memmem::rfind(text, b"\"data_file\"").expect("it names its data");
        text[..end].to_vec()
    };
    assert_eq!(without_place(&ours), without_place(&theirs));
}

/// Clang does not record where it ran. llvm-cov looks for sources from where it is called itself; a report finds
/// them from anywhere.
#[test]
fn sources_of_clang_are_found_from_the_notes() {
    let (_keep, directory) = scratch();
    for name in ["src", "build/deep"] {
        fs::create_dir_all(directory.join(name)).expect("made");
    }
    let source = directory.join("src/loops.c");
    fs::copy(project().join("tests/programs/loops.c"), &source).expect("copied");
    let clang = |arguments: &str, place: &Path| {
        run_ok(Command::new("clang-14").current_dir(place).args(["-w", "--coverage"]).args(words(arguments)));
    };
    // (where clang runs, the source's name there, the object's, where the report is made)
    for (place, name, object) in [
        ("src", "loops.c", "x.o"),
        ("", "src/loops.c", "build/deep/x.o"),
        ("build", "../src/loops.c", "deep/x.o"),
    ] {
        let place = directory.join(place);
        clang(&format!("-c {name} -o {object}"), &place);
        clang(&format!("{object} -o {}", directory.join("x").display()), &place);
        run_ok(Command::new(directory.join("x")).current_dir(&place));
        let data = place.join(object).with_extension("gcda");
        let theirs = run_ok(Command::new("llvm-cov-14").current_dir(&place).args(["gcov", "-t"]).arg(&data));
        let folder = data.parent().expect("a directory");
        let arguments =
            [OsStr::new("--gcda"), folder.as_os_str(), OsStr::new("--format"), OsStr::new("text")];
        let body = |text: &str| {
            text.lines().filter(|line| !line.contains(":    0:")).map(str::to_owned).collect::<Vec<_>>()
        };
        for from in [Path::new("/"), &place, folder] {
            let ours = String::from_utf8_lossy(&report(from, &arguments)).into_owned();
            assert!(ours.contains(&format!(":Source:{}\n", source.display())), "{place:?} {from:?}: {ours}");
            assert_eq!(body(&ours), body(&theirs), "{place:?} {from:?}");
        }
        for extension in ["gcda", "gcno"] {
            fs::remove_file(data.with_extension(extension)).expect("removed");
        }
    }
}

/// GCC's `-fprofile-dir` puts all data into one directory, with the objects' paths in the names of the files.
#[test]
fn data_of_a_profile_directory_finds_its_notes() {
    let (_keep, directory) = scratch();
    let build = directory.join("build");
    fs::create_dir_all(build.join("one")).expect("made");
    fs::create_dir_all(build.join("two")).expect("made");
    fs::write(build.join("one/a.c"), "int two(void);\nint main(void) { return two(); }\n").expect("written");
    fs::write(build.join("two/a.c"), "int two(void) { return 0; }\n").expect("written");
    let data = directory.join("data");
    let compile = |options: &[String]| {
        let gcc = |arguments: &str| {
            let mut command = Command::new("gcc-12");
            run_ok(
                command.current_dir(&build).args(["-w", "--coverage"]).args(options).args(words(arguments)),
            );
        };
        gcc("-c one/a.c -o one/a.o");
        gcc("-c two/a.c -o ./one/../two/a.o");
        gcc("one/a.o two/a.o -o x");
        let _ = fs::remove_dir_all(&data);
        run_ok(Command::new(build.join("x")).current_dir(&build));
    };
    let sources = |arguments: &[&OsStr]| {
        let info = String::from_utf8_lossy(&report(&directory, arguments)).into_owned();
        let names = info.lines().filter_map(|line| line.strip_prefix("SF:"));
        assert!(!info.contains("DA:1,0"), "{info}");
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let expected = ["one/a.c", "two/a.c"].map(|name| build.join(name).display().to_string());
    let directory_option = format!("-fprofile-dir={}", data.display());
    compile(std::slice::from_ref(&directory_option));
    let names: Vec<_> =
        fs::read_dir(&data).expect("data").filter_map(Result::ok).map(|entry| entry.file_name()).collect();
    assert!(
        names.len() == 2 && names.iter().all(|name| name.to_string_lossy().contains("#build#")),
        "{names:?}"
    );
    assert_eq!(sources(&words("--gcda data")), expected, "the path is whole");
    assert_eq!(sources(&words("--gcda data --notes build")), expected);
    let moved = directory.join("moved");
    fs::create_dir(&moved).expect("made");
    fs::rename(&build, moved.join("build")).expect("moved");
    assert_eq!(sources(&words("--gcda data --notes moved")), expected, "by the ends of their paths");
    fs::rename(moved.join("build"), &build).expect("moved back");
    compile(&[directory_option, format!("-fprofile-prefix-path={}", directory.display())]);
    assert_eq!(sources(&words("--gcda data --notes .")), expected, "the path begins below the prefix");
    assert_eq!(sources(&words("--gcda data")), expected, "which is where the report is made");
    // A subject of such a build has its own notes, and no others that lie there.
    fs::write(build.join("other.c"), "int other(void) { return 0; }\n").expect("written");
    run_ok(Command::new("gcc-12").current_dir(&build).args(["--coverage", "-c", "other.c"]));
    let store = hearth_subject::Store::at(directory.join("cache")).expect("a store");
    let addition = hearth_subject::Addition {
        name: "mine".to_owned(),
        binary: build.join("x"),
        with: Vec::new(),
        notes: vec![build.clone()],
        source: None,
    };
    let subject = store.add(&addition).expect("it can be added");
    let atlas = hearth_subject::atlas::AtlasFile::open_or_build(&subject).expect("an atlas");
    let atlas = atlas.atlas().expect("it is whole");
    let objects: Vec<_> = (0..atlas.object_count()).filter_map(|object| atlas.object_name(object)).collect();
    assert_eq!(objects, ["one/a.gcno", "two/a.gcno"]);
}

//! Truncated, bit-flipped, mismatched and foreign files: each is named with what is wrong and what to do,
//! the rest of the tree is reported, and the exit code says that it was partial.

use crate::notes_writer::{DIALECTS, Dialect, data, looping_function, notes};
use crate::{hearth, run};
use hearth_coverage::gcov::{Counters, Data, Error, Notes, ObjectCoverage, ObjectMap, Workspace};
use proptest::prelude::*;
use std::fs;
use std::process::Command;
use tempfile::TempDir;

const DIALECT: Dialect = DIALECTS[8];
const EXIT_PARTIAL: i32 = 3;

/// A tree of two good objects; the tests damage `bad`.
fn tree() -> TempDir {
    let tree = tempfile::tempdir().expect("a temporary directory");
    let function = looping_function();
    for name in ["good", "bad"] {
        fs::write(
            tree.path().join(name).with_extension("gcno"),
            notes(DIALECT, std::slice::from_ref(&function)),
        )
        .expect("written");
        fs::write(
            tree.path().join(name).with_extension("gcda"),
            data(DIALECT, std::slice::from_ref(&function)),
        )
        .expect("written");
    }
    tree
}

/// Damages a file of `bad` and checks the report: the message, the exit code, and what is left.
fn check(extension: &str, damage: impl FnOnce(&mut Vec<u8>), expected: &[&str]) {
    let tree = tree();
    let path = tree.path().join("bad").with_extension(extension);
    let mut bytes = fs::read(&path).expect("it was written");
    damage(&mut bytes);
    fs::write(&path, bytes).expect("written");
    let output = run(Command::new(hearth()).args(["report", "--gcda"]).arg(tree.path()));
    let message = String::from_utf8_lossy(&output.stderr);
    let named = format!("bad.{extension}: ");
    for part in [named.as_str(), "1 of 2 objects reported, 1 left out"].iter().chain(expected) {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
    assert_eq!(output.status.code(), Some(EXIT_PARTIAL), "{message}");
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(report.contains("SF:/src/loop.c\n") && report.contains("DA:10,7\n"), "{report}");
}

#[test]
fn a_report_that_is_there_stays_if_nothing_could_be_reported() {
    let tree = tree();
    for name in ["good", "bad"] {
        fs::remove_file(tree.path().join(name).with_extension("gcno")).expect("it was written");
    }
    let path = tree.path().join("report");
    for format in ["lcov", "cobertura", "gcov-json", "text"] {
        let mut command = Command::new(hearth());
        command.args(["report", "--format", format, "--gcda"]).arg(tree.path());
        let output = run(&mut command);
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(1), &b""[..]), "{format}");
        fs::write(&path, "before").expect("written");
        let output = run(command.arg("--output").arg(&path));
        assert_eq!(output.status.code(), Some(1), "{format}");
        assert_eq!(fs::read(&path).expect("it is there"), b"before", "{format}");
    }
}

#[test]
fn truncated_notes() {
    check("gcno", |bytes| bytes.truncate(70), &["truncated", "write it anew"]);
}

#[test]
fn notes_cut_at_a_record() {
    // The function record alone is whole; its graph is gone.
    check("gcno", |bytes| bytes.truncate(85), &["truncated"]);
}

#[test]
fn truncated_data() {
    check("gcda", |bytes| bytes.truncate(bytes.len() - 11), &["truncated", "write it anew"]);
}

#[test]
fn data_without_end_marker() {
    check("gcda", |bytes| bytes.truncate(bytes.len() - 4), &["no end marker", "run the program again"]);
}

#[test]
fn empty_files() {
    check("gcno", Vec::clear, &["not a .gcno file"]);
    check("gcda", Vec::clear, &["not a .gcda file"]);
}

#[test]
fn foreign_files() {
    check("gcno", |bytes| *bytes = b"\x7fELF and so on".to_vec(), &["not a .gcno file", "remove it"]);
    check("gcda", |bytes| *bytes = b"<html></html>".to_vec(), &["not a .gcda file", "remove it"]);
}

#[test]
fn wrong_stamp() {
    check("gcda", |bytes| bytes[8] ^= 1, &["stamp 0x12345679", "0x12345678", "run the program again"]);
}

#[test]
fn wrong_version() {
    check("gcda", |bytes| bytes[5] = b'1', &["version 12.1", "12.2"]);
    check("gcno", |bytes| bytes[7] = b'!', &["version", "not supported"]);
}

#[test]
fn wrong_checksum() {
    let at = data_function_offset();
    check("gcda", |bytes| bytes[at + 12] ^= 0x40, &["line checksum of function `f`", "rebuilt"]);
    check("gcda", |bytes| bytes[at + 16] ^= 0x40, &["graph checksum of function `f`", "rebuilt"]);
    check("gcda", |bytes| bytes[at + 8] ^= 0x40, &["a function (ident 0x00000047)", "notes"]);
}

/// Where the function record begins in the data file.
fn data_function_offset() -> usize {
    let bytes = data(DIALECT, &[looping_function()]);
    // After the three words of the head comes the summary's tag and length, then the function's.
    structural_words(&bytes, 16)[5]
}

#[test]
fn missing_notes() {
    let tree = tree();
    fs::remove_file(tree.path().join("bad.gcno")).expect("removed");
    let output = run(Command::new(hearth()).args(["report", "--gcda"]).arg(tree.path()));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("bad.gcno: no notes file") && message.contains("--notes"), "{message}");
    assert_eq!(output.status.code(), Some(EXIT_PARTIAL));
}

#[test]
fn nothing_usable_and_nothing_there() {
    let tree = tree();
    for name in ["good", "bad"] {
        fs::write(tree.path().join(name).with_extension("gcno"), b"oops").expect("written");
    }
    let output = run(Command::new(hearth()).args(["report", "--gcda"]).arg(tree.path()));
    assert_eq!(output.status.code(), Some(1));
    let empty = tempfile::tempdir().expect("a temporary directory");
    let output = run(Command::new(hearth()).args(["report", "--gcda"]).arg(empty.path()));
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("no .gcda files below") && message.contains("--coverage"), "{message}");
}

#[test]
fn a_failed_report_leaves_no_file() {
    let tree = tree();
    let target = tree.path().join("missing/coverage.info");
    let output =
        run(Command::new(hearth()).args(["report", "--gcda"]).arg(tree.path()).arg("-o").arg(&target));
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write"));
    // A full device: the report must not claim success.
    let output =
        run(Command::new(hearth()).args(["report", "--gcda"]).arg(tree.path()).args(["-o", "/dev/full"]));
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("No space left on device"));
    let left: Vec<_> =
        fs::read_dir(tree.path()).expect("listed").map(|e| e.expect("entry").file_name()).collect();
    assert_eq!(left.len(), 4, "{left:?}");
}

/// Everything a report does with one object.
fn cover(notes_bytes: &[u8], data_bytes: &[u8]) -> Result<ObjectCoverage, Error> {
    let notes = Notes::read(notes_bytes)?;
    let map = ObjectMap::new(&notes, &|_| true);
    let counters = Counters::from_data(&map, &Data::read(data_bytes)?)?;
    ObjectCoverage::new(&map, &counters, &mut Workspace::default())
}

/// The words that hold a file together: the head, and each record's tag and length.
fn structural_words(bytes: &[u8], mut at: usize) -> Vec<usize> {
    let word = |at: usize| bytes[at..at + 4].try_into().map(u32::from_le_bytes).expect("four bytes");
    let mut words = vec![0, 4, 8];
    while at < bytes.len() && word(at) != 0 {
        words.extend([at, at + 4]);
        at += 8 + word(at + 4) as usize;
    }
    words
}

#[test]
fn every_flipped_bit_of_the_structure_is_noticed() {
    let function = [looping_function()];
    let (notes_bytes, data_bytes) = (notes(DIALECT, &function), data(DIALECT, &function));
    cover(&notes_bytes, &data_bytes).expect("the undamaged pair is good");
    let mut flips = 0;
    let notes_head = 16 + 4 + "/src".len() + 1 + 4;
    for (bytes, head, is_notes) in [(&notes_bytes, notes_head, true), (&data_bytes, 16, false)] {
        for word in structural_words(bytes, head) {
            if !is_notes && word == head {
                // Another kind of summary is as good: no count depends on it.
                continue;
            }
            for bit in 0..32 {
                let mut damaged = bytes.clone();
                damaged[word + bit / 8] ^= 1 << (bit % 8);
                let result =
                    if is_notes { cover(&damaged, &data_bytes) } else { cover(&notes_bytes, &damaged) };
                assert!(result.is_err(), "bit {bit} at byte {word} (notes: {is_notes}) went unnoticed");
                flips += 1;
            }
        }
    }
    println!("{flips} flipped bits noticed");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = Notes::read(&bytes);
        let _ = Data::read(&bytes);
    }

    #[test]
    fn no_damage_causes_a_panic(
        dialect in 0..DIALECTS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        in_notes in any::<bool>(),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let function = [looping_function()];
        let (mut notes_bytes, mut data_bytes) = (notes(DIALECTS[dialect], &function), data(DIALECTS[dialect], &function));
        let damaged = if in_notes { &mut notes_bytes } else { &mut data_bytes };
        for (index, value) in changes {
            let at = index.index(damaged.len());
            damaged[at] = value;
        }
        if let Some(cut) = cut {
            let length = cut.index(damaged.len());
            damaged.truncate(length);
        }
        let _ = cover(&notes_bytes, &data_bytes);
    }
}

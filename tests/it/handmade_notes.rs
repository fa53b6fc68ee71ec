//! Notes and data of every format version, written by hand.

use crate::notes_writer::{DIALECTS, STAMP, data, looping_function, notes};
use hearth_coverage::demangle;
use hearth_coverage::format::gcov_json;
use hearth_coverage::gcov::{Counters, Data, Notes, ObjectCoverage, ObjectMap, Workspace};

#[test]
fn every_version_gives_the_same_counts() {
    for &dialect in DIALECTS {
        let function = looping_function();
        let notes_bytes = notes(dialect, std::slice::from_ref(&function));
        let data_bytes = data(dialect, std::slice::from_ref(&function));
        let notes = Notes::read(&notes_bytes).unwrap_or_else(|error| panic!("{dialect:?}: {error}"));
        assert_eq!(notes.version.number(), Some(dialect.number));
        assert_eq!(notes.stamp, STAMP);
        assert_eq!(notes.cwd, (dialect.number >= 90).then_some(b"/src".as_slice()));
        assert_eq!(notes.sources, [b"loop.c"]);
        let found = &notes.functions[0];
        assert_eq!((found.name, found.start_line, found.block_count), (b"f".as_slice(), 9, 5));
        assert_eq!(found.end_line, if dialect.number >= 80 { 13 } else { 9 });

        let map = ObjectMap::new(&notes, &|_| false);
        let data = Data::read(&data_bytes).unwrap_or_else(|error| panic!("{dialect:?}: {error}"));
        assert_eq!(data.runs, Some(1), "{dialect:?}");
        let counters = Counters::from_data(&map, &data).expect("they match");
        let coverage =
            ObjectCoverage::new(&map, &counters, &mut Workspace::default()).expect("it is solvable");
        assert_eq!(coverage.functions[0].execution_count, 2);
        assert_eq!(coverage.functions[0].return_count, 2);
        assert_eq!(coverage.functions[0].blocks_executed, 3, "gcov counts all but the first and the last");
        let lines: Vec<(u32, i64)> =
            map.slots.iter().zip(&coverage.lines).map(|(slot, line)| (slot.line, line.count)).collect();
        // Twice from outside and five times back, five times round, twice out.
        assert_eq!(lines, [(10, 7), (11, 5), (12, 2)], "{dialect:?}");
    }
}

#[test]
fn zero_counters_need_not_be_written_out() {
    let dialect = DIALECTS[8];
    let function = looping_function();
    let notes_bytes = notes(dialect, std::slice::from_ref(&function));
    let mut data_bytes = data(dialect, std::slice::from_ref(&function));
    // Cut the two counters and say with a negative length that they are zero.
    let end = data_bytes.len();
    data_bytes.drain(end - 20..end - 4);
    let length = data_bytes.len() - 8;
    data_bytes[length..length + 4].copy_from_slice(&(-16_i32).to_le_bytes());
    let notes = Notes::read(&notes_bytes).expect("good notes");
    let map = ObjectMap::new(&notes, &|_| false);
    let data = Data::read(&data_bytes).expect("good data");
    let counters = Counters::from_data(&map, &data).expect("they match");
    assert_eq!(counters, Counters::zero(&map));
}

#[test]
fn the_json_names_the_version() {
    let function = looping_function();
    for (dialect, version) in [(DIALECTS[7], "11.3.0"), (DIALECTS[8], "12.2.0"), (DIALECTS[11], "15.1.0")] {
        let notes_bytes = notes(dialect, std::slice::from_ref(&function));
        let notes = Notes::read(&notes_bytes).expect("good notes");
        let map = ObjectMap::new(&notes, &|_| false);
        let coverage =
            ObjectCoverage::new(&map, &Counters::zero(&map), &mut Workspace::default()).expect("zero");
        let mut out = Vec::new();
        gcov_json::Writer::new(true, &gcov_json::Names::new(demangle::demangle)).write(
            "loop.gcda",
            &map,
            &coverage,
            &mut out,
            &mut |_| {},
        );
        let document: serde_json::Value = serde_json::from_slice(&out).expect("it is JSON");
        assert_eq!(document["gcc_version"], version);
        assert_eq!(document["files"][0]["lines"].as_array().map(Vec::len), Some(3));
    }
}

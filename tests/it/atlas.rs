//! The atlas on disk says what the notes say, and damage to it is noticed.

use crate::notes_writer::{DIALECTS, looping_function, notes};
use hearth_coverage::atlas::{Atlas, NamedMap, encode};
use hearth_coverage::gcov::{Counters, Notes, ObjectCoverage, ObjectMap, Workspace};
use hearth_subject::{Store, atlas::AtlasFile};
use proptest::prelude::*;

/// The bytes of an atlas of two objects, aligned.
fn small_atlas() -> Vec<u32> {
    let objects: Vec<NamedMap> = [8, 0]
        .iter()
        .map(|&dialect| {
            let mut second = looping_function();
            (second.ident, second.name, second.file) = (8, "g", "other.c");
            let bytes = notes(DIALECTS[dialect], &[looping_function(), second]);
            let map = ObjectMap::new(&Notes::read(&bytes).expect("good notes"), &|_| false);
            NamedMap { name: format!("object-{dialect}"), map }
        })
        .collect();
    let bytes = encode(&objects, 42).expect("small");
    let atlas = Atlas::open(&bytes).expect("just written");
    for (index, object) in objects.iter().enumerate() {
        assert_eq!(atlas.object_name(index), Some(object.name.as_str()));
        assert_eq!(atlas.object(index).expect("sound"), object.map);
    }
    assert_eq!((atlas.object_count(), atlas.function_count(), atlas.counter_count()), (2, 4, 8));
    assert_eq!(atlas.object_ids(1).expect("there").functions, 2..4);
    bytemuck::allocation::pod_collect_to_vec(&bytes)
}

#[test]
fn lines_of_one_source_share_their_ids() {
    let words = small_atlas();
    let atlas = Atlas::open(bytemuck::cast_slice(&words)).expect("just written");
    // GCC 12 records the directory, GCC 4.8 does not: so the sources are told apart.
    assert_eq!(atlas.source_count(), 4);
    let first = atlas.object_lines(0).expect("sound");
    assert_eq!(first.len(), 3, "both functions have the same lines");
    let line = atlas.lines()[first[0] as usize];
    assert_eq!((atlas.source_name(line.source), line.number), (Some("/src/loop.c"), 10));
}

/// Uses every object of an atlas as a report would.
fn use_atlas(bytes: &[u8]) -> Result<(), hearth_coverage::Error> {
    let atlas = Atlas::open(bytes)?;
    for object in 0..atlas.object_count() {
        let map = atlas.object(object)?;
        ObjectCoverage::new(&map, &Counters::zero(&map), &mut Workspace::default())?;
        for &line in atlas.object_lines(object)? {
            let _ = atlas.source_name(atlas.lines()[line as usize].source);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn damage_to_tables_is_noticed_and_none_causes_a_panic(
        index in any::<prop::sample::Index>(),
        bit in 0..32_u32,
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut words = small_atlas();
        let at = index.index(words.len());
        words[at] ^= 1 << bit;
        if let Some(cut) = cut {
            words.truncate(cut.index(words.len()));
            prop_assert!(Atlas::open(bytemuck::cast_slice(&words)).is_err());
        }
        let _ = use_atlas(bytemuck::cast_slice(&words));
    }
}

/// The subject's own atlas holds the maps that its notes give.
fn check_subject(name: &str, objects: usize) {
    let subject = Store::open().expect("a cache").find(name).unwrap_or_else(|error| panic!("{error}"));
    let file = AtlasFile::open_or_build(&subject).expect("an atlas");
    let started = std::time::Instant::now();
    let file = AtlasFile::open(&subject, file.fingerprint()).expect("it was just built");
    let atlas = file.atlas().expect("usable");
    println!("{name}: opened in {:?}, {} bytes", started.elapsed(), file.bytes().len());
    assert_eq!(atlas.object_count(), objects);
    let mut lines = 0;
    for index in 0..atlas.object_count() {
        let path = subject.notes_directory().join(atlas.object_name(index).expect("a name"));
        let bytes = std::fs::read(&path).expect("notes");
        let notes = Notes::read(&bytes).expect("good notes");
        let cwd = std::str::from_utf8(notes.cwd.expect("GCC 12 records it")).expect("text");
        let expected = ObjectMap::new(&notes, &|path| std::path::Path::new(cwd).join(path).exists());
        assert!(atlas.object(index).expect("sound") == expected, "{}", path.display());
        lines += expected.slots.len() - 1;
    }
    println!(
        "{name}: {} objects, {} functions, {} counters, {lines} lines in objects, {} lines in {} sources",
        atlas.object_count(),
        atlas.function_count(),
        atlas.counter_count(),
        atlas.lines().len(),
        atlas.source_count()
    );
}

#[test]
fn tcc() {
    check_subject("tcc", 10);
}

#[test]
#[ignore = "needs the subject gcc-11: tools/test --full"]
fn gcc_11() {
    check_subject("gcc-11-noopt", 491);
}

//! All that is counted of a run, by place in the subject's atlas, from memory or from `.gcda` files; and comparing it.

use hearth_coverage::gcov::{Counters, Data, ObjectCoverage, Workspace};
use hearth_runner::{CoveredRun, Observation, SubjectMap};
use std::fs;
use std::path::Path;

/// What is counted.
pub const KINDS: [&str; 4] = ["lines", "functions", "branches", "counters"];

/// The counts of each kind, by place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// As in [`KINDS`].
    pub of: [Vec<i64>; 4],
}

/// How a comparison went, by kind.
#[derive(Debug, Clone, Copy, Default)]
pub struct Compared {
    /// Places that are equal.
    pub equal: [usize; 4],
    /// Places left out because plain runs differ there.
    pub excluded: [usize; 4],
    /// Lines that were executed.
    pub lines_executed: usize,
    /// Runs that were compared.
    pub runs: usize,
}

impl Compared {
    pub fn add(&mut self, other: Self) {
        for kind in 0..KINDS.len() {
            self.equal[kind] += other.equal[kind];
            self.excluded[kind] += other.excluded[kind];
        }
        self.lines_executed += other.lines_executed;
        self.runs += other.runs;
    }
}

impl std::fmt::Display for Compared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [lines, functions, branches, counters] = self.equal;
        write!(
            f,
            "{lines} lines ({} executed), {functions} functions, {branches} branches, {counters} counters equal",
            self.lines_executed
        )?;
        let [lines, functions, branches, counters] = self.excluded;
        if self.excluded != [0; 4] {
            write!(
                f,
                "; excluded, plain runs differ among themselves: {lines} lines, {functions} functions, \
                 {branches} branches, {counters} counters"
            )?;
        }
        Ok(())
    }
}

impl Counts {
    /// What Hearth counted: lines and functions as it tells them, branches and counters from the counters it kept.
    pub fn of_answer(map: &SubjectMap, answer: &CoveredRun) -> Result<Self, String> {
        let Observation { spectrum, counters, .. } = answer.observation.as_ref()?;
        let values = counters.as_ref().ok_or("the counters were not kept")?;
        let mut counts = Self::collect(map, &mut |object, map| {
            let mut values = values[object.first_counter..].iter();
            Ok(Counters::from_values(map, &mut || values.next().copied().unwrap_or(0)))
        })?;
        for (own, told) in counts.of.iter_mut().zip([&spectrum.lines, &spectrum.functions]) {
            *own = (0..told.len() as u32).map(|id| told.get(id)).collect();
        }
        Ok(counts)
    }

    /// What a plain run wrote below `data`, the paths of its `.gcda` files being whole ones. Objects without a file
    /// never ran: those of programs that were not executed.
    pub fn of_data(map: &SubjectMap, notes: &Path, data: &Path) -> Result<Self, String> {
        let mut found = 0;
        let counts = Self::collect(map, &mut |object, map| {
            let path = notes.join(&object.name).with_extension("gcda");
            let path = data.join(path.strip_prefix("/").unwrap_or(&path));
            let Ok(bytes) = fs::read(&path) else { return Ok(Counters::zero(map)) };
            found += 1;
            let read = Data::read(&bytes).map_err(|error| format!("{}: {error}", path.display()))?;
            Counters::from_data(map, &read).map_err(|error| format!("{}: {error}", path.display()))
        })?;
        if found == 0 { Err(format!("no .gcda files below {}", data.display())) } else { Ok(counts) }
    }

    fn collect(
        map: &SubjectMap,
        counters_of: &mut dyn FnMut(
            &Object,
            &hearth_coverage::gcov::ObjectMap<'_>,
        ) -> Result<Counters, String>,
    ) -> Result<Self, String> {
        let (lines, functions, objects) = map
            .with_atlas(|atlas| (atlas.lines().len(), atlas.function_count() as usize, atlas.object_count()));
        let mut of = [vec![0_i64; lines], vec![0_i64; functions], Vec::new(), Vec::new()];
        let mut workspace = Workspace::default();
        for index in 0..objects {
            let object = map.with_atlas(|atlas| Object {
                name: atlas.object_name(index).unwrap_or_default().to_owned(),
                first_counter: atlas.object_ids(index).map_or(0, |ids| ids.counters.start) as usize,
            });
            let result = map.with_object(index as u32, |place| {
                let counters = match counters_of(&object, place.map) {
                    Ok(counters) => counters,
                    Err(problem) => return Ok(Err(problem)),
                };
                let coverage = ObjectCoverage::new(place.map, &counters, &mut workspace)?;
                for (line, &id) in coverage.lines.iter().zip(place.lines) {
                    of[0][id as usize] += line.count;
                }
                for (index, function) in coverage.functions.iter().enumerate() {
                    of[1][place.first_function as usize + index] = function.execution_count;
                }
                of[2].extend(&coverage.arcs);
                place.map.functions.iter().for_each(|function| of[3].extend(counters.of(function)));
                Ok(Ok(()))
            });
            result.map_err(|error| error.to_string())??;
        }
        Ok(Self { of })
    }

    /// Compares with plain runs. Where those differ among themselves nothing can be said; elsewhere all must be equal,
    /// else the places come back, each as (kind, place).
    pub fn compare(&self, plains: &[Self]) -> (Compared, Vec<(usize, usize)>) {
        let mut compared = Compared { runs: 1, ..Compared::default() };
        let mut wrong = Vec::new();
        for kind in 0..KINDS.len() {
            for (place, ours) in self.of[kind].iter().enumerate() {
                let theirs = plains[0].of[kind][place];
                if plains.iter().any(|plain| plain.of[kind][place] != theirs) {
                    compared.excluded[kind] += 1;
                } else if *ours != theirs {
                    wrong.push((kind, place));
                } else {
                    compared.equal[kind] += 1;
                    compared.lines_executed += usize::from(kind == 0 && theirs != 0);
                }
            }
        }
        (compared, wrong)
    }
}

/// An object of the atlas.
struct Object {
    name: String,
    first_counter: usize,
}

//! Compares a run under Hearth with a plain run of the same program on the same input: outcome, output, and
//! every counter and line.

use hearth_coverage::gcov::{Counters, Data, ObjectCoverage, Workspace};
use hearth_runner::limits::RunLimits;
use hearth_runner::plain::plain_command;
use hearth_runner::{CoveredRun, Observation, Observe, Outcome, Pool, SubjectMap, WarmPoint, ZygoteKey};
use hearth_sandbox::Policy;
use hearth_subject::Subject;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

/// What was compared.
#[derive(Debug, Default, Clone, Copy)]
pub struct WarmCompared {
    pub runs: usize,
    pub counters: usize,
    pub lines: usize,
    pub lines_executed: usize,
}

impl WarmCompared {
    pub fn add(&mut self, other: WarmCompared) {
        self.runs += other.runs;
        self.counters += other.counters;
        self.lines += other.lines;
        self.lines_executed += other.lines_executed;
    }
}

impl std::fmt::Display for WarmCompared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} lines ({} executed) and {} counters in {} runs",
            self.lines, self.lines_executed, self.counters, self.runs
        )
    }
}

/// A subject at one set of options, run both ways.
pub struct Bench {
    key: ZygoteKey,
    map: Arc<SubjectMap>,
    notes: PathBuf,
    directory: PathBuf,
    /// Its only run has a core beside it, if the machine has two.
    pool: Pool,
}

impl Bench {
    /// Starts the zygote. `directory` is for the input, the output and the plain runs' data.
    pub fn new(
        launcher: &Path,
        subject: &Subject,
        map: &Arc<SubjectMap>,
        options: &str,
        warm: WarmPoint,
        directory: &Path,
    ) -> Result<Self, String> {
        let mut arguments = vec![subject.binary().into_os_string()];
        arguments.extend(options.split(' ').map(Into::into));
        arguments.extend(["input.c", "-o", "output"].map(Into::into));
        let data = directory.join("data");
        let key = ZygoteKey {
            revision: 0,
            binary: subject.binary(),
            arguments,
            environment: vec![
                ("PATH".into(), "/usr/bin:/bin".into()),
                ("GCOV_PREFIX".into(), data.into_os_string()),
            ],
            directory: directory.to_owned(),
            input: Some("input.c".into()),
            warm,
            sandbox: Policy::Required,
            processes: RunLimits::default().processes,
            shown: Vec::new(),
        };
        let pool = Pool::new(launcher.to_owned());
        pool.with_worker(&key, Some(map), |_| Ok(())).map_err(|error| error.to_string())?;
        Ok(Self {
            key,
            map: map.clone(),
            notes: subject.notes_directory(),
            directory: directory.to_owned(),
            pool,
        })
    }

    /// Runs one input both ways and compares.
    pub fn check(&self, input: &[u8]) -> Result<WarmCompared, String> {
        let request = hearth_runner::RunRequest {
            input: Some(input.to_vec()),
            observe: Observe::Counters,
            ..Default::default()
        };
        let text = |error: std::io::Error| error.to_string();
        // Both find the directory alike.
        for path in fs::read_dir(&self.directory).map_err(text)?.filter_map(|entry| Some(entry.ok()?.path()))
        {
            let is_directory = path.is_dir() && !path.is_symlink();
            let _ = if is_directory { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
        let answer =
            self.pool.run(&self.key, Some(&self.map), &request).map_err(|error| error.to_string())?;
        fs::write(self.directory.join("input.c"), input).map_err(text)?;
        let mut command = plain_command(&self.key).map_err(text)?;
        let plain = command.stdin(Stdio::null()).output().map_err(text)?;
        // The program may have removed it.
        let _ = fs::remove_file(self.directory.join("input.c"));
        let expected = plain.status.code().map(Outcome::Exited);
        if expected != Some(answer.run.outcome) {
            return Err(format!("outcome {:?}, plain {}", answer.run.outcome, plain.status));
        }
        if (&plain.stdout, &plain.stderr) != (&answer.run.stdout, &answer.run.stderr) {
            let text = |parts: [&Vec<u8>; 2]| {
                parts.map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
            };
            let ours = text([&answer.run.stdout, &answer.run.stderr]);
            let plains = text([&plain.stdout, &plain.stderr]);
            return Err(format!("standard output or error differ:\n{ours}\nplain:\n{plains}"));
        }
        let output = self.directory.join("output");
        let ours = answer.run.files.iter().find(|file| file.path == output).map(|file| file.bytes.as_slice());
        if ours != fs::read(&output).ok().as_deref() {
            return Err(format!("the output file differs: {:?} bytes", ours.map(<[u8]>::len)));
        }
        self.compare_counters(&answer)
    }

    fn compare_counters(&self, answer: &CoveredRun) -> Result<WarmCompared, String> {
        let Observation { spectrum, counters, .. } = answer.observation.as_ref()?;
        let values = counters.as_ref().ok_or("the counters were not kept")?;
        let lines: Vec<i64> = (0..spectrum.lines.len() as u32).map(|id| spectrum.lines.get(id)).collect();
        let mut expected_lines = vec![0_i64; lines.len()];
        let mut differences = Vec::new();
        let mut compared = WarmCompared { runs: 1, lines: lines.len(), ..WarmCompared::default() };
        let mut workspace = Workspace::default();
        let data = self.directory.join("data").join(self.notes.strip_prefix("/").unwrap_or(&self.notes));
        for object in 0..self.map.with_atlas(|atlas| atlas.object_count()) {
            let (name, ids) = self.map.with_atlas(|atlas| {
                (atlas.object_name(object).unwrap_or_default().to_owned(), atlas.object_ids(object))
            });
            let first = ids.map_or(0, |ids| ids.counters.start) as usize;
            let path = data.join(&name).with_extension("gcda");
            let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let read = Data::read(&bytes).map_err(|error| format!("{}: {error}", path.display()))?;
            let object_result = self.map.with_object(object as u32, |place| {
                let counters = Counters::from_data(place.map, &read)?;
                for function in place.map.functions.iter() {
                    let ours =
                        &values[first + function.first_counter as usize..][..function.counter_count as usize];
                    let plains = counters.of(function);
                    compared.counters += ours.len();
                    if ours != plains {
                        let name = String::from_utf8_lossy(place.map.name(function)).into_owned();
                        differences.push(format!("{name}: {ours:?}, plain {plains:?}"));
                    }
                }
                let coverage = ObjectCoverage::new(place.map, &counters, &mut workspace)?;
                for (line, &id) in coverage.lines.iter().zip(place.lines) {
                    expected_lines[id as usize] += line.count;
                }
                Ok(())
            });
            object_result.map_err(|error| error.to_string())?;
        }
        let wrong = lines.iter().zip(&expected_lines).filter(|(ours, plains)| ours != plains).count();
        compared.lines_executed = lines.iter().filter(|&&count| count != 0).count();
        if wrong == 0 && differences.is_empty() {
            return Ok(compared);
        }
        differences.truncate(5);
        Err(format!("{wrong} lines differ; counters of functions: {}", differences.join("\n")))
    }
}

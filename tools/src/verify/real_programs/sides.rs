//! A workload done both ways, in one directory: by Hearth from a warm process, and by the program alone.

use super::build::{Built, binary};
use super::counts::Counts;
use super::report::{self, Documents};
use super::workload::{Content, Workload, words};
use crate::plain_run::link_notes;
use hearth_runner::limits::RunLimits;
use hearth_runner::plain::plain_command;
use hearth_runner::{Observe, Outcome, Pool, RunRequest, SubjectMap, WarmPoint, ZygoteKey};
use hearth_sandbox::Policy;
use hearth_subject::Store;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

/// What was seen of a run.
#[derive(Debug)]
pub struct Seen {
    /// How it ended.
    pub outcome: Outcome,
    /// What it wrote to its streams, and the files that it made or changed.
    pub written: BTreeMap<String, Vec<u8>>,
    /// What it counted.
    pub counts: Counts,
}

/// A workload and where it is done.
pub struct Sides<'a> {
    built: &'a Built,
    map: &'a std::sync::Arc<SubjectMap>,
    launcher: &'a Path,
    workload: &'a Workload,
    key: ZygoteKey,
    scratch: tempfile::TempDir,
    files: BTreeMap<String, Vec<u8>>,
}

/// Plain runs of higher numbers are disturbed, but for one in five.
const UNDISTURBED: usize = 2;

type Result<T> = std::result::Result<T, String>;

fn text(error: std::io::Error) -> String {
    error.to_string()
}

impl<'a> Sides<'a> {
    /// Prepares a workload; the zygote will wait at `warm`.
    pub fn new(
        store: &Store,
        built: &'a Built,
        map: &'a std::sync::Arc<SubjectMap>,
        launcher: &'a Path,
        workload: &'a Workload,
        warm: WarmPoint,
    ) -> Result<Self> {
        let scratch = tempfile::tempdir().map_err(text)?;
        let program = built.subject.binary();
        let named = |words: &str| with_paths(store, &program, words);
        let mut files = BTreeMap::new();
        for (name, content) in workload.files {
            let bytes = match content {
                Content::Text(words) => named(words).into_bytes(),
                Content::Words(bytes) => words(*bytes),
                Content::Packaged(path) => {
                    let source = built.source.as_deref().ok_or("the program is of no package")?;
                    fs::read(source.join(path)).map_err(|error| format!("{path}: {error}"))?
                }
            };
            files.insert((*name).to_owned(), bytes);
        }
        let mut arguments = vec![program.clone().into_os_string()];
        arguments.extend(workload.arguments.iter().map(|argument| named(argument).into()));
        let is_input = matches!(warm, WarmPoint::Input);
        let key = ZygoteKey {
            revision: 0,
            binary: program,
            arguments,
            environment: vec![
                ("PATH".into(), "/usr/bin:/bin".into()),
                ("HOME".into(), "/nonexistent".into()),
                ("LC_ALL".into(), "C".into()),
                // For `hearth run`; the program does not care, but shells count their variables.
                ("HEARTH_CACHE".into(), built.cache.clone().into_os_string()),
                ("GCOV_PREFIX".into(), scratch.path().join("data").into_os_string()),
            ],
            directory: scratch.path().join("work"),
            input: workload.input.filter(|_| is_input).map(PathBuf::from),
            warm,
            sandbox: Policy::Required,
            processes: RunLimits::default().processes,
            shown: Vec::new(),
        };
        Ok(Self { built, map, launcher, workload, key, scratch, files })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Every run finds the same files, of the same time, and nothing else.
    fn clear(&self) -> Result<()> {
        for name in ["work", "data"] {
            let path = self.path(name);
            if path.exists() {
                fs::remove_dir_all(&path).map_err(text)?;
            }
        }
        fs::create_dir(self.path("work")).map_err(text)?;
        fs::write(self.path("stdin"), self.workload.stdin).map_err(text)?;
        for (name, bytes) in &self.files {
            let path = self.path("work").join(name);
            fs::write(&path, bytes).map_err(text)?;
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
            File::options().write(true).open(&path).and_then(|file| file.set_modified(time)).map_err(text)?;
        }
        Ok(())
    }

    /// So many runs from one warm process.
    pub fn warm(&self, runs: usize) -> Result<Vec<Seen>> {
        self.clear()?;
        let pool = Pool::new(self.launcher.to_owned());
        let input = self.key.input.as_ref().and_then(|path| self.files.get(path.to_str()?)).cloned();
        let request = RunRequest {
            input,
            stdin: self.workload.stdin.as_bytes().to_vec(),
            observe: Observe::Counters,
            ..RunRequest::default()
        };
        (0..runs).map(|_| self.warm_run(&pool, &request)).collect()
    }

    fn warm_run(&self, pool: &Pool, request: &RunRequest) -> Result<Seen> {
        let answer = pool.run(&self.key, Some(self.map), request).map_err(|error| error.to_string())?;
        // A shell asks for its process number first of all; only scripts that use it would see that it is the zygote's.
        let lacks = answer.missing.iter().filter(|what| !what.starts_with("the runs' process numbers"));
        let missing: Vec<_> = answer.run.missing.iter().chain(lacks).collect();
        if !missing.is_empty() {
            return Err(format!("missing: {missing:?}"));
        }
        let counts = Counts::of_answer(self.map, &answer)?;
        let mut written = BTreeMap::new();
        for file in answer.run.files {
            let name = file.path.strip_prefix(self.path("work")).unwrap_or(&file.path).display().to_string();
            let is_data = file.path.starts_with(self.path("data"));
            if !is_data && self.files.get(&name) != Some(&file.bytes) {
                written.insert(name, file.bytes);
            }
        }
        written.insert("standard output".to_owned(), answer.run.stdout);
        written.insert("standard error".to_owned(), answer.run.stderr);
        Ok(Seen { outcome: answer.run.outcome, written, counts })
    }

    /// A plain run, whose data stay in a directory of this number. The first is laid out in memory as a warm one; the
    /// others have addresses as they come and nothing of Hearth in them. In most of the later ones
    /// processes pause, as on a busy machine: what depends on who is first shows.
    pub fn plain(&self, number: usize) -> Result<Seen> {
        self.clear()?;
        let mut command = if number == 0 {
            plain_command(&self.key).map_err(text)?
        } else {
            let mut command = Command::new(&self.key.binary);
            command.args(&self.key.arguments[1..]).env_clear().envs(self.key.environment.iter().cloned());
            let kind = if number % 5 == 4 { number } else { number % 5 };
            if number > UNDISTURBED && kind > 0 {
                command.env("LD_PRELOAD", &self.built.pauses).env("PAUSES", kind.to_string());
            }
            command
        };
        let output = command
            .current_dir(self.path("work"))
            .stdin(File::open(self.path("stdin")).map_err(text)?)
            .output()
            .map_err(text)?;
        let code = output.status.code().ok_or_else(|| format!("the plain run: {}", output.status))?;
        let data = self.plain_data(number);
        fs::rename(self.path("data"), &data).map_err(|error| format!("no data: {error}"))?;
        let counts = Counts::of_data(self.map, &self.built.subject.notes_directory(), &data)?;
        let mut written = BTreeMap::new();
        files_below(&self.path("work"), "", &mut written).map_err(text)?;
        written.retain(|name, bytes| self.files.get(name) != Some(bytes));
        written.insert("standard output".to_owned(), output.stdout);
        written.insert("standard error".to_owned(), output.stderr);
        Ok(Seen { outcome: Outcome::Exited(code), written, counts })
    }

    fn plain_data(&self, number: usize) -> PathBuf {
        self.path(&format!("plain-{number}"))
    }

    /// The trees of data of a plain run with their notes beside them, and the directories of the notes.
    fn trees(&self, number: usize) -> Vec<(PathBuf, PathBuf)> {
        let data = self.plain_data(number);
        let tree = |notes: PathBuf| (data.join(notes.strip_prefix("/").unwrap_or(&notes)), notes);
        self.built
            .subject
            .notes_directories()
            .into_iter()
            .map(tree)
            .filter(|(tree, _)| tree.is_dir())
            .collect()
    }

    /// Compares `hearth report` over the first plain run's data with gcov, byte by byte, and the report of a run by
    /// `hearth run` with gcov's of the plain runs.
    pub fn compare_reports(&self, gcov: &str, plains: usize) -> Result<report::Compared> {
        let mut theirs: Vec<Documents> = Vec::new();
        for number in 0..plains {
            let mut documents = Documents::new();
            for (tree, notes) in self.trees(number) {
                link_notes(&tree, &notes);
                let is_first = notes == self.built.subject.notes_directory();
                for (name, mut document) in report::by_gcov(gcov, &tree, &notes)? {
                    let name = if is_first { name } else { notes.join(name).display().to_string() };
                    document["data_file"] = name.clone().into();
                    documents.insert(name, document);
                }
            }
            theirs.push(documents);
        }
        for (tree, _) in self.trees(0) {
            crate::exact_support::compare(gcov, self.launcher, &tree)?;
        }
        report::compare(&self.report_of_run()?, &theirs)
    }

    fn report_of_run(&self) -> Result<Documents> {
        self.clear()?;
        let file = self.path("report.json");
        let output = Command::new(self.launcher)
            .args([
                "run",
                self.built.subject.id(),
                "--quiet",
                "--warm",
                "main",
                "--report-format",
                "gcov-json",
            ])
            .arg("--report")
            .arg(&file)
            .arg("--stdin")
            .arg(self.path("stdin"))
            .arg("--")
            .args(&self.key.arguments[1..])
            .env_clear()
            .envs(self.key.environment.iter().cloned())
            .current_dir(self.path("work"))
            .stdin(Stdio::null())
            .output()
            .map_err(text)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        report::by_hearth(&file).map_err(|error| format!("{error}; hearth run said: {said}"))
    }
}

/// Puts paths for `{NAME}`, a program's, and `{directory}`, that of the program itself.
fn with_paths(store: &Store, program: &Path, words: &str) -> String {
    let directory = program.parent().unwrap_or(program).display().to_string();
    let mut words = words.replace("{directory}", &directory);
    for recipe in super::recipe::RECIPES {
        let name = format!("{{{}}}", recipe.name);
        words = words.replace(&name, &binary(store, recipe.name).display().to_string());
    }
    words
}

/// All files below a directory, by their relative paths.
fn files_below(directory: &Path, prefix: &str, files: &mut BTreeMap<String, Vec<u8>>) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().display());
        if entry.file_type()?.is_dir() {
            files_below(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(())
}

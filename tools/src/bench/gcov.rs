//! The benchmark `gcov`: a whole tree of .gcda files through every tool that reads them.
//!
//! Each peer is compared with Hearth writing the same kind of output: gcov's JSON with `gcov-json`, fastcov's
//! and lcov's tracefile with `lcov`, gcovr's XML with `cobertura`. Nothing is cached between calls.

use crate::measure::{Contender, Results, SubjectResult, each, time_all};
use crate::needs;
use crate::plain_run::{data_files, plain_run};
use hearth_subject::{Store, Subject};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = "int g(int x) { int s = 0; for (int i = 0; i < x; i++) s += i % 3 ? i : -i; return s; }\n\
                       int main(void) { return g(20) > 3; }\n";

/// Peers and the format of Hearth each is compared with.
const PEERS: [(&str, &str); 4] =
    [("gcov", "gcov-json"), ("fastcov", "lcov"), ("lcov", "lcov"), ("gcovr", "cobertura")];

/// Runs the benchmark on each subject.
pub fn run(hearth: &Path, subjects: &[String], repeat: usize) -> anyhow::Result<Results> {
    let found = needs::subjects(&Store::open()?, subjects)?;
    let found = found.into_iter().map(|subject| (subject.id().to_owned(), subject));
    each(found, |subject| measure(hearth, subject, repeat), print)
}

fn measure(hearth: &Path, subject: &Subject, repeat: usize) -> anyhow::Result<SubjectResult> {
    let scratch = tempfile::tempdir()?;
    let program = scratch.path().join("program.c");
    std::fs::write(&program, PROGRAM)?;
    let options: &[&str] = if subject.manifest.name == "tcc" { &["-c"] } else { &["-O2", "-quiet"] };
    let mut arguments: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
    arguments.extend([program.to_string_lossy().into_owned(), "-o".to_owned(), "out".to_owned()]);
    let tree = plain_run(&subject.binary(), &subject.notes_directory(), &arguments, scratch.path());
    let data = data_files(&tree)?;
    let contenders = contenders(hearth, &tree, &data, scratch.path());
    let times = time_all(&contenders, repeat, scratch.path())?;
    let seconds = |name: &str| times[name].0.as_secs_f64();
    let ratios = PEERS
        .iter()
        .map(|(peer, format)| ((*peer).to_owned(), seconds(peer) / seconds(&format!("hearth {format}"))))
        .collect();
    Ok(SubjectResult {
        ratios,
        medians_s: times.iter().map(|(name, (median, _))| (name.clone(), median.as_secs_f64())).collect(),
        repeats: times.iter().map(|(name, (_, repeats))| (name.clone(), *repeats)).collect(),
        about: BTreeMap::from([
            ("data files".to_owned(), data.len().to_string()),
            ("cores".to_owned(), std::thread::available_parallelism()?.to_string()),
        ]),
    })
}

fn contenders(hearth: &Path, tree: &Path, data: &[PathBuf], scratch: &Path) -> Vec<Contender> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let contender = |name: &str, program: &str, arguments: Vec<String>| {
        let (program, scratch) = (program.to_owned(), scratch.to_owned());
        let command = move || {
            let mut command = Command::new(&program);
            command.current_dir(&scratch).args(&arguments);
            command
        };
        Contender { name: name.to_owned(), command: Box::new(command) }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from).to_string();
    let directory = text(tree);
    let mut list: Vec<Contender> = ["gcov-json", "lcov", "cobertura"]
        .map(|format| {
            let mut arguments = words(&["report", "--format", format, "--gcda", &directory]);
            if format != "gcov-json" {
                // Its peers write files too.
                arguments.extend(words(&["--quiet", "--output", "hearth.out"]));
            }
            contender(&format!("hearth {format}"), &text(hearth), arguments)
        })
        .into();
    let mut gcov = words(&["--json-format", "--stdout"]);
    gcov.extend(data.iter().map(|path| text(path)));
    list.push(contender("gcov", "gcov", gcov));
    for (peer, arguments) in [
        ("fastcov", ["-d", &directory, "-j", &cores, "--lcov", "-o", "fastcov.info"]),
        ("gcovr", ["-j", &cores, "-r", "/", "--xml", "gcovr.xml", &directory]),
    ] {
        list.push(contender(peer, peer, words(&arguments)));
    }
    list.push(contender(
        "lcov",
        "lcov",
        words(&["--quiet", "--capture", "-d", &directory, "-o", "lcov.info"]),
    ));
    list
}

fn print(subject: &str, result: &SubjectResult) {
    println!("\n{subject}: {} .gcda files, {} cores", result.about["data files"], result.about["cores"]);
    println!("{:<18} {:>10} {:>8} {:>16}", "", "median", "repeats", "over Hearth's");
    for (name, median) in &result.medians_s {
        let ratio = result.ratios.get(name).map_or(String::new(), |ratio| format!("{ratio:.1}x"));
        println!("{name:<18} {median:>8.3} s {:>8} {ratio:>16}", result.repeats[name]);
    }
}

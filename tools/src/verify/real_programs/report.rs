//! Whole reports: what `hearth run --report` writes of a warm run, against what gcov prints of a plain run.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// gcov's documents by data file, whose names are relative to the notes.
pub type Documents = BTreeMap<String, Value>;

/// How two reports compare.
#[derive(Debug, Clone, Copy, Default)]
pub struct Compared {
    /// Names and numbers that are equal.
    pub equal: usize,
    /// Those left out because plain runs differ there.
    pub excluded: usize,
    /// Lines among gcov's.
    pub lines: usize,
}

/// What gcov prints of a tree of data with the notes beside it. It is called where the program was built: how it tells
/// the names of sources depends on what it finds there.
pub fn by_gcov(gcov: &str, tree: &Path, build: &Path) -> Result<Documents, String> {
    let data = crate::plain_run::data_files(tree).map_err(|error| error.to_string())?;
    let mut command = Command::new(gcov);
    command.args(["--json-format", "--stdout", "--branch-probabilities"]).args(&data).current_dir(build);
    let output =
        command.stderr(Stdio::null()).output().map_err(|error| format!("cannot run {gcov}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{gcov}: {}", output.status));
    }
    let mut relative = Documents::new();
    for (name, document) in documents(&output.stdout)? {
        let name = Path::new(&name).strip_prefix(tree).unwrap_or(Path::new(&name)).display().to_string();
        relative.insert(name, document);
    }
    Ok(relative)
}

/// What Hearth wrote.
pub fn by_hearth(file: &Path) -> Result<Documents, String> {
    documents(&fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?)
}

fn documents(bytes: &[u8]) -> Result<Documents, String> {
    let mut documents = Documents::new();
    for line in bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let document: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let name = document["data_file"].as_str().unwrap_or_default().to_owned();
        documents.insert(name, document);
    }
    Ok(documents)
}

/// Compares every name and number of a report with gcov's of plain runs. Those in which they differ among themselves
/// are left out.
pub fn compare(ours: &Documents, plains: &[Documents]) -> Result<Compared, String> {
    let mut compared = Compared::default();
    for (name, theirs) in &plains[0] {
        let own = ours.get(name).ok_or_else(|| format!("{name} is not in the report"))?;
        let others: Vec<&Value> = plains.iter().filter_map(|plain| plain.get(name)).collect();
        compare_values(own, theirs, &others, name, &mut compared)?;
        compared.lines += count_lines(theirs);
    }
    // Programs that were not executed have no data.
    match ours.iter().find(|(name, document)| !plains[0].contains_key(*name) && !runs_nothing(document)) {
        Some((name, _)) => Err(format!("{name} ran, but gcov knows nothing of it")),
        None => Ok(compared),
    }
}

fn compare_values(
    ours: &Value,
    theirs: &Value,
    others: &[&Value],
    place: &str,
    compared: &mut Compared,
) -> Result<(), String> {
    match (ours, theirs) {
        (Value::Object(own), Value::Object(their)) if own.len() == their.len() => {
            their.iter().try_for_each(|(key, theirs)| {
                let others: Vec<&Value> = others.iter().map(|other| &other[key]).collect();
                compare_values(&ours[key], theirs, &others, &format!("{place}.{key}"), compared)
            })
        }
        (Value::Array(own), Value::Array(their)) if own.len() == their.len() => {
            own.iter().zip(their).enumerate().try_for_each(|(index, (ours, theirs))| {
                let others: Vec<&Value> = others.iter().map(|other| &other[index]).collect();
                compare_values(ours, theirs, &others, &format!("{place}[{index}]"), compared)
            })
        }
        _ if others.iter().any(|other| *other != theirs) => {
            compared.excluded += 1;
            Ok(())
        }
        _ if ours == theirs => {
            compared.equal += 1;
            Ok(())
        }
        _ => Err(format!("{place}: {ours}, gcov {theirs}")),
    }
}

fn each_file(document: &Value) -> impl Iterator<Item = &Value> {
    document["files"].as_array().into_iter().flatten()
}

fn count_lines(document: &Value) -> usize {
    each_file(document).filter_map(|file| file["lines"].as_array()).map(Vec::len).sum()
}

fn runs_nothing(document: &Value) -> bool {
    let mut functions = each_file(document).filter_map(|file| file["functions"].as_array()).flatten();
    functions.all(|function| function["execution_count"] == 0)
}

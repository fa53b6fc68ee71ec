//! What a benchmark or a check needs, looked for before any time is spent on it.

use anyhow::{Context, bail};
use hearth_subject::{Store, Subject};
use std::path::{Path, PathBuf};

/// Programs, each with the command that installs it.
pub type Programs = &'static [(&'static str, &'static str)];

/// Sees that programs are on the path.
pub fn programs(wanted: Programs) -> anyhow::Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &str| std::env::split_paths(&path).any(|directory| directory.join(name).is_file());
    let missing = wanted.iter().filter(|(name, _)| !is_there(name));
    let missing: Vec<String> = missing.map(|(name, command)| format!("{name} (`{command}`)")).collect();
    if missing.is_empty() {
        return Ok(());
    }
    bail!("not found on the path: {}", missing.join(", "))
}

/// The whole path of the `hearth` under test, which has `hearthd` beside it.
pub fn hearth(given: &Path) -> anyhow::Result<PathBuf> {
    let build = "build it with: cargo build --release";
    let hearth = given.canonicalize().with_context(|| format!("no {}; {build}", given.display()))?;
    let daemon = hearth.with_file_name("hearthd");
    if !daemon.is_file() {
        bail!("no {}; {build}", daemon.display());
    }
    Ok(hearth)
}

/// Subjects that have been built and are still there.
pub fn subjects(store: &Store, names: &[String]) -> anyhow::Result<Vec<Subject>> {
    names.iter().map(|name| subject(store, name)).collect()
}

/// A subject that has been built and is still there.
pub fn subject(store: &Store, name: &str) -> anyhow::Result<Subject> {
    let subject = store.find(name)?;
    if !subject.binary().is_file() {
        let id = subject.id();
        bail!(
            "the program of {id} is gone: {}; remove it and build it anew: hearth subject remove {id}",
            subject.binary().display()
        );
    }
    Ok(subject)
}

//! The end of a build: see that the program works, prune, and write the manifest that makes it a subject.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use crate::add::unix_seconds;
use crate::error::{AtPath, Error, Result};
use crate::manifest::{FORMAT, FileRecord, Flags, Kind, Manifest, NotesDirectories};
use crate::recipes::SmokeTest;
use crate::store::Subject;
use crate::{digest, download, program, tree};

use super::resume::Step;
use super::{Site, command, prune};

/// A smoke test is short.
const SMOKE_LIMIT: Duration = Duration::from_secs(60);

/// A downloaded source package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Package {
    file_name: String,
    sha256: String,
}

impl Package {
    /// Digests a package file.
    pub(super) fn of(path: PathBuf) -> Result<Package> {
        let sha256 = digest::sha256(&path)?;
        let file_name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Package { file_name, sha256 })
    }

    /// Reads what [`Package::to_note`] wrote.
    pub(super) fn parse(note: &str) -> Option<Package> {
        let (sha256, file_name) = note.trim_end().split_once(' ')?;
        Some(Package { file_name: file_name.into(), sha256: sha256.into() })
    }

    /// The package as the note of a stamp.
    pub(super) fn to_note(&self) -> String {
        format!("{} {}", self.sha256, self.file_name)
    }
}

/// Checks the program, prunes the tree, writes the manifest.
pub(super) fn finish(site: &mut Site<'_>, package: Package) -> Result<Subject> {
    let (recipe, directory) = (site.recipe, site.directory.clone());
    let binary = directory.join(recipe.binary());
    if site.level.is_instrumented() {
        program::inspect(&binary)?;
    }
    for (link, target) in recipe.links() {
        let link = directory.join(link);
        match symlink(target, &link) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                Err(error).at("link", &link)?
            }
            _ => {}
        }
    }
    smoke(site, &binary)?;
    prune::prune(&directory.join("build"), recipe.kept(), &*site.system)?;
    let notes = directory.join(recipe.notes());
    let count = tree::count_extension(&notes, "gcno")?;
    if count == 0 && site.level.is_instrumented() {
        return Err(Error::NoNotes { directory: notes });
    }
    let manifest = Manifest {
        format: FORMAT,
        name: recipe.name().into(),
        level: Some(site.level),
        kind: Kind::Built,
        version: Some(version(site, &package)),
        compiler: Some(compiler()?),
        flags: Some(Flags {
            configure: site.system.configure().to_string(),
            cflags: site.level.cflags().into(),
        }),
        source_package: Some(FileRecord { path: package.file_name.into(), sha256: package.sha256 }),
        binary: FileRecord { path: recipe.binary().into(), sha256: digest::sha256(&binary)? },
        with: Vec::new(),
        notes: NotesDirectories { directory: recipe.notes().into(), further: Vec::new(), count },
        source: Some("source".into()),
        build_seconds: site.clock.seconds(),
        built_at: unix_seconds(),
    };
    manifest.save(&directory)?;
    // Their work is done; a leftover one does no harm.
    for step in [Step::Downloaded, Step::Extracted, Step::Configured, Step::Built] {
        step.forget(&directory)?;
    }
    let _ = fs::remove_file(directory.join("stage.seconds"));
    Ok(Subject { directory, manifest })
}

/// Runs the program's smoke test; its counters go to a directory that is removed.
fn smoke(site: &mut Site<'_>, binary: &std::path::Path) -> Result<()> {
    let place = site.directory.join("smoke");
    tree::remove(&place)?;
    fs::create_dir_all(&place).at("create", &place)?;
    let SmokeTest { input, arguments, output } = site.recipe.smoke_test();
    if let Some((name, text)) = input {
        let input = place.join(name);
        fs::write(&input, text).at("write", &input)?;
    }
    let mut command = command::tool(binary);
    command.args(arguments).current_dir(&place).env("GCOV_PREFIX", place.join("counters"));
    site.run(&mut command, SMOKE_LIMIT)?;
    if let Some(output) = output.map(|name| place.join(name))
        && !output.metadata().at("find", &output)?.is_file()
    {
        return Err(Error::NotExecutable { path: output, reason: "the smoke test made no file".into() });
    }
    tree::remove(&place)
}

/// Of GCC the release; of others the package's version, which says more.
fn version(site: &Site<'_>, package: &Package) -> String {
    let packaged = download::version_of(&package.file_name).unwrap_or(site.recipe.version());
    match packaged.strip_prefix(site.recipe.version()) {
        Some(revision) if revision.starts_with('-') => site.recipe.version().into(),
        _ => packaged.into(),
    }
}

fn compiler() -> Result<String> {
    let text = command::capture(command::tool("gcc").arg("--version"))?;
    Ok(text.lines().next().unwrap_or("unknown").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_survive_a_stamp() {
        let package = Package { file_name: "gcc-11-source_11.3.0-12_all.deb".into(), sha256: "00ff".into() };
        assert_eq!(Package::parse(&package.to_note()), Some(package));
        assert_eq!(Package::parse(""), None);
    }
}

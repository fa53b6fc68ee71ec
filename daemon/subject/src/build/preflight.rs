//! Checks before a build starts: tools, headers, disk space. All that is missing is told at once.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::error::{AtPath, Error, Result};
use crate::manifest::Level;
use crate::name::SubjectId;
use crate::recipes::{Packaging, Recipe, Requirement};
use crate::store::Store;
use crate::tree;

use super::{BuildSystem, command};

const MB: u64 = 1_000_000;

/// Checks that the tools and headers of a recipe and its build system are installed.
pub(super) fn check_tools(recipe: &dyn Recipe, system: &dyn BuildSystem) -> Result<()> {
    let mut missing = tools(recipe, system);
    missing.retain(|(tool, _)| find_tool(tool).is_none());
    let compiler = find_tool("gcc").is_some();
    let headers = recipe.headers().iter();
    missing.extend(headers.filter(|(header, _)| !has_header(header, compiler)));
    if missing.is_empty() {
        return Ok(());
    }
    let join = |parts: Vec<&str>, separator: &str| parts.join(separator);
    Err(Error::MissingTools {
        name: recipe.name().into(),
        missing: join(missing.iter().map(|(name, _)| *name).collect(), ", "),
        packages: join(missing.iter().map(|(_, package)| *package).collect(), " "),
    })
}

/// Checks that the disk has room for a build, counting what an interrupted one already wrote.
pub(super) fn check_disk(store: &Store, recipe: &dyn Recipe, level: Level) -> Result<()> {
    let id = SubjectId::built(recipe, level);
    let available_mb = available_mb(store.root())?;
    let mut present_bytes = 0;
    let directory = store.directory(&id);
    if directory.is_dir() {
        tree::for_each_file(&directory, &mut |entry| {
            present_bytes += entry.metadata().map_or(0, |metadata| metadata.len());
            Ok(())
        })?;
    }
    let needed_mb = recipe.cost(level).disk_mb.saturating_sub(present_bytes / MB);
    match available_mb < needed_mb {
        false => Ok(()),
        true => Err(Error::DiskTooSmall {
            id: id.to_string(),
            path: store.root().to_path_buf(),
            needed_mb,
            available_mb,
        }),
    }
}

/// The tools a build runs, in the order in which they are told.
fn tools(recipe: &dyn Recipe, system: &dyn BuildSystem) -> Vec<Requirement> {
    const COMPILER: Requirement = ("gcc", "gcc");
    const PACKAGES: [Requirement; 4] =
        [("tar", "tar"), ("xz", "xz-utils"), ("apt-get", "apt"), ("dpkg-deb", "dpkg")];
    let unpacking: &[Requirement] = match recipe.packaging() {
        Packaging::Source => &[("dpkg-source", "dpkg-dev")],
        Packaging::Tarball(_) => &[],
    };
    [&[COMPILER], system.tools(), &PACKAGES, unpacking, recipe.tools()].concat()
}

/// What an ordinary user may still write to the disk of `path`, or of its nearest existing parent.
pub(super) fn available_mb(path: &Path) -> Result<u64> {
    let existing = path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let status = rustix::fs::statvfs(existing).map_err(std::io::Error::from).at("inspect", existing)?;
    Ok(status.f_bavail.saturating_mul(status.f_frsize) / MB)
}

fn find_tool(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|directory| directory.join(name)).find(|candidate| {
        use std::os::unix::fs::PermissionsExt;
        candidate.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

/// Asks the compiler for a header, or looks in the usual places where there is no compiler to ask.
fn has_header(header: &str, compiler: bool) -> bool {
    if compiler {
        return preprocesses(header).unwrap_or(false);
    }
    let multiarch = format!("/usr/include/{}-linux-gnu", env::consts::ARCH);
    ["/usr/include", "/usr/local/include", &multiarch]
        .iter()
        .any(|base| Path::new(base).join(header).is_file())
}

fn preprocesses(header: &str) -> std::io::Result<bool> {
    // gmp.h needs stdio.h before it for some of its declarations.
    let mut command = command::tool("gcc");
    command.args(["-E", "-x", "c", "-include", "stdio.h", "-include", header, "/dev/null"]);
    Ok(command.stdout(Stdio::null()).stderr(Stdio::null()).status()?.success())
}

#[cfg(test)]
mod tests {
    use super::super::ConfigureMake;
    use super::*;
    use crate::recipes;

    #[test]
    fn tools_are_found_by_path() {
        assert!(find_tool("sh").is_some());
        assert!(find_tool("no-such-tool-of-hearth").is_none());
    }

    #[test]
    fn a_missing_directory_counts_on_its_parents_disk() {
        assert!(available_mb(Path::new("/no/such/directory")).unwrap() > 0);
    }

    #[test]
    fn missing_tools_are_told_in_one_order() {
        let every = ["gcc", "make", "tar", "xz", "apt-get", "dpkg-deb"];
        let gcc = ["g++", "flex", "bison"];
        let table: [(&dyn Recipe, &[&str]); 3] =
            [(&recipes::TCC, &["dpkg-source"]), (&recipes::GCC_11, &gcc), (&recipes::GCC_12, &gcc)];
        for (recipe, own) in table {
            let system = ConfigureMake::default();
            let found: Vec<&str> = tools(recipe, &system).iter().map(|(tool, _)| *tool).collect();
            assert_eq!(found, [&every, own].concat(), "{}", recipe.name());
        }
    }
}

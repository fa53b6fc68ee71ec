//! Source packages that no build of a subject needs: parts of a recipe's (a compiler's test programs, its change
//! logs), and whole ones of other programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::build::command;
use crate::build::lock::Lock;
use crate::download::{self, Wanted};
use crate::error::{AtPath, Error, Result};
use crate::recipes::{Packaging, Recipe};
use crate::store::Store;
use crate::tree;

/// How long unpacking may take.
const UNPACK_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Unpacks parts of a recipe's source, once, and says where they are. `parts` are paths below the source's top.
///
/// # Errors
/// If the package cannot be had or unpacked.
pub fn unpack(store: &Store, recipe: &dyn Recipe, parts: &[&str]) -> Result<PathBuf> {
    let directory = store.root().join("sources").join(recipe.package());
    let is_there = || parts.iter().all(|part| directory.join(part).exists());
    if is_there() {
        return Ok(directory);
    }
    let _lock = Lock::wait(store, &format!("{}-sources", recipe.package()))?;
    if is_there() {
        return Ok(directory);
    }
    let partial = directory.with_extension("partial");
    tree::remove(&partial)?;
    let (package, source) = (partial.join("package"), partial.join("source"));
    fs::create_dir_all(&source).at("create", &source)?;
    let log = partial.join("log");
    let file = download::fetch(store, Wanted::source_of(recipe), &log, &log, &mut || {})?;
    let Packaging::Tarball(member) = recipe.packaging() else {
        return Err(Error::BadPackage { package: file, wanted: "a tarball".into() });
    };
    let run = |command: &mut std::process::Command| command::run(command, &log, UNPACK_LIMIT, &mut |_| {});
    run(command::tool("dpkg-deb").arg("-x").args([&file, &package]))?;
    let tarball = package.join(member);
    if !tarball.is_file() {
        return Err(Error::BadPackage { package: file, wanted: member.into() });
    }
    let top = top_directory(member);
    let mut tar = command::tool("tar");
    tar.args(["--strip-components=1", "--no-same-owner", "-C"]).arg(&source).arg("-xf").arg(&tarball);
    run(tar.args(parts.iter().map(|part| format!("{top}/{part}"))))?;
    tree::remove(&directory)?;
    fs::rename(&source, &directory).at("create", &directory)?;
    tree::remove(&partial)?;
    Ok(directory)
}

/// Unpacks Debian's source package of any program, with Debian's patches, into a directory, which is there only when
/// it is whole. Nothing is done if it is there already.
///
/// # Errors
/// If the package cannot be had or unpacked.
pub fn unpack_package(store: &Store, name: &str, directory: &Path) -> Result<()> {
    if directory.exists() {
        return Ok(());
    }
    let _lock = Lock::wait(store, &format!("{name}-sources"))?;
    if directory.exists() {
        return Ok(());
    }
    let partial = directory.with_extension("partial");
    tree::remove(&partial)?;
    fs::create_dir_all(&partial).at("create", &partial)?;
    let log = partial.join("log");
    let wanted = Wanted { name, version: None, packaging: Packaging::Source };
    let file = download::fetch(store, wanted, &log, &log, &mut || {})?;
    let source = partial.join("source");
    let mut command = command::tool("dpkg-source");
    // Signatures are apt's to check; it did when it downloaded the file.
    command.args(["--no-check", "--no-copy", "-x"]).args([&file, &source]).current_dir(&partial);
    command::run(&mut command, &log, UNPACK_LIMIT, &mut |_| {})?;
    fs::rename(&source, directory).at("create", directory)?;
    tree::remove(&partial)
}

/// The directory all of a Debian-repacked tarball is in: `gcc-11.3.0` for `…/gcc-11.3.0-dfsg.tar.xz`.
pub(crate) fn top_directory(member: &str) -> &str {
    let name = Path::new(member).file_name().and_then(|name| name.to_str()).unwrap_or(member);
    let name = name.strip_suffix(".tar.xz").unwrap_or(name);
    name.strip_suffix("-dfsg").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    #[test]
    fn top_directories_drop_the_repacking_suffix() {
        assert_eq!(super::top_directory("usr/src/gcc-11/gcc-11.3.0-dfsg.tar.xz"), "gcc-11.3.0");
        assert_eq!(super::top_directory("a-1.tar.xz"), "a-1");
    }
}

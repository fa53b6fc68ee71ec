//! Unpacking a source package into `source/`, leaving out what the build does not need.

use std::fs;
use std::path::Path;

use crate::download::{self, Wanted};
use crate::error::{AtPath, Error, Result};
use crate::recipes::Packaging;
use crate::tree;

use super::{STEP_LIMIT, Site, command};

/// Fills `source/` of the site from its package file.
pub(super) fn extract(site: &mut Site<'_>) -> Result<()> {
    // fetch() is quick here: the file is in the downloads, unless someone has just deleted it.
    let kept_log = site.store.log_path(&site.id);
    let wanted = Wanted::source_of(site.recipe);
    let package = download::fetch(site.store, wanted, &site.log, &kept_log, &mut || {})?;
    let source = site.directory.join("source");
    tree::remove(&source)?;
    match site.recipe.packaging() {
        Packaging::Source => {
            let mut command = command::tool("dpkg-source");
            // Signatures are apt's to check; it did when it downloaded the file.
            command
                .args(["--no-check", "--no-copy", "-x"])
                .args([&package, &source])
                .current_dir(&site.directory);
            site.run(&mut command, STEP_LIMIT)
        }
        Packaging::Tarball(member) => extract_tarball(site, &package, member, &source),
    }
}

fn extract_tarball(site: &mut Site<'_>, package: &Path, member: &str, source: &Path) -> Result<()> {
    let unpacked = site.directory.join("package");
    tree::remove(&unpacked)?;
    site.run(command::tool("dpkg-deb").arg("-x").args([package, &unpacked]), STEP_LIMIT)?;
    let tarball = unpacked.join(member);
    if !tarball.is_file() {
        return Err(Error::BadPackage { package: package.to_path_buf(), wanted: member.into() });
    }
    fs::create_dir_all(source).at("create", source)?;
    let top = crate::source::top_directory(member);
    let mut command = command::tool("tar");
    command.args(["--anchored", "--no-wildcards", "--strip-components=1", "--no-same-owner"]);
    command.args(site.recipe.excluded().iter().map(|path| format!("--exclude={top}/{path}")));
    command.arg("-xf").arg(&tarball).arg("-C").arg(source);
    site.run(&mut command, STEP_LIMIT)?;
    tree::remove(&unpacked)
}

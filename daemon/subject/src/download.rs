//! Getting a source package, once: later builds reuse the file.

use std::fs;
use std::path::{Path, PathBuf};

use crate::build::command;
use crate::build::failure::{error_lines, read_end};
use crate::build::lock::Lock;
use crate::error::{AtPath, Error, Result};
use crate::recipes::{Packaging, Recipe};
use crate::store::Store;
use crate::tree;

mod apt;
mod sources;

use apt::Apt;

/// A package to get.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// The package's name.
    pub(crate) name: &'a str,
    /// What its version begins with, if not any will do.
    pub(crate) version: Option<&'a str>,
    /// How it is packaged.
    pub(crate) packaging: Packaging,
}

impl Wanted<'static> {
    /// The package with a recipe's source.
    pub(crate) fn source_of(recipe: &dyn Recipe) -> Self {
        Wanted { name: recipe.package(), version: Some(recipe.version()), packaging: recipe.packaging() }
    }
}

/// The package file (a `.deb`, or a `.dsc` with its tarballs beside it), downloaded if it is not there yet. What is
/// said on the way goes to `log`, which a failure tells as `kept_log`.
pub(crate) fn fetch(
    store: &Store,
    wanted: Wanted<'_>,
    log: &Path,
    kept_log: &Path,
    tick: &mut dyn FnMut(),
) -> Result<PathBuf> {
    let downloads = store.root().join("downloads").join(wanted.name);
    if let Some(package) = present(&downloads, wanted)? {
        return Ok(package);
    }
    // Two builds may want the network at once; apt refuses to run twice on the same lists.
    let _lock = Lock::wait(store, "apt")?;
    if let Some(package) = present(&downloads, wanted)? {
        return Ok(package);
    }
    let partial = downloads.join("partial");
    tree::remove(&partial)?;
    fs::create_dir_all(&partial).at("create", &partial)?;
    download(store, wanted, log, &partial, tick).map_err(|error| match error {
        Error::Command { signal: None, .. } => Error::Download {
            package: wanted.name.into(),
            reason: error_lines(&read_end(log).unwrap_or_default()),
            log: kept_log.to_path_buf(),
        },
        other => other,
    })?;
    publish(&partial, &downloads)?;
    present(&downloads, wanted)?
        .ok_or_else(|| Error::BadPackage { package: downloads, wanted: wanted.name.into() })
}

/// The version in a package file's name, `name_version_architecture.deb` or `name_version.dsc`.
pub(crate) fn version_of(file_name: &str) -> Option<&str> {
    let (_, rest) = file_name.split_once('_')?;
    let rest = rest.strip_suffix(".deb").or_else(|| rest.strip_suffix(".dsc"))?;
    Some(rest.split('_').next().unwrap_or(rest))
}

fn download(
    store: &Store,
    wanted: Wanted<'_>,
    log: &Path,
    partial: &Path,
    tick: &mut dyn FnMut(),
) -> Result<()> {
    let apt = Apt::prepare(store, log)?;
    apt.update(false, tick)?;
    let attempt = |tick: &mut dyn FnMut()| {
        // The name alone tells the version, before 80 MB are fetched in vain.
        let uris = command::capture(apt.command().args(fetch_arguments(wanted, true)).current_dir(partial))?;
        check_version(wanted, &uris)?;
        apt.run(apt.command().args(fetch_arguments(wanted, false)).current_dir(partial), tick)
    };
    match attempt(tick) {
        Err(Error::Command { signal: None, .. }) => {
            // The archive may have moved on since the lists were fetched.
            apt.update(true, tick)?;
            // Run for its messages: the query above drops them.
            apt.run(apt.command().args(fetch_arguments(wanted, true)).current_dir(partial), tick)?;
            attempt(tick)
        }
        other => other,
    }
}

fn fetch_arguments(wanted: Wanted<'_>, only_print: bool) -> Vec<&str> {
    let mut arguments = vec!["-q"];
    if only_print {
        arguments.push("--print-uris");
    }
    arguments.extend_from_slice(match wanted.packaging {
        Packaging::Source => &["source", "--download-only"],
        Packaging::Tarball(_) => &["download"],
    });
    arguments.push(wanted.name);
    arguments
}

/// Checks the version in the output of `--print-uris`: lines of 'address' file-name size digest.
fn check_version(wanted: Wanted<'_>, uris: &str) -> Result<()> {
    let names = uris.lines().filter(|line| line.starts_with('\'')).filter_map(|line| line.split(' ').nth(1));
    let found = names.filter_map(version_of).next().unwrap_or("unknown");
    match is_version(wanted, found) {
        true => Ok(()),
        false => Err(Error::WrongVersion {
            package: wanted.name.into(),
            wanted: wanted.version.unwrap_or_default().into(),
            found: found.into(),
        }),
    }
}

fn is_version(wanted: Wanted<'_>, found: &str) -> bool {
    let Some(version) = wanted.version else { return true };
    let rest = found.strip_prefix(version);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
}

/// The finished download of the wanted version, if there is one.
fn present(downloads: &Path, wanted: Wanted<'_>) -> Result<Option<PathBuf>> {
    let extension = match wanted.packaging {
        Packaging::Source => "dsc",
        Packaging::Tarball(_) => "deb",
    };
    if !downloads.is_dir() {
        return Ok(None);
    }
    for entry in fs::read_dir(downloads).at("list", downloads)? {
        let path = entry.at("list", downloads)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_wanted = version_of(name).is_some_and(|version| is_version(wanted, version));
        if tree::has_extension(&path, extension) && is_wanted {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Moves complete files into place, the one that marks a download as finished last.
fn publish(partial: &Path, downloads: &Path) -> Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(partial).at("list", partial)? {
        files.push(entry.at("list", partial)?.path());
    }
    files.sort_by_key(|path| tree::has_extension(path, "dsc"));
    for path in files {
        if let Some(name) = path.file_name() {
            fs::rename(&path, downloads.join(name)).at("rename", &path)?;
        }
    }
    tree::remove(partial)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipes::{GCC_11, GCC_12};

    #[test]
    fn versions_are_read_from_names() {
        let table = [
            ("gcc-11-source_11.3.0-12_all.deb", Some("11.3.0-12")),
            ("tcc_0.9.27+git20200814.62c30a4a-1.dsc", Some("0.9.27+git20200814.62c30a4a-1")),
            ("tcc_0.9.27.orig.tar.bz2", None),
            ("noise", None),
        ];
        for (name, expected) in table {
            assert_eq!(version_of(name), expected, "{name}");
        }
    }

    #[test]
    fn other_versions_are_refused() {
        let uris =
            |version: &str| format!("'http://a.test/x.deb' gcc-11-source_{version}_all.deb 1 SHA256:0\n");
        check_version(Wanted::source_of(&GCC_11), &uris("11.3.0-12")).unwrap();
        for version in ["11.4.0-1", "11.3.01-1", "11.3.0.1-1"] {
            let error = check_version(Wanted::source_of(&GCC_11), &uris(version)).unwrap_err();
            assert!(matches!(error, Error::WrongVersion { found, .. } if found == version));
        }
        assert!(check_version(Wanted::source_of(&GCC_11), "").is_err());
    }

    #[test]
    fn finished_downloads_are_found() {
        let downloads = tempfile::tempdir().unwrap();
        assert_eq!(present(downloads.path(), Wanted::source_of(&GCC_12)).unwrap(), None);
        fs::write(downloads.path().join("gcc-12-source_12.1.0-1_all.deb"), "").unwrap();
        assert_eq!(present(downloads.path(), Wanted::source_of(&GCC_12)).unwrap(), None);
        let wanted = downloads.path().join("gcc-12-source_12.2.0-14+deb12u1_all.deb");
        fs::write(&wanted, "").unwrap();
        assert_eq!(present(downloads.path(), Wanted::source_of(&GCC_12)).unwrap(), Some(wanted));
    }
}

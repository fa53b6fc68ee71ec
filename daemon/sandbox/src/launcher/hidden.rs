//! What a run does not see: keys, passwords and histories of its user, and what only root may read.

use crate::limits::SETTINGS_DEPTH;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Below the user's home directory.
const OF_HOME: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".config",
    ".password-store",
    ".local/share/keyrings",
    ".mozilla",
    ".thunderbird",
    ".netrc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".viminfo",
    ".lesshst",
];
/// Names of files in the home directory that end so are histories.
const HISTORY: &[u8] = b"_history";
/// Settings of the machine, some of which only root may read.
const SETTINGS: &str = "/etc";
/// Others may read a file; others may enter a directory.
const READABLE: u32 = 0o004;
const ENTERABLE: u32 = 0o005;

/// A path that is not to be seen, and what is to be seen below it all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden {
    /// The path.
    pub path: PathBuf,
    /// Is it a directory?
    pub is_directory: bool,
    /// Paths below it, which exist.
    pub kept: Vec<PathBuf>,
}

impl Hidden {
    /// A directory of which nothing is to be seen.
    pub fn directory(path: PathBuf) -> Self {
        Self { path, is_directory: true, kept: Vec::new() }
    }
}

/// Finds what is to be hidden: secrets and `also`, but nothing that is `shown`, and of what is `named` only what is around it.
pub fn find(also: &[PathBuf], shown: &[PathBuf], named: &[PathBuf], is_root: bool) -> Vec<Hidden> {
    let mut paths = also.to_vec();
    if let Some(home) = std::env::home_dir().filter(|home| home.parent().is_some()) {
        paths.extend(OF_HOME.iter().map(|name| home.join(name)));
        let entries = fs::read_dir(&home).into_iter().flatten().filter_map(Result::ok);
        let histories = entries.filter(|entry| entry.file_name().as_bytes().ends_with(HISTORY));
        paths.extend(histories.map(|entry| entry.path()));
    }
    if is_root {
        root_only(Path::new(SETTINGS), SETTINGS_DEPTH, &mut paths);
    }
    let real = |paths: &[PathBuf]| -> Vec<PathBuf> {
        paths.iter().filter_map(|path| path.canonicalize().ok()).collect()
    };
    choose(&real(&paths), &real(shown), &real(named), |path| path.is_dir())
}

fn choose(
    paths: &[PathBuf],
    shown: &[PathBuf],
    named: &[PathBuf],
    is_directory: impl Fn(&Path) -> bool,
) -> Vec<Hidden> {
    let mut paths = paths.to_vec();
    paths.sort();
    paths.dedup();
    // What is below another hidden path is hidden with it.
    paths.dedup_by(|later, earlier| later.starts_with(earlier));
    paths.retain(|path| !shown.iter().any(|shown| path.starts_with(shown)) && !named.contains(path));
    let hidden = |path: PathBuf| {
        let below = |kept: &&PathBuf| kept.starts_with(&path);
        let mut kept: Vec<PathBuf> = shown.iter().chain(named).filter(below).cloned().collect();
        kept.sort();
        kept.dedup_by(|later, earlier| later.starts_with(earlier));
        Hidden { is_directory: is_directory(&path), path, kept }
    };
    paths.into_iter().map(hidden).collect()
}

/// Files and directories that others than root can neither read nor enter.
fn root_only(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok) {
        let Ok(kind) = entry.file_type() else { continue };
        let Ok(data) = entry.metadata() else { continue };
        let mode = data.permissions().mode();
        if kind.is_symlink() {
            continue;
        }
        let wanted = if kind.is_dir() { ENTERABLE } else { READABLE };
        if mode & wanted != wanted {
            found.push(entry.path());
        } else if kind.is_dir() && depth > 1 {
            root_only(&entry.path(), depth - 1, found);
        }
    }
}

/// The paths that arguments name: whole, after an `=`, an `@`, or an option's two characters.
pub fn named(directory: &Path, arguments: &[impl AsRef<OsStr>]) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for argument in arguments {
        let bytes = argument.as_ref().as_bytes();
        let after_sign = bytes.iter().position(|&byte| byte == b'=').map(|sign| &bytes[sign + 1..]);
        let option = bytes.strip_prefix(b"-").and_then(|rest| rest.get(1..));
        let parts = [Some(bytes), after_sign, bytes.strip_prefix(b"@"), option];
        let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
        paths.extend(parts.map(|part| directory.join(OsStr::from_bytes(part))));
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(list: &[&str]) -> Vec<PathBuf> {
        list.iter().map(PathBuf::from).collect()
    }

    /// What is hidden, each with what is kept below it.
    fn chosen(shown: &[&str], named: &[&str]) -> Vec<(String, Vec<PathBuf>)> {
        let secrets = paths(&["/h/.ssh", "/h/.config", "/h/.config/gh", "/h/.netrc"]);
        let hidden = choose(&secrets, &paths(shown), &paths(named), |path| !path.ends_with(".netrc"));
        hidden.into_iter().map(|hidden| (hidden.path.display().to_string(), hidden.kept)).collect()
    }

    #[test]
    fn what_is_shown_or_named_stays() {
        let all = |list: &[&str]| list.iter().map(|path| (path.to_string(), Vec::new())).collect::<Vec<_>>();
        assert_eq!(chosen(&[], &["/h", "/h/a.c"]), all(&["/h/.config", "/h/.netrc", "/h/.ssh"]));
        assert_eq!(chosen(&["/h"], &[]), all(&[]));
        assert_eq!(chosen(&["/h/.config"], &["/h/.netrc"]), all(&["/h/.ssh"]));
        let around = chosen(&[], &["/h/.config/a/b", "/h/.config/a"]);
        assert_eq!(around[0], ("/h/.config".to_owned(), paths(&["/h/.config/a"])));
    }

    #[test]
    fn arguments_name_paths_in_several_ways() {
        let arguments = ["-I/inc", "x.c", "--sysroot=/root", "@list", "-o"];
        let named = named(Path::new("/d"), &arguments);
        for path in ["/inc", "/d/x.c", "/root", "/d/list"] {
            assert!(named.contains(&PathBuf::from(path)), "{path}: {named:?}");
        }
    }
}

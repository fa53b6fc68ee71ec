//! Which directories become areas: all that no other file system is mounted below.
//!
//! An overlay shows one mount only. A directory with mounts below it is gone through (a spine), and what lies in it becomes
//! areas one by one; where that leads to nothing that the order names, the directory is hidden instead, so that whatever is
//! in it cannot be written to.

use crate::limits::AREAS;
use std::path::{Path, PathBuf};

/// The machine's own. Where file systems are mounted below them and the order names nothing there, they stay as they are: every
/// program starts by reading there.
const SYSTEM: &[&str] = &["/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/usr"];
/// They are made anew in the sandbox, or have nothing that could be written.
const OWN: &[&str] = &["/dev", "/proc", "/sys"];
/// Directories below the root are gone through whatever is in them.
const SPINE_DEPTH: usize = 1;
/// It is gone through although it may have no mounts: `/var/tmp` is for everybody, and an ordinary user cannot have a copy of
/// a directory of root's, as which a part of an area appears in it.
const SHARED: &[&str] = &["/var"];

/// Is a directory the machine's own? Then it cannot be hidden.
pub fn is_systems(directory: &Path) -> bool {
    SYSTEM.iter().any(|name| directory == Path::new(name))
}

/// What becomes of directories.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// They become areas.
    pub areas: Vec<PathBuf>,
    /// They have mounts below them: what lies directly in them cannot be written.
    pub spines: Vec<PathBuf>,
    /// They are hidden.
    pub hidden: Vec<PathBuf>,
}

/// Plans, given where file systems are mounted, what the order names, and a way to list the directories in a directory.
pub fn plan(mounts: &[PathBuf], wanted: &[PathBuf], list: &dyn Fn(&Path) -> Vec<PathBuf>) -> Plan {
    let mut planner = Planner { mounts, wanted, list, plan: Plan::default() };
    planner.go_through(Path::new("/"), 0);
    planner.plan
}

struct Planner<'p> {
    mounts: &'p [PathBuf],
    wanted: &'p [PathBuf],
    list: &'p dyn Fn(&Path) -> Vec<PathBuf>,
    plan: Plan,
}

impl Planner<'_> {
    fn go_through(&mut self, directory: &Path, depth: usize) {
        self.plan.spines.push(directory.to_owned());
        for path in (self.list)(directory) {
            let is_one_of = |names: &[&str]| names.iter().any(|name| path == Path::new(name));
            let leads_to = |paths: &[PathBuf]| paths.iter().any(|other| other.starts_with(&path));
            let has_mounts = is_one_of(SHARED)
                || self.mounts.iter().any(|mount| *mount != path && mount.starts_with(&path));
            let stays = is_systems(&path) && has_mounts && !leads_to(self.wanted);
            if is_one_of(OWN) || stays {
                continue;
            }
            if !has_mounts && (self.plan.areas.len() < AREAS || leads_to(self.wanted)) {
                self.plan.areas.push(path);
            } else if has_mounts && (depth < SPINE_DEPTH || leads_to(self.wanted)) {
                self.go_through(&path, depth + 1);
            } else if !is_systems(&path) {
                self.plan.hidden.push(path);
            }
        }
    }
}

/// The places of mounts, as `/proc/self/mountinfo` lists them.
pub fn mounts(table: &[u8]) -> Vec<PathBuf> {
    let place = |line: &[u8]| line.split(|&byte| byte == b' ').nth(4).map(unescape);
    table.split(|&byte| byte == b'\n').filter_map(place).collect()
}

/// Spaces and the like are written as a backslash and three octal digits.
fn unescape(text: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| first == b'\\').and_then(|digits| {
            digits.iter().try_fold(0_u32, |sum, digit| Some(sum * 8 + char::from(*digit).to_digit(8)?))
        });
        match code.and_then(|code| u8::try_from(code).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    std::ffi::OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(list: &[&str]) -> Vec<PathBuf> {
        list.iter().map(PathBuf::from).collect()
    }

    /// Plans for a tree of directories.
    fn planned(tree: &[&str], mounts: &[&str], wanted: &[&str]) -> Plan {
        let tree = paths(tree);
        let list = |directory: &Path| -> Vec<PathBuf> {
            tree.iter().filter(|path| path.parent() == Some(directory)).cloned().collect()
        };
        plan(&paths(mounts), &paths(wanted), &list)
    }

    #[test]
    fn directories_without_mounts_are_areas() {
        let tree = ["/tmp", "/home", "/usr", "/proc", "/dev"];
        let found = planned(&tree, &["/", "/proc", "/dev", "/dev/pts", "/home"], &["/home/me"]);
        let areas = paths(&["/tmp", "/home", "/usr"]);
        assert_eq!(found, Plan { areas, spines: paths(&["/"]), hidden: Vec::new() });
    }

    #[test]
    fn the_machines_own_are_left_where_mounts_are_below_them() {
        let tree = ["/etc", "/etc/alternatives", "/usr", "/usr/lib", "/usr/src"];
        let mounts = ["/", "/etc/hosts", "/usr/src"];
        let left = planned(&tree, &mounts, &[]);
        assert_eq!(left, Plan { spines: paths(&["/"]), ..Plan::default() });
        let named = planned(&tree, &mounts, &["/usr/lib/x"]);
        assert_eq!(named.areas, paths(&["/usr/lib", "/usr/src"]));
        assert_eq!(named.spines, paths(&["/", "/usr"]));
    }

    #[test]
    fn what_has_mounts_below_is_gone_through_or_hidden() {
        let tree = ["/run", "/run/user", "/run/user/1", "/run/lock", "/run/user/1/work"];
        let mounts = ["/", "/run", "/run/lock", "/run/user/1", "/run/user/1/doc"];
        let found = planned(&tree, &mounts, &[]);
        let expected = Plan {
            areas: paths(&["/run/lock"]),
            spines: paths(&["/", "/run"]),
            hidden: paths(&["/run/user"]),
        };
        assert_eq!(found, expected);
        let found = planned(&tree, &mounts, &["/run/user/1/work"]);
        assert_eq!(found.areas, paths(&["/run/user/1/work", "/run/lock"]));
        assert_eq!(found.spines, paths(&["/", "/run", "/run/user", "/run/user/1"]));
    }

    #[test]
    fn there_are_only_so_many_areas() {
        let tree: Vec<String> = (0..AREAS + 10).map(|number| format!("/d{number:04}")).collect();
        let tree: Vec<&str> = tree.iter().map(String::as_str).collect();
        let last = tree[tree.len() - 1];
        let found = planned(&tree, &["/"], &[last]);
        assert_eq!(found.areas.len(), AREAS + 1);
        assert_eq!(found.areas.last(), Some(&PathBuf::from(last)));
        assert_eq!(found.hidden.len(), 9);
    }

    #[test]
    fn the_table_of_mounts_is_read() {
        let table = b"22 27 0:21 / /proc rw - proc proc rw\n30 27 8:1 / /a\\040b\\134c rw - ext4 /dev/x rw\n";
        assert_eq!(mounts(table), paths(&["/proc", "/a b\\c"]));
        assert_eq!(mounts(b""), Vec::<PathBuf>::new());
    }
}

//! `hearth run --write`: the files of a run that may be hostile come onto the host, and nothing else changes there.

use crate::{hearth, run};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// How `timeout` tells that a command hangs.
const EXIT_HANGS: i32 = 124;

/// A directory that runs begin in.
struct Host {
    directory: TempDir,
}

impl Host {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn mode(&self, name: &str) -> u32 {
        fs::symlink_metadata(self.path().join(name)).expect("it is there").mode() & 0o777
    }

    fn put(&self, name: &str, text: &str, mode: u32) {
        let path = self.path().join(name);
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("changed");
    }

    /// Runs a script of which the files are kept, and says what was said.
    fn writes(&self, script: &str) -> (Option<i32>, String) {
        let output = self.hearth(&["run", "/bin/sh", "--write", "--", "-c", script]);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn hearth(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=1", "20"]).arg(hearth()).args(arguments).current_dir(self.path());
        let output = run(command.env("HEARTH_CACHE", self.path().join("cache")));
        assert_ne!(output.status.code(), Some(EXIT_HANGS), "it hangs");
        output
    }

    /// Runs a script of which one file cannot be put in its place, whereas `other` can.
    fn fails(&self, script: &str) -> String {
        let (code, said) = self.writes(&format!("{script}; echo text > other"));
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("cannot write"), "{said}");
        assert_eq!(self.read("other"), "text\n", "{said}");
        said
    }
}

#[test]
fn a_fifo_is_neither_opened_nor_removed() {
    let host = Host::new();
    run(Command::new("mkfifo").arg(host.path().join("pipe")));
    let said = host.fails("rm pipe && echo text > pipe");
    assert!(said.contains("pipe: there is a FIFO in its place; remove it first"), "{said}");
    assert!(fs::symlink_metadata(host.path().join("pipe")).expect("it is there").file_type().is_fifo());
}

#[test]
fn a_directory_in_place_of_a_symbolic_link_does_not_lead_where_the_link_does() {
    let host = Host::new();
    fs::create_dir(host.path().join("keys")).expect("made");
    host.put("keys/authorized", "real", 0o644);
    symlink("keys", host.path().join("link")).expect("linked");
    let said = host
        .fails("rm link && mkdir -p link/deep && echo false > link/authorized && echo false > link/deep/new");
    assert_eq!(said.matches("link is a symbolic link, and not followed; remove it").count(), 2, "{said}");
    assert_eq!(host.read("keys/authorized"), "real");
    assert_eq!(fs::read_dir(host.path().join("keys")).expect("it is there").count(), 1);
    assert!(host.path().join("link").is_symlink());
}

#[test]
fn a_file_in_place_of_a_symbolic_link_does_not_change_where_the_link_leads() {
    let host = Host::new();
    host.put("real", "real", 0o644);
    for (link, target) in [("link", "real"), ("dangling", "nowhere")] {
        symlink(target, host.path().join(link)).expect("linked");
        let said = host.fails(&format!("rm {link} && echo false > {link}"));
        assert!(said.contains(&format!("{link}: there is a symbolic link in its place")), "{said}");
    }
    assert_eq!(host.read("real"), "real");
    assert!(!host.path().join("nowhere").exists());
}

#[test]
fn a_run_that_writes_through_a_symbolic_link_writes_where_it_leads() {
    let host = Host::new();
    fs::create_dir(host.path().join("real")).expect("made");
    symlink("real", host.path().join("link")).expect("linked");
    let (code, said) = host.writes("echo text > link/file");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(host.read("real/file"), "text\n");
}

#[test]
fn files_and_directories_in_each_others_places_stay() {
    let host = Host::new();
    fs::create_dir(host.path().join("directory")).expect("made");
    host.put("file", "real", 0o644);
    let said = host
        .fails("rmdir directory && echo text > directory; rm file && mkdir file && echo text > file/inner");
    assert!(said.contains("directory: there is a directory in its place; remove it first"), "{said}");
    assert!(said.contains("file is a file, and no directory; remove it first"), "{said}");
    assert!(host.path().join("directory").is_dir());
    assert_eq!(host.read("file"), "real");
}

#[test]
fn other_names_of_a_file_keep_what_they_have() {
    let host = Host::new();
    host.put("one", "real", 0o640);
    fs::hard_link(host.path().join("one"), host.path().join("other")).expect("linked");
    let (code, said) = host.writes("rm one && echo new > one");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!((host.read("one").as_str(), host.read("other").as_str()), ("new\n", "real"));
    assert_eq!((host.mode("one"), host.mode("other")), (0o640, 0o640));
    let names = fs::read_dir(host.path())
        .expect("it is there")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    assert!(!names.into_iter().any(|name| name.starts_with(".hearth")), "a temporary file is left");
}

#[test]
fn new_files_have_the_permissions_that_the_run_gave_them() {
    let host = Host::new();
    let (code, said) = host.writes(
        "umask 077; echo text > secret; echo text > fixed; chmod 400 fixed; echo exit 3 > program; chmod 700 program",
    );
    assert_eq!(code, Some(0), "{said}");
    for (name, mode) in [("secret", 0o600), ("fixed", 0o400), ("program", 0o700)] {
        assert_eq!(host.mode(name), mode, "{name}");
    }
    assert_eq!(host.read("fixed"), "text\n");
}

#[test]
fn old_files_keep_their_permissions_and_can_become_executable() {
    let host = Host::new();
    for (name, mode) in [("secret", 0o600), ("shorter", 0o640), ("program", 0o755), ("new", 0o640)] {
        host.put(name, "what was there before", mode);
    }
    let (code, said) = host.writes(
        "for f in secret shorter program new; do rm $f; echo text > $f; chmod 644 $f; done; chmod 755 new",
    );
    assert_eq!(code, Some(0), "{said}");
    for (name, mode) in [("secret", 0o600), ("shorter", 0o640), ("program", 0o755), ("new", 0o750)] {
        assert_eq!((host.read(name).as_str(), host.mode(name)), ("text\n", mode), "{name}");
    }
}

#[test]
fn new_directories_are_made() {
    let host = Host::new();
    let (code, said) = host.writes("mkdir -p a/b/c && echo one > a/b/c/one && echo two > a/two");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!((host.read("a/b/c/one").as_str(), host.read("a/two").as_str()), ("one\n", "two\n"));
}

/// Names that a run chooses could look like what Hearth says, or be orders to the terminal.
#[test]
fn names_are_shown_on_one_line_and_without_control_characters() {
    let host = Host::new();
    symlink("nowhere", host.path().join("link\nhearth: forged")).expect("linked");
    let said = host.fails(
        "n=$(printf '\\nhearth: forged\\033[2J'); echo text > \"made$n\"; ln -s x \"unkept$n\"; \
         l=$(printf 'link\\nhearth: forged'); rm \"$l\" && echo text > \"$l\"",
    );
    for name in ["made", "unkept"] {
        assert!(said.contains(&format!("{name}\\nhearth: forged\\u{{1b}}[2J")), "{said}");
    }
    assert!(said.contains("link\\nhearth: forged: there is a symbolic link in its place"), "{said}");
    assert!(!said.contains('\x1b') && !said.lines().any(|line| line.starts_with("hearth: forged")), "{said}");
}

/// Only root can write there.
mod as_root {
    use super::*;

    #[test]
    #[ignore = "needs root: tools/test runs it as root"]
    fn what_is_the_machines_own_is_written_only_where_it_is_named() {
        let host = Host::new();
        let systems = tempfile::tempdir_in("/usr/local").expect("a temporary directory");
        let file = systems.path().join("file");
        fs::write(&file, "old\n").expect("written");
        let (code, said) = host.writes(&format!("echo new > {}", file.display()));
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "old\n", "{said}");
        assert!(said.contains("it is the machine's own") && said.contains("run in /usr"), "{code:?} {said}");
        let path = file.to_str().expect("text");
        let named = host.hearth(&["run", "/bin/sh", "--write", "--", "-c", "echo new > \"$0\"", path]);
        assert!(named.status.success(), "{named:?}");
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "new\n");
    }
}

/// A file that a run has only touched is not written: somebody may have it mapped.
#[test]
fn a_file_that_is_as_it_was_is_left_alone() {
    let host = Host::new();
    host.put("file", "same\n", 0o644);
    let before = fs::metadata(host.path().join("file")).expect("it is there");
    let (code, said) = host.writes("echo same > file");
    let after = fs::metadata(host.path().join("file")).expect("it is there");
    assert_eq!(code, Some(0), "{said}");
    let seen = |data: &fs::Metadata| (data.ino(), data.mtime(), data.mtime_nsec(), data.ctime_nsec());
    assert_eq!(seen(&before), seen(&after));
}

//! What holds for root holds for an ordinary user, too. Only root can be another user.

use crate::{hearth, project, run};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

/// A user without any rights.
const NOBODY: u32 = 65534;
/// Another ordinary user.
const SOMEBODY: u32 = 12345;
/// The tests of this binary that are run again.
const TESTS: &[&str] = &[
    "misbehaving::every_way_has_its_outcome_and_leaves_nothing",
    "misbehaving::processes_are_limited_to_what_was_asked_for",
    "misbehaving::reserved_address_space_costs_nothing",
];

/// The kernel mounts no `/proc` where parts of the one that is there are covered.
#[test]
#[ignore = "needs root: tools/test runs it as root"]
fn a_machine_without_a_proc_of_its_own_is_told_of() {
    super::check_lack(&["--mount"], "mount -t tmpfs none /proc/irq", "a /proc of its own");
}

/// Runs the tests of misbehaving programs as another user, with secrets at home, on copies that this user can read.
#[test]
#[ignore = "needs root: tools/test runs it as root"]
fn misbehaving_programs_of_an_ordinary_user() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let directory = scratch.path();
    let programs = directory.join("tests/programs/misbehaving");
    fs::create_dir_all(&programs).expect("a directory");
    let own = std::env::current_exe().expect("this program");
    let source = project().join("tests/programs/misbehaving/misbehave.c");
    for (from, to) in [
        (own.as_path(), directory.join("tests/it")),
        (&hearth(), directory.join("hearth")),
        (&source, programs.join("misbehave.c")),
    ] {
        fs::copy(from, to).expect("copied");
    }
    let home = directory.join("home");
    for secret in [".ssh/key", ".config/token", ".netrc", ".shell_history"] {
        let path = home.join(secret);
        fs::create_dir_all(path.parent().expect("it is below home")).expect("a directory");
        fs::write(path, "secret\n").expect("written");
    }
    give_away(directory, NOBODY);
    let mut command = Command::new("setpriv");
    let user = NOBODY.to_string();
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    let output = run(command
        .arg(directory.join("tests/it"))
        .args(["--exact", "--test-threads", "1"])
        .args(TESTS)
        .current_dir(directory)
        .env("HOME", &home)
        .env("TMPDIR", directory)
        .env(crate::PROGRAM_VARIABLE, directory.join("hearth"))
        .env(crate::PROJECT_VARIABLE, directory));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(&format!("{} passed; 0 failed", TESTS.len())), "{text}");
}

fn give_away(path: &Path, user: u32) {
    chown(path, Some(user), Some(user)).expect("given away");
    if path.is_dir() {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
        for entry in fs::read_dir(path).expect("a directory") {
            give_away(&entry.expect("an entry").path(), user);
        }
    }
}

/// All processes of a run see what it writes, also in a directory below one that is root's.
#[test]
#[ignore = "needs root: tools/test runs it as root"]
fn a_directory_below_one_of_root_is_written_to() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let (above, own) = (scratch.path().join("above"), scratch.path().join("above/own"));
    fs::create_dir_all(&own).expect("a directory");
    for (path, mode) in [(scratch.path(), 0o755), (&above, 0o755)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    }
    fs::write(above.join("there"), "there\n").expect("written");
    fs::copy(hearth(), own.join("hearth")).expect("copied");
    // To an ordinary user's namespace, root is the user without any rights; so this is another one.
    give_away(&own, SOMEBODY);
    let script = "mkdir d && echo made > d/f && cat d/f ../there && ls .. && echo x 2>/dev/null > ../not || echo refused";
    let user = SOMEBODY.to_string();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    let output = run(command
        .arg(own.join("hearth"))
        .args(["run", "/bin/sh", "--quiet", "--", "-c", script])
        .current_dir(&own)
        .env("HOME", &own)
        .env("HEARTH_RUNTIME_DIR", own.join("run")));
    let (said, complaint) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(said, "made\nthere\nown\nthere\nrefused\n", "{complaint}");
    assert!(!own.join("d").exists());
}

/// Every program starts by reading `/etc` and `/usr`; a FIFO there leads no run to whoever reads it, root's or not.
#[test]
#[ignore = "needs root: tools/test runs it as root"]
fn a_fifo_among_the_systems_files_leads_nowhere() {
    for place in ["/etc", "/usr/local"] {
        let directory = tempfile::tempdir_in(place).expect("a temporary directory");
        let fifo = directory.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).expect("a FIFO");
        for (path, mode) in [(directory.path(), 0o755), (&fifo, 0o666)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
        }
        let mut reader =
            fs::File::options().read(true).custom_flags(libc::O_NONBLOCK).open(&fifo).expect("opened");
        let own = tempfile::tempdir().expect("a temporary directory");
        fs::copy(hearth(), own.path().join("hearth")).expect("copied");
        give_away(own.path(), SOMEBODY);
        for user in [0, SOMEBODY] {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", &user.to_string(), "--clear-groups"]);
            let script = format!("echo x 1<>{} && echo said", fifo.display());
            let output = run(command
                .arg(own.path().join("hearth"))
                .args(["run", "/bin/sh", "--quiet", "--", "-c", &script])
                .current_dir(own.path())
                .env("HOME", own.path())
                .env("HEARTH_RUNTIME_DIR", own.path().join("run")));
            assert_eq!(String::from_utf8_lossy(&output.stdout), "said\n", "{output:?}");
            assert_eq!(
                reader.read(&mut [0]).unwrap_or(0),
                0,
                "user {user} has written to {}",
                fifo.display()
            );
        }
    }
}

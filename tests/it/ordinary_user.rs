//! Ordinary users have what root has, and what a machine lacks is named.

mod as_root;

use crate::{hearth, run};
use std::process::Command;

/// Where something cannot be had that is said, and nothing is run unless the user asks for it. `change` takes it away,
/// in namespaces of its own.
fn check_lack(namespaces: &[&str], change: &str, lack: &str) {
    let run_there = |options: &str| {
        let script = format!("{change} && {} run {options} /bin/true", hearth().display());
        let mut command = Command::new("unshare");
        let output = run(command.args(namespaces).args(["sh", "-c", &script]));
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (ok, text) = run_there("");
    assert!(!ok && text.contains(&format!("it lacks: {lack}")) && text.contains("best-effort"), "{text}");
    let (ok, text) = run_there("--sandbox best-effort");
    assert!(ok && text.contains(&format!("missing: {lack}")), "{text}");
}

#[test]
fn a_machine_without_user_namespaces_is_told_of() {
    check_lack(
        &["--user", "--map-root-user"],
        "echo 0 > /proc/sys/user/max_user_namespaces",
        "user namespaces",
    );
}

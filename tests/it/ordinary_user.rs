//! Ordinary users have what root has, and what a machine lacks is named.

mod as_root;

use crate::{hearth, run};
use std::process::Command;

/// Where a namespace cannot be had that is said, and nothing is run unless the user asks for it.
#[test]
fn a_machine_without_user_namespaces_is_told_of() {
    let run_there = |options: &str| {
        let script = format!(
            "echo 0 > /proc/sys/user/max_user_namespaces && {} run {options} /bin/true",
            hearth().display()
        );
        let mut command = Command::new("unshare");
        let output = run(command.args(["--user", "--map-root-user", "sh", "-c", &script]));
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (ok, text) = run_there("");
    assert!(!ok && text.contains("it lacks: user namespaces") && text.contains("best-effort"), "{text}");
    let (ok, text) = run_there("--sandbox best-effort");
    assert!(ok && text.contains("missing: user namespaces"), "{text}");
}

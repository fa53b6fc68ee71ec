//! Who is served: programs in a sandbox that can reach the socket are not.

use crate::daemon::{Daemon, daemon_command, first_line};
use crate::service::{hearthd, is_root, scratch};
use crate::{run, run_ok};
use hearth_client::Ask;
use hearth_client::protocol::Address;
use hearth_client::protocol::{Encoding, FailureKind, Welcome};
use std::fs::{self, File};
use std::process::Command;

/// Connects, says nothing, prints what it is greeted with, and how much comes after it.
const STRANGER: &str = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n\
    s.settimeout(5)\nprint(s.recv(10000)[4:].decode())\nprint(len(s.recv(1)))\n";

/// A daemon whose log can be read.
fn start_with_log(directory: &std::path::Path) -> Daemon {
    let log = File::create(directory.join("log")).expect("a log");
    let mut process = daemon_command(&hearthd(), directory).stderr(log).spawn().expect("hearthd starts");
    assert_eq!(first_line(&mut process), "ready");
    Daemon { address: Address::at(directory.to_owned()), process }
}

#[test]
fn a_client_in_another_namespace_is_refused() {
    let directory = scratch();
    let daemon = start_with_log(directory.path());
    let as_root: [(&str, &[&str]); 2] =
        [("process", &["--pid", "--fork"]), ("process", &["--pid", "--fork", "--mount-proc"])];
    let as_anybody: [(&str, &[&str]); 2] = [
        ("process", &["--user", "--map-current-user", "--pid", "--fork"]),
        ("user", &["--user", "--map-current-user"]),
    ];
    let mut tried = 0;
    let as_root = as_root.iter().filter(|_| is_root());
    for (namespace, options) in as_root.chain(&as_anybody) {
        if !run(Command::new("unshare").args(*options).arg("true")).status.success() {
            eprintln!("this machine does not let us: unshare {options:?}");
            continue;
        }
        tried += 1;
        let output = run_ok(
            Command::new("unshare")
                .args(*options)
                .args(["python3", "-c", STRANGER])
                .arg(daemon.address.socket()),
        );
        let (welcome, rest) = output.split_once('\n').expect("two lines");
        let welcome: Welcome = serde_json::from_str(welcome).expect("a welcome");
        let refused = welcome.refused.unwrap_or_else(|| panic!("served with {options:?}"));
        assert_eq!(refused.kind, FailureKind::Foreign);
        let part = format!("another {namespace} namespace");
        assert!(refused.message.contains(&part), "{}", refused.message);
        assert_eq!(rest.trim(), "0", "and it closes");
    }
    assert!(tried > 0, "nothing could be tried");
    // Whoever is in the daemon's own namespaces is served, before and after.
    daemon.connect(Encoding::Json).call(Ask::Status {}).expect("it answers");
    let log = fs::read_to_string(directory.path().join("log")).expect("its log");
    assert_eq!(log.matches("refused a client").count(), tried, "{log}");
}

/// The client's own library tells why, even if the daemon has closed before hello is said.
#[test]
fn a_refused_client_learns_why() {
    let directory = scratch();
    let daemon = start_with_log(directory.path());
    for _ in 0..10 {
        let output = run(Command::new("unshare")
            .args(["--user", "--map-current-user", "--pid", "--fork"])
            .arg(crate::hearth())
            .arg("status")
            .env("HEARTH_RUNTIME_DIR", daemon.address.directory()));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("another process namespace"), "{said}");
    }
}

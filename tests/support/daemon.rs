//! A daemon in a directory of its own, and the processes below it.

use hearth_client::Connection;
use hearth_client::protocol::Address;
use hearth_client::protocol::Encoding;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A daemon, which ends when this is dropped.
pub struct Daemon {
    pub address: Address,
    pub process: Child,
}

/// The command that starts a daemon in a directory.
pub fn daemon_command(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .arg("--directory")
        .arg(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// The line that a daemon says when it is started.
pub fn first_line(process: &mut Child) -> String {
    let mut line = String::new();
    let output = process.stdout.take().expect("its output is piped");
    BufReader::new(output).read_line(&mut line).expect("it can be read");
    line.trim().to_owned()
}

impl Daemon {
    /// Starts one, with arguments besides.
    pub fn start(program: &Path, directory: &Path, arguments: &[&str]) -> Self {
        let mut command = daemon_command(program, directory);
        let mut process = command.args(arguments).spawn().expect("hearthd starts");
        assert_eq!(first_line(&mut process), "ready");
        Self { address: Address::at(directory.to_owned()), process }
    }

    /// A client of it.
    pub fn connect(&self, encoding: Encoding) -> Connection {
        Connection::open_running(&self.address, encoding).expect("it greets").expect("it listens")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// All processes below one.
pub fn descendants(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut left = vec![pid];
    while let Some(pid) = left.pop() {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().filter_map(Result::ok);
        for task in tasks {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let children = children.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok());
            for child in children {
                found.push(child);
                left.push(child);
            }
        }
    }
    found
}

/// Is a process there, and not only its remains?
pub fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    state.is_some_and(|state| !"ZX".contains(state))
}

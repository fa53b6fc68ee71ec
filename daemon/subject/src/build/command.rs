//! Running the tools of a build: output into the log, death with Hearth, a limit on time.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::{AtPath, Error, Result};

/// Between two looks at a running command.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The first look comes sooner: most commands are short.
const FIRST_POLL_INTERVAL: Duration = Duration::from_millis(4);
/// The most that is read from the log at one look.
const LOG_CHUNK_BYTES: usize = 1 << 20;

/// Variables that would change what is compiled, or how make runs.
const REMOVED_VARIABLES: [&str; 14] = [
    "MAKEFLAGS",
    "MFLAGS",
    "MAKELEVEL",
    "MAKEFILES",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "BOOT_CFLAGS",
    "CONFIG_SITE",
    "GCC_EXEC_PREFIX",
    "COMPILER_PATH",
    "GCOV_PREFIX_STRIP",
    "CDPATH",
];

/// Runs its arguments and passes the order to stop on to everything they started: make alone would leave the makes it
/// runs through a shell behind.
const GROUP_LEADER: &str = r#"trap 'trap - TERM; kill -TERM 0' TERM; "$@" & wait $!"#;

/// A command that dies with Hearth, children included, with the environment a build is to have.
pub(crate) fn tool(program: impl AsRef<OsStr>) -> Command {
    let mut command = if dies_with_parent() {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "--", "sh", "-c", GROUP_LEADER, "sh"]).arg(program);
        // A group of its own, so that the order reaches all of it and nobody else.
        command.process_group(0);
        command
    } else {
        Command::new(program)
    };
    for variable in REMOVED_VARIABLES {
        command.env_remove(variable);
    }
    // CC and CXX: only GCC keeps the list of counters that Hearth reads.
    command.env("LC_ALL", "C").env("CC", "gcc").env("CXX", "g++").stdin(Stdio::null());
    command
}

/// Runs a command with its output appended to `log`. `watch` gets that output as it grows, or nothing, regularly.
pub(crate) fn run(
    command: &mut Command,
    log: &Path,
    limit: Duration,
    watch: &mut dyn FnMut(&[u8]),
) -> Result<()> {
    let mut output = OpenOptions::new().append(true).create(true).open(log).at("open", log)?;
    let name = display_name(command);
    let arguments: Vec<_> = wrapped(command).skip(1).map(|argument| argument.to_string_lossy()).collect();
    writeln!(output, "+ {name} {}", arguments.join(" ")).at("write", log)?;
    let mut reader = File::open(log).at("open", log)?;
    reader.seek(SeekFrom::End(0)).at("read", log)?;
    command.stdout(output.try_clone().at("open", log)?).stderr(output);
    let mut child = command.spawn().at("run", Path::new(&name))?;
    let status =
        wait(&mut child, limit, &mut || watch_growth(&mut reader, watch)).at("run", Path::new(&name))?;
    watch_growth(&mut reader, watch);
    match status {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(failed(name, status)),
        None => {
            let outcome = format!("did not finish within {} s", limit.as_secs());
            Err(Error::Command { command: name, outcome, signal: None })
        }
    }
}

/// Runs a short command and returns what it prints; standard error is dropped.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let name = display_name(command);
    let output = command.stderr(Stdio::null()).output().at("run", Path::new(&name))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(failed(name, output.status)),
    }
}

/// The program a command runs, without the wrapper and the arguments.
fn display_name(command: &Command) -> String {
    wrapped(command).next().unwrap_or(command.get_program()).to_string_lossy().into_owned()
}

/// The program and the arguments inside the wrapper; nothing where there is none.
fn wrapped(command: &Command) -> impl Iterator<Item = &OsStr> {
    command.get_args().skip_while(|argument| *argument != GROUP_LEADER).skip(2)
}

fn failed(command: String, status: ExitStatus) -> Error {
    // The shell in between reports a signal as 128 and its number.
    let relayed = status.code().filter(|code| (129..160).contains(code)).map(|code| code - 128);
    let signal = status.signal().or(relayed);
    let outcome = match (signal, status.code()) {
        (Some(signal), _) => format!("was ended by signal {signal}"),
        (None, Some(code)) => format!("ended with exit code {code}"),
        (None, None) => "ended in an unknown way".into(),
    };
    Error::Command { command, outcome, signal }
}

/// Waits for a child; `None` if it was ended for running too long.
fn wait(child: &mut Child, limit: Duration, tick: &mut dyn FnMut()) -> std::io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    let mut interval = FIRST_POLL_INTERVAL;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > limit {
            // TERM, not KILL: make then ends its own children.
            if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::TERM);
            }
            child.wait()?;
            return Ok(None);
        }
        tick();
        thread::sleep(interval);
        interval = (interval * 2).min(POLL_INTERVAL);
    }
}

fn watch_growth(reader: &mut File, watch: &mut dyn FnMut(&[u8])) {
    let mut grown = Vec::new();
    // Progress is a courtesy: a log that cannot be read back must not stop the build.
    let _ = reader.take(LOG_CHUNK_BYTES as u64).read_to_end(&mut grown);
    watch(&grown);
}

/// Whether this machine's setpriv can tie a child's life to its parent's.
fn dies_with_parent() -> bool {
    static PROBE: OnceLock<bool> = OnceLock::new();
    *PROBE.get_or_init(|| {
        let mut probe = Command::new("setpriv");
        probe.args(["--pdeathsig", "TERM", "--", "true"]).stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> (Result<()>, String) {
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut seen = Vec::new();
        let mut command = tool("sh");
        command.args(["-c", script]);
        let result = run(&mut command, log.path(), limit, &mut |grown| seen.extend_from_slice(grown));
        (result, String::from_utf8(seen).unwrap())
    }

    #[test]
    fn output_is_watched() {
        let (result, seen) = shell("echo one; sleep 0.05; echo two >&2", Duration::from_secs(10));
        result.unwrap();
        assert_eq!(seen, "one\ntwo\n");
    }

    #[test]
    fn failures_are_told_apart() {
        let table =
            [("exit 3", "ended with exit code 3", None), ("kill -9 $$", "was ended by signal 9", Some(9))];
        for (script, expected, expected_signal) in table {
            match shell(script, Duration::from_secs(10)).0 {
                Err(Error::Command { command, outcome, signal }) => {
                    assert_eq!(
                        (command.as_str(), outcome.as_str(), signal),
                        ("sh", expected, expected_signal)
                    );
                }
                other => panic!("{script}: {other:?}"),
            }
        }
    }

    #[test]
    fn grandchildren_die_too() {
        let (result, seen) = shell("sh -c 'echo $$; exec sleep 61' & wait", Duration::from_millis(300));
        assert!(result.is_err());
        let process = std::path::PathBuf::from(format!("/proc/{}", seen.trim()));
        let deadline = Instant::now() + Duration::from_secs(10);
        while process.exists() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
        assert!(!process.exists(), "{} is left behind", seen.trim());
    }

    #[test]
    fn endless_commands_are_ended() {
        let (result, _) = shell("exec sleep 60", Duration::from_millis(50));
        assert!(matches!(result, Err(Error::Command { outcome, .. }) if outcome.contains("did not finish")));
    }
}

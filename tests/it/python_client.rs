//! The Python client: its answers are typed, the end of a daemon has a name, and its README's example works.

use crate::daemon::Daemon;
use crate::{project, run_ok};
use hearth_client::protocol::Encoding;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn hearthd() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_hearthd"))
}

/// A directory that only this user can enter.
fn scratch() -> tempfile::TempDir {
    let permissions = fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().permissions(permissions).tempdir().expect("a temporary directory")
}

/// What a script says, which has the daemon's directory as its first argument.
fn python(script: &str, directory: &Path) -> String {
    run_ok(
        Command::new("python3")
            .env("PYTHONPATH", project().join("client/python"))
            .env("HEARTH_DAEMON", hearthd())
            .env("HEARTH_RUNTIME_DIR", directory)
            .args(["-W", "error", "-c", script])
            .arg(directory),
    )
}

#[test]
fn status_is_typed() {
    let directory = scratch();
    let daemon = Daemon::start(&hearthd(), directory.path(), &[]);
    let script = "import dataclasses, json, hearth\n\
        with hearth.connect() as h:\n    \
        h.run(hearth.Order('/bin/cat', ['{}']), 'text')\n    \
        status = h.status()\n\
        assert isinstance(status, hearth.Status), status\n\
        assert isinstance(status.zygotes[0], hearth.Zygote), status\n\
        assert isinstance(status.latencies[0], hearth.Latency), status\n\
        assert status.uptime_s >= 0 and status.latencies[0].p50_ms > 0, status\n\
        print(json.dumps(dataclasses.asdict(status)))\n";
    let told: Value = serde_json::from_str(&python(script, directory.path())).expect("JSON");
    let status = daemon.connect(Encoding::Json).status().expect("a status");
    let known = serde_json::to_value(&status).expect("JSON");
    for name in ["build", "pid", "cores", "kept_runs", "kept_limit_bytes"] {
        assert_eq!(told[name], known[name], "{name}");
    }
    for name in ["binary", "arguments", "warm"] {
        assert_eq!(told["zygotes"][0][name], known["zygotes"][0][name], "{name}");
    }
    assert_eq!(told["latencies"][0]["ask"], "run", "{told}");
    // What the daemon tells and the client leaves out is the version of its layout.
    let names = |value: &Value| value.as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>());
    let (mut all, told) = (names(&known).expect("an object"), names(&told).expect("an object"));
    all.retain(|name| name != "format");
    assert_eq!(told, all);
}

#[test]
fn the_end_of_a_daemon_has_a_name() {
    for end in ["hearth.connect().stop()", "os.kill(h.status().pid, signal.SIGKILL)"] {
        let directory = scratch();
        let script = format!(
            "import hearth, os, signal, sys, time\n\
             h = hearth.connect()\n\
             {end}\n\
             for _ in range(2):\n    \
               try:\n        \
                 deadline = time.time() + 20\n        \
                 while time.time() < deadline:\n            h.status()\n        \
                 sys.exit('it lives')\n    \
               except hearth.DaemonGone as error:\n        \
                 print(error)\n\
             h.close()\n\
             try:\n    h.status()\n\
             except hearth.DaemonGone:\n    sys.exit('it was closed here')\n\
             except hearth.HearthError as error:\n    print(error)\n\
             with hearth.connect() as h:\n    print(h.status().pid)\n    h.stop()\n"
        );
        let text = python(&script, directory.path());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        for line in &lines[..2] {
            for part in ["daemon.sock", "has ended", "connect again", "daemon.log"] {
                assert!(line.contains(part), "`{part}` is not in: {line}");
            }
        }
        assert!(lines[2].contains("closed"), "{text}");
        assert!(lines[3].parse::<u32>().is_ok(), "another one is started: {text}");
    }
    let directory = scratch();
    let missing = "import hearth\ntry:\n    hearth.connect(daemon='/no/hearthd')\n\
        except hearth.HearthError as error:\n    print(error)\n";
    let text = python(missing, directory.path());
    assert!(text.contains("/no/hearthd") && text.contains("HEARTH_DAEMON"), "{text}");
}

#[test]
fn the_readme_has_an_example_that_works() {
    let readme = fs::read_to_string(project().join("client/python/README.md")).expect("README.md");
    let example =
        readme.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let directory = scratch();
    let text = python(&format!("{example}\nhearth.connect().stop()\n"), directory.path());
    // What it prints is in the README, with lines left out. Numbers are the compiler's.
    let wordy = |line: &str| line.replace(|c: char| c.is_ascii_digit(), "").trim().to_owned();
    let shown =
        readme.split("It prints\n\n").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("its output");
    for line in shown.lines().filter(|line| line.trim() != "…") {
        assert!(text.lines().any(|own| wordy(own) == wordy(line)), "`{line}` is not in:\n{text}");
    }
}

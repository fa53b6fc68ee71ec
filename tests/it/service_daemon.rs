//! The daemon's life: who serves, what is left of a killed one, when it ends, and a socket that it is handed.

use crate::daemon::{Daemon, daemon_command, descendants, first_line, is_alive};
use crate::service::{hearthd, run, scratch, start, tcc};
use crate::{project, run_ok};
use hearth_client::Connection;
use hearth_client::protocol::{Address, Answer, Ask, Encoding, RunInput};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

fn wait_for_end(process: &mut Child, within: Duration) -> bool {
    let deadline = Instant::now() + within;
    while Instant::now() < deadline {
        if process.try_wait().expect("it is a child").is_some() {
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
    false
}

#[test]
fn of_many_daemons_one_serves_and_its_socket_is_never_taken() {
    let directory = scratch();
    let mut daemons: Vec<Child> =
        (0..50).map(|_| daemon_command(&hearthd(), directory.path()).spawn().expect("it starts")).collect();
    for daemon in &mut daemons {
        assert_eq!(first_line(daemon), "ready");
    }
    let address = Address::at(directory.path().to_owned());
    let mut hearth =
        Connection::open_running(&address, Encoding::Json).expect("it greets").expect("it listens");
    let Ok(Answer::Status(status)) = hearth.call(Ask::Status {}) else { panic!("no status") };
    let mut left = 0;
    for daemon in &mut daemons {
        if daemon.id() != status.pid {
            assert!(wait_for_end(daemon, Duration::from_secs(5)), "a daemon too many");
        } else {
            left += 1;
        }
    }
    assert_eq!(left, 1, "the one that answers was started here");
    // The connection is still that of the one that serves.
    assert!(matches!(hearth.call(Ask::Runs {}), Ok(Answer::Runs(_))));
    hearth.call(Ask::Stop {}).expect("it ends");
    for daemon in &mut daemons {
        assert!(wait_for_end(daemon, Duration::from_secs(12)));
    }
}

#[test]
fn a_killed_daemon_is_replaced_at_once_and_leaves_nothing() {
    let directory = scratch();
    for round in 0..5 {
        let mut daemon = start(directory.path(), &[]);
        let mut hearth = daemon.connect(Encoding::Bincode);
        run(&mut hearth, round);
        let under_way = thread::spawn(move || {
            let slow = "int main(void) { return 0; }\n".repeat(20_000);
            let _ = hearth.run(tcc(), RunInput { input: Some(slow.as_str().into()), ..RunInput::default() });
        });
        thread::sleep(Duration::from_millis(20));
        let mut family = descendants(daemon.process.id());
        assert!(family.len() >= 2, "the launcher and the zygote at least: {family:?}");
        daemon.process.kill().expect("it is killed");
        daemon.process.wait().expect("it has ended");
        let started = Instant::now();
        let next = start(directory.path(), &[]);
        let mut hearth = next.connect(Encoding::Bincode);
        hearth.call(Ask::Status {}).expect("it answers");
        let elapsed = started.elapsed();
        assert!(elapsed < Duration::from_secs(5), "{elapsed:?}");
        under_way.join().expect("the client has noticed");
        let deadline = Instant::now() + Duration::from_secs(5);
        while !family.is_empty() && Instant::now() < deadline {
            family.retain(|pid| is_alive(*pid));
            thread::sleep(Duration::from_millis(10));
        }
        assert!(family.is_empty(), "orphans: {family:?}");
    }
}

#[test]
fn an_idle_daemon_ends_but_not_under_a_client() {
    let directory = scratch();
    let mut daemon = start(directory.path(), &["--idle", "1"]);
    let mut hearth = daemon.connect(Encoding::Json);
    thread::sleep(Duration::from_secs(4));
    assert!(hearth.call(Ask::Status {}).is_ok(), "a session is open");
    drop(hearth);
    assert!(wait_for_end(&mut daemon.process, Duration::from_secs(10)));
    // The next client starts another one.
    starts_another(&daemon.address);
}

/// A client that finds no daemon starts one, as a program of its own would.
fn starts_another(address: &Address) {
    let output = run_ok(
        Command::new("python3")
            .env("PYTHONPATH", project().join("client/python"))
            .env("HEARTH_DAEMON", hearthd())
            .args([
                "-c",
                "import hearth, sys; h = hearth.connect(sys.argv[1]); print(h.status().pid); h.stop()",
            ])
            .arg(address.directory()),
    );
    assert!(output.trim().parse::<u32>().is_ok(), "{output}");
}

#[test]
fn a_socket_can_be_handed_over() {
    let directory = scratch();
    let socket = directory.path().join("daemon.sock");
    let script = "import os, socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\ns.listen(5)\n\
        os.dup2(s.fileno(), 3)\nos.set_inheritable(3, True)\nos.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))\n\
        os.execv(sys.argv[2], sys.argv[2:])\n";
    let mut process = Command::new("python3")
        .args(["-c", script])
        .arg(&socket)
        .arg(hearthd())
        .arg("--directory")
        .arg(directory.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("python starts");
    assert_eq!(first_line(&mut process), "ready");
    let daemon = Daemon { address: Address::at(directory.path().to_owned()), process };
    assert!(daemon.connect(Encoding::Json).call(Ask::Runs {}).is_ok());
}

//! Clients that misbehave, or are another user's: what they get, and that it costs others nothing.

use crate::run_ok;
use crate::service::{questions, run, scratch, start, tcc};
use hearth_client::Connection;
use hearth_client::protocol::{
    Address, Answer, Ask, Body, Encoding, FailureKind, Hello, Level, PROTOCOL, Reply, Request, RunInput,
    Welcome, decode, encode, frame,
};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};

/// A stream on which hello was said and answered.
pub fn greeted(address: &Address) -> UnixStream {
    let mut stream = UnixStream::connect(address.socket()).expect("it listens");
    send(&mut stream, &encode(Encoding::Json, &Hello::new(Encoding::Json)).expect("it can be written"));
    let welcome: Welcome =
        decode(Encoding::Json, &receive(&mut stream).expect("a greeting")).expect("a welcome");
    assert_eq!(welcome.refused, None);
    stream
}

pub fn send(stream: &mut UnixStream, payload: &[u8]) {
    stream.write_all(&frame(payload).expect("short enough")).expect("it is taken");
}

/// The next frame; `None` if the daemon closes.
pub fn receive(stream: &mut UnixStream) -> Option<Vec<u8>> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).ok()?;
    let mut payload = vec![0; u32::from_le_bytes(head) as usize];
    stream.read_exact(&mut payload).ok()?;
    Some(payload)
}

#[test]
fn clients_that_misbehave_are_dropped_and_cost_others_nothing() {
    let directory = scratch();
    let daemon = start(directory.path(), &[]);
    let address = &daemon.address;
    let mut good = daemon.connect(Encoding::Bincode);
    let kept = run(&mut good, 1);
    thread::scope(|scope| {
        for misbehave in [
            speaks_another_protocol,
            is_of_another_version,
            announces_what_never_comes,
            announces_too_much,
            asks_nonsense,
            sends_a_byte_a_second,
            goes_in_the_middle_of_a_run,
        ] {
            scope.spawn(move || misbehave(address));
        }
        scope.spawn(move || asks_and_never_reads(address, kept));
        is_answered_as_ever(&mut good, kept);
    });
    let Ok(Answer::Status(status)) = good.call(Ask::Status {}) else { panic!("no status") };
    assert_eq!((status.sessions, status.running, status.queued), (1, 0, 0));
}

/// A client is done with when the daemon has closed the connection.
fn is_dropped(mut stream: UnixStream, within_s: u64) {
    stream.set_read_timeout(Some(Duration::from_secs(within_s))).expect("a timeout");
    let ended = stream.read_to_end(&mut Vec::new());
    let is_closed = match ended {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    };
    assert!(is_closed, "not dropped");
}

fn speaks_another_protocol(address: &Address) {
    let mut stream = UnixStream::connect(address.socket()).expect("it listens");
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("it is taken");
    is_dropped(stream, 15);
}

fn is_of_another_version(address: &Address) {
    let mut stream = UnixStream::connect(address.socket()).expect("it listens");
    send(&mut stream, b"{\"magic\": \"hearth\", \"protocol\": 99, \"encoding\": \"json\"}");
    let answer = receive(&mut stream).expect("it says why");
    let welcome: Welcome = decode(Encoding::Json, &answer).expect("a welcome");
    let refused = welcome.refused.expect("it refuses");
    assert_eq!(refused.kind, FailureKind::Version);
    let versions = format!("protocol {PROTOCOL}, the client 99");
    assert!(refused.message.contains(&versions), "{}", refused.message);
    is_dropped(stream, 15);
}

/// Nothing is allocated for a length that is never filled, and it ends at its deadline.
fn announces_what_never_comes(address: &Address) {
    let mut stream = greeted(address);
    stream.write_all(&(60_u32 << 20).to_le_bytes()).expect("it is taken");
    is_dropped(stream, 30);
}

fn announces_too_much(address: &Address) {
    let mut stream = greeted(address);
    stream.write_all(&u32::MAX.to_le_bytes()).expect("it is taken");
    is_dropped(stream, 15);
}

fn asks_nonsense(address: &Address) {
    let mut stream = greeted(address);
    send(&mut stream, b"{\"id\": 1, \"ask\": {\"nonsense\": {}}}");
    let reply: Reply = decode(Encoding::Json, &receive(&mut stream).expect("why")).expect("a reply");
    assert!(matches!(reply.body, Body::Failed(failure)
        if failure.kind == FailureKind::Malformed && failure.message.contains("nonsense")));
    is_dropped(stream, 15);
}

fn sends_a_byte_a_second(address: &Address) {
    let mut stream = greeted(address);
    let request = frame(&encode(Encoding::Json, &Request { id: 1, ask: Ask::Runs {} }).expect("short"));
    for byte in request.expect("short") {
        if stream.write_all(&[byte]).is_err() {
            return;
        }
        thread::sleep(Duration::from_secs(1));
    }
    panic!("it was not dropped");
}

fn asks_and_never_reads(address: &Address, kept: u64) {
    let mut stream = greeted(address);
    let ask = Ask::Spectrum { run: kept.into(), level: Level::Lines, counts: true };
    let request = encode(Encoding::Json, &Request { id: 1, ask }).expect("short");
    stream.set_write_timeout(Some(Duration::from_secs(1))).expect("a timeout");
    let deadline = Instant::now() + Duration::from_secs(40);
    while Instant::now() < deadline {
        match stream.write_all(&frame(&request).expect("short")) {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return,
            _ => {}
        }
    }
    panic!("it was not dropped");
}

fn goes_in_the_middle_of_a_run(address: &Address) {
    for _ in 0..5 {
        let mut stream = greeted(address);
        let slow = "int f(int a) { return a; }\n".repeat(50);
        let input = RunInput { input: Some(slow.as_str().into()), ..RunInput::default() };
        let ask = Ask::Run { order: tcc(), input };
        send(&mut stream, &encode(Encoding::Json, &Request { id: 1, ask }).expect("short"));
        thread::sleep(Duration::from_millis(5));
    }
}

/// Asks the same questions again and again while others misbehave.
fn is_answered_as_ever(good: &mut Connection, kept: u64) {
    let expected = questions([kept; 3]).into_iter().map(|ask| good.call(ask).expect("an answer"));
    let expected: Vec<Answer> = expected.collect();
    let until = Instant::now() + Duration::from_secs(12);
    let mut number = 0;
    while Instant::now() < until {
        for (ask, expected) in questions([kept; 3]).into_iter().zip(&expected) {
            assert_eq!(&good.call(ask).expect("an answer"), expected);
        }
        number += 1;
        run(good, number);
    }
}

/// Only root can be another user.
mod as_root {
    use super::*;

    #[test]
    #[ignore = "needs root: tools/test runs it as root"]
    fn another_users_client_is_refused() {
        let directory = scratch();
        let daemon = start(directory.path(), &[]);
        // The directory keeps others out; were it open, the daemon would.
        for (path, mode) in [(directory.path().to_owned(), 0o755), (daemon.address.socket(), 0o666)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
        }
        let script = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n\
            s.settimeout(5)\nprint(s.recv(1000)[4:].decode())\nprint(len(s.recv(1)))\n";
        let output = run_ok(
            Command::new("python3")
                .args(["-c", script])
                .arg(daemon.address.socket())
                .current_dir("/")
                .uid(65534)
                .gid(65534),
        );
        let (welcome, rest) = output.split_once('\n').expect("two lines");
        let welcome: Welcome = serde_json::from_str(welcome).expect("a welcome");
        assert_eq!(welcome.refused.expect("it refuses").kind, FailureKind::Foreign);
        assert_eq!(rest.trim(), "0", "and closes without having read anything");
        // And a client does not trust a directory that others can enter.
        let error = Address::at(directory.path().to_owned()).prepare().expect_err("others can enter it");
        assert!(error.to_string().contains("HEARTH_RUNTIME_DIR"), "{error}");
    }
}

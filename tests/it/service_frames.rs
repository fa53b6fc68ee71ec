//! Frames of all clients together have a budget: the daemon's memory is bounded, and short ones get through.

use crate::service::{input, run, scratch, start, tcc};
use crate::service_clients::{greeted, receive, send};
use hearth_client::protocol::{
    Answer, Ask, Body, Encoding, FRAME_LIMIT, FailureKind, Order, Outcome, Reply, Request, RunInput, RunRef,
    decode, encode, frame,
};
use hearth_client::{Connection, Error};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use std::{fs, thread};

/// What a process has had in memory at the most, in MiB.
fn most_mib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it is alive");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux says so");
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().expect("a number") >> 10
}

fn request(id: u64, ask: Ask) -> Vec<u8> {
    encode(Encoding::Json, &Request { id, ask }).expect("it can be written")
}

/// A request that says nothing, of about this length.
fn long_request(length: usize) -> Vec<u8> {
    let name = "x".repeat(length);
    request(1, Ask::Name { run: RunRef::Id(1 << 40), name })
}

/// Sends a part of a frame slowly, until the stream is shut down or nobody takes it.
fn send_slowly(mut stream: UnixStream, bytes: &[u8]) {
    stream.set_write_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    for piece in bytes.chunks(4 << 20) {
        if stream.write_all(piece).is_err() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    let _ = stream.read(&mut [0]);
}

#[test]
fn long_requests_wait_for_room_while_short_ones_are_answered() {
    const CLIENTS: usize = 14;
    let directory = scratch();
    let daemon = start(directory.path(), &[]);
    let mut small = daemon.connect(Encoding::Json);
    run(&mut small, 1);
    let before = most_mib(daemon.process.id());
    let long = frame(&long_request(FRAME_LIMIT - 1000)).expect("it fits");
    thread::scope(|scope| {
        let streams: Vec<UnixStream> = (0..CLIENTS).map(|_| greeted(&daemon.address)).collect();
        for stream in &streams {
            let stream = stream.try_clone().expect("a stream");
            // All but the end.
            let long = &long[..long.len() - 1];
            scope.spawn(move || send_slowly(stream, long));
        }
        let until = Instant::now() + Duration::from_secs(8);
        let mut slowest = [Duration::ZERO; 3];
        while Instant::now() < until {
            let asks = [Ask::Status {}, Ask::Name { run: RunRef::Id(1 << 40), name: "x".repeat(30_000) }];
            for (slowest, ask) in slowest.iter_mut().zip(asks) {
                let asked = Instant::now();
                let answer = small.call(ask);
                assert!(matches!(answer, Ok(_) | Err(Error::Failed(_))), "{answer:?}");
                *slowest = asked.elapsed().max(*slowest);
            }
            let asked = Instant::now();
            let program = "int f(int);\n".repeat(2500);
            let given = RunInput { input: Some(program.as_str().into()), ..input(0) };
            assert_eq!(small.run(tcc(), given).expect("a run").outcome, Outcome::Exited(0));
            slowest[2] = asked.elapsed().max(slowest[2]);
        }
        eprintln!("{slowest:?} for a status, a request of 30 KB, a run");
        assert!(slowest[..2].iter().all(|&time| time < Duration::from_secs(5)), "they waited {slowest:?}");
        streams.iter().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    });
    let more = most_mib(daemon.process.id()) - before;
    eprintln!("{more} MiB more at the most");
    assert!(more < 400, "{more} MiB more for {CLIENTS} clients");
    // What they had is free again.
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let mut stream = greeted(&daemon.address);
                stream.write_all(&long).expect("it is taken");
                let reply = receive(&mut stream).expect("a reply");
                let reply: Reply = decode(Encoding::Json, &reply).expect("a reply");
                assert!(matches!(reply.body, Body::Failed(why) if why.kind == FailureKind::NoSuchRun));
            });
        }
    });
    // A session ends a moment after its client.
    let until = Instant::now() + Duration::from_secs(10);
    while small.status().expect("a status").sessions > 1 {
        assert!(Instant::now() < until, "sessions are left");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A run that writes so many zeros, six bytes each in JSON.
fn zeros(count: u32) -> Ask {
    let arguments = ["-c".to_owned(), count.to_string(), "/dev/zero".to_owned()].to_vec();
    let order = Order { subject: "/usr/bin/head".to_owned(), arguments, ..Order::default() };
    Ask::Run { order, input: RunInput::default() }
}

fn answered_runs(hearth: &mut Connection) -> u64 {
    let latencies = hearth.status().expect("a status").latencies;
    latencies.iter().find(|latency| latency.ask == "run").map_or(0, |latency| latency.count)
}

#[test]
fn answers_that_nobody_takes_are_bounded() {
    const CLIENTS: usize = 30;
    let directory = scratch();
    let daemon = start(directory.path(), &[]);
    let mut small = daemon.connect(Encoding::Json);
    run(&mut small, 1);
    let before = most_mib(daemon.process.id());
    let mut streams: Vec<UnixStream> = (0..CLIENTS).map(|_| greeted(&daemon.address)).collect();
    for stream in &mut streams {
        send(stream, &request(1, zeros(10_000_000)));
    }
    // All have been answered, whether the answers are taken or not, and runs of others go on meanwhile.
    let until = Instant::now() + Duration::from_secs(60);
    let mut own_runs = 1;
    while answered_runs(&mut small) < (CLIENTS + own_runs) as u64 {
        assert!(Instant::now() < until, "runs do not end");
        run(&mut small, 2);
        own_runs += 1;
    }
    let more = most_mib(daemon.process.id()) - before;
    eprintln!("{more} MiB more at the most");
    assert!(more < 900, "{more} MiB more for {CLIENTS} clients");
    // Who takes late finds an answer, or why there is none, or was dropped.
    let mut busy = 0;
    for stream in &mut streams {
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        let Some(reply) = receive(stream) else { continue };
        let reply: Reply = decode(Encoding::Json, &reply).expect("a reply");
        match reply.body {
            Body::Failed(why) => {
                assert!(why.kind == FailureKind::Busy && why.message.contains("ask again"), "{why:?}");
                busy += 1;
            }
            Body::Done(Answer::Run(done)) => assert_eq!(done.stdout.0.len(), 10_000_000),
            other => panic!("{other:?}"),
        }
    }
    assert!(busy > 0, "there was room for all");
}

#[test]
fn a_client_that_takes_an_answer_too_slowly_is_dropped() {
    let directory = scratch();
    let daemon = start(directory.path(), &[]);
    let mut stream = greeted(&daemon.address);
    send(&mut stream, &request(1, zeros(1_000_000)));
    let asked = Instant::now();
    let mut taken = 0;
    let mut piece = [0; 64 << 10];
    // Enough for each piece, but not for the whole.
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        taken += count;
        assert!(asked.elapsed() < Duration::from_secs(50), "it holds its answer for ever");
        thread::sleep(Duration::from_secs(1));
    }
    assert!(taken < 6_000_000, "it was taken to the end");
}

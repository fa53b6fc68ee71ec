//! What could wait for ever does not: neither the daemon for a file, nor a client for a daemon.

use crate::run_ok;
use crate::service::{input, run, scratch, start, tcc};
use hearth_client::protocol::Address;
use hearth_client::protocol::{Ask, Encoding, FailureKind, Order, RunInput};
use hearth_client::{AsyncConnection, Connection, Error};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

/// What a function returns, if it does so in time.
fn within<T: Send + 'static>(seconds: u64, body: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, found) = mpsc::channel();
    thread::spawn(move || sender.send(body()));
    found.recv_timeout(Duration::from_secs(seconds)).expect("it ends in time")
}

#[test]
fn files_that_never_end_hold_no_core() {
    let directory = scratch();
    let daemon = start(directory.path(), &[]);
    let pipe = directory.path().join("pipe");
    run_ok(Command::new("mkfifo").arg(&pipe));
    let pipe = pipe.to_str().expect("plain").to_owned();
    let read = |path: &str| Order { input: Some(path.to_owned()), ..tcc() };
    let table = [
        (Order { subject: pipe.clone(), ..tcc() }, input(1), "it is no plain file"),
        (read(&pipe), RunInput::default(), "it is no plain file"),
        // A plain file, as it says, without a length and without an end.
        (read("/proc/self/pagemap"), RunInput::default(), "cannot read /proc/self/pagemap"),
    ];
    for (order, given, part) in table {
        // More often than there are cores.
        for _ in 0..5 {
            let (order, given) = (order.clone(), given.clone());
            let mut hearth = daemon.connect(Encoding::Json);
            let failed = within(20, move || hearth.run(order, given));
            let Err(Error::Failed(failure)) = failed else { panic!("{failed:?}") };
            assert_eq!(failure.kind, FailureKind::Order);
            assert!(failure.message.contains(part), "{}", failure.message);
        }
    }
    run(&mut daemon.connect(Encoding::Json), 1);
}

#[test]
fn clients_do_not_wait_for_a_daemon_that_hangs() {
    let directory = scratch();
    let address = Address::at(directory.path().to_owned());
    // Takes clients, as far as the kernel does that for it, and says nothing.
    let listener = UnixListener::bind(address.socket()).expect("a socket");
    let expect_hangs = |found: Result<(), Error>| {
        let message = found.expect_err("nobody greets").to_string();
        assert!(message.contains("it hangs") && message.contains("daemon.lock"), "{message}");
    };
    let asynchronous = address.clone();
    expect_hangs(within(25, move || {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(AsyncConnection::open_at(&asynchronous, Encoding::Json)).map(|_| ())
    }));
    let blocking = address.clone();
    expect_hangs(within(25, move || Connection::open_running(&blocking, Encoding::Json).map(|_| ())));
    // Nor where so many wait already that the kernel lets clients wait.
    let mut waiting = Vec::new();
    let socket = address.socket();
    loop {
        let (sender, connected) = mpsc::channel();
        let socket = socket.clone();
        thread::spawn(move || sender.send(UnixStream::connect(socket)));
        match connected.recv_timeout(Duration::from_secs(1)) {
            Ok(stream) => waiting.push(stream.expect("it listens")),
            Err(_) => break,
        }
    }
    expect_hangs(within(25, move || Connection::open_at(&address, Encoding::Json).map(|_| ())));
    drop((listener, waiting));
    fs::remove_file(socket).expect("it is ours");
}

/// The reason for which a connection ends reaches whoever asked, in both kinds of clients.
#[test]
fn a_request_that_ends_the_connection_is_told_why() {
    let directory = scratch();
    let daemon = start(directory.path(), &[]);
    let order = || Order { arguments: vec![String::new(); 1_000_001], ..tcc() };
    let expect_why = |failed: Result<(), Error>| {
        let Err(Error::Failed(failure)) = failed else { panic!("{failed:?}") };
        assert_eq!(failure.kind, FailureKind::Malformed);
        assert!(failure.message.contains("at most 1000000 arguments"), "{}", failure.message);
    };
    let mut blocking = daemon.connect(Encoding::Bincode);
    expect_why(blocking.call(Ask::Warm { order: order() }).map(|_| ()));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let hearth = AsyncConnection::open_at(&daemon.address, Encoding::Bincode).await.expect("it greets");
        expect_why(hearth.call(Ask::Warm { order: order() }).await.map(|_| ()));
    });
}

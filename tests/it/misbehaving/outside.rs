//! What runs must not reach.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixListener;

/// What runs must not reach, in a directory of its own: a socket that is listened to, and a FIFO that is read from.
pub struct Outside {
    pub directory: tempfile::TempDir,
    listener: UnixListener,
    reader: File,
    /// Its number is above those that a launcher is given.
    _descriptor: OwnedFd,
}

impl Outside {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let listener = UnixListener::bind(directory.path().join("socket")).expect("a socket");
        listener.set_nonblocking(true).expect("a flag");
        let fifo = directory.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).expect("a FIFO");
        let reader = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(&fifo).expect("opened");
        // Without the flag that would close it: a program that embeds Hearth may have such descriptors.
        let descriptor = rustix::io::dup(&reader).expect("a descriptor");
        // SAFETY: the call takes numbers.
        let high = unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_DUPFD, 250) };
        assert!(high >= 250, "a descriptor of a high number");
        // SAFETY: the descriptor is new, and nobody else has it.
        let high = unsafe { OwnedFd::from_raw_fd(high) };
        fs::write(directory.path().join("kept"), "kept").expect("written");
        Self { directory, listener, reader, _descriptor: high }
    }

    pub fn check_untouched(&self) {
        assert!(self.listener.accept().is_err(), "nobody has connected");
        assert_eq!((&self.reader).read(&mut [0]).unwrap_or(0), 0, "nobody has written to the FIFO");
        let kept = self.directory.path().join("kept");
        assert_eq!(fs::read(&kept).expect("it is there"), b"kept");
        assert_eq!(
            fs::metadata(&kept).expect("it is there").mode() & 0o111,
            0,
            "its permissions are as they were"
        );
    }
}

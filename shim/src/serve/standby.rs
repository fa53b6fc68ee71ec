//! The process that will be the next run, forked ahead of time.
//!
//! A run's first write to a page of its zygote's makes the kernel copy the page, thousands of times, and each is
//! a fault that interrupts it. The daemon tells which pages runs write; the standby has them copied in one go,
//! while nobody waits. It is forked when nothing is left of the run before, and no other process of its
//! namespace runs beside it, so it is as untouched as any.

use crate::serve::run::{self, Descriptors};
use crate::sys::{self, message};
use hearth_shim_abi::{EXPECTED_LIMIT, ZygoteRequest};
use hearth_shim_pure::request;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Copies pages as if they were written; Linux 5.14 and later.
const MADV_POPULATE_WRITE: usize = 23;

/// What runs are expected to write; see [`REQUEST_EXPECT`](hearth_shim_abi::REQUEST_EXPECT).
static EXPECTED: [AtomicU64; EXPECTED_LIMIT] = [const { AtomicU64::new(0) }; EXPECTED_LIMIT];
/// How many entries there are.
static EXPECTED_COUNT: AtomicUsize = AtomicUsize::new(0);

/// The next run, as the zygote sees it. The socket is closed when it is dropped.
pub struct Standby {
    /// Its process.
    pub pid: c_int,
    /// Where it waits for its request.
    pub socket: c_int,
}

impl Standby {
    /// Makes it the run that is asked for. An error if it has died.
    pub fn start(self, request: &ZygoteRequest, text: &[u8], fds: &[c_int]) -> sys::Result<c_int> {
        let given = fds.iter().position(|&fd| fd < 0).unwrap_or(fds.len());
        message::send(self.socket, request, text, &fds[..given]).map(|()| self.pid)
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        sys::close(self.socket);
    }
}

/// Takes note of the pages that runs write.
pub fn expect(words: &[u8]) {
    let words = words.as_chunks::<8>().0;
    for (entry, &word) in EXPECTED.iter().zip(words) {
        entry.store(u64::from_le_bytes(word), Ordering::Relaxed);
    }
    EXPECTED_COUNT.store(words.len().min(EXPECTED_LIMIT), Ordering::Relaxed);
}

/// Is anything known that could be done ahead?
pub fn is_worthwhile() -> bool {
    EXPECTED_COUNT.load(Ordering::Relaxed) > 0
}

/// In the new process: does what can be done ahead, waits for a request, and becomes the run.
pub fn wait_to_run(socket: c_int, packet: &'static mut [u8]) {
    for entry in &EXPECTED[..EXPECTED_COUNT.load(Ordering::Relaxed)] {
        let (address, length) = request::expected_pages(entry.load(Ordering::Relaxed));
        // SAFETY: the contents stay as they are; a range that is not mapped is an error and no more.
        let _ = unsafe { sys::call(libc::SYS_madvise, [address, length, MADV_POPULATE_WRITE, 0, 0, 0]) };
    }
    let mut fds = [-1; Descriptors::COUNT];
    let length = message::receive(socket, packet, &mut fds).unwrap_or(0);
    sys::close(socket);
    let Some((head, text)) = packet[..length].split_at_mut_checked(size_of::<ZygoteRequest>()) else {
        sys::exit(libc::EXIT_SUCCESS);
    };
    let request: ZygoteRequest = bytemuck::pod_read_unaligned(head);
    run::begin(&request, text, &fds);
}

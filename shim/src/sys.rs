//! System calls, made directly: they touch no `errno`, take no lock and allocate nothing.
//!
//! Results are the kernel's: a number, or the error number.

pub mod allocator;
pub mod message;

pub use hearth_shim_pure::Result;

use hearth_shim_pure::numbers;
use std::arch::asm;
use std::ffi::{c_char, c_int};

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("the shim is written for Linux on x86-64");

/// Makes a system call.
///
/// # Safety
/// The arguments must be what the call expects; what they point to is read or written as the call says.
#[inline]
pub unsafe fn call(number: i64, arguments: [usize; 6]) -> Result<usize> {
    let result: isize;
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the caller vouches for the arguments; the kernel clobbers rcx and r11 and nothing else.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result, in("rdi") a, in("rsi") b, in("rdx") c,
            in("r10") d, in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    if (-4095..0).contains(&result) { Err(-result as c_int) } else { Ok(result as usize) }
}

macro_rules! call {
    ($number:expr $(, $argument:expr)*) => {{
        let mut arguments = [0_usize; 6];
        let given: &[usize] = &[$($argument as usize),*];
        arguments[..given.len()].copy_from_slice(given);
        call($number, arguments)
    }};
}

/// Writes a message to standard error and ends the process.
pub fn die(message: &str) -> ! {
    // SAFETY: the message is readable for its length.
    let _ = unsafe { call!(libc::SYS_write, 2, message.as_ptr(), message.len()) };
    exit(libc::EXIT_FAILURE)
}

/// Ends the process without any of its exit handlers.
pub fn exit(code: c_int) -> ! {
    loop {
        // SAFETY: the call takes a number.
        let _ = unsafe { call!(libc::SYS_exit_group, code) };
    }
}

/// The monotonic clock in nanoseconds.
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec.
    let _ = unsafe { call!(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sleeps for less than a second.
pub fn sleep_ns(nanoseconds: i64) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: nanoseconds };
    // SAFETY: the kernel reads one timespec.
    let _ = unsafe { call!(libc::SYS_nanosleep, &raw const time, 0) };
}

/// Processor time the kernel has spent on this process, in microseconds, and its page faults.
pub fn kernel_work() -> (u32, u32) {
    // SAFETY: zeros are a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one rusage.
    let _ = unsafe { call!(libc::SYS_getrusage, libc::RUSAGE_SELF, &raw mut usage) };
    let time = (usage.ru_stime.tv_sec as u32).wrapping_mul(1_000_000);
    (time.wrapping_add(usage.ru_stime.tv_usec as u32), usage.ru_minflt as u32)
}

/// Closes a descriptor; that it may not be open is fine.
pub fn close(fd: c_int) {
    // SAFETY: the call takes a number; the shim closes only descriptors of its own.
    let _ = unsafe { call!(libc::SYS_close, fd) };
}

/// Opens a path that ends in NUL.
pub fn open_at(directory: c_int, path: &[u8], flags: c_int, mode: u32) -> Result<c_int> {
    assert!(path.ends_with(&[0]));
    // SAFETY: the path is terminated.
    unsafe { open_raw(directory, path.as_ptr().cast(), flags, mode) }
}

/// Opens a path.
///
/// # Safety
/// The path must be what `openat` expects; a bad pointer gives an error.
pub unsafe fn open_raw(directory: c_int, path: *const c_char, flags: c_int, mode: u32) -> Result<c_int> {
    // SAFETY: the caller vouches for the path.
    unsafe { call!(libc::SYS_openat, directory, path, flags, mode) }.map(|fd| fd as c_int)
}

/// Moves a descriptor to a number out of the subject's way, closed on exec.
pub fn move_up(fd: c_int) -> Result<c_int> {
    // SAFETY: the call takes numbers.
    let moved = unsafe { call!(libc::SYS_fcntl, fd, libc::F_DUPFD_CLOEXEC, hearth_shim_abi::FIRST_OWN_FD) };
    close(fd);
    moved.map(|fd| fd as c_int)
}

/// Makes `to` the same as `from`, which is then closed.
pub fn move_to(from: c_int, to: c_int) -> Result<()> {
    replace(from, to, 0)
}

/// The same, with flags: `O_CLOEXEC` or none.
pub fn replace(from: c_int, to: c_int, flags: c_int) -> Result<()> {
    copy_to(from, to, flags)?;
    close(from);
    Ok(())
}

/// Makes `to` the same as `from`.
pub fn copy_to(from: c_int, to: c_int, flags: c_int) -> Result<()> {
    // SAFETY: the call takes numbers.
    unsafe { call!(libc::SYS_dup3, from, to, flags) }.map(drop)
}

/// Is a descriptor open?
pub fn is_open(fd: c_int) -> bool {
    // SAFETY: the call takes numbers.
    unsafe { call!(libc::SYS_fcntl, fd, libc::F_GETFD) }.is_ok()
}

/// Is a descriptor closed when another program is executed?
pub fn is_closed_on_exec(fd: c_int) -> bool {
    // SAFETY: the call takes numbers.
    unsafe { call!(libc::SYS_fcntl, fd, libc::F_GETFD) }
        .is_ok_and(|flags| flags as c_int & libc::FD_CLOEXEC != 0)
}

/// Reads into a buffer.
pub fn read(fd: c_int, buffer: &mut [u8]) -> Result<usize> {
    // SAFETY: the buffer is writable for its length.
    unsafe { call!(libc::SYS_read, fd, buffer.as_mut_ptr(), buffer.len()) }
}

/// Writes bytes.
pub fn write(fd: c_int, bytes: &[u8]) -> Result<usize> {
    // SAFETY: the bytes are readable for their length.
    unsafe { call!(libc::SYS_write, fd, bytes.as_ptr(), bytes.len()) }
}

/// Sends a signal.
pub fn kill(pid: c_int, signal: c_int) {
    // SAFETY: the call takes numbers.
    let _ = unsafe { call!(libc::SYS_kill, pid, signal) };
}

/// Waits for a child; `None` if none has ended (only with `WNOHANG`), `ECHILD` if there is none.
pub fn wait(options: c_int) -> Result<Option<(c_int, c_int, libc::rusage)>> {
    let mut status: c_int = 0;
    // SAFETY: zeros are a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one status and one rusage.
    let pid = unsafe { call!(libc::SYS_wait4, -1_isize, &raw mut status, options, &raw mut usage) }?;
    Ok((pid != 0).then_some((pid as c_int, status, usage)))
}

/// The ends of a pipe: what is written to the second can be read from the first.
pub fn pipe() -> Result<[c_int; 2]> {
    let mut ends = [-1; 2];
    // SAFETY: the kernel writes two descriptors.
    unsafe { call!(libc::SYS_pipe2, &raw mut ends, libc::O_CLOEXEC) }.map(|_| ends)
}

/// Replaces the signal mask and returns the old one.
pub fn set_signal_mask(mask: u64) -> u64 {
    let mut old = 0_u64;
    // SAFETY: the kernel reads and writes eight bytes each.
    let _ = unsafe {
        call!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const mask, &raw mut old, size_of::<u64>())
    };
    old
}

/// Drops signals that wait to be delivered while they are blocked, at most so many.
pub fn drop_signals(most: usize) {
    let (all, now) = (u64::MAX, [0_u64; 2]);
    for _ in 0..most {
        // SAFETY: the kernel reads eight bytes and a time.
        let taken = unsafe {
            call!(libc::SYS_rt_sigtimedwait, &raw const all, 0_usize, &raw const now, size_of::<u64>())
        };
        if taken.is_err() {
            return;
        }
    }
}

/// A descriptor that becomes readable when a child ends.
pub fn child_signals() -> Result<c_int> {
    let mask = 1_u64 << (libc::SIGCHLD - 1);
    let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
    // SAFETY: the kernel reads eight bytes.
    unsafe { call!(libc::SYS_signalfd4, -1_isize, &raw const mask, size_of::<u64>(), flags) }
        .map(|fd| fd as c_int)
}

/// Two ends of a socket for packets.
pub fn socket_pair() -> Result<[c_int; 2]> {
    let mut ends = [-1; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: the kernel writes two descriptors.
    unsafe { call!(libc::SYS_socketpair, libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) }?;
    Ok(ends)
}

/// Waits until one of the descriptors can be read.
pub fn poll<const N: usize>(fds: [c_int; N]) -> [bool; N] {
    let mut polled = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // SAFETY: the kernel reads and writes N records; no timeout and no mask are given.
    let _ = unsafe { call!(libc::SYS_ppoll, polled.as_mut_ptr(), N, 0, 0, 0) };
    polled.map(|fd| fd.revents != 0)
}

/// Sets a limit, soft and hard.
pub fn set_limit(resource: u32, soft: u64, hard: u64) -> Result<()> {
    let limit = libc::rlimit64 { rlim_cur: soft, rlim_max: hard };
    // SAFETY: the kernel reads one record and writes none.
    unsafe { call!(libc::SYS_prlimit64, 0, resource, &raw const limit, 0) }.map(drop)
}

/// Words of a set with a bit for each core that the kernel can have.
pub const CORE_WORDS: usize = 128;

/// The cores that the process may be on; says how many words of the set the kernel has.
pub fn cores(set: &mut [u64; CORE_WORDS]) -> Result<usize> {
    let size = size_of_val(set);
    // SAFETY: the kernel writes no more than the set is long.
    let bytes = unsafe { call!(libc::SYS_sched_getaffinity, 0, size, set.as_mut_ptr()) }?;
    Ok(bytes / size_of::<u64>())
}

/// Sets the cores that the process may be on.
pub fn set_cores(set: &[u64]) -> Result<()> {
    // SAFETY: the kernel reads the set.
    unsafe { call!(libc::SYS_sched_setaffinity, 0, size_of_val(set), set.as_ptr()) }.map(drop)
}

/// Sets a property of the process.
pub fn set_property(option: c_int, value: usize) -> Result<()> {
    // SAFETY: the options used here take a number.
    unsafe { call!(libc::SYS_prctl, option, value, 0, 0, 0) }.map(drop)
}

/// The process's number.
pub fn pid() -> c_int {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { call!(libc::SYS_getpid) }.unwrap_or(0) as c_int
}

/// Makes the process the leader of a group of its own.
pub fn new_group() {
    // SAFETY: the call takes numbers. It fails only for a session's leader, which a forked process is not.
    let _ = unsafe { call!(libc::SYS_setpgid, 0, 0) };
}

/// Changes to a directory whose path ends in NUL.
pub fn change_directory(path: &[u8]) -> Result<()> {
    assert!(path.ends_with(&[0]));
    // SAFETY: the path is terminated.
    unsafe { call!(libc::SYS_chdir, path.as_ptr()) }.map(drop)
}

/// The working directory without its terminator.
pub fn working_directory(buffer: &mut [u8]) -> Result<usize> {
    // SAFETY: the buffer is writable for its length.
    let length = unsafe { call!(libc::SYS_getcwd, buffer.as_mut_ptr(), buffer.len()) }?;
    Ok(length.saturating_sub(1))
}

/// The target of a symbolic link whose path ends in NUL.
pub fn read_link(path: &[u8], buffer: &mut [u8]) -> Result<usize> {
    assert!(path.ends_with(&[0]));
    // SAFETY: the path is terminated, the buffer writable for its length.
    unsafe { call!(libc::SYS_readlinkat, libc::AT_FDCWD, path.as_ptr(), buffer.as_mut_ptr(), buffer.len()) }
}

/// A new file in memory.
pub fn memory_file() -> Result<c_int> {
    // SAFETY: the name is terminated.
    unsafe { call!(libc::SYS_memfd_create, c"hearth".as_ptr(), libc::MFD_CLOEXEC) }.map(|fd| fd as c_int)
}

/// What kind of file a path that ends in NUL leads to, and its permissions.
pub fn mode_of(path: &[u8]) -> Result<u32> {
    assert!(path.ends_with(&[0]));
    // SAFETY: zeros are a valid stat record.
    let mut record: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the path is terminated, and the kernel writes one record.
    unsafe { call!(libc::SYS_newfstatat, libc::AT_FDCWD, path.as_ptr(), &raw mut record, 0) }?;
    Ok(record.st_mode)
}

/// Says whether a path that ends in NUL could be written.
pub fn may_write(path: &[u8]) -> Result<()> {
    assert!(path.ends_with(&[0]));
    // SAFETY: the path is terminated.
    unsafe { call!(libc::SYS_faccessat, libc::AT_FDCWD, path.as_ptr(), libc::W_OK) }.map(drop)
}

/// Says whether a path that ends in NUL could be executed.
pub fn may_execute(path: &[u8]) -> bool {
    assert!(path.ends_with(&[0]));
    // SAFETY: the path is terminated.
    unsafe { call!(libc::SYS_faccessat, libc::AT_FDCWD, path.as_ptr(), libc::X_OK) }.is_ok()
}

/// Maps so many bytes of a file, to read them.
pub fn map(fd: c_int, size: usize) -> Result<usize> {
    // SAFETY: the kernel chooses a place where nothing is.
    unsafe { call!(libc::SYS_mmap, 0, size, libc::PROT_READ, libc::MAP_PRIVATE, fd, 0) }
}

/// Takes a mapping away that [`map`] has made.
pub fn unmap(address: usize, size: usize) {
    // SAFETY: the caller's mapping, which nobody uses any more.
    let _ = unsafe { call!(libc::SYS_munmap, address, size) };
}

/// Describes an open file.
pub fn describe(fd: c_int) -> Result<libc::stat> {
    // SAFETY: zeros are a valid stat record.
    let mut record: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one record.
    unsafe { call!(libc::SYS_fstat, fd, &raw mut record) }?;
    Ok(record)
}

/// The flags and the position of an open file.
pub fn open_state(fd: c_int) -> Result<(c_int, usize)> {
    // SAFETY: the call takes numbers.
    let flags = unsafe { call!(libc::SYS_fcntl, fd, libc::F_GETFL) }?;
    // SAFETY: as above.
    let position = unsafe { call!(libc::SYS_lseek, fd, 0, libc::SEEK_CUR) }?;
    Ok((flags as c_int, position))
}

/// Sets the position of an open file.
pub fn set_position(fd: c_int, position: usize) -> Result<()> {
    // SAFETY: the call takes numbers.
    unsafe { call!(libc::SYS_lseek, fd, position, libc::SEEK_SET) }.map(drop)
}

/// Changes a file's permissions.
pub fn change_mode(fd: c_int, mode: u32) -> Result<()> {
    // SAFETY: the call takes numbers.
    unsafe { call!(libc::SYS_fchmod, fd, mode) }.map(drop)
}

/// The file mode creation mask.
pub fn creation_mask() -> u32 {
    // SAFETY: the call takes a number.
    let mask = unsafe { call!(libc::SYS_umask, 0o022) }.unwrap_or(0o022);
    // SAFETY: as above.
    let _ = unsafe { call!(libc::SYS_umask, mask) };
    mask as u32
}

/// Copies the whole of one file into another.
pub fn copy(from: c_int, to: c_int) -> Result<()> {
    loop {
        // SAFETY: no offsets are given, so the files' own are used.
        if unsafe { call!(libc::SYS_sendfile, to, from, 0, 1 << 30) }? == 0 {
            return Ok(());
        }
    }
}

/// Counts the threads of the process.
pub fn thread_count() -> Result<usize> {
    let mut count = 0;
    for_each_number(b"/proc/self/task\0", |_| count += 1)?;
    Ok(count)
}

/// Visits the entries of a directory, whose path ends in NUL, that are numbers.
pub fn for_each_number(path: &[u8], mut visit: impl FnMut(c_int)) -> Result<()> {
    let directory = open_at(libc::AT_FDCWD, path, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC, 0)?;
    let mut buffer = [0_u8; 1024];
    loop {
        // SAFETY: the buffer is writable for its length.
        let read = unsafe { call!(libc::SYS_getdents64, directory, buffer.as_mut_ptr(), buffer.len()) };
        let length = match read {
            Ok(length) if length > 0 => length,
            end => {
                close(directory);
                return end.map(drop);
            }
        };
        for number in numbers::named(&buffer[..length]).filter(|&number| number != directory) {
            visit(number);
        }
    }
}

/// The C library's error number of this thread.
pub fn errno() -> c_int {
    // SAFETY: the function has no requirements.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the C library keeps it readable as long as the thread lives.
    unsafe { *place }
}

/// Sets the C library's error number of this thread.
pub fn set_errno(error: c_int) {
    // SAFETY: the function has no requirements.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the C library keeps it writable as long as the thread lives.
    unsafe { *place = error };
}

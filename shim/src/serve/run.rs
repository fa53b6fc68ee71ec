//! The beginning of a run: its keeper, descriptors, limits, directory and environment.

use crate::files::{descriptors, memory};
use crate::serve::{cores, executed, keeper};
use crate::start::environment;
use crate::sys::{self, message};
use hearth_shim_abi::{
    ARGUMENT_LIMIT, CHANNEL_FD, NOTE_BEGIN, NOTE_FAILED, Note, OBSERVE_COUNTERS, ZygoteRequest,
};
use hearth_shim_pure::request;
use hearth_shim_pure::variables::has_same_name;
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most variables a run's environment can have.
pub const ENVIRONMENT_LIMIT: usize = 4096;

/// Pointers to C strings, with a null pointer behind them.
struct List<const LENGTH: usize>(UnsafeCell<[*mut c_char; LENGTH]>);

// SAFETY: written once, when a run begins and has one thread.
unsafe impl<const LENGTH: usize> Sync for List<LENGTH> {}

impl<const LENGTH: usize> List<LENGTH> {
    const fn new() -> Self {
        Self(UnsafeCell::new([ptr::null_mut(); LENGTH]))
    }
}

static ENVIRONMENT: List<{ ENVIRONMENT_LIMIT + 1 }> = List::new();
static ARGUMENTS: List<{ ARGUMENT_LIMIT + 1 }> = List::new();
/// How many arguments the run was given; 0 if it has the zygote's.
static ARGUMENT_COUNT: AtomicUsize = AtomicUsize::new(0);

/// The arguments that the run was given instead of the zygote's.
pub fn arguments() -> Option<(c_int, *mut *mut c_char)> {
    let count = ARGUMENT_COUNT.load(Ordering::Relaxed);
    (count > 0).then(|| (count as c_int, ARGUMENTS.0.get().cast()))
}

/// The descriptors that come with a request.
pub struct Descriptors;

impl Descriptors {
    /// Channel, standard input, output and error, input.
    pub const COUNT: usize = 5;
}

/// Makes a forked process a run.
pub fn begin(request: &ZygoteRequest, text: &'static mut [u8], fds: &[c_int; Descriptors::COUNT]) {
    let [channel, stdin, stdout, stderr, input] = *fds;
    // The daemon opens nothing of the run's itself, but a user other than root needs this to open it here.
    let _ = sys::set_property(libc::PR_SET_DUMPABLE, 1);
    cores::restore();
    let Ok(channel) = place_channel(channel) else { sys::exit(libc::EXIT_FAILURE) };
    if request.observe == OBSERVE_COUNTERS {
        executed::set_mode(executed::Mode::Counted);
    }
    // The keeper is not to stand where the subject stands: other processes of the run find that by its number, and below the
    // run's own areas are the subject's.
    let prepared = sys::change_directory(b"/\0")
        .and_then(|()| keeper::keep_run())
        .and_then(|keeper| announce(channel, keeper))
        .and_then(|()| standard_streams([stdin, stdout, stderr]))
        .map(|()| descriptors::renew())
        .and_then(|()| if input >= 0 { sys::move_up(input) } else { Ok(-1) })
        .and_then(|input| memory::begin(channel, input, request.hides_program != 0))
        .and_then(|()| limit(request))
        .and_then(|()| surround(request, text));
    if let Err(error) = prepared {
        let note = Note { kind: NOTE_FAILED, value: error.cast_unsigned(), ..Note::default() };
        let _ = message::send(channel, &note, &[], &[]);
        sys::exit(libc::EXIT_FAILURE);
    }
}

/// Puts the channel where programs that the run executes find it, unless the subject has something there.
fn place_channel(channel: c_int) -> sys::Result<c_int> {
    if sys::is_open(CHANNEL_FD) {
        return sys::move_up(channel);
    }
    sys::move_to(channel, CHANNEL_FD).map(|()| CHANNEL_FD)
}

/// Hands the run's memory to the daemon, in a group of processes of its own.
fn announce(channel: c_int, keeper: u32) -> sys::Result<()> {
    sys::new_group();
    let mut fds = [-1; 2];
    let paths: [&[u8]; 2] = [b"/proc/self/mem\0", b"/proc/self/pagemap\0"];
    for (fd, path) in fds.iter_mut().zip(paths) {
        *fd = sys::open_at(libc::AT_FDCWD, path, libc::O_RDONLY | libc::O_CLOEXEC, 0)?;
    }
    let process = sys::pid().cast_unsigned();
    let (time_us, faults) = sys::kernel_work();
    let note = Note { kind: NOTE_BEGIN, value: time_us, process, keeper };
    let sent = message::send(channel, &note, &faults.to_le_bytes(), &fds);
    fds.into_iter().for_each(sys::close);
    sent
}

fn standard_streams(fds: [c_int; 3]) -> sys::Result<()> {
    // Moved up first: a descriptor may have one of the numbers that are about to be replaced.
    let mut moved = [-1; 3];
    for (to, from) in moved.iter_mut().zip(fds) {
        *to = sys::move_up(from)?;
    }
    for (number, fd) in moved.into_iter().enumerate() {
        // The subject may have put something else there before its warm point.
        if descriptors::is_own_stream(number) {
            sys::close(fd);
        } else {
            sys::move_to(fd, number as c_int)?;
        }
    }
    Ok(())
}

fn limit(request: &ZygoteRequest) -> sys::Result<()> {
    // Memory is watched from outside: compilers choose how to collect garbage by RLIMIT_AS and RLIMIT_DATA.
    // At the first limit comes a signal that tells why, at the second one that cannot be ignored.
    sys::set_limit(libc::RLIMIT_CPU, request.cpu_s, request.cpu_s.saturating_add(1))?;
    sys::set_limit(libc::RLIMIT_FSIZE, request.file_bytes, request.file_bytes)?;
    sys::set_limit(libc::RLIMIT_CORE, 0, 0)?;
    if request.processes > 0 {
        sys::set_limit(libc::RLIMIT_NPROC, request.processes, request.processes)?;
    }
    Ok(())
}

/// Sets the working directory, the environment and the arguments.
fn surround(request: &ZygoteRequest, text: &'static mut [u8]) -> sys::Result<()> {
    let (directory, mut strings) = request::split(text, request.directory_length)?;
    if !directory.is_empty() {
        sys::change_directory(directory)?;
    } else {
        descriptors::renew_directory();
    }
    // SAFETY: a run that begins has one thread, and nothing else refers to the list.
    let list = unsafe { &mut *ENVIRONMENT.0.get() };
    // SAFETY: as above.
    let arguments = unsafe { &mut *ARGUMENTS.0.get() };
    let added = request::take_strings(&mut strings, request.addition_count, list)?;
    let argument_count = request::take_strings(&mut strings, request.argument_count, arguments)?;
    ARGUMENT_COUNT.store(argument_count, Ordering::Relaxed);
    if added == 0 {
        return Ok(());
    }
    // SAFETY: it is used for C strings: the request's additions, and the environment.
    let text_of = |variable: *mut c_char| unsafe { CStr::from_ptr(variable) }.to_bytes();
    let mut count = added;
    let mut next = environment::current();
    loop {
        // SAFETY: the list ends with a null pointer, at which the loop ends.
        let variable = unsafe { *next };
        if variable.is_null() {
            break;
        }
        let replaced =
            list[..added].iter().any(|&addition| has_same_name(text_of(addition), text_of(variable)));
        if !replaced {
            *list.get_mut(count).filter(|_| count < ENVIRONMENT_LIMIT).ok_or(libc::E2BIG)? = variable;
            count += 1;
        }
        // SAFETY: the entry was not the last.
        next = unsafe { next.add(1) };
    }
    list[count] = ptr::null_mut();
    // SAFETY: the list is static and ends with a null pointer.
    unsafe { environment::replace(list.as_mut_ptr()) };
    Ok(())
}

//! The keeper: a process that shares another's memory and does nothing. It sleeps in the kernel and never returns. However
//! the other one ends, its memory stays until the keeper is killed, and the daemon reads it.

use crate::serve::channel;
use crate::sys::{self, Result};
use hearth_shim_abi::NOTE_CROWDED;
use std::arch::asm;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

/// How often a process tries again to get a keeper, at the most.
const TRIES: u8 = 100;
/// The daemon is told so often.
const TRIES_PER_NOTE: u8 = 10;
/// How often this one and those that it makes try again, all in all: a run is not to be held up for long.
static TRIES_LEFT: AtomicU32 = AtomicU32::new(1000);
/// How long it waits between, in nanoseconds.
const TRY_INTERVAL_NS: i64 = 1_000_000;

/// Starts the keeper of a run, and returns its process. It is the zygote's child.
pub fn keep_run() -> Result<u32> {
    keep(libc::CLONE_VM | libc::CLONE_PARENT | libc::SIGCHLD).inspect(remember)
}

/// Starts the keeper of a process that a run has made, and returns its process. It ends without a signal, so that its parent
/// does not see it when it waits for its children; when that has ended, it is the zygote's.
pub fn keep_child() -> Result<u32> {
    let mut kept = keep_closed(libc::CLONE_VM);
    for number in 0..TRIES {
        if kept != Err(libc::EAGAIN) || TRIES_LEFT.load(Ordering::Relaxed) == 0 {
            break;
        }
        // There are as many processes as there may be; the daemon lets those go that have ended.
        if number % TRIES_PER_NOTE == 0 {
            channel::tell(NOTE_CROWDED);
        }
        sys::sleep_ns(TRY_INTERVAL_NS);
        kept = keep_closed(libc::CLONE_VM);
        spend_tries(1);
    }
    kept.inspect(remember)
}

/// How often may be tried again.
pub fn tries_left() -> u32 {
    TRIES_LEFT.load(Ordering::Relaxed)
}

/// It was tried again so often.
pub fn spend_tries(count: u32) {
    TRIES_LEFT.store(tries_left().saturating_sub(count), Ordering::Relaxed);
}

/// Makes a copy of the memory, and returns the process that keeps it.
pub fn keep_copy() -> Result<u32> {
    keep_closed(0)
}

/// Starts a keeper, and waits until it has closed what it has open: whoever reads from a pipe that this process writes to would
/// else be told of its end before that of the pipe, which cannot be without Hearth.
fn keep_closed(flags: c_int) -> Result<u32> {
    // Descriptors are closed in order: all of the program's before this one.
    let above = |[reader, writer]: [c_int; 2]| {
        let moved = sys::move_up(writer);
        moved.inspect_err(|_| sys::close(reader)).map(|writer| [reader, writer])
    };
    let pipe = sys::pipe().and_then(above);
    let keeper = keep(flags);
    if let Ok([reader, writer]) = pipe {
        sys::close(writer);
        while sys::read(reader, &mut [0]) == Err(libc::EINTR) {}
        sys::close(reader);
    }
    keeper
}

/// The process that keeps this memory.
static OWN: AtomicU32 = AtomicU32::new(0);

fn remember(keeper: &u32) {
    OWN.store(*keeper, Ordering::Relaxed);
}

/// The process that keeps this memory; 0 if there is none.
pub fn own() -> u32 {
    OWN.load(Ordering::Relaxed)
}

/// All signals must be blocked, and are for ever in the keeper. It is in a session of its own: what is sent to the group of
/// its parent is not for it. It closes what it has open: who reads from a pipe waits for the last who could write. A tracer of its
/// parent, which would wait for its end, does not get it.
fn keep(flags: c_int) -> Result<u32> {
    let flags = flags | libc::CLONE_UNTRACED;
    let result: isize;
    // SAFETY: the new process uses no memory at all, not even the stack: with all signals blocked it stays in
    // this loop of two instructions, in which the kernel lets it sleep.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 3f",
            "mov eax, {session}",
            "syscall",
            "mov eax, {close}",
            "xor edi, edi",
            "mov esi, -1",
            "xor edx, edx",
            "syscall",
            "2:",
            "mov eax, {pause}",
            "syscall",
            "jmp 2b",
            "3:",
            session = const libc::SYS_setsid,
            close = const libc::SYS_close_range,
            pause = const libc::SYS_pause,
            inlateout("rax") libc::SYS_clone as isize => result,
            in("rdi") flags as usize, in("rsi") 0, in("rdx") 0, in("r10") 0, in("r8") 0,
            lateout("rcx") _, lateout("r11") _,
        );
    }
    if result < 0 { Err(-result as c_int) } else { Ok(result as u32) }
}

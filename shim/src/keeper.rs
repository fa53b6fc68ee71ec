//! The keeper: a process that shares another's memory and does nothing. It sleeps in the kernel and never returns. However
//! the other one ends, its memory stays until the keeper is killed, and the daemon reads it.

use crate::sys::Result;
use std::arch::asm;
use std::ffi::c_int;

/// Starts the keeper of a run, and returns its process. It is the zygote's child.
pub fn keep_run() -> Result<u32> {
    keep(libc::CLONE_PARENT | libc::SIGCHLD)
}

/// Starts the keeper of a process that a run has made, and returns its process. It ends without a signal, so that its parent
/// does not see it when it waits for its children; when that has ended, it is the zygote's.
pub fn keep_child() -> Result<u32> {
    keep(0)
}

/// All signals must be blocked, and are for ever in the keeper. It is in a session of its own: what is sent to the group of
/// its parent is not for it. It closes what it has open: who reads from a pipe waits for the last who could write.
fn keep(flags: c_int) -> Result<u32> {
    let result: isize;
    let flags = libc::CLONE_VM | flags;
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

//! The keeper: a process that shares another's memory and does nothing. It sleeps in the kernel and never returns. However
//! the other one ends, its memory stays until the keeper is killed, and the daemon reads it.

use crate::sys::{self, Result};
use std::arch::asm;
use std::ffi::c_int;

/// Waits for children of any kind.
const WAIT_ALL: c_int = 0x4000_0000;

/// Starts the keeper of a run, and returns its process. It has the zygote as parent and shares nothing with the run but its
/// memory. All signals must be blocked.
pub fn keep_run() -> Result<u32> {
    let result: isize;
    let flags = libc::CLONE_VM | libc::CLONE_PARENT | libc::SIGCHLD;
    // SAFETY: the new process uses no memory at all, not even the stack: with all signals blocked it stays in
    // this loop of two instructions, in which the kernel lets it sleep.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 3f",
            "2:",
            "mov eax, {pause}",
            "syscall",
            "jmp 2b",
            "3:",
            pause = const libc::SYS_pause,
            inlateout("rax") libc::SYS_clone as isize => result,
            in("rdi") flags as usize, in("rsi") 0, in("rdx") 0, in("r10") 0, in("r8") 0,
            lateout("rcx") _, lateout("r11") _,
        );
    }
    if result < 0 { Err(-result as c_int) } else { Ok(result as u32) }
}

/// Starts the keeper of a process that a run has made, and returns its process. A process between them ends at once, so that
/// the keeper is the zygote's child and not one that the run could wait for. All signals must be blocked.
pub fn keep_child() -> Result<u32> {
    let between: isize;
    let keeper: isize;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK;
    // SAFETY: neither of the two new processes uses memory, not even the stack: what is to be known of them is in registers
    // until the one between stores the keeper's number, for which this process waits.
    let mut number: isize = -(libc::EAGAIN as isize);
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 4f",
            "mov eax, {clone}",
            "mov edi, {memory}",
            "syscall",
            "test rax, rax",
            "jz 2f",
            "mov [r9], rax",
            "xor edi, edi",
            "mov eax, {exit}",
            "syscall",
            "2:",
            "mov eax, {session}",
            "syscall",
            "3:",
            "mov eax, {pause}",
            "syscall",
            "jmp 3b",
            "4:",
            clone = const libc::SYS_clone,
            memory = const libc::CLONE_VM,
            exit = const libc::SYS_exit,
            session = const libc::SYS_setsid,
            pause = const libc::SYS_pause,
            inlateout("rax") libc::SYS_clone as isize => between,
            inlateout("rdi") flags as usize => _,
            in("rsi") 0, in("rdx") 0, in("r10") 0, in("r8") 0, in("r9") &raw mut number,
            lateout("rcx") _, lateout("r11") _,
        );
        keeper = std::ptr::read_volatile(&raw const number);
    }
    if between < 0 {
        return Err(-between as c_int);
    }
    sys::wait_for(between as c_int, WAIT_ALL)?;
    if keeper < 0 { Err(-keeper as c_int) } else { Ok(keeper as u32) }
}

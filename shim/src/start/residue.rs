//! What the shim leaves where a program finds it that reads what it has not initialized.
//!
//! GCC does, on purpose, and elsewhere copies what is between the members of a structure: there is what was on the stack
//! before, such as a register that some function saved. The code here leaves other things in registers and below the stack
//! in a run than in a plain process, and in another build of the shim, so `main` begins with zeros in both.

use std::arch::naked_asm;
use std::ffi::{c_char, c_int};

/// The subject's `main`.
pub type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

/// Bytes below the stack that are cleared: several times what is used before `main`, half of what the kernel has ready.
const CLEARED: usize = 64 * 1024;

/// Calls `main` with nothing in registers but its arguments and its address, and nothing below the stack.
///
/// # Safety
/// The arguments must be the start code's, on the stack that the process began with.
#[unsafe(naked)]
pub unsafe extern "C" fn call_main(
    main: Main,
    count: c_int,
    arguments: *mut *mut c_char,
    variables: *mut *mut c_char,
) -> c_int {
    naked_asm!(
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "mov r11, rdi",
        "mov r8d, esi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "lea rdi, [rsp - {cleared}]",
        "mov ecx, {words}",
        "xor eax, eax",
        "rep stosq",
        "mov edi, r8d",
        "xor r8d, r8d",
        "xor r9d, r9d",
        "xor r10d, r10d",
        "xor ebx, ebx",
        "xor ebp, ebp",
        "xor r12d, r12d",
        "xor r13d, r13d",
        "xor r14d, r14d",
        "xor r15d, r15d",
        "xorps xmm0, xmm0",
        "xorps xmm1, xmm1",
        "xorps xmm2, xmm2",
        "xorps xmm3, xmm3",
        "xorps xmm4, xmm4",
        "xorps xmm5, xmm5",
        "xorps xmm6, xmm6",
        "xorps xmm7, xmm7",
        "xorps xmm8, xmm8",
        "xorps xmm9, xmm9",
        "xorps xmm10, xmm10",
        "xorps xmm11, xmm11",
        "xorps xmm12, xmm12",
        "xorps xmm13, xmm13",
        "xorps xmm14, xmm14",
        "xorps xmm15, xmm15",
        "call r11",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        "ret",
        cleared = const CLEARED,
        words = const CLEARED / 8,
    )
}

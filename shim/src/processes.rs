//! The C library's functions that make processes or execute programs, and what a subject asks about its own.

use crate::real::{Real, real};
use crate::{files, server, start, sys};
use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

static FORK: Real = Real::new(c"fork");
/// See [`was_pid_asked`].
static PID_ASKED: AtomicBool = AtomicBool::new(false);

/// Finds the functions before the warm point: looking them up may allocate.
pub fn resolve() {
    for real in [&FORK].into_iter().chain(EXECUTING.iter().copied()).chain(EXECUTING_VARIADIC.iter().copied())
    {
        real.address();
    }
}

/// Forks. The counters of the new process count, too: its memory is kept as the run's is.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fork() -> c_int {
    if !files::is_active() || !server::is_run() {
        return real!(FORK, fn() -> c_int,);
    }
    // The keeper counts as a process, so the next fork waits until this one's is there.
    let pipe = sys::pipe();
    let pid = real!(FORK, fn() -> c_int,);
    match pid {
        0 => files::note_child(),
        -1 => {}
        _ => files::note_fork(),
    }
    if let Ok([reader, writer]) = pipe {
        let error = sys::errno();
        if pid == 0 {
            let _ = sys::write(writer, &[0]);
        }
        sys::close(writer);
        if pid > 0 {
            while sys::read(reader, &mut [0]) == Err(libc::EINTR) {}
        }
        sys::close(reader);
        sys::set_errno(error);
    }
    pid
}

/// Tells the number of the process, and notices when that is asked before the warm point: runs have other numbers.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getpid() -> c_int {
    if start::config().is_some() && !server::is_warm() {
        PID_ASKED.store(true, Ordering::Relaxed);
    }
    sys::pid()
}

/// Was the number of the process asked for before the warm point?
pub fn was_pid_asked() -> bool {
    PID_ASKED.load(Ordering::Relaxed)
}

/// Was standard input read to its end before the warm point?
pub fn was_stdin_read() -> bool {
    // SAFETY: the C library sets it before the program begins; no other thread runs.
    let stream = unsafe { stdin };
    // SAFETY: a program that has closed its standard input may have set it to nothing; else it is a stream.
    !stream.is_null() && unsafe { libc::feof(stream) } != 0
}

unsafe extern "C" {
    static mut stdin: *mut libc::FILE;
}

/// A function that has another program executed, whose counters nobody knows. It is told, and left to the C library.
macro_rules! executing_functions {
    ($($real:ident $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(
            static $real: Real = Real::new(match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            });

            /// Has another program executed.
            ///
            /// # Safety
            /// As the C library's.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                if files::is_active() && server::is_run() {
                    files::note_execution();
                }
                real!($real, fn($($type),*) -> $result, $($argument),*)
            }
        )*

        /// Those whose arguments have types.
        static EXECUTING: &[&Real] = &[$(&$real),*];
    };
}

executing_functions!(
    EXECVE execve(path: *const c_char, arguments: *const *const c_char, variables: *const *const c_char) -> c_int;
    EXECV execv(path: *const c_char, arguments: *const *const c_char) -> c_int;
    EXECVP execvp(path: *const c_char, arguments: *const *const c_char) -> c_int;
    EXECVPE execvpe(path: *const c_char, arguments: *const *const c_char, variables: *const *const c_char) -> c_int;
    FEXECVE fexecve(fd: c_int, arguments: *const *const c_char, variables: *const *const c_char) -> c_int;
    SYSTEM system(command: *const c_char) -> c_int;
    POPEN popen(command: *const c_char, mode: *const c_char) -> *mut libc::FILE;
    POSIX_SPAWN posix_spawn(pid: *mut c_int, path: *const c_char, actions: *const c_void, attributes: *const c_void,
        arguments: *const *const c_char, variables: *const *const c_char) -> c_int;
    POSIX_SPAWNP posix_spawnp(pid: *mut c_int, path: *const c_char, actions: *const c_void, attributes: *const c_void,
        arguments: *const *const c_char, variables: *const *const c_char) -> c_int;
);

/// The same for functions with any number of arguments: all registers that may have some stay as they are.
macro_rules! executing_variadic_functions {
    ($($real:ident $told:ident $name:ident;)*) => {
        $(
            static $real: Real = Real::new(match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            });

            /// Tells it, and returns the C library's own.
            extern "C" fn $told() -> usize {
                if files::is_active() && server::is_run() {
                    files::note_execution();
                }
                $real.address()
            }

            /// Executes another program.
            ///
            /// # Safety
            /// As the C library's.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                naked_asm!(
                    "push rdi",
                    "push rsi",
                    "push rdx",
                    "push rcx",
                    "push r8",
                    "push r9",
                    "push rax",
                    "call {told}",
                    "mov r11, rax",
                    "pop rax",
                    "pop r9",
                    "pop r8",
                    "pop rcx",
                    "pop rdx",
                    "pop rsi",
                    "pop rdi",
                    "jmp r11",
                    told = sym $told,
                )
            }
        )*

        /// Those with any number of arguments.
        static EXECUTING_VARIADIC: &[&Real] = &[$(&$real),*];
    };
}

executing_variadic_functions!(
    EXECL told_execl execl;
    EXECLP told_execlp execlp;
    EXECLE told_execle execle;
);

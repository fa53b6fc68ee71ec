//! The C library's functions that execute programs.

use crate::serve::executed::{self, Executable};
use crate::serve::processes;
use crate::start::environment;
use crate::start::real::{Real, real};
use crate::sys;
use hearth_shim_abi::ARGUMENT_LIMIT;
use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

static EXECVE: Real = Real::new(c"execve");
static EXECVPE: Real = Real::new(c"execvpe");
static FEXECVE: Real = Real::new(c"fexecve");
static EXECVEAT: Real = Real::new(c"execveat");
static SYSTEM: Real = Real::new(c"system");
static POPEN: Real = Real::new(c"popen");
static POSIX_SPAWN: Real = Real::new(c"posix_spawn");
static POSIX_SPAWNP: Real = Real::new(c"posix_spawnp");

/// Finds the functions before the warm point: looking them up may allocate.
pub fn resolve() {
    for real in [&EXECVE, &EXECVPE, &FEXECVE, &EXECVEAT, &SYSTEM, &POPEN, &POSIX_SPAWN, &POSIX_SPAWNP] {
        real.address();
    }
}

/// Most have fewer arguments.
const FEW_ARGUMENTS: usize = 64;

type List = *const *const c_char;

/// Executes a program.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execve(path: *const c_char, arguments: List, variables: List) -> c_int {
    let execute_it =
        |variables: List| real!(EXECVE, fn(*const c_char, List, List) -> c_int, path, arguments, variables);
    // SAFETY: the path is the caller's own.
    let program = unsafe { named(path, b"") };
    // SAFETY: the arguments are the caller's own.
    unsafe { execute(program, variables, execute_it) }
}

/// Executes a program.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execv(path: *const c_char, arguments: List) -> c_int {
    // SAFETY: the arguments are the caller's own.
    unsafe { execve(path, arguments, environment::current().cast()) }
}

/// Executes a program that is looked for.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvpe(name: *const c_char, arguments: List, variables: List) -> c_int {
    let execute_it =
        |variables: List| real!(EXECVPE, fn(*const c_char, List, List) -> c_int, name, arguments, variables);
    // SAFETY: the name is the caller's own.
    let program = unsafe { named(name, search_path()) };
    // SAFETY: the arguments are the caller's own.
    unsafe { execute(program, variables, execute_it) }
}

/// Executes a program that is looked for.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvp(name: *const c_char, arguments: List) -> c_int {
    // SAFETY: the arguments are the caller's own.
    unsafe { execvpe(name, arguments, environment::current().cast()) }
}

/// Executes a program that is open.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fexecve(fd: c_int, arguments: List, variables: List) -> c_int {
    let execute_it =
        |variables: List| real!(FEXECVE, fn(c_int, List, List) -> c_int, fd, arguments, variables);
    // SAFETY: the arguments are the caller's own.
    unsafe { execute(Executable::Open(fd), variables, execute_it) }
}

/// Executes a program in a directory that is open.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execveat(
    directory: c_int,
    path: *const c_char,
    arguments: List,
    variables: List,
    flags: c_int,
) -> c_int {
    // SAFETY: the path is the caller's own.
    let is_open = !path.is_null() && unsafe { *path } == 0;
    // SAFETY: as above.
    let program = if is_open { Executable::Open(directory) } else { unsafe { named(path, b"") } };
    let execute_it = |variables: List| {
        real!(
            EXECVEAT,
            fn(c_int, *const c_char, List, List, c_int) -> c_int,
            directory,
            path,
            arguments,
            variables,
            flags
        )
    };
    // SAFETY: the arguments are the caller's own.
    unsafe { execute(program, variables, execute_it) }
}

/// Runs a command.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn system(command: *const c_char) -> c_int {
    let run = || real!(SYSTEM, fn(*const c_char) -> c_int, command);
    if command.is_null() {
        // Is there a shell?
        return run();
    }
    in_shell(|status| status == -1, run)
}

/// Runs a command, with a pipe to it or from it.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn popen(command: *const c_char, mode: *const c_char) -> *mut libc::FILE {
    let run = || real!(POPEN, fn(*const c_char, *const c_char) -> *mut libc::FILE, command, mode);
    in_shell(|stream: *mut libc::FILE| stream.is_null(), run)
}

/// The functions that make a process and execute a program in it; they return an error number.
macro_rules! spawning_functions {
    ($($real:ident $name:ident $search:expr;)*) => {$(
        /// Has a program executed by a new process.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            pid: *mut c_int, path: *const c_char, actions: *const c_void, attributes: *const c_void,
            arguments: List, variables: List,
        ) -> c_int {
            processes::note_early();
            let spawn = |variables: List| real!(
                $real,
                fn(*mut c_int, *const c_char, *const c_void, *const c_void, List, List) -> c_int,
                pid, path, actions, attributes, arguments, variables
            );
            // SAFETY: the path is the caller's own.
            let program = unsafe { named(path, $search) };
            // SAFETY: the arguments are the caller's own.
            unsafe { executed::execute(program, variables, |error| error != 0, spawn) }
        }
    )*};
}

spawning_functions!(
    POSIX_SPAWN posix_spawn b"";
    POSIX_SPAWNP posix_spawnp search_path();
);

/// Functions with any number of arguments: those in registers are put into memory, before the others, and the rest is done
/// by a function that knows how their list ends.
macro_rules! listing_functions {
    ($($name:ident $listed:ident $execute:ident $has_variables:expr;)*) => {$(
        extern "C" fn $listed(path: *const c_char, registers: *const [*const c_char; 5], others: List) -> c_int {
            let arguments = Arguments { registers, others };
            let count = (0..ARGUMENT_LIMIT).find(|&index| arguments.get(index).is_null());
            let own: List = environment::current().cast();
            let execute = |list: List, count: usize| {
                let variables: List = if $has_variables { arguments.get(count + 1).cast() } else { own };
                // SAFETY: the path is the caller's own, and the list ends with a null pointer.
                unsafe { $execute(path, list, variables) }
            };
            match count {
                // The stack may be small.
                Some(count) if count < FEW_ARGUMENTS => arguments.listed::<FEW_ARGUMENTS>(count, execute),
                Some(count) => arguments.listed::<ARGUMENT_LIMIT>(count, execute),
                None => {
                    sys::set_errno(libc::E2BIG);
                    -1
                }
            }
        }

        /// Executes a program with a list of arguments.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "mov rsi, rsp",
                "lea rdx, [rsp + 48]",
                "call {listed}",
                "add rsp, 40",
                "ret",
                listed = sym $listed,
            )
        }
    )*};
}

listing_functions!(
    execl listed_execl execve false;
    execlp listed_execlp execvpe false;
    execle listed_execle execve true;
);

/// The arguments of a function that has any number of them, ending with a null pointer.
#[derive(Clone, Copy)]
struct Arguments {
    registers: *const [*const c_char; 5],
    others: List,
}

impl Arguments {
    fn get(self, index: usize) -> *const c_char {
        match index.checked_sub(5) {
            // SAFETY: they were put there.
            None => unsafe { (*self.registers)[index] },
            // SAFETY: the caller's own, which end with a null pointer, behind which the environment may be.
            Some(index) => unsafe { *self.others.wrapping_add(index) },
        }
    }

    /// Makes a list of so many, which there is room for.
    #[inline(never)]
    fn listed<const ROOM: usize>(self, count: usize, execute: impl Fn(List, usize) -> c_int) -> c_int {
        let mut list = [ptr::null(); ROOM];
        for (index, entry) in list.iter_mut().take(count).enumerate() {
            *entry = self.get(index);
        }
        execute(list.as_ptr(), count)
    }
}

/// Runs a command with `run`, in the shell, which gets the process's own environment: that is another one meanwhile.
fn in_shell<T: Copy>(has_failed: impl Fn(T) -> bool, run: impl Fn() -> T) -> T {
    processes::note_early();
    let own = environment::current();
    let run_there = |variables: List| {
        // SAFETY: the longer list lives until the command has ended, or begun.
        unsafe { environment::replace(variables.cast_mut().cast()) };
        let result = run();
        // SAFETY: it was the process's environment before.
        unsafe { environment::replace(own) };
        result
    };
    // SAFETY: it is the process's environment.
    unsafe { executed::execute(Executable::Shell, own.cast(), has_failed, run_there) }
}

/// Where programs are looked for.
fn search_path() -> &'static [u8] {
    // SAFETY: the name is terminated.
    let path = unsafe { libc::getenv(c"PATH".as_ptr()) };
    // SAFETY: it is a C string of the environment.
    if path.is_null() { b"/bin:/usr/bin" } else { unsafe { CStr::from_ptr(path) }.to_bytes() }
}

/// The program of a path or a name, which must be a C string.
unsafe fn named<'p>(name: *const c_char, search: &'p [u8]) -> Executable<'p> {
    if name.is_null() {
        return Executable::Shell;
    }
    // SAFETY: the caller hands over a C string.
    Executable::Named(unsafe { CStr::from_ptr(name) }, search)
}

/// Executes a program with `execute`, which gets its environment.
unsafe fn execute(program: Executable<'_>, variables: List, execute: impl Fn(List) -> c_int) -> c_int {
    processes::note_early();
    // SAFETY: the caller hands over what the C library's function was called with.
    unsafe { executed::execute(program, variables, |result| result == -1, execute) }
}

//! The C library's functions that make processes or execute programs, and what a subject asks about its own.

use crate::files::memory;
use crate::serve::executed::{self, Program};
use crate::serve::{keeper, server};
use crate::start::main;
use crate::start::real::{Real, real};
use crate::sys;
use hearth_shim_abi::{ARGUMENT_LIMIT, NOTE_UNKEPT};
use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

static FORK: Real = Real::new(c"fork");
static RAW_FORK: Real = Real::new(c"_Fork");
static DAEMON: Real = Real::new(c"daemon");
static CLONE: Real = Real::new(c"clone");
static DLCLOSE: Real = Real::new(c"dlclose");
static EXECVE: Real = Real::new(c"execve");
static EXECVPE: Real = Real::new(c"execvpe");
static FEXECVE: Real = Real::new(c"fexecve");
static EXECVEAT: Real = Real::new(c"execveat");
static SYSTEM: Real = Real::new(c"system");
static POPEN: Real = Real::new(c"popen");
static POSIX_SPAWN: Real = Real::new(c"posix_spawn");
static POSIX_SPAWNP: Real = Real::new(c"posix_spawnp");
/// See [`were_others_made`].
static OTHERS_MADE: AtomicBool = AtomicBool::new(false);
/// See [`was_pid_asked`].
static PID_ASKED: AtomicBool = AtomicBool::new(false);

/// Finds the functions before the warm point: looking them up may allocate.
pub fn resolve() {
    let all = [
        &FORK,
        &RAW_FORK,
        &DAEMON,
        &CLONE,
        &DLCLOSE,
        &EXECVE,
        &EXECVPE,
        &FEXECVE,
        &EXECVEAT,
        &SYSTEM,
        &POPEN,
        &POSIX_SPAWN,
        &POSIX_SPAWNP,
    ];
    for real in all {
        real.address();
    }
}

/// Forks. The counters of the new process count, too: its memory is kept as the run's is. All have keepers, also those that
/// cannot count: a run has as many processes as it may have, and no bomb goes off faster than it can be ended.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fork() -> c_int {
    note_early();
    if !memory::is_active() || !server::is_run() {
        return real!(FORK, fn() -> c_int,);
    }
    // The keeper counts as a process, so the next fork waits until this one's is there.
    let pipe = sys::pipe();
    let tries_before = keeper::tries_left();
    let pid = real!(FORK, fn() -> c_int,);
    match pid {
        0 => memory::note_child(executed::forked()),
        -1 => {}
        _ => memory::note_fork(),
    }
    if let Ok([reader, writer]) = pipe {
        let error = sys::errno();
        if pid == 0 {
            // It tells how often it has tried.
            let tries = tries_before.saturating_sub(keeper::tries_left());
            let _ = sys::write(writer, &[u8::try_from(tries).unwrap_or(u8::MAX)]);
        }
        sys::close(writer);
        if pid > 0 {
            let mut tries = [0];
            while sys::read(reader, &mut tries) == Err(libc::EINTR) {}
            keeper::spend_tries(tries[0].into());
        }
        sys::close(reader);
        sys::set_errno(error);
    }
    pid
}

/// Where the C library's `_Fork` is; 0 if it has none.
pub fn raw_fork() -> usize {
    RAW_FORK.address()
}

/// Tells the daemon of a process that is made without [`fork`]: its memory is not kept.
fn note_unkept() {
    note_early();
    if memory::is_active() && server::is_run() {
        memory::tell(NOTE_UNKEPT);
    }
}

/// Forks without calling handlers.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Fork() -> c_int {
    note_unkept();
    real!(RAW_FORK, fn() -> c_int,)
}

/// Goes on in a process without a terminal.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn daemon(stays: c_int, keeps_streams: c_int) -> c_int {
    note_unkept();
    real!(DAEMON, fn(c_int, c_int) -> c_int, stays, keeps_streams)
}

/// Makes a thread or a process. The last three arguments need not be there; then nobody looks at them.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clone(
    function: *mut c_void,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent: *mut c_void,
    storage: *mut c_void,
    child: *mut c_void,
) -> c_int {
    if flags & libc::CLONE_VM == 0 {
        note_unkept();
    }
    real!(
        CLONE,
        fn(*mut c_void, *mut c_void, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_void) -> c_int,
        function,
        stack,
        flags,
        argument,
        parent,
        storage,
        child
    )
}

/// Unloads a library, unless others use it. One with counters writes its data file then.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlclose(library: *mut c_void) -> c_int {
    let was_unloading = memory::set_unloading(true);
    let result = real!(DLCLOSE, fn(*mut c_void) -> c_int, library);
    memory::set_unloading(was_unloading);
    result
}

/// Tells the number of the process, and notices when that is asked before the warm point: runs have other numbers.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getpid() -> c_int {
    if main::config().is_some() && !server::is_warm() {
        PID_ASKED.store(true, Ordering::Relaxed);
    }
    sys::pid()
}

/// Was the number of the process asked for before the warm point?
pub fn was_pid_asked() -> bool {
    PID_ASKED.load(Ordering::Relaxed)
}

/// Were processes made, or programs executed, before the warm point?
pub fn were_others_made() -> bool {
    OTHERS_MADE.load(Ordering::Relaxed)
}

/// Takes note of what is done before the warm point.
fn note_early() {
    if main::config().is_some() && !server::is_warm() {
        OTHERS_MADE.store(true, Ordering::Relaxed);
    }
}

type List = *const *const c_char;

/// Where programs are looked for.
fn search_path() -> &'static [u8] {
    // SAFETY: the name is terminated.
    let path = unsafe { libc::getenv(c"PATH".as_ptr()) };
    // SAFETY: it is a C string of the environment.
    if path.is_null() { b"/bin:/usr/bin" } else { unsafe { CStr::from_ptr(path) }.to_bytes() }
}

/// The program of a path or a name, which must be a C string.
unsafe fn named<'p>(name: *const c_char, search: &'p [u8]) -> Program<'p> {
    // SAFETY: the caller hands over a C string.
    if name.is_null() { Program::Shell } else { Program::Named(unsafe { CStr::from_ptr(name) }, search) }
}

/// Executes a program with `execute`, which gets its environment.
unsafe fn execute(program: Program<'_>, variables: List, execute: impl Fn(List) -> c_int) -> c_int {
    note_early();
    // SAFETY: the caller hands over what the C library's function was called with.
    unsafe { executed::execute(program, variables, |result| result == -1, execute) }
}

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
    unsafe { execve(path, arguments, main::environment().cast()) }
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
    unsafe { execvpe(name, arguments, main::environment().cast()) }
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
    unsafe { execute(Program::Open(fd), variables, execute_it) }
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
    let program = if is_open { Program::Open(directory) } else { unsafe { named(path, b"") } };
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

/// Runs a command with `run`, in the shell, which gets the process's own environment: that is another one meanwhile.
fn in_shell<T: Copy>(has_failed: impl Fn(T) -> bool, run: impl Fn() -> T) -> T {
    note_early();
    let own = main::environment();
    let run_there = |variables: List| {
        // SAFETY: the longer list lives until the command has ended, or begun.
        unsafe { main::set_environment(variables.cast_mut().cast()) };
        let result = run();
        // SAFETY: it was the process's environment before.
        unsafe { main::set_environment(own) };
        result
    };
    // SAFETY: it is the process's environment.
    unsafe { executed::execute(Program::Shell, own.cast(), has_failed, run_there) }
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
            note_early();
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

/// Most have fewer arguments.
const FEW_ARGUMENTS: usize = 64;

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

/// Functions with any number of arguments: those in registers are put into memory, before the others, and the rest is done
/// by a function that knows how their list ends.
macro_rules! listing_functions {
    ($($name:ident $listed:ident $execute:ident $has_variables:expr;)*) => {$(
        extern "C" fn $listed(path: *const c_char, registers: *const [*const c_char; 5], others: List) -> c_int {
            let arguments = Arguments { registers, others };
            let count = (0..ARGUMENT_LIMIT).find(|&index| arguments.get(index).is_null());
            let own: List = main::environment().cast();
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

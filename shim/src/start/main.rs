//! The beginning of a subject: `main` is wrapped, Hearth's variables leave the environment, and the warm point
//! is prepared.

use crate::files::{closing, descriptors, interpose};
use crate::serve::{executed, executing, libraries, processes, run, server};
use crate::start::config::{self, config};
use crate::start::residue::{Main, call_main};
use crate::start::{environment, hook};
use crate::sys;
use hearth_shim_abi::{EVENT_MISSED, EVENT_NO_HOOK, WARM_MAIN, WARM_SYMBOL};
use hearth_shim_pure::variables::Control;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

type StartMain = unsafe extern "C" fn(
    Main,
    c_int,
    *mut *mut c_char,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
) -> c_int;

/// The subject's `main`.
static MAIN: AtomicUsize = AtomicUsize::new(0);

/// Replaces the C library's, under both of its versions, to wrap `main`.
///
/// # Safety
/// Called by the program's start code only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __libc_start_main(
    main: Main,
    argc: c_int,
    argv: *mut *mut c_char,
    init: *mut c_void,
    fini: *mut c_void,
    rtld_fini: *mut c_void,
    stack_end: *mut c_void,
) -> c_int {
    MAIN.store(main as usize, Ordering::Relaxed);
    // SAFETY: the name is terminated.
    let real = unsafe { libc::dlsym(libc::RTLD_NEXT, c"__libc_start_main".as_ptr()) };
    if real.is_null() {
        sys::die("hearth: the C library has no __libc_start_main\n");
    }
    // SAFETY: this is the type the C library gives the function, in both of its versions.
    let real: StartMain = unsafe { std::mem::transmute::<*mut c_void, StartMain>(real) };
    // SAFETY: the arguments are the start code's.
    unsafe { real(warm_main, argc, argv, init, fini, rtld_fini, stack_end) }
}

/// Finds the C library's functions before the warm point: looking them up may allocate.
pub fn resolve() {
    closing::resolve();
    interpose::resolve();
    processes::resolve();
    libraries::resolve();
    executing::resolve();
}

unsafe extern "C" fn warm_main(argc: c_int, argv: *mut *mut c_char, envp: *mut *mut c_char) -> c_int {
    let main = MAIN.load(Ordering::Relaxed);
    // SAFETY: it was a `Main` when it was stored, before this was called.
    let main: Main = unsafe { std::mem::transmute::<usize, Main>(main) };
    // SAFETY: the start code hands over the environment; no other thread runs yet.
    let control = unsafe { environment::take_own_variables(envp) };
    match control {
        Some(Control::Active) => {
            config::receive();
            descriptors::remember_streams();
            prepare();
        }
        Some(Control::Executed) => executed::begin(),
        Some(Control::Inactive) => executed::set_mode(executed::Mode::Inactive),
        None => {}
    }
    // The environment may have been replaced for a run.
    let envp = environment::current();
    // A run may have been given others.
    let (argc, argv) = run::arguments().unwrap_or((argc, argv));
    // SAFETY: the arguments are the start code's, or a list like it that stays as it is; no other thread runs.
    let code = unsafe { call_main(main, argc, argv, envp) };
    if config().is_some() && !server::is_run() {
        server::tell(EVENT_MISSED, code);
        sys::exit(code);
    }
    code
}

fn prepare() {
    resolve();
    let Some(config) = config() else { return };
    if config.warm == WARM_SYMBOL
        && let Err(error) = hook::install(config.symbol)
    {
        server::tell(EVENT_NO_HOOK, error);
        sys::exit(libc::EXIT_FAILURE);
    }
    if config.warm == WARM_MAIN {
        server::serve();
    }
}

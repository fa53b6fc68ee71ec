//! The beginning of a subject: `main` is wrapped, Hearth's variables leave the environment, and the warm point
//! is prepared.

use crate::serve::{executed, run, server};
use crate::start::hook;
use crate::start::residue::{Main, call_main};
use crate::sys::{self, message};
use hearth_shim_abi::{
    CONTROL_FD, CONTROL_VARIABLE, Config, EVENT_MISSED, EVENT_NO_HOOK, EXECUTED, INACTIVE, OWN_VARIABLES,
    SHIM_FD, SHIM_PATH, VERSION, WARM_MAIN, WARM_SYMBOL,
};
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int, c_void};
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

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// The subject's `main`.
static MAIN: AtomicUsize = AtomicUsize::new(0);

/// What the daemon said first; written before the warm point, read after.
static CONFIG: ConfigCell = ConfigCell(UnsafeCell::new(None));

struct ConfigCell(UnsafeCell<Option<Config>>);

// SAFETY: written once, by the only thread, before anything reads it.
unsafe impl Sync for ConfigCell {}

/// What the daemon said first; `None` while the shim is inactive.
pub fn config() -> Option<&'static Config> {
    // SAFETY: it is written once, before the subject's first instruction.
    unsafe { (*CONFIG.0.get()).as_ref() }
}

/// Does what is written go to memory without the shim's doing?
pub fn has_areas() -> bool {
    // A program is executed with the shim only where there are some.
    config().map_or_else(executed::is_executed, |config| config.has_areas != 0)
}

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

unsafe extern "C" fn warm_main(argc: c_int, argv: *mut *mut c_char, envp: *mut *mut c_char) -> c_int {
    let main = MAIN.load(Ordering::Relaxed);
    // SAFETY: it was a `Main` when it was stored, before this was called.
    let main: Main = unsafe { std::mem::transmute::<usize, Main>(main) };
    // SAFETY: the start code hands over the environment; no other thread runs yet.
    let control = unsafe { take_own_variables(envp) };
    match control {
        Control::Active => {
            receive_config();
            prepare();
        }
        Control::Executed => executed::begin(),
        Control::Inactive => executed::set_mode(executed::Mode::Inactive),
        Control::None => {}
    }
    // SAFETY: the environment may have been replaced for a run.
    let envp = unsafe { environ };
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

#[derive(PartialEq, Eq)]
enum Control {
    /// A subject.
    Active,
    /// A program that a run has executed.
    Executed,
    /// A plain run.
    Inactive,
    /// Nobody has said anything.
    None,
}

/// Takes Hearth's variables out of the environment, so that neither the subject nor what it starts sees them.
///
/// # Safety
/// `envp` must be the process's environment, and nothing else may use it meanwhile.
unsafe fn take_own_variables(envp: *mut *mut c_char) -> Control {
    let mut control = Control::None;
    let mut kept = envp;
    let mut next = envp;
    loop {
        // SAFETY: the list ends with a null pointer, at which the loop ends.
        let variable = unsafe { *next };
        // SAFETY: `kept` is never ahead of `next`.
        unsafe { *kept = variable };
        if variable.is_null() {
            return control;
        }
        // SAFETY: the list consists of C strings.
        let text = unsafe { CStr::from_ptr(variable) }.to_bytes();
        let value = |name: &str| text.strip_prefix(name.as_bytes())?.strip_prefix(b"=");
        if let Some(value) = value(CONTROL_VARIABLE) {
            control = match value {
                value if value == INACTIVE.as_bytes() => Control::Inactive,
                value if value == EXECUTED.as_bytes() => Control::Executed,
                _ => Control::Active,
            };
        }
        let others = text.strip_prefix(executed::PRELOAD).and_then(preloaded_by_others);
        if let Some(others) = others {
            // SAFETY: it begins behind as many bytes as the name has, and more, in memory that is the process's own.
            let variable = unsafe { others.as_ptr().sub(executed::PRELOAD.len()) }.cast_mut();
            // SAFETY: as above; the bytes before it are not used any more.
            unsafe { std::ptr::copy(executed::PRELOAD.as_ptr(), variable, executed::PRELOAD.len()) };
            // SAFETY: `kept` is not ahead of `next`.
            unsafe { *kept = variable.cast() };
        }
        if others.is_some() || !OWN_VARIABLES.iter().any(|name| value(name).is_some()) {
            // SAFETY: `kept` is before `next`, inside the list.
            kept = unsafe { kept.add(1) };
        }
        // SAFETY: the entry was not the last.
        next = unsafe { next.add(1) };
    }
}

/// What is preloaded besides the shim and what has to be before it: it is the subject's own business.
fn preloaded_by_others(value: &[u8]) -> Option<&[u8]> {
    let place = value.windows(SHIM_PATH.len()).position(|part| part == SHIM_PATH.as_bytes())?;
    value[place + SHIM_PATH.len()..].strip_prefix(b":").filter(|rest| !rest.is_empty())
}

fn receive_config() {
    // The loader has mapped the shim by now.
    sys::close(SHIM_FD);
    let mut config: Config = bytemuck::Zeroable::zeroed();
    let received = message::receive(CONTROL_FD, bytemuck::bytes_of_mut(&mut config), &mut []);
    if received != Ok(size_of::<Config>()) || config.version != VERSION {
        sys::die("hearth: the shim and the daemon are of different versions; build both anew\n");
    }
    // SAFETY: nothing has a reference to it yet; no other thread runs.
    unsafe { *CONFIG.0.get() = Some(config) };
    crate::files::descriptors::remember_streams();
}

fn prepare() {
    crate::files::closing::resolve();
    crate::files::interpose::resolve();
    crate::serve::processes::resolve();
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

/// Makes a list of variables the process's environment.
///
/// # Safety
/// The list must end with a null pointer and stay as it is.
pub unsafe fn set_environment(list: *mut *mut c_char) {
    // SAFETY: the caller vouches for the list; a run has one thread when it begins.
    unsafe { environ = list };
}

/// The process's environment.
pub fn environment() -> *mut *mut c_char {
    // SAFETY: reading a pointer that only this thread changes at this time.
    unsafe { environ }
}

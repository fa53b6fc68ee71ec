//! A warm point at a function: a breakpoint instruction, taken away when it is first reached.

use crate::serve::server;
use crate::sys::{self, Result, message};
use hearth_shim_abi::{CONTROL_FD, EVENT_MAPPED, Event, REQUEST_WAIT_AT, ZygoteRequest};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

const BREAKPOINT: u8 = 0xcc;
const PAGE: usize = 4096;

/// Where the breakpoint is.
static ADDRESS: AtomicUsize = AtomicUsize::new(0);
/// The byte it replaces.
static REPLACED: AtomicU8 = AtomicU8::new(0);

/// Puts a breakpoint at an address of the program's file, or where the daemon finds the function in a library.
pub fn install(symbol: u64) -> Result<()> {
    let address = match symbol {
        0 => ask()?,
        _ => load_bias().wrapping_add(symbol as usize),
    };
    ADDRESS.store(address, Ordering::Relaxed);
    // SAFETY: the daemon found the address in a symbol table of what is mapped, so there is code.
    REPLACED.store(unsafe { ptr::read_volatile(address as *const u8) }, Ordering::Relaxed);
    // SAFETY: zeros are a valid record.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_breakpoint as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: the record is complete, and the handler has the type SA_SIGINFO asks for.
    unsafe { libc::sigaction(libc::SIGTRAP, &raw const action, ptr::null_mut()) };
    write_code(address, BREAKPOINT)
}

/// Has the daemon look for the function in all that is mapped.
fn ask() -> Result<usize> {
    let path = b"/proc/self/maps\0";
    let maps = sys::open_at(libc::AT_FDCWD, path, libc::O_RDONLY | libc::O_CLOEXEC, 0)?;
    let event = Event { kind: EVENT_MAPPED, time_ns: sys::now_ns(), ..Event::default() };
    let sent = message::send(CONTROL_FD, &event, &[], &[maps]);
    sys::close(maps);
    sent?;
    let mut request = ZygoteRequest::default();
    let length = message::receive(CONTROL_FD, bytemuck::bytes_of_mut(&mut request), &mut [])?;
    match length == size_of::<ZygoteRequest>() && request.kind == REQUEST_WAIT_AT {
        true => Ok(request.address as usize),
        false => Err(libc::ENOENT),
    }
}

extern "C" fn on_breakpoint(_signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    let address = ADDRESS.load(Ordering::Relaxed);
    // SAFETY: the kernel hands over the context of the interrupted code.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let rip = &mut context.uc_mcontext.gregs[libc::REG_RIP as usize];
    // SAFETY: zeros are a valid record, and stand for the default action.
    let default: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: the record is complete.
    unsafe { libc::sigaction(libc::SIGTRAP, &raw const default, ptr::null_mut()) };
    if *rip as usize != address + 1 {
        // Some breakpoint of the subject's own: it happens again, without this handler.
        *rip -= 1;
        return;
    }
    *rip = address as i64;
    if write_code(address, REPLACED.load(Ordering::Relaxed)).is_err() {
        sys::die("hearth: the breakpoint of the warm point cannot be taken away\n");
    }
    server::serve();
}

fn write_code(address: usize, byte: u8) -> Result<()> {
    let page = address & !(PAGE - 1);
    protect(page, libc::PROT_READ | libc::PROT_WRITE)?;
    // SAFETY: the page was just made writable; no other thread executes it.
    unsafe { ptr::write_volatile(address as *mut u8, byte) };
    protect(page, libc::PROT_READ | libc::PROT_EXEC)
}

fn protect(page: usize, protection: c_int) -> Result<()> {
    // SAFETY: the page is the subject's code, which stays readable and ends executable again.
    unsafe { sys::call(libc::SYS_mprotect, [page, PAGE, protection as usize, 0, 0, 0]) }.map(drop)
}

/// How far the program is loaded from where its file says.
fn load_bias() -> usize {
    // SAFETY: the function takes a number.
    let headers = unsafe { libc::getauxval(libc::AT_PHDR) } as usize;
    // SAFETY: as above.
    let count = unsafe { libc::getauxval(libc::AT_PHNUM) } as usize;
    for index in 0..count {
        let header = (headers + index * size_of::<libc::Elf64_Phdr>()) as *const libc::Elf64_Phdr;
        // SAFETY: the kernel says that the program's headers are there, this many.
        let header = unsafe { &*header };
        if header.p_type == libc::PT_PHDR {
            return headers.wrapping_sub(header.p_vaddr as usize);
        }
    }
    0
}

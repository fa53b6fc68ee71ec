//! Memory for the start-up code; ends the process if something is allocated after the warm point.
//!
//! What is used after the warm point is static; what is too large for that is to be reserved before [`close`], by a module
//! beside this one, as address space without access (`PROT_NONE`, `MAP_NORESERVE`), whose pieces become accessible when they
//! are used. A plain run needs the same reservation: where the kernel puts the subject's own mappings shows in counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

#[global_allocator]
static GUARD: Guard = Guard { closed: AtomicBool::new(false) };

struct Guard {
    closed: AtomicBool,
}

/// Forbids allocation from now on.
pub fn close() {
    GUARD.closed.store(true, Ordering::Relaxed);
}

// SAFETY: everything is the system allocator's; memory is never handed out by anyone else.
unsafe impl GlobalAlloc for Guard {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if self.closed.load(Ordering::Relaxed) {
            crate::sys::die("hearth: the shim allocated memory after the warm point\n");
        }
        // SAFETY: the caller keeps the system allocator's rules.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the memory came from the system allocator, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

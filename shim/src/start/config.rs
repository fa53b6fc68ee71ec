//! What the daemon says first, before the subject's first instruction.

use crate::serve::executed;
use crate::sys::{self, message};
use hearth_shim_abi::{CONTROL_FD, Config, SHIM_FD, VERSION};
use std::cell::UnsafeCell;

/// Written before the warm point, read after.
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

/// Waits for what the daemon says first.
pub fn receive() {
    // The loader has mapped the shim by now.
    sys::close(SHIM_FD);
    let mut config: Config = bytemuck::Zeroable::zeroed();
    let received = message::receive(CONTROL_FD, bytemuck::bytes_of_mut(&mut config), &mut []);
    if received != Ok(size_of::<Config>()) || config.version != VERSION {
        sys::die("hearth: the shim and the daemon are of different versions; build both anew\n");
    }
    // SAFETY: nothing has a reference to it yet; no other thread runs.
    unsafe { *CONFIG.0.get() = Some(config) };
}

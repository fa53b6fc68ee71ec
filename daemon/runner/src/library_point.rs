//! A warm point at a function of a library: where that is, is known only when the loader has mapped the library.

use crate::binary_layout::BinaryLayout;
use crate::error::{During, Error, Result};
use crate::limits::WARM_DEADLINE;
use crate::mappings::Mappings;
use crate::zygote::{ZygoteKey, receive_event};
use hearth_sandbox::{Launched, packet};
use hearth_shim_abi::{EVENT_MAPPED, REQUEST_WAIT_AT, ZygoteRequest};
use std::fs::File;
use std::io::Read;
use std::time::Instant;

/// Waits for the shim to ask, at the beginning of `main`, and tells it where the function is.
///
/// # Errors
/// If nothing that is mapped has it.
pub(crate) fn tell(
    launched: &Launched,
    key: &ZygoteKey,
    program: &BinaryLayout,
    function: &str,
) -> Result<()> {
    let event = receive_event(&launched.control, Instant::now() + WARM_DEADLINE);
    // Whoever waits for the warm point next finds out, and tells, why nothing is asked.
    let Ok(Some(mut packet)) = event else { return Ok(()) };
    if packet.head.kind != EVENT_MAPPED || packet.fds.len() != 1 {
        return Err(Error::ZygoteLost(format!("it said {} before its warm point", packet.head.kind)));
    }
    let mut maps = String::new();
    File::from(packet.fds.remove(0)).read_to_string(&mut maps).during("read what the subject has mapped")?;
    let found = Mappings::parse(&maps).function(function);
    let lacking = || Error::Program { path: key.binary.clone(), problem: program.lacks(function) };
    let request = ZygoteRequest {
        kind: REQUEST_WAIT_AT,
        address: found.ok_or_else(lacking)?,
        ..ZygoteRequest::default()
    };
    // A subject that has died meanwhile is noticed as above.
    let _ = packet::send(&launched.control, &request, &[], &[]);
    Ok(())
}

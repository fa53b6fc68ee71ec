//! What the daemon tells a zygote first.

use crate::PATH_LIMIT;
use bytemuck::{Pod, Zeroable};

/// What the daemon tells a zygote first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Config {
    /// [`VERSION`](crate::VERSION).
    pub version: u32,
    /// `WARM_*`.
    pub warm: u32,
    /// Where to wait, for [`WARM_SYMBOL`]: the address in the program's file; 0 if that is to be asked
    /// ([`EVENT_MAPPED`](crate::EVENT_MAPPED)).
    pub symbol: u64,
    /// Length of the input path.
    pub input_length: u32,
    /// 1 if what is written goes to memory without the shim's doing, almost everywhere.
    pub has_areas: u32,
    /// The input path, absolute and without `.` and `..`.
    pub input: [u8; PATH_LIMIT],
}

/// Wait at the entry of `main`.
pub const WARM_MAIN: u32 = 0;
/// Wait before the input path is first opened.
pub const WARM_INPUT: u32 = 1;
/// Wait at the entry of a function.
pub const WARM_SYMBOL: u32 = 2;

const _: () = assert!(size_of::<Config>() == 24 + PATH_LIMIT);

//! What is observed of runs: nothing, or what they count.

pub(crate) mod counted;
pub mod counters;
pub mod harvest;

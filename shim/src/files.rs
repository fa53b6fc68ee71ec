//! The files that a run sees: what it writes is in memory, what its subject had open is opened anew.

pub mod closing;
pub mod data;
pub mod descriptors;
pub mod early;
pub mod input;
pub mod interpose;
pub mod memory;
pub mod path;
pub mod table;
pub mod temporary;

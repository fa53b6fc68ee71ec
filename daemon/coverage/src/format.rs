//! The formats a report can be written in, and the report itself, which any producer of coverage can fill.

pub mod cobertura;
pub mod gcov_json;
pub mod lcov;
mod report;
pub mod text;

pub use report::{BranchTotals, Branches, FunctionTotals, LineTotals, Report, SourceTotals};

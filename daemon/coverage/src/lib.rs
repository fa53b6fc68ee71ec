//! Coverage as gcov computes it, without gcov and without IO.
//!
//! Bytes come in, counts go out. The path of one object file:
//!
//! ```text
//! .gcno ─> Notes ─> ObjectMap ─┐                    ┌─> format::gcov_json
//!                              ├─> ObjectCoverage ──┴─> format::Report ─> lcov, cobertura, text
//! .gcda ─> Data ──> Counters ──┘
//! ```
//!
//! An [`Atlas`](atlas::Atlas) joins the maps of all objects of a subject, gives every function, counter and
//! line a dense id, and has a form on disk that is used in place. A [`Spectrum`](spectrum::Spectrum) is a run's counts
//! in these ids; from spectra come deltas, distances, scores and rankings.
//!
//! No function of this crate panics on any input bytes, and none allocates more than a small multiple of
//! its input's size.
//!
//! ```
//! use hearth_coverage::format::{Branches, Report, lcov};
//! use hearth_coverage::gcov::{Counters, Notes, ObjectCoverage, ObjectMap, Workspace};
//!
//! // What GCC 4.8 would note of `void f(void) { g(); }` on line 3 of a.c: three blocks, one way through them.
//! let [f, a_c] = [*b"f\0\0\0", *b"a.c\0"].map(u32::from_le_bytes);
//! let head = [*b"gcno", *b"408*", [0; 4]].map(u32::from_be_bytes);
//! let function = [0x0100_0000, 8, 1, 0, 0, 1, f, 1, a_c, 3];
//! let blocks = [0x0141_0000, 3, 0, 0, 0];
//! let arcs = [[0x0143_0000, 3, 0, 2, 0], [0x0143_0000, 3, 2, 1, 1]];
//! let lines = [0x0145_0000, 7, 2, 0, 1, a_c, 3, 0, 0];
//! let words = [&head[..], &function, &blocks, arcs.as_flattened(), &lines].concat();
//! let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
//!
//! let notes = Notes::read(&bytes)?;
//! let map = ObjectMap::new(&notes, &|_| true);
//! let counters = Counters::from_values(&map, &mut || 5);
//! let coverage = ObjectCoverage::new(&map, &counters, &mut Workspace::default())?;
//! let mut report = Report::default();
//! coverage.add_to(&mut report, &map, Branches::None);
//! let mut text = Vec::new();
//! lcov::write(&report, false, &mut text);
//! assert!(text.starts_with(b"TN:\nSF:a.c\nFN:3,f\nFNDA:5,f\nFNF:1\nFNH:1\nDA:3,5\n"));
//! # Ok::<(), hearth_coverage::Error>(())
//! ```
#![forbid(unsafe_code)]

pub mod atlas;
pub mod demangle;
pub mod format;
pub mod gcov;
pub mod name_text;
pub mod spectrum;

pub use gcov::Error;

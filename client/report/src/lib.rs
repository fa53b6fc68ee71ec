//! Localizations for people: an HTML page that needs nothing else, and charts as SVG.
//!
//! ```
//! use hearth_localize::localization::Localization;
//! use hearth_report::html::{About, page};
//! use std::time::Duration;
//!
//! fn page_of(found: &Localization) -> String {
//!     let about = About {
//!         subject: "gcc-11",
//!         program: "wrong.c",
//!         text: "int main(void) { return 0; }",
//!         fail: "-O2".to_owned(),
//!         pass: Some("-O0".to_owned()),
//!         technique: "fused",
//!         seed: 1,
//!         budget: Duration::from_secs(60),
//!         made: "today, on x86_64 with 2 cores".to_owned(),
//!     };
//!     page(&about, found, |source| std::fs::read_to_string(source).ok())
//! }
//! ```
//!
//! ```
//! use hearth_report::plot::{BarChart, Paper};
//!
//! let chart = BarChart {
//!     title: "Bugs found".to_owned(),
//!     x_title: "among the first".to_owned(),
//!     y_title: "bugs".to_owned(),
//!     groups: vec!["1".to_owned(), "5".to_owned()],
//!     series: vec![("options".to_owned(), vec![2.0, 8.0])],
//! };
//! assert!(chart.svg(Paper::White).starts_with("<svg "));
//! ```
#![forbid(unsafe_code)]

pub mod html;
mod markup;
pub mod names;
pub mod plot;

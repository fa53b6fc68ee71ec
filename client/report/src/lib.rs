//! Localizations for people: an HTML page that needs nothing else, and charts as SVG.
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

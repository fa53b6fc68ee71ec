//! Charts as SVG: lines and grouped bars, for a page or a file of their own.
//!
//! Series differ by colour, dash and mark, so that they can be told apart without colours.

mod frame;
mod scale;

use crate::markup::Escaped;
use frame::{COLOURS, Frame, legend_name};
use scale::{Scale, number};
use std::fmt::Write;

/// What a chart is drawn on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paper {
    /// White, with the title drawn: a file of its own.
    White,
    /// That of the HTML page around it, light or dark; the page says the title.
    Page,
}

/// An axis of a line chart.
#[derive(Debug, Clone, Default)]
pub struct Axis {
    /// What it shows, with the unit.
    pub title: String,
    /// Where it begins, if no value is below; a logarithmic one at the smallest value.
    pub from: f64,
    /// Is it logarithmic? Values that are not above 0 are left out.
    pub is_log: bool,
    /// Does it grow the other way, as ranks do?
    pub is_inverted: bool,
}

/// A line with a name. A value that is not finite is a gap.
#[derive(Debug, Clone)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
}

/// Lines over an axis.
#[derive(Debug, Clone)]
pub struct LineChart {
    /// What it shows; also for those who cannot see it.
    pub title: String,
    /// The axis to the right.
    pub x: Axis,
    /// The axis upwards.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
}

/// Groups of bars, a bar of each series in each.
#[derive(Debug, Clone)]
pub struct BarChart {
    /// What it shows; also for those who cannot see it.
    pub title: String,
    /// What the groups are.
    pub x_title: String,
    /// What the bars show, with the unit.
    pub y_title: String,
    /// The groups' names.
    pub groups: Vec<String>,
    /// Each series' name and its value in each group.
    pub series: Vec<(String, Vec<f64>)>,
}

impl LineChart {
    /// The chart.
    #[must_use]
    pub fn svg(&self, paper: Paper) -> String {
        let values = |pick: fn(&(f64, f64)) -> f64| {
            self.series.iter().flat_map(|series| series.points.iter().map(pick)).collect::<Vec<f64>>()
        };
        let y = Scale::new(&self.y, &values(|point| point.1));
        let x = Scale::new(&self.x, &values(|point| point.0));
        let names: Vec<String> = self.series.iter().map(|series| legend_name(&series.name)).collect();
        let mut frame = Frame::new(paper, &self.title, &self.y.title, &y, &names);
        frame.vertical(&y);
        for &tick in &x.ticks {
            let place = frame.across(x.part(tick));
            let _ = writeln!(
                frame.svg,
                "<text x=\"{place:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                frame.bottom() + 18.0,
                number(tick)
            );
        }
        for (index, series) in self.series.iter().enumerate() {
            frame.line(index, series, &x, &y);
        }
        frame.finish(&self.x.title, &names, true)
    }
}

impl BarChart {
    /// The chart.
    #[must_use]
    pub fn svg(&self, paper: Paper) -> String {
        let values: Vec<f64> = self.series.iter().flat_map(|(_, values)| values.iter().copied()).collect();
        let y = Scale::new(&Axis { title: self.y_title.clone(), ..Axis::default() }, &values);
        let names: Vec<String> = self.series.iter().map(|(name, _)| legend_name(name)).collect();
        let mut frame = Frame::new(paper, &self.title, &self.y_title, &y, &names);
        frame.vertical(&y);
        let group = frame.width() / self.groups.len().max(1) as f64;
        let bar = (group * 0.84 / self.series.len().max(1) as f64).min(64.0);
        for (place, name) in self.groups.iter().enumerate() {
            let middle = frame.left + (place as f64 + 0.5) * group;
            let _ = writeln!(
                frame.svg,
                "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                frame.bottom() + 18.0,
                Escaped(name)
            );
            let first = middle - bar * self.series.len() as f64 / 2.0;
            for (index, (_, values)) in self.series.iter().enumerate() {
                let Some(&value) = values.get(place).filter(|value| value.is_finite()) else { continue };
                let (left, top) = (first + bar * index as f64, frame.down(y.part(value)));
                let _ = writeln!(
                    frame.svg,
                    "<rect class=\"s{}\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>\n\
                     <text class=\"value\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                    index % COLOURS.len(),
                    left + 1.0,
                    bar - 2.0,
                    frame.bottom() - top,
                    left + bar / 2.0,
                    top - 4.0,
                    number(value)
                );
            }
        }
        frame.finish(&self.x_title, &names, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, points: &[(f64, f64)]) -> Series {
        Series { name: name.to_owned(), points: points.to_vec() }
    }

    fn chart(y: Axis, points: &[(f64, f64)]) -> LineChart {
        let x = Axis { title: "time in seconds".to_owned(), ..Axis::default() };
        LineChart { title: "A <title>".to_owned(), x, y, series: vec![series("a & b", points)] }
    }

    #[test]
    fn charts_are_whole_documents_without_impossible_numbers() {
        let points = [(0.0, 3.0), (1.0, f64::NAN), (2.0, 0.0), (3.0, f64::INFINITY), (4.0, 7.0), (5.0, 8.0)];
        for (is_log, points) in
            [(false, &points[..]), (true, &points), (false, &[]), (true, &[]), (true, &points[..1])]
        {
            for paper in [Paper::White, Paper::Page] {
                let y = Axis { title: "rank".to_owned(), is_log, ..Axis::default() };
                let svg = chart(y, points).svg(paper);
                assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                assert!(svg.contains("A &lt;title&gt;") && svg.contains("a &amp; b"));
                assert!(svg.contains("time in seconds") && svg.contains("rank"));
                assert_eq!(
                    svg.contains("fill=\"#fff\""),
                    paper == Paper::White,
                    "only a file has its own paper"
                );
                assert_eq!(svg.contains("prefers-color-scheme"), paper == Paper::Page);
            }
        }
        let svg = chart(Axis::default(), &points).svg(Paper::White);
        let line =
            svg.split("class=\"line").nth(1).and_then(|rest| rest.split(" d=\"").nth(1)).expect("a line");
        let line = line.split('"').next().expect("its path");
        assert_eq!((line.matches('M').count(), line.matches('L').count()), (3, 1), "two gaps: {line}");
    }

    #[test]
    fn bars_stand_side_by_side_as_high_as_their_values() {
        let chart = BarChart {
            title: "Bugs found".to_owned(),
            x_title: "among the first".to_owned(),
            y_title: "bugs".to_owned(),
            groups: ["1", "5"].map(str::to_owned).to_vec(),
            series: vec![("options".to_owned(), vec![2.0, 8.0]), ("diwi".to_owned(), vec![1.0, 4.0])],
        };
        let svg = chart.svg(Paper::White);
        let read = |rect: &str, name: &str| -> f64 {
            let rest = rect.split(&format!(" {name}=\"")).nth(1).expect("an attribute");
            rest.split('"').next().and_then(|text| text.parse().ok()).expect("a number")
        };
        let bars: Vec<(f64, f64)> = svg
            .lines()
            .filter(|line| line.starts_with("<rect class=\"s") && !line.contains("width=\"14\""))
            .map(|rect| (read(rect, "x"), read(rect, "height")))
            .collect();
        assert_eq!(bars.len(), 4);
        assert!(bars.is_sorted_by(|one, other| one.0 < other.0), "{bars:?}");
        assert!(
            (bars[2].1 - 4.0 * bars[0].1).abs() < 0.5 && (bars[3].1 - 2.0 * bars[0].1).abs() < 0.5,
            "{bars:?}"
        );
    }
}

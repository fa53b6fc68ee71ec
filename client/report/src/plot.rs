//! Charts as SVG: lines and grouped bars, for a page or a file of their own.
//!
//! Series differ by colour, dash and mark, so that they can be told apart without colours.

use crate::markup::Escaped;
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

const WIDTH: f64 = 520.0;
/// The height between the axis' ends.
const HEIGHT: f64 = 220.0;
const FONT: f64 = 13.0;
/// A character's width, at the most.
const LETTER: f64 = 7.2;
const RIGHT: f64 = 16.0;
const LEGEND_ROW: f64 = 20.0;
/// The longest name in a legend; of a longer one the end is shown, which tells paths apart.
const NAME: usize = 56;
/// Marks on a line; more would hide it.
const MARKS: usize = 14;
/// Colours for white and for dark paper, after Okabe and Ito: told apart by the colour-blind, too.
const COLOURS: [(&str, &str); 6] = [
    ("#0072b2", "#56b4e9"),
    ("#d55e00", "#ff9248"),
    ("#007a5a", "#2fd3a0"),
    ("#a8487a", "#e69ac0"),
    ("#806600", "#f0e442"),
    ("#4d4d4d", "#c8c8c8"),
];
const DASHES: [&str; 6] = ["none", "8 4", "2 3", "10 3 2 3", "5 2", "1 5"];

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

/// Where the values of an axis are.
struct Scale {
    from: f64,
    to: f64,
    is_log: bool,
    is_inverted: bool,
    ticks: Vec<f64>,
}

impl Scale {
    fn new(axis: &Axis, values: &[f64]) -> Self {
        let known = |value: &f64| value.is_finite() && (!axis.is_log || *value > 0.0);
        let values: Vec<f64> = values.iter().copied().filter(known).collect();
        let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let ticks = match (values.is_empty(), axis.is_log) {
            (true, true) => log_ticks(1.0, 1.0),
            (true, false) => linear_ticks(axis.from, axis.from, true),
            (_, true) => log_ticks(lowest, highest),
            (_, false) => {
                let is_whole = values.iter().all(|value| value.fract() == 0.0);
                linear_ticks(lowest.min(axis.from), highest, is_whole)
            }
        };
        let from = ticks.first().copied().unwrap_or(0.0);
        let to = ticks.last().copied().unwrap_or(1.0);
        Self { from, to, is_log: axis.is_log, is_inverted: axis.is_inverted, ticks }
    }

    /// Where a value is, from 0 at the beginning to 1 at the end; not finite if it has no place.
    fn part(&self, value: f64) -> f64 {
        let part = match self.is_log {
            true if value <= 0.0 => f64::NAN,
            true => (value / self.from).ln() / (self.to / self.from).ln(),
            false => (value - self.from) / (self.to - self.from),
        };
        if self.is_inverted { 1.0 - part } else { part }
    }
}

/// Round numbers, about six, from the first value to one that is not below the last.
fn linear_ticks(from: f64, highest: f64, is_whole: bool) -> Vec<f64> {
    let width = (highest - from).max(f64::MIN_POSITIVE);
    let width = if highest > from { width } else { 1.0 };
    let rough = width / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|&step| step >= rough * 0.999);
    let step = step.unwrap_or(10.0 * power);
    let step = if is_whole { step.max(1.0) } else { step };
    let (first, last) = ((from / step).floor() as i64 + 1, ((from + width) / step - 1e-6).ceil() as i64);
    let rest = (first..=last.max(first)).map(|count| count as f64 * step);
    // One that stands too close to the beginning cannot be read.
    [from].into_iter().chain(rest.filter(|tick| tick - from >= step * 0.45)).collect()
}

/// 1, 2 and 5 times powers of ten around the values; powers alone if these are far apart.
fn log_ticks(lowest: f64, highest: f64) -> Vec<f64> {
    let factors: &[f64] = if highest / lowest > 2000.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let (first, last) = (lowest.log10().floor() as i32, highest.log10().ceil() as i32 + 1);
    let all: Vec<f64> = (first..=last)
        .flat_map(|power| factors.iter().map(move |factor| factor * 10_f64.powi(power)))
        .collect();
    let begin = all.iter().rposition(|&tick| tick <= lowest * 1.000_001).unwrap_or(0);
    let end = all.iter().position(|&tick| tick >= highest * 0.999_999).unwrap_or(all.len() - 1);
    all[begin..=end.max(begin + 1).min(all.len() - 1)].to_vec()
}

/// A number, as short as it can be.
fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn legend_name(name: &str) -> String {
    match name.chars().count().saturating_sub(NAME) {
        0 => name.to_owned(),
        surplus => ['…'].into_iter().chain(name.chars().skip(surplus + 1)).collect(),
    }
}

/// A chart that is being drawn.
struct Frame {
    svg: String,
    left: f64,
    top: f64,
    legend_rows: usize,
}

impl Frame {
    fn new(paper: Paper, title: &str, y_title: &str, y: &Scale, names: &[String]) -> Self {
        let widest = y.ticks.iter().map(|&tick| number(tick).len()).max().unwrap_or(1);
        let left = 34.0 + widest as f64 * LETTER;
        let top = if paper == Paper::White { 40.0 } else { 14.0 };
        let mut frame = Self { svg: String::new(), left, top, legend_rows: 0 };
        frame.legend_rows = frame.legend_places(names).last().map_or(0, |&(_, row)| row + 1);
        let height = frame.bottom() + 48.0 + frame.legend_rows as f64 * LEGEND_ROW;
        let escaped = Escaped(title);
        let _ = writeln!(
            frame.svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 {WIDTH} {height:.0}\" \
             width=\"{WIDTH}\" height=\"{height:.0}\" role=\"img\" aria-label=\"{escaped}\">\n\
             <title>{escaped}</title>\n<style>{}</style>",
            style(paper)
        );
        if paper == Paper::White {
            let _ = writeln!(
                frame.svg,
                "<rect width=\"{WIDTH}\" height=\"{height:.0}\" fill=\"#fff\"/>\n\
                 <text class=\"title\" x=\"{:.1}\" y=\"22\" text-anchor=\"middle\">{escaped}</text>",
                WIDTH / 2.0
            );
        }
        let middle = top + HEIGHT / 2.0;
        let _ = writeln!(
            frame.svg,
            "<text x=\"14\" y=\"{middle:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {middle:.1})\">{}</text>",
            Escaped(y_title)
        );
        frame
    }

    fn width(&self) -> f64 {
        WIDTH - self.left - RIGHT
    }

    fn bottom(&self) -> f64 {
        self.top + HEIGHT
    }

    fn across(&self, part: f64) -> f64 {
        self.left + part * self.width()
    }

    fn down(&self, part: f64) -> f64 {
        self.bottom() - part * HEIGHT
    }

    /// The lines across, with their numbers.
    fn vertical(&mut self, y: &Scale) {
        for &tick in &y.ticks {
            let place = self.down(y.part(tick));
            let _ = writeln!(
                self.svg,
                "<path class=\"grid\" d=\"M{:.1} {place:.1}H{:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                self.left,
                WIDTH - RIGHT,
                self.left - 7.0,
                place + FONT * 0.35,
                number(tick)
            );
        }
    }

    fn line(&mut self, index: usize, series: &Series, x: &Scale, y: &Scale) {
        let mut path = String::new();
        let mut marks = String::new();
        let every = series.points.len().div_ceil(MARKS).max(1);
        let mut is_gap = true;
        for (place, point) in series.points.iter().enumerate() {
            let (across, down) = (self.across(x.part(point.0)), self.down(y.part(point.1)));
            if !(across.is_finite() && down.is_finite()) {
                is_gap = true;
                continue;
            }
            let _ = write!(path, "{}{across:.1} {down:.1}", if is_gap { 'M' } else { 'L' });
            is_gap = false;
            if (series.points.len() - 1 - place).is_multiple_of(every) {
                marks.push_str(&mark(index, across, down));
            }
        }
        let (colour, dash) = (index % COLOURS.len(), DASHES[index % DASHES.len()]);
        let _ = writeln!(
            self.svg,
            "<path class=\"line c{colour}\" stroke-dasharray=\"{dash}\" d=\"{path}\"/>\n\
             <path class=\"s{colour}\" d=\"{marks}\"/>"
        );
    }

    /// Where each name of the legend begins, and in which row.
    fn legend_places(&self, names: &[String]) -> Vec<(f64, usize)> {
        let (mut across, mut row) = (self.left, 0);
        let mut places = Vec::new();
        for name in names {
            let width = 50.0 + name.chars().count() as f64 * LETTER;
            if across + width > WIDTH && across > self.left {
                (across, row) = (self.left, row + 1);
            }
            places.push((across, row));
            across += width;
        }
        places
    }

    /// The axis, its title and the legend.
    fn finish(mut self, x_title: &str, names: &[String], has_lines: bool) -> String {
        let bottom = self.bottom();
        let _ = writeln!(
            self.svg,
            "<path class=\"axis\" d=\"M{:.1} {:.1}V{bottom:.1}H{:.1}\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            self.left,
            self.top,
            WIDTH - RIGHT,
            self.left + self.width() / 2.0,
            bottom + 37.0,
            Escaped(x_title)
        );
        for (index, (name, (across, row))) in names.iter().zip(self.legend_places(names)).enumerate() {
            let down = bottom + 58.0 + row as f64 * LEGEND_ROW;
            let (colour, dash) = (index % COLOURS.len(), DASHES[index % DASHES.len()]);
            let _ = match has_lines {
                true => write!(
                    self.svg,
                    "<path class=\"line c{colour}\" stroke-dasharray=\"{dash}\" d=\"M{across:.1} {down:.1}h28\"/>\
                     <path class=\"s{colour}\" d=\"{}\"/>",
                    mark(index, across + 14.0, down)
                ),
                false => write!(
                    self.svg,
                    "<rect class=\"s{colour}\" x=\"{:.1}\" y=\"{:.1}\" width=\"14\" height=\"12\"/>",
                    across + 14.0,
                    down - 6.0
                ),
            };
            let (across, down) = (across + 34.0, down + FONT * 0.35);
            let _ = writeln!(self.svg, "<text x=\"{across:.1}\" y=\"{down:.1}\">{}</text>", Escaped(name));
        }
        self.svg.push_str("</svg>\n");
        self.svg
    }
}

/// A small figure around a place: a square, a circle, a triangle, a diamond, a triangle that stands on its tip.
fn mark(index: usize, x: f64, y: f64) -> String {
    match index % 5 {
        0 => format!("M{:.1} {y:.1}a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", x - 4.0),
        1 => format!("M{:.1} {:.1}h7v7h-7z", x - 3.5, y - 3.5),
        2 => format!("M{x:.1} {:.1}l4.5 8h-9z", y - 5.0),
        3 => format!("M{x:.1} {:.1}l5 5l-5 5l-5-5z", y - 5.0),
        _ => format!("M{x:.1} {:.1}l-4.5-8h9z", y + 5.0),
    }
}

fn style(paper: Paper) -> String {
    let colours = |pick: fn(&(&'static str, &'static str)) -> &'static str| {
        let rules = COLOURS.iter().map(pick).enumerate().map(|(index, colour)| {
            format!(".plot .s{index}{{fill:{colour}}}.plot .c{index}{{stroke:{colour}}}")
        });
        rules.collect::<String>()
    };
    let mut style = format!(
        ".plot{{font:{FONT}px system-ui,sans-serif}}.plot text{{fill:#333}}.plot .title{{font-weight:600}}\
         .plot .value{{font-size:11px}}.plot .grid{{stroke:#ddd;fill:none}}.plot .axis{{stroke:#777;fill:none}}\
         .plot .line{{fill:none;stroke-width:2;stroke-linejoin:round}}{}",
        colours(|pair| pair.0)
    );
    if paper == Paper::Page {
        let _ = write!(
            style,
            "@media screen and (prefers-color-scheme:dark){{.plot text{{fill:#ddd}}.plot .grid{{stroke:#3a3f46}}\
             .plot .axis{{stroke:#999}}{}}}",
            colours(|pair| pair.1)
        );
    }
    style
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
    fn ticks_are_round_and_hold_all_values() {
        let linear = |from, to, is_whole| linear_ticks(from, to, is_whole);
        assert_eq!(linear(0.0, 61.0, false), [0.0, 20.0, 40.0, 60.0, 80.0]);
        assert_eq!(linear(0.0, 2.0, true), [0.0, 1.0, 2.0]);
        assert_eq!(linear(1.0, 10.0, true), [1.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(linear(1.0, 1.0, true), [1.0, 2.0]);
        assert_eq!(linear(0.0, 0.0, false).first(), Some(&0.0));
        assert_eq!(log_ticks(1.0, 40.0), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
        assert_eq!(log_ticks(3.0, 3.0), [2.0, 5.0]);
        assert_eq!(log_ticks(1.0, 1e6), [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6]);
    }

    #[test]
    fn of_long_names_the_end_is_shown() {
        assert_eq!(legend_name("gcc/fold-const.c"), "gcc/fold-const.c");
        let long = legend_name(&format!("{}/fold-const.c", "ü".repeat(99)));
        assert!(long.starts_with("…ü") && long.ends_with("ü/fold-const.c") && long.chars().count() == NAME);
    }

    #[test]
    fn an_inverted_axis_has_its_beginning_at_the_top() {
        for is_log in [false, true] {
            let axis = Axis { from: 1.0, is_inverted: true, is_log, ..Axis::default() };
            let scale = Scale::new(&axis, &[1.0, 20.0]);
            assert!((scale.part(1.0) - 1.0).abs() < 1e-9);
            assert!(scale.part(20.0).abs() < 1e-9);
            assert!(scale.part(3.0) > scale.part(7.0));
        }
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

//! What all charts have: paper, titles, the grid, the axes, a legend; and how lines are drawn.

use super::scale::{Scale, number};
use super::{Paper, Series};
use crate::markup::Escaped;
use std::fmt::Write;

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
pub const COLOURS: [(&str, &str); 6] = [
    ("#0072b2", "#56b4e9"),
    ("#d55e00", "#ff9248"),
    ("#007a5a", "#2fd3a0"),
    ("#a8487a", "#e69ac0"),
    ("#806600", "#f0e442"),
    ("#4d4d4d", "#c8c8c8"),
];
const DASHES: [&str; 6] = ["none", "8 4", "2 3", "10 3 2 3", "5 2", "1 5"];

/// A chart that is being drawn.
pub struct Frame {
    /// What is drawn so far.
    pub svg: String,
    /// Where the axis to the right begins.
    pub left: f64,
    top: f64,
    legend_rows: usize,
}

impl Frame {
    /// The paper, the titles and the room for a legend of some names.
    pub fn new(paper: Paper, title: &str, y_title: &str, y: &Scale, names: &[String]) -> Self {
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

    /// How wide the axis to the right is.
    pub fn width(&self) -> f64 {
        WIDTH - self.left - RIGHT
    }

    /// Where the axis to the right is.
    pub fn bottom(&self) -> f64 {
        self.top + HEIGHT
    }

    /// Where a part of the axis to the right is.
    pub fn across(&self, part: f64) -> f64 {
        self.left + part * self.width()
    }

    /// Where a part of the axis upwards is.
    pub fn down(&self, part: f64) -> f64 {
        self.bottom() - part * HEIGHT
    }

    /// The lines across, with their numbers.
    pub fn vertical(&mut self, y: &Scale) {
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

    /// A line, with marks on it.
    pub fn line(&mut self, index: usize, series: &Series, x: &Scale, y: &Scale) {
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
    pub fn finish(mut self, x_title: &str, names: &[String], has_lines: bool) -> String {
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

/// A name as the legend shows it.
pub fn legend_name(name: &str) -> String {
    match name.chars().count().saturating_sub(NAME) {
        0 => name.to_owned(),
        surplus => ['…'].into_iter().chain(name.chars().skip(surplus + 1)).collect(),
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

    #[test]
    fn of_long_names_the_end_is_shown() {
        assert_eq!(legend_name("gcc/fold-const.c"), "gcc/fold-const.c");
        let long = legend_name(&format!("{}/fold-const.c", "ü".repeat(99)));
        assert!(long.starts_with("…ü") && long.ends_with("ü/fold-const.c") && long.chars().count() == NAME);
    }
}

//! Where values are on an axis, and the round numbers beside it.

use super::Axis;

/// Where the values of an axis are.
pub struct Scale {
    from: f64,
    to: f64,
    is_log: bool,
    is_inverted: bool,
    /// Round numbers on it.
    pub ticks: Vec<f64>,
}

impl Scale {
    /// One that holds all values.
    pub fn new(axis: &Axis, values: &[f64]) -> Self {
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
    pub fn part(&self, value: f64) -> f64 {
        let part = match self.is_log {
            true if value <= 0.0 => f64::NAN,
            true => (value / self.from).ln() / (self.to / self.from).ln(),
            false => (value - self.from) / (self.to - self.from),
        };
        if self.is_inverted { 1.0 - part } else { part }
    }
}

/// A number, as short as it can be.
pub fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn an_inverted_axis_has_its_beginning_at_the_top() {
        for is_log in [false, true] {
            let axis = Axis { from: 1.0, is_inverted: true, is_log, ..Axis::default() };
            let scale = Scale::new(&axis, &[1.0, 20.0]);
            assert!((scale.part(1.0) - 1.0).abs() < 1e-9);
            assert!(scale.part(20.0).abs() < 1e-9);
            assert!(scale.part(3.0) > scale.part(7.0));
        }
    }
}

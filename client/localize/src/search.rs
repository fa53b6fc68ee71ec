//! Which rule mutates the failing program next: DiWi's way, by Metropolis and Hastings, or at random. RecBi's way, over
//! operators, is in the files below.

pub mod actor_critic;
pub mod guide;
pub mod quality;

use crate::mutate::Rule;
use fastrand::Rng;

/// The success probability of DiWi's geometric distribution, over as many rules.
const PROBABILITY: f64 = 0.023;
const RULES: f64 = 132.0;

/// How rules are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Rules that brought diverse witnesses are preferred.
    MetropolisHastings,
    /// All alike.
    Random,
}

/// The rules, or operators, with what they have brought so far.
#[derive(Debug)]
pub struct Rules<T = Rule> {
    choice: Choice,
    rules: Vec<Tried<T>>,
    /// The rules from the best to the worst.
    order: Vec<usize>,
    current: usize,
    /// How likely a rule is by the one before it in the order: with fewer rules less, so that the worst is as unlikely.
    decay: f64,
}

#[derive(Debug)]
struct Tried<T> {
    rule: T,
    selected: u32,
    accepted: u32,
    /// How far the last accepted witness was from those before it, on average.
    distance: f64,
}

impl<T> Tried<T> {
    /// DiWi's priority: how diverse, times how often it succeeds.
    fn score(&self) -> f64 {
        if self.selected == 0 {
            0.0
        } else {
            self.distance * f64::from(self.accepted) / f64::from(self.selected)
        }
    }
}

impl<T: Copy + PartialEq> Rules<T> {
    /// All rules, none tried.
    #[must_use]
    pub fn new(rules: Vec<T>, choice: Choice, random: &mut Rng) -> Self {
        let current = random.usize(..rules.len());
        let order = (0..rules.len()).collect();
        let decay = (1.0 - PROBABILITY).powf(RULES / rules.len() as f64);
        let tried = |rule| Tried { rule, selected: 0, accepted: 0, distance: 0.0 };
        Self { choice, rules: rules.into_iter().map(tried).collect(), order, current, decay }
    }

    /// The next rule.
    pub fn next(&mut self, random: &mut Rng) -> T {
        let position =
            |order: &[usize], rule| order.iter().position(|&other| other == rule).unwrap_or(0) as i32;
        let from = position(&self.order, self.current);
        loop {
            let candidate = random.usize(..self.rules.len());
            let step = position(&self.order, candidate) - from;
            let accepts = match self.choice {
                Choice::Random => true,
                Choice::MetropolisHastings => random.f64() < self.decay.powi(step),
            };
            if accepts {
                self.current = candidate;
                return self.rules[candidate].rule;
            }
        }
    }

    /// Takes note of what a rule brought: of an accepted witness its mean distance from those before.
    pub fn learn(&mut self, rule: T, accepted: Option<f64>) {
        if let Some(tried) = self.rules.iter_mut().find(|tried| tried.rule == rule) {
            tried.selected += 1;
            if let Some(distance) = accepted {
                tried.accepted += 1;
                tried.distance = distance;
            }
        }
        let Self { rules, order, .. } = self;
        // Equals stay in their order.
        order.sort_by(|&one, &other| rules[other].score().total_cmp(&rules[one].score()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutate::rules;

    #[test]
    fn what_brings_diverse_witnesses_is_preferred() {
        let all = rules();
        let mut random = Rng::with_seed(7);
        let count = |choice, random: &mut Rng| {
            let mut chosen = Rules::new(all.clone(), choice, random);
            // The last half brings witnesses, the later the more diverse.
            for (index, &rule) in all.iter().enumerate() {
                chosen.learn(rule, (index >= 66).then_some(index as f64));
            }
            (0..4000).filter(|_| all[66..].contains(&chosen.next(random))).count()
        };
        let preferred = count(Choice::MetropolisHastings, &mut random);
        // The chain, which tries again until a rule is accepted, is in the better half 0.7196 of the time.
        assert!((2720..3040).contains(&preferred), "{preferred}");
        assert!((1850..2150).contains(&count(Choice::Random, &mut random)));
    }

    #[test]
    fn failures_lower_a_rule() {
        let all = rules();
        let mut random = Rng::with_seed(1);
        let mut chosen = Rules::new(all.clone(), Choice::MetropolisHastings, &mut random);
        chosen.learn(all[3], Some(0.5));
        chosen.learn(all[9], Some(0.4));
        assert_eq!(chosen.order[..2], [3, 9]);
        chosen.learn(all[3], None);
        assert_eq!(chosen.order[..2], [9, 3]);
    }
}

//! How good a set of witnesses is, as RecBi measures it: like the failing program, unlike each other.
//!
//! Distances are those of the compiler's coverage, from 0 (the same lines) to 1 (none in common).

/// The accepted witnesses, as far as their quality follows from them (formulas 1 to 5).
#[derive(Debug)]
pub struct WitnessSet {
    /// How much diversity counts; similarity counts for the rest. The paper's alpha.
    alpha: f64,
    count: usize,
    /// The sum of what each has in common with the failing program.
    similarity: f64,
    /// The sum of the distances of all pairs.
    diversity: f64,
}

impl WitnessSet {
    /// The paper's alpha.
    pub const ALPHA: f64 = 0.8;

    /// No witnesses.
    #[must_use]
    pub fn new(alpha: f64) -> Self {
        Self { alpha, count: 0, similarity: 0.0, diversity: 0.0 }
    }

    /// The quality: diversity and similarity, each on average, times the number of witnesses.
    #[must_use]
    pub fn quality(&self) -> f64 {
        // The sum of pairs over n (n - 1) / 2, times n; one witness has no diversity.
        let diversity = match self.count {
            0 | 1 => 0.0,
            count => 2.0 * self.diversity / (count - 1) as f64,
        };
        self.alpha * diversity + (1.0 - self.alpha) * self.similarity
    }

    /// By how much a passing program would improve the quality, given its distances from all accepted ones and from the
    /// failing one.
    #[must_use]
    pub fn improvement(&self, accepted: &[f64], failing: f64) -> f64 {
        self.with(accepted, failing).quality() - self.quality()
    }

    /// Takes a passing program among the accepted ones unless that lowers the quality. Says by how much it improves it:
    /// it was accepted if that is not negative.
    pub fn offer(&mut self, accepted: &[f64], failing: f64) -> f64 {
        let with = self.with(accepted, failing);
        let improvement = with.quality() - self.quality();
        if improvement >= 0.0 {
            *self = with;
        }
        improvement
    }

    fn with(&self, accepted: &[f64], failing: f64) -> Self {
        debug_assert_eq!(accepted.len(), self.count, "a distance from each");
        Self {
            alpha: self.alpha,
            count: self.count + 1,
            similarity: self.similarity + 1.0 - failing,
            diversity: self.diversity + accepted.iter().sum::<f64>(),
        }
    }
}

/// What each operator is worth: how much it improved the quality, on average over all times it was chosen (formula 6).
#[derive(Debug)]
pub struct Rewards(Vec<Earned>);

#[derive(Debug, Clone, Default)]
struct Earned {
    sum: f64,
    selected: u32,
}

impl Rewards {
    /// Of so many operators, none chosen yet.
    #[must_use]
    pub fn new(operators: usize) -> Self {
        Self(vec![Earned::default(); operators])
    }

    /// The reward of an operator that was chosen and improved the quality so much; by zero if no program passed.
    pub fn earn(&mut self, operator: usize, improvement: f64) -> f64 {
        let earned = &mut self.0[operator];
        earned.sum += improvement;
        earned.selected += 1;
        earned.sum / f64::from(earned.selected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    /// Formulas 1, 2 and 4 as they are written; `distances[i][j]` is that of two programs, `failing[i]` that from the
    /// failing one.
    fn written(alpha: f64, distances: &[Vec<f64>], failing: &[f64]) -> f64 {
        let n = failing.len();
        if n == 0 {
            return 0.0;
        }
        let similarity = failing.iter().map(|distance| 1.0 - distance).sum::<f64>() / n as f64;
        let mut diversity = 0.0;
        for (i, row) in distances.iter().enumerate() {
            diversity += row[i + 1..].iter().sum::<f64>();
        }
        if n > 1 {
            diversity /= (n * (n - 1)) as f64 / 2.0;
        }
        n as f64 * (alpha * diversity + (1.0 - alpha) * similarity)
    }

    fn close(one: f64, other: f64) {
        assert!((one - other).abs() < 1e-12, "{one} is not {other}");
    }

    #[test]
    fn numbers_are_those_computed_by_hand() {
        let mut witnesses = WitnessSet::new(WitnessSet::ALPHA);
        // 0.2 * 0.9
        close(witnesses.offer(&[], 0.1), 0.18);
        // 2 * (0.8 * 0.5 + 0.2 * (0.9 + 0.7) / 2) = 1.12
        close(witnesses.offer(&[0.5], 0.3), 0.94);
        // 3 * (0.8 * (0.5 + 0.1 + 0.2) / 3 + 0.2 * (0.9 + 0.7 + 0.8) / 3) = 1.12: no worse, so accepted
        close(witnesses.offer(&[0.1, 0.2], 0.2), 0.0);
        close(witnesses.quality(), 1.12);
    }

    #[test]
    fn what_lowers_the_quality_is_not_accepted() {
        let mut witnesses = WitnessSet::new(WitnessSet::ALPHA);
        witnesses.offer(&[], 0.9);
        witnesses.offer(&[0.8], 0.9);
        // 3 * (0.8 * 0.8 / 3 + 0.2 * 0.2 / 3) is less than 2 * (0.8 * 0.8 + 0.2 * 0.1).
        close(witnesses.offer(&[0.0, 0.0], 1.0), 0.64 + 0.04 - 1.32);
        close(witnesses.quality(), 1.32);
        assert!(witnesses.offer(&[0.8, 0.8], 0.9) > 0.0, "there are still two");
    }

    #[test]
    fn sums_agree_with_the_formulas() {
        let mut random = Rng::with_seed(5);
        for alpha in [0.0, 0.3, 0.8, 1.0] {
            let mut witnesses = WitnessSet::new(alpha);
            let (mut distances, mut failing): (Vec<Vec<f64>>, Vec<f64>) = (Vec::new(), Vec::new());
            let mut rejected = 0;
            for _ in 0..40 {
                let scale = if random.bool() { 1.0 } else { 0.05 };
                let row: Vec<f64> = failing.iter().map(|_| scale * random.f64()).collect();
                let far = random.f64();
                let before = written(alpha, &distances, &failing);
                let (mut wider, mut further) = (distances.clone(), failing.clone());
                for (others, distance) in wider.iter_mut().zip(&row) {
                    others.push(*distance);
                }
                wider.push([row.clone(), vec![0.0]].concat());
                further.push(far);
                let improvement = written(alpha, &wider, &further) - before;
                close(witnesses.improvement(&row, far), improvement);
                close(witnesses.offer(&row, far), improvement);
                if improvement >= 0.0 {
                    (distances, failing) = (wider, further);
                } else {
                    rejected += 1;
                }
                close(witnesses.quality(), written(alpha, &distances, &failing));
            }
            assert!(rejected > 0 || alpha == 0.0, "similarity alone never falls");
        }
    }

    #[test]
    fn rewards_are_means_over_all_choices() {
        let mut rewards = Rewards::new(3);
        close(rewards.earn(1, 0.6), 0.6);
        close(rewards.earn(2, -0.2), -0.2);
        close(rewards.earn(1, 0.0), 0.3);
        close(rewards.earn(1, 0.3), 0.3);
        close(rewards.earn(2, 0.0), -0.1);
        close(rewards.earn(0, 0.0), 0.0);
    }
}

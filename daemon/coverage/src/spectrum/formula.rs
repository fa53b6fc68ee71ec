//! The formulas of suspiciousness: from how many runs executed a line to its score.

/// What a formula is given about a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Failing runs that executed it.
    pub failed: u32,
    /// Passing runs that executed it.
    pub passed: u32,
    /// All failing runs.
    pub all_failed: u32,
    /// All passing runs.
    pub all_passed: u32,
}

/// A formula of suspiciousness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Formula {
    /// ef / sqrt((ef + nf)(ef + ep)).
    #[default]
    Ochiai,
    /// The share of failing runs over that and the share of passing ones.
    Tarantula,
    /// ef / (ef + nf + ep).
    Jaccard,
    /// ef² / (ep + nf).
    DStar,
    /// ef - ep / (all passing + 1).
    Op2,
    /// 1 - ep / (ep + ef).
    Barinel,
}

impl Formula {
    /// The score of a line.
    #[must_use]
    pub fn score(self, tally: Tally) -> f64 {
        let [ef, ep, all_failed, all_passed] =
            [tally.failed, tally.passed, tally.all_failed, tally.all_passed].map(f64::from);
        let nf = all_failed - ef;
        let over = |part: f64, whole: f64| if whole == 0.0 { 0.0 } else { part / whole };
        match self {
            Self::Ochiai => over(ef, ((ef + nf) * (ef + ep)).sqrt()),
            Self::Tarantula => {
                let (failing, passing) = (over(ef, all_failed), over(ep, all_passed));
                over(failing, failing + passing)
            }
            Self::Jaccard => over(ef, ef + nf + ep),
            // A line that only failing runs executed is as suspicious as can be.
            Self::DStar if ep + nf == 0.0 => f64::from(u32::MAX),
            Self::DStar => ef * ef / (ep + nf),
            Self::Op2 => ef - ep / (all_passed + 1.0),
            Self::Barinel => 1.0 - over(ep, ep + ef),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spectrum::handmade::assert_close;

    #[test]
    fn formulas_are_the_usual_ones() {
        let tally = Tally { failed: 2, passed: 3, all_failed: 4, all_passed: 9 };
        assert_close(Formula::Ochiai.score(tally), 2.0 / (4.0_f64 * 5.0).sqrt());
        assert_close(Formula::Tarantula.score(tally), 0.5 / (0.5 + 3.0 / 9.0));
        assert_close(Formula::Jaccard.score(tally), 2.0 / 7.0);
        assert_close(Formula::DStar.score(tally), 4.0 / 5.0);
        assert_close(Formula::Op2.score(tally), 2.0 - 0.3);
        assert_close(Formula::Barinel.score(tally), 0.4);
        assert!(Formula::DStar.score(Tally { failed: 1, passed: 0, all_failed: 1, all_passed: 3 }) > 1e9);
    }
}

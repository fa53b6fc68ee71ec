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

/// A formula of suspiciousness. In the formulas ef and ep are the failing and the passing runs that executed the
/// line, nf the failing ones that did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Formula {
    /// ef / sqrt((ef + nf)(ef + ep)).
    #[default]
    Ochiai,
    /// The share of failing runs over that and the share of passing ones.
    Tarantula,
    /// ef / (ef + nf + ep).
    Jaccard,
    /// ef² / (ep + nf).
    Dstar,
    /// ef - ep / (all passing + 1).
    Op2,
    /// 1 - ep / (ep + ef).
    Barinel,
    /// Each passing run has a vote, shared evenly by the n lines that all failing runs (but one in 200) executed and
    /// it did not; it weighs 1 / sqrt(n).
    Votes,
}

impl Formula {
    /// The score of a line; `None` for votes, which depend on other lines, too.
    #[must_use]
    pub fn score(self, tally: Tally) -> Option<f64> {
        let [ef, ep, all_failed, all_passed] =
            [tally.failed, tally.passed, tally.all_failed, tally.all_passed].map(f64::from);
        let nf = all_failed - ef;
        let over = |part: f64, whole: f64| if whole == 0.0 { 0.0 } else { part / whole };
        Some(match self {
            Self::Votes => return None,
            Self::Ochiai => over(ef, ((ef + nf) * (ef + ep)).sqrt()),
            Self::Tarantula => {
                let (failing, passing) = (over(ef, all_failed), over(ep, all_passed));
                over(failing, failing + passing)
            }
            Self::Jaccard => over(ef, ef + nf + ep),
            // A line that only failing runs executed is as suspicious as can be.
            Self::Dstar if ep + nf == 0.0 => f64::from(u32::MAX),
            Self::Dstar => ef * ef / (ep + nf),
            Self::Op2 => ef - ep / (all_passed + 1.0),
            Self::Barinel => 1.0 - over(ep, ep + ef),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spectrum::handmade::assert_close;

    #[test]
    fn formulas_are_the_usual_ones() {
        let tally = Tally { failed: 2, passed: 3, all_failed: 4, all_passed: 9 };
        let score = |formula: Formula| formula.score(tally).unwrap();
        assert_close(score(Formula::Ochiai), 2.0 / (4.0_f64 * 5.0).sqrt());
        assert_close(score(Formula::Tarantula), 0.5 / (0.5 + 3.0 / 9.0));
        assert_close(score(Formula::Jaccard), 2.0 / 7.0);
        assert_close(score(Formula::Dstar), 4.0 / 5.0);
        assert_close(score(Formula::Op2), 2.0 - 0.3);
        assert_close(score(Formula::Barinel), 0.4);
        let only_failing = Tally { failed: 1, passed: 0, all_failed: 1, all_passed: 3 };
        assert!(Formula::Dstar.score(only_failing).unwrap() > 1e9);
        assert_eq!(Formula::Votes.score(tally), None);
    }
}

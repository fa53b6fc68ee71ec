//! The rankings that follow from what was judged.

mod fuse;
mod stack;

pub use stack::Stack;

use crate::assignment::Assignment;
use crate::error::{Error, Result};
use crate::oracle::Oracle;
use crate::technique::Technique;
use fuse::{fuse, weigh};
use hearth_client::protocol::{Aggregation, Formula, Level, RunRef, Suspect};
use hearth_client::{Answer, Ask, Connection};

/// How passing witnesses vote, and the votes are added up.
const VOTES: (Formula, Aggregation) = (Formula::Votes, Aggregation::Sum);
/// How the papers rank.
const PAPERS: (Formula, Aggregation) = (Formula::Ochiai, Aggregation::Mean);

/// Runs of one source of witnesses.
#[derive(Debug, Default)]
pub struct Runs {
    /// Those that fail, beside the failing one itself.
    pub failing: Vec<u64>,
    /// Those that pass.
    pub passing: Vec<u64>,
}

/// What rankings follow from.
#[derive(Debug, Default)]
pub struct Evidence {
    /// Option sets.
    pub options: Runs,
    /// Mutants.
    pub programs: Runs,
    /// Runs whose lines are not suspicious.
    pub innocent: Vec<u64>,
    /// The stack of a crash; else it is empty.
    pub stack: Stack,
}

/// Ranks in a technique's way.
pub struct Ranker<'a> {
    /// To the daemon.
    pub connection: &'a mut Connection,
    /// What judged.
    pub oracle: &'a Oracle,
    /// What is to be localized.
    pub assignment: &'a Assignment<'a>,
    /// What it follows from.
    pub evidence: &'a Evidence,
}

impl Ranker<'_> {
    /// The most suspicious files, functions or lines; all for a limit of 0.
    pub fn rank(&mut self, level: Level, limit: u32) -> Result<Vec<Suspect>> {
        let mut ranking = match self.assignment.technique {
            Technique::Options => self.rank_options(level)?,
            Technique::Diwi(_) | Technique::Recbi(_) => self.rank_programs(PAPERS, level)?,
            Technique::Fused if level == Level::Files => self.fused(level)?,
            Technique::Fused => weigh(self.fused(level)?, &self.fused(Level::Files)?),
        };
        if limit > 0 {
            ranking.truncate(limit as usize);
        }
        Ok(ranking)
    }

    /// What options, mutants and the stack say together.
    fn fused(&mut self, level: Level) -> Result<Vec<Suspect>> {
        let options = self.rank_options(level)?;
        let programs = self.rank_programs(VOTES, level)?;
        Ok(fuse([options, programs, self.evidence.stack.rank(level)]))
    }

    /// What options say. What failing mutants lack is not guilty where options differ, either; the other way round,
    /// options take out too much.
    fn rank_options(&mut self, level: Level) -> Result<Vec<Suspect>> {
        let Evidence { options, programs, innocent: _, stack: _ } = self.evidence;
        self.rank_by(VOTES, options, &programs.failing, level)
    }

    /// What mutants say.
    fn rank_programs(&mut self, way: (Formula, Aggregation), level: Level) -> Result<Vec<Suspect>> {
        self.rank_by(way, &self.evidence.programs, &[], level)
    }

    fn rank_by(
        &mut self,
        (formula, aggregation): (Formula, Aggregation),
        runs: &Runs,
        also_failing: &[u64],
        level: Level,
    ) -> Result<Vec<Suspect>> {
        let formula = self.assignment.way.formula.unwrap_or(formula);
        let aggregation = self.assignment.way.aggregation.unwrap_or(aggregation);
        if runs.passing.is_empty() {
            // Without a passing one all lines are alike.
            return Ok(Vec::new());
        }
        let refer = |runs: &[u64]| runs.iter().map(|&run| RunRef::Id(run)).collect::<Vec<_>>();
        let mut failing = vec![RunRef::Id(self.oracle.failing_run)];
        if compares_all_failing(formula) {
            failing.extend(refer(&runs.failing));
            failing.extend(refer(also_failing));
        }
        let passing = refer(&runs.passing);
        let innocent = refer(&self.evidence.innocent);
        match self.connection.call(Ask::Rank {
            failing,
            passing,
            innocent,
            formula,
            aggregation,
            level,
            limit: 0,
            counts: self.assignment.way.counts,
            without: self.left_out(),
        })? {
            Answer::Ranking(ranking) => Ok(ranking),
            other => Err(Error::answers(other)),
        }
    }

    /// Sources that are no suspects: the machine's headers and, of a crash, what reports it.
    fn left_out(&self) -> Vec<String> {
        let mut out = MACHINES.map(|place| format!("^{place}")).to_vec();
        if !self.evidence.innocent.is_empty() {
            out.extend(self.oracle.toolchain.compiler().reporters().iter().map(|&name| name.to_owned()));
        }
        out
    }
}

/// Does a formula compare with all that fails? The papers compare with the failing program alone.
fn compares_all_failing(formula: Formula) -> bool {
    match formula {
        Formula::Votes => true,
        Formula::Ochiai
        | Formula::Tarantula
        | Formula::Jaccard
        | Formula::Dstar
        | Formula::Op2
        | Formula::Barinel => false,
    }
}

/// Where headers are that came with the machine, not with the compiler that is localized in.
const MACHINES: [&str; 3] = ["/usr/include/", "/usr/lib/gcc/", "/usr/local/include/"];

/// Is a source file a header that came with the machine?
pub fn is_of_the_machine(source: &str) -> bool {
    MACHINES.iter().any(|place| source.starts_with(place))
}

//! A localization under way: what was judged so far, and the rankings that follow from it.

use crate::connections::Connections;
use crate::fuse::{fuse, weigh};
use crate::localize::{Progress, Request, Sample, Witness};
use crate::oracle::{Judged, Oracle, Verdict};
use crate::technique::Technique;
use anyhow::bail;
use hearth_client::protocol::{Aggregation, Formula, Level, Measure, RunRef, Suspect};
use hearth_client::{Answer, Ask, Connection};
use hearth_compiler::stack::Stack;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Files in a sample: so many that those which are the first five in the end are seen before.
const SAMPLED: u32 = 50;
/// The shortest time between two samples, which cost a ranking each.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(500);
/// Longer than any question takes.
const FAR: Duration = Duration::from_secs(3600);

/// Runs of one source of witnesses.
#[derive(Debug, Default)]
pub struct Runs {
    /// Those that fail, beside the failing one itself.
    pub failing: Vec<u64>,
    /// Those that pass.
    pub passing: Vec<u64>,
}

/// A localization under way.
pub struct Session<'a> {
    /// To the daemon.
    pub connections: &'a mut Connections,
    /// What judges.
    pub oracle: &'a Oracle,
    /// What is to be localized.
    pub request: &'a Request<'a>,
    /// When it began.
    pub started: Instant,
    /// When it must end.
    pub deadline: Instant,
    /// Is called when something was judged.
    pub tell: &'a (dyn Fn(&Progress) + Sync),
    /// How far it is.
    pub progress: Mutex<Progress>,
    /// Everything that was judged.
    pub witnesses: Vec<Witness>,
    /// Option sets.
    pub options: Runs,
    /// Mutants.
    pub programs: Runs,
    /// Runs whose lines are not suspicious.
    pub innocent: Vec<u64>,
    /// The stack of a crash; else it is empty.
    pub stack: Stack,
    /// The rankings on the way.
    pub samples: Vec<Sample>,
    /// Time for comparisons and rankings.
    pub ranking: Duration,
    /// When the sample was taken since which the first five files are the same.
    settled: Duration,
}

/// Something to judge: a program, the options to compile it with, and how the change is shown.
pub struct Candidate<'a> {
    /// What was changed.
    pub change: String,
    /// The program.
    pub text: &'a [u8],
    /// The options.
    pub options: &'a [String],
}

impl<'a> Session<'a> {
    /// One that begins.
    pub fn new(
        connections: &'a mut Connections,
        oracle: &'a Oracle,
        request: &'a Request<'a>,
        started: Instant,
        deadline: Instant,
        tell: &'a (dyn Fn(&Progress) + Sync),
    ) -> Self {
        Self {
            connections,
            oracle,
            request,
            started,
            deadline,
            tell,
            progress: Mutex::default(),
            witnesses: Vec::new(),
            options: Runs::default(),
            programs: Runs::default(),
            innocent: Vec::new(),
            stack: Stack::default(),
            samples: Vec::new(),
            ranking: Duration::ZERO,
            settled: Duration::ZERO,
        }
    }

    /// Judges candidates on all cores until a deadline; `None` for what was not begun. All that was is remembered.
    pub fn judge(
        &mut self,
        candidates: &[Candidate<'_>],
        deadline: Instant,
    ) -> anyhow::Result<Vec<Option<Judged>>> {
        let Self { connections, oracle, started, progress, tell, .. } = self;
        let progress = &*progress;
        let judged = connections.each(candidates, deadline, |connection, candidate| {
            let judged = oracle.judge(connection, candidate.text, candidate.options)?;
            let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.judged += 1;
            progress.elapsed = started.elapsed();
            progress.passing += usize::from(judged.verdict == Verdict::Pass);
            progress.failing += usize::from(judged.verdict == Verdict::Fail);
            tell(&progress);
            Ok((judged, progress.elapsed))
        })?;
        for (candidate, (judged, at)) in
            candidates.iter().zip(&judged).filter_map(|(candidate, judged)| Some((candidate, (*judged)?)))
        {
            let is_witness = judged.verdict == Verdict::Pass && judged.run > 0;
            let lacks = is_witness.then(|| self.lacks(&judged)).transpose()?;
            let is_program = candidate.text != self.request.text;
            self.witnesses.push(Witness {
                change: candidate.change.clone(),
                verdict: judged.verdict,
                program: (is_program && judged.verdict == Verdict::Pass)
                    .then(|| String::from_utf8_lossy(candidate.text).into_owned()),
                at,
                lacks,
            });
        }
        Ok(judged.into_iter().map(|judged| judged.map(|(judged, _)| judged)).collect())
    }

    /// How many lines of the failing compile a run did not execute.
    fn lacks(&mut self, judged: &Judged) -> anyhow::Result<u64> {
        let share = 1.0 - distance(self.connections.one(), judged.run, self.oracle.failing_run)?;
        let both = (self.oracle.failing_lines + judged.lines) as f64;
        let common = share * both / (1.0 + share);
        Ok(self.oracle.failing_lines.saturating_sub(common.round() as u64))
    }

    /// How far a run is from others, by their lines.
    pub fn distances(&mut self, run: u64, others: &[u64]) -> anyhow::Result<Vec<f64>> {
        let began = Instant::now();
        let never = began + FAR;
        let distances = self
            .connections
            .each(others, never, |connection, &against| distance(connection, run, against))?;
        self.ranking += began.elapsed();
        Ok(distances.into_iter().flatten().collect())
    }

    /// Takes a sample if the last was some time ago, and tells what is first.
    pub fn sample(&mut self) -> anyhow::Result<()> {
        let is_due = self.samples.last().is_none_or(|last| {
            // The longer it lasts, the fewer.
            self.started.elapsed() > last.at + SAMPLE_INTERVAL.max(last.at / 20)
        });
        if is_due { self.sample_now() } else { Ok(()) }
    }

    /// Takes a sample.
    pub fn sample_now(&mut self) -> anyhow::Result<()> {
        let files = self.rank(Level::Files, SAMPLED)?;
        let at = self.started.elapsed();
        let names =
            |files: &[Suspect]| files.iter().take(5).map(|file| file.source.clone()).collect::<Vec<_>>();
        let first = names(&files);
        if self.samples.last().is_none_or(|last| names(&last.files) != first) {
            self.settled = at;
        }
        let progress = self.progress.get_mut().unwrap_or_else(PoisonError::into_inner);
        progress.first = first;
        (self.tell)(progress);
        let (judged, passing) = (progress.judged, progress.passing);
        self.samples.push(Sample { at, judged, passing, files });
        Ok(())
    }

    /// From now on it counts how long the first five files stay the same.
    pub fn unsettle(&mut self) {
        self.settled = self.started.elapsed();
    }

    /// Were the first five files the same for as long as was asked for when the last sample was taken? Not before
    /// something passes: until then there is nothing but the stack of a crash.
    pub fn is_settled(&self) -> bool {
        let Some((patience, last)) = self.request.settled.zip(self.samples.last()) else { return false };
        let is_compared = !(self.options.passing.is_empty() && self.programs.passing.is_empty());
        last.at >= self.settled + patience && is_compared
    }

    /// The ranking that follows from what was judged so far.
    pub fn rank(&mut self, level: Level, limit: u32) -> anyhow::Result<Vec<Suspect>> {
        let began = Instant::now();
        let votes = (Formula::Votes, Aggregation::Sum);
        let papers = (Formula::Ochiai, Aggregation::Mean);
        let ranking = match self.request.technique {
            Technique::Options => self.rank_by(votes, Source::Options, level, limit)?,
            Technique::Diwi(_) | Technique::Recbi(_) => {
                self.rank_by(papers, Source::Programs, level, limit)?
            }
            Technique::Fused => {
                let mut fused = self.fused(level)?;
                if level != Level::Files {
                    fused = weigh(fused, &self.fused(Level::Files)?);
                }
                if limit > 0 {
                    fused.truncate(limit as usize);
                }
                fused
            }
        };
        self.ranking += began.elapsed();
        Ok(ranking)
    }

    /// What options, mutants and the stack say together.
    fn fused(&mut self, level: Level) -> anyhow::Result<Vec<Suspect>> {
        let votes = (Formula::Votes, Aggregation::Sum);
        let options = self.rank_by(votes, Source::Options, level, 0)?;
        let programs = self.rank_by(votes, Source::Programs, level, 0)?;
        Ok(fuse([options, programs, self.stack.rank(level)]))
    }

    fn rank_by(
        &mut self,
        (formula, aggregation): (Formula, Aggregation),
        source: Source,
        level: Level,
        limit: u32,
    ) -> anyhow::Result<Vec<Suspect>> {
        let formula = self.request.formula.unwrap_or(formula);
        let aggregation = self.request.aggregation.unwrap_or(aggregation);
        let runs = match source {
            Source::Options => &self.options,
            Source::Programs => &self.programs,
        };
        if runs.passing.is_empty() {
            // Without a passing one all lines are alike.
            return Ok(Vec::new());
        }
        let refer = |runs: &[u64]| runs.iter().map(|&run| RunRef::Id(run)).collect::<Vec<_>>();
        let mut failing = vec![RunRef::Id(self.oracle.failing_run)];
        // The papers compare with the failing program alone. What failing mutants lack is not guilty where options
        // differ, either; the other way round, options take out too much.
        if formula == Formula::Votes {
            failing.extend(refer(&runs.failing));
            if source == Source::Options {
                failing.extend(refer(&self.programs.failing));
            }
        }
        let passing = refer(&runs.passing);
        let innocent = refer(&self.innocent);
        match self.connections.one().call(Ask::Rank {
            failing,
            passing,
            innocent,
            formula,
            aggregation,
            level,
            limit: 0,
            counts: self.request.counts,
        })? {
            Answer::Ranking(mut ranking) => {
                let has_reporters = !self.innocent.is_empty();
                let is_reporter = |source: &str| has_reporters && self.oracle.toolchain.is_reporter(source);
                leave_out(&mut ranking, |source| is_of_the_machine(source) || is_reporter(source));
                ranking.truncate(if limit > 0 { limit as usize } else { usize::MAX });
                Ok(ranking)
            }
            other => bail!("the daemon answers {other:?}"),
        }
    }

    /// Has all kept runs forgotten.
    pub fn forget(&mut self) {
        for runs in [&mut self.options, &mut self.programs] {
            self.connections.forget(runs.failing.drain(..).chain(runs.passing.drain(..)));
        }
        self.connections.forget(self.innocent.drain(..));
    }
}

/// Is a source file a header that came with the machine, not with the compiler that is localized in?
pub fn is_of_the_machine(source: &str) -> bool {
    ["/usr/include/", "/usr/lib/gcc/", "/usr/local/include/"].iter().any(|place| source.starts_with(place))
}

/// Leaves files out of a ranking; what is behind them moves up.
fn leave_out(ranking: &mut Vec<Suspect>, is_out: impl Fn(&str) -> bool) {
    let mut out: Vec<u32> = Vec::new();
    ranking.retain(|suspect| {
        let is_out = is_out(&suspect.source);
        out.extend(is_out.then_some(suspect.rank));
        !is_out
    });
    for suspect in ranking {
        suspect.rank -= out.iter().filter(|&&rank| rank <= suspect.rank).count() as u32;
    }
}

/// How far two runs are apart, by their lines.
fn distance(connection: &mut Connection, run: u64, against: u64) -> anyhow::Result<f64> {
    let (run, against) = (RunRef::Id(run), RunRef::Id(against));
    match connection.call(Ask::Distance { run, against, measure: Measure::JaccardLines })? {
        Answer::Distance(distance) => Ok(distance),
        other => bail!("the daemon answers {other:?}"),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Options,
    Programs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_has_no_rank() {
        let suspect = |(source, rank): (&str, u32)| Suspect {
            rank,
            score: 1.0,
            source: source.to_owned(),
            line: 0,
            function: String::new(),
        };
        // Two at the second place, of which one is out; they have the last one's rank.
        let all = [("out", 1), ("a", 3), ("out", 3), ("b", 4), ("out", 5), ("c", 6)];
        let mut ranking: Vec<Suspect> = all.map(suspect).to_vec();
        leave_out(&mut ranking, |source| source == "out");
        let ranks: Vec<(&str, u32)> =
            ranking.iter().map(|suspect| (suspect.source.as_str(), suspect.rank)).collect();
        assert_eq!(ranks, [("a", 1), ("b", 2), ("c", 3)]);
    }
}

//! A localization under way: what was judged so far, and samples of the ranking.

use crate::assignment::Assignment;
use crate::connections::Connections;
use crate::error::{Error, Result};
use crate::localization::{Progress, Sample, Witness};
use crate::oracle::{Judged, Oracle, Verdict};
use crate::rank::{Evidence, Ranker};
use crate::witness::Candidate;
use hearth_client::protocol::{DistanceInfo, Level, Measure, RunRef, Suspect};
use hearth_client::{Answer, Ask, Connection};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Files in a sample: so many that those which are the first five in the end are seen before.
const SAMPLED: u32 = 50;
/// The shortest time between two samples, which cost a ranking each.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(500);
/// Longer than any question takes.
const FAR: Duration = Duration::from_secs(3600);

/// A localization under way.
pub struct Investigation<'a> {
    /// To the daemon.
    pub connections: &'a mut Connections,
    /// What judges.
    pub oracle: &'a Oracle,
    /// What is to be localized.
    pub assignment: &'a Assignment<'a>,
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
    /// What rankings follow from.
    pub evidence: Evidence,
    /// The rankings on the way.
    pub samples: Vec<Sample>,
    /// Time for comparisons and rankings.
    pub ranking: Duration,
    /// When the sample was taken since which the first five files are the same.
    settled: Duration,
}

impl<'a> Investigation<'a> {
    /// One that begins.
    pub fn new(
        connections: &'a mut Connections,
        oracle: &'a Oracle,
        assignment: &'a Assignment<'a>,
        started: Instant,
        deadline: Instant,
        tell: &'a (dyn Fn(&Progress) + Sync),
    ) -> Self {
        Self {
            connections,
            oracle,
            assignment,
            started,
            deadline,
            tell,
            progress: Mutex::default(),
            witnesses: Vec::new(),
            evidence: Evidence::default(),
            samples: Vec::new(),
            ranking: Duration::ZERO,
            settled: Duration::ZERO,
        }
    }

    /// Judges candidates on all cores until a deadline; `None` for what was not begun. All that was is remembered.
    pub fn judge(&mut self, candidates: &[Candidate<'_>], deadline: Instant) -> Result<Vec<Option<Judged>>> {
        let Self { connections, oracle, started, progress, tell, .. } = self;
        let progress = &*progress;
        let judged = connections.each(candidates, deadline, |connection, candidate| -> Result<_> {
            let judged = oracle.judge(connection, candidate.text, candidate.options)?;
            let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.judged += 1;
            progress.elapsed = started.elapsed();
            match judged.verdict {
                Verdict::Pass => progress.passing += 1,
                Verdict::Fail => progress.failing += 1,
                Verdict::Unusable(_) => {}
            }
            tell(&progress);
            Ok((judged, progress.elapsed))
        })?;
        for (candidate, (judged, at)) in
            candidates.iter().zip(&judged).filter_map(|(candidate, judged)| Some((candidate, (*judged)?)))
        {
            let is_witness = judged.verdict == Verdict::Pass && judged.run > 0;
            let lacks = is_witness.then(|| self.lacks(&judged)).transpose()?;
            let is_program = candidate.text != self.assignment.text;
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
    fn lacks(&mut self, judged: &Judged) -> Result<u64> {
        Ok(distance(self.connections.one(), judged.run, self.oracle.failing_run)?.only_against)
    }

    /// How far a run is from others, by their lines.
    pub fn distances(&mut self, run: u64, others: &[u64]) -> Result<Vec<f64>> {
        let began = Instant::now();
        let never = began + FAR;
        let distances = self.connections.each(others, never, |connection, &against| {
            distance(connection, run, against).map(|info| info.distance)
        })?;
        self.ranking += began.elapsed();
        Ok(distances.into_iter().flatten().collect())
    }

    /// Takes a sample if the last was some time ago, and tells what is first.
    pub fn sample(&mut self) -> Result<()> {
        let is_due = self.samples.last().is_none_or(|last| {
            // The longer it lasts, the fewer.
            self.started.elapsed() > last.at + SAMPLE_INTERVAL.max(last.at / 20)
        });
        if is_due { self.sample_now() } else { Ok(()) }
    }

    /// Takes a sample.
    pub fn sample_now(&mut self) -> Result<()> {
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

    /// A source of witnesses begins, which has so many candidates if that is known: from now on it counts how long the
    /// first five files stay the same.
    pub fn begin(&mut self, all: Option<usize>) {
        self.settled = self.started.elapsed();
        self.progress.get_mut().unwrap_or_else(PoisonError::into_inner).all = all;
    }

    /// The source of witnesses is over.
    pub fn end(&mut self) {
        self.progress.get_mut().unwrap_or_else(PoisonError::into_inner).all = None;
    }

    /// Were the first five files the same for as long as was asked for when the last sample was taken? Not before
    /// something passes: until then there is nothing but the stack of a crash.
    pub fn is_settled(&self) -> bool {
        let Some((patience, last)) = self.assignment.way.settled.zip(self.samples.last()) else {
            return false;
        };
        let Evidence { options, programs, innocent: _, stack: _ } = &self.evidence;
        let is_compared = !(options.passing.is_empty() && programs.passing.is_empty());
        last.at >= self.settled + patience && is_compared
    }

    /// The ranking that follows from what was judged so far.
    pub fn rank(&mut self, level: Level, limit: u32) -> Result<Vec<Suspect>> {
        let began = Instant::now();
        let Self { connections, oracle, assignment, evidence, .. } = self;
        let ranking =
            Ranker { connection: connections.one(), oracle, assignment, evidence }.rank(level, limit)?;
        self.ranking += began.elapsed();
        Ok(ranking)
    }

    /// Has all kept runs forgotten.
    pub fn forget(&mut self) {
        let Evidence { options, programs, innocent, stack: _ } = &mut self.evidence;
        for runs in [options, programs] {
            self.connections.forget(runs.failing.drain(..).chain(runs.passing.drain(..)));
        }
        self.connections.forget(innocent.drain(..));
    }
}

/// How far two runs are apart, by their lines.
fn distance(connection: &mut Connection, run: u64, against: u64) -> Result<DistanceInfo> {
    let (run, against) = (RunRef::Id(run), RunRef::Id(against));
    match connection.call(Ask::Distance { run, against, measure: Measure::JaccardLines })? {
        Answer::Distance(distance) => Ok(distance),
        other => Err(Error::answers(other)),
    }
}

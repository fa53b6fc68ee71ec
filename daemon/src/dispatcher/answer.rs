//! Answers to questions about kept runs.

use super::kept_runs::Kept;
use super::{Dispatcher, failure};
use hearth_coverage::spectrum::{Counts, Delta, Difference, Spectrum, distance, rank, score};
use hearth_protocol::{
    Aggregation, Answer, Coverage, DistanceInfo, Failure, FailureKind, FileCount, FileLines, Formula,
    FunctionCount, Level, Measure, RunRef, Suspect,
};
use hearth_runner::subject_map::SubjectMap;
use hearth_runner::subject_places::SubjectPlaces;
use std::sync::Arc;

type Result<T> = std::result::Result<T, Failure>;

/// What a run executed.
pub fn spectrum(dispatcher: &Dispatcher, run: &RunRef, level: Level, counts: bool) -> Result<Answer> {
    let kept = dispatcher.kept_runs().get(run)?;
    let nothing = Spectrum::zeros(kept.spectrum.lines.len(), kept.spectrum.functions.len());
    let delta = Delta { one: &kept.spectrum, other: &nothing, counts };
    let mut coverage = differing(dispatcher, &kept.map, delta, level)?;
    coverage.lines.iter_mut().for_each(|file| file.against.clear());
    Ok(Answer::Coverage(coverage))
}

/// Where a run differs from another.
pub fn delta(
    dispatcher: &Dispatcher,
    run: &RunRef,
    against: &RunRef,
    level: Level,
    counts: bool,
) -> Result<Answer> {
    let (kept, other) = pair(dispatcher, run, against)?;
    let delta = Delta { one: &kept.spectrum, other: &other, counts };
    differing(dispatcher, &kept.map, delta, level).map(Answer::Coverage)
}

/// How far a run is from another.
pub fn distance(dispatcher: &Dispatcher, run: &RunRef, against: &RunRef, measure: Measure) -> Result<Answer> {
    let (kept, other) = pair(dispatcher, run, against)?;
    let (lines, other) = (&kept.spectrum.lines, &other.lines);
    let files = || kept.map.places().map(SubjectPlaces::files).map_err(|error| failure(&error));
    let distance = match measure {
        Measure::JaccardLines => distance::jaccard_distance(lines, other),
        Measure::JaccardFiles => distance::place_distance(lines, other, &files()?),
        Measure::Locseq => distance::locseq_similarity(lines, other, &files()?),
    };
    let (both, _) = lines.overlap(other);
    Ok(Answer::Distance(DistanceInfo {
        distance,
        both: both as u64,
        only_run: (lines.executed() - both) as u64,
        only_against: (other.executed() - both) as u64,
    }))
}

/// How good a set of passing runs is.
pub fn quality(dispatcher: &Dispatcher, failing: &RunRef, passing: &[RunRef], alpha: f64) -> Result<Answer> {
    let failing = dispatcher.kept_runs().get(failing)?;
    let passing = all(dispatcher, passing, &failing)?;
    let lines: Vec<&Counts> = passing.iter().map(|kept| &kept.spectrum.lines).collect();
    Ok(Answer::Quality(distance::quality(&failing.spectrum.lines, &lines, alpha)))
}

/// The runs that a ranking is made of, and how.
#[derive(Debug)]
pub struct Ranking {
    pub failing: Vec<RunRef>,
    pub passing: Vec<RunRef>,
    pub innocent: Vec<RunRef>,
    pub formula: Formula,
    pub aggregation: Aggregation,
    pub level: Level,
    pub limit: u32,
    pub counts: bool,
    pub without: Vec<String>,
}

impl Ranking {
    /// Is a source left out?
    fn leaves_out(&self, source: &str) -> bool {
        self.without.iter().any(|text| match text.strip_prefix('^') {
            Some(beginning) => source.starts_with(beginning),
            None => source.contains(text.as_str()),
        })
    }
}

/// What failing and passing runs make suspicious.
pub fn ranking(dispatcher: &Dispatcher, ranking: &Ranking) -> Result<Answer> {
    let Some((first, _)) = ranking.failing.split_first() else {
        let problem = "a ranking needs a failing run: name one in `failing`";
        return Err(Failure::new(FailureKind::NoSuchRun, problem));
    };
    let first = dispatcher.kept_runs().get(first)?;
    let [failing, passing, innocent] =
        [&ranking.failing, &ranking.passing, &ranking.innocent].map(|runs| all(dispatcher, runs, &first));
    let (failing, passing, innocent) = (failing?, passing?, innocent?);
    let [failing, passing, innocent] = [&failing, &passing, &innocent]
        .map(|runs| runs.iter().map(|kept| &kept.spectrum.lines).collect::<Vec<&Counts>>());
    let scores = score::line_scores(&failing, &passing, &innocent, ranking.formula);
    let ties = ranking.counts.then(|| score::count_changes(&first.spectrum.lines, &passing, &scores));
    rank(dispatcher, &first.map, scores, ties, ranking).map(Answer::Ranking)
}

/// A run and what it is compared with.
fn pair(dispatcher: &Dispatcher, run: &RunRef, against: &RunRef) -> Result<(Arc<Kept>, Arc<Spectrum>)> {
    let kept = dispatcher.kept_runs().get(run)?;
    let spectrum = match against {
        RunRef::Baseline => kept.baseline.clone(),
        RunRef::Id(_) | RunRef::Name(_) => {
            let other = dispatcher.kept_runs().get(against)?;
            check_same(&kept, &other)?;
            other.spectrum.clone()
        }
    };
    Ok((kept, spectrum))
}

fn all(dispatcher: &Dispatcher, runs: &[RunRef], first: &Kept) -> Result<Vec<Arc<Kept>>> {
    let mut kept_runs = dispatcher.kept_runs();
    let get = |run| {
        let kept = kept_runs.get(run)?;
        check_same(first, &kept)?;
        Ok(kept)
    };
    runs.iter().map(get).collect()
}

fn check_same(one: &Kept, other: &Kept) -> Result<()> {
    if Arc::ptr_eq(&one.map, &other.map) {
        return Ok(());
    }
    let builds = if one.subject == other.subject { ", built anew in between" } else { "" };
    let problem = format!("runs of {} and of {}{builds} cannot be compared", one.subject, other.subject);
    Err(Failure::new(FailureKind::Mixed, problem))
}

/// The places with the highest scores.
fn rank(
    dispatcher: &Dispatcher,
    map: &SubjectMap,
    lines: Vec<(u32, f64)>,
    ties: Option<Vec<(u32, f64)>>,
    ranking: &Ranking,
) -> Result<Vec<Suspect>> {
    let Ranking { aggregation, level, limit, .. } = *ranking;
    let places = map.places().map_err(|error| failure(&error))?;
    let of_places = |lines: Vec<(u32, f64)>, aggregation| match level {
        Level::Lines => lines,
        Level::Functions => score::place_scores(&lines, &places.functions(), aggregation),
        Level::Files => score::place_scores(&lines, &places.files(), aggregation),
    };
    // How many lines a place has says nothing here.
    let mut ties = ties.map(|ties| of_places(ties, Aggregation::Mean));
    let mut scores = of_places(lines, aggregation);
    if !ranking.without.is_empty() {
        let out = sources_left_out(map, ranking);
        let is_left = |&(id, _): &(u32, f64)| {
            let source = match level {
                Level::Lines => map.with_atlas(|atlas| atlas.lines()[id as usize].source),
                Level::Files => id,
                Level::Functions => places.function(id).map_or(u32::MAX, |place| place.file),
            };
            !out.get(source as usize).copied().unwrap_or(false)
        };
        scores.retain(is_left);
        ties.iter_mut().for_each(|ties| ties.retain(is_left));
    }
    let mut ranked = rank::rank(scores, ties.as_deref());
    if limit > 0 {
        ranked.truncate(limit as usize);
    }
    let suspect = |ranked: &rank::Ranked| -> Result<Suspect> {
        let (source, line, function) = match level {
            Level::Lines => map.with_atlas(|atlas| {
                let line = atlas.lines()[ranked.id as usize];
                (source_name(map, line.source), line.number, String::new())
            }),
            Level::Files => (source_name(map, ranked.id), 0, String::new()),
            Level::Functions => {
                let place = places.function(ranked.id);
                let name = place.map_or(Ok(String::new()), |place| function_name(dispatcher, map, place))?;
                let (file, line) = place.map_or((u32::MAX, 0), |place| (place.file, place.line));
                (source_name(map, file), line, name)
            }
        };
        Ok(Suspect { rank: ranked.rank, score: ranked.score, source, line, function })
    };
    ranked.iter().map(suspect).collect()
}

/// For each source, whether it is left out.
fn sources_left_out(map: &SubjectMap, ranking: &Ranking) -> Vec<bool> {
    map.with_atlas(|atlas| {
        let names = (0..).map_while(|source| atlas.source_name(source));
        names.map(|name| ranking.leaves_out(name)).collect()
    })
}

fn source_name(map: &SubjectMap, source: u32) -> String {
    map.with_atlas(|atlas| atlas.source_name(source).unwrap_or_default().to_owned())
}

fn function_name(
    dispatcher: &Dispatcher,
    map: &SubjectMap,
    place: &hearth_runner::subject_places::FunctionPlace,
) -> Result<String> {
    let name = place.name(map).map_err(|error| failure(&error))?;
    let mut readable = Vec::new();
    (dispatcher.demangle)(&name, &mut readable);
    Ok(String::from_utf8_lossy(&readable).into_owned())
}

/// What differs between two runs, with names.
fn differing(dispatcher: &Dispatcher, map: &SubjectMap, delta: Delta<'_>, level: Level) -> Result<Coverage> {
    let mut coverage = Coverage::default();
    match level {
        Level::Lines => coverage.lines = differing_lines(map, delta),
        Level::Functions => coverage.functions = differing_functions(dispatcher, map, delta)?,
        Level::Files => coverage.files = differing_files(map, delta),
    }
    Ok(coverage)
}

fn differing_lines(map: &SubjectMap, delta: Delta<'_>) -> Vec<FileLines> {
    let by_source = map.with_atlas(|atlas| delta.lines(atlas.lines()));
    let file = |(source, lines): (u32, Vec<Difference>)| FileLines {
        source: source_name(map, source),
        lines: lines.iter().map(|&(line, count, _)| (line, count)).collect(),
        against: lines.iter().map(|&(_, _, count)| count).collect(),
    };
    let mut files: Vec<FileLines> = by_source.into_iter().map(file).collect();
    files.sort_by(|one, other| one.source.cmp(&other.source));
    files
}

fn differing_functions(
    dispatcher: &Dispatcher,
    map: &SubjectMap,
    delta: Delta<'_>,
) -> Result<Vec<FunctionCount>> {
    let places = map.places().map_err(|error| failure(&error))?;
    let mut functions = Vec::new();
    for (place, count, against) in delta.functions(&places.of_functions()) {
        let Some(function) = places.function(place) else { continue };
        functions.push(FunctionCount {
            name: function_name(dispatcher, map, function)?,
            source: source_name(map, function.file),
            line: function.line,
            count,
            against,
        });
    }
    functions.sort_by(|a, b| (&a.source, a.line, &a.name).cmp(&(&b.source, b.line, &b.name)));
    Ok(functions)
}

/// How many lines of each file ran in one and not in the other.
fn differing_files(map: &SubjectMap, delta: Delta<'_>) -> Vec<FileCount> {
    let by_source = map.with_atlas(|atlas| delta.sources(atlas.lines()));
    let file = |(source, lines, against): (u32, u64, u64)| FileCount {
        source: source_name(map, source),
        lines,
        against,
    };
    let mut files: Vec<FileCount> = by_source.into_iter().map(file).collect();
    files.sort_by(|one, other| one.source.cmp(&other.source));
    files
}

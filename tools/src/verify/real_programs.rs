//! The check `programs`: real programs of Debian, built with coverage, do real work. Outcome, output, files and every
//! line, function, branch and counter of warm runs equal those of plain runs, and whole reports equal gcov's.

#[path = "real_programs/build.rs"]
mod build;
#[path = "real_programs/counts.rs"]
mod counts;
#[path = "real_programs/recipe.rs"]
mod recipe;
#[path = "real_programs/report.rs"]
mod report;
#[path = "real_programs/sides.rs"]
mod sides;
#[path = "real_programs/workload.rs"]
mod workload;

use anyhow::bail;
use counts::{Compared, Counts, KINDS};
use hearth_runner::{SubjectMap, WarmPoint};
use hearth_subject::Store;
use sides::{Seen, Sides};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use workload::WORKLOADS;

/// The gcov of the compiler that builds the programs.
const GCOV: &str = "gcov-12";
/// Runs from each warm process: the second is harvested against the first.
const WARM_RUNS: usize = 2;
/// Plain runs to begin with, and the most there are before what differs from all of them is a difference.
const PLAIN_RUNS: usize = 3;
const MOST_PLAIN_RUNS: usize = 30;
/// Where processes race, warm runs may be unlike plain ones and each other: so many may be, and the others must be equal.
const MOST_UNLIKE: usize = 2;

/// Of the lines that were executed, at most one in so many may be excluded: else next to nothing is compared.
const LEAST_PER_EXCLUDED: usize = 4;

/// What to compare.
pub struct Plan {
    /// Only programs of the short form.
    pub short: bool,
    /// Only these programs; all if there are none.
    pub only: Vec<String>,
}

/// Builds what is not built yet, and compares until all is done or the time is up.
pub fn run(hearth: &Path, plan: &Plan, limit: Duration) -> anyhow::Result<()> {
    let started = Instant::now();
    if let Some(unknown) = plan.only.iter().find(|name| recipe::named(name).is_none()) {
        let known: Vec<_> = recipe::RECIPES.iter().map(|recipe| recipe.name).collect();
        bail!("there is no program {unknown}; there are {}", known.join(", "));
    }
    let is_wanted = |recipe: &&recipe::Recipe| match plan.only.is_empty() {
        true => recipe.short || !plan.short,
        false => plan.only.iter().any(|name| name == recipe.name),
    };
    let store = Store::open()?;
    // Told before time is spent.
    for recipe in recipe::RECIPES.iter().filter(is_wanted) {
        if let recipe::Origin::Beside(subject, _) = recipe.origin {
            crate::needs::subject(&store, subject)?;
        }
    }
    let (mut compared, mut runs, mut problems) = (Compared::default(), 0, Vec::new());
    for recipe in recipe::RECIPES.iter().filter(is_wanted) {
        let built = build::build(&store, recipe)?;
        let map = Arc::new(SubjectMap::open(&built.subject)?);
        let mut own = Compared::default();
        for workload in WORKLOADS.iter().filter(|workload| workload.program == recipe.name) {
            let name = format!("{} {}", recipe.name, workload.arguments.join(" "));
            let points = std::iter::once(WarmPoint::Main).chain(workload.input.map(|_| WarmPoint::Input));
            for warm in points {
                if started.elapsed() > limit {
                    bail!("time is up after {runs} runs: equal in {compared}");
                }
                let sides = Sides::new(&store, &built, &map, hearth, workload, warm.clone());
                let is_main = matches!(warm, WarmPoint::Main);
                match sides.and_then(|sides| check(&sides, workload.races, workload.report && is_main, &map))
                {
                    Ok((result, said)) => {
                        println!("{name}, warm at {warm}: {result}{said}");
                        own.add(result);
                        runs += result.runs;
                    }
                    Err(problem) => {
                        println!("{name}, warm at {warm}: NOT EQUAL: {problem}");
                        problems.push(format!("{name}, warm at {warm}"));
                    }
                }
            }
        }
        println!("== {}: {own}", recipe.name);
        compared.add(own);
    }
    if !problems.is_empty() {
        bail!("{} of the workloads are not equal: {}", problems.len(), problems.join("; "));
    }
    let seconds = started.elapsed().as_secs();
    println!("0 differences in {runs} runs, {seconds} s: {compared}");
    Ok(())
}

/// Does a workload both ways. What is not equal is looked for in more plain runs, because those may differ among
/// themselves in it; what no plain run has is a difference, unless processes race and other warm runs do not have it either.
fn check(
    sides: &Sides<'_>,
    races: bool,
    report: bool,
    map: &SubjectMap,
) -> Result<(Compared, String), String> {
    let mut plains: Vec<Seen> = Vec::new();
    let mut compared = Compared::default();
    let most_unlike = if races { MOST_UNLIKE } else { 0 };
    let mut unlike = Vec::new();
    while compared.runs < WARM_RUNS && unlike.len() <= most_unlike {
        for seen in sides.warm(WARM_RUNS)? {
            match compare_with_enough(&seen, &mut plains, sides, map) {
                Ok(result) => compared.add(result),
                Err(problem) => unlike.push(problem),
            }
        }
    }
    if unlike.len() > most_unlike {
        return Err(unlike.swap_remove(0));
    }
    if compared.excluded[0] * LEAST_PER_EXCLUDED > compared.lines_executed {
        return Err(format!("plain runs are too unlike each other: {compared}"));
    }
    let mut said = format!("; {} plain runs", plains.len());
    for problem in &unlike {
        said += &format!("; another warm run was unlike all of them, processes race: {problem}");
    }
    if report {
        let report = loop {
            match sides.compare_reports(GCOV, plains.len()) {
                Ok(report) => break report,
                Err(_) if plains.len() < MOST_PLAIN_RUNS => plains.push(sides.plain(plains.len())?),
                Err(problem) => return Err(problem),
            }
        };
        said += &format!(
            "; whole report equals gcov's, {} lines, {} names and numbers ({} excluded)",
            report.lines, report.equal, report.excluded
        );
    }
    Ok((compared, said))
}

/// Compares a warm run with plain ones, of which more are made as long as it is unlike all of them.
fn compare_with_enough(
    seen: &Seen,
    plains: &mut Vec<Seen>,
    sides: &Sides<'_>,
    map: &SubjectMap,
) -> Result<Compared, String> {
    loop {
        let compared = compare(seen, plains, map);
        let is_enough = plains.len() >= PLAIN_RUNS && compared.is_ok() || plains.len() >= MOST_PLAIN_RUNS;
        if is_enough {
            return compared;
        }
        plains.push(sides.plain(plains.len())?);
    }
}

fn compare(seen: &Seen, plains: &[Seen], map: &SubjectMap) -> Result<Compared, String> {
    let Some(first) = plains.first() else { return Err("there are no plain runs".to_owned()) };
    if plains.iter().all(|plain| plain.outcome == first.outcome) && seen.outcome != first.outcome {
        let said = String::from_utf8_lossy(&seen.written["standard error"]);
        return Err(format!("{:?}, plain {:?}; {said}", seen.outcome, first.outcome));
    }
    for name in seen.written.keys().chain(first.written.keys()) {
        let agree = plains.iter().all(|plain| plain.written.get(name) == first.written.get(name));
        let (ours, theirs) = (seen.written.get(name), first.written.get(name));
        if agree && ours != theirs {
            let show = |bytes: Option<&Vec<u8>>| {
                bytes.map_or("nothing".to_owned(), |bytes| {
                    let text = String::from_utf8_lossy(bytes);
                    format!("{} bytes {:?}", bytes.len(), text.chars().take(2000).collect::<String>())
                })
            };
            return Err(format!("{name}: {}\nplain: {}", show(ours), show(theirs)));
        }
    }
    let counts: Vec<Counts> = plains.iter().map(|plain| plain.counts.clone()).collect();
    let (compared, wrong) = seen.counts.compare(&counts);
    if wrong.is_empty() {
        return Ok(compared);
    }
    let places = wrong.iter().take(12).map(|&(kind, place)| {
        let [ours, theirs] = [&seen.counts, &counts[0]].map(|counts| counts.of[kind][place]);
        format!("{}: {ours}, plain {theirs}", describe(map, kind, place))
    });
    Err(format!("{} places differ\n  {}", wrong.len(), places.collect::<Vec<_>>().join("\n  ")))
}

/// A place in words.
fn describe(map: &SubjectMap, kind: usize, place: usize) -> String {
    if kind == 0 {
        return map.with_atlas(|atlas| {
            let line = atlas.lines()[place];
            format!("{}:{}", atlas.source_name(line.source).unwrap_or_default(), line.number)
        });
    }
    if kind == 1 {
        let (object, function) = map.function(place as u32);
        let name = map.with_object(object, |place| {
            Ok(String::from_utf8_lossy(place.map.name(&place.map.functions[function])).into_owned())
        });
        return format!("function {}", name.unwrap_or_default());
    }
    if kind == 3 {
        let mut first = 0;
        for object in 0..map.with_atlas(|atlas| atlas.object_count()) as u32 {
            let found = map.with_object(object, |at| {
                let mut functions = at.map.functions.iter();
                let end = |function: &&hearth_coverage::gcov::object_map::Function| {
                    first += function.counter_count as usize;
                    first > place
                };
                let name = functions.find(end).map(|function| at.map.name(function).to_vec());
                Ok(name.map(|name| String::from_utf8_lossy(&name).into_owned()))
            });
            if let Ok(Some(name)) = found {
                return format!("a counter of {name}");
            }
        }
    }
    format!("number {place} of the {}", KINDS[kind])
}

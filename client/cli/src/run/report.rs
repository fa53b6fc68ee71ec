//! A run's coverage as a report, from its counters in memory.

use crate::libstdcxx;
use clap::ValueEnum;
use hearth_coverage::ObjectCoverage;
use hearth_coverage::coverage::{Counters, Workspace};
use hearth_coverage::format::{gcov_json, lcov};
use hearth_coverage::tree::{Branches, Tree};
use hearth_runner::error::{Error, Result};
use hearth_runner::{Answer, Worker};
use std::path::Path;

/// The formats of a run's report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// lcov's tracefile (.info)
    Lcov,
    /// gcov's JSON with branches, one document per object
    GcovJson,
}

/// The report of an answer that `worker` gave.
pub fn text(format: ReportFormat, worker: &Worker, answer: &Answer) -> Result<Vec<u8>> {
    let harvest = answer.run.harvest.as_ref().map_err(|reason| Error::Counters(reason.clone()))?;
    let Some(map) = worker.map() else {
        return Err(Error::Counters("the subject is not instrumented".to_owned()));
    };
    let values =
        harvest.values.as_ref().ok_or_else(|| Error::Counters("the counters were not kept".to_owned()))?;
    let mut workspace = Workspace::default();
    let names = gcov_json::Names::new(libstdcxx::demangle);
    let mut writer = gcov_json::Writer::new(true, &names);
    let mut tree = Tree::default();
    let mut text = Vec::new();
    for object in 0..map.with_atlas(|atlas| atlas.object_count()) {
        let (name, ids) = map.with_atlas(|atlas| {
            (atlas.object_name(object).unwrap_or_default().to_owned(), atlas.object_ids(object))
        });
        let first = ids.map_or(0, |ids| ids.counters.start) as usize;
        map.with_object(object as u32, |place| {
            let mut values = values[first..].iter();
            let counters = Counters::from_values(place.map, &mut || values.next().copied().unwrap_or(0));
            let coverage = ObjectCoverage::new(place.map, &counters, &mut workspace)?;
            match format {
                ReportFormat::Lcov => tree.add(place.map, &coverage, Branches::All),
                ReportFormat::GcovJson => {
                    let data = Path::new(&name).with_extension("gcda");
                    writer.write(&data.to_string_lossy(), place.map, &coverage, &mut text, &mut |_| {});
                }
            }
            Ok(())
        })?;
    }
    if format == ReportFormat::Lcov {
        lcov::write(&tree, true, &mut text);
    }
    Ok(text)
}

//! A run's coverage as a report, from its counters in memory.

use crate::format::Format;
use crate::libstdcxx;
use hearth_coverage::format::{Branches, Report, gcov_json};
use hearth_coverage::gcov::{Counters, ObjectCoverage, Workspace};
use hearth_runner::error::Error;
use hearth_runner::{CoveredRun, Observe, SubjectMap};
use std::path::Path;

/// The formats of a run's report.
pub const FORMATS: &[(Format, &str)] = &[
    (Format::Lcov, "lcov's tracefile (.info)"),
    (Format::GcovJson, "gcov's JSON with branches, one document per object"),
];

/// What must be observed of a run for its report.
pub fn needs(format: Format) -> Observe {
    match format {
        Format::Lcov | Format::GcovJson | Format::Cobertura | Format::Text | Format::Json => {
            Observe::Counters
        }
    }
}

/// The report of an answer whose counters were kept.
pub fn text(format: Format, map: Option<&SubjectMap>, answer: &CoveredRun) -> anyhow::Result<Vec<u8>> {
    let no_counters = |reason: &str| Error::Counters(reason.to_owned());
    let observation = answer.observation.as_ref().map_err(|reason| no_counters(reason))?;
    let map = map.ok_or_else(|| no_counters("the subject is not instrumented"))?;
    let values = observation.counters.as_ref().ok_or_else(|| no_counters("the counters were not kept"))?;
    let mut workspace = Workspace::default();
    let names = gcov_json::Names::new(libstdcxx::demangle);
    let mut writer = gcov_json::Writer::new(true, &names);
    let mut report = Report::default();
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
                Format::Lcov | Format::Cobertura | Format::Text | Format::Json => {
                    coverage.add_to(&mut report, place.map, Branches::All);
                }
                Format::GcovJson => {
                    let data = Path::new(&name).with_extension("gcda");
                    writer.write(&data.to_string_lossy(), place.map, &coverage, &mut text, &mut |_| {});
                }
            }
            Ok(())
        })?;
    }
    match format {
        Format::Lcov | Format::Cobertura | Format::Text | Format::Json => {
            format.write(&report, true, &mut text)?;
        }
        Format::GcovJson => {}
    }
    Ok(text)
}

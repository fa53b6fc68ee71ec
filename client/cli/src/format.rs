//! The formats of coverage that commands write, and the one place where a report is written in any of them.

use crate::source_path::path_of;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hearth_coverage::format::{Report, cobertura, lcov, text};
use std::fs;
use std::io::{self, ErrorKind};
use std::time::{SystemTime, UNIX_EPOCH};

/// A format of coverage. Each command takes some of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Annotated source.
    Text,
    /// One JSON object of Hearth's own.
    Json,
    /// gcov's JSON, one document per object.
    GcovJson,
    /// lcov's tracefile.
    Lcov,
    /// Cobertura's XML.
    Cobertura,
}

impl Format {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::GcovJson => "gcov-json",
            Self::Lcov => "lcov",
            Self::Cobertura => "cobertura",
        }
    }

    /// Writes a report. lcov's form has to be told whether branches are wanted; the others have what the report has.
    ///
    /// # Errors
    /// If the format is none of a report: it has what a report does not.
    pub fn write(self, report: &Report, branches: bool, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Lcov => lcov::write(report, branches, out),
            Self::Cobertura => {
                let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
                cobertura::write(report, now_s, out)?;
            }
            Self::Text => text::write(report, &|name| fs::read(path_of(name)).ok(), out),
            Self::Json | Self::GcovJson => {
                let problem = format!("a report has no form as {}", self.name());
                return Err(io::Error::new(ErrorKind::Unsupported, problem));
            }
        }
        Ok(())
    }
}

/// Reads the name of a format that a command takes. Each has its help there.
pub fn format_parser(taken: &'static [(Format, &'static str)]) -> impl TypedValueParser<Value = Format> {
    let names = taken.iter().map(|&(format, help)| PossibleValue::new(format.name()).help(help));
    PossibleValuesParser::new(names).try_map(|name| {
        let found = taken.iter().find(|(format, _)| format.name() == name);
        found.map(|&(format, _)| format).ok_or_else(|| format!("there is no format {name}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, Command};

    #[test]
    fn only_the_formats_that_a_command_takes_are_read() {
        const TAKEN: &[(Format, &str)] = &[(Format::Lcov, "one"), (Format::GcovJson, "other")];
        let command = Command::new("test").arg(Arg::new("format").value_parser(format_parser(TAKEN)));
        for (name, read) in
            [("lcov", Some(Format::Lcov)), ("gcov-json", Some(Format::GcovJson)), ("json", None)]
        {
            let matches = command.clone().try_get_matches_from(["test", name]);
            let found = matches.ok().and_then(|matches| matches.get_one::<Format>("format").copied());
            assert_eq!(found, read, "{name}");
        }
    }

    #[test]
    fn what_is_no_form_of_a_report_is_an_error() {
        for (format, is_written) in [
            (Format::Lcov, true),
            (Format::Cobertura, true),
            (Format::Text, true),
            (Format::Json, false),
            (Format::GcovJson, false),
        ] {
            let written = format.write(&Report::default(), true, &mut Vec::new());
            assert_eq!(written.is_ok(), is_written, "{}", format.name());
        }
    }
}

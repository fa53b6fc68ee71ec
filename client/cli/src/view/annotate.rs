//! Lines of source with their counts before them.

use crate::source_path::path_of;
use hearth_client::protocol::{FileLines, FunctionCount};
use hearth_subject::Store;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

/// Lines of source shown around those that are annotated.
const CONTEXT: usize = 2;

/// Paints what is only in one run red, what is only in the other green.
pub struct Painter {
    /// Or leaves it as it is.
    pub wanted: bool,
}

impl Painter {
    /// A text that belongs to `-` or `+`.
    pub fn signed(&self, sign: char, text: &str) -> String {
        let colour = match sign {
            '-' => "31",
            '+' => "32",
            _ => "36",
        };
        if self.wanted && sign != ' ' { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The sources of a subject.
pub struct Sources {
    /// Their directory, which is left out of names.
    root: Option<PathBuf>,
}

impl Sources {
    /// Those of a subject, as far as it is known where they are.
    pub fn of(subject: &str) -> Self {
        let subject = Store::open().and_then(|store| store.find(subject)).ok();
        Self { root: subject.and_then(|subject| subject.source_directory()) }
    }

    fn short<'a>(&self, source: &'a str) -> &'a str {
        let root = self.root.as_ref().and_then(|root| root.to_str());
        let rest = root.and_then(|root| source.strip_prefix(root));
        rest.map_or(source, |rest| rest.trim_start_matches('/'))
    }

    /// How many lines of each file ran.
    pub fn summary(&self, files: &[FileLines], out: &mut Vec<u8>) -> io::Result<()> {
        for file in files {
            writeln!(out, "{:>7} {}", file.lines.len(), self.short(&file.source))?;
        }
        Ok(())
    }

    /// How many lines of each file differ.
    pub fn difference(&self, files: &[FileLines], painter: &Painter, out: &mut Vec<u8>) -> io::Result<()> {
        if files.is_empty() {
            return writeln!(out, "the same lines ran");
        }
        writeln!(out, "\nlines by file:")?;
        for file in files {
            let pairs = || file.lines.iter().zip(&file.against);
            let more = pairs().filter(|((_, count), against)| count > against).count();
            let fewer = pairs().count() - more;
            let [minus, plus] = [('-', fewer), ('+', more)].map(|(sign, count)| {
                let text = if count == 0 { String::new() } else { format!("{sign}{count}") };
                painter.signed(sign, &format!("{text:>7}"))
            });
            writeln!(out, "{minus} {plus} {}", self.short(&file.source))?;
        }
        Ok(())
    }

    /// The functions that differ.
    pub fn functions(
        &self,
        functions: &[FunctionCount],
        counts: bool,
        painter: &Painter,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        if functions.is_empty() {
            return writeln!(out, "\nthe same functions ran");
        }
        writeln!(out, "\nfunctions:")?;
        for function in functions {
            let sign = if function.count > function.against { '+' } else { '-' };
            let times =
                if counts { format!(" {} -> {}", function.against, function.count) } else { String::new() };
            let text = format!(
                "{sign} {} ({}:{}){times}",
                function.name,
                self.short(&function.source),
                function.line
            );
            writeln!(out, "{}", painter.signed(sign, &text))?;
        }
        Ok(())
    }

    /// A file's lines with their counts; in a delta with the sign of the run that has more.
    pub fn annotate(&self, file: &FileLines, painter: &Painter, out: &mut Vec<u8>) -> io::Result<()> {
        writeln!(out, "\n{}", painter.signed('@', self.short(&file.source)))?;
        let text = fs::read(path_of(&file.source)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let lines: Vec<&str> = text.as_deref().map(|text| text.lines().collect()).unwrap_or_default();
        if let Err(error) = &text {
            writeln!(out, "  (its text cannot be read: {error})")?;
        }
        let mut shown = 0_usize;
        for (index, &(number, count)) in file.lines.iter().enumerate() {
            let place = number as usize;
            let first = place.saturating_sub(CONTEXT).max(shown + 1);
            if first > shown + 1 && shown > 0 {
                writeln!(out, "{:>23}", "...")?;
            }
            for before in first..place {
                writeln!(out, "{:>12} {before:>6}:  {}", "", line_of(&lines, before))?;
            }
            let (sign, counts) = match file.against.get(index) {
                None => (' ', count.to_string()),
                Some(&against) => {
                    let sign = if count > against { '+' } else { '-' };
                    let is_plain = count <= 1 && against <= 1;
                    (sign, if is_plain { String::new() } else { format!("{against}>{count}") })
                }
            };
            let text = format!("{counts:>12} {number:>6}:{sign} {}", line_of(&lines, place));
            writeln!(out, "{}", painter.signed(sign, &text))?;
            shown = place;
        }
        Ok(())
    }
}

fn line_of<'a>(lines: &[&'a str], number: usize) -> &'a str {
    number.checked_sub(1).and_then(|index| lines.get(index)).copied().unwrap_or_default()
}

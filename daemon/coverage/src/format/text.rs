//! Annotated source, as gcov's `.gcov` files: count, line number, text.

use super::report::{LineTotals, Report};
use crate::name_text;
use std::io::Write;

/// Appends every source of the report; `read_source` gives the text of a source, by its name in the report, if it can
/// be had.
pub fn write(report: &Report, read_source: &dyn Fn(&str) -> Option<Vec<u8>>, out: &mut Vec<u8>) {
    for (name, source) in &report.sources {
        if source.lines.is_empty() {
            continue;
        }
        out.extend_from_slice(b"        -:    0:Source:");
        out.extend_from_slice(&name_text::to_bytes(name));
        out.push(b'\n');
        match read_source(name) {
            Some(text) => write_annotated(&source.lines, &text, out),
            None => {
                for line in &source.lines {
                    write_line(Some(line), line.number, b"/* source not found */", out);
                }
            }
        }
    }
}

fn write_annotated(lines: &[LineTotals], text: &[u8], out: &mut Vec<u8>) {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let mut lines = lines.iter().peekable();
    for (number, content) in (1..).zip(text.split(|&byte| byte == b'\n')) {
        let line = lines.next_if(|line| line.number == number);
        write_line(line, number, content, out);
    }
    // The source may have changed since the build: what lies past its end is not kept back.
    for line in lines {
        write_line(Some(line), line.number, b"/*EOF*/", out);
    }
}

fn write_line(line: Option<&LineTotals>, number: u32, content: &[u8], out: &mut Vec<u8>) {
    let count = match line {
        None => "-".to_owned(),
        Some(line) if line.count > 0 && line.unexecuted_block => format!("{}*", line.count),
        Some(line) if line.count > 0 => line.count.to_string(),
        Some(line) if line.unexceptional => "#####".to_owned(),
        Some(_) => "=====".to_owned(),
    };
    // Writing to a vector cannot fail.
    let _ = write!(out, "{count:>9}:{number:>5}:");
    out.extend_from_slice(content);
    out.push(b'\n');
    let Some(line) = line else { return };
    let ran = line.branches.iter().any(|branch| branch.count != 0);
    for (position, branch) in line.branches.iter().enumerate() {
        let kind = match branch {
            _ if !ran => "",
            branch if branch.is_fallthrough => " (fallthrough)",
            branch if branch.is_throw => " (throw)",
            _ => "",
        };
        let _ = if ran {
            writeln!(out, "branch {position:>2} taken {}{kind}", branch.count)
        } else {
            writeln!(out, "branch {position:>2} never executed")
        };
    }
}

//! lcov's tracefile, the `.info` that genhtml and most services read.

use super::report::{Report, SourceTotals};
use crate::name_text;

/// Appends the whole report.
pub fn write(report: &Report, branches: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(b"TN:\n");
    for (name, source) in &report.sources {
        write_source(name, source, branches, out);
    }
}

fn write_source(name: &str, source: &SourceTotals, branches: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(b"SF:");
    out.extend_from_slice(&name_text::to_bytes(name));
    out.push(b'\n');
    let functions = source.sorted_functions();
    for (name, totals) in &functions {
        write_pair(b"FN:", i64::from(totals.start_line), name, out);
    }
    for (name, totals) in &functions {
        write_pair(b"FNDA:", totals.execution_count, name, out);
    }
    let called = functions.iter().filter(|(_, totals)| totals.execution_count != 0).count();
    write_count(b"FNF:", functions.len(), out);
    write_count(b"FNH:", called, out);
    if branches {
        write_branches(source, out);
    }
    for line in &source.lines {
        let mut number = itoa::Buffer::new();
        write_pair(b"DA:", i64::from(line.number), number.format(line.count).as_bytes(), out);
    }
    let (found, hit) = source.line_summary();
    write_count(b"LF:", found, out);
    write_count(b"LH:", hit, out);
    out.extend_from_slice(b"end_of_record\n");
}

fn write_branches(source: &SourceTotals, out: &mut Vec<u8>) {
    for line in &source.lines {
        for (position, branch) in line.branches.iter().enumerate() {
            // A dash says that the branch was never come by.
            let taken = if line.count == 0 { "-".to_owned() } else { branch.count.to_string() };
            write_pair(b"BRDA:", i64::from(line.number), format!("0,{position},{taken}").as_bytes(), out);
        }
    }
    let (found, hit) = source.branch_summary();
    write_count(b"BRF:", found, out);
    write_count(b"BRH:", hit, out);
}

fn write_pair(label: &[u8], number: i64, rest: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(label);
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    out.push(b',');
    out.extend_from_slice(rest);
    out.push(b'\n');
}

fn write_count(label: &[u8], count: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(label);
    out.extend_from_slice(itoa::Buffer::new().format(count).as_bytes());
    out.push(b'\n');
}

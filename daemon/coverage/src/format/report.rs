//! What a report says, whoever has counted it: the lines, functions and branches of each source file.
//!
//! A header's lines appear in every object that includes it, a template's once for each instance; a line's
//! count here is the sum of all, as lcov and fastcov have it.

use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// All sources of a report, by absolute name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The totals of each source; names are as [`crate::name_text`] writes them.
    pub sources: BTreeMap<String, SourceTotals>,
}

/// The totals of one source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceTotals {
    /// The lines with code, in order.
    pub lines: Vec<LineTotals>,
    /// The functions, by (mangled) name.
    pub functions: FxHashMap<Box<[u8]>, FunctionTotals>,
}

/// The totals of one line, or what is added to them: then the branches may be of any kind of list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineTotals<B = Vec<BranchTotals>> {
    /// The line number.
    pub number: u32,
    /// Some block of it did not run in some object, and not for want of an exception, where notes tell.
    pub unexecuted_block: bool,
    /// The line is reachable without an exception.
    pub unexceptional: bool,
    /// How often it ran.
    pub count: i64,
    /// Its branches, if they were asked for.
    pub branches: B,
}

/// The totals of one branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchTotals {
    /// How often it was taken.
    pub count: i64,
    /// It is taken when the condition does not hold.
    pub is_fallthrough: bool,
    /// It leads to an exception handler.
    pub is_throw: bool,
}

/// The totals of one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionTotals {
    /// Its first line.
    pub start_line: u32,
    /// How often it was called.
    pub execution_count: i64,
}

/// Which branches a report has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Branches {
    /// None.
    None,
    /// Those of the source, without the ones that lead to exception handlers.
    WithoutThrows,
    /// All.
    All,
}

impl Branches {
    /// Does a report have this branch?
    #[must_use]
    pub fn include(self, branch: &BranchTotals) -> bool {
        match self {
            Self::None => false,
            Self::WithoutThrows => !branch.is_throw,
            Self::All => true,
        }
    }
}

impl Report {
    /// The totals of a source, to be added to; `name` is absolute, as [`crate::name_text`] writes it.
    pub fn source(&mut self, name: String) -> &mut SourceTotals {
        self.sources.entry(name).or_default()
    }
}

impl SourceTotals {
    /// Adds lines, which come in order, each once. The branches of a line come in the same order whoever adds them.
    pub fn add_lines<B>(&mut self, lines: impl IntoIterator<Item = LineTotals<B>>)
    where
        B: IntoIterator<Item = BranchTotals>,
    {
        let known = self.lines.len();
        let mut position = 0;
        for added in lines {
            // Both sides are sorted, so the search never goes back.
            position += self.lines[position..known].partition_point(|line| line.number < added.number);
            if position < known && self.lines[position].number == added.number {
                self.lines[position].add(added);
            } else {
                let mut line = LineTotals::zero(added.number);
                line.add(added);
                self.lines.push(line);
            }
        }
        if self.lines.len() > known {
            self.lines.sort_by_key(|line| line.number);
        }
    }

    /// Adds the calls of a function.
    pub fn add_function(&mut self, name: &[u8], start_line: u32, execution_count: i64) {
        match self.functions.get_mut(name) {
            Some(totals) => totals.execution_count = totals.execution_count.wrapping_add(execution_count),
            None => {
                self.functions.insert(name.into(), FunctionTotals { start_line, execution_count });
            }
        }
    }

    /// The functions in order of line and name.
    #[must_use]
    pub fn sorted_functions(&self) -> Vec<(&[u8], FunctionTotals)> {
        let mut functions: Vec<_> = self.functions.iter().map(|(name, totals)| (&**name, *totals)).collect();
        functions.sort_unstable_by_key(|&(name, totals)| (totals.start_line, name));
        functions
    }

    /// How many lines there are, and how many of them ran.
    #[must_use]
    pub fn line_summary(&self) -> (usize, usize) {
        (self.lines.len(), self.lines.iter().filter(|line| line.count != 0).count())
    }

    /// How many branches there are, and how many of them were taken.
    #[must_use]
    pub fn branch_summary(&self) -> (usize, usize) {
        let branches = || self.lines.iter().flat_map(|line| &line.branches);
        (branches().count(), branches().filter(|branch| branch.count != 0).count())
    }
}

impl LineTotals {
    /// A line of which nothing is known yet.
    fn zero(number: u32) -> Self {
        Self { number, unexecuted_block: false, unexceptional: false, count: 0, branches: Vec::new() }
    }

    fn add(&mut self, added: LineTotals<impl IntoIterator<Item = BranchTotals>>) {
        self.count = self.count.wrapping_add(added.count);
        self.unexecuted_block |= added.unexecuted_block;
        self.unexceptional |= added.unexceptional;
        for (position, added) in added.branches.into_iter().enumerate() {
            match self.branches.get_mut(position) {
                Some(branch) => branch.count = branch.count.wrapping_add(added.count),
                None => self.branches.push(added),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_several_producers_add_up() {
        let branch = |count| BranchTotals { count, is_fallthrough: false, is_throw: count < 0 };
        let line = |number, count, branches| LineTotals {
            number,
            unexecuted_block: count == 0,
            unexceptional: count != 0,
            count,
            branches,
        };
        let mut report = Report::default();
        report.source("/a.h".to_owned()).add_lines([line(3, 1, vec![branch(1)]), line(7, 2, Vec::new())]);
        report.source("/a.h".to_owned()).add_lines([
            line(2, 4, Vec::new()),
            line(3, 0, vec![branch(2), branch(5)]),
            line(9, i64::MAX, Vec::new()),
        ]);
        let source = &report.sources["/a.h"];
        let lines: Vec<(u32, i64)> = source.lines.iter().map(|line| (line.number, line.count)).collect();
        assert_eq!(lines, [(2, 4), (3, 1), (7, 2), (9, i64::MAX)]);
        assert_eq!(source.lines[1].branches, [branch(3), branch(5)]);
        assert!(source.lines[1].unexecuted_block && source.lines[1].unexceptional);
        assert_eq!((source.line_summary(), source.branch_summary()), ((4, 4), (2, 2)));
    }

    #[test]
    fn calls_of_functions_add_up() {
        let mut report = Report::default();
        for (name, line, calls) in [(b"f", 9, 1), (b"g", 4, 0), (b"f", 9, 2)] {
            report.source("/a.c".to_owned()).add_function(name, line, calls);
        }
        let functions: Vec<(&[u8], i64)> = report.sources["/a.c"]
            .sorted_functions()
            .into_iter()
            .map(|(name, totals)| (name, totals.execution_count))
            .collect();
        assert_eq!(functions, [(&b"g"[..], 0), (&b"f"[..], 3)]);
    }
}

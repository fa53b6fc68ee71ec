//! The stack of a crash as a ranking: what was under way is suspicious, the more the closer it was to the crash.

use hearth_client::protocol::{FunctionCount, Level, Suspect};
use hearth_compiler::function_name::plain_function;
use hearth_compiler::stack::Frame;
use std::collections::HashSet;

/// A function that reports crashes, and is on the stack because of that.
const REPORTER: &str = "crash_signal";

/// The stack as a ranking.
#[derive(Debug, Default)]
pub struct Stack(Vec<Place>);

#[derive(Debug)]
struct Place {
    source: String,
    line: u32,
    function: String,
    /// Where the function begins.
    function_line: u32,
}

impl Stack {
    /// Finds the functions of a stack among those that were executed; what is not among them is left out, and so are
    /// headers if there is anything else: their functions are small, and crash on what they were given.
    #[must_use]
    pub fn new(frames: &[Frame], executed: &[FunctionCount]) -> Self {
        let find = |frame: &Frame| {
            let name = plain_function(&frame.function);
            let is_same = |function: &&FunctionCount| {
                function.source == frame.source
                    && function.line <= frame.line
                    && plain_function(&function.name) == name
            };
            let function = executed.iter().filter(is_same).max_by_key(|function| function.line)?;
            let (source, name) = (frame.source.clone(), function.name.clone());
            Some(Place { source, line: frame.line, function: name, function_line: function.line })
        };
        let mut places: Vec<Place> =
            frames.iter().filter(|frame| frame.function != REPORTER).filter_map(find).collect();
        let is_header = |place: &Place| place.source.ends_with(".h");
        if !places.iter().all(is_header) {
            places.retain(|place| !is_header(place));
        }
        Self(places)
    }

    /// The files, functions or lines, each at its first place: the first has the score 1, the second 1/2, and so on.
    #[must_use]
    pub fn rank(&self, level: Level) -> Vec<Suspect> {
        let mut known = HashSet::new();
        let mut ranking = Vec::new();
        for Place { source, line, function, function_line } in &self.0 {
            let (line, function) = match level {
                Level::Files => (0, ""),
                Level::Functions => (*function_line, function.as_str()),
                Level::Lines => (*line, ""),
            };
            if known.insert((source, line, function)) {
                let rank = ranking.len() as u32 + 1;
                let (source, function) = (source.clone(), function.to_owned());
                ranking.push(Suspect { rank, score: 1.0 / f64::from(rank), source, line, function });
            }
        }
        ranking
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_compiler::stack::frames;
    use std::path::Path;

    const SAID: &str = "p.c:1:1: internal compiler error: Segmentation fault\n\
        0x16d45b8 crash_signal\n\t../../source/gcc/toplev.c:327\n\
        0x7f088399104f ???\n\t./signal/../sysdeps/libc_sigaction.c:0\n\
        0x10371e7 bb_seq\n\t../../source/gcc/gimple.h:1764\n\
        0x103a029 gsi_for_stmt(gimple*)\n\t../../source/gcc/gimple-iterator.c:618\n\
        0x1ab0688 rewrite\n\t../../source/gcc/reassoc.c:5194\n\
        0x1ab0688 rewrite\n\t../../source/gcc/reassoc.c:5194\n\
        0x1ab7ff8 reassociate\n\t../../source/gcc/reassoc.c:6698\n\
        Please submit a full bug report,\n";

    fn executed(name: &str, source: &str, line: u32) -> FunctionCount {
        FunctionCount { name: name.to_owned(), source: source.to_owned(), line, count: 1, against: 0 }
    }

    #[test]
    fn what_was_closest_to_the_crash_is_first() {
        let frames = frames(SAID, Path::new("/s/build/gcc"));
        assert_eq!(frames.len(), 7);
        assert_eq!(frames[3].source, "/s/source/gcc/gimple-iterator.c");
        let iterator = executed("gsi_for_stmt(gimple*)", "/s/source/gcc/gimple-iterator.c", 600);
        let functions = [
            executed("crash_signal(int)", "/s/source/gcc/toplev.c", 300),
            executed("bb_seq(int)", "/s/source/gcc/gimple.h", 1760),
            iterator.clone(),
            executed("rewrite(int)", "/s/source/gcc/reassoc.c", 5000),
            executed("rewrite(int)", "/s/source/gcc/other.c", 5100),
            executed("reassociate(int)", "/s/source/gcc/reassoc.c", 6500),
        ];
        let stack = Stack::new(&frames, &functions);
        let ranked = |level| {
            let ranking = stack.rank(level).into_iter();
            ranking.map(|place| (place.rank, place.source, place.line, place.function)).collect::<Vec<_>>()
        };
        let text = |rank: u32, source: &str, line: u32, function: &str| {
            (rank, format!("/s/source/gcc/{source}"), line, function.to_owned())
        };
        assert_eq!(ranked(Level::Files), [text(1, "gimple-iterator.c", 0, ""), text(2, "reassoc.c", 0, "")]);
        assert_eq!(
            ranked(Level::Functions),
            [
                text(1, "gimple-iterator.c", 600, "gsi_for_stmt(gimple*)"),
                text(2, "reassoc.c", 5000, "rewrite(int)"),
                text(3, "reassoc.c", 6500, "reassociate(int)"),
            ]
        );
        assert_eq!(ranked(Level::Lines)[1], text(2, "reassoc.c", 5194, ""));
        let header = Stack::new(&frames, &functions[..2]).rank(Level::Files);
        assert_eq!(header.len(), 1, "a header is all there is: {header:?}");
        assert!(Stack::default().rank(Level::Files).is_empty());
    }
}

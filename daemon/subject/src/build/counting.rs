//! Counting the steps in the output of a build system, for the progress bar.

use super::BuildSystem;

/// Longer lines are counted by their beginning alone.
const LINE_LIMIT_BYTES: usize = 16 * 1024;

/// Counts the steps in output that arrives in pieces.
pub(super) struct StepCounter<'a> {
    system: &'a dyn BuildSystem,
    line: Vec<u8>,
    count: u64,
}

impl<'a> StepCounter<'a> {
    /// A counter that starts at what earlier sessions have compiled.
    pub(super) fn starting_at(count: u64, system: &'a dyn BuildSystem) -> StepCounter<'a> {
        StepCounter { system, line: Vec::new(), count }
    }

    /// Takes the next piece of output.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte == b'\n' {
                self.count += u64::from(self.system.is_step(&self.line));
                self.line.clear();
            } else if self.line.len() < LINE_LIMIT_BYTES {
                self.line.push(byte);
            }
        }
    }

    /// The steps so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::super::ConfigureMake;
    use super::*;

    const OUTPUT: &[u8] = b"make[1]: Entering directory\n\
        g++  -fno-PIE -c   -O0 -g1 -o tree.o ../tree.c\n\
        gcc -o tcc.o -c ./tcc.c -O0\n\
        gcc -o tcc tcc.o libtcc.a\n\
        echo gcc -c x\n\
        g++ -c \n";

    #[test]
    fn only_compile_lines_count() {
        let system = ConfigureMake::default();
        let mut counter = StepCounter::starting_at(10, &system);
        counter.feed(OUTPUT);
        assert_eq!(counter.count(), 13);
    }

    #[test]
    fn pieces_count_as_the_whole() {
        let system = ConfigureMake::default();
        for size in 1..OUTPUT.len() {
            let mut counter = StepCounter::starting_at(0, &system);
            OUTPUT.chunks(size).for_each(|piece| counter.feed(piece));
            assert_eq!(counter.count(), 3, "pieces of {size}");
        }
    }
}

//! Counting compile lines in make's output, for the progress bar.

/// Longer lines are counted by their beginning alone.
const LINE_LIMIT_BYTES: usize = 16 * 1024;

/// Counts compile lines in output that arrives in pieces.
#[derive(Debug, Default)]
pub(super) struct CompileCounter {
    line: Vec<u8>,
    count: u64,
}

impl CompileCounter {
    /// A counter that starts at what earlier sessions have compiled.
    pub(super) fn starting_at(count: u64) -> CompileCounter {
        CompileCounter { line: Vec::new(), count }
    }

    /// Takes the next piece of output.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte == b'\n' {
                self.count += u64::from(is_compile(&self.line));
                self.line.clear();
            } else if self.line.len() < LINE_LIMIT_BYTES {
                self.line.push(byte);
            }
        }
    }

    /// The compile lines so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }
}

fn is_compile(line: &[u8]) -> bool {
    let compiler = line.starts_with(b"gcc ") || line.starts_with(b"g++ ");
    compiler && line.windows(4).any(|window| window == b" -c ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &[u8] = b"make[1]: Entering directory\n\
        g++  -fno-PIE -c   -O0 -g1 -o tree.o ../tree.c\n\
        gcc -o tcc.o -c ./tcc.c -O0\n\
        gcc -o tcc tcc.o libtcc.a\n\
        echo gcc -c x\n\
        g++ -c \n";

    #[test]
    fn only_compile_lines_count() {
        let mut counter = CompileCounter::starting_at(10);
        counter.feed(OUTPUT);
        assert_eq!(counter.count(), 13);
    }

    #[test]
    fn pieces_count_as_the_whole() {
        for size in 1..OUTPUT.len() {
            let mut counter = CompileCounter::default();
            OUTPUT.chunks(size).for_each(|piece| counter.feed(piece));
            assert_eq!(counter.count(), 3, "pieces of {size}");
        }
    }
}

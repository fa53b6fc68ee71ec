//! Writes .gcno and .gcda files of any version by hand, following the format's description in GCC's
//! gcov-io.h.

/// The format differences a writer has to follow.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// The four characters of the version word.
    pub version: &'static [u8; 4],
    /// Ten times major plus minor.
    pub number: u32,
    pub big_endian: bool,
}

/// One of each kind of format that GCC 4.8 to 15 and clang write.
pub const DIALECTS: &[Dialect] = &[
    Dialect { version: b"408*", number: 48, big_endian: false },
    Dialect { version: b"409*", number: 49, big_endian: false },
    Dialect { version: b"A51*", number: 51, big_endian: false },
    Dialect { version: b"A73*", number: 73, big_endian: false },
    Dialect { version: b"A83*", number: 83, big_endian: false },
    Dialect { version: b"A93*", number: 93, big_endian: false },
    Dialect { version: b"B02*", number: 102, big_endian: false },
    Dialect { version: b"B13*", number: 113, big_endian: false },
    Dialect { version: b"B22*", number: 122, big_endian: false },
    Dialect { version: b"B31*", number: 131, big_endian: false },
    Dialect { version: b"B42*", number: 142, big_endian: false },
    Dialect { version: b"B51*", number: 151, big_endian: false },
    Dialect { version: b"408*", number: 48, big_endian: true },
    Dialect { version: b"B22*", number: 122, big_endian: true },
];

/// A function to write: arcs as (source, destination, flags), lines as (block, file, lines).
#[derive(Debug, Clone)]
pub struct Function {
    pub ident: u32,
    pub name: &'static str,
    pub file: &'static str,
    pub start_line: u32,
    pub end_line: u32,
    pub blocks: u32,
    pub arcs: Vec<(u32, u32, u32)>,
    pub lines: Vec<(u32, &'static str, Vec<u32>)>,
    pub counters: Vec<i64>,
}

pub const STAMP: u32 = 0x1234_5678;
const LINENO_CHECKSUM: u32 = 0xaaaa_0001;
const CFG_CHECKSUM: u32 = 0xbbbb_0002;

/// `int f(int n) { … }` with a loop: entry 0, exit 1, head 2 (line 10), body 3 (line 11), end 4 (line 12).
/// The counters are of the arcs off the tree: 2->3 (five times round) and 4->1 (called twice).
pub fn looping_function() -> Function {
    const TREE: u32 = 1;
    const FALLTHROUGH: u32 = 4;
    Function {
        ident: 7,
        name: "f",
        file: "loop.c",
        start_line: 9,
        end_line: 13,
        blocks: 5,
        arcs: vec![
            (0, 2, TREE | FALLTHROUGH),
            (2, 3, 0),
            (2, 4, TREE | FALLTHROUGH),
            (3, 2, TREE | FALLTHROUGH),
            (4, 1, 0),
        ],
        lines: vec![(2, "loop.c", vec![10]), (3, "loop.c", vec![11]), (4, "loop.c", vec![12])],
        counters: vec![5, 2],
    }
}

struct Words {
    bytes: Vec<u8>,
    dialect: Dialect,
}

impl Words {
    fn word(&mut self, word: u32) {
        self.bytes.extend(if self.dialect.big_endian { word.to_be_bytes() } else { word.to_le_bytes() });
    }

    fn string(&mut self, text: &str) {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        if self.dialect.number >= 120 {
            self.word(bytes.len() as u32);
        } else {
            bytes.resize(bytes.len().div_ceil(4) * 4, 0);
            self.word(bytes.len() as u32 / 4);
        }
        self.bytes.extend(bytes);
    }

    fn record(&mut self, tag: u32, body: impl FnOnce(&mut Words)) {
        self.word(tag);
        let mut inner = Words { bytes: Vec::new(), dialect: self.dialect };
        body(&mut inner);
        let unit = if self.dialect.number >= 120 { 1 } else { 4 };
        self.word(inner.bytes.len() as u32 / unit);
        self.bytes.extend(inner.bytes);
    }
}

fn head(dialect: Dialect, magic: &[u8; 4]) -> Words {
    let mut words = Words { bytes: Vec::new(), dialect };
    words.word(u32::from_be_bytes(*magic));
    words.word(u32::from_be_bytes(*dialect.version));
    words.word(STAMP);
    if dialect.number >= 120 {
        words.word(0);
    }
    words
}

/// A whole .gcno file.
pub fn notes(dialect: Dialect, functions: &[Function]) -> Vec<u8> {
    let mut words = head(dialect, b"gcno");
    if dialect.number >= 90 {
        words.string("/src");
    }
    if dialect.number >= 80 {
        words.word(1);
    }
    for function in functions {
        write_function(&mut words, function);
    }
    words.bytes
}

fn write_function(words: &mut Words, function: &Function) {
    let number = words.dialect.number;
    words.record(0x0100_0000, |body| {
        body.word(function.ident);
        body.word(LINENO_CHECKSUM);
        body.word(CFG_CHECKSUM);
        body.string(function.name);
        if number >= 80 {
            body.word(0);
        }
        body.string(function.file);
        body.word(function.start_line);
        if number >= 80 {
            body.word(5);
            body.word(function.end_line);
        }
        if number >= 90 {
            body.word(1);
        }
    });
    words.record(0x0141_0000, |body| {
        if number >= 80 {
            body.word(function.blocks);
        } else {
            (0..function.blocks).for_each(|_| body.word(0));
        }
    });
    for block in 0..function.blocks {
        let arcs: Vec<_> = function.arcs.iter().filter(|arc| arc.0 == block).collect();
        if !arcs.is_empty() {
            words.record(0x0143_0000, |body| {
                body.word(block);
                for (_, destination, flags) in arcs {
                    body.word(*destination);
                    body.word(*flags);
                }
            });
        }
    }
    if number >= 140 {
        // Conditions, which readers of lines and branches pass over.
        words.record(0x0147_0000, |body| (0..3).for_each(|word| body.word(word)));
    }
    if number >= 150 {
        words.record(0x0149_0000, |body| body.word(1));
    }
    for (block, file, lines) in &function.lines {
        words.record(0x0145_0000, |body| {
            body.word(*block);
            body.word(0);
            body.string(file);
            lines.iter().for_each(|&line| body.word(line));
            body.word(0);
            body.word(0);
        });
    }
}

/// A whole .gcda file.
pub fn data(dialect: Dialect, functions: &[Function]) -> Vec<u8> {
    let mut words = head(dialect, b"gcda");
    words.record(0xa100_0000, |body| {
        if dialect.number < 90 {
            body.word(0);
            body.word(0);
        }
        body.word(1);
        body.word(5);
    });
    for function in functions {
        words.record(0x0100_0000, |body| {
            body.word(function.ident);
            body.word(LINENO_CHECKSUM);
            body.word(CFG_CHECKSUM);
        });
        words.record(0x01a1_0000, |body| {
            for &counter in &function.counters {
                body.word(counter as u32);
                body.word((counter >> 32) as u32);
            }
        });
    }
    words.word(0);
    words.bytes
}

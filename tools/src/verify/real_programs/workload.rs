//! What the programs do: command lines, inputs and scripts, as data.

/// Something a program does.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// The program.
    pub program: &'static str,
    /// Its arguments; `{bzip2}` and the like stand for the paths of programs.
    pub arguments: &'static [&'static str],
    /// The files that it finds in its directory.
    pub files: &'static [(&'static str, Content)],
    /// Its standard input.
    pub stdin: &'static str,
    /// The file before whose opening it waits, if it has one: it then waits there, too, and not only at `main`.
    pub input: Option<&'static str>,
    /// Is its whole report compared with gcov's, too?
    pub report: bool,
    /// Does it have processes side by side, so that not even two warm runs need be alike?
    pub races: bool,
}

/// What is in a file.
#[derive(Debug, Clone, Copy)]
pub enum Content {
    /// This, in which the paths of programs are put for their names.
    Text(&'static str),
    /// What a file of the program's source package has.
    Packaged(&'static str),
    /// So many bytes of text out of a few words, always the same.
    Words(usize),
}

use Content::{Packaged, Text, Words};

macro_rules! workload_file {
    ($name:literal) => {
        Text(include_str!(concat!("../../../../tests/programs/workloads/", $name)))
    };
}

/// A workload from which others differ.
const NONE: Workload =
    Workload { program: "", arguments: &[], files: &[], stdin: "", input: None, report: false, races: false };

const SOURCE: &str = "#include \"h.h\"\nint f(int x) { return x > N ? f(x - 1) : 3; }\n";

/// All workloads.
pub const WORKLOADS: &[Workload] = &[
    // Compression and decompression, of files and of streams, also of damaged ones.
    Workload {
        program: "bzip2",
        arguments: &["-k", "-9", "text"],
        files: &[("text", Words(200_000))],
        input: Some("text"),
        ..NONE
    },
    Workload {
        program: "bzip2",
        arguments: &["-v", "-1", "text"],
        files: &[("text", Words(300_000))],
        ..NONE
    },
    Workload {
        program: "bzip2",
        arguments: &["-d", "-c", "sample.bz2"],
        files: &[("sample.bz2", Packaged("sample1.bz2"))],
        input: Some("sample.bz2"),
        ..NONE
    },
    Workload {
        program: "bzip2",
        arguments: &["-d", "-s", "-k", "sample.bz2"],
        files: &[("sample.bz2", Packaged("sample3.bz2"))],
        ..NONE
    },
    Workload { program: "bzip2", stdin: "some text, more text, other text\n", arguments: &["-c"], ..NONE },
    Workload {
        program: "bzip2",
        arguments: &["-t", "-v", "damaged.bz2", "missing.bz2"],
        files: &[("damaged.bz2", Text("BZh91AY&SY damaged from here on"))],
        input: Some("damaged.bz2"),
        ..NONE
    },
    Workload {
        program: "bzip2",
        arguments: &["-c", "-5", "text"],
        files: &[("text", Words(150_000))],
        input: Some("text"),
        report: true,
        ..NONE
    },
    Workload { program: "bzip2", arguments: &["--help"], ..NONE },
    Workload {
        program: "lua",
        arguments: &["language.lua"],
        files: &[("language.lua", workload_file!("language.lua"))],
        input: Some("language.lua"),
        report: true,
        ..NONE
    },
    Workload {
        program: "lua",
        arguments: &["files.lua", "one", "two"],
        files: &[("files.lua", workload_file!("files.lua"))],
        stdin: "a line\nanother\n",
        input: Some("files.lua"),
        ..NONE
    },
    Workload {
        program: "lua",
        arguments: &["-"],
        stdin: "local t = {}\nfor i = 1, 300 do t[i] = function() return i end end\nprint(#t, t[7]())\n",
        ..NONE
    },
    // Tables with functions as keys are in the order of their addresses.
    Workload {
        program: "lua",
        arguments: &[
            "-e",
            "local t = {} for i = 1, 99 do t[function() return i end] = i end print(#t) error('end')",
        ],
        ..NONE
    },
    Workload {
        program: "dash",
        arguments: &["builtins.sh"],
        files: &[("builtins.sh", workload_file!("builtins.sh"))],
        races: true,
        input: Some("builtins.sh"),
        report: true,
        ..NONE
    },
    Workload {
        program: "dash",
        arguments: &["redirections.sh"],
        files: &[("redirections.sh", workload_file!("redirections.sh"))],
        races: true,
        input: Some("redirections.sh"),
        ..NONE
    },
    Workload {
        program: "dash",
        stdin: "echo from standard input\nfor i in 1 2 3; do (echo $i); done\nif then\n",
        ..NONE
    },
    Workload {
        program: "dash",
        arguments: &["-x", "-c", "f() { read x; echo \"$x $@\"; }; echo 1 | f a | f b; : $(echo 2 | f c)"],
        races: true,
        ..NONE
    },
    Workload {
        program: "dash",
        arguments: &["commands.sh", "{dash}", "{bzip2}", "{lua}"],
        files: &[("commands.sh", workload_file!("commands.sh"))],
        races: true,
        input: Some("commands.sh"),
        report: true,
        ..NONE
    },
    Workload {
        program: "sqlite3",
        arguments: &["-batch", ":memory:", ".read queries.sql"],
        files: &[("queries.sql", workload_file!("queries.sql"))],
        input: Some("queries.sql"),
        report: true,
        ..NONE
    },
    Workload {
        program: "sqlite3",
        arguments: &["-batch", "documents.db", ".read documents.sql"],
        files: &[("documents.sql", workload_file!("documents.sql"))],
        input: Some("documents.sql"),
        ..NONE
    },
    Workload {
        program: "sqlite3",
        arguments: &["-batch", ":memory:", ".read threads.sql"],
        files: &[("threads.sql", workload_file!("threads.sql"))],
        input: Some("threads.sql"),
        ..NONE
    },
    Workload {
        program: "sqlite3",
        arguments: &["-batch", "-json", "", "select 1 as a, 'x' as b union all select 2, null; select;"],
        ..NONE
    },
    Workload {
        program: "ninja",
        arguments: &["-n", "-v"],
        files: &[
            ("build.ninja", workload_file!("dry.ninja")),
            ("a.c", Text("")),
            ("b.c", Text("")),
            ("header.h", Text("")),
        ],
        input: Some("build.ninja"),
        report: true,
        ..NONE
    },
    Workload {
        program: "ninja",
        arguments: &["-t", "targets", "all"],
        files: &[("build.ninja", workload_file!("dry.ninja"))],
        input: Some("build.ninja"),
        ..NONE
    },
    Workload {
        program: "ninja",
        arguments: &["-t", "graph"],
        files: &[("build.ninja", workload_file!("dry.ninja"))],
        ..NONE
    },
    Workload {
        program: "ninja",
        arguments: &["-t", "compdb"],
        files: &[("build.ninja", workload_file!("dry.ninja"))],
        ..NONE
    },
    Workload {
        program: "ninja",
        arguments: &["progam"],
        files: &[("build.ninja", Text("rule r\n  command = true\nbuild program: r\nbuild: r\n"))],
        input: Some("build.ninja"),
        ..NONE
    },
    Workload {
        program: "ninja",
        arguments: &["-v", "-j2"],
        files: &[
            ("build.ninja", workload_file!("commands.ninja")),
            ("one.txt", Words(5000)),
            ("two.txt", Words(7000)),
        ],
        races: true,
        report: true,
        ..NONE
    },
    Workload {
        program: "gcc",
        arguments: &["-###", "-O2", "-g", "-DN=3", "-c", "x.c", "-o", "x.o"],
        files: &[("x.c", Text(SOURCE)), ("h.h", Text(""))],
        report: true,
        ..NONE
    },
    Workload { program: "gcc", arguments: &["-dumpspecs"], ..NONE },
    Workload { program: "gcc", arguments: &["-print-search-dirs", "-m32"], ..NONE },
    Workload { program: "gcc", arguments: &["--help=common", "-Wunkown-option", "missing.c"], ..NONE },
    // Without the machine's headers: cc1 asks which of their directories are on one device, and areas are devices of their own.
    Workload {
        program: "gcc",
        arguments: &["-B{directory}/", "-nostdinc", "-O1", "-DN=3", "-S", "x.c", "-o", "x.s"],
        files: &[("x.c", Text(SOURCE)), ("h.h", Text(""))],
        report: true,
        ..NONE
    },
    Workload {
        program: "gcc",
        arguments: &["-B{directory}/", "-nostdinc", "-pipe", "-c", "x.c", "y.c"],
        files: &[("x.c", Text(SOURCE)), ("h.h", Text("#define N 1\n")), ("y.c", Text("int y = z;\n"))],
        ..NONE
    },
];

/// So many bytes of words, the same each time.
pub fn words(bytes: usize) -> Vec<u8> {
    const WORDS: [&str; 12] =
        ["warm", "point", "counter", "of", "the", "fork", "and", "a", "zygote", "harvest", "\n", "spectrum"];
    let mut random = fastrand::Rng::with_seed(1);
    let mut text = Vec::with_capacity(bytes + 16);
    while text.len() < bytes {
        text.extend_from_slice(WORDS[random.usize(..WORDS.len())].as_bytes());
        text.push(b' ');
    }
    text.truncate(bytes);
    text
}

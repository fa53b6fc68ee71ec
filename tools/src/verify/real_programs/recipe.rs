//! What the check `programs` builds: real programs out of Debian's source packages, each with coverage and other options.

/// A program to build.
#[derive(Debug)]
pub struct Recipe {
    /// Its name, which its file has, too.
    pub name: &'static str,
    /// What its source comes from.
    pub origin: Origin,
    /// Programs of this list that it executes in some workloads: what they count is counted, too.
    pub with: &'static [&'static str],
    /// Is it in the short form?
    pub short: bool,
}

/// Where a program comes from.
#[derive(Debug)]
pub enum Origin {
    /// It is compiled from a source package.
    Package(Package),
    /// It was built beside a subject's own program, with which it is added: (subject, its path below the build).
    Beside(&'static str, &'static str),
}

/// A source package and how a program is made of it.
#[derive(Debug)]
pub struct Package {
    /// The package's name.
    pub name: &'static str,
    /// The compiler.
    pub compiler: &'static str,
    /// What is compiled and linked with, besides `--coverage`; `$SOURCE` is the package's directory.
    pub flags: &'static [&'static str],
    /// Commands that make sources out of others, run by the shell in the build's directory.
    pub prepare: &'static str,
    /// Files to compile; the package's, or if they begin with `./` those that were made.
    pub sources: &'static [&'static str],
    /// What is linked last.
    pub libraries: &'static [&'static str],
}

/// All programs. A program stands behind those that it is built with.
pub const RECIPES: &[Recipe] = &[
    Recipe { name: "bzip2", origin: Origin::Package(BZIP2), with: &[], short: true },
    Recipe { name: "lua", origin: Origin::Package(LUA), with: &[], short: true },
    Recipe { name: "dash", origin: Origin::Package(DASH), with: &["bzip2", "lua"], short: true },
    Recipe { name: "sqlite3", origin: Origin::Package(SQLITE3), with: &[], short: false },
    Recipe { name: "ninja", origin: Origin::Package(NINJA), with: &["bzip2", "dash"], short: false },
    Recipe { name: "gcc", origin: Origin::Beside("gcc-11-noopt", "xgcc"), with: &[], short: false },
];

/// Counters of link-time optimized code lie where the linker's compiler put them.
const BZIP2: Package = Package {
    name: "bzip2",
    compiler: "gcc",
    flags: &["-O2", "-flto", "-D_FILE_OFFSET_BITS=64"],
    prepare: "",
    sources: &[
        "bzip2.c",
        "bzlib.c",
        "blocksort.c",
        "huffman.c",
        "crctable.c",
        "randtable.c",
        "compress.c",
        "decompress.c",
    ],
    libraries: &[],
};

const LUA: Package = Package {
    name: "lua5.4",
    compiler: "gcc",
    // Its own seed of hashes is made of the time and of addresses, so that no two runs would be alike.
    flags: &["-O1", "-DLUA_USE_LINUX", "-DLUA_COMPAT_5_3", "-Dluai_makeseed(state)=1u", "-Wl,-E", "-I."],
    prepare: "echo '#define DEB_HOST_MULTIARCH \"none\"' > lua5.4-deb-multiarch.h",
    sources: &[
        "src/lapi.c",
        "src/lauxlib.c",
        "src/lbaselib.c",
        "src/lcode.c",
        "src/lcorolib.c",
        "src/lctype.c",
        "src/ldblib.c",
        "src/ldebug.c",
        "src/ldo.c",
        "src/ldump.c",
        "src/lfunc.c",
        "src/lgc.c",
        "src/linit.c",
        "src/liolib.c",
        "src/llex.c",
        "src/lmathlib.c",
        "src/lmem.c",
        "src/loadlib.c",
        "src/lobject.c",
        "src/lopcodes.c",
        "src/loslib.c",
        "src/lparser.c",
        "src/lstate.c",
        "src/lstring.c",
        "src/lstrlib.c",
        "src/ltable.c",
        "src/ltablib.c",
        "src/ltm.c",
        "src/lua.c",
        "src/lundump.c",
        "src/lutf8lib.c",
        "src/lvm.c",
        "src/lzio.c",
    ],
    libraries: &["-lm", "-ldl"],
};

const DASH: Package = Package {
    name: "dash",
    compiler: "gcc",
    // A child of vfork shares gcov's mark that the counters were written, and writes them before it executes another
    // program: what its parent counts after that would be lost to gcov, though not to Hearth.
    // And it ends by _exit, at which gcov writes nothing.
    flags: &[
        "-O0",
        "-Dvfork=fork",
        "-D_exit=exit",
        "-DBSD=1",
        "-DSHELL",
        "-include",
        "./config.h",
        "-I.",
        "-Isrc",
        "-I$SOURCE/src",
    ],
    // Debian's patches changed what the makefile is generated from, but it need not be generated again.
    prepare: "\"$SOURCE\"/configure -q --without-libedit && make -s -C src ACLOCAL=: AUTOMAKE=: AUTOCONF=: AUTOHEADER=: \
              builtins.c builtins.h nodes.c nodes.h syntax.c syntax.h signames.c init.c token.h token_vars.h",
    sources: &[
        "src/alias.c",
        "src/arith_yacc.c",
        "src/arith_yylex.c",
        "src/cd.c",
        "src/error.c",
        "src/eval.c",
        "src/exec.c",
        "src/expand.c",
        "src/histedit.c",
        "src/input.c",
        "src/jobs.c",
        "src/mail.c",
        "src/main.c",
        "src/memalloc.c",
        "src/miscbltin.c",
        "src/mystring.c",
        "src/options.c",
        "src/parser.c",
        "src/priv.c",
        "src/redir.c",
        "src/show.c",
        "src/trap.c",
        "src/output.c",
        "src/bltin/printf.c",
        "src/system.c",
        "src/bltin/test.c",
        "src/bltin/times.c",
        "src/var.c",
        "./src/builtins.c",
        "./src/init.c",
        "./src/nodes.c",
        "./src/signames.c",
        "./src/syntax.c",
    ],
    libraries: &[],
};

const SQLITE3: Package = Package {
    name: "sqlite3",
    compiler: "gcc",
    // Its sorter has threads, which would else lose counts to each other.
    flags: &[
        "-O0",
        "-pthread",
        "-fprofile-update=atomic",
        "-DSQLITE_THREADSAFE=1",
        "-DSQLITE_ENABLE_FTS5",
        "-DSQLITE_ENABLE_RTREE",
        "-I.",
    ],
    prepare: "\"$SOURCE\"/configure -q --disable-tcl --disable-readline && make -s sqlite3.c shell.c",
    sources: &["./shell.c", "./sqlite3.c"],
    libraries: &["-lm", "-ldl"],
};

const NINJA: Package = Package {
    name: "ninja-build",
    compiler: "g++",
    flags: &["-O2", "-std=c++11", "-iquote$SOURCE/src"],
    // It would read how many processors its control group has, and to find that, what is mounted: a run is in a control
    // group and among mounts of its own.
    prepare: "sed 's,/proc/self/\\(mountinfo\\|cgroup\\),/nowhere,' \"$SOURCE\"/src/util.cc > util.cc",
    sources: &[
        "src/build.cc",
        "src/build_log.cc",
        "src/clean.cc",
        "src/clparser.cc",
        "src/debug_flags.cc",
        "src/depfile_parser.cc",
        "src/deps_log.cc",
        "src/disk_interface.cc",
        "src/dyndep.cc",
        "src/dyndep_parser.cc",
        "src/edit_distance.cc",
        "src/eval_env.cc",
        "src/graph.cc",
        "src/graphviz.cc",
        "src/json.cc",
        "src/lexer.cc",
        "src/line_printer.cc",
        "src/manifest_parser.cc",
        "src/metrics.cc",
        "src/missing_deps.cc",
        "src/ninja.cc",
        "src/parser.cc",
        "src/state.cc",
        "src/status.cc",
        "src/string_piece_util.cc",
        "src/subprocess-posix.cc",
        "./util.cc",
        "src/version.cc",
    ],
    libraries: &[],
};

/// The recipe with a name.
pub fn named(name: &str) -> Option<&'static Recipe> {
    RECIPES.iter().find(|recipe| recipe.name == name)
}

//! The built-in subjects: where their source comes from and how each is configured and compiled.
//!
//! The figures steer progress bars and the check of the disk. Steps were counted in the logs of tcc and gcc-12 at level
//! noopt and gcc-11 at level opt; the other level is taken to have as many. Seconds are estimates, from builds on a busy
//! machine. The peak on disk was sampled every 20 s for gcc-12 noopt (1054 MB) and gcc-11 opt (723 MB), packages and
//! lists (120 MB) not included; the rest is derived from these, with a margin.

use std::path::Path;

use crate::download::Wanted;
use crate::manifest::Level;

mod gcc;

/// A built-in subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recipe {
    /// TinyCC, Debian's source package.
    Tcc,
    /// The C compiler proper (cc1) of GCC 11.3.0.
    Gcc11,
    /// The C compiler proper (cc1) of GCC 12.2.0.
    Gcc12,
}

/// How a recipe's source is packaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packaging {
    /// A source package, unpacked by dpkg-source.
    Source,
    /// A binary package that holds the pristine tarball, at this path inside it.
    Tarball(&'static str),
}

/// Something a build needs, and the Debian package that has it.
pub(crate) type Requirement = (&'static str, &'static str);

/// What a build is expected to cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Compile lines in make's output.
    pub compile_steps: u64,
    /// Processor seconds of make.
    pub compile_seconds: u64,
    /// Disk space at the peak, in MB, packages and lists included.
    pub disk_mb: u64,
}

impl Recipe {
    /// All recipes.
    pub const ALL: [Recipe; 3] = [Recipe::Tcc, Recipe::Gcc11, Recipe::Gcc12];

    /// The name users type.
    pub fn name(self) -> &'static str {
        match self {
            Recipe::Tcc => "tcc",
            Recipe::Gcc11 => "gcc-11",
            Recipe::Gcc12 => "gcc-12",
        }
    }

    /// The recipe and level a user asks for: `gcc-11` (with `level`, by default noopt) or `gcc-11-opt`.
    pub fn parse(name: &str, level: Option<Level>) -> crate::Result<(Recipe, Level)> {
        crate::name::parse_build(name, level)
    }

    /// The version the recipe is for; the package's version starts with it.
    pub fn version(self) -> &'static str {
        match self {
            Recipe::Tcc => "0.9.27",
            Recipe::Gcc11 => "11.3.0",
            Recipe::Gcc12 => "12.2.0",
        }
    }

    /// What a build at this level is expected to cost.
    pub(crate) fn cost(self, level: Level) -> Cost {
        let cost = |compile_steps, compile_seconds, disk_mb| Cost { compile_steps, compile_seconds, disk_mb };
        // Without instrumentation a build takes a little less of both.
        match (self, level) {
            (Recipe::Tcc, Level::Noopt | Level::PlainNoopt) => cost(10, 3, 60),
            (Recipe::Tcc, Level::Opt | Level::PlainOpt) => cost(10, 8, 60),
            (Recipe::Gcc11, Level::Noopt | Level::PlainNoopt) => cost(762, 900, 1300),
            (Recipe::Gcc11, Level::Opt | Level::PlainOpt) => cost(762, 1800, 1000),
            (Recipe::Gcc12, Level::Noopt | Level::PlainNoopt) => cost(762, 1000, 1400),
            (Recipe::Gcc12, Level::Opt | Level::PlainOpt) => cost(762, 2000, 1100),
        }
    }

    /// The Debian package with the source.
    pub(crate) fn package(self) -> &'static str {
        match self {
            Recipe::Tcc => "tcc",
            Recipe::Gcc11 => "gcc-11-source",
            Recipe::Gcc12 => "gcc-12-source",
        }
    }

    /// That package, to be downloaded.
    pub(crate) fn wanted(self) -> Wanted<'static> {
        Wanted { name: self.package(), version: Some(self.version()), packaging: self.packaging() }
    }

    /// How that package is unpacked.
    pub(crate) fn packaging(self) -> Packaging {
        match self {
            Recipe::Tcc => Packaging::Source,
            Recipe::Gcc11 => Packaging::Tarball("usr/src/gcc-11/gcc-11.3.0-dfsg.tar.xz"),
            Recipe::Gcc12 => Packaging::Tarball("usr/src/gcc-12/gcc-12.2.0-dfsg.tar.xz"),
        }
    }

    /// Paths inside the tarball, below its top directory, that the build does not need.
    pub(crate) fn excluded(self) -> &'static [&'static str] {
        match self {
            Recipe::Tcc => &[],
            Recipe::Gcc11 | Recipe::Gcc12 => gcc::EXCLUDED,
        }
    }

    /// The tools a build runs.
    pub(crate) fn tools(self) -> &'static [Requirement] {
        const EVERY: [Requirement; 6] = [
            ("gcc", "gcc"),
            ("make", "make"),
            ("tar", "tar"),
            ("xz", "xz-utils"),
            ("apt-get", "apt"),
            ("dpkg-deb", "dpkg"),
        ];
        const TCC: [Requirement; 7] = with(EVERY, [("dpkg-source", "dpkg-dev")]);
        const GCC: [Requirement; 9] = with(EVERY, [("g++", "g++"), ("flex", "flex"), ("bison", "bison")]);
        match self {
            Recipe::Tcc => &TCC,
            Recipe::Gcc11 | Recipe::Gcc12 => &GCC,
        }
    }

    /// The headers a build includes.
    pub(crate) fn headers(self) -> &'static [Requirement] {
        match self {
            Recipe::Tcc => &[("stdio.h", "libc6-dev")],
            Recipe::Gcc11 | Recipe::Gcc12 => gcc::HEADERS,
        }
    }

    /// The arguments of configure, which runs in `build` below the subject's directory.
    pub(crate) fn configure_arguments(self, level: Level, directory: &Path) -> Vec<String> {
        match self {
            Recipe::Tcc => vec![
                "--cc=gcc".into(),
                // Makes the program find its own headers and run-time library where it was built.
                format!("--tccdir={}", directory.join("build").display()),
                format!(
                    "--extra-cflags={}{}",
                    level.cflags(),
                    if level.is_instrumented() { " --coverage" } else { "" }
                ),
                if level.is_instrumented() {
                    "--extra-ldflags=--coverage".into()
                } else {
                    "--extra-ldflags=".into()
                },
            ],
            Recipe::Gcc11 | Recipe::Gcc12 => gcc::configure_arguments(level),
        }
    }

    /// The arguments of make, besides the number of jobs.
    pub(crate) fn make_arguments(self, level: Level) -> &'static [&'static str] {
        match self {
            // Its makefile appends -s, which would strip the symbols; a variable given here cannot be appended to.
            Recipe::Tcc if level.is_instrumented() => &["LDFLAGS=--coverage"],
            Recipe::Tcc => &["LDFLAGS="],
            Recipe::Gcc11 | Recipe::Gcc12 => gcc::MAKE_ARGUMENTS,
        }
    }

    /// The program, relative to the subject's directory.
    pub(crate) fn binary(self) -> &'static str {
        match self {
            Recipe::Tcc => "build/tcc",
            Recipe::Gcc11 | Recipe::Gcc12 => "build/gcc/cc1",
        }
    }

    /// The directory with the notes, relative to the subject's directory.
    pub(crate) fn notes(self) -> &'static str {
        match self {
            Recipe::Tcc => "build",
            Recipe::Gcc11 | Recipe::Gcc12 => "build/gcc",
        }
    }

    /// The arguments that compile `smoke.c` to `smoke.out`, to see that the program works.
    pub(crate) fn smoke_arguments(self) -> &'static [&'static str] {
        match self {
            Recipe::Tcc => &["-c", "smoke.c", "-o", "smoke.out"],
            Recipe::Gcc11 | Recipe::Gcc12 => &["-quiet", "-O2", "smoke.c", "-o", "smoke.out"],
        }
    }

    /// Objects, archives and programs, relative to `build`, that the finished subject needs at run time.
    pub(crate) fn kept(self) -> &'static [&'static str] {
        match self {
            Recipe::Tcc => &["tcc", "libtcc1.a", "bcheck.o", "bt-exe.o", "bt-log.o"],
            Recipe::Gcc11 | Recipe::Gcc12 => gcc::KEPT,
        }
    }

    /// Symbolic links the finished subject needs, relative to its directory: (link, target).
    pub(crate) fn links(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Recipe::Tcc => &[("build/include", "../source/include")],
            Recipe::Gcc11 | Recipe::Gcc12 => &[],
        }
    }
}

/// Joins two lists of requirements at compile time.
const fn with<const A: usize, const B: usize, const C: usize>(
    first: [Requirement; A],
    second: [Requirement; B],
) -> [Requirement; C] {
    assert!(A + B == C);
    let mut joined = [("", ""); C];
    let mut index = 0;
    while index < C {
        joined[index] = if index < A { first[index] } else { second[index - A] };
        index += 1;
    }
    joined
}

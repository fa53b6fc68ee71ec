//! The C compiler proper (cc1) of GCC, without the rest: two releases, which differ in figures and names alone.

use super::{Cost, Packaging, Recipe, Requirement, SmokeTest, Variant};
use crate::build::{BuildSystem, ConfigureMake};
use crate::manifest::Level;

/// A release of GCC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gcc {
    name: &'static str,
    version: &'static str,
    package: &'static str,
    /// Where the tarball is inside the package.
    tarball: &'static str,
    /// What a build costs without optimization; building without instrumentation takes a little less.
    noopt: Cost,
    /// What a build costs with optimization.
    opt: Cost,
}

/// GCC 11.3.0.
pub static GCC_11: Gcc = Gcc {
    name: "gcc-11",
    version: "11.3.0",
    package: "gcc-11-source",
    tarball: "usr/src/gcc-11/gcc-11.3.0-dfsg.tar.xz",
    noopt: Cost { compile_steps: 762, compile_seconds: 900, disk_mb: 1300 },
    opt: Cost { compile_steps: 762, compile_seconds: 1800, disk_mb: 1000 },
};

/// GCC 12.2.0.
pub static GCC_12: Gcc = Gcc {
    name: "gcc-12",
    version: "12.2.0",
    package: "gcc-12-source",
    tarball: "usr/src/gcc-12/gcc-12.2.0-dfsg.tar.xz",
    noopt: Cost { compile_steps: 762, compile_seconds: 1000, disk_mb: 1400 },
    opt: Cost { compile_steps: 762, compile_seconds: 2000, disk_mb: 1100 },
};

impl Recipe for Gcc {
    fn name(&self) -> &'static str {
        self.name
    }

    fn version(&self) -> &'static str {
        self.version
    }

    fn package(&self) -> &'static str {
        self.package
    }

    fn packaging(&self) -> Packaging {
        Packaging::Tarball(self.tarball)
    }

    fn excluded(&self) -> &'static [&'static str] {
        EXCLUDED
    }

    fn tools(&self) -> &'static [Requirement] {
        &[("g++", "g++"), ("flex", "flex"), ("bison", "bison")]
    }

    fn headers(&self) -> &'static [Requirement] {
        // The libraries cc1 is linked with.
        &[("gmp.h", "libgmp-dev"), ("mpfr.h", "libmpfr-dev"), ("mpc.h", "libmpc-dev")]
    }

    fn cost(&self, level: Level) -> Cost {
        if level.is_optimized() { self.opt } else { self.noopt }
    }

    fn build_system(&self, variant: &Variant<'_>) -> Box<dyn BuildSystem> {
        let level = variant.level;
        let mut configure = CONFIGURE_ARGUMENTS.map(str::to_owned).to_vec();
        if level.is_instrumented() {
            configure.push(format!("--enable-coverage={level}"));
        }
        configure.push(format!("CFLAGS={}", level.cflags()));
        configure.push(format!("CXXFLAGS={}", level.cflags()));
        Box::new(ConfigureMake { configure, make: MAKE_ARGUMENTS.map(str::to_owned).to_vec() })
    }

    fn binary(&self) -> &'static str {
        "build/gcc/cc1"
    }

    fn notes(&self) -> &'static str {
        "build/gcc"
    }

    fn smoke_test(&self) -> SmokeTest {
        SmokeTest::of_c_compiler(&["-quiet", "-O2", "smoke.c", "-o", "smoke.out"])
    }

    fn kept(&self) -> &'static [&'static str] {
        // cc1, and the driver with its linker wrapper, so that `xgcc -B` works.
        &["gcc/cc1", "gcc/xgcc", "gcc/collect2"]
    }
}

/// C alone, without what the compiler proper does not need.
const CONFIGURE_ARGUMENTS: [&str; 9] = [
    "--disable-bootstrap",
    "--enable-languages=c",
    "--disable-multilib",
    "--enable-checking=release",
    "--disable-nls",
    "--disable-werror",
    "--without-isl",
    "--disable-libsanitizer",
    "MAKEINFO=true",
];

/// `all-gcc` with its innermost goal narrowed to cc1 and the headers it comes with (`stddef.h` and so on); the driver
/// is made on the way. lto1, gcov and the others are left out.
const MAKE_ARGUMENTS: [&str; 3] = ["all-gcc", "MAKEINFO=true", "TARGET-gcc=cc1 stmp-int-hdrs"];

/// Run-time libraries, other languages and their tests. `gcc/d` stays: a generator reads a list of hooks there.
const EXCLUDED: &[&str] = &[
    "INSTALL",
    "MD5SUMS",
    "c++tools",
    "contrib",
    "gnattools",
    "gotools",
    "libada",
    "libasan",
    "libatomic",
    "libcc1",
    "libffi",
    "libgfortran",
    "libgo",
    "libgomp",
    "libhsail-rt",
    "libitm",
    "libobjc",
    "liboffloadmic",
    "libphobos",
    "libquadmath",
    "libsanitizer",
    "libssp",
    "libstdc++-v3",
    "libvtv",
    "maintainer-scripts",
    "gcc/ada",
    "gcc/brig",
    "gcc/fortran",
    "gcc/go",
    "gcc/jit",
    "gcc/po",
    "gcc/testsuite/ada",
    "gcc/testsuite/brig.dg",
    "gcc/testsuite/c-c++-common",
    "gcc/testsuite/g++.dg",
    "gcc/testsuite/g++.old-deja",
    "gcc/testsuite/g++.target",
    "gcc/testsuite/gcc.target",
    "gcc/testsuite/gdc.dg",
    "gcc/testsuite/gdc.test",
    "gcc/testsuite/gfortran.dg",
    "gcc/testsuite/gfortran.fortran-torture",
    "gcc/testsuite/gnat.dg",
    "gcc/testsuite/go.dg",
    "gcc/testsuite/go.go-torture",
    "gcc/testsuite/go.test",
    "gcc/testsuite/jit.dg",
    "gcc/testsuite/obj-c++.dg",
    "gcc/testsuite/objc",
    "gcc/testsuite/objc-obj-c++-shared",
    "gcc/testsuite/objc.dg",
];

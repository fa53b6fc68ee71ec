//! What the GCC recipes have in common: configuring and compiling cc1 alone.

use super::Requirement;
use crate::manifest::Level;

/// Run-time libraries, other languages and their tests. `gcc/d` stays: a generator reads a list of hooks there.
pub(super) const EXCLUDED: &[&str] = &[
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

/// The libraries cc1 is linked with.
pub(super) const HEADERS: &[Requirement] =
    &[("gmp.h", "libgmp-dev"), ("mpfr.h", "libmpfr-dev"), ("mpc.h", "libmpc-dev")];

/// `all-gcc` with its innermost goal narrowed to cc1 and the headers it comes with (`stddef.h` and so on); the driver
/// is made on the way. lto1, gcov and the others are left out.
pub(super) const MAKE_ARGUMENTS: &[&str] = &["all-gcc", "MAKEINFO=true", "TARGET-gcc=cc1 stmp-int-hdrs"];

/// cc1, and the driver with its linker wrapper, so that `xgcc -B` works.
pub(super) const KEPT: &[&str] = &["gcc/cc1", "gcc/xgcc", "gcc/collect2"];

pub(super) fn configure_arguments(level: Level) -> Vec<String> {
    let fixed = [
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
    let mut arguments: Vec<String> = fixed.iter().map(|argument| argument.to_string()).collect();
    if level.is_instrumented() {
        arguments.push(format!("--enable-coverage={level}"));
    }
    arguments.push(format!("CFLAGS={}", level.cflags()));
    arguments.push(format!("CXXFLAGS={}", level.cflags()));
    arguments
}

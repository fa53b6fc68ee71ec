//! TinyCC, Debian's source package.

use super::{Cost, Packaging, Recipe, Requirement, SmokeTest, Variant};
use crate::build::{BuildSystem, ConfigureMake};
use crate::manifest::Level;

/// TinyCC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcc;

/// The recipe of TinyCC.
pub static TCC: Tcc = Tcc;

impl Recipe for Tcc {
    fn name(&self) -> &'static str {
        "tcc"
    }

    fn version(&self) -> &'static str {
        "0.9.27"
    }

    fn package(&self) -> &'static str {
        "tcc"
    }

    fn packaging(&self) -> Packaging {
        Packaging::Source
    }

    fn headers(&self) -> &'static [Requirement] {
        &[("stdio.h", "libc6-dev")]
    }

    fn cost(&self, level: Level) -> Cost {
        let compile_seconds = if level.is_optimized() { 8 } else { 3 };
        Cost { compile_steps: 10, compile_seconds, disk_mb: 60 }
    }

    fn build_system(&self, variant: &Variant<'_>) -> Box<dyn BuildSystem> {
        let level = variant.level;
        let (cflags, ldflags) =
            if level.is_instrumented() { (" --coverage", "--coverage") } else { ("", "") };
        let configure = vec![
            "--cc=gcc".into(),
            // Makes the program find its own headers and run-time library where it was built.
            format!("--tccdir={}", variant.directory.join("build").display()),
            format!("--extra-cflags={}{cflags}", level.cflags()),
            format!("--extra-ldflags={ldflags}"),
        ];
        // Its makefile appends -s, which would strip the symbols; a variable given here cannot be appended to.
        let make = vec![format!("LDFLAGS={ldflags}")];
        Box::new(ConfigureMake { configure, make })
    }

    fn binary(&self) -> &'static str {
        "build/tcc"
    }

    fn notes(&self) -> &'static str {
        "build"
    }

    fn smoke_test(&self) -> SmokeTest {
        SmokeTest::of_c_compiler(&["-c", "smoke.c", "-o", "smoke.out"])
    }

    fn kept(&self) -> &'static [&'static str] {
        &["tcc", "libtcc1.a", "bcheck.o", "bt-exe.o", "bt-log.o"]
    }

    fn links(&self) -> &'static [(&'static str, &'static str)] {
        &[("build/include", "../source/include")]
    }
}

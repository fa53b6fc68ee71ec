//! Build systems: the commands that make a program of a source tree, and what is known of their output and their files.
//!
//! A recipe names the one that its program is built with and gives it its arguments. A new one is a file in `system/`.

use std::fmt;
use std::num::NonZero;
use std::path::Path;
use std::process::Command;

use super::command;
use crate::recipes::Requirement;

mod configure_make;

pub use configure_make::ConfigureMake;

/// How a source tree is configured and compiled. All commands run in `build`, which lies beside `source`.
pub trait BuildSystem {
    /// The tools it runs, beside compilers.
    fn tools(&self) -> &'static [Requirement];

    /// The command that configures the build, in an empty directory.
    fn configure(&self) -> Invocation;

    /// The command that compiles what is not compiled yet, with so many compilers at once.
    fn compile(&self, jobs: NonZero<usize>) -> Invocation;

    /// Is this line of the compile command's output a step, as [`Cost`](crate::recipes::Cost) counts them?
    fn is_step(&self, line: &[u8]) -> bool;

    /// Is a file with this name something that compiling makes, and that is trusted once it is there? What was being
    /// written when a build was interrupted is made again; in a finished subject only notes stay. Programs are treated
    /// alike, whatever their names.
    fn is_product(&self, path: &Path) -> bool;
}

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    program: &'static str,
    arguments: Vec<String>,
}

impl Invocation {
    /// Runs a program with these arguments.
    pub fn new(program: &'static str, arguments: Vec<String>) -> Invocation {
        Invocation { program, arguments }
    }

    /// The command to run, with the environment a build is to have.
    pub(super) fn command(&self) -> Command {
        let mut command = command::tool(self.program);
        command.args(&self.arguments);
        command
    }
}

/// As a shell would take it.
impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.program)?;
        for argument in &self.arguments {
            match argument.contains(' ') {
                true => write!(f, " '{argument}'")?,
                false => write!(f, " {argument}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Level;
    use crate::recipes::{self, Recipe, Variant};

    const TCC: [(Level, &str, &str); 4] = [
        (
            Level::Noopt,
            "../source/configure --cc=gcc --tccdir=/c/build '--extra-cflags=-O0 -g1 --coverage' --extra-ldflags=--coverage",
            "make -j3 LDFLAGS=--coverage",
        ),
        (
            Level::Opt,
            "../source/configure --cc=gcc --tccdir=/c/build '--extra-cflags=-O2 -g1 --coverage' --extra-ldflags=--coverage",
            "make -j3 LDFLAGS=--coverage",
        ),
        (
            Level::PlainNoopt,
            "../source/configure --cc=gcc --tccdir=/c/build '--extra-cflags=-O0 -g1' --extra-ldflags=",
            "make -j3 LDFLAGS=",
        ),
        (
            Level::PlainOpt,
            "../source/configure --cc=gcc --tccdir=/c/build '--extra-cflags=-O2 -g1' --extra-ldflags=",
            "make -j3 LDFLAGS=",
        ),
    ];

    const GCC_CONFIGURE: &str = "../source/configure --disable-bootstrap --enable-languages=c --disable-multilib \
        --enable-checking=release --disable-nls --disable-werror --without-isl --disable-libsanitizer MAKEINFO=true";
    const GCC_MAKE: &str = "make -j3 all-gcc MAKEINFO=true 'TARGET-gcc=cc1 stmp-int-hdrs'";
    const GCC: [(Level, &str); 4] = [
        (Level::Noopt, " --enable-coverage=noopt 'CFLAGS=-O0 -g1' 'CXXFLAGS=-O0 -g1'"),
        (Level::Opt, " --enable-coverage=opt 'CFLAGS=-O2 -g1' 'CXXFLAGS=-O2 -g1'"),
        (Level::PlainNoopt, " 'CFLAGS=-O0 -g1' 'CXXFLAGS=-O0 -g1'"),
        (Level::PlainOpt, " 'CFLAGS=-O2 -g1' 'CXXFLAGS=-O2 -g1'"),
    ];

    fn check(recipe: &dyn Recipe, level: Level, configure: &str, compile: &str) {
        let system = recipe.build_system(&Variant { level, directory: Path::new("/c") });
        let jobs = NonZero::new(3).unwrap();
        assert_eq!(system.configure().to_string(), configure, "{} {level}", recipe.name());
        assert_eq!(system.compile(jobs).to_string(), compile, "{} {level}", recipe.name());
    }

    #[test]
    fn every_recipe_has_the_commands_that_its_subjects_are_built_with() {
        for (level, configure, compile) in TCC {
            check(&recipes::TCC, level, configure, compile);
        }
        for recipe in [&recipes::GCC_11, &recipes::GCC_12] {
            for (level, end) in GCC {
                check(recipe, level, &format!("{GCC_CONFIGURE}{end}"), GCC_MAKE);
            }
        }
    }

    #[test]
    fn arguments_reach_the_command_as_they_are() {
        let arguments = vec!["a b".to_owned(), "c".to_owned()];
        let command = Invocation::new("../source/configure", arguments).command();
        let words: Vec<_> = command.get_args().chain([command.get_program()]).collect();
        for word in ["a b", "c", "../source/configure"] {
            assert!(words.iter().any(|found| *found == word), "{word}: {words:?}");
        }
    }
}

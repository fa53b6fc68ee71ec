//! The built-in subjects: where the source of each comes from, how it is built, and what is kept of it.
//!
//! Each is a value of a type in a file of its own. A new one is a file beside those, and a line in [`ALL`].
//!
//! The figures steer progress bars and the check of the disk. Steps were counted in the logs of tcc and gcc-12 at level
//! noopt and gcc-11 at level opt; the other level is taken to have as many. Seconds are estimates, from builds on a busy
//! machine. The peak on disk was sampled every 20 s for gcc-12 noopt (1054 MB) and gcc-11 opt (723 MB), packages and
//! lists (120 MB) not included; the rest is derived from these, with a margin.

use std::fmt::Debug;
use std::path::Path;

use crate::build::BuildSystem;
use crate::error::{Error, Result};
use crate::manifest::Level;
use crate::name::SubjectId;

mod gcc;
mod tcc;

pub use gcc::{GCC_11, GCC_12, Gcc};
pub use tcc::{TCC, Tcc};

/// All recipes.
pub static ALL: &[&dyn Recipe] = &[&TCC, &GCC_11, &GCC_12];

/// How a built-in subject is made. Recipes are told apart by their names.
pub trait Recipe: Debug + Sync {
    /// The name users type.
    fn name(&self) -> &'static str;

    /// The version the recipe is for; the package's version starts with it.
    fn version(&self) -> &'static str;

    /// The Debian package with the source.
    fn package(&self) -> &'static str;

    /// How that package is unpacked.
    fn packaging(&self) -> Packaging;

    /// Paths inside the tarball, below its top directory, that the build does not need.
    fn excluded(&self) -> &'static [&'static str] {
        &[]
    }

    /// The tools a build runs, beside the build system's and those that every build does.
    fn tools(&self) -> &'static [Requirement] {
        &[]
    }

    /// The headers a build includes.
    fn headers(&self) -> &'static [Requirement];

    /// What a build at this level is expected to cost.
    fn cost(&self, level: Level) -> Cost;

    /// The build system of the source, with the arguments that make this variant.
    fn build_system(&self, variant: &Variant<'_>) -> Box<dyn BuildSystem>;

    /// The program, relative to the subject's directory.
    fn binary(&self) -> &'static str;

    /// The directory with the notes, relative to the subject's directory.
    fn notes(&self) -> &'static str;

    /// What shows that the program works.
    fn smoke_test(&self) -> SmokeTest;

    /// Objects, archives and programs, relative to `build`, that the finished subject needs at run time.
    fn kept(&self) -> &'static [&'static str];

    /// Symbolic links the finished subject needs, relative to its directory: (link, target).
    fn links(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

impl PartialEq for dyn Recipe {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn Recipe {}

/// What is to be made by a recipe, and where. Options that a recipe has beyond these are fields here.
#[derive(Clone, Copy, Debug)]
pub struct Variant<'a> {
    /// How the subject is compiled.
    pub level: Level,
    /// The subject's directory, in whose `build` it is built and stays.
    pub directory: &'a Path,
}

/// How a recipe's source is packaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packaging {
    /// A source package, unpacked by dpkg-source.
    Source,
    /// A binary package that holds the pristine tarball, at this path inside it.
    Tarball(&'static str),
}

/// A run of the program, in a directory of its own, that shows that it works: it ends well, and makes the file it is to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmokeTest {
    /// A file that it finds there: its name and its text.
    pub input: Option<(&'static str, &'static str)>,
    /// Its arguments.
    pub arguments: &'static [&'static str],
    /// The name of the file it is to make there.
    pub output: Option<&'static str>,
}

impl SmokeTest {
    /// Of a C compiler: the arguments have it compile `smoke.c` to `smoke.out`.
    pub const fn of_c_compiler(arguments: &'static [&'static str]) -> SmokeTest {
        let input = Some(("smoke.c", "int main(void) { return 0; }\n"));
        SmokeTest { input, arguments, output: Some("smoke.out") }
    }
}

/// Something a build needs, and the Debian package that has it.
pub type Requirement = (&'static str, &'static str);

/// What a build is expected to cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Steps, as the build system counts them.
    pub compile_steps: u64,
    /// Processor seconds of compiling.
    pub compile_seconds: u64,
    /// Disk space at the peak, in MB, packages and lists included.
    pub disk_mb: u64,
}

/// The recipe with this name.
pub fn by_name(name: &str) -> Option<&'static dyn Recipe> {
    ALL.iter().copied().find(|recipe| recipe.name() == name)
}

/// The recipe and level a user asks for: `gcc-11` (with `asked`, by default noopt) or `gcc-11-opt`.
///
/// # Errors
/// If there is none of this name, or the name has another level inside than the one asked for.
pub fn parse(name: &str, asked: Option<Level>) -> Result<(&'static dyn Recipe, Level)> {
    if let Some(recipe) = by_name(name) {
        return Ok((recipe, asked.unwrap_or(Level::Noopt)));
    }
    let (recipe, named) = SubjectId::exact(name)?
        .recipe()
        .ok_or_else(|| Error::UnknownRecipe { name: name.into(), known: names() })?;
    match asked {
        Some(asked) if asked != named => Err(Error::LevelConflict { name: name.into(), named, asked }),
        _ => Ok((recipe, named)),
    }
}

/// The names of all recipes, for messages.
pub(crate) fn names() -> String {
    ALL.iter().map(|recipe| recipe.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_are_parsed() {
        let table: [(&str, Option<Level>, &dyn Recipe, Level); 3] = [
            ("tcc", None, &TCC, Level::Noopt),
            ("gcc-12", Some(Level::Opt), &GCC_12, Level::Opt),
            ("gcc-11-opt", None, &GCC_11, Level::Opt),
        ];
        for (name, asked, recipe, level) in table {
            assert_eq!(parse(name, asked).unwrap(), (recipe, level), "{name}");
        }
        assert!(matches!(parse("gcc-11-opt", Some(Level::Noopt)), Err(Error::LevelConflict { .. })));
        assert!(matches!(parse("clang", None), Err(Error::UnknownRecipe { .. })));
    }

    #[test]
    fn every_name_at_every_level_parses_back() {
        for &recipe in ALL {
            assert_eq!(by_name(recipe.name()), Some(recipe));
            assert_eq!(parse(recipe.name(), None).unwrap(), (recipe, Level::Noopt));
            for level in Level::ALL {
                let id = SubjectId::built(recipe, level);
                assert_eq!(id.as_str(), format!("{}-{level}", recipe.name()));
                assert_eq!(parse(id.as_str(), None).unwrap(), (recipe, level), "{id}");
                assert_eq!(parse(recipe.name(), Some(level)).unwrap(), (recipe, level), "{id}");
            }
        }
    }

    #[test]
    fn names_are_told_in_order_and_are_of_one_recipe_each() {
        assert_eq!(names(), "tcc, gcc-11, gcc-12");
        for &recipe in ALL {
            assert_eq!(ALL.iter().filter(|other| **other == recipe).count(), 1, "{}", recipe.name());
        }
    }

    #[test]
    fn what_a_subject_needs_is_built_and_kept() {
        for recipe in ALL {
            let name = recipe.name();
            let binary = recipe.binary().strip_prefix("build/").unwrap_or_default();
            assert!(recipe.kept().contains(&binary), "{name} prunes its program");
            let notes = Path::new(recipe.notes());
            assert!(notes.starts_with("build") && Path::new(recipe.binary()).starts_with(notes), "{name}");
            let SmokeTest { input, arguments, output } = recipe.smoke_test();
            for file in input.map(|(file, _)| file).into_iter().chain(output) {
                assert!(arguments.contains(&file), "{name} is not told of {file}");
            }
            for level in Level::ALL {
                let Cost { compile_steps, compile_seconds, disk_mb } = recipe.cost(level);
                assert!(compile_steps > 0 && compile_seconds > 0 && disk_mb > 0, "{name} {level}");
            }
        }
    }

    #[test]
    fn sources_are_of_the_version_that_the_recipe_is_for() {
        let table: [(&dyn Recipe, &str, &str, Packaging); 3] = [
            (&TCC, "tcc", "0.9.27", Packaging::Source),
            (&GCC_11, "gcc-11-source", "11.3.0", Packaging::Tarball("usr/src/gcc-11/gcc-11.3.0-dfsg.tar.xz")),
            (&GCC_12, "gcc-12-source", "12.2.0", Packaging::Tarball("usr/src/gcc-12/gcc-12.2.0-dfsg.tar.xz")),
        ];
        assert_eq!(table.len(), ALL.len());
        for (recipe, package, version, packaging) in table {
            assert_eq!(recipe.package(), package);
            assert_eq!(recipe.version(), version);
            assert_eq!(recipe.packaging(), packaging);
        }
    }
}

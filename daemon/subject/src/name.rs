//! Names of subjects: what users type, and the ids their directories have.

use std::fmt;

use crate::error::{Error, Result};
use crate::manifest::Level;
use crate::recipes::{self, Recipe};

/// The longest name, in bytes; it becomes a file name with a suffix.
const NAME_LIMIT_BYTES: usize = 64;

/// The id of a subject, which is its directory's name: `gcc-11-noopt`, or the name of an added one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubjectId(String);

impl SubjectId {
    /// The id of a recipe's subject at a level.
    pub fn built(recipe: &dyn Recipe, level: Level) -> SubjectId {
        SubjectId(format!("{}-{level}", recipe.name()))
    }

    /// The id of a subject that a user adds: any valid name that no recipe claims.
    pub fn added(name: &str) -> Result<SubjectId> {
        check(name)?;
        match recipes::by_name(name).is_some() || SubjectId(name.into()).recipe().is_some() {
            true => Err(Error::ReservedName { name: name.into() }),
            false => Ok(SubjectId(name.into())),
        }
    }

    /// The id that is exactly this text, if it is a valid one.
    pub(crate) fn exact(id: &str) -> Result<SubjectId> {
        check(id)?;
        Ok(SubjectId(id.into()))
    }

    /// The ids a name may stand for, the preferred first.
    pub fn candidates(name: &str) -> Result<Vec<SubjectId>> {
        check(name)?;
        Ok(match recipes::by_name(name) {
            Some(recipe) => [Level::Noopt, Level::Opt].map(|level| SubjectId::built(recipe, level)).to_vec(),
            None => vec![SubjectId(name.into())],
        })
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The recipe and level that make this subject, if it is a built-in one.
    pub fn recipe(&self) -> Option<(&'static dyn Recipe, Level)> {
        let mut all = recipes::ALL.iter().flat_map(|&recipe| Level::ALL.map(|level| (recipe, level)));
        all.find(|&(recipe, level)| SubjectId::built(recipe, level) == *self)
    }

    /// The command that makes this subject, or finishes making it.
    pub fn build_command(&self) -> String {
        match self.recipe() {
            Some((recipe, Level::Noopt)) => format!("hearth subject build {}", recipe.name()),
            Some((recipe, level)) => format!("hearth subject build {} --level {level}", recipe.name()),
            None => format!("hearth subject add {} --binary PATH --notes DIR", self.0),
        }
    }
}

impl fmt::Display for SubjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn check(name: &str) -> Result<()> {
    let body = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'.' | b'_' | b'-');
    let valid = name.len() <= NAME_LIMIT_BYTES
        && name.bytes().all(body)
        && name.bytes().next().is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    if valid { Ok(()) } else { Err(Error::InvalidName { name: name.into() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_ids() {
        let table: [(&str, &[&str]); 4] = [
            ("gcc-11", &["gcc-11-noopt", "gcc-11-opt"]),
            ("gcc-11-opt", &["gcc-11-opt"]),
            ("tcc", &["tcc-noopt", "tcc-opt"]),
            ("mine", &["mine"]),
        ];
        for (name, expected) in table {
            let ids = SubjectId::candidates(name).unwrap();
            assert_eq!(ids.iter().map(SubjectId::as_str).collect::<Vec<_>>(), expected, "{name}");
        }
    }

    #[test]
    fn bad_names_are_refused() {
        let long = "a".repeat(65);
        for name in ["", ".", "..", "a/b", "-a", "A", "a b", "é", long.as_str()] {
            assert!(matches!(SubjectId::candidates(name), Err(Error::InvalidName { .. })), "{name}");
        }
    }

    #[test]
    fn added_names_do_not_shadow_recipes() {
        for name in ["tcc", "gcc-11", "gcc-12-opt", "tcc-noopt"] {
            assert!(matches!(SubjectId::added(name), Err(Error::ReservedName { .. })), "{name}");
        }
        assert_eq!(SubjectId::added("gcc-13").unwrap().as_str(), "gcc-13");
    }

    #[test]
    fn build_commands_resume_the_same_subject() {
        let command = |name: &str| SubjectId::candidates(name).unwrap()[0].build_command();
        assert_eq!(command("tcc"), "hearth subject build tcc");
        assert_eq!(command("gcc-11-opt"), "hearth subject build gcc-11 --level opt");
    }
}

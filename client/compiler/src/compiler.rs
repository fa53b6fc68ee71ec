//! What is known of a compiler, and which one a subject is.

mod cc1;
mod tcc;

use crate::compiled;
use crate::error::{Error, Result};
use crate::options::Flip;
use crate::stack::Frame;
use cc1::Cc1;
use hearth_client::{Answer, Ask, Connection};
use std::ffi::OsStr;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tcc::Tcc;

/// A compiler: its arguments, and what it says. What most compilers lack has a default.
pub trait Compiler: Debug + Send + Sync {
    /// The arguments that every compile has, beside the program's and the output's.
    fn arguments(&self) -> Vec<String>;

    /// The form of the code that it writes.
    fn form(&self) -> Form;

    /// The library that its code needs beside the C library, if it is there.
    fn library(&self) -> Option<String> {
        None
    }

    /// Its options of optimization; none if it has none, or does not tell.
    fn optimizers(&self) -> Option<Optimizers> {
        None
    }

    /// The options that make a program end by [`TRAP`](crate::toolchain::Toolchain::TRAP) when it does what C leaves
    /// undefined, without any library; none if it has none.
    fn screen(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// Options each of which makes it crash on purpose, in a pass of each kind.
    fn crashing_options(&self) -> Vec<String> {
        Vec::new()
    }

    /// Parts of the names of files of its source that are there to report what goes wrong. A crash executes them because of
    /// that. Crashes on purpose show all of it but what reports an assertion that fails, which cannot be had on purpose.
    fn reporters(&self) -> &'static [&'static str] {
        &[]
    }

    /// What it says of its own crash; none if it did not crash, or says nothing.
    fn crash(&self, errors: &str) -> Option<String> {
        compiled::crash(errors)
    }

    /// The stack that it prints when it crashes, from where it crashed outward.
    fn stack(&self, _errors: &str) -> Vec<Frame> {
        Vec::new()
    }
}

/// A form of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For the assembler.
    Assembly,
    /// For the linker.
    Object,
}

/// How a compiler is asked for its options of optimization.
#[derive(Debug, Clone, Copy)]
pub struct Optimizers {
    /// The argument that makes it list them, given the options of the compile.
    pub question: &'static str,
    /// Reads the list: each turned the other way.
    pub read: fn(&str) -> Vec<Flip>,
}

/// The compiler that a subject is.
///
/// # Errors
/// If there is no such subject, it is not instrumented, or no compiler that is known.
pub fn of_subject(connection: &mut Connection, subject: &str) -> Result<Arc<dyn Compiler>> {
    of_binary(&binary_of(connection, subject)?)
}

/// The compiler that a binary is, by its name.
fn of_binary(binary: &Path) -> Result<Arc<dyn Compiler>> {
    match binary.file_name().and_then(OsStr::to_str) {
        Some("cc1") => Ok(Arc::new(Cc1::new(binary))),
        Some("tcc") => Ok(Arc::new(Tcc::new(binary))),
        _ => Err(Error::NoCompiler(binary.to_owned())),
    }
}

/// The binary of a subject.
fn binary_of(connection: &mut Connection, subject: &str) -> Result<PathBuf> {
    let Answer::Subjects(subjects) = connection.call(Ask::Subjects {})? else {
        return Err(Error::NoSubjects);
    };
    // A name without a level stands for the first of these that is there.
    let ids = [subject.to_owned(), format!("{subject}-noopt"), format!("{subject}-opt")];
    let found = ids.iter().find_map(|id| subjects.iter().find(|known| known.name == *id));
    let found = found.ok_or_else(|| Error::NoSubject(subject.to_owned()))?;
    match found.instrumented {
        true => Ok(PathBuf::from(&found.binary)),
        false => Err(Error::NotInstrumented(subject.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_are_known_by_their_names() {
        let cc1 = of_binary(Path::new("/s/build/gcc/cc1")).expect("it is known");
        assert_eq!(cc1.form(), Form::Assembly);
        assert!(cc1.optimizers().is_some() && cc1.screen().is_some());
        let tcc = of_binary(Path::new("/s/tcc")).expect("it is known");
        assert_eq!((tcc.form(), tcc.library()), (Form::Object, None));
        assert!(tcc.optimizers().is_none() && tcc.screen().is_none() && tcc.crashing_options().is_empty());
        assert_eq!(tcc.arguments(), ["-w", "-c", "-B/s/"]);
        let other = of_binary(Path::new("/s/sort")).expect_err("it is no compiler");
        let said = "only GCC's cc1 and tcc can be localized in, and /s/sort is neither";
        assert_eq!(other.to_string(), said);
    }
}

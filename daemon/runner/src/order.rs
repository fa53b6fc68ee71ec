//! What a user orders, and what that means: which program, which atlas, which zygote.

use crate::error::{Error, Result};
use crate::revision::{self, Files};
use crate::subject_map::SubjectMap;
use crate::zygote::{WarmPoint, ZygoteKey};
use hearth_sandbox::Policy;
use hearth_subject::{Store, Subject};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Stands for the input among the arguments.
const PLACEHOLDER: &str = "{}";
/// The input's path where the order gives only its bytes.
const NAMELESS_INPUT: &str = "input.c";

/// What a user orders, on this machine: paths, a parsed warm point, nothing left to be chosen.
///
/// The protocol's `Order` is the same as a client sends it: text, in which most can be left out, and with the limits of a run,
/// which are a `RunRequest`'s here. The daemon makes one of these of it; `hearth run` has no other.
#[derive(Debug, Clone)]
pub struct RunOrder {
    /// A subject's name or a program's path.
    pub subject: String,
    /// The program's arguments.
    pub arguments: Vec<OsString>,
    /// The input's path.
    pub input: Option<PathBuf>,
    /// Where to wait.
    pub warm: Option<WarmPoint>,
    /// The working directory.
    pub directory: PathBuf,
    /// The environment.
    pub environment: Vec<(OsString, OsString)>,
    /// What becomes of a machine that lacks something.
    pub sandbox: Policy,
    /// Processes a run may have at a time.
    pub processes: u64,
    /// Paths that runs see although they would be hidden.
    pub shown: Vec<PathBuf>,
}

impl RunOrder {
    /// An order of a subject in this process's directory and environment.
    ///
    /// # Errors
    /// If the working directory is gone.
    pub fn here(subject: &str, sandbox: Policy, processes: u64) -> Result<Self> {
        let directory = std::env::current_dir()
            .map_err(|error| Error::System { what: "tell the working directory", error })?;
        Ok(Self {
            subject: subject.to_owned(),
            arguments: Vec::new(),
            input: None,
            warm: None,
            directory,
            environment: std::env::vars_os().collect(),
            sandbox,
            processes,
            shown: Vec::new(),
        })
    }
}

/// What an order means.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The zygote.
    pub key: ZygoteKey,
    /// The map, if the program is a subject with notes.
    pub map: Option<Arc<SubjectMap>>,
}

/// Resolves orders; an atlas is opened once.
#[derive(Debug, Default)]
pub struct Resolver {
    /// What will be asked of a map is worked out while the first zygote starts.
    prepares: bool,
    /// By the directory of the subject.
    maps: Mutex<BTreeMap<PathBuf, Slot>>,
}

/// The place of a subject's map. Who opens it holds it, so that orders of the same subject wait for one map; others do not.
type Slot = Arc<Mutex<Option<OpenMap>>>;

#[derive(Debug)]
struct OpenMap {
    /// The program and the libraries that were built with it.
    programs: Files,
    map: Arc<SubjectMap>,
}

impl OpenMap {
    /// Is it of the build that is there now? Where the program did not match the notes, another look at all of them tells.
    fn is_current(&self, subject: &Subject) -> bool {
        self.programs.are_the_same() && (!self.map.is_unfit() || self.map.is_of(subject))
    }
}

impl Resolver {
    /// One for a daemon: maps are ready for questions about places when the first run is.
    #[must_use]
    pub fn for_daemon() -> Self {
        Self { prepares: true, ..Self::default() }
    }

    /// Finds out what an order means.
    ///
    /// # Errors
    /// If there is no such subject or program, or the order contradicts itself.
    pub fn resolve(&self, order: &RunOrder) -> Result<Resolved> {
        if !order.directory.is_dir() {
            return Err(Error::Order(format!(
                "the working directory {} is not there; make it, or name one that exists",
                order.directory.display()
            )));
        }
        let (binary, map) = self.program(order)?;
        let map = map.map(|subject| self.open(&subject)).transpose()?;
        // A program may do another thing by another name.
        let is_path = order.subject.contains('/');
        let name = if is_path { order.subject.clone().into() } else { binary.clone().into_os_string() };
        let mut arguments = vec![name];
        arguments.extend(order.arguments.iter().cloned());
        let input = order.input.as_ref().map(|input| place_input(input, &mut arguments)).transpose()?;
        let warm = match (&order.warm, &input) {
            (Some(WarmPoint::Input), None) => {
                let problem = "--warm input needs --input FILE, the file it is to wait for";
                return Err(Error::Order(problem.to_owned()));
            }
            (Some(warm), _) => warm.clone(),
            (None, Some(_)) => WarmPoint::Input,
            (None, None) => WarmPoint::Main,
        };
        let key = ZygoteKey {
            revision: revision::of(&binary),
            binary,
            arguments,
            environment: order.environment.clone(),
            directory: order.directory.clone(),
            input,
            warm,
            sandbox: order.sandbox,
            processes: order.processes,
            shown: order.shown.iter().map(|path| order.directory.join(path)).collect(),
        };
        Ok(Resolved { key, map })
    }

    /// The program, and the subject it is of if that has notes.
    fn program(&self, order: &RunOrder) -> Result<(PathBuf, Option<Subject>)> {
        let name = &order.subject;
        if name.contains('/') {
            let binary = order.directory.join(name).canonicalize();
            return match binary {
                Ok(binary) => Ok((binary, None)),
                Err(error) => Err(Error::Order(format!("no program {name}: {error}"))),
            };
        }
        let subject = Store::open()?.find(name)?;
        let has_notes = subject.manifest.notes.count > 0;
        Ok((subject.binary(), has_notes.then_some(subject)))
    }

    /// A subject's map, opened when it was not, or was of another build.
    fn open(&self, subject: &Subject) -> Result<Arc<SubjectMap>> {
        let slot = {
            let mut maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
            maps.entry(subject.directory.clone()).or_default().clone()
        };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = slot.as_ref().filter(|open| open.is_current(subject)) {
            return Ok(open.map.clone());
        }
        let map = Arc::new(SubjectMap::open(subject)?);
        if self.prepares {
            let own = map.clone();
            std::thread::spawn(move || own.prepare());
        }
        let programs = Files::now(map.programs().iter().map(PathBuf::as_path));
        *slot = Some(OpenMap { programs, map: map.clone() });
        Ok(map)
    }
}

/// Puts the input's path in place of the placeholder; it may also be there already.
fn place_input(input: &Path, arguments: &mut [OsString]) -> Result<PathBuf> {
    let mut found = false;
    for argument in arguments.iter_mut().skip(1) {
        if argument == PLACEHOLDER {
            *argument = input.as_os_str().to_owned();
        }
        found |= argument == input.as_os_str();
    }
    if !found {
        return Err(Error::Order(format!(
            "{} is not among the program's arguments; write it there, or {PLACEHOLDER} in its place",
            input.display()
        )));
    }
    Ok(input.to_owned())
}

/// The arguments of one run, instead of those of its zygote, which must wait where it has not looked at them yet.
///
/// # Errors
/// If it waits elsewhere, or the input is not among them.
pub fn other_arguments(key: &ZygoteKey, arguments: &[String]) -> Result<Vec<OsString>> {
    if key.warm != WarmPoint::Main {
        let problem = "a run can have arguments of its own only if its order waits at `main`";
        return Err(Error::Order(problem.to_owned()));
    }
    if arguments.iter().any(|argument| argument.contains('\0')) {
        return Err(Error::Order("an argument has a NUL in it".to_owned()));
    }
    let name = key.arguments.first().cloned();
    let mut words = vec![name.unwrap_or_else(|| key.binary.clone().into_os_string())];
    words.extend(arguments.iter().map(OsString::from));
    if let Some(input) = &key.input {
        place_input(input, &mut words)?;
    }
    Ok(words)
}

/// The path of an input that has none.
#[must_use]
pub fn nameless_input() -> PathBuf {
    PathBuf::from(NAMELESS_INPUT)
}

/// Is there a place for the input among the arguments?
#[must_use]
pub fn has_place_for_input(arguments: &[OsString]) -> bool {
    arguments.iter().any(|argument| argument == PLACEHOLDER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::tests::key;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn an_input_takes_the_place_that_is_kept_for_it_or_is_there_already() {
        let input = Path::new("dir/t.c");
        for (given, expected) in [
            (["cc1", "-c", PLACEHOLDER], ["cc1", "-c", "dir/t.c"]),
            (["cc1", "dir/t.c", "-c"], ["cc1", "dir/t.c", "-c"]),
            (["cc1", PLACEHOLDER, PLACEHOLDER], ["cc1", "dir/t.c", "dir/t.c"]),
        ] {
            let mut arguments = words(&given);
            assert_eq!(place_input(input, &mut arguments).expect("it has a place"), input);
            assert_eq!(arguments, words(&expected));
        }
        // The program's own name is no place.
        let problem = place_input(input, &mut words(&["dir/t.c", "-c"])).expect_err("it has none");
        assert!(problem.to_string().contains("write it there"), "{problem}");
        assert!(has_place_for_input(&words(&["-c", PLACEHOLDER])) && !has_place_for_input(&words(&["-c"])));
    }

    #[test]
    fn a_runs_own_arguments_need_a_zygote_that_has_not_looked_at_any() {
        let own = ["-O2".to_owned(), PLACEHOLDER.to_owned()];
        let at_main = ZygoteKey { arguments: words(&["cc1"]), input: Some("t.c".into()), ..key("/bin/cc1") };
        assert_eq!(other_arguments(&at_main, &own).expect("it waits at main"), words(&["cc1", "-O2", "t.c"]));
        let at_input = ZygoteKey { warm: WarmPoint::Input, ..at_main.clone() };
        let refused = |key: &ZygoteKey, arguments: &[String]| {
            other_arguments(key, arguments).expect_err("it is refused").to_string()
        };
        assert!(refused(&at_input, &own).contains("waits at `main`"));
        assert!(
            refused(&at_main, &["-O2".to_owned()]).contains("write it there"),
            "the input is not among them"
        );
        assert!(refused(&at_main, &["a\0b".to_owned(), PLACEHOLDER.to_owned()]).contains("NUL"));
    }
}

//! What a user orders, and what that means: which program, which atlas, which zygote.

use anyhow::{Context, bail};
use hearth_daemon::launch::SandboxPolicy;
use hearth_daemon::{SubjectMap, WarmPoint, ZygoteKey};
use hearth_subject::{Store, Subject};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Stands for the input among the arguments.
const PLACEHOLDER: &str = "{}";
/// The input's path where the order gives only its bytes.
const NAMELESS_INPUT: &str = "input.c";

/// What a user orders.
#[derive(Debug, Clone)]
pub struct Order {
    /// A subject's name or a program's path.
    pub subject: String,
    /// The program's arguments.
    pub arguments: Vec<OsString>,
    /// The input's path.
    pub input: Option<PathBuf>,
    /// Where to wait.
    pub warm: Option<WarmPoint>,
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
#[derive(Default)]
pub struct Resolver {
    maps: BTreeMap<String, Arc<SubjectMap>>,
}

impl Resolver {
    /// Finds out what an order means.
    pub fn resolve(
        &mut self,
        order: &Order,
        sandbox: SandboxPolicy,
        processes: u64,
    ) -> anyhow::Result<Resolved> {
        let (binary, map) = self.program(&order.subject)?;
        let directory = std::env::current_dir().context("the working directory is gone")?;
        let mut arguments = vec![binary.clone().into_os_string()];
        arguments.extend(order.arguments.iter().cloned());
        let input = order.input.as_ref().map(|input| place_input(input, &mut arguments)).transpose()?;
        let warm = match (&order.warm, &input) {
            (Some(WarmPoint::Input), None) => {
                bail!("--warm input needs --input FILE, the file it is to wait for")
            }
            (Some(warm), _) => warm.clone(),
            (None, Some(_)) => WarmPoint::Input,
            (None, None) => WarmPoint::Main,
        };
        let environment = std::env::vars_os().collect();
        Ok(Resolved {
            key: ZygoteKey { binary, arguments, environment, directory, input, warm, sandbox, processes },
            map,
        })
    }

    fn program(&mut self, name: &str) -> anyhow::Result<(PathBuf, Option<Arc<SubjectMap>>)> {
        if name.contains('/') {
            let binary = Path::new(name).canonicalize().with_context(|| format!("no program {name}"))?;
            return Ok((binary, None));
        }
        let subject = Store::open()?.find(name)?;
        if subject.manifest.notes.count == 0 {
            return Ok((subject.binary(), None));
        }
        let map = match self.maps.get(name) {
            Some(map) => map.clone(),
            None => self.open_map(name, &subject)?,
        };
        Ok((subject.binary(), Some(map)))
    }

    fn open_map(&mut self, name: &str, subject: &Subject) -> anyhow::Result<Arc<SubjectMap>> {
        let map = Arc::new(SubjectMap::open(subject)?);
        self.maps.insert(name.to_owned(), map.clone());
        Ok(map)
    }
}

/// Puts the input's path in place of the placeholder; it may also be there already.
fn place_input(input: &Path, arguments: &mut [OsString]) -> anyhow::Result<PathBuf> {
    let mut found = false;
    for argument in arguments.iter_mut().skip(1) {
        if argument == PLACEHOLDER {
            *argument = input.as_os_str().to_owned();
        }
        found |= argument == input.as_os_str();
    }
    if !found {
        bail!(
            "{} is not among the program's arguments; write it there, or {PLACEHOLDER} in its place",
            input.display()
        );
    }
    Ok(input.to_owned())
}

/// The path of an input that has none.
pub fn nameless_input() -> PathBuf {
    PathBuf::from(NAMELESS_INPUT)
}

//! A configure script and make, as GNU's programs are built and those that follow them.

use std::num::NonZero;
use std::path::Path;

use super::{BuildSystem, Invocation};
use crate::recipes::Requirement;

/// A build by configure and make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigureMake {
    /// The arguments of configure.
    pub configure: Vec<String>,
    /// The arguments of make, besides the number of jobs.
    pub make: Vec<String>,
}

impl BuildSystem for ConfigureMake {
    fn tools(&self) -> &'static [Requirement] {
        &[("make", "make")]
    }

    fn configure(&self) -> Invocation {
        Invocation::new("../source/configure", self.configure.clone())
    }

    fn compile(&self, jobs: NonZero<usize>) -> Invocation {
        let jobs = std::iter::once(format!("-j{jobs}"));
        Invocation::new("make", jobs.chain(self.make.iter().cloned()).collect())
    }

    /// A line by which make compiles a file.
    fn is_step(&self, line: &[u8]) -> bool {
        let compiler = line.starts_with(b"gcc ") || line.starts_with(b"g++ ");
        compiler && line.windows(4).any(|window| window == b" -c ")
    }

    fn is_product(&self, path: &Path) -> bool {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("o" | "lo" | "a" | "la" | "gcno" | "so"))
    }
}

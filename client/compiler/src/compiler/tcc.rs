//! tcc, which writes an object and has no options of optimization.

use super::{Compiler, Form};
use std::path::{Path, PathBuf};

/// One that was built somewhere.
#[derive(Debug)]
pub struct Tcc {
    binary: PathBuf,
}

impl Tcc {
    pub fn new(binary: &Path) -> Self {
        Self { binary: binary.to_owned() }
    }
}

impl Compiler for Tcc {
    fn arguments(&self) -> Vec<String> {
        // Its own headers are where its libraries are.
        let own = self.binary.with_file_name("");
        vec!["-w".to_owned(), "-c".to_owned(), format!("-B{}", own.display())]
    }

    fn form(&self) -> Form {
        Form::Object
    }

    fn library(&self) -> Option<String> {
        let library = self.binary.with_file_name("libtcc1.a");
        library.is_file().then(|| library.display().to_string())
    }
}

//! Where a report goes: standard output, or a file that appears only when it is complete.

use crate::output::cannot_write;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The destination of a report.
pub struct Output {
    sink: Sink,
}

enum Sink {
    Stdout(io::Stdout),
    File { file: File, partial: PathBuf, path: PathBuf },
}

impl Output {
    /// Opens the destination.
    pub fn create(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else { return Ok(Self { sink: Sink::Stdout(io::stdout()) }) };
        // Devices and pipes cannot be renamed onto.
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            let file = File::options().write(true).open(path);
            let file = file.map_err(|error| cannot_write(path, "--output", &error))?;
            return Ok(Self { sink: Sink::File { file, partial: path.to_owned(), path: path.to_owned() } });
        }
        let mut partial = path.as_os_str().to_owned();
        partial.push(format!(".partial-{}", std::process::id()));
        let partial = PathBuf::from(partial);
        let file = File::create(&partial).map_err(|error| cannot_write(path, "--output", &error))?;
        Ok(Self { sink: Sink::File { file, partial, path: path.to_owned() } })
    }

    /// What it is, in words.
    pub fn place(&self) -> String {
        match &self.sink {
            Sink::Stdout(_) => "standard output".to_owned(),
            Sink::File { path, .. } => path.display().to_string(),
        }
    }

    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.sink {
            Sink::Stdout(stdout) => stdout.lock().write_all(bytes),
            Sink::File { file, .. } => file.write_all(bytes),
        }
    }

    /// Makes the report appear.
    pub fn finish(mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Stdout(stdout) => stdout.lock().flush(),
            Sink::File { partial, path, .. } if partial == path => Ok(()),
            Sink::File { partial, path, .. } => fs::rename(&*partial, &*path),
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Sink::File { partial, path, .. } = &self.sink
            && partial != path
        {
            // After a rename there is nothing left to remove.
            let _ = fs::remove_file(partial);
        }
    }
}

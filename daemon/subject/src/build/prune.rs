//! Removing what a finished subject does not need: objects, archives, generator programs, stray counters.
//!
//! Notes and generated sources stay exactly where they are: coverage refers to them.

use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::error::{AtPath, Result};
use crate::tree;

use super::BuildSystem;

/// Removes from `build` what the build system has made, programs and `.gcda` files, but the notes and the `kept` ones
/// (relative paths).
pub(super) fn prune(build: &Path, kept: &[&str], system: &dyn BuildSystem) -> Result<()> {
    tree::for_each_file(build, &mut |entry| {
        let path = entry.path();
        let relative = path.strip_prefix(build).unwrap_or(&path);
        if kept.iter().any(|keep| Path::new(keep) == relative) {
            return Ok(());
        }
        let metadata = entry.metadata().at("inspect", &path)?;
        if is_expendable(&path, system) || is_program(&path, &metadata)? {
            fs::remove_file(&path).at("remove", &path)?;
        }
        Ok(())
    })
}

/// Whether a file is an ELF program.
pub(super) fn is_program(path: &Path, metadata: &Metadata) -> Result<bool> {
    if metadata.permissions().mode() & 0o100 == 0 {
        return Ok(false);
    }
    let mut magic = Vec::new();
    File::open(path).and_then(|file| file.take(4).read_to_end(&mut magic)).at("read", path)?;
    Ok(magic == *b"\x7fELF")
}

fn is_expendable(path: &Path, system: &dyn BuildSystem) -> bool {
    let is_notes = tree::has_extension(path, "gcno");
    tree::has_extension(path, "gcda") || (system.is_product(path) && !is_notes)
}

#[cfg(test)]
mod tests {
    use super::super::ConfigureMake;
    use super::*;

    #[test]
    fn notes_sources_and_kept_files_stay() {
        let directory = tempfile::tempdir().unwrap();
        let build = directory.path();
        fs::create_dir_all(build.join("gcc/build")).unwrap();
        let table = [
            ("gcc/tree.o", false),
            ("gcc/tree.gcno", true),
            ("gcc/tree.gcda", false),
            ("gcc/libbackend.a", false),
            ("gcc/insn-output.c", true),
            ("gcc/gt-tree.h", true),
            ("bcheck.o", true),
        ];
        for (name, _) in table {
            fs::write(build.join(name), "").unwrap();
        }
        for name in ["gcc/cc1", "gcc/build/genattr"] {
            fs::write(build.join(name), b"\x7fELF\x02").unwrap();
            fs::set_permissions(build.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        prune(build, &["bcheck.o", "gcc/cc1"], &ConfigureMake::default()).unwrap();
        for (name, stays) in table.into_iter().chain([("gcc/cc1", true), ("gcc/build/genattr", false)]) {
            assert_eq!(build.join(name).exists(), stays, "{name}");
        }
    }
}

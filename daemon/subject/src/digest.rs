//! SHA-256 of files, as lower-case hexadecimal.

use std::fs::File;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::{AtPath, Result};

/// Digests a file's bytes.
pub(crate) fn sha256(path: &Path) -> Result<String> {
    let mut file = File::open(path).at("open", path)?;
    let mut hasher = Sha256::new();
    io::copy(&mut file, &mut hasher).at("read", path)?;
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_digest() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        let digest = super::sha256(file.path()).unwrap();
        assert_eq!(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}

//! Files of programs and libraries, mapped while they are looked at.

use crate::sys;
use hearth_shim_abi::PROGRAM_PATH;
use hearth_shim_pure::elf::Elf;
use hearth_shim_pure::program::is_own_library;

/// A file that is mapped while it is looked at.
pub struct File {
    address: usize,
    size: usize,
}

impl File {
    /// Maps the program at a path that ends in NUL; `None` if it is not one of this machine's.
    pub fn open(path: &[u8]) -> Option<Self> {
        let fd = sys::open_at(libc::AT_FDCWD, path, libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK, 0)
            .ok()?;
        let mapped = sys::describe(fd).and_then(|record| match record.st_mode & libc::S_IFMT {
            libc::S_IFREG => Ok(record.st_size as usize),
            _ => Err(libc::EACCES),
        });
        let file = mapped.and_then(|size| sys::map(fd, size).map(|address| Self { address, size }));
        sys::close(fd);
        file.ok().filter(|file| file.contents().is_program())
    }

    /// What it says about itself.
    pub fn contents(&self) -> Elf<'_> {
        // SAFETY: so many bytes are mapped as long as this lives. A program that is cut short while somebody looks at it kills
        // who looks, as it does with the loader.
        Elf(unsafe { std::slice::from_raw_parts(self.address as *const u8, self.size) })
    }
}

impl Drop for File {
    fn drop(&mut self) {
        sys::unmap(self.address, self.size);
    }
}

/// Has what is loaded so far, the program or a library that does not come with the machine, symbols?
pub fn has_process_symbols(libraries: impl Iterator<Item = &'static [u8]>) -> bool {
    let has = |path: &[u8]| File::open(path).is_some_and(|file| file.contents().has_symbols());
    has(PROGRAM_PATH.to_bytes_with_nul()) || libraries.filter(|path| is_own_library(path)).any(has)
}

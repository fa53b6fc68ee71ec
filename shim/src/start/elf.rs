//! What a program's file says about itself, as far as it matters when it is executed.

use crate::sys;

const MAGIC: &[u8] = b"\x7fELF\x02\x01";
const HEADER: usize = 64;
const SEGMENT: usize = 56;
const SECTION: usize = 64;
const SEGMENT_LOAD: u32 = 1;
const SEGMENT_DYNAMIC: u32 = 2;
const SEGMENT_INTERPRETER: u32 = 3;
const SECTION_SYMBOLS: u32 = 2;
const DYNAMIC_NEEDED: u64 = 1;
const DYNAMIC_STRINGS: u64 = 5;
/// Entries of any table that are looked at.
const LIMIT: usize = 4096;
/// The library of the address sanitizer wants to be the first of all.
const SANITIZER: &[u8] = b"libasan.so";
/// The longest name of it that is used.
pub const NAME_LIMIT: usize = 32;

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
        file.ok().filter(|file| file.bytes().starts_with(MAGIC))
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: so many bytes are mapped as long as this lives. A program that is cut short while somebody looks at it kills
        // who looks, as it does with the loader.
        unsafe { std::slice::from_raw_parts(self.address as *const u8, self.size) }
    }

    fn number<const N: usize>(&self, at: usize) -> Option<u64> {
        let bytes = self.bytes().get(at..at.checked_add(N)?)?;
        let mut word = [0_u8; 8];
        word[..N].copy_from_slice(bytes);
        Some(u64::from_le_bytes(word))
    }

    /// The segments: where their records are.
    fn segments(&self) -> impl Iterator<Item = usize> {
        let start = self.number::<8>(32).unwrap_or(0) as usize;
        let count = self.number::<2>(56).unwrap_or(0) as usize;
        (0..count.min(LIMIT)).filter_map(move |index| start.checked_add(index * SEGMENT))
    }

    fn segment_of_kind(&self, kind: u32) -> Option<usize> {
        self.segments().find(|&segment| self.number::<4>(segment) == Some(u64::from(kind)))
    }

    /// Is it started by the loader, so that libraries can be preloaded?
    pub fn is_dynamic(&self) -> bool {
        self.segment_of_kind(SEGMENT_INTERPRETER).is_some()
    }

    /// Has it a table of all its symbols? Without one nobody finds its counters.
    pub fn has_symbols(&self) -> bool {
        let start = self.number::<8>(40).unwrap_or(0) as usize;
        let count = self.number::<2>(60).unwrap_or(0) as usize;
        let kind = |index: usize| self.number::<4>(start.checked_add(index * SECTION)?.checked_add(4)?);
        self.size > HEADER
            && (0..count.min(LIMIT)).any(|index| kind(index) == Some(u64::from(SECTION_SYMBOLS)))
    }

    /// The library that must be the first of all.
    pub fn first_library(&self) -> Option<&[u8]> {
        let dynamic = self.number::<8>(self.segment_of_kind(SEGMENT_DYNAMIC)? + 8)? as usize;
        let entry = |index: usize| {
            let at = dynamic.checked_add(index * 16)?;
            Some((self.number::<8>(at)?, self.number::<8>(at + 8)?))
        };
        let entries = || (0..LIMIT).map_while(entry).take_while(|&(tag, _)| tag != 0);
        let (_, strings) = entries().find(|&(tag, _)| tag == DYNAMIC_STRINGS)?;
        let strings = self.offset_of(strings)?;
        let name = |offset: u64| {
            let rest = self.bytes().get(strings.checked_add(offset as usize)?..)?;
            rest.split(|&byte| byte == 0).next()
        };
        let needed =
            entries().filter(|&(tag, _)| tag == DYNAMIC_NEEDED).filter_map(|(_, offset)| name(offset));
        needed.into_iter().find(|name| name.starts_with(SANITIZER) && name.len() <= NAME_LIMIT)
    }

    /// Where in the file an address is.
    fn offset_of(&self, address: u64) -> Option<usize> {
        self.segments().find_map(|segment| {
            let is_loaded = self.number::<4>(segment)? == u64::from(SEGMENT_LOAD);
            let (offset, start, size) = (
                self.number::<8>(segment + 8)?,
                self.number::<8>(segment + 16)?,
                self.number::<8>(segment + 32)?,
            );
            let inside = address.checked_sub(start).filter(|&inside| is_loaded && inside < size)?;
            Some((offset + inside) as usize)
        })
    }
}

impl Drop for File {
    fn drop(&mut self) {
        sys::unmap(self.address, self.size);
    }
}

/// Finds a program by its name as the C library does: as it is if it is a path, else in the directories of `PATH`.
pub fn find<'b>(name: &[u8], search: &[u8], buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    if name.contains(&b'/') {
        return join(&[name], buffer).map(|length| &buffer[..=length]);
    }
    for directory in search.split(|&byte| byte == b':') {
        let directory = if directory.is_empty() { b"." } else { directory };
        let length = join(&[directory, b"/", name], buffer)?;
        if sys::may_execute(&buffer[..=length]) {
            return Some(&buffer[..=length]);
        }
    }
    None
}

/// Writes parts after one another, with a NUL behind them, and says how long they are. `None` if they do not fit.
pub fn join(parts: &[&[u8]], buffer: &mut [u8]) -> Option<usize> {
    let mut length = 0;
    for part in parts {
        buffer.get_mut(length..length + part.len())?.copy_from_slice(part);
        length += part.len();
    }
    *buffer.get_mut(length)? = 0;
    Some(length)
}

/// Has what is loaded so far, the program or a library that does not come with the machine, symbols?
pub fn has_process_symbols(libraries: impl Iterator<Item = &'static [u8]>) -> bool {
    let has = |path: &[u8]| File::open(path).is_some_and(|file| file.has_symbols());
    const OF_THE_MACHINE: [&[u8]; 4] = [b"/lib/", b"/lib64/", b"/usr/lib/", b"/dev/"];
    let is_own =
        |path: &&[u8]| path.starts_with(b"/") && !OF_THE_MACHINE.iter().any(|start| path.starts_with(start));
    has(hearth_shim_abi::PROGRAM_PATH.to_bytes_with_nul()) || libraries.filter(is_own).any(has)
}

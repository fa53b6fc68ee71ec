//! Paths in fixed memory, made absolute without asking the file system more than it takes.

use crate::sys::{self, Result};
use hearth_shim_abi::PATH_LIMIT;
use std::ffi::{CStr, c_char, c_int};

/// An absolute path without `.`, `..` and doubled slashes, followed by a NUL.
#[derive(Clone, Copy)]
pub struct Path {
    bytes: [u8; PATH_LIMIT + 1],
    length: usize,
}

impl Path {
    /// No path.
    pub const EMPTY: Self = Self { bytes: [0; PATH_LIMIT + 1], length: 0 };

    /// The path's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The path's bytes and the NUL behind them.
    pub fn terminated(&self) -> &[u8] {
        &self.bytes[..=self.length]
    }

    /// The path that the C library's functions mean by a directory and a path.
    ///
    /// # Safety
    /// The path must be a C string.
    pub unsafe fn resolve(directory: c_int, path: *const c_char) -> Result<Self> {
        if path.is_null() {
            return Err(libc::EFAULT);
        }
        // SAFETY: the caller hands over a C string.
        let path = unsafe { CStr::from_ptr(path) }.to_bytes();
        if path.is_empty() {
            return Err(libc::ENOENT);
        }
        let mut resolved = Self::EMPTY;
        if path[0] != b'/' {
            resolved.length = if directory == libc::AT_FDCWD {
                sys::working_directory(&mut resolved.bytes[..PATH_LIMIT])?
            } else {
                sys::read_link(&descriptor_path(directory), &mut resolved.bytes[..PATH_LIMIT])?
            };
            if resolved.length == 1 {
                resolved.length = 0;
            }
        }
        for part in path.split(|&byte| byte == b'/') {
            resolved.push(part)?;
        }
        if resolved.length == 0 {
            resolved.bytes[0] = b'/';
            resolved.length = 1;
        }
        resolved.bytes[resolved.length] = 0;
        Ok(resolved)
    }

    /// The directory a path is in.
    pub fn parent(&self) -> Self {
        let mut parent = *self;
        let cut = self.as_bytes().iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        parent.length = cut.max(1);
        parent.bytes[parent.length] = 0;
        parent
    }

    fn push(&mut self, part: &[u8]) -> Result<()> {
        match part {
            b"" | b"." => {}
            b".." => self.length = self.as_bytes().iter().rposition(|&byte| byte == b'/').unwrap_or(0),
            _ => {
                let end = self.length + 1 + part.len();
                if end > PATH_LIMIT {
                    return Err(libc::ENAMETOOLONG);
                }
                self.bytes[self.length] = b'/';
                self.bytes[self.length + 1..end].copy_from_slice(part);
                self.length = end;
            }
        }
        Ok(())
    }
}

/// The path of an open file, ending in NUL.
pub fn descriptor_path(fd: c_int) -> [u8; 32] {
    const PREFIX: &[u8] = b"/proc/self/fd/";
    let mut path = [0; 32];
    path[..PREFIX.len()].copy_from_slice(PREFIX);
    let mut digits = [0_u8; 10];
    let mut rest = fd.max(0).cast_unsigned();
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    path[PREFIX.len()..PREFIX.len() + digits.len() - first].copy_from_slice(&digits[first..]);
    path
}

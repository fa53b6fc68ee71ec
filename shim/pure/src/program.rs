//! Where programs and libraries are.

use crate::text::join;

/// Directories of what comes with the machine, and of the shim itself.
const OF_THE_MACHINE: [&[u8]; 4] = [b"/lib/", b"/lib64/", b"/usr/lib/", b"/dev/"];

/// Finds a program by its name as the C library does: as it is if it is a path, else in the directories of `PATH`. The path that
/// it is asked about ends in NUL, as does the one that was found.
pub fn find<'b>(
    name: &[u8],
    search: &[u8],
    buffer: &'b mut [u8],
    may_execute: impl Fn(&[u8]) -> bool,
) -> Option<&'b [u8]> {
    if name.contains(&b'/') {
        return join(&[name], buffer).map(|length| &buffer[..=length]);
    }
    for directory in search.split(|&byte| byte == b':') {
        let directory = if directory.is_empty() { b"." } else { directory };
        let length = join(&[directory, b"/", name], buffer)?;
        if may_execute(&buffer[..=length]) {
            return Some(&buffer[..=length]);
        }
    }
    None
}

/// Is the library at a path one that does not come with the machine?
pub fn is_own_library(path: &[u8]) -> bool {
    path.starts_with(b"/") && !OF_THE_MACHINE.iter().any(|start| path.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_order() {
        let there = ["/bin/sh\0", "/usr/bin/as\0", "/usr/local/bin/as\0", "./here\0"];
        let cases = [
            ("sh", "/usr/bin:/bin", Some("/bin/sh\0")),
            ("as", "/usr/bin:/usr/local/bin", Some("/usr/bin/as\0")),
            ("as", "/usr/local/bin:/usr/bin", Some("/usr/local/bin/as\0")),
            ("as", "/bin", None),
            ("here", "/bin:", Some("./here\0")),
            ("here", "", Some("./here\0")),
            ("here", "/bin:/usr/bin", None),
            // A path is not looked for.
            ("/bin/none", "/bin", Some("/bin/none\0")),
            ("a/b", "/bin", Some("a/b\0")),
            // Longer than the buffer.
            ("a-program-of-a-long-name", "/usr/bin", None),
        ];
        for (name, search, expected) in cases {
            let mut buffer = [0xff; 32];
            let may_execute = |path: &[u8]| there.iter().any(|there| there.as_bytes() == path);
            let found = find(name.as_bytes(), search.as_bytes(), &mut buffer, may_execute);
            assert_eq!(found, expected.map(str::as_bytes), "{name} in {search}");
        }
    }

    #[test]
    fn libraries_of_the_machine_are_known() {
        let cases: [(&[u8], bool); 7] = [
            (b"/home/user/libown.so", true),
            (b"/usr/local/lib/libown.so", true),
            (b"/lib/libc.so.6", false),
            (b"/lib64/ld-linux-x86-64.so.2", false),
            (b"/usr/lib/x86_64-linux-gnu/libz.so.1", false),
            (b"/dev/hearth-sh.so", false),
            (b"linux-vdso.so.1", false),
        ];
        for (path, expected) in cases {
            assert_eq!(is_own_library(path), expected, "{}", path.escape_ascii());
        }
    }
}

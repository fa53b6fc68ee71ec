//! Source names made canonical the way gcov does it.

/// Drops `.` components and doubled slashes, and resolves `x/..` where `x` exists.
///
/// `exists` answers whether a path (relative to the directory the report is made in) can be looked up:
/// gcov keeps a `..` whose left side it cannot see.
#[must_use]
pub fn canonical_name(name: &str, exists: &dyn Fn(&str) -> bool) -> String {
    let mut result = String::with_capacity(name.len());
    // Left of this a `..` cannot be resolved.
    let mut fixed = 0;
    let mut slash = false;
    let mut rest = name;
    while !rest.is_empty() {
        let length = rest.find('/').unwrap_or(rest.len());
        let (component, tail) = rest.split_at(length);
        rest = tail.trim_start_matches('/');
        if component == "." {
            continue;
        }
        if component == ".." {
            if result.len() != fixed && exists(&result) {
                let cut = result[fixed..].rfind('/').map_or(fixed, |at| fixed + at);
                result.truncate(cut);
                slash = !result.is_empty();
                continue;
            }
            fixed = result.len() + 2 + usize::from(slash);
        }
        if slash {
            result.push('/');
        }
        result.push_str(component);
        slash = true;
    }
    result
}

/// Makes `name` absolute against `cwd` by spelling alone, without looking at the file system. Without a `cwd`,
/// which GCC records since version 9 and clang does not, a relative name stays relative.
#[must_use]
pub fn absolute_name(cwd: &str, name: &str) -> String {
    let is_whole = name.starts_with('/') || cwd.is_empty();
    let joined = if is_whole { name.to_owned() } else { format!("{cwd}/{name}") };
    let absolute = joined.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|&last| last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            _ => parts.push(part),
        }
    }
    if absolute { format!("/{}", parts.join("/")) } else { parts.join("/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_names() {
        let all = |_: &str| true;
        let none = |_: &str| false;
        for (name, seen, unseen) in [
            ("a.c", "a.c", "a.c"),
            ("./a.c", "a.c", "a.c"),
            ("/usr//include/./a.h", "/usr/include/a.h", "/usr/include/a.h"),
            ("../x/a.c", "../x/a.c", "../x/a.c"),
            ("x/../a.c", "a.c", "x/../a.c"),
            // gcov loses the root here, and so do we.
            ("/x/../a.c", "a.c", "/x/../a.c"),
            ("x/y/../../a.c", "a.c", "x/y/../../a.c"),
            ("../../s/gcc/../include/a.h", "../../s/include/a.h", "../../s/gcc/../include/a.h"),
        ] {
            assert_eq!(canonical_name(name, &all), seen, "{name}");
            assert_eq!(canonical_name(name, &none), unseen, "{name}");
        }
    }

    #[test]
    fn absolute_names() {
        for (cwd, name, expected) in [
            ("/b", "a.c", "/b/a.c"),
            ("/b/c", "../a.c", "/b/a.c"),
            ("/b", "/x/./y/../a.c", "/x/a.c"),
            ("", "./b/../a.c", "a.c"),
            ("", "../a.c", "../a.c"),
        ] {
            assert_eq!(absolute_name(cwd, name), expected);
        }
    }
}

//! Which object a data file is of, by its name.
//!
//! A data file usually has its object's path. With `-fprofile-dir=DIR` GCC puts all of them into `DIR` and spells
//! the path in the file's name: `/` is `#`, and a directory `..` is `^`. With `-fprofile-prefix-path` too, the
//! path begins below that prefix.

use std::borrow::Cow;

/// What ends the name of a data file.
const EXTENSION: &str = ".gcda";

/// What the name of a data file and that of its object always have in common: what is behind the last directory.
/// Neither need have an extension.
#[must_use]
pub fn key(name: &str) -> &str {
    let name = name.strip_suffix(EXTENSION).unwrap_or(name);
    name.rsplit(['/', '#']).next().unwrap_or(name)
}

/// How well a data file's name agrees with an object, `None` if it is another's: of several objects it is the one
/// with the most. The object's path has no extension; it may be a relative one.
#[must_use]
pub fn agreement(data: &str, object: &str) -> Option<isize> {
    let path = data.strip_suffix(EXTENSION)?;
    if is_end(path, object, '/') {
        return Some(object.len() as isize);
    }
    let mangled = tidy(mangled_name(path)?);
    let object = object.replace('/', "#");
    if is_end(&mangled, &object, '#') {
        return Some(object.len() as isize);
    }
    // What the object has before is a part of the prefix.
    let more = object.len().checked_sub(mangled.len())?;
    is_end(&object, &mangled, '#').then(|| mangled.len() as isize - more as isize)
}

/// The object's path that is spelled in a data file's name, without an extension; `None` if none is.
#[must_use]
pub fn spelled_path(data: &str) -> Option<String> {
    let mangled = mangled_name(data.strip_suffix(EXTENSION)?)?;
    let tidied = tidy(mangled);
    let spelled: Vec<&str> = tidied.split('#').map(|part| if part == "^" { ".." } else { part }).collect();
    Some(spelled.join("/"))
}

/// The file's name if it can be a path.
fn mangled_name(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.contains('#').then_some(name)
}

/// Is `end` what a path ends in, whole directories?
fn is_end(path: &str, end: &str, separator: char) -> bool {
    path.strip_suffix(end)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with(separator) || end.starts_with(separator))
}

/// Takes `.` and `..` out of a mangled path, as far as that can be done.
fn tidy(mangled: &str) -> Cow<'_, str> {
    if !mangled.split('#').any(|part| part == "." || part == "^") {
        return Cow::Borrowed(mangled);
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in mangled.split('#') {
        match part {
            "." => {}
            "^" if parts.last().is_some_and(|&last| !last.is_empty() && last != "^") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    Cow::Owned(parts.join("#"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_from_their_ends() {
        for (data, object, expected) in [
            // As GCC writes them without -fprofile-dir.
            ("/b/sub/a.gcda", "a", Some(1)),
            ("/b/sub/a.gcda", "sub/a", Some(5)),
            ("/b/sub/a.gcda", "/b/sub/a", Some(8)),
            ("/b/sub/aa.gcda", "a", None),
            ("/b/sub/a.gcda", "other/a", None),
            ("/b/a.gcno", "a", None),
            // With it.
            ("/p/#b#sub#a.gcda", "a", Some(1)),
            ("/p/#b#sub#a.gcda", "sub/a", Some(5)),
            ("/p/#b#sub#a.gcda", "/b/sub/a", Some(8)),
            ("/p/#b#sub#a.gcda", "b/a", None),
            ("/p/#b#sub#aa.gcda", "a", None),
            ("p/#b#.#sub#^#a.gcda", "/b/a", Some(4)),
            ("p/#b#.#sub#^#a.gcda", "b/a", Some(3)),
            // With -fprofile-prefix-path, too.
            ("/p/b#a.gcda", "b/a", Some(3)),
            ("/p/b#a.gcda", "x/b/a", Some(1)),
            ("/p/b#a.gcda", "xb/a", None),
            // A name with a # in it that is no path.
            ("/b/x#a.gcda", "x#a", Some(3)),
            ("/p/#b#x#a.gcda", "b/x#a", Some(5)),
        ] {
            assert_eq!(agreement(data, object), expected, "{data} {object}");
            if expected.is_some() {
                assert_eq!(key(data), key(object), "{data} {object}");
            }
        }
    }

    #[test]
    fn paths_are_spelled_in_names() {
        for (data, expected) in [
            ("/p/#b#sub#a.gcda", Some("/b/sub/a")),
            ("p/#b#.#sub#^#a.gcda", Some("/b/a")),
            ("p/b#a.gcda", Some("b/a")),
            ("p/^#a.gcda", Some("../a")),
            ("/b/a.gcda", None),
            ("/p/#b#a.gcno", None),
        ] {
            assert_eq!(spelled_path(data).as_deref(), expected, "{data}");
        }
    }
}

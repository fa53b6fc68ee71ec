//! How files of a compiler are named to people.

use hearth_client::protocol::Suspect;
use std::collections::BTreeMap;

/// Of a hundred files, those that are in the directory that is left out of names.
const MOST: usize = 80;

/// How files are named: without the directory that most of them are in.
#[derive(Debug)]
pub struct FileNames {
    directory: String,
}

impl FileNames {
    /// Finds the directory.
    #[must_use]
    pub fn new(files: &[Suspect]) -> Self {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for file in files {
            for (place, _) in file.source.match_indices('/') {
                *counts.entry(&file.source[..=place]).or_default() += 1;
            }
        }
        let most = counts.iter().filter(|(_, count)| **count * 100 >= files.len() * MOST);
        let directory = most.map(|(directory, _)| *directory).max_by_key(|directory| directory.len());
        Self { directory: directory.filter(|directory| directory.len() > 1).unwrap_or_default().to_owned() }
    }

    /// The directory that is left out, with a slash behind it; nothing if there is none.
    #[must_use]
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// A file's name; elsewhere, that of the way from where the directories part.
    #[must_use]
    pub fn short(&self, source: &str) -> String {
        if let Some(name) = source.strip_prefix(&self.directory) {
            return name.to_owned();
        }
        let shared =
            self.directory.bytes().zip(source.bytes()).take_while(|(one, other)| one == other).count();
        match self.directory.as_bytes()[..shared].iter().rposition(|&byte| byte == b'/') {
            // A slash begins a character, so the text can be cut there.
            Some(slash) if slash > 0 => format!("…{}", &source[slash..]),
            _ => source.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_wherever_most_files_are() {
        let suspect = |source: &str| Suspect {
            rank: 1,
            score: 1.0,
            source: source.to_owned(),
            line: 0,
            function: String::new(),
        };
        let files = ["/s/a/gcc/x.c", "/s/a/gcc/y.c", "/s/a/gcc/z.c", "/s/a/gcc/cp/w.c", "/s/a/build/ü.c"];
        let names = FileNames::new(&files.map(suspect));
        assert_eq!(names.directory(), "/s/a/gcc/");
        for (source, name) in [
            ("/s/a/gcc/cp/w.c", "cp/w.c"),
            ("/s/a/build/ü.c", "…/build/ü.c"),
            ("/usr/include/x.h", "/usr/include/x.h"),
            ("relative.c", "relative.c"),
        ] {
            assert_eq!(names.short(source), name);
        }
    }
}

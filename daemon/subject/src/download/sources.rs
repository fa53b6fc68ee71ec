//! Deriving a private list of package sources from what apt on this machine is configured with.

use std::collections::BTreeSet;

/// What `apt-get indextargets` is asked for, one line each.
pub(super) const FORMAT: &str = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(SIGNED_BY)";

/// An archive and a release in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Archive {
    uri: String,
    release: String,
    signed_by: Option<String>,
}

/// The list for the lines of `apt-get indextargets` in [`FORMAT`]; empty if they name no usable source.
pub(super) fn from_index_targets(text: &str, codename: &str, keyring: Option<&str>) -> String {
    let parse = |line: &str| {
        let mut fields = line.trim().split('|');
        let (uri, release, component, signed_by) =
            (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let usable = component == "main" && wanted(release, codename) && plain(uri);
        // apt leaves a field it does not know as it is; a key given in place does not fit on a line.
        let named = Some(signed_by).filter(|key| key.starts_with('/') && plain(key)).or(keyring);
        let signed_by = named.map(String::from);
        usable.then(|| Archive { uri: uri.into(), release: release.into(), signed_by })
    };
    render(text.lines().filter_map(parse).collect())
}

/// The list for the lines of `apt-get --print-uris update`: this works where no list was ever downloaded.
pub(super) fn from_update_uris(text: &str, codename: &str, keyring: Option<&str>) -> String {
    let parse = |line: &str| {
        let address = line.strip_prefix('\'')?.split('\'').next()?;
        let (uri, rest) = address.split_once("/dists/")?;
        let (release, index) = rest.split_once('/')?;
        let usable = index.starts_with("main/") && wanted(release, codename) && plain(uri);
        let signed_by = keyring.map(String::from);
        usable.then(|| Archive { uri: format!("{uri}/"), release: release.into(), signed_by })
    };
    render(text.lines().filter_map(parse).collect())
}

/// The list for an archive the user names. The security archive is another one, so it is not asked for.
pub(super) fn from_mirror(uri: &str, codename: &str, keyring: Option<&str>) -> String {
    let source = |release: String| Archive { uri: uri.into(), release, signed_by: keyring.map(String::from) };
    render(BTreeSet::from([source(codename.into()), source(format!("{codename}-updates"))]))
}

/// The value of `VERSION_CODENAME` in the text of os-release.
pub(super) fn codename(os_release: &str) -> Option<&str> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="))?;
    Some(value.trim().trim_matches('"')).filter(|value| !value.is_empty())
}

fn render(sources: BTreeSet<Archive>) -> String {
    let mut list = String::new();
    for kind in ["deb", "deb-src"] {
        for Archive { uri, release, signed_by } in &sources {
            let option = signed_by.as_ref().map_or(String::new(), |key| format!("[signed-by={key}] "));
            list.push_str(&format!("{kind} {option}{uri} {release} main\n"));
        }
    }
    list
}

fn wanted(release: &str, codename: &str) -> bool {
    matches!(release.strip_prefix(codename), Some("" | "-updates" | "-security"))
}

fn plain(word: &str) -> bool {
    !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c == '[' || c == ']')
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGETS: &str = "\
http://archive.test/debian/|bookworm|main|$(SIGNED_BY)
http://archive.test/debian/|bookworm|main|$(SIGNED_BY)
http://archive.test/debian/|bookworm|contrib|$(SIGNED_BY)
http://archive.test/debian/|bookworm-updates|main|/usr/share/keyrings/a.gpg
http://archive.test/debian/|bookworm-backports|main|$(SIGNED_BY)
http://archive.test/debian-security/|bookworm-security|main|$(SIGNED_BY)
http://vendor.test/apt/|stable|main|/etc/apt/keyrings/vendor.gpg
damaged line
";

    #[test]
    fn index_targets_become_a_list() {
        let expected = "\
deb http://archive.test/debian-security/ bookworm-security main
deb http://archive.test/debian/ bookworm main
deb [signed-by=/usr/share/keyrings/a.gpg] http://archive.test/debian/ bookworm-updates main
deb-src http://archive.test/debian-security/ bookworm-security main
deb-src http://archive.test/debian/ bookworm main
deb-src [signed-by=/usr/share/keyrings/a.gpg] http://archive.test/debian/ bookworm-updates main
";
        assert_eq!(from_index_targets(TARGETS, "bookworm", None), expected);
        assert_eq!(from_index_targets(TARGETS, "trixie", None), "");
    }

    #[test]
    fn update_uris_become_a_list() {
        let text = "\
'http://archive.test/debian/dists/bookworm/InRelease' archive.test_debian_dists_bookworm_InRelease 0 \n\
'http://archive.test/debian/dists/bookworm/main/binary-amd64/Packages.xz' archive.test_Packages 0 \n\
'http://archive.test/debian/dists/bookworm/non-free/binary-amd64/Packages.xz' archive.test_Packages 0 \n";
        let expected = "\
deb [signed-by=/k.gpg] http://archive.test/debian/ bookworm main
deb-src [signed-by=/k.gpg] http://archive.test/debian/ bookworm main
";
        assert_eq!(from_update_uris(text, "bookworm", Some("/k.gpg")), expected);
    }

    #[test]
    fn a_mirror_overrides() {
        let list = from_mirror("http://mirror.test/debian", "bookworm", None);
        assert_eq!(list.lines().next(), Some("deb http://mirror.test/debian bookworm main"));
        assert_eq!(list.lines().count(), 4);
    }

    #[test]
    fn code_names_are_read() {
        assert_eq!(codename("ID=debian\nVERSION_CODENAME=bookworm\n"), Some("bookworm"));
        assert_eq!(codename("VERSION_CODENAME=\"jammy\"\n"), Some("jammy"));
        assert_eq!(codename("ID=arch\n"), None);
    }
}

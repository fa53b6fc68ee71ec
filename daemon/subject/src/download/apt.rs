//! apt with a configuration of its own: it reads the machine's proxies and credentials, but writes only below
//! the store.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::build::command;
use crate::error::{AtPath, Error, Result};
use crate::store::Store;

use super::sources;

/// Lists younger than this are not fetched again.
const LISTS_FRESH: Duration = Duration::from_secs(24 * 3600);
/// apt gives up on a dead connection by itself; this is for one that merely drips.
const LIMIT: Duration = Duration::from_secs(3600);
/// The keys of Debian's archives, for sources whose own keyring apt does not tell.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// apt with its state below the store.
pub(super) struct Apt<'a> {
    directory: PathBuf,
    log: &'a Path,
}

impl<'a> Apt<'a> {
    /// Writes the private configuration and list of sources.
    pub(super) fn prepare(store: &Store, log: &'a Path) -> Result<Apt<'a>> {
        let apt = Apt { directory: store.root().join("apt"), log };
        for part in ["lists/partial", "cache/archives/partial"] {
            let directory = apt.directory.join(part);
            fs::create_dir_all(&directory).at("create", &directory)?;
        }
        write_changed(&apt.configuration(), &configuration(&apt.directory))?;
        if write_changed(&apt.directory.join("sources.list"), &source_list(&apt.directory)?)? {
            // Lists of other sources would be taken for these.
            forget(&apt.update_stamp())?;
        }
        Ok(apt)
    }

    /// Fetches the package lists, unless they are fresh.
    pub(super) fn update(&self, force: bool, tick: &mut dyn FnMut()) -> Result<()> {
        let age = self.update_stamp().metadata().and_then(|found| found.modified()).ok();
        let fresh = age.and_then(|then| then.elapsed().ok()).is_some_and(|age| age < LISTS_FRESH);
        if fresh && !force {
            return Ok(());
        }
        self.run(self.command().args(["-q", "update"]), tick)?;
        fs::write(self.update_stamp(), "").at("write", &self.update_stamp())
    }

    /// The command, to be given its arguments.
    pub(super) fn command(&self) -> Command {
        let mut command = command::tool("apt-get");
        command.arg("-c").arg(self.configuration());
        command
    }

    /// Runs the command with its output in the log.
    pub(super) fn run(&self, command: &mut Command, tick: &mut dyn FnMut()) -> Result<()> {
        command::run(command, self.log, LIMIT, &mut |_| tick())
    }

    fn configuration(&self) -> PathBuf {
        self.directory.join("apt.conf")
    }

    fn update_stamp(&self) -> PathBuf {
        self.directory.join("updated")
    }
}

/// Read after the machine's own configuration, which keeps its proxies.
fn configuration(directory: &Path) -> String {
    let directory = directory.display();
    format!(
        "Dir::Etc::sourcelist \"{directory}/sources.list\";\n\
         Dir::Etc::sourceparts \"/dev/null\";\n\
         Dir::State::lists \"{directory}/lists\";\n\
         Dir::Cache \"{directory}/cache\";\n\
         // Root's downloads would else run as a user who may not write below a home directory.\n\
         APT::Sandbox::User \"root\";\n\
         Acquire::Retries \"3\";\n\
         Acquire::Languages \"none\";\n\
         // Hooks of the machine clear its own cache or tell its desktop; neither is our business.\n\
         #clear APT::Update::Pre-Invoke;\n\
         #clear APT::Update::Post-Invoke;\n\
         #clear APT::Update::Post-Invoke-Success;\n\
         #clear Acquire::IndexTargets::deb::Translations;\n\
         #clear Acquire::IndexTargets::deb::Contents-deb;\n\
         #clear Acquire::IndexTargets::deb::DEP-11;\n"
    )
}

fn source_list(directory: &Path) -> Result<String> {
    let os_release = fs::read_to_string("/etc/os-release").at("read", Path::new("/etc/os-release"))?;
    let codename = sources::codename(&os_release).unwrap_or("unknown");
    let keyring = Some(KEYRING).filter(|keyring| Path::new(keyring).is_file());
    if let Some(mirror) = env::var("HEARTH_MIRROR").ok().filter(|mirror| !mirror.is_empty()) {
        return Ok(sources::from_mirror(&mirror, codename, keyring));
    }
    let targets =
        command::capture(command::tool("apt-get").args(["indextargets", "--format", sources::FORMAT]));
    let mut list = sources::from_index_targets(&targets.unwrap_or_default(), codename, keyring);
    if list.is_empty() {
        // Images often come without lists, and then have no index targets: ask what an update would fetch instead.
        let empty = directory.join("none");
        fs::create_dir_all(empty.join("partial")).at("create", &empty)?;
        let lists = format!("Dir::State::lists={}", empty.display());
        let uris = command::capture(command::tool("apt-get").args(["-o", &lists, "--print-uris", "update"]));
        list = sources::from_update_uris(&uris.unwrap_or_default(), codename, keyring);
    }
    if list.is_empty() { Err(Error::NoPackageSource { codename: codename.into() }) } else { Ok(list) }
}

/// Writes a file if its content differs; tells whether it did.
fn write_changed(path: &Path, text: &str) -> Result<bool> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(false);
    }
    fs::write(path, text).at("write", path)?;
    Ok(true)
}

fn forget(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).at("remove", path),
        _ => Ok(()),
    }
}

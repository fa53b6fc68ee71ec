//! Nothing that the file system leads to is written to, whatever it is: read-only mounts say nothing about FIFOs, which
//! lead to whoever reads from them.

use landlock::{
    AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError,
};

/// The devices that may be written to.
const WRITABLE: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/random", "/dev/urandom"];

/// Puts the guard on this process and all that come from it.
///
/// # Errors
/// If the kernel has none (Landlock, Linux 5.13).
pub fn apply() -> Result<(), RulesetError> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::WriteFile)?
        .create()?;
    let devices = WRITABLE.iter().filter_map(|path| PathFd::new(path).ok());
    let rules = devices.map(|device| Ok::<_, RulesetError>(PathBeneath::new(device, AccessFs::WriteFile)));
    ruleset.add_rules(rules)?.restrict_self()?;
    Ok(())
}

//! One ranking of two: what options say comes first, and what mutants say decides where options are silent.

use hearth_client::protocol::Suspect;

/// Fuses.
pub fn fuse(options: Vec<Suspect>, programs: Vec<Suspect>) -> Vec<Suspect> {
    if options.is_empty() { programs } else { options }
}

//! GCC's cc1, which writes assembly and tells its options.

use super::{Compiler, Form, Optimizers};
use crate::machine::MULTIARCH;
use crate::options::Flip;
use crate::stack::{Frame, frames};
use hearth_client::protocol::CRASH_PATH;
use std::path::{Path, PathBuf};

/// Files of GCC's that report errors: `.c`, later `.cc`.
const REPORTERS: [&str; 4] = ["/gcc/diagnostic.", "/gcc/pretty-print.", "/gcc/rtl-error.", "/gcc/print-rtl."];
/// The options that end a program when it does what C leaves undefined, without any library.
const SCREEN: [&str; 2] = ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"];
/// Passes that can be dumped, one of each kind, as options name them.
const DUMPED_PASSES: [&str; 3] = ["tree-lower", "ipa-visibility", "rtl-expand"];

/// One that was built somewhere.
#[derive(Debug)]
pub struct Cc1 {
    binary: PathBuf,
}

impl Cc1 {
    pub fn new(binary: &Path) -> Self {
        Self { binary: binary.to_owned() }
    }
}

impl Compiler for Cc1 {
    fn arguments(&self) -> Vec<String> {
        let beside = |name: &str| self.binary.with_file_name(name).display().to_string();
        let mut arguments = ["-quiet", "-w", "-fno-diagnostics-show-caret", "-imultiarch", MULTIARCH]
            .map(str::to_owned)
            .to_vec();
        arguments.extend(["-isystem".to_owned(), beside("include")]);
        arguments.extend(["-isystem".to_owned(), beside("include-fixed")]);
        arguments
    }

    fn form(&self) -> Form {
        Form::Assembly
    }

    fn optimizers(&self) -> Option<Optimizers> {
        // The compiler proper says what is on unless it is told to be quiet; the driver has -Q for it.
        Some(Optimizers { question: "--help=optimizers", read: read_optimizers })
    }

    fn screen(&self) -> Option<&'static [&'static str]> {
        Some(&SCREEN)
    }

    fn crashing_options(&self) -> Vec<String> {
        DUMPED_PASSES.map(|pass| format!("-fdump-{pass}={CRASH_PATH}")).to_vec()
    }

    fn reporters(&self) -> &'static [&'static str] {
        &REPORTERS
    }

    fn stack(&self, errors: &str) -> Vec<Frame> {
        frames(errors, self.binary.parent().unwrap_or(&self.binary))
    }
}

/// Reads the list that cc1 prints for `--help=optimizers`.
fn read_optimizers(list: &str) -> Vec<Flip> {
    let flip = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?.strip_prefix("-f").filter(|name| !name.contains(['=', '<']))?;
        match words.next()? {
            "[enabled]" => Some(Flip { option: format!("-fno-{name}"), was_enabled: true }),
            "[disabled]" => Some(Flip { option: format!("-f{name}"), was_enabled: false }),
            _ => None,
        }
    };
    list.lines().filter_map(flip).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_are_on_or_off_are_turned() {
        let list = "The following options control optimizations:\n  -O<number>                  \t\t\n  \
            -faggressive-loop-optimizations \t[enabled]\n  -falign-functions           \t[disabled]\n  \
            -falign-functions=          \t\t16\n  -fexcess-precision=[fast|standard] \t[default]\n";
        let flips: Vec<(String, bool)> =
            read_optimizers(list).into_iter().map(|flip| (flip.option, flip.was_enabled)).collect();
        let expected = [("-fno-aggressive-loop-optimizations", true), ("-falign-functions", false)];
        assert_eq!(flips, expected.map(|(option, on)| (option.to_owned(), on)));
    }
}

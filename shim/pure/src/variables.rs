//! Variables of the environment: those by which the shim comes along, and which of two is the same.

use crate::text::join;
use hearth_shim_abi::{CONTROL_VARIABLE, EXECUTED, INACTIVE, OWN_VARIABLES, SHIM_PATH};

/// The variable by which libraries are preloaded.
pub const PRELOAD: &[u8] = b"LD_PRELOAD=";

/// What the shim is to be in a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// A subject's.
    Active,
    /// That of a program that a run has executed.
    Executed,
    /// A plain run's.
    Inactive,
}

impl Control {
    /// What a variable says, if it is the one that does.
    pub fn of(variable: &[u8]) -> Option<Self> {
        let value = value(variable, CONTROL_VARIABLE)?;
        Some(match value {
            value if value == INACTIVE.as_bytes() => Self::Inactive,
            value if value == EXECUTED.as_bytes() => Self::Executed,
            _ => Self::Active,
        })
    }
}

/// Is a variable Hearth's, not the subject's?
pub fn is_own(variable: &[u8]) -> bool {
    OWN_VARIABLES.iter().any(|name| value(variable, name).is_some())
}

fn value<'v>(variable: &'v [u8], name: &str) -> Option<&'v [u8]> {
    variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}

/// What a variable preloads besides the shim and what has to be before it: it is the subject's own business.
pub fn preloaded_by_others(variable: &[u8]) -> Option<&[u8]> {
    let value = variable.strip_prefix(PRELOAD)?;
    let place = value.windows(SHIM_PATH.len()).position(|part| part == SHIM_PATH.as_bytes())?;
    value[place + SHIM_PATH.len()..].strip_prefix(b":").filter(|rest| !rest.is_empty())
}

/// Writes the variable that preloads the shim at a path, after the library that has to be the first and before what else is to
/// be preloaded, with a NUL behind it. Either may be empty. `None` if it does not fit.
pub fn write_preload(first: &[u8], shim: &str, others: &[u8], buffer: &mut [u8]) -> Option<usize> {
    let separator = |is_there: bool| if is_there { &b":"[..] } else { b"" };
    let parts = [
        PRELOAD,
        first,
        separator(!first.is_empty()),
        shim.as_bytes(),
        separator(!others.is_empty()),
        others,
    ];
    join(&parts, buffer)
}

/// How long [`control`] is.
pub const CONTROL_LENGTH: usize = CONTROL_VARIABLE.len() + 1 + INACTIVE.len() + 1;

/// The variable that tells the shim what it is, with a NUL behind it.
pub const fn control(value: &str) -> [u8; CONTROL_LENGTH] {
    let mut text = [0; CONTROL_LENGTH];
    let (name, value) = (CONTROL_VARIABLE.as_bytes(), value.as_bytes());
    let mut at = 0;
    while at < name.len() {
        text[at] = name[at];
        at += 1;
    }
    text[at] = b'=';
    let mut index = 0;
    while index < value.len() {
        text[at + 1 + index] = value[index];
        index += 1;
    }
    text
}

/// Are two variables of the same name?
pub fn has_same_name(one: &[u8], other: &[u8]) -> bool {
    let name = |variable: &[u8]| variable.iter().position(|&byte| byte == b'=').unwrap_or(variable.len());
    one[..name(one)] == other[..name(other)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_says_what_the_shim_is() {
        let cases: [(&[u8], _); 7] = [
            (b"HEARTH_CONTROL=200", Some(Control::Active)),
            (b"HEARTH_CONTROL=off", Some(Control::Inactive)),
            (b"HEARTH_CONTROL=run", Some(Control::Executed)),
            (b"HEARTH_CONTROL=", Some(Control::Active)),
            (b"HEARTH_CONTROL", None),
            (b"HEARTH_CONTROLS=off", None),
            (b"PATH=/bin", None),
        ];
        for (variable, expected) in cases {
            assert_eq!(Control::of(variable), expected, "{}", variable.escape_ascii());
        }
    }

    #[test]
    fn what_the_shim_writes_it_understands() {
        for (value, expected) in [(EXECUTED, Control::Executed), (INACTIVE, Control::Inactive)] {
            let written = control(value);
            let variable = written.strip_suffix(b"\0").expect("a NUL");
            assert_eq!(Control::of(variable), Some(expected));
        }
    }

    #[test]
    fn some_variables_are_hearths() {
        let cases: [(&[u8], _); 7] = [
            (b"LD_PRELOAD=/a.so", true),
            (b"LD_BIND_NOW=1", true),
            (b"HEARTH_CONTROL=off", true),
            (b"LD_PRELOAD", false),
            (b"LD_PRELOADED=/a.so", false),
            (b"LD_LIBRARY_PATH=/lib", false),
            (b"", false),
        ];
        for (variable, expected) in cases {
            assert_eq!(is_own(variable), expected, "{}", variable.escape_ascii());
        }
    }

    #[test]
    fn others_preload_too() {
        let cases: [(&[u8], Option<&[u8]>); 8] = [
            (b"LD_PRELOAD=/dev/hearth-sh.so:/a.so:/b.so", Some(b"/a.so:/b.so")),
            (b"LD_PRELOAD=libasan.so.6:/dev/hearth-sh.so:/a.so", Some(b"/a.so")),
            (b"LD_PRELOAD=libasan.so.6:/dev/hearth-sh.so", None),
            (b"LD_PRELOAD=/dev/hearth-sh.so", None),
            (b"LD_PRELOAD=/dev/hearth-sh.so:", None),
            (b"LD_PRELOAD=/proc/self/fd/201:/a.so", None),
            (b"LD_PRELOAD=", None),
            (b"PATH=/dev/hearth-sh.so:/a.so", None),
        ];
        for (variable, expected) in cases {
            assert_eq!(preloaded_by_others(variable), expected, "{}", variable.escape_ascii());
        }
    }

    #[test]
    fn the_shim_is_preloaded_between_others() {
        let cases: [(&[u8], &[u8], &[u8]); 4] = [
            (b"", b"", b"LD_PRELOAD=/shim.so"),
            (b"libasan.so.6", b"", b"LD_PRELOAD=libasan.so.6:/shim.so"),
            (b"", b"/a.so:/b.so", b"LD_PRELOAD=/shim.so:/a.so:/b.so"),
            (b"libasan.so.6", b"/a.so", b"LD_PRELOAD=libasan.so.6:/shim.so:/a.so"),
        ];
        for (first, others, expected) in cases {
            let mut buffer = [0xff; 64];
            let length = write_preload(first, "/shim.so", others, &mut buffer);
            assert_eq!(length.map(|length| &buffer[..length]), Some(expected));
            assert_eq!(buffer[expected.len()], 0);
            let room = &mut buffer[..expected.len()];
            assert_eq!(write_preload(first, "/shim.so", others, room), None);
        }
    }

    #[test]
    fn names_end_at_the_first_equals_sign() {
        let cases: [(&[u8], &[u8], bool); 8] = [
            (b"A=1", b"A=2", true),
            (b"A=1", b"A=", true),
            (b"A=1", b"A", true),
            (b"A=1=2", b"A=3", true),
            (b"A=1", b"AB=1", false),
            (b"A=1", b"a=1", false),
            (b"=1", b"=2", true),
            (b"", b"A=1", false),
        ];
        for (one, other, expected) in cases {
            assert_eq!(has_same_name(one, other), expected);
            assert_eq!(has_same_name(other, one), expected);
        }
    }
}

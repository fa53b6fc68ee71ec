//! What a test program of GCC's says in its comments: what is done with it, and with which options.

/// What is done with a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It is compiled, linked and executed, and must end well.
    Run,
    /// It is compiled.
    Compile,
}

/// A test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// What is done.
    pub action: Action,
    /// With each of these sets of options.
    pub option_sets: Vec<Vec<String>>,
}

/// The levels at which a test is tried that names none.
const LEVELS: [&str; 7] = [
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-Os",
    "-O3 -g",
    "-O3 -fomit-frame-pointer -funroll-loops -fpeel-loops -ftracer -finline-functions",
];

/// What every test of the vectorizer is compiled with.
const VECTORIZING: &str = "-O2 -ftree-vectorize -fno-vect-cost-model -fno-common";

/// Reads a test's comments; `None` if it is of no use here: its errors are wanted, or it has several files.
#[must_use]
pub fn read(path: &str, text: &str) -> Option<Test> {
    if ["dg-error", "dg-additional-sources", "dg-lto-do", "dg-shouldfail"]
        .iter()
        .any(|word| text.contains(word))
    {
        return None;
    }
    let is_vect = path.contains("/vect/");
    let is_run = is_vect || path.contains("/execute/");
    let mut action = if is_run { Action::Run } else { Action::Compile };
    let mut options: Vec<String> = Vec::new();
    if is_vect {
        options.extend(VECTORIZING.split(' ').map(str::to_owned));
    }
    for line in text.lines() {
        if let Some(rest) = directive(line, "dg-do") {
            action = match rest.split_whitespace().next()? {
                "run" => Action::Run,
                "compile" | "assemble" | "link" => Action::Compile,
                _ => return None,
            };
        }
        for name in ["dg-options", "dg-additional-options"] {
            if let Some(rest) = directive(line, name)
                && let Some((text, selector)) = quoted(rest)
                && is_for_this_machine(selector)
            {
                options.extend(text.split_whitespace().map(str::to_owned));
            }
        }
    }
    options.retain(|option| is_for_the_compiler(option));
    let option_sets = if options.iter().any(|option| option.starts_with("-O")) {
        vec![options]
    } else {
        let with = |level: &str| level.split(' ').map(str::to_owned).chain(options.iter().cloned()).collect();
        LEVELS.iter().map(|level| with(level)).collect()
    };
    Some(Test { action, option_sets })
}

/// What follows a directive's name on a line.
fn directive<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once("{ ")?;
    rest.trim_start().strip_prefix(name)?.strip_prefix(' ')
}

/// A text in quotes or braces, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let (open, close) = if text.starts_with('{') { ('{', '}') } else { ('"', '"') };
    text.strip_prefix(open)?.split_once(close)
}

/// Does a selector like `{ target i?86-*-* x86_64-*-* }` hold?
fn is_for_this_machine(selector: &str) -> bool {
    let Some((_, targets)) = selector.split_once("target") else { return true };
    let is_this = |word: &str| {
        word == "*-*-*"
            || ["x86", "i?86", "lp64", "sse", "avx", "int128"].iter().any(|this| word.starts_with(this))
    };
    targets.split([' ', '{', '}']).any(is_this)
}

/// Options of the driver or the linker are none of the compiler proper.
fn is_for_the_compiler(option: &str) -> bool {
    option.starts_with('-')
        && ![
            "-l",
            "-L",
            "-Wl,",
            "-Wa,",
            "-save-temps",
            "--save-temps",
            "-pipe",
            "-flto",
            "-fdump",
            "-static",
            "-shared",
            "-dump",
            "-S",
            "-c",
            "-o",
        ]
        .iter()
        .any(|start| option.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_read() {
        let text = "/* PR 1 */\n/* { dg-do run { target int128 } } */\n/* { dg-options \"-O2 -fdump-tree-pre -lm\" } */\n\
            /* { dg-additional-options \"-mavx\" { target i?86-*-* x86_64-*-* } } */\n\
            /* { dg-additional-options \"-maltivec\" { target powerpc*-*-* } } */\n";
        let test = read("gcc.dg/pr1.c", text).unwrap();
        assert_eq!(test.action, Action::Run);
        assert_eq!(test.option_sets, [["-O2", "-mavx"]]);
        let torture = read("gcc.c-torture/execute/pr2.c", "int main () {}").unwrap();
        assert_eq!((torture.action, torture.option_sets.len()), (Action::Run, LEVELS.len()));
        assert_eq!(read("gcc.dg/pr3.c", "int x; /* { dg-error \"no\" } */"), None);
    }
}

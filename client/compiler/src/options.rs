//! Option sets that differ from the failing one in one option.

use crate::compiler::Optimizers;
use crate::error::Result;
use crate::toolchain::Toolchain;
use hearth_client::Connection;

/// One option turned the other way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flip {
    /// The option as it is given: `-fno-ivopts`.
    pub option: String,
    /// Was it on before?
    pub was_enabled: bool,
}

/// All options of optimization, turned the other way; those that were on come first. None if the compiler has none.
///
/// # Errors
/// If the compiler does not tell.
pub fn flips(connection: &mut Connection, toolchain: &Toolchain, options: &[String]) -> Result<Vec<Flip>> {
    let Some(Optimizers { question, read }) = toolchain.compiler().optimizers() else {
        return Ok(Vec::new());
    };
    let mut asked = vec![question.to_owned()];
    asked.extend_from_slice(options);
    let mut flips = read(&toolchain.ask(connection, &asked)?);
    flips.sort_by_key(|flip| !flip.was_enabled);
    Ok(flips)
}

/// The option set at the other levels of optimization, the nearest to it first.
///
/// ```
/// use hearth_compiler::options::levels;
///
/// let sets = levels(&["-O2".to_owned(), "-fwrapv".to_owned()]);
/// assert_eq!(sets[0], ["-O3", "-fwrapv"]);
/// ```
#[must_use]
pub fn levels(options: &[String]) -> Vec<Vec<String>> {
    let own = options
        .iter()
        .rfind(|option| is_level(option))
        .map_or("-O0", |level| if level == "-O" { "-O1" } else { level });
    let others = ["-O3", "-O2", "-Os", "-O1", "-Og", "-O0"].into_iter().filter(|&level| level != own);
    others.map(|level| at_level(options, level)).collect()
}

/// The option set at a level of optimization.
#[must_use]
pub fn at_level(options: &[String], level: &str) -> Vec<String> {
    let rest = options.iter().filter(|option| !is_level(option)).cloned();
    [level.to_owned()].into_iter().chain(rest).collect()
}

fn is_level(option: &str) -> bool {
    option.starts_with("-O")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_replaced() {
        let options = ["-O2", "-fwrapv"].map(str::to_owned);
        let levels = levels(&options);
        assert_eq!(levels.len(), 5);
        assert_eq!(levels[0], ["-O3", "-fwrapv"]);
        assert!(!levels.contains(&options.to_vec()));
    }
}

//! Why a program cannot be localized.

/// Why a program cannot be localized.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Neither option set compiles it.
    #[error("the program does not compile with {options}: {problem}")]
    DoesNotCompile {
        /// The options.
        options: String,
        /// What the compiler says.
        problem: String,
    },
    /// The compiler does not know an option.
    #[error("the compiler does not know an option in {options}: {problem}")]
    UnknownOption {
        /// The options.
        options: String,
        /// What the compiler says.
        problem: String,
    },
    /// Nothing fails.
    #[error(
        "the program does not fail: with {fail} and with {pass} it {behaviour}; give the options it fails with by --fail"
    )]
    Passes {
        /// The failing options.
        fail: String,
        /// The passing options.
        pass: String,
        /// What it does.
        behaviour: String,
    },
    /// Both fail.
    #[error(
        "the program fails in the same way with {fail} and with {pass} ({behaviour}); give options it passes with by --pass"
    )]
    FailsBoth {
        /// The failing options.
        fail: String,
        /// The passing options.
        pass: String,
        /// What it does.
        behaviour: String,
    },
    /// It compiles, and it is not said with which options it passes.
    #[error(
        "the compiler does not crash with {fail}; if the program behaves wrongly, give options it passes with by --pass"
    )]
    NothingToCompare {
        /// The failing options.
        fail: String,
    },
    /// It does not end where it should pass.
    #[error(
        "the program, compiled with {options}, does not end in time, or writes too much; give options it passes with by --pass"
    )]
    DoesNotEnd {
        /// The options.
        options: String,
    },
    /// Two executions differ.
    #[error(
        "two executions of the program, compiled with {options}, differ; a program that fails must fail always"
    )]
    Flaky {
        /// The options.
        options: String,
    },
    /// It cannot be linked.
    #[error("the program, compiled with {options}, cannot be linked; it must be complete, with a main")]
    DoesNotLink {
        /// The options.
        options: String,
    },
    /// It is to be screened, and is undefined itself.
    #[error(
        "the program itself has undefined behaviour, as GCC's sanitizer finds when it is compiled with {options}, so mutants cannot be screened; mend it, or leave --screen out"
    )]
    Undefined {
        /// The options.
        options: String,
    },
    /// Nothing can screen it.
    #[error(
        "the compiler that says what is right cannot screen programs, only GCC's cc1 can; leave --screen out"
    )]
    NoScreen,
    /// There are no options to turn.
    #[error(
        "the compiler has no options of optimization to turn; use --technique fused, diwi or recbi, with a program that is UTF-8 text"
    )]
    NoOptions,
    /// It cannot be mutated.
    #[error(
        "the program is no UTF-8 text, so it cannot be mutated; make it UTF-8, or use --technique options"
    )]
    NotText,
}

impl Refusal {
    /// What the compiler says of a program that it does not compile with some options.
    pub(super) fn of_compiler(options: &str, problem: &str) -> Self {
        let (options, problem) = (options.to_owned(), problem.to_owned());
        match problem.contains("command-line option") || problem.contains("unrecognized argument") {
            true => Self::UnknownOption { options, problem },
            false => Self::DoesNotCompile { options, problem },
        }
    }
}

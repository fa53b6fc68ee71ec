//! RecBi's ten operators.

use super::rules::{Rule, binary, constants, modifiers, qualifiers, unary};
use std::fmt;

/// An operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operator {
    /// Makes a statement depend on a condition.
    Branch,
    /// Repeats a statement while a condition holds.
    Loop,
    /// Inserts a call of a function that it brings along.
    Call,
    /// Jumps over statements.
    Goto,
    /// Inserts or removes a qualifier.
    Qualifier,
    /// Inserts or removes a modifier.
    Modifier,
    /// Replaces a variable.
    Variable,
    /// Changes a constant.
    Constant,
    /// Replaces or removes a unary operator.
    Unary,
    /// Replaces a binary operator.
    Binary,
}

impl Operator {
    /// All, in the order of the paper's table.
    pub const ALL: [Self; 10] = [
        Self::Branch,
        Self::Loop,
        Self::Call,
        Self::Goto,
        Self::Qualifier,
        Self::Modifier,
        Self::Variable,
        Self::Constant,
        Self::Unary,
        Self::Binary,
    ];

    /// The rules that it applies; none if it changes the structure.
    pub(super) fn rules(self) -> Vec<Rule> {
        match self {
            Self::Branch | Self::Loop | Self::Call | Self::Goto => Vec::new(),
            Self::Qualifier => qualifiers(),
            Self::Modifier => modifiers(),
            Self::Variable => vec![Rule::ReplaceVariable],
            Self::Constant => constants(),
            Self::Unary => unary(),
            Self::Binary => binary(),
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Branch => "insert a branch",
            Self::Loop => "insert a loop",
            Self::Call => "insert a call",
            Self::Goto => "insert a goto",
            Self::Qualifier => "insert or remove a qualifier",
            Self::Modifier => "insert or remove a modifier",
            Self::Variable => "replace a variable",
            Self::Constant => "change a constant",
            Self::Unary => "replace or remove a unary operator",
            Self::Binary => "replace a binary operator",
        })
    }
}

//! DiWi's rules: one kind of small change each, as "replace `+` by `-`" is one wherever it is applied.

use super::{Edit, ParsedProgram};
use std::fmt;
use tree_sitter::Node;

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// Inserts a qualifier.
    InsertQualifier(&'static str),
    /// Removes a qualifier.
    RemoveQualifier(&'static str),
    /// Inserts a modifier; one that excludes it is replaced by it.
    InsertModifier(&'static str),
    /// Removes a modifier.
    RemoveModifier(&'static str),
    /// Replaces a variable by another of the same type.
    ReplaceVariable,
    /// Replaces a binary operator, or one that assigns, by another of its category.
    ReplaceBinary(&'static str, &'static str),
    /// Replaces a unary operator by another.
    ReplaceUnary(Unary, Unary),
    /// Removes a unary operator.
    RemoveUnary(Unary),
    /// Changes a constant.
    ChangeConstant(Change),
}

/// A unary operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Unary {
    operator: &'static str,
    is_prefix: bool,
}

/// What is done to a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Change {
    /// One more.
    Increment,
    /// One less.
    Decrement,
    /// Zero times it.
    Zero,
    /// Minus one times it.
    Negate,
}

const QUALIFIERS: [&str; 3] = ["volatile", "const", "restrict"];
const MODIFIERS: [&str; 4] = ["long", "short", "signed", "unsigned"];
/// Operators that replace each other.
const CATEGORIES: [&[&str]; 8] = [
    &["+", "-", "*", "/", "%"],
    &["<", ">", "<=", ">=", "==", "!="],
    &["&", "|", "^"],
    &["<<", ">>"],
    &["&&", "||"],
    &["+=", "-=", "*=", "/=", "%="],
    &["&=", "|=", "^="],
    &["<<=", ">>="],
];
pub(super) const UNARIES: [Unary; 5] = [
    Unary { operator: "++", is_prefix: true },
    Unary { operator: "++", is_prefix: false },
    Unary { operator: "--", is_prefix: true },
    Unary { operator: "--", is_prefix: false },
    Unary { operator: "~", is_prefix: true },
];
/// Operators that RecBi removes too.
const SIGNS: [Unary; 2] =
    [Unary { operator: "!", is_prefix: true }, Unary { operator: "-", is_prefix: true }];
const CHANGES: [Change; 4] = [Change::Increment, Change::Decrement, Change::Zero, Change::Negate];

/// All rules of DiWi, divided as in its published list: 6 for qualifiers, 8 for modifiers, 1 for variables, 88 for
/// binary operators, 25 for unary ones and 4 for constants.
#[must_use]
pub fn rules() -> Vec<Rule> {
    let unary =
        unary().into_iter().filter(|rule| !SIGNS.iter().any(|&sign| *rule == Rule::RemoveUnary(sign)));
    qualifiers()
        .into_iter()
        .chain(modifiers())
        .chain([Rule::ReplaceVariable])
        .chain(binary())
        .chain(unary)
        .chain(constants())
        .collect()
}

pub(super) fn qualifiers() -> Vec<Rule> {
    QUALIFIERS.iter().flat_map(|word| [Rule::InsertQualifier(word), Rule::RemoveQualifier(word)]).collect()
}

pub(super) fn modifiers() -> Vec<Rule> {
    MODIFIERS.iter().flat_map(|word| [Rule::InsertModifier(word), Rule::RemoveModifier(word)]).collect()
}

pub(super) fn constants() -> Vec<Rule> {
    CHANGES.map(Rule::ChangeConstant).to_vec()
}

pub(super) fn binary() -> Vec<Rule> {
    CATEGORIES.into_iter().flat_map(pairs).map(|(from, to)| Rule::ReplaceBinary(from, to)).collect()
}

pub(super) fn unary() -> Vec<Rule> {
    let removed = UNARIES.into_iter().chain(SIGNS).map(Rule::RemoveUnary);
    pairs(&UNARIES).map(|(from, to)| Rule::ReplaceUnary(from, to)).chain(removed).collect()
}

/// All pairs of two different ones.
fn pairs<T: Copy + PartialEq>(all: &[T]) -> impl Iterator<Item = (T, T)> {
    all.iter().flat_map(move |&from| all.iter().map(move |&to| (from, to))).filter(|(from, to)| from != to)
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InsertQualifier(word) | Self::InsertModifier(word) => write!(f, "insert {word}"),
            Self::RemoveQualifier(word) | Self::RemoveModifier(word) => write!(f, "remove {word}"),
            Self::ReplaceVariable => f.write_str("replace a variable"),
            Self::ReplaceBinary(from, to) => write!(f, "replace {from} by {to}"),
            Self::ReplaceUnary(from, to) => write!(f, "replace {from} by {to}"),
            Self::RemoveUnary(unary) => write!(f, "remove {} from {unary}", unary.operator),
            Self::ChangeConstant(Change::Increment) => f.write_str("a constant plus 1"),
            Self::ChangeConstant(Change::Decrement) => f.write_str("a constant minus 1"),
            Self::ChangeConstant(Change::Zero) => f.write_str("a constant times 0"),
            Self::ChangeConstant(Change::Negate) => f.write_str("a constant times -1"),
        }
    }
}

impl fmt::Display for Unary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.of("x"))
    }
}

impl Unary {
    /// The operator with what it is applied to.
    fn of(self, argument: &str) -> String {
        match self.is_prefix {
            true => format!("{}{argument}", self.operator),
            false => format!("{argument}{}", self.operator),
        }
    }

    /// What it is applied to, if a node is such an expression.
    fn argument(self, node: Node<'_>) -> Option<Node<'_>> {
        if !matches!(node.kind(), "update_expression" | "unary_expression") {
            return None;
        }
        let (operator, argument) =
            (node.child_by_field_name("operator")?, node.child_by_field_name("argument")?);
        let is_prefix = operator.start_byte() < argument.start_byte();
        (operator.kind() == self.operator && is_prefix == self.is_prefix).then_some(argument)
    }

    /// Does it change what it is applied to?
    fn is_update(self) -> bool {
        self.operator.len() == 2
    }
}

impl ParsedProgram {
    /// The changes of a rule that are made at a node.
    pub(super) fn edits_at(&self, rule: Rule, node: Node<'_>, edits: &mut Vec<Edit>) {
        let text = &self.text[node.byte_range()];
        let replace = |text: &str| Edit { range: node.byte_range(), text: text.to_owned() };
        match rule {
            Rule::InsertQualifier("restrict") => {
                if node.kind() == "pointer_declarator" && !text.contains("restrict") {
                    let at = node.start_byte() + 1;
                    edits.push(Edit { range: at..at, text: " __restrict ".to_owned() });
                }
            }
            Rule::InsertQualifier(word) => {
                if let Some(specifier) = variable_type(node)
                    && !declaration_text(node, &self.text).contains(word)
                {
                    let at = specifier.start_byte();
                    edits.push(Edit { range: at..at, text: format!("{word} ") });
                }
            }
            Rule::RemoveQualifier(word) => {
                let is_it = text == word || (word == "restrict" && text.trim_matches('_') == word);
                if node.kind() == "type_qualifier" && is_it {
                    edits.push(replace(""));
                }
            }
            Rule::InsertModifier(word) => {
                edits.extend(
                    is_type(node).then(|| with_modifier(text, word)).flatten().map(|text| replace(&text)),
                );
            }
            Rule::RemoveModifier(word) => {
                edits.extend(is_type(node).then(|| without(text, word)).flatten().map(|text| replace(&text)));
            }
            Rule::ReplaceVariable => edits.extend(self.names.others(node, text).map(replace)),
            Rule::ReplaceBinary(from, to) => {
                let is_operator =
                    |parent: Node<'_>| matches!(parent.kind(), "binary_expression" | "assignment_expression");
                if node.kind() == from && node.parent().is_some_and(is_operator) {
                    edits.push(replace(to));
                }
            }
            Rule::ReplaceUnary(from, to) => {
                if let Some(argument) = from.argument(node)
                    && (from.is_update() || !to.is_update() || is_variable(argument))
                    && (to.is_update() || !steps_loop(node))
                {
                    edits.push(replace(&format!(" {}", to.of(&self.text[argument.byte_range()]))));
                }
            }
            Rule::RemoveUnary(unary) => {
                if let Some(argument) = unary.argument(node)
                    && !steps_loop(node)
                {
                    // What stands before it must not become part of it.
                    edits.push(replace(&format!(" {}", &self.text[argument.byte_range()])));
                }
            }
            Rule::ChangeConstant(change) => {
                if node.kind() == "number_literal"
                    && let Some(changed) = changed(text, change)
                {
                    edits.push(replace(&changed));
                }
            }
        }
    }
}

/// The type of a declaration of variables or of a parameter.
fn variable_type(node: Node<'_>) -> Option<Node<'_>> {
    if !matches!(node.kind(), "declaration" | "parameter_declaration" | "field_declaration") {
        return None;
    }
    node.child_by_field_name("declarator")?;
    node.child_by_field_name("type")
}

/// What stands before the first name of a declaration.
pub(super) fn declaration_text<'a>(node: Node<'_>, text: &'a str) -> &'a str {
    let end =
        node.child_by_field_name("declarator").map_or(node.end_byte(), |declarator| declarator.start_byte());
    &text[node.start_byte()..end]
}

/// Is it a whole type that may have modifiers?
fn is_type(node: Node<'_>) -> bool {
    let is_part = || node.parent().is_some_and(|parent| parent.kind() == "sized_type_specifier");
    match node.kind() {
        "sized_type_specifier" => true,
        "primitive_type" => !is_part(),
        _ => false,
    }
}

/// A type with one more modifier, in the place of the one that excludes it; `None` if the type cannot have it.
fn with_modifier(text: &str, word: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let excluded = match word {
        "long" => "short",
        "short" => "long",
        "signed" => "unsigned",
        _ => "signed",
    };
    let known = |word: &&str| MODIFIERS.contains(word) || ["int", "char", "double"].contains(word);
    let can_have = |word: &str| match word {
        "long" => !words.contains(&"char"),
        "short" => !words.contains(&"char") && !words.contains(&"double"),
        _ => !words.contains(&"double"),
    };
    if words.contains(&word) || !words.iter().all(known) || !can_have(word) {
        return None;
    }
    let rest = words.iter().copied().filter(|&other| other != excluded);
    Some([word].into_iter().chain(rest).collect::<Vec<_>>().join(" "))
}

/// A type without one of its modifiers; `None` if it has it not.
fn without(text: &str, word: &str) -> Option<String> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let at = words.iter().position(|&other| other == word)?;
    words.remove(at);
    // `unsigned x` without it still needs a type.
    Some(if words.is_empty() { "int".to_owned() } else { words.join(" ") })
}

/// Is it the step of a `for`? Without it the loop would not end.
fn steps_loop(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| parent.child_by_field_name("update") == Some(node))
}

/// Can it be assigned to, by the look of it?
fn is_variable(node: Node<'_>) -> bool {
    matches!(node.kind(), "identifier" | "subscript_expression" | "field_expression")
}

/// A changed integer; `None` for another constant, or if it would be the same.
fn changed(text: &str, change: Change) -> Option<String> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let suffix = &text[digits.len()..];
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8).ok()?,
        None => digits.parse().ok()?,
    };
    match change {
        Change::Increment => Some(format!("{}{suffix}", value.checked_add(1)?)),
        Change::Decrement if value == 0 => Some(format!("(-1{suffix})")),
        Change::Decrement => Some(format!("{}{suffix}", value - 1)),
        Change::Zero => (value != 0).then(|| format!("0{suffix}")),
        Change::Negate => (value != 0).then(|| format!("(-{text})")),
    }
}

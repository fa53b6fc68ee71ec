//! Small changes to a C program: DiWi's rules, on a syntax tree.
//!
//! A rule is one kind of change: "replace `+` by `-`" is one rule wherever it is applied. Code that a program checks itself
//! with (calls of `abort`, `printf` and the like, what `main` returns) is left alone, and so are headers.

mod names;

use fastrand::Rng;
use names::Names;
use std::fmt;
use std::ops::Range;
use tree_sitter::{Node, Parser, Tree};

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// Inserts a qualifier.
    InsertQualifier(&'static str),
    /// Removes a qualifier.
    RemoveQualifier(&'static str),
    /// Inserts a modifier.
    InsertModifier(&'static str),
    /// Removes a modifier.
    RemoveModifier(&'static str),
    /// Replaces a modifier by another.
    ReplaceModifier(&'static str, &'static str),
    /// Replaces a variable by another of the same type.
    ReplaceVariable,
    /// Replaces a binary operator by another of its category.
    ReplaceOperator(&'static str, &'static str),
    /// Replaces an increment or decrement by another.
    ReplaceUpdate(Update, Update),
    /// Removes a logical negation.
    RemoveNegation,
    /// Changes a constant.
    ChangeConstant(Change),
}

/// An increment or decrement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Update {
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
const CATEGORIES: [&[&str]; 3] =
    [&["+", "-", "*", "/", "%", "&", "|", "^"], &["<", ">", "<=", ">=", "==", "!="], &["&&", "||"]];
const UPDATES: [Update; 4] = [
    Update { operator: "++", is_prefix: true },
    Update { operator: "++", is_prefix: false },
    Update { operator: "--", is_prefix: true },
    Update { operator: "--", is_prefix: false },
];
const CHANGES: [Change; 4] = [Change::Increment, Change::Decrement, Change::Zero, Change::Negate];

/// All rules. DiWi counts 132 and lists only the kinds; this is a division into rules that has as many: 6 for qualifiers, 20 for modifiers, 1 for variables, 88 for binary
/// operators in three categories, 13 for unary ones and 4 for constants.
#[must_use]
pub fn rules() -> Vec<Rule> {
    let mut rules = Vec::new();
    for qualifier in QUALIFIERS {
        rules.extend([Rule::InsertQualifier(qualifier), Rule::RemoveQualifier(qualifier)]);
    }
    for modifier in MODIFIERS {
        rules.extend([Rule::InsertModifier(modifier), Rule::RemoveModifier(modifier)]);
    }
    rules.extend(pairs(&MODIFIERS).map(|(from, to)| Rule::ReplaceModifier(from, to)));
    rules.push(Rule::ReplaceVariable);
    for category in CATEGORIES {
        rules.extend(pairs(category).map(|(from, to)| Rule::ReplaceOperator(from, to)));
    }
    rules.extend(pairs(&UPDATES).map(|(from, to)| Rule::ReplaceUpdate(from, to)));
    rules.push(Rule::RemoveNegation);
    rules.extend(CHANGES.map(Rule::ChangeConstant));
    rules
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
            Self::ReplaceModifier(from, to) | Self::ReplaceOperator(from, to) => {
                write!(f, "replace {from} by {to}")
            }
            Self::ReplaceVariable => f.write_str("replace a variable"),
            Self::ReplaceUpdate(from, to) => write!(f, "replace {from} by {to}"),
            Self::RemoveNegation => f.write_str("remove !"),
            Self::ChangeConstant(Change::Increment) => f.write_str("a constant plus 1"),
            Self::ChangeConstant(Change::Decrement) => f.write_str("a constant minus 1"),
            Self::ChangeConstant(Change::Zero) => f.write_str("a constant times 0"),
            Self::ChangeConstant(Change::Negate) => f.write_str("a constant times -1"),
        }
    }
}

impl fmt::Display for Update {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_prefix { write!(f, "{}x", self.operator) } else { write!(f, "x{}", self.operator) }
    }
}

/// A change to the text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Edit {
    range: Range<usize>,
    text: String,
}

/// A program that can be mutated.
#[derive(Debug)]
pub struct Program {
    text: String,
    tree: Tree,
    names: Names,
}

impl Program {
    /// Parses a program; `None` if it is no UTF-8 text.
    #[must_use]
    pub fn new(text: &[u8]) -> Option<Self> {
        let text = String::from_utf8(text.to_vec()).ok()?;
        let mut parser = Parser::new();
        parser.set_language(&tree_sitter_c::LANGUAGE.into()).ok()?;
        let tree = parser.parse(&text, None)?;
        let names = Names::new(&tree, &text);
        Some(Self { text, tree, names })
    }

    /// Applies a rule at a place chosen at random; `None` if there is none.
    #[must_use]
    pub fn mutate(&self, rule: Rule, random: &mut Rng) -> Option<String> {
        let edits = self.edits(rule);
        let edit = random.choice(&edits)?;
        let mut text = self.text.clone();
        text.replace_range(edit.range.clone(), &edit.text);
        Some(text)
    }

    /// All changes that are of a rule.
    fn edits(&self, rule: Rule) -> Vec<Edit> {
        let mut edits = Vec::new();
        let mut nodes = vec![self.tree.root_node()];
        while let Some(node) = nodes.pop() {
            if self.is_oracle(node) || is_directive(node) {
                continue;
            }
            self.edits_at(rule, node, &mut edits);
            // The first child is looked at first.
            let mut cursor = node.walk();
            let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
            nodes.extend(children.into_iter().rev());
        }
        edits
    }

    fn edits_at(&self, rule: Rule, node: Node<'_>, edits: &mut Vec<Edit>) {
        let text = &self.text[node.byte_range()];
        let replace = |node: Node<'_>, text: &str| Edit { range: node.byte_range(), text: text.to_owned() };
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
                    edits.push(replace(node, ""));
                }
            }
            Rule::InsertModifier(word) => {
                if node.kind() == "primitive_type" && takes_modifier(node, text, word) {
                    let at = node.start_byte();
                    edits.push(Edit { range: at..at, text: format!("{word} ") });
                }
            }
            Rule::RemoveModifier(word) => {
                if node.kind() == word && is_modifier(node) {
                    // `unsigned x` without it still needs a type.
                    edits.push(replace(node, if is_alone(node) { "int" } else { "" }));
                }
            }
            Rule::ReplaceModifier(from, to) => {
                if node.kind() == from && is_modifier(node) {
                    edits.push(replace(node, to));
                }
            }
            Rule::ReplaceVariable => {
                for other in self.names.others(node, text) {
                    edits.push(replace(node, other));
                }
            }
            Rule::ReplaceOperator(from, to) => {
                if node.kind() == from
                    && node.parent().is_some_and(|parent| parent.kind() == "binary_expression")
                {
                    edits.push(replace(node, to));
                }
            }
            Rule::ReplaceUpdate(from, to) => {
                if node.kind() == "update_expression"
                    && let (Some(operator), Some(argument)) =
                        (node.child_by_field_name("operator"), node.child_by_field_name("argument"))
                    && operator.kind() == from.operator
                    && (operator.start_byte() < argument.start_byte()) == from.is_prefix
                {
                    let argument = &self.text[argument.byte_range()];
                    let text = match to.is_prefix {
                        true => format!("{}{argument}", to.operator),
                        false => format!("{argument}{}", to.operator),
                    };
                    edits.push(replace(node, &text));
                }
            }
            Rule::RemoveNegation => {
                if node.kind() == "unary_expression" && text.starts_with('!') {
                    edits.push(replace(node, &text[1..]));
                }
            }
            Rule::ChangeConstant(change) => {
                if node.kind() == "number_literal"
                    && let Some(changed) = changed(text, change)
                {
                    edits.push(replace(node, &changed));
                }
            }
        }
    }

    /// Is it code that the program checks itself with?
    fn is_oracle(&self, node: Node<'_>) -> bool {
        match node.kind() {
            "call_expression" => {
                let function = node.child_by_field_name("function");
                let name = function.map_or("", |function| &self.text[function.byte_range()]);
                let name = name.strip_prefix("__builtin_").unwrap_or(name);
                ["abort", "exit", "_exit", "trap", "assert", "puts", "putchar"].contains(&name)
                    || name.contains("printf")
            }
            "return_statement" => self.names.is_in_main(node),
            // A condition that does nothing but lead to a check is one.
            _ => node.parent().is_some_and(|parent| {
                parent.kind() == "if_statement"
                    && parent.child_by_field_name("condition") == Some(node)
                    && parent.child_by_field_name("consequence").is_some_and(|body| self.is_check(body))
            }),
        }
    }

    /// Is a statement nothing but a call that ends the program?
    fn is_check(&self, statement: Node<'_>) -> bool {
        let mut cursor = statement.walk();
        let mut parts = statement.named_children(&mut cursor);
        match (statement.kind(), parts.next(), parts.next()) {
            ("compound_statement", Some(only), None) => self.is_check(only),
            ("expression_statement", Some(call), None) => {
                call.kind() == "call_expression" && self.is_oracle(call)
            }
            _ => false,
        }
    }
}

/// Is it a line for the preprocessor? What stands between two of them is code.
fn is_directive(node: Node<'_>) -> bool {
    match node.kind() {
        "preproc_if" | "preproc_ifdef" | "preproc_else" | "preproc_elif" => false,
        kind => {
            let is_condition = node.parent().is_some_and(|parent| {
                parent.kind().starts_with("preproc")
                    && ["condition", "name"]
                        .iter()
                        .any(|field| parent.child_by_field_name(field) == Some(node))
            });
            kind.starts_with("preproc") || is_condition
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

fn declaration_text<'a>(node: Node<'_>, text: &'a str) -> &'a str {
    let end =
        node.child_by_field_name("declarator").map_or(node.end_byte(), |declarator| declarator.start_byte());
    &text[node.start_byte()..end]
}

/// Can a primitive type have this modifier, beside those it has?
fn takes_modifier(node: Node<'_>, text: &str, word: &str) -> bool {
    let is_modified = node.parent().is_some_and(|parent| parent.kind() == "sized_type_specifier");
    match text {
        "int" => !is_modified || ["signed", "unsigned"].contains(&word),
        "char" => !is_modified && ["signed", "unsigned"].contains(&word),
        "double" => !is_modified && word == "long",
        _ => false,
    }
}

fn is_modifier(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| parent.kind() == "sized_type_specifier")
}

/// Is a modifier all there is of a type?
fn is_alone(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| parent.child_count() == 1)
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

#[cfg(test)]
mod tests;

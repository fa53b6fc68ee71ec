//! Changes to a C program, on its syntax tree: DiWi's small ones and RecBi's, some of which change its structure.
//!
//! Code that a program checks itself with (calls of `abort`, `printf` and the like, what `main` returns) is left alone,
//! and so are headers.
//!
//! ```
//! use hearth_localize::mutate::{ParsedProgram, rules};
//!
//! let program = ParsedProgram::new(b"int a = 3; int main(void) { return a; }").expect("it is text");
//! let mut random = fastrand::Rng::with_seed(1);
//! let mutants = rules().into_iter().filter_map(|rule| program.mutate(rule, &mut random));
//! assert!(mutants.count() > 0);
//! ```

pub mod ingredients;
mod insert;
mod names;
mod operators;
mod rules;

pub use operators::Operator;
pub use rules::{Change, Rule, Unary, rules};

use fastrand::Rng;
use ingredients::Ingredients;
use names::Names;
use std::collections::HashSet;
use std::ops::Range;
use tree_sitter::{Node, Parser, Tree};

/// A change to the text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Edit {
    range: Range<usize>,
    text: String,
}

/// A program that can be mutated.
#[derive(Debug)]
pub struct ParsedProgram {
    text: String,
    tree: Tree,
    names: Names,
    /// Macros that check the result.
    check_macros: HashSet<String>,
    /// Functions that check the result.
    checkers: HashSet<String>,
}

impl ParsedProgram {
    /// Parses a program; `None` if it is no UTF-8 text.
    #[must_use]
    pub fn new(text: &[u8]) -> Option<Self> {
        let text = String::from_utf8(text.to_vec()).ok()?;
        let mut program = Self::parse(text, &mut c_parser()?)?;
        program.find_check_macros();
        program.find_checkers();
        Some(program)
    }

    fn parse(text: String, parser: &mut Parser) -> Option<Self> {
        let tree = parser.parse(&text, None)?;
        let names = Names::new(&tree, &text);
        Some(Self { text, tree, names, check_macros: HashSet::new(), checkers: HashSet::new() })
    }

    /// Applies a rule at a place chosen at random; `None` if there is none.
    #[must_use]
    pub fn mutate(&self, rule: Rule, random: &mut Rng) -> Option<String> {
        let edits = self.edits(&[rule]);
        Some(self.edited(std::slice::from_ref(random.choice(&edits)?)))
    }

    /// Applies an operator at a place chosen at random; `None` if there is none.
    #[must_use]
    pub fn apply(&self, operator: Operator, ingredients: &Ingredients, random: &mut Rng) -> Option<String> {
        let edits = match operator {
            Operator::Branch => self.insert_branch(ingredients, random)?,
            Operator::Loop => self.insert_loop(ingredients, random)?,
            Operator::Call => self.insert_call(ingredients, random)?,
            Operator::Goto => self.insert_goto(random)?,
            Operator::Qualifier
            | Operator::Modifier
            | Operator::Variable
            | Operator::Constant
            | Operator::Unary
            | Operator::Binary => vec![random.choice(self.edits(&operator.rules()))?],
        };
        Some(self.edited(&edits))
    }

    /// The text with changes made; they are in the order of their places.
    fn edited(&self, edits: &[Edit]) -> String {
        let mut text = self.text.clone();
        for edit in edits.iter().rev() {
            text.replace_range(edit.range.clone(), &edit.text);
        }
        text
    }

    /// All changes that are of some rules.
    fn edits(&self, rules: &[Rule]) -> Vec<Edit> {
        let mut edits = Vec::new();
        let mut nodes = vec![self.tree.root_node()];
        while let Some(node) = nodes.pop() {
            if self.is_oracle(node) || is_directive(node) {
                continue;
            }
            for &rule in rules {
                self.edits_at(rule, node, &mut edits);
            }
            // The first child is looked at first.
            let mut cursor = node.walk();
            let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
            nodes.extend(children.into_iter().rev());
        }
        edits
    }

    /// Is it code that the program checks itself with?
    fn is_oracle(&self, node: Node<'_>) -> bool {
        match node.kind() {
            "call_expression" => {
                let function = node.child_by_field_name("function");
                let name = function.map_or("", |function| &self.text[function.byte_range()]);
                let name = name.strip_prefix("__builtin_").unwrap_or(name);
                self.check_macros.contains(name)
                    || ["abort", "exit", "_exit", "trap", "assert", "puts", "putchar"].contains(&name)
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

    fn find_check_macros(&mut self) {
        let macros = nodes(self.tree.root_node()).filter(|node| node.kind() == "preproc_function_def");
        let checking = macros.filter(|node| {
            let value = node.child_by_field_name("value").map_or("", |value| &self.text[value.byte_range()]);
            ["abort", "exit", "printf", "trap"].iter().any(|word| value.contains(word))
        });
        let names = checking.filter_map(|node| node.child_by_field_name("name"));
        self.check_macros = names.map(|name| self.text[name.byte_range()].to_owned()).collect();
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

fn c_parser() -> Option<Parser> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_c::LANGUAGE.into()).ok()?;
    Some(parser)
}

/// A node and all below it, each before its children.
fn nodes(root: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let mut cursor = root.walk();
    let mut is_over = false;
    std::iter::from_fn(move || {
        if is_over {
            return None;
        }
        let node = cursor.node();
        if !cursor.goto_first_child() {
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    is_over = true;
                    break;
                }
            }
        }
        Some(node)
    })
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

#[cfg(test)]
mod tests;

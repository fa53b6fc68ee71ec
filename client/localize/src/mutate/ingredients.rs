//! What RecBi inserts, taken from the compiler's own test programs: conditions of branches and of loops, and
//! functions with calls of them. They refer to nothing but variables, which are renamed to the program's own.

use super::names::{Names, VariableKind};
use super::{ParsedProgram, c_parser, nodes};
use std::collections::HashSet;
use std::fs;
use std::hash::Hash;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use tree_sitter::Node;

/// The longest condition, or arguments of a call.
const PHRASE_LIMIT_BYTES: usize = 80;
/// The longest function.
const FUNCTION_LIMIT_BYTES: usize = 600;
/// The longest test program that is read: longer ones are tables.
const PROGRAM_LIMIT_BYTES: u64 = 64 << 10;

/// The ingredients of each kind, all different.
#[derive(Debug, Default)]
pub struct Ingredients {
    pub(super) branches: Vec<Phrase>,
    pub(super) loops: Vec<Phrase>,
    pub(super) calls: Vec<Call>,
}

/// A part of a program whose variables are to be renamed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Phrase {
    pub text: String,
    /// The variables that it needs.
    pub needs: Vec<Need>,
    /// Where in the text which of them is used.
    pub uses: Vec<(Range<usize>, usize)>,
}

/// A variable that is needed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Need {
    pub kind: VariableKind,
    /// Is it assigned to?
    pub is_changed: bool,
}

/// A function with a call of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Call {
    /// The definition.
    pub function: String,
    /// Where its name is in it.
    pub name: Range<usize>,
    /// With parentheses.
    pub arguments: Phrase,
}

impl Ingredients {
    /// Is there nothing in it?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.branches.is_empty() && self.loops.is_empty() && self.calls.is_empty()
    }

    /// The ingredients of some programs.
    #[must_use]
    pub fn new(programs: impl Iterator<Item = String>) -> Self {
        let mut ingredients = Self::default();
        let Some(mut parser) = c_parser() else { return ingredients };
        for program in programs.filter_map(|text| ParsedProgram::parse(text, &mut parser)) {
            ingredients.collect(&program);
        }
        unique(&mut ingredients.branches);
        unique(&mut ingredients.loops);
        unique(&mut ingredients.calls);
        ingredients
    }

    /// The ingredients of the C programs of a directory, by name; of `limit` of them, evenly chosen, if there are more.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn read(directory: &Path, limit: usize) -> io::Result<Self> {
        let entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
        let mut paths: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
        paths.sort();
        let step = paths.len().div_ceil(limit.max(1)).max(1);
        let is_small =
            |path: &PathBuf| fs::metadata(path).is_ok_and(|data| data.len() <= PROGRAM_LIMIT_BYTES);
        let small = paths.into_iter().step_by(step).filter(is_small);
        // A program that is no UTF-8 text is left out.
        Ok(Self::new(small.filter_map(|path| fs::read_to_string(path).ok())))
    }

    fn collect(&mut self, program: &ParsedProgram) {
        let functions: Vec<(&str, Node<'_>)> = nodes(program.tree.root_node())
            .filter(|node| node.kind() == "function_definition")
            .filter_map(|node| Some((function_name(node, &program.text)?, node)))
            .collect();
        for node in nodes(program.tree.root_node()) {
            let condition = || node.child_by_field_name("condition").map(without_parentheses);
            let phrase = |node: Node<'_>| Phrase::new(node, &program.text, &program.names);
            match node.kind() {
                "if_statement" => self.branches.extend(condition().and_then(phrase)),
                "while_statement" | "do_statement" | "for_statement" => {
                    self.loops.extend(condition().and_then(phrase));
                }
                "call_expression" => self.calls.extend(call(node, &functions, program)),
                _ => {}
            }
        }
    }
}

/// Leaves out what occurs a second time.
fn unique<T: Clone + Eq + Hash>(all: &mut Vec<T>) {
    let mut known = HashSet::new();
    all.retain(|one| known.insert(one.clone()));
}

impl Phrase {
    /// Reads an expression; `None` if it refers to anything but variables whose type is understood, or reads memory
    /// that may not be there.
    fn new(root: Node<'_>, text: &str, names: &Names) -> Option<Self> {
        let start = root.start_byte();
        let mut phrase =
            Self { text: text[root.byte_range()].to_owned(), needs: Vec::new(), uses: Vec::new() };
        let mut variables: Vec<&str> = Vec::new();
        if phrase.text.len() > PHRASE_LIMIT_BYTES || root.has_error() {
            return None;
        }
        for node in nodes(root) {
            if !is_plain(node, text) {
                return None;
            }
            if node.kind() == "identifier" {
                let variable = names.find(&text[node.byte_range()], node.start_byte())?;
                let known = variables.iter().position(|&name| name == variable.name);
                let index = known.unwrap_or(variables.len());
                if known.is_none() {
                    variables.push(&variable.name);
                    phrase.needs.push(Need { kind: variable.kind?, is_changed: false });
                }
                phrase.needs[index].is_changed |= is_changed(node);
                phrase.uses.push((node.start_byte() - start..node.end_byte() - start, index));
            }
        }
        // Equal ones are to be equal whatever their variables were called.
        for (range, index) in phrase.uses.iter().rev() {
            let name = format!("v{index}");
            phrase.text.replace_range(range.clone(), &name);
        }
        let mut shift = 0isize;
        for (range, index) in &mut phrase.uses {
            let length = format!("v{index}").len();
            let begin = range.start.saturating_add_signed(shift);
            shift += length as isize - range.len() as isize;
            *range = begin..begin + length;
        }
        Some(phrase)
    }

    /// The text with its variables renamed; as many names as it needs.
    pub fn with(&self, names: &[&str]) -> String {
        let mut text = self.text.clone();
        for (range, index) in self.uses.iter().rev() {
            text.replace_range(range.clone(), names[*index]);
        }
        text
    }
}

/// Can a node be part of an ingredient? Calls, members and memory need more than variables; comments may hide what
/// comes after them.
fn is_plain(node: Node<'_>, text: &str) -> bool {
    match node.kind() {
        "primitive_type" => ["int", "char", "float", "double", "void"].contains(&&text[node.byte_range()]),
        "call_expression" | "field_expression" | "subscript_expression" | "pointer_expression" => false,
        "type_identifier" | "struct_specifier" | "union_specifier" | "enum_specifier" | "comment" => false,
        "string_literal" | "compound_literal_expression" | "compound_statement" | "ERROR" => false,
        kind => !kind.starts_with("preproc") && !kind.contains("asm") && !node.is_missing(),
    }
}

/// Is a name assigned to?
fn is_changed(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| match parent.kind() {
        "update_expression" => true,
        "assignment_expression" => parent.child_by_field_name("left") == Some(node),
        _ => false,
    })
}

/// A call of a function of the same program.
fn call(node: Node<'_>, functions: &[(&str, Node<'_>)], program: &ParsedProgram) -> Option<Call> {
    let text = &program.text;
    let called = &text[node.child_by_field_name("function")?.byte_range()];
    let arguments = node.child_by_field_name("arguments")?;
    let (_, function) = functions.iter().find(|(name, _)| *name == called)?;
    let declarator = function.child_by_field_name("declarator")?;
    let parameters = declarator.child_by_field_name("parameters")?;
    let is_void = &text[parameters.byte_range()].replace(' ', "") == "(void)";
    let wanted = if is_void { 0 } else { parameters.named_child_count() };
    if wanted != arguments.named_child_count() || !is_self_contained(*function, program) {
        return None;
    }
    let arguments = Phrase::new(arguments, text, &program.names)?;
    let start = function.start_byte();
    let name = declarator.child_by_field_name("declarator")?;
    let name = name.start_byte() - start..name.end_byte() - start;
    Some(Call { function: text[function.byte_range()].to_owned(), name, arguments })
}

/// The name of a function that returns a number or nothing.
fn function_name<'a>(node: Node<'_>, text: &'a str) -> Option<&'a str> {
    let declarator = node.child_by_field_name("declarator")?;
    let name = declarator.child_by_field_name("declarator")?;
    (declarator.kind() == "function_declarator" && name.kind() == "identifier")
        .then(|| &text[name.byte_range()])
}

/// Can a function stand in another program, and does it end? It takes numbers, uses only its own variables, and has
/// no loop but those that count to a small number.
fn is_self_contained(function: Node<'_>, program: &ParsedProgram) -> bool {
    let text = &program.text;
    let is_own = |name: Node<'_>| {
        let found = program.names.find(&text[name.byte_range()], name.start_byte());
        found.is_some_and(|variable| function.byte_range().contains(&variable.scope.start))
    };
    let is_fine = |node: Node<'_>| match node.kind() {
        "compound_statement" | "string_literal" => true,
        "while_statement" | "do_statement" | "goto_statement" | "array_declarator" | "pointer_declarator" => {
            false
        }
        "for_statement" => counts(node, text),
        // An inline function may need a definition elsewhere.
        "storage_class_specifier" => &text[node.byte_range()] == "static",
        "attribute_specifier" => ["noinline", "noclone", "noipa"]
            .iter()
            .any(|attribute| text[node.byte_range()].contains(attribute)),
        "identifier" => {
            let parent = node.parent().map_or("", |parent| parent.kind());
            let is_declared = parent.ends_with("declarator") || parent.ends_with("declaration");
            is_declared || is_in_attribute(node) || is_own(node)
        }
        "call_expression" => is_in_attribute(node),
        _ => is_plain(node, text),
    };
    function.byte_range().len() <= FUNCTION_LIMIT_BYTES
        && !function.has_error()
        && function_name(function, text) != Some("main")
        && nodes(function).all(is_fine)
}

fn is_in_attribute(node: Node<'_>) -> bool {
    let mut parent = node.parent();
    while let Some(current) = parent {
        if current.kind() == "attribute_specifier" {
            return true;
        }
        parent = current.parent();
    }
    false
}

/// Does a loop compare its variable with a small number?
fn counts(node: Node<'_>, text: &str) -> bool {
    let right = node.child_by_field_name("condition").and_then(|node| node.child_by_field_name("right"));
    node.child_by_field_name("update").is_some()
        && right.is_some_and(|right| right.kind() == "number_literal" && right.byte_range().len() <= 3)
        && right.is_some_and(|right| text[right.byte_range()].bytes().all(|byte| byte.is_ascii_digit()))
}

fn without_parentheses(node: Node<'_>) -> Node<'_> {
    match node.kind() {
        "parenthesized_expression" => node.named_child(0).unwrap_or(node),
        _ => node,
    }
}

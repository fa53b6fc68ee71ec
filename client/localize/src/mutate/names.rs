//! The variables of a program: where each can be used, and of what type it is.

use super::nodes;
use super::rules::declaration_text;
use std::collections::HashMap;
use std::ops::Range;
use tree_sitter::{Node, Tree};

/// The variables, and where `main` is.
#[derive(Debug)]
pub struct Names {
    variables: Vec<Variable>,
    /// Types that the program names.
    types: HashMap<String, VariableKind>,
    main: Option<Range<usize>>,
}

/// A variable.
#[derive(Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its type as text: the specifiers and what the declarator adds, without qualifiers.
    form: String,
    /// What it is, if its type is understood.
    pub kind: Option<VariableKind>,
    /// Can it not be assigned to?
    pub is_fixed: bool,
    /// From its declaration to the end of its block.
    pub scope: Range<usize>,
}

/// Variables of one kind are compatible: one may stand for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VariableKind {
    /// Of any size, signed or not.
    Integer,
    /// Of any size.
    Floating,
    /// To anything; also an array.
    Pointer,
}

impl Names {
    /// Finds them.
    pub fn new(tree: &Tree, text: &str) -> Self {
        let mut names = Self { variables: Vec::new(), types: HashMap::new(), main: None };
        names.name_types(tree.root_node(), text);
        for node in nodes(tree.root_node()) {
            match node.kind() {
                "declaration" | "parameter_declaration" => names.declare(node, text),
                "function_definition" => {
                    let declarator = node.child_by_field_name("declarator");
                    if declarator.and_then(|declarator| name_in(declarator, text)).as_deref() == Some("main")
                    {
                        names.main = Some(node.byte_range());
                    }
                }
                _ => {}
            }
        }
        names
    }

    /// Is a node inside of `main`?
    pub fn is_in_main(&self, node: Node<'_>) -> bool {
        self.main.as_ref().is_some_and(|main| main.contains(&node.start_byte()))
    }

    /// Variables of the same type that could stand where a node uses one.
    pub fn others<'a>(&'a self, node: Node<'_>, text: &str) -> impl Iterator<Item = &'a str> {
        let at = node.start_byte();
        let used = is_use(node).then(|| self.find(text, at)).flatten();
        let form = used.map(|used| used.form.as_str());
        let own = used.map_or(String::new(), |used| used.name.clone());
        self.variables.iter().filter_map(move |variable| {
            let fits =
                Some(variable.form.as_str()) == form && variable.name != own && variable.scope.contains(&at);
            // One that another hides is not it.
            let is_seen =
                fits && self.find(&variable.name, at).is_some_and(|found| std::ptr::eq(found, variable));
            is_seen.then_some(variable.name.as_str())
        })
    }

    /// The variables that can be used at a place.
    pub fn seen(&self, at: usize) -> impl Iterator<Item = &Variable> {
        let inside = self.variables.iter().filter(move |variable| variable.scope.contains(&at));
        inside.filter(move |variable| {
            self.find(&variable.name, at).is_some_and(|found| std::ptr::eq(found, *variable))
        })
    }

    /// The variable that a name means at a place: the one with the smallest scope.
    pub fn find(&self, name: &str, at: usize) -> Option<&Variable> {
        let seen =
            self.variables.iter().filter(|variable| variable.name == name && variable.scope.contains(&at));
        seen.min_by_key(|variable| variable.scope.len())
    }

    /// Takes note of the names of types.
    fn name_types(&mut self, root: Node<'_>, text: &str) {
        let mut cursor = root.walk();
        for node in root.named_children(&mut cursor).filter(|node| node.kind() == "type_definition") {
            if let (Some(specifier), Some(declarator)) =
                (node.child_by_field_name("type"), node.child_by_field_name("declarator"))
                && let Some(kind) = self.kind(node, specifier, declarator, text)
                && declarator.kind() == "type_identifier"
            {
                self.types.insert(text[declarator.byte_range()].to_owned(), kind);
            }
        }
    }

    /// What a declaration makes of a name.
    fn kind(
        &self,
        node: Node<'_>,
        specifier: Node<'_>,
        declarator: Node<'_>,
        text: &str,
    ) -> Option<VariableKind> {
        let whole = &text[node.byte_range()];
        if whole.contains("vector_size") || whole.contains("omplex") {
            return None;
        }
        let specifier_text = &text[specifier.byte_range()];
        match declarator.kind() {
            "pointer_declarator" | "array_declarator" => Some(VariableKind::Pointer),
            "identifier" | "type_identifier" => match specifier.kind() {
                "primitive_type" | "sized_type_specifier" => kind_of_type(specifier_text),
                "enum_specifier" => Some(VariableKind::Integer),
                "type_identifier" => match self.types.get(specifier_text) {
                    Some(&kind) => Some(kind),
                    // What the compiler defines: `__UINT32_TYPE__`, `__int128`.
                    None => (specifier_text.starts_with("__")
                        && specifier_text.to_lowercase().contains("int"))
                    .then_some(VariableKind::Integer),
                },
                _ => None,
            },
            _ => None,
        }
    }

    fn declare(&mut self, node: Node<'_>, text: &str) {
        let Some(specifier) = node.child_by_field_name("type") else { return };
        let Some(end) = scope_end(node) else { return };
        let mut cursor = node.walk();
        for declarator in node.children_by_field_name("declarator", &mut cursor) {
            let plain = match declarator.kind() {
                "init_declarator" => declarator.child_by_field_name("declarator").unwrap_or(declarator),
                _ => declarator,
            };
            if contains_function(plain) {
                continue;
            }
            if let Some(name) = name_in(plain, text) {
                let around = text[plain.byte_range()].replacen(&name, "", 1);
                let form = format!("{} {around}", &text[specifier.byte_range()]);
                let form = form.split_whitespace().collect::<Vec<_>>().join(" ");
                let kind = self.kind(node, specifier, plain, text);
                let is_fixed = plain.kind() == "array_declarator"
                    || declaration_text(node, text).contains("const")
                    || text[plain.byte_range()].contains("const");
                self.variables.push(Variable {
                    name,
                    form,
                    kind,
                    is_fixed,
                    scope: declarator.end_byte()..end,
                });
            }
        }
    }
}

/// What a type of the language is; `None` if it has no values.
pub fn kind_of_type(text: &str) -> Option<VariableKind> {
    if text.contains("void") {
        None
    } else if text.contains("double") || text.contains("float") {
        Some(VariableKind::Floating)
    } else {
        Some(VariableKind::Integer)
    }
}

/// Where the block ends that a declaration is in; a parameter's is its function.
fn scope_end(node: Node<'_>) -> Option<usize> {
    let mut parent = node.parent()?;
    loop {
        match parent.kind() {
            "compound_statement" | "translation_unit" | "function_definition" | "for_statement" => {
                return Some(parent.end_byte());
            }
            // A parameter of a declaration without a body, a member of a structure.
            "declaration" | "struct_specifier" | "union_specifier" => return None,
            _ => parent = parent.parent()?,
        }
    }
}

fn contains_function(declarator: Node<'_>) -> bool {
    let mut node = Some(declarator);
    while let Some(current) = node {
        if current.kind() == "function_declarator" {
            return true;
        }
        node = current.child_by_field_name("declarator");
    }
    false
}

/// The name that a declarator declares.
pub fn name_in(declarator: Node<'_>, text: &str) -> Option<String> {
    let mut node = declarator;
    loop {
        if node.kind() == "identifier" {
            return Some(text[node.byte_range()].to_owned());
        }
        let mut cursor = node.walk();
        node = node.child_by_field_name("declarator").or_else(|| node.named_children(&mut cursor).next())?;
    }
}

/// Is it the use of a name in an expression?
fn is_use(node: Node<'_>) -> bool {
    if node.kind() != "identifier" {
        return false;
    }
    let Some(parent) = node.parent() else { return false };
    match parent.kind() {
        "call_expression" => parent.child_by_field_name("function") != Some(node),
        "init_declarator" => parent.child_by_field_name("value") == Some(node),
        "array_declarator" => parent.child_by_field_name("size") == Some(node),
        kind => {
            kind.ends_with("_expression")
                || matches!(
                    kind,
                    "argument_list"
                        | "initializer_list"
                        | "expression_statement"
                        | "comma_expression"
                        | "return_statement"
                )
        }
    }
}

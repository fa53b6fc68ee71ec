//! The variables of a program: where each can be used, and of what type it is.

use std::ops::Range;
use tree_sitter::{Node, Tree};

/// The variables, and where `main` is.
#[derive(Debug)]
pub struct Names {
    variables: Vec<Variable>,
    main: Option<Range<usize>>,
}

#[derive(Debug)]
struct Variable {
    name: String,
    /// Its type as text: the specifiers and what the declarator adds, without qualifiers.
    form: String,
    /// From its declaration to the end of its block.
    scope: Range<usize>,
}

impl Names {
    /// Finds them.
    pub fn new(tree: &Tree, text: &str) -> Self {
        let mut names = Self { variables: Vec::new(), main: None };
        let mut nodes = vec![tree.root_node()];
        while let Some(node) = nodes.pop() {
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
            let mut cursor = node.walk();
            nodes.extend(node.children(&mut cursor));
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

    /// The variable that a name means at a place: the one with the smallest scope.
    fn find(&self, name: &str, at: usize) -> Option<&Variable> {
        let seen =
            self.variables.iter().filter(|variable| variable.name == name && variable.scope.contains(&at));
        seen.min_by_key(|variable| variable.scope.len())
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
                self.variables.push(Variable { name, form, scope: declarator.end_byte()..end });
            }
        }
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
fn name_in(declarator: Node<'_>, text: &str) -> Option<String> {
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

//! RecBi's insertions: branches, loops, calls and jumps before statements of the program.
//!
//! As in the paper, an inserted `if` or `while` takes the statement after it as its body. Nothing is inserted outside
//! of functions, before declarations, or before what checks the result. Nor may an insertion keep a check from being
//! made, or the program would pass whatever the compiler does: what contains a check, or calls a function that does,
//! is neither made to depend on a condition nor jumped over, and is repeated by `do`, which runs it at least once.

use super::ingredients::{Ingredients, Phrase};
use super::names::name_in;
use super::{Edit, ParsedProgram, is_directive, nodes};
use fastrand::Rng;
use std::collections::HashSet;
use tree_sitter::Node;

/// Ingredients that are tried before it is given up: not every place has the variables that one needs.
const TRIES: usize = 50;
/// How often an inserted loop runs at most. The paper's loops run as long as their condition holds, but most
/// conditions do not depend on what the loop does, and would hold for ever.
const ROUNDS: usize = 8;

impl ParsedProgram {
    pub(super) fn insert_branch(&self, ingredients: &Ingredients, random: &mut Rng) -> Option<Vec<Edit>> {
        let places = self.places(|place| !self.holds_check(place));
        let (_, place, condition) = self.fitting(&places, &ingredients.branches, |phrase| phrase, random)?;
        Some(around(place, &format!("if ({condition}) "), ""))
    }

    pub(super) fn insert_loop(&self, ingredients: &Ingredients, random: &mut Rng) -> Option<Vec<Edit>> {
        // A `break` of the loop around it would only end the inserted one.
        let places = self.places(|place| !leaves(place));
        let (_, place, condition) = self.fitting(&places, &ingredients.loops, |phrase| phrase, random)?;
        let rounds = self.fresh("rounds");
        let start = format!("{{ int {rounds} = {ROUNDS};");
        let test = format!("while (({condition}) && {rounds}-- > 0)");
        Some(match self.holds_check(place) {
            true => put(place, &format!("{start} do "), &format!(" {test}; }}")),
            false => put(place, &format!("{start} {test} "), " }"),
        })
    }

    pub(super) fn insert_call(&self, ingredients: &Ingredients, random: &mut Rng) -> Option<Vec<Edit>> {
        let places = self.places(|_| true);
        let (call, place, arguments) =
            self.fitting(&places, &ingredients.calls, |call| &call.arguments, random)?;
        let name = self.fresh("called");
        let mut definition = call.function.clone();
        definition.replace_range(call.name.clone(), &name);
        let top = function_around(place)?.start_byte();
        let mut edits = vec![Edit { range: top..top, text: format!("{definition}\n") }];
        edits.extend(around(place, &format!("{name} {arguments}; "), ""));
        Some(edits)
    }

    /// A jump forward, over none or some of the statements after it: no jump makes a loop.
    pub(super) fn insert_goto(&self, random: &mut Rng) -> Option<Vec<Edit>> {
        let places = self.places(|_| true);
        let place = *random.choice(&places)?;
        let controls = self.controls(place);
        let mut ends = vec![None];
        let mut next = Some(place);
        while let Some(node) = next
            && self.is_place(node)
            && !self.holds_check(node)
            && !leaves(node)
            && !self.changes(node, &controls)
        {
            ends.push(Some(node.end_byte()));
            next = if is_in_block(place) { node.next_named_sibling() } else { None };
        }
        let label = self.fresh("after");
        Some(match random.choice(ends)? {
            None => around(place, &format!("goto {label}; {label}:; "), ""),
            Some(end) if is_in_block(place) => {
                let at = place.start_byte();
                let jump = Edit { range: at..at, text: format!("goto {label}; ") };
                vec![jump, Edit { range: end..end, text: format!(" {label}:;") }]
            }
            Some(_) => around(place, &format!("goto {label}; "), &format!(" {label}:;")),
        })
    }

    /// A place and an ingredient that go together, with the ingredient's variables renamed.
    fn fitting<'t, 'p, T>(
        &self,
        places: &[Node<'t>],
        ingredients: &'p [T],
        phrase: impl Fn(&T) -> &Phrase,
        random: &mut Rng,
    ) -> Option<(&'p T, Node<'t>, String)> {
        for _ in 0..TRIES {
            let place = *random.choice(places)?;
            let ingredient = random.choice(ingredients)?;
            if let Some(text) = self.renamed(phrase(ingredient), place, random) {
                return Some((ingredient, place, text));
            }
        }
        None
    }

    /// A phrase with variables that can be used at a place; `None` if one is missing.
    fn renamed(&self, phrase: &Phrase, place: Node<'_>, random: &mut Rng) -> Option<String> {
        let controls = self.controls(place);
        let mut names = Vec::new();
        for need in &phrase.needs {
            let fits = self.names.seen(place.start_byte()).filter(|variable| {
                let can_change = !variable.is_fixed && !controls.contains(variable.name.as_str());
                variable.kind == Some(need.kind) && (can_change || !need.is_changed)
            });
            names.push(random.choice(fits.collect::<Vec<_>>())?.name.as_str());
        }
        Some(phrase.with(&names))
    }

    /// The statements before which something can be inserted.
    fn places(&self, is_wanted: impl Fn(Node<'_>) -> bool) -> Vec<Node<'_>> {
        let all = nodes(self.tree.root_node());
        all.filter(|&node| self.is_place(node) && is_wanted(node)).collect()
    }

    fn is_place(&self, node: Node<'_>) -> bool {
        let is_statement = match node.kind() {
            "expression_statement" => node.named_child_count() > 0 && !self.is_check(node),
            "compound_statement" => is_in_block(node),
            "if_statement" => {
                !node.child_by_field_name("consequence").is_some_and(|then| self.is_check(then))
            }
            "for_statement" | "while_statement" | "do_statement" | "switch_statement" | "goto_statement" => {
                true
            }
            _ => false,
        };
        // A pragma may be about the statement after it.
        let is_bound = || node.prev_sibling().is_some_and(|before| before.kind() == "preproc_call");
        is_statement
            && !node.has_error()
            && !is_bound()
            && function_around(node).is_some_and(|function| !function.has_error())
            && !nodes(node).any(is_directive)
    }

    fn holds_check(&self, node: Node<'_>) -> bool {
        nodes(node).any(|node| self.checks(node))
    }

    /// Does a node check the result, itself or by a function that it calls?
    fn checks(&self, node: Node<'_>) -> bool {
        match node.kind() {
            "call_expression" => {
                let called = node.child_by_field_name("function");
                let name = called.map_or("", |called| &self.text[called.byte_range()]);
                self.checkers.contains(name) || self.is_oracle(node)
            }
            "return_statement" => self.is_oracle(node),
            _ => false,
        }
    }

    /// The functions that check the result, themselves or by one that they call.
    pub(super) fn find_checkers(&mut self) {
        loop {
            let functions = nodes(self.tree.root_node()).filter(|node| node.kind() == "function_definition");
            let found: HashSet<String> = functions
                .filter(|&function| self.holds_check(function))
                .filter_map(|function| name_in(function.child_by_field_name("declarator")?, &self.text))
                .collect();
            if found.len() == self.checkers.len() {
                return;
            }
            self.checkers = found;
        }
    }

    /// The names that the conditions of the loops around a place are about: were they changed, or not changed any
    /// more, the loop might never end.
    fn controls(&self, place: Node<'_>) -> HashSet<&str> {
        let mut names = HashSet::new();
        let mut around = place.parent();
        while let Some(node) = around {
            if matches!(node.kind(), "for_statement" | "while_statement" | "do_statement")
                && let Some(condition) = node.child_by_field_name("condition")
            {
                let uses = nodes(condition).filter(|node| node.kind() == "identifier");
                names.extend(uses.map(|node| &self.text[node.byte_range()]));
            }
            around = node.parent();
        }
        names
    }

    /// Does a statement assign to one of some names?
    fn changes(&self, statement: Node<'_>, names: &HashSet<&str>) -> bool {
        let assigned = nodes(statement).filter_map(|node| match node.kind() {
            "update_expression" => node.child_by_field_name("argument"),
            "assignment_expression" => node.child_by_field_name("left"),
            _ => None,
        });
        assigned.into_iter().any(|node| names.contains(&self.text[node.byte_range()]))
    }

    /// A name that the program does not use.
    fn fresh(&self, word: &str) -> String {
        let mut number = 0;
        loop {
            let name = format!("{word}_{number}");
            if !self.text.contains(&name) {
                return name;
            }
            number += 1;
        }
    }
}

/// Puts something before and after a statement. Where only one statement can stand it becomes a block, so that an
/// `else` stays with its `if`.
fn around(place: Node<'_>, before: &str, after: &str) -> Vec<Edit> {
    match is_in_block(place) {
        true => put(place, before, after),
        false => put(place, &format!("{{ {before}"), &format!("{after} }}")),
    }
}

fn put(place: Node<'_>, before: &str, after: &str) -> Vec<Edit> {
    let (start, end) = (place.start_byte(), place.end_byte());
    vec![
        Edit { range: start..start, text: before.to_owned() },
        Edit { range: end..end, text: after.to_owned() },
    ]
}

/// Is a statement one of several?
fn is_in_block(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| matches!(parent.kind(), "compound_statement" | "case_statement"))
}

/// May a statement leave one that is around it?
fn leaves(statement: Node<'_>) -> bool {
    const LEAVING: [&str; 4] =
        ["break_statement", "continue_statement", "return_statement", "goto_statement"];
    nodes(statement).any(|node| LEAVING.contains(&node.kind()))
}

fn function_around(node: Node<'_>) -> Option<Node<'_>> {
    let mut parent = node.parent();
    while let Some(current) = parent
        && current.kind() != "function_definition"
    {
        parent = current.parent();
    }
    parent
}

#[cfg(test)]
mod tests;

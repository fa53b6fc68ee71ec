//! Names of a compiler's own functions, from the demangled ones: as people read them, and as change logs and stacks have them.

/// A function's name without parameters and template arguments.
#[must_use]
pub fn short_function(function: &str) -> String {
    stripped(function, "<…>")
}

/// A function's name as a change log has it: without namespaces, classes, parameters, template arguments and return type.
#[must_use]
pub fn plain_function(function: &str) -> String {
    let text = stripped(function, "");
    let name = text.trim().rsplit([' ', '*', '&']).next().unwrap_or_default();
    name.rsplit("::").next().unwrap_or(name).to_owned()
}

/// A function's name without parameters, and with a mark instead of template arguments.
fn stripped(function: &str, mark: &str) -> String {
    let text = function.replace("(anonymous namespace)::", "");
    let mut name = String::new();
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' if depth == 0 && !name.is_empty() => break,
            '<' => {
                name.push_str(if depth == 0 { mark } else { "" });
                depth += 1;
            }
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => name.push(c),
            _ => {}
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_named_without_what_is_long() {
        for (function, name) in [
            ("hash_table<a<b>, false>::expand(int)", "hash_table<…>::expand"),
            ("(anonymous namespace)::layout::print(int)", "layout::print"),
            ("main", "main"),
        ] {
            assert_eq!(short_function(function), name);
        }
    }

    #[test]
    fn names_are_those_of_change_logs() {
        for (demangled, name) in [
            ("number_of_iterations_cond(loop*, tree_node*)", "number_of_iterations_cond"),
            ("(anonymous namespace)::do_shift_rotate(tree_code, symbolic_number*, int)", "do_shift_rotate"),
            ("hash_table<a<b>, false>::expand()", "expand"),
            ("bool lra_insn<true>(rtx_def*)", "lra_insn"),
            ("main", "main"),
        ] {
            assert_eq!(plain_function(demangled), name);
        }
    }
}

//! Tests of the rules and of the operators that apply them.

use super::rules::UNARIES;
use super::*;
use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

const TEXT: &str = "static unsigned int a = 3, b;\nvolatile int c;\nstruct s { int m; } t;\n\
int f (const int *p, int n)\n{\n  int i, sum = 0;\n  for (i = 0; i < n && !c; i++)\n    sum += p[i] * 7;\n  \
{ int b = 2; sum ^= b & n; }\n  return sum;\n}\n\
int main (void)\n{\n  int k[2] = { 5, 0x10 };\n  a = f (k, 2) % 9;\n  if (a != 4)\n    __builtin_abort ();\n  \
return 0;\n}\n";

fn texts(rule: Rule) -> Vec<String> {
    let program = ParsedProgram::new(TEXT.as_bytes()).expect("it is text");
    program.edits(&[rule]).iter().map(|edit| program.edited(std::slice::from_ref(edit))).collect()
}

fn all_contain(rule: Rule, expected: &[&str]) {
    let texts = texts(rule);
    assert_eq!(texts.len(), expected.len(), "{rule}: {texts:#?}");
    for (text, part) in texts.iter().zip(expected) {
        assert!(text.contains(part), "{rule}: {text} should contain {part}");
    }
}

#[test]
fn there_are_as_many_rules_as_the_paper_counts() {
    let rules = rules();
    assert_eq!(rules.len(), 132);
    assert_eq!(rules.iter().collect::<BTreeSet<_>>().len(), 132);
}

#[test]
fn each_kind_changes_what_it_should_and_nothing_else() {
    all_contain(Rule::RemoveQualifier("volatile"), &["\n int c;"]);
    all_contain(Rule::InsertQualifier("restrict"), &["const int * __restrict p"]);
    all_contain(Rule::RemoveModifier("unsigned"), &["static int a"]);
    all_contain(Rule::ReplaceBinary("<", "=="), &["i == n && !c"]);
    all_contain(Rule::ReplaceBinary("&&", "||"), &["i < n || !c"]);
    all_contain(Rule::ReplaceBinary("^=", "|="), &["sum |= b & n"]);
    // The star of a pointer is none of these.
    all_contain(Rule::ReplaceBinary("*", "/"), &["p[i] / 7"]);
    let [up, down] = [UNARIES[1], UNARIES[2]];
    all_contain(Rule::ReplaceUnary(up, down), &[";  --i)"]);
    // 3, 0, 0, 7, 2, 2, 5, 0x10, 2, 9; not what main returns or checks.
    assert_eq!(texts(Rule::ChangeConstant(Change::Increment)).len(), 10);
    assert!(texts(Rule::ChangeConstant(Change::Negate)).iter().any(|text| text.contains("(-0x10)")));
    assert!(texts(Rule::ChangeConstant(Change::Decrement)).iter().any(|text| text.contains("i = (-1)")));
    for text in rules().into_iter().flat_map(texts) {
        assert!(
            text.contains("if (a != 4)\n    __builtin_abort ();") && text.contains("return 0;"),
            "{text}"
        );
    }
    let guarded = "#if __INT_MAX__ > 9\n#include <stdio.h>\nint x = 3;\n#else\nint x = 4;\n#endif\n";
    let program = ParsedProgram::new(guarded.as_bytes()).expect("it is text");
    assert_eq!(program.edits(&[Rule::ChangeConstant(Change::Zero)]).len(), 2, "not the condition's");
}

#[test]
fn modifiers_replace_what_excludes_them() {
    let check = |text: &str, rule: Rule, expected: &[&str]| {
        let program = ParsedProgram::new(text.as_bytes()).expect("it is text");
        let edits = program.edits(&[rule]);
        let texts: Vec<String> =
            edits.iter().map(|edit| program.edited(std::slice::from_ref(edit))).collect();
        assert_eq!(texts, expected, "{rule}");
    };
    check("signed char c;", Rule::InsertModifier("unsigned"), &["unsigned char c;"]);
    check("signed char c;", Rule::InsertModifier("long"), &[]);
    check("long long int x;", Rule::InsertModifier("short"), &["short int x;"]);
    check("double x;", Rule::InsertModifier("long"), &["long double x;"]);
    check("double x;", Rule::InsertModifier("signed"), &[]);
    check("unsigned x;", Rule::InsertModifier("long"), &["long unsigned x;"]);
    check("unsigned x;", Rule::RemoveModifier("unsigned"), &["int x;"]);
    check("float f; void g ();", Rule::InsertModifier("long"), &[]);
}

#[test]
fn unary_operators_are_replaced_and_removed() {
    let text = "int f (int a, int *p)\n{ for (; a; a--) p[0]++; return~a - !a + -(a + 1) + ~(a * 2); }\n";
    let program = ParsedProgram::new(text.as_bytes()).expect("it is text");
    let edits = program.edits(&Operator::Unary.rules());
    let made: BTreeSet<String> =
        edits.iter().map(|edit| program.edited(std::slice::from_ref(edit))).collect();
    let has = |part: &str| made.iter().any(|text| text.contains(part));
    for part in
        ["p[0];", "~p[0];", "--p[0];", "return a -", "return ++a -", "-  a +", "+  (a + 1)", "+  (a * 2)"]
    {
        assert!(has(part), "{part} in {made:#?}");
    }
    assert!(has("a;  ++a)") && !has("a;  a)") && !has("a;  ~a)"), "the loop still counts");
    assert!(!has("++(a * 2)"), "that cannot be assigned to");
    // Of `p[0]++` five, of the step three, of `~a` five, and one each of the others.
    assert_eq!(made.len(), 5 + 3 + 5 + 3);
}

#[test]
fn an_operator_makes_any_change_of_its_rules() {
    let program = ParsedProgram::new(TEXT.as_bytes()).expect("it is text");
    let ingredients = Ingredients::default();
    for operator in &Operator::ALL[4..] {
        let possible: BTreeSet<String> = operator.rules().into_iter().flat_map(texts).collect();
        let mut random = Rng::with_seed(3);
        let made: BTreeSet<String> =
            (0..2000).filter_map(|_| program.apply(*operator, &ingredients, &mut random)).collect();
        assert_eq!(made, possible, "{operator}");
    }
    for operator in &Operator::ALL[..3] {
        assert_eq!(
            program.apply(*operator, &ingredients, &mut Rng::with_seed(3)),
            None,
            "there is nothing to insert"
        );
    }
}

#[test]
fn variables_are_replaced_by_visible_ones_of_their_type() {
    let texts = texts(Rule::ReplaceVariable);
    assert!(texts.iter().any(|text| text.contains("sum ^= b & sum;")), "{texts:#?}");
    assert!(texts.iter().any(|text| text.contains("b = f (k, 2)")), "the outer b is like a");
    assert!(!texts.iter().any(|text| text.contains("sum += a[i]")), "p is no integer");
    assert!(!texts.iter().any(|text| text.contains("i < a")), "a is unsigned");
}

/// GCC accepts nearly all of them: a const that is assigned to, a pointer that loses its const with a warning, are to
/// be expected, and are for the oracle to leave out.
#[test]
fn most_mutants_compile() {
    let mutants: Vec<String> = rules().into_iter().flat_map(texts).collect();
    let compiling = mutants.iter().filter(|text| compiles(text)).count();
    assert!(mutants.len() > 100, "{} mutants", mutants.len());
    assert!(compiling * 10 >= mutants.len() * 9, "{compiling} of {} compile", mutants.len());
}

/// Does GCC accept a program?
pub(super) fn compiles(text: &str) -> bool {
    let mut compiler = Command::new("gcc");
    compiler.args(["-x", "c", "-w", "-fsyntax-only", "-"]).stdin(Stdio::piped()).stderr(Stdio::null());
    let mut child = compiler.spawn().expect("gcc starts");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    child.wait().expect("it ends").success()
}

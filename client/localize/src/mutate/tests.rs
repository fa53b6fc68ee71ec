//! Tests of the rules.

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
    let program = Program::new(TEXT.as_bytes()).expect("it is text");
    let apply = |edit: &Edit| {
        let mut text = TEXT.to_owned();
        text.replace_range(edit.range.clone(), &edit.text);
        text
    };
    program.edits(rule).iter().map(apply).collect()
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
    all_contain(Rule::RemoveModifier("unsigned"), &["static  int a"]);
    all_contain(Rule::ReplaceModifier("unsigned", "short"), &["static short int a"]);
    all_contain(Rule::ReplaceOperator("<", "=="), &["i == n && !c"]);
    all_contain(Rule::ReplaceOperator("&&", "||"), &["i < n || !c"]);
    // The operator of an assignment is none of these, nor is the star of a pointer.
    all_contain(Rule::ReplaceOperator("*", "/"), &["p[i] / 7"]);
    let [up, down] = [UPDATES[1], UPDATES[2]];
    all_contain(Rule::ReplaceUpdate(up, down), &["; --i)"]);
    all_contain(Rule::RemoveNegation, &["&& c; i++"]);
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
    let program = Program::new(guarded.as_bytes()).expect("it is text");
    assert_eq!(program.edits(Rule::ChangeConstant(Change::Zero)).len(), 2, "not the condition's");
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
    let compiles = |text: &String| {
        let mut compiler = Command::new("gcc");
        compiler.args(["-x", "c", "-w", "-fsyntax-only", "-"]).stdin(Stdio::piped()).stderr(Stdio::null());
        let mut child = compiler.spawn().expect("gcc starts");
        child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
        child.wait().expect("it ends").success()
    };
    let compiling = mutants.iter().filter(|text| compiles(text)).count();
    assert!(mutants.len() > 100, "{} mutants", mutants.len());
    assert!(compiling * 10 >= mutants.len() * 9, "{compiling} of {} compile", mutants.len());
}

//! Tests of what is inserted, and of where it comes from.

use super::super::tests::compiles;
use super::*;
use crate::mutate::Operator;
use std::collections::BTreeSet;

/// A test program with good and bad ingredients.
const SOURCE: &str = "struct s { int m; } t;\nint all;\ntypedef int number;\n\
static int __attribute__ ((noinline)) g (int x) { int y = x * 3; return y; }\n\
double h (double d) { return d + 1.0; }\nint again (int x) { return again (x); }\n\
int outer (void) { return all; }\nint slow (int x) { while (x) x--; return x; }\nint stops (void) { abort (); }\n\
inline int linked (int x) { return x; }\nint old (x) int x; { return x; }\n\
int main (void)\n{\n  int i = 2, j = 1;\n  double e = 1;\n  number n = 3;\n  int *p = &i;\n\
  if (i > 5 && j) j = 1;\n  if (j > 5 && i) j = 1;\n  if (e < 0.5) j = 1;\n  if (n == 4) j = 1;\n\
  while (i--) j++;\n  for (j = 0; j < 7; j++) ;\n  do j = 1; while (p != 0);\n\
  if (t.m) j = 1;\n  if (p[0]) j = 1;\n  if (*p) j = 1;\n  if (j == LIMIT) j = 1;\n  if (g (4)) j = 1;\n\
  h (e); again (i); outer (); slow (i); stops (); linked (i); old (i); g (i + j); h (e, e);\n  return 0;\n}\n";

fn ingredients_of(source: &str) -> Ingredients {
    Ingredients::new([source.to_owned()].into_iter())
}

/// Everything that an operator makes of a program.
fn made(text: &str, operator: Operator, ingredients: &Ingredients) -> BTreeSet<String> {
    let program = ParsedProgram::new(text.as_bytes()).expect("it is text");
    let mut random = Rng::with_seed(5);
    (0..400).filter_map(|_| program.apply(operator, ingredients, &mut random)).collect()
}

fn check(text: &str, operator: Operator, ingredients: &Ingredients, expected: &[&str]) {
    let made = made(text, operator, ingredients);
    let expected: BTreeSet<String> = expected.iter().map(|&text| text.to_owned()).collect();
    assert_eq!(made, expected, "{operator}");
    for text in made {
        assert!(compiles(&text), "{text}");
    }
}

#[test]
fn ingredients_refer_to_nothing_but_variables() {
    let ingredients = ingredients_of(SOURCE);
    let texts = |phrases: &[Phrase]| phrases.iter().map(|phrase| phrase.text.clone()).collect::<Vec<_>>();
    // The second is the first with other names.
    assert_eq!(texts(&ingredients.branches), ["v0 > 5 && v1", "v0 < 0.5", "v0 == 4"]);
    // One is of the function that is too slow to be called.
    assert_eq!(texts(&ingredients.loops), ["v0", "v0--", "v0 < 7", "v0 != 0"]);
    let arguments: Vec<Phrase> = ingredients.calls.iter().map(|call| call.arguments.clone()).collect();
    assert_eq!(texts(&arguments), ["(4)", "(v0)", "(v0 + v1)"]);
    assert!(ingredients.calls[0].function.starts_with("static int __attribute__ ((noinline)) g (int x)"));
    assert_eq!(&ingredients.calls[1].function[ingredients.calls[1].name.clone()], "h");
}

#[test]
fn a_pool_is_read_from_a_directory() {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, value) in [("b.c", 2), ("a.c", 1), ("c.c", 3), ("notes.txt", 4)] {
        let text = format!("int f (int x)\n{{\n  if (x == {value})\n    return 1;\n  return 0;\n}}\n");
        std::fs::write(directory.path().join(name), text).expect("it is written");
    }
    let texts = |limit: usize| {
        let ingredients = Ingredients::read(directory.path(), limit).expect("it is read");
        ingredients.branches.iter().map(|phrase| phrase.text.clone()).collect::<Vec<_>>()
    };
    assert_eq!(texts(10), ["v0 == 1", "v0 == 2", "v0 == 3"]);
    assert_eq!(texts(2), ["v0 == 1", "v0 == 3"]);
    assert!(Ingredients::read(&directory.path().join("none"), 1).is_err());
}

#[test]
fn each_operator_inserts_what_it_should() {
    let text = |top: &str, statement: &str| {
        format!(
            "int a;\n{top}int main (void)\n{{\n  {statement}\n  if (a != 2)\n    __builtin_abort ();\n  return 0;\n}}\n"
        )
    };
    let program = text("", "a = 2;");
    let check = |operator, expected: &[(&str, &str)]| {
        let texts: Vec<String> = expected.iter().map(|(top, statement)| text(top, statement)).collect();
        check(
            &program,
            operator,
            &ingredients_of(SOURCE),
            &texts.iter().map(String::as_str).collect::<Vec<_>>(),
        );
    };
    check(Operator::Branch, &[("", "if (a > 5 && a) a = 2;"), ("", "if (a == 4) a = 2;")]);
    let rounds =
        |condition| format!("{{ int rounds_0 = 8; while (({condition}) && rounds_0-- > 0) a = 2; }}");
    check(Operator::Loop, &[("", &rounds("a")), ("", &rounds("a--")), ("", &rounds("a < 7"))]);
    check(Operator::Goto, &[("", "goto after_0; after_0:; a = 2;"), ("", "goto after_0; a = 2; after_0:;")]);
    let function = "static int __attribute__ ((noinline)) called_0 (int x) { int y = x * 3; return y; }\n";
    check(Operator::Call, &[(function, "called_0 (4); a = 2;"), (function, "called_0 (a + a); a = 2;")]);
}

#[test]
fn no_check_is_skipped() {
    let text = "int a;\n#define CHECK(x) if (!(x)) __builtin_abort ()\nvoid verify (void) { CHECK (a); }\n\
int main (void)\n{\n  for (a = 0; a < 3; a++)\n    if (a > 2)\n      __builtin_abort ();\n  verify ();\n  return 0;\n}\n";
    let ingredients = ingredients_of(
        "int f (int x) { if (x < 9) x = 1; while (x < 7) x++; return x; }\nint g (void) { f (4); }\n",
    );
    assert_eq!(made(text, Operator::Branch, &ingredients), BTreeSet::new());
    let repeated = |from: &str| {
        let to = format!("{{ int rounds_0 = 8; do {from} while ((a < 7) && rounds_0-- > 0); }}");
        text.replace(from, &to)
    };
    let whole = "for (a = 0; a < 3; a++)\n    if (a > 2)\n      __builtin_abort ();";
    check(text, Operator::Loop, &ingredients, &[&repeated(whole), &repeated("verify ();")]);
    let jumps = |before: &str| text.replace(before, &format!("goto after_0; after_0:; {before}"));
    check(text, Operator::Goto, &ingredients, &[&jumps("for ("), &jumps("verify ();")]);
}

#[test]
fn an_else_stays_with_its_if() {
    let text = "int a;\nint main (void)\n{\n  if (a)\n    a = 1;\n  else\n    a = 2;\n  return a;\n}\n";
    let ingredients = ingredients_of("int f (int x) { if (x < 9) x = 1; }\n");
    let at = |statement: &str| text.replace(statement, &format!("{{ if (a < 9) {statement} }}"));
    let before = text.replace("if (a)", "if (a < 9) if (a)");
    check(text, Operator::Branch, &ingredients, &[&at("a = 1;"), &at("a = 2;"), &before]);
}

#[test]
fn loops_still_end() {
    let ingredients = ingredients_of("void f (int x) { while (x--) ; }\n");
    let text = "void f (int a, const int c)\n{\n  int b = c;\n  while (a)\n    {\n      b = 1;\n      a--;\n      if (b) break;\n    }\n}\n";
    let made_loops = made(text, Operator::Loop, &ingredients);
    let inner = |name| format!("while (({name}--) && rounds_0-- > 0) b = 1;");
    let has = |part: &str| made_loops.iter().any(|text| text.contains(part));
    assert!(has(&inner("b")), "{made_loops:#?}");
    assert!(!has(&inner("a")), "the loop is over when a is 0");
    assert!(!has("(c--)"), "it is constant");
    assert!(!has("rounds_0-- > 0) if (b) break;"), "it would no longer leave the loop");
    let jumps = made(text, Operator::Goto, &ingredients);
    assert!(jumps.iter().any(|text| text.contains("goto after_0; b = 1; after_0:;")));
    assert!(!jumps.iter().any(|text| text.contains("a--; after_0:;")), "{jumps:#?}");
}

#[test]
fn most_mutants_compile_and_all_keep_their_checks() {
    let text = "#include <stdio.h>\n#pragma GCC optimize (\"O2\")\ntypedef unsigned long size;\n\
typedef int vector __attribute__ ((vector_size (16)));\nenum e { A, B } kind;\nconst int fixed = 4;\n\
vector v;\nsize count = 3;\nfloat ratio;\nstruct s { int m; } t;\n\
static int f (int *p, size n)\n{\n  int sum = 0;\n#pragma GCC ivdep\n  for (size i = 0; i < n; i++)\n    sum += p[i];\n\
  switch (sum)\n    {\n    case 1:\n      sum++;\n      break;\n    default:\n      t.m = sum;\n    }\n  if (sum > 3)\n    goto out;\n\
  int late = sum;\n  sum = late * 2;\nout:\n  kind = B;\n  return sum;\n}\n\
int main (void)\n{\n  int k[3] = { 1, 2, 3 };\n  { char local = 1; k[local] = fixed; }\n  v += 1;\n  ratio *= 2;\n\
  k[0] = f (k, count);\n  if (k[0] != 8)\n    __builtin_abort ();\n  printf (\"%d\\n\", k[0]);\n  return 0;\n}\n";
    assert!(compiles(text));
    let ingredients = ingredients_of(SOURCE);
    for operator in &Operator::ALL[..4] {
        let mutants: Vec<String> = made(text, *operator, &ingredients).into_iter().take(40).collect();
        assert!(mutants.len() >= 15, "{operator}: {}", mutants.len());
        let compiling = mutants.iter().filter(|text| compiles(text)).count();
        assert!(compiling * 20 >= mutants.len() * 19, "{operator}: {compiling} of {}", mutants.len());
        for mutant in made(text, *operator, &ingredients) {
            let check = "if (k[0] != 8)\n    __builtin_abort ();\n  printf (\"%d\\n\", k[0]);\n  return 0;";
            assert!(mutant.contains(check), "{mutant}");
            assert!(mutant.contains("#pragma GCC ivdep\n  for ("), "{mutant}");
            assert!(mutant.contains("\nint late = sum;"), "{mutant}");
        }
        assert_eq!(
            made(text, *operator, &ingredients),
            made(text, *operator, &ingredients),
            "equal seeds make the same"
        );
    }
}

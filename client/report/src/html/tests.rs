//! The page of handmade localizations.

use super::{About, page};
use hearth_client::protocol::Suspect;
use hearth_compiler::spent::Spent;
use hearth_localize::localization::{Localization, Sample, Witness};
use hearth_localize::oracle::{Reason, Symptom, Verdict};
use std::time::Duration;

const HOSTILE: &str = "</script><script>alert('1')</script> \"x\" & \u{1b}[31m";

fn suspect(rank: u32, source: &str, line: u32, function: &str) -> Suspect {
    let (source, function) = (source.to_owned(), function.to_owned());
    Suspect { rank, score: 1.0 / f64::from(rank), source, line, function }
}

fn witness(change: &str, verdict: Verdict, program: Option<&str>, lacks: Option<u64>) -> Witness {
    let (change, program) = (change.to_owned(), program.map(str::to_owned));
    Witness { change, verdict, program, at: Duration::from_secs(3), lacks }
}

fn empty(symptom: Symptom) -> Localization {
    Localization {
        symptom,
        files: Vec::new(),
        functions: Vec::new(),
        lines: Vec::new(),
        samples: Vec::new(),
        spent: Spent::default(),
        witnesses: Vec::new(),
        is_complete: false,
        executed_files: 90,
        executed_functions: 900,
        prepared: Duration::from_secs(2),
        total: Duration::from_secs(60),
    }
}

fn about(text: &str) -> About<'_> {
    About {
        subject: "gcc-11",
        program: "wrong.c",
        text,
        fail: "-O2".to_owned(),
        pass: None,
        technique: "diwi",
        seed: 1,
        budget: Duration::from_secs(60),
        made: "today".to_owned(),
    }
}

fn found() -> Localization {
    let files = vec![suspect(1, "/s/gcc/fold.c", 0, ""), suspect(2, "/s/gcc/config/i386.c", 0, "")];
    let sample = |at, passing, ranks: [u32; 2]| Sample {
        at: Duration::from_secs(at),
        judged: 10,
        passing,
        files: vec![
            suspect(ranks[0], "/s/gcc/fold.c", 0, ""),
            suspect(ranks[1], "/s/gcc/config/i386.c", 0, ""),
        ],
    };
    Localization {
        functions: vec![
            suspect(1, "/s/gcc/fold.c", 2, "fold_one(tree_node*)"),
            suspect(2, "/s/gcc/config/i386.c", 7, "expand(int)"),
        ],
        lines: vec![suspect(1, "/s/gcc/fold.c", 4, ""), suspect(2, "/s/gcc/fold.c", 8, "")],
        samples: vec![sample(10, 1, [2, 1]), sample(20, 2, [1, 2])],
        spent: Spent { compile: Duration::from_secs(3), rank: Duration::from_secs(1), ..Spent::default() },
        witnesses: vec![
            witness("far", Verdict::Pass, Some("int a;\nint b = 2;\n"), Some(500)),
            witness("unknown", Verdict::Pass, Some("int a;\n"), None),
            witness("near", Verdict::Pass, Some("int a;\nint b = 3;\n"), Some(12)),
            witness("same", Verdict::Fail, None, None),
            witness("broken", Verdict::Unusable(Reason::DoesNotCompile), None, None),
        ],
        files,
        ..empty(Symptom::WrongCode)
    }
}

fn source(_: &str) -> Option<String> {
    Some(
        "static tree\nfold_one (tree t)\n{\n  return 0 * t;\n}\n\nint other (void)\n{ return 1 < 2; }\n"
            .to_owned(),
    )
}

/// Everything between tags, with references as they are.
fn tags(page: &str) -> Vec<&str> {
    page.split('<').skip(1).filter_map(|part| part.split(['>', ' ', '\n']).next()).collect()
}

#[test]
fn hostile_text_stays_text() {
    let mut found = found();
    found.symptom = Symptom::Crash(HOSTILE.to_owned());
    for suspect in found.files.iter_mut().chain(&mut found.functions).chain(&mut found.lines) {
        suspect.source = format!("/s/{HOSTILE}/{}", suspect.source);
        suspect.function = format!("{}{HOSTILE}", suspect.function);
    }
    for sample in &mut found.samples {
        sample.files.clone_from(&found.files);
    }
    for witness in &mut found.witnesses {
        witness.change = HOSTILE.to_owned();
        witness.program = witness.program.as_ref().map(|_| HOSTILE.to_owned());
    }
    let text = format!("int a;\n{HOSTILE}\0");
    let about = About {
        subject: HOSTILE,
        program: HOSTILE,
        fail: HOSTILE.to_owned(),
        pass: Some(HOSTILE.to_owned()),
        technique: HOSTILE,
        made: HOSTILE.to_owned(),
        ..about(&text)
    };
    for source_of in [|_: &str| Some(format!("{HOSTILE}\n").repeat(9)), |_: &str| None] {
        let page = page(&about, &found, source_of);
        assert!(tags(&page).iter().all(|tag| !tag.contains("script")), "a script is left");
        assert!(!page.contains("alert('") && !page.contains("\"x\""), "a quote is left");
        let control = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(!page.contains(control), "a control character is left");
        assert!(page.contains("&lt;/script&gt;") && page.contains('\u{241b}'));
    }
}

#[test]
fn what_is_missing_is_said() {
    let nothing = page(&about(""), &empty(Symptom::Crash("internal error".to_owned())), source);
    for part in [
        "Nothing that was tried makes it pass",
        "No lines are suspicious",
        "Nothing was judged",
        "No ranking was taken on the way",
        "was not measured",
        "not given: a crash needs none",
        "internal error",
        "the time was over before everything was tried",
    ] {
        assert!(nothing.contains(part), "the page should say `{part}`");
    }
    assert!(!nothing.contains("<svg"));
    let mut none_passes = found();
    none_passes.witnesses.retain(|witness| witness.verdict != Verdict::Pass);
    assert!(page(&about(""), &none_passes, source).contains("None of them passes"));
    assert!(page(&about(""), &found(), |_| None).contains("cannot be read, so only the numbers"));
}

#[test]
fn the_most_telling_witnesses_are_first() {
    let page = page(&about("int a;\nint b = 1;"), &found(), source);
    let places = ["near", "far", "unknown"].map(|name| page.find(&format!("<h3><code>{name}</code>")));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
    assert!(page.contains("<del>1</del>") && page.contains("<ins>3</ins>"), "changed words are marked");
    assert!(page.contains("did not execute 12 lines"));
    assert!(page.contains("neither: does not compile"));
    assert!(!page.contains("<h3><code>same</code>"), "one that fails is only in the table");
}

#[test]
fn lines_are_shown_in_their_functions() {
    let page = page(&about(""), &found(), source);
    assert!(
        page.contains("<a href=\"#file-0-0\"><code title=\"fold_one(tree_node*)\">"),
        "functions lead to their lines"
    );
    assert!(page.contains("<h4 id=\"file-0-0\"><code title=\"fold_one(tree_node*)\">fold_one</code>"));
    // Line 8 is behind the end of the ranked function.
    assert!(page.contains("<h4 id=\"file-0-1\">In functions of lower rank</h4>"));
    assert!(
        page.contains("<code>  return 0 * t;</code>") && page.contains("<code>{ return 1 &lt; 2; }</code>")
    );
    assert_eq!(page.matches("<tr class=\"hot\">").count(), 2);
    assert!(page.contains("<code title=\"/s/gcc/config/i386.c\">config/i386.c</code>"), "names are short");
    assert!(
        page.contains("Most suspicious: file <code title=\"/s/gcc/fold.c\">fold.c</code>, function <code")
    );
    let mut ties = found();
    for rank in ties.functions.iter_mut().map(|function| &mut function.rank) {
        *rank = 2;
    }
    assert!(super::page(&about(""), &ties, source).contains("fold.c</code>, 2 functions that are equal."));
}

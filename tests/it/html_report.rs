//! The report of a localization in a browser: what a reader sees, on any paper and width, and that it asks for nothing.

use crate::chromium::Browser;
use crate::daemon::Daemon;
use crate::{hearth, run};
use hearth_client::protocol::Suspect;
use hearth_compiler::spent::Spent;
use hearth_localize::localization::{Localization, Sample, Witness};
use hearth_localize::oracle::{Reason, Symptom, Verdict};
use hearth_report::html::{About, page};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

const FAILING: &str =
    "int a = 1;\n// </script><script>document.title = 'taken'</script>\nint main(void) { return a + 1; }\n";
const SOURCE: &str =
    "static tree\nfold_one (tree t)\n{\n  tree sum = fold_sum (t, \"<b>\");\n  return sum;\n}\n";
/// As long as names in a compiler are.
const LONG: &str =
    "std::_Rb_tree_iterator_of_something_that_has_no_space_and_no_end_of_its_own_however_wide_the_paper_is";

fn suspect(rank: u32, source: &str, line: u32, function: &str) -> Suspect {
    let (source, function) = (format!("/compiler/source/{source}"), function.to_owned());
    Suspect { rank, score: 0.9 / f64::from(rank), source, line, function }
}

fn found() -> Localization {
    let names =
        ["fold-const.c", "tree-ssa-loop-niter.c", "config/i386/i386-expand.c", LONG, "tree.h", "cfg.c"];
    let files = |first: u32| -> Vec<Suspect> {
        let ranked = names.iter().zip(1_u32..);
        ranked.map(|(name, rank)| suspect((rank + first) % 6 + 1, name, 0, "")).collect()
    };
    let sample = |at: u32| Sample {
        at: Duration::from_secs(u64::from(at)),
        judged: at as usize * 4,
        passing: at as usize,
        // It is as at the end from the middle on.
        files: files(if at < 20 { at } else { 5 }),
    };
    let witness = |change: &str, verdict, program: Option<&str>, lacks| Witness {
        change: change.to_owned(),
        verdict,
        program: program.map(str::to_owned),
        at: Duration::from_millis(1500),
        lacks,
    };
    Localization {
        symptom: Symptom::Crash("internal compiler error: <b>in</b> fold, at fold-const.c:4".to_owned()),
        files: files(5),
        functions: vec![
            suspect(1, "fold-const.c", 2, "fold_one(tree_node*)"),
            suspect(2, LONG, 9, &format!("{LONG}<int>(long)")),
        ],
        lines: vec![suspect(1, "fold-const.c", 4, ""), suspect(2, LONG, 11, "")],
        samples: (1..40).map(sample).collect(),
        spent: Spent {
            compile: Duration::from_secs(30),
            link: Duration::from_secs(9),
            execute: Duration::from_secs(3),
            rank: Duration::from_secs(1),
        },
        witnesses: vec![
            witness("replace + by -", Verdict::Pass, Some(&FAILING.replace("a + 1", "a - 1")), Some(40)),
            witness("-fno-tree-vrp", Verdict::Pass, None, Some(700)),
            witness(&LONG.repeat(3), Verdict::Fail, None, None),
            witness("delete a statement", Verdict::Unusable(Reason::DoesNotCompile), None, None),
        ],
        is_complete: false,
        executed_files: 412,
        executed_functions: 9031,
        prepared: Duration::from_secs(4),
        total: Duration::from_secs(41),
    }
}

fn report() -> String {
    let about = About {
        subject: "gcc-11",
        program: "wrong.c",
        text: FAILING,
        fail: "-O2 -fwrapv".to_owned(),
        pass: Some("-O0".to_owned()),
        technique: "diwi",
        seed: 7,
        budget: Duration::from_secs(40),
        made: "2026-01-01T00:00:00Z".to_owned(),
    };
    page(&about, &found(), |source| source.ends_with("/fold-const.c").then(|| SOURCE.to_owned()))
}

/// What is to be read on the page.
const READ: &[&str] = &[
    "internal compiler error: <b>in</b> fold",
    "Most suspicious: file fold-const.c, function fold_one",
    "-O2 -fwrapv",
    "4: 2 pass, 1 fail, 1 neither",
    "the time was over before everything was tried",
    "did not execute 40 lines of the failing compile",
    "-fno-tree-vrp",
    "document.title = 'taken'",
    "cannot be read, so only the numbers",
    "tree sum = fold_sum (t, \"<b>\");",
];

/// What a browser is asked, and what it must answer.
fn seen_by_a_browser() -> Vec<(&'static str, Value)> {
    vec![
        (
            "document.querySelector('.suspects tbody tr').innerText.trim().split(/\\s+/)",
            json!(["1", "0.900", "fold-const.c"]),
        ),
        (
            "document.querySelector('.diff .removed code').innerText",
            json!("int main(void) { return a + 1; }"),
        ),
        ("document.querySelector('.diff .added code').innerText", json!("int main(void) { return a - 1; }")),
        ("document.querySelector('.diff .added ins').innerText", json!("-")),
        ("document.querySelector('.hot code').innerText", json!("  tree sum = fold_sum (t, \"<b>\");")),
        // Charts have lines that can be seen, five files and the witnesses.
        ("document.querySelectorAll('svg.plot').length", json!(2)),
        (
            "[...document.querySelectorAll('svg.plot')].every(plot => plot.getBoundingClientRect().width > 300 && plot.getBoundingClientRect().height > 150)",
            json!(true),
        ),
        (
            "[...document.querySelectorAll('svg.plot path.line')].filter(line => line.getTotalLength() > 200).length",
            json!(6),
        ),
        (
            "[...document.querySelectorAll('svg.plot text')].every(text => text.getBoundingClientRect().height > 8)",
            json!(true),
        ),
        (
            "[...document.querySelectorAll('svg.plot text')].every(text => text.getBoundingClientRect().right <= text.ownerSVGElement.getBoundingClientRect().right)",
            json!(true),
        ),
        // Nothing is cut off, every link leads somewhere, and no script is there.
        ("document.documentElement.scrollWidth <= document.documentElement.clientWidth", json!(true)),
        (
            "[...document.querySelectorAll('body *')].filter(e => !e.closest('svg') && e.getBoundingClientRect().right > innerWidth).length",
            json!(0),
        ),
        (
            "[...document.querySelectorAll('a')].every(a => document.querySelectorAll(a.getAttribute('href')).length === 1)",
            json!(true),
        ),
        ("[...document.querySelectorAll('th')].every(th => th.scope)", json!(true)),
        ("document.scripts.length", json!(0)),
    ]
}

#[test]
fn a_reader_sees_the_result_on_any_paper_and_width() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("report.html");
    fs::write(&path, report()).expect("it is written");
    let mut browser = Browser::start();
    let mut papers: Vec<Value> = Vec::new();
    for (width, scheme) in [(1400, "light"), (400, "light"), (400, "dark")] {
        browser.open(&path, width, scheme);
        let seen = format!("at {width} pixels, {scheme}");
        assert_eq!(browser.evaluate("document.title"), "gcc-11 crashes on wrong.c", "{seen}");
        let text = browser.evaluate("document.body.innerText");
        let text = text.as_str().expect("a text");
        for part in READ {
            assert!(text.contains(part), "{seen}, `{part}` should be read in\n{text}");
        }
        assert!(!text.contains("delete a statement"), "{seen}, the table of all witnesses is folded");
        for (expression, expected) in seen_by_a_browser() {
            assert_eq!(browser.evaluate(expression), expected, "{seen}: {expression}");
        }
        papers.push(browser.evaluate("getComputedStyle(document.body).backgroundColor"));
        assert_eq!(browser.requests(&path), [""; 0], "{seen}, it asks for nothing");
        assert!(browser.complaints().is_empty(), "{seen}: {:?}", browser.complaints());
    }
    assert_eq!(papers[0], papers[1]);
    assert_ne!(papers[1], papers[2], "dark paper is dark");
}

#[test]
fn a_page_that_asks_or_complains_would_be_noticed() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("bad.html");
    let bad = "<!DOCTYPE html><div style=\"width:900px\">wide</div><img src=\"http://127.0.0.1:9/x.png\">\
               <script>console.error('no'); undefined.field</script>";
    fs::write(&path, bad).expect("it is written");
    let mut browser = Browser::start();
    browser.open(&path, 400, "light");
    assert_eq!(browser.requests(&path), ["http://127.0.0.1:9/x.png"]);
    assert!(browser.complaints().len() >= 2, "{:?}", browser.complaints());
    let wide =
        browser.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth");
    assert_eq!(wide, true);
}

/// `hearth localize` with a program that relies on what the standard leaves open, so that options make a difference.
fn localize(directory: &Path, html: &Path) -> Output {
    let program = directory.join("open.c");
    let text = "__attribute__((noinline)) int one(int *a, float *b) { *a = 1; *b = 0; return *a; }\n\
                int main(void) { int a; return one(&a, (float *)&a); }\n";
    fs::write(&program, text).expect("it is written");
    let mut command = Command::new(hearth());
    command.arg("localize").arg(program).args([
        "--subject=gcc-11",
        "--fail=-O2",
        "--pass=-O0",
        "--count=30",
        "--html",
    ]);
    run(command.arg(html).env("HEARTH_RUNTIME_DIR", directory.join("run")))
}

#[test]
fn a_report_that_cannot_be_written_is_told_before_time_is_spent() {
    let directory = tempfile::tempdir().expect("a directory");
    for path in [directory.path().join("none/report.html"), directory.path().to_owned()] {
        let output = localize(directory.path(), &path);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && message.lines().count() == 1, "{message}");
        assert!(message.contains("give --html a file in a directory that exists"), "{message}");
        assert!(!directory.path().join("run").exists(), "no daemon was started");
    }
}

#[test]
#[ignore = "needs the subject gcc-11: tools/test --full"]
fn the_command_writes_the_report() {
    let permissions = fs::Permissions::from_mode(0o700);
    let directory = tempfile::Builder::new().permissions(permissions).tempdir().expect("a directory");
    let _daemon =
        Daemon::start(&PathBuf::from(env!("CARGO_BIN_EXE_hearthd")), &directory.path().join("run"), &[]);
    let path = directory.path().join("report.html");
    let output = localize(directory.path(), &path);
    let (printed, message) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{message}");
    assert!(message.contains(&format!("the report is {}", path.display())), "{message}");
    let first = printed.lines().skip_while(|line| !line.starts_with("files in /")).nth(1).expect("a file");
    let first = first.split_whitespace().last().expect("its name");
    let mut browser = Browser::start();
    browser.open(&path, 1400, "light");
    let row = browser.evaluate("document.querySelector('.suspects tbody tr').innerText");
    assert!(row.as_str().is_some_and(|row| row.contains(first)), "{row} should name {first}");
    let code = browser.evaluate("document.querySelector('.hot code').innerText.trim().length");
    assert!(code.as_u64() > Some(0), "the compiler's source is shown");
    assert!(browser.complaints().is_empty() && browser.requests(&path).is_empty());
}

//! The daemon and its clients: who serves, and what is answered.

use crate::daemon::Daemon;
use crate::{project, run_ok};
use hearth_client::protocol::{
    Address, Aggregation, Answer, Ask, CRASH_PATH, Encoding, FailureKind, FileLines, Formula, Level, Measure,
    Observe, Order, Outcome, RunInput, RunRef,
};
use hearth_client::{AsyncConnection, Connection, Error};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn hearthd() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_hearthd"))
}

pub fn start(directory: &Path, arguments: &[&str]) -> Daemon {
    Daemon::start(&hearthd(), directory, arguments)
}

pub fn scratch() -> tempfile::TempDir {
    tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o700)).tempdir().expect("a directory")
}

/// A compile by tcc.
pub fn tcc() -> Order {
    let arguments = ["-c", "{}", "-o", "out.o"].map(str::to_owned).to_vec();
    Order { subject: "tcc".to_owned(), arguments, directory: Some("/tmp".to_owned()), ..Order::default() }
}

/// A program of which there are many.
fn program(number: u32) -> String {
    let body = match number % 4 {
        0 => format!("return a + {number};"),
        1 => format!("for (int i = 0; i < {number}; i++) a ^= i; return a;"),
        2 => format!("switch (a) {{ case {number}: return 1; default: return a; }}"),
        _ => format!("struct {{ int x : 3; }} s = {{ a }}; return s.x * {number};"),
    };
    format!("int f(int a) {{ {body} }}\n")
}

/// A run on it.
pub fn input(number: u32) -> RunInput {
    RunInput { input: Some(program(number).as_str().into()), ..RunInput::default() }
}

/// A run's number on a program.
pub fn run(hearth: &mut Connection, number: u32) -> u64 {
    let done = hearth.run(tcc(), input(number)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((done.outcome, done.no_coverage), (Outcome::Exited(0), None));
    done.run
}

/// All questions about three runs.
pub fn questions(runs: [u64; 3]) -> Vec<Ask> {
    let [one, two, three] = runs.map(RunRef::Id);
    let mut asks = Vec::new();
    for level in [Level::Lines, Level::Functions, Level::Files] {
        for counts in [false, true] {
            asks.push(Ask::Spectrum { run: one.clone(), level, counts });
            asks.push(Ask::Delta { run: one.clone(), against: two.clone(), level, counts });
            asks.push(Ask::Delta { run: three.clone(), against: RunRef::Baseline, level, counts });
        }
        for formula in [Formula::Ochiai, Formula::Dstar, Formula::Votes] {
            asks.push(Ask::Rank {
                failing: vec![one.clone()],
                passing: vec![two.clone(), three.clone()],
                innocent: Vec::new(),
                formula,
                aggregation: Aggregation::RankWeighted,
                level,
                limit: 30,
                counts: false,
                without: Vec::new(),
            });
        }
    }
    for measure in [Measure::JaccardLines, Measure::JaccardFiles, Measure::Locseq] {
        asks.push(Ask::Distance { run: two.clone(), against: one.clone(), measure });
    }
    asks.push(Ask::Quality { failing: one, passing: vec![two, three], alpha: 0.8 });
    asks
}

#[test]
fn a_run_can_be_kept_from_its_program_and_can_crash_on_purpose() {
    let directory = scratch();
    let daemon = start(directory.path(), &[]);
    let mut hearth = daemon.connect(Encoding::Json);
    let mut head = |path: &str, hides_program: bool| {
        let arguments = ["-c", "4", path].map(str::to_owned).to_vec();
        let order = Order { subject: "/usr/bin/head".to_owned(), arguments, ..Order::default() };
        let given = RunInput { hides_program, ..RunInput::default() };
        hearth.run(order, given).unwrap_or_else(|error| panic!("{error}"))
    };
    let own = "/proc/self/exe";
    let found = head(own, false);
    assert_eq!((found.outcome, &found.stdout.0[..]), (Outcome::Exited(0), &b"\x7fELF"[..]));
    let hidden = head(own, true);
    assert_eq!((hidden.outcome, &hidden.stdout.0[..]), (Outcome::Exited(1), &b""[..]));
    assert!(String::from_utf8_lossy(&hidden.stderr.0).contains("No such file"), "{hidden:?}");
    assert_eq!(head("/usr/bin/head", true).outcome, Outcome::Exited(0), "nothing else is hidden");
    assert_eq!(head(CRASH_PATH, false).outcome, Outcome::Signalled(libc::SIGSEGV));
}

#[test]
fn a_run_can_have_arguments_of_its_own() {
    let directory = scratch();
    let daemon = start(directory.path(), &[]);
    let mut hearth = daemon.connect(Encoding::Json);
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let plain = "-c {} -o out.o";
    let other = "-c -g -DX=3 {} -o other.o";
    let at_main = |arguments: &str| Order { arguments: words(arguments), warm: Some("main".into()), ..tcc() };
    let own = |hearth: &mut Connection, arguments: &str| {
        let given = RunInput { arguments: Some(words(arguments)), ..input(7) };
        hearth.run(at_main(plain), given).unwrap_or_else(|error| panic!("{error}"))
    };
    // The same as a zygote with these arguments, count for count, whatever came before.
    for arguments in [other, plain, other, "-E {}"] {
        let expected = hearth.run(at_main(arguments), input(7)).unwrap_or_else(|error| panic!("{error}"));
        let found = own(&mut hearth, arguments);
        assert_eq!((found.outcome, &found.stdout), (expected.outcome, &expected.stdout));
        assert_eq!(found.files, expected.files);
        assert_eq!(lines_between(&mut hearth, found.run, expected.run), [], "with {arguments}");
    }
    assert_eq!(own(&mut hearth, "-no-such-option {}").outcome, Outcome::Exited(1));
    // What the zygote has read already cannot be replaced, and too much is no argument.
    let many = vec!["-DA".to_owned(); 2000];
    for (order, arguments, part) in [
        (tcc(), words(plain), "only if its order waits at `main`"),
        (at_main(plain), words("-c out.c"), "input.c is not among the program's arguments"),
        (at_main(plain), [words("{}"), many].concat(), "the number of the run's arguments"),
        (at_main(plain), vec!["{}".to_owned(), "x".repeat(40_000)], "the run's environment and arguments"),
        (at_main(plain), vec!["{}".to_owned(), "x\0".to_owned()], "NUL"),
    ] {
        match hearth.run(order, RunInput { arguments: Some(arguments), ..input(7) }) {
            Err(Error::Failed(failure)) => assert!(failure.message.contains(part), "{}", failure.message),
            other => panic!("{other:?}"),
        }
    }
}

/// The lines that two runs executed differently often.
fn lines_between(hearth: &mut Connection, run: u64, against: u64) -> Vec<FileLines> {
    let (run, against) = (run.into(), against.into());
    let delta = hearth.call(Ask::Delta { run, against, level: Level::Lines, counts: true });
    let Ok(Answer::Coverage(delta)) = delta else { panic!("{delta:?}") };
    delta.lines
}

#[test]
fn a_run_whose_coverage_nobody_wants_has_none_and_leaves_that_of_others_as_it_is() {
    let directory = scratch();
    let daemon = start(directory.path(), &[]);
    let mut hearth = daemon.connect(Encoding::Json);
    let skip = |hearth: &mut Connection, number: u32| {
        let given = RunInput { observe: Observe::Nothing, send_files: true, ..input(number) };
        let done = hearth.run(tcc(), given).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((done.outcome, done.run, done.lines_executed), (Outcome::Exited(0), 0, 0));
        assert_eq!(done.no_coverage.as_deref(), Some("nobody asked for it"));
        assert!(done.files.iter().any(|file| file.bytes.is_some()), "its code is there: {done:?}");
    };
    // The first of all, before there is anything to compare with.
    skip(&mut hearth, 4);
    let numbers = [4, 5, 6, 7];
    let references = numbers.map(|number| run(&mut hearth, number));
    // What comes after a skipped one is compared with the last run that was looked at, whichever that was.
    for (round, skipped) in (0..12).zip([5, 6, 7, 4, 4].into_iter().cycle()) {
        skip(&mut hearth, skipped);
        let which = round % numbers.len();
        let after = run(&mut hearth, numbers[which]);
        assert_eq!(lines_between(&mut hearth, after, references[which]), [], "{which} after {skipped}");
    }
    assert_ne!(lines_between(&mut hearth, references[0], references[1]), [], "two programs are not alike");
    let named = RunInput { observe: Observe::Nothing, name: Some("failing".to_owned()), ..input(4) };
    match hearth.run(tcc(), named) {
        Err(Error::Failed(failure)) => {
            assert!(failure.message.contains("it can have no name"), "{failure:?}")
        }
        other => panic!("{other:?}"),
    }
}

/// One zygote at `main` for all options, and one before the input for each, are as good.
#[test]
#[ignore = "needs the subject gcc-11: tools/test --full"]
fn cc1_executes_the_same_wherever_it_waited() {
    let directory = scratch();
    let daemon = start(directory.path(), &[]);
    let mut hearth = daemon.connect(Encoding::Bincode);
    for level in ["-O0", "-O2", "-O3"] {
        let arguments: Vec<String> = ["-quiet", level, "{}", "-o", "out.s"].map(str::to_owned).to_vec();
        let at_input = Order {
            subject: "gcc-11".to_owned(),
            arguments: arguments.clone(),
            directory: Some("/tmp".to_owned()),
            ..Order::default()
        };
        let any = vec!["{}".to_owned()];
        let at_main = Order { arguments: any, warm: Some("main".to_owned()), ..at_input.clone() };
        for number in 0..4 {
            let own = RunInput { arguments: Some(arguments.clone()), ..input(number) };
            let [one, other] = [(&at_input, input(number)), (&at_main, own)].map(|(order, given)| {
                let done = hearth.run(order.clone(), given).unwrap_or_else(|error| panic!("{error}"));
                assert_eq!((done.outcome, &done.no_coverage), (Outcome::Exited(0), &None));
                done.run
            });
            assert_eq!(lines_between(&mut hearth, one, other), [], "{level}, program {number}");
        }
    }
}

#[test]
fn all_clients_and_encodings_are_answered_alike_and_at_any_time() {
    let directory = scratch();
    let daemon = start(directory.path(), &[]);
    let mut json = daemon.connect(Encoding::Json);
    let mut bincode = daemon.connect(Encoding::Bincode);
    let runs = [run(&mut json, 3), run(&mut bincode, 1), run(&mut json, 2)];
    let asks = questions(runs);
    let one_by_one: Vec<Answer> =
        asks.iter().map(|ask| json.call(ask.clone()).unwrap_or_else(|error| panic!("{error}"))).collect();
    for (ask, expected) in asks.iter().zip(&one_by_one) {
        assert_eq!(&bincode.call(ask.clone()).expect("an answer"), expected, "{ask:?}");
    }
    // Not one of them is trivial.
    let is_empty = |answer: &Answer| match answer {
        Answer::Coverage(coverage) => {
            coverage.lines.is_empty() && coverage.functions.is_empty() && coverage.files.is_empty()
        }
        Answer::Ranking(suspects) => suspects.is_empty(),
        _ => false,
    };
    let empty = one_by_one.iter().filter(|answer| is_empty(answer)).count();
    assert!(empty <= 1, "{empty} answers say nothing");
    // All at once, while others run.
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let hearth = std::sync::Arc::new(
            AsyncConnection::open_at(&daemon.address, Encoding::Bincode).await.expect("it greets"),
        );
        let batch = Ask::Batch { order: tcc(), inputs: (0..40).map(input).collect() };
        let mut batch = hearth.stream(batch).await.expect("it is sent");
        let mut tasks = Vec::new();
        for ask in asks.iter().chain(&asks).cloned() {
            let hearth = hearth.clone();
            tasks.push(tokio::spawn(async move { hearth.call(ask).await.expect("an answer") }));
        }
        for (task, expected) in tasks.into_iter().zip(one_by_one.iter().chain(&one_by_one)) {
            assert_eq!(&task.await.expect("no panic"), expected);
        }
        let mut seen = vec![false; 40];
        while let Some(answer) = batch.next().await {
            let Ok(Answer::Run(run)) = answer else { panic!("{answer:?}") };
            assert!(!std::mem::replace(&mut seen[run.index as usize], true), "answered twice");
            assert_eq!(run.outcome, Outcome::Exited(0));
        }
        assert!(seen.into_iter().all(|seen| seen));
    });
    python_says_the_same(&daemon.address, runs, &mut json);
}

/// The answers of the Python client, as JSON, against this one's.
fn python_says_the_same(address: &Address, [one, two, three]: [u64; 3], hearth: &mut Connection) {
    let script = format!(
        "import hearth, json\n\
         h = hearth.connect({:?})\n\
         d = h.delta({one}, {two}, counts=True)\n\
         r = h.rank([{one}], [{two}, {three}], level='functions', limit=9)\n\
         order = hearth.Order('tcc', ['-c', '{{}}', '-o', 'out.o'], directory='/tmp', environment={{'PATH': '/bin'}})\n\
         run = h.run(order, b'int a; // \\xff', send_files=True)\n\
         batch = h.batch(order, ['int a;', {{'input': 'int b;'}}])\n\
         runs = sorted((run.index, h.distance(run, run))[0] for run in batch)\n\
         next(iter(h.batch(order, ['int a;', 'int b;', 'int c;'])))\n\
         h.status()\n\
         try:\n    h.delta(999999, {one})\nexcept hearth.Failure as failure:\n    kind = failure.kind\n\
         print(json.dumps([[[f, sorted((l, *c) for l, c in ls.items())] for f, ls in sorted(d.lines.items())],\n\
           [[s.rank, s.function] for s in r], h.distance({one}, {two}), h.quality({one}, [{two}]).similarity,\n\
           run.ok, run.files[0].data[:4].hex(), runs, kind]))\n",
        address.directory().display().to_string()
    );
    let output = run_ok(
        Command::new("python3")
            .env("PYTHONPATH", project().join("client/python"))
            .args(["-W", "error", "-c", &script]),
    );
    let told: serde_json::Value = serde_json::from_str(&output).expect("one line of JSON");
    let runs = |id: u64| RunRef::Id(id);
    let ask = Ask::Delta { run: runs(one), against: runs(two), level: Level::Lines, counts: true };
    let Ok(Answer::Coverage(delta)) = hearth.call(ask) else { panic!("no delta") };
    let told_lines = |file: &FileLines| {
        let lines = file.lines.iter().zip(&file.against);
        let lines: Vec<_> = lines.map(|(&(line, count), &other)| (line, count, other)).collect();
        serde_json::json!([file.source, lines])
    };
    assert_eq!(told[0], delta.lines.iter().map(told_lines).collect::<serde_json::Value>());
    let Ok(Answer::Ranking(suspects)) = hearth.call(Ask::Rank {
        failing: vec![runs(one)],
        passing: vec![runs(two), runs(three)],
        innocent: Vec::new(),
        formula: Formula::Ochiai,
        aggregation: Aggregation::Mean,
        level: Level::Functions,
        limit: 9,
        counts: false,
        without: Vec::new(),
    }) else {
        panic!("no ranking")
    };
    let suspects: Vec<(u32, String)> = suspects.into_iter().map(|one| (one.rank, one.function)).collect();
    assert_eq!(told[1], serde_json::json!(suspects));
    let measure = Measure::JaccardLines;
    let distance = hearth.call(Ask::Distance { run: runs(one), against: runs(two), measure });
    let Ok(Answer::Distance(distance)) = distance else { panic!("no distance") };
    assert_eq!(told[2].as_f64().expect("a number"), distance.distance);
    assert_eq!(told[4], true, "{told}");
    assert_eq!(told[5], "7f454c46", "tcc writes an object file: {told}");
    assert_eq!(told[6], serde_json::json!([0, 1]));
    assert_eq!(told[7], "no_such_run");
}

#[test]
fn runs_are_forgotten_in_the_stated_order() {
    let directory = scratch();
    /// Room is for some of them, not for all.
    const RUNS: u32 = 900;
    let daemon = start(directory.path(), &["--kept-mib", "1"]);
    let mut hearth = daemon.connect(Encoding::Bincode);
    let named = RunInput { name: Some("failing".to_owned()), ..input(0) };
    let first = hearth.run(tcc(), named).expect("a run").run;
    let used = run(&mut hearth, 1);
    let mut last = 0;
    for number in 2..RUNS {
        last = run(&mut hearth, number);
        // What is used stays.
        let ask = Ask::Spectrum { run: used.into(), level: Level::Files, counts: false };
        hearth.call(ask).expect("it is kept");
    }
    let Ok(Answer::Runs(runs)) = hearth.call(Ask::Runs {}) else { panic!("no list") };
    let ids: Vec<u64> = runs.iter().map(|run| run.run).collect();
    assert!(
        ids.len() < RUNS as usize && ids.contains(&first) && ids.contains(&used) && ids.contains(&last),
        "{ids:?}"
    );
    assert!(!ids.contains(&(used + 1)), "the longest unused went first: {ids:?}");
    assert!(runs.iter().map(|run| run.bytes).sum::<u64>() <= 1 << 20);
    let gone = hearth.call(Ask::Spectrum { run: (used + 1).into(), level: Level::Files, counts: false });
    assert!(matches!(gone, Err(Error::Failed(failure)) if failure.kind == FailureKind::NoSuchRun));
    hearth.call(Ask::Forget { runs: Vec::new() }).expect("it forgets");
    let Ok(Answer::Runs(runs)) = hearth.call(Ask::Runs {}) else { panic!("no list") };
    assert_eq!(runs.iter().map(|run| run.name.clone()).collect::<Vec<_>>(), [Some("failing".to_owned())]);
}

#[test]
fn what_cannot_be_done_is_told() {
    let directory = scratch();
    let daemon = start(directory.path(), &[]);
    let mut hearth = daemon.connect(Encoding::Json);
    let mut failure = |ask: Ask| match hearth.call(ask) {
        Err(Error::Failed(failure)) => (failure.kind, failure.message),
        other => panic!("{other:?}"),
    };
    let order = |subject: &str| Order { subject: subject.to_owned(), ..tcc() };
    let run = |order| Ask::Run { order, input: RunInput::default() };
    let table = [
        (run(order("nowhere")), FailureKind::Order, "nowhere"),
        (run(order("/no/such/program")), FailureKind::Order, "no program /no/such/program"),
        (run(tcc()), FailureKind::Order, "cannot read /tmp/input.c"),
        (run(Order { warm: Some("x".into()), ..tcc() }), FailureKind::Order, "symbol:NAME"),
        (run(Order { directory: Some("x".into()), ..tcc() }), FailureKind::Order, "absolute"),
        (Ask::Name { run: 7.into(), name: "x".into() }, FailureKind::NoSuchRun, "no run 7"),
        (
            Ask::Rank {
                failing: Vec::new(),
                passing: Vec::new(),
                innocent: Vec::new(),
                formula: Formula::Ochiai,
                aggregation: Aggregation::Mean,
                level: Level::Files,
                limit: 0,
                counts: false,
                without: Vec::new(),
            },
            FailureKind::NoSuchRun,
            "needs a failing run",
        ),
    ];
    for (ask, kind, part) in table {
        let (found, message) = failure(ask);
        assert_eq!(found, kind, "{message}");
        assert!(message.contains(part), "`{message}` should say `{part}`");
    }
}

#[test]
fn the_commands_show_what_differs() {
    let directory = scratch();
    let one = directory.path().join("one.c");
    let other = directory.path().join("other.c");
    fs::write(&one, program(0)).expect("written");
    fs::write(&other, program(2)).expect("written");
    let hearth = |arguments: &[&str]| {
        run_ok(
            Command::new(crate::hearth())
                .env("HEARTH_RUNTIME_DIR", directory.path().join("run"))
                .current_dir(directory.path())
                .args(arguments),
        )
    };
    let options = ["--subject", "tcc", "--", "-c", "{}", "-o", "out.o"];
    let command = |head: &[&'static str]| [head, &options].concat();
    let text = hearth(&command(&["diff", "one.c", "other.c"]));
    assert!(text.contains("- one.c: exited with code 0") && text.contains("lines by file:"), "{text}");
    assert!(text.contains("+ ") && text.contains("tccgen.c"), "{text}");
    let text = hearth(&command(&["diff", "one.c", "other.c", "--source", "tccgen.c", "--color", "always"]));
    assert!(text.contains("case TOK_SWITCH") || text.contains("switch"), "{text}");
    assert!(text.contains("\u{1b}[32m"), "{text}");
    let same = hearth(&command(&["diff", "one.c", "one.c"]));
    assert!(same.contains("the same functions ran") && same.contains("the same lines ran"), "{same}");
    let json = hearth(&command(&["cover", "one.c", "--format", "json"]));
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let count: usize = json["lines"]
        .as_array()
        .expect("files")
        .iter()
        .map(|file| file["lines"].as_array().map_or(0, Vec::len))
        .sum();
    assert_eq!(json["run"]["lines_executed"], count);
    let info = hearth(&command(&["cover", "one.c", "--format", "lcov"]));
    assert_eq!(info.lines().filter(|line| line.starts_with("DA:")).count(), count);
    let xml = hearth(&command(&["cover", "one.c", "--format", "cobertura"]));
    roxmltree::Document::parse_with_options(
        &xml,
        roxmltree::ParsingOptions { allow_dtd: true, ..roxmltree::ParsingOptions::default() },
    )
    .expect("XML");
    let status: serde_json::Value = serde_json::from_str(&hearth(&["status", "--json"])).expect("JSON");
    assert_eq!(status["format"], 1);
    assert_eq!(status["zygotes"].as_array().map(Vec::len), Some(1), "one zygote served all: {status}");
    assert!(hearth(&["top", "--count", "2", "--interval", "10"]).contains("warm zygotes"));
    assert!(hearth(&["stop"]).contains("stopped"));
    assert!(hearth(&["status"]).contains("no daemon is running"));
    assert!(hearth(&["completions", "bash"]).contains("hearth"));
    hearth(&["man", "."]);
    assert!(directory.path().join("hearth-diff.1").exists());
}

pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|data| std::os::unix::fs::MetadataExt::uid(&data) == 0)
}

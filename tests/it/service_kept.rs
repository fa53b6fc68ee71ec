//! Kept runs and their budget.

use crate::service::{input, scratch, start, tcc};
use hearth_client::protocol::{Answer, Ask, Encoding, FailureKind, RunInput, RunRef};
use hearth_client::{Connection, Error};

#[test]
fn named_runs_that_fill_the_budget_are_told_of() {
    let directory = scratch();
    let daemon = start(directory.path(), &["--kept-mib", "1"]);
    let mut hearth = daemon.connect(Encoding::Bincode);
    let keep = |hearth: &mut Connection, number: u32, name: Option<String>| {
        hearth.run(tcc(), RunInput { name, ..input(number) })
    };
    keep(&mut hearth, 0, None).expect("there is room");
    let refused = (1..2000).find_map(|number| keep(&mut hearth, number, Some(number.to_string())).err());
    let Some(Error::Failed(failure)) = refused else { panic!("named runs have no end: {refused:?}") };
    assert_eq!(failure.kind, FailureKind::Full);
    assert!(failure.message.contains("forget") && failure.message.contains("--kept-mib"), "{failure:?}");
    let status = hearth.status().expect("a status");
    assert!(status.kept_bytes <= status.kept_limit_bytes && status.kept_bytes > 1 << 19, "{status:?}");
    let Ok(Answer::Runs(runs)) = hearth.call(Ask::Runs {}) else { panic!("no list") };
    assert!(runs.iter().all(|run| run.name.is_some()), "those without a name went first");
    // What is forgotten makes room, and nothing is charged that nobody keeps.
    hearth.call(Ask::Forget { runs: vec![RunRef::Id(runs[0].run)] }).expect("it is kept");
    hearth
        .call(Ask::Forget { runs: runs[1..].iter().map(|run| run.run.into()).collect() })
        .expect("they are");
    let status = hearth.status().expect("a status");
    assert_eq!((status.kept_runs, status.kept_bytes), (0, 0));
    keep(&mut hearth, 1, None).expect("there is room again");
}

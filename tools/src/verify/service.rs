//! The check `service`: many clients for long, daemons killed under load, and frames of any bytes.

use crate::daemon::{Daemon, descendants, is_alive};
use crate::mutants::{mutant_input, mutant_order};
use anyhow::{Context, bail, ensure};
use fastrand::Rng;
use hearth_client::protocol::{
    Address, Aggregation, Encoding, Formula, Level, Measure, Outcome, Reply, Request, RunInput, RunRef,
    decode, encode,
};
use hearth_client::{Answer, Ask, Connection};
use peak_alloc::PeakAlloc;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Programs that are run.
const PROGRAMS: usize = 24;
/// Memory that a frame of random bytes may take, in bytes: a MiB is set aside for each list that claims to be long.
const FRAME_BYTES: usize = 4 << 20;
/// Of this many frames one goes through the socket of a daemon.
const SENT: u64 = 1000;

/// How much is done.
#[derive(Debug)]
pub struct Plan {
    /// The subject.
    pub subject: String,
    /// Clients at a time.
    pub clients: usize,
    /// For how long.
    pub time: Duration,
    /// How often the daemon is killed.
    pub kills: u32,
    /// Frames of random bytes.
    pub frames: u64,
    /// Where random choices begin.
    pub seed: u64,
}

/// Runs the check.
pub fn run(hearth: &Path, plan: &Plan, memory: &PeakAlloc) -> anyhow::Result<()> {
    let hearthd = hearth.with_file_name("hearthd");
    many_clients(&hearthd, plan)?;
    kills(&hearthd, plan)?;
    frames(&hearthd, plan, memory)
}

/// What a request must be answered with.
enum Expected {
    Answer(Box<Ask>, Answer),
    Run(usize, Outcome, u64),
}

/// Many clients ask and run at a time, and are answered as one was before.
fn many_clients(hearthd: &Path, plan: &Plan) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let daemon = Daemon::start(hearthd, &scratch.path().join("run"), &["--kept-mib", "200"]);
    let mut client = daemon.connect(Encoding::Bincode);
    let load = Load {
        plan,
        daemon: &daemon,
        expected: expectations(&mut client, &plan.subject)?,
        until: Instant::now() + plan.time,
        asked: AtomicU64::new(0),
        answered: AtomicU64::new(0),
    };
    println!("{} clients for {} s on {}", plan.clients, plan.time.as_secs(), plan.subject);
    let mut sizes = Vec::new();
    let mut small = std::thread::scope(|scope| -> anyhow::Result<Vec<(&'static str, Duration)>> {
        let load = &load;
        let threads: Vec<_> =
            (0..plan.clients).map(|client| scope.spawn(move || load.work(client))).collect();
        while Instant::now() < load.until {
            std::thread::sleep(plan.time / 20);
            sizes.push(client.status()?.memory_bytes >> 20);
        }
        let mut small = Vec::new();
        for thread in threads {
            small.extend(thread.join().map_err(|_| anyhow::anyhow!("a client panicked"))??);
        }
        Ok(small)
    })?;
    small.sort();
    let [asked, answered] = [&load.asked, &load.answered].map(|count| count.load(Ordering::Relaxed));
    println!("{asked} requests asked, {answered} answered as before");
    for of_kind in small.chunk_by(|one, other| one.0 == other.0) {
        print_percentiles(of_kind[0].0, of_kind.iter().map(|(_, time)| *time));
    }
    print_percentiles("all", small.iter().map(|(_, time)| *time));
    println!("the daemon's memory in MiB: {sizes:?}");
    let last = client.status()?;
    ensure!(last.running == 0 && last.queued == 0, "{} runs are left", last.running + last.queued);
    Ok(())
}

/// Runs and questions, with what one client alone is answered.
fn expectations(client: &mut Connection, subject: &str) -> anyhow::Result<Vec<Expected>> {
    let mut expected = Vec::new();
    let mut runs: Vec<RunRef> = Vec::new();
    for number in 0..PROGRAMS {
        let name = format!("run {number}");
        let given = RunInput { name: Some(name.clone()), ..mutant_input(number) };
        let run = client.run(mutant_order(subject, "-O1"), given)?;
        ensure!(run.no_coverage.is_none(), "no coverage: {:?}", run.no_coverage);
        expected.push(Expected::Run(number, run.outcome, run.lines_executed));
        runs.push(RunRef::Name(name));
    }
    for ask in questions(&runs) {
        let answer = client.call(ask.clone())?;
        expected.push(Expected::Answer(Box::new(ask), answer));
    }
    Ok(expected)
}

/// What many clients do at a time.
struct Load<'l> {
    plan: &'l Plan,
    daemon: &'l Daemon,
    expected: Vec<Expected>,
    until: Instant,
    asked: AtomicU64,
    answered: AtomicU64,
}

impl Load<'_> {
    /// One client's work. Returns how long its small questions took.
    fn work(&self, client: usize) -> anyhow::Result<Vec<(&'static str, Duration)>> {
        let mut random = Rng::with_seed(self.plan.seed + client as u64);
        let encoding = if client.is_multiple_of(2) { Encoding::Bincode } else { Encoding::Json };
        let mut connection = self.daemon.connect(encoding);
        let mut small = Vec::new();
        while Instant::now() < self.until {
            // One client in eight runs, the others ask.
            let range = if client.is_multiple_of(8) { 0..PROGRAMS } else { PROGRAMS..self.expected.len() };
            let begun = Instant::now();
            self.asked.fetch_add(1, Ordering::Relaxed);
            match &self.expected[random.usize(range)] {
                Expected::Answer(ask, answer) => {
                    let found = connection.call(Ask::clone(ask))?;
                    ensure!(found == *answer, "{ask:?} was answered differently");
                    small.push((ask.name(), begun.elapsed()));
                    std::thread::sleep(Duration::from_millis(random.u64(0..20)));
                }
                Expected::Run(number, outcome, lines) => {
                    let order = mutant_order(&self.plan.subject, "-O1");
                    let run = connection.run(order, mutant_input(*number))?;
                    ensure!(
                        run.outcome == *outcome && run.lines_executed == *lines,
                        "run {number} is another"
                    );
                }
            }
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
        Ok(small)
    }
}

fn print_percentiles(what: &str, times: impl Iterator<Item = Duration>) {
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1000.0;
    println!(
        "{what:>9}: {} times, p50 {:.2} ms, p90 {:.2} ms, p99 {:.2} ms, longest {:.2} ms",
        times.len(),
        at(50),
        at(90),
        at(99),
        at(100)
    );
}

/// Small questions about runs.
fn questions(runs: &[RunRef]) -> Vec<Ask> {
    let mut asks = Vec::new();
    for pair in runs.windows(2) {
        let (run, against) = (pair[0].clone(), pair[1].clone());
        for level in [Level::Lines, Level::Files] {
            asks.push(Ask::Delta { run: run.clone(), against: against.clone(), level, counts: false });
        }
        asks.push(Ask::Distance { run: run.clone(), against, measure: Measure::JaccardLines });
        asks.push(Ask::Quality { failing: run, passing: runs[..4].to_vec(), alpha: 0.5 });
    }
    asks.push(Ask::Rank {
        failing: runs[..1].to_vec(),
        passing: runs[1..].to_vec(),
        innocent: Vec::new(),
        formula: Formula::Ochiai,
        aggregation: Aggregation::Mean,
        level: Level::Files,
        limit: 20,
        counts: false,
        without: Vec::new(),
    });
    asks
}

/// Kills the daemon under load, and looks what is left and how long the next one takes.
fn kills(hearthd: &Path, plan: &Plan) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let mut slowest = Duration::ZERO;
    println!("killing {} daemons under load", plan.kills);
    for round in 0..plan.kills {
        let mut daemon = Daemon::start(hearthd, &scratch.path().join("run"), &[]);
        let clients: Vec<_> = (0..4_usize)
            .map(|number| {
                let mut connection = daemon.connect(Encoding::Bincode);
                let subject = plan.subject.clone();
                std::thread::spawn(move || {
                    while connection.run(mutant_order(&subject, "-O1"), mutant_input(number)).is_ok() {}
                })
            })
            .collect();
        // A launcher, a zygote and a run at least.
        let deadline = Instant::now() + Duration::from_secs(30);
        while descendants(daemon.process.id()).len() < 3 {
            ensure!(Instant::now() < deadline, "round {round}: no run is under way");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(u64::from(round) * 7));
        let family = descendants(daemon.process.id());
        daemon.process.kill()?;
        daemon.process.wait()?;
        let killed = Instant::now();
        let next = Daemon::start(hearthd, &scratch.path().join("run"), &[]);
        next.connect(Encoding::Json).status().context("of the next daemon")?;
        slowest = slowest.max(killed.elapsed());
        clients.into_iter().for_each(|client| drop(client.join()));
        std::thread::sleep(Duration::from_secs(1).saturating_sub(killed.elapsed()));
        let left = family.iter().filter(|&&pid| is_alive(pid)).count();
        ensure!(left == 0, "round {round}: {left} orphans after a second");
    }
    println!(
        "no orphan after 1 s; the next daemon answered after {:.0} ms at the most",
        slowest.as_secs_f64() * 1e3
    );
    Ok(())
}

/// Frames of random and of damaged bytes: no panic, no memory, and a daemon that goes on.
fn frames(hearthd: &Path, plan: &Plan, memory: &PeakAlloc) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let daemon = Daemon::start(hearthd, &scratch.path().join("run"), &[]);
    let mut client = daemon.connect(Encoding::Json);
    let before = client.status()?.memory_bytes;
    println!("{} random frames from seed {}", plan.frames, plan.seed);
    let seeds: Vec<(Encoding, Vec<u8>)> = questions(&(0..6).map(RunRef::Id).collect::<Vec<_>>())
        .into_iter()
        .chain([Ask::Run { order: mutant_order("tcc", "-O1"), input: mutant_input(1) }, Ask::Runs {}])
        .flat_map(|ask| [Encoding::Json, Encoding::Bincode].map(|encoding| (encoding, ask.clone())))
        .map(|(encoding, ask)| Ok((encoding, encode(encoding, &Request { id: 1, ask })?)))
        .collect::<anyhow::Result<_>>()?;
    let mut random = Rng::with_seed(plan.seed);
    let mut read = 0_u64;
    for number in 0..plan.frames {
        let (encoding, seed) = &seeds[random.usize(..seeds.len())];
        let mut bytes = seed.clone();
        match random.u8(..4) {
            0 => bytes.truncate(random.usize(..bytes.len())),
            1 => bytes = (0..random.usize(..64)).map(|_| random.u8(..)).collect(),
            _ => (0..random.usize(1..6)).for_each(|_| {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }),
        }
        memory.reset_peak_usage();
        let usage = memory.peak_usage();
        let decoded = catch_unwind(|| {
            let reply = decode::<Reply>(*encoding, &bytes).is_ok();
            decode::<Request>(*encoding, &bytes).is_ok() || reply
        });
        let Ok(decoded) = decoded else { bail!("panic on {bytes:?}") };
        let taken = memory.peak_usage().saturating_sub(usage);
        ensure!(taken < FRAME_BYTES, "{taken} bytes of memory for {bytes:?}");
        read += u64::from(decoded);
        if number.is_multiple_of(SENT) {
            send(&daemon.address, *encoding, &bytes)?;
        }
    }
    let after = client.status()?.memory_bytes;
    println!(
        "{read} were messages; one in {SENT} was sent to a daemon, which had {} MiB before and {} MiB after",
        before >> 20,
        after >> 20
    );
    Ok(())
}

/// Sends bytes in a frame, and sometimes not all of them, to a daemon.
fn send(address: &Address, encoding: Encoding, bytes: &[u8]) -> anyhow::Result<()> {
    let mut stream = UnixStream::connect(address.socket()).context("the daemon is gone")?;
    let hello = encode(Encoding::Json, &hearth_client::protocol::Hello::new(encoding))?;
    for part in [&hello[..], bytes] {
        // A daemon that has dropped the client takes no more.
        let _ = stream.write_all(&(part.len() as u32).to_le_bytes()).and_then(|()| stream.write_all(part));
    }
    Ok(())
}

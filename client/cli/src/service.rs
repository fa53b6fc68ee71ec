//! `hearth status`, `hearth top`, `hearth stop`: the daemon, seen from outside.

use crate::output;
use crate::terminal::{self, columns, cut};
use anyhow::bail;
use clap::Args;
use hearth_client::protocol::Address;
use hearth_client::protocol::{Encoding, Status};
use hearth_client::{Ask, Connection};
use std::fmt::Write as _;
use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What is said when there is none.
const NO_DAEMON: &str = "no daemon is running; the first client starts it";

/// The arguments of `hearth status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The arguments of `hearth top`.
#[derive(Debug, Args)]
pub struct TopArgs {
    /// Look again after so many milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    interval: u64,
    /// Show so many pictures and end [default: until interrupted]
    #[arg(long, value_name = "N")]
    count: Option<u64>,
}

fn running() -> anyhow::Result<Option<Connection>> {
    Ok(Connection::open_running(&Address::of_user(), Encoding::Bincode)?)
}

/// Tells how the daemon is.
pub fn status(args: &StatusArgs) -> anyhow::Result<ExitCode> {
    let Some(mut connection) = running()? else {
        if args.json {
            output::line("null")?;
        } else {
            output::line(NO_DAEMON)?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let status = connection.status()?;
    if args.json {
        output::line(serde_json::to_string_pretty(&status)?)?;
    } else {
        output::write(picture(&status, columns()).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows how the daemon is, again and again.
pub fn top(args: &TopArgs) -> anyhow::Result<ExitCode> {
    let Some(mut connection) = running()? else {
        output::line(NO_DAEMON)?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut shown = 0;
    let mut before: Option<(Instant, u64)> = None;
    while args.count.is_none_or(|count| shown < count) {
        if shown > 0 {
            std::thread::sleep(Duration::from_millis(args.interval));
        }
        let status = connection.status()?;
        let runs: u64 =
            status.latencies.iter().filter(|latency| latency.ask == "run").map(|latency| latency.count).sum();
        let now = Instant::now();
        let rate = before.map(|(then, count)| (runs - count) as f64 / (now - then).as_secs_f64());
        before = Some((now, runs));
        let mut text = String::new();
        if terminal::is_fancy(&io::stdout()) {
            // The screen is cleared, and writing begins at its top.
            text.push_str("\x1b[2J\x1b[H");
        }
        text.push_str(&picture(&status, columns()));
        if let Some(rate) = rate {
            let _ = writeln!(text, "{rate:.1} single runs per second");
        }
        output::write(text.as_bytes())?;
        shown += 1;
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends the daemon.
pub fn stop() -> anyhow::Result<ExitCode> {
    let Some(mut connection) = running()? else {
        output::line("no daemon is running")?;
        return Ok(ExitCode::SUCCESS);
    };
    connection.call(Ask::Stop {})?;
    // The lock goes last: when it is free, nothing is left.
    let lock = Address::of_user().lock();
    let deadline = Instant::now() + Duration::from_secs(100);
    while !is_free(&lock) {
        if Instant::now() > deadline {
            bail!("the daemon is still ending; runs under way may take up to their limits");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    output::line("stopped")?;
    Ok(ExitCode::SUCCESS)
}

fn is_free(lock: &std::path::Path) -> bool {
    std::fs::File::open(lock).is_ok_and(|file| file.try_lock().is_ok())
}

/// The status as text, its lines cut to so many columns.
fn picture(status: &Status, columns: usize) -> String {
    let mut text = String::new();
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let _ = writeln!(
        text,
        "hearthd {} (process {}), up {}; {} clients, {} runs under way and {} waiting on {} cores",
        status.build,
        status.pid,
        duration(status.uptime_s),
        status.sessions,
        status.running,
        status.queued,
        status.cores
    );
    let _ = writeln!(
        text,
        "memory {:.0} MiB; {} runs kept in {:.1} of {:.0} MiB",
        mib(status.memory_bytes),
        status.kept_runs,
        mib(status.kept_bytes),
        mib(status.kept_limit_bytes)
    );
    let _ = writeln!(text, "\n{} warm zygotes", status.zygotes.len());
    for zygote in &status.zygotes {
        let name = zygote.binary.rsplit('/').next().unwrap_or_default();
        let state = format!(
            "  at {}, {:.0} MiB, unused for {}",
            zygote.warm,
            mib(zygote.memory_bytes),
            duration(zygote.idle_ms / 1000)
        );
        // What is cut is the arguments, and of those as much as there must be.
        let room = columns.saturating_sub(state.chars().count()).max(name.len() + 2);
        let _ = writeln!(text, "{}{state}", cut(&format!("  {name} {}", zygote.arguments.join(" ")), room));
    }
    if !status.latencies.is_empty() {
        let _ = writeln!(
            text,
            "\n{:<10} {:>9} {:>10} {:>10} {:>10} {:>10}",
            "request", "count", "p50 ms", "p90 ms", "p99 ms", "max ms"
        );
    }
    for latency in &status.latencies {
        let ms = |us: u64| format!("{:.2}", us as f64 / 1000.0);
        let _ = writeln!(
            text,
            "{:<10} {:>9} {:>10} {:>10} {:>10} {:>10}",
            latency.ask,
            latency.count,
            ms(latency.p50_us),
            ms(latency.p90_us),
            ms(latency.p99_us),
            ms(latency.max_us)
        );
    }
    text.lines().map(|line| cut(line, columns) + "\n").collect()
}

fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

//! `hearth exec`: many runs by a private daemon that lives as long as the command.

use crate::run::{LimitArgs, own_pool, show};
use anyhow::Context;
use clap::Args;
use hearth_daemon::order::{Order, Resolver, nameless_input};
use hearth_daemon::{Pool, RunRequest, WarmPoint};
use serde::Deserialize;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, Write};
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};

/// Orders read ahead of those being worked on, for each thread.
const QUEUE_PER_THREAD: usize = 4;

/// The arguments of `hearth exec`.
#[derive(Debug, Args)]
pub struct ExecArgs {
    /// Where the orders come from, one JSON object a line; `-` is standard input
    #[arg(default_value = "-")]
    orders: PathBuf,
    /// Runs at a time [default: one per processor]
    #[arg(long, short, value_name = "N")]
    jobs: Option<NonZero<usize>>,
    #[command(flatten)]
    limits: LimitArgs,
}

/// One order. The answer has the same `id`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    id: Value,
    subject: String,
    #[serde(default)]
    args: Vec<String>,
    /// The input's path, as among the arguments.
    input: Option<PathBuf>,
    /// The input's bytes, if not the file's.
    input_text: Option<String>,
    stdin: Option<String>,
    warm: Option<String>,
    #[serde(default)]
    env: std::collections::BTreeMap<String, String>,
}

/// Runs the command.
pub fn run(args: &ExecArgs) -> anyhow::Result<ExitCode> {
    let input: Box<dyn BufRead> = if args.orders.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        let file = fs::File::open(&args.orders);
        Box::new(io::BufReader::new(file.with_context(|| format!("cannot read {}", args.orders.display()))?))
    };
    let pool = own_pool()?;
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZero::get);
    let (sender, orders) = sync_channel::<String>(jobs * QUEUE_PER_THREAD);
    let orders = Mutex::new(orders);
    let resolver = Resolver::default();
    let failed = std::thread::scope(|scope| -> anyhow::Result<bool> {
        let workers: Vec<_> =
            (0..jobs).map(|_| scope.spawn(|| work(&orders, &resolver, &pool, &args.limits))).collect();
        for line in input.lines() {
            let line = line.context("cannot read the orders")?;
            if !line.trim().is_empty() && sender.send(line).is_err() {
                break;
            }
        }
        drop(sender);
        let mut failed = false;
        for worker in workers {
            failed |= worker.join().unwrap_or(true);
        }
        Ok(failed)
    })?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Answers orders until there are no more; true if one could not be done.
fn work(orders: &Mutex<Receiver<String>>, resolver: &Resolver, pool: &Pool, limits: &LimitArgs) -> bool {
    let mut failed = false;
    loop {
        let line = match orders.lock().map(|orders| orders.recv()) {
            Ok(Ok(line)) => line,
            _ => return failed,
        };
        let (id, answer) = match serde_json::from_str::<Line>(&line) {
            Ok(order) => (order.id.clone(), obey(&order, resolver, pool, limits)),
            Err(error) => (Value::Null, Err(anyhow::anyhow!("this is no order: {error}"))),
        };
        let mut document = answer.unwrap_or_else(|error| {
            failed = true;
            json!({ "error": format!("{error:#}") })
        });
        document["id"] = id;
        let mut text = document.to_string();
        text.push('\n');
        if io::stdout().lock().write_all(text.as_bytes()).is_err() {
            // Nobody reads the answers any more.
            return failed;
        }
    }
}

fn obey(line: &Line, resolver: &Resolver, pool: &Pool, limits: &LimitArgs) -> anyhow::Result<Value> {
    let warm = line.warm.as_deref().map(str::parse::<WarmPoint>).transpose().map_err(anyhow::Error::msg)?;
    let input = match (&line.input, &line.input_text) {
        (None, Some(_)) => Some(nameless_input()),
        (input, _) => input.clone(),
    };
    let bytes = match (&line.input_text, &input) {
        (Some(text), _) => Some(text.clone().into_bytes()),
        (None, Some(path)) => {
            Some(fs::read(path).with_context(|| format!("cannot read {}", path.display()))?)
        }
        (None, None) => None,
    };
    let order = Order {
        arguments: line.args.iter().map(OsString::from).collect(),
        input,
        warm,
        ..limits.order(&line.subject)?
    };
    let resolved = resolver.resolve(&order)?;
    let request = RunRequest {
        input: bytes,
        stdin: line.stdin.clone().unwrap_or_default().into_bytes(),
        environment: line.env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        limits: limits.limits(),
        ..RunRequest::default()
    };
    let answer = pool.run(&resolved.key, resolved.map.as_ref(), &request)?;
    Ok(show::one(&answer, resolved.map.as_deref()))
}

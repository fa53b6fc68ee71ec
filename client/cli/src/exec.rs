//! `hearth exec`: many runs from zygotes of its own, which live as long as the command.

use crate::output;
use crate::run::{LimitArgs, own_pool, show};
use crate::working_directory;
use anyhow::Context;
use clap::Args;
use hearth_client::protocol::Bytes;
use hearth_runner::order::{Resolver, RunOrder, nameless_input};
use hearth_runner::{Pool, RunRequest, WarmPoint};
use serde::Deserialize;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead};
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Orders read ahead of those being worked on, for each thread.
const QUEUE_PER_THREAD: usize = 4;

/// The arguments of `hearth exec`.
#[derive(Debug, Args)]
#[command(after_help = "\
An order is a JSON object on a line of its own. It has `subject` and may have `id`, `args`, `input` (a path),
`input_text` (the input's bytes), `stdin`, `warm`, `directory` (absolute) and `env`. Answers come as they are
ready, each with the `id` of its order; one that could not be done has `error`. Bytes (`input_text`, `stdin`,
`stdout`, `stderr`, and `path` and `bytes` of files) are a string if they are UTF-8, else {\"base64\": \"...\"}.

Exit codes: 0 all done; 1 some could not be done, or the answers could not be written; 2 wrong usage;
141 nobody reads the answers any more.

Example:
  echo '{\"id\": 1, \"subject\": \"tcc\", \"args\": [\"-c\", \"{}\"], \"input_text\": \"int x;\"}' | hearth exec")]
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
    input_text: Option<Bytes>,
    stdin: Option<Bytes>,
    warm: Option<String>,
    /// Where the program runs, and where relative paths begin.
    directory: Option<PathBuf>,
    #[serde(default)]
    env: std::collections::BTreeMap<String, String>,
}

/// Runs the command.
pub fn run(args: &ExecArgs) -> anyhow::Result<ExitCode> {
    let input: Box<dyn BufRead + Send> = if args.orders.as_os_str() == "-" {
        Box::new(io::BufReader::new(io::stdin()))
    } else {
        let file = fs::File::open(&args.orders);
        Box::new(io::BufReader::new(file.with_context(|| format!("cannot read {}", args.orders.display()))?))
    };
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZero::get);
    let (sender, orders) = sync_channel(jobs * QUEUE_PER_THREAD);
    let office = Arc::new(Office {
        orders: Mutex::new(orders),
        here: working_directory::here()?,
        resolver: Resolver::default(),
        pool: own_pool()?,
        limits: args.limits.clone(),
    });
    // Threads that wait, for orders or for a run, must not keep the command from ending when an answer cannot
    // be written. So nobody waits for them: they end with the command, and what they run with them.
    let (ended, ends) = channel();
    std::thread::spawn(move || read_orders(input, &sender));
    for _ in 0..jobs {
        let (office, ended) = (office.clone(), ended.clone());
        std::thread::spawn(move || {
            let end = office.work();
            // Whoever hears of the end may end all that is warm.
            drop(office);
            ended.send(end)
        });
    }
    drop(ended);
    let mut failed = false;
    for _ in 0..jobs {
        failed |= ends.recv().context("a thread that worked on orders has died")??;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Hands the orders on, until there are no more or they cannot be read.
fn read_orders(input: Box<dyn BufRead + Send>, sender: &SyncSender<io::Result<Vec<u8>>>) {
    for line in input.split(b'\n') {
        let is_last = line.is_err();
        let is_empty = line.as_ref().is_ok_and(|line| line.trim_ascii().is_empty());
        if !is_empty && sender.send(line).is_err() || is_last {
            return;
        }
    }
}

/// What the threads that work on orders share.
struct Office {
    orders: Mutex<Receiver<io::Result<Vec<u8>>>>,
    here: PathBuf,
    resolver: Resolver,
    pool: Pool,
    limits: LimitArgs,
}

impl Office {
    /// Answers orders until there are no more; true if one could not be done.
    fn work(&self) -> anyhow::Result<bool> {
        let mut failed = false;
        loop {
            let next = self.orders.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(line) = next else { return Ok(failed) };
            let line = line.context("cannot read the orders")?;
            let (id, answer) = match serde_json::from_slice::<Line>(&line) {
                Ok(order) => (order.id.clone(), self.obey(&order)),
                Err(error) => (Value::Null, Err(anyhow::anyhow!("this is no order: {error}"))),
            };
            let mut document = answer.unwrap_or_else(|error| {
                failed = true;
                json!({ "error": format!("{error:#}") })
            });
            document["id"] = id;
            output::line(document)?;
        }
    }

    fn obey(&self, line: &Line) -> anyhow::Result<Value> {
        let warm =
            line.warm.as_deref().map(str::parse::<WarmPoint>).transpose().map_err(anyhow::Error::msg)?;
        let directory = line.directory.as_ref().unwrap_or(&self.here);
        working_directory::check(directory)?;
        let input = match (&line.input, &line.input_text) {
            (None, Some(_)) => Some(nameless_input()),
            (input, _) => input.clone(),
        };
        let bytes = match (&line.input_text, &input) {
            (Some(text), _) => Some(text.0.clone()),
            (None, Some(path)) => {
                let path = directory.join(path);
                Some(fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?)
            }
            (None, None) => None,
        };
        let order = RunOrder {
            arguments: line.args.iter().map(OsString::from).collect(),
            input,
            warm,
            directory: directory.clone(),
            ..self.limits.order(&line.subject)?
        };
        let resolved = self.resolver.resolve(&order)?;
        let request = RunRequest {
            input: bytes,
            stdin: line.stdin.clone().unwrap_or_default().0,
            environment: line.env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            limits: self.limits.limits(),
            ..RunRequest::default()
        };
        let answer = self.pool.run(&resolved.key, resolved.map.as_ref(), &request)?;
        Ok(show::one(&answer, resolved.map.as_deref()))
    }
}

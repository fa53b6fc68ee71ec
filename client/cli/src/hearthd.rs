//! `hearthd`, the daemon. Clients start it themselves when they need it.

// They panic when nobody reads.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod libstdcxx;

use clap::Parser;
use hearth_client::protocol::Address;
use hearth_daemon::{Ended, Options, holder, serve};
use hearth_sandbox::LAUNCH_ARGUMENT;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Keeps subjects warm and answers clients on a socket.
///
/// Clients start it when they need it; it ends when none has been connected for a while. It also takes a socket
/// from systemd (LISTEN_FDS).
#[derive(Debug, Parser)]
#[command(name = "hearthd", version)]
struct Cli {
    /// The directory of the socket, the lock and the log; only you may be able to enter it
    ///
    /// By default $HEARTH_RUNTIME_DIR, else hearth in $XDG_RUNTIME_DIR, else /tmp/hearth-UID with your user id.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// End when no client has been connected for so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    idle: u64,
    /// Keep at most so many MiB of runs' coverage; the longest unused without a name is forgotten first
    #[arg(long, value_name = "MIB")]
    kept_mib: Option<u64>,
}

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == LAUNCH_ARGUMENT) {
        return hearth_sandbox::launcher::main();
    }
    let cli = Cli::parse();
    // A log that cannot be written, as on a full disk, must not end the daemon.
    tracing_subscriber::fmt()
        .json()
        .with_writer(io::stderr)
        .with_target(false)
        .log_internal_errors(false)
        .init();
    let address = cli.directory.map_or_else(Address::of_user, Address::at);
    let options = std::env::current_exe().map(|launcher| Options {
        address: address.clone(),
        launcher,
        idle: Duration::from_secs(cli.idle),
        kept_bytes: cli.kept_mib.map(|mib| mib << 20),
        demangle: libstdcxx::demangle,
    });
    match options.and_then(|options| serve(&options)) {
        Ok(Ended::Served) => ExitCode::SUCCESS,
        Ok(Ended::AnotherServes) => {
            let process = holder(&address).map(|pid| format!(" (process {pid})")).unwrap_or_default();
            tracing::info!("another daemon{process} serves {}", address.directory().display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            // Whoever started it reads this line.
            let _ = writeln!(io::stdout(), "{error}");
            tracing::error!(%error, "cannot serve");
            ExitCode::FAILURE
        }
    }
}

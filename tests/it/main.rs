//! The integration tests: one binary, a module for each promise.
//!
//! Tests that need the `tcc` subject run always; those that need `gcc-11` are ignored unless asked for
//! (`tools/test --full`).

#[path = "../support/chromium.rs"]
mod chromium;
#[path = "../support/daemon.rs"]
mod daemon;
#[path = "../support/exact.rs"]
mod exact;
#[path = "../support/notes_writer.rs"]
mod notes_writer;
#[path = "../support/option_sets.rs"]
mod option_sets;
#[path = "../support/plain_run.rs"]
mod plain_run;
#[path = "../support/programs.rs"]
mod programs;
#[path = "../support/small_subject.rs"]
mod small_subject;
#[path = "../support/warm_exact.rs"]
mod warm_exact;

mod atlas;
mod command_line;
mod damaged_files;
mod early_and_late;
mod handmade_notes;
mod html_report;
mod kept_apart;
mod library_points;
mod localize;
mod misbehaving;
mod new_builds;
mod ordinary_user;
mod python_client;
mod real_notes;
mod report_formats;
mod report_names;
mod service;
mod service_clients;
mod service_daemon;
mod service_frames;
mod service_hangs;
mod service_kept;
mod service_peers;
mod service_rankings;
mod standby_pages;
mod subject_commands;
mod subject_exactness;
mod terminal;
mod tidy;
mod warm_exactness;
mod warm_messages;
mod written_files;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Names another place of the command under test, for a user who cannot read the build.
const PROGRAM_VARIABLE: &str = "HEARTH_TEST_PROGRAM";
/// The same for the project.
const PROJECT_VARIABLE: &str = "HEARTH_TEST_PROJECT";

/// The command under test.
fn hearth() -> PathBuf {
    std::env::var_os(PROGRAM_VARIABLE).map_or_else(|| env!("CARGO_BIN_EXE_hearth").into(), PathBuf::from)
}

/// The top of the project.
fn project() -> PathBuf {
    if let Some(project) = std::env::var_os(PROJECT_VARIABLE) {
        return project.into();
    }
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the project is there")
}

/// Runs a command and returns what it said; it must be possible to start it.
fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"))
}

/// Runs a command that must succeed.
fn run_ok(command: &mut Command) -> String {
    let output = run(command);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

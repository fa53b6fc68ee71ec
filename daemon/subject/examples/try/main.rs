//! Trial binary; not kept.
mod subject;
#[derive(clap::Parser)]
struct Arguments {
    #[command(subcommand)]
    command: subject::SubjectCommand,
}
fn main() -> std::process::ExitCode {
    let arguments = <Arguments as clap::Parser>::parse();
    match subject::run(arguments.command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("hearth: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}

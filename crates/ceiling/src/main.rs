//! The command `ceiling`.
//!
//! What this room is for: turning a command line into calls of the other rooms, and their results
//! into output and an exit code.
//! In: arguments, signals. Out: text, files, an exit code.
//! Never: logic; what a figure means is decided in other rooms.

mod cli;
mod cmd;

mod fleet;
mod session;
mod signals;

mod ci;
mod onlookers;
mod outputs;
mod screen;

mod exit;

use clap::{CommandFactory, Parser};
use exit::{Code, Failure};
use model::secret::{self, Secrets};
use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let typed = cli::with_load(cli::ordered(env::args_os().collect()));
    let words: Vec<String> = typed.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let cli = match cli::Cli::try_parse_from(&typed) {
        Ok(cli) => cli,
        Err(error) => return cli::explain(&error, &words),
    };
    let result = match Secrets::missing(&words) {
        Some(word) => Err(Failure::Usage(plan::missing(word))),
        None => carry_out(cli.command, &words),
    };
    match result {
        Ok(code) => code.into(),
        Err(failure) => {
            // Messages never show a secret.
            let text = secret::without(&failure.to_string(), &Secrets::of_command(&words));
            screen::to_stderr(&format!("ceiling: {text}"));
            failure.code().into()
        }
    }
}

fn carry_out(command: cli::Command, words: &[String]) -> Result<Code, Failure> {
    match command {
        cli::Command::Load(command) => session::run(&command, words),
        cli::Command::Run(command) => cmd::run::run(command),
        cli::Command::Runs(command) => cmd::runs::run(command),
        cli::Command::Show(command) => cmd::show::run(command),
        cli::Command::Compare(command) => cmd::compare::run(command),
        cli::Command::Tune(command) => cmd::tune::run(command),
        cli::Command::Probe(command) => cmd::probe::run(command),
        cli::Command::Agent(command) => cmd::agent::run(command),
        cli::Command::Fleet(command) => cmd::fleet::run(command),
        cli::Command::Journal(command) => cmd::journal::run(command),
        cli::Command::Advise(command) => cmd::advise::run(command),
        cli::Command::Size(command) => cmd::size::run(command),
        cli::Command::Front(command) => cmd::front::run(command),
        cli::Command::Try(command) => cmd::attempt::run(&command),
        cli::Command::Import(command) => cmd::import::run(&command),
        cli::Command::Grpc(command) => cmd::grpc::run(command),
        cli::Command::Audit(command) => cmd::audit::run(command),
        cli::Command::Doctor(command) => cmd::doctor::run(&command),
        cli::Command::Completions(command) => cmd::completions::run(&command, cli::Cli::command()),
        cli::Command::Man(command) => cmd::man::run(&command, cli::Cli::command()),
        cli::Command::Reference { page } => cmd::man::reference(cli::Cli::command(), &page),
        cli::Command::Keep => cmd::keep::run(),
    }
}

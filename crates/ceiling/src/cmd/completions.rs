//! `ceiling completions SHELL`.

use crate::cli::Cli;
use crate::exit::{Code, Failure};
use crate::screen::document;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// Prints a completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  ceiling completions bash > /etc/bash_completion.d/ceiling")]
pub struct Completions {
    /// The shell
    shell: Shell,
}

pub fn run(command: &Completions) -> Result<Code, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(command.shell, &mut Cli::command(), "ceiling", &mut script);
    document(&String::from_utf8_lossy(&script))?;
    Ok(Code::Good)
}

//! `ceiling completions SHELL`.

use crate::exit::{Code, Failure};
use crate::screen::document;
use clap::Args;
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

/// Prints the script for all commands of `top`.
pub fn run(command: &Completions, mut top: clap::Command) -> Result<Code, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(command.shell, &mut top, "ceiling", &mut script);
    document(&String::from_utf8_lossy(&script))?;
    Ok(Code::Good)
}

//! Starts a program on the server's machine, and ends all such programs.

use crate::options::{ClearOptions, SeatOptions};
use crate::setup::Allowance;
use crate::stage;
use anyhow::{Context, Result};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Enters the groups of the options and execs the program.
pub fn take(options: &SeatOptions) -> Result<()> {
    let SeatOptions { quota, parent_quota, weight, .. } = *options;
    let allowance = Allowance { quota, parent_quota, weight, ..Allowance::default() };
    stage::enter(&options.stage, &options.name, allowance)?;
    let mut command = Command::new("taskset");
    command.args(["-c", &options.cpus]);
    if let Some(files) = options.files {
        command.arg("prlimit").arg(format!("--nofile={files}:{files}"));
    }
    // Errors before this line are printed, and the caller reports them.
    command.stderr(Stdio::null());
    Err(command.args(&options.program).exec()).context("taskset cannot be started")
}

/// Ends all programs of a stage.
pub fn clear(options: &ClearOptions) -> Result<()> {
    stage::clear(&options.stage);
    Ok(())
}

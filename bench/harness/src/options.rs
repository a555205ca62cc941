//! Options that the commands of the bench share.

use anyhow::{Result, ensure};
use clap::Args;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// How to treat programs that are not on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    Install,
    LeaveOut,
}

/// The programs of the repository.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Programs")]
pub struct Programs {
    #[arg(long, value_name = "PATH", default_value = "bin/ceiling")]
    pub ceiling: PathBuf,
    /// The older build that `guard` compares with
    #[arg(long, value_name = "PATH", default_value = "bin/ceiling-base", hide = true)]
    pub base: PathBuf,
    #[arg(long, value_name = "PATH", default_value = "bin/floor")]
    pub floor: PathBuf,
    #[arg(long, value_name = "PATH", default_value = "bin/target-fasthttp")]
    pub fasthttp: PathBuf,
    #[arg(long, value_name = "PATH", default_value = "bin/target-nethttp")]
    pub nethttp: PathBuf,
    #[arg(long, value_name = "PATH", default_value = "bin/target-certs")]
    pub certs: PathBuf,
    #[arg(long, value_name = "PATH", default_value = "bin/target-sink")]
    pub sink: PathBuf,
    #[arg(long, value_name = "PATH", default_value = "bin/target-grpc")]
    pub grpc: PathBuf,
}

/// Options of every command that runs rounds.
#[derive(Debug, Clone)]
pub struct Setting {
    pub rounds: u32,
    /// How long each contender runs in a round.
    pub slot_ms: u32,
    /// Seed of the order within rounds.
    pub seed: u64,
    pub missing: Missing,
    /// Where files go.
    pub out: PathBuf,
    pub programs: Programs,
}

impl Setting {
    /// Where the output of processes goes.
    pub fn scratch(&self) -> PathBuf {
        self.out.join("scratch")
    }

    /// The length of a slot, for programs that take whole seconds.
    pub fn seconds(&self) -> u32 {
        self.slot_ms / 1_000
    }
}

/// A random seed.
pub fn drawn_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(1, |since| since.as_micros() as u64)
}

/// Server and client need a CPU each.
pub fn check_cpus() -> Result<()> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    ensure!(cpus >= 2, "server and client need a CPU each, and this process may use {cpus}");
    Ok(())
}

/// Fails when a program of the repository is missing.
pub fn check_programs<'p>(programs: impl IntoIterator<Item = &'p PathBuf>) -> Result<()> {
    for program in programs {
        ensure!(program.is_file(), "{} is missing; `make build` builds it", program.display());
    }
    Ok(())
}

/// Whether a row was requested: by its name, or by its first words. No name means every row.
pub fn wants(only: &[String], row: &str) -> bool {
    let is_meant = |name: &String| {
        let rest = row.strip_prefix(name.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    only.is_empty() || only.iter().any(is_meant)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use clap::Parser;

    /// The programs where `make build` puts them.
    pub fn built() -> Programs {
        #[derive(Parser)]
        struct Line {
            #[command(flatten)]
            programs: Programs,
        }
        Line::parse_from(["bench"]).programs
    }

    #[test]
    fn a_name_means_its_row_and_its_kind_and_not_a_longer_one() {
        let wants = |only: &str, row| wants(&[only.to_owned()], row);
        assert!(super::wants(&[], "memory") && wants("veth", "veth-16"));
        assert!(wants("depth-1", "depth-1") && !wants("depth-1", "depth-100"));
    }
}

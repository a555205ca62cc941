//! The command line of `bench truth`.

use crate::options::{Missing, Programs, Setting};
use clap::{Args, value_parser};
use std::path::PathBuf;

/// See the texts of the options.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Load of each measurement, whole seconds
    #[arg(long, value_name = "T", default_value = "20",
          value_parser = value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Requests per second against the stalling sink
    #[arg(long, value_name = "LIST", default_value = "1000,20000", value_delimiter = ',',
          value_parser = value_parser!(u32).range(1..=10_000_000))]
    pub rates: Vec<u32>,
    /// Requests per second of the release part
    #[arg(long, value_name = "LIST", default_value = "1000,100000", value_delimiter = ',',
          value_parser = value_parser!(u32).range(1..=10_000_000))]
    pub release: Vec<u32>,
    /// The same for every rate [default: twice as many as are planned in one stall, at least 64, so
    /// that no request waits for a connection and the schedule alone is the truth]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=65_535))]
    connections: Option<u32>,
    /// One generator, or release; repeatable
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Do not install missing generators
    #[arg(long)]
    no_install: bool,
    /// Where truth.json goes
    #[arg(long, value_name = "DIR", default_value = "out/truth")]
    out: PathBuf,
    #[command(flatten)]
    programs: Programs,
}

impl Options {
    /// The options shared with other commands. Each generator runs once for each rate.
    pub fn setting(&self) -> Setting {
        Setting {
            rounds: 1,
            slot_ms: self.seconds * 1_000,
            seed: 0,
            missing: if self.no_install { Missing::LeaveOut } else { Missing::Install },
            out: self.out.clone(),
            programs: self.programs.clone(),
        }
    }

    /// Whether a generator or a part was requested, by its first word.
    pub fn wants(&self, name: &str) -> bool {
        let first = name.split(' ').next().unwrap_or_default();
        self.only.is_empty() || self.only.iter().any(|only| only == first || only == name)
    }

    /// Connections at a rate, with stalls of this many milliseconds.
    pub fn connections(&self, rate: u32, stall_ms: u32) -> u32 {
        const LEAST: u32 = 64;
        let in_a_stall = rate.saturating_mul(stall_ms) / 1_000;
        let enough = (in_a_stall * 2).next_multiple_of(LEAST).max(LEAST);
        self.connections.unwrap_or(enough)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn parsed(line: &str) -> Result<Options, clap::Error> {
        Line::try_parse_from(["truth"].into_iter().chain(line.split_whitespace()))
            .map(|line| line.options)
    }

    #[test]
    fn connections_are_enough_for_a_stall() {
        let options = parsed("").unwrap();
        assert!(options.wants("release") && options.wants("ceiling fixed"));
        assert_eq!(options.connections(1_000, 100), 256);
        assert_eq!(options.connections(20_000, 100), 4_032);
        assert_eq!(options.connections(10, 100), 64);
    }

    #[test]
    fn a_part_can_be_chosen() {
        let options = parsed("--only ceiling --rates 500 --connections 64").unwrap();
        assert!(options.wants("ceiling poisson") && !options.wants("release"));
        assert_eq!((options.rates.as_slice(), options.connections(20_000, 100)), (&[500][..], 64));
        assert!(parsed("--rates 1000,").is_err());
    }
}

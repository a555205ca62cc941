//! The command line of `cargo xtask bench`.

use anyhow::{Context, Result, bail};
use std::path::PathBuf;

/// What `--help` prints.
pub const USAGE: &str = "\
usage: cargo xtask bench [OPTIONS]

  --rounds N       rounds of each row [default: 7]
  --seconds T      load of each slot, whole seconds [default: 3]
  --only NAME      one row, or all of a kind; repeatable: depth-1, depth-100, read, veth-1,
                   veth-16, null-1, null-100, churn, tls-1, tls-churn, memory, and depth, veth,
                   null, tls
  --quick          2 rounds of 1 s, memory watched for 15 s instead of 60 s
  --seed N         seed of the order within rounds [default: drawn, printed and recorded]
  --check          exit 1 when a bound is missed
  --no-install     leave missing peers alone
  --out DIR        where bench.json and bench.svg go [default: out/bench]
  --ceiling, --floor, --fasthttp, --nethttp, --certs, --sink PATH
                   the programs [default: bin/ceiling, bin/floor, bin/target-fasthttp,
                   bin/target-nethttp, bin/target-certs, bin/target-sink]
";

/// What happens to peers that are not on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    Install,
    LeaveOut,
}

/// What a missed bound does to the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Miss {
    Print,
    Fail,
}

/// The programs that belong to the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    pub ceiling: PathBuf,
    pub floor: PathBuf,
    pub fasthttp: PathBuf,
    pub nethttp: PathBuf,
    pub certs: PathBuf,
    pub sink: PathBuf,
}

/// A checked command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub rounds: u32,
    pub seconds: u32,
    /// Length of the run whose memory is watched.
    pub watch_seconds: u32,
    /// Names of rows, or of kinds of rows; empty means every row.
    pub only: Vec<String>,
    pub seed: u64,
    pub missing: Missing,
    pub miss: Miss,
    pub out: PathBuf,
    pub programs: Programs,
}

/// What a command line asks for.
#[derive(Debug)]
pub enum Invocation {
    Run(Box<Options>),
    Help,
}

impl Options {
    fn with_seed(seed: u64) -> Self {
        Self {
            rounds: 7,
            seconds: 3,
            watch_seconds: 60,
            only: Vec::new(),
            seed,
            missing: Missing::Install,
            miss: Miss::Print,
            out: "out/bench".into(),
            programs: Programs {
                ceiling: "bin/ceiling".into(),
                floor: "bin/floor".into(),
                fasthttp: "bin/target-fasthttp".into(),
                nethttp: "bin/target-nethttp".into(),
                certs: "bin/target-certs".into(),
                sink: "bin/target-sink".into(),
            },
        }
    }

    /// Where processes leave what they print.
    pub fn scratch(&self) -> PathBuf {
        self.out.join("scratch")
    }

    /// Whether a row was asked for.
    pub fn wants(&self, row: &str) -> bool {
        let is_meant = |name: &String| {
            row.strip_prefix(name.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        self.only.is_empty() || self.only.iter().any(is_meant)
    }
}

/// Reads the arguments; `drawn` is the seed when none is given.
pub fn parse(arguments: &[String], drawn: u64) -> Result<Invocation> {
    let mut options = Options::with_seed(drawn);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().with_context(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "-h" | "--help" => return Ok(Invocation::Help),
            "--rounds" => options.rounds = number(argument, value()?, 1000)?,
            "--seconds" => options.seconds = number(argument, value()?, 3600)?,
            "--only" => options.only.push(value()?.clone()),
            "--quick" => {
                (options.rounds, options.seconds, options.watch_seconds) = (2, 1, 15);
            }
            "--seed" => {
                let seed = value()?;
                options.seed = seed.parse().with_context(|| format!("--seed takes {seed}?"))?;
            }
            "--check" => options.miss = Miss::Fail,
            "--no-install" => options.missing = Missing::LeaveOut,
            "--out" => options.out = value()?.into(),
            "--ceiling" => options.programs.ceiling = value()?.into(),
            "--floor" => options.programs.floor = value()?.into(),
            "--fasthttp" => options.programs.fasthttp = value()?.into(),
            "--nethttp" => options.programs.nethttp = value()?.into(),
            "--certs" => options.programs.certs = value()?.into(),
            "--sink" => options.programs.sink = value()?.into(),
            other => bail!("there is no option {other}\n\n{USAGE}"),
        }
    }
    Ok(Invocation::Run(Box::new(options)))
}

fn number(flag: &str, value: &str, max: u32) -> Result<u32> {
    let number = value.parse().ok().filter(|number| (1..=max).contains(number));
    number.with_context(|| format!("{flag} takes a whole number from 1 to {max}, not {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Invocation> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>(), 42)
    }

    fn options(line: &str) -> Options {
        match parsed(line).unwrap() {
            Invocation::Run(options) => *options,
            Invocation::Help => panic!("help was not asked for"),
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_usage() {
        let options = options("");
        assert_eq!((options.rounds, options.seconds, options.seed), (7, 3, 42));
        assert_eq!((options.missing, options.miss), (Missing::Install, Miss::Print));
        assert!(options.wants("depth-1") && options.wants("memory"));
    }

    #[test]
    fn later_options_override_earlier_ones() {
        let options = options("--quick --rounds 5 --only veth --only null --seed 7 --check");
        assert_eq!((options.rounds, options.seconds, options.watch_seconds), (5, 1, 15));
        assert!(options.wants("veth-16") && options.wants("null-1") && !options.wants("read"));
        assert_eq!((options.seed, options.miss), (7, Miss::Fail));
    }

    #[test]
    fn a_name_means_its_row_and_not_a_longer_one() {
        let options = options("--only depth-1");
        assert!(options.wants("depth-1") && !options.wants("depth-100"));
    }

    #[test]
    fn wrong_lines_name_what_is_wrong() {
        for (line, part) in [
            ("--rounds 0", "--rounds takes"),
            ("--rounds", "needs a value"),
            ("--seconds 0.5", "whole number"),
            ("--fast", "no option --fast"),
        ] {
            assert!(parsed(line).unwrap_err().to_string().contains(part), "{line}");
        }
    }
}

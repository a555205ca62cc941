//! The command line of `cargo xtask bench-truth`.

use super::super::options::Missing;
use anyhow::{Context, Result, bail};
use std::path::PathBuf;

/// What `--help` prints.
pub const USAGE: &str = "\
usage: cargo xtask bench-truth [OPTIONS]

  --seconds T        load of each measurement, whole seconds [default: 20]
  --rates LIST       requests per second against the stalling sink [default: 1000,20000]
  --release LIST     requests per second of the release part [default: 1000,100000]
  --connections N    [default: twice as many as are planned in one stall, at least 64, so that
                     no request waits for a connection and the schedule alone is the truth]
  --only NAME        one generator, or release; repeatable: ceiling, wrk2, oha, vegeta, k6, h2load
  --no-install       leave missing generators alone
  --out DIR          where truth.json goes [default: out/truth]
  --ceiling, --sink PATH
                     the programs [default: bin/ceiling, bin/target-sink]
";

/// A checked command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub seconds: u32,
    pub rates: Vec<u32>,
    pub release: Vec<u32>,
    /// The same for every rate, if given.
    pub connections: Option<u32>,
    pub only: Vec<String>,
    pub missing: Missing,
    pub out: PathBuf,
    pub ceiling: PathBuf,
    pub sink: PathBuf,
}

/// What a command line asks for.
#[derive(Debug)]
pub enum Invocation {
    Run(Options),
    Help,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seconds: 20,
            rates: vec![1_000, 20_000],
            release: vec![1_000, 100_000],
            connections: None,
            only: Vec::new(),
            missing: Missing::Install,
            out: "out/truth".into(),
            ceiling: "bin/ceiling".into(),
            sink: "bin/target-sink".into(),
        }
    }
}

impl Options {
    /// Where processes leave what they print.
    pub fn scratch(&self) -> PathBuf {
        self.out.join("scratch")
    }

    /// Whether a generator or a part was asked for, by its first word.
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

/// Reads the arguments.
pub fn parse(arguments: &[String]) -> Result<Invocation> {
    let mut options = Options::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().with_context(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "-h" | "--help" => return Ok(Invocation::Help),
            "--seconds" => options.seconds = number(argument, value()?, 3_600)?,
            "--rates" => options.rates = numbers(argument, value()?)?,
            "--release" => options.release = numbers(argument, value()?)?,
            "--connections" => options.connections = Some(number(argument, value()?, 65_535)?),
            "--only" => options.only.push(value()?.clone()),
            "--no-install" => options.missing = Missing::LeaveOut,
            "--out" => options.out = value()?.into(),
            "--ceiling" => options.ceiling = value()?.into(),
            "--sink" => options.sink = value()?.into(),
            other => bail!("there is no option {other}\n\n{USAGE}"),
        }
    }
    Ok(Invocation::Run(options))
}

fn numbers(flag: &str, list: &str) -> Result<Vec<u32>> {
    list.split(',').map(|value| number(flag, value, 10_000_000)).collect()
}

fn number(flag: &str, value: &str, max: u32) -> Result<u32> {
    let number = value.parse().ok().filter(|number| (1..=max).contains(number));
    number.with_context(|| format!("{flag} takes a whole number from 1 to {max}, not {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match parse(&words)? {
            Invocation::Run(options) => Ok(options),
            Invocation::Help => bail!("help"),
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_usage() {
        let options = parsed("").unwrap();
        assert_eq!((options.seconds, options.rates.as_slice()), (20, &[1_000, 20_000][..]));
        assert_eq!(options.release, [1_000, 100_000]);
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
    }

    #[test]
    fn wrong_lines_name_what_is_wrong() {
        for (line, part) in [
            ("--rates 1000,", "--rates takes a whole number"),
            ("--seconds 0", "--seconds takes"),
            ("--seconds", "needs a value"),
            ("--fast", "no option --fast"),
        ] {
            assert!(parsed(line).unwrap_err().to_string().contains(part), "{line}");
        }
    }
}

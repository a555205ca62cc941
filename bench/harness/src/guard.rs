//! `bench guard`: does a build of `ceiling` cost more than an older one?
//!
//! Both run once in each round, in a new random order, against the same server. The guard compares
//! the CPU time per request within rounds only: other programs on the machine affect both alike.
//! Rounds are many and short, because a disturbance of one second would hit one build only. The
//! older build may be any that has the options of `ceiling load`.

use crate::compare::{self, Comparison};
use crate::contender::{Build, Contender, Ours};
use crate::options::{self, Missing, Programs, Setting};
use crate::rounds::Bench;
use crate::rows::{ROWS, Row};
use crate::slot::RowResult;
use crate::statistics::{Interval, Spread};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The rows that a change to the engine could slow down.
const GUARDED: [&str; 4] = ["null-1", "null-100", "depth-1", "depth-100"];

/// The command line.
#[derive(Debug, Args)]
pub struct Options {
    /// Rounds of each row
    #[arg(long, value_name = "N", default_value = "61",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Load of each slot, milliseconds: short, so that both builds have the same neighbours
    #[arg(long, value_name = "MS", default_value = "300",
          value_parser = clap::value_parser!(u32).range(50..=60_000))]
    slot_ms: u32,
    /// null-1, null-100, depth-1 or depth-100, or null or depth; repeatable
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Exit 1 when the median of new/base is above this
    #[arg(long, value_name = "RATIO", default_value = "1.02")]
    limit: f64,
    /// Seed of the order within rounds [default: drawn]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Where the output of processes goes
    #[arg(long, value_name = "DIR", default_value = "out/guard")]
    out: PathBuf,
    #[command(flatten)]
    programs: Programs,
}

/// Measures each row and prints a line for it.
pub fn run(options: Options) -> Result<ExitCode> {
    let rows: Vec<&Row> = ROWS
        .iter()
        .filter(|row| GUARDED.contains(&row.name) && options::wants(&options.only, row.name))
        .collect();
    ensure!(!rows.is_empty(), "no such row; rows are {}", GUARDED.join(", "));
    options::check_cpus()?;
    let Programs { base, ceiling, floor, fasthttp, .. } = &options.programs;
    options::check_programs([base, ceiling, floor, fasthttp])?;
    let mut bench = Bench::new(Setting {
        rounds: options.rounds,
        slot_ms: options.slot_ms,
        seed: options.seed.unwrap_or_else(options::drawn_seed),
        missing: Missing::LeaveOut,
        out: options.out.clone(),
        programs: options.programs.clone(),
    })?;
    bench.setting.programs.base = copied(base, &bench.scratch("old-build"))?;
    bench.setting.programs.ceiling = copied(ceiling, &bench.scratch("new-build"))?;
    println!(
        "guard: {} rounds of {} ms each; base {}, new {}\n{}",
        options.rounds,
        options.slot_ms,
        base.display(),
        ceiling.display(),
        heading()
    );
    let (mut slower, mut results) = (0, Vec::new());
    for row in rows {
        let result = bench.row(row, &pair(row))?;
        let compared = Compared::of(&result, options.rounds);
        println!("{}", line(row.name, &compared, options.limit));
        slower += u32::from(compared.is_none_or(|compared| compared.ratio.median > options.limit));
        results.push(result);
    }
    if let Some(share) = compare::foreign(&results) {
        println!("others had {:.0} % of a CPU while slots ran", share.median * 100.0);
    }
    Ok(if slower == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A copy under a name as long as the other's. The length of the command line shifts the stack,
/// which alone changed null-100 by 3 % between two copies of one build (Mytkowicz and others 2009,
/// "Producing wrong data without doing anything obviously wrong").
fn copied(program: &Path, copy: &Path) -> Result<PathBuf> {
    // A running program cannot be overwritten.
    let _ = std::fs::remove_file(copy);
    std::fs::copy(program, copy).with_context(|| format!("{}", program.display()))?;
    Ok(copy.to_owned())
}

/// Both builds, with the driver of the row.
fn pair(row: &Row) -> [Contender; 2] {
    [Build::Base, Build::This]
        .map(|build| Contender::Ceiling(Ours { build, ..Ours::plain(row.driver) }))
}

/// The comparison of the two builds in a row.
struct Compared {
    base_us: f64,
    new_us: f64,
    ratio: Spread,
    interval: Interval,
}

impl Compared {
    /// Nothing when fewer than half of the rounds have both: the others may be the slow ones.
    fn of(result: &RowResult, rounds: u32) -> Option<Self> {
        let comparison = Comparison::of(result, rounds);
        let [base, new] = pair(result.row).map(|contender| contender.name());
        let ratios = comparison.cost_ratios(&new, &base);
        if 2 * ratios.len() < rounds as usize {
            return None;
        }
        let us = |name: &str| Some(comparison.cost(name)?.median / 1e3);
        Some(Self {
            base_us: us(&base)?,
            new_us: us(&new)?,
            ratio: Spread::of(ratios.iter().copied())?,
            interval: Interval::of_median(ratios)?,
        })
    }
}

fn heading() -> String {
    format!("{:<10}{:>12}{:>12}{:>10}   interval", "", "base us/req", "new us/req", "new/base")
}

fn line(name: &str, compared: &Option<Compared>, limit: f64) -> String {
    let Some(Compared { base_us, new_us, ratio, interval }) = compared else {
        return format!("{name:<10} FAILED in most rounds");
    };
    let Interval { low, high, coverage } = interval;
    // A bound inside the interval is neither met nor missed.
    let word = match () {
        () if ratio.median > limit && *low > limit => "SLOWER",
        () if ratio.median > limit => "SLOWER by the median; run more rounds",
        () if *high > limit => "ok by the median",
        () => "ok",
    };
    format!(
        "{name:<10}{base_us:>12.4}{new_us:>12.4}{:>10.4}   {low:.4}..{high:.4} ({:.0} % of {} \
         rounds)  {word}",
        ratio.median,
        coverage * 100.0,
        ratio.count
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::sample;

    fn compared(base: u64, new: [u64; 2]) -> String {
        let result =
            sample(&[("base uring", [Some(base), Some(base)]), ("ceiling uring", new.map(Some))]);
        line("depth-1", &Compared::of(&result, 2), 1.02)
    }

    #[test]
    fn a_build_that_costs_more_is_named() {
        assert!(compared(1000, [1010, 1010]).ends_with("ok"));
        assert!(compared(1000, [1100, 1100]).ends_with("SLOWER"));
        assert!(compared(1000, [900, 1100]).contains("ok by the median"));
        let text = compared(1000, [1000, 1100]);
        assert!(text.contains("1.0500   1.0000..1.1000 (50 % of 2 rounds)"), "{text}");
        assert!(text.ends_with("run more rounds"), "{text}");
    }

    #[test]
    fn no_figure_is_not_a_pass() {
        let result =
            sample(&[("base uring", [None, None]), ("ceiling uring", [Some(1000), Some(1000)])]);
        assert!(Compared::of(&result, 2).is_none());
        let result =
            sample(&[("base uring", [Some(1000); 2]), ("ceiling uring", [Some(1000), None])]);
        assert!(Compared::of(&result, 2).is_some(), "half of them");
        assert!(Compared::of(&result, 3).is_none(), "it died in two of three");
    }

    #[test]
    fn every_guarded_row_exists() {
        for name in GUARDED {
            assert!(ROWS.iter().any(|row| row.name == name), "{name}");
        }
    }
}

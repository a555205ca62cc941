//! CPU time burnt in spells, as by the other programs of a host in use.

use crate::dice::Dice;
use crate::options::BurnOptions;
use crate::spells::{Spell, Spells};
use anyhow::Result;
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

/// Mean length of a spell of work and the rest after it: several spells in each reading of a probe
/// would be a constant load, one in several readings is what a person's programs do.
const ROUND_S: f64 = 0.2;

/// Burns until it is killed.
pub fn run(options: &BurnOptions) -> Result<()> {
    for round in 0.. {
        let Spell { rest, last } = match (options.rest_s, options.work_s) {
            (Some(rest_s), Some(work_s)) => Spells::of(options.seed, rest_s, work_s).nth(round),
            _ => exponential(options, round),
        };
        thread::sleep(rest);
        let begin = Instant::now();
        while begin.elapsed() < last {
            black_box((0..1000_u64).map(black_box).sum::<u64>());
        }
    }
    Ok(())
}

/// Exponential lengths, from a number that is never 0.
fn exponential(options: &BurnOptions, round: u32) -> Spell {
    let mut dice = Dice::new(options.seed, "burn", round);
    let mut spell =
        |name, mean_s: f64| Duration::from_secs_f64(-mean_s * dice.real(name, 0.001, 1.0).ln());
    let last = spell("work", ROUND_S * options.share);
    Spell { rest: spell("rest", ROUND_S * (1.0 - options.share)), last }
}

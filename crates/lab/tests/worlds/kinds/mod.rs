//! Kinds of worlds, one file each.

mod constant;
mod curves;
mod devices;
mod failures;
mod generators;
mod habits;
mod hosts;
mod overload;
mod queues;
mod ramps;
mod searches;
mod silences;
mod streams;
mod tails;
mod workers;

use crate::laws::{self, Findings};
use crate::stage::{Drawn, Seen};
use crate::truth;
use model::random::Random;
use model::wall::Side;

/// A kind of world.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// How many are made.
    pub seeds: u64,
    /// Draws one.
    pub draw: fn(&mut Dice) -> Drawn,
    /// The laws that its verdicts must keep.
    pub check: fn(&Seen, &mut Findings),
}

/// Every kind.
pub const KINDS: &[Kind] = &[
    constant::CLOSED,
    constant::SLOW,
    curves::SHAPES,
    devices::OPEN,
    queues::MM1,
    queues::MMC,
    queues::MD1,
    queues::SHARING,
    overload::ABOVE,
    failures::SHEDDING,
    failures::STATUS,
    failures::LIMITED,
    failures::LATE,
    failures::SILENT,
    failures::RESETS,
    failures::DYING,
    habits::CLOSING,
    habits::HALTING,
    habits::SLOW_START,
    habits::HEAVY,
    habits::POOL,
    habits::PIECES,
    habits::STRAYS,
    generators::LATE,
    generators::FROZEN,
    generators::SLOW,
    generators::STARVED,
    hosts::TICKS,
    ramps::NOISY,
    ramps::QUIET,
    searches::MM1,
    searches::SHEDDING,
    silences::HUNG,
    silences::HUNG_RAMP,
    silences::HUNG_BUDGET,
    silences::PAUSED,
    silences::NEAR_TIMEOUT,
    streams::LIMITED,
    streams::PLENTY,
    streams::POOL,
    streams::RENEWED,
    streams::WINDOWED,
    tails::THROTTLED,
    tails::OTHERWISE,
    tails::OURS,
    workers::CLOSED,
    workers::OPEN,
];

impl Kind {
    /// Makes the world of a seed, and checks it.
    pub fn make(&self, seed: u64) -> Findings {
        let mut findings = Findings::default();
        let drawn = (self.draw)(&mut Dice { seed, random: Random::new(seed, 7) });
        let seen = drawn.clone().play();
        (self.check)(&seen, &mut findings);
        findings.named = seen.run.record.verdict.wall.word();
        if !seen.is_judged_alike() {
            findings
                .wrong("judged again from its readings, the run says something else".to_string());
        }
        // Headline, marks and charts say only what the record may claim.
        report::story::contradictions(&seen.run).into_iter().for_each(|one| findings.wrong(one));
        if seed.is_multiple_of(8) && drawn.play().bytes() != seen.bytes() {
            findings.wrong("the same seed gives a different record".to_string());
        }
        findings
    }
}

/// Variation of true half-second rates above which a window may be called one of several rates.
const RESTLESS: f64 = 0.10;

/// The random draws of a world.
pub struct Dice {
    /// Its seed.
    pub seed: u64,
    random: Random,
}

impl Dice {
    /// Any number between two, uniform on a logarithmic scale.
    pub fn scale(&mut self, least: f64, most: f64) -> f64 {
        least * (most / least).powf(self.random.uniform())
    }

    /// A whole number between two.
    pub fn count(&mut self, least: u32, most: u32) -> u32 {
        self.random.between(u64::from(least), u64::from(most)) as u32
    }

    /// One of several.
    pub fn one_of<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.random.between(0, of.len() as u64 - 1) as usize].clone()
    }
}

/// A generator that is on time is neither the wall nor in doubt.
fn not_ours(seen: &Seen, findings: &mut Findings) {
    let verdict = &seen.run.record.verdict;
    // A window with several rates may be called that, whatever changed the rate.
    let is_restless = verdict.wall.word() == "M3" && truth::restlessness(seen) > RESTLESS;
    if matches!(verdict.side, Side::Client | Side::Measurement) && !is_restless {
        findings.wrong(format!("{} is named for a generator on time", verdict.wall.word()));
    }
    for point in &seen.run.record.points {
        if laws::standing(point, "rate").is_not_known() {
            findings.wrong(format!("the rate is not known: {:?}", point.standing));
        }
    }
}

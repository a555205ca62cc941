//! The whole lab in virtual time, against worlds whose truth is known.
//!
//! Conductor, search, gates, judge and the engine's workers are real. Each world is drawn from a
//! kind and a seed, and repeats exactly: `cargo test -p lab --test worlds -- KIND SEED`. With
//! `WORLDS_MORE=1` it prints how long each kind took and which walls were named.

mod kinds;
mod laws;
mod stage;
mod truth;

use kinds::{KINDS, Kind};
use laws::Findings;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

/// Failed worlds of each kind that are shown.
const SHOWN_MAX: u32 = 5;

fn main() -> ExitCode {
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let worlds = match words.as_slice() {
        [] => all(|_| true),
        [kind] => all(|listed| listed.name.contains(kind.as_str())),
        [kind, seed, ..] => {
            let seed = seed.parse().expect("a seed is a number");
            KINDS.iter().filter(|listed| listed.name == kind).map(|kind| (kind, seed)).collect()
        }
    };
    let begin = Instant::now();
    let (made, next) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let make = || {
        while let Some((kind, seed)) = worlds.get(next.fetch_add(1, Ordering::Relaxed)) {
            let begin = Instant::now();
            let findings = kind.make(*seed);
            let took = begin.elapsed();
            made.lock().expect("no panic").push((kind.name, *seed, findings, took));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        (0..threads).for_each(|_| drop(scope.spawn(make)));
    });
    let mut made = made.into_inner().expect("no panic");
    made.sort_by_key(|(name, seed, ..)| (*name, *seed));
    let failed = tell(&made);
    let covered = coverage(&made);
    println!(
        "{} worlds of {} kinds in {:.1} s: {failed} failed",
        made.len(),
        made.iter().map(|(name, ..)| *name).collect::<std::collections::BTreeSet<_>>().len(),
        begin.elapsed().as_secs_f64()
    );
    if failed == 0 && covered { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

type Made = (&'static str, u64, Findings, std::time::Duration);

fn all(is_meant: impl Fn(&Kind) -> bool) -> Vec<(&'static Kind, u64)> {
    let meant = KINDS.iter().filter(|kind| is_meant(kind));
    meant.flat_map(|kind| (1..=kind.seeds).map(move |seed| (kind, seed))).collect()
}

/// Prints what does not hold; returns how many worlds failed.
fn tell(made: &[Made]) -> usize {
    let wrong = || made.iter().filter(|(_, _, findings, _)| !findings.wrong.is_empty());
    let mut shown: BTreeMap<&str, u32> = BTreeMap::new();
    for (name, seed, findings, _) in wrong() {
        let of_kind = shown.entry(name).or_default();
        *of_kind += 1;
        if *of_kind > SHOWN_MAX {
            continue;
        }
        println!("{name} {seed}: {}", findings.wrong.join("; "));
        println!("    cargo test -p lab --test worlds -- {name} {seed}");
    }
    for (name, count) in shown {
        println!("{name}: {count} worlds failed");
    }
    if std::env::var_os("WORLDS_MORE").is_some() {
        tell_more(made);
    }
    wrong().count()
}

/// Prints how long each kind took, and which walls were named in it.
fn tell_more(made: &[Made]) {
    let mut kinds: BTreeMap<&str, (f64, BTreeMap<&str, u32>)> = BTreeMap::new();
    for (name, _, findings, took) in made {
        let (seconds, walls) = kinds.entry(name).or_default();
        *seconds += took.as_secs_f64();
        *walls.entry(findings.named).or_default() += 1;
    }
    for (name, (seconds, walls)) in kinds {
        println!("{name}: {seconds:.1} s, {walls:?}");
    }
}

/// Adds up the intervals that were stated, and returns whether each kind held the truth as often as
/// it claims, within chance.
fn coverage(made: &[Made]) -> bool {
    let mut sums: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (_, _, findings, _) in made {
        for (name, (held, stated)) in &findings.stated {
            let sum = sums.entry(name).or_default();
            *sum = (sum.0 + held, sum.1 + stated);
        }
    }
    let mut is_well = true;
    for (name, (held, stated)) in sums {
        let share = held as f64 / stated.max(1) as f64;
        // Three standard errors of a share of 0.95.
        let least = 0.95 - 3.0 * (0.95 * 0.05 / stated.max(1) as f64).sqrt();
        println!("interval of {name}: {held} of {stated} hold the truth ({:.1} %)", share * 100.0);
        is_well &= share >= least;
    }
    is_well
}

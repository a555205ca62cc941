//! Observes this host while no load runs, to tell whether it is fit to measure on: the host facts
//! that a run records, the same counters, and how late threads run.

use crate::machine::ThisHost;
use engine::clock;
use model::checkup::Observed;
use model::histogram::Histogram;
use model::reading::{Data, Reading};
use model::root::Root;
use model::tuning::Row;
use plan::Machine;
use probe::{Config, Sampler};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tune::{Host, Wish};

/// How long a thread asks to sleep, nanoseconds.
const SLEEP_NS: u64 = 1_000_000;
/// Readings of the clock in each series, and series, to measure what one reading costs.
const LOOKS: u32 = 1000;
const SERIES: u32 = 100;
/// The knob whose places say how CPUs choose their clock frequency.
const CLOCK_KNOB: &str = "cpu-clock";
/// Knobs of daemons that run beside a measurement.
const DAEMON_KNOBS: [&str; 2] = ["irqbalance", "cron"];
/// How often the stop flag is checked.
const LOOK: Duration = Duration::from_millis(20);

/// Observes for this long, or until the flag is set.
pub fn observe(length: Duration, stop: &AtomicBool) -> Observed {
    let facts = probe::host_facts();
    let clock_read_ns = clock_read_ns();
    let (begin_ns, begin_cpu_ns) = (clock::now_ns(), clock::process_cpu_ns());
    let sampler = Sampler::start(Config::default());
    let late = late(&facts.cpus_allowed, length, stop);
    let readings = sampler.stop();
    let length_ns = clock::now_ns() - begin_ns;
    let own_cpu_ns = clock::process_cpu_ns() - begin_cpu_ns;
    Observed {
        cpus: ends(&readings, |data| match data {
            Data::Cpus(cpus) => Some(cpus.clone()),
            _ => None,
        }),
        quotas: ends(&readings, |data| match data {
            Data::ClientQuota(quotas) => Some(quotas.clone()),
            _ => None,
        }),
        facts,
        own_cpu_ns,
        length_ns,
        late_ns: late.summary(0),
        clock_read_ns,
        governors: known_of(&[CLOCK_KNOB], |row| {
            row.now.filter(|_| row.place.ends_with("scaling_governor"))
        }),
        daemons: known_of(&DAEMON_KNOBS, |row| {
            row.now.filter(|now| now == "running").map(|_| row.place)
        }),
        uring: ThisHost.uring(),
        ktls: ThisHost.ktls(),
    }
}

/// The first and the last of some readings; empty if there is none.
fn ends<T>(readings: &[Reading], of: impl Fn(&Data) -> Option<Vec<T>>) -> (Vec<T>, Vec<T>) {
    let first = readings.iter().find_map(|reading| of(&reading.data));
    let last = readings.iter().rev().find_map(|reading| of(&reading.data));
    (first.unwrap_or_default(), last.unwrap_or_default())
}

/// The minimum of many short series: in the others the thread did not run all the time.
fn clock_read_ns() -> f64 {
    let series = || {
        let begin_ns = clock::now_ns();
        for _ in 0..LOOKS {
            std::hint::black_box(clock::now_ns());
        }
        (clock::now_ns() - begin_ns) as f64 / f64::from(LOOKS)
    };
    (0..SERIES).map(|_| series()).fold(f64::INFINITY, f64::min)
}

/// How late threads run, one on each CPU.
fn late(cpus: &[u32], length: Duration, stop: &AtomicBool) -> Histogram {
    let end_ns = clock::now_ns() + length.as_nanos() as u64;
    let is_over = AtomicBool::new(false);
    let mut all = Histogram::new();
    thread::scope(|scope| {
        let sleepers: Vec<_> =
            cpus.iter().map(|cpu| scope.spawn(|| sleep_on(*cpu, &is_over))).collect();
        while clock::now_ns() < end_ns && !stop.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
        }
        is_over.store(true, Ordering::Relaxed);
        for sleeper in sleepers.into_iter().filter_map(|sleeper| sleeper.join().ok()) {
            all.merge(&sleeper);
        }
    });
    all
}

fn sleep_on(cpu: u32, is_over: &AtomicBool) -> Histogram {
    let mut set = CpuSet::new();
    if (cpu as usize) < CpuSet::MAX_CPU {
        set.set(cpu as usize);
        // A thread that may not be pinned measures some other CPU.
        let _ = sched_setaffinity(None, &set);
    }
    clock::sleep_precisely();
    let mut late = Histogram::new();
    while !is_over.load(Ordering::Relaxed) {
        let begin_ns = clock::now_ns();
        clock::pause_ns(SLEEP_NS);
        late.record_n(clock::now_ns().saturating_sub(begin_ns + SLEEP_NS), 1);
    }
    late
}

/// What the places of these knobs say, each once.
fn known_of(knobs: &[&str], word: fn(Row) -> Option<String>) -> Vec<String> {
    let only = knobs.iter().map(|knob| (*knob).to_string()).collect();
    let wish = Wish { only, ..Wish::default() };
    let rows = tune::plan(&Host::look(Root::default()), &wish, None).into_iter().map(|one| one.row);
    let mut words: Vec<String> = rows.filter_map(word).collect();
    words.sort_unstable();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_is_observed() {
        for knob in DAEMON_KNOBS.into_iter().chain([CLOCK_KNOB]) {
            assert!(tune::find(knob).is_some(), "places of {knob} are read");
        }
        let of = observe(Duration::from_millis(300), &AtomicBool::new(false));
        assert!(!of.cpus.0.is_empty() && of.cpus.0.len() == of.cpus.1.len());
        assert!(of.late_ns.count > 0 && of.clock_read_ns > 0.0);
        assert!(of.length_ns >= 300_000_000 && of.own_cpu_ns > 0);
    }
}

//! How a host and its processes spent their time from read to read, over a whole run.

use crate::{Pair, Raw, Shares, ThreadShare, cpu_shares, mean_shares, thread_shares};
use model::reading::{Data, Reading};
use model::run::Record;

/// Which process a figure of threads is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    /// The generator.
    Client,
    /// The server's process tree.
    Server,
}

/// Mean shares over all CPUs of a host in each interval, with the middle of the interval by that
/// host's clock, nanoseconds.
pub fn shares_over_time(readings: &[Reading], clock_tick_ns: u64) -> Vec<(u64, Shares)> {
    let cpus = |data: &Data| if let Data::Cpus(cpus) = data { Some(cpus.clone()) } else { None };
    let shares = |pair: &Pair<'_, _>| mean_shares(&cpu_shares(pair, clock_tick_ns));
    let all = steps(readings, cpus, shares);
    all.into_iter().filter_map(|(at_ns, shares)| Some((at_ns, shares?))).collect()
}

/// How the threads of a process spent each interval, with its middle by the generator's clock. A
/// thread that is new since the reading before used all of its time since then.
pub fn threads_over_time(
    record: &Record,
    raw: Raw<'_>,
    process: Process,
) -> Vec<(u64, Vec<ThreadShare>)> {
    let threads = |data: &Data| match (process, data) {
        (Process::Client, Data::ClientThreads(threads))
        | (Process::Server, Data::ServerThreads(threads)) => Some(threads.clone()),
        _ => None,
    };
    let (readings, offset_ns) = match (&record.target.probe, process) {
        (Some(probe), Process::Server) => (raw.far, probe.clock.offset_ns),
        _ => (raw.near, 0),
    };
    let mut all = steps(readings, threads, thread_shares);
    all.iter_mut().for_each(|(at_ns, _)| *at_ns = at_ns.saturating_add_signed(-offset_ns));
    all
}

/// What is derived from each two reads of a source that follow each other.
fn steps<T, R>(
    readings: &[Reading],
    pick: impl Fn(&Data) -> Option<T>,
    derive: impl Fn(&Pair<'_, T>) -> R,
) -> Vec<(u64, R)> {
    let picked = readings.iter().filter_map(|read| Some((read.at_ns(), pick(&read.data)?)));
    let picked: Vec<(u64, T)> = picked.collect();
    let step = |two: &[(u64, T)]| {
        let ((begin_ns, first), (end_ns, last)) = (&two[0], &two[1]);
        let passed_ns = end_ns.checked_sub(*begin_ns).filter(|passed_ns| *passed_ns > 0)?;
        let seconds = passed_ns as f64 / 1e9;
        Some((begin_ns + passed_ns / 2, derive(&Pair { first, last, seconds })))
    };
    picked.windows(2).filter_map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::STATES;
    use model::reading::{CpuTimes, ThreadTimes};

    const SECOND: u64 = 1_000_000_000;

    fn at(seconds: u64, data: Data) -> Reading {
        Reading { begin_ns: seconds * SECOND, end_ns: seconds * SECOND, data }
    }

    /// Shares over one second of a hundred ticks.
    fn shares_in_a_second(first: &[CpuTimes], last: &[CpuTimes]) -> Shares {
        let readings = [at(1, Data::Cpus(first.to_vec())), at(2, Data::Cpus(last.to_vec()))];
        shares_over_time(&readings, SECOND / 100)[0].1
    }

    fn cpu(user: u64, iowait: u64, idle: u64) -> CpuTimes {
        CpuTimes { user, iowait, idle, ..CpuTimes::default() }
    }

    #[test]
    fn states_add_up_to_a_hundred_even_when_a_counter_steps_back() {
        let shares = shares_in_a_second(&[cpu(100, 50, 1000)], &[cpu(130, 49, 1070)]);
        let whole = shares.iter().sum::<f64>();
        assert!((whole - 100.0).abs() < 1e-9, "{whole}");
        assert_eq!((shares[5], shares[6]), (0.0, 70.0), "{STATES:?}");
        assert!((shares[0] - 30.0).abs() < 1e-9, "{shares:?}");
    }

    #[test]
    fn a_cpu_that_came_or_went_is_left_out() {
        let late = CpuTimes { cpu: 1, ..cpu(500, 0, 0) };
        let shares = shares_in_a_second(&[cpu(0, 0, 0)], &[cpu(25, 0, 75), late]);
        assert_eq!((shares[0], shares[6]), (25.0, 75.0));
    }

    #[test]
    fn a_new_thread_used_all_its_time_since_the_reading_before() {
        let thread = |tid, run_ns| ThreadTimes { tid, run_ns, ..ThreadTimes::default() };
        let threads = |readings: [Vec<ThreadTimes>; 2]| {
            let [first, last] = readings.map(Data::ServerThreads);
            let pick = |data: &Data| match data {
                Data::ServerThreads(threads) => Some(threads.clone()),
                _ => None,
            };
            steps(&[at(1, first), at(3, last)], pick, thread_shares)
        };
        let first = vec![thread(1, 5 * SECOND), thread(2, 9 * SECOND)];
        let used = threads([first, vec![thread(1, 6 * SECOND), thread(3, SECOND / 2)]]);
        let cpus: Vec<f64> = used[0].1.iter().map(|thread| thread.run).collect();
        assert_eq!(cpus, [0.5, 0.25], "a thread that went is not negative");
    }
}

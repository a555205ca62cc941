//! Figures over the time of a run, in the same equal parts for every source and for both hosts.
//!
//! A counter is differenced between the last readings of two parts, and a state holds until the
//! next reading of its source. Either is a mean over each part that it overlaps, so a source may be
//! read less often than there are parts. A part in which nothing was known is absent.

use crate::cpus::{Shares, cpu_shares, mean_shares};
use crate::ends::Pair;
use crate::figures::growth;
use crate::threads::{Process, thread_shares};
use model::maps::IntoMap;
use model::metric::Kind;
use model::reading::{Data, Reading};
use model::units::NS_PER_S;
use std::collections::BTreeMap;

/// Parts of a run at most: what a screen can show.
const PARTS_MAX: u64 = 120;
/// Most sources are read less often than this.
const PART_MIN_NS: u64 = NS_PER_S / 4;

/// One value for each part; absent where it was not read.
pub type Line = Vec<Option<f64>>;

/// A thread in all readings of a run: process, thread, name.
pub type ThreadKey = (u32, u32, String);

/// Where a source was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Where the probe is.
    Probe,
    /// In the server's own network namespace.
    Inside,
}

/// The readings of a host at one place.
#[derive(Debug, Clone, Copy)]
pub struct Clocked<'a> {
    /// In time order, by that host's clock.
    pub readings: &'a [Reading],
    /// Which of them count.
    pub place: Place,
    /// How far that clock is ahead of the generator's, nanoseconds.
    pub offset_ns: i64,
    /// Length of the units of `/proc/stat` there, nanoseconds.
    pub clock_tick_ns: u64,
}

impl<'a> Clocked<'a> {
    /// What was read, with its instants by the generator's clock.
    pub fn data(self) -> impl DoubleEndedIterator<Item = (u64, &'a Data)> {
        let is_inside = self.place == Place::Inside;
        let at_ns = move |read: &Reading| read.at_ns().saturating_add_signed(-self.offset_ns);
        let opened = move |read: &'a Reading| match read.data.opened() {
            (data, inside) if inside == is_inside => Some((at_ns(read), data)),
            _ => None,
        };
        self.readings.iter().filter_map(opened)
    }

    fn of_source(self, source: &str) -> impl Iterator<Item = (u64, &'a Data)> {
        self.data().filter(move |(_, data)| data.source() == source)
    }
}

/// The time of a run in equal parts, by the generator's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeline {
    begin_ns: u64,
    part_ns: u64,
    parts: usize,
}

impl Timeline {
    /// The time between two instants.
    pub fn between((begin_ns, end_ns): (u64, u64)) -> Self {
        let passed_ns = end_ns.saturating_sub(begin_ns).max(1);
        let parts = (passed_ns / PART_MIN_NS).clamp(1, PARTS_MAX);
        Self { begin_ns, part_ns: passed_ns.div_ceil(parts), parts: parts as usize }
    }

    /// The middle of each part, nanoseconds.
    pub fn middles_ns(self) -> impl Iterator<Item = u64> {
        let part = move |nth| self.begin_of(nth).saturating_add(self.part_ns / 2);
        (0..self.parts).map(part)
    }

    /// Where the last part ends, nanoseconds.
    pub fn end_ns(self) -> u64 {
        self.begin_of(self.parts)
    }

    /// Where a part begins; instants of a record that was made up may be any.
    fn begin_of(self, nth: usize) -> u64 {
        self.begin_ns.saturating_add((nth as u64).saturating_mul(self.part_ns))
    }

    fn part_of(self, at_ns: u64) -> usize {
        let part = at_ns.saturating_sub(self.begin_ns) / self.part_ns;
        usize::try_from(part).unwrap_or(usize::MAX).min(self.parts - 1)
    }

    /// What is derived from each two consecutive readings of a source, chosen so that no two are in
    /// one part.
    fn derived<K: Ord>(
        self,
        of: Clocked<'_>,
        source: &str,
        derive: impl Fn(&Data, &Data, f64) -> Vec<(K, f64)>,
    ) -> BTreeMap<K, Line> {
        let mut kept: Vec<(u64, &Data)> = Vec::new();
        for (at_ns, data) in of.of_source(source) {
            let is_same = |last_ns: u64| self.part_of(last_ns) == self.part_of(at_ns);
            if kept.len() > 1 && kept.last().is_some_and(|(last_ns, _)| is_same(*last_ns)) {
                kept.pop();
            }
            kept.push((at_ns, data));
        }
        let mut sums = Sums::new(self, Kind::Mean);
        for two in kept.windows(2) {
            let ((begin_ns, first), (end_ns, last)) = (two[0], two[1]);
            let seconds = end_ns.saturating_sub(begin_ns) as f64 / NS_PER_S as f64;
            if seconds > 0.0 {
                let derived = derive(first, last, seconds);
                derived
                    .into_iter()
                    .for_each(|(key, value)| sums.add(key, (begin_ns, end_ns), value));
            }
        }
        sums.lines()
    }

    /// How fast counters grew, per second. Those that stepped back are absent for a while, except
    /// counters of 32 bits, which wrap.
    pub fn growth<K: Ord>(
        self,
        of: Clocked<'_>,
        (source, kind): (&str, Kind),
        pick: impl Fn(&Data) -> Vec<(K, f64)>,
    ) -> BTreeMap<K, Line> {
        self.derived(of, source, |first, last, seconds| {
            let before: BTreeMap<K, f64> = pick(first).into_map();
            let grown = |(key, now): (K, f64)| {
                let growth = growth(kind, *before.get(&key)?, now)?;
                Some((key, growth / seconds))
            };
            pick(last).into_iter().filter_map(grown).collect()
        })
    }

    /// What states were: their mean over each part, or with [`Kind::Max`] the largest.
    pub fn states<K: Ord>(
        self,
        of: Clocked<'_>,
        (source, kind): (&str, Kind),
        pick: impl Fn(&Data) -> Vec<(K, f64)>,
    ) -> BTreeMap<K, Line> {
        let reads: Vec<(u64, &Data)> = of.of_source(source).collect();
        let mut sums = Sums::new(self, kind);
        for (nth, (at_ns, data)) in reads.iter().enumerate() {
            let next_ns = match reads.get(nth + 1) {
                Some((next_ns, _)) => *next_ns,
                None => at_ns.saturating_add(self.part_ns),
            };
            for (key, value) in pick(data) {
                sums.add(key, (*at_ns, next_ns), value);
            }
        }
        sums.lines()
    }

    /// Busy share of each CPU, percent.
    pub fn cpus(self, of: Clocked<'_>) -> BTreeMap<u32, Line> {
        self.derived(of, "cpus", |first, last, seconds| {
            let (Data::Cpus(first), Data::Cpus(last)) = (first, last) else { return Vec::new() };
            let shares = cpu_shares(&Pair { first, last, seconds }, of.clock_tick_ns);
            shares.into_iter().map(|share| (share.cpu, 100.0 * share.busy())).collect()
        })
    }

    /// Shares of the time of all CPUs by state, percent, in the order of [`STATES`](crate::STATES).
    pub fn cpu_states(self, of: Clocked<'_>) -> Vec<Option<Shares>> {
        let lines = self.derived(of, "cpus", |first, last, seconds| {
            let (Data::Cpus(first), Data::Cpus(last)) = (first, last) else { return Vec::new() };
            let shares = cpu_shares(&Pair { first, last, seconds }, of.clock_tick_ns);
            mean_shares(&shares).into_iter().flatten().enumerate().collect()
        });
        let share = |state: usize, part: usize| lines.get(&state)?[part];
        let shares = |part| {
            let mut shares = Shares::default();
            for (state, of_state) in shares.iter_mut().enumerate() {
                *of_state = share(state, part)?;
            }
            Some(shares)
        };
        (0..self.parts).map(shares).collect()
    }

    /// CPUs' worth of time that each thread of a process used. A thread that is new since the
    /// previous reading used all of its time since then.
    pub fn threads(self, of: Clocked<'_>, process: Process) -> BTreeMap<ThreadKey, Line> {
        let source = match process {
            Process::Client => "client_threads",
            Process::Server => "server_threads",
        };
        self.derived(of, source, |first, last, seconds| {
            let (
                Data::ClientThreads(first) | Data::ServerThreads(first),
                Data::ClientThreads(last) | Data::ServerThreads(last),
            ) = (first, last)
            else {
                return Vec::new();
            };
            let shares = thread_shares(&Pair { first, last, seconds });
            shares.into_iter().map(|one| ((one.pid, one.tid, one.name), one.run)).collect()
        })
    }
}

/// Sums over the parts, weighted by time.
struct Sums<K> {
    timeline: Timeline,
    kind: Kind,
    /// Weight and weighted sum, or the largest, of each part.
    parts: BTreeMap<K, Vec<(f64, f64)>>,
}

impl<K: Ord> Sums<K> {
    fn new(timeline: Timeline, kind: Kind) -> Self {
        Self { timeline, kind, parts: BTreeMap::new() }
    }

    /// A value that held between two instants.
    fn add(&mut self, key: K, (begin_ns, end_ns): (u64, u64), value: f64) {
        let parts = self.timeline.parts;
        let sums = self.parts.entry(key).or_insert_with(|| vec![(0.0, 0.0); parts]);
        // Readings in a file may be in any order.
        if end_ns <= begin_ns {
            return;
        }
        let overlapped = self.timeline.part_of(begin_ns)..=self.timeline.part_of(end_ns);
        for (part, (all, sum)) in overlapped.clone().zip(&mut sums[overlapped]) {
            let from_ns = self.timeline.begin_of(part);
            let until_ns = self.timeline.begin_of(part + 1).min(end_ns);
            let weight = until_ns.saturating_sub(from_ns.max(begin_ns)) as f64;
            if weight > 0.0 {
                match self.kind {
                    Kind::Max => *sum = if *all > 0.0 { sum.max(value) } else { value },
                    _ => *sum += weight * value,
                }
                *all += weight;
            }
        }
    }

    fn lines(self) -> BTreeMap<K, Line> {
        let value = |(weight, sum): (f64, f64)| match self.kind {
            _ if weight <= 0.0 => None,
            Kind::Max => Some(sum),
            _ => Some(sum / weight),
        };
        let line = |(key, parts): (K, Vec<_>)| (key, parts.into_iter().map(value).collect());
        self.parts.into_iter().map(line).into_map()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::reading::{CpuTimes, ThreadTimes, Values};

    const SECOND: u64 = NS_PER_S;

    fn at(seconds: u64, data: Data) -> Reading {
        Reading { begin_ns: seconds * SECOND, end_ns: seconds * SECOND, data }
    }

    fn clocked(readings: &[Reading]) -> Clocked<'_> {
        Clocked { readings, place: Place::Probe, offset_ns: 0, clock_tick_ns: SECOND / 100 }
    }

    fn count(name: &str, value: u64) -> Data {
        Data::values(Values::TCP, [(name.to_string(), value)])
    }

    fn picked(data: &Data) -> Vec<(String, f64)> {
        let Data::Values(of) = data else { return Vec::new() };
        of.values.iter().filter_map(|(name, value)| Some((name.clone(), value.real()?))).collect()
    }

    /// Ten parts of one second; [`Timeline::between`] would make forty of a quarter.
    fn ten_seconds() -> Timeline {
        Timeline { begin_ns: 0, part_ns: SECOND, parts: 10 }
    }

    #[test]
    fn a_run_has_as_many_parts_as_can_be_seen() {
        assert_eq!(Timeline::between((5, 5 + SECOND)).parts, 4);
        let long = Timeline::between((0, 3600 * SECOND));
        assert_eq!((long.parts, long.end_ns()), (120, 3600 * SECOND));
        assert_eq!(Timeline::between((7, 7)).parts, 1, "an empty run has one");
    }

    #[test]
    fn readings_of_a_file_may_be_out_of_order_and_at_any_time() {
        let readings = [at(8, count("a", 3)), at(2, count("a", 5))];
        let lines = ten_seconds().states(clocked(&readings), ("tcp", Kind::Mean), picked);
        assert_eq!(lines["a"][2..4], [Some(5.0), None], "the first held for no time");
        let last = Reading { begin_ns: u64::MAX, end_ns: u64::MAX, data: count("a", 1) };
        let lines = ten_seconds().states(clocked(&[last]), ("tcp", Kind::Mean), picked);
        assert_eq!(lines["a"], [None; 10]);
    }

    #[test]
    fn a_rare_counter_fills_the_parts_between_two_reads_and_no_others() {
        let readings = [at(2, count("a", 10)), at(4, count("a", 30)), at(8, count("a", 30))];
        let lines = ten_seconds().growth(clocked(&readings), ("tcp", Kind::Counter), picked);
        let (none, ten, zero) = (None, Some(10.0), Some(0.0));
        let expected = [none, none, ten, ten, zero, zero, zero, zero, none, none];
        assert_eq!(lines["a"], expected, "absent before the first, zero where it stood still");
    }

    #[test]
    fn another_clock_is_carried_over_and_counters_of_32_bits_wrap() {
        let readings = [at(102, count("a", (1 << 32) - 5)), at(103, count("a", 15))];
        let of = Clocked { offset_ns: 100 * SECOND as i64, ..clocked(&readings) };
        let lines = ten_seconds().growth(of, ("tcp", Kind::Counter32), picked);
        assert_eq!(lines["a"][2], Some(20.0));
        let lines = ten_seconds().growth(of, ("tcp", Kind::Counter), picked);
        assert!(lines.is_empty(), "a counter that stepped back began anew");
        let readings = [at(2, count("a", 5000)), at(3, count("a", 15))];
        let lines = ten_seconds().growth(clocked(&readings), ("tcp", Kind::Counter32), picked);
        assert!(lines.is_empty(), "too much for a wrap: {lines:?}");
    }

    #[test]
    fn what_was_read_inside_is_apart() {
        let inside = |seconds, value| at(seconds, Data::Inside(Box::new(count("a", value))));
        let readings = [at(1, count("a", 1)), inside(1, 50), at(2, count("a", 3)), inside(2, 90)];
        let grown = |of| ten_seconds().growth(of, ("tcp", Kind::Counter), picked)["a"][1];
        assert_eq!(grown(clocked(&readings)), Some(2.0));
        let of = Clocked { place: Place::Inside, ..clocked(&readings) };
        assert_eq!(grown(of), Some(40.0));
    }

    #[test]
    fn states_hold_until_the_next_read() {
        let readings = [at(1, count("a", 4)), at(4, count("a", 8))];
        let mean = ten_seconds().states(clocked(&readings), ("tcp", Kind::Mean), picked);
        let (none, four, eight) = (None, Some(4.0), Some(8.0));
        assert_eq!(mean["a"][..6], [none, four, four, four, eight, none]);
        let quick = [at(1, count("a", 4)), at(1, count("a", 9)), at(2, count("a", 1))];
        let mut quick = quick.to_vec();
        quick[1].begin_ns += SECOND / 2;
        quick[1].end_ns += SECOND / 2;
        let most = ten_seconds().states(clocked(&quick), ("tcp", Kind::Max), picked);
        assert_eq!(most["a"][1], Some(9.0));
    }

    #[test]
    fn states_of_cpus_add_up_and_a_cpu_that_came_is_left_out() {
        let cpu = |cpu, user, idle| CpuTimes { cpu, user, idle, ..CpuTimes::default() };
        let readings = [
            at(1, Data::Cpus(vec![cpu(0, 0, 0)])),
            at(2, Data::Cpus(vec![cpu(0, 25, 75), cpu(1, 500, 0)])),
        ];
        let states = ten_seconds().cpu_states(clocked(&readings));
        let shares = states[1].unwrap();
        assert!((shares.iter().sum::<f64>() - 100.0).abs() < 1e-9, "{shares:?}");
        assert!((shares[0] - 25.0).abs() < 1e-9 && states[3].is_none());
        let cpus = ten_seconds().cpus(clocked(&readings));
        assert_eq!(cpus.keys().copied().collect::<Vec<_>>(), [0]);
        assert!((cpus[&0][1].unwrap() - 25.0).abs() < 1e-9);
    }

    #[test]
    fn a_new_thread_used_all_its_time_since_the_reading_before() {
        let thread = |tid, run_ns| ThreadTimes { tid, run_ns, ..ThreadTimes::default() };
        let first = vec![thread(1, 5 * SECOND), thread(2, 9 * SECOND)];
        let last = vec![thread(1, 6 * SECOND), thread(3, SECOND / 2)];
        let readings = [at(1, Data::ServerThreads(first)), at(3, Data::ServerThreads(last))];
        let used = ten_seconds().threads(clocked(&readings), Process::Server);
        let cpus: Vec<_> =
            used.iter().map(|((_, tid, _), line)| (*tid, line[1].unwrap())).collect();
        assert_eq!(cpus, [(1, 0.5), (3, 0.25)], "a thread that went is not negative");
    }
}

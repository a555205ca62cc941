//! Time that single requests may have lost, from reading to reading: for the verdict on the slowest
//! requests of a window, which means over the window do not explain.
//!
//! A span is the time between two consecutive readings of a source. What was lost in it may have
//! been lost at any instant of it. The kernel books a wait when it ends, so one that was longer
//! than the span began before it, and the span is made longer.

use model::maps::IntoMap;
use model::reading::{
    CpuTimes, Data, Disk, Doing, QuotaUse, ThreadNow, ThreadTimes, Value, Values,
};
use model::tail::TailCause;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was lost between two instants of the clock of its host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// From, nanoseconds.
    pub begin_ns: u64,
    /// Until, nanoseconds.
    pub end_ns: u64,
    /// How much of that time was lost at most, nanoseconds.
    pub lost_ns: u64,
}

/// The spans in which something was lost, by cause; empty where the cause was looked for and
/// nothing was lost, and absent where it could not be looked for.
pub type Losses = BTreeMap<TailCause, Vec<Span>>;

/// How runtimes name the time for which they stop the application: Go and Java.
pub const PAUSES: [&str; 2] = ["gc_pause", "safepoint_pause"];

/// The latest reading of a source.
#[derive(Debug)]
struct Latest<T>(Option<(u64, T)>);

impl<T> Default for Latest<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Latest<T> {
    /// Takes a reading; returns the one before with its instant.
    fn replace(&mut self, at_ns: u64, now: T) -> Option<(u64, T)> {
        self.0.replace((at_ns, now)).filter(|(before_ns, _)| *before_ns < at_ns)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Losing {
    cpus: Latest<Vec<CpuTimes>>,
    /// CPU time of all since the reading before, in ticks.
    busy_ticks: u64,
    threads: Latest<BTreeMap<(u32, u32), (u64, u64)>>,
    quotas: Latest<BTreeMap<String, u64>>,
    stopped: Latest<bool>,
    runtime_s: Latest<f64>,
    resent: Latest<u64>,
    disks: Latest<BTreeMap<String, u64>>,
    memory_us: Latest<u64>,
    losses: Losses,
    /// Waits for a CPU: the span, the server's CPU time in it, and that of all, in ticks.
    waits: Vec<(Span, u64, u64)>,
    has_waits: bool,
}

impl Losing {
    pub(crate) fn add(&mut self, at_ns: u64, data: &Data) {
        match data {
            Data::Cpus(cpus) => self.add_cpus(at_ns, cpus),
            Data::ServerThreads(threads) => self.add_threads(at_ns, threads),
            Data::ServerQuota(quotas) => self.add_quotas(at_ns, quotas),
            Data::ServerThreadsNow(threads) => self.add_now(at_ns, threads),
            Data::Disks(disks) => self.add_disks(at_ns, disks),
            Data::Values(Values { source, values }) => self.add_values(at_ns, source, values),
            _ => {}
        }
    }

    /// Between two readings this was lost.
    fn lose(&mut self, cause: TailCause, (begin_ns, end_ns): (u64, u64), lost_ns: u64) {
        let spans = self.losses.entry(cause).or_default();
        if lost_ns > 0 {
            spans.push(span((begin_ns, end_ns), lost_ns));
        }
    }

    /// What was lost is in ticks until [`Self::finish`]: the longest of any CPU.
    fn add_cpus(&mut self, at_ns: u64, cpus: &[CpuTimes]) {
        let Some((before_ns, before)) = self.cpus.replace(at_ns, cpus.to_vec()) else { return };
        let (mut stolen, mut softirq) = (0, 0);
        self.busy_ticks = 0;
        for now in cpus {
            let Some(before) = before.iter().find(|before| before.cpu == now.cpu) else { continue };
            let since = |of: fn(&CpuTimes) -> u64| of(now).saturating_sub(of(before));
            stolen = since(|cpu| cpu.steal).max(stolen);
            softirq = since(|cpu| cpu.softirq).max(softirq);
            let ran = since(CpuTimes::busy).saturating_sub(since(|cpu| cpu.steal));
            self.busy_ticks = self.busy_ticks.saturating_add(ran);
        }
        for (cause, ticks) in [(TailCause::Stolen, stolen), (TailCause::Softirq, softirq)] {
            let spans = self.losses.entry(cause).or_default();
            if ticks > 0 {
                spans.push(Span { begin_ns: before_ns, end_ns: at_ns, lost_ns: ticks });
            }
        }
    }

    /// The longest wait of any thread for a CPU.
    fn add_threads(&mut self, at_ns: u64, threads: &[ThreadTimes]) {
        let key =
            |thread: &ThreadTimes| ((thread.pid, thread.tid), (thread.run_ns, thread.wait_ns));
        let now: BTreeMap<_, _> = threads.iter().map(key).into_map();
        let Some((before_ns, before)) = self.threads.replace(at_ns, now.clone()) else { return };
        self.has_waits = true;
        let (mut ran_ns, mut waited_ns) = (0u64, 0);
        for (thread, (run_ns, wait_ns)) in &now {
            // One that is new has waited since it started, which is not known.
            if let Some((run_before_ns, wait_before_ns)) = before.get(thread) {
                ran_ns = ran_ns.saturating_add(run_ns.saturating_sub(*run_before_ns));
                waited_ns = wait_ns.saturating_sub(*wait_before_ns).max(waited_ns);
            }
        }
        if waited_ns > 0 {
            self.waits.push((span((before_ns, at_ns), waited_ns), ran_ns, self.busy_ticks));
        }
    }

    /// The longest throttling of any group.
    fn add_quotas(&mut self, at_ns: u64, quotas: &[QuotaUse]) {
        let now: BTreeMap<_, _> =
            quotas.iter().map(|one| (one.group.clone(), one.throttled_ns)).into_map();
        let Some((before_ns, before)) = self.quotas.replace(at_ns, now.clone()) else { return };
        let since =
            now.iter().filter_map(|(group, ns)| Some(ns.saturating_sub(*before.get(group)?)));
        let throttled_ns = since.max().unwrap_or(0);
        // Over all CPUs together: no more than the time that passed.
        let lost_ns = throttled_ns.min(at_ns - before_ns);
        self.lose(TailCause::Throttled, (before_ns, at_ns), lost_ns);
    }

    /// Most of its threads were found stopped: half the time from such a look to one at which they
    /// were not.
    fn add_now(&mut self, at_ns: u64, threads: &[ThreadNow]) {
        let stopped = threads.iter().filter(|thread| thread.doing == Doing::Stopped).count();
        let is_stopped = 2 * stopped > threads.len();
        let Some((before_ns, was_stopped)) = self.stopped.replace(at_ns, is_stopped) else {
            return;
        };
        let looks = u64::from(is_stopped) + u64::from(was_stopped);
        self.lose(TailCause::Paused, (before_ns, at_ns), (at_ns - before_ns) * looks / 2);
    }

    /// The busiest disk.
    fn add_disks(&mut self, at_ns: u64, disks: &[Disk]) {
        let now: BTreeMap<_, _> =
            disks.iter().map(|disk| (disk.name.clone(), disk.busy_ms)).into_map();
        let Some((before_ns, before)) = self.disks.replace(at_ns, now.clone()) else { return };
        let since = now.iter().filter_map(|(name, ms)| Some(ms.saturating_sub(*before.get(name)?)));
        let busy_ns = since.max().unwrap_or(0).saturating_mul(1_000_000);
        self.lose(TailCause::Storage, (before_ns, at_ns), busy_ns.min(at_ns - before_ns));
    }

    fn add_values(&mut self, at_ns: u64, source: &str, values: &BTreeMap<String, Value>) {
        let count = |name: &str| values.get(name).and_then(Value::count);
        match source {
            Values::TCP => {
                let Some(resent) = count("Tcp.RetransSegs") else { return };
                let Some((before_ns, before)) = self.resent.replace(at_ns, resent) else { return };
                // What was resent had been lost some time before: how long is not known.
                let lost_ns = if resent > before { at_ns - before_ns } else { 0 };
                self.lose(TailCause::Resent, (before_ns, at_ns), lost_ns);
            }
            Values::PRESSURE => {
                let Some(us) = count("memory.some") else { return };
                let Some((before_ns, before)) = self.memory_us.replace(at_ns, us) else { return };
                let lost_ns = us.saturating_sub(before).saturating_mul(1000);
                self.lose(TailCause::Memory, (before_ns, at_ns), lost_ns.min(at_ns - before_ns));
            }
            Values::SERVER_RUNTIME => {
                let is_pause = |name: &str| PAUSES.iter().any(|begin| name.starts_with(begin));
                let pauses = values.iter().find(|(name, _)| is_pause(name));
                let Some(paused_s) = pauses.and_then(|(_, value)| value.real()) else { return };
                let before = self.runtime_s.replace(at_ns, paused_s);
                let Some((before_ns, before_s)) = before else { return };
                let lost_ns = ((paused_s - before_s).max(0.0) * 1e9) as u64;
                self.lose(TailCause::Paused, (before_ns, at_ns), lost_ns.min(at_ns - before_ns));
            }
            _ => {}
        }
    }

    /// What was lost, in time order for each cause.
    pub(crate) fn finish(mut self, clock_tick_ns: u64) -> Losses {
        for cause in [TailCause::Stolen, TailCause::Softirq] {
            for one in self.losses.get_mut(&cause).into_iter().flatten() {
                let lost_ns = one.lost_ns.saturating_mul(clock_tick_ns);
                one.lost_ns = lost_ns.min(one.end_ns - one.begin_ns);
            }
        }
        if self.has_waits {
            self.losses.entry(TailCause::Others).or_default();
            self.losses.entry(TailCause::RunQueue).or_default();
        }
        for (span, ran_ns, busy_ticks) in std::mem::take(&mut self.waits) {
            let busy_ns = busy_ticks.saturating_mul(clock_tick_ns);
            // More than half of what ran was not the server. The counters of CPUs are as coarse as
            // one tick, so less than that tells nothing.
            let is_others = busy_ns > ran_ns.saturating_mul(2).saturating_add(clock_tick_ns);
            let cause = if is_others { TailCause::Others } else { TailCause::RunQueue };
            self.losses.entry(cause).or_default().push(span);
        }
        for spans in self.losses.values_mut() {
            spans.sort_unstable_by_key(|span| (span.begin_ns, span.end_ns));
        }
        self.losses
    }
}

/// What was lost began before the span if it is more than that.
fn span((begin_ns, end_ns): (u64, u64), lost_ns: u64) -> Span {
    Span { begin_ns: begin_ns.min(end_ns.saturating_sub(lost_ns)), end_ns, lost_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const TICK_NS: u64 = 10 * MS;

    fn losses(readings: Vec<(u64, Data)>) -> Losses {
        let mut losing = Losing::default();
        readings.iter().for_each(|(at_ms, data)| losing.add(at_ms * MS, data));
        losing.finish(TICK_NS)
    }

    fn lost(losses: &Losses, cause: TailCause) -> Vec<(u64, u64, u64)> {
        let in_ms = |span: &Span| (span.begin_ns / MS, span.end_ns / MS, span.lost_ns / MS);
        losses[&cause].iter().map(in_ms).collect()
    }

    fn values(source: &str, name: &str, value: impl Into<Value>) -> Data {
        Data::values(source, [(name.to_string(), value.into())])
    }

    #[test]
    fn nothing_was_lost_and_nothing_was_read_are_two_things() {
        assert_eq!(losses(vec![(0, Data::Cpus(vec![CpuTimes::default()]))]), Losses::new());
        let idle =
            |at_ms| (at_ms, Data::Cpus(vec![CpuTimes { idle: at_ms, ..CpuTimes::default() }]));
        let read = losses(vec![idle(0), idle(100)]);
        assert_eq!((read.len(), &read[&TailCause::Stolen][..]), (2, &[][..]));
    }

    #[test]
    fn the_cpu_that_lost_most_counts_and_no_more_than_the_time_that_passed() {
        let cpu = |cpu, steal, softirq| CpuTimes { cpu, steal, softirq, ..CpuTimes::default() };
        let read = losses(vec![
            (0, Data::Cpus(vec![cpu(0, 5, 0), cpu(1, 5, 0)])),
            (100, Data::Cpus(vec![cpu(0, 5, 1), cpu(1, 9, 0), cpu(2, 70, 70)])),
            (200, Data::Cpus(vec![cpu(0, 5, 1), cpu(1, 30, 0)])),
        ]);
        assert_eq!(lost(&read, TailCause::Stolen), [(0, 100, 40), (100, 200, 100)]);
        assert_eq!(lost(&read, TailCause::Softirq), [(0, 100, 10)]);
    }

    #[test]
    fn throttling_is_that_of_the_group_that_was_throttled_longest() {
        let group = |group: &str, throttled_ms: u64| QuotaUse {
            group: group.to_string(),
            throttled_ns: throttled_ms * MS,
            ..QuotaUse::default()
        };
        let read = losses(vec![
            (0, Data::ServerQuota(vec![group("/a/b", 10), group("/a", 100)])),
            (200, Data::ServerQuota(vec![group("/a/b", 10), group("/a", 160)])),
            (400, Data::ServerQuota(vec![group("/a/b", 10), group("/a", 3)])),
            (600, Data::ServerQuota(vec![group("/a/b", 990), group("/new", 50)])),
        ]);
        assert_eq!(lost(&read, TailCause::Throttled), [(0, 200, 60), (400, 600, 200)]);
    }

    #[test]
    fn a_wait_belongs_to_whoever_had_the_cpus_and_began_when_it_began() {
        let thread = |run_ms: u64, wait_ms: u64| {
            let (run_ns, wait_ns) = (run_ms * MS, wait_ms * MS);
            Data::ServerThreads(vec![ThreadTimes { tid: 7, run_ns, wait_ns, ..Default::default() }])
        };
        let cpu = |user| Data::Cpus(vec![CpuTimes { user, ..CpuTimes::default() }]);
        let read = losses(vec![
            (0, cpu(0)),
            (1, thread(0, 0)),
            (100, cpu(9)),
            (101, thread(20, 50)),
            (200, cpu(18)),
            (201, thread(100, 60)),
            (300, cpu(27)),
            (301, thread(100, 210)),
        ]);
        assert_eq!(lost(&read, TailCause::Others), [(1, 101, 50), (151, 301, 150)]);
        assert_eq!(lost(&read, TailCause::RunQueue), [(101, 201, 10)]);
    }

    #[test]
    fn stops_are_seen_at_instants_and_runtimes_count_theirs() {
        let now = |stopped: usize| {
            let thread = |nth: usize| {
                let doing = if nth < stopped { Doing::Stopped } else { Doing::Events };
                ThreadNow { pid: 1, tid: nth as u32, doing, futex: None, timeout_ns: None }
            };
            Data::ServerThreadsNow((0..4).map(thread).collect())
        };
        let read =
            losses(vec![(0, now(1)), (100, now(4)), (200, now(4)), (300, now(0)), (400, now(2))]);
        let expected = [(0, 100, 50), (100, 200, 100), (200, 300, 50)];
        assert_eq!(lost(&read, TailCause::Paused), expected);
        let paused = |seconds: f64| values(Values::SERVER_RUNTIME, "gc_pause_seconds", seconds);
        let read = losses(vec![(0, paused(1.0)), (1000, paused(1.25)), (2000, paused(0.5))]);
        assert_eq!(lost(&read, TailCause::Paused), [(0, 1000, 250)]);
    }

    #[test]
    fn losses_of_packets_memory_and_disks_are_the_growth_of_their_counters() {
        let tcp = |count: u64| values(Values::TCP, "Tcp.RetransSegs", count);
        let read = losses(vec![(0, tcp(5)), (200, tcp(5)), (400, tcp(6))]);
        assert_eq!(lost(&read, TailCause::Resent), [(200, 400, 200)], "resent in it");
        let memory = |us: u64| values(Values::PRESSURE, "memory.some", us);
        let read = losses(vec![(0, memory(0)), (500, memory(70_000))]);
        assert_eq!(lost(&read, TailCause::Memory), [(0, 500, 70)]);
        let disk = |name: &str, busy_ms| Disk { name: name.into(), busy_ms, ..Disk::default() };
        let read = losses(vec![
            (0, Data::Disks(vec![disk("a", 0), disk("b", 100)])),
            (1000, Data::Disks(vec![disk("a", 300), disk("b", 900), disk("c", 5000)])),
        ]);
        assert_eq!(lost(&read, TailCause::Storage), [(0, 1000, 800)]);
    }
}

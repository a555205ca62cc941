//! What the threads of a process did between two readings, with those that came and went.

use crate::ends::{Ends, Pair};
use model::maps::IntoMap;
use model::reading::ThreadTimes;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Which process a figure of threads is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    /// The generator.
    Client,
    /// The server's process tree.
    Server,
}

/// How one thread spent the window, shares of its length.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadShare {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Name.
    pub name: String,
    /// On a CPU.
    pub run: f64,
    /// Runnable and waiting for a CPU.
    pub wait: f64,
    /// Time slices that it ran, per second; zero where the kernel does not count them.
    pub slices_s: f64,
}

impl ThreadShare {
    /// Share of the window in which it had work: ran or waited to run.
    pub fn wanted(&self) -> f64 {
        self.run + self.wait
    }
}

/// First and last readings of the threads of a process.
#[derive(Default)]
pub(crate) struct ThreadEnds {
    ends: Ends<Vec<ThreadTimes>>,
    /// The threads of the latest reading.
    known: BTreeSet<(u32, u32)>,
    /// The first reading of each thread that was found late: it is older than the window's first
    /// reading, which missed it.
    late: BTreeMap<(u32, u32), (u64, ThreadTimes)>,
}

impl ThreadEnds {
    pub(crate) fn add(&mut self, at_ns: u64, threads: Vec<ThreadTimes>) {
        let key = |thread: &ThreadTimes| (thread.pid, thread.tid);
        let now: BTreeSet<_> = threads.iter().map(key).collect();
        self.late.retain(|key, _| now.contains(key));
        if let Some((first_ns, first)) = &self.ends.first {
            let passed_ns = at_ns.saturating_sub(*first_ns) as f64;
            for thread in threads.iter().filter(|thread| !self.known.contains(&key(thread))) {
                let was_there = || first.iter().any(|first| key(first) == key(thread));
                if is_older(thread, passed_ns) && !was_there() {
                    self.late.insert(key(thread), (at_ns, thread.clone()));
                }
            }
        }
        self.known = now;
        self.ends.add(at_ns, threads);
    }

    /// Shares of the window's time; of a thread that was found late, of the time since then.
    pub(crate) fn shares(&self) -> Option<Vec<ThreadShare>> {
        let mut shares = self.ends.between(thread_shares)?;
        shares.retain(|thread| !self.late.contains_key(&(thread.pid, thread.tid)));
        let (last_ns, last) = self.ends.last.as_ref()?;
        let late = last.iter().filter_map(|last| {
            let (at_ns, first) = self.late.get(&(last.pid, last.tid))?;
            let passed_ns = last_ns.saturating_sub(*at_ns) as f64;
            (passed_ns > 0.0).then(|| thread_share(Some(first), last, passed_ns))
        });
        shares.extend(late);
        Some(shares)
    }
}

/// CPU time of all threads together from read to read, with that of threads that have ended.
#[derive(Default)]
pub(crate) struct CpuSeries {
    first_ns: u64,
    last: Option<(u64, BTreeMap<u32, RunTime>)>,
    /// What threads that ended had used since the first read, as far as a read saw it, nanoseconds.
    ended_ns: u64,
    pub(crate) cpus: Vec<f64>,
}

/// Time on a CPU of a thread, nanoseconds.
#[derive(Clone, Copy)]
pub(crate) struct RunTime {
    /// Before the first read.
    earlier_ns: u64,
    /// In all.
    run_ns: u64,
}

impl RunTime {
    pub(crate) fn in_window(self) -> u64 {
        self.run_ns - self.earlier_ns
    }
}

impl CpuSeries {
    pub(crate) fn add(&mut self, at_ns: u64, threads: &[ThreadTimes]) {
        let Some((before_ns, before)) = self.last.take() else {
            let known = |thread: &ThreadTimes| {
                (thread.tid, RunTime { earlier_ns: thread.run_ns, run_ns: thread.run_ns })
            };
            self.first_ns = at_ns;
            self.last = Some((at_ns, threads.iter().map(known).into_map()));
            return;
        };
        let since_first_ns = at_ns.saturating_sub(self.first_ns) as f64;
        let earlier_ns = |thread: &ThreadTimes, was: Option<&RunTime>| match was {
            Some(was) => was.earlier_ns,
            None if is_older(thread, since_first_ns) => thread.run_ns,
            None => 0,
        };
        let mut now = BTreeMap::new();
        let mut used_ns = 0;
        for thread in threads {
            // Less time than before is that of another thread with the same id.
            let was = before.get(&thread.tid).filter(|was| was.run_ns <= thread.run_ns);
            let time = RunTime { earlier_ns: earlier_ns(thread, was), run_ns: thread.run_ns };
            let since = time.in_window() - was.map_or(0, |was| was.in_window());
            used_ns = u64::saturating_add(used_ns, since);
            now.insert(thread.tid, time);
        }
        let has_ended = |(tid, was): &(&u32, &RunTime)| {
            now.get(tid).is_none_or(|thread: &RunTime| thread.run_ns < was.run_ns)
        };
        let ended = before.iter().filter(has_ended).map(|(_, was)| was.in_window());
        self.ended_ns = ended.fold(self.ended_ns, u64::saturating_add);
        self.cpus.push(used_ns as f64 / at_ns.saturating_sub(before_ns).max(1) as f64);
        self.last = Some((at_ns, now));
    }

    /// CPUs' worth of time that threads which have ended used between the first and the last read.
    pub(crate) fn ended_cpus(&self) -> f64 {
        let last_ns = self.last.as_ref().map_or(0, |(last_ns, _)| *last_ns);
        match last_ns.saturating_sub(self.first_ns) {
            0 => 0.0,
            passed_ns => self.ended_ns as f64 / passed_ns as f64,
        }
    }
}

/// A thread that was not there before started at zero inside the window. One that used more time
/// than has passed is older, and a reading missed it: when it ran is not known.
pub(crate) fn is_older(thread: &ThreadTimes, passed_ns: f64) -> bool {
    thread.run_ns as f64 + thread.wait_ns as f64 > 1.1 * passed_ns
}

/// CPUs that the threads of a process used. Not known if none of them was left at the last reading
/// and none was seen to use any: no reading may have come between its start and its end.
pub(crate) fn cpus_of(threads: &[ThreadShare], ended: f64) -> Option<f64> {
    let is_known = !threads.is_empty() || ended > 0.0;
    is_known.then(|| threads.iter().map(|thread| thread.run).sum::<f64>() + ended)
}

/// Shares of a thread between two readings; one without a first reading started after that.
pub(crate) fn thread_share(
    first: Option<&ThreadTimes>,
    last: &ThreadTimes,
    passed_ns: f64,
) -> ThreadShare {
    let (run_ns, wait_ns, slices) =
        first.map_or((0, 0, 0), |first| (first.run_ns, first.wait_ns, first.slices));
    ThreadShare {
        pid: last.pid,
        tid: last.tid,
        name: last.name.clone(),
        run: last.run_ns.saturating_sub(run_ns) as f64 / passed_ns,
        wait: last.wait_ns.saturating_sub(wait_ns) as f64 / passed_ns,
        slices_s: last.slices.saturating_sub(slices) as f64 / (passed_ns / 1e9),
    }
}

/// Shares of the threads of the last reading, except those that the first reading missed.
pub(crate) fn thread_shares(pair: &Pair<'_, Vec<ThreadTimes>>) -> Vec<ThreadShare> {
    let passed_ns = pair.seconds * 1e9;
    let share = |last: &ThreadTimes| {
        let first = pair.first.iter().find(|first| (first.pid, first.tid) == (last.pid, last.tid));
        let is_missed = first.is_none() && is_older(last, passed_ns);
        (!is_missed).then(|| thread_share(first, last, passed_ns))
    };
    pair.last.iter().filter_map(share).collect()
}

//! What the threads of the server were doing, and where its connections waited.

use crate::ends::Pair;
use crate::figures::growth32;
use model::order::OrderBy as _;
use model::reading::{Disk, Doing, Downstream, SocketSample, ThreadNow, Value, Values};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a process of the server has of the connections to the port under test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SocketsOf {
    /// Process.
    pub pid: u32,
    /// Connections that it held at the last reading.
    pub connections: u64,
    /// What came in on them, bytes per second.
    pub received_s: f64,
}

/// Of each process that was there at both readings.
pub(crate) fn sockets_of(pair: &Pair<'_, BTreeMap<String, Value>>) -> Vec<SocketsOf> {
    let count = |value: &Value, name| match value {
        Value::Named(counts) => counts.get(name).copied(),
        _ => None,
    };
    let of_process = |(pid, last): (&String, &Value)| {
        let first = count(pair.first.get(pid)?, Values::RECEIVED_BYTES)?;
        let received = count(last, Values::RECEIVED_BYTES)?.checked_sub(first)?;
        Some(SocketsOf {
            pid: pid.parse().ok()?,
            connections: count(last, Values::CONNECTIONS)?,
            received_s: received as f64 / pair.seconds,
        })
    };
    pair.last.iter().filter_map(of_process).collect()
}

/// Where bytes were waiting in sampled connections, and what held the senders back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketCensus {
    /// How often the connections were read.
    pub reads: u64,
    /// Server-side sockets looked at.
    pub server: u64,
    /// Of them, with unread bytes: requests the application has not read.
    pub server_unread: u64,
    /// Of them, with bytes not acknowledged or not sent.
    pub server_unsent: u64,
    /// Of them, with bytes that TCP has not sent yet.
    pub server_held_back: u64,
    /// Client-side sockets looked at.
    pub client: u64,
    /// Of them, with unread bytes: responses the generator has not read.
    pub client_unread: u64,
    /// Time between the first and the last look at the same connection of the server,
    /// microseconds, over all that were seen twice.
    pub server_followed_us: u64,
    /// Part of it in which they had data outstanding.
    pub server_busy_us: u64,
    /// Part of it limited by the client's window.
    pub server_rwnd_limited_us: u64,
    /// Part of it limited by the send buffer.
    pub server_sndbuf_limited_us: u64,
    /// Client-side sockets with a known round trip.
    pub client_rtts: u64,
    /// Sum of their shortest round trips, microseconds: the path alone.
    pub client_rtt_sum_us: u64,
}

/// How many sockets are followed from reading to reading.
const FOLLOWED_MAX: usize = 20_000;

/// The census, collected reading by reading.
#[derive(Debug, Default)]
pub(crate) struct Census {
    sum: Option<SocketCensus>,
    /// First and last cumulative times of a server-side socket, by cookie; the first of them is the
    /// clock, microseconds.
    followed: BTreeMap<u64, ([u64; 4], [u64; 4])>,
}

impl Census {
    pub(crate) fn add(&mut self, at_ns: u64, sockets: &[SocketSample]) {
        let sum = self.sum.get_or_insert_default();
        sum.reads += 1;
        for socket in sockets {
            // The end of a connection counts as a byte; no request or response is that short.
            let unread = u64::from(socket.receive_queue > 1);
            if !socket.server_side {
                sum.client += 1;
                sum.client_unread += unread;
                // Nothing was acknowledged yet, or the kernel does not report it.
                if !matches!(socket.min_rtt_us, 0 | u32::MAX) {
                    sum.client_rtts += 1;
                    sum.client_rtt_sum_us += u64::from(socket.min_rtt_us);
                }
                continue;
            }
            sum.server += 1;
            sum.server_unread += unread;
            sum.server_unsent += u64::from(socket.send_queue > 0);
            sum.server_held_back += u64::from(socket.unsent > 0);
            let held = [socket.busy_us, socket.rwnd_limited_us, socket.sndbuf_limited_us];
            let times = [at_ns / 1000, held[0], held[1], held[2]];
            // Without a cookie its times are not known either.
            if socket.cookie == 0 {
                continue;
            }
            if let Some((_, last)) = self.followed.get_mut(&socket.cookie) {
                *last = times;
            } else if self.followed.len() < FOLLOWED_MAX {
                self.followed.insert(socket.cookie, (times, times));
            }
        }
    }

    pub(crate) fn finish(self) -> Option<SocketCensus> {
        let mut sum = self.sum?;
        for (first, last) in self.followed.values() {
            let passed = |at: usize| last[at].saturating_sub(first[at]);
            sum.server_followed_us += passed(0);
            sum.server_busy_us += passed(1);
            sum.server_rwnd_limited_us += passed(2);
            sum.server_sndbuf_limited_us += passed(3);
        }
        Some(sum)
    }
}

impl SocketCensus {
    /// Mean of the shortest round trips of the client's sockets, microseconds. Nothing when none is
    /// known.
    pub fn client_rtt_us(&self) -> Option<f64> {
        (self.client_rtts > 0).then(|| self.client_rtt_sum_us as f64 / self.client_rtts as f64)
    }
}

/// What the server's working threads were seen doing, over all samples. Threads that only ever
/// waited for events, to accept, or in a futex without other activity look like idle helpers, and
/// are counted all the same: the caller decides.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DoingShares {
    /// Threads seen.
    pub threads: usize,
    /// Threads that there were at a time, mean over the reads of their times; absent when those
    /// were not read.
    pub threads_at_once: Option<f64>,
    /// Most threads seen in one round.
    pub most_in_round: usize,
    /// Samples of threads.
    pub samples: u64,
    /// Samples by what the thread did.
    pub by_doing: BTreeMap<Doing, u64>,
    /// Samples asleep on a futex, by process and address of the futex over 16, and by thread.
    #[serde(with = "by_futex")]
    pub by_futex: BTreeMap<(u32, u64), BTreeMap<u32, u64>>,
    /// Rounds in which not one thread ran.
    pub still_rounds: u64,
    /// Rounds.
    pub rounds: u64,
    /// Samples by thread and by what it did.
    pub by_thread: BTreeMap<u32, BTreeMap<Doing, u64>>,
    /// Of the samples asleep on a futex by thread, the time-outs of those that had one,
    /// nanoseconds.
    pub timeouts_ns: BTreeMap<u32, Vec<u64>>,
}

impl DoingShares {
    /// Share of all samples.
    pub fn share(&self, doing: Doing) -> f64 {
        let count = self.by_doing.get(&doing).copied().unwrap_or(0);
        count as f64 / self.samples.max(1) as f64
    }

    /// Threads that were in this state on average.
    pub fn mean_threads(&self, doing: Doing) -> f64 {
        self.by_doing.get(&doing).copied().unwrap_or(0) as f64 * self.threads_per_sample()
    }

    /// Mean number of the selected threads that slept on one futex, at the futex with most of them.
    /// A futex on which only one of them ever sleeps is not counted: that thread waits for work of
    /// its own.
    pub fn mean_on_one_futex(&self, is_meant: impl Fn(u32) -> bool) -> f64 {
        let asleep = |by_thread: &BTreeMap<u32, u64>| {
            let meant = by_thread.iter().filter(|(tid, _)| is_meant(**tid));
            let (threads, samples) =
                meant.fold((0, 0), |(threads, sum), (_, samples)| (threads + 1, sum + samples));
            if threads > 1 { samples } else { 0 }
        };
        let most = self.by_futex.values().map(asleep).max().unwrap_or(0);
        most as f64 * self.threads_per_sample()
    }

    /// Mean number of the selected threads that slept on any futex that several of them use.
    pub fn mean_on_shared_futexes(&self, is_meant: impl Fn(u32) -> bool) -> f64 {
        let asleep = |by_thread: &BTreeMap<u32, u64>| {
            let meant: Vec<u64> =
                by_thread.iter().filter(|(tid, _)| is_meant(**tid)).map(|(_, one)| *one).collect();
            if meant.len() > 1 { meant.iter().sum() } else { 0 }
        };
        self.by_futex.values().map(asleep).sum::<u64>() as f64 * self.threads_per_sample()
    }

    /// Samples of one thread asleep on a futex with a time-out of at most `longest_ns`.
    pub fn timed(&self, tid: u32, longest_ns: u64) -> u64 {
        let timeouts = self.timeouts_ns.get(&tid).into_iter().flatten();
        timeouts.filter(|timeout_ns| **timeout_ns <= longest_ns).count() as u64
    }

    /// Threads that one sample stands for: of many threads, each round looks at some. Fewer are all
    /// looked at, however many of them end and are replaced.
    pub fn threads_per_sample(&self) -> f64 {
        let rounds = self.rounds.max(1) as f64;
        // Threads that end are replaced: over a window there are more of them than at a time.
        let at_once = self.threads_at_once.unwrap_or(match self.most_in_round {
            ..ThreadNow::ROUND_MAX => 0.0,
            _ => self.threads as f64,
        });
        if at_once < ThreadNow::ROUND_MAX as f64 {
            return 1.0 / rounds;
        }
        let seen_each_round = self.samples as f64 / rounds;
        (at_once / seen_each_round.max(1.0)).max(1.0) / rounds
    }

    /// Share of the samples of one thread in which it had something to do: it was not waiting for
    /// events or for connections. Nothing for a thread that was not looked at.
    pub fn occupied(&self, tid: u32) -> Option<f64> {
        let samples = self.by_thread.get(&tid)?;
        let count = |doing: &Doing| samples.get(doing).copied().unwrap_or(0);
        let all: u64 = samples.values().sum();
        let idle = count(&Doing::Events) + count(&Doing::Accept);
        (all > 0).then(|| (all - idle) as f64 / all as f64)
    }

    /// Share of the samples of one thread in which it certainly had something to do. One that
    /// sleeps on a futex may be waiting for work.
    pub fn at_work(&self, tid: u32) -> Option<f64> {
        let samples = self.by_thread.get(&tid)?;
        let all: u64 = samples.values().sum();
        let on_futex = samples.get(&Doing::Futex).copied().unwrap_or(0) as f64 / all.max(1) as f64;
        Some((self.occupied(tid)? - on_futex).max(0.0))
    }
}

/// Keys of JSON are text, so this map is written as a list.
mod by_futex {
    use model::maps::IntoMap;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;

    type Samples = BTreeMap<(u32, u64), BTreeMap<u32, u64>>;

    pub fn serialize<S: Serializer>(map: &Samples, to: S) -> Result<S::Ok, S::Error> {
        map.iter().collect::<Vec<_>>().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Samples, D::Error> {
        Ok(Vec::deserialize(from)?.into_iter().into_map())
    }
}

/// A condition variable of the C library alternates between two adjacent words.
const FUTEX_BYTES: u64 = 16;

/// The shares, collected reading by reading.
#[derive(Debug, Default)]
pub(crate) struct DoingSum {
    shares: DoingShares,
    /// Reads of the times of all threads, and threads in them.
    times: (u64, u64),
}

impl DoingSum {
    pub(crate) fn add(&mut self, threads: &[ThreadNow]) {
        self.shares.rounds += 1;
        self.shares.most_in_round = self.shares.most_in_round.max(threads.len());
        for thread in threads {
            self.shares.samples += 1;
            let of_thread = self.shares.by_thread.entry(thread.tid).or_default();
            *of_thread.entry(thread.doing).or_default() += 1;
            *self.shares.by_doing.entry(thread.doing).or_default() += 1;
            if let Some(address) = thread.futex {
                let place = (thread.pid, address / FUTEX_BYTES);
                let of_futex = self.shares.by_futex.entry(place).or_default();
                *of_futex.entry(thread.tid).or_default() += 1;
            }
            if let Some(timeout_ns) = thread.timeout_ns {
                self.shares.timeouts_ns.entry(thread.tid).or_default().push(timeout_ns);
            }
        }
        let is_still = threads.iter().all(|thread| thread.doing != Doing::Running);
        self.shares.still_rounds += u64::from(is_still);
    }

    /// Counts all threads that there are.
    pub(crate) fn count(&mut self, threads: usize) {
        self.times = (self.times.0 + 1, self.times.1 + threads as u64);
    }

    pub(crate) fn finish(self) -> Option<DoingShares> {
        let threads = self.shares.by_thread.len();
        let (reads, all) = self.times;
        let threads_at_once = (reads > 0).then(|| all as f64 / reads as f64);
        let shares = DoingShares { threads, threads_at_once, ..self.shares };
        (shares.rounds > 0).then_some(shares)
    }
}

/// Connections of the server to another service, over all reads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DownstreamUse {
    /// Address and port of the other end, or `unix:` and its path.
    pub to: String,
    /// Connections, mean over reads.
    pub connections: f64,
    /// Of them, waiting for a response, mean over reads.
    pub waiting: f64,
    /// Time since those that wait last received bytes, milliseconds, median over reads. Nothing
    /// when none waited or it was not read.
    pub heard_ms: Option<f64>,
}

/// The downstreams, collected reading by reading.
#[derive(Debug, Default)]
pub(crate) struct DownstreamSum {
    reads: u32,
    sums: BTreeMap<String, UseSum>,
}

#[derive(Debug, Default)]
struct UseSum {
    connections: u64,
    waiting: u64,
    heard_ms: Vec<u32>,
}

impl DownstreamSum {
    pub(crate) fn add(&mut self, downstreams: &[Downstream]) {
        self.reads += 1;
        for one in downstreams {
            let sums = self.sums.entry(one.to.clone()).or_default();
            sums.connections += u64::from(one.connections + one.opening);
            sums.waiting += u64::from(one.waiting + one.opening);
            sums.heard_ms.extend(one.heard_ms);
        }
    }

    /// Finishes with the busiest first.
    pub(crate) fn finish(self) -> Option<Vec<DownstreamUse>> {
        let mean = |sum: u64| sum as f64 / f64::from(self.reads.max(1));
        let used = |(to, mut sum): (String, UseSum)| {
            sum.heard_ms.sort_unstable();
            let heard_ms = sum.heard_ms.get(sum.heard_ms.len() / 2);
            DownstreamUse {
                to,
                connections: mean(sum.connections),
                waiting: mean(sum.waiting),
                heard_ms: heard_ms.map(|heard| f64::from(*heard)),
            }
        };
        let mut all: Vec<_> = self.sums.into_iter().map(used).collect();
        all.order_by(|left, right| right.waiting.total_cmp(&left.waiting));
        (self.reads > 0).then_some(all)
    }
}

/// Share of the window in which the busiest disk had requests in flight. Nothing when there are
/// disks and all of them are new, or began anew.
pub(crate) fn disk_busy(pair: &Pair<'_, Vec<Disk>>) -> Option<f64> {
    let busy = |last: &Disk| {
        let first = pair.first.iter().find(|first| first.name == last.name)?;
        Some(growth32(first.busy_ms, last.busy_ms)? as f64 / 1e3 / pair.seconds)
    };
    let known: Vec<f64> = pair.last.iter().filter_map(busy).collect();
    let is_known = pair.last.is_empty() || !known.is_empty();
    is_known.then(|| known.into_iter().fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_of_a_disk_wrap_and_a_disk_that_began_anew_is_unknown() {
        let busy = |first, last| {
            let disk = |busy_ms| {
                let name = "sda".to_string();
                vec![Disk { name, reads: 1, writes: 1, busy_ms, waiting_ms: 0 }]
            };
            let (first, last) = (disk(first), disk(last));
            disk_busy(&Pair { first: &first, last: &last, seconds: 10.0 })
        };
        assert_eq!(busy(u64::from(u32::MAX) - 999, 4000), Some(0.5));
        assert_eq!(busy(90_000, 95_000), Some(0.5));
        assert_eq!(busy(90_000, 5000), None);
    }

    #[test]
    fn limited_time_is_that_of_sockets_seen_twice() {
        let socket = |cookie, busy_us, rwnd_limited_us| SocketSample {
            cookie,
            server_side: true,
            busy_us,
            rwnd_limited_us,
            ..SocketSample::default()
        };
        let mut census = Census::default();
        census.add(0, &[socket(1, 1000, 10), socket(2, 5_000_000, 5_000_000)]);
        census.add(4_000_000, &[socket(1, 3000, 1010)]);
        let census = census.finish().unwrap();
        assert_eq!((census.server_busy_us, census.server_rwnd_limited_us), (2000, 1000));
        assert_eq!(census.server_followed_us, 4000);
        assert_eq!(Census::default().finish(), None, "nothing was read");
    }

    #[test]
    fn sockets_that_know_no_round_trip_tell_none() {
        let socket = |min_rtt_us| SocketSample { min_rtt_us, ..SocketSample::default() };
        let mut census = Census::default();
        census.add(0, &[socket(0), socket(u32::MAX)]);
        census.add(1, &[socket(200), socket(400), socket(u32::MAX)]);
        let census = census.finish().unwrap();
        assert_eq!((census.client, census.client_rtt_us()), (5, Some(300.0)));
    }

    #[test]
    fn sleepers_on_one_futex_are_counted_together() {
        let thread = |tid, doing, futex| ThreadNow { pid: 1, tid, doing, futex, timeout_ns: None };
        let mut sum = DoingSum::default();
        for _ in 0..10 {
            sum.add(&[
                thread(1, Doing::Timer, None),
                thread(2, Doing::Futex, Some(7)),
                thread(3, Doing::Futex, Some(4)),
                thread(4, Doing::Futex, Some(80)),
            ]);
        }
        let shares = sum.finish().unwrap();
        assert_eq!((shares.samples, shares.threads), (40, 4));
        assert_eq!((shares.share(Doing::Futex), shares.mean_threads(Doing::Timer)), (0.75, 1.0));
        assert_eq!((shares.still_rounds, shares.rounds), (10, 10));
        assert_eq!((shares.mean_on_one_futex(|_| true), shares.occupied(9)), (2.0, None));
        assert_eq!(shares.mean_on_one_futex(|tid| tid != 3), 0.0, "each on a futex of its own");
        assert_eq!(shares.mean_on_shared_futexes(|_| true), 2.0, "and the third on its own");
        assert_eq!((shares.at_work(1), shares.at_work(2)), (Some(1.0), Some(0.0)));
    }

    #[test]
    fn sleeps_with_a_time_out_are_told_from_those_without() {
        let thread = |tid, timeout_ns| {
            let (doing, futex) = (Doing::Futex, Some(7));
            ThreadNow { pid: 1, tid, doing, futex, timeout_ns }
        };
        let mut sum = DoingSum::default();
        for _ in 0..5 {
            sum.add(&[
                thread(1, Some(9_000_000)),
                thread(2, None),
                thread(3, Some(60_000_000_000)),
            ]);
        }
        let shares = sum.finish().unwrap();
        let timed = [1, 2, 3].map(|tid| shares.timed(tid, 20_000_000));
        assert_eq!((timed, shares.mean_threads(Doing::Futex)), ([5, 0, 0], 3.0));
    }

    #[test]
    fn a_sample_of_many_threads_stands_for_all() {
        let thread = |tid, doing| ThreadNow { pid: 1, tid, doing, futex: None, timeout_ns: None };
        let mut sum = DoingSum::default();
        let half = ThreadNow::ROUND_MAX as u32 / 2;
        let part = |first| {
            let timers = (first..first + half).map(|tid| thread(tid, Doing::Timer));
            timers.chain((first + half..first + 2 * half).map(|tid| thread(tid, Doing::Events)))
        };
        for _ in 0..5 {
            sum.add(&part(0).collect::<Vec<_>>());
            sum.add(&part(2 * half).collect::<Vec<_>>());
        }
        let shares = sum.finish().unwrap();
        let count = 2 * ThreadNow::ROUND_MAX;
        assert_eq!((shares.mean_threads(Doing::Timer), shares.threads), (256.0, count));
        assert_eq!((shares.occupied(0), shares.occupied(half)), (Some(1.0), Some(0.0)));
    }

    #[test]
    fn of_many_threads_that_are_replaced_as_many_count_as_there_are_at_a_time() {
        let mut sum = DoingSum::default();
        let part = ThreadNow::ROUND_MAX as u32;
        for round in 0..10 {
            // Some of those that a round looks at have just ended.
            let tids = round * part..(round + 1) * part - round % 2;
            let (doing, futex, timeout_ns) = (Doing::Send, None, None);
            let now = tids.map(|tid| ThreadNow { pid: 1, tid, doing, futex, timeout_ns });
            sum.add(&now.collect::<Vec<_>>());
            sum.count(400);
        }
        let shares = sum.finish().unwrap();
        assert!((shares.mean_threads(Doing::Send) - 400.0).abs() < 1e-6, "{shares:?}");
    }

    #[test]
    fn threads_that_are_replaced_count_once() {
        let mut sum = DoingSum::default();
        for round in 0..30_u32 {
            let thread = |tid| ThreadNow {
                pid: 1,
                tid: round / 10 * 10 + tid,
                doing: Doing::Send,
                futex: None,
                timeout_ns: None,
            };
            sum.add(&(0..10).map(thread).collect::<Vec<_>>());
        }
        let shares = sum.finish().unwrap();
        assert_eq!((shares.mean_threads(Doing::Send), shares.threads), (10.0, 30));
    }

    #[test]
    fn downstreams_are_means_over_reads() {
        let mut sum = DownstreamSum::default();
        let one = |waiting, heard_ms| Downstream {
            to: "db:5432".into(),
            connections: 8,
            waiting,
            heard_ms,
            ..Downstream::default()
        };
        sum.add(&[one(8, Some(30))]);
        sum.add(&[one(4, Some(10))]);
        sum.add(&[one(0, None)]);
        sum.add(&[one(8, Some(20))]);
        let used = sum.finish().unwrap();
        assert_eq!((used[0].connections, used[0].waiting), (8.0, 5.0));
        assert_eq!(used[0].heard_ms, Some(20.0));
    }
}

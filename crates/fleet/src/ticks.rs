//! Ticks in transit: without their empty parts, as bytes, and summed.
//!
//! A tick of the engine is large because it is allocated only once; a tenth of a second fills
//! little of it. An agent sums the ticks of its workers and sends the sum; a controller sums the
//! ticks of all agents. Counts and distributions are added exactly; nothing is calculated from a
//! percentile.
//!
//! Times are in the agent's clock until the controller converts them.

pub mod codec;
pub mod sum;

pub use codec::{PHASES, TICK_BYTES_MAX, decode, encode, parts};
pub use sum::TickSum;

use model::dist::ByDist;
use model::fanout::{EventCounts, Subscription};
use model::fault::Faults;
use model::histogram::Histogram;
use model::histogram::sparse::Sparse;
use model::sample::Caught;
use model::streams::StreamTally;
use model::tally::Tally;
use model::tick::{
    Connections, Counters, Loop, Phase, Starts, StatusCodes, ThreadKind, Tick, Turnover,
};
use model::tls::TlsTally;

/// A tick without its empty parts.
#[derive(Debug, Clone, Default)]
pub struct SparseTick {
    /// The crew: the one that sends requests, or the one that holds subscribers.
    pub crew: ThreadKind,
    /// Number of the load order.
    pub load: u32,
    /// Part of the level.
    pub phase: Phase,
    /// Start of the interval, nanoseconds.
    pub begin_ns: u64,
    /// End of the interval, nanoseconds; not before its start.
    pub end_ns: u64,
    /// Whether it is the last of its load order.
    pub last: bool,
    /// When the latest outcome was known, nanoseconds; 0 for none.
    pub fate_ns: u64,
    /// What the engine counts.
    pub counts: Counts,
    /// Responses by code.
    pub codes: StatusCodes,
    /// Responses that failed because of their status, by code.
    pub error_codes: StatusCodes,
    /// The first response of each kind of failure.
    pub caught: Vec<Caught>,
    /// The shortest service time of the warm-up, nanoseconds.
    pub warmup_fastest_ns: Option<u64>,
    /// Its distributions.
    pub histograms: ByDist<Sparse>,
    /// Connections established by each route.
    pub opened_on: Vec<u64>,
    /// By target: counters and latency.
    pub targets: Vec<(Counters, Sparse)>,
    /// What each subscriber saw.
    pub subscriptions: Vec<Subscription>,
}

model::tally! {
    /// The plain numbers of a tick, in the order in which they are sent.
    pub struct Counts {
        /// Requests of the measured part.
        pub measured: Counters,
        /// All other requests.
        pub unmeasured: Counters,
        /// Current connections.
        pub connections: Connections,
        /// What happened to connections.
        pub turnover: Turnover,
        /// Connections that were due.
        pub starts: Starts,
        /// Connections that were given up for what came on them.
        pub faults: Faults,
        /// Handshakes and tunnels.
        pub tls: TlsTally,
        /// Streams of HTTP/2.
        pub streams: StreamTally,
        /// How the loops spent the interval.
        pub accounting: Loop,
        /// Events.
        pub events: EventCounts,
    }
}

impl SparseTick {
    /// A tick with no counts.
    pub fn empty(load: u32, phase: Phase, (begin_ns, end_ns): (u64, u64)) -> Self {
        Self { load, phase, begin_ns, end_ns, ..Self::default() }
    }

    /// The non-empty parts of a tick of the engine.
    pub fn of(crew: ThreadKind, tick: &Tick) -> Self {
        let target = |tally: &model::tick::TargetTally| (tally.counters, tally.latency.to_sparse());
        let is_counted = |tally: &&model::tick::TargetTally| {
            tally.counters != Counters::default() || !tally.latency.is_empty()
        };
        // Between levels the tallies of a worker are empty.
        let has_targets = tick.targets.iter().any(|tally| is_counted(&tally));
        let targets = if has_targets { &*tick.targets } else { &[] };
        let routes = tick.opened_on.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        Self {
            crew,
            load: tick.load,
            phase: tick.phase,
            begin_ns: tick.begin_ns,
            end_ns: tick.end_ns,
            last: tick.last,
            fate_ns: tick.fate_ns,
            counts: Counts {
                measured: tick.measured,
                unmeasured: tick.unmeasured,
                connections: tick.connections,
                turnover: tick.turnover,
                starts: tick.starts,
                faults: tick.faults,
                tls: tick.tls,
                streams: tick.streams,
                accounting: tick.accounting,
                events: tick.events,
            },
            codes: tick.codes.clone(),
            error_codes: tick.error_codes.clone(),
            caught: tick.caught.clone(),
            warmup_fastest_ns: tick.warmup_fastest_ns,
            histograms: tick.histograms.each(Histogram::to_sparse),
            opened_on: tick.opened_on[..routes].to_vec(),
            targets: targets.iter().map(target).collect(),
            subscriptions: tick.subscriptions.clone(),
        }
    }

    /// Adds its contents to a tick of the engine, except its interval, its connections, whether it
    /// is the last, and its distributions.
    pub fn add_counts_to(&self, tick: &mut Tick) {
        let counts = &self.counts;
        tick.fate_ns = tick.fate_ns.max(self.fate_ns);
        tick.measured += &counts.measured;
        tick.unmeasured += &counts.unmeasured;
        tick.turnover += &counts.turnover;
        tick.starts += &counts.starts;
        tick.faults += &counts.faults;
        tick.tls += &counts.tls;
        tick.streams += &counts.streams;
        tick.accounting += &counts.accounting;
        tick.events += &counts.events;
        tick.codes.merge(&self.codes);
        tick.error_codes.merge(&self.error_codes);
        tick.caught.extend_from_slice(&self.caught);
        let fastest_ns = tick.warmup_fastest_ns.into_iter().chain(self.warmup_fastest_ns).min();
        tick.warmup_fastest_ns = fastest_ns;
        let routes = tick.opened_on.len().max(self.opened_on.len());
        tick.opened_on.resize(routes, 0);
        tick.opened_on.iter_mut().zip(&self.opened_on).for_each(|(sum, part)| *sum += part);
        let targets = tick.targets.len().max(self.targets.len());
        tick.targets.resize_with(targets, Default::default);
        for (sum, (counters, latency)) in tick.targets.iter_mut().zip(&self.targets) {
            sum.counters += counters;
            sum.latency.add_sparse(latency);
        }
        tick.subscriptions.extend_from_slice(&self.subscriptions);
    }

    /// The largest of all its counts, which bounds how fast sums grow.
    pub fn largest(&self) -> u64 {
        let mut largest = 0;
        let mut look = |counts: &mut dyn Tally| {
            counts.each_number(&mut |number| largest = largest.max(*number));
        };
        look(&mut self.counts.clone());
        self.targets.iter().for_each(|(counters, _)| look(&mut counters.clone()));
        let counted = self.histograms.iter().chain(self.targets.iter().map(|(_, one)| one));
        let counts = counted.map(|one| one.buckets().iter().map(|(_, count)| *count).sum());
        let codes = [&self.codes, &self.error_codes]
            .map(|codes| codes.counted().map(|(_, count)| count).max().unwrap_or(0));
        let opened = self.opened_on.iter().copied().max().unwrap_or(0);
        let codes = codes.into_iter().max().unwrap_or(0);
        largest.max(counts.max().unwrap_or(0)).max(codes).max(opened)
    }
}

//! Adds up the ticks of one level over all workers.

use crate::openings::Openings;
use model::dist::{ByDist, Dist};
use model::fanout::{EventCounts, Subscription};
use model::fault::Faults;
use model::histogram::Histogram;
use model::load::Arrival;
use model::order::OrderBy as _;
use model::run::count_codes;
use model::sample::{CAUGHT_MAX, Caught};
use model::series::{Second, Spread};
use model::slow::{SLOW_MAX, Slow};
use model::streams::StreamTally;
use model::tick::{
    Connections, Counters, Crossed, ErrorClass, Loop, Parts, Phase, Starts, StatusCodes,
    TargetTally, Tick, Turnover,
};
use model::tls::TlsTally;
use model::users::UserTally;
use std::collections::VecDeque;

/// Tenths of a second per second of the series.
const TENTHS: usize = 10;
/// Length of a tenth, nanoseconds.
const TENTH_NS: u64 = 100_000_000;

/// Most rates of workers that are kept.
const RATES_MAX: usize = 1 << 16;

/// The sum of all ticks of one level so far.
#[derive(Debug, Clone, Default)]
pub struct Gathered {
    /// Requests of the window.
    pub measured: Counters,
    /// Responses of the window by code.
    pub codes: StatusCodes,
    /// Those that failed by their status.
    pub error_codes: StatusCodes,
    /// The first response of each kind of failure of the level.
    pub caught: Vec<Caught>,
    /// The slowest requests of the window that the workers kept.
    pub slowest: Vec<Slow>,
    /// All requests of the window that took longer than this are among them, nanoseconds.
    pub slow_above_ns: u64,
    /// All other requests.
    pub unmeasured: Counters,
    /// The shortest service time of those.
    pub warmup_fastest_ns: Option<u64>,
    /// Good responses that arrived in the window, whenever they were requested.
    pub arrived: u64,
    /// Messages of replies that stream that arrived in the window, whenever they were requested.
    pub messages: u64,
    /// Whole responses that arrived in the window, with any status, whenever they were requested.
    pub answered: u64,
    /// Their bytes, and what these consist of.
    pub answered_bytes: (u64, Parts),
    /// Responses per second, of each worker in each of its ticks in which some arrived; the first
    /// [`RATES_MAX`].
    pub worker_rates: Vec<f64>,
    /// Loops of the window.
    pub window_loop: Loop,
    /// Loops of the whole level.
    pub level_loop: Loop,
    /// Distributions of the level.
    pub histograms: ByDist<Histogram>,
    /// Connections that came and went in the window.
    pub turnover: Turnover,
    /// Connections of the level that the peer closed while a request was on its way.
    pub crossed: Crossed,
    /// Connections that were due in the window, where devices start on a schedule.
    pub starts: Starts,
    /// The seconds of the visit; for devices.
    pub openings: Option<Openings>,
    /// Time to connect of the window.
    pub window_connect: Histogram,
    /// Connections established per tenth of a second of the window.
    pub tenths_established: Vec<u64>,
    /// Connections that were given up for what came on them.
    pub faults: Faults,
    /// Handshakes and tunnels.
    pub tls: TlsTally,
    /// Streams of HTTP/2.
    pub streams: StreamTally,
    /// Users of a flow.
    pub users: UserTally,
    /// Connections established by each route.
    pub opened_on: Vec<u64>,
    /// Requests of the window by target; empty with one target.
    pub targets: Vec<TargetTally>,
    /// Events of the window; for workers that listen.
    pub events: EventCounts,
    /// What each subscriber saw around the window.
    pub subscriptions: Vec<Subscription>,
    /// Good responses that arrived in each tenth of a second, whenever they were requested.
    pub tenths: Vec<u64>,
    /// Requests in flight in each tenth of a second.
    load: Vec<InFlightSum>,
    /// Since the last look: completed (measured or not) and their latency.
    pub fresh: Fresh,
    /// Most connections that were open at once.
    pub most_open: u64,
    /// Resident memory of the generator when most were open, bytes.
    pub resident_bytes: Option<u64>,
    series: Vec<Second>,
    /// Seconds that ticks may still belong to; workers are never a second apart.
    open_seconds: VecDeque<SecondSum>,
    connections: Vec<Connections>,
    /// Open connections of each worker when the window began and ended for it; none before.
    open: Vec<Option<(u64, u64)>>,
    window_begin_ns: u64,
    ends: WindowEnds,
    /// When the last outcome of a measured request was known.
    fate_ns: u64,
    /// When the last tick of the window ended.
    last_tick_ns: u64,
    /// When the last tick of the window of each worker ended.
    ended_ns: Vec<u64>,
    /// How long each worker polled the clock in the window, nanoseconds.
    pub spin_ns: Vec<u64>,
    last: u32,
}

/// What ends a measured window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WindowEnds {
    /// The last send, in closed loop: the clock decides, and a worker that looks at it late goes on
    /// to send.
    #[default]
    WithSends,
    /// The end of the schedule, in open loop: nothing is due from this instant on, monotonic
    /// nanoseconds, however late a worker looks at the clock.
    AtNs(u64),
    /// The last outcome of a request, good or bad: a budget of requests decides.
    WithFates,
}

impl WindowEnds {
    /// What ends the window of such a load, with these orders.
    pub fn of(arrival: &Arrival, end_ns: u64, budget: Option<u64>) -> Self {
        match (arrival, budget) {
            (_, Some(_)) => Self::WithFates,
            (Arrival::Open { .. }, None) => Self::AtNs(end_ns),
            (Arrival::Closed, None) => Self::WithSends,
        }
    }
}

/// Counts since the last call.
#[derive(Debug, Clone, Default)]
pub struct Fresh {
    /// Completed requests.
    pub completed: u64,
    /// Connections established.
    pub established: u64,
    /// Time to connect.
    pub connect: Histogram,
    /// Their latency; of measured ones only.
    pub latency: Histogram,
    /// CPU time of the workers, nanoseconds.
    pub cpu_ns: u64,
}

/// Seconds kept open at once: few, because whole distributions are large.
const OPEN_SECONDS: usize = 3;

/// Requests in flight, added up over the time of all workers.
#[derive(Debug, Clone, Copy, Default)]
struct InFlightSum {
    in_flight_ns: u128,
    passed_ns: u64,
}

/// Good responses of an interval, whenever they were requested.
fn arrived(tick: &Tick) -> u64 {
    tick.measured.completed + tick.unmeasured.completed
}

#[derive(Debug, Clone, Default)]
struct SecondSum {
    completed: u64,
    failed: u64,
    status: [u64; 4],
    /// Responses to requests of the window, except good ones with status 200.
    codes: StatusCodes,
    /// All responses to them of class 2xx.
    measured_2xx: u64,
    bytes_received: u64,
    bytes_sent: u64,
    latency: Histogram,
}

impl Gathered {
    /// Empty, for this many workers.
    pub fn new(workers: u32) -> Self {
        let workers = workers as usize;
        Self {
            connections: vec![Connections::default(); workers],
            open: vec![None; workers],
            window_begin_ns: u64::MAX,
            ended_ns: vec![0; workers],
            spin_ns: vec![0; workers],
            ..Self::default()
        }
    }

    /// Notes when the window was ordered to start, and what ends it.
    pub fn begin_window(&mut self, begin_ns: u64, ends: WindowEnds) {
        (self.window_begin_ns, self.ends) = (begin_ns, ends);
    }

    /// What failed so far, by status code and class, most first.
    pub fn failed(&self) -> Vec<(String, u64)> {
        let errors = |class| self.measured.errors.get(class) + self.unmeasured.errors.get(class);
        let by_class =
            ErrorClass::ALL.iter().map(|class| (class.name().to_string(), errors(*class)));
        let by_code = self.error_codes.counted().map(|(code, count)| (code.to_string(), count));
        let mut failed: Vec<_> = by_code.chain(by_class).filter(|(_, count)| *count > 0).collect();
        failed.order_by_key(|(_, count)| std::cmp::Reverse(*count));
        failed
    }

    /// When the window ended, monotonic nanoseconds.
    pub fn window_end_ns(&self) -> u64 {
        let end_ns = match self.ends {
            WindowEnds::WithSends => self.last_tick_ns,
            WindowEnds::AtNs(end_ns) => self.last_tick_ns.min(end_ns),
            WindowEnds::WithFates if self.fate_ns > 0 => self.fate_ns,
            WindowEnds::WithFates => self.last_tick_ns,
        };
        end_ns.max(self.window_begin_ns)
    }

    /// Adds a tick of this level.
    pub fn add(&mut self, tick: &Tick) {
        self.measured += &tick.measured;
        self.codes.merge(&tick.codes);
        self.error_codes.merge(&tick.error_codes);
        tick.caught.iter().for_each(|caught| self.catch(caught));
        self.unmeasured += &tick.unmeasured;
        let fastest = self.warmup_fastest_ns.into_iter().chain(tick.warmup_fastest_ns).min();
        self.warmup_fastest_ns = fastest;
        self.level_loop += &tick.accounting;
        self.faults += &tick.faults;
        self.tls += &tick.tls;
        self.streams += &tick.streams;
        self.users += &tick.users;
        self.events += &tick.events;
        self.starts += &tick.starts;
        self.crossed += &tick.turnover.crossed;
        self.subscriptions.extend_from_slice(&tick.subscriptions);
        let before =
            std::mem::replace(&mut self.connections[tick.worker as usize], tick.connections);
        self.last += u32::from(tick.last);
        self.fate_ns = self.fate_ns.max(tick.fate_ns);
        self.histograms.merge(&tick.histograms);
        self.opened_on.resize(self.opened_on.len().max(tick.opened_on.len()), 0);
        for (sum, part) in self.opened_on.iter_mut().zip(&tick.opened_on) {
            *sum += part;
        }
        if tick.last {
            let places = self.targets.len().max(tick.targets.len());
            self.targets.resize_with(places, TargetTally::default);
            self.targets.iter_mut().zip(&tick.targets).for_each(|(sum, part)| sum.merge(part));
            self.keep_slow(&tick.slowest);
        }
        let open = self.connections().open;
        if let Some(openings) = &mut self.openings {
            openings.add(tick, open);
        }
        self.fresh.completed += tick.measured.completed + tick.unmeasured.completed;
        self.fresh.established += tick.turnover.established;
        self.fresh.connect.merge(&tick.histograms[Dist::Connect]);
        self.fresh.latency.merge(&tick.histograms[Dist::Latency]);
        self.fresh.cpu_ns += tick.accounting.cpu_user_ns + tick.accounting.cpu_system_ns;
        let is_inside = match self.ends {
            WindowEnds::WithSends | WindowEnds::AtNs(_) => tick.phase == Phase::Measure,
            WindowEnds::WithFates => matches!(tick.phase, Phase::Measure | Phase::Drain),
        };
        if is_inside {
            self.arrived += arrived(tick);
            self.messages += tick.measured.messages + tick.unmeasured.messages;
            self.count_answered(tick);
            self.window_loop += &tick.accounting;
            self.turnover += &tick.turnover;
            let open = &mut self.open[tick.worker as usize];
            *open = Some((open.map_or(before.open, |(first, _)| first), tick.connections.open));
            self.window_connect.merge(&tick.histograms[Dist::Connect]);
            self.last_tick_ns = self.last_tick_ns.max(tick.end_ns);
            let ended_ns = &mut self.ended_ns[tick.worker as usize];
            *ended_ns = tick.end_ns.max(*ended_ns);
            self.spin_ns[tick.worker as usize] += tick.accounting.spin_ns;
            self.add_to_series(tick);
        }
    }

    fn count_answered(&mut self, tick: &Tick) {
        let mut answered = 0;
        for counters in [&tick.measured, &tick.unmeasured] {
            answered += counters.responses();
            self.answered_bytes.0 += counters.bytes_received;
            self.answered_bytes.1 += &counters.parts;
        }
        self.answered += answered;
        let length_ns = tick.end_ns.saturating_sub(tick.begin_ns);
        if answered > 0 && length_ns > 0 && self.worker_rates.len() < RATES_MAX {
            self.worker_rates.push(answered as f64 * 1e9 / length_ns as f64);
        }
    }

    /// Keeps the first response of each kind of failure over all workers.
    fn catch(&mut self, caught: &Caught) {
        let is_alike = |other: &&mut Caught| other.kind() == caught.kind();
        let is_full = self.caught.len() == CAUGHT_MAX;
        match self.caught.iter_mut().find(is_alike) {
            Some(other) if caught.at_ns < other.at_ns => other.clone_from(caught),
            None if !is_full => self.caught.push(caught.clone()),
            _ => {}
        }
    }

    fn keep_slow(&mut self, kept: &[Slow]) {
        if kept.len() == SLOW_MAX {
            let fastest_ns = kept.iter().map(Slow::took_ns).min().unwrap_or(0);
            self.slow_above_ns = self.slow_above_ns.max(fastest_ns);
        }
        self.slowest.extend_from_slice(kept);
    }

    fn add_to_series(&mut self, tick: &Tick) {
        let since_ns = tick.begin_ns.saturating_sub(self.window_begin_ns);
        // A tick starts when its worker wakes, a little after the start of the tenth.
        let tenth = ((since_ns + TENTH_NS / 2) / TENTH_NS) as usize;
        if self.tenths.len() <= tenth {
            self.tenths.resize(tenth + 1, 0);
            self.load.resize(tenth + 1, InFlightSum::default());
            self.tenths_established.resize(tenth + 1, 0);
        }
        self.tenths_established[tenth] += tick.turnover.established;
        self.tenths[tenth] += arrived(tick);
        self.load[tenth].in_flight_ns += tick.accounting.in_flight_ns;
        self.load[tenth].passed_ns += tick.end_ns.saturating_sub(tick.begin_ns);
        // A tick that comes later than workers are allowed to is booked in the oldest open second.
        let second = (tenth / TENTHS).max(self.series.len());
        while self.series.len() + self.open_seconds.len() <= second {
            if self.open_seconds.len() == OPEN_SECONDS {
                self.close_second();
            }
            self.open_seconds.push_back(SecondSum::default());
        }
        let sum = &mut self.open_seconds[second - self.series.len()];
        sum.completed += arrived(tick);
        sum.failed += tick.measured.failed + tick.unmeasured.failed;
        for counters in [&tick.measured, &tick.unmeasured] {
            sum.status.iter_mut().zip(counters.status).for_each(|(sum, part)| *sum += part);
            sum.bytes_received += counters.bytes_received;
            sum.bytes_sent =
                (sum.bytes_sent + counters.bytes_sent).saturating_sub(counters.bytes_untaken);
        }
        sum.codes.merge(&tick.codes);
        sum.measured_2xx += tick.measured.status[0];
        sum.latency.merge(&tick.histograms[Dist::Latency]);
    }

    fn close_second(&mut self) {
        if let Some(sum) = self.open_seconds.pop_front() {
            let t_s = (self.series.len() + 1) as f64;
            self.series.push(sum.finish(t_s));
        }
    }

    /// Whether every worker has sent the last tick of the level.
    pub fn is_over(&self) -> bool {
        self.last as usize >= self.connections.len()
    }

    /// Open connections when the window began and ended, over the workers that reported it. One of
    /// a fleet may report other phases in between.
    pub fn window_open(&self) -> (u64, u64) {
        let known = self.open.iter().flatten();
        known.fold((0, 0), |sum, open| (sum.0 + open.0, sum.1 + open.1))
    }

    /// The current connections, over all workers.
    pub fn connections(&self) -> Connections {
        let mut sum = Connections::default();
        for connections in &self.connections {
            sum += connections;
        }
        sum
    }

    /// Slots that got at least one response in the window.
    pub fn served(&self) -> u64 {
        let per_connection = &self.histograms[Dist::PerConnection];
        per_connection.count() - per_connection.count_up_to(0)
    }

    /// Whether all workers have sent the same tenths of the window.
    pub fn is_aligned(&self) -> bool {
        let ends = || self.ended_ns.iter().copied();
        let (first, last) = (ends().min().unwrap_or(0), ends().max().unwrap_or(0));
        first > 0 && last - first < TENTH_NS / 2
    }

    /// The account as if nothing were in flight: requests without an outcome count as never sent.
    pub fn settle(&mut self) {
        let in_flight = self.in_flight();
        self.measured.sent -= in_flight;
        // Which connections were served is reported at the end; until then all open ones count.
        let served = self.connections().open;
        let per_connection = &mut self.histograms[Dist::PerConnection];
        if per_connection.is_empty() && served > 0 {
            per_connection.record_n(self.measured.responses() / served, served);
        }
        let Starts { begun, established, failed, .. } = self.starts;
        self.starts.pending = begun.saturating_sub(established + failed);
    }

    /// Requests that are in flight, whenever they were sent.
    pub fn all_in_flight(&self) -> u64 {
        let Counters { sent, completed, failed, unanswered, .. } = self.unmeasured;
        self.in_flight() + sent.saturating_sub(completed + failed + unanswered)
    }

    /// Requests that are in flight, of the window.
    pub fn in_flight(&self) -> u64 {
        let Counters { sent, completed, failed, unanswered, .. } = self.measured;
        sent.saturating_sub(completed + failed + unanswered)
    }

    /// Mean number of requests in flight in the first and in the last fifth of the window; `None`
    /// for a window of fewer than five tenths of a second.
    pub fn in_flight_at_ends(&self) -> Option<(f64, f64)> {
        let fifth = Some(self.load.len() / 5).filter(|fifth| *fifth > 0)?;
        let workers = self.connections.len() as f64;
        let length_ns = self.window_end_ns() - self.window_begin_ns;
        let mean = |from: usize, to: usize| {
            let tenths = &self.load[from..to];
            let in_flight_ns: u128 = tenths.iter().map(|load| load.in_flight_ns).sum();
            let passed_ns = match self.ends {
                WindowEnds::WithSends | WindowEnds::AtNs(_) => {
                    tenths.iter().map(|load| load.passed_ns).sum::<u64>() as f64 / workers
                }
                // A worker whose part of the requests is over is in no tick of the window.
                WindowEnds::WithFates => {
                    let (from_ns, to_ns) = (from as u64 * TENTH_NS, to as u64 * TENTH_NS);
                    to_ns.min(length_ns).saturating_sub(from_ns) as f64
                }
            };
            (passed_ns > 0.0).then(|| in_flight_ns as f64 / passed_ns)
        };
        let count = self.load.len();
        Some((mean(0, fifth)?, mean(count - fifth, count)?))
    }

    /// How evenly requests were spread over connections.
    pub fn requests_each(&self) -> Spread {
        let at = |quantile| self.histograms[Dist::PerConnection].quantile_ns(quantile);
        Spread { min: at(0.0), p50: at(0.5), max: at(1.0) }
    }

    /// The series, one entry per second; the last one may be shorter.
    pub fn series(&self) -> Vec<Second> {
        let duration_s = self.window_end_ns().saturating_sub(self.window_begin_ns) as f64 / 1e9;
        let closed = self.series.len();
        let open = self.open_seconds.iter().enumerate();
        let open = open.map(|(nth, sum)| sum.finish(((closed + nth + 1) as f64).min(duration_s)));
        self.series.iter().cloned().chain(open).collect()
    }
}

impl SecondSum {
    fn finish(&self, t_s: f64) -> Second {
        let summary = self.latency.summary(0);
        let (p50_ns, p99_ns) = (summary.p50, summary.p99);
        let mut codes = self.codes.clone();
        codes.complete(self.measured_2xx);
        Second {
            t_s,
            completed: self.completed,
            failed: self.failed,
            asked_rate: None,
            p50_ns,
            p99_ns,
            status: Some(self.status),
            status_codes: Some(count_codes(&codes)),
            bytes_received: Some(self.bytes_received),
            bytes_sent: Some(self.bytes_sent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::driver::sim::Faults;
    use engine::job::Job;
    use engine::simulate::{self, Account};
    use model::load::{Life, Request, Spacing};
    use wire::tape::Tape;

    fn tick(begin_ns: u64, completed: u64) -> Tick {
        let mut tick = Tick { phase: Phase::Measure, begin_ns, ..Tick::default() };
        tick.end_ns = begin_ns + TENTH_NS;
        tick.measured.completed = completed;
        tick.measured.status = [completed, 0, 0, 1];
        tick.codes.add(204, completed / 4);
        tick.codes.add(503, 1);
        tick.measured.bytes_received = completed * 100;
        tick.unmeasured.bytes_sent = 7;
        tick.histograms[Dist::Latency]
            .record_n(1_000_000 * (1 + begin_ns / 1_000_000_000), completed);
        tick
    }

    #[test]
    fn what_is_in_flight_counts_meanwhile_as_if_it_had_not_been_sent() {
        let mut gathered = Gathered::new(2);
        gathered.begin_window(0, WindowEnds::WithSends);
        let mut first = tick(0, 5);
        (first.measured.sent, first.measured.failed, first.unmeasured.sent) = (9, 1, 2);
        first.connections.open = 3;
        gathered.add(&first);
        assert!(!gathered.is_aligned(), "the other worker has told nothing");
        gathered.add(&Tick { worker: 1, ..tick(1000, 0) });
        assert!(gathered.is_aligned());
        gathered.add(&Tick { worker: 1, ..tick(TENTH_NS, 0) });
        assert!(!gathered.is_aligned(), "it is a tenth ahead");
        assert_eq!((gathered.in_flight(), gathered.all_in_flight()), (3, 5));
        gathered.settle();
        assert_eq!((gathered.measured.sent, gathered.in_flight(), gathered.served()), (6, 0, 3));
    }

    #[test]
    fn connections_of_the_window_are_those_of_its_own_ticks() {
        let mut gathered = Gathered::new(2);
        gathered.begin_window(0, WindowEnds::WithSends);
        let parts = [(0, Phase::Measure, 7), (0, Phase::Drain, 9), (1, Phase::Measure, 0)];
        for (worker, phase, open) in parts.into_iter().chain([(0, Phase::Measure, 2)]) {
            let mut tick = Tick { worker, phase, ..tick(1000, 1) };
            tick.connections.open = open;
            gathered.add(&tick);
        }
        assert_eq!(gathered.window_open(), (0, 2));
    }

    #[test]
    fn a_series_of_any_length_keeps_few_distributions() {
        let mut gathered = Gathered::new(1);
        gathered.begin_window(0, WindowEnds::WithSends);
        for tenth in 0..100 {
            gathered.add(&tick(tenth * TENTH_NS + 1000, 100));
        }
        assert!(gathered.open_seconds.len() <= OPEN_SECONDS);
        let series = gathered.series();
        assert_eq!(series.len(), 10);
        for (index, second) in series.iter().enumerate() {
            assert_eq!(second.completed, 1000, "second {index}");
            assert_eq!(second.status, Some([1000, 0, 0, 10]), "second {index}");
            let codes = [("200", 750), ("204", 250), ("503", 10)];
            let codes = codes.map(|(code, count)| (code.to_string(), count)).into();
            assert_eq!(second.status_codes, Some(codes), "second {index}");
            let bytes = (second.bytes_received, second.bytes_sent);
            assert_eq!(bytes, (Some(100_000), Some(70)), "second {index}");
            let p50_ns = second.p50_ns.unwrap();
            assert!(p50_ns.abs_diff(1_000_000 * (index as u64 + 1)) < 20_000, "second {index}");
        }
        assert_eq!(gathered.tenths, vec![100; 100]);
    }

    #[test]
    fn responses_count_where_they_arrive_and_with_any_status() {
        let mut gathered = Gathered::new(1);
        gathered.begin_window(0, WindowEnds::WithSends);
        let arrived = |phase, measured, unmeasured| {
            let mut tick = Tick { phase, ..tick(0, 0) };
            (tick.measured.status, tick.unmeasured.status) = (measured, unmeasured);
            tick
        };
        gathered.add(&arrived(Phase::Warmup, [0; 4], [1000, 0, 0, 0]));
        gathered.add(&arrived(Phase::Measure, [20, 3, 4, 500], [2, 0, 0, 1]));
        gathered.add(&arrived(Phase::Drain, [1000, 0, 0, 0], [0; 4]));
        assert_eq!(gathered.answered, 530);
        gathered.begin_window(0, WindowEnds::WithFates);
        gathered.add(&arrived(Phase::Drain, [7, 0, 0, 0], [0; 4]));
        assert_eq!(gathered.answered, 537, "there the last fate ends the window");
    }

    #[test]
    fn responses_to_requests_of_the_warm_up_count_where_they_arrive() {
        // A server with a constant 0.3 s, under load since long before the window.
        let mut gathered = Gathered::new(1);
        gathered.begin_window(0, WindowEnds::WithSends);
        for tenth in 0..30 {
            let mut tick = tick(tenth * TENTH_NS, if tenth < 3 { 0 } else { 1000 });
            tick.unmeasured.completed = if tenth < 3 { 1000 } else { 0 };
            gathered.add(&tick);
        }
        let mut late = tick(3_000_000_000, 3000);
        late.phase = Phase::Drain;
        gathered.add(&late);
        assert_eq!((gathered.measured.completed, gathered.arrived), (30_000, 30_000));
        assert_eq!(gathered.tenths, vec![1000; 30]);
        let series: Vec<u64> = gathered.series().iter().map(|second| second.completed).collect();
        assert_eq!(series, vec![10_000; 3]);
        let steadiness = judge::steady::steadiness(&gathered.tenths);
        assert!(matches!(steadiness, judge::steady::Steadiness::Steady { .. }), "{steadiness:?}");
    }

    const MS: u64 = 1_000_000;

    fn level(connections: u32, depth: u32, window_ns: u64) -> simulate::Level {
        simulate::Level {
            connections,
            connections_max: connections,
            depth,
            rate: None,
            life: Life::default(),
            connect_ns: 5 * MS,
            warmup_ns: 500 * MS,
            window_ns,
            budget: None,
            drain_ns: 10_000 * MS,
        }
    }

    /// A level against a simulated server, gathered like a live one.
    fn simulated(seed: u64, level: simulate::Level, faults: Faults) -> (Gathered, Account) {
        let request = Request { method: "GET".to_string(), ..Request::default() };
        let request = Request { path: "/".to_string(), host: "sim".to_string(), ..request };
        let job = Job {
            connections_max: level.connections_max,
            depth_max: level.depth,
            timeout_ns: 10_000 * MS,
            connect_timeout_ns: 10_000 * MS,
            seed,
            ..Job::for_tests(Tape::new(&[request], level.depth).unwrap())
        };
        let mut gathered = Gathered::new(1);
        let ends = level.budget.map_or(WindowEnds::WithSends, |_| WindowEnds::WithFates);
        gathered.begin_window(simulate::window_begin_ns(&level), ends);
        let account = simulate::simulate_seen(&job, level, faults, |tick| gathered.add(tick));
        (gathered, account)
    }

    fn rate(gathered: &Gathered) -> f64 {
        let window_ns = gathered.window_end_ns() - gathered.window_begin_ns;
        gathered.arrived as f64 * 1e9 / window_ns as f64
    }

    #[test]
    fn rate_series_and_tenths_hold_the_same_responses_in_any_world() {
        for seed in 0..60 {
            let slowest_ns = [MS, 30 * MS, 300 * MS][seed as usize % 3];
            let faults = Faults {
                error_status: seed % 5 * 100,
                reset: seed % 4 * 10,
                last_response: seed % 3 * 100,
                service_ns: (slowest_ns / 3, slowest_ns),
                ..Faults::default()
            };
            let mut level = level(1 + seed as u32 % 7, 1 + seed as u32 % 3, 1_350 * MS);
            match seed % 4 {
                0 => level.rate = Some((300.0, Spacing::Poisson)),
                1 => (level.budget, level.warmup_ns) = (Some(50), 0),
                2 => level.warmup_ns = 0,
                _ => {}
            }
            let (gathered, account) = simulated(seed, level, faults);
            let context = format!("seed {seed}: {account:?}");
            assert_eq!(gathered.tenths.iter().sum::<u64>(), gathered.arrived, "{context}");
            let in_series: u64 = gathered.series().iter().map(|second| second.completed).sum();
            assert_eq!(in_series, gathered.arrived, "{context}");
            match level.budget {
                Some(_) => assert_eq!(gathered.arrived, account.measured.completed, "{context}"),
                None => assert_eq!(gathered.arrived, account.arrived, "{context}"),
            }
            assert_eq!(account.measured.unanswered, 0, "{context}");
            assert_eq!(gathered.in_flight(), 0, "{context}");
        }
    }

    #[test]
    fn above_capacity_the_rate_is_that_of_the_target_and_the_backlog_grows() {
        // Eight slots of 20 ms each serve 400/s; 480/s are offered, and all get a response in the
        // end.
        let faults = Faults { service_ns: (20 * MS, 20 * MS), ..Faults::default() };
        let level = level(8, 100, 4_000 * MS);
        let level = simulate::Level { rate: Some((480.0, Spacing::Fixed)), ..level };
        let (gathered, account) = simulated(1, level, faults);
        assert_eq!((account.measured.completed, account.measured.unanswered), (1920, 0));
        assert!((rate(&gathered) - 400.0).abs() < 3.0, "{}", rate(&gathered));
        let (first, last) = gathered.in_flight_at_ends().unwrap();
        // It grows by 80/s: by 256 from the middle of the first fifth to that of the last.
        assert!((last - first - 256.0).abs() < 20.0, "{first} {last}");
        // Within capacity both ends are alike.
        let level = simulate::Level { rate: Some((320.0, Spacing::Fixed)), ..level };
        let (gathered, _) = simulated(1, level, faults);
        assert!((rate(&gathered) - 320.0).abs() < 3.0, "{}", rate(&gathered));
        let (first, last) = gathered.in_flight_at_ends().unwrap();
        assert!((last - first).abs() < 1.0, "{first} {last}");
    }

    #[test]
    fn requests_in_flight_are_counted_at_both_ends_of_the_window() {
        let mut gathered = Gathered::new(2);
        gathered.begin_window(0, WindowEnds::WithSends);
        for tenth in 0..20u64 {
            for worker in 0..2 {
                let mut tick = Tick { worker, ..tick(tenth * TENTH_NS, 1) };
                tick.accounting.in_flight_ns = u128::from(TENTH_NS * (tenth + 1));
                gathered.add(&tick);
            }
        }
        // Each of two workers has one more in each tenth: 1 to 4, then 17 to 20.
        let (first, last) = gathered.in_flight_at_ends().unwrap();
        assert!((first - 5.0).abs() < 1e-9 && (last - 37.0).abs() < 1e-9, "{first} {last}");
        assert_eq!(Gathered::new(1).in_flight_at_ends(), None);
    }

    #[test]
    fn a_worker_whose_requests_are_over_has_none_in_flight() {
        let mut gathered = Gathered::new(2);
        gathered.begin_window(0, WindowEnds::WithFates);
        for tenth in 0..20u64 {
            for worker in (0..2).filter(|worker| *worker == 1 || tenth < 5) {
                let mut tick = Tick { worker, ..tick(tenth * TENTH_NS, 1) };
                tick.accounting.in_flight_ns = u128::from(TENTH_NS);
                tick.fate_ns = tick.end_ns;
                gathered.add(&tick);
            }
        }
        assert_eq!(gathered.in_flight_at_ends(), Some((2.0, 1.0)));
    }

    #[test]
    fn a_window_with_a_budget_ends_with_the_last_fate() {
        let mut gathered = Gathered::new(1);
        gathered.begin_window(1_000, WindowEnds::WithFates);
        let mut good = tick(1_000, 500);
        good.fate_ns = 100_000_000;
        gathered.add(&good);
        let mut bad = Tick { phase: Phase::Drain, begin_ns: 100_001_000, ..Tick::default() };
        (bad.end_ns, bad.fate_ns, bad.measured.failed) = (10_000_001_000, 10_000_000_000, 500);
        gathered.add(&bad);
        assert_eq!(gathered.window_end_ns(), 10_000_000_000, "when the last one timed out");
    }

    #[test]
    fn a_long_tick_is_booked_where_it_began() {
        let mut gathered = Gathered::new(1);
        gathered.begin_window(0, WindowEnds::WithSends);
        gathered.add(&tick(0, 5));
        gathered.add(&tick(6_000_000_000, 7));
        gathered.add(&tick(100_000_000, 9));
        let total: u64 = gathered.series().iter().map(|second| second.completed).sum();
        assert_eq!(total, 21, "nothing is lost, not even what comes too late for its second");
    }
}

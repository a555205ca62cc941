//! Load in virtual time, for tests and fuzzing only.
//!
//! This file runs one level on one worker against a server that misbehaves byte by byte; [`world`]
//! simulates a whole world, for runs of the lab.

mod driver;
pub mod generator;
pub mod host;
pub mod server;
pub mod world;

use crate::driver::Driver;
use crate::driver::sim::shop::{Shop, ShopFaults, ShopLog};
use crate::driver::sim::streams::{StreamFaults, Streams};
use crate::driver::sim::{BEGIN_NS, Faults, Sim, Witness};
use crate::job::{Job, Order, Pace};
use crate::recorder::{Feed, road};
use crate::worker::Worker;
use model::curve::Curve;
use model::dist::{ByDist, Dist};
use model::histogram::{Histogram, Summary};
use model::load::{Life, Spacing};
use model::streams::StreamTally;
use model::tick::{
    Connections, Counters, Loop, Phase, Starts, StatusCodes, TargetTally, Tick, Turnover,
};
use model::users::UserTally;
use rtrb::{Producer, RingBuffer};
use std::cell::RefCell;
use std::sync::Arc;
use wire::http1::Http1;
use wire::http2::Http2;
use wire::session::Session;
use wire::solo::Solo;

/// Durations of the level, virtual nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Connections.
    pub connections: u32,
    /// Connections that may be open when requests wait for one.
    pub connections_max: u32,
    /// Requests in flight per connection.
    pub depth: u32,
    /// Rate of an open loop, requests per second, and its spacing; closed loop when absent.
    pub rate: Option<(f64, Spacing)>,
    /// When connections are opened and closed.
    pub life: Life,
    /// Time to connect before load starts.
    pub connect_ns: u64,
    /// Load that is not measured; 0 for none.
    pub warmup_ns: u64,
    /// Load that is measured.
    pub window_ns: u64,
    /// Requests to send in the window; no limit when absent.
    pub budget: Option<u64>,
    /// How long to wait for responses.
    pub drain_ns: u64,
}

/// The result of a simulated level.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// Requests of the window.
    pub measured: Counters,
    /// Their responses by status, as [`Tick::codes`](model::tick::Tick::codes) has them.
    pub codes: StatusCodes,
    /// Requests of the warm-up.
    pub unmeasured: Counters,
    /// Good responses that arrived in the window, whenever their requests were sent.
    pub arrived: u64,
    /// When the last outcome of a measured request was known, from the start of the window.
    pub last_fate_ns: u64,
    /// How long after the window the level ended.
    pub drained_ns: u64,
    /// Connections at the end.
    pub connections: Connections,
    /// What happened to connections, from the first to the last instant.
    pub turnover: Turnover,
    /// Connections that were due in the window, where devices start on a schedule.
    pub starts: Starts,
    /// Time from the planned instant until they were open.
    pub planned_connect: Summary,
    /// Latency of completed measured requests.
    pub latency: Summary,
    /// Service time; open loop only.
    pub service: Summary,
    /// Send delay; open loop only.
    pub send_delay: Summary,
    /// Generator delay; open loop only.
    pub generator_delay: Summary,
    /// How long requests without a response waited, at least.
    pub at_least: Summary,
    /// By target: requests of the window and latency of the completed ones; empty with one target.
    pub targets: Vec<(Counters, Summary)>,
    /// Streams of HTTP/2.
    pub streams: StreamTally,
    /// Time to the first message of replies that stream, and from each message to the next.
    pub first: Summary,
    /// See `first`.
    pub gap: Summary,
    /// Latency of messages of conversations that were replied to.
    pub message: Summary,
    /// Time from established to the server's settings.
    pub settings: Summary,
    /// Time of whole flows.
    pub flow: Summary,
    /// The loop's own account.
    pub accounting: Loop,
    /// What the simulated server saw.
    pub witness: Witness,
    /// Ticks received.
    pub ticks: u64,
    /// Connections that devices started in `AFTER_NS` after the end; 0 without devices.
    pub begun_after: u64,
}

/// How long a worker with devices is watched after the end of its level.
const AFTER_NS: u64 = 20_000_000;

/// Runs one level against a server with faults. The same job, level and faults give the same
/// account.
pub fn simulate(job: &Job, level: Level, faults: Faults) -> Account {
    simulate_seen(job, level, faults, |_| {})
}

/// When the measured window of a simulated level begins, virtual nanoseconds.
pub fn window_begin_ns(level: &Level) -> u64 {
    BEGIN_NS + level.connect_ns + level.warmup_ns
}

/// Runs one level against a server with faults, and shows each tick as it comes.
pub fn simulate_seen(job: &Job, level: Level, faults: Faults, see: impl FnMut(&Tick)) -> Account {
    let driver = Sim::new(job, slots_of(&level), faults);
    run::<_, Http1>(job, (&[], level), driver, |driver| driver.witness.clone(), see)
}

/// Runs one level of HTTP/2 against a server with faults, which are drawn from the job's seed.
pub fn simulate_streams(job: &Job, level: Level, faults: StreamFaults) -> Account {
    simulate_streams_seen(job, level, faults, |_| {})
}

/// The same, and shows each tick as it comes.
pub fn simulate_streams_seen(
    job: &Job,
    level: Level,
    faults: StreamFaults,
    see: impl FnMut(&Tick),
) -> Account {
    let driver = Streams::new(job, slots_of(&level), faults);
    run::<_, Http2>(job, (&[], level), driver, |driver| driver.witness.clone(), see)
}

/// Runs levels of users of a flow against a shop with faults; returns the account of the last one,
/// with what became of its users, and what the shop saw in all of them.
pub fn simulate_users(
    job: &Job,
    (before, level): (&[Level], Level),
    faults: ShopFaults,
) -> (Account, UserTally, ShopLog) {
    let driver = Shop::new(job, slots_of(&level), faults);
    let (mut users, log) = (UserTally::default(), RefCell::default());
    let witness = |driver: &Shop| {
        *log.borrow_mut() = driver.log.clone();
        Witness::default()
    };
    let account =
        run::<_, Solo>(job, (before, level), driver, witness, |tick| users += &tick.users);
    (account, users, log.into_inner())
}

fn slots_of(level: &Level) -> u32 {
    level.connections.max(level.connections_max)
}

/// Gives a worker the orders of a level when they are due, until it has reported that.
fn play<D: Driver, S: Session>(
    worker: &mut Worker<D, S>,
    (orders, feed): &mut (&mut Producer<Order>, &mut Feed),
    mut script: Vec<(u64, Order)>,
    mut see: impl FnMut(&Tick),
) {
    let mut is_over = false;
    while !is_over {
        let now_ns = worker.driver().now_ns();
        while script.last().is_some_and(|(at_ns, _)| *at_ns <= now_ns) {
            let (_, order) = script.pop().expect("not empty");
            orders.push(order).expect("few orders");
        }
        worker.turn();
        feed.drain(|tick| {
            see(tick);
            is_over |= tick.last;
        });
    }
}

fn run<D: Driver, S: Session>(
    job: &Job,
    (before, level): (&[Level], Level),
    driver: D,
    witness: impl Fn(&D) -> Witness,
    mut see: impl FnMut(&Tick),
) -> Account {
    let (recorder, mut feed) = road(0, job.routes.len());
    let (mut orders, orders_out) = RingBuffer::new(8);
    let slots = slots_of(&level);
    let mut worker = Worker::<_, S>::new(job, slots, 0, driver, recorder, orders_out);
    let mut account = Account::default();
    let mut sums = ByDist::<Histogram>::default();
    let mut ends = (&mut orders, &mut feed);
    let mut begin_ns = BEGIN_NS;
    for level in before {
        play(&mut worker, &mut ends, script(job, *level, begin_ns), |_| {});
        begin_ns = worker.driver().now_ns();
    }
    play(&mut worker, &mut ends, script(job, level, begin_ns), |tick| {
        see(tick);
        account.last_fate_ns = account.last_fate_ns.max(tick.fate_ns);
        match tick.phase {
            Phase::Measure => {
                account.arrived += tick.measured.completed + tick.unmeasured.completed;
            }
            Phase::Drain => account.drained_ns += tick.end_ns - tick.begin_ns,
            Phase::Idle | Phase::Warmup => {}
        }
        account.measured += &tick.measured;
        account.codes.merge(&tick.codes);
        account.unmeasured += &tick.unmeasured;
        account.accounting += &tick.accounting;
        account.streams += &tick.streams;
        account.connections = tick.connections;
        account.turnover += &tick.turnover;
        account.ticks += 1;
        account.starts += &tick.starts;
        sums.merge(&tick.histograms);
        if tick.last {
            let of_target = |target: &TargetTally| {
                (target.counters, target.latency.summary(target.counters.unanswered))
            };
            account.targets = tick.targets.iter().map(of_target).collect();
        }
    });
    account.last_fate_ns = account.last_fate_ns.saturating_sub(window_begin_ns(&level));
    account.witness = witness(worker.driver());
    let begin_ns = worker.driver().now_ns();
    let end_ns = begin_ns + if level.life.hold.is_some() { AFTER_NS } else { 0 };
    while worker.driver().now_ns() < end_ns {
        worker.turn();
        feed.drain(|tick| account.begun_after += tick.turnover.begun);
    }
    let lost = account.measured.failed + account.measured.unanswered;
    account.latency = sums[Dist::Latency].summary(lost + account.measured.unsent);
    account.service = sums[Dist::Service].summary(lost);
    account.send_delay = sums[Dist::SendDelay].summary(0);
    account.generator_delay = sums[Dist::GeneratorDelay].summary(0);
    account.settings = sums[Dist::Settings].summary(0);
    account.flow = sums[Dist::Flow].summary(0);
    account.first = sums[Dist::FirstMessage].summary(0);
    account.gap = sums[Dist::Gap].summary(0);
    account.message = sums[Dist::Message].summary(0);
    account.at_least = sums[Dist::AtLeast].summary(0);
    account.planned_connect = sums[Dist::PlannedConnect].summary(0);
    account
}

/// The orders of a level and when they are given, the last one first.
fn script(job: &Job, level: Level, begin_ns: u64) -> Vec<(u64, Order)> {
    let slots = slots_of(&level);
    let warm_ns = begin_ns + level.connect_ns;
    let window_ns = warm_ns + level.warmup_ns;
    let (connections, depth) = (level.connections, level.depth);
    let pace = match level.rate {
        None => Pace::Closed,
        Some((rate, arrivals)) => {
            let curve = Arc::new(Curve::constant(rate));
            Pace::Open { curve, arrivals, seed: job.seed }
        }
    };
    let (load, connections_max, life) = (1, slots, level.life);
    let connect = Order::Connect { load, connections, connections_max, depth, pace, life };
    let mut script = vec![
        (
            // Before the window starts, as live orders are.
            if level.warmup_ns == 0 { begin_ns } else { warm_ns },
            Order::Measure {
                begin_ns: window_ns,
                end_ns: level.budget.map_or(window_ns + level.window_ns, |_| u64::MAX),
                budget: level.budget,
                drain_ns: level.drain_ns,
                skip_until_ns: 0,
            },
        ),
        (warm_ns, Order::Warm),
        (begin_ns, connect),
    ];
    if level.warmup_ns == 0 {
        script.remove(1);
    }
    script
}

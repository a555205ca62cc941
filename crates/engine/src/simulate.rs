//! One level of load on one worker in virtual time: for tests, fuzzing and nothing else.

use crate::driver::sim::{Faults, Sim, Witness};
use crate::job::{Job, Order};
use crate::recorder::road;
use crate::worker::Worker;
use model::histogram::{Histogram, Summary};
use model::tick::{Connections, Counters, Loop};
use rtrb::RingBuffer;

/// Durations of the level, virtual nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Connections.
    pub connections: u32,
    /// Requests in flight per connection.
    pub depth: u32,
    /// Time to connect before load begins.
    pub connect_ns: u64,
    /// Load that is not measured; 0 for none.
    pub warmup_ns: u64,
    /// Load that is measured.
    pub window_ns: u64,
    /// Requests to send in the window; as many as possible when absent.
    pub budget: Option<u64>,
    /// How long answers are awaited.
    pub drain_ns: u64,
}

/// What a simulated level came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Requests of the window.
    pub measured: Counters,
    /// Requests of the warm-up.
    pub unmeasured: Counters,
    /// Connections at the end.
    pub connections: Connections,
    /// Latency of completed measured requests.
    pub latency: Summary,
    /// The loop's own account.
    pub accounting: Loop,
    /// What the simulated server saw.
    pub witness: Witness,
    /// Ticks handed over.
    pub ticks: u64,
}

/// Runs one level against a server with faults. The same job, level and faults give the same
/// account.
pub fn simulate(job: &Job, level: Level, faults: Faults) -> Account {
    let (recorder, mut feed) = road(0);
    let (mut orders, orders_out) = RingBuffer::new(8);
    let driver = Sim::new(job, level.connections, faults);
    let mut worker = Worker::new(job, level.connections, 0, driver, recorder, orders_out);
    let mut account = Account {
        measured: Counters::default(),
        unmeasured: Counters::default(),
        connections: Connections::default(),
        latency: Summary::default(),
        accounting: Loop::default(),
        witness: Witness::default(),
        ticks: 0,
    };
    let mut latency = Histogram::new();
    let begin_ns = crate::driver::Driver::now_ns(worker.driver());
    let warm_ns = begin_ns + level.connect_ns;
    let window_ns = warm_ns + level.warmup_ns;
    let (connections, depth) = (level.connections, level.depth);
    let mut script = vec![
        (
            window_ns.saturating_sub(1),
            Order::Measure {
                begin_ns: window_ns,
                end_ns: level.budget.map_or(window_ns + level.window_ns, |_| u64::MAX),
                budget: level.budget,
                drain_ns: level.drain_ns,
            },
        ),
        (warm_ns, Order::Warm),
        (begin_ns, Order::Connect { load: 1, connections, depth }),
    ];
    if level.warmup_ns == 0 {
        script.remove(1);
    }
    let mut is_over = false;
    while !is_over {
        let now_ns = crate::driver::Driver::now_ns(worker.driver());
        while script.last().is_some_and(|(at_ns, _)| *at_ns <= now_ns) {
            let (_, order) = script.pop().expect("not empty");
            orders.push(order).expect("few orders");
        }
        worker.turn();
        feed.drain(|tick| {
            account.measured += &tick.measured;
            account.unmeasured += &tick.unmeasured;
            account.accounting += &tick.accounting;
            account.connections = tick.connections;
            account.ticks += 1;
            latency.merge(&tick.latency);
            is_over |= tick.last;
        });
    }
    account.witness = worker.driver().witness;
    account.latency = latency.summary(account.measured.unanswered);
    account
}

//! What the control plane gives a crew: a job at the start, orders while it runs.

use crate::shard::Shard;
use model::curve::Curve;
use model::fleet::Share;
use model::load::{DriverKind, HttpVersion, Life, Manner, Spacing};
use model::route::Route;
use std::sync::Arc;
use wire::program::Program;
use wire::tape::Tape;
use wire::tls::Recipe;

/// Everything a crew needs before it starts. All memory is sized from these numbers.
#[derive(Debug, Clone)]
pub struct Job {
    /// How bytes move.
    pub driver: DriverKind,
    /// Ways to connect; connections use them in turn.
    pub routes: Vec<Route>,
    /// What to send.
    pub tape: Arc<Tape>,
    /// What users do, when the load is users of a flow; then the tape has a request for each step.
    pub program: Option<Arc<Program>>,
    /// The version of HTTP that the tape is for.
    pub http: HttpVersion,
    /// The worker threads, and which part of the load they send.
    pub share: Share,
    /// CPUs the workers are pinned to, in turn; empty means not pinned.
    pub cpus: Vec<usize>,
    /// Connections of the largest level, over all workers of the load.
    pub connections_max: u32,
    /// Requests in flight per connection of the deepest level.
    pub depth_max: u32,
    /// A request without a complete response after this time failed, nanoseconds.
    pub timeout_ns: u64,
    /// A connection attempt without success after this time failed, nanoseconds.
    pub connect_timeout_ns: u64,
    /// How the workers send and receive.
    pub manner: Manner,
    /// Seed of everything random.
    pub seed: u64,
    /// How connections are encrypted; absent for plain connections.
    pub tls: Option<Arc<Recipe>>,
    /// The request for a tunnel, when `routes` lead to a proxy.
    pub tunnel: Option<Arc<[u8]>>,
}

impl Job {
    /// A job for tests: a simulated server, one worker, one connection. Tests override the rest.
    pub fn for_tests(tape: Tape) -> Self {
        Self {
            driver: DriverKind::Sim,
            routes: vec![Route::to(std::net::SocketAddr::from(([127, 0, 0, 1], 1)))],
            tape: Arc::new(tape),
            program: None,
            share: Share::alone(1),
            cpus: Vec::new(),
            connections_max: 1,
            depth_max: 1,
            timeout_ns: 10_000_000_000,
            connect_timeout_ns: 10_000_000_000,
            manner: Manner::default(),
            http: HttpVersion::One,
            seed: 1,
            tls: None,
            tunnel: None,
        }
    }
}

/// How the requests of a level become due.
#[derive(Debug, Clone, PartialEq)]
pub enum Pace {
    /// When a response frees a slot.
    Closed,
    /// On a schedule that all workers share.
    Open {
        /// Planned rate of all workers over time.
        curve: Arc<Curve>,
        /// How due instants are spread around it.
        arrivals: Spacing,
        /// Seed of that spread.
        seed: u64,
    },
}

/// An order to a crew, in sizes of the whole load, or to one worker, in sizes of its share.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// Start a level: hold this many connections, send nothing yet.
    Connect {
        /// Number of the level's visit, larger than any before.
        load: u32,
        /// Connections.
        connections: u32,
        /// Connections that may be open at most, when requests wait for one.
        connections_max: u32,
        /// Requests in flight per connection.
        depth: u32,
        /// How requests become due.
        pace: Pace,
        /// When connections are opened and closed.
        life: Life,
    },
    /// Send without measuring.
    Warm,
    /// Measure what is sent from `begin_ns` until `end_ns` or until `budget` requests were sent;
    /// then wait at most `drain_ns` for responses.
    Measure {
        /// Monotonic start of the window.
        begin_ns: u64,
        /// Monotonic end of the window; the far future when the budget decides.
        end_ns: u64,
        /// Requests to send; no limit when absent.
        budget: Option<u64>,
        /// How long to wait for responses after the last send.
        drain_ns: u64,
        /// Requests of a plan that were due before this instant are not sent, and count as unsent;
        /// 0 if all are sent. It is for an order that came after the start of its window.
        skip_until_ns: u64,
    },
    /// End a measured window now and drain as ordered; stop a warm-up.
    Stop,
    /// Close all connections and end.
    Quit,
}

impl Order {
    /// One worker's share of an order for the whole load.
    pub fn share(&self, shard: &Shard) -> Self {
        let mut order = self.clone();
        match &mut order {
            Self::Connect { connections, connections_max, .. } => {
                *connections = shard.share(u64::from(*connections)) as u32;
                *connections_max = shard.share(u64::from(*connections_max)) as u32;
            }
            Self::Measure { budget, .. } => *budget = budget.map(|budget| shard.share(budget)),
            Self::Warm | Self::Stop | Self::Quit => {}
        }
        order
    }
}

/// The route of a worker's first connection. Each worker continues where the workers before it end,
/// so that all routes get their share of the connections.
pub fn first_route(job: &Job, shard: &Shard) -> u32 {
    let before = shard.before(u64::from(job.connections_max));
    (before % job.routes.len().max(1) as u64) as u32
}

//! Makes a run of the real lab in a world, and keeps the world's own account of it.

use engine::Crew;
use engine::job::Job;
use engine::simulate::generator::Generator;
use engine::simulate::host::HostModel;
use engine::simulate::server::{Discipline, Entry, Server, Service};
use engine::simulate::world::{Plan, Visit, World};
use judge::observe::Raw;
use judge::rejudge;
use lab::setting::{Model, Setting};
use lab::{Logs, Reporting, Verdicts};
use model::curve::Curve;
use model::facts::{HostFacts, ServerFacts};
use model::load::{
    Arrival, DriverKind, Level, Life, MixTarget, Request, Spacing, Stop, Trial, Warmup,
};
use model::reading::Reading;
use model::run::{Point, Run};
use std::cell::RefCell;
use std::sync::atomic::AtomicBool;
use store::Readings;

/// One microsecond, nanoseconds.
pub const US: u64 = 1_000;
/// One millisecond, nanoseconds.
pub const MS: u64 = 1_000_000;
/// One second, nanoseconds.
pub const S: u64 = 1_000_000_000;

/// A world and the load for it.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// The world.
    pub plan: Plan,
    /// The load.
    pub trial: Trial,
}

/// The run made in a world.
pub struct Seen {
    /// The drawn parameters.
    pub drawn: Drawn,
    /// What the lab reports.
    pub run: Run,
    /// The raw readings that were written.
    pub readings: Vec<Reading>,
    /// The server's account.
    pub account: Vec<Entry>,
    /// When visits started, and the server's speed in each.
    pub visits: Vec<Visit>,
}

impl Drawn {
    /// A world whose generator is on time, with a load of one level that is measured for two
    /// seconds.
    pub fn new(seed: u64, server: Server, level: Level) -> Self {
        let (generator, host) = (Generator::default(), HostModel::default());
        Self { plan: Plan { server, generator, host, seed }, trial: trial(seed, vec![level]) }
    }

    /// Measures for this long.
    pub fn lasting(mut self, window_ns: u64) -> Self {
        self.trial.stop = Stop::AfterNs(window_ns);
        self
    }

    /// Makes the run.
    pub fn play(self) -> Seen {
        let (world, threads) = (World::new(self.plan.clone()), self.trial.threads);
        let is_late = self.plan.seed % 2 == 1;
        let world = InLab { world, threads, is_late, held: RefCell::default() };
        let near = Readings::nameless().expect("a file for readings");
        let mut logs = Logs { near, far: None };
        let (stop, setting) = (AtomicBool::new(false), Setting::Model(&world));
        let reporting = Reporting { notify: &mut |_| {}, verdicts: Verdicts::OfLevels };
        let run =
            lab::run_in(setting, &self.trial, &[], &mut logs, &stop, reporting).expect("a run");
        let (account, visits) = (world.world.account(), world.world.visits());
        let readings = logs.near.since(0).map(|reading| reading.expect("it was written")).collect();
        Seen { drawn: self, run, readings, account, visits }
    }
}

impl Seen {
    /// The record as it is stored, byte by byte, and what was read.
    pub fn bytes(&self) -> (String, &[Reading]) {
        (serde_json::to_string(&self.run.record).expect("a record is JSON"), &self.readings)
    }

    /// Whether the run says what judging it again from its readings says.
    pub fn is_judged_alike(&self) -> bool {
        let record = &self.run.record;
        let again = rejudge::again(record.clone(), Raw { near: &self.readings, far: &[] });
        (&again.points, &again.verdict) == (&record.points, &record.verdict)
    }

    /// The only point.
    pub fn point(&self) -> &Point {
        &self.run.record.points[0]
    }
}

/// Closed loop.
pub fn closed(connections: u32) -> Level {
    Level { connections, spare: 0, depth: 1, arrival: Arrival::Closed, life: Life::default() }
}

/// Open loop at a constant rate.
pub fn open(connections: u32, rate: f64, arrivals: Spacing) -> Level {
    let arrival = Arrival::Open { curve: Curve::constant(rate), arrivals };
    Level { arrival, ..closed(connections) }
}

/// This many servers behind one queue.
pub fn servers(count: u32, service: Service) -> Server {
    Server::new(count, Discipline::Shared, service)
}

/// A trial as the command line would make it.
pub fn trial(seed: u64, levels: Vec<Level>) -> Trial {
    let request = Request {
        method: "GET".to_string(),
        path: "/".to_string(),
        host: "model".to_string(),
        ..Request::default()
    };
    let target = MixTarget { name: "GET /".to_string(), weight: 1, ..MixTarget::default() };
    Trial {
        url: "http://127.0.0.1:80/".to_string(),
        addresses: vec!["127.0.0.1:80".parse().expect("an address")],
        requests: vec![request],
        targets: vec![target],
        levels,
        stop: Stop::AfterNs(2 * S),
        warmup: Warmup::ForNs(300 * MS),
        drain_ns: 10 * S,
        timeout_ns: 10 * S,
        cpus: vec![0],
        driver: DriverKind::Sim,
        driver_reason: "a model".to_string(),
        seed,
        ..Trial::blank()
    }
}

/// A world as the lab sees it.
struct InLab {
    world: World,
    threads: u32,
    /// Whether readings arrive with the call after the one in which they could have.
    is_late: bool,
    held: RefCell<Vec<Reading>>,
}

impl Model for InLab {
    fn now_ns(&self) -> u64 {
        self.world.now_ns()
    }

    fn pass_ns(&self, duration_ns: u64) {
        self.world.pass_ns(duration_ns);
    }

    fn process_cpu_ns(&self) -> u64 {
        self.world.cpu_ns()
    }

    fn start(&self, job: &Job) -> Crew {
        self.world.start(job)
    }

    fn begin_visit(&self, load: u32) {
        self.world.begin_visit(load);
    }

    fn host(&self) -> HostFacts {
        self.world.host(self.threads)
    }

    fn server(&self) -> Option<ServerFacts> {
        self.world.server(self.threads)
    }

    fn take_readings(&self) -> Vec<Reading> {
        let fresh = self.world.take_readings();
        match self.is_late {
            true => self.held.replace(fresh),
            false => fresh,
        }
    }
}

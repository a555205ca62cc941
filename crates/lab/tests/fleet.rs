//! A fleet in virtual time: one conductor, agents that follow it, one model server.
//!
//! Conductor and agents are real; only what lies between them is a model: orders arrive at the next
//! turn of an agent, and ticks are merged as the controller of agents merges them.

use engine::job::{Job, Order, Pace};
use engine::schedule::Schedule;
use engine::shard::Shard;
use engine::simulate::generator::Generator;
use engine::simulate::host::HostModel;
use engine::simulate::server::{Discipline, Entry, Server, Service};
use engine::simulate::world::{Plan, World};
use engine::{Crew, FarCrew, seed_of_visit};
use lab::follow::{self, AgentReport, Followed, Follower};
use lab::setting::{Model, Setting};
use lab::{Logs, Verdicts};
use model::curve::Curve;
use model::dist::Dist;
use model::facts::{ClockOffset, HostFacts, ServerFacts};
use model::fleet::{AgentEnd, AgentHost, AgentPoint, AgentRecord, FleetAccount, FleetRecord};
use model::fleet::{Part, Shares};
use model::histogram::Histogram;
use model::load::{Arrival, DriverKind, Level, Life, MixTarget, Request, Spacing};
use model::load::{Stop, Trial, Warmup};
use model::reading::Reading;
use model::run::{Point, Run};
use model::tick::{Connections, Phase, TargetTally, ThreadKind, Tick};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::Readings;

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;
const TENTH_NS: u64 = 100 * MS;
/// Length of the measured window: what is drawn takes a while without optimisation.
const WINDOW_NS: u64 = S;
/// How often agents get a turn, nanoseconds.
const TURN_NS: u64 = 10 * MS;

/// A world that one lab has for itself.
struct Alone {
    world: World,
    threads: u32,
}

impl Model for Alone {
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
        None
    }

    fn take_readings(&self) -> Vec<Reading> {
        Vec::new()
    }
}

/// The messages on their way between the conductor and the agents.
#[derive(Default)]
struct Mail {
    /// To each agent, with the instant of arrival.
    orders: Vec<VecDeque<(u64, Order)>>,
    merger: Merger,
    now_ns: u64,
    delay_ns: u64,
}

/// Merges the ticks of all workers into one tick for each tenth.
#[derive(Default)]
struct Merger {
    workers: usize,
    connections: BTreeMap<(usize, u32), Connections>,
    /// By part of the level and tenth: the sum, and the number of workers in it.
    open: BTreeMap<(u32, u8, u64), (Tick, usize)>,
    /// How many workers have sent the last tick of a level.
    ended: usize,
    window_begin_ns: u64,
    /// Latency of every tick of every worker.
    latency: Histogram,
}

impl Merger {
    fn add(&mut self, agent: usize, tick: &Tick) {
        let phase = match tick.phase {
            Phase::Idle => 0,
            Phase::Warmup => 1,
            Phase::Measure => 2,
            Phase::Drain => 3,
        };
        let since_ns = tick.begin_ns.saturating_sub(self.window_begin_ns);
        let tenth = if phase == 2 { (since_ns + TENTH_NS / 2) / TENTH_NS } else { 0 };
        self.connections.insert((agent, tick.worker), tick.connections);
        self.ended += usize::from(tick.last);
        self.latency.merge(&tick.histograms[Dist::Latency]);
        let key = (tick.load, phase, tenth);
        let begin_ns = tick.begin_ns;
        let new = || (Tick { begin_ns, phase: tick.phase, load: tick.load, ..Tick::default() }, 0);
        let (sum, count) = self.open.entry(key).or_insert_with(new);
        *count += 1;
        add(sum, tick);
    }

    /// Ticks of tenths that all workers have sent; all others when a level is over.
    fn take(&mut self) -> Vec<Tick> {
        let is_over = self.ended == self.workers;
        let mut taken = Vec::new();
        for (key, (sum, count)) in std::mem::take(&mut self.open) {
            let is_whole = key.1 != 2 || count == self.workers;
            if is_whole || is_over {
                taken.push(sum);
            } else {
                self.open.insert(key, (sum, count));
            }
        }
        let mut connections = Connections::default();
        self.connections.values().for_each(|of_worker| connections += of_worker);
        taken.iter_mut().for_each(|tick| tick.connections = connections);
        if is_over {
            self.ended = 0;
            taken.last_mut().expect("a last tick").last = true;
        }
        taken
    }
}

/// Adds one tick to another of the same tenth.
fn add(sum: &mut Tick, tick: &Tick) {
    (sum.begin_ns, sum.end_ns) = (sum.begin_ns.min(tick.begin_ns), sum.end_ns.max(tick.end_ns));
    sum.fate_ns = sum.fate_ns.max(tick.fate_ns);
    sum.measured += &tick.measured;
    sum.codes.merge(&tick.codes);
    sum.error_codes.merge(&tick.error_codes);
    sum.unmeasured += &tick.unmeasured;
    sum.warmup_fastest_ns = sum.warmup_fastest_ns.into_iter().chain(tick.warmup_fastest_ns).min();
    sum.turnover += &tick.turnover;
    sum.starts += &tick.starts;
    sum.tls += &tick.tls;
    sum.accounting += &tick.accounting;
    sum.histograms.merge(&tick.histograms);
    let targets = sum.targets.len().max(tick.targets.len());
    sum.targets.resize_with(targets, TargetTally::default);
    sum.targets.iter_mut().zip(&tick.targets).for_each(|(sum, part)| sum.merge(part));
}

/// The agents, as the conductor sees them.
struct Agents(Rc<RefCell<Mail>>);

impl FarCrew for Agents {
    fn order(&mut self, order: &Order) {
        let mut mail = self.0.borrow_mut();
        if let Order::Measure { begin_ns, .. } = order {
            mail.merger.window_begin_ns = *begin_ns;
        }
        let at_ns = mail.now_ns + mail.delay_ns;
        mail.orders.iter_mut().for_each(|orders| orders.push_back((at_ns, order.clone())));
    }

    fn drain(&mut self, read: &mut dyn FnMut(&Tick)) {
        let taken = self.0.borrow_mut().merger.take();
        taken.iter().for_each(read);
    }

    fn is_lost(&self) -> bool {
        false
    }
}

/// The conductor's view of a world with agents in it.
struct Fleet<'a> {
    alone: &'a Alone,
    shares: &'a [Shares],
    mail: Rc<RefCell<Mail>>,
    followers: RefCell<Vec<Follower<'a>>>,
}

impl Fleet<'_> {
    /// Delivers what has arrived, and gives every agent a turn.
    fn turn(&self) {
        let now_ns = self.alone.now_ns();
        self.mail.borrow_mut().now_ns = now_ns;
        for (agent, follower) in self.followers.borrow_mut().iter_mut().enumerate() {
            loop {
                let next = {
                    let orders = &mut self.mail.borrow_mut().orders[agent];
                    let is_there = orders.front().is_some_and(|(at_ns, _)| *at_ns <= now_ns);
                    if is_there { orders.pop_front() } else { None }
                };
                let Some((_, order)) = next else { break };
                match order {
                    Order::Quit => follower.stop(),
                    order => follower.take(ThreadKind::Requesting, &order),
                }
            }
            let mail = Rc::clone(&self.mail);
            let mut tell = |told: AgentReport<'_>| {
                if let AgentReport::Tick(_, tick) = told {
                    mail.borrow_mut().merger.add(agent, tick);
                }
            };
            follower.listen(&mut tell).expect("workers work");
        }
    }
}

impl Model for Fleet<'_> {
    fn now_ns(&self) -> u64 {
        self.alone.now_ns()
    }

    fn pass_ns(&self, duration_ns: u64) {
        let until_ns = self.now_ns() + duration_ns;
        self.turn();
        while self.now_ns() < until_ns {
            self.alone.pass_ns(TURN_NS.min(until_ns - self.now_ns()));
            self.turn();
        }
    }

    fn process_cpu_ns(&self) -> u64 {
        self.alone.process_cpu_ns()
    }

    fn start(&self, job: &Job) -> Crew {
        Crew::far(Box::new(Agents(Rc::clone(&self.mail))), job.seed)
    }

    fn begin_visit(&self, load: u32) {
        self.mail.borrow_mut().now_ns = self.now_ns();
        self.alone.begin_visit(load);
    }

    fn host(&self) -> HostFacts {
        self.alone.host()
    }

    fn server(&self) -> Option<ServerFacts> {
        None
    }

    fn take_readings(&self) -> Vec<Reading> {
        Vec::new()
    }

    fn finish_fleet(&self) -> Option<FleetAccount> {
        self.turn();
        let mut visits: BTreeMap<u32, Vec<AgentPoint>> = BTreeMap::new();
        let mut agents = Vec::new();
        for (agent, follower) in self.followers.borrow_mut().drain(..).enumerate() {
            let name = format!("a{}", agent + 1);
            let followed: Followed = follower.finish(&[], &mut |_| {});
            for (load, point) in followed.points(&name) {
                visits.entry(load).or_default().push(point);
            }
            agents.push(record(name, &self.shares[agent]));
        }
        Some(FleetAccount { record: FleetRecord { name: "test".to_string(), agents }, visits })
    }
}

fn record(name: String, shares: &Shares) -> AgentRecord {
    AgentRecord {
        capacity: None,
        name,
        labels: Vec::new(),
        host: AgentHost::default(),
        version: "0".to_string(),
        part: shares.asking.parts()[shares.asking.mine()],
        clock: ClockOffset::default(),
        ended: AgentEnd::Complete,
        why: None,
        notices: Vec::new(),
    }
}

fn logs() -> Logs {
    Logs { near: Readings::nameless().expect("a file for readings"), far: None }
}

fn trial(seed: u64, threads: u32, connections: u32, arrival: Arrival) -> Trial {
    let request = Request {
        method: "GET".to_string(),
        path: "/".to_string(),
        host: "model".to_string(),
        ..Request::default()
    };
    let target = MixTarget { name: "GET /".to_string(), weight: 1, ..MixTarget::default() };
    let life = Life::default();
    Trial {
        url: "http://127.0.0.1:80/".to_string(),
        addresses: vec!["127.0.0.1:80".parse().expect("an address")],
        requests: vec![request],
        targets: vec![target],
        levels: vec![Level { connections, spare: 0, depth: 1, arrival, life }],
        stop: Stop::AfterNs(WINDOW_NS),
        warmup: Warmup::ForNs(100 * MS),
        drain_ns: 5 * S,
        timeout_ns: 10 * S,
        threads,
        driver: DriverKind::Sim,
        driver_reason: "a model".to_string(),
        seed,
        ..Trial::blank()
    }
}

fn open(rate: f64, arrivals: Spacing) -> Arrival {
    Arrival::Open { curve: Curve::constant(rate), arrivals }
}

fn alone(seed: u64, threads: u32) -> Alone {
    let server = Server::new(8, Discipline::Shared, Service::Exponential(1e6));
    let (generator, host) = (Generator::default(), HostModel::default());
    Alone { world: World::new(Plan { server, generator, host, seed }), threads }
}

/// The result of a run, and what the server saw of it.
struct Seen {
    run: Run,
    account: Vec<Entry>,
    latency: Histogram,
}

impl Seen {
    fn point(&self) -> &Point {
        &self.run.record.points[0]
    }

    /// When the requests of the window left, from its start.
    fn left_ns(&self) -> Vec<u64> {
        let (begin_ns, end_ns) = self.point().window_ns;
        let left = self.account.iter().map(|one| one.sent_ns);
        // The first is due at the start; a warm-up ends before it.
        let mut left: Vec<u64> =
            left.filter(|at| (begin_ns..end_ns).contains(at)).map(|at| at - begin_ns).collect();
        left.sort_unstable();
        left
    }
}

/// A run by agents with these parts; orders take this long to arrive.
fn by_fleet(trial: &Trial, parts: &[Part], delay_ns: u64) -> Seen {
    let alone = alone(trial.seed, trial.threads);
    let shares = follow::deal(trial, parts).expect("parts of a load");
    let own: Vec<Trial> = shares.iter().map(|shares| follow::part_of(trial, shares)).collect();
    let mut near: Vec<Logs> = shares.iter().map(|_| logs()).collect();
    let workers = shares.iter().map(|shares| shares.asking.workers()).sum::<u32>() as usize;
    let mail = Mail {
        orders: vec![VecDeque::new(); shares.len()],
        merger: Merger { workers, ..Merger::default() },
        delay_ns,
        ..Mail::default()
    };
    let mail = Rc::new(RefCell::new(mail));
    let setting = Setting::Model(&alone);
    let followers = shares.iter().zip(&own).zip(&mut near).map(|((shares, own), logs)| {
        Follower::start(setting, (trial, own), shares, logs, &mut |_| {}).expect("workers")
    });
    let followers = RefCell::new(followers.collect());
    let fleet = Fleet { alone: &alone, shares: &shares, mail: Rc::clone(&mail), followers };
    let run = conduct(Setting::Model(&fleet), trial);
    let latency = mail.borrow().merger.latency.clone();
    Seen { run, account: alone.world.account(), latency }
}

/// The trial by as many workers on one host.
fn by_one(trial: &Trial) -> Seen {
    let alone = alone(trial.seed, trial.threads);
    let run = conduct(Setting::Model(&alone), trial);
    Seen { run, account: alone.world.account(), latency: Histogram::new() }
}

fn conduct(setting: Setting<'_>, trial: &Trial) -> Run {
    let (stop, mut logs) = (AtomicBool::new(false), logs());
    let told = lab::Reporting { notify: &mut |_| {}, verdicts: Verdicts::OfLevels };
    lab::run_in(setting, trial, &[], &mut logs, &stop, told).expect("a run")
}

/// The instants of the whole schedule inside the window.
fn planned(trial: &Trial) -> Vec<u64> {
    let Arrival::Open { curve, arrivals } = &trial.levels[0].arrival else { return Vec::new() };
    let seed = seed_of_visit(trial.seed, 1);
    let mut schedule = Schedule::new(&Arc::new(curve.clone()), *arrivals, seed, Shard::whole());
    let due = std::iter::from_fn(|| schedule.next_ns());
    due.take_while(|due_ns| *due_ns < WINDOW_NS).collect()
}

const FOUR: [Part; 4] = [Part { workers: 2, weight: 1 }; 4];
const UNEVEN: [Part; 4] = [
    Part { workers: 1, weight: 5 },
    Part { workers: 2, weight: 3 },
    Part { workers: 1, weight: 1 },
    Part { workers: 3, weight: 2 },
];

#[test]
fn a_fleet_sends_what_one_host_would_and_when() {
    for (arrivals, parts) in
        [(Spacing::Fixed, &UNEVEN), (Spacing::Poisson, &FOUR), (Spacing::Uniform, &UNEVEN)]
    {
        let trial = trial(7, 8, 64, open(3_000.0, arrivals));
        let (plan, one, seen) = (planned(&trial), by_one(&trial), by_fleet(&trial, parts, 0));
        let requests = &seen.point().requests;
        assert_eq!(requests.planned, Some(plan.len() as u64), "{arrivals:?}");
        assert_eq!(requests.sent + requests.unsent, plan.len() as u64, "{arrivals:?}");
        assert_eq!(requests.sent, one.point().requests.sent, "{arrivals:?}");
        let left = seen.left_ns();
        assert_eq!(left.len(), plan.len(), "{arrivals:?}");
        for (due, left) in plan.iter().zip(&left) {
            // A worker is at most a turn late, and has one request at a time to send.
            assert!(left.abs_diff(*due) < MS / 4, "{arrivals:?}: {due} left at {left}");
        }
    }
}

#[test]
fn what_agents_count_adds_up_to_the_whole() {
    for (parts, arrival) in [
        (&FOUR, open(3_000.0, Spacing::Poisson)),
        (&UNEVEN, open(9_000.0, Spacing::Fixed)),
        (&UNEVEN, Arrival::Closed),
    ] {
        let trial = trial(3, 8, 64, arrival);
        let seen = by_fleet(&trial, parts, 0);
        let (point, requests) = (seen.point(), &seen.point().requests);
        assert_eq!(point.agents.len(), 4);
        let sum = AgentPoint::sum(&point.agents);
        let counts = [sum.sent, sum.completed, sum.failed, sum.unanswered, sum.unsent];
        let whole = [
            requests.sent,
            requests.completed,
            requests.failed,
            requests.unanswered,
            requests.unsent,
        ];
        assert_eq!(counts, whole);
        assert_eq!(sum.planned, requests.planned);
        // Percentiles are those of the merged stream, and those of the server's account.
        assert_eq!(point.latency_good_ns, Some(seen.latency.summary(0)));
        let gates: Vec<_> = point.gates.iter().filter(|gate| gate.ok == Some(false)).collect();
        assert!(gates.is_empty(), "{gates:?}");
    }
}

#[test]
fn connections_and_budgets_are_shared_out_exactly() {
    let mut trial = trial(5, 8, 61, Arrival::Closed);
    trial.stop = Stop::AfterRequests(1_234);
    trial.warmup = Warmup::ForNs(0);
    let seen = by_fleet(&trial, &UNEVEN, 0);
    let point = seen.point();
    assert_eq!((point.requests.sent, point.requests.completed), (1_234, 1_234));
    assert_eq!((point.connections.opened, point.connections.served), (61, 61));
    let sent: Vec<u64> = point.agents.iter().map(|agent| agent.sent).collect();
    assert_eq!(sent.iter().sum::<u64>(), 1_234);
    // Weights of 5, 6, 1 and 6.
    assert!(sent[0].abs_diff(1_234 * 5 / 18) <= 2 && sent[2].abs_diff(1_234 / 18) <= 2, "{sent:?}");
}

#[test]
fn orders_that_come_late_make_late_requests_and_lose_none() {
    let trial = trial(9, 8, 64, open(3_000.0, Spacing::Fixed));
    let seen = by_fleet(&trial, &FOUR, 250 * MS);
    let (point, requests) = (seen.point(), &seen.point().requests);
    assert_eq!(requests.planned, Some(3_000));
    assert_eq!((requests.sent + requests.unsent, requests.completed), (3_000, requests.sent));
    assert!(point.generator_delay_ns.as_ref().and_then(|late| late.max) > Some(100 * MS));
}

#[test]
fn an_agent_that_loses_its_orders_stops_at_once_and_accounts_for_all() {
    let trial = trial(11, 8, 64, open(3_000.0, Spacing::Fixed));
    let alone = alone(trial.seed, trial.threads);
    let shares = follow::deal(&trial, &FOUR).expect("parts of a load");
    let own = follow::part_of(&trial, &shares[1]);
    let mut logs = logs();
    let setting = Setting::Model(&alone);
    let mut follower =
        Follower::start(setting, (&trial, &own), &shares[1], &mut logs, &mut |_| {}).unwrap();
    let pass = |follower: &mut Follower<'_>, duration_ns: u64| {
        for _ in 0..duration_ns / TURN_NS {
            alone.pass_ns(TURN_NS);
            follower.listen(&mut |_| {}).expect("workers work");
        }
    };
    // The orders of a level, as they are on the way to a crew.
    let mail = Rc::new(RefCell::new(Mail { orders: vec![VecDeque::new()], ..Mail::default() }));
    let mut crew = Crew::far(Box::new(Agents(Rc::clone(&mail))), trial.seed);
    crew.order_connect(1, &trial.levels[0]);
    let begin_ns = alone.now_ns() + S;
    crew.order_measure(begin_ns, begin_ns + 10 * S, None, 5 * S);
    for (_, order) in mail.borrow_mut().orders[0].drain(..) {
        follower.take(ThreadKind::Requesting, &order);
    }
    pass(&mut follower, 3 * S);
    let stopped_ns = alone.now_ns();
    follower.stop();
    pass(&mut follower, 3 * S);
    assert!(!follower.is_loading());
    let account = alone.world.account();
    assert!(account.iter().all(|one| one.sent_ns < stopped_ns + 30 * MS), "the load has ended");
    crew.order_connect(2, &trial.levels[0]);
    for (_, order) in mail.borrow_mut().orders[0].drain(..) {
        follower.take(ThreadKind::Requesting, &order);
    }
    pass(&mut follower, S);
    assert_eq!(alone.world.account().len(), account.len(), "no order counts any more");
    let mut followed = follower.finish(&[], &mut |_| {});
    let points = followed.points("a2");
    let (load, point) = &points[0];
    assert_eq!((*load, point.sent), (1, account.len() as u64));
    assert_eq!(point.sent, point.completed + point.failed + point.unanswered);
    assert_eq!(point.planned, Some(point.sent + point.unsent));
    assert!(point.sent.abs_diff(1_500) < 30, "a quarter of 3000 a second for two seconds");
    let record = &mut followed.run.record;
    (record.host.cpus_online, record.host.cpus_allowed) = (vec![0, 1], vec![0, 1, 2, 3]);
    record.points[0].cpu.client_cpus = Some(1.0);
    let busy = followed.points("a2")[0].1.cpu_busy;
    assert_eq!(busy, Some(0.5), "of the CPUs that are not switched off");
}

/// What watches the lease ends the process if the load goes on: it must not take an order to stop
/// for its effect.
#[test]
fn workers_may_send_until_they_have_taken_the_order_to_stop() {
    let trial = trial(13, 2, 8, Arrival::Closed);
    let alone = alone(trial.seed, trial.threads);
    let shares = follow::deal(&trial, &[Part { workers: 2, weight: 1 }]).expect("parts of a load");
    let own = follow::part_of(&trial, &shares[0]);
    let mut logs = logs();
    let setting = Setting::Model(&alone);
    let mut follower =
        Follower::start(setting, (&trial, &own), &shares[0], &mut logs, &mut |_| {}).unwrap();
    assert!(!follower.may_send(), "before the first order");
    let (pace, life) = (Pace::Closed, Life::default());
    let connect =
        Order::Connect { load: 1, connections: 8, connections_max: 8, depth: 1, pace, life };
    let (begin_ns, end_ns) = (alone.now_ns() + S, alone.now_ns() + 10 * S);
    let measure = Order::Measure { begin_ns, end_ns, budget: None, drain_ns: S, skip_until_ns: 0 };
    for order in [connect, measure] {
        follower.take(ThreadKind::Requesting, &order);
    }
    alone.pass_ns(2 * S);
    follower.listen(&mut |_| {}).expect("workers work");
    assert!(follower.may_send());
    // As long as no time passes, no worker runs.
    follower.stop();
    assert!(follower.may_send(), "no worker has taken the order");
    let (is_loading, mut seen) = (AtomicBool::new(true), Vec::new());
    let mut tell = |told: AgentReport<'_>| {
        if let AgentReport::Tick(..) = told {
            seen.push(is_loading.load(Ordering::Relaxed));
        }
    };
    follower.end(&is_loading, &mut tell).expect("workers work");
    assert_eq!(seen.first(), Some(&true), "until they had a chance to take it");
    assert!(!is_loading.load(Ordering::Relaxed));
    assert!(!follower.is_loading() && !follower.may_send());
}

//! Fleets in virtual time: the sessions are the real ones; the network, the clocks, the workers and
//! the lab are models.

use crate::load::{Truth, Worker};
use engine::job::{Order, Pace};
use fleet::admit::Limits;
use fleet::allow::Allow;
use fleet::control::Account;
use fleet::key::ControllerKey;
use fleet::message::{Ended, Facts, Id, Offer};
use fleet::{agent, control};
use model::curve::Curve;
use model::dist::Dist;
use model::fleet::{Part, Share, Shares};
use model::load::{Arrival, Level, Life, Request, Spacing, Stop, Trial};
use model::random::Random;
use model::tick::{Counters, Phase, ThreadKind, Tick};
use std::collections::BTreeMap;
use std::sync::Arc;

pub const MS: u64 = 1_000_000;
pub const S: u64 = 1_000 * MS;
/// Time advances in steps of this length.
const STEP_NS: u64 = 5 * MS;
/// A world that is not over by this time hangs.
const END_NS: u64 = 90 * S;
const WORKERS: u32 = 2;
const RATE: f64 = 600.0;
const WINDOW_NS: u64 = 2 * S;
const DRAIN_NS: u64 = S;
const LOADS: u32 = 2;

/// The fault in a world, in addition to delays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// No fault.
    None,
    /// Messages are lost, duplicated and reordered.
    Lossy,
    /// One agent is cut off for 10 s.
    Partition,
    /// One agent is killed.
    Killed,
    /// One agent is stopped for 2 s.
    Stopped,
    /// The clock of one agent is set.
    ClockSet,
    /// The broker is restarted.
    Broker,
    /// The controller is killed.
    ControllerKilled,
    /// The user stops the fleet.
    FleetStop,
}

/// The destination of a message.
#[derive(Debug, Clone, PartialEq)]
enum To {
    Agent(usize, agent::From),
    ControllerHello(usize),
    ControllerUp(usize),
}

pub struct Host {
    session: agent::Session,
    workers: Vec<Worker>,
    /// Its clock minus true time.
    ahead_ns: i64,
    prepare_ns: Option<u64>,
    /// How it ended, until it has reported that.
    ending: Option<Ended>,
    pub is_dead: bool,
    /// Whether it has sent all that it had to deliver.
    pub has_delivered: bool,
    stopped_until_ns: u64,
    /// By how much its clock was set, if that was long before the end.
    pub set_ns: u64,
    /// When the last message of the controller arrived, true time.
    ordered_ns: u64,
    /// True time of the last send.
    pub sent_ns: u64,
    /// The longest time from a message of the controller to a send.
    pub longest_ns: u64,
    pub has_halted: bool,
}

/// The stage of the model of the lab.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Plan {
    Gather,
    Offered { until_ns: u64 },
    Connect { load: u32, until_ns: u64 },
    Warm { load: u32, until_ns: u64 },
    Measure { load: u32 },
    Finishing,
    Over,
}

/// The merged ticks of one load.
#[derive(Debug, Clone, Default)]
pub struct Read {
    pub measured: Counters,
    pub unmeasured: Counters,
    pub latencies: u64,
    pub last: u32,
    /// Total length of the intervals of the window.
    pub passed_ns: u64,
    pub planned: Vec<u64>,
}

pub struct World {
    pub fault: Fault,
    pub random: Random,
    pub now_ns: u64,
    pub hosts: Vec<Host>,
    control: control::Session,
    control_ahead_ns: i64,
    pub controller_dead_ns: Option<u64>,
    plan: Plan,
    pub reads: BTreeMap<u32, Read>,
    pub accounts: Vec<Account>,
    network: Vec<(u64, To, Vec<u8>)>,
    partition: Option<(usize, u64)>,
    broker_down: Option<(u64, u64)>,
    fault_ns: u64,
    has_struck: bool,
    was_down: bool,
}

fn trial(workers: u32) -> Trial {
    let arrival = Arrival::Open { curve: Curve::constant(RATE), arrivals: Spacing::Fixed };
    let level = Level { connections: 12, spare: 0, depth: 1, arrival, life: Life::default() };
    let get = |text: &str| text.to_string();
    let request =
        Request { method: get("GET"), path: get("/"), host: get("t.test"), ..Request::default() };
    Trial {
        url: get("http://t.test/"),
        requests: vec![request],
        levels: vec![level],
        stop: Stop::AfterNs(WINDOW_NS),
        threads: workers,
        ..Trial::blank()
    }
}

impl World {
    pub fn new(fault: Fault, seed: u64) -> Self {
        let mut random = Random::new(seed, fault as u64);
        let key = ControllerKey::of_seed(&[7; 32]);
        let count = random.between(2, 4) as usize;
        let workers = count as u64 * u64::from(WORKERS);
        let host = |index: usize| {
            let limits = Limits {
                allow: Allow::new(vec!["http://t.test:80".parse().unwrap()]),
                rate_max: Some(RATE),
            };
            let settings = agent::Settings {
                fleet: "f".to_string(),
                agent: format!("a{index}"),
                controller: key.public(),
                limits,
                facts: Facts::default(),
            };
            let ahead_ns = random.between(0, 2_000 * S) as i64;
            let challenge = Id([index as u8 + 1; 16]);
            let place = |worker: u32| (u64::from(worker) + index as u64 * 2, workers);
            Host {
                session: agent::Session::new(settings, challenge, ahead_ns as u64),
                workers: (0..WORKERS).map(|worker| Worker::new(worker, place(worker))).collect(),
                ahead_ns,
                prepare_ns: None,
                ending: None,
                is_dead: false,
                has_delivered: false,
                stopped_until_ns: 0,
                set_ns: 0,
                ordered_ns: 0,
                sent_ns: 0,
                longest_ns: 0,
                has_halted: false,
            }
        };
        let hosts = (0..count).map(host).collect();
        Self {
            fault,
            now_ns: 0,
            hosts,
            control: control::Session::new("f", key, Id([0xcc; 16])),
            control_ahead_ns: random.between(0, 2_000 * S) as i64,
            controller_dead_ns: None,
            plan: Plan::Gather,
            reads: BTreeMap::new(),
            accounts: Vec::new(),
            network: Vec::new(),
            partition: None,
            broker_down: None,
            // Any time from the first level to the second.
            fault_ns: random.between(2_500, 9_000) * MS,
            random,
            has_struck: false,
            was_down: false,
        }
    }

    /// Runs until the run is over, or its controller has been dead for long.
    pub fn run(&mut self) {
        while self.plan != Plan::Over {
            self.now_ns += STEP_NS;
            assert!(self.now_ns < END_NS, "the run hangs in {:?}", self.plan);
            if self.controller_dead_ns.is_some_and(|ns| self.now_ns > ns + 6 * S) {
                return;
            }
            if self.now_ns >= self.fault_ns && !self.has_struck {
                self.has_struck = true;
                self.strike();
            }
            self.deliver();
            (0..self.hosts.len()).for_each(|index| self.step_host(index));
            if self.controller_dead_ns.is_none() {
                self.step_controller();
            }
            self.reconnect();
        }
    }

    fn strike(&mut self) {
        let victim = self.random.between(0, self.hosts.len() as u64 - 1) as usize;
        let now_ns = self.now_ns;
        match self.fault {
            Fault::None | Fault::Lossy => {}
            Fault::Partition => self.partition = Some((victim, now_ns + 10 * S)),
            Fault::Killed => self.hosts[victim].is_dead = true,
            Fault::Stopped => self.hosts[victim].stopped_until_ns = now_ns + 2 * S,
            Fault::ClockSet => {
                let steps = [-10_000, -900, -30, 30, 900, 10_000].map(|ms| ms * MS as i64);
                let step = steps[self.random.between(0, 5) as usize];
                self.hosts[victim].ahead_ns += step;
                // Near the end there may be no more round trip.
                if now_ns < 7 * S {
                    self.hosts[victim].set_ns = step.unsigned_abs() - MS;
                }
            }
            Fault::Broker => {
                self.broker_down = Some((now_ns, now_ns + self.random.between(100, 4_000) * MS));
            }
            Fault::ControllerKilled => self.controller_dead_ns = Some(now_ns),
            Fault::FleetStop => {
                let control_ns = self.control_ns();
                self.control.stop(control_ns, "the user");
                self.take_control_outputs();
            }
        }
    }

    fn control_ns(&self) -> u64 {
        self.now_ns.saturating_add_signed(self.control_ahead_ns)
    }

    fn is_broker_down(&self) -> bool {
        self.broker_down.is_some_and(|(from_ns, to_ns)| (from_ns..to_ns).contains(&self.now_ns))
    }

    fn is_cut_off(&self, index: usize) -> bool {
        let (agent, until_ns) = self.partition.unwrap_or((usize::MAX, 0));
        agent == index && self.now_ns < until_ns
    }

    fn reconnect(&mut self) {
        let is_down = self.is_broker_down();
        if self.was_down && !is_down {
            let control_ns = self.control_ns();
            self.control.reconnected(control_ns);
            self.hosts.iter_mut().for_each(|host| host.session.reconnected());
        }
        self.was_down = is_down;
    }

    /// Sends a message, or loses it.
    fn send(&mut self, index: usize, to: To, bytes: Vec<u8>) {
        if self.is_broker_down() || self.is_cut_off(index) {
            return;
        }
        let copies = match self.fault {
            Fault::Lossy if self.random.uniform() < 0.1 => 0,
            Fault::Lossy if self.random.uniform() < 0.1 => 2,
            _ => 1,
        };
        for _ in 0..copies {
            let most = if self.fault == Fault::Lossy { 150 * MS } else { 3 * MS };
            let delay_ns = self.random.between(MS / 5, most);
            self.network.push((self.now_ns + delay_ns, to.clone(), bytes.clone()));
        }
    }

    fn deliver(&mut self) {
        let now_ns = self.now_ns;
        let (mut due, later): (Vec<_>, Vec<_>) =
            self.network.drain(..).partition(|(at_ns, _, _)| *at_ns <= now_ns);
        self.network = later;
        due.sort_by_key(|(at_ns, _, _)| *at_ns);
        for (at_ns, to, bytes) in due {
            match to {
                To::Agent(index, from) => {
                    let host = &mut self.hosts[index];
                    if host.is_dead {
                        continue;
                    }
                    if now_ns < host.stopped_until_ns {
                        // The message waits in the socket.
                        self.network.push((at_ns.max(host.stopped_until_ns), to, bytes));
                        continue;
                    }
                    if from == agent::From::Down {
                        host.ordered_ns = now_ns;
                    }
                    let agent_ns = now_ns.saturating_add_signed(host.ahead_ns);
                    host.session.receive(agent_ns, from, &bytes);
                    self.take_outputs(index);
                }
                _ if self.controller_dead_ns.is_some() => {}
                To::ControllerHello(index) | To::ControllerUp(index) => {
                    let name = format!("a{index}");
                    let from = match to {
                        To::ControllerHello(_) => control::From::Hello(&name),
                        _ => control::From::Up(&name),
                    };
                    let control_ns = self.control_ns();
                    self.control.receive(control_ns, from, &bytes);
                    self.take_control_outputs();
                }
            }
        }
    }

    fn take_control_outputs(&mut self) {
        while let Some(output) = self.control.poll_output() {
            let control::Output::Send { to, bytes } = output else { continue };
            match to {
                control::To::Call => {
                    for index in 0..self.hosts.len() {
                        self.send(index, To::Agent(index, agent::From::Call), bytes.clone());
                    }
                }
                control::To::Down(name) => {
                    let index: usize = name[1..].parse().unwrap();
                    self.send(index, To::Agent(index, agent::From::Down), bytes);
                }
            }
        }
    }

    fn take_outputs(&mut self, index: usize) {
        let mut sent = Vec::new();
        let now_ns = self.now_ns;
        let host = &mut self.hosts[index];
        let agent_ns = now_ns.saturating_add_signed(host.ahead_ns);
        while let Some(output) = host.session.poll_output() {
            match output {
                agent::Output::Send { to, bytes } => sent.push((to, bytes)),
                agent::Output::Prepare { .. } => host.prepare_ns = Some(now_ns + 50 * MS),
                agent::Output::Order { order, .. } => {
                    for worker in &mut host.workers {
                        let mut tell = |tick: &Tick| {
                            host.session.tell(agent_ns, ThreadKind::Requesting, tick);
                        };
                        worker.order(agent_ns, &order, &mut tell);
                    }
                }
                agent::Output::Halt(_) => {
                    host.has_halted = true;
                    host.prepare_ns = None;
                    host.ending = Some(Ended::Halted);
                    for worker in &mut host.workers {
                        let mut tell = |tick: &Tick| {
                            host.session.tell(agent_ns, ThreadKind::Requesting, tick);
                        };
                        worker.stop(agent_ns, &mut tell);
                    }
                }
                agent::Output::Finish => host.ending = Some(Ended::Complete),
                agent::Output::Begin { .. } => {}
                agent::Output::Notice(_) => {}
            }
        }
        for (to, bytes) in sent {
            let to = match to {
                agent::To::Hello => To::ControllerHello(index),
                agent::To::Up => To::ControllerUp(index),
            };
            self.send(index, to, bytes);
        }
    }

    fn step_host(&mut self, index: usize) {
        let now_ns = self.now_ns;
        let host = &mut self.hosts[index];
        if host.is_dead || now_ns < host.stopped_until_ns {
            return;
        }
        let agent_ns = now_ns.saturating_add_signed(host.ahead_ns);
        host.session.tick(agent_ns);
        self.take_outputs(index);
        let host = &mut self.hosts[index];
        if host.prepare_ns.is_some_and(|ns| now_ns >= ns) {
            host.prepare_ns = None;
            host.session.prepared(agent_ns, &["192.0.2.1:80".parse().unwrap()]).unwrap();
        }
        for worker in &mut host.workers {
            worker.sent_ns = None;
            let mut tell = |tick: &Tick| {
                host.session.tell(agent_ns, ThreadKind::Requesting, tick);
            };
            worker.step(agent_ns, &mut tell);
            if worker.sent_ns.is_some() {
                host.sent_ns = now_ns;
                host.longest_ns = host.longest_ns.max(now_ns - host.ordered_ns);
            }
        }
        let is_over = host.workers.iter().all(Worker::is_over);
        if let Some(ended) = host.ending.take_if(|_| is_over) {
            host.session.ended(agent_ns, ended, Some(b"{\"it\": \"was\"}"));
            host.has_delivered = true;
        }
        self.take_outputs(index);
    }

    fn order(&mut self, order: &Order) {
        let control_ns = self.control_ns();
        self.control.order(control_ns, ThreadKind::Requesting, order);
    }

    fn read_ticks(&mut self) {
        let (control_ns, reads) = (self.control_ns(), &mut self.reads);
        self.control.ticks(control_ns, ThreadKind::Requesting, &mut |tick| {
            let read = reads.get_mut(&tick.load).expect("a load that was ordered");
            assert_eq!(read.last, 0, "nothing follows the last tick");
            read.measured += &tick.measured;
            read.unmeasured += &tick.unmeasured;
            read.latencies += tick.histograms[Dist::Latency].count();
            read.last += u32::from(tick.last);
            assert!(tick.end_ns >= tick.begin_ns && tick.end_ns <= control_ns + S);
            if tick.phase == Phase::Measure {
                read.passed_ns += tick.end_ns - tick.begin_ns;
            }
        });
    }

    fn step_controller(&mut self) {
        let control_ns = self.control_ns();
        self.control.tick(control_ns);
        self.read_ticks();
        self.plan = match self.plan {
            Plan::Gather if self.control.agents().count() == self.hosts.len() => {
                self.offer();
                Plan::Offered { until_ns: self.now_ns + 20 * S }
            }
            Plan::Offered { until_ns } => {
                let answers = self.control.answers();
                if answers.accepted == self.hosts.len() || self.now_ns > until_ns {
                    self.control.begin(control_ns);
                    self.connect(1)
                } else {
                    self.plan
                }
            }
            Plan::Connect { load, until_ns } if self.now_ns > until_ns => {
                self.order(&Order::Warm);
                Plan::Warm { load, until_ns: self.now_ns + 500 * MS }
            }
            Plan::Warm { load, until_ns } if self.now_ns > until_ns => {
                let begin_ns = control_ns + S;
                let end_ns = begin_ns + WINDOW_NS;
                let drain_ns = DRAIN_NS;
                self.plan_window(load);
                self.order(&Order::Measure {
                    begin_ns,
                    end_ns,
                    budget: None,
                    drain_ns,
                    skip_until_ns: 0,
                });
                Plan::Measure { load }
            }
            Plan::Measure { load } if self.reads[&load].last == 1 => {
                if load < LOADS {
                    self.connect(load + 1)
                } else {
                    self.control.finish(control_ns);
                    Plan::Finishing
                }
            }
            Plan::Finishing if self.control.is_finished(control_ns) => {
                self.accounts = self.control.accounts();
                Plan::Over
            }
            plan => plan,
        };
        self.take_control_outputs();
    }

    fn offer(&mut self) {
        let part = Part { workers: WORKERS, weight: 1 };
        let shares = Share::all(&vec![part; self.hosts.len()]).unwrap();
        let workers = WORKERS * self.hosts.len() as u32;
        let offer = |(index, asking): (usize, Share)| {
            let shares = Shares { asking, listening: None };
            (format!("a{index}"), Offer { trial: trial(workers), shares })
        };
        let control_ns = self.control_ns();
        let offers = shares.into_iter().enumerate().map(offer).collect();
        self.control.offer(control_ns, offers).unwrap();
    }

    fn connect(&mut self, load: u32) -> Plan {
        self.reads.insert(load, Read::default());
        let pace = Pace::Open {
            curve: Arc::new(Curve::constant(RATE)),
            arrivals: Spacing::Fixed,
            seed: 1,
        };
        self.order(&Order::Connect {
            load,
            connections: 12,
            connections_max: 12,
            depth: 1,
            pace,
            life: Life::default(),
        });
        Plan::Connect { load, until_ns: self.now_ns + 500 * MS }
    }

    /// Counts the requests of each agent in the window.
    fn plan_window(&mut self, load: u32) {
        let workers = u64::from(WORKERS) * self.hosts.len() as u64;
        let gap_ns = (1e9 / RATE) as u64;
        let due = (0..).take_while(|n| n * gap_ns < WINDOW_NS);
        let mut planned = vec![0; self.hosts.len()];
        due.for_each(|n| planned[(n % workers / u64::from(WORKERS)) as usize] += 1);
        self.reads.get_mut(&load).unwrap().planned = planned;
    }

    /// What an agent really did in a load.
    pub fn truth(&self, index: usize, load: u32) -> Truth {
        let truths = self.hosts[index].workers.iter().flat_map(|worker| &worker.truths);
        let mut sum = Truth::default();
        for (_, truth) in truths.filter(|(of, _)| *of == load) {
            sum.sent += truth.sent;
            sum.unsent += truth.unsent;
        }
        sum
    }
}

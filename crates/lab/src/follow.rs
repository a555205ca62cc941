//! An agent's run: workers of this host that follow the orders of a conductor on another host.
//!
//! In: a trial, our share of it, orders as they arrive. Out: ticks as they are made, and a run of
//! our own share: what this host did, its probe's readings, its gates and its verdict.
//! Never: when a level starts or ends, which the controller decides; how orders and ticks travel.
//!
//! The controller may be lost at any time. When the orders end or `stop` is set, the load ends at
//! once: nothing more is sent, responses are awaited as after an interrupt, and the run has what
//! was measured so far.

use crate::crews::{CrewSize, Crews};
use crate::error::LabError;
use crate::fanout::{self, Stamps};
use crate::gather::{Gathered, WindowEnds};
use crate::level::LevelContext;
use crate::planned;
use crate::record::RunBuilder;
use crate::setting::Setting;
use crate::silence::Silence;
use crate::visit::Visit;
use crate::watch::{Logs, Watch};
use engine::Crew;
use engine::job::{Job, Order, Pace};
use engine::shard::Shard;
use jiff::Timestamp;
use model::event::Event;
use model::fleet::{AgentPoint, Part, Share, ShareError, Shares, fit};
use model::link::Links;
use model::load::{Arrival, Level, ServerProcess, Stop, Trial};
use model::run::{Outcome, Run};
use model::tick::{ThreadKind, Tick};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often ticks are read from the workers and the stop flag is checked.
const LISTEN: Duration = Duration::from_millis(10);
/// How often readings are written, nanoseconds.
const READ_NS: u64 = 200_000_000;
/// How long to wait for the last ticks of a level that was stopped, nanoseconds: longer than
/// workers wait for responses after a stop.
const LAST_TICK_NS: u64 = 5_000_000_000;

/// What an agent reports while it follows.
#[derive(Debug)]
pub enum AgentReport<'a> {
    /// All workers are ready for orders.
    Ready,
    /// A worker sent this tick.
    Tick(ThreadKind, &'a Tick),
    /// An event, as in a run of this host alone.
    Event(&'a Event),
}

/// An order, and the workers it is for. Its sizes are those of the whole load, and its times are
/// those of this host.
pub type Ordered = (ThreadKind, Order);

/// What an agent needs to follow.
pub struct Means<'a> {
    /// The shares of the load that its workers have.
    pub shares: &'a Shares,
    /// The command line, for the record.
    pub command: &'a [String],
    /// Where raw readings are written.
    pub logs: &'a mut Logs,
    /// Ends the load at once, when set.
    pub stop: &'a AtomicBool,
    /// Set while workers may send: from the first order of a level until its last tick, or until
    /// all of them have taken the order to stop. If it is still set long after `stop`, something
    /// hangs.
    pub is_loading: &'a AtomicBool,
}

/// The result of an agent.
#[derive(Debug)]
pub struct Followed {
    /// The run of its share.
    pub run: Run,
    /// The visit number of each of its points.
    pub loads: Vec<u32>,
    /// For each of its points, the share of the time in which its busiest worker had work; `None`
    /// if its threads were not read.
    workers_busy: Vec<Option<f64>>,
}

impl Followed {
    /// What it did in each visit, for the record of the fleet.
    pub fn points(&self, agent: &str) -> Vec<(u32, AgentPoint)> {
        let record = &self.run.record;
        let cpus = judge::usable_cpus(&record.host).len() as u32;
        let points = record.points.iter().zip(&self.workers_busy);
        let points = points.map(|(point, busy)| AgentPoint::of(agent, point, cpus, *busy));
        self.loads.iter().copied().zip(points).collect()
    }
}

/// Why a load cannot be dealt out to agents.
#[derive(Debug, thiserror::Error)]
pub enum DealError {
    /// The parts are invalid.
    #[error("{0}")]
    Share(#[from] ShareError),
    /// Some agents would have nothing to do.
    #[error(
        "{connections} connections are too few for {agents} agents: every agent needs at least one"
    )]
    TooFew {
        /// Connections of the largest level.
        connections: u32,
        /// Agents.
        agents: usize,
    },
}

/// Deals a trial out to agents: each part has workers, and how many numbers each of them takes per
/// round. With fewer connections than workers, some workers have no work.
pub fn deal(trial: &Trial, parts: &[Part]) -> Result<Vec<Shares>, DealError> {
    let fitted = |connections: u32| {
        let fitted = fit(parts.to_vec(), connections);
        let (agents, is_empty) = (parts.len(), fitted.iter().any(|part| part.workers == 0));
        if is_empty { Err(DealError::TooFew { connections, agents }) } else { Ok(fitted) }
    };
    let Some(fanout) = &trial.fanout else {
        let asking = Share::all(&fitted(CrewSize::of(trial).connections_max)?)?;
        let alone = |asking| Shares { asking, listening: None };
        return Ok(asking.into_iter().map(alone).collect());
    };
    // Without writers each agent has a worker that never sends.
    let writing = match fanout.writers {
        0 => vec![Part { workers: 1, weight: 1 }; parts.len()],
        writers => fitted(writers)?,
    };
    let listening = Share::all(&fitted(fanout::subscribers_max(trial))?)?;
    let both = Share::all(&writing)?.into_iter().zip(listening);
    Ok(both.map(|(asking, listening)| Shares { asking, listening: Some(listening) }).collect())
}

/// The share of a trial as a trial of its own: what the record of an agent shows. The search,
/// experiments, objective and server of the whole load are not part of it.
pub fn part_of(trial: &Trial, shares: &Shares) -> Trial {
    let asking = Shard::all_together(&shares.asking);
    let listening = shares.listening.as_ref().map(Shard::all_together);
    let level = |level: &Level| {
        own_level(level, listening.as_ref().unwrap_or(&asking), shares.asking.fraction())
    };
    let mut fanout = trial.fanout.clone();
    if let Some(fanout) = &mut fanout {
        fanout.writers = asking.share(u64::from(fanout.writers)) as u32;
    }
    Trial {
        levels: trial.levels.iter().map(level).collect(),
        stop: match trial.stop {
            Stop::AfterNs(ns) => Stop::AfterNs(ns),
            Stop::AfterRequests(count) => Stop::AfterRequests(asking.share(count)),
        },
        threads: shares.listening.as_ref().unwrap_or(&shares.asking).workers(),
        server: ServerProcess::ByPort,
        links: Links::default(),
        runtime: None,
        profile: None,
        evidence: None,
        expect: None,
        search: None,
        confirm: None,
        fanout,
        ..trial.clone()
    }
}

/// Requests due in a window of this length that belong to a share; `None` for a closed loop, or for
/// a schedule too long to be walked. The level is that of the whole load.
pub fn planned(
    share: &Share,
    trial: &Trial,
    (level, load): (&Level, u32),
    window_ns: u64,
) -> Option<u64> {
    planned::planned_of(share, trial, (level, load), window_ns)
}

/// Follows orders on this host until they end. `trial` is that of the whole load, with the
/// addresses, driver and CPUs of this host.
pub fn follow(
    trial: &Trial,
    orders: &Receiver<Ordered>,
    means: Means<'_>,
    tell: &mut dyn FnMut(AgentReport<'_>),
) -> Result<Followed, LabError> {
    let Means { shares, command, logs, stop, is_loading } = means;
    let own = part_of(trial, shares);
    let mut follower = Follower::start(Setting::Live, (trial, &own), shares, logs, tell)?;
    loop {
        match orders.recv_timeout(LISTEN) {
            Ok((_, Order::Quit)) => break,
            Ok((crew, order)) => follower.take(crew, &order),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        is_loading.store(follower.may_send(), Ordering::Relaxed);
        follower.listen(tell)?;
        is_loading.store(follower.may_send(), Ordering::Relaxed);
    }
    follower.end(is_loading, tell)?;
    Ok(follower.finish(command, tell))
}

/// Workers that follow, and what they did so far. Its owner drives it: tests in virtual time, or
/// [`follow`].
pub struct Follower<'a> {
    setting: Setting<'a>,
    trial: &'a Trial,
    shares: &'a Shares,
    run: RunBuilder<'a>,
    crew: Crew,
    audience: Option<Crew>,
    watch: Watch<'a>,
    visit: Option<Following>,
    started_at: Timestamp,
    read_ns: u64,
    is_stopped: bool,
}

/// The current visit.
struct Following {
    load: u32,
    /// The level of the whole load, as ordered.
    whole: Level,
    /// Our share of it, for the workers that send.
    asking: Level,
    listening: Option<Level>,
    gathered: Gathered,
    audience: Option<Gathered>,
    begin_ns: u64,
    begin_cpu_ns: u64,
    warm_ns: Option<u64>,
    /// The window as ordered, and whether a budget ends it.
    window_ns: Option<(u64, u64)>,
    /// When it was stopped.
    stopped_ns: Option<u64>,
}

impl<'a> Follower<'a> {
    /// Sets up as a run does and starts the workers. The trials are that of the whole load and its
    /// [`part_of`].
    pub fn start(
        setting: Setting<'a>,
        (trial, own): (&'a Trial, &'a Trial),
        shares: &'a Shares,
        logs: &'a mut Logs,
        tell: &mut dyn FnMut(AgentReport<'_>),
    ) -> Result<Self, LabError> {
        let started_at = setting.timestamp();
        let mut run =
            RunBuilder::set_up(setting, own, &mut |event| tell(AgentReport::Event(&event)))?;
        run.before_bytes = setting.resident_bytes().unwrap_or(0);
        run.stamps = Stamps::of(trial.addresses.first(), run.target.server.as_ref(), None);
        let job = Job {
            share: shares.asking.clone(),
            connections_max: CrewSize::of(trial).connections_max,
            ..run.job(own)?
        };
        let crew = setting.start(&job)?;
        let audience = match (&shares.listening, &trial.fanout) {
            (Some(share), Some(fanout)) => {
                let job = fanout::listening(trial, fanout, &job)?;
                let job = Job { share: share.clone(), ..job };
                Some(setting.start_listening(&job, run.stamps.zero_ns())?)
            }
            _ => None,
        };
        let watch = Watch::new(run.source(), &mut logs.near);
        tell(AgentReport::Ready);
        Ok(Self {
            setting,
            trial,
            shares,
            run,
            crew,
            audience,
            watch,
            visit: None,
            started_at,
            read_ns: 0,
            is_stopped: false,
        })
    }

    /// Takes an order for the whole load: every worker gets its share at once. An order that makes
    /// no sense at this stage of the level is ignored; one that starts a level during another means
    /// that we are far behind, and ends the load.
    pub fn take(&mut self, crew: ThreadKind, order: &Order) {
        if self.is_stopped {
            return;
        }
        match (crew, level_of(order)) {
            (ThreadKind::Requesting, Some((load, whole))) => {
                if self.visit.is_some() {
                    return self.stop();
                }
                self.begin_visit(load, whole);
            }
            (ThreadKind::Listening, Some((load, whole))) => {
                let workers = self.audience.as_ref().map_or(0, Crew::workers);
                let visit = self.visit.as_mut().filter(|visit| visit.load == load);
                let (Some(visit), Some(share)) = (visit, &self.shares.listening) else { return };
                visit.listening = Some(own_level(&whole, &Shard::all_together(share), 1.0));
                visit.audience = Some(Gathered::new(workers));
            }
            (crew, None) => {
                let now_ns = self.setting.now_ns();
                let Some(visit) = &mut self.visit else { return };
                if crew == ThreadKind::Requesting {
                    visit.note(order, now_ns);
                } else if visit.audience.is_none() {
                    return;
                }
            }
        }
        match crew {
            ThreadKind::Requesting => self.crew.order(order),
            ThreadKind::Listening => {
                if let Some(audience) = &mut self.audience {
                    audience.order(order);
                }
            }
        }
    }

    fn begin_visit(&mut self, load: u32, whole: Level) {
        let shard = Shard::all_together(&self.shares.asking);
        self.watch.begin_level();
        self.visit = Some(Following {
            load,
            asking: own_level(&whole, &shard, self.shares.asking.fraction()),
            whole,
            listening: None,
            gathered: Gathered::new(self.crew.workers()),
            audience: None,
            begin_ns: self.setting.now_ns(),
            begin_cpu_ns: self.setting.process_cpu_ns(),
            warm_ns: None,
            window_ns: None,
            stopped_ns: None,
        });
    }

    /// Whether a level was ordered and is not over.
    pub fn is_loading(&self) -> bool {
        self.visit.is_some()
    }

    /// Whether a worker may send: a level was ordered and is not over, and not all workers have
    /// taken the order to stop it.
    pub fn may_send(&self) -> bool {
        let has_taken =
            self.crew.has_taken_orders() && self.audience.iter().all(Crew::has_taken_orders);
        self.is_loading() && !(self.is_stopped && has_taken)
    }

    /// Ends the load at once. Later orders are ignored.
    pub fn stop(&mut self) {
        if self.visit.is_some() && !self.is_stopped {
            self.take(ThreadKind::Requesting, &Order::Stop);
            self.take(ThreadKind::Listening, &Order::Stop);
        }
        self.is_stopped = true;
    }

    /// Ends the load at once, and waits for its last responses. `is_loading` stays set while a
    /// worker may send.
    pub fn end(
        &mut self,
        is_loading: &AtomicBool,
        tell: &mut dyn FnMut(AgentReport<'_>),
    ) -> Result<(), LabError> {
        self.stop();
        is_loading.store(self.may_send(), Ordering::Relaxed);
        while self.is_loading() {
            self.setting.sleep(LISTEN);
            self.listen(tell)?;
            is_loading.store(self.may_send(), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Passes on the workers' ticks, and makes a point of a visit that is over.
    pub fn listen(&mut self, tell: &mut dyn FnMut(AgentReport<'_>)) -> Result<(), LabError> {
        let Self { crew, audience, visit, .. } = self;
        crew.drain(|tick| {
            if let Some(visit) = visit.as_mut().filter(|visit| visit.load == tick.load) {
                visit.gathered.add(tick);
            }
            tell(AgentReport::Tick(ThreadKind::Requesting, tick));
        });
        if let Some(audience) = audience {
            audience.drain(|tick| {
                let visit = visit.as_mut().filter(|visit| visit.load == tick.load);
                if let Some(gathered) = visit.and_then(|visit| visit.audience.as_mut()) {
                    gathered.add(tick);
                }
                tell(AgentReport::Tick(ThreadKind::Listening, tick));
            });
        }
        let is_lost = |crew: &Crew| crew.has_lost_member();
        if is_lost(&self.crew) || self.audience.as_ref().is_some_and(is_lost) {
            return Err(LabError::WorkerLost);
        }
        let now_ns = self.setting.now_ns();
        if now_ns >= self.read_ns + READ_NS {
            self.read_ns = now_ns;
            // An agent has no probe on the server's host that could be lost.
            let _ = self.watch.take();
        }
        let Some(visit) = &mut self.visit else { return Ok(()) };
        let open = visit.gathered.connections().open;
        if open > visit.gathered.most_open {
            visit.gathered.most_open = open;
            visit.gathered.resident_bytes = self.setting.resident_bytes();
        }
        if visit.is_over() {
            return self.end_visit(tell);
        }
        let is_late = |stopped_ns| now_ns > stopped_ns + self.trial.drain_ns + LAST_TICK_NS;
        if visit.stopped_ns.is_some_and(is_late) {
            return Err(LabError::WorkerStuck);
        }
        Ok(())
    }

    /// The workers have closed the accounts of a level.
    fn end_visit(&mut self, tell: &mut dyn FnMut(AgentReport<'_>)) -> Result<(), LabError> {
        let Some(following) = self.visit.take() else { return Ok(()) };
        self.watch.look();
        let _ = self.watch.take();
        let now_ns = self.setting.now_ns();
        let process_cpu_ns = self.setting.process_cpu_ns() - following.begin_cpu_ns;
        let (crews, visit) =
            following.end(self.trial, self.shares, (now_ns, process_cpu_ns), self.run.trial);
        let never = AtomicBool::new(false);
        let mut context = LevelContext {
            setting: self.setting,
            crew: &mut self.crew,
            audience: self.audience.as_mut(),
            watch: &mut self.watch,
            trial: self.run.trial,
            until: self.run.trial.stop,
            stop: &never,
            notify: &mut |event| tell(AgentReport::Event(&event)),
            profiler: None,
            evidence: None,
            interim: None,
            silence: Silence::default(),
        };
        self.run.add_visit((&crews, 1), visit, &mut context);
        Ok(())
    }

    /// Judges what was measured.
    pub fn finish(self, command: &[String], tell: &mut dyn FnMut(AgentReport<'_>)) -> Followed {
        let Self { crew, audience, mut watch, mut run, started_at, .. } = self;
        drop(crew);
        drop(audience);
        watch.stop();
        run.observe_again(&watch);
        if let Some(failure) = watch.failure() {
            let text = format!("raw readings are missing from the end: {failure}");
            run.notice(text, &mut |event| tell(AgentReport::Event(&event)));
        }
        let loads = std::mem::take(&mut run.loads);
        let workers_busy = run.workers_busy();
        Followed { run: run.finish(command, started_at), loads, workers_busy }
    }
}

impl Following {
    /// What an order to the workers that send means for the visit.
    fn note(&mut self, order: &Order, now_ns: u64) {
        match order {
            Order::Warm => self.warm_ns = self.warm_ns.or(Some(now_ns)),
            Order::Measure { begin_ns, end_ns, budget, .. } => {
                let ends = WindowEnds::of(&self.whole.arrival, *end_ns, *budget);
                self.window_ns = Some((*begin_ns, *end_ns));
                self.gathered.begin_window(*begin_ns, ends);
                if let Some(audience) = &mut self.audience {
                    audience.begin_window(*begin_ns, ends);
                }
            }
            Order::Stop => self.stopped_ns = self.stopped_ns.or(Some(now_ns)),
            Order::Connect { .. } | Order::Quit => {}
        }
    }

    fn is_over(&self) -> bool {
        self.gathered.is_over() && self.audience.as_ref().is_none_or(Gathered::is_over)
    }

    /// The visit, now that its accounts are closed, and its crews.
    fn end(
        mut self,
        trial: &Trial,
        shares: &Shares,
        (now_ns, process_cpu_ns): (u64, u64),
        own: &Trial,
    ) -> (Crews, Visit) {
        let (begin_ns, end_ns) = self.window_ns.unwrap_or((now_ns, u64::MAX));
        if self.window_ns.is_none() {
            self.gathered.begin_window(begin_ns, WindowEnds::WithSends);
        }
        let is_cut = self.stopped_ns.is_some_and(|stopped_ns| stopped_ns < end_ns);
        let planned = match own.stop {
            Stop::AfterNs(_) if !is_cut && end_ns > begin_ns => {
                let window_ns = end_ns - begin_ns;
                planned::planned_of(&shares.asking, trial, (&self.whole, self.load), window_ns)
            }
            _ => None,
        };
        let crews = match &self.listening {
            None => Crews { level: self.asking.clone(), asking: self.asking, listening: None },
            Some(listening) => {
                let Level { arrival, depth, .. } = self.asking.clone();
                let level = Level { arrival, depth, ..listening.clone() };
                Crews { level, asking: self.asking, listening: self.listening }
            }
        };
        let warm_ns = self.warm_ns.unwrap_or(begin_ns);
        let visit = Visit {
            load: self.load,
            gathered: self.gathered,
            audience: self.audience,
            ending: if is_cut { Outcome::Interrupted } else { Outcome::Complete },
            stopped: None,
            planned,
            window_begin_ns: begin_ns,
            warmup_ns: begin_ns.saturating_sub(warm_ns),
            begin_ns: self.begin_ns,
            visit_ns: now_ns - self.begin_ns,
            process_cpu_ns,
            profiled: false,
        };
        (crews, visit)
    }
}

/// The visit that an order starts, with its level of the whole load; `None` for any other order.
pub fn level_of(order: &Order) -> Option<(u32, Level)> {
    let Order::Connect { load, connections, connections_max, depth, pace, life } = order else {
        return None;
    };
    let arrival = match pace {
        Pace::Closed => Arrival::Closed,
        Pace::Open { curve, arrivals, .. } => {
            Arrival::Open { curve: curve.as_ref().clone(), arrivals: *arrivals }
        }
    };
    let spare = connections_max.saturating_sub(*connections);
    let (connections, depth, life) = (*connections, *depth, *life);
    Some((*load, Level { connections, spare, depth, arrival, life }))
}

/// The share of a level that some workers have: their connections, and `fraction` of its rate.
fn own_level(whole: &Level, shard: &Shard, fraction: f64) -> Level {
    let connections = shard.share(u64::from(whole.connections)) as u32;
    let most = shard.share(u64::from(whole.connections_max())) as u32;
    let arrival = match &whole.arrival {
        Arrival::Closed => Arrival::Closed,
        Arrival::Open { curve, arrivals } => {
            Arrival::Open { curve: curve.scaled(fraction), arrivals: *arrivals }
        }
    };
    Level { connections, spare: most - connections, arrival, ..whole.clone() }
}

//! One visit of one level: connect, warm up, measure, drain.
//!
//! The workers keep their own time; this orders them, collects their ticks, and notices when the
//! target is lost or the user asks to stop.

use crate::crews::Crews;
use crate::error::LabError;
use crate::gather::{Gathered, WindowEnds};
use crate::inside_kernel::Watcher;
use crate::interim::{Interim, Moment};
use crate::openings::Openings;
use crate::planned;
use crate::profiler::Profiler;
use crate::setting::Setting;
use crate::settled::{self, Known};
use crate::silence::Silence;
use crate::visit::Visit;
use crate::watch::{Watch, lost_notice};
use engine::Crew;
use engine::job::Order;
use judge::observe::Observed;
use model::dist::Dist;
use model::event::{Event, Progress};
use model::load::{Arrival, Hold, Stop, Trial, Warmup};
use model::lost::Stopped;
use model::run::Outcome;
use model::tick::{Connections, Counters, ErrorClass};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often ticks are read from the workers.
const LISTEN: Duration = Duration::from_millis(10);
/// A tenth of a second, nanoseconds.
const TENTH_NS: u64 = 100_000_000;
/// Interval of progress reports, nanoseconds.
const PROGRESS_NS: u64 = 200_000_000;
/// How long to wait for late readings of a window's end from the server's host, nanoseconds: as
/// long as its probe may be silent before it counts as lost.
const FAR_LATE_NS: u64 = remote::SILENCE_MAX.as_nanos() as u64;
/// How long to wait for late readings from the server's host after an interrupt, nanoseconds.
const FAR_LATE_INTERRUPTED_NS: u64 = 1_000_000_000;
/// Connecting is over when nothing has changed for this long, nanoseconds.
const CONNECT_STALL_NS: u64 = 2_500_000_000;
/// Without any connection for this long the target counts as lost, nanoseconds.
const LOST_NS: u64 = 1_500_000_000;
/// Without any connection for this long at the end of a window the target counts as lost,
/// nanoseconds: longer than the longest pause before a refused connection is retried, which is a
/// second.
const LOST_AT_END_NS: u64 = 1_100_000_000;
/// A worker may be this late with its last tick, or with any, nanoseconds.
const LAST_TICK_NS: u64 = 5_000_000_000;
/// How long to wait for events that were sent in the window, nanoseconds.
const EVENTS_DRAIN_NS: u64 = 500_000_000;
/// A window should last this many times the latency, so that its edges do not matter.
const LATENCIES_PER_WINDOW: f64 = 10.0;
/// Tenths of a second that must agree for a warm-up to be settled.
const SETTLED_TENTHS: usize = 5;

/// Length from which a window gets a first verdict, nanoseconds.
const JUDGED_FROM_NS: u64 = 1_000_000_000;

/// The stage in which responses are awaited.
const DRAINING: &str = "draining";

/// Everything a visit needs.
pub struct LevelContext<'a, 'b> {
    /// Where the run is made.
    pub setting: Setting<'a>,
    /// The workers.
    pub crew: &'a mut Crew,
    /// The workers that listen, in a fan-out.
    pub audience: Option<&'a mut Crew>,
    /// The load and the target that were requested.
    pub trial: &'a Trial,
    /// End of the measured window.
    pub until: Stop,
    /// Set when the user asks to stop.
    pub stop: &'a AtomicBool,
    /// Gets what happens, as it happens.
    pub notify: &'a mut dyn FnMut(Event),
    /// The probe's readings.
    pub watch: &'a mut Watch<'b>,
    /// Profiles the server in the window, if requested.
    pub(crate) profiler: Option<Profiler>,
    /// Programs in the kernel for the window, if requested.
    pub(crate) evidence: Option<Watcher>,
    /// Judges the run while it goes on, if requested.
    pub(crate) interim: Option<Interim>,
    /// What came so far, over all levels.
    pub(crate) silence: Silence,
}

/// Visits a level. `load` numbers the visit.
pub fn visit(
    context: &mut LevelContext<'_, '_>,
    crews: &Crews,
    load: u32,
) -> Result<Visit, LabError> {
    if let Some(profiler) = &mut context.profiler {
        profiler.prepare();
    }
    let mut level_run = LevelRun::begin(context, crews, load);
    let is_churn = crews.level.life.hold.is_some();
    if !is_churn && !level_run.context.trial.plans_users(&crews.level) {
        level_run.connect()?;
    }
    let warmup_ns = match level_run.ending {
        Some(_) => 0,
        None if is_churn => level_run.ramp_up()?,
        None => level_run.warm_up()?,
    };
    level_run.fit_window(warmup_ns);
    let window_begin_ns = match level_run.ending {
        None => level_run.measure(warmup_ns)?,
        Some(_) => level_run.now_ns(),
    };
    level_run.finish(window_begin_ns, warmup_ns)
}

/// The current visit.
struct LevelRun<'a, 'b, 'c> {
    context: &'a mut LevelContext<'b, 'c>,
    crews: &'a Crews,
    load: u32,
    gathered: Gathered,
    audience: Option<Gathered>,
    ending: Option<Outcome>,
    begin_ns: u64,
    begin_cpu_ns: u64,
    told_ns: u64,
    alive_ns: u64,
    /// Connections established at the last look.
    established: u64,
    /// End of the window, as requested or as fitted to its latency.
    until: Stop,
    /// Requests in flight, added up over the warm-up, request-nanoseconds.
    warm_in_flight_ns: u64,
    is_stopping: bool,
    /// End of the measured window, once it is ordered.
    sends_end_ns: u64,
    /// When each worker last sent a tick.
    heard_ns: Vec<u64>,
}

impl<'a, 'b, 'c> LevelRun<'a, 'b, 'c> {
    fn begin(context: &'a mut LevelContext<'b, 'c>, crews: &'a Crews, load: u32) -> Self {
        let now_ns = context.setting.now_ns();
        context.setting.begin_visit(load);
        context.watch.begin_level();
        context.silence.begin_level();
        context.crew.order_connect(load, &crews.asking);
        let mut gathered = Gathered::new(context.crew.workers());
        gathered.openings = crews.level.life.hold.map(|_| Openings::new(now_ns));
        let listening = context.audience.as_mut().zip(crews.listening.as_ref());
        let audience = listening.map(|(audience, level)| {
            audience.order_connect(load, level);
            Gathered::new(audience.workers())
        });
        let heard_ns = vec![now_ns; context.crew.workers() as usize];
        let begin_cpu_ns = context.setting.process_cpu_ns();
        let until = context.until;
        Self {
            context,
            crews,
            load,
            gathered,
            audience,
            ending: None,
            begin_ns: now_ns,
            begin_cpu_ns,
            told_ns: now_ns,
            alive_ns: now_ns,
            established: 0,
            until,
            warm_in_flight_ns: 0,
            is_stopping: false,
            sends_end_ns: u64::MAX,
            heard_ns,
        }
    }

    fn now_ns(&self) -> u64 {
        self.context.setting.now_ns()
    }

    /// Collects ticks for a moment. Notices a request to stop and a target that is lost.
    fn listen(&mut self) -> Result<u64, LabError> {
        self.context.setting.sleep(LISTEN);
        let (gathered, load, heard_ns) = (&mut self.gathered, self.load, &mut self.heard_ns);
        let silence = &mut self.context.silence;
        let listened_ns = self.context.setting.now_ns();
        self.context.crew.drain(|tick| {
            heard_ns[tick.worker as usize] = listened_ns;
            if tick.load == load {
                silence.add(tick);
                gathered.add(tick);
            }
        });
        let mut has_lost_member = self.context.crew.has_lost_member();
        if let (Some(crew), Some(gathered)) = (&mut self.context.audience, &mut self.audience) {
            crew.drain(|tick| {
                if tick.load == load {
                    gathered.add(tick);
                }
            });
            has_lost_member |= crew.has_lost_member();
        }
        if has_lost_member {
            return Err(LabError::WorkerLost);
        }
        let now_ns = self.now_ns();
        if self.ending.is_none() && self.context.stop.load(Ordering::Relaxed) {
            self.ending = Some(Outcome::Interrupted);
        }
        let connections = self.connections();
        if connections.open > self.gathered.most_open {
            self.gathered.most_open = connections.open;
            self.gathered.resident_bytes = self.context.setting.resident_bytes();
        }
        let established = self.gathered.histograms[Dist::Connect].count();
        let before = std::mem::replace(&mut self.established, established);
        if is_alive(&connections, before, established) {
            self.alive_ns = now_ns;
        }
        let refusals = |gathered: &Gathered| {
            let errors = &gathered.measured.errors;
            errors.get(ErrorClass::Connect) + errors.get(ErrorClass::Tls)
        };
        let refused = refusals(&self.gathered) + self.audience.as_ref().map_or(0, refusals) > 0;
        if self.ending.is_none() && refused && self.is_lost(now_ns) {
            self.ending = Some(Outcome::TargetLost);
        }
        Ok(now_ns)
    }

    /// Whether the target has shown no life for so long that it is lost. A window that ends
    /// without one needs less time: nothing will arrive that could show otherwise. Devices that
    /// have ended are not lost.
    fn is_lost(&self, now_ns: u64) -> bool {
        if now_ns <= self.sends_end_ns {
            return now_ns - self.alive_ns > LOST_NS;
        }
        let is_churn = self.crews.level.life.hold.is_some();
        !is_churn && self.sends_end_ns.saturating_sub(self.alive_ns) > LOST_AT_END_NS
    }

    /// Gives an order to all workers, of both kinds.
    fn order(&mut self, order: &Order) {
        self.context.crew.order(order);
        if let Some(audience) = &mut self.context.audience {
            audience.order(order);
        }
    }

    /// Connections of both kinds of workers.
    fn connections(&self) -> Connections {
        let mut connections = self.gathered.connections();
        if let Some(audience) = &self.audience {
            connections += &audience.connections();
        }
        connections
    }

    /// Whether every worker has sent the last tick of the level.
    fn is_over(&self) -> bool {
        self.gathered.is_over() && self.audience.as_ref().is_none_or(Gathered::is_over)
    }

    fn begin_window(&mut self, begin_ns: u64, ends: WindowEnds) {
        self.gathered.begin_window(begin_ns, ends);
        if let Some(audience) = &mut self.audience {
            audience.begin_window(begin_ns, ends);
        }
    }

    /// Writes readings, and reports when the server's host sends no more.
    fn take_readings(&mut self) {
        if let Some(why) = self.context.watch.take() {
            let text = lost_notice(why);
            (self.context.notify)(Event::Notice(text));
        }
    }

    /// Waits for the last readings of the window: a full link delays them, and a busy host sends
    /// them late. After an interrupt it waits only briefly.
    fn await_far_readings(&mut self, window_begin_ns: u64) -> Result<(), LabError> {
        let window_ns = (window_begin_ns, self.gathered.window_end_ns());
        let begin_ns = self.now_ns();
        while self.context.watch.is_behind(window_ns) {
            let late_ns = match self.ending {
                Some(Outcome::TargetLost) => 0,
                Some(Outcome::Interrupted) => FAR_LATE_INTERRUPTED_NS,
                _ => FAR_LATE_NS,
            };
            if self.listen()? >= begin_ns + late_ns {
                break;
            }
            self.take_readings();
        }
        Ok(())
    }

    fn tell(&mut self, stage: &'static str, done: Option<f64>, now_ns: u64) {
        let passed_ns = now_ns - self.told_ns;
        if passed_ns < PROGRESS_NS {
            return;
        }
        self.told_ns = now_ns;
        self.take_readings();
        let mut fresh = std::mem::take(&mut self.gathered.fresh);
        if let Some(audience) = &mut self.audience {
            // Progress of a fan-out is about the events that arrive.
            let cpu_ns = fresh.cpu_ns;
            fresh = std::mem::take(&mut audience.fresh);
            fresh.cpu_ns += cpu_ns;
        }
        let counters = (&self.gathered.measured, &self.gathered.unmeasured);
        let failures = counters.0.failed + counters.1.failed + counters.0.errors.attempts();
        let observed = Observed::of(self.context.watch.recent(), 1);
        let open = self.connections().open;
        (self.context.notify)(Event::Progress(Progress {
            stage,
            in_flight: Some(match stage {
                DRAINING => self.gathered.in_flight(),
                _ => self.gathered.all_in_flight(),
            }),
            done,
            open,
            rate: fresh.completed as f64 / (passed_ns as f64 / 1e9),
            connection_rate: (self.crews.level.life.hold.is_some())
                .then(|| fresh.established as f64 / (passed_ns as f64 / 1e9)),
            event_rate: (self.audience.is_some())
                .then(|| fresh.completed as f64 / (passed_ns as f64 / 1e9)),
            p50_ns: fresh.latency.quantile_ns(0.5),
            p99_ns: fresh.latency.quantile_ns(0.99),
            client_cpus: Some(fresh.cpu_ns as f64 / passed_ns as f64),
            server_cpus: observed.server_cpus(),
            failures,
            failed: self.gathered.failed(),
        }));
        if let Some(hosts) = self.context.watch.hosts_now(now_ns) {
            (self.context.notify)(Event::Hosts(hosts));
        }
    }

    /// From time to time has the level judged as far as it is measured, and reports that.
    fn judge_meanwhile(&mut self, (begin_ns, end_ns): (u64, u64), warmup_ns: u64, now_ns: u64) {
        let load = self.load;
        let Some(interim) = &mut self.context.interim else { return };
        if let Some(run) = interim.take(load).filter(|_| now_ns < end_ns) {
            (self.context.notify)(Event::Present(Box::new(run)));
        }
        let is_long = self.gathered.window_end_ns() >= begin_ns + JUDGED_FROM_NS;
        if !is_long || now_ns >= end_ns || !interim.is_due() || !self.gathered.is_aligned() {
            return;
        }
        let window_ns = (begin_ns, self.gathered.window_end_ns());
        let Some(readings) = self.context.watch.snapshot(window_ns) else { return };
        let visit = Visit {
            load,
            gathered: self.gathered.clone(),
            audience: None,
            // It goes on.
            ending: Outcome::Interrupted,
            stopped: None,
            planned: None,
            window_begin_ns: begin_ns,
            warmup_ns,
            begin_ns: self.begin_ns,
            visit_ns: now_ns - self.begin_ns,
            process_cpu_ns: self.context.setting.process_cpu_ns() - self.begin_cpu_ns,
            profiled: false,
        };
        interim.now(Moment { load, crews: self.crews.clone(), visit, readings });
    }

    /// Waits until every connection is open, or no more can be expected.
    fn connect(&mut self) -> Result<(), LabError> {
        let asked = self.crews.connections();
        let (mut opened, mut changed_ns) = (0, self.begin_ns);
        loop {
            let now_ns = self.listen()?;
            let connections = self.connections();
            self.tell("connecting", Some(connections.opened as f64 / asked as f64), now_ns);
            if connections.opened != opened {
                (opened, changed_ns) = (connections.opened, now_ns);
            }
            let stalled = now_ns - changed_ns > CONNECT_STALL_NS;
            if self.ending.is_some() || opened >= asked || stalled {
                return Ok(());
            }
        }
    }

    /// Starts devices one after another; returns how long that took. The figures of the window
    /// include none of it. On a schedule the rate of connections rises, and then stays for as long
    /// as one is held, so that as many are closed as opened when the window starts.
    fn ramp_up(&mut self) -> Result<u64, LabError> {
        self.order(&Order::Warm);
        let begin_ns = self.now_ns();
        self.context.silence.begin(begin_ns);
        let asked = u64::from(self.crews.level.connections);
        let level = &self.crews.level;
        let (is_planned, mut ramp_ns) = (level.plans_starts(), level.life.ramp_up_ns);
        if let (true, Some(Hold::For { ns, jitter })) = (is_planned, level.life.hold) {
            ramp_ns += (ns as f64 * (1.0 + jitter)) as u64;
        }
        loop {
            let passed_ns = self.listen()? - begin_ns;
            let opened = self.gathered.connections().opened;
            self.tell("ramp-up", Some(passed_ns as f64 / ramp_ns.max(1) as f64), self.now_ns());
            let all_tried =
                is_planned || opened >= asked || passed_ns >= ramp_ns + CONNECT_STALL_NS;
            if self.ending.is_some() || passed_ns >= ramp_ns && all_tried {
                return Ok(self.now_ns() - begin_ns);
            }
        }
    }

    /// Runs load that is not measured; returns for how long.
    fn warm_up(&mut self) -> Result<u64, LabError> {
        let (longest_ns, may_settle) = match self.context.trial.warmup {
            Warmup::ForNs(ns) => (ns, false),
            Warmup::SettleWithinNs(ns) => (ns, true),
        };
        if longest_ns == 0 {
            return Ok(0);
        }
        self.order(&Order::Warm);
        let begin_ns = self.now_ns();
        self.context.silence.begin(begin_ns);
        let mut tenths = Vec::new();
        let mut counted = 0;
        loop {
            let now_ns = self.listen()?;
            let passed_ns = now_ns - begin_ns;
            self.tell("warm-up", Some(passed_ns as f64 / longest_ns as f64), now_ns);
            if passed_ns / TENTH_NS > tenths.len() as u64 {
                let completed = self.audience.as_ref().unwrap_or(&self.gathered);
                let completed = completed.unmeasured.completed;
                tenths.push((completed - counted) as f64);
                counted = completed;
                let Counters { sent, completed, failed, .. } = self.gathered.unmeasured;
                self.warm_in_flight_ns += (sent - completed - failed) * TENTH_NS;
            }
            let settled = may_settle && is_settled(&tenths);
            if self.ending.is_some() || passed_ns >= longest_ns || settled {
                return Ok(self.now_ns() - begin_ns);
            }
        }
    }

    /// Lengthens the window when no length was given and the latency of the warm-up is
    /// over a tenth of it. By Little's law that latency is the time that requests spent in flight,
    /// divided by the number of responses; without a response it is longer than the warm-up.
    fn fit_window(&mut self, warmup_ns: u64) {
        let (Stop::AfterNs(ns), Some(most_ns)) = (self.until, self.context.trial.window_max_ns)
        else {
            return;
        };
        let Counters { sent, completed, failed, .. } = self.gathered.unmeasured;
        if sent == 0 || warmup_ns == 0 {
            return;
        }
        let latency_ns = match completed + failed {
            0 => f64::INFINITY,
            fates => self.warm_in_flight_ns as f64 / fates as f64,
        };
        self.until = Stop::AfterNs(fitting_window_ns(ns, latency_ns, most_ns));
    }

    /// Whether the drain of a search's trial may end.
    fn is_settled(&self, end_ns: u64, now_ns: u64) -> bool {
        let trial = self.context.trial;
        // Where nothing came since, the target may have stopped.
        if !self.context.silence.was_broken_since(end_ns) {
            return false;
        }
        let objective = trial.expect.as_ref().filter(|_| trial.search.is_some());
        // Devices close their connections in order, which does not take long.
        let Some(objective) = objective.filter(|_| self.crews.level.plans_requests()) else {
            return false;
        };
        // Ticks of the window may arrive a moment later.
        let waited_ns = now_ns.saturating_sub(end_ns).saturating_sub(2 * TENTH_NS);
        if waited_ns < settled::DRAIN_MIN_NS {
            return false;
        }
        let planned = match (&self.crews.level.arrival, self.until) {
            (Arrival::Open { curve, .. }, Stop::AfterNs(ns)) => curve.planned_until(ns),
            _ => 0.0,
        };
        // Random spacing may leave out some.
        let planned = (planned - 4.0 * planned.sqrt()).max(0.0) as u64;
        let gathered = &self.gathered;
        settled::is_settled(
            objective,
            &Known {
                latency: &gathered.histograms[Dist::Latency],
                service: &gathered.histograms[Dist::Service],
                failed: gathered.measured.failed,
                in_flight: gathered.in_flight(),
                unsent: planned.saturating_sub(gathered.measured.sent),
                waited_ns,
            },
        )
    }

    /// Runs the measured window and the drain; returns when the window started.
    fn measure(&mut self, warmup_ns: u64) -> Result<u64, LabError> {
        let begin_ns = self.now_ns() + self.context.setting.lead_ns();
        let (end_ns, budget) = match self.until {
            Stop::AfterNs(ns) => (begin_ns + ns, None),
            Stop::AfterRequests(count) => (u64::MAX, Some(count)),
        };
        // Devices that are still open after the ramp-down are closed.
        self.sends_end_ns = end_ns;
        let drain_ns = self.context.trial.drain_ns + self.crews.level.life.ramp_down_ns;
        let ends = WindowEnds::of(&self.crews.level.arrival, end_ns, budget);
        self.context.silence.begin(begin_ns);
        self.begin_window(begin_ns, ends);
        self.context.crew.order_measure(begin_ns, end_ns, budget, drain_ns);
        if let Some(audience) = &mut self.context.audience {
            audience.order_measure(begin_ns, end_ns, None, drain_ns.min(EVENTS_DRAIN_NS));
        }
        if let Some(profiler) = &mut self.context.profiler {
            profiler.start((begin_ns, end_ns));
        }
        if let Some(watcher) = &mut self.context.evidence {
            watcher.start((begin_ns, end_ns));
        }
        let mut give_up_ns = u64::MAX;
        if budget.is_none() {
            give_up_ns = end_ns + drain_ns + LAST_TICK_NS;
        }
        while !self.is_over() {
            let now_ns = self.listen()?;
            let (stage, done) = match budget {
                _ if now_ns > end_ns && self.crews.level.life.hold.is_some() => ("ramp-down", None),
                _ if now_ns > end_ns => (DRAINING, None),
                Some(count) => {
                    ("measuring", Some(self.gathered.measured.sent as f64 / count as f64))
                }
                None => {
                    let passed_ns = now_ns.saturating_sub(begin_ns);
                    ("measuring", Some(passed_ns as f64 / (end_ns - begin_ns) as f64))
                }
            };
            self.tell(stage, done, now_ns);
            self.judge_meanwhile((begin_ns, end_ns), warmup_ns, now_ns);
            let timeout_ns = self.context.trial.timeout_ns;
            if budget.is_some() && self.context.silence.is_endless(now_ns, timeout_ns) {
                self.ending = self.ending.or(Some(Outcome::TargetLost));
            }
            let is_enough = self.ending.is_some() || self.is_settled(end_ns, now_ns);
            if is_enough && !self.is_stopping {
                self.is_stopping = true;
                give_up_ns = now_ns + drain_ns + LAST_TICK_NS;
                self.order(&Order::Stop);
            }
            if now_ns > give_up_ns && self.is_silent(now_ns) {
                return Err(LabError::WorkerStuck);
            }
        }
        Ok(begin_ns)
    }

    /// Whether a worker has sent nothing for too long.
    fn is_silent(&self, now_ns: u64) -> bool {
        self.heard_ns.iter().any(|heard_ns| now_ns.saturating_sub(*heard_ns) > LAST_TICK_NS)
    }

    /// When the target stopped responding, if it did.
    fn stopped(&self) -> Option<Stopped> {
        let now_ns = self.now_ns();
        // A user who stops a level does not wait for what is in flight.
        let due_until_ns = match self.ending {
            Some(Outcome::Interrupted) => return None,
            Some(_) => now_ns,
            // The end of a budget is not by the clock: requests were due until they were sent.
            None if self.sends_end_ns == u64::MAX => return None,
            None => self.sends_end_ns,
        };
        self.context.silence.stopped(due_until_ns, now_ns, self.context.trial.timeout_ns)
    }

    fn finish(mut self, window_begin_ns: u64, warmup_ns: u64) -> Result<Visit, LabError> {
        if !self.is_over() {
            // Stopped before the window started: the workers close their accounts all the same.
            self.begin_window(window_begin_ns, WindowEnds::WithSends);
            self.order(&Order::Stop);
            let give_up_ns = self.now_ns() + LAST_TICK_NS;
            while !self.is_over() {
                let now_ns = self.listen()?;
                if now_ns > give_up_ns && self.is_silent(now_ns) {
                    return Err(LabError::WorkerStuck);
                }
            }
        }
        let stopped = self.stopped();
        self.context.watch.look();
        self.take_readings();
        self.await_far_readings(window_begin_ns)?;
        let context = &self.context;
        let planned = match self.ending {
            None => planned::planned(context.trial, self.until, &self.crews.level, self.load),
            Some(_) => None,
        };
        Ok(Visit {
            load: self.load,
            audience: self.audience,
            planned,
            ending: match &stopped {
                Some(_) => Outcome::TargetLost,
                None => self.ending.unwrap_or(Outcome::Complete),
            },
            stopped,
            window_begin_ns,
            warmup_ns,
            begin_ns: self.begin_ns,
            visit_ns: context.setting.now_ns() - self.begin_ns,
            process_cpu_ns: context.setting.process_cpu_ns() - self.begin_cpu_ns,
            profiled: context.profiler.as_ref().is_some_and(Profiler::has_begun),
            gathered: self.gathered,
        })
    }
}

/// Whether the target shows that it accepts connections: one is open, the first is being opened, or
/// some were established since the last look. Devices can come and go between two ticks.
fn is_alive(connections: &Connections, before: u64, established: u64) -> bool {
    let is_first = connections.opening > 0 && established == 0;
    connections.open > 0 || is_first || established > before
}

/// How long a window of `ns` should be: ten times the latency, at most `most_ns`, in whole seconds.
fn fitting_window_ns(ns: u64, latency_ns: f64, most_ns: u64) -> u64 {
    let wanted_ns = LATENCIES_PER_WINDOW * latency_ns;
    if wanted_ns <= ns as f64 {
        return ns;
    }
    let whole_ns = (wanted_ns / 1e9).ceil() * 1e9;
    (whole_ns.min(most_ns as f64) as u64).max(ns)
}

/// Whether the last tenths of a second agree: within a tenth of their mean, or within chance.
fn is_settled(tenths: &[f64]) -> bool {
    if tenths.len() < SETTLED_TENTHS {
        return false;
    }
    let recent = &tenths[tenths.len() - SETTLED_TENTHS..];
    let mean = recent.iter().sum::<f64>() / SETTLED_TENTHS as f64;
    let allowed = 0.10 + 3.0 / mean.max(1.0).sqrt();
    mean > 0.0 && recent.iter().all(|tenth| (tenth / mean - 1.0).abs() <= allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_ten_latencies_long_up_to_a_limit() {
        let (second, most) = (1_000_000_000, 30_000_000_000);
        let window_s =
            |latency_ms: f64| fitting_window_ns(3 * second, latency_ms * 1e6, most) / second;
        assert_eq!((window_s(1.0), window_s(300.0)), (3, 3), "long enough");
        assert_eq!((window_s(301.0), window_s(1234.0)), (4, 13), "ten latencies");
        assert_eq!((window_s(5000.0), window_s(f64::INFINITY)), (30, 30), "the limit");
        assert_eq!(fitting_window_ns(60 * second, f64::INFINITY, most), 60 * second);
    }

    #[test]
    fn devices_that_come_and_go_between_two_ticks_show_a_target_that_is_alive() {
        let none = Connections::default();
        let (open, opening) = (Connections { open: 1, ..none }, Connections { opening: 1, ..none });
        assert!(is_alive(&open, 5, 5) && is_alive(&opening, 0, 0));
        assert!(is_alive(&none, 5, 6), "one came and went");
        for connections in [none, opening] {
            assert!(!is_alive(&connections, 5, 5), "nothing is accepted: {connections:?}");
        }
    }

    #[test]
    fn a_warm_up_settles_when_five_tenths_agree() {
        assert!(!is_settled(&[1000.0; 4]));
        assert!(is_settled(&[10.0, 500.0, 1000.0, 1010.0, 990.0, 1000.0, 1005.0]));
        assert!(!is_settled(&[500.0, 600.0, 700.0, 800.0, 900.0]));
        assert!(!is_settled(&[0.0; 8]), "nothing is not steady");
    }
}

//! From a trial to a run: set up, visit the levels, judge, tear down.

use crate::drift;
use crate::fanout::{self, AudienceError, Stamps};
use crate::gather::Gathered;
use crate::level::{Ending, Stagehands, Visit, visit};
use crate::limits::{self, LimitError, Tables};
use crate::preflight::{GreetError, Manners, SecretsError};
use crate::profiler::{self, Profiler};
use crate::setting::Setting;
use crate::target::{self, Unreachable};
use crate::watch::{Logs, Source, Watch};
use crate::{confirm, definitions, mix, search, server, turnover};
use engine::StartError;
use engine::job::Job;
use judge::objective;
use judge::observe::Observed;
use judge::steady::{Steadiness, steadiness_of};
use judge::{Context, judge_point, judge_run};
use model::curve::Curve;
use model::event::Event;
use model::facts::HostFacts;
use model::histogram::{Histogram, Summary};
use model::load::{Arrival, DriverKind, Level, Life, LoadModel, ServerProcess, Stop, Trial};
use model::perturbation::Perturbation;
use model::profile::ProfileRecord;
use model::punctual::{Window, punctual};
use model::route::{self, Address, Route};
use model::run::{
    Bytes, ConnectionInfo, CpuCost, EndUse, Handshakes, InFlight, LoadInfo, LoopInfo, Outcome,
    Point, Record, RequestInfo, Run, SCHEMA, Target, Unmeasured, count_codes, count_errors,
    count_mismatches, count_requests, count_status,
};
use model::search::SearchRecord;
use model::series::Second;
use model::standing::Standings;
use model::tick::ErrorClass;
use probe::{Config, Ends, Sampler};
use remote::{Far, FarError};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use wire::tape::{EncodeError, Tape};

/// Why no run could be made.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Nobody answers at the target.
    #[error("cannot connect to {0}")]
    Unreachable(#[from] Unreachable),
    /// No source is of the family of an address that answers.
    #[error(
        "no --source is of the address family of a target that responses; give one that is, for \
         example --source 127.0.0.1,::1"
    )]
    NoRoute,
    /// Somebody accepts connections, but cannot be spoken to.
    #[error("{0}")]
    Greet(#[from] GreetError),
    /// Certificates cannot be used.
    #[error("{0}")]
    Secrets(#[from] SecretsError),
    /// A limit of this host stands in the way.
    #[error("{0}")]
    Limit(#[from] LimitError),
    /// The server's host cannot be looked at as asked.
    #[error("{0}")]
    Probe(#[from] FarError),
    /// The request cannot be encoded.
    #[error("{0}")]
    Request(#[from] EncodeError),
    /// The workers did not start.
    #[error("{0}")]
    Start(#[from] StartError),
    /// Those who listen did not start.
    #[error("{0}")]
    Audience(#[from] AudienceError),
    /// A worker ended by itself: a bug of ours.
    #[error("a worker thread ended by itself")]
    WorkerLost,
    /// A worker does not answer: a bug of ours.
    #[error("a worker thread does not hand over its last interval")]
    WorkerStuck,
}

/// What a run gathers while it goes on.
pub(crate) struct Bench<'a> {
    pub(crate) trial: &'a Trial,
    pub(crate) setting: Setting<'a>,
    host: HostFacts,
    pub(crate) target: Target,
    pub(crate) routes: Vec<Route>,
    /// Connections established by each of them.
    opened_on: Vec<u64>,
    /// Resident memory of the generator before any of it was for connections.
    before_bytes: u64,
    manners: Manners,
    /// The clock that events are stamped by.
    stamps: Stamps,
    /// The probe on the server's host, until load begins.
    far: Option<Far>,
    pub(crate) points: Vec<Point>,
    pub(crate) observed: Vec<Observed>,
    /// The level of each point.
    pub(crate) levels: Vec<Level>,
    latencies: Vec<Histogram>,
    notices: Vec<String>,
    pub(crate) outcome: Outcome,
    pub(crate) search: Option<SearchRecord>,
    /// Experiments made to confirm the verdict.
    pub(crate) perturbations: Vec<Perturbation>,
    /// Profiles of the server.
    pub(crate) profile: Option<ProfileRecord>,
}

/// Runs a trial. `stop` may be set at any time: the run then ends in order with what it has.
/// `command` is the command line, for the record. Raw readings go to `logs` as they come, and
/// are left for the caller to load into the run.
pub fn run(
    trial: &Trial,
    command: &[String],
    logs: &mut Logs,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(Event),
) -> Result<Run, LabError> {
    run_in(Setting::Live, trial, command, logs, stop, notify)
}

/// The same elsewhere than on this host.
pub fn run_in(
    setting: Setting<'_>,
    trial: &Trial,
    command: &[String],
    logs: &mut Logs,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(Event),
) -> Result<Run, LabError> {
    let started_at = setting.timestamp();
    let mut bench = Bench::set_up(setting, trial, notify)?;
    bench.before_bytes = setting.resident_bytes().unwrap_or(0);
    let tape = Tape::new(&trial.requests, depth_max(trial))?.with_checks(&mix::checks(trial));
    let job = bench.job(trial, tape);
    let mut crew = setting.start(&job)?;
    bench.stamps = Stamps::of(trial.addresses.first(), bench.target.server.as_ref());
    let mut audience = match &trial.fanout {
        Some(fanout) => Some(fanout::start(trial, fanout, &job, &bench.stamps)?),
        None => None,
    };
    let mut watch = Watch::new(bench.source(), &mut logs.near);
    if let (Some(far), Some(log)) = (bench.far.take(), &mut logs.far) {
        watch = watch.with_far(far, log);
    }
    let (crew_lent, watch_lent) = (&mut crew, &mut watch);
    let (until, notify_lent) = (trial.stop, &mut *notify);
    let mut hands = Stagehands {
        setting,
        crew: crew_lent,
        audience: audience.as_mut(),
        watch: watch_lent,
        trial,
        until,
        stop,
        notify: notify_lent,
        profiler: Profiler::of_the_point(&bench),
    };
    match trial.search {
        None => bench.visit_levels(&mut hands)?,
        Some(config) => search::run(&mut bench, &mut hands, config)?,
    }
    profiler::run(&mut bench, &mut hands)?;
    drop(crew);
    drop(audience);
    confirm::run(&mut bench, &mut watch, stop, notify);
    watch.stop();
    bench.update_probe(&watch);
    if let Some(failure) = watch.failure() {
        bench.notice(format!("raw readings are missing from the end: {failure}"), notify);
    }
    Ok(bench.finish(command, started_at))
}

pub(crate) fn depth_max(trial: &Trial) -> u32 {
    trial.levels.iter().map(|level| level.depth).max().unwrap_or(1)
}

/// Connections of those who ask; there is room for one where nobody does.
pub(crate) fn connections_max(trial: &Trial) -> u32 {
    let asking = |level: &Level| fanout::asking(trial, level);
    let most = |level: Level| level.connections.max(level.connections_max);
    trial.levels.iter().map(asking).map(most).max().unwrap_or(1).max(1)
}

/// Worker threads: none is without a connection.
pub(crate) fn threads(trial: &Trial) -> u32 {
    trial.threads.min(connections_max(trial))
}

impl<'a> Bench<'a> {
    fn set_up(
        setting: Setting<'a>,
        trial: &'a Trial,
        notify: &mut dyn FnMut(Event),
    ) -> Result<Self, LabError> {
        let mut bench = Self::bare(setting, trial)?;
        if let Setting::Model(model) = setting {
            bench.set_routes(&trial.addresses, notify);
            bench.target.server = model.server();
            return Ok(bench);
        }
        let levels = fanout::levels(trial);
        let most = |level: &Level| u64::from(level.connections.max(level.connections_max));
        let connections = levels.iter().map(most).max().unwrap_or(1);
        if trial.driver == DriverKind::Null {
            bench.notices.push("driver null: no server was asked anything".to_string());
            return Ok(bench);
        }
        let tables = match trial.driver {
            DriverKind::Uring => Tables::OfWorkers(u64::from(threads(trial))),
            _ => Tables::OfProcess,
        };
        if let Some(raised) = limits::allow_files(connections, tables)? {
            bench.notice(raised, notify);
        }
        let timeout = Duration::from_nanos(trial.timeout_ns.min(3_000_000_000));
        let (good, bad) = target::reach(&trial.addresses, timeout)?;
        for unreachable in bad {
            bench.notice(format!("left out an address that refuses: {unreachable}"), notify);
        }
        bench.set_routes(&good, notify);
        if bench.routes.is_empty() {
            return Err(LabError::NoRoute);
        }
        for address in &good {
            let agreed = bench.manners.try_once(trial, address, timeout)?;
            bench.target.tls = bench.target.tls.take().or(agreed);
        }
        // After the connections above, whose ports are not free at once.
        limits::allow_ports(&levels, &bench.routes)?;
        bench.find_server(notify)?;
        Ok(bench)
    }

    /// Before anything was looked for.
    fn bare(setting: Setting<'a>, trial: &'a Trial) -> Result<Self, LabError> {
        let host = match setting {
            Setting::Live => HostFacts { tuned: drift::tuned(), ..probe::host_facts() },
            Setting::Model(model) => model.host(),
        };
        Ok(Self {
            trial,
            setting,
            host,
            target: Target {
                url: trial.url.clone(),
                addresses: trial.addresses.iter().map(ToString::to_string).collect(),
                resolution: Some(trial.resolution.clone()),
                addresses_used: Vec::new(),
                sources_used: Vec::new(),
                server: None,
                tls: None,
                proxy: trial.proxy.as_ref().map(|proxy| proxy.url.clone()),
                probe: None,
            },
            routes: Vec::new(),
            opened_on: Vec::new(),
            manners: Manners::of(trial)?,
            stamps: Stamps::of(None, None),
            far: None,
            points: Vec::new(),
            observed: Vec::new(),
            latencies: Vec::new(),
            notices: Vec::new(),
            outcome: Outcome::Complete,
            before_bytes: 0,
            search: None,
            perturbations: Vec::new(),
            profile: None,
            levels: Vec::new(),
        })
    }

    /// Where readings of this host come from.
    fn source(&self) -> Source<'a> {
        if let Setting::Model(model) = self.setting {
            return Source::Model(model);
        }
        // Behind a proxy the port is that of the proxy.
        let first = self.trial.addresses.first().filter(|_| self.trial.proxy.is_none());
        Source::live(Sampler::start(Config {
            server_pid: self.target.server.as_ref().map(|server| server.pid),
            port: first.and_then(Address::port),
            ends: self.ends(),
            runtime: self.trial.runtime,
            ..Config::default()
        }))
    }

    /// Looks at the server's processes here, or asks the probe on its host to.
    fn find_server(&mut self, notify: &mut dyn FnMut(Event)) -> Result<(), LabError> {
        let address = &self.routes[0].to;
        if let ServerProcess::Probe(choice) = &self.trial.server {
            let (far, host, unseen) = server::call(self.trial, choice, address)?;
            (self.far, self.target.probe) = (Some(far), Some(host));
            unseen.into_iter().for_each(|unseen| self.notice(unseen, notify));
            return Ok(());
        }
        match server::identify(self.trial, address) {
            Ok(facts) => self.target.server = Some(facts),
            Err(why) => self.notice(why, notify),
        }
        Ok(())
    }

    /// Which ends of the load are on this host.
    fn ends(&self) -> Ends {
        if self.target.probe.is_some() { Ends::Client } else { Ends::Both }
    }

    fn set_routes(&mut self, reached: &[Address], notify: &mut dyn FnMut(Event)) {
        self.routes = route::routes(reached, &self.trial.sources);
        let is_used = |address: &&Address| self.routes.iter().any(|route| route.to == **address);
        let (used, left_out): (Vec<_>, Vec<_>) = reached.iter().partition(is_used);
        self.target.addresses = used.iter().map(ToString::to_string).collect();
        for address in left_out {
            let text = format!("left out an address that no --source can reach: {address}");
            self.notice(text, notify);
        }
    }

    /// Adds up how often addresses and sources were used.
    fn count_uses(&mut self) {
        let opened_on = || self.routes.iter().zip(&self.opened_on);
        let to = opened_on().map(|(route, opened)| (route.to.to_string(), *opened));
        let from =
            opened_on().filter_map(|(route, opened)| Some((route.from?.to_string(), *opened)));
        (self.target.addresses_used, self.target.sources_used) = (end_uses(to), end_uses(from));
    }

    pub(crate) fn notice(&mut self, text: String, notify: &mut dyn FnMut(Event)) {
        notify(Event::Notice(text.clone()));
        self.notices.push(text);
    }

    pub(crate) fn job(&self, trial: &Trial, tape: Tape) -> Job {
        Job {
            driver: trial.driver,
            routes: self.routes.clone(),
            tape: Arc::new(tape),
            threads: threads(trial),
            cpus: trial.cpus.clone(),
            connections_max: connections_max(trial),
            depth_max: depth_max(trial),
            timeout_ns: trial.timeout_ns,
            connect_timeout_ns: trial.timeout_ns,
            coalesce_ns: trial.coalesce_ns,
            seed: trial.seed,
            tls: self.manners.recipe.clone(),
            tunnel: self.manners.tunnel.clone(),
        }
    }

    pub(crate) fn context(&self) -> Context<'_> {
        Context {
            trial: self.trial,
            host: &self.host,
            target: &self.target,
            outcome: self.outcome,
            perturbations: &self.perturbations,
        }
    }

    /// Visits every level in turn, as often as asked; one that is not steady at last again.
    fn visit_levels(&mut self, hands: &mut Stagehands<'_, '_>) -> Result<(), LabError> {
        let trial = self.trial;
        let (of, mut load) = (trial.levels.len(), 0);
        for (index, level) in trial.levels.iter().enumerate() {
            for attempt in 1..=trial.visits + trial.repeats_max {
                if self.outcome != Outcome::Complete {
                    return Ok(());
                }
                load += 1;
                (hands.notify)(Event::Level { index, of, attempt, level: level.clone() });
                let visit = visit(hands, level, load)?;
                let is_steady = self.add_visit((level, attempt), visit, hands.watch, hands.notify);
                if is_steady && attempt >= trial.visits {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Makes a point of a visit; false when its throughput was not steady.
    pub(crate) fn add_visit(
        &mut self,
        (level, attempt): (&Level, u32),
        visit: Visit,
        watch: &Watch<'_>,
        notify: &mut dyn FnMut(Event),
    ) -> bool {
        self.opened_on.resize(self.routes.len(), 0);
        for gathered in [Some(&visit.gathered), visit.audience.as_ref()].into_iter().flatten() {
            for (sum, part) in self.opened_on.iter_mut().zip(&gathered.opened_on) {
                *sum += part;
            }
        }
        match visit.ending {
            Ending::Complete => {}
            Ending::Interrupted => self.outcome = Outcome::Interrupted,
            Ending::TargetLost => {
                self.outcome = Outcome::TargetLost;
                self.notice("the target stopped accepting connections".to_string(), notify);
            }
        }
        let window_ns = (visit.window_begin_ns, visit.gathered.window_end_ns());
        if window_ns.0 == window_ns.1 {
            let (connections, requests) = (level.connections, &visit.gathered.unmeasured);
            let text = format!(
                "{connections} connections: ended before anything was measured, with {} requests \
                 answered, {} failed and {} unanswered",
                requests.completed, requests.failed, requests.unanswered
            );
            self.notice(text, notify);
            return true;
        }
        let unsolicited = visit.gathered.connections().unsolicited;
        if unsolicited > 0 {
            let text = format!(
                "{} connections: the server sent bytes that no request had asked for, and \
                 {unsolicited} connections were closed for that; compare its Content-Length with \
                 what it sends",
                level.connections
            );
            self.notice(text, notify);
        }
        let observed = self.observe(watch, window_ns);
        let asking = fanout::asking(self.trial, level);
        let mut point = make_point(self.trial, &asking, attempt, &visit, window_ns, &observed);
        point.load.connections = level.connections;
        let (gathered, duration_s) = (&visit.gathered, point.load.duration_s);
        point.turnover = turnover::info(level, gathered, duration_s, self.before_bytes);
        if let Some(fanout) = &self.trial.fanout {
            point = fanout::complete(point, fanout, &visit, &observed, &self.stamps);
        }
        point.fingerprints = judge::fingerprints::of_point(&point, &visit.gathered.latency);
        let point = judge_point(self.context(), point, &observed);
        let is_steady =
            matches!(steadiness_of(&point), Steadiness::Steady { .. } | Steadiness::Unknown);
        notify(Event::Point(Box::new(point.clone())));
        self.points.push(point);
        self.levels.push(level.clone());
        self.observed.push(observed);
        self.latencies.push(visit.gathered.latency);
        is_steady
    }

    /// What was seen in a window, here and on the server's host.
    pub(crate) fn observe(&mut self, watch: &Watch<'_>, window_ns: (u64, u64)) -> Observed {
        self.update_probe(watch);
        let mut observed = Observed::of(watch.inside(window_ns), self.host.clock_tick_ns);
        let probe = self.target.probe.as_ref();
        if let Some((probe, readings)) = probe.zip(watch.far_inside(window_ns)) {
            observed.far = Some(Box::new(Observed::of(readings, probe.host.clock_tick_ns)));
        }
        observed
    }

    /// Takes over what is known of the clocks, and that the probe was lost if it was; somebody was
    /// told of that when it happened.
    fn update_probe(&mut self, watch: &Watch<'_>) {
        let Some((probe, (clock, lost))) = self.target.probe.as_mut().zip(watch.far_state()) else {
            return;
        };
        probe.clock = clock;
        if let (None, Some(why)) = (&probe.lost, lost) {
            probe.lost = Some(why.to_string());
            self.notices.push(lost_notice(why));
        }
    }

    fn finish(mut self, command: &[String], started_at: jiff::Timestamp) -> Run {
        self.count_uses();
        let verdict = judge_run(self.context(), &self.points, &self.observed);
        let shape = judge::shape::of_ramp(self.trial, &self.points);
        let fingerprints = judge::fingerprints::of_ramp(self.trial, &self.points);
        // A search makes trials that miss on purpose; its response stands for them all.
        let expect = self.trial.expect.as_ref().filter(|_| self.search.is_none());
        let expectations =
            expect.map_or_else(Vec::new, |expect| objective::over_run(expect, &self.points));
        let stamp = started_at.strftime("%Y%m%dT%H%M%S").to_string();
        let record = Record {
            schema: SCHEMA.to_string(),
            id: format!("{stamp}-{:08x}", self.trial.seed as u32),
            version: env!("CARGO_PKG_VERSION").to_string(),
            started_at: started_at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            command: command.to_vec(),
            seed: self.trial.seed,
            outcome: self.outcome,
            trial: mix::kept(self.trial),
            host: self.host,
            target: self.target,
            points: self.points,
            verdict,
            expectations,
            search: self.search,
            perturbations: self.perturbations,
            profile: self.profile,
            shape,
            fingerprints,
            notices: self.notices,
            definitions: definitions::all(),
        };
        let latencies = self.latencies;
        Run { record, readings: Vec::new(), server_readings: Vec::new(), latencies }
    }
}

/// What is told when the probe on the server's host is lost.
pub(crate) fn lost_notice(why: &str) -> String {
    format!("the probe on the server's host was lost: {why}; the run goes on without it")
}

/// Sums by address, in the order in which addresses come.
fn end_uses(opened: impl Iterator<Item = (String, u64)>) -> Vec<EndUse> {
    let (mut uses, mut places): (Vec<EndUse>, _) = (Vec::new(), BTreeMap::new());
    for (address, connections) in opened {
        let place = *places.entry(address.clone()).or_insert(uses.len());
        if place == uses.len() {
            uses.push(EndUse { address, connections: 0 });
        }
        uses[place].connections += connections;
    }
    uses
}

/// A point of a visit, before it is judged.
pub(crate) fn make_point(
    trial: &Trial,
    level: &Level,
    attempt: u32,
    visit: &Visit,
    window_ns: (u64, u64),
    observed: &Observed,
) -> Point {
    let gathered = &visit.gathered;
    let duration_s = (window_ns.1 - window_ns.0) as f64 / 1e9;
    let rate = per_second(gathered.arrived as f64, duration_s);
    // What failed has no latency of a good response, however fast it failed.
    let lost = gathered.measured.unanswered + gathered.measured.failed;
    let latency_ns = gathered.latency.summary(lost + gathered.measured.unsent);
    let is_open = matches!(level.arrival, Arrival::Open { .. });
    let requests = requests_info(trial, level, visit);
    let planned_rate = |planned: u64| per_second(planned as f64, duration_s);
    Point {
        load: load_info(trial, level, duration_s),
        attempt,
        profiled: visit.profiled,
        window_ns,
        connections: connection_info(trial, level, gathered),
        turnover: None,
        events: None,
        offered_rate: requests.planned.filter(|_| is_open).map(planned_rate),
        requests,
        status: count_status(&gathered.measured),
        error_codes: count_codes(&gathered.error_codes),
        mismatched: gathered.measured.mismatches.sum(),
        mismatches: count_mismatches(&gathered.measured),
        errors: count_errors(&gathered.measured),
        rate,
        bytes: Bytes {
            sent: gathered.measured.bytes_sent,
            received: gathered.measured.bytes_received,
        },
        service_ns: if is_open { gathered.service.summary(lost) } else { latency_ns.clone() },
        latency_ns,
        latency_good_ns: Some(gathered.latency.summary(0)),
        release_lag_ns: is_open.then(|| gathered.release_lag.summary(0)),
        lateness_ns: is_open.then(|| gathered.lateness.summary(0)),
        latency_punctual_ns: punctual_latency(level, gathered),
        unseen_ns: stood_still(level, gathered).then(|| gathered.unseen.summary(0)),
        latency_at_least_ns: at_least(gathered),
        // The judge splits it.
        residence: None,
        in_flight: in_flight(level, gathered, duration_s),
        cpu: cpu_cost(visit, duration_s, observed),
        client_loop: loop_info(trial, level, gathered, duration_s),
        series: series(level, gathered),
        per_100ms: match level.life.hold {
            Some(_) => gathered.tenths_established.clone(),
            None => gathered.tenths.clone(),
        },
        unmeasured: unmeasured(visit),
        targets: mix::results(trial, &gathered.targets),
        gates: Vec::new(),
        standing: Standings::default(),
        expectations: Vec::new(),
        fingerprints: Vec::new(),
        // Until the judge has spoken.
        verdict: judge::undecided(),
    }
}

/// Whether the generator did not run when it meant to, as far as that is not told by how late its
/// requests left the plan.
fn stood_still(level: &Level, gathered: &Gathered) -> bool {
    let is_closed = matches!(level.arrival, Arrival::Closed);
    !gathered.unseen.is_empty() || is_closed && !gathered.lateness.is_empty()
}

/// What a generator that is always on time would have seen at least; nothing in closed loop where
/// this one was.
fn punctual_latency(level: &Level, gathered: &Gathered) -> Option<Summary> {
    let is_open = matches!(level.arrival, Arrival::Open { .. });
    if !is_open && !stood_still(level, gathered) {
        return None;
    }
    let measured = &gathered.measured;
    let censored = measured.unanswered + measured.failed + measured.unsent;
    // In closed loop there is no service beside the latency.
    let Gathered { latency, service, lateness, unseen, .. } = gathered;
    Some(punctual(Window { latency, service, lateness, unseen, censored }))
}

fn in_flight(level: &Level, gathered: &Gathered, duration_s: f64) -> InFlight {
    let ends = gathered.in_flight_at_ends();
    let mean = || gathered.window_loop.in_flight_ns as f64 / 1e9 / duration_s;
    InFlight {
        mean: (duration_s > 0.0).then(mean),
        first: ends.map(|(first, _)| first),
        last: ends.map(|(_, last)| last),
        limit: u64::from(level.connections.max(level.connections_max)) * u64::from(level.depth),
    }
}

fn unmeasured(visit: &Visit) -> Unmeasured {
    let counters = &visit.gathered.unmeasured;
    Unmeasured {
        duration_s: visit.warmup_ns as f64 / 1e9,
        sent: counters.sent,
        completed: counters.completed,
        failed: counters.failed,
        unanswered: counters.unanswered,
        bytes_received: counters.bytes_received,
    }
}

fn requests_info(trial: &Trial, level: &Level, visit: &Visit) -> RequestInfo {
    let arrived = Some(visit.gathered.arrived);
    let mut info = RequestInfo { arrived, ..count_requests(&visit.gathered.measured) };
    if let Arrival::Open { .. } = level.arrival {
        info.planned = visit.planned.or(Some(info.sent + info.unsent));
    }
    if let Stop::AfterRequests(planned) = trial.stop {
        (info.planned, info.unsent) = (Some(planned), planned.saturating_sub(info.sent));
    }
    info
}

/// The latency distribution with lower bounds in it, when requests are without a response. What
/// failed in another way is beyond every value: no time is a bound of what it never got.
fn at_least(gathered: &Gathered) -> Option<Summary> {
    if gathered.at_least.is_empty() {
        return None;
    }
    let mut merged = gathered.latency.clone();
    merged.merge(&gathered.at_least);
    let timed_out = gathered.measured.errors.get(ErrorClass::Timeout);
    Some(merged.summary(gathered.measured.failed - timed_out))
}

/// The series, with the rate that was asked for in each second.
fn series(level: &Level, gathered: &Gathered) -> Vec<Second> {
    let mut series = gathered.series();
    if let Arrival::Open { curve, .. } = &level.arrival {
        let mut begin = (0.0, 0.0);
        for second in &mut series {
            let planned = curve.planned_until((second.t_s * 1e9) as u64);
            let length_s = second.t_s - begin.0;
            second.asked_rate = (length_s > 0.0).then(|| (planned - begin.1) / length_s);
            begin = (second.t_s, planned);
        }
    }
    series
}

fn per_second(count: f64, duration_s: f64) -> f64 {
    if duration_s > 0.0 { count / duration_s } else { 0.0 }
}

fn load_info(trial: &Trial, level: &Level, duration_s: f64) -> LoadInfo {
    let (model, curve, arrivals) = match &level.arrival {
        Arrival::Closed => (LoadModel::Closed, None, None),
        Arrival::Open { curve, arrivals } => (LoadModel::Open, Some(curve), Some(*arrivals)),
    };
    let rate = |curve: &Curve| {
        curve.constant_rate().unwrap_or_else(|| curve.mean_rate((duration_s * 1e9) as u64))
    };
    LoadInfo {
        model,
        connections: level.connections,
        connections_max: level.connections.max(level.connections_max),
        depth: level.depth,
        rate: curve.map(rate),
        curve: curve.filter(|curve| curve.constant_rate().is_none()).cloned(),
        arrivals,
        life: (level.life != Life::default()).then_some(level.life),
        duration_s,
        driver: trial.driver.name().to_string(),
        threads: threads(trial),
        coalesce_ns: trial.coalesce_ns,
    }
}

fn connection_info(trial: &Trial, level: &Level, gathered: &Gathered) -> ConnectionInfo {
    let connections = gathered.connections();
    ConnectionInfo {
        asked: u64::from(level.connections),
        opened: connections.opened,
        served: gathered.served(),
        failed: connections.failed,
        reopened: connections.reopened,
        unsolicited: connections.unsolicited,
        connect_ns: gathered.connect.summary(0),
        handshakes: handshakes(trial, gathered),
        requests_each: gathered.requests_each(),
    }
}

/// Nothing where there is neither TLS nor a proxy.
fn handshakes(trial: &Trial, gathered: &Gathered) -> Handshakes {
    let mut info = Handshakes::default();
    let tally = &gathered.tls;
    if trial.tls.is_some() {
        info.handshakes = Some(tally.handshakes);
        info.resumed = Some(tally.resumed);
        info.handshake_ns = Some(gathered.handshake.summary(0));
        info.handshake_failures = Some(tally.causes());
    }
    if trial.proxy.is_some() {
        info.tunnels_refused = Some(tally.refused);
        info.tunnel_status = Some(tally.refused_status).filter(|status| *status > 0);
    }
    info
}

/// What was done for responses that came to nothing was done too: all responses of the window
/// share its CPU time, and whoever answers many errors cheaply is not told as dear.
fn cpu_cost(visit: &Visit, duration_s: f64, observed: &Observed) -> CpuCost {
    let (mut window, mut level) = (visit.gathered.window_loop, visit.gathered.level_loop);
    if let Some(audience) = &visit.audience {
        window += &audience.window_loop;
        level += &audience.level_loop;
    }
    let worker_ns = (window.cpu_user_ns + window.cpu_system_ns) as f64;
    // Conductor and probe work evenly over the visit; the window bears its share of them.
    let beside_ns =
        visit.process_cpu_ns.saturating_sub(level.cpu_user_ns + level.cpu_system_ns) as f64;
    let beside_ns = beside_ns * duration_s * 1e9 / visit.visit_ns.max(1) as f64;
    let responses = visit.gathered.answered;
    let each_us = |ns: f64| (responses > 0).then(|| ns / 1e3 / responses as f64);
    let server_cpus = observed.far.as_deref().unwrap_or(observed).server_cpus();
    CpuCost {
        responses: Some(responses),
        client_us_per_request: each_us(worker_ns + beside_ns),
        // Sampled by the tick: in a short window none may have hit user code.
        client_usr_us_per_request: each_us(window.cpu_user_ns as f64).filter(|us| *us > 0.0),
        server_us_per_request: server_cpus.and_then(|cpus| each_us(cpus * duration_s * 1e9)),
        client_cpus: (duration_s > 0.0).then(|| (worker_ns + beside_ns) / 1e9 / duration_s),
        server_cpus,
    }
}

fn loop_info(trial: &Trial, level: &Level, gathered: &Gathered, duration_s: f64) -> LoopInfo {
    let window = &gathered.window_loop;
    let is_open = matches!(level.arrival, Arrival::Open { .. });
    let time_ns = duration_s * 1e9 * f64::from(threads(trial));
    LoopInfo {
        spin_share: (is_open && time_ns > 0.0).then(|| window.spin_ns as f64 / time_ns),
        turns_per_s: per_second(window.turns as f64, duration_s),
        turn_mean_ns: (window.turns > 0).then(|| window.turn_sum_ns as f64 / window.turns as f64),
        turn_max_ns: window.turn_max_ns,
        socket_bytes: gathered.level_loop.socket_bytes,
        stray_bytes: gathered.level_loop.stray_bytes,
    }
}

//! What a run collects while it goes on, and the record made from that.

use crate::crews::{CrewSize, Crews};
use crate::drift;
use crate::fanout::Stamps;
use crate::hosts_now::RecentHosts;
use crate::interim::Bench;
use crate::judged::{Head, Making};
use crate::level::LevelContext;
use crate::mix;
use crate::preflight::{self, Manners};
use crate::setting::Setting;
use crate::streams;
use crate::visit::Visit;
use crate::watch::{Watch, lost_notice};
use engine::job::Job;
use jiff::Timestamp;
use judge::observe::Observed;
use judge::steady::{Steadiness, steadiness_of};
use judge::{Context, judge_point};
use model::dist::Dist;
use model::event::Event;
use model::facts::HostFacts;
use model::fault::Fault;
use model::figure::Whose;
use model::fleet::{AgentPoint, FleetAccount, FleetRecord, Share};
use model::histogram::Histogram;
use model::kernel::KernelRecord;
use model::load::{Level, Stop, Trial};
use model::perturbation::Perturbation;
use model::profile::ProfileRecord;
use model::route::Route;
use model::run::{EndUse, InFlight, Outcome, Point, Run, Target};
use model::search::SearchRecord;
use model::tick::Counters;
use model::units::show_bytes;
use remote::Far;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use wire::program::Program;
use wire::tape::EncodeError;

/// How long a server may take for the handshake that shows whether it speaks TLS.
const TLS_TRIAL: Duration = Duration::from_secs(1);

/// What a run collects while it goes on.
pub(crate) struct RunBuilder<'a> {
    pub(crate) trial: &'a Trial,
    pub(crate) setting: Setting<'a>,
    host: HostFacts,
    pub(crate) target: Target,
    pub(crate) routes: Vec<Route>,
    /// Connections established by each of them.
    opened_on: Vec<u64>,
    /// Resident memory of the generator before it had any connections.
    pub(crate) before_bytes: u64,
    pub(crate) manners: Manners,
    /// The clock that stamps events.
    pub(crate) stamps: Stamps,
    /// The probe on the server's host, until load begins.
    pub(crate) far: Option<Far>,
    pub(crate) points: Vec<Point>,
    pub(crate) observed: Vec<Observed>,
    /// The level of each point.
    pub(crate) levels: Vec<Level>,
    latencies: Vec<Histogram>,
    /// The number of the visit of each point.
    pub(crate) loads: Vec<u32>,
    pub(crate) notices: Vec<String>,
    pub(crate) outcome: Outcome,
    pub(crate) search: Option<SearchRecord>,
    /// Experiments made to confirm the verdict.
    pub(crate) perturbations: Vec<Perturbation>,
    /// Profiles of the server.
    pub(crate) profile: Option<ProfileRecord>,
    /// What programs in the kernel saw.
    pub(crate) kernel: Option<KernelRecord>,
    /// The agents that made the load.
    fleet: Option<FleetRecord>,
    /// What users do, if the load is users.
    pub(crate) program: Option<Arc<Program>>,
}

impl<'a> RunBuilder<'a> {
    /// The state before anything was looked up.
    pub(crate) fn new(setting: Setting<'a>, trial: &'a Trial, manners: Manners) -> Self {
        let host = match setting {
            Setting::Live | Setting::Fleet(_) => {
                let may_watch_inside = kernel::may_watch();
                HostFacts { tuned: drift::tuned(), may_watch_inside, ..probe::host_facts() }
            }
            Setting::Model(model) => model.host(),
        };
        Self {
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
                speaks_tls: false,
                proxy: trial.proxy.as_ref().map(|proxy| proxy.url.clone()),
                probe: None,
            },
            routes: Vec::new(),
            opened_on: Vec::new(),
            manners,
            stamps: Stamps::of(None, None, None),
            far: None,
            points: Vec::new(),
            observed: Vec::new(),
            latencies: Vec::new(),
            loads: Vec::new(),
            notices: Vec::new(),
            outcome: Outcome::Complete,
            before_bytes: 0,
            search: None,
            perturbations: Vec::new(),
            profile: None,
            kernel: None,
            fleet: None,
            program: None,
            levels: Vec::new(),
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

    /// Plain-text requests to a TLS port fail in different ways: the server closes the connection,
    /// sends an alert, or responds with 400. So a server that sent nothing else is tried with TLS
    /// once. One that responds with another status speaks HTTP here, and TLS is not what is wrong.
    pub(crate) fn look_for_tls(&mut self, notify: &mut dyn FnMut(Event)) {
        let trial = self.trial;
        let is_plain = trial.tls.is_none() && trial.proxy.is_none() && trial.fanout.is_none();
        let is_fruitless = |point: &Point| {
            let speaks_http = point.status_codes.keys().any(|status| status != "400");
            point.requests.sent > 0 && point.requests.completed == 0 && !speaks_http
        };
        let Some(address) = trial.addresses.first() else { return };
        let is_live = matches!(self.setting, Setting::Live);
        let is_in_vain = !self.points.is_empty() && self.points.iter().all(is_fruitless);
        if is_plain && is_live && is_in_vain && preflight::speaks_tls(address, TLS_TRIAL) {
            self.target.speaks_tls = true;
            self.notice(format!("{address} speaks TLS: use https:// in the URL"), notify);
        }
    }

    /// The job of workers for a trial: that of the run, or one that an experiment derives from it.
    pub(crate) fn job(&self, trial: &Trial) -> Result<Job, EncodeError> {
        let CrewSize { connections_max, depth_max, threads } = CrewSize::of(trial);
        let http = self.manners.http;
        let tape = mix::tape(trial, http, &trial.requests, depth_max)?;
        let tape = tape.with_checks(&mix::checks(trial));
        Ok(Job {
            driver: trial.driver,
            routes: self.routes.clone(),
            tape: Arc::new(tape),
            program: self.program.clone(),
            http,
            share: Share::alone(threads),
            cpus: trial.cpus.clone(),
            connections_max,
            depth_max,
            timeout_ns: trial.timeout_ns,
            connect_timeout_ns: trial.timeout_ns,
            manner: trial.manner,
            seed: trial.seed,
            tls: self.manners.recipe.clone(),
            tunnel: self.manners.tunnel.clone(),
        })
    }

    pub(crate) fn context(&self) -> Context<'_> {
        Context {
            trial: self.trial,
            host: &self.host,
            target: &self.target,
            outcome: self.outcome,
            perturbations: &self.perturbations,
            kernel: self.kernel.as_ref(),
        }
    }

    /// What judges the run while it goes on.
    pub(crate) fn bench(&self, command: &[String], started_at: Timestamp) -> Bench {
        Bench {
            trial: self.trial.clone(),
            command: command.to_vec(),
            started_at,
            host: self.context().host.clone(),
            target: self.target.clone(),
            before_bytes: self.before_bytes,
            points: Vec::new(),
            observed: Vec::new(),
        }
    }

    /// What the live view shows of the hosts. Agents of a fleet have hosts of their own.
    pub(crate) fn recent_hosts(&self) -> RecentHosts<'a> {
        let sides: &[Whose] = match self.setting {
            Setting::Fleet(_) => &[Whose::Server],
            Setting::Live | Setting::Model(_) => &Whose::ALL,
        };
        RecentHosts::new(self.trial, &self.host, &self.target, sides)
    }

    /// Makes a point of a visit; false if its throughput was not steady.
    pub(crate) fn add_visit(
        &mut self,
        (crews, attempt): (&Crews, u32),
        mut visit: Visit,
        context: &mut LevelContext<'_, '_>,
    ) -> bool {
        let LevelContext { watch, notify, interim, .. } = context;
        self.count_routes(&visit);
        self.outcome = visit.ending;
        if visit.ending == Outcome::TargetLost {
            let text = match &visit.stopped {
                Some(stopped) => stopped.sentence(visit.window_begin_ns),
                None => "the target stopped accepting connections".to_string(),
            };
            self.notice(text, notify);
        }
        let window_ns = visit.window_ns();
        if window_ns.0 == window_ns.1 {
            self.notice(ended_early(&crews.level, &visit), notify);
            return true;
        }
        let odd = [unsolicited(&crews.level, &visit), early(&crews.level, &visit)];
        odd.into_iter().flatten().for_each(|text| self.notice(text, notify));
        let observed = self.observe(watch, window_ns);
        let span_ns = (visit.begin_ns, visit.begin_ns + visit.visit_ns);
        let openings = visit.gathered.openings.take().map_or_else(Vec::new, |openings| {
            openings.finish(watch.accept_queues(span_ns).into_iter())
        });
        let making = Making {
            context: self.context(),
            crews,
            attempt,
            before_bytes: self.before_bytes,
            stamps: (&self.stamps, watch.far_calendar()),
        };
        let point = making.point(&visit, openings, &observed);
        for text in held_back(&point).into_iter().chain(streams::notices(&point)) {
            self.notice(text, notify);
        }
        if let Some(interim) = interim {
            interim.ended(&point, &observed);
        }
        let is_steady =
            matches!(steadiness_of(&point), Steadiness::Steady { .. } | Steadiness::Unknown);
        notify(Event::Point(Box::new(point.clone())));
        self.points.push(point);
        self.levels.push(crews.level.clone());
        self.observed.push(observed);
        let mut histograms = visit.gathered.histograms;
        self.latencies.push(std::mem::take(&mut histograms[Dist::Latency]));
        self.loads.push(visit.load);
        is_steady
    }

    /// Adds up the connections that a visit opened on each route.
    fn count_routes(&mut self, visit: &Visit) {
        self.opened_on.resize(self.routes.len(), 0);
        for gathered in [Some(&visit.gathered), visit.audience.as_ref()].into_iter().flatten() {
            for (sum, part) in self.opened_on.iter_mut().zip(&gathered.opened_on) {
                *sum += part;
            }
        }
    }

    /// Readings in a window, of this host and of the server's host.
    pub(crate) fn observe(&mut self, watch: &Watch<'_>, window_ns: (u64, u64)) -> Observed {
        self.update_probe(watch);
        let (near, far) = (watch.inside(window_ns), watch.far_inside(window_ns));
        Observed::of_both(near, far, &self.host, &self.target)
    }

    /// Judges every point from all readings and by the last estimate of the other clock, as whoever
    /// judges the kept run again: some arrive, and the estimate goes on, after a level has ended.
    pub(crate) fn observe_again(&mut self, watch: &Watch<'_>) {
        self.update_probe(watch);
        let windows_ns: Vec<_> = self.points.iter().map(|point| point.window_ns).collect();
        // What cannot be read back is missing in the kept run too, and a notice says so.
        let Ok(observed) = watch.observed(&self.host, &self.target, &windows_ns) else { return };
        let judged = |(point, of)| judge_point(self.context(), Point::clone(point), of);
        self.points = self.points.iter().zip(&observed).map(judged).collect();
        self.observed = observed;
    }

    /// What was observed in a window of a run that has ended.
    pub(crate) fn observed_at_end(&mut self, watch: &Watch<'_>, window_ns: (u64, u64)) -> Observed {
        self.update_probe(watch);
        let observed = watch.observed(&self.host, &self.target, &[window_ns]);
        observed.ok().and_then(|mut all| all.pop()).unwrap_or_default()
    }

    /// Copies the clock offset, and whether the probe was lost; the visit in which that happened
    /// has reported it.
    pub(crate) fn update_probe(&mut self, watch: &Watch<'_>) {
        let Some((probe, (clock, lost))) = self.target.probe.as_mut().zip(watch.far_state()) else {
            return;
        };
        probe.clock = clock;
        if let (None, Some(why)) = (&probe.lost, lost) {
            probe.lost = Some(why.to_string());
            self.notices.push(lost_notice(why));
        }
    }

    /// Adds what the agents of a fleet reported: every point is judged again, with their accounts.
    pub(crate) fn add_fleet(&mut self, account: FleetAccount) {
        let FleetAccount { record, mut visits } = account;
        self.fleet = Some(record);
        for at in 0..self.points.len() {
            let mut point = self.points[at].clone();
            point.agents = visits.remove(&self.loads[at]).unwrap_or_default();
            leave_open(&mut point, self.trial.stop, &self.latencies[at]);
            self.points[at] = judge_point(self.context(), point, &self.observed[at]);
        }
    }

    /// For each point, the share of the time in which its busiest worker had work.
    pub(crate) fn workers_busy(&self) -> Vec<Option<f64>> {
        let context = self.context();
        let points = self.points.iter().zip(&self.observed);
        points.map(|(point, observed)| judge::worker_load(context, point, observed)).collect()
    }

    /// Judges the whole run and makes its record.
    pub(crate) fn finish(mut self, command: &[String], started_at: jiff::Timestamp) -> Run {
        self.count_uses();
        let head = Head {
            trial: self.trial,
            command,
            started_at,
            host: self.host,
            target: self.target,
            outcome: self.outcome,
            search: self.search,
            perturbations: self.perturbations,
            profile: self.profile,
            kernel: self.kernel,
            fleet: self.fleet,
            notices: self.notices,
        };
        let record = head.record(self.points, &self.observed);
        let latencies = self.latencies;
        Run { record, readings: Vec::new(), server_readings: Vec::new(), latencies }
    }
}

/// Requests about which a lost agent reported nothing: none of them is known to be unsent, and all
/// count as slower than those with a response.
fn leave_open(point: &mut Point, stop: Stop, latency: &Histogram) {
    let unaccounted = AgentPoint::sum(&point.agents).unaccounted;
    // On a schedule of devices, connections are due.
    if unaccounted == 0 || point.is_of_devices() {
        return;
    }
    let requests = &mut point.requests;
    requests.unaccounted = unaccounted;
    if let Stop::AfterRequests(_) = stop {
        requests.unsent = requests.unsent.saturating_sub(unaccounted);
    }
    let lost = requests.failed + requests.unanswered + requests.unsent;
    point.latency_ns = latency.summary(lost + unaccounted);
}

/// The notice about a visit that ended before its window.
fn ended_early(level: &Level, visit: &Visit) -> String {
    let requests = &visit.gathered.unmeasured;
    format!(
        "{} connections: ended before the measurement, with {} responses, {} failed requests \
         and {} unanswered",
        level.connections, requests.completed, requests.failed, requests.unanswered
    )
}

/// The notice about bytes that no request asked for.
fn unsolicited(level: &Level, visit: &Visit) -> Option<String> {
    let unsolicited = visit.gathered.connections().unsolicited;
    let worst = Fault::ALL.into_iter().max_by_key(|fault| match fault.is_unasked() {
        true => visit.gathered.faults.get(*fault),
        false => 0,
    });
    let is_known = |fault: &Fault| visit.gathered.faults.get(*fault) > 0;
    let (words, advice) = match worst.filter(is_known) {
        Some(fault) if fault.is_unasked() => (fault.words(), fault.advice()),
        _ => ("sent bytes that no request had asked for", Fault::NotHttp.advice()),
    };
    (unsolicited > 0).then(|| {
        format!(
            "{} connections: the server {words}, and {unsolicited} connections were closed for \
             that; {advice}",
            level.connections
        )
    })
}

/// The notice about responses that came before their request was out.
fn early(level: &Level, visit: &Visit) -> Option<String> {
    let Counters { early, bytes_sent, bytes_untaken, .. } = visit.gathered.measured;
    let responses = visit.gathered.measured.responses();
    let rest = match bytes_untaken {
        0 => "it read the rest later, which their times do not include".to_string(),
        _ => format!(
            "it did not read all of it, and {} of {} were never sent",
            show_bytes(bytes_untaken as f64),
            show_bytes(bytes_sent as f64)
        ),
    };
    (early > 0).then(|| {
        format!(
            "{} connections: {early} of {responses} responses came before the whole request was \
             sent: the server responds before it reads; {rest}",
            level.connections
        )
    })
}

/// The notice about a closed loop that had fewer than nine tenths of its requests in flight while
/// connections failed: the pause before each of them is opened again lowers the rate.
pub(crate) fn held_back(point: &Point) -> Option<String> {
    let InFlight { mean, limit, .. } = point.in_flight;
    let mean = mean.filter(|mean| *mean < 0.9 * limit as f64)?;
    // A connection that crossed a request is opened again at once.
    let failed = point.errors.values().sum::<u64>().saturating_sub(point.unprocessed());
    (point.is_closed_loop() && failed > 0).then(|| {
        format!(
            "{} connections: {mean:.1} of {limit} requests were in flight on average, because \
             connections failed, and ceiling waits 5 ms to 1 s before it opens one again; the \
             server may be faster than this rate",
            point.load.connections
        )
    })
}

/// Sums by address, in the order in which addresses appear.
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

//! A fleet as the lab sees it: for the conductor, all workers of all agents are one crew.
//!
//! In: a trial, and the agents that make it. Out: a far crew for each kind of worker, and at the
//! end the account of every agent.

use super::controller::{Controller, Desk, Seen, Shared};
use super::error::AgentsError;
use super::load::Report;
use crate::control::{Account, Answers, LoadAccount, REPORT_MAX_NS};
use crate::message::{Offer, carried};
use engine::job::{Job, Order};
use engine::shard::Shard;
use engine::{Crew, FarCrew, Role, StartError, clock};
use lab::follow::{deal, level_of, planned};
use lab::setting::Fleet;
use model::facts::ClockOffset;
use model::fleet::{
    AgentEnd, AgentHost, AgentPoint, AgentRecord, AgentStarts, FleetAccount, FleetRecord, Part,
    Shares, lowest_terms,
};
use model::link::Links;
use model::load::{Level, ServerProcess, Trial};
use model::maps::IntoMap;
use model::tick::{ThreadKind, Tick};
use model::tls::Trust;
use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long agents may take for the preflight and to start workers.
const ACCEPTED_WITHIN: Duration = Duration::from_secs(15);
/// How long to wait for their final reports: longer than the session does, which waits for agents
/// that still respond and for data that still arrives.
const FINISHED_WITHIN: Duration = Duration::from_nanos(REPORT_MAX_NS + 10_000_000_000);
/// The weight of the fastest worker, a power of 2. Workers that are slower by more than this factor
/// all get weight 1.
const WEIGHT_OF_FASTEST: f64 = 64.0;
/// How long before its start a window is ordered, nanoseconds: in this time, an order that was lost
/// with a connection is sent again.
const LEAD_NS: u64 = 1_000_000_000;

/// The orders of a visit.
#[derive(Debug, Clone)]
struct Visit {
    level: Level,
    /// Start and end of the window; `None` if a budget ends it.
    window_ns: Option<(u64, u64)>,
    /// Requests of the whole fleet, where their number ends the window.
    budget: Option<u64>,
    /// When all load was ordered to end.
    stopped_ns: Option<u64>,
}

impl Visit {
    fn of(level: Level) -> Self {
        Self { level, window_ns: None, budget: None, stopped_ns: None }
    }

    /// When all load was to end, nanoseconds of our clock: at the end of the window, or before it
    /// by an order. The far future if neither is known.
    fn end_ns(&self) -> u64 {
        let window_end_ns = self.window_ns.map_or(u64::MAX, |(_, end_ns)| end_ns);
        self.stopped_ns.unwrap_or(u64::MAX).min(window_end_ns)
    }
}

/// A visit, for one of the agents.
#[derive(Debug, Clone, Copy)]
struct Turn<'a> {
    load: u32,
    visit: &'a Visit,
    /// Requests that were planned for the agent; `None` if there is no plan.
    planned: Option<u64>,
    /// The last visit of the run.
    last: u32,
}

type Visits = Arc<Mutex<BTreeMap<u32, Visit>>>;

/// The agents that make a trial.
#[derive(Debug)]
pub struct Lead<'a> {
    controller: &'a Controller,
    trial: Trial,
    agents: Vec<Seen>,
    shares: Vec<Shares>,
    visits: Visits,
}

impl<'a> Lead<'a> {
    /// Divides a trial among agents. Threads and CPUs of the trial are changed to those of all
    /// agents together.
    ///
    /// # Errors
    ///
    /// There are fewer connections than agents, or too many workers; or the file of an authority
    /// cannot be read.
    pub fn new(
        controller: &'a Controller,
        trial: &mut Trial,
        agents: Vec<Seen>,
    ) -> Result<Self, AgentsError> {
        let shares =
            deal(trial, &parts(&agents)).map_err(|error| AgentsError::NotFar(error.to_string()))?;
        trial.threads = shares.iter().map(|shares| shares.asking.workers()).sum();
        trial.cpus = Vec::new();
        trial.driver_reason = "each agent chooses its own".to_string();
        Ok(Self { controller, trial: sent(trial)?, agents, shares, visits: Visits::default() })
    }

    /// Names of the agents, in the order in which the load is divided.
    pub fn names(&self) -> Vec<&str> {
        self.agents.iter().map(|seen| &*seen.name).collect()
    }

    /// A notice for each host that several of the agents run on.
    pub fn shared_hosts(&self) -> Vec<String> {
        let mut hosts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for seen in self.agents.iter().filter(|seen| !seen.facts.boot.is_empty()) {
            hosts.entry(&seen.facts.boot).or_default().push(&seen.name);
        }
        let shared = hosts.into_values().filter(|names| names.len() > 1);
        shared.map(|names| format!("{} share one host and its CPUs", names.join(" "))).collect()
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.controller.shared
    }

    /// Offers the job, and starts it when all agents have accepted it.
    fn offer(&self) -> Result<(), StartError> {
        let offer = |(seen, share): (&Seen, &Shares)| {
            (seen.name.clone(), Offer { trial: self.trial.clone(), shares: share.clone() })
        };
        let offers = self.agents.iter().zip(&self.shares).map(offer).collect();
        let offered = self.shared().desk().session.offer(clock::now_ns(), offers);
        let far = |why, is_unreachable| StartError::Far { why, is_unreachable };
        offered.map_err(|error| far(error.to_string(), false))?;
        self.shared().wake();
        let answered = |desk: &mut Desk| {
            let answers = desk.session.answers();
            (answers.waiting == 0 || answers.refused > 0).then_some(answers)
        };
        let answers = self.shared().wait(ACCEPTED_WITHIN, answered);
        let mut desk = self.shared().desk();
        match answers {
            Some(Answers { refused: 0, .. }) => {
                desk.session.begin(clock::now_ns());
                drop(desk);
                self.shared().wake();
                Ok(())
            }
            answers => {
                let refusals = desk.session.refusals();
                let refusals = refusals.map(|(agent, one)| {
                    (format!("agent {agent}: {}", one.why), one.is_unreachable)
                });
                let (whys, unreachable): (Vec<_>, Vec<_>) = refusals.unzip();
                desk.session.abandon(clock::now_ns());
                drop(desk);
                self.shared().wake();
                Err(match answers {
                    Some(_) => far(whys.join("; "), unreachable.contains(&true)),
                    None => {
                        let seconds = ACCEPTED_WITHIN.as_secs();
                        far(format!("not all agents answered the offer within {seconds} s"), true)
                    }
                })
            }
        }
    }

    /// How an agent ended, and what it did in each visit.
    fn account(&self, of: &Account) -> (AgentRecord, Vec<(u32, AgentPoint)>) {
        let at = self.agents.iter().position(|seen| seen.name == of.agent).unwrap_or(0);
        let clock = of.clock_after.or(of.clock);
        let report: Option<Report> =
            of.record.as_ref().and_then(|bytes| serde_json::from_slice(bytes).ok());
        let (ended, why) = ended(of, report.is_some());
        let facts = &of.facts;
        let labels = facts.labels.iter().map(|(label, value)| format!("{label}={value}"));
        let record = AgentRecord {
            name: of.agent.clone(),
            labels: labels.collect(),
            host: AgentHost {
                hostname: facts.hostname.clone(),
                kernel: facts.kernel.clone(),
                cpus: facts.cpus,
                memory_bytes: facts.memory_bytes,
            },
            version: facts.version.clone(),
            part: self.shares[at].asking.parts()[at],
            capacity: facts.capacity,
            clock: clock.unwrap_or(ClockOffset {
                offset_ns: 0,
                error_ns: u64::MAX,
                round_trips: 0,
            }),
            ended,
            why: (!why.is_empty()).then(|| why.to_string()),
            notices: report
                .iter()
                .flat_map(|one| one.record.notices.clone())
                .chain(neighbours(&self.agents, at))
                .collect(),
        };
        let mut own: BTreeMap<u32, AgentPoint> =
            report.into_iter().flat_map(|report| report.points).into_map();
        let visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        let last = visits.last_key_value().map_or(0, |(last, _)| *last);
        let points = visits.iter().map(|(load, visit)| {
            let planned = self.planned(at, *load, visit);
            let turn = Turn { load: *load, visit, planned, last };
            (*load, point(of, ended, own.remove(load), turn))
        });
        let points = points.collect();
        (record, points)
    }

    /// The number of planned requests of an agent in a visit; `None` if the visit has no plan or
    /// was cut short for all agents.
    fn planned(&self, at: usize, load: u32, visit: &Visit) -> Option<u64> {
        let share = &self.shares[at].asking;
        if let Some(budget) = visit.budget.filter(|_| visit.stopped_ns.is_none()) {
            return Some(Shard::all_together(share).share(budget));
        }
        let (begin_ns, end_ns) = visit.window_ns?;
        let is_cut = visit.stopped_ns.is_some_and(|stopped_ns| stopped_ns < end_ns);
        if is_cut {
            return None;
        }
        planned(share, &self.trial, (&visit.level, load), end_ns.saturating_sub(begin_ns))
    }
}

impl Fleet for Lead<'_> {
    fn start(&self, job: &Job, role: Role) -> Result<Crew, StartError> {
        let crew = match role {
            Role::Asking => {
                self.offer()?;
                ThreadKind::Requesting
            }
            Role::Listening { .. } => ThreadKind::Listening,
        };
        let (shared, visits) = (Arc::clone(self.shared()), Arc::clone(&self.visits));
        Ok(Crew::far(Box::new(Far { crew, shared, visits, load: 0 }), job.seed))
    }

    fn lead_ns(&self) -> u64 {
        LEAD_NS
    }

    fn finish(&self) -> FleetAccount {
        self.shared().desk().session.finish(clock::now_ns());
        self.shared().wake();
        let is_finished = |desk: &mut Desk| desk.session.is_finished(clock::now_ns()).then_some(());
        // Agents that have not reported by then are lost.
        let _ = self.shared().wait(FINISHED_WITHIN, is_finished);
        let accounts = self.shared().desk().session.accounts();
        let mut account = FleetAccount {
            record: FleetRecord { name: self.controller.fleet.clone(), agents: Vec::new() },
            visits: BTreeMap::new(),
        };
        for of in &accounts {
            let (record, points) = self.account(of);
            account.record.agents.push(record);
            for (load, point) in points {
                account.visits.entry(load).or_default().push(point);
            }
        }
        account
    }
}

/// A notice about the other agents on the host of an agent, if there are any: what each can send
/// may have been measured while the others were idle.
fn neighbours(agents: &[Seen], at: usize) -> Option<String> {
    let mine = agents.get(at).filter(|seen| !seen.facts.boot.is_empty())?;
    let is_near = |seen: &&Seen| seen.name != mine.name && seen.facts.boot == mine.facts.boot;
    let names: Vec<&str> = agents.iter().filter(is_near).map(|seen| &*seen.name).collect();
    (!names.is_empty()).then(|| format!("it shares its host with {}", names.join(" ")))
}

/// The part of a trial that is sent to agents. Settings of one host, and everything that the
/// controller does itself, are left out. Agents get the contents of files, but never the key of a
/// client certificate.
fn sent(trial: &Trial) -> Result<Trial, AgentsError> {
    let mut tls = trial.tls.clone();
    if let Some(choice) = &mut tls {
        if choice.identity.is_some() {
            let why = "--cert: the private key of a client certificate is never sent to agents; \
                       leave out --cert and --key, or leave out --fleet";
            return Err(AgentsError::NotFar(why.to_string()));
        }
        if let Trust::File(path) = &choice.trust {
            let pem = fs::read_to_string(path).map_err(|error| AgentsError::File {
                option: "--cacert",
                path: path.clone(),
                error,
            })?;
            choice.trust = Trust::Sent { file: path.clone(), pem };
        }
    }
    Ok(Trial {
        tls,
        cpus: Vec::new(),
        sources: Vec::new(),
        server: ServerProcess::ByPort,
        links: Links::default(),
        runtime: None,
        profile: None,
        evidence: None,
        confirm: None,
        ..trial.clone()
    })
}

/// The part of each agent: the number of its workers, and the weight of each by its capacity. If
/// the capacity of any agent is not known, all workers have the same weight.
fn parts(agents: &[Seen]) -> Vec<Part> {
    let of_worker = |seen: &Seen| {
        let facts = &seen.facts;
        let capacity = facts.capacity?.min(facts.rate_max.unwrap_or(f64::INFINITY));
        Some(capacity / f64::from(facts.cpus.max(1))).filter(|rate| rate.is_finite() && *rate > 0.0)
    };
    let rates: Option<Vec<f64>> = agents.iter().map(of_worker).collect();
    let rates = rates.unwrap_or_else(|| vec![1.0; agents.len()]);
    let fastest = rates.iter().copied().fold(0.0, f64::max);
    let workers = agents.iter().map(|seen| seen.facts.cpus.max(1));
    let weights = rates.iter().map(|rate| weight(rate / fastest));
    let parts: Vec<Part> =
        workers.zip(weights).map(|(workers, weight)| Part { workers, weight }).collect();
    lowest_terms(&parts)
}

/// The weight of a worker that can send this share of the rate of the fastest worker: a power of 2,
/// so that equal hosts get equal parts even if a neighbour disturbed the measurement of one.
fn weight(part: f64) -> u32 {
    (WEIGHT_OF_FASTEST * part).log2().round().max(0.0).exp2() as u32
}

/// How far the windows of an agent may be off, nanoseconds: they start by the offset of its clock
/// that was known when the job started, and the clock may have drifted since. All of time if its
/// clock is not known.
fn window_error_ns(of: &Account) -> u64 {
    of.clock_error_ns().unwrap_or(u64::MAX)
}

/// How an agent ended, and why it did not end well. Without a report that can be read it did not.
fn ended(of: &Account, has_report: bool) -> (AgentEnd, &str) {
    match of.ended.unwrap_or(AgentEnd::Lost) {
        AgentEnd::Complete | AgentEnd::Late if !has_report => {
            (AgentEnd::NoReport, "its own report cannot be read")
        }
        ended => (ended, &of.why),
    }
}

/// What an agent did in a visit, with its `own` figures if it sent them; `ended` is how its whole
/// part ended.
fn point(of: &Account, ended: AgentEnd, own: Option<AgentPoint>, turn: Turn<'_>) -> AgentPoint {
    let Turn { load, visit, planned, last } = turn;
    let counted = of.loads.get(&load).copied().unwrap_or_default();
    let has_own = own.is_some();
    let counts = counts(own.unwrap_or_default(), &counted, planned, visit);
    // The visit that an agent ended early is the one with missing requests; without a plan, it is
    // the one that it left before its end, or the last one.
    let is_all = match planned {
        Some(planned) if visit.budget.is_some() => counts.sent >= planned,
        Some(_) => counts.unaccounted == 0,
        None => load != last && !has_left(of, visit),
    };
    AgentPoint {
        agent: of.agent.clone(),
        clock_error_ns: window_error_ns(of),
        ended: match counted.is_whole && is_all {
            true if has_own => AgentEnd::Complete,
            true => AgentEnd::NoReport,
            false => ended,
        },
        ..counts
    }
}

/// Whether an agent ended its load by itself before the end of a visit.
fn has_left(of: &Account, visit: &Visit) -> bool {
    // The visit was ordered by the agent's clock as it was known at the start.
    let offset_ns = of.clock.map_or(0, |clock| clock.offset_ns);
    of.halted_ns.is_some_and(|halted_ns| halted_ns < carried(visit.end_ns(), offset_ns))
}

/// The counts come from the ticks that arrived, because the sum has the same; the rest comes from
/// the agent's report.
fn counts(
    own: AgentPoint,
    counted: &LoadAccount,
    planned: Option<u64>,
    visit: &Visit,
) -> AgentPoint {
    let (measured, starts) = (&counted.measured, &counted.starts);
    let starts = AgentStarts { begun: starts.begun, unsent: starts.unsent };
    let starts = visit.level.plans_starts().then_some(starts);
    // On a schedule of devices, connections are planned.
    let due = match starts {
        Some(AgentStarts { begun, unsent }) => begun + unsent,
        None => measured.sent + measured.unsent,
    };
    let left = planned.map_or(0, |planned| planned.saturating_sub(due));
    // What is left of a number of requests was never sent, if all counts have arrived.
    let is_known = visit.budget.is_some() && counted.is_whole;
    let (never_sent, unaccounted) = if is_known { (left, 0) } else { (0, left) };
    AgentPoint {
        planned,
        sent: measured.sent,
        completed: measured.completed,
        failed: measured.failed,
        unanswered: measured.unanswered,
        unsent: measured.unsent + never_sent,
        unaccounted,
        starts,
        ..own
    }
}

/// The workers of one kind of all agents.
struct Far {
    crew: ThreadKind,
    shared: Arc<Shared>,
    visits: Visits,
    /// The current visit.
    load: u32,
}

impl Far {
    fn note(&mut self, order: &Order) {
        let mut visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((load, level)) = level_of(order) {
            self.load = load;
            visits.insert(load, Visit::of(level));
        }
        let Some(visit) = visits.get_mut(&self.load) else { return };
        match order {
            Order::Measure { begin_ns, end_ns, budget, .. } => {
                visit.budget = *budget;
                visit.window_ns = budget.is_none().then_some((*begin_ns, *end_ns));
            }
            Order::Stop => visit.stopped_ns = visit.stopped_ns.or(Some(clock::now_ns())),
            Order::Connect { .. } | Order::Warm | Order::Quit => {}
        }
    }
}

impl FarCrew for Far {
    fn order(&mut self, order: &Order) {
        if self.crew == ThreadKind::Requesting {
            self.note(order);
        }
        self.shared.desk().session.order(clock::now_ns(), self.crew, order);
        self.shared.wake();
    }

    fn drain(&mut self, read: &mut dyn FnMut(&Tick)) {
        self.shared.desk().session.ticks(clock::now_ns(), self.crew, read);
    }

    fn is_lost(&self) -> bool {
        // Levels end in order even without any agent: the session gives up agents that do not come
        // back.
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Facts;
    use model::curve::Curve;
    use model::fleet::Share;
    use model::load::{Arrival, Hold, Life, Spacing};

    fn seen(cpus: u32, capacity: Option<f64>, rate_max: Option<f64>) -> Seen {
        let facts = Facts { cpus, capacity, rate_max, ..Facts::default() };
        Seen { name: "a".to_string(), facts, job: None, clock: None }
    }

    fn dealt(agents: &[Seen]) -> Vec<(u32, u32)> {
        parts(agents).iter().map(|part| (part.workers, part.weight)).collect()
    }

    #[test]
    fn agents_on_one_host_are_named() {
        let on = |name: &str, boot: &str| {
            let facts = Facts { boot: boot.to_string(), ..Facts::default() };
            Seen { name: name.to_string(), facts, job: None, clock: None }
        };
        let agents = [on("a1", "x"), on("a2", ""), on("a3", "x"), on("a4", ""), on("a5", "y")];
        let own: Vec<_> = (0..5).map(|at| neighbours(&agents, at)).collect();
        let shares = |name: &str| Some(format!("it shares its host with {name}"));
        assert_eq!(own, [shares("a3"), None, shares("a1"), None, None]);
    }

    #[test]
    fn parts_follow_what_agents_can_send() {
        let twice_as_fast = [seen(2, Some(200e3), None), seen(4, Some(200e3), None)];
        assert_eq!(dealt(&twice_as_fast), [(2, 2), (4, 1)]);
        let alike = [seen(2, Some(150e3), None), seen(2, Some(210e3), None)];
        assert_eq!(dealt(&alike), [(2, 1), (2, 1)], "a neighbour can cause this difference");
        let limited = [seen(1, Some(100e3), None), seen(1, Some(100e3), Some(25e3))];
        assert_eq!(dealt(&limited), [(1, 4), (1, 1)], "its rate limit caps its capacity");
        let far_apart = [seen(1, Some(100e3), None), seen(1, Some(1.0), None)];
        assert_eq!(dealt(&far_apart), [(1, 64), (1, 1)], "every agent has a part");
    }

    fn account(clock: Option<ClockOffset>, clock_after: Option<ClockOffset>) -> Account {
        Account {
            agent: "a".to_string(),
            facts: Facts::default(),
            shares: Shares { asking: Share::alone(1), listening: None },
            clock,
            clock_after,
            ended: Some(AgentEnd::Complete),
            why: String::new(),
            halted_ns: None,
            loads: BTreeMap::new(),
            listening: BTreeMap::new(),
            record: None,
        }
    }

    #[test]
    fn an_agent_without_a_report_has_not_ended_well() {
        let mut of = account(None, None);
        assert_eq!(ended(&of, true), (AgentEnd::Complete, ""));
        assert_eq!(ended(&of, false).0, AgentEnd::NoReport);
        of.ended = Some(AgentEnd::Lost);
        assert_eq!(ended(&of, false).0, AgentEnd::Lost);
    }

    /// Devices on a schedule, and a fixed number of requests.
    #[test]
    fn what_is_missing_is_of_what_was_planned() {
        let arrival = Arrival::Open { curve: Curve::constant(10.0), arrivals: Spacing::Fixed };
        let hold = Some(Hold::For { ns: 1, jitter: 0.0 });
        let life = Life { hold, ..Life::default() };
        let level = Level { connections: 1, spare: 0, depth: 1, arrival, life };
        let devices = Visit::of(level);
        let mut counted = LoadAccount::default();
        (counted.measured.sent, counted.starts.begun, counted.starts.unsent) = (500, 90, 2);
        let of = |counted: &LoadAccount, visit: &Visit| {
            let point = counts(AgentPoint::default(), counted, Some(100), visit);
            (point.unsent, point.unaccounted)
        };
        assert_eq!(of(&counted, &devices), (0, 8), "connections, not requests");
        let mut budget = Visit::of(Level { life: Life::default(), ..devices.level.clone() });
        budget.budget = Some(400);
        counted.measured.sent = 70;
        assert_eq!(of(&counted, &budget), (0, 30), "it was lost");
        counted.is_whole = true;
        assert_eq!(of(&counted, &budget), (30, 0), "it was cut off");
    }

    /// Without a plan only time tells which of three levels an agent left.
    #[test]
    fn a_level_that_an_agent_left_is_not_whole() {
        let life = Life::default();
        let level = Level { connections: 1, spare: 0, depth: 1, arrival: Arrival::Closed, life };
        let visit = |begin_ns, end_ns| Visit {
            window_ns: Some((begin_ns, end_ns)),
            ..Visit::of(level.clone())
        };
        let mut visits = [visit(1_000, 2_000), visit(3_000, 4_000), visit(5_000, 6_000)];
        let clock = ClockOffset { offset_ns: 500, error_ns: 0, round_trips: 20 };
        // All counts of its first level arrived, as far as it made it, and of no other.
        let counted = LoadAccount { is_whole: true, ..LoadAccount::default() };
        let ends = |halted_ns, visits: &[Visit]| -> Vec<AgentEnd> {
            let loads = BTreeMap::from([(1, counted), (2, LoadAccount::default())]);
            let of = Account { halted_ns, loads, ..account(Some(clock), None) };
            let end = |(load, visit)| {
                let turn = Turn { load, visit, planned: None, last: 3 };
                let own = (load == 1).then(AgentPoint::default);
                point(&of, AgentEnd::CutOff, own, turn).ended
            };
            (1..).zip(visits).map(end).collect()
        };
        let (whole, cut_off) = (AgentEnd::Complete, AgentEnd::CutOff);
        assert_eq!(ends(Some(2_499), &visits), [cut_off; 3], "half-way by its clock");
        assert_eq!(ends(Some(2_500), &visits), [whole, cut_off, cut_off], "between two levels");
        assert_eq!(ends(None, &visits), [whole, cut_off, cut_off], "it failed between them");
        visits[0].stopped_ns = Some(1_800);
        assert_eq!(ends(Some(2_300), &visits), [whole, cut_off, cut_off], "after the others");
        assert_eq!(ends(Some(2_299), &visits), [cut_off; 3], "before them");
    }

    #[test]
    fn a_window_is_off_by_the_drift_since_its_clock_was_measured() {
        let clock = |offset_ns, error_ns| ClockOffset { offset_ns, error_ns, round_trips: 20 };
        let start = Some(clock(0, 50_000));
        assert_eq!(window_error_ns(&account(start, start)), 50_000);
        // 400 us of drift: the offset over the whole job lies in the middle.
        let drifted = account(start, Some(clock(200_000, 250_000)));
        assert_eq!(window_error_ns(&drifted), 450_000);
        // The clock was set, and the offset since then is known well.
        let was_set = account(start, Some(clock(10_000_000_000, 50_000)));
        assert_eq!(window_error_ns(&was_set), 10_000_050_000);
        assert_eq!(window_error_ns(&account(None, None)), u64::MAX, "it took no part");
    }

    #[test]
    fn parts_follow_cpus_where_one_does_not_know() {
        for unknown in [None, Some(f64::NAN), Some(0.0), Some(-1.0)] {
            let agents = [seen(2, Some(200e3), None), seen(8, unknown, None)];
            assert_eq!(dealt(&agents), [(2, 1), (8, 1)]);
        }
    }
}

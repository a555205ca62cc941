//! A run whose load another tool made: which of our checks apply to it, and which wall the readings
//! of both hosts show.
//!
//! In: what the tool reported, audited, and the readings of its window. Out: gates and a verdict.
//! Never: a wall whose test needs a count that no tool reports; such a wall is listed as not
//! tested.

use crate::case::Case;
use crate::decide::decide;
use crate::gates::{GATES, cpu_states};
use crate::sides;
use crate::verdict::Context;
use model::audit::{Finding, Foreign, Latencies, Loop, Outcome, Since};
use model::figure::Figure;
use model::histogram::Summary;
use model::load::{Arrival, LoadModel};
use model::maps::IntoMap;
use model::run::{
    Bytes, ConnectionInfo, CpuCost, InFlight, LoadInfo, LoopInfo, Point, RequestInfo, Unmeasured,
};
use model::standing::{Standing, Standings};
use model::subject::Subject;
use model::tool::{ToolCost, ToolRun};
use model::verdict::{Gate, GateId, Verdict};
use observe::Observed;
use std::collections::BTreeMap;

/// Our checks, each with the checks of the audit that ask the same; and those about which a tool
/// reports nothing, with what is missing.
const ASKED: [(GateId, &[&str]); 6] = [
    (GateId::Conservation, &["conservation", "survivors", "failures"]),
    (GateId::LittlesLaw, &["littles_law"]),
    (GateId::Bytes, &["bytes"]),
    (GateId::Percentiles, &["order", "spread", "support"]),
    (GateId::Resolution, &["resolution"]),
    (GateId::Window, &["window", "pace"]),
];
const UNASKED: [(GateId, &str); 4] = [
    (GateId::Samples, "its counts by second"),
    (GateId::Release, "when its requests were due, and when they were sent"),
    (GateId::Connections, "how many connections had a response"),
    (GateId::Steadiness, "its rate over time"),
];

/// Checks and judges what a tool left behind, with the readings of its window. Earlier costs and
/// gates in the run are replaced.
pub fn judge_tool(
    context: Context<'_>,
    mut run: ToolRun,
    observed: &Observed,
) -> (ToolRun, Verdict) {
    run.cpu = cost(&run, observed);
    run.gates = asked(&run);
    let mut point = sparse(context, &run);
    run.hosts = sides::figures(&context.case(&point, observed));
    point.gates.clone_from(&run.gates);
    point.gates.extend(of_hosts(&context.case(&point, observed)));
    let broken = point
        .gates
        .iter()
        .find(|gate| gate.id == GateId::CpuStates && gate.ok == Some(false))
        .map(|gate| gate.why.clone());
    if let Some(why) = broken {
        // Of one host alone, if the states of the other add up.
        let mut hosts = vec![Figure::ClientHost, Figure::ServerHost];
        let case = context.case(&point, observed);
        hosts.retain(|host| cpu_states::leaves(&case, *host).is_none());
        for host in hosts {
            point.standing.add(host, Standing::NotKnown { why: why.clone() });
            run.hosts.retain(|figure, _| figure.stands_with() != host);
        }
    }
    run.gates.clone_from(&point.gates);
    point.residence = crate::residence::of(&context.case(&point, observed));
    let verdict = decide(&context.case(&point, observed), None);
    (run, verdict)
}

/// How far other processes may have disturbed it, by the readings of its window.
pub(crate) fn neighbours(context: Context<'_>, run: &ToolRun, observed: &Observed) -> Option<f64> {
    let point = sparse(context, run);
    context.case(&point, observed).neighbours()
}

/// CPU time of both sides in the window.
fn cost(run: &ToolRun, observed: &Observed) -> ToolCost {
    let (begin_ns, end_ns) = run.window_ns;
    let window_us = end_ns.saturating_sub(begin_ns) as f64 / 1e3;
    let responses = ToolRun::responses(&run.account.foreign).filter(|count| *count > 0.0);
    let each = |cpus: Option<f64>| Some(cpus? * window_us / responses?);
    let client_cpus = observed.client_cpus();
    let server_cpus = observed.far.as_deref().unwrap_or(observed).server_cpus();
    ToolCost {
        client_cpus,
        server_cpus,
        client_us_per_request: each(client_cpus),
        server_us_per_request: each(server_cpus),
    }
}

/// The audit's checks as ours, and those that cannot be made.
fn asked(run: &ToolRun) -> Vec<Gate> {
    let name = run.generator.name();
    let found = |checks: &[&str]| -> Option<&Finding> {
        let all = run.account.claims.iter().flat_map(|claim| &claim.findings);
        let own = all.filter(|finding| checks.contains(&finding.check.as_str()));
        own.max_by_key(|finding| finding.outcome)
    };
    let gate = |id, ok, why| Gate { id, ok, measured: None, bound: BOUND.to_string(), why };
    let asked = ASKED.iter().map(|(id, checks)| match found(checks) {
        Some(finding) => {
            let ok = match finding.outcome {
                Outcome::Holds => Some(true),
                Outcome::Undecided => None,
                Outcome::Impossible => Some(false),
            };
            gate(*id, ok, finding.arithmetic.clone())
        }
        None => gate(*id, None, format!("undecided by what {name} says")),
    });
    let unasked = UNASKED
        .iter()
        .map(|(id, what)| gate(*id, None, format!("undecided: {name} does not say {what}")));
    asked.chain(unasked).collect()
}

const BOUND: &str = "the figures that the tool reports agree with each other";

/// The checks of our own readings.
fn of_hosts(case: &Case<'_>) -> Vec<Gate> {
    let listed = GATES.iter().filter(|listed| listed.id == GateId::CpuStates);
    let gate = |listed: &crate::gates::Listed| {
        let checked = (listed.check)(case);
        Gate {
            id: listed.id,
            ok: checked.ok,
            measured: checked.measured,
            bound: checked.bound,
            why: checked.why,
        }
    };
    listed.map(gate).collect()
}

/// The tests of walls take a point. This point has what the tool reported and what it was asked
/// for, and it is never kept or shown: where it has a zero that was not counted,
/// `walls::unreported` leaves out the tests that would read it.
fn sparse(context: Context<'_>, run: &ToolRun) -> Point {
    let report = &run.account.foreign;
    let count = |figure: &Option<model::audit::Figure>| {
        figure.as_ref().map_or(0, |figure| figure.value.max(0.0) as u64)
    };
    let window_s = run.window_ns.1.saturating_sub(run.window_ns.0) as f64 / 1e9;
    let latency = report.latency().map(summary).unwrap_or_default();
    let load = load(context, report, window_s);
    let offered_rate = load.rate;
    let responses = ToolRun::responses(report).map(|count| count as u64);
    Point {
        in_flight: in_flight(report, run.rate, &load),
        load,
        agents: Vec::new(),
        attempt: 1,
        profiled: false,
        window_ns: run.window_ns,
        stopped: None,
        connections: ConnectionInfo::default(),
        subject: Subject::Requests(None),
        requests: RequestInfo {
            sent: count(&report.requests),
            completed: count(&report.good),
            failed: count(&report.failed),
            ..RequestInfo::default()
        },
        status: [("2xx".to_string(), count(&report.good))].into_map(),
        status_codes: BTreeMap::new(),
        error_codes: BTreeMap::new(),
        samples: Vec::new(),
        slowest: None,
        tail: None,
        mismatched: 0,
        mismatches: BTreeMap::new(),
        errors: BTreeMap::new(),
        rate: run.rate.unwrap_or(0.0),
        offered_rate,
        bytes: Bytes { sent: 0, received: count(&report.bytes), ..Bytes::default() },
        service_ns: latency.clone(),
        latency_good_ns: None,
        latency_ns: latency,
        send_delay_ns: None,
        generator_delay_ns: None,
        latency_punctual_ns: None,
        messages: None,
        users: None,
        unseen_ns: None,
        latency_at_least_ns: None,
        residence: None,
        hosts: BTreeMap::new(),
        cpu: CpuCost {
            responses,
            client_us_per_request: run.cpu.client_us_per_request,
            client_usr_us_per_request: None,
            server_us_per_request: run.cpu.server_us_per_request,
            client_cpus: run.cpu.client_cpus,
            server_cpus: run.cpu.server_cpus,
        },
        client_loop: LoopInfo::default(),
        series: Vec::new(),
        per_100ms: Vec::new(),
        unmeasured: Unmeasured::default(),
        targets: Vec::new(),
        gates: Vec::new(),
        standing: standing(run),
        expectations: Vec::new(),
        verdict: crate::undecided(),
    }
}

/// The load that the tool was asked for.
fn load(context: Context<'_>, report: &Foreign, window_s: f64) -> LoadInfo {
    let trial = context.trial;
    let level = trial.levels.first();
    let curve = level.and_then(|level| match &level.arrival {
        Arrival::Closed => None,
        Arrival::Open { curve, .. } => Some(curve),
    });
    let rate = curve.and_then(model::curve::Curve::constant_rate);
    let is_open = rate.is_some() && report.meaning.load != Loop::Closed;
    let connections = level.map_or(1, |level| level.connections);
    LoadInfo {
        model: if is_open { LoadModel::Open } else { LoadModel::Closed },
        connections,
        connections_max: connections,
        depth: level.map_or(1, |level| level.depth),
        rate: rate.filter(|_| is_open),
        curve: None,
        arrivals: None,
        life: None,
        duration_s: window_s,
        driver: trial.tool.map_or("", model::tool::Tool::name).to_string(),
        threads: trial.threads,
        coalesce_ns: 0,
    }
}

/// Rate times mean time (Little), where the mean covers only times that were really measured.
fn in_flight(report: &Foreign, rate: Option<f64>, load: &LoadInfo) -> InFlight {
    let latency = report.latency();
    let is_measured = |of: &&Latencies| matches!(of.since, Since::Send | Since::Plan);
    let mean_s = latency.filter(is_measured).and_then(|of| of.mean.as_ref());
    let mean = rate.zip(mean_s).map(|(rate, mean)| rate * mean.value);
    let limit = u64::from(load.connections) * u64::from(load.depth);
    InFlight { mean, first: None, last: None, limit }
}

/// Figures of a reported distribution.
fn summary(of: &Latencies) -> Summary {
    let ns = |figure: &Option<model::audit::Figure>| {
        figure.as_ref().map(|figure| (figure.value * 1e9).max(0.0) as u64)
    };
    let at = |share| of.at(share).map(|one| (one.value.value * 1e9).max(0.0) as u64);
    Summary {
        min: ns(&of.min),
        mean: ns(&of.mean),
        stdev: ns(&of.stdev),
        p50: at(0.5),
        p75: at(0.75),
        p90: at(0.9),
        p95: at(0.95),
        p99: at(0.99),
        p99_9: at(0.999),
        p99_99: at(0.9999),
        max: ns(&of.max),
        ..Summary::default()
    }
}

/// What arithmetic excludes is not known.
fn standing(run: &ToolRun) -> Standings {
    let mut standings = Standings::default();
    let mut strike = |figure: Figure, name: &str| {
        if let Some(why) = run.refuted(name) {
            standings.add(figure, Standing::NotKnown { why: why.to_string() });
        }
    };
    for figure in Figure::LATENCIES {
        strike(figure, &figure.to_string());
    }
    if let Some(why) = run.rate_refuted() {
        standings.add(Figure::Rate, Standing::NotKnown { why: why.to_string() });
    }
    if run.rate.is_none() {
        let why = "the tool does not tell good responses from others".to_string();
        standings.add(Figure::Rate, Standing::NotKnown { why });
    }
    standings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use model::audit::{Account, Claim, Counts, Figure as ReportedFigure, Meaning, Percentile};
    use model::run::Target;
    use model::tool::Tool;
    use model::unit::Unit;
    use model::verdict::Named;
    use model::wall::{Side, WallId};
    use observe::ThreadShare;

    /// 1000/s on 8 connections for 5 s, each in 8 ms, all of it reported.
    fn tool_run() -> ToolRun {
        let figure = |value| Some(ReportedFigure::exact(value, 1));
        let latency = Latencies {
            since: Since::Send,
            mean: figure(0.008),
            percentiles: vec![Percentile { share: 0.5, value: ReportedFigure::exact(0.008, 2) }],
            ..Latencies::default()
        };
        let foreign = Foreign {
            tool: "hey".into(),
            rate: figure(1000.0),
            requests: figure(5000.0),
            good: figure(5000.0),
            latencies: vec![latency],
            meaning: Meaning { counts: Counts::Responses, ..Meaning::default() },
            ..Foreign::default()
        };
        let rate = ToolRun::good_rate(&foreign);
        ToolRun {
            generator: Tool::Hey,
            program: "/usr/bin/hey".into(),
            command: vec!["hey".into()],
            exit_code: Some(0),
            ran_ns: (0, 5_000_000_000),
            window_ns: (0, 5_000_000_000),
            account: Account { file: "-".into(), name: String::new(), foreign, claims: Vec::new() },
            rate,
            cpu: ToolCost::default(),
            hosts: BTreeMap::new(),
            gates: Vec::new(),
        }
    }

    fn judged(fixture: &mut Fixture, run: ToolRun) -> (ToolRun, Verdict) {
        fixture.trial.tool = Some(Tool::Hey);
        let server = fixture.server.clone();
        let target = Target { server, ..Target::default() };
        let context = fixture.context(&target);
        judge_tool(context, run, &fixture.observed)
    }

    fn refuting(check: &str) -> ToolRun {
        let mut run = tool_run();
        let finding = Finding {
            check: check.into(),
            claims: vec!["rate".into()],
            outcome: Outcome::Impossible,
            arithmetic: "1000/s x 80ms = 80 in flight, but at most 8 fit".into(),
            settle: String::new(),
            bound: None,
        };
        run.account.claims.push(Claim {
            name: "rate".into(),
            unit: Unit::PerSecond,
            figure: ReportedFigure::exact(1000.0, 1),
            outcome: Outcome::Impossible,
            bound: None,
            findings: vec![finding],
        });
        run
    }

    #[test]
    fn what_a_tool_does_not_tell_is_no_check_that_holds() {
        let (run, _) = judged(&mut Fixture::good(), tool_run());
        let gate = |id| run.gates.iter().find(|gate| gate.id == id).unwrap();
        assert_eq!(gate(GateId::LittlesLaw).ok, None);
        assert!(gate(GateId::Release).why.contains("undecided: hey does not say"));
        assert_eq!(gate(GateId::CpuStates).ok, Some(true), "we read that ourselves");
    }

    #[test]
    fn a_hot_thread_of_the_tool_is_the_generators_wall() {
        let mut fixture = Fixture::good();
        fixture.trial.threads = 1;
        fixture.observed.client_threads =
            Some(vec![ThreadShare { name: "node".into(), run: 0.99, ..ThreadShare::default() }]);
        let (run, verdict) = judged(&mut fixture, tool_run());
        assert_eq!((verdict.wall, verdict.side), (Named::Wall(WallId::C2), Side::Client));
        assert!(verdict.not_tested.contains(&WallId::K14), "{:?}", verdict.not_tested);
        let cost = run.cpu.client_us_per_request.unwrap();
        assert!((cost - 990.0).abs() < 1e-6, "{cost}");
    }

    #[test]
    fn threads_that_share_a_full_cpu_are_one_generator() {
        let mut fixture = Fixture::good();
        fixture.trial.cpus = vec![1];
        fixture.trial.threads = 1;
        fixture.cpu(1, 0.99);
        let part = ThreadShare { name: "hey".into(), run: 0.33, ..ThreadShare::default() };
        fixture.observed.client_threads = Some(vec![part.clone(), part.clone(), part]);
        let (_, verdict) = judged(&mut fixture, tool_run());
        assert_eq!(verdict.wall, Named::Wall(WallId::C1), "{verdict:?}");
    }

    #[test]
    fn a_full_thread_of_the_server_is_its_wall_whatever_made_the_load() {
        let mut fixture = Fixture::good();
        fixture.server_thread(0.99, 0.0);
        fixture.unread_at_server(0.5);
        let slack = ThreadShare { name: "hey".into(), run: 0.3, ..ThreadShare::default() };
        fixture.observed.client_threads = Some(vec![slack]);
        let (_, verdict) = judged(&mut fixture, tool_run());
        assert_eq!((verdict.wall, verdict.side), (Named::Wall(WallId::S2), Side::Server));
    }

    #[test]
    fn a_rate_that_cannot_be_is_no_rate() {
        let (run, verdict) = judged(&mut Fixture::good(), refuting("littles_law"));
        let gate = run.gates.iter().find(|gate| gate.id == GateId::LittlesLaw).unwrap();
        assert_eq!(gate.ok, Some(false));
        assert_eq!(verdict.side, Side::Measurement, "{verdict:?}");
        assert!(!run.claim(&verdict).is_known());
        assert_eq!(run.figure(model::figure::Figure::Rate), None);
    }
}

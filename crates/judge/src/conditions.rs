//! What may have disturbed a visit, and the hosts that took part in it, from its run.

use crate::{rejudge, signals, tool};
use model::analysis::{Conditions, HostSeen};
use model::facts::HostFacts;
use model::run::Record;
use model::tool::ToolRun;
use model::visit::best_point;
use observe::{Observed, mean_shares};

/// Name of the hypervisor's share among the states of a CPU.
const STEAL: &str = "steal";

/// What may have disturbed the best point of a run. `observed_in` says what was observed in a
/// window.
pub fn conditions(record: &Record, observed_in: impl Fn((u64, u64)) -> Observed) -> Conditions {
    if let Some(tool) = &record.tool {
        return of_tool(record, tool, &observed_in(tool.window_ns));
    }
    // The point that the figures of the visit are from, if it has figures.
    let best = best_point(record).map(|(_, point)| point);
    let Some(point) = best.or_else(|| signals::best(&record.points)) else {
        return Conditions::default();
    };
    let observed = observed_in(point.window_ns);
    let case = rejudge::context_of(record).case(point, &observed);
    let broken = point.gates.iter().filter(|gate| gate.ok == Some(false));
    let far = observed.far.as_deref().and_then(steal);
    Conditions {
        steal: [steal(&observed), far].into_iter().flatten().reduce(f64::max),
        neighbours: case.neighbours(),
        stall_ns: Some(case.longest_stall_ns()),
        gates: broken.map(|gate| gate.id).collect(),
    }
}

/// For a run whose load another tool made. How long that tool stood still is not known.
fn of_tool(record: &Record, tool: &ToolRun, observed: &Observed) -> Conditions {
    let far = observed.far.as_deref().and_then(steal);
    let broken = tool.gates.iter().filter(|gate| gate.ok == Some(false));
    Conditions {
        steal: [steal(observed), far].into_iter().flatten().reduce(f64::max),
        neighbours: tool::neighbours(rejudge::context_of(record), tool, observed),
        stall_ns: None,
        gates: broken.map(|gate| gate.id).collect(),
    }
}

/// Share of its CPU time that a host did not get.
fn steal(observed: &Observed) -> Option<f64> {
    let shares = mean_shares(observed.cpus.as_deref()?)?;
    let at = observe::STATES.iter().position(|state| *state == STEAL)?;
    Some(shares[at] / 100.0)
}

/// The hosts of a run. The server's host is known if a probe runs there, or if it is ours.
pub fn hosts(record: &Record) -> Vec<HostSeen> {
    let seen = |side: &str, host: &HostFacts| HostSeen {
        side: side.to_string(),
        hostname: host.hostname.clone(),
        kernel: host.kernel.clone(),
        cpu_model: host.cpu_model.clone().unwrap_or_default(),
        cpus: host.cpus_online.len() as u64,
    };
    let far = record.target.probe.as_ref().map(|probe| &probe.host);
    let server = far.or_else(|| record.target.server.as_ref().map(|_| &record.host));
    let server = server.map(|host| seen("server", host));
    [Some(seen("client", &record.host)), server].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use model::run::{Point, Run};
    use model::verdict::{Gate, GateId};

    /// A run with these points, and with a ceiling from 1900/s on.
    fn run(points: Vec<Point>) -> Run {
        let text = include_str!("../tests/replay/base.json");
        let base: serde_json::Value = serde_json::from_str(text).unwrap();
        let mut document = serde_json::json!({
            "schema": "ceiling.run/1", "id": "", "version": "", "started_at": "", "command": [],
            "seed": 1, "outcome": "complete", "trial": base["trial"], "host": base["host"],
            "target": {
                "url": "", "addresses": [], "addresses_used": [], "sources_used": [],
                "server": null,
            }, "points": [],
            "verdict": crate::undecided(),
            "expectations": [], "perturbations": [], "notices": [], "definitions": {},
        });
        document["verdict"]["ceiling"] = serde_json::json!({
            "rate": 2000.0, "kind": "ceiling", "low": 1900.0, "high": 2100.0,
            "interval": "within-run", "visits": 1,
        });
        let record: Record = serde_json::from_value(document).unwrap();
        let record = Record { points, ..record };
        Run { record, readings: Vec::new(), server_readings: Vec::new(), latencies: Vec::new() }
    }

    #[test]
    fn they_are_those_of_the_point_that_the_figures_are_from() {
        let mut points = vec![Fixture::point(8, 1990.0), Fixture::point(16, 2010.0)];
        points[1].gates = vec![Gate {
            id: GateId::Release,
            ok: Some(false),
            measured: None,
            bound: String::new(),
            why: String::new(),
        }];
        let gates = |of: &Run| conditions(&of.record, |_| Observed::default()).gates;
        let of_both = run(points.clone());
        assert_eq!(best_point(&of_both.record).map(|(at, _)| at), Some(0));
        assert!(gates(&of_both).is_empty());
        points.remove(0);
        assert_eq!(gates(&run(points)), [GateId::Release]);
    }
}

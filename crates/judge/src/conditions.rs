//! What may have disturbed a visit, and the hosts that took part in it, from its run.

use crate::{rejudge, signals, tool};
use model::analysis::{Conditions, HostSeen};
use model::facts::HostFacts;
use model::run::Run;
use model::tool::ToolRun;
use observe::{Observed, Raw, mean_shares};

/// Name of the hypervisor's share among the states of a CPU.
const STEAL: &str = "steal";

/// What may have disturbed the best point of a run.
pub fn conditions(run: &Run) -> Conditions {
    let record = &run.record;
    if let Some(tool) = &record.tool {
        return of_tool(run, tool);
    }
    let Some(point) = signals::best(&record.points) else { return Conditions::default() };
    let observed = Raw::from(run).observed(record, point);
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
fn of_tool(run: &Run, tool: &ToolRun) -> Conditions {
    let observed = Raw::from(run).observed_in(&run.record, tool.window_ns);
    let far = observed.far.as_deref().and_then(steal);
    let broken = tool.gates.iter().filter(|gate| gate.ok == Some(false));
    Conditions {
        steal: [steal(&observed), far].into_iter().flatten().reduce(f64::max),
        neighbours: tool::neighbours(rejudge::context_of(&run.record), tool, &observed),
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
pub fn hosts(run: &Run) -> Vec<HostSeen> {
    let record = &run.record;
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

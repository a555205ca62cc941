//! What an agent reports about a point that it measured.

use crate::fleet::{AgentEnd, AgentPoint, AgentStarts};
use crate::run::Point;
use crate::verdict::Gate;

impl AgentPoint {
    /// The report of an agent about one of its points, measured on `cpus` CPUs. `worker_busy` is
    /// the busy share of its busiest worker, from the readings of its host.
    pub fn of(agent: &str, point: &Point, cpus: u32, worker_busy: Option<f64>) -> Self {
        let requests = &point.requests;
        let starts = point.starts();
        let is_broken = |gate: &&Gate| gate.ok == Some(false);
        let busy = |used: f64| used / f64::from(cpus.max(1));
        Self {
            agent: agent.to_string(),
            planned: requests.planned,
            sent: requests.sent,
            completed: requests.completed,
            failed: requests.failed,
            unanswered: requests.unanswered,
            unsent: requests.unsent,
            unaccounted: 0,
            starts: starts.map(|one| AgentStarts { begun: one.begun, unsent: one.unsent }),
            rate: Some(point.rate),
            generator_delay_p99_ns: point
                .generator_delay_ns
                .as_ref()
                .and_then(|generator_delay| generator_delay.p99),
            cpu_busy: point.cpu.client_cpus.map(busy),
            worker_busy,
            clock_error_ns: 0,
            ended: AgentEnd::Complete,
            broken: point.gates.iter().filter(is_broken).map(|gate| gate.id).collect(),
            wall: Some(point.verdict.wall),
            side: Some(point.verdict.side),
            confidence: Some(point.verdict.confidence),
        }
    }
}

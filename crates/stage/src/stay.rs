//! Whether a server keeps running from one visit to the next, or is started again.

use model::experiment::Restart;
use plan::{Plan, Server, Visit};

/// What happens to a server after a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// It ends.
    Ends,
    /// It keeps running for the next visit.
    Stays,
}

/// What happens to the server of a visit. It stays if the design says so and the next visit, of the
/// same block, has the same server. Knobs are turned and put back around a server that only its
/// cell uses.
pub fn after(plan: &Plan, visits: &[Visit], at: usize) -> After {
    let is_kept = plan.design.as_ref().is_some_and(|design| design.restart == Restart::Block);
    let Some(next) = visits.get(at + 1).filter(|_| is_kept) else { return After::Ends };
    let (own, other) = (&plan.cells[visits[at].cell], &plan.cells[next.cell]);
    let is_same =
        next.block == visits[at].block && own.server == other.server && own.host == other.host;
    let is_started = matches!(own.server, Server::Started { .. });
    match is_same && is_started && own.tune.is_empty() && other.tune.is_empty() {
        true => After::Stays,
        false => After::Ends,
    }
}

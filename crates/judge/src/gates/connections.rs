//! Every connection asked for was opened, and served.
//!
//! Connections that are refused, starved or never accepted make a smaller load than the one that
//! is reported.

use super::Outcome;
use crate::case::Case;

pub fn check(case: &Case<'_>) -> Outcome {
    let connections = &case.point.connections;
    // With fewer requests than connections some cannot have their turn.
    let could_serve = connections.asked.min(case.point.requests.sent);
    let unopened = connections.asked.saturating_sub(connections.opened);
    let starved = could_serve.min(connections.opened).saturating_sub(connections.served);
    let why = match (unopened, starved) {
        (0, 0) => format!("all {} connections were opened and served", connections.asked),
        (0, starved) => format!("{starved} connections never had a request answered"),
        (unopened, starved) => format!(
            "{unopened} of {} connections were not opened, {starved} more had nothing answered",
            connections.asked
        ),
    };
    Outcome {
        ok: Some(unopened + starved == 0),
        measured: Some((unopened + starved) as f64),
        bound: "0 missing".to_string(),
        why,
    }
}

//! What was read on the hosts of both sides in the window of a point, as figures.
//!
//! Absent are the side that no probe read, and the client of a fleet: its agents have hosts of
//! their own.

use crate::case::Case;
use model::figure::{Figure, Whose};
use model::route::Address;
use observe::{Carrier, SideHost};
use std::collections::BTreeMap;

/// The figures of both hosts that were read.
pub(crate) fn figures(case: &Case<'_>) -> BTreeMap<Figure, f64> {
    let mut figures = BTreeMap::new();
    let links = &case.trial.links;
    let carrier = carrier(case);
    if case.point.agents.is_empty() {
        let near = SideHost {
            whose: Whose::Client,
            seen: case.observed,
            nics: &case.host.nics,
            stated: links.client.as_ref(),
            carrier,
            parent: None,
        };
        figures.extend(near.figures());
    }
    if let Some(seen) = case.server_side() {
        let far = SideHost {
            whose: Whose::Server,
            seen,
            nics: case.server_host.map_or(&[], |host| &host.nics),
            stated: links.server.as_ref(),
            carrier,
            parent: case.server.map(|server| server.pid),
        };
        figures.extend(far.figures());
    }
    figures
}

/// Which interface of a host carries the load.
fn carrier(case: &Case<'_>) -> Carrier {
    let addresses = &case.trial.addresses;
    if addresses.iter().any(|address| matches!(address, Address::Unix(_))) {
        return Carrier::None;
    }
    if case.is_one_host() || addresses.iter().any(Address::is_loopback) {
        return Carrier::Loopback;
    }
    if case.is_one_kernel() { Carrier::Busiest } else { Carrier::Outward }
}

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

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use model::figure::{Figure, OfHost, Whose};
    use model::fleet::AgentPoint;
    use model::route::Address;
    use observe::LinkUse;

    /// A host whose loopback moves less than its bridge, and its network device least.
    fn fixture() -> Fixture {
        let link = |name: &str, tx_bytes_s| LinkUse {
            name: name.to_string(),
            tx_bytes_s,
            ..LinkUse::default()
        };
        let mut fixture = Fixture::good();
        fixture.observed.links =
            Some(vec![link("lo", 2e3), link("bond0", 1e3), link("veth1", 3e3)]);
        fixture
    }

    fn sent(fixture: &Fixture, whose: Whose) -> Option<f64> {
        let figures = super::figures(&fixture.case());
        figures.get(&Figure::Host(OfHost::Sent, whose)).copied()
    }

    #[test]
    fn the_interface_follows_from_where_the_server_is() {
        let mut fixture = fixture();
        assert_eq!(sent(&fixture, Whose::Client), Some(2e3), "one host: loopback");
        fixture.apart();
        fixture.trial.addresses = vec!["10.0.0.2:8083".parse().unwrap()];
        let sides = [Whose::Client, Whose::Server].map(|whose| sent(&fixture, whose));
        assert_eq!(sides, [Some(1e3); 2], "two hosts: the way out of each");
        fixture.trial.addresses = vec![Address::Unix("/run/web.sock".into())];
        assert_eq!(sent(&fixture, Whose::Client), None, "no interface");
    }

    #[test]
    fn a_host_that_was_not_read_has_no_figures() {
        let mut fixture = fixture();
        fixture.unwatched();
        assert_eq!(sent(&fixture, Whose::Server), None);
        assert_eq!(sent(&fixture, Whose::Client), Some(1e3));
        fixture.point.agents = vec![AgentPoint::default()];
        assert_eq!(sent(&fixture, Whose::Client), None, "the agents have hosts of their own");
    }
}

//! What was read on the hosts of both sides in the window of a point, as figures.
//!
//! Absent are the side that no probe read, and the client of a fleet: its agents have hosts of
//! their own.

use crate::case::Case;
use crate::verdict::Context;
use model::facts::{ClockOffset, HostFacts, ServerFacts};
use model::figure::{Figure, Whose};
use model::host_now::HostNow;
use model::load::Trial;
use model::maps::IntoMap;
use model::route::Address;
use observe::{Carrier, Observed, SideHost};
use std::collections::BTreeMap;

/// Clocks that agree within this error count as one clock.
const SAME_CLOCK_NS: u64 = 1_000_000;

/// The hosts of both sides, and what was read there in some time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sides<'a> {
    /// The load that was requested.
    pub(crate) trial: &'a Trial,
    /// The generator's host.
    pub(crate) host: &'a HostFacts,
    /// The server, when it is watched.
    pub(crate) server: Option<&'a ServerFacts>,
    /// The server's host, if it is known.
    pub(crate) server_host: Option<&'a HostFacts>,
    /// How far its clock is off, if a probe runs there.
    pub(crate) clock: Option<&'a ClockOffset>,
    /// What the probe on the generator's host saw.
    pub(crate) observed: &'a Observed,
}

impl<'a> Sides<'a> {
    /// Readings of the server's host; none when no probe ran there.
    pub(crate) fn server_side(&self) -> Option<&'a Observed> {
        let is_local = self.trial.addresses.iter().any(Address::is_loopback);
        let is_known = self.observed.far.is_some() || self.server.is_some() || is_local;
        is_known.then(|| self.observed.far.as_deref().unwrap_or(self.observed))
    }

    /// Whether generator and server are known to share a host and a network namespace.
    pub(crate) fn is_one_host(&self) -> bool {
        self.observed.far.is_none() && self.server_host.is_some()
    }

    /// Whether generator and server run under one kernel. A probe whose monotonic clock equals
    /// ours, within the error, runs under the same kernel, because two hosts do not boot at the
    /// same instant. This tells namespaces of one machine from two machines.
    pub(crate) fn is_one_kernel(&self) -> bool {
        let is_exact = |clock: &ClockOffset| clock.error_ns < SAME_CLOCK_NS;
        let clock = self.clock.filter(|clock| is_exact(clock));
        let is_same = clock.is_some_and(|clock| clock.offset_ns.unsigned_abs() <= clock.error_ns);
        self.is_one_host() || is_same
    }

    /// The host of a side, if it was read.
    fn host_of(&self, whose: Whose) -> Option<SideHost<'a>> {
        let links = &self.trial.links;
        let (carrier, seen) = (self.carrier(), self.observed);
        Some(match whose {
            Whose::Client => {
                let (nics, stated) = (&self.host.nics, links.client.as_ref());
                SideHost { whose, seen, nics, stated, carrier, parent: None }
            }
            Whose::Server => SideHost {
                whose,
                seen: self.server_side()?,
                nics: self.server_host.map_or(&[], |host| &host.nics),
                stated: links.server.as_ref(),
                carrier,
                parent: self.server.map(|server| server.pid),
            },
        })
    }

    /// Which interface of a host carries the load.
    fn carrier(&self) -> Carrier {
        let addresses = &self.trial.addresses;
        if addresses.iter().any(|address| matches!(address, Address::Unix(_))) {
            return Carrier::None;
        }
        if self.is_one_host() || addresses.iter().any(Address::is_loopback) {
            return Carrier::Loopback;
        }
        if self.is_one_kernel() { Carrier::Busiest } else { Carrier::Outward }
    }
}

/// The figures of both hosts that were read.
pub(crate) fn figures(case: &Case<'_>) -> BTreeMap<Figure, f64> {
    let is_read = |whose: &Whose| *whose == Whose::Server || case.point.agents.is_empty();
    let read = Whose::ALL.into_iter().filter(is_read);
    let hosts = read.filter_map(|whose| case.sides().host_of(whose));
    hosts.flat_map(|host| host.figures()).into_map()
}

/// What the hosts did in the time of some readings, for the live view. `read` are the sides
/// whose hosts are read; one of which nothing is known has a host without values.
pub fn hosts_now(context: Context<'_>, observed: &Observed, read: &[Whose]) -> Vec<HostNow> {
    now_of(&context.sides(observed), read)
}

fn now_of(sides: &Sides<'_>, read: &[Whose]) -> Vec<HostNow> {
    let now = |of: &[Whose], whose| {
        let host = sides.host_of(whose).map_or_else(HostNow::default, |host| host.now());
        HostNow { sides: of.to_vec(), ..host }
    };
    let is_one = sides.observed.far.is_none() && sides.server_side().is_some();
    if is_one && read.contains(&Whose::Client) {
        return vec![now(&Whose::ALL, Whose::Server)];
    }
    read.iter().map(|whose| now(&[*whose], *whose)).collect()
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use model::figure::{Figure, OfHost, Whose};
    use model::fleet::AgentPoint;
    use model::host_now::HostNow;
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

    #[test]
    fn two_hosts_are_told_apart_and_one_host_is_told_once() {
        let mut fixture = fixture();
        let told = |fixture: &Fixture, read: &[Whose]| {
            let case = fixture.case();
            let hosts = super::now_of(&case.sides(), read);
            let links = |host: &HostNow| host.links.as_ref().map(|links| links[0].name.clone());
            hosts.iter().map(|host| (host.sides.clone(), links(host))).collect::<Vec<_>>()
        };
        let busiest = Some("veth1".to_string());
        let [client, server] = Whose::ALL;
        assert_eq!(told(&fixture, &Whose::ALL), [(Whose::ALL.to_vec(), busiest.clone())]);
        fixture.unwatched();
        fixture.trial.addresses = vec!["10.0.0.2:8083".parse().unwrap()];
        let nothing = (vec![server], None);
        let near = (vec![client], busiest.clone());
        assert_eq!(told(&fixture, &Whose::ALL), [near.clone(), nothing], "it is not known");
        fixture.apart();
        let far = (vec![server], busiest);
        assert_eq!(told(&fixture, &Whose::ALL), [near, far.clone()]);
        assert_eq!(told(&fixture, &[server]), [far], "agents have hosts of their own");
    }
}

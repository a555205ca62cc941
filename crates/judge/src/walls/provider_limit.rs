//! N4: the network provider lets no more through: bandwidth, packets or tracked connections.
//!
//! Signals: counters of the network driver for the provider's allowances (EC2's ENA: `bw_in_`,
//! `bw_out_`, `pps_` and `conntrack_allowance_exceeded`), on both hosts.
//! Rule: such a counter rose by more than 0.1 % of the packets of its interface in the window, or,
//! over a ramp, rose at all while the rate no longer follows the load although neither side is
//! short of CPU. The counters count packets queued or dropped, and short bursts raise them at low
//! average load: a small number alone is no evidence. That of tracked connections counts packets
//! that would open one, which are few among all packets: it is evidence when it rose at all while
//! connecting was slow (SYNs sent again), failed, or was not done when the window ended. An
//! allowance of the generator's host alone is a wall of the client. The wall is not tested where
//! the driver of either host has no such counter: then silence excludes nothing.
//! Mimics: K8 and C5 (a limit of the host's own), N3 (a limit of one flow, which has no counter).
//! Confirm: half the packets at equal bytes, or half the bytes at equal packets: the limited one
//! moves the rate.
//! Source: Amazon EC2 User Guide, Monitor network performance for ENA; Linux
//! drivers/net/ethernet/amazon/ena.
//! Name: provider allowance
//! Reason: the provider of the host holds packets back
//! Fix: use an instance with a larger network allowance, or more instances

use super::{Family, Seen, Test, accept_queue};
use crate::case::{Case, percent};
use model::wall::Side;
use observe::Observed;

/// Share of an interface's packets above which the allowance matters whatever the ramp shows.
const SHARE_MIN: f64 = 0.001;

/// How the name of a counter of an allowance ends.
const EXCEEDED: &str = "allowance_exceeded";
/// How that of tracked connections starts.
const TRACKED: &str = "conntrack";

/// One allowance that was exceeded.
struct Exceeded {
    counter: String,
    increase: u64,
    /// Share of the packets of its interface; absent if those were not read.
    share: Option<f64>,
}

impl Exceeded {
    /// Whether it is that of tracked connections, of which each may have any number of packets.
    fn is_of_connections(&self) -> bool {
        self.counter.starts_with(TRACKED)
    }

    /// Whether it matters whatever the ramp shows.
    fn matters(&self, case: &Case<'_>) -> bool {
        match self.is_of_connections() {
            true => accept_queue::connecting_is_slow(case),
            false => self.share.is_some_and(|share| share >= SHARE_MIN),
        }
    }
}

pub fn test(case: &Case<'_>) -> Test {
    let near = ("client", Some(case.observed));
    let far = ("server", case.observed.far.as_deref());
    let mut is_tested = case.server_side().is_some();
    let has_slack = case.client_has_slack() == Some(true) && case.server_has_slack() == Some(true);
    let is_flat = case.still_grows() == Some(false) && has_slack;
    let (mut seen, mut needs_connects) = (Seen::default(), false);
    for (host, observed) in [near, far] {
        let Some(observed) = observed else { continue };
        let host = if case.is_one_host() { "both" } else { host };
        is_tested &= has_counters(observed);
        for one in exceeded(observed, case.window_s()) {
            if is_flat || one.matters(case) {
                seen = with(seen, host, &one);
                needs_connects |= one.is_of_connections();
            }
        }
    }
    if needs_connects && accept_queue::connecting_is_slow(case) {
        seen = accept_queue::with_slow_connects(case, seen);
    }
    if seen.findings.is_empty() {
        return if is_tested { Test::NotSeen } else { Test::Untested };
    }
    let of_client = seen.findings.iter().all(|finding| finding.evidence.host == "client");
    let mut fix = "use an instance with a larger network allowance, or more instances";
    if of_client {
        seen = seen.at(Side::Client, "provider allowance of the client");
        fix = "for the generator, use an instance with a larger network allowance, or more of them";
    }
    let sentence = sentence(&seen, of_client);
    Test::Seen(
        seen.saying(sentence)
            .fixed_by(fix)
            .next("find out which one: several requests at once (-p), or shorter responses"),
    )
}

/// Which counters rose, and by how much.
fn sentence(seen: &Seen, of_client: bool) -> String {
    let host = if of_client { "the generator's host" } else { "the host" };
    let evidence = seen.findings.iter().map(|one| &one.evidence);
    let of_driver = evidence.filter(|one| one.read == ["drivers"]);
    let rose: Vec<_> = of_driver.map(|one| format!("{} ({})", one.value, one.field)).collect();
    format!("the provider of {host} holds packets back: {}", rose.join(", "))
}

/// Whether the driver of a host counts what its provider holds back.
fn has_counters(observed: &Observed) -> bool {
    let mut names = observed.drivers.iter().flatten().flat_map(|(_, counters)| counters.keys());
    names.any(|name| name.ends_with(EXCEEDED))
}

fn exceeded(observed: &Observed, window_s: f64) -> Vec<Exceeded> {
    let mut all = Vec::new();
    for (interface, counters) in observed.drivers.iter().flatten() {
        let link = observed.links.iter().flatten().find(|link| link.name == *interface);
        let packets = link.map(|link| (link.rx_packets_s + link.tx_packets_s) * window_s);
        for (name, increase) in counters.iter().filter(|(name, count)| is_ours(name, **count)) {
            let share = packets.map(|packets| *increase as f64 / packets.max(1.0));
            let counter = format!("{name} of {interface}");
            all.push(Exceeded { counter, increase: *increase, share });
        }
    }
    all
}

/// Link-local traffic (name service, instance metadata) is not part of the load.
fn is_ours(counter: &str, increase: u64) -> bool {
    counter.ends_with(EXCEEDED) && !counter.starts_with("linklocal") && increase > 0
}

fn with(seen: Seen, host: &str, one: &Exceeded) -> Seen {
    let share = one.share.map_or("-".to_string(), percent);
    let rule = match one.is_of_connections() {
        true => "any while connecting is slow, or where the rate no longer follows the load",
        false => "over 0.1 %, or any where the rate no longer follows the load",
    };
    seen.with(
        Family::HardCounter,
        host,
        ("ethtool -S", ["drivers"]),
        &one.counter,
        format!("+{}, {share} of packets", one.increase),
        rule,
    )
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use model::verdict::{CeilingKind, Named};
    use model::wall::{Side, WallId};

    pub const SIGNS: Signs = Signs {
        shown: |scene| scene.fixture.allowance("bw_out_allowance_exceeded", 900),
        without: &[
            ("packets over the allowance", |scene| {
                scene.fixture.allowance("bw_out_allowance_exceeded", 0);
            }),
            ("more than a burst", |scene| {
                scene.fixture.allowance("bw_out_allowance_exceeded", 3);
            }),
            ("the driver's counters", |scene| scene.fixture.observed.drivers = None),
        ],
    };

    #[test]
    fn an_allowance_that_many_packets_exceeded_is_seen() {
        let mut fixture = Fixture::good();
        fixture.allowance("bw_out_allowance_exceeded", 400);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.apart();
        fixture.allowance("bw_out_allowance_exceeded", 0);
        fixture.observed.drivers = fixture.far().drivers.clone();
        fixture.allowance("bw_out_allowance_exceeded", 400);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "the server's");
        fixture.allowance("linklocal_allowance_exceeded", 400);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "name service");
    }

    #[test]
    fn an_allowance_of_the_generator_alone_is_a_wall_of_the_client() {
        let judged = |fixture: &mut Fixture| {
            fixture.check_gates();
            crate::decide::decide(&fixture.case(), None)
        };
        let mut fixture = Fixture::good();
        fixture.apart();
        fixture.allowance("pps_allowance_exceeded", 400);
        let theirs = judged(&mut fixture);
        assert_eq!((theirs.wall, theirs.side), (Named::Wall(WallId::N4), Side::Path));
        fixture.observed.drivers = fixture.far().drivers.replace(Default::default());
        fixture.observed.links = fixture.far().links.clone();
        let ours = judged(&mut fixture);
        assert_eq!((ours.wall, ours.side), (Named::Wall(WallId::N4), Side::Client));
        assert_eq!(ours.name, "provider allowance of the client");
        assert_eq!(ours.ceiling.unwrap().kind, CeilingKind::AtLeast);
        let fix = ours.fix.as_deref().unwrap_or_default();
        assert!(fix.starts_with("for the generator, "), "{fix}");
    }

    #[test]
    fn a_few_packets_of_a_burst_count_only_where_the_rate_is_flat() {
        let mut fixture = Fixture::good();
        fixture.allowance("pps_allowance_exceeded", 3);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
        let flat = |fixture: &Fixture| {
            let lighter = Fixture::point(4, 990.0);
            let ramp = [&lighter, &fixture.point];
            super::test(&crate::case::Case { ramp: &ramp, ..fixture.case() })
        };
        assert!(matches!(flat(&fixture), Test::Seen(_)));
        fixture.server_thread(0.97, 0.0);
        assert_eq!(flat(&fixture), Test::NotSeen, "S2 makes it flat as well");
    }

    #[test]
    fn tracked_connections_over_the_allowance_count_while_connecting_is_slow() {
        let mut fixture = Fixture::good();
        fixture.allowance("conntrack_allowance_exceeded", 400);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "no connection waited");
        fixture.allowance("conntrack_allowance_exceeded", 3);
        fixture.slow_connects();
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.families(), 2, "{seen:?}");
        fixture.allowance("pps_allowance_exceeded", 3);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "K1, K2: few packets");
    }

    #[test]
    fn a_driver_without_counters_of_allowances_says_nothing() {
        let mut fixture = Fixture::good();
        fixture.allowance("rx_missed_errors", 0);
        assert_eq!(super::test(&fixture.case()), Test::Untested);
        fixture.apart();
        fixture.allowance("pps_allowance_exceeded", 0);
        assert_eq!(super::test(&fixture.case()), Test::Untested, "the generator's has none");
        fixture.observed.drivers = fixture.far().drivers.clone();
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
    }

    #[test]
    fn without_the_servers_driver_a_clean_generator_says_nothing() {
        let mut fixture = Fixture::good();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
        fixture.allowance("pps_allowance_exceeded", 0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
        fixture.unwatched();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}

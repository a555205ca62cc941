//! N5: something between the hosts lets new connections through only sometimes.
//!
//! Signals: SYNs that the generator's host sent again, SYNs that the server's host refused,
//! SYN-ACKs that it sent again, data sent again on both hosts, drops at every place of both hosts
//! where packets can be dropped.
//! Rule: connecting was slow (SYNs were sent again), failed or was not done; the repeated SYNs cost
//! at least 10 % of the time of all connections, at 1 s each (the first retry); the server's host
//! refused or dropped less than half as many, sent hardly any SYN-ACK again, and both hosts dropped
//! less than half as many packets: they never arrived. Of the data less than 0.1 % was sent again:
//! the way itself loses nothing. Both network namespaces must be read.
//! Mimics: K1, K2 and K10 (the server's host counts what it refuses), N2 (data is lost as well), a
//! packet filter on either host, whose drops no counter has.
//! Confirm: from the server's own network, connecting is fast.
//! Source: Linux networking/snmp_counter.rst, RFC 6298 section 2.1 (the first timeout).
//! Name: between the hosts
//! Reason: something between the hosts drops new connections
//! Fix: look for a limit of a firewall, NAT or load balancer, or for a packet filter

use super::accept_queue::{connecting_is_slow, with_slow_connects};
use super::loss::{self, WAITED_MIN};
use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use model::units::show_things;

/// Seconds after which a SYN is sent again.
const FIRST_RETRY_S: f64 = 1.0;
/// Of the repeated SYNs, the share that the hosts may have dropped or refused, or answered.
const ELSEWHERE: f64 = 0.5;
/// Share of the data sent again from which the way loses packets (N2).
const LOSSY: f64 = 0.001;

pub fn test(case: &Case<'_>) -> Test {
    let (Some(near), Some(far)) = (&case.observed.tcp, &case.observed.far) else {
        return Test::Untested;
    };
    let Some(server) = &far.tcp else { return Test::Untested };
    let Some((resent, sent)) = loss::resent_by_both(case) else { return Test::Untested };
    let again = near.get("TcpExt.TCPSynRetrans").copied().unwrap_or(0);
    let count = |name: &str| server.get(name).copied().unwrap_or(0);
    // A full accept queue counts in both of the first two; the last are SYN-ACKs.
    let refused = count("TcpExt.ListenDrops").max(count("TcpExt.ListenOverflows"))
        + count("TcpExt.TCPReqQFullDrop")
        + count("TcpExt.TCPReqQFullDoCookies")
        + count("TcpExt.TCPSynRetrans");
    let places = [case.observed, far].map(loss::dropped_at).concat();
    let dropped = places.iter().map(|(_, count)| count).sum::<u64>();
    let all_s = f64::from(case.point.load.connections) * case.window_s();
    let waited = (again as f64 * FIRST_RETRY_S / all_s.max(f64::MIN_POSITIVE)).min(1.0);
    let is_elsewhere = (refused.max(dropped) as f64) >= ELSEWHERE * again as f64;
    let loses_data = resent as f64 >= LOSSY * sent.max(1) as f64;
    if !connecting_is_slow(case) || waited < WAITED_MIN || is_elsewhere || loses_data {
        return Test::NotSeen;
    }
    let seen = Seen::default().with(
        Family::HardCounter,
        "client",
        ("/proc/net/netstat", ["tcp"]),
        "SYNs sent again; refused, dropped or answered twice by the hosts",
        format!("{again}; {}", refused.max(dropped)),
        "over 10 % of the time of all connections at 1 s each; less than half as many",
    );
    let seen = with_slow_connects(case, seen).saying(format!(
        "{} never arrived at the server's host, while data is not lost: connections wait for that \
         in about {} of their time",
        show_things(again, "SYN"),
        percent(waited)
    ));
    Test::Seen(seen.next("repeat from the server's own network: is connecting fast there?"))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| lose_syns(&mut scene.fixture, 20),
        without: &[
            ("SYNs sent again", |scene| scene.fixture.tcp("TcpExt.TCPSynRetrans", 0)),
            ("slow connects", |scene| {
                scene.fixture.point.connections.connect_ns.p99 = Some(60_000);
            }),
            ("the server's counters", |scene| scene.fixture.far().tcp = None),
        ],
    };

    /// SYNs that the generator repeats and the server's host does not know of.
    fn lose_syns(fixture: &mut Fixture, again: u64) {
        fixture.loss(0, 0);
        fixture.apart();
        fixture.loss(again, again);
        fixture.slow_connects();
    }

    /// Eight connections for five seconds are 40 s: a tenth of it is four retries.
    #[test]
    fn syns_that_no_host_dropped_are_lost_between_them() {
        let mut fixture = Fixture::good();
        lose_syns(&mut fixture, 4);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.families(), 2, "{seen:?}");
        fixture.loss(3, 3);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "few");
        fixture.loss(40, 20);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "N2: data is lost as well");
    }

    #[test]
    fn what_the_server_refuses_is_not_lost_on_the_way() {
        for counter in ["ListenDrops", "TCPReqQFullDrop", "TCPSynRetrans"] {
            let mut fixture = Fixture::good();
            lose_syns(&mut fixture, 20);
            let tcp = fixture.far().tcp.get_or_insert_default();
            tcp.insert(format!("TcpExt.{counter}"), 10);
            assert_eq!(super::test(&fixture.case()), Test::NotSeen, "{counter}");
        }
        let mut fixture = Fixture::good();
        lose_syns(&mut fixture, 20);
        fixture.far().softnet = Some(Vec::new());
        fixture.softnet(&[(50_000, 10)]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "a CPU's backlog");
    }

    #[test]
    fn one_namespace_alone_leaves_it_untested() {
        let mut fixture = Fixture::good();
        fixture.loss(20, 20);
        fixture.slow_connects();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}

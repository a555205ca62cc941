//! K10: the connection tracking table is full, and new connections are dropped.
//!
//! Signals: `/proc/sys/net/netfilter/nf_conntrack_count` and `_max`, and the drops in
//! `/proc/net/stat/nf_conntrack`.
//! Rule: the kernel dropped packets because it had no free entry, or removed entries early to make
//! room; or the table was over 90 % full while connecting was slow (SYNs sent again), failed, or
//! was not done when the window ended (the next SYN, and its drop, may come after the window).
//! Each host has a table, and the evidence names the host. A full table of the client's host is a
//! wall of the client, also when nothing on the server's host was read.
//! Mimics: K1 and K2 (they also make connecting slow, but have their own counters), insert_failed
//! (a race, not a full table; not counted).
//! Confirm: a larger nf_conntrack_max, or no tracking of the port (notrack), ends the drops.
//! Source: Linux networking/nf_conntrack-sysctl.rst, net/netfilter/nf_conntrack_core.c.

use super::{Family, Seen, Test, accept_queue};
use crate::case::Case;
use model::wall::Side;
use observe::ConntrackUse;

/// Share of the table in use above which slow connects are attributed to it.
const FULL: f64 = 0.90;

/// The tables of both hosts, the server's first; one table if they are one host.
fn tables(case: &Case<'_>) -> impl Iterator<Item = (Side, ConntrackUse)> {
    let server = case.server_side();
    let far = server.and_then(|server| server.conntrack).map(|table| (Side::Server, table));
    let is_own = server.is_none() || case.observed.far.is_some();
    let near = case.observed.conntrack.filter(|_| is_own).map(|table| (Side::Client, table));
    far.into_iter().chain(near)
}

pub fn test(case: &Case<'_>) -> Test {
    let has_lost = |(_, table): &(Side, ConntrackUse)| table.dropped + table.early_dropped > 0;
    let is_full = |(_, table): &(Side, ConntrackUse)| {
        let share = table.count as f64 / table.max.max(1) as f64;
        share > FULL && accept_queue::connecting_is_slow(case)
    };
    let found = tables(case).find(has_lost).or_else(|| tables(case).find(is_full));
    let Some((side, table)) = found else {
        // The client's table alone says nothing about the server's.
        let is_read = tables(case).any(|(side, _)| side == Side::Server);
        return if is_read { Test::NotSeen } else { Test::Untested };
    };
    let (host, place) = match side {
        Side::Client => ("client", "the client's host"),
        _ if case.is_one_host() => (case.server_host_name(), "this host"),
        _ => (case.server_host_name(), "the server's host"),
    };
    let mut seen = Seen::default()
        .with(
            Family::HardCounter,
            host,
            ("/proc/net/stat/nf_conntrack", ["conntrack"]),
            "packets dropped because the table was full, entries removed early",
            format!("+{}, +{}", table.dropped, table.early_dropped),
            "any",
        )
        .with(
            Family::QueueLocation,
            host,
            ("nf_conntrack_count", ["conntrack"]),
            "most entries, and the limit",
            format!("{} of {}", table.count, table.max),
            "over 90 %",
        );
    if side == Side::Client {
        seen = seen.at(Side::Client, "connection tracking table of the client");
    }
    if !accept_queue::connecting_is_slow(case) {
        seen.against.push("connecting was not slow and did not fail".to_string());
    }
    let max = table.max * 4;
    Test::Seen(
        seen.next(format!(
            "on {place}: sysctl net.netfilter.nf_conntrack_max={max} (in the initial namespace)"
        ))
        .next(format!("exempt the port from tracking (notrack) on {place}")),
    )
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use model::verdict::{CeilingKind, Named};
    use model::wall::{Side, WallId};
    use observe::ConntrackUse;

    #[test]
    fn drops_and_a_full_table_with_slow_connects_are_seen() {
        let mut fixture = Fixture::good();
        let table = |count, dropped| ConntrackUse { count, max: 200, dropped, early_dropped: 0 };
        fixture.observed.conntrack = Some(table(199, 0));
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "full without effect");
        fixture.observed.conntrack = Some(table(200, 7));
        fixture.slow_connects();
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!((seen.families(), seen.against.len()), (2, 0));
        fixture.observed.conntrack = Some(table(199, 0));
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "drops were not counted");
        let mut fixture = Fixture::good();
        fixture.observed.conntrack = Some(table(200, 0));
        fixture.point.connections.asked += 5;
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "five never opened");
        fixture.slow_connects();
        fixture.observed.conntrack = Some(table(20, 0));
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "slow for another reason: K1, K2");
    }

    #[test]
    fn a_full_table_of_the_clients_host_is_a_wall_of_the_client() {
        let table = |count, dropped| ConntrackUse { count, max: 200, dropped, early_dropped: 0 };
        let judged = |fixture: &mut Fixture| {
            fixture.check_gates();
            crate::decide::decide(&fixture.case(), None)
        };
        let mut apart = Fixture::good();
        apart.apart();
        apart.far().conntrack = Some(table(20, 0));
        let mut unwatched = Fixture::good();
        unwatched.unwatched();
        for mut fixture in [apart, unwatched] {
            fixture.observed.conntrack = Some(table(200, 7));
            fixture.slow_connects();
            let full = judged(&mut fixture);
            assert_eq!((full.wall, full.side), (Named::Wall(WallId::K10), Side::Client));
            assert_eq!(full.name, "connection tracking table of the client");
            assert_eq!(full.evidence[0].host, "client");
            assert_eq!(full.ceiling.unwrap().kind, CeilingKind::AtLeast, "not the server's");
            assert!(full.next[0].starts_with("on the client's host: sysctl"), "{:?}", full.next);
        }
        let mut fixture = Fixture::good();
        fixture.apart();
        fixture.far().conntrack = Some(table(190, 7));
        fixture.observed.conntrack = Some(table(20, 0));
        fixture.slow_connects();
        let full = judged(&mut fixture);
        assert_eq!((full.wall, full.side), (Named::Wall(WallId::K10), Side::Server));
        assert_eq!(
            (full.name.as_str(), full.evidence[0].host.as_str()),
            (WallId::K10.name(), "server")
        );
        assert!(full.next[0].starts_with("on the server's host: sysctl"), "{:?}", full.next);
        fixture.far().conntrack = Some(table(190, 0));
        fixture.observed.conntrack = Some(table(190, 7));
        assert_eq!(judged(&mut fixture).side, Side::Client, "only that table lost packets");
    }

    #[test]
    fn the_clients_table_says_nothing_about_that_of_an_unwatched_server() {
        let mut fixture = Fixture::good();
        fixture.unwatched();
        let table = ConntrackUse { count: 20, max: 200, dropped: 0, early_dropped: 0 };
        fixture.observed.conntrack = Some(table);
        fixture.slow_connects();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
        let mut fixture = Fixture::good();
        fixture.apart();
        fixture.observed.conntrack = Some(table);
        assert_eq!(super::test(&fixture.case()), Test::Untested, "no table was read there");
        fixture.far().conntrack = Some(table);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
    }

    #[test]
    fn without_a_table_it_is_untested() {
        let mut fixture = Fixture::good();
        fixture.slow_connects();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}

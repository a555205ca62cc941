//! K10: the connection tracking table is full, and new connections are dropped.
//!
//! Signals: `/proc/sys/net/netfilter/nf_conntrack_count` and `_max`, and the drops in
//! `/proc/net/stat/nf_conntrack`.
//! Rule: the kernel removed entries early to make room; or the table was over 90 % full, and the
//! kernel dropped packets, or connecting was slow (SYNs sent again), failed, or was not done when
//! the window ended (the next SYN, and its drop, may come after the window). Drops in a table with
//! room are not counted: `drop` rises also with insert_failed, when two packets race for one entry,
//! and when the tracker of a protocol refuses a packet.
//! Each network namespace has a table: the hosts have one each, and the server another when it has
//! a namespace of its own. The evidence names the host. A full table of the client's host is a wall
//! of the client, also when nothing on the server's host was read.
//! Mimics: K1 and K2 (they also make connecting slow, but have their own counters), lost races.
//! Confirm: a larger nf_conntrack_max, or no tracking of the port (notrack), ends the drops.
//! Source: Linux networking/nf_conntrack-sysctl.rst, net/netfilter/nf_conntrack_core.c
//! (__nf_conntrack_alloc, early_drop, nf_ct_resolve_clash, nf_conntrack_in).
//! Name: connection tracking table
//! Reason: the table of tracked connections is full
//! Fix: raise net.netfilter.nf_conntrack_max, or exempt the port from tracking (notrack)

use super::{Family, Seen, Test, accept_queue};
use crate::case::Case;
use model::units::show_things;
use model::wall::Side;
use observe::{ConntrackUse, Observed};

/// Share of the table in use above which drops and slow connects are attributed to it.
const FULL: f64 = 0.90;

/// Whether a table was so full that packets may have found no room.
fn is_full(table: &ConntrackUse) -> bool {
    table.share().is_some_and(|share| share > FULL)
}

/// Whether packets were dropped because they lost a race for an entry of a table with room.
pub(super) fn has_lost_races(table: &ConntrackUse) -> bool {
    table.dropped > 0 && table.insert_failed > 0 && !is_full(table)
}

/// The tables of both hosts, the server's first; those of one host if they are one.
fn tables(case: &Case<'_>) -> impl Iterator<Item = (Side, ConntrackUse)> {
    let server = case.server_side();
    let far = server.into_iter().flat_map(Observed::conntracks);
    let is_own = server.is_none() || case.observed.far.is_some();
    let near = Some(case.observed).filter(|_| is_own).into_iter().flat_map(Observed::conntracks);
    far.map(|table| (Side::Server, table)).chain(near.map(|table| (Side::Client, table)))
}

pub fn test(case: &Case<'_>) -> Test {
    let has_lost = |(_, table): &(Side, ConntrackUse)| {
        table.early_dropped > 0 || table.dropped > 0 && is_full(table)
    };
    let holds_up = |(_, table): &(Side, ConntrackUse)| {
        is_full(table) && accept_queue::connecting_is_slow(case)
    };
    let found = tables(case).find(has_lost).or_else(|| tables(case).find(holds_up));
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
    let mut seen = Seen::default().with(
        Family::HardCounter,
        host,
        ("/proc/net/stat/nf_conntrack", ["conntrack"]),
        "packets dropped, entries removed early",
        format!("+{}, +{}", table.dropped, table.early_dropped),
        "any entry, or any packet while the table is over 90 % full",
    );
    if is_full(&table) {
        seen = seen.with(
            Family::QueueLocation,
            host,
            ("nf_conntrack_count", ["conntrack"]),
            "most entries, and the limit",
            format!("{} of {}", table.count, table.max),
            "over 90 %",
        );
    }
    let of_client = if side == Side::Client { "the generator's host" } else { "the server's host" };
    seen = seen.saying(format!(
        "{of_client} tracks {} of at most {} connections, and dropped {}",
        table.count,
        table.max,
        show_things(table.dropped + table.early_dropped, "packet")
    ));
    if has_lost_races(&table) {
        let failed = table.insert_failed;
        let races = format!("some of the dropped packets lost a race for an entry (+{failed})");
        seen.against.push(races);
    }
    if side == Side::Client {
        seen = seen.at(Side::Client, "connection tracking table of the client");
    }
    if !accept_queue::connecting_is_slow(case) {
        seen.against.push("connecting was not slow and did not fail".to_string());
    }
    let max = table.max * 4;
    Test::Seen(
        seen.fixed_by(format!(
            "on {place}: sysctl net.netfilter.nf_conntrack_max={max} (in the initial namespace)"
        ))
        .next(format!("exempt the port from tracking (notrack) on {place}")),
    )
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use model::verdict::{CeilingKind, Named};
    use model::wall::{Side, WallId};
    use observe::ConntrackUse;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            let table = ConntrackUse { count: 199, max: 200, ..ConntrackUse::default() };
            scene.fixture.observed.conntrack = Some(table);
            scene.fixture.slow_connects();
        },
        without: &[
            ("a full table", |scene| {
                scene.fixture.observed.conntrack.as_mut().unwrap().count = 20;
            }),
            ("slow connects", |scene| {
                scene.fixture.point.connections.connect_ns.p99 = Some(60_000);
            }),
            ("the table", |scene| scene.fixture.observed.conntrack = None),
        ],
    };

    fn table(count: u64, dropped: u64) -> ConntrackUse {
        ConntrackUse { count, max: 200, dropped, ..ConntrackUse::default() }
    }

    #[test]
    fn drops_and_a_full_table_with_slow_connects_are_seen() {
        let mut fixture = Fixture::good();
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
    fn drops_in_a_table_with_room_are_no_wall() {
        let mut fixture = Fixture::good();
        fixture.slow_connects();
        fixture.observed.conntrack = Some(table(20, 1));
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "it may be any refusal");
        fixture.observed.conntrack = Some(ConntrackUse { insert_failed: 1, ..table(20, 1) });
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "a lost race");
        fixture.observed.conntrack = Some(ConntrackUse { max: 0, ..table(190, 1) });
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "it has no limit");
        fixture.observed.conntrack = Some(table(190, 1));
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "full");
    }

    #[test]
    fn entries_that_were_removed_early_are_seen_at_any_reading_of_the_table() {
        let mut fixture = Fixture::good();
        fixture.slow_connects();
        let table = ConntrackUse { early_dropped: 3, ..table(120, 0) };
        fixture.observed.conntrack = Some(table);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!((seen.findings.len(), seen.against.len()), (1, 0), "it was not found full");
        let races = ConntrackUse { dropped: 2, insert_failed: 2, ..table };
        fixture.observed.conntrack = Some(races);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert!(seen.against[0].contains("lost a race for an entry (+2)"), "{seen:?}");
    }

    #[test]
    fn an_empty_table_of_the_servers_namespace_hides_no_full_one_of_its_host() {
        let mut fixture = Fixture::good();
        fixture.apart();
        fixture.slow_connects();
        let far = fixture.far();
        (far.conntrack, far.conntrack_inside) = (Some(table(200, 7)), Some(table(0, 0)));
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "the host's");
        let far = fixture.far();
        std::mem::swap(&mut far.conntrack, &mut far.conntrack_inside);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "the namespace's");
        fixture.far().conntrack_inside = Some(table(0, 0));
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
    }

    #[test]
    fn a_full_table_of_the_clients_host_is_a_wall_of_the_client() {
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
            let fix = full.fix.unwrap();
            assert!(fix.starts_with("on the client's host: sysctl"), "{fix}");
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
        assert!(
            full.fix.as_ref().unwrap().starts_with("on the server's host: sysctl"),
            "{:?}",
            full.fix
        );
        fixture.far().conntrack = Some(table(190, 0));
        fixture.observed.conntrack = Some(table(190, 7));
        assert_eq!(judged(&mut fixture).side, Side::Client, "only that table lost packets");
    }

    #[test]
    fn the_clients_table_says_nothing_about_that_of_an_unwatched_server() {
        let mut fixture = Fixture::good();
        fixture.unwatched();
        fixture.observed.conntrack = Some(table(20, 0));
        fixture.slow_connects();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
        let mut fixture = Fixture::good();
        fixture.apart();
        fixture.observed.conntrack = Some(table(20, 0));
        assert_eq!(super::test(&fixture.case()), Test::Untested, "no table was read there");
        fixture.far().conntrack = Some(table(20, 0));
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
    }

    #[test]
    fn without_a_table_it_is_untested() {
        let mut fixture = Fixture::good();
        fixture.slow_connects();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}

//! K10: the connection tracking table is full, and new connections are dropped.
//!
//! Signals: `/proc/sys/net/netfilter/nf_conntrack_count` and `_max`, and the drops in
//! `/proc/net/stat/nf_conntrack`.
//! Rule: the kernel dropped packets because it had no free entry, or removed entries early to make
//! room; or the table was over 90 % full while connecting was slow (SYNs sent again), failed, or
//! was not done when the window ended (the next SYN, and its drop, may come after the window).
//! Mimics: K1 and K2 (they also make connecting slow, but have their own counters), insert_failed
//! (a race, not a full table; not counted).
//! Confirm: a larger nf_conntrack_max, or no tracking of the port (notrack), ends the drops.
//! Source: Linux networking/nf_conntrack-sysctl.rst, net/netfilter/nf_conntrack_core.c.

use super::{Family, Seen, Test, accept_queue};
use crate::case::Case;
use observe::ConntrackUse;

/// Share of the table in use above which slow connects are attributed to it.
const FULL: f64 = 0.90;

pub fn test(case: &Case<'_>) -> Test {
    let Some(server) = case.server_side() else { return Test::Untested };
    let far = server.conntrack.map(|table| (case.server_host_name(), table));
    let near = case.observed.conntrack.map(|table| ("client", table));
    if far.is_none() && near.is_none() {
        return Test::Untested;
    }
    let is_full = |(_, table): &(&str, ConntrackUse)| {
        let share = table.count as f64 / table.max.max(1) as f64;
        table.dropped + table.early_dropped > 0
            || (share > FULL && accept_queue::connecting_is_slow(case))
    };
    let Some((host, table)) = far.into_iter().chain(near).find(is_full) else {
        return Test::NotSeen;
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
    if !accept_queue::connecting_is_slow(case) {
        seen.against.push("connecting was not slow and did not fail".to_string());
    }
    let max = table.max * 4;
    Test::Seen(
        seen.next(format!(
            "sysctl net.netfilter.nf_conntrack_max={max} (in the initial namespace)"
        ))
        .next("exempt the port from tracking (notrack)"),
    )
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
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
    fn without_a_table_it_is_untested() {
        let mut fixture = Fixture::good();
        fixture.slow_connects();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}

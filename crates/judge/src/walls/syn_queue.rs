//! K2: the queue of half-open connections is full, and the kernel drops SYNs or responds with
//! cookies.
//!
//! Signals: `TcpExt.TCPReqQFullDrop`, `TCPReqQFullDoCookies`, and drops of SYNs that the accept
//! queue does not explain (`ListenDrops` over `ListenOverflows`).
//! Rule: one of them rose in the window while the accept queue did not overflow, and connecting was
//! slow (SYNs sent again) or failed. With cookies (the default) the queue is bounded by the backlog
//! alone; without them a quarter of tcp_max_syn_backlog stays reserved, and drops at that bound
//! count as ListenDrops only. With net.ipv4.tcp_syncookies=2 the kernel counts every SYN as
//! TCPReqQFullDoCookies, whatever the queue holds, and that counter is ignored.
//! Mimics: K1 (a full accept queue fills this one as well; looked at first), a flood of SYNs, lost
//! responses to SYNs (the same queue fills, but the path is at fault).
//! Confirm: half the connections per second, or a shorter round trip: the queue holds rate x round
//! trip.
//! Source: Linux net/ipv4/tcp_input.c (tcp_conn_request), networking/ip-sysctl.rst.
//! Name: SYN queue
//! Reason: requests for connections overflow the server's SYN queue
//! Fix: set a longer backlog, with net.core.somaxconn at least as long

use super::{Seen, Test, accept_queue};
use crate::case::Case;
use model::units::show_things;

/// Share of the dropped SYNs that the accept queue may leave unexplained: the two counters are not
/// read at the same instant.
const UNEXPLAINED_MIN: f64 = 0.05;

pub fn test(case: &Case<'_>) -> Test {
    let (Some(drops), Some(overflows)) =
        (case.server_tcp("TcpExt.ListenDrops"), case.server_tcp("TcpExt.ListenOverflows"))
    else {
        return Test::Untested;
    };
    let counter = |name: &str| case.server_tcp(name).unwrap_or(0);
    let dropped = counter("TcpExt.TCPReqQFullDrop");
    let are_for_all = has_cookies_for_all(case);
    let cookies = if are_for_all { 0 } else { counter("TcpExt.TCPReqQFullDoCookies") };
    let unexplained = drops.saturating_sub(overflows);
    let is_unexplained = unexplained as f64 > UNEXPLAINED_MIN * drops as f64;
    let is_full = dropped + cookies > 0 || is_unexplained;
    if !is_full || overflows > 0 || !accept_queue::connecting_is_slow(case) {
        return Test::NotSeen;
    }
    let cookies_shown = if are_for_all { "ignored".to_string() } else { format!("+{cookies}") };
    let mut seen = Seen::counted(
        "server",
        ("/proc/net/netstat", ["tcp"]),
        "TCPReqQFullDrop, TCPReqQFullDoCookies, ListenDrops not explained by the accept queue",
        format!("+{dropped}, {cookies_shown}, +{unexplained}"),
    );
    seen = seen.saying(format!(
        "the queue of connections that are not open yet is full: {} dropped",
        show_things((dropped + cookies).max(unexplained), "SYN")
    ));
    seen = accept_queue::with_slow_connects(case, seen);
    if dropped + cookies == 0 {
        seen.against.push("the kernel also drops SYNs when it lacks memory or a route".to_string());
    }
    Test::Seen(seen.next("without cookies, also raise net.ipv4.tcp_max_syn_backlog"))
}

/// Whether the kernel responds to every SYN with a cookie, a setting for tests.
fn has_cookies_for_all(case: &Case<'_>) -> bool {
    let setting = case.server_host.and_then(|host| host.sysctls.get("net.ipv4.tcp_syncookies"));
    setting.is_some_and(|setting| setting == "2")
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.tcp("TcpExt.ListenDrops", 30);
            scene.fixture.tcp("TcpExt.TCPReqQFullDrop", 30);
            scene.fixture.slow_connects();
        },
        without: &[
            ("dropped SYNs", |scene| {
                scene.fixture.tcp("TcpExt.ListenDrops", 0);
                scene.fixture.tcp("TcpExt.TCPReqQFullDrop", 0);
            }),
            ("room in the accept queue", |scene| scene.fixture.tcp("TcpExt.ListenOverflows", 30)),
            ("slow connects", |scene| {
                scene.fixture.point.connections.connect_ns.p99 = Some(60_000);
            }),
            ("counters", |scene| scene.fixture.observed.tcp = None),
        ],
    };

    #[test]
    fn each_counter_is_seen_while_the_accept_queue_has_room() {
        for counter in ["TCPReqQFullDrop", "TCPReqQFullDoCookies", "ListenDrops"] {
            let mut fixture = Fixture::good();
            fixture.tcp("TcpExt.ListenDrops", 0);
            fixture.tcp(&format!("TcpExt.{counter}"), 30);
            assert_eq!(super::test(&fixture.case()), Test::NotSeen, "{counter}: none waited");
            fixture.slow_connects();
            assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "{counter}");
            fixture.tcp("TcpExt.ListenOverflows", 30);
            fixture.tcp("TcpExt.ListenDrops", 30);
            assert_eq!(super::test(&fixture.case()), Test::NotSeen, "{counter}: it is K1");
        }
    }

    #[test]
    fn cookies_for_every_syn_are_no_full_queue() {
        let mut fixture = Fixture::good();
        let mut with_cookies = |setting: &str| {
            let setting = ("net.ipv4.tcp_syncookies".to_string(), setting.to_string());
            fixture.host.sysctls.extend([setting]);
            fixture.tcp("TcpExt.ListenDrops", 0);
            fixture.tcp("TcpExt.TCPReqQFullDoCookies", 30);
            fixture.slow_connects();
            super::test(&fixture.case())
        };
        assert!(matches!(with_cookies("1"), Test::Seen(_)));
        assert_eq!(with_cookies("2"), Test::NotSeen);
        fixture.tcp("TcpExt.TCPReqQFullDrop", 5);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.findings[0].evidence.value, "+5, ignored, +0");
    }

    #[test]
    fn without_counters_it_is_untested() {
        let mut fixture = Fixture::good();
        fixture.slow_connects();
        assert_eq!(super::test(&fixture.case()), Test::Untested, "ListenDrops was not read");
    }
}

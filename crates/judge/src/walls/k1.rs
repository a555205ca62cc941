//! K1: the accept queue of the server overflows: it accepts more slowly than connections arrive.
//!
//! Rule: TcpExt.ListenOverflows rises in the window, and connecting was slow: 99 % of attempts
//! took up to more than half a second, or some failed. The counter counts dropped SYNs, which are
//! retries: one unlucky connection adds several.
//! Mimics: K3 (a server without descriptors stops accepting; tested first), a hot acceptor thread.
//! Confirm: a longer backlog stops a burst; when it fills again, the acceptor is the wall.
//! Source: Linux net/ipv4/tcp_ipv4.c (tcp_v4_syn_recv_sock), networking/snmp_counter.rst.

use super::{Family, Seen, Test};
use crate::case::Case;
use model::units::show_ns;

/// Above this, connecting waited for a SYN to be sent again (the first retry comes after 1 s).
const SLOW_CONNECT_NS: u64 = 500_000_000;

pub fn test(case: &Case<'_>) -> Test {
    let Some(overflows) = case.server_tcp("TcpExt.ListenOverflows") else { return Test::Untested };
    let connect = &case.point.connections.connect_ns;
    let slowest_ns = connect.p99.or(connect.max).unwrap_or(0);
    let failed = case.errors("connect");
    if overflows == 0 || (slowest_ns < SLOW_CONNECT_NS && failed == 0) {
        return Test::NotSeen;
    }
    let mut seen = Seen::default().with(
        Family::HardCounter,
        "server",
        "/proc/net/netstat",
        "TcpExt.ListenOverflows in the window",
        format!("+{overflows}"),
        "any",
    );
    if let Some(queue) = case.far().listeners.filter(|queue| queue.queued >= queue.backlog) {
        seen = seen.with(
            Family::QueueLocation,
            "server",
            "sock_diag",
            "connections in the accept queue and its length",
            format!("{} of {}", queue.queued, queue.backlog),
            "full",
        );
    }
    seen = seen.with(
        Family::RampShape,
        "client",
        "connect()",
        "slow end of the time to connect",
        format!("{}, {failed} failed", show_ns(slowest_ns as f64)),
        "over 500 ms: SYNs were sent again",
    );
    Test::Seen(
        seen.next("accept faster: more acceptors, or one listener per worker with SO_REUSEPORT")
            .next("for bursts only: a longer backlog, with net.core.somaxconn at least as long"),
    )
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;

    #[test]
    fn overflows_with_slow_connects_are_seen() {
        let mut fixture = Fixture::good();
        fixture.tcp("TcpExt.ListenOverflows", 42);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "nobody had to wait");
        fixture.point.connections.connect_ns.p99 = Some(1_030_000_000);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.tcp("TcpExt.ListenOverflows", 0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "slow, but not for this reason");
    }

    #[test]
    fn without_counters_it_is_untested() {
        let mut fixture = Fixture::good();
        fixture.observed.tcp = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}

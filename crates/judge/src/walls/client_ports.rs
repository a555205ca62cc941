//! C7: the generator ran out of local ports.
//!
//! Signals: error numbers of connect(), the range of local ports, sockets in TIME_WAIT.
//! Rule: any connect() that failed with EADDRNOTAVAIL. The kernel has no counter for it, so the
//! error number of our own call is the only evidence.
//! Mimics: none; K1 and K2 also make connect() fail, but with other error numbers.
//! Confirm: a second source or target address doubles the ceiling. TIME_WAIT stays with the side
//! that closes first.
//! Source: connect(2), Linux networking/ip-sysctl.rst (ip_local_port_range, tcp_tw_reuse).
//! Name: client ports
//! Reason: the generator has no free port left
//! Fix: keep connections alive, so that they need no new port

use super::{Family, Seen, Test};
use crate::case::Case;
use model::tick::ErrorClass;
use model::units::show_things;

pub fn test(case: &Case<'_>) -> Test {
    let failed = case.errors(ErrorClass::Ports);
    if failed == 0 {
        return Test::NotSeen;
    }
    let mut seen = Seen::counted(
        "client",
        "connect()",
        "attempts that failed with EADDRNOTAVAIL",
        failed.to_string(),
    );
    seen = seen.saying(format!(
        "{} found no free local port on the generator's host",
        show_things(failed, "connection")
    ));
    if let Some(range) = case.host.sysctls.get("net.ipv4.ip_local_port_range") {
        let connections = &case.point.connections;
        seen = seen.with(
            Family::QueueLocation,
            "client",
            "net.ipv4.ip_local_port_range",
            "local ports, for connections opened in sequence",
            format!(
                "{} for {}",
                range.split_whitespace().collect::<Vec<_>>().join("-"),
                connections.opened + connections.reopened
            ),
            "closed connections keep their port for 60 s (TIME_WAIT)",
        );
    }
    if let Some(held) = case.observed.sockets.as_ref().and_then(|sockets| sockets.get("TCP.tw")) {
        let (family, source) = (Family::QueueLocation, "/proc/net/sockstat");
        let (field, rule) = ("peak number of sockets in TIME_WAIT", "each holds a port for 60 s");
        seen = seen.with(family, "client", (source, ["sockets"]), field, held.to_string(), rule);
    }
    Test::Seen(
        seen.next("connect from more addresses: --source auto, or --source A,B")
            .next("widen net.ipv4.ip_local_port_range"),
    )
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| scene.fixture.error("ports", 5),
        without: &[("the error", |scene| scene.fixture.error("ports", 0))],
    };

    #[test]
    fn one_failed_attempt_is_enough() {
        let mut fixture = Fixture::good();
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
        fixture.error("ports", 1);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
    }
}

//! K15: the server has no free local port left for its connections to another service.
//!
//! Signals: sockets in TIME_WAIT in the server's namespace, its range of local ports, responses
//! with status 5xx.
//! Rule: more sockets than 80 % of the local ports were in TIME_WAIT, without as many as the load
//! itself can have left there, and at least 1 % of the responses have status 5xx. A server that
//! opens a connection to another service for each request leaves one port in TIME_WAIT for 60 s
//! each time; when none is free for that address, connect() fails, and the server says 502 or 500.
//! Mimics: C7 (the generator's own ports), A3 (the other service refuses or fails), a server that
//! closes the connections of its clients (those are on its listening port, and are taken off).
//! Confirm: keep connections to the other service alive, or widen the range: the failures end.
//! Source: connect(2), Linux networking/ip-sysctl.rst (ip_local_port_range, tcp_tw_reuse).
//! Name: server ports
//! Reason: the server has no free port left for connections to another service
//! Fix: let the server keep its connections to the other service alive (a pool, keep-alive)

use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use model::units::{show_count, show_things};

/// Share of the local ports in TIME_WAIT: some are kept for sockets that listen or are open.
const FULL: f64 = 0.80;
/// Share of the responses that fail at the server.
const FAILED_MIN: f64 = 0.01;

pub fn test(case: &Case<'_>) -> Test {
    let (Some(server), Some(host)) = (case.server_side(), case.server_host) else {
        return Test::Untested;
    };
    let waiting = server.sockets.as_ref().and_then(|sockets| sockets.get("TCP.tw")).copied();
    let range = host.sysctls.get("net.ipv4.ip_local_port_range");
    let ports = range.and_then(|range| {
        let mut ends = range.split_whitespace().map(str::parse::<u64>);
        Some((ends.next()?.ok()?, ends.next()?.ok()?))
    });
    let (Some(waiting), Some((first, last))) = (waiting, ports) else { return Test::Untested };
    let all = last.saturating_sub(first) + 1;
    let status = &case.point.status;
    let responses: u64 = status.values().sum();
    let failed = status.get("5xx").copied().unwrap_or(0);
    let share = failed as f64 / responses.max(1) as f64;
    let own = waiting.saturating_sub(left_by_load(case));
    if (own as f64) < FULL * all as f64 || share < FAILED_MIN {
        return Test::NotSeen;
    }
    let seen = Seen::default()
        .with(
            Family::HardCounter,
            "server",
            ("/proc/net/sockstat", ["sockets"]),
            &format!("peak number of sockets in TIME_WAIT, for {first}-{last} as local ports"),
            waiting.to_string(),
            "over 80 % of the ports, without those that the load can have left",
        )
        .with(
            Family::QueueLocation,
            "client",
            ("engine", ["status"]),
            "responses with status 5xx",
            format!("{failed}, {}", percent(share)),
            "at least 1 %",
        );
    let seen = seen.saying(format!(
        "{} of the server's {} are taken by connections to another service that it has closed, \
         and {} of its responses fail",
        show_count(own as f64),
        show_things(all, "local port"),
        percent(share)
    ));
    Test::Seen(seen.next("widen net.ipv4.ip_local_port_range on the server's host"))
}

/// Connections of the load that may be in TIME_WAIT in the same namespace.
fn left_by_load(case: &Case<'_>) -> u64 {
    let points = case.ramp.iter().copied().chain([case.point]);
    points.map(|point| point.connections.opened + point.connections.reopened).sum()
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| taken(&mut scene.fixture),
        without: &[
            ("ports in TIME_WAIT", |scene| {
                scene.fixture.observed.sockets = Some([("TCP.tw".to_string(), 300)].into());
            }),
            ("failed responses", |scene| scene.fixture.refuse(0.0)),
            ("the sockets", |scene| scene.fixture.observed.sockets = None),
            ("the range of ports", |scene| scene.fixture.host.sysctls.clear()),
        ],
    };

    /// 1000 local ports, all in TIME_WAIT, and one of ten responses is a 502.
    fn taken(fixture: &mut Fixture) {
        let range = ("net.ipv4.ip_local_port_range".to_string(), "10000\t10999".to_string());
        fixture.host.sysctls.extend([range]);
        fixture.observed.sockets = Some([("TCP.tw".to_string(), 990)].into());
        fixture.refuse(0.1);
        let failed = fixture.point.status.remove("4xx").unwrap_or(0);
        fixture.point.status.insert("5xx".to_string(), failed);
    }

    #[test]
    fn ports_that_wait_at_a_server_that_fails_are_seen() {
        let mut fixture = Fixture::good();
        taken(&mut fixture);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.families(), 2);
        fixture.point.connections.reopened = 400;
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "the load may have left them");
        fixture.point.connections.reopened = 0;
        fixture.unwatched();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}

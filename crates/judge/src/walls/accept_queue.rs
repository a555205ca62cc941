//! K1: the server's accept queue overflows: the server accepts connections more slowly than they
//! arrive.
//!
//! Signals: `TcpExt.ListenOverflows`, the listener's queue and its length, time to connect.
//! Rule: TcpExt.ListenOverflows rises in the window, and connecting was slow: 99 % of attempts took
//! up to more than half a second, some failed or were not done when the window ended. Or some
//! connections never got a response (the kernel also drops the last packet of the handshake, and
//! then only the client believes that the connection is open), and the accept queue was at least
//! three quarters full in one read, or was not read: the counter is of the whole namespace, and may
//! be of another listener. It counts dropped packets including retries: one connection can add
//! several.
//! Mimics: K3 (a server without descriptors stops accepting; tested first), K2 (the queue before
//! this one), S1, S2, S4 and S6 (a server whose CPUs or thread are full accepts late too: then that
//! is the wall, and the overflow is part of its evidence).
//! Confirm: a longer backlog absorbs a burst; if it fills again, the acceptor is the wall.
//! Source: Linux net/ipv4/tcp_ipv4.c (tcp_v4_syn_recv_sock), networking/snmp_counter.rst.
//! Name: accept queue
//! Reason: the server accepts connections too slowly, and its accept queue overflows
//! Fix: accept faster: more acceptors, or one listener per worker with SO_REUSEPORT

use super::{Family, Seen, Test};
use crate::case::Case;
use model::load::{LoadModel, Stop};
use model::tick::ErrorClass;
use model::units::{show_ns, show_things};

/// Above this, connecting waited for a SYN to be sent again (the first retry comes after 1 s).
const SLOW_CONNECT_NS: u64 = 500_000_000;
/// A queue that was never seen this full had room between the reads, too: a connection that only
/// the client believes in waits until the queue has room.
const NEAR_FULL: f64 = 0.75;

pub fn test(case: &Case<'_>) -> Test {
    let Some(overflows) = case.server_tcp("TcpExt.ListenOverflows") else { return Test::Untested };
    let is_slow = connecting_is_slow(case);
    if overflows == 0 || !(is_slow || is_left_out(case)) {
        return Test::NotSeen;
    }
    let mut seen = Seen::counted(
        "server",
        ("/proc/net/netstat", ["tcp"]),
        "TcpExt.ListenOverflows in the window",
        format!("+{overflows}"),
    );
    if let Some(queue) = case.far().listeners.filter(|queue| queue.queued >= queue.backlog) {
        seen = seen.with(
            Family::QueueLocation,
            "server",
            ("sock_diag", ["listeners"]),
            "connections in the accept queue and its length",
            format!("{} of {}", queue.queued, queue.backlog),
            "full",
        );
    }
    if is_slow {
        seen = with_slow_connects(case, seen);
    }
    let places = case.far().listeners.map(|queue| format!(" of {} places", queue.backlog));
    seen = seen.saying(format!(
        "the accept queue{} is full: {} found no room",
        places.unwrap_or_default(),
        show_things(overflows, "connection")
    ));
    Test::Seen(
        with_unserved(case, seen)
            .next("for bursts only: a longer backlog, with net.core.somaxconn at least as long"),
    )
}

/// Whether connections never got a response, and the accept queue is not known to have had room for
/// them.
fn is_left_out(case: &Case<'_>) -> bool {
    let queue = case.far().listeners;
    let had_room =
        queue.is_some_and(|queue| f64::from(queue.queued) < NEAR_FULL * f64::from(queue.backlog));
    unserved(case) > 0 && !had_room
}

/// Connections that are open and never got a response, of those that got a request.
pub(super) fn unserved(case: &Case<'_>) -> u64 {
    let point = case.point;
    if point.is_of_devices() {
        return 0;
    }
    let is_timed = matches!(case.trial.stop, Stop::AfterNs(_));
    let opened = point.connections.opened;
    // In closed loop every connection sends; with few requests, some connections have none.
    let asking = match point.load.model == LoadModel::Closed && is_timed {
        true => opened,
        false => opened.min(point.requests.sent),
    };
    asking.saturating_sub(point.connections.served)
}

fn with_unserved(case: &Case<'_>, seen: Seen) -> Seen {
    match unserved(case) {
        0 => seen,
        unserved => seen.with(
            Family::QueueLocation,
            "client",
            "engine",
            "open connections that never got a response, of all open",
            format!("{unserved} of {}", case.point.connections.opened),
            "above zero: the server has not accepted them",
        ),
    }
}

fn slowest_connect_ns(case: &Case<'_>) -> u64 {
    let connect = &case.point.connections.connect_ns;
    connect.p99.or(connect.max).unwrap_or(0)
}

/// Whether SYNs had to be sent again, connecting failed, or is not done yet.
pub(super) fn connecting_is_slow(case: &Case<'_>) -> bool {
    slowest_connect_ns(case) >= SLOW_CONNECT_NS
        || case.errors(ErrorClass::Connect) > 0
        || unopened(case) > 0
}

/// Requested connections that were not open when the window ended. In open loop a connection is
/// opened when a request needs it.
fn unopened(case: &Case<'_>) -> u64 {
    let connections = &case.point.connections;
    if case.point.is_closed_loop() {
        connections.asked.saturating_sub(connections.opened)
    } else {
        0
    }
}

/// Adds how slow connecting was, where it was slow.
pub(super) fn with_slow_connects(case: &Case<'_>, seen: Seen) -> Seen {
    let (slowest, failed) =
        (show_ns(slowest_connect_ns(case) as f64), case.errors(ErrorClass::Connect));
    let value = match unopened(case) {
        0 => format!("{slowest}, {failed} failed"),
        unopened => format!("{slowest}, {failed} failed, {unopened} not open"),
    };
    seen.with(
        Family::RampShape,
        "client",
        "connect()",
        "slow end of the time to connect",
        value,
        "over 500 ms: SYNs were sent again; or any failed or not open",
    )
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::evidence_tests::Signs;
    use crate::walls::{Family, Test};
    use model::load::LoadModel;
    use observe::QueuePeak;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.tcp("TcpExt.ListenOverflows", 42);
            scene.fixture.slow_connects();
        },
        without: &[
            ("overflows", |scene| scene.fixture.tcp("TcpExt.ListenOverflows", 0)),
            ("slow connects", |scene| {
                scene.fixture.point.connections.connect_ns.p99 = Some(60_000);
            }),
            ("counters", |scene| scene.fixture.observed.tcp = None),
        ],
    };

    #[test]
    fn overflows_with_slow_connects_are_seen() {
        let mut fixture = Fixture::good();
        fixture.tcp("TcpExt.ListenOverflows", 42);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "no connection waited");
        fixture.point.connections.connect_ns.p99 = Some(1_030_000_000);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.tcp("TcpExt.ListenOverflows", 0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "slow, but not for this reason");
    }

    #[test]
    fn connections_that_only_the_client_believes_in_are_seen() {
        let mut fixture = Fixture::good();
        fixture.point.connections.served -= 1;
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "nothing overflowed");
        fixture.tcp("TcpExt.ListenOverflows", 42);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.point.load.model = LoadModel::Open;
        fixture.point.requests.sent = fixture.point.connections.served;
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "it had no request");
    }

    #[test]
    fn an_overflow_beside_a_queue_with_room_is_of_another_listener() {
        let mut fixture = Fixture::good();
        fixture.point.connections.served -= 1;
        fixture.tcp("TcpExt.ListenOverflows", 42);
        let queue = |queued| {
            Some(QueuePeak { queued, backlog: 511, mean_queued: 0.0, ..QueuePeak::default() })
        };
        fixture.observed.listeners = queue(0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "0 of 511");
        fixture.observed.listeners = queue(480);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        let is_slow = seen.findings.iter().any(|one| one.family == Family::RampShape);
        assert!(!is_slow, "connecting was fast: {seen:?}");
        fixture.observed.listeners = queue(0);
        fixture.slow_connects();
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("a short burst") };
        assert_eq!(seen.findings[1].evidence.value, "1.03s, 0 failed");
    }

    #[test]
    fn without_counters_it_is_untested() {
        let mut fixture = Fixture::good();
        fixture.observed.tcp = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}

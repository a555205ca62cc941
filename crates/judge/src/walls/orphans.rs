//! K13: the server's kernel keeps no more connections that the server has closed, and resets them
//! with data unsent.
//!
//! Signals: connections aborted for that (TCPAbortOnMemory), orphans against tcp_max_orphans,
//! responses that ended in a reset.
//! Rule: connections were aborted, at least half as many as requests were reset; these were more
//! than 0.1 % of the requests sent; and the orphans reached a quarter of the limit (the kernel
//! counts an orphan whose peer is silent as four). Sockets in TIME_WAIT have a cap as well
//! (tcp_max_tw_buckets, TCPTimeWaitOverflow), which is no wall: a connection beyond it is closed
//! without that state, and loses nothing.
//! Mimics: K11 (the same counter, when sockets use all memory), a server that resets connections
//! itself.
//! Confirm: keep-alive, or a generator that reads all of each response, ends the resets.
//! Source: Linux net/ipv4/tcp.c (tcp_check_oom), networking/ip-sysctl.rst (tcp_max_orphans).
//! Name: orphan cap
//! Reason: too many connections that the server has closed still have data to send
//! Fix: raise net.ipv4.tcp_max_orphans, or keep connections open

use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use model::tick::ErrorClass;
use model::units::show_things;

/// Share of the requests that must be reset, as for responses that fail a check (M4).
const LOST_MIN: f64 = 0.001;
/// Aborts per reset request from which they explain the resets.
const EXPLAINS: f64 = 0.5;
/// Share of the limit from which the kernel may refuse an orphan.
const NEAR: f64 = 0.25;

pub fn test(case: &Case<'_>) -> Test {
    let sockets = case.server_side().and_then(|server| server.sockets.as_ref());
    let orphans = sockets.and_then(|sockets| sockets.get("TCP.orphan"));
    let limit = case.server_host.and_then(|host| host.sysctls.get("net.ipv4.tcp_max_orphans"));
    let limit = limit.and_then(|limit| limit.trim().parse::<u64>().ok());
    let (Some(aborted), Some(orphans), Some(limit)) =
        (case.server_tcp("TcpExt.TCPAbortOnMemory"), orphans, limit)
    else {
        return Test::Untested;
    };
    let lost = [ErrorClass::Reset, ErrorClass::Unprocessed].map(|class| case.errors(class));
    let lost: u64 = lost.iter().sum();
    let share = lost as f64 / case.point.requests.sent.max(1) as f64;
    let is_explained = aborted > 0 && aborted as f64 >= EXPLAINS * lost as f64;
    if !is_explained || share < LOST_MIN || (*orphans as f64) < NEAR * limit as f64 {
        return Test::NotSeen;
    }
    let seen = Seen::counted(
        "server",
        ("/proc/net/netstat", ["tcp"]),
        "TcpExt.TCPAbortOnMemory in the window",
        format!("+{aborted}"),
    )
    .with(
        Family::QueueLocation,
        case.server_host_name(),
        ("/proc/net/sockstat", ["sockets"]),
        "most connections that no process owns, and their limit",
        format!("{orphans} of {limit}"),
        "over a quarter: the kernel may count each up to four times",
    )
    .with(
        Family::RampShape,
        "client",
        "engine",
        "requests whose connection was reset, of those sent",
        format!("{lost}, {}", percent(share)),
        "over 0.1 %, and at most twice as many as were aborted",
    )
    .saying(format!(
        "the server's host keeps at most {limit} connections that no process owns: it aborted {}, \
         and {} got a reset",
        show_things(aborted, "connection"),
        show_things(lost, "request")
    ));
    Test::Seen(seen.next("ceiling tune plan --only tcp-max-tw-buckets --profile churn"))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| abort(&mut scene.fixture),
        without: &[
            ("aborts", |scene| scene.fixture.tcp("TcpExt.TCPAbortOnMemory", 0)),
            ("resets", |scene| scene.fixture.error("reset", 0)),
            ("orphans", |scene| orphans(&mut scene.fixture, 10)),
            ("the limit", |scene| scene.fixture.host.sysctls.clear()),
        ],
    };

    fn orphans(fixture: &mut Fixture, count: u64) {
        fixture.observed.sockets = Some([("TCP.orphan".to_string(), count)].into());
    }

    fn abort(fixture: &mut Fixture) {
        let limit = ("net.ipv4.tcp_max_orphans".to_string(), "64".to_string());
        fixture.host.sysctls.extend([limit]);
        fixture.tcp("TcpExt.TCPAbortOnMemory", 100);
        fixture.refuse(0.02);
        fixture.point.status.remove("4xx");
        fixture.error("reset", 100);
        orphans(fixture, 60);
    }

    #[test]
    fn aborts_that_explain_the_resets_are_seen() {
        let mut fixture = Fixture::good();
        abort(&mut fixture);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.families(), 3, "{seen:?}");
        fixture.error("reset", 201);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "most resets have another cause");
        fixture.error("reset", 4);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "under 0.1 % of 5000 requests");
    }

    #[test]
    fn a_full_table_of_time_wait_is_no_wall() {
        let mut fixture = Fixture::good();
        abort(&mut fixture);
        fixture.tcp("TcpExt.TCPAbortOnMemory", 0);
        fixture.tcp("TcpExt.TCPTimeWaitOverflow", 145_000);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
        fixture.observed.tcp = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}

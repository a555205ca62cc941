//! K3: the server ran out of file descriptors; accept() fails and the queue fills.
//!
//! Signals: open descriptors of the server's processes and their soft limit, connections in the
//! accept queue, connections that were never served.
//! Rule: open descriptors over 95 % of the soft limit, and connections that wait to be accepted,
//! were dropped, or were never served. It looks like K1, and often like one hot thread (a loop that
//! retries accept()), so it is tested before both.
//! Mimics: K1 (the queue fills because descriptors ran out), S2 (a loop that retries is hot).
//! Confirm: prlimit raises the limit of the running process and the queue empties.
//! Source: accept(2), prlimit(1), getrlimit(2).
//! Name: server file descriptors
//! Reason: the server may open no more files
//! Fix: allow the server more open files: ulimit -n, LimitNOFILE

use super::{Family, Seen, Test, accept_queue};
use crate::case::Case;

pub fn test(case: &Case<'_>) -> Test {
    let Some(files) = case.far().server_files else { return Test::Untested };
    let full = files.open as f64 / files.limit.max(1) as f64;
    if full < 0.95 {
        return Test::NotSeen;
    }
    let connections = &case.point.connections;
    let unopened = connections.asked.saturating_sub(connections.opened);
    let starved = unopened + accept_queue::unserved(case);
    let overflows = case.server_tcp("TcpExt.ListenOverflows").unwrap_or(0);
    let queued = case.far().listeners.map_or(0, |queue| queue.queued);
    if starved == 0 && overflows == 0 && queued == 0 {
        return Test::NotSeen;
    }
    let seen = Seen::default()
        .with(
            Family::HardCounter,
            "server",
            (&format!("/proc/{}/fd", files.pid), ["server_files"]),
            "open descriptors and their soft limit",
            format!("{} of {}", files.open, files.limit),
            "over 95 %",
        )
        .with(
            Family::QueueLocation,
            "both",
            ("sock_diag, engine", ["listeners"]),
            "connections in the accept queue, and never served",
            format!("{queued}, {starved}"),
            "any",
        );
    let seen = seen.saying(format!(
        "the server has {} of at most {} files open, and takes no more connections",
        files.open, files.limit
    ));
    let wanted = files.limit * 4;
    Test::Seen(seen.fixed_by(format!(
        "allow the server more: prlimit --pid {} --nofile={wanted}:{wanted}",
        files.pid
    )))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use model::load::LoadModel;
    use model::reading::OpenFiles;
    use model::run::TurnoverInfo;
    use model::subject::Subject;
    use observe::QueuePeak;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.observed.server_files = Some(OpenFiles { pid: 9, open: 64, limit: 64 });
            scene.fixture.observed.listeners = Some(QueuePeak {
                queued: 3,
                backlog: 128,
                mean_queued: 3.0,
                ..QueuePeak::default()
            });
        },
        without: &[
            ("a full table", |scene| {
                scene.fixture.observed.server_files =
                    Some(OpenFiles { pid: 9, open: 32, limit: 64 });
            }),
            ("connections that wait", |scene| scene.fixture.observed.listeners = None),
            ("the table", |scene| scene.fixture.observed.server_files = None),
        ],
    };

    #[test]
    fn a_full_table_with_waiting_connections_is_seen() {
        let mut fixture = Fixture::good();
        fixture.observed.server_files = Some(OpenFiles { pid: 9, open: 64, limit: 64 });
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "no connection waits");
        fixture.point.connections.served -= 4;
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.observed.server_files = Some(OpenFiles { pid: 9, open: 32, limit: 64 });
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "the table has room");
    }

    #[test]
    fn connections_without_a_request_are_not_starved() {
        let mut fixture = Fixture::good();
        fixture.observed.server_files = Some(OpenFiles { pid: 9, open: 64, limit: 64 });
        (fixture.point.connections.served, fixture.point.requests.sent) = (0, 0);
        fixture.point.subject = Subject::Held(TurnoverInfo::default());
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "devices hold a connection");
        fixture.point.subject = Subject::Requests(None);
        fixture.point.load.model = LoadModel::Open;
        (fixture.point.connections.served, fixture.point.requests.sent) = (3, 3);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "three requests were due");
        fixture.point.connections.opened -= 1;
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "one was not opened");
    }
}

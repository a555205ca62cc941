//! K12: a socket buffer is smaller than the bytes in flight, so each response takes several round
//! trips.
//!
//! Signals: the time in which the server's connections were limited by their send buffer, or by a
//! window of the generator although the generator keeps it empty.
//! Rule: one of these for more than 20 % of the time with responses outstanding (which is at least
//! 20 % of all time); if it is the window, less than 10 % of the generator's sampled sockets hold
//! unread responses; and both sides have CPU to spare. Or: for at least half of the requests in
//! flight a thread of the server is blocked in a send, everything in its sockets is on the way
//! (nothing is unsent: neither the window nor congestion control holds it back), and a response
//! takes over one and a half round trips of at least a millisecond.
//! Mimics: C9 (a generator that does not read closes its window), K8 (a shaper's queue fills the
//! send buffer; looked at first), N1 (the round trip alone).
//! Confirm: twice the buffer (SO_SNDBUF, tcp_wmem; tcp_rmem) shortens the responses. A buffer set
//! by the program turns off the kernel's own tuning.
//! Source: Linux networking/ip-sysctl.rst (tcp_rmem, tcp_wmem), include/uapi/linux/tcp.h
//! (tcpi_sndbuf_limited).
//! Name: socket buffer
//! Reason: a response does not fit into the socket's buffer
//! Fix: set a larger SO_SNDBUF in the server, or none; or raise tcp_wmem

use super::windows::{self, LIMITED_MIN, UNREAD_MIN};
use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use model::reading::Doing;
use model::units::show_ns;

pub fn test(case: &Case<'_>) -> Test {
    let Some(limited) = windows::limited(case) else { return Test::Untested };
    // Without samples of the generator's sockets, a closed window may be the generator's fault
    // (C9).
    let by_window = if limited.unread.is_some_and(|unread| unread < UNREAD_MIN) {
        limited.by_window
    } else {
        0.0
    };
    let share = limited.by_buffer.max(by_window);
    if let Some(seen) = blocked_in_send(case, limited.unread) {
        return Test::Seen(
            seen.fixed_by("set a larger SO_SNDBUF in the server, or none; or raise tcp_wmem"),
        );
    }
    let is_hot = case.client_has_slack() == Some(false) || case.server_has_slack() == Some(false);
    if share < LIMITED_MIN || is_hot {
        return Test::NotSeen;
    }
    let (what, cure) = if limited.by_buffer >= by_window {
        (
            "the server's send buffer",
            "set a larger SO_SNDBUF in the server, or none; or raise tcp_wmem",
        )
    } else {
        ("the generator's window (kept empty)", "raise net.ipv4.tcp_rmem")
    };
    let mut seen = Seen::default().with(
        Family::HardCounter,
        "server",
        ("sock_diag", ["connections"]),
        &format!("time {what} held responses back, of that with responses outstanding"),
        percent(share),
        "over 20 %",
    );
    seen = seen.saying(format!(
        "{what} was full for {} of the time, so that a response takes more than one round trip",
        percent(share)
    ));
    let rtt_us = case.census().and_then(|census| census.client_rtt_us());
    if let (Some(rtt_us), Some(mean_ns)) = (rtt_us, case.point.service_ns.mean) {
        let trips = mean_ns as f64 / (rtt_us * 1e3).max(1.0);
        if trips >= 1.5 {
            let (mean, rtt) = (show_ns(mean_ns as f64), show_ns(rtt_us * 1e3));
            seen = seen.with(
                Family::QueueLocation,
                "client",
                ("sock_diag, engine", ["latency_ns"]),
                "round trips that a response takes on average",
                format!("{trips:.1} ({mean} / {rtt})"),
                "over 1.5: part of the response waits for room in the buffer",
            );
        }
    }
    Test::Seen(
        seen.fixed_by(cure)
            .next("shorten the responses: if they fit the buffer, they take one round trip"),
    )
}

/// Share of the requests in flight whose thread is blocked in a send.
const BLOCKED_MIN: f64 = 0.5;
/// Below this the round trip is that of the kernels, and blocked threads wait for a CPU.
const RTT_MIN_US: f64 = 1000.0;

fn blocked_in_send(case: &Case<'_>, client_unread: Option<f64>) -> Option<Seen> {
    let (census, doing) = (case.census()?, case.far().doing.as_ref()?);
    let (in_flight, mean_ns) = (case.point.in_flight.mean?, case.point.service_ns.mean?);
    let blocked = doing.mean_threads(Doing::Send);
    let rtt_us = census.client_rtt_us().filter(|rtt_us| *rtt_us >= RTT_MIN_US)?;
    let trips = mean_ns as f64 / (rtt_us * 1e3);
    let on_the_way = census.server_unsent as f64 / census.server.max(1) as f64;
    let is_full = census.server_held_back == 0 && on_the_way >= BLOCKED_MIN;
    let has_slack = case.client_has_slack() == Some(true) && case.server_has_slack() == Some(true);
    let is_blocked = blocked >= BLOCKED_MIN * in_flight && trips >= 1.5;
    if !is_full || !is_blocked || !has_slack || client_unread? >= UNREAD_MIN {
        return None;
    }
    let seen = Seen::default().with(
        Family::ThreadStates,
        "server",
        ("syscall", ["server_threads_now"]),
        &format!("threads blocked in a send, of {in_flight:.1} requests in flight"),
        format!("{blocked:.1}"),
        "over half, with nothing unsent in their sockets",
    );
    Some(seen.with(
        Family::QueueLocation,
        "both",
        ("sock_diag, engine", ["connections"]),
        "sampled connections with responses on the way; round trips that a response takes",
        format!("{}; {trips:.1}", percent(on_the_way)),
        "over 50 %; over 1.5: the rest waits for room in the buffer",
    ))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use model::reading::Doing;

    pub const SIGNS: Signs = Signs {
        shown: |scene| scene.fixture.limited(0.9, 0.0, 0.5),
        without: &[
            ("a full buffer", |scene| scene.fixture.limited(0.9, 0.0, 0.05)),
            ("responses outstanding", |scene| scene.fixture.limited(0.05, 0.0, 0.5)),
            ("samples of sockets", |scene| scene.fixture.observed.census = None),
        ],
    };

    #[test]
    fn a_full_send_buffer_and_a_small_window_are_seen() {
        for (by_window, by_buffer) in [(0.0, 0.5), (0.5, 0.0)] {
            let mut fixture = Fixture::good();
            fixture.limited(0.9, by_window, by_buffer);
            assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "{by_window}");
            fixture.server_thread(0.97, 0.0);
            assert_eq!(super::test(&fixture.case()), Test::NotSeen, "a hot server");
        }
        let mut fixture = Fixture::good();
        fixture.limited(0.9, 0.1, 0.1);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "room enough");
    }

    #[test]
    fn responses_that_lie_unread_are_another_wall() {
        let mut fixture = Fixture::good();
        fixture.limited(0.9, 0.5, 0.0);
        fixture.unread_at_client(0.5);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "C9");
    }

    #[test]
    fn without_the_servers_sockets_it_is_untested() {
        let mut fixture = Fixture::good();
        fixture.observed.census = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }

    #[test]
    fn threads_blocked_in_sends_with_nothing_unsent_are_seen() {
        let mut fixture = Fixture::good();
        fixture.worker(0.05, 0.0);
        fixture.point.service_ns.mean = Some(60_000_000);
        let census = fixture.observed.census.as_mut().unwrap();
        census.server_unsent = 100;
        fixture.round_trip(20_000);
        let blocked: Vec<_> = (1..=8).map(|tid| (tid, 0.01, Doing::Send, None)).collect();
        fixture.doing(&blocked);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.observed.census.as_mut().unwrap().server_held_back = 1;
        assert_eq!(
            super::test(&fixture.case()),
            Test::NotSeen,
            "a window or a queue holds it back"
        );
        fixture.observed.census.as_mut().unwrap().server_held_back = 0;
        fixture.point.service_ns.mean = Some(25_000_000);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "N1: one round trip");
    }
}

//! K12: a socket buffer is smaller than what is on the way: each answer takes several round trips.
//!
//! Signals: the time in which the server's connections were limited by their send buffer, or by a
//! window of the generator that it keeps empty.
//! Rule: one of both for more than 20 % of the time with answers outstanding (which is at least
//! 20 % of all time); in case of the window, less than 10 % of the generator's sampled sockets hold
//! unread answers; and both sides have CPU to spare.
//! Mimics: C9 (a generator that does not read closes its window), K8 (a shaper's queue fills the
//! send buffer; looked at first), N1 (the round trip alone).
//! Confirm: twice the buffer (SO_SNDBUF, tcp_wmem; tcp_rmem) shortens the answers. A buffer set by
//! the program switches the kernel's own tuning off.
//! Source: Linux networking/ip-sysctl.rst (tcp_rmem, tcp_wmem), include/uapi/linux/tcp.h
//! (tcpi_sndbuf_limited).

use super::windows::{self, LIMITED_MIN, UNREAD_MIN};
use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use model::units::show_ns;

pub fn test(case: &Case<'_>) -> Test {
    let Some(limited) = windows::limited(case) else { return Test::Untested };
    let by_window = if limited.unread < UNREAD_MIN { limited.by_window } else { 0.0 };
    let share = limited.by_buffer.max(by_window);
    let is_hot = case.client_has_slack() == Some(false) || case.server_has_slack() == Some(false);
    if share < LIMITED_MIN || is_hot {
        return Test::NotSeen;
    }
    let (what, cure) = if limited.by_buffer >= by_window {
        ("the server's send buffer", "a larger SO_SNDBUF in the server, or none at all; tcp_wmem")
    } else {
        ("the generator's window, which it keeps empty", "a larger net.ipv4.tcp_rmem")
    };
    let mut seen = Seen::default().with(
        Family::HardCounter,
        "server",
        "sock_diag",
        &format!("time {what} held answers back, of that with answers outstanding"),
        percent(share),
        "over 20 %",
    );
    let rtt_us = case.census().and_then(|census| census.client_rtt_us());
    if let (Some(rtt_us), Some(mean_ns)) = (rtt_us, case.point.service_ns.mean) {
        let trips = mean_ns as f64 / (rtt_us * 1e3).max(1.0);
        if trips >= 1.5 {
            let (mean, rtt) = (show_ns(mean_ns as f64), show_ns(rtt_us * 1e3));
            seen = seen.with(
                Family::QueueLocation,
                "client",
                "sock_diag, engine",
                "round trips that an answer takes on average",
                format!("{trips:.1} ({mean} / {rtt})"),
                "over 1.5: part of it waits for room",
            );
        }
    }
    Test::Seen(seen.next(cure).next("shorter answers: below the buffer they take one round trip"))
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;

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
    fn answers_that_lie_unread_are_another_wall() {
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
}

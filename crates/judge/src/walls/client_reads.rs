//! C9: the generator reads its sockets too slowly, and its receive window stops the server.
//!
//! Signals: the time in which the generator's window limited the server's connections, and
//! responses that lie unread in the generator's sockets.
//! Rule: the window limited connections for more than 20 % of the time with responses outstanding
//! (which is at least 20 % of all time), and more than 10 % of the generator's sampled sockets hold
//! unread responses.
//! Mimics: K12 (a window that is too small for the round trip: nothing is unread), C1 and C2 (a
//! generator without CPU time also reads slowly; looked at first).
//! Confirm: shorter responses, or no checks of bodies, raise the rate.
//! Source: RFC 4898 (TCP extended statistics), Linux include/uapi/linux/tcp.h
//! (tcpi_rwnd_limited).
//! Name: client reads slowly
//! Reason: the generator reads responses too slowly
//! Fix: give the generator more CPUs (--cpus, -t) or a second host

use super::windows::{self, LIMITED_MIN, UNREAD_MIN};
use super::{Family, Seen, Test};
use crate::case::{Case, percent};

pub fn test(case: &Case<'_>) -> Test {
    let Some(limited) = windows::limited(case) else { return Test::Untested };
    let Some(unread) = limited.unread else { return Test::Untested };
    if limited.by_window < LIMITED_MIN || unread < UNREAD_MIN {
        return Test::NotSeen;
    }
    let seen = Seen::default()
        .with(
            Family::HardCounter,
            "server",
            ("sock_diag", ["connections"]),
            "time the generator's window held responses back, of that with responses outstanding",
            percent(limited.by_window),
            "over 20 %",
        )
        .with(
            Family::QueueLocation,
            "client",
            ("sock_diag", ["connections"]),
            "sampled connections with responses the generator has not read",
            percent(unread),
            "over 10 %",
        );
    let seen = seen.saying(format!(
        "the generator reads too slowly: its window held responses back for {} of the time",
        percent(limited.by_window)
    ));
    Test::Seen(seen.next("request shorter responses: if the rate rises, reading them is the limit"))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.limited(0.9, 0.6, 0.0);
            scene.fixture.unread_at_client(0.4);
        },
        without: &[
            ("a closed window", |scene| scene.fixture.limited(0.9, 0.05, 0.0)),
            ("unread responses", |scene| scene.fixture.unread_at_client(0.0)),
            ("samples of sockets", |scene| scene.fixture.observed.census = None),
        ],
    };

    #[test]
    fn unread_responses_behind_a_closed_window_are_seen() {
        let mut fixture = Fixture::good();
        fixture.limited(0.9, 0.6, 0.0);
        fixture.unread_at_client(0.4);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.families(), 2);
        fixture.unread_at_client(0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "K12: the window is too small");
        fixture.unread_at_client(0.4);
        fixture.limited(0.9, 0.1, 0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "the window is open");
        fixture.limited(0.05, 0.6, 0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "responses leave at once");
    }

    #[test]
    fn without_the_servers_sockets_it_is_untested() {
        let mut fixture = Fixture::good();
        fixture.observed.census = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}

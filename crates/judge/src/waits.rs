//! Whether requests wait for anything at all: a wall is what they wait for.
//!
//! In: a point, and the ramp around it. Out: yes, no, or not known.
//! Never: how busy something is. A thread that is always at work may keep up, and one that never
//! works may hold everything up.
//!
//! - Open loop: nothing waits if every planned request got a response, good or not, and found a
//!   connection, and as many requests were in flight at the end as at the start.
//! - Ramp: nothing waits while the rate follows the load. Requests in flight are rate times
//!   duration (Little), so the duration is still that of an empty server.
//! - One level of closed loop: rate times duration is the number in flight whatever the server
//!   does. What remains as evidence are requests that lie unread in its sockets.

use crate::backlog::answers_all;
use crate::case::Case;

/// Share of the sampled server sockets that must hold unread requests: two reads find a few by
/// chance.
pub(crate) const UNREAD_MIN: f64 = 0.10;

/// Whether requests wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// They do.
    Yes,
    /// The server handles everything at once.
    No,
    /// One level of closed loop does not show it; a ramp would.
    NotKnown,
}

/// See the module.
pub(crate) fn of(case: &Case<'_>) -> Waits {
    if let Some(all) = answers_all(case) {
        return if all && !case.has_queue() { Waits::No } else { Waits::Yes };
    }
    let is_unread = case.unread_share().is_some_and(|share| share >= UNREAD_MIN);
    match case.still_grows() {
        Some(true) => Waits::No,
        Some(false) => Waits::Yes,
        None if is_unread => Waits::Yes,
        None => Waits::NotKnown,
    }
}

#[cfg(test)]
mod tests {
    use super::{Waits, of};
    use crate::case::Case;
    use crate::fixture::Fixture;
    use model::load::LoadModel;

    #[test]
    fn one_level_tells_only_of_requests_that_lie_unread() {
        let mut fixture = Fixture::good();
        assert_eq!(of(&fixture.case()), Waits::NotKnown);
        fixture.unread_at_server(0.2);
        assert_eq!(of(&fixture.case()), Waits::Yes);
    }

    #[test]
    fn a_rate_that_follows_the_load_waits_for_nothing() {
        let mut fixture = Fixture::good();
        fixture.unread_at_server(0.2);
        let with = |rate| {
            let lighter = Fixture::point(4, rate);
            let ramp = [&lighter, &fixture.point];
            of(&Case { ramp: &ramp, ..fixture.case() })
        };
        assert_eq!((with(510.0), with(990.0)), (Waits::No, Waits::Yes));
    }

    #[test]
    fn failures_that_come_at_once_wait_for_nothing() {
        let mut fixture = Fixture::good();
        fixture.point.load.model = LoadModel::Open;
        fixture.point.offered_rate = Some(1000.0);
        fixture.point.rate = 900.0;
        assert_eq!(of(&fixture.case()), Waits::Yes, "one of ten had no response");
        fixture.point.cpu.responses = Some(5000);
        assert_eq!(of(&fixture.case()), Waits::No, "one of ten had a bad one");
        fixture.point.requests.planned = Some(5000);
        fixture.point.requests.waited = 500;
        assert_eq!(of(&fixture.case()), Waits::Yes, "they waited for a connection");
    }
}

//! Where the requests in flight were: the census of sockets, as numbers of requests.
//!
//! In: sampled sockets of both sides, the rate, the mean number in flight. Out: a split of that
//! number. A socket with unread bytes stands for the requests that one connection carries, and the
//! sample for all connections, of which most have none in an open loop; the wire holds
//! rate times round trip (Little); the rest was inside the server. Parts are taken in the order of
//! a response's way back, and no part is larger than what the earlier ones left, so they add up. If
//! the probe shares CPUs with the generator, it looks while the generator cannot run, and finds
//! more unread than there is on average. Each turn of the generator's loop reads everything that
//! has arrived, so unread is at most what arrives in a turn, plus everything that arrives while its
//! busiest worker waits for a CPU.

use crate::case::Case;
use model::run::Residence;

/// The split; none if no socket was sampled or the number in flight is not known.
pub fn of(case: &Case<'_>) -> Option<Residence> {
    let (census, point) = (case.census()?, case.point);
    let in_flight = point.in_flight.mean?;
    let carried_max = case.requests_carried_max();
    let part = |unread: u64, of: u64| {
        (of > 0).then(|| (carried_max * unread as f64 / of as f64).min(in_flight))
    };
    let in_a_turn = point.client_loop.turn_mean_ns.map(|turn_ns| point.rate * turn_ns / 1e9);
    let waits = case.hottest_worker().map(|worker| in_flight * (worker.wanted() - worker.run));
    let at_most = in_a_turn.zip(waits).map_or(in_flight, |(turn, waits)| turn + waits);
    let client_unread =
        part(census.client_unread, census.client).map(|unread| unread.min(at_most).min(in_flight));
    let left = in_flight - client_unread.unwrap_or(0.0);
    let wire = census.client_rtt_us().map(|rtt_us| (point.rate * rtt_us / 1e6).min(left));
    let left = left - wire.unwrap_or(0.0);
    let server_unread = part(census.server_unread, census.server).map(|unread| unread.min(left));
    let left = left - server_unread.unwrap_or(0.0);
    let is_split = client_unread.is_some() && wire.is_some() && server_unread.is_some();
    // A request may as well wait in a program before the server.
    let is_direct = case.server.is_some_and(|server| server.passed_on_by.is_none());
    let inside_server = (is_split && is_direct).then_some(left);
    Some(Residence { client_unread, wire, server_unread, inside_server })
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;

    #[test]
    fn parts_add_up_to_what_is_in_flight() {
        let mut fixture = Fixture::good();
        fixture.unread_at_server(0.5);
        fixture.round_trip(1000);
        let residence = super::of(&fixture.case()).unwrap();
        // Eight in flight at 1000/s: one is on the wire, for 1 ms each.
        assert_eq!((residence.server_unread, residence.wire), (Some(4.0), Some(1.0)));
        assert_eq!((residence.client_unread, residence.inside_server), (Some(0.0), Some(3.0)));
    }

    #[test]
    fn idle_connections_of_an_open_loop_carry_nothing() {
        let mut fixture = Fixture::good();
        fixture.point.connections.opened = 50;
        fixture.point.in_flight.mean = Some(5.0);
        fixture.unread_at_server(0.08);
        let residence = super::of(&fixture.case()).unwrap();
        let unread = residence.server_unread.unwrap();
        assert!((unread - 4.0).abs() < 0.05, "8 % of 50 connections: {unread}");
        fixture.unread_at_server(0.5);
        assert_eq!(
            super::of(&fixture.case()).unwrap().server_unread,
            Some(5.0),
            "no more than all"
        );
    }

    #[test]
    fn what_waits_in_a_program_before_the_server_is_not_inside_it() {
        let mut fixture = Fixture::good();
        fixture.unread_at_server(0.5);
        fixture.round_trip(1000);
        assert!(super::of(&fixture.case()).unwrap().inside_server.is_some());
        fixture.server.as_mut().unwrap().passed_on_by = Some("docker-proxy".to_string());
        assert_eq!(super::of(&fixture.case()).unwrap().inside_server, None);
    }

    #[test]
    fn no_part_is_larger_than_what_is_there() {
        let mut fixture = Fixture::good();
        fixture.round_trip(6000);
        fixture.unread_at_client(1.0);
        fixture.unread_at_server(1.0);
        let residence = super::of(&fixture.case()).unwrap();
        // A turn of 5 us at 1000/s holds next to nothing, and the worker waits a hundredth of the
        // time.
        let unread = residence.client_unread.unwrap();
        assert!((unread - 0.085).abs() < 1e-9, "{residence:?}");
        let parts = [residence.client_unread, residence.wire, residence.server_unread];
        let sum: f64 = parts.iter().flatten().sum::<f64>() + residence.inside_server.unwrap();
        assert!((sum - 8.0).abs() < 1e-9 && residence.wire == Some(6.0), "{residence:?}");
        fixture.worker(0.04, 0.96);
        let unread = super::of(&fixture.case()).unwrap().client_unread.unwrap();
        assert!(unread > 7.6, "it has no CPU: {unread}");
        fixture.point.client_loop.turn_mean_ns = Some(8_000_000.0);
        let residence = super::of(&fixture.case()).unwrap();
        assert_eq!((residence.client_unread, residence.wire), (Some(8.0), Some(0.0)), "long turns");
    }

    #[test]
    fn without_samples_residence_is_not_known() {
        let mut fixture = Fixture::good();
        fixture.server = None;
        assert_eq!(super::of(&fixture.case()).unwrap().inside_server, None);
        fixture.observed.census = None;
        assert_eq!(super::of(&fixture.case()), None);
    }
}

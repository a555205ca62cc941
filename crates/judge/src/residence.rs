//! Where the requests in flight were: the census of sockets, as numbers of requests.
//!
//! In: sampled sockets of both sides, the rate, the mean number in flight. Out: a split of that
//! number. A socket with unread bytes stands for the requests of one connection; the wire holds
//! rate times round trip (Little); what is left was in the hands of the server.

use crate::case::Case;
use model::run::Residence;

/// The split; nothing when no socket was looked at or the number in flight is not known.
pub fn of(case: &Case<'_>) -> Option<Residence> {
    let (census, point) = (case.census()?, case.point);
    let in_flight = point.in_flight.mean?;
    let part = |unread: u64, of: u64| (of > 0).then(|| in_flight * unread as f64 / of as f64);
    let client_unread = part(census.client_unread, census.client);
    let wire = census.client_rtt_us().map(|rtt_us| (point.rate * rtt_us / 1e6).min(in_flight));
    let server_unread = part(census.server_unread, census.server);
    let outside = client_unread.zip(wire).zip(server_unread);
    let inside_server = outside
        .filter(|_| case.server.is_some())
        .map(|((client, wire), unread)| (in_flight - client - wire - unread).max(0.0));
    Some(Residence { client_unread, wire, server_unread, inside_server })
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;

    #[test]
    fn parts_add_up_to_what_is_in_flight() {
        let mut fixture = Fixture::good();
        fixture.unread_at_server(0.5);
        fixture.observed.census.as_mut().unwrap().client_rtt_sum_us = 100 * 1000;
        let residence = super::of(&fixture.case()).unwrap();
        // Eight in flight at 1000/s: one is on the wire for 1 ms each.
        assert_eq!((residence.server_unread, residence.wire), (Some(4.0), Some(1.0)));
        assert_eq!((residence.client_unread, residence.inside_server), (Some(0.0), Some(3.0)));
    }

    #[test]
    fn what_nobody_looked_at_is_not_known() {
        let mut fixture = Fixture::good();
        fixture.server = None;
        assert_eq!(super::of(&fixture.case()).unwrap().inside_server, None);
        fixture.observed.census = None;
        assert_eq!(super::of(&fixture.case()), None);
    }
}

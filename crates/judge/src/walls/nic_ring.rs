//! K7: a network device drops received packets because no place in its ring is free.
//!
//! Signals: counters of the network drivers of both hosts for packets without a place (missed, no
//! buffer, out of buffer, overrun, fifo, discarded: each driver has its own names), segments sent
//! again.
//! Rule: the packets that a device dropped, or the segments sent again if these are fewer, cost at
//! least 10 % of the time of all requests in flight, at 200 ms each (the shortest retransmission
//! timeout). A few drops in a burst cost less and limit nothing. A ring of the generator's host is
//! a wall of the client. The wall is not tested where no driver of the server's host has such a
//! counter: the drops of /proc/net/dev include packets that no program waits for.
//! Mimics: K4 and S1 (a full CPU does not empty the ring; looked at first), K6, N4 (a provider's
//! allowance), N2 (loss on the way, without such drops).
//! Confirm: a longer ring ends the drops of bursts; drops that stay show that the CPU which empties
//! the ring is the wall.
//! Source: Linux networking/statistics.rst (rx_missed_errors, rx_fifo_errors), ethtool(8),
//! RFC 6298.
//! Name: NIC ring
//! Reason: the network card drops packets, because its ring is full
//! Fix: lengthen the ring (ethtool -G), or spread its work over more queues (ethtool -L)

use super::loss::{self, WAITED_MIN};
use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use model::units::show_things;
use model::wall::Side;
use observe::Observed;

/// Parts of the names that drivers give to counters of received packets without a place.
const NAMES: [&str; 7] =
    ["missed", "no_buf", "nobuf", "out_of_buffer", "overrun", "fifo", "discard"];

/// What a device dropped for want of a place.
pub(super) struct Dropped {
    pub(super) interface: String,
    pub(super) counter: String,
    pub(super) packets: u64,
    /// Share of the time of all requests that the loss cost.
    pub(super) waited: f64,
    /// Segments sent again.
    pub(super) resent: u64,
}

/// Whether a counter counts received packets for which the device had no place.
fn is_of_ring(counter: &str) -> bool {
    !counter.starts_with("tx") && NAMES.iter().any(|name| counter.contains(name))
}

/// Such counters of a host with their increase. Drivers count one drop under several names, so the
/// largest of an interface counts.
fn counters(observed: &Observed) -> impl Iterator<Item = (&String, &String, u64)> {
    observed.drivers.iter().flatten().filter_map(|(interface, counters)| {
        let own = counters.iter().filter(|(name, _)| is_of_ring(name));
        own.max_by_key(|(_, count)| **count).map(|(name, count)| (interface, name, *count))
    })
}

/// The device of a host that dropped so much that requests waited for it.
pub(super) fn overflowed(case: &Case<'_>, observed: &Observed) -> Option<Dropped> {
    let (interface, counter, packets) = counters(observed).max_by_key(|(.., count)| *count)?;
    let (resent, _) = loss::resent_by_both(case)?;
    let waited = loss::waited_for(case, packets.min(resent))?;
    let (interface, counter) = (interface.clone(), counter.clone());
    (waited >= WAITED_MIN).then_some(Dropped { interface, counter, packets, waited, resent })
}

pub fn test(case: &Case<'_>) -> Test {
    let Some(server) = case.server_side() else { return Test::Untested };
    if loss::resent_by_both(case).is_none() || case.point.in_flight.mean.is_none() {
        return Test::Untested;
    }
    if let Some(dropped) = overflowed(case, server) {
        return Test::Seen(seen(case.server_host_name(), &dropped));
    }
    let near = case.observed.far.is_some().then(|| overflowed(case, case.observed)).flatten();
    match near {
        Some(dropped) => {
            Test::Seen(seen("client", &dropped).at(Side::Client, "NIC ring of the client"))
        }
        None if counters(server).next().is_none() => Test::Untested,
        None => Test::NotSeen,
    }
}

/// The evidence of a ring that overflowed.
pub(super) fn seen(host: &str, dropped: &Dropped) -> Seen {
    let Dropped { interface, counter, packets, waited, resent } = dropped;
    let of = if host == "client" { "the generator's host" } else { "the server's host" };
    Seen::default()
        .with(
            Family::HardCounter,
            host,
            ("ethtool -S", ["drivers"]),
            &format!("{counter} of {interface}: packets without a place in the ring"),
            format!("+{packets}"),
            "with the segments sent again, over 10 % of the time of all requests",
        )
        .with(
            Family::QueueLocation,
            "both",
            ("/proc/net/snmp", ["tcp"]),
            "segments sent again, and time of all requests that they cost at 200 ms each",
            format!("+{resent}, {}", percent(*waited)),
            "over 10 %",
        )
        .saying(format!(
            "the ring of {interface} on {of} is full: it dropped {}, and requests waited for them \
             in about {} of their time",
            show_things(*packets, "packet"),
            percent(*waited)
        ))
        .next(format!("on {of}: ceiling tune plan --only rings"))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use model::wall::{Side, WallId};

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.allowance("rx_missed_errors", 60);
            scene.fixture.loss(60, 0);
        },
        without: &[
            ("drops", |scene| scene.fixture.allowance("rx_missed_errors", 0)),
            ("drops of its own ring", |scene| scene.fixture.allowance("rx_crc_errors", 60)),
            ("segments sent again", |scene| scene.fixture.loss(0, 0)),
            ("a CPU with time for it", |scene| scene.fixture.softirq(0, 0.9, 0.08)),
            ("counters", |scene| scene.fixture.observed.tcp = None),
        ],
    };

    /// Eight requests in flight for five seconds are 40 s: a tenth of it is 20 retries of 200 ms.
    #[test]
    fn drops_that_cost_a_tenth_of_the_time_of_all_requests_are_seen() {
        let mut fixture = Fixture::good();
        fixture.allowance("rx_missed_errors", 900);
        fixture.loss(20, 0);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!((seen.families(), seen.side(WallId::K7)), (2, Side::Server));
        fixture.loss(19, 0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "few of them were of the load");
        fixture.loss(900, 0);
        fixture.allowance("rx_missed_errors", 19);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "few of them were dropped here");
    }

    #[test]
    fn a_ring_of_the_generators_host_is_of_the_client() {
        let mut fixture = Fixture::good();
        fixture.allowance("rx_fifo_errors", 0);
        fixture.loss(60, 0);
        fixture.apart();
        let counters = [("rx_out_of_buffer".to_string(), 60)].into();
        fixture.observed.drivers = Some([("eth0".to_string(), counters)].into());
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.side(WallId::K7), Side::Client);
        assert!(seen.sentence.unwrap().contains("generator's host"));
    }

    #[test]
    fn a_driver_without_such_a_counter_leaves_it_untested() {
        let mut fixture = Fixture::good();
        fixture.loss(60, 0);
        fixture.allowance("tx_fifo_errors", 60);
        assert_eq!(super::test(&fixture.case()), Test::Untested);
        fixture.allowance("rx_missed_errors", 0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
        fixture.unwatched();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}

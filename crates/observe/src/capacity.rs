//! The limits of a host's links, and how much of them the window used.

use crate::{LinkUse, Observed};
use model::facts::Nic;
use model::link::LinkLimits;

/// Bytes on the wire that an interface does not count for each frame: FCS, preamble and gap.
pub(crate) const FRAME_EXTRA_BYTES: u64 = 24;

/// Where a limit comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitSource {
    /// The user stated it.
    Stated,
    /// The driver reports it, on a host where that means something.
    Driver,
}

/// A link with a known limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity<'a> {
    /// Traffic on the link.
    pub link: &'a LinkUse,
    /// Limit in each direction, bytes per second; absent when only packets are limited.
    pub bytes_s: Option<f64>,
    /// Limit of both directions together, packets per second; absent when not limited.
    pub packets_s: Option<f64>,
    /// How long a burst above the limits may last, nanoseconds; absent when none may.
    pub burst_ns: Option<u64>,
    /// Where the limits come from.
    pub source: LimitSource,
}

impl Capacity<'_> {
    /// Share of the speed that was used towards the host. Providers do not count framing, so a
    /// stated speed is compared without it.
    pub fn received(&self) -> Option<f64> {
        Some(self.counted(self.link.rx_bytes_s, self.link.rx_packets_s) / self.bytes_s?)
    }

    /// Share of the speed that was used from the host.
    pub fn sent(&self) -> Option<f64> {
        Some(self.counted(self.link.tx_bytes_s, self.link.tx_packets_s) / self.bytes_s?)
    }

    /// Share of the speed in the busier direction.
    pub fn busier(&self) -> Option<f64> {
        Some(self.received()?.max(self.sent()?))
    }

    /// Share of the packet limit that was used.
    pub fn packets(&self) -> Option<f64> {
        Some((self.link.rx_packets_s + self.link.tx_packets_s) / self.packets_s?)
    }

    /// Bytes per second in one direction as the limit counts them.
    pub fn counted(&self, wire_bytes_s: f64, packets_s: f64) -> f64 {
        match self.source {
            LimitSource::Stated => wire_bytes_s - packets_s * FRAME_EXTRA_BYTES as f64,
            LimitSource::Driver => wire_bytes_s,
        }
    }
}

/// Links of a host with these interfaces whose limits are known. What the user stated holds for
/// the interface, other than loopback, that moved most bytes, in place of what its driver reports.
pub fn capacities<'a>(
    nics: &[Nic],
    observed: &'a Observed,
    stated: Option<&LinkLimits>,
) -> Vec<Capacity<'a>> {
    let links = observed.links.as_deref().unwrap_or_default();
    let carrier = carrier(links).map(|link| &link.name);
    let of = |link: &'a LinkUse| match stated.filter(|_| carrier == Some(&link.name)) {
        Some(limits) => Some(Capacity {
            link,
            bytes_s: limits.bytes_s(),
            packets_s: limits.packets_s.map(|packets| packets as f64),
            burst_ns: limits.burst_ns,
            source: LimitSource::Stated,
        }),
        None => {
            let nic = nics.iter().find(|nic| nic.name == link.name)?;
            let mbps = nic.speed_mbps.filter(|speed| *speed > 0)?;
            Some(Capacity {
                link,
                bytes_s: Some(f64::from(mbps) * 1e6 / 8.0),
                packets_s: None,
                burst_ns: None,
                source: LimitSource::Driver,
            })
        }
    };
    links.iter().filter_map(of).collect()
}

/// The interface, other than loopback, that moved most bytes, if any moved one.
fn carrier(links: &[LinkUse]) -> Option<&LinkUse> {
    let moved = |link: &LinkUse| link.rx_bytes_s + link.tx_bytes_s;
    let moving = links.iter().filter(|link| link.name != "lo" && moved(link) > 0.0);
    moving.max_by(|left, right| moved(left).total_cmp(&moved(right)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::facts::NicSettings;

    fn nics(speed_mbps: Option<u32>) -> Vec<Nic> {
        let name = "eth0".to_string();
        let (driver, mtu, settings) = (None, None, NicSettings::default());
        vec![Nic { name, driver, mtu, speed_mbps, rx_queues: 1, tx_queues: 1, settings }]
    }

    fn moved(tx_bytes_s: f64, tx_packets_s: f64) -> Observed {
        let eth0 =
            LinkUse { name: "eth0".to_string(), tx_bytes_s, tx_packets_s, ..LinkUse::default() };
        let lo = LinkUse { name: "lo".to_string(), tx_bytes_s: 9e9, ..LinkUse::default() };
        Observed { links: Some(vec![lo, eth0]), ..Observed::default() }
    }

    #[test]
    fn what_was_stated_holds_in_place_of_the_driver_and_without_framing() {
        let observed = moved(125e6, 100e3);
        let of_driver = capacities(&nics(Some(1000)), &observed, None);
        assert_eq!(of_driver.len(), 1);
        assert_eq!((of_driver[0].sent(), of_driver[0].packets()), (Some(1.0), None));
        let stated =
            LinkLimits { bits_s: Some(2_000_000_000), packets_s: Some(200_000), burst_ns: None };
        let stated = capacities(&nics(Some(1000)), &observed, Some(&stated));
        assert_eq!(stated[0].sent(), Some((125e6 - 2.4e6) / 250e6));
        assert_eq!(stated[0].packets(), Some(0.5));
    }

    #[test]
    fn without_a_speed_there_is_no_share_and_no_zero() {
        let observed = moved(125e6, 100e3);
        assert!(capacities(&nics(None), &observed, None).is_empty());
        let packets = LinkLimits { packets_s: Some(1000), ..LinkLimits::default() };
        let stated = capacities(&nics(None), &observed, Some(&packets));
        assert_eq!((stated[0].sent(), stated[0].busier()), (None, None));
        assert!(capacities(&nics(None), &Observed::default(), Some(&packets)).is_empty());
    }
}

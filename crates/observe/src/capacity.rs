//! The limits of a host's links, and how much of them the window used.

use crate::network::{FRAME_EXTRA_BYTES, LinkUse};
use crate::observed::Observed;
use model::facts::Nic;
use model::link::LinkLimits;

/// How names of interfaces begin that combine others: no device is behind them, and they carry what
/// all of their devices carry. Sources: Linux networking/bonding.rst and teamd(8).
const COMBINED: [&str; 2] = ["bond", "team"];

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
/// the interface that leads out of the host and moved most bytes, in place of what its driver
/// reports.
pub fn capacities<'a>(
    nics: &[Nic],
    observed: &'a Observed,
    stated: Option<&LinkLimits>,
) -> Vec<Capacity<'a>> {
    let links = observed.links.as_deref().unwrap_or_default();
    let carrier = outward(nics, links).map(|link| &link.name);
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

/// The interface that moved most bytes of those with a device behind them and those that combine
/// such. Bridges and virtual pairs may move more: what containers send each other stays on the
/// host. If none of them moved any, as in the namespace of a container, the busiest but loopback.
pub(crate) fn outward<'a>(nics: &[Nic], links: &'a [LinkUse]) -> Option<&'a LinkUse> {
    let moved = |link: &LinkUse| link.rx_bytes_s + link.tx_bytes_s;
    let moving = || links.iter().filter(|link| link.name != "lo" && moved(link) > 0.0);
    let leads_out = |link: &&LinkUse| {
        let mut has_device = nics.iter().filter(|nic| nic.driver.is_some());
        has_device.any(|nic| nic.name == link.name)
            || COMBINED.iter().any(|begin| link.name.starts_with(begin))
    };
    let by_moved = |left: &&LinkUse, right: &&LinkUse| moved(left).total_cmp(&moved(right));
    moving().filter(leads_out).max_by(by_moved).or_else(|| moving().max_by(by_moved))
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
    fn what_was_stated_holds_for_the_interface_that_leads_out_of_the_host() {
        let link = |name: &str, tx_bytes_s| LinkUse {
            name: name.to_string(),
            tx_bytes_s,
            ..LinkUse::default()
        };
        let limits = LinkLimits { bits_s: Some(8_000_000_000), ..LinkLimits::default() };
        let stated = |driver: Option<&str>, links: Vec<LinkUse>| {
            let mut nics = nics(None);
            nics[0].driver = driver.map(str::to_string);
            let observed = Observed { links: Some(links), ..Observed::default() };
            let all = capacities(&nics, &observed, Some(&limits));
            all.iter().map(|one| one.link.name.clone()).collect::<Vec<_>>()
        };
        let (lo, bridge) = (|| link("lo", 9e9), || link("docker0", 5e8));
        let with_device = Some("virtio_net");
        assert_eq!(stated(with_device, vec![lo(), link("eth0", 1e8), bridge()]), ["eth0"]);
        let bond = vec![link("eth0", 1e8), link("bond0", 2e8), bridge()];
        assert_eq!(stated(with_device, bond), ["bond0"], "it carries what its devices carry");
        assert_eq!(stated(None, vec![lo(), link("eth0", 1e8)]), ["eth0"], "inside a container");
        assert_eq!(stated(with_device, vec![lo(), link("eth0", 0.0), bridge()]), ["docker0"]);
        assert!(stated(with_device, vec![lo()]).is_empty());
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

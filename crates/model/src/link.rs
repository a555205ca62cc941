//! The limits of a network link, as the user states them.
//!
//! Inside a virtual machine the figures of the driver mean nothing: the limit is what the provider
//! sold. So the user may state it, for either side.

use crate::figure::Whose;
use crate::units::{UnitError, parse_count, parse_duration_ns};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Smallest and largest accepted speed, bits per second: a smaller number was meant to have a
/// letter.
const SPEED_BITS: std::ops::RangeInclusive<u64> = 1_000..=10_000_000_000_000;

/// Limits of one host's link. At least one of speed and packets is given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkLimits {
    /// Bits per second in each direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits_s: Option<u64>,
    /// Packets per second, both directions together, as EC2 counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets_s: Option<u64>,
    /// How long a burst above these limits may last, nanoseconds; absent when none may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_ns: Option<u64>,
}

/// Limits of both sides; absent where none was stated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Links {
    /// Limits of the generator's host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<LinkLimits>,
    /// Limits of the server's host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<LinkLimits>,
}

impl Links {
    /// Whether no limit was stated.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl LinkLimits {
    /// Bytes per second in each direction.
    pub fn bytes_s(&self) -> Option<f64> {
        self.bits_s.map(|bits| bits as f64 / 8.0)
    }
}

/// One `--link`: limits of one side, or of both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkChoice {
    /// The side that they are for; both when absent.
    pub side: Option<Whose>,
    /// The limits.
    pub limits: LinkLimits,
}

impl FromStr for LinkChoice {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        const ACCEPTED: &str =
            "[client=|server=]SPEED[,PACKETSpps][,burst TIME], the speed in bits per second";
        let error = || UnitError::new(text, ACCEPTED, "25G or 'server=12.5G,1.8Mpps,burst 60s'");
        let (side, rest) = match text.split_once('=') {
            None => (None, text),
            Some(("client", rest)) => (Some(Whose::Client), rest),
            Some(("server", rest)) => (Some(Whose::Server), rest),
            Some(_) => return Err(error()),
        };
        let mut limits = LinkLimits::default();
        for part in rest.split(',').map(str::trim) {
            let slot = if let Some(time) = part.strip_prefix("burst ") {
                let ns = parse_duration_ns(time.trim()).ok().filter(|ns| *ns > 0);
                (&mut limits.burst_ns, ns.ok_or_else(error)?)
            } else if let Some(packets) = part.strip_suffix("pps") {
                let count = parse_count(packets.trim()).ok().filter(|count| *count > 0);
                (&mut limits.packets_s, count.ok_or_else(error)?)
            } else {
                let digits = part.strip_suffix("bit/s").or(part.strip_suffix("bps"));
                let bits = parse_count(digits.unwrap_or(part)).ok();
                let bits = bits.filter(|bits| SPEED_BITS.contains(bits));
                (&mut limits.bits_s, bits.ok_or_else(error)?)
            };
            if slot.0.replace(slot.1).is_some() {
                return Err(error());
            }
        }
        let has_limit = limits.bits_s.is_some() || limits.packets_s.is_some();
        if has_limit { Ok(Self { side, limits }) } else { Err(error()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(bits_s: u64, packets_s: u64, burst_s: u64) -> LinkLimits {
        let some = |value: u64| (value > 0).then_some(value);
        let burst_ns = some(burst_s * 1_000_000_000);
        LinkLimits { bits_s: some(bits_s), packets_s: some(packets_s), burst_ns }
    }

    #[test]
    fn limits_read_as_typed() {
        let read = |text: &str| text.parse::<LinkChoice>().map(|one| (one.side, one.limits));
        assert_eq!(read("25G"), Ok((None, limits(25_000_000_000, 0, 0))));
        let all = limits(12_500_000_000, 100_000, 60);
        assert_eq!(read("server=12.5G,100kpps,burst 60s"), Ok((Some(Whose::Server), all)));
        assert_eq!(read("client=100kpps"), Ok((Some(Whose::Client), limits(0, 100_000, 0))));
        assert_eq!(read("10Gbit/s").unwrap().1, limits(10_000_000_000, 0, 0));
        assert_eq!(read("10Gbps, burst 5m").unwrap().1, limits(10_000_000_000, 0, 300));
    }

    #[test]
    fn what_is_no_limit_is_refused_with_an_example() {
        for text in ["", "25", "25GB/s", "both=1G", "burst 60s", "1G,2G", "1G,0pps", "1G,burst 0s"]
        {
            let error = text.parse::<LinkChoice>().unwrap_err().to_string();
            assert!(error.contains("for example 25G"), "{text}: {error}");
        }
    }
}

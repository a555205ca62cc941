//! The budget of local ports (wall C7): how many a load needs, and how many there are.
//!
//! Four numbers identify a connection, so each pair of a source address and a target
//! address has the whole range for itself. A connection that we close first keeps its port in
//! TIME_WAIT, where the kernel holds it for 60 s: `TCP_TIMEWAIT_LEN` of `include/net/tcp.h`. No
//! sysctl shortens that; `tcp_fin_timeout` is about orphans in FIN_WAIT_2 only. What helps is to
//! reuse such a port early, see [`TimeWaitRules`].
//!
//! Finding the last free ports of a range costs time as well: `connect` looks through the ports of
//! one parity first and through the others when none of those is free
//! (`net/ipv4/inet_hashtables.c`, `__inet_hash_connect`). So half of a range is a good share.

use crate::units::NS_PER_S;

/// How long the kernel keeps a closed connection on the side that closed first, nanoseconds.
pub const TIME_WAIT_NS: u64 = 60 * NS_PER_S;

/// Ports that the kernel chooses from when a socket connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortRange {
    first: u16,
    last: u16,
    /// Inclusive ranges that are left out.
    reserved: Vec<(u16, u16)>,
}

impl PortRange {
    /// From the text of `net.ipv4.ip_local_port_range` (two numbers), which is for IPv6 as
    /// well, and of `net.ipv4.ip_local_reserved_ports` (`8080,9000-9010`).
    pub fn parse(range: &str, reserved: &str) -> Option<Self> {
        let mut numbers = range.split_whitespace().map(str::parse);
        let (first, last) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        let one = |text: &str| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            Some((first.parse().ok()?, last.parse().ok()?))
        };
        let parts = reserved.trim().split(',').filter(|part| !part.is_empty());
        let reserved = parts.map(one).collect::<Option<_>>()?;
        (first <= last).then_some(Self { first, last, reserved })
    }

    /// Whether the kernel may choose this port.
    pub fn contains(&self, port: u16) -> bool {
        let is_reserved =
            self.reserved.iter().any(|(first, last)| (*first..=*last).contains(&port));
        (self.first..=self.last).contains(&port) && !is_reserved
    }

    /// Ports the kernel may choose.
    pub fn count(&self) -> u64 {
        self.ports().count() as u64
    }

    /// Ports that can be taken at once, when `is_taken` says which ones already are. In a range of
    /// odd length each `connect` looks through one fewer (`__inet_hash_connect`).
    pub fn free(&self, is_taken: impl Fn(u16) -> bool) -> u64 {
        let free = self.ports().filter(|port| !is_taken(*port)).count() as u64;
        let length = self.last - self.first;
        if length > 0 && length.is_multiple_of(2) { free.saturating_sub(1) } else { free }
    }

    fn ports(&self) -> impl Iterator<Item = u16> {
        (self.first..=self.last).filter(|port| self.contains(*port))
    }
}

/// When a port in TIME_WAIT may be taken by a new connection between the same addresses.
///
/// `net/ipv4/tcp_ipv4.c`, `tcp_twsk_unique`: both connections need timestamps, and
/// `net.ipv4.tcp_tw_reuse` is 1 (always) or 2 (when one of the addresses is loopback; the default
/// since Linux 4.19). The old connection must be older than a second, or than
/// `net.ipv4.tcp_tw_reuse_delay` since Linux 6.14.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeWaitRules {
    /// `net.ipv4.tcp_tw_reuse`: 0, 1 or 2.
    pub tw_reuse: u8,
    /// `net.ipv4.tcp_tw_reuse_delay`, milliseconds; 1000 on kernels without it.
    pub tw_reuse_delay_ms: u64,
    /// `net.ipv4.tcp_timestamps` is not 0. The server must have them as well.
    pub timestamps: bool,
}

/// What packets between two addresses travel over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The loopback interface, with one of its addresses at one end.
    Loopback,
    /// Anything else.
    Network,
}

impl TimeWaitRules {
    /// How long a port cannot be reused after we closed first, nanoseconds.
    pub fn hold_ns(&self, way: Way) -> u64 {
        let may_reuse = match self.tw_reuse {
            1 => true,
            2 => way == Way::Loopback,
            _ => false,
        };
        if may_reuse && self.timestamps {
            (self.tw_reuse_delay_ms * 1_000_000).min(TIME_WAIT_NS)
        } else {
            TIME_WAIT_NS
        }
    }
}

/// The side that ends a connection first, and so keeps it in TIME_WAIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closer {
    /// The generator: the port is held for a while.
    Us,
    /// The server: our port is free at once.
    Server,
}

/// Connections that come and go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Churn {
    /// New connections per second, above zero.
    pub rate: f64,
    /// How long each is open at most, nanoseconds.
    pub open_ns: u64,
    /// The side that closes first.
    pub closer: Closer,
}

impl Churn {
    /// Local ports that are taken at once in the long run (Little's law: rate times how long a port
    /// is taken). `hold_ns` is that of [`TimeWaitRules`].
    pub fn ports(&self, hold_ns: u64) -> u64 {
        let after_ns = match self.closer {
            Closer::Us => hold_ns,
            Closer::Server => 0,
        };
        let taken_s = (self.open_ns + after_ns) as f64 / NS_PER_S as f64;
        (self.rate * taken_s).ceil() as u64
    }
}

/// Source addresses needed for `ports` ports at once, when each pair of source and target has
/// `each` of them; nothing when no number is enough.
pub fn sources_needed(ports: u64, each: u64, targets: u64) -> Option<u64> {
    let of_source = each.checked_mul(targets).filter(|ports| *ports > 0)?;
    Some(ports.div_ceil(of_source).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REUSE: TimeWaitRules =
        TimeWaitRules { tw_reuse: 2, tw_reuse_delay_ms: 1000, timestamps: true };

    #[test]
    fn reserved_ports_are_no_ports() {
        let range = PortRange::parse("32768\t60999\n", "\n").unwrap();
        assert_eq!(range.count(), 28_232);
        let range = PortRange::parse("40000 40499", "8080,40000-40009,40499-50000\n").unwrap();
        assert_eq!(range.count(), 489);
        assert!(range.contains(40_010) && !range.contains(40_009) && !range.contains(39_999));
        assert_eq!(range.free(|port| port % 10 == 0), 440);
        let odd = PortRange::parse("1 65535", "").unwrap();
        assert_eq!((odd.count(), odd.free(|_| false)), (65_535, 65_534));
        assert_eq!(PortRange::parse("7 7", "").unwrap().free(|_| false), 1);
        for (range, reserved) in [("", ""), ("1", ""), ("9 5", ""), ("a b", ""), ("1 9", "x")] {
            assert_eq!(PortRange::parse(range, reserved), None, "{range:?} {reserved:?}");
        }
    }

    #[test]
    fn a_port_is_taken_again_early_only_where_the_kernel_says_so() {
        let hold_s = |rules: TimeWaitRules, way| rules.hold_ns(way) / NS_PER_S;
        assert_eq!(hold_s(REUSE, Way::Loopback), 1);
        assert_eq!(hold_s(REUSE, Way::Network), 60);
        assert_eq!(hold_s(TimeWaitRules { tw_reuse: 1, ..REUSE }, Way::Network), 1);
        assert_eq!(hold_s(TimeWaitRules { tw_reuse: 0, ..REUSE }, Way::Loopback), 60);
        assert_eq!(hold_s(TimeWaitRules { timestamps: false, ..REUSE }, Way::Loopback), 60);
        let slow = TimeWaitRules { tw_reuse_delay_ms: 100_000, ..REUSE };
        assert_eq!(hold_s(slow, Way::Loopback), 60, "no longer than TIME_WAIT itself");
    }

    #[test]
    fn churn_needs_rate_times_the_time_a_port_is_taken() {
        let churn = Churn { rate: 20_000.0, open_ns: 0, closer: Closer::Us };
        assert_eq!(churn.ports(REUSE.hold_ns(Way::Loopback)), 20_000);
        assert_eq!(churn.ports(TIME_WAIT_NS), 1_200_000);
        let held = Churn { rate: 2_000.5, open_ns: NS_PER_S, closer: Closer::Server };
        assert_eq!(held.ports(TIME_WAIT_NS), 2_001);
    }

    #[test]
    fn sources_are_enough_and_not_one_more() {
        assert_eq!(sources_needed(470 * 60, 28_232, 1), Some(1));
        assert_eq!(sources_needed(20_000, 500, 1), Some(40));
        assert_eq!(sources_needed(20_001, 500, 1), Some(41));
        assert_eq!(sources_needed(20_000, 500, 4), Some(10));
        assert_eq!(sources_needed(0, 500, 1), Some(1));
        assert_eq!(sources_needed(1, 0, 1), None);
    }
}

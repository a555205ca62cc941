//! The budget of local ports, checked before load: a trial that would hit wall C7 is refused.
//!
//! The arithmetic is in `model::ports`; this reads the ports that the host has, and those in use.

use model::load::{Arrival, Hold, Level};
use model::ports::{Churn, Closer, PortRange, TIME_WAIT_NS, TimeWaitRules, Way, sources_needed};
use model::route::{Address, Route, routes};
use plan::SOURCES_MAX;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Ports that are free again within this time are worth waiting for, nanoseconds.
const SOON_NS: u64 = 1_000_000_000;

/// There are not enough local ports.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{connections} connections, those in TIME_WAIT included, need as many local ports, and only \
     {free} of {range} are free on the route with the fewest, {tightest} (C7); {way_out} or use \
     at most -c {possible}"
)]
pub struct PortsError {
    /// Connections asked for.
    pub connections: u64,
    /// Ports of the range that the kernel may choose from.
    pub range: u64,
    /// Ports of it that are free on the route with the fewest.
    pub free: u64,
    /// That route: its source, if given, and its target.
    pub tightest: String,
    /// Source addresses that would be enough; `None` if no number is.
    pub sources_needed: Option<u64>,
    /// What to do about it, including the option.
    pub way_out: String,
    /// Connections that would fit.
    pub possible: u64,
}

fn shown(route: &Route) -> String {
    let from = route.from.map_or(String::new(), |from| format!("{from} to "));
    format!("{from}{}", route.to)
}

/// The local ports of this host as they are now.
#[derive(Debug, Clone)]
pub struct Ports {
    range: PortRange,
    rules: TimeWaitRules,
    /// Ports that connect never chooses.
    listening: BTreeSet<u16>,
    /// Ports taken from a source to a target.
    taken: BTreeMap<(IpAddr, SocketAddr), BTreeSet<u16>>,
}

impl Ports {
    /// Reads what connections to these addresses may use. `None` when this host does not report its
    /// range; anything else that it does not report counts as free.
    pub fn look(addresses: &[Address]) -> Option<Self> {
        let sysctls = host::sysctl::values();
        let text = |name: &str| sysctls.get(name).map(String::as_str);
        let number = |name: &str| text(name).and_then(|text| text.parse::<u64>().ok());
        let reserved = text("net.ipv4.ip_local_reserved_ports").unwrap_or_default();
        let range = PortRange::parse(text("net.ipv4.ip_local_port_range")?, reserved)?;
        let rules = TimeWaitRules {
            tw_reuse: number("net.ipv4.tcp_tw_reuse").unwrap_or(0) as u8,
            tw_reuse_delay_ms: number("net.ipv4.tcp_tw_reuse_delay").unwrap_or(1000),
            timestamps: number("net.ipv4.tcp_timestamps") != Some(0),
        };
        let listening = probe::listening_ports().unwrap_or_default();
        let mut ports = Self { range, rules, listening, taken: BTreeMap::new() };
        let targets: BTreeSet<u16> = addresses.iter().filter_map(Address::port).collect();
        for taken in targets.into_iter().filter_map(|port| probe::taken_ports(port).ok()).flatten()
        {
            ports.add(&taken);
        }
        Some(ports)
    }

    fn add(&mut self, taken: &probe::TakenPort) {
        let (from, to) = (taken.local.ip(), taken.remote);
        let age_ns = taken.time_wait_left_ns.map(|left_ns| TIME_WAIT_NS.saturating_sub(left_ns));
        let hold_ns = self.rules.hold_ns(way(from, to.ip()));
        if age_ns.is_none_or(|age_ns| age_ns < hold_ns) {
            self.taken.entry((from, to)).or_default().insert(taken.local.port());
        }
    }

    /// Ports that are free on a route; `None` when it needs none.
    pub fn free(&self, route: &Route) -> Option<u64> {
        let to = route.to.tcp()?;
        let from = route.from.or_else(|| source_of_kernel(to));
        let to = SocketAddr::new(to.ip().to_canonical(), to.port());
        let taken = from.and_then(|from| self.taken.get(&(from.to_canonical(), to)));
        let is_taken = |port: u16| {
            self.listening.contains(&port) || taken.is_some_and(|taken| taken.contains(&port))
        };
        Some(self.range.free(is_taken))
    }

    /// Most local ports that levels use at once. Devices that come and go leave ports in TIME_WAIT
    /// behind; the rate of devices with a hold of zero is not known beforehand.
    pub fn needed(&self, levels: &[Level], addresses: &[Address]) -> u64 {
        let is_loopback = addresses.iter().all(Address::is_loopback);
        let way = if is_loopback { Way::Loopback } else { Way::Network };
        let of_level = |level: &Level| {
            let at_once = u64::from(level.connections_max());
            let Some(Hold::For { ns: open_ns @ 1.., .. }) = level.life.hold else {
                return at_once;
            };
            let rate = match &level.arrival {
                Arrival::Closed => f64::from(level.connections) * 1e9 / open_ns as f64,
                Arrival::Open { curve, .. } => curve.peak_rate(),
            };
            let churn = Churn { rate, open_ns, closer: Closer::Us };
            churn.ports(self.rules.hold_ns(way)).max(at_once)
        };
        levels.iter().map(of_level).max().unwrap_or(0)
    }

    /// Makes sure that this many connections can be open at once, spread evenly over the routes.
    pub fn allow(&self, connections: u64, routes: &[Route]) -> Result<(), PortsError> {
        let free = routes.iter().filter_map(|route| Some((self.free(route)?, route)));
        let Some((free, tightest)) = free.min_by_key(|(free, _)| *free) else { return Ok(()) };
        let possible = free * routes.len() as u64;
        if connections <= possible {
            return Ok(());
        }
        let sources: BTreeSet<_> = routes.iter().map(|route| route.from).collect();
        let targets = (routes.len() / sources.len()) as u64;
        let sources_needed = sources_needed(connections, free, targets);
        Err(PortsError {
            connections,
            range: self.range.count(),
            free,
            tightest: shown(tightest),
            sources_needed,
            way_out: way_out(sources_needed, routes),
            possible,
        })
    }

    /// Whether waiting for a second may help: the range is large enough, and ports in TIME_WAIT are
    /// free again by then.
    pub fn would_do(&self, connections: u64, routes: &[Route]) -> bool {
        let is_soon = |route: &Route| {
            let to = route.to.tcp().map(|to| to.ip());
            to.is_some_and(|to| self.rules.hold_ns(way(route.from.unwrap_or(to), to)) <= SOON_NS)
        };
        connections <= self.range.count() * routes.len() as u64 && routes.iter().all(is_soon)
    }

    /// Sources for this many ports at once, none used for more than half of its range, because
    /// beyond that the kernel searches for long. On loopback every address of 127.0.0.0/8 is a
    /// source; elsewhere the addresses of the interfaces that lead to the targets are, and they may
    /// be too few.
    pub fn sources(&self, ports: u64, addresses: &[Address]) -> Vec<IpAddr> {
        let targets: Vec<SocketAddr> = addresses.iter().filter_map(Address::tcp).collect();
        let each = (self.range.free(|port| self.listening.contains(&port)) / 2).max(1);
        let wanted = |targets: usize| {
            let wanted = sources_needed(ports, each, targets as u64).unwrap_or(0);
            (wanted as usize).min(SOURCES_MAX)
        };
        match addresses.iter().all(Address::is_loopback) {
            true => self.loopback_sources(each, wanted, addresses, &targets),
            false => {
                let mut sources = interface_sources(&targets);
                sources.truncate(wanted(targets.len()));
                sources
            }
        }
    }

    fn loopback_sources(
        &self,
        each: u64,
        wanted: impl Fn(usize) -> usize,
        addresses: &[Address],
        targets: &[SocketAddr],
    ) -> Vec<IpAddr> {
        let v4 = targets.iter().filter(|target| target.is_ipv4()).count();
        let has_room = |from: &IpAddr| {
            routes(addresses, &[*from]).iter().all(|route| self.free(route) >= Some(each))
        };
        let all = (1..=0x00ff_fffe).map(|host| IpAddr::V4(Ipv4Addr::from(0x7f00_0000u32 + host)));
        let mut sources: Vec<IpAddr> = all.filter(has_room).take(wanted(v4)).collect();
        if v4 < targets.len() {
            // IPv6 has one loopback address.
            sources.push(Ipv6Addr::LOCALHOST.into());
        }
        sources
    }
}

/// The addresses of the interfaces that lead to targets, the kernel's own choice first.
fn interface_sources(targets: &[SocketAddr]) -> Vec<IpAddr> {
    let mut sources = Vec::new();
    for own in targets.iter().filter_map(|to| source_of_kernel(*to)) {
        let beside = host::addresses::beside(own).unwrap_or_default();
        for source in [own].into_iter().chain(beside) {
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
    }
    sources
}

fn way_out(sources_needed: Option<u64>, routes: &[Route]) -> String {
    let is_auto =
        |route: &Route| route.to.is_loopback() && route.to.tcp().is_some_and(|to| to.is_ipv4());
    let Some(sources) = sources_needed else {
        return "free some, widen net.ipv4.ip_local_port_range,".to_string();
    };
    let addresses = if sources == 1 { "address" } else { "addresses" };
    let needs = format!("this needs {sources} source {addresses}");
    if routes.iter().all(is_auto) {
        format!("{needs}: --source auto;")
    } else {
        let example = "--source 10.0.0.1,10.0.0.2 or --source 10.0.0.0/28";
        format!("{needs} of this host, for example {example};")
    }
}

/// The way that packets between two addresses take.
pub fn way(from: IpAddr, to: IpAddr) -> Way {
    if from.is_loopback() || to.is_loopback() { Way::Loopback } else { Way::Network }
}

/// The source that the kernel would choose. Connecting a datagram socket looks up its routes and
/// sends nothing.
fn source_of_kernel(to: SocketAddr) -> Option<IpAddr> {
    let any: IpAddr = match to {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(to).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::TakenPort;

    const TARGET: &str = "127.0.0.1:8083";

    fn address(text: &str) -> Address {
        text.parse().unwrap()
    }

    fn ports() -> Ports {
        Ports {
            range: PortRange::parse("40000 40499", "").unwrap(),
            rules: TimeWaitRules { tw_reuse: 2, tw_reuse_delay_ms: 1000, timestamps: true },
            listening: BTreeSet::from([40_100, 8083]),
            taken: BTreeMap::new(),
        }
    }

    fn from(sources: &[&str]) -> Vec<Route> {
        let sources: Vec<_> = sources.iter().map(|source| source.parse().unwrap()).collect();
        routes(&[address(TARGET)], &sources)
    }

    #[test]
    fn a_refusal_says_how_many_sources_it_needs_and_the_option() {
        let ports = ports();
        assert_eq!(ports.allow(499, &from(&["127.0.0.1"])), Ok(()), "a listener is in the range");
        let error = ports.allow(600, &from(&["127.0.0.1"])).unwrap_err();
        assert_eq!((error.sources_needed, error.possible), (Some(2), 499));
        let text = error.to_string();
        for word in ["C7", "499 of 500", "this needs 2 source addresses: --source auto", "-c 499"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        assert_eq!(ports.allow(998, &from(&["127.0.0.1", "127.0.0.2"])), Ok(()));
        let away = [Route::to(address("192.0.2.1:80"))];
        let text = ports.allow(2000, &away).unwrap_err().to_string();
        assert!(text.contains("5 source addresses of this host, for example --source"), "{text}");
        let unix = [Route::to(address("unix:/x"))];
        assert_eq!(ports.allow(1 << 30, &unix), Ok(()), "a unix socket needs no ports");
    }

    #[test]
    fn taken_ports_count_until_they_may_be_taken_again() {
        let mut ports = ports();
        let left_s = |seconds: u64| Some(seconds * 1_000_000_000);
        let mut take = |local: &str, time_wait_left_ns| {
            let (local, remote) = (local.parse().unwrap(), TARGET.parse().unwrap());
            ports.add(&TakenPort { local, remote, time_wait_left_ns });
        };
        take("127.0.0.1:40000", None);
        take("127.0.0.1:40001", left_s(60));
        take("127.0.0.1:40002", left_s(50));
        take("127.0.0.2:40003", None);
        take("127.0.0.1:50000", None);
        let free = |source: &str| ports.free(&from(&[source])[0]);
        assert_eq!(free("127.0.0.1"), Some(497), "one open, one closed just now");
        assert_eq!(free("127.0.0.2"), Some(498));
        assert_eq!(free("127.0.0.3"), Some(499));
        ports.rules.tw_reuse = 0;
        let old = TakenPort {
            local: "127.0.0.3:40002".parse().unwrap(),
            remote: TARGET.parse().unwrap(),
            time_wait_left_ns: left_s(1),
        };
        ports.add(&old);
        assert_eq!(ports.free(&from(&["127.0.0.3"])[0]), Some(498), "a whole minute");
    }

    #[test]
    fn sources_are_as_many_as_needed_and_have_room() {
        let mut ports = ports();
        let sources = |ports: &Ports, count, targets: &[&str]| {
            let targets: Vec<_> = targets.iter().map(|target| address(target)).collect();
            let sources = ports.sources(count, &targets);
            sources.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(sources(&ports, 600, &[TARGET]), "127.0.0.1 127.0.0.2 127.0.0.3");
        assert_eq!(sources(&ports, 600, &[TARGET, "127.0.0.1:1"]), "127.0.0.1 127.0.0.2");
        assert_eq!(sources(&ports, 9, &[TARGET, "[::1]:8083"]), "127.0.0.1 ::1");
        assert_eq!(sources(&ports, 9, &["unix:/x"]), "");
        let elsewhere = ports.sources(9, &[address("192.0.2.1:80")]);
        assert!(elsewhere.len() <= 1 && elsewhere.iter().all(|ip| !ip.is_loopback()));
        for port in 40_000..40_400 {
            let (local, remote) =
                (SocketAddr::from(([127, 0, 0, 1], port)), TARGET.parse().unwrap());
            ports.add(&TakenPort { local, remote, time_wait_left_ns: None });
        }
        assert_eq!(sources(&ports, 9, &[TARGET]), "127.0.0.2", "the first one is full");
    }

    #[test]
    fn this_host_tells() {
        let ports = Ports::look(&[address(TARGET)]).expect("Linux tells its port range");
        assert!(ports.free(&Route::to(address(TARGET))).unwrap() > 100);
        assert_eq!(source_of_kernel(TARGET.parse().unwrap()), Some([127, 0, 0, 1].into()));
    }
}

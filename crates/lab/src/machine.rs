//! The host that makes the load, as a plan asks about it: its CPUs, drivers, addresses and files.

use crate::calls;
use crate::ports::Ports;
use engine::driver::{ktls, uring};
use model::load::{DriverKind, Level};
use model::route::{Address, Route, routes};
use model::units::parse_cpus;
use plan::{BYTES_MAX, Machine, SchemaFrom, Sources, WayError};
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::thread::available_parallelism;
use std::{env, path::Path};

/// This host, as it is now.
#[derive(Debug, Clone, Copy)]
pub struct ThisHost;

impl Machine for ThisHost {
    fn cpus(&self) -> Vec<usize> {
        allowed()
    }

    fn parallelism(&self) -> usize {
        available_parallelism().map_or(1, usize::from)
    }

    fn driver(&self) -> (DriverKind, String) {
        engine::choose_driver()
    }

    fn uring(&self) -> Result<(), String> {
        uring::check().map_err(|reason| reason.to_string())
    }

    fn ktls(&self) -> Result<(), String> {
        ktls::check()
    }

    fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
        let found: Vec<_> =
            (host, port).to_socket_addrs().map_err(|error| error.to_string())?.collect();
        if found.is_empty() { Err("the name has no address".to_string()) } else { Ok(found) }
    }

    fn sources(
        &self,
        asked: &Sources,
        levels: &[Level],
        addresses: &[Address],
    ) -> Result<Vec<IpAddr>, String> {
        find_sources(asked, levels, addresses).map_err(|error| error.to_string())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        read_whole(Path::new(path))
    }

    fn variable(&self, name: &str) -> Option<String> {
        env::var(name).ok().filter(|text| !text.is_empty())
    }

    fn seed(&self) -> u64 {
        jiff::Timestamp::now().as_nanosecond() as u64 >> 10
    }

    fn schema(&self, from: &SchemaFrom<'_>) -> Result<Option<Vec<u8>>, String> {
        match from {
            SchemaFrom::Files(files, folders) => schema::compile(files, folders),
            SchemaFrom::Set(file) => read_whole(file),
            SchemaFrom::Server(reach) => calls::reflect(reach),
        }
        .map(Some)
    }

    fn program(&self, name: &str) -> Result<(), String> {
        host::program::find(name).map(drop).map_err(|error| match error.kind() {
            ErrorKind::NotFound => format!("{name} is not in the PATH"),
            _ => format!("cannot run {name}: {error}"),
        })
    }
}

/// CPUs by number, in order. If `/proc` does not list them, as many as the system reports.
fn allowed() -> Vec<usize> {
    affinity().unwrap_or_else(|| (0..available_parallelism().map_or(1, usize::from)).collect())
}

/// The affinity mask, without CPUs that are off: what `sched_getaffinity` returns.
fn affinity() -> Option<Vec<usize>> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let mut cpus = parse_cpus(list.trim())?;
    // The mask may include CPUs that could be plugged in later.
    let online = fs::read_to_string("/sys/devices/system/cpu/online").ok();
    if let Some(online) = online.and_then(|list| parse_cpus(list.trim())) {
        cpus.retain(|cpu| online.contains(cpu));
    }
    Some(cpus).filter(|cpus| !cpus.is_empty())
}

/// The sources for the ports that levels need at once to these addresses. Each can be bound and has
/// a route to every address of its family.
fn find_sources(
    asked: &Sources,
    levels: &[Level],
    addresses: &[Address],
) -> Result<Vec<IpAddr>, WayError> {
    let sources = match asked {
        Sources::Listed(sources) => sources.clone(),
        Sources::Auto => auto(levels, addresses),
    };
    let all = routes(addresses, &sources);
    let shown = || addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if all.is_empty() && !addresses.is_empty() {
        let is_v4 = addresses.iter().any(|to| to.tcp().is_some_and(|to| to.is_ipv4()));
        let example = if is_v4 { "127.0.0.1" } else { "::1" };
        return Err(WayError::OtherFamily { to: shown(), example });
    }
    sources.iter().try_for_each(|source| check_ours(*source))?;
    all.iter().try_for_each(check_way)?;
    Ok(sources)
}

fn auto(levels: &[Level], addresses: &[Address]) -> Vec<IpAddr> {
    // A host that does not report its ports has no budget to spread.
    let host = Ports::look(addresses);
    host.map_or_else(Vec::new, |host| host.sources(host.needed(levels, addresses), addresses))
}

/// Binding a datagram socket shows whether an address may be bound, and takes no TCP port.
fn check_ours(source_ip: IpAddr) -> Result<(), WayError> {
    UdpSocket::bind((source_ip, 0)).map(drop).map_err(|error| {
        let hint = match source_ip {
            IpAddr::V4(_) => ", such as any in 127.0.0.0/8",
            IpAddr::V6(_) => "; 'ip -6 addr add' adds one",
        };
        WayError::NotOurs { source_ip, why: error.to_string(), hint: hint.to_string() }
    })
}

/// Connecting a datagram socket checks the kernel's routes and sends nothing.
fn check_way(route: &Route) -> Result<(), WayError> {
    let (Some(source_ip), Some(to)) = (route.from, route.to.tcp()) else { return Ok(()) };
    let connected = UdpSocket::bind((source_ip, 0)).and_then(|socket| socket.connect(to));
    connected.map_err(|error| WayError::NoWay { source_ip, to, why: error.to_string() })
}

/// A whole file, unless it is larger than all requests may be.
fn read_whole(path: &Path) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut bytes));
    read.map_err(|error| format!("cannot read {shown}: {error}"))?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(format!("{shown} is larger than {} MiB", BYTES_MAX >> 20));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::load::{Arrival, Life};

    #[test]
    fn this_host_has_cpus() {
        assert!(!allowed().is_empty());
    }

    fn closed_level(connections: u32) -> Level {
        let (arrival, life) = (Arrival::Closed, Life::default());
        Level { connections, spare: 0, depth: 1, arrival, life }
    }

    fn sources(text: &str, addresses: &[&str]) -> Result<Vec<IpAddr>, String> {
        let addresses: Vec<Address> = addresses.iter().map(|text| text.parse().unwrap()).collect();
        let asked = Sources::parse(text).unwrap();
        find_sources(&asked, &[closed_level(10)], &addresses).map_err(|error| error.to_string())
    }

    #[test]
    fn sources_must_be_ours_and_lead_to_the_target() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(
            sources("127.0.0.0/30", &["127.0.0.1:1"]),
            Ok(vec![ip("127.0.0.1"), ip("127.0.0.2")])
        );
        assert_eq!(sources("auto", &["127.0.0.1:1"]).unwrap().len(), 1);
        let cases = [
            ("192.0.2.1", "127.0.0.1:1", "addresses of this host"),
            ("127.0.0.1", "192.0.2.1:1", "no route from it to 192.0.2.1:1"),
            ("127.0.0.1", "[::1]:1", "for example --source ::1"),
        ];
        for (source, target, word) in cases {
            let error = sources(source, &[target]).unwrap_err();
            assert!(error.contains(word) && error.contains("--source"), "{source}: {error}");
        }
    }
}

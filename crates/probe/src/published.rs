//! Programs that listen for a server in another network namespace and pass its connections on.
//!
//! docker starts a `docker-proxy` for each published port, and its command line names the address
//! and port of the container:
//! `-proto tcp -host-ip 0.0.0.0 -host-port 8080 -container-ip 172.17.0.2 -container-port 80`. The
//! proxies of rootless podman and docker do not show them. podman as root starts none: `conmon`
//! holds the port, so that no other program takes it, and the kernel translates the address
//! (`translated.rs`).
//!
//! A process can write anything to its command line. So it only shows where to look for a listener;
//! the process that is found there is the server.

use crate::{process, translated};
use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

/// The program of docker; the kernel cuts names after 15 bytes.
const DOCKER_PROXY: &str = "docker-proxy";
/// Programs that pass connections on, or hold the port for the kernel that does, and do not show
/// where to.
const FORWARDERS: [&str; 6] =
    ["rootlessport", "rootlesskit", "slirp4netns", "pasta", "pasta.avx2", HOLDER];
/// The one that only holds the port.
pub(crate) const HOLDER: &str = "conmon";

/// A published port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Published {
    /// Where the proxy listens.
    pub at: SocketAddr,
    /// Where it passes connections on to.
    pub to: SocketAddr,
}

/// Parses a command line, zero-terminated words.
pub fn parse(command: &[u8]) -> Option<Published> {
    let words: Vec<&str> =
        command.split(|&byte| byte == 0).map_while(|word| std::str::from_utf8(word).ok()).collect();
    let value = |flag: &str| {
        let at = words.iter().position(|word| word.trim_start_matches('-') == flag)?;
        words.get(at + 1).copied()
    };
    let address = |ip: &str, port: &str| {
        let ip: IpAddr = value(ip)?.parse().ok()?;
        Some(SocketAddr::new(ip, value(port)?.parse().ok()?))
    };
    let is_tcp = value("proto").is_none_or(|protocol| protocol == "tcp");
    let published = Published {
        at: address("host-ip", "host-port")?,
        to: address("container-ip", "container-port")?,
    };
    is_tcp.then_some(published)
}

/// The name of a process that only passes connections on; nothing for any other.
pub(crate) fn forwarder(pid: u32) -> Option<String> {
    let name = process::stat(pid).ok()?.name;
    let is_one = name == DOCKER_PROXY || FORWARDERS.contains(&name.as_str());
    is_one.then_some(name)
}

/// Where connections to an address of this host are passed on to: by the kernel, or else by docker.
/// A port that docker publishes at this address is preferred to one that it publishes at all
/// addresses.
pub(crate) fn targets(address: SocketAddr) -> BTreeSet<SocketAddr> {
    match translated::target(address) {
        Some(target) => BTreeSet::from([target]),
        None => chosen(&all(), address),
    }
}

/// Ports of containers that are published at a port of this host, whatever the address.
pub(crate) fn inner_ports(port: u16, inside: &[IpAddr]) -> BTreeSet<u16> {
    let is_inside = |to: &SocketAddr| inside.contains(&to.ip());
    let translated = translated::target((Ipv4Addr::LOCALHOST, port).into());
    let by_docker = all().into_iter().filter(|one| one.at.port() == port).map(|one| one.to);
    translated.into_iter().chain(by_docker).filter(is_inside).map(|to| to.port()).collect()
}

fn all() -> Vec<Published> {
    let pids = process::ids(Path::new("/proc")).unwrap_or_default();
    let is_proxy = |pid: &u32| {
        let name = fs::read(process::path(*pid, "comm")).unwrap_or_default();
        name.trim_ascii() == DOCKER_PROXY.as_bytes()
    };
    let command = |pid: u32| fs::read(process::path(pid, "cmdline")).ok();
    pids.into_iter().filter(is_proxy).filter_map(command).filter_map(|line| parse(&line)).collect()
}

fn chosen(all: &[Published], address: SocketAddr) -> BTreeSet<SocketAddr> {
    let asked = address.ip().to_canonical();
    let score = |one: &Published| {
        let at = one.at.ip().to_canonical();
        let is_any = at.is_unspecified() || asked.is_unspecified();
        match at == asked {
            _ if one.at.port() != address.port() => None,
            true => Some(2),
            false => is_any.then_some(1),
        }
    };
    let best = all.iter().filter_map(score).max();
    let is_best = |one: &&Published| best.is_some() && score(one) == best;
    all.iter().filter(is_best).map(|one| one.to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(at: &str, to: &str) -> Published {
        Published { at: at.parse().unwrap(), to: to.parse().unwrap() }
    }

    fn line(words: &str) -> Vec<u8> {
        words.split(' ').flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect()
    }

    #[test]
    fn the_command_line_of_docker() {
        let words = "/usr/bin/docker-proxy -proto tcp -host-ip 0.0.0.0 -host-port 8080 \
                     -container-ip 172.17.0.2 -container-port 80 -use-listen-fd";
        assert_eq!(parse(&line(words)), Some(published("0.0.0.0:8080", "172.17.0.2:80")));
        let v6 = words.replace("0.0.0.0", "::");
        assert_eq!(parse(&line(&v6)), Some(published("[::]:8080", "172.17.0.2:80")));
        assert_eq!(parse(&line(&words.replace("tcp", "udp"))), None);
    }

    #[test]
    fn other_command_lines_publish_nothing() {
        let whole =
            "x -host-ip 0.0.0.0 -host-port 8080 -container-ip 172.17.0.2 -container-port 80";
        for words in [
            "",
            "x",
            whole.strip_suffix(" 80").unwrap(),
            &whole.replace("8080", "80800"),
            &whole.replace("172.17.0.2", "host"),
        ] {
            assert_eq!(parse(&line(words)), None, "{words}");
        }
        assert_eq!(parse(b"\xff\0-host-ip\0"), None);
    }

    #[test]
    fn the_closest_address_is_meant() {
        let all = [
            published("0.0.0.0:80", "172.17.0.2:80"),
            published("[::]:80", "172.17.0.2:80"),
            published("10.0.0.1:80", "172.17.0.3:80"),
            published("0.0.0.0:81", "172.17.0.4:80"),
        ];
        let found = |address: &str| -> Vec<String> {
            chosen(&all, address.parse().unwrap()).iter().map(ToString::to_string).collect()
        };
        assert_eq!(found("10.0.0.1:80"), ["172.17.0.3:80"]);
        assert_eq!(found("127.0.0.1:80"), ["172.17.0.2:80"]);
        assert_eq!(found("0.0.0.0:80"), ["172.17.0.2:80"]);
        assert!(found("127.0.0.1:82").is_empty());
    }
}

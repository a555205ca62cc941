//! Source ports that reach the wanted one of two listeners.
//!
//! Listeners that share a port get connections by a hash of addresses and ports with a secret of
//! the kernel. So each port is tried, and those that would even out the distribution are reserved.

use crate::options::PortsOptions;
use crate::setup::{Allowance, Host};
use crate::stage::{Place, Seat, Stage};
use anyhow::{Context, Result, bail};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket, sockopt};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::time::Duration;

const FIRST: u16 = 41_000;
const COUNT: u16 = 200;

/// Name of the thread behind the first listener.
const FIRST_LISTENER: &str = "loop-0";

/// Prints each port with the thread that served it.
pub fn run(options: &PortsOptions) -> Result<()> {
    for port in options.first..options.first.saturating_add(options.count) {
        println!("{port} {}", ask(options.address, port)?);
    }
    Ok(())
}

fn ask(address: SocketAddrV4, from_port: u16) -> Result<String> {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, from_port))?;
    // The port must be free for the load at once.
    sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    connect(&socket, &address)?;
    let mut stream = TcpStream::from(socket);
    stream.write_all(b"GET / HTTP/1.1\r\nHost: stage\r\n\r\n")?;
    let mut response = [0; 1024];
    let count = stream.read(&mut response)?;
    let response = String::from_utf8_lossy(&response[..count]).into_owned();
    let named = response.lines().find_map(|line| line.strip_prefix("Server: "));
    Ok(named.context("the response names no server")?.to_owned())
}

/// Leaves the client only ports of which this share reaches the first listener.
pub fn skew(stage: &Stage, port: u16, share: f64) -> Result<()> {
    let seat = Seat {
        host: Host::Client,
        name: "ports",
        cpus: "1",
        allowance: Allowance::default(),
        files: None,
        place: Place::Host,
    };
    let address = format!("{}:{port}", stage.address(Host::Server));
    let words = ["ports", &address, &FIRST.to_string(), &COUNT.to_string()].map(str::to_owned);
    let program = std::env::current_exe().context("no path of this program")?;
    let output = stage.command(seat, &program, &words)?.output()?;
    if !output.status.success() {
        bail!("cannot try ports: {}", String::from_utf8_lossy(&output.stderr));
    }
    let reserved = reserved(&String::from_utf8_lossy(&output.stdout), share);
    let range = format!("{FIRST} {}", FIRST + COUNT - 1);
    stage.sysctl(Host::Client, "net.ipv4.ip_local_port_range", &range)?;
    stage.sysctl(Host::Client, "net.ipv4.ip_local_reserved_ports", &reserved)
}

/// The ports to reserve, in the kernel's format.
fn reserved(listing: &str, share: f64) -> String {
    let ports = listing.lines().filter_map(|line| line.split_once(' '));
    let (first, mut others): (Vec<_>, Vec<_>) =
        ports.partition(|(_, thread)| *thread == FIRST_LISTENER);
    let keep = first.len() as f64 * (1.0 - share) / share.max(0.01);
    let gone = others.split_off((keep.round() as usize).min(others.len()));
    gone.iter().map(|(port, _)| *port).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wanted_share_of_ports_is_left() {
        let line = |port: u16| format!("{port} loop-{}\n", port % 2);
        let listing: String = (100..140).map(line).collect();
        // All 20 of the first and 5 of the others stay: a share of 80 %.
        assert_eq!(reserved(&listing, 0.8).split(',').count(), 15);
        assert!(reserved(&listing, 0.8).ends_with("139"));
        assert_eq!(reserved(&listing, 0.5), "");
    }
}

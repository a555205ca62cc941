//! Options about the way to the target: where connections go to and come from.
//!
//! `--connect-to` and `--resolve` mean what they mean to curl: the first changes which host and
//! port are connected to, the second what addresses a host and port have, and neither changes the
//! request.

use crate::machine::Machine;
use crate::values::SocketPath;
use crate::way_syntax::{ConnectTo, Given, Sources};
use clap::Args;
use model::route::{Address, Lookup, Resolution, without_repeats};
use std::net::{IpAddr, SocketAddr};

/// Where to connect to instead of what the URL's host and port resolve to, and from where.
#[derive(Debug, Clone, Default, Args)]
pub struct WayOptions {
    /// Local addresses to connect from, in turn; auto takes as many as the connections need ports:
    /// of loopback, or of the interface that leads to the target
    #[arg(long, value_name = "A,B,CIDR|auto")]
    pub(crate) source: Option<Sources>,

    /// Connect to a host and port other than those of the URL; empty ones match or keep any;
    /// repeatable
    #[arg(long, value_name = "HOST1:PORT1:HOST2:PORT2")]
    connect_to: Vec<ConnectTo>,

    /// Addresses of a host (* is any) and port, instead of asking the resolver; repeatable
    #[arg(long, value_name = "HOST:PORT:ADDR[,ADDR]")]
    resolve: Vec<Given>,

    /// Connect to a unix socket; the URL gives Host header and path
    #[arg(long, value_name = "PATH", conflicts_with_all = ["source", "connect_to", "resolve"])]
    unix_socket: Option<SocketPath>,
}

/// Why there is no way to the target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WayError {
    /// A name without an address.
    #[error("cannot find host '{host}': {why}")]
    Unknown {
        /// The name.
        host: String,
        /// The resolver's reason.
        why: String,
    },
    /// A source that this host does not have.
    #[error(
        "--source {source_ip}: it cannot be bound here ({why}); give addresses of this host{hint}"
    )]
    NotOurs {
        /// The address.
        source_ip: IpAddr,
        /// The system's reason.
        why: String,
        /// What else may help.
        hint: String,
    },
    /// A source from which the kernel has no route to a target.
    #[error(
        "--source {source_ip}: there is no route from it to {to} ({why}); give an address of the \
         interface that leads there, or none"
    )]
    NoWay {
        /// The address.
        source_ip: IpAddr,
        /// The target.
        to: SocketAddr,
        /// The system's reason.
        why: String,
    },
    /// No source is of the family of any target.
    #[error(
        "--source: no address is of the address family of {to}; for example --source {example}"
    )]
    OtherFamily {
        /// Targets.
        to: String,
        /// A source of a fitting family.
        example: &'static str,
    },
}

impl WayOptions {
    /// The addresses to connect to for a host and port of a URL. The resolver is asked once.
    pub fn find(
        &self,
        host: &str,
        port: u16,
        machine: &dyn Machine,
    ) -> Result<(Resolution, Vec<Address>), WayError> {
        if let Some(SocketPath(path)) = &self.unix_socket {
            let address = Address::Unix(path.clone());
            let (name, addresses) = (path.display().to_string(), vec![address.to_string()]);
            return Ok((Resolution { name, how: Lookup::UnixSocket, addresses }, vec![address]));
        }
        let (host, port) = self.connected_to(host, port);
        let (how, found) = match self.given_for(&host, port) {
            Some(given) => {
                let each = given.addresses.iter().map(|ip| Ok(resolve(ip, port, machine)?.1));
                (Lookup::Given, each.collect::<Result<Vec<_>, WayError>>()?.concat())
            }
            None => resolve(&host, port, machine)?,
        };
        let found: Vec<_> = without_repeats(found).into_iter().map(Address::Tcp).collect();
        let name =
            if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let addresses = found.iter().map(ToString::to_string).collect();
        Ok((Resolution { name, how, addresses }, found))
    }

    /// Why options about a host and port of a URL would change nothing: none of them is for these.
    /// The load would go where the user did not want it.
    pub fn without_effect(&self, host: &str, port: u16) -> Option<String> {
        let hint = |option: &str, host: &str, port: u16, example: &str| {
            let host = if host.contains(':') { format!("[{host}]") } else { host.to_string() };
            format!(
                "{option}: none is for {host}:{port}, where the load goes, so the load would go \
                 elsewhere than meant; for example {option} {host}:{port}:{example}"
            )
        };
        if !self.connect_to.is_empty() && !self.connect_to.iter().any(|to| to.matches(host, port)) {
            return Some(hint("--connect-to", host, port, "127.0.0.1:8083"));
        }
        let (host, port) = self.connected_to(host, port);
        let is_idle = !self.resolve.is_empty() && self.given_for(&host, port).is_none();
        is_idle.then(|| hint("--resolve", &host, port, "127.0.0.1"))
    }

    fn connected_to(&self, host: &str, port: u16) -> (String, u16) {
        let Some(found) = self.connect_to.iter().find(|to| to.matches(host, port)) else {
            return (host.to_string(), port);
        };
        let to_host = found.to_host.clone().unwrap_or_else(|| host.to_string());
        (to_host, found.to_port.unwrap_or(port))
    }

    fn given_for(&self, host: &str, port: u16) -> Option<&Given> {
        let of_port = || self.resolve.iter().rev().filter(|given| given.port == port);
        let is_it = |given: &&Given| {
            given.host.as_ref().is_some_and(|mine| mine.eq_ignore_ascii_case(host))
        };
        of_port().find(is_it).or_else(|| of_port().find(|given| given.host.is_none()))
    }
}

fn resolve(
    host: &str,
    port: u16,
    machine: &dyn Machine,
) -> Result<(Lookup, Vec<SocketAddr>), WayError> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok((Lookup::Literal, vec![SocketAddr::new(ip, port)]));
    }
    let unknown = |why: String| WayError::Unknown { host: host.to_string(), why };
    // The resolver knows the number of the interface of an address of one link, fe80::1%eth0.
    let how = if host.contains('%') { Lookup::Literal } else { Lookup::Resolver };
    Ok((how, machine.resolve(host, port).map_err(unknown)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Nowhere;

    fn ways(connect_to: &[&str], given: &[&str]) -> WayOptions {
        WayOptions {
            connect_to: connect_to.iter().map(|text| ConnectTo::parse(text).unwrap()).collect(),
            resolve: given.iter().map(|text| Given::parse(text).unwrap()).collect(),
            ..WayOptions::default()
        }
    }

    fn found(ways: &WayOptions, host: &str, port: u16) -> String {
        let (resolution, addresses) = ways.find(host, port, &Nowhere).unwrap();
        let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, resolution.addresses);
        format!("{} {:?} {}", resolution.name, resolution.how, addresses.join(" "))
    }

    #[test]
    fn another_host_is_connected_to_as_curl_does() {
        let cases = [
            ("a.test:80:127.0.0.1:8083", "127.0.0.1:8083"),
            ("A.TEST:80:127.0.0.1:8083", "127.0.0.1:8083"),
            ("a.test::127.0.0.1:", "127.0.0.1:80"),
            ("::127.0.0.1:8083", "127.0.0.1:8083"),
            (":80:[::1]:8083", "[::1]:8083"),
            ("a.test:80:[::1]:", "[::1]:80"),
        ];
        for (text, address) in cases {
            let expected = format!("{address} Literal {address}");
            assert_eq!(found(&ways(&[text], &[]), "a.test", 80), expected, "{text}");
        }
        let first = ways(&["b.test:80:127.0.0.9:1", "::127.0.0.1:2", "::127.0.0.1:3"], &[]);
        assert_eq!(found(&first, "a.test", 80), "127.0.0.1:2 Literal 127.0.0.1:2");
        let untouched = ways(&["127.0.0.1:81:127.0.0.9:1"], &[]);
        assert_eq!(found(&untouched, "127.0.0.1", 80), "127.0.0.1:80 Literal 127.0.0.1:80");
        let from_v6 = ways(&["[::1]:80:127.0.0.1:81"], &[]);
        assert_eq!(found(&from_v6, "::1", 80), "127.0.0.1:81 Literal 127.0.0.1:81");
        let same = ways(&["a.test:80::8083"], &["a.test:8083:127.0.0.7"]);
        assert_eq!(found(&same, "a.test", 80), "a.test:8083 Given 127.0.0.7:8083");
    }

    /// Load went to the address that the resolver has for the host.
    #[test]
    fn a_way_for_another_host_or_port_is_refused() {
        let hint = |connect_to: &[&str], given: &[&str]| {
            ways(connect_to, given).without_effect("a.test", 80)
        };
        for (connect_to, given) in [
            (&[][..], &[][..]),
            (&["b.test:80:127.0.0.1:1", "A.test:80:127.0.0.1:2"], &[]),
            (&["::b.test:81"], &["a.test:80:127.0.0.1", "b.test:81:127.0.0.2"]),
            (&[], &["*:80:127.0.0.1"]),
        ] {
            assert_eq!(hint(connect_to, given), None, "{connect_to:?} {given:?}");
        }
        let why = hint(&[], &["a.test:443:127.0.0.1"]).unwrap();
        assert!(why.starts_with("--resolve: none is for a.test:80,"), "{why}");
        assert!(why.ends_with("for example --resolve a.test:80:127.0.0.1"), "{why}");
        let why = hint(&["b.test:80:127.0.0.1:1"], &[]).unwrap();
        assert!(why.contains("--connect-to a.test:80:127.0.0.1:8083"), "{why}");
        let why = hint(&["::b.test:"], &["a.test:80:127.0.0.1"]).unwrap();
        assert!(why.starts_with("--resolve: none is for b.test:80"), "{why}");
        let words = ["load", "http://127.0.0.1:1/", "--resolve", "127.0.0.1:2:127.0.0.9"];
        let refused = crate::trial_of(&words.map(String::from), &Nowhere).unwrap_err();
        assert!(refused.contains("none is for 127.0.0.1:1"), "{refused}");
    }

    #[test]
    fn addresses_are_given_to_a_host_and_port() {
        let given = ways(
            &[],
            &["*:80:127.0.0.9", "a.test:80:127.0.0.1", "a.test:80:127.0.0.2,[::1],::2,127.0.0.2"],
        );
        let expected = "a.test:80 Given 127.0.0.2:80 [::1]:80 [::2]:80";
        assert_eq!(found(&given, "A.test", 80), expected.replace("a.test", "A.test"));
        assert_eq!(found(&given, "b.test", 80), "b.test:80 Given 127.0.0.9:80");
        assert_eq!(found(&given, "127.0.0.1", 81), "127.0.0.1:81 Literal 127.0.0.1:81");
        let other = ways(&["MÜNCHEN.test:80::81"], &["münchen.test:81:127.0.0.3"]);
        let expected = "xn--mnchen-3ya.test:81 Given 127.0.0.3:81";
        assert_eq!(found(&other, "xn--mnchen-3ya.test", 80), expected);
        let error = given.find("nowhere.invalid", 81, &Nowhere).unwrap_err().to_string();
        assert!(error.contains("cannot find host 'nowhere.invalid'"), "{error}");
    }
}

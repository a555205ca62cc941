//! `/proc/net/snmp` and `/proc/net/netstat`: protocol counters of our network namespace.
//!
//! Pairs of lines, names and values, per group. Kept are the groups `Ip`, `Tcp`, `TcpExt` and
//! `IpExt`, as `Group.Name`. Kernel: `net/ipv4/proc.c`, `snmp_seq_show` and `netstat_seq_show`.
//!
//! Caveats. `TcpExt.ListenOverflows` counts dropped SYNs, which clients repeat: not connections.
//! `Tcp.RetransSegs` and `TcpExt.TCPTimeouts` include repeated SYNs. `Tcp.OutSegs` and the
//! `IpExt.In*ECT*Pkts` count segments as they are on the wire, whatever the offloads.
//! `Tcp.CurrEstab` is a gauge. Which names exist depends on the kernel, so a name that is absent
//! was not counted, and is not zero. Values below zero (`Tcp.MaxConn` is -1 for "no limit") are
//! left out.

use super::{Round, Scope, Source};
use crate::kernel_file::KernelFile;
use crate::scan::{self, ParseError};
use model::facts::Unreadable;
use model::metric::Declaration;
use model::reading::{Data, Values};
use model::unit::Unit;

const GROUPS: [&str; 4] = ["Ip", "Tcp", "TcpExt", "IpExt"];

/// The counters of either file, in its order.
pub fn parse(bytes: &[u8]) -> Result<Vec<(String, u64)>, ParseError> {
    let mut counters = Vec::with_capacity(192);
    let mut lines = scan::lines(bytes);
    while let Some(names) = lines.next() {
        let values = lines.next().unwrap_or_default();
        let (mut names, mut values) = (scan::words(names), scan::words(values));
        let label = names.next().unwrap_or_default();
        if values.next() != Some(label) {
            return Err(ParseError::new("two lines with the same label", label));
        }
        let group = GROUPS.iter().find(|group| label.strip_suffix(b":") == Some(group.as_bytes()));
        if let Some(group) = group {
            parse_group(group, names, values, &mut counters)?;
        }
    }
    if counters.is_empty() {
        return Err(ParseError::new("a group of TCP or IP counters", bytes));
    }
    Ok(counters)
}

fn parse_group(
    group: &str,
    names: scan::Words<'_>,
    mut values: scan::Words<'_>,
    counters: &mut Vec<(String, u64)>,
) -> Result<(), ParseError> {
    for name in names {
        let value = values.next().ok_or_else(|| ParseError::new("a value per name", name))?;
        if value.starts_with(b"-") {
            continue;
        }
        let count = scan::number(value).ok_or_else(|| ParseError::new("a count", value))?;
        let name = String::from_utf8_lossy(name);
        let mut key = String::with_capacity(group.len() + 1 + name.len());
        key.push_str(group);
        key.push('.');
        key.push_str(&name);
        counters.push((key, count));
    }
    Ok(())
}

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new(Values::TCP, "/proc/net/{snmp,netstat}").exposed_as("netstat").untyped(
        "{name}",
        Unit::Count,
        "/proc/net/snmp and /proc/net/netstat of this network namespace.",
    )
}

struct Tcp {
    snmp: KernelFile,
    netstat: KernelFile,
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    Some(Box::new(Tcp {
        snmp: KernelFile::one_piece(scope.network.file(&scope.root, "snmp")),
        netstat: KernelFile::one_piece(scope.network.file(&scope.root, "netstat")),
    }))
}

impl Source for Tcp {
    fn read(&mut self, _round: &Round<'_>) -> Result<Data, Unreadable> {
        let mut counters = self.snmp.parse(parse)?;
        counters.extend(self.netstat.parse(parse)?);
        Ok(Data::values(Values::TCP, counters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;
    use std::collections::BTreeMap;

    fn counters(name: &str) -> BTreeMap<String, u64> {
        parse(&fixture(name)).unwrap().into_iter().collect()
    }

    #[test]
    fn snmp() {
        let counters = counters("linux-6.18-vm/snmp");
        assert_eq!(counters["Tcp.OutSegs"], 31_655_493);
        assert_eq!(counters["Tcp.RetransSegs"], 1701);
        assert_eq!(counters["Ip.InReceives"], 31_664_523);
        assert!(!counters.contains_key("Tcp.MaxConn"), "-1 is no count");
        assert!(!counters.keys().any(|key| key.starts_with("Udp") || key.starts_with("Icmp")));
    }

    #[test]
    fn netstat() {
        let counters = counters("linux-6.18-vm/netstat");
        assert_eq!(counters["TcpExt.TW"], 653);
        assert_eq!(counters["TcpExt.TWRecycled"], 17);
        assert_eq!(counters["TcpExt.ListenOverflows"], 0);
        assert_eq!(counters["IpExt.InNoECTPkts"], 31_664_523);
        assert!(!counters.keys().any(|key| key.starts_with("MPTcp")));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "Tcp: A\n", "Tcp: A\nIp: 1\n", "Tcp: A B\nTcp: 1\n", "Tcp: A\nTcp: x\n"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}

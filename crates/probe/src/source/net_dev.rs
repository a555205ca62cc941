//! `/proc/net/dev`: bytes and packets of the interfaces of our network namespace.
//!
//! Eight receive and eight transmit counters per interface. Kernel: `net/core/net-procfs.c`,
//! `dev_seq_printf_stats`.
//!
//! Caveats. Packets are the driver's units: super-packets where segmentation or receive offload
//! joins them. Bytes include the 14-byte Ethernet header, not checksum, preamble and gap (add 24
//! per frame for the wire). The receive drop column is `rx_dropped + rx_missed_errors`. Loopback
//! counts every packet twice, once per direction.

use super::{Round, Scope, Source};
use crate::kernel_file::KernelFile;
use crate::scan::{self, ParseError};
use model::facts::Unreadable;
use model::metric::Declaration;
use model::reading::{Data, Interface};
use model::unit::Unit;

/// The interfaces, in the order of the file.
pub fn parse(bytes: &[u8]) -> Result<Vec<Interface>, ParseError> {
    let mut lines = scan::lines(bytes);
    let header = lines.next().unwrap_or_default();
    if !header.starts_with(b"Inter-|") || lines.next().is_none() {
        return Err(ParseError::new("the two header lines of /proc/net/dev", bytes));
    }
    lines.map(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Result<Interface, ParseError> {
    let error = || ParseError::new("an interface and sixteen counts", line);
    // Kernels before 2.6.37 print no blank after the colon, so words alone do not cut it.
    let colon = line.iter().rposition(|&byte| byte == b':').ok_or_else(error)?;
    let mut counts = [0; 16];
    let mut words = scan::words(&line[colon + 1..]);
    for count in &mut counts {
        *count = words.next().and_then(scan::number).ok_or_else(error)?;
    }
    Ok(Interface {
        name: scan::text(line[..colon].trim_ascii()),
        rx_bytes: counts[0],
        rx_packets: counts[1],
        rx_dropped: counts[3],
        tx_bytes: counts[8],
        tx_packets: counts[9],
        tx_dropped: counts[11],
    })
}

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new("interfaces", "/proc/net/dev")
        .each("name")
        .counter("rx_bytes", Unit::Bytes, "Bytes received.")
        .counter("rx_packets", Unit::Count, "Packets received.")
        .counter("rx_dropped", Unit::Count, "Received packets dropped.")
        .counter("tx_bytes", Unit::Bytes, "Bytes sent.")
        .counter("tx_packets", Unit::Count, "Packets sent.")
        .counter("tx_dropped", Unit::Count, "Packets dropped on the way out.")
}

struct NetDev {
    file: KernelFile,
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    Some(Box::new(NetDev { file: KernelFile::records(scope.network.file(&scope.root, "dev")) }))
}

impl Source for NetDev {
    fn read(&mut self, _round: &Round<'_>) -> Result<Data, Unreadable> {
        Ok(Data::Interfaces(self.file.parse(parse)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;

    #[test]
    fn every_interface() {
        let interfaces = parse(&fixture("linux-6.18-vm/net_dev")).unwrap();
        let names: Vec<&str> = interfaces.iter().map(|interface| interface.name.as_str()).collect();
        assert_eq!(names, ["lo", "ifb0", "ifb1", "eth0"]);
        let expected = Interface {
            name: "eth0".to_string(),
            rx_bytes: 383_818_482,
            rx_packets: 23_851,
            rx_dropped: 0,
            tx_bytes: 1_874_101,
            tx_packets: 16_619,
            tx_dropped: 0,
        };
        assert_eq!(interfaces[3], expected);
    }

    #[test]
    fn an_older_kernel_prints_no_blank_after_the_colon() {
        let interfaces = parse(&fixture("linux-2.6.32/net_dev")).unwrap();
        assert_eq!((interfaces[1].name.as_str(), interfaces[1].rx_bytes), ("eth0", 4_041_977_811));
        assert_eq!((interfaces[1].rx_dropped, interfaces[1].tx_dropped), (12, 7));
    }

    #[test]
    fn anything_else_is_refused() {
        let header = "Inter-| Receive\n face |bytes\n";
        for line in ["eth0 1 2", "eth0: 1 2 3", "eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 x"] {
            assert!(parse(format!("{header}{line}\n").as_bytes()).is_err(), "{line}");
        }
        assert!(parse(b"").is_err());
    }
}

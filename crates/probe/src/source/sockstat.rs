//! `/proc/net/sockstat` and `sockstat6`: sockets in use and the memory they hold.
//!
//! A line per protocol, `TCP: inuse 5 orphan 0 tw 2 alloc 7 mem 142`, kept as `TCP.inuse` and so
//! on. Kernel: `net/ipv4/proc.c`, `sockstat_seq_show`.
//!
//! Caveats. All are gauges. `mem` is in pages, and it, `alloc` and `orphan` are host-wide while
//! `inuse` and `tw` are of our network namespace. `TCP.inuse` counts IPv4 sockets only; IPv6 ones
//! are `TCP6.inuse`, absent when IPv6 is off.

use super::{Round, Scope, Source};
use crate::kernel_file::KernelFile;
use crate::scan::{self, ParseError};
use model::facts::Unreadable;
use model::metric::Declaration;
use model::reading::{Data, Values};
use model::unit::Unit;

/// The gauges of either file, in its order.
pub fn parse(bytes: &[u8]) -> Result<Vec<(String, u64)>, ParseError> {
    let mut gauges = Vec::new();
    for line in scan::lines(bytes) {
        let error = || ParseError::new("a protocol and pairs of name and value", line);
        let mut words = scan::words(line);
        let protocol = words.next().and_then(|word| word.strip_suffix(b":")).ok_or_else(error)?;
        let protocol = String::from_utf8_lossy(protocol);
        while let Some(name) = words.next() {
            let value = words.next().and_then(scan::number).ok_or_else(error)?;
            gauges.push((format!("{protocol}.{}", String::from_utf8_lossy(name)), value));
        }
    }
    if gauges.is_empty() {
        return Err(ParseError::new("a line per protocol", bytes));
    }
    Ok(gauges)
}

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new(Values::SOCKETS, "/proc/net/{sockstat,sockstat6}").max(
        "{protocol}.{state}",
        Unit::Count,
        "Sockets by protocol and state; mem is in pages.",
    )
}

struct Sockstat {
    v4: KernelFile,
    v6: KernelFile,
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    Some(Box::new(Sockstat {
        v4: KernelFile::one_piece(scope.network.file(&scope.root, "sockstat")),
        v6: KernelFile::one_piece(scope.network.file(&scope.root, "sockstat6")),
    }))
}

impl Source for Sockstat {
    fn read(&mut self, _round: &Round<'_>) -> Result<Data, Unreadable> {
        let mut gauges = self.v4.parse(parse)?;
        // Where IPv6 is off, its keys are absent.
        gauges.extend(self.v6.parse_if_there(parse)?.into_iter().flatten());
        Ok(Data::values(Values::SOCKETS, gauges))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;

    #[test]
    fn gauges_by_protocol() {
        let gauges = parse(&fixture("linux-6.18-vm/sockstat")).unwrap();
        let get = |key: &str| gauges.iter().find(|(name, _)| name == key).map(|(_, value)| *value);
        assert_eq!((get("sockets.used"), get("TCP.tw")), (Some(13), Some(1)));
        assert_eq!((get("TCP.mem"), get("TCP6.inuse")), (Some(142), None));
        let gauges = parse(&fixture("linux-6.18-vm/sockstat6")).unwrap();
        assert_eq!(gauges[0], ("TCP6.inuse".to_string(), 0));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "TCP inuse 1\n", "TCP: inuse\n", "TCP: inuse x\n"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}

//! `/proc/softirqs`: soft interrupts by kind, per CPU.
//!
//! A header of CPUs and a line per kind: `NET_RX`, `TIMER`, ... Kernel: `fs/proc/softirqs.c`,
//! `show_softirqs`.
//!
//! Caveats. A count is one run of the handler, which may poll up to `netdev_budget` packets: the
//! skew between CPUs means something, the number does not. Columns are *possible* CPUs, so there
//! are more than online ones. They are 32 bits wide and wrap (`struct kernel_stat`). Host-wide,
//! also inside a network namespace.

use super::{Round, Scope, Source};
use crate::kernel_file::KernelFile;
use crate::scan::{self, ParseError};
use model::facts::Unreadable;
use model::metric::Declaration;
use model::reading::Data;
use model::unit::Unit;
use std::collections::BTreeMap;

/// Counts by kind, indexed by CPU number.
pub fn parse(bytes: &[u8]) -> Result<BTreeMap<String, Vec<u64>>, ParseError> {
    let mut lines = scan::lines(bytes);
    let columns = scan::cpu_columns(lines.next().unwrap_or_default())?;
    let mut kinds = BTreeMap::new();
    for line in lines {
        let (kind, per_cpu) = parse_line(line, &columns)?;
        kinds.insert(kind, per_cpu);
    }
    Ok(kinds)
}

fn parse_line(line: &[u8], columns: &[usize]) -> Result<(String, Vec<u64>), ParseError> {
    let mut words = scan::words(line);
    let label = words.next().and_then(|word| word.strip_suffix(b":"));
    let kind = label.ok_or_else(|| ParseError::new("a kind of soft interrupt", line))?;
    Ok((scan::text(kind), scan::per_cpu(&mut words, columns)?))
}

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new("softirqs", "/proc/softirqs").counter32(
        "{kind}",
        Unit::Count,
        "Runs of a soft interrupt handler, all CPUs; 32 bits wide on each.",
    )
}

struct Softirqs {
    file: KernelFile,
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    Some(Box::new(Softirqs { file: KernelFile::one_piece(scope.root.path("/proc/softirqs")) }))
}

impl Source for Softirqs {
    fn read(&mut self, _round: &Round<'_>) -> Result<Data, Unreadable> {
        Ok(Data::values("softirqs", self.file.parse(parse)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, fixture};

    #[test]
    fn every_kind_per_cpu() {
        let kinds = parse(&fixture("linux-6.18-vm/softirqs")).unwrap();
        assert_eq!(kinds.len(), 10);
        assert_eq!(kinds["NET_RX"], [15_933_475, 15_706_810]);
        assert_eq!(kinds["RCU"], [40_761, 48_724]);
    }

    #[test]
    fn a_large_host() {
        let kinds = parse(testing::softirqs_text(128).as_bytes()).unwrap();
        assert_eq!(kinds["NET_RX"].len(), 128);
        assert_eq!(kinds["NET_RX"][100], testing::count(100, 3));
    }

    #[test]
    fn anything_else_is_refused() {
        for bytes in [&b""[..], b"CPU0 CPU1\nNET_RX: 1\n", b"CPU0\nNET_RX 1\n", b"NET_RX: 1\n"] {
            assert!(parse(bytes).is_err());
        }
    }
}

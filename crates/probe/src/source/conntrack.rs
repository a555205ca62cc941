//! `/proc/sys/net/netfilter/nf_conntrack_{count,max}` and `/proc/net/stat/nf_conntrack`: the table
//! of tracked connections.
//!
//! The statistics have a header of names and a line of hexadecimal words per CPU, which are summed
//! (`net/netfilter/nf_conntrack_standalone.c`, `ct_cpu_seq_show`).
//!
//! Caveats. It covers only the network namespace of the calling thread; the limit is that of the
//! first one. The statistics are 32 bits wide and wrap. `drop` counts packets for which there was
//! no room, those that lost a race for an entry (with `insert_failed`), and those that the tracker
//! of a protocol refused; `early_drop` counts entries that were removed to make room. Without the
//! module there is no table and no source. Kernels built without CONFIG_NF_CONNTRACK_PROCFS do not
//! show the statistics, and then nothing is reported.

use super::{Round, Scope, Source};
use crate::kernel_file::KernelFile;
use crate::scan::{self, ParseError};
use model::facts::Unreadable;
use model::metric::Declaration;
use model::reading::{Conntrack, Data};
use model::unit::Unit;

/// Sums over CPUs; `count` and `max` are elsewhere and zero here.
pub fn parse(bytes: &[u8]) -> Result<Conntrack, ParseError> {
    let mut lines = scan::lines(bytes);
    let names: Vec<&[u8]> = scan::words(lines.next().unwrap_or_default()).collect();
    let place = |name: &[u8]| {
        let found = names.iter().position(|candidate| *candidate == name);
        found.ok_or_else(|| ParseError::new("a header with drop and insert_failed", bytes))
    };
    let places = [place(b"drop")?, place(b"early_drop")?, place(b"insert_failed")?];
    let mut sums = [0u64; 3];
    for line in lines {
        for (sum, place) in sums.iter_mut().zip(places) {
            let count = scan::words(line).nth(place).and_then(scan::hex32);
            let count =
                count.ok_or_else(|| ParseError::new("a hexadecimal word per name", line))?;
            *sum = sum.saturating_add(u64::from(count));
        }
    }
    let [dropped, early_dropped, insert_failed] = sums;
    Ok(Conntrack { count: 0, max: 0, dropped, early_dropped, insert_failed })
}

/// Parses a file that holds one number.
pub fn parse_number(bytes: &[u8]) -> Result<u64, ParseError> {
    scan::number(bytes.trim_ascii()).ok_or_else(|| ParseError::new("a number", bytes))
}

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new("conntrack", "nf_conntrack_{count,max} and its statistics")
        .max("count", Unit::Count, "Entries of the connection tracking table.")
        .max("max", Unit::Count, "Entries that the table may have.")
        .counter32("dropped", Unit::Count, "Packets dropped: no room, a lost race, a refusal.")
        .counter32("early_dropped", Unit::Count, "Entries removed early to make room.")
        .counter32("insert_failed", Unit::Count, "Entries that could not be inserted.")
}

struct ConntrackTable {
    count: KernelFile,
    max: KernelFile,
    statistics: KernelFile,
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    let sysctl = |name| scope.root.path("/proc/sys/net/netfilter").join(name);
    let max = sysctl("nf_conntrack_max");
    (scope.network.is_ours() && max.exists()).then(|| {
        Box::new(ConntrackTable {
            count: KernelFile::one_piece(sysctl("nf_conntrack_count")),
            max: KernelFile::one_piece(max),
            statistics: KernelFile::records(scope.network.file(&scope.root, "stat/nf_conntrack")),
        }) as Box<dyn Source>
    })
}

impl Source for ConntrackTable {
    fn read(&mut self, _round: &Round<'_>) -> Result<Data, Unreadable> {
        let statistics = self.statistics.parse(parse)?;
        let count = self.count.parse(parse_number)?;
        let max = self.max.parse(parse_number)?;
        Ok(Data::Conntrack(Conntrack { count, max, ..statistics }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;

    #[test]
    fn columns_are_found_by_name_and_summed() {
        let new = parse(&fixture("linux-6.18-vm/nf_conntrack")).unwrap();
        assert_eq!((new.dropped, new.early_dropped, new.insert_failed), (0x2a + 1, 0x10, 3));
        let old = parse(&fixture("linux-3.10/nf_conntrack")).unwrap();
        assert_eq!((old.dropped, old.early_dropped, old.insert_failed), (5, 0, 0x11));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "drop early_drop\n", "drop early_drop insert_failed\n1 2\n"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse_number(b"x\n").is_err());
    }
}

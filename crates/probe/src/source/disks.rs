//! `/proc/diskstats`: whole disks.
//!
//! Reads and writes completed, time with requests in flight and time of all requests together, both
//! milliseconds (`block/genhd.c`, `diskstats_show`). Partitions and devices that exist without ever
//! having been used (`loop`, `ram`) are left out.
//!
//! Caveats. Since Linux 5.0 the time with requests in flight is sampled at the tick. A disk that
//! serves many requests at once can be busy all the time and far from its limit. Both times are
//! printed as 32 bits and wrap. Host-wide, also inside a container.

use super::{Round, Scope, Source};
use crate::kernel_file::KernelFile;
use crate::scan::{self, ParseError};
use model::facts::Unreadable;
use model::metric::Declaration;
use model::reading::{Data, Disk};
use model::root::Root;
use model::unit::Unit;

/// Every line that has seen requests, partitions too.
pub fn parse(bytes: &[u8]) -> Result<Vec<Disk>, ParseError> {
    let mut disks = Vec::new();
    for line in scan::lines(bytes) {
        let disk = parse_line(line)?;
        if disk.reads > 0 || disk.writes > 0 {
            disks.push(disk);
        }
    }
    Ok(disks)
}

fn parse_line(line: &[u8]) -> Result<Disk, ParseError> {
    let error = || ParseError::new("a device and at least eleven counts", line);
    let mut words = scan::words(line);
    let name = scan::text(words.nth(2).ok_or_else(error)?);
    let mut skip_and_take = |skipped| words.nth(skipped).and_then(scan::number).ok_or_else(error);
    Ok(Disk {
        name,
        reads: skip_and_take(0)?,
        writes: skip_and_take(3)?,
        busy_ms: skip_and_take(4)?,
        waiting_ms: skip_and_take(0)?,
    })
}

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new("disks", "/proc/diskstats")
        .each("name")
        .counter("reads", Unit::Count, "Reads completed.")
        .counter("writes", Unit::Count, "Writes completed.")
        .counter32("busy_ms", Unit::Ms, "Time with requests in flight; 32 bits wide.")
        .counter32("waiting_ms", Unit::Ms, "Time of all requests together; 32 bits wide.")
}

struct Disks {
    root: Root,
    file: KernelFile,
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    let path = scope.root.path("/proc/diskstats");
    // A kernel without block devices has no such file.
    path.exists().then(|| {
        Box::new(Disks { root: scope.root.clone(), file: KernelFile::records(path) })
            as Box<dyn Source>
    })
}

impl Source for Disks {
    fn read(&mut self, _round: &Round<'_>) -> Result<Data, Unreadable> {
        let mut disks = self.file.parse(parse)?;
        // Partitions have no folder here. Slashes in names are written as exclamation marks.
        let blocks = self.root.path("/sys/block");
        disks.retain(|disk| blocks.join(disk.name.replace('/', "!")).exists());
        Ok(Data::Disks(disks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;

    #[test]
    fn what_has_been_used() {
        let disks = parse(&fixture("linux-6.18-vm/diskstats")).unwrap();
        let expected = Disk {
            name: "vda".into(),
            reads: 302_518,
            writes: 1_219_504,
            busy_ms: 903_112,
            waiting_ms: 2_761_870,
        };
        assert_eq!(disks, [expected]);
    }

    #[test]
    fn anything_else_is_refused() {
        assert_eq!(parse(b""), Ok(Vec::new()));
        for text in ["8 0", "8 0 sda 1 2 3\n", "8 0 sda 1 2 3 4 5 6 7 8 9 10 x\n"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}

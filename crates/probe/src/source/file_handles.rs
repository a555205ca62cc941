//! `/proc/sys/fs/file-nr`: open files of the whole host and how many there may be.
//!
//! Three numbers: file handles allocated, those of them that are free (always 0 since 2.6), and
//! the limit, `fs.file-max`. Kernel: `fs/file_table.c`, `proc_nr_files`.
//!
//! Caveats. Host-wide, also inside a container. Allocated handles are counted per CPU and summed
//! when read. A process meets its own limit long before, unless there are very many of them.

use super::{Round, Scope, Source};
use crate::kernel_file::KernelFile;
use crate::scan::{self, ParseError};
use model::facts::Unreadable;
use model::metric::Declaration;
use model::reading::Data;
use model::unit::Unit;

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new("file_handles", "/proc/sys/fs/file-nr")
        .max("allocated", Unit::Count, "Open files of the whole host.")
        .max("max", Unit::Count, "Open files that the host may have.")
}

/// The value when there is no limit.
const UNLIMITED: u64 = i64::MAX as u64;

/// Handles allocated, and the limit when there is one.
pub fn parse(bytes: &[u8]) -> Result<(u64, Option<u64>), ParseError> {
    let mut numbers = scan::words(bytes.trim_ascii()).map(scan::number);
    match [numbers.next(), numbers.next(), numbers.next()].map(Option::flatten) {
        [Some(allocated), Some(_free), Some(max)] => {
            Ok((allocated, Some(max).filter(|max| *max < UNLIMITED)))
        }
        _ => Err(ParseError::new("three numbers", bytes)),
    }
}

struct FileHandles {
    file: KernelFile,
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    let file = KernelFile::one_piece(scope.root.path("/proc/sys/fs/file-nr"));
    Some(Box::new(FileHandles { file }))
}

impl Source for FileHandles {
    fn read(&mut self, _round: &Round<'_>) -> Result<Data, Unreadable> {
        let (allocated, max) = self.file.parse(parse)?;
        let values = [("allocated", Some(allocated)), ("max", max)];
        let values =
            values.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?)));
        Ok(Data::values("file_handles", values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;

    #[test]
    fn allocated_and_limit() {
        assert_eq!(parse(&fixture("linux-6.18-vm/file-nr")), Ok((2368, None)));
        assert_eq!(parse(b"2368\t0\t400000\n"), Ok((2368, Some(400_000))));
        for text in ["", "1\t0\n", "1\tx\t3\n"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}

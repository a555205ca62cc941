//! The limit of open files of a process: read from `/proc/PID/limits`, set by prlimit(2).

use crate::process;
use crate::scan::{self, ParseError};
use model::facts::Unreadable;
use model::root::Root;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::io;

/// The start of the line in `/proc/PID/limits`.
pub const LINE: &str = "Max open files";

/// Soft and hard limit of open files, from a `limits` file; `unlimited` is the largest number.
pub fn parse(bytes: &[u8]) -> Result<(u64, u64), ParseError> {
    let error = || ParseError::new("a line 'Max open files SOFT HARD files'", bytes);
    let values = scan::lines(bytes).find_map(|line| line.strip_prefix(LINE.as_bytes()));
    let mut words = scan::words(values.ok_or_else(error)?);
    let mut next = || match words.next() {
        Some(b"unlimited") => Ok(u64::MAX),
        word => word.and_then(scan::number).ok_or_else(error),
    };
    Ok((next()?, next()?))
}

/// Soft and hard limit of open files of a process.
pub fn open_files(root: &Root, pid: u32) -> Result<(u64, u64), Unreadable> {
    process::read(&root.process(pid, "limits"), parse)
}

/// Sets both for a process of this host; the largest number means no limit.
pub fn set_open_files(pid: u32, (soft, hard): (u64, u64)) -> io::Result<()> {
    let limit = |number| Some(number).filter(|number| *number < u64::MAX);
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let process = raw.ok_or(rustix::io::Errno::SRCH)?;
    let limits = Rlimit { current: limit(soft), maximum: limit(hard) };
    Ok(prlimit(Some(process), Resource::Nofile, limits).map(drop)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;

    #[test]
    fn limits() {
        assert_eq!(parse(&fixture("linux-6.18-vm/limits")), Ok((20_000, 1_048_576)));
        let unlimited = b"Max open files            unlimited            unlimited  files \n";
        assert_eq!(parse(unlimited), Ok((u64::MAX, u64::MAX)));
        for text in ["", "Max open files\n", "Max open files 1\n", "Max processes 1 2 processes\n"]
        {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}

//! `/tmp/hsperfdata_USER/PID`: what a Java virtual machine counts about itself (HotSpot).
//!
//! The file is the machine's own memory, mapped: a header and named entries in the byte order of
//! the host (`perfMemory.hpp`). We keep `sun.rt.safepointTime`, in ticks of `sun.os.hrt.frequency`:
//! the time in which all threads of the application were stopped, for a collector or for anything
//! else that needs it.
//!
//! Caveats. A machine that was started with `-XX:-UsePerfData` has no such file, and machines other
//! than HotSpot use other names. The file is named by the process's pid in its own namespace, below
//! its own `/tmp`. Concurrent collectors count there only with the time for which they stop the
//! application.

use crate::kernel_file::unreadable;
use crate::process::parse_status;
use crate::scan::{self, ParseError};
use model::facts::Unreadable;
use model::maps::IntoMap;
use model::root::Root;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Length of the header, whose last field is the number of entries.
const HEADER: usize = 32;
/// Most entries accepted from one file; there are about 250.
const ENTRIES_MAX: usize = 4096;
/// Most bytes read of one file; a machine has 32 KiB of it, of which it uses the begin.
const BYTES_MAX: u64 = 1 << 20;
/// The type of an entry that is a 64-bit number.
const LONG: u8 = b'J';

/// Parses the file.
pub fn parse(bytes: &[u8]) -> Result<BTreeMap<String, f64>, ParseError> {
    let error = || ParseError::new("performance data of a Java virtual machine", bytes);
    let is_it = bytes.starts_with(&[0xCA, 0xFE, 0xC0, 0xC0]);
    let fields = Fields { bytes, is_little: bytes.get(4) == Some(&1) };
    let (first, count) = (fields.size(24), fields.size(28));
    let (mut at, count) = first.zip(count).filter(|_| is_it).ok_or_else(error)?;
    let (mut paused, mut frequency) = (None, None);
    for _ in 0..count.min(ENTRIES_MAX) {
        let (length, value) = entry(&fields, at).ok_or_else(error)?;
        match value {
            Some((b"sun.rt.safepointTime", ticks)) => paused = Some(ticks),
            Some((b"sun.os.hrt.frequency", hertz)) => frequency = Some(hertz),
            _ => {}
        }
        at += length;
    }
    let (paused, frequency) = paused.zip(frequency.filter(|&hertz| hertz > 0)).ok_or_else(error)?;
    let paused_s = paused as f64 / frequency as f64;
    Ok([("safepoint_pause_seconds".to_string(), paused_s)].into_map())
}

/// Reads the file and parses it. Any user may put one in its place, because it is below `/tmp`: so
/// no link is followed, no pipe is waited for, and only the begin of it is read.
pub(super) fn read(path: &Path) -> Result<BTreeMap<String, f64>, Unreadable> {
    let begin = || -> io::Result<Vec<u8>> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut bytes = Vec::new();
        file.take(BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = begin().map_err(|why| unreadable(path, why))?;
    parse(&bytes).map_err(|why| unreadable(path, why))
}

/// An entry that is a number, with its name.
type Number<'a> = (&'a [u8], i64);

/// Length of the entry that starts here, and the number that it is.
fn entry<'a>(fields: &Fields<'a>, at: usize) -> Option<(usize, Option<Number<'a>>)> {
    let (length, name) = (fields.size(at)?, fields.size(at + 4)?);
    let is_number = fields.size(at + 8)? == 0 && *fields.bytes.get(at + 12)? == LONG;
    // An entry without a length would never end.
    if length < 20 || at < HEADER {
        return None;
    }
    let name = fields.bytes.get(at.checked_add(name)?..at.checked_add(length)?)?;
    let name = name.split(|&byte| byte == 0).next()?;
    let value = match is_number {
        true => Some((name, fields.long(at.checked_add(fields.size(at + 16)?)?)?)),
        false => None,
    };
    Some((length, value))
}

/// Numbers in the byte order of the file.
struct Fields<'a> {
    bytes: &'a [u8],
    is_little: bool,
}

impl Fields<'_> {
    fn take<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.bytes.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    fn size(&self, at: usize) -> Option<usize> {
        let of = if self.is_little { i32::from_le_bytes } else { i32::from_be_bytes };
        usize::try_from(of(self.take(at)?)).ok()
    }

    fn long(&self, at: usize) -> Option<i64> {
        let of = if self.is_little { i64::from_le_bytes } else { i64::from_be_bytes };
        Some(of(self.take(at)?))
    }
}

/// The file of the first of these processes that has one.
pub(super) fn file_of(root: &Root, pids: &[u32]) -> Option<PathBuf> {
    pids.iter().find_map(|&pid| {
        let status = fs::read(root.process(pid, "status")).ok()?;
        // A process has a pid in each namespace from ours inwards.
        let number = scan::words(parse_status(&status, "NSpid")?).last().map(scan::text)?;
        let folders = fs::read_dir(root.process(pid, "root/tmp")).ok()?.flatten();
        let mut of_users = folders
            .filter(|folder| folder.file_name().to_string_lossy().starts_with("hsperfdata_"));
        of_users.find_map(|folder| Some(folder.path().join(&number)).filter(|file| is_file(file)))
    })
}

/// Whether it is a regular file, and not a link to one.
fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Folder, fixture};
    use std::os::unix::fs::symlink;

    #[test]
    fn time_in_which_all_threads_were_stopped() {
        let bytes = fixture("openjdk-17/hsperfdata");
        let figures = parse(&bytes).unwrap();
        assert_eq!(figures["safepoint_pause_seconds"], 0.488_228_714);
        for end in [0, 4, 31, 40, 2000, bytes.len() - 1] {
            assert!(parse(&bytes[..end]).is_err(), "{end} bytes");
        }
    }

    #[test]
    fn an_entry_without_a_length_is_refused() {
        let mut bytes = fixture("openjdk-17/hsperfdata");
        bytes[HEADER..HEADER + 4].fill(0);
        assert!(parse(&bytes).is_err());
    }

    #[test]
    fn the_file_of_a_process_in_a_container_has_its_number_there() {
        let host = Folder::new("jvm");
        host.write("proc/70/status", "Name:\tjava\nNSpid:\t70\t7\n");
        host.write("proc/70/root/tmp/hsperfdata_app/8", "");
        let root = Root::below(host.path());
        assert_eq!(file_of(&root, &[69, 70]), None);
        host.write("proc/70/root/tmp/hsperfdata_app/7", "");
        let file = file_of(&root, &[69, 70]).unwrap();
        assert_eq!(file, host.path().join("proc/70/root/tmp/hsperfdata_app/7"));
    }

    #[test]
    fn what_another_user_may_have_put_there_is_not_followed_nor_read_whole() {
        let host = Folder::new("jvm-planted");
        host.write("proc/70/status", "Name:\tjava\nNSpid:\t70\n");
        host.write("elsewhere", fixture("openjdk-17/hsperfdata"));
        host.write("proc/70/root/tmp/hsperfdata_app/69", "");
        let planted = host.path().join("proc/70/root/tmp/hsperfdata_app/70");
        symlink(host.path().join("elsewhere"), &planted).unwrap();
        assert_eq!(file_of(&Root::below(host.path()), &[70]), None);
        assert!(read(&planted).is_err(), "a link");
        fs::remove_file(&planted).unwrap();
        fs::write(&planted, fixture("openjdk-17/hsperfdata")).unwrap();
        // A hole takes no room on the disk, and would take all of it in memory.
        OpenOptions::new().write(true).open(&planted).unwrap().set_len(8 << 30).unwrap();
        assert_eq!(read(&planted).unwrap()["safepoint_pause_seconds"], 0.488_228_714);
        assert!(read(planted.parent().unwrap()).is_err(), "a folder");
    }
}

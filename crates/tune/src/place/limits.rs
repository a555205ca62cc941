//! The limit of open files of a running process: read from `/proc/PID/limits`, set by prlimit(2).
//!
//! A value is `soft hard`. A process is identified by its pid and its start, because pids are
//! reused.

use super::{PlaceError, Seen, same};
use crate::host::Host;
use ::host::kernel_file::is_gone;
use ::host::limits;
use std::fs;
use std::io;

/// The word for no limit.
const UNLIMITED: &str = "unlimited";

pub(super) fn shown(pid: u32) -> String {
    format!("process {pid}: open files")
}

pub(super) fn read(host: &Host, pid: u32, started: u64) -> Result<Option<Seen>, PlaceError> {
    if same(host, (pid, started), || shown(pid))?.is_none() {
        return Ok(None);
    }
    let file = match fs::read(host.root.process(pid, "limits")) {
        Err(error) if is_gone(&error) => return Ok(None),
        file => file.map_err(|error| PlaceError::Io { place: shown(pid), error })?,
    };
    let wrong = |why: String| PlaceError::Value { place: shown(pid), why };
    let (soft, hard) = limits::parse(&file).map_err(|why| wrong(why.to_string()))?;
    let value = format!("{} {}", word(soft), word(hard));
    parse(&value).map_err(wrong)?;
    Ok(Some(Seen { raw: value.clone(), value }))
}

pub(super) fn write(host: &Host, pid: u32, started: u64, value: &str) -> Result<(), PlaceError> {
    let limit = parse(value).map_err(|why| PlaceError::Value { place: shown(pid), why })?;
    let error = |error: io::Error| PlaceError::Io { place: shown(pid), error };
    if same(host, (pid, started), || shown(pid))?.is_none() {
        return Err(error(io::Error::from_raw_os_error(libc::ESRCH)));
    }
    if host.is_made_up() {
        return write_made_up(host, pid, limit).map_err(error);
    }
    limits::set_open_files(pid, limit).map_err(error)
}

/// Writes the limit into the file of a host made up of files, whose processes do not run.
fn write_made_up(host: &Host, pid: u32, (soft, hard): (u64, u64)) -> io::Result<()> {
    let path = host.root.process(pid, "limits");
    let (soft, hard) = (word(soft), word(hard));
    let line = |line: &str| match line.strip_prefix(limits::LINE) {
        Some(_) => format!("{} {soft} {hard} files\n", limits::LINE),
        None => format!("{line}\n"),
    };
    let text: String = fs::read_to_string(&path)?.lines().map(line).collect();
    fs::write(path, text)
}

fn word(limit: u64) -> String {
    if limit == u64::MAX { UNLIMITED.to_string() } else { limit.to_string() }
}

fn parse(value: &str) -> Result<(u64, u64), String> {
    let number = |word: &str| if word == UNLIMITED { Some(u64::MAX) } else { word.parse().ok() };
    let words = value.split_once(' ');
    let pair = words.and_then(|(soft, hard)| Some((number(soft)?, number(hard)?)));
    let (soft, hard) = pair.ok_or_else(|| format!("'{value}' is not a pair of limits"))?;
    if soft > hard {
        return Err(format!("'{value}' has a soft limit above the hard one"));
    }
    Ok((soft, hard))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;
    use crate::testing::MadeUp;

    const STAT: &str = "7 (a ) b) S 1 7 7 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0";

    #[test]
    fn the_limit_of_a_process_is_read_and_written() {
        let made = MadeUp::new("limits", 2);
        let text = "Limit  Soft Limit  Hard Limit  Units\nMax processes  5  6  processes\n\
                    Max open files            1024                 524288               files";
        made.write("/proc/7/limits", text).write("/proc/7/stat", STAT);
        let host = made.host();
        let place = Place::open_files(&host, 7).unwrap();
        assert_eq!(place, Place::OpenFiles { pid: 7, started_ticks: 4242 });
        let seen = place.read(&host).unwrap().unwrap();
        assert_eq!(seen.value, "1024 524288");
        place.write(&host, "65536 unlimited", &seen).unwrap();
        assert_eq!(place.read(&host).unwrap().unwrap().value, "65536 unlimited");
        assert!(place.write(&host, "7 6", &seen).is_err());
    }

    #[test]
    fn a_later_process_with_its_pid_is_another() {
        let made = MadeUp::new("limits", 2);
        made.write("/proc/7/limits", "Max open files 1 2 files").write("/proc/7/stat", STAT);
        let host = made.host();
        let place = Place::OpenFiles { pid: 7, started_ticks: 4241 };
        assert_eq!(place.read(&host).unwrap(), None);
        let seen = Seen { raw: String::new(), value: String::new() };
        assert!(place.write(&host, "1 1", &seen).is_err());
        assert_eq!(Place::open_files(&host, 8), None);
    }

    #[test]
    fn a_process_that_cannot_be_read_is_not_gone() {
        let made = MadeUp::new("limits", 2);
        let place = Place::OpenFiles { pid: 7, started_ticks: 4242 };
        // Folders in place of files cannot be read, as files cannot without free descriptors.
        made.write("/proc/7/limits/none", "").write("/proc/7/stat", STAT);
        assert!(place.read(&made.host()).is_err());
        made.write("/proc/8/stat/none", "");
        let others = [
            Place::OpenFiles { pid: 8, started_ticks: 1 },
            Place::Threads { pid: 8, started_ticks: 1 },
            Place::Daemon { name: "d".into(), pid: 8, started_ticks: 1 },
            Place::Masks { pid: 8, started_ticks: 1, to: "0".into(), before: Default::default() },
        ];
        for place in others {
            assert!(place.read(&made.host()).is_err(), "{}", place.show());
        }
    }
}

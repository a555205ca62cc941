//! The limit of open files of a process that runs: read from `/proc/PID/limits`, set by prlimit(2).
//!
//! A value is `soft hard`. A process is known by its pid and the time it started, because a pid
//! comes back.

use super::{PlaceError, Seen};
use crate::host::Host;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::io;

/// The start of the line in `/proc/PID/limits`.
const LINE: &str = "Max open files";
/// What stands there for no limit.
const UNLIMITED: &str = "unlimited";

pub(super) fn shown(pid: u32) -> String {
    format!("process {pid}: open files")
}

/// When a process started, in clock ticks since the boot; nothing when it is gone.
pub(super) fn started_ticks(host: &Host, pid: u32) -> Option<u64> {
    let stat = host.text(&format!("/proc/{pid}/stat"))?;
    // The name before it may hold blanks and brackets.
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(19)?.parse().ok()
}

pub(super) fn read(host: &Host, pid: u32, started: u64) -> Result<Option<Seen>, PlaceError> {
    let wrong = |why: &str| PlaceError::Value { place: shown(pid), why: why.to_string() };
    if started_ticks(host, pid) != Some(started) {
        return Ok(None);
    }
    let Some(text) = host.text(&format!("/proc/{pid}/limits")) else { return Ok(None) };
    let line = text.lines().find_map(|line| line.strip_prefix(LINE));
    let mut words = line.unwrap_or_default().split_whitespace();
    let (soft, hard) = words.next().zip(words.next()).ok_or_else(|| wrong("no limit of files"))?;
    let value = format!("{soft} {hard}");
    parse(&value).map_err(|why| wrong(&why))?;
    Ok(Some(Seen { raw: value.clone(), value }))
}

pub(super) fn write(host: &Host, pid: u32, started: u64, value: &str) -> Result<(), PlaceError> {
    let limit = parse(value).map_err(|why| PlaceError::Value { place: shown(pid), why })?;
    let error = |error: io::Error| PlaceError::Io { place: shown(pid), error };
    if started_ticks(host, pid) != Some(started) {
        return Err(error(io::Error::from_raw_os_error(libc::ESRCH)));
    }
    if host.is_made_up() {
        return write_made_up(host, pid, &limit).map_err(error);
    }
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let process = raw.ok_or_else(|| error(io::Error::from_raw_os_error(libc::ESRCH)))?;
    prlimit(Some(process), Resource::Nofile, limit).map_err(|why| error(why.into())).map(drop)
}

/// The same in the file of a host made up of files, whose processes do not run.
fn write_made_up(host: &Host, pid: u32, limit: &Rlimit) -> io::Result<()> {
    let path = host.root.process(pid, "limits");
    let (soft, hard) = (word(limit.current), word(limit.maximum));
    let line = |line: &str| match line.strip_prefix(LINE) {
        Some(_) => format!("{LINE} {soft} {hard} files\n"),
        None => format!("{line}\n"),
    };
    let text: String = std::fs::read_to_string(&path)?.lines().map(line).collect();
    std::fs::write(path, text)
}

fn word(limit: Option<u64>) -> String {
    limit.map_or(UNLIMITED.to_string(), |limit| limit.to_string())
}

fn parse(value: &str) -> Result<Rlimit, String> {
    let number = |word: &str| match word {
        UNLIMITED => Some(None),
        word => word.parse::<u64>().ok().map(Some),
    };
    let words = value.split_once(' ');
    let pair = words.and_then(|(soft, hard)| Some((number(soft)?, number(hard)?)));
    let (current, maximum) = pair.ok_or_else(|| format!("'{value}' is no pair of limits"))?;
    if current.unwrap_or(u64::MAX) > maximum.unwrap_or(u64::MAX) {
        return Err(format!("'{value}' has a soft limit above the hard one"));
    }
    Ok(Rlimit { current, maximum })
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
}

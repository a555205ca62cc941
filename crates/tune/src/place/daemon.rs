//! A process of the host that is paused while we measure and resumed afterwards.
//!
//! With SIGSTOP and SIGCONT nothing outlives a reboot or needs the service manager, and if all else
//! fails, one signal by hand resumes it.

use super::{PlaceError, Seen, same};
use crate::host::Host;
use crate::process::Stat;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

/// It works.
pub const RUNNING: &str = "running";
/// It does nothing until SIGCONT.
pub const PAUSED: &str = "paused";
/// How many times the state is read until the signal shows, [`PAUSE`] apart.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(5);

pub(super) fn show(name: &str, pid: u32) -> String {
    if pid == 0 { name.to_string() } else { format!("{name} (process {pid})") }
}

fn word(stat: &Stat) -> &'static str {
    if stat.state == b'T' { PAUSED } else { RUNNING }
}

pub(super) fn read(
    host: &Host,
    name: &str,
    process: (u32, u64),
) -> Result<Option<Seen>, PlaceError> {
    let stat = same(host, process, || show(name, process.0))?;
    let word = stat.map(|stat| word(&stat).to_string());
    Ok(word.map(|word| Seen { raw: word.clone(), value: word }))
}

pub(super) fn write(
    host: &Host,
    name: &str,
    (pid, started_ticks): (u32, u64),
    value: &str,
) -> Result<(), PlaceError> {
    let io = |error: io::Error| PlaceError::Io { place: show(name, pid), error };
    let signal = match value {
        PAUSED => Signal::STOP,
        RUNNING => Signal::CONT,
        _ => {
            let why = format!("'{value}' is neither {RUNNING} nor {PAUSED}");
            return Err(PlaceError::Value { place: show(name, pid), why });
        }
    };
    let gone = || io(io::Error::from_raw_os_error(libc::ESRCH));
    if host.is_made_up() {
        return in_a_file(host, pid, value).map_err(io);
    }
    let id = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(gone)?;
    // Opened before it is checked, so the signal goes to the process that was checked.
    let process = pidfd_open(id, PidfdFlags::empty()).map_err(|error| io(error.into()))?;
    let stat = || same(host, (pid, started_ticks), || show(name, pid))?.ok_or_else(gone);
    stat()?;
    pidfd_send_signal(process, signal).map_err(|error| io(error.into()))?;
    for _ in 0..TRIES {
        if word(&stat()?) == value {
            break;
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// The state of a made-up process is a letter in its file.
fn in_a_file(host: &Host, pid: u32, value: &str) -> io::Result<()> {
    let path = host.root.process(pid, "stat");
    let text = fs::read_to_string(&path)?;
    let state = text.rfind(')').map_or(0, |end| end + 2);
    let letter = if value == PAUSED { "T" } else { "S" };
    fs::write(path, format!("{}{letter}{}", &text[..state], &text[state + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;
    use crate::process;
    use model::root::Root;
    use std::process::Command;

    #[test]
    fn a_process_is_paused_and_goes_on() {
        let host = Host::look(Root::default());
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let started_ticks = process::stat(pid).unwrap().started_ticks;
        let place = Place::Daemon { name: "sleep".into(), pid, started_ticks };
        let before = place.read(&host).unwrap().unwrap();
        assert_eq!(before.value, RUNNING);
        place.write(&host, PAUSED, &before).unwrap();
        let paused = place.read(&host).unwrap().unwrap();
        assert_eq!(paused.value, PAUSED);
        place.write(&host, RUNNING, &paused).unwrap();
        assert_eq!(place.read(&host).unwrap().unwrap(), before);
        assert!(place.write(&host, "banned", &before).is_err());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(place.read(&host).unwrap(), None, "gone");
        assert!(place.write(&host, PAUSED, &before).is_err());
    }

    #[test]
    fn another_process_with_the_same_number_is_left_alone() {
        let host = Host::look(Root::default());
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let started_ticks = process::stat(child.id()).unwrap().started_ticks - 1;
        let (name, pid) = ("sleep".to_string(), child.id());
        let place = Place::Daemon { name, pid, started_ticks };
        let seen = Seen { raw: RUNNING.into(), value: RUNNING.into() };
        assert!(place.write(&host, PAUSED, &seen).is_err());
        assert_ne!(process::stat(child.id()).unwrap().state, b'T');
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

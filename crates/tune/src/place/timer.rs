//! A timer of systemd that is stopped while we measure and started afterwards.
//!
//! Nothing of it is on disk: after a reboot it is as its unit files say. A connection costs process
//! 1 a millisecond of CPU time and a question a fortieth of that (systemd 252), and values are read
//! again twice a second during a run, so each thread keeps its connection.

use super::{PlaceError, Seen};
use crate::host::Host;
use crate::systemd::{Order, Systemd};
use std::cell::RefCell;
use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

/// It waits for its times.
pub const RUNNING: &str = "running";
/// It starts nothing.
pub const STOPPED: &str = "stopped";
/// How many times the state is read until an order shows, [`PAUSE`] apart.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(5);
/// Longer names are none of systemd.
const NAME_BYTES_MAX: usize = 255;

/// All timers that can be stopped and put back. Without any there is one without a name, which is
/// absent, or says why they cannot be listed.
pub fn all(host: &Host) -> Vec<String> {
    let listed = match host.is_made_up() {
        true => Ok(Some(host.names_in("/systemd"))),
        false => ask(host, Systemd::timers),
    };
    listed.ok().flatten().filter(|timers| !timers.is_empty()).unwrap_or_else(|| vec![String::new()])
}

pub(super) fn show(unit: &str) -> String {
    if unit.is_empty() { "timers of systemd".to_string() } else { unit.to_string() }
}

/// Whether it is the name of a timer: a journal is checked, not trusted.
pub(super) fn check(unit: &str) -> Result<(), String> {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b":-_.\\@".contains(&byte);
    let is_timer = unit.ends_with(".timer") && unit.bytes().all(is_usual);
    match is_timer && unit.len() <= NAME_BYTES_MAX || unit.is_empty() {
        true => Ok(()),
        false => Err(format!("'{unit}' is not the name of a timer")),
    }
}

thread_local! {
    static KEPT: RefCell<Option<Systemd>> = const { RefCell::new(None) };
}

/// What systemd answers; nothing where process 1 is another program.
fn ask<T>(host: &Host, question: impl Fn(&mut Systemd) -> io::Result<T>) -> io::Result<Option<T>> {
    KEPT.with_borrow_mut(|kept| {
        // One that fails may be from before process 1 started itself anew.
        if let Some(Ok(answer)) = kept.as_mut().map(&question) {
            return Ok(Some(answer));
        }
        *kept = Systemd::open(&host.root)?;
        kept.as_mut().map(question).transpose()
    })
}

/// Where a made-up host has the state of a timer.
fn file(unit: &str) -> String {
    format!("/systemd/{unit}")
}

pub(super) fn read(host: &Host, unit: &str) -> Result<Option<Seen>, PlaceError> {
    let io = |error| PlaceError::Io { place: show(unit), error };
    let state = match host.is_made_up() {
        true => host.text(&file(unit)),
        false if unit.is_empty() => {
            ask(host, |systemd| systemd.timers().map(drop)).map_err(io)?;
            None
        }
        false => ask(host, |systemd| systemd.state(unit)).map_err(io)?.flatten(),
    };
    let seen = |state: String| {
        let value = match state.trim() {
            "active" => RUNNING,
            "inactive" | "failed" => STOPPED,
            other => other,
        };
        Seen { raw: state.clone(), value: value.to_string() }
    };
    Ok(state.map(seen))
}

pub(super) fn write(host: &Host, unit: &str, value: &str) -> Result<(), PlaceError> {
    let io = |error| PlaceError::Io { place: show(unit), error };
    let (order, state) = match value {
        RUNNING => (Order::Start, "active"),
        STOPPED => (Order::Stop, "inactive"),
        _ => {
            let why = format!("'{value}' is neither {RUNNING} nor {STOPPED}");
            return Err(PlaceError::Value { place: show(unit), why });
        }
    };
    if host.is_made_up() {
        return fs::write(host.root.path(file(unit)), state).map_err(io);
    }
    let gone = || io(io::Error::from_raw_os_error(libc::ENOENT));
    ask(host, |systemd| systemd.tell(unit, order)).map_err(io)?.ok_or_else(gone)?;
    for _ in 0..TRIES {
        if read(host, unit)?.is_some_and(|seen| seen.value == value) {
            break;
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

//! Processes that a changed process started later: they inherit its mask and its limits, and the
//! journal has no entry for them.

use crate::host::Host;
use crate::journal::Recorded;
use crate::place::sentence;
use crate::place::{Place, PlaceError};
use ::host::tree;

/// How many times the children are listed: a process may start another one meanwhile, which
/// inherits the value.
const ROUNDS: u32 = 8;
/// Starts of processes are counted in hundredths of a second.
const TICK_MS: u64 = 10;

/// The values of the processes that inherited from a change.
#[derive(Debug, Default)]
struct Heirs {
    /// With exactly the value that we wrote.
    ours: Vec<(u32, Place)>,
    /// With a different value.
    others: Vec<(u32, String)>,
}

/// An error when one of them cannot be read: it may have our value.
fn heirs(host: &Host, change: &Recorded) -> Result<Heirs, String> {
    let mut heirs = Heirs::default();
    let begin = &change.begin;
    let Some(((pid, _), since_ms)) = begin.place.process().zip(begin.at_boot_ms) else {
        return Ok(heirs);
    };
    for (pid, started_ticks) in tree::descendants(&host.root, pid).map_err(sentence)? {
        let Some(place) = begin.place.of_heir(pid, started_ticks) else { return Ok(heirs) };
        if (started_ticks + 1) * TICK_MS <= since_ms {
            continue;
        }
        match place.read(host) {
            Ok(Some(seen)) if seen.value == begin.before.value => {}
            Ok(Some(seen)) if change.is_ours(&seen) => heirs.ours.push((pid, place)),
            Ok(Some(seen)) => heirs.others.push((pid, seen.value)),
            // The process has ended.
            Ok(None) => {}
            Err(error) => return Err(of_later(pid, &error)),
        }
    }
    Ok(heirs)
}

fn of_later(pid: u32, error: &PlaceError) -> String {
    format!("process {pid}, started since: {}", error.why())
}

/// Gives the processes that inherited our value the old one; returns the note for the user. An
/// error names the process that could not be put back.
pub(crate) fn put_back(host: &Host, change: &Recorded) -> Result<Option<String>, String> {
    let mut done = Vec::new();
    for _ in 0..ROUNDS {
        let heirs = heirs(host, change)?;
        if heirs.ours.is_empty() {
            return Ok(words(&done, "were put back, too", &heirs.others));
        }
        for (pid, place) in heirs.ours {
            let now = place.read(host).map_err(|error| of_later(pid, &error))?;
            let Some(now) = now else { continue };
            if let Err(error) = place.write(host, &change.begin.before.value, &now) {
                let has_ended = matches!(place.read(host), Ok(None));
                if !has_ended {
                    return Err(of_later(pid, &error));
                }
            }
            done.push(pid);
        }
    }
    Err("it starts processes faster than they can be put back; try again".to_string())
}

/// The note about them while the change is applied.
pub(crate) fn noted(host: &Host, change: &Recorded) -> Option<String> {
    let heirs = match heirs(host, change) {
        Ok(heirs) => heirs,
        Err(why) => return Some(why),
    };
    let ours: Vec<u32> = heirs.ours.iter().map(|(pid, _)| *pid).collect();
    let words = words(&ours, "have it, too", &heirs.others)?;
    Some(words.trim_start_matches("; ").to_string())
}

fn words(ours: &[u32], fate: &str, others: &[(u32, String)]) -> Option<String> {
    let list = |all: Vec<String>| all.join(", ");
    let mut words = String::new();
    if !ours.is_empty() {
        let all = list(ours.iter().map(u32::to_string).collect());
        words += &format!("; processes started since {fate}: {all}");
    }
    if !others.is_empty() {
        let all = list(others.iter().map(|(pid, value)| format!("{pid} has {value}")).collect());
        words += &format!("; processes started since with other values: {all}");
    }
    (!words.is_empty()).then_some(words)
}

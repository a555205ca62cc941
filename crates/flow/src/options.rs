//! `[Options]` of a step.

use crate::names::Names;
use crate::text;
use model::flow::{Escape, Skip, Step, Text};
use model::units::parse_duration_ns;

/// Redirects that are followed when a step asks for it, and most that may be asked for.
const REDIRECTS: u32 = 50;
/// Most repetitions of a step.
const REPEAT_MAX: u32 = 1000;
/// Nanoseconds of a number without a unit.
const MILLISECOND: u64 = 1_000_000;

/// Options of Hurl that say something about a run and not about a step, and what to give instead.
const OF_RUNS: &[(&str, &str)] = &[
    ("insecure", "-k"),
    ("cacert", "--cacert FILE"),
    ("cert", "--cert FILE"),
    ("key", "--key FILE"),
    ("connect-to", "--connect-to"),
    ("connect-timeout", "--connect-timeout"),
    ("resolve", "--resolve"),
    ("proxy", "-x URL"),
    ("unix-socket", "--unix-socket PATH"),
    ("http1.0", "--http 1"),
    ("http1.1", "--http 1"),
    ("http2", "--http 2"),
];
/// Options that change nothing of what is sent or checked.
const WITHOUT_EFFECT: [&str; 5] = ["verbose", "very-verbose", "output", "verbosity", "no-output"];

/// Reads one option into the step.
pub fn read(
    step: &mut Step,
    (key, value): (&str, &str),
    names: &mut Names<'_>,
) -> Result<(), String> {
    let plain = || text::constant(value, names);
    let wrong = |given: &str, accepted: &str| Err(format!("{key}: '{given}' is no {accepted}"));
    let flag = || match plain()?.as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        other => wrong(other, "true or false").map(|()| false),
    };
    match key {
        "delay" => step.delay_ns = time(key, &plain()?, MILLISECOND)?,
        "max-time" => step.timeout_ns = Some(time(key, &plain()?, 1000 * MILLISECOND)?),
        "repeat" => {
            let times = plain()?;
            match times.parse() {
                Ok(count @ 1..=REPEAT_MAX) => step.repeat = count,
                _ => return wrong(&times, &format!("number from 1 to {REPEAT_MAX}")),
            }
        }
        "skip" => {
            let text = text::unquoted(value, names, Escape::Raw)?;
            step.skip = match text.constant().as_deref() {
                Some(b"false") => Skip::Never,
                Some(b"true") | None => Skip::When(text),
                Some(other) => {
                    return wrong(&String::from_utf8_lossy(other), "true, false or {{variable}}");
                }
            };
        }
        "variable" => step.sets.push(assigned(value, names)?),
        "location" | "location-trusted" => step.redirects_max = if flag()? { REDIRECTS } else { 0 },
        "max-redirs" if step.redirects_max == 0 => {
            return Err("max-redirs: write 'location: true' above it".to_string());
        }
        "max-redirs" => {
            let most = plain()?;
            match most.parse() {
                Ok(most) => step.redirects_max = most,
                Err(_) => return wrong(&most, "number"),
            }
        }
        "user" => {
            let line = value.split_once(':');
            let line = line.ok_or("user: give a name and a password, as in bob:secret")?;
            crate::entry::basic(step, line, names)?;
        }
        "retry" if plain()? == "0" => {}
        "compressed" if !flag()? => {}
        _ => return refused(key, value),
    }
    Ok(())
}

/// A variable and its value.
fn assigned(line: &str, names: &mut Names<'_>) -> Result<(u16, Text), String> {
    let (name, value) = line
        .split_once('=')
        .ok_or_else(|| format!("variable: '{line}' has no =; for example id=7"))?;
    let value = value.trim();
    let text = match value.starts_with('"') {
        true => text::quoted(value, names, Escape::Raw)?.0,
        false => text::unquoted(value, names, Escape::Raw)?,
    };
    Ok((names.define(name.trim())?, text))
}

/// An option that is no step's, unless it changes nothing.
fn refused(key: &str, value: &str) -> Result<(), String> {
    let of_runs = OF_RUNS.iter().find(|(name, _)| *name == key);
    match (key, of_runs) {
        _ if WITHOUT_EFFECT.contains(&key) => Ok(()),
        (_, Some(_)) if value.trim() == "false" => Ok(()),
        (_, Some((_, option))) => Err(format!("{key}: it is said of the whole run; give {option}")),
        ("retry" | "retry-interval", _) => Err(format!(
            "{key}: asking again until an answer fits changes what is measured; poll with 'repeat' \
             and 'delay'"
        )),
        ("compressed", _) => {
            Err("compressed: bodies are checked as they are sent; leave it out".to_string())
        }
        _ => Err(format!(
            "'{key}' is no option of a step here; accepted are delay, repeat, skip, variable, \
             max-time, location, max-redirs and user"
        )),
    }
}

/// A time with a unit, or a number of this unit.
fn time(key: &str, text: &str, unit_ns: u64) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(count) => Ok(count.saturating_mul(unit_ns)),
        Err(_) => parse_duration_ns(text).map_err(|error| format!("{key}: {error}")),
    }
}

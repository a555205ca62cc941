//! How a plan would turn a knob so that it changes something: by a profile, with CPUs divided
//! between packets and the server, or by a value.

use super::{When, check_knobs, planned};
use plan::Tune;
use std::collections::BTreeMap;
use tune::{Host, Planned, Profile};

/// The kind of server that the cells of a plan have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rehearsed {
    /// One that a cell starts: it inherits what this process has.
    Started,
    /// One that a cell starts on its own CPUs.
    StartedOnCpus,
    /// One that is already running.
    Running,
}

/// Values for knobs that no profile changes: the alternatives that their own pages name.
const VALUES: &[(&str, &str, &str)] =
    &[("T27", "dev_weight", "128"), ("T28", "netdev_tstamp_prequeue", "0")];

/// The table `tune` of a cell that turns one knob, for this host as it is now; an error says why no
/// cell could change anything with it.
pub fn way(host: &Host, knob: &str, server: Rehearsed) -> Result<Tune, String> {
    let mut host = host.clone();
    // It inherits what we have, so we can stand in for it.
    host.servers = match server {
        Rehearsed::Running => Vec::new(),
        Rehearsed::Started | Rehearsed::StartedOnCpus => vec![std::process::id()],
    };
    let mut why = None;
    for tune in choices(&host, knob, server) {
        match rehearse(&tune, &host, server) {
            Ok(()) => return Ok(tune),
            // The error of the first choice, the default profile, is the most useful.
            Err(error) => why = why.or(Some(error)),
        }
    }
    Err(why.unwrap_or_default())
}

/// Ways in the order in which they are tried.
fn choices(host: &Host, knob: &str, server: Rehearsed) -> Vec<Tune> {
    let only = || Tune { only: vec![knob.to_string()], ..Tune::default() };
    let others = Profile::ALL.into_iter().rev().filter(|profile| *profile != Profile::default());
    // The profile of the seed stories proves nothing about another host, so it comes last.
    let names: Vec<&str> =
        std::iter::once(Profile::default()).chain(others).map(Profile::name).collect();
    let profile = |name: &&str| Tune { profile: name.to_string(), ..only() };
    let mut all: Vec<Tune> = names.iter().map(profile).collect();
    if let Some(cpus) = divided(host).filter(|_| server == Rehearsed::Started) {
        all.extend(names.iter().map(|name| Tune { cpus: cpus.clone(), ..profile(name) }));
    }
    let id = tune::find(knob).map_or("", |knob| knob.id);
    let of_knob = VALUES.iter().filter(|(of, ..)| *of == id);
    all.extend(of_knob.map(|(_, file, value)| {
        let values = BTreeMap::from([(format!("{knob}/{file}"), value.to_string())]);
        Tune { values, ..only() }
    }));
    all
}

/// The first CPU for packets, all others for the server: the division that its predictions assume.
fn divided(host: &Host) -> Option<String> {
    let usable = host.usable_cpus();
    let first = tune::CpuSet::parse_list(&usable.iter().next()?.to_string()).ok()?;
    let others = usable.without(&first);
    (!others.is_empty()).then(|| format!("{}/{}", first.list(), others.list()))
}

/// Whether a cell would change something, and none of it is refused.
fn rehearse(tune: &Tune, host: &Host, server: Rehearsed) -> Result<(), String> {
    check_knobs(tune, server == Rehearsed::Running)?;
    let mut all = planned(tune, host, When::Before)?;
    all.extend(planned(tune, host, When::Beside)?);
    if host.is_made_up() || !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let mut places = all.iter().filter_map(|Planned { change, .. }| Some(&change.as_ref()?.place));
    places.try_for_each(|place| place.check_writable(host)).map_err(|error| error.to_string())
}

//! Checks that results and added runs compared by one condition are from the same hosts.

use super::{Kind, Remark, remark};
use crate::folder::EntryFolder;
use crate::slug::Slug;
use crate::world::World;
use model::analysis::HostSeen;
use std::collections::BTreeSet;

/// Findings and predictions that compare results or added runs of different hosts.
pub fn check(world: &World<'_>, entry: &EntryFolder) -> Vec<Remark> {
    let scope = world.within(entry);
    let hypothesis = entry.entry.hypothesis.iter().flat_map(|one| &one.predictions);
    let predictions = hypothesis.map(|one| &one.condition);
    let conditions = entry.entry.findings.iter().map(|one| &one.condition).chain(predictions);
    let mut remarks = Vec::new();
    for condition in conditions {
        let paths = condition.paths();
        let results: BTreeSet<_> = paths.iter().filter_map(|path| scope.result_of(path)).collect();
        let runs: BTreeSet<_> = paths.iter().filter_map(|path| scope.run_of(path)).collect();
        let results = results.iter().filter_map(|place| hosts_of(world, place));
        let runs = runs.iter().filter_map(|place| hosts_of_run(world, place));
        let seen: Vec<Seen> = results.chain(runs).collect();
        let Some((first, others)) = seen.split_first() else { continue };
        for other in others {
            if let Some(why) = difference(first, other) {
                remarks.push(remark(entry, Kind::HostsDiffer, format!("'{condition}'"), why));
            }
        }
    }
    remarks
}

/// A result or a run in words, and its hosts.
type Seen = (String, Vec<HostSeen>);

fn hosts_of(world: &World<'_>, (slug, id): &(Slug, String)) -> Option<Seen> {
    let entry = world.entry(slug)?;
    let result = world.result(entry, id).ok()?;
    let hosts = result.experiment.analysis.as_ref()?.hosts.clone();
    Some((format!("{slug}/{id}"), hosts))
}

fn hosts_of_run(world: &World<'_>, (slug, name): &(Slug, String)) -> Option<Seen> {
    let entry = world.entry(slug)?;
    // A name of a condition is a folder only if it is listed.
    let is_there = entry.runs().is_ok_and(|runs| runs.contains(name));
    let record = is_there.then(|| entry.run(name))?.ok()?;
    Some((format!("{slug}/runs/{name}"), judge::hosts(&record)))
}

/// What differs between the hosts of two of them, by side.
fn difference((one, hosts): &Seen, (two, others): &Seen) -> Option<String> {
    let mut changes = Vec::new();
    let swapped = unmatched(others, hosts).map(|(there, here)| (here, there));
    for (here, there) in unmatched(hosts, others).chain(swapped) {
        for ((what, one), (_, two)) in of(here).into_iter().zip(of(there)) {
            let change = format!("{} {what} '{one}' and '{two}'", here.side);
            if one != two && !changes.contains(&change) {
                changes.push(change);
            }
        }
    }
    (!changes.is_empty()).then(|| format!("{one} and {two}: {}", changes.join(", ")))
}

/// What is compared of a host.
fn of(host: &HostSeen) -> [(&'static str, String); 3] {
    [
        ("kernel", host.kernel.clone()),
        ("CPU", host.cpu_model.clone()),
        ("CPUs", host.cpus.to_string()),
    ]
}

/// Hosts whose like is not among the others of their side, each with the first of these.
fn unmatched<'a>(
    hosts: &'a [HostSeen],
    others: &'a [HostSeen],
) -> impl Iterator<Item = (&'a HostSeen, &'a HostSeen)> {
    hosts.iter().filter_map(|host| {
        let mut there = others.iter().filter(|other| other.side == host.side);
        let first = there.clone().next()?;
        (!there.any(|other| of(other) == of(host))).then_some((host, first))
    })
}

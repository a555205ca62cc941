//! Checks that results compared by one condition are from the same hosts.

use super::{Kind, Remark, remark};
use crate::folder::EntryFolder;
use crate::slug::Slug;
use crate::world::World;
use model::analysis::HostSeen;
use std::collections::BTreeSet;

/// Findings and predictions that compare results of different hosts.
pub fn check(world: &World<'_>, entry: &EntryFolder) -> Vec<Remark> {
    let scope = world.within(entry);
    let hypothesis = entry.entry.hypothesis.iter().flat_map(|one| &one.predictions);
    let predictions = hypothesis.map(|one| &one.condition);
    let conditions = entry.entry.findings.iter().map(|one| &one.condition).chain(predictions);
    let mut remarks = Vec::new();
    for condition in conditions {
        let used: BTreeSet<(Slug, String)> =
            condition.paths().into_iter().filter_map(|path| scope.result_of(path)).collect();
        let seen: Vec<_> = used.iter().filter_map(|place| hosts_of(world, place)).collect();
        let Some((first, others)) = seen.split_first() else { continue };
        for other in others {
            if let Some(why) = difference(first, other) {
                remarks.push(remark(entry, Kind::HostsDiffer, format!("'{condition}'"), why));
            }
        }
    }
    remarks
}

/// A result in words, and its hosts.
type Seen = (String, Vec<HostSeen>);

fn hosts_of(world: &World<'_>, (slug, id): &(Slug, String)) -> Option<Seen> {
    let entry = world.entry(slug)?;
    let result = world.result(entry, id).ok()?;
    let hosts = result.experiment.analysis.as_ref()?.hosts.clone();
    Some((format!("{slug}/{id}"), hosts))
}

/// What differs between the hosts of two results, by side.
fn difference((one, hosts): &Seen, (two, others): &Seen) -> Option<String> {
    let of = |host: &HostSeen| {
        [
            ("kernel", host.kernel.clone()),
            ("CPU", host.cpu_model.clone()),
            ("CPUs", host.cpus.to_string()),
        ]
    };
    let mut told = Vec::new();
    for host in hosts {
        let Some(other) = others.iter().find(|other| other.side == host.side) else { continue };
        for ((what, here), (_, there)) in of(host).into_iter().zip(of(other)) {
            if here != there {
                told.push(format!("{} {what} '{here}' and '{there}'", host.side));
            }
        }
    }
    (!told.is_empty()).then(|| format!("{one} and {two}: {}", told.join(", ")))
}

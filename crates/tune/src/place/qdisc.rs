//! The queueing discipline at the root of a device, through [`::host::qdisc`].
//!
//! Its value is `default` while it is the one the kernel made (its handle is zero), otherwise its
//! kind. Ours has a fixed handle, so only ours is ever deleted; the kernel then makes its default
//! again. A foreign one is shown with its handle and left alone.
//! It belongs to the network namespace of the calling thread. A fake host of files has
//! `/qdisc/DEVICE`.

use super::{PlaceError, Seen};
use crate::host::Host;
use crate::link;
use ::host::qdisc::{self, RootQdisc};
use std::collections::BTreeSet;
use std::fs;
use std::io;

/// The value while the kernel's own discipline is in place.
pub const DEFAULT: &str = "default";

/// Handle of those we make; others are unlikely to use it, and the kernel uses numbers from 8000:.
const OURS: u32 = 0x7ce1_0000;

fn seen(root: &RootQdisc) -> Seen {
    let raw = format!("{} {:x}:", root.kind, root.handle >> 16);
    let value = match root.handle {
        0 => DEFAULT.to_string(),
        OURS => root.kind.clone(),
        _ => raw.clone(),
    };
    Seen { raw, value }
}

pub(super) fn show(device: &str) -> String {
    format!("{device} root qdisc")
}

pub(super) fn read(host: &Host, device: &str) -> Result<Option<Seen>, PlaceError> {
    match root_of(host, device) {
        Ok((_, root)) => Ok(root.as_ref().map(seen)),
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
        Err(error) => Err(PlaceError::Io { place: show(device), error }),
    }
}

pub(super) fn write(host: &Host, device: &str, value: &str) -> Result<(), PlaceError> {
    let io = |error: io::Error| PlaceError::Io { place: show(device), error };
    let (index, root) = root_of(host, device).map_err(io)?;
    let foreign = root.as_ref().filter(|root| root.handle != 0 && root.handle != OURS);
    if let Some(foreign) = foreign {
        let why = format!("{} was set by another program", seen(foreign).raw);
        return Err(PlaceError::Value { place: show(device), why });
    }
    if let Some(root) = root.as_ref().filter(|root| root.handle == 0 && value != DEFAULT) {
        let wrong = |why| PlaceError::Value { place: show(device), why };
        comes_back(host, index, root).map_err(wrong)?;
    }
    if host.is_made_up() {
        let raw = if value == DEFAULT { "pfifo_fast 0:".into() } else { format!("{value} 7ce1:") };
        return fs::write(host.root.path(format!("/qdisc/{device}")), raw).map_err(io);
    }
    if root.is_some_and(|root| root.handle == OURS) {
        qdisc::delete(index, OURS).map_err(io)?;
    }
    if value == DEFAULT {
        return Ok(());
    }
    qdisc::put(index, &RootQdisc { kind: value.to_string(), handle: OURS }).map_err(io)
}

/// Whether the kernel would make the same again once ours is deleted: it makes those that
/// default_qdisc names, which may have changed since the device came up. That is readable in the
/// initial network namespace only; elsewhere a revert reports a difference.
fn comes_back(host: &Host, index: u32, root: &RootQdisc) -> Result<(), String> {
    let Some(default) = host.text("/proc/sys/net/core/default_qdisc") else { return Ok(()) };
    let kinds = match root.kind.as_str() {
        "noqueue" => BTreeSet::new(),
        "mq" if host.is_made_up() => BTreeSet::new(),
        "mq" => qdisc::of_queues(index).map_err(|why| why.to_string())?,
        kind => BTreeSet::from([kind.to_string()]),
    };
    let default = default.trim();
    let other = kinds.into_iter().find(|kind| kind != default);
    other.map_or(Ok(()), |kind| {
        Err(format!(
            "{kind} could not be put back: net.core.default_qdisc is {default} now, which the \
             kernel would make in its place"
        ))
    })
}

/// Whether the discipline of a device could be put back, before anything is planned.
pub fn check_comes_back(host: &Host, device: &str) -> Result<(), String> {
    match root_of(host, device) {
        Ok((index, Some(root))) if root.handle == 0 => comes_back(host, index, &root),
        _ => Ok(()),
    }
}

/// `pfifo_fast 0:`, as [`seen`] writes it.
fn made_up_root(raw: &str) -> RootQdisc {
    let (kind, handle) = raw.trim().split_once(' ').unwrap_or((raw.trim(), "0:"));
    let major = u32::from_str_radix(handle.trim_end_matches(':'), 16).unwrap_or(0);
    RootQdisc { kind: kind.to_string(), handle: major << 16 }
}

/// Whether the kernel has a discipline, built in or as a module, according to its lists of modules.
/// One that is not listed might still exist; asking for it is the only other way to know.
pub fn has_kind(host: &Host, kind: &str) -> bool {
    let default = host.text("/proc/sys/net/core/default_qdisc");
    if default.is_some_and(|default| default.trim() == kind) {
        return true;
    }
    let Some(release) = host.text("/proc/sys/kernel/osrelease") else { return false };
    let name = format!("/sch_{kind}.ko");
    ["modules.builtin", "modules.dep"].iter().any(|list| {
        let list = host.text(&format!("/lib/modules/{}/{list}", release.trim()));
        list.is_some_and(|list| list.contains(&name))
    })
}

fn root_of(host: &Host, device: &str) -> io::Result<(u32, Option<RootQdisc>)> {
    if host.is_made_up() {
        let text = host.text(&format!("/qdisc/{device}"));
        return Ok((0, text.map(|raw| made_up_root(&raw))));
    }
    let gone = || io::Error::from_raw_os_error(libc::ENODEV);
    let index = link::index(&host.root, device)?.ok_or_else(gone)?;
    Ok((index, qdisc::root(index)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_kernels_own_is_the_default_and_only_ours_has_a_plain_name() {
        let value = |kind: &str, handle| seen(&RootQdisc { kind: kind.into(), handle }).value;
        assert_eq!(value("pfifo_fast", 0), "default");
        assert_eq!(value("fq", OURS), "fq");
        assert_eq!(value("fq", 0x8001_0000), "fq 8001:");
        for raw in ["pfifo_fast 0:", "fq 7ce1:", "fq 8001:"] {
            assert_eq!(seen(&made_up_root(raw)).raw, raw);
        }
    }

    #[test]
    fn loopback_has_the_kernels_own() {
        let seen = read(&Host::look(model::root::Root::default()), "lo").unwrap().unwrap();
        assert_eq!(seen.raw, "noqueue 0:");
        assert_eq!(seen.value, DEFAULT);
    }
}

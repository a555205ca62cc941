//! SIOCETHTOOL: statistics of network drivers (`ethtool -S`), those about what was lost, refused or
//! held back.
//!
//! Names are the driver's own, so they are kept by what they contain: drops, errors, misses, full
//! and missing buffers, stopped queues, pauses, and the allowances of the ENA driver
//! (`bw_in_allowance_exceeded`, `pps_allowance_exceeded`, `conntrack_allowance_available` and so
//! on). A counter that exists once per queue is summed over queues, with `N` in place of the
//! number: `queue_N_tx_queue_stop`.
//!
//! Caveats. It covers only the network namespace of the calling thread. Every driver gives its
//! names a meaning of its own. Some take the values from firmware, which takes milliseconds. Most
//! count up, `*_available` is a gauge. Counters of XDP are left out.

use super::{Round, Scope, Source, net_dev};
use crate::ethtool::{Ethtool, parse_names, parse_values};
use crate::process;
use crate::scan::ParseError;
use model::facts::Unreadable;
use model::maps::IntoMap;
use model::metric::Declaration;
use model::reading::{Data, Interface, Values};
use model::unit::Unit;
use model::units::NS_PER_S;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// Parses the names that a driver reports.
pub fn parse(bytes: &[u8]) -> Result<Vec<DriverCounter>, ParseError> {
    let mut kept = Vec::<DriverCounter>::new();
    let mut places = BTreeMap::<String, usize>::new();
    for (index, name) in parse_names(bytes)?.iter().enumerate() {
        if !is_of_use(name) {
            continue;
        }
        let name = without_queue(name);
        if let Some(&place) = places.get(&name) {
            kept[place].indexes.push(index);
        } else if kept.len() < NAMES_MAX {
            places.insert(name.clone(), kept.len());
            kept.push(DriverCounter { name, indexes: vec![index] });
        }
    }
    Ok(kept)
}

/// A counter that is reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverCounter {
    /// Its name, with `N` for the number of a queue.
    pub name: String,
    /// Indexes of the statistics that are summed in it.
    pub indexes: Vec<usize>,
}

fn is_of_use(name: &str) -> bool {
    const PARTS: [&str; 16] = [
        "allowance",
        "buf",
        "busy",
        "discard",
        "drop",
        "err",
        "exhaust",
        "fail",
        "fifo",
        "full",
        "miss",
        "overrun",
        "pause",
        "stall",
        "stop",
        "timeout",
    ];
    let name = name.to_ascii_lowercase();
    !name.contains("xdp") && PARTS.iter().any(|part| name.contains(part))
}

/// The name with every number in it replaced.
fn without_queue(name: &str) -> String {
    let mut replaced = String::with_capacity(name.len());
    for character in name.chars() {
        if !character.is_ascii_digit() {
            replaced.push(character);
        } else if !replaced.ends_with('N') {
            replaced.push('N');
        }
    }
    replaced
}

/// Most counters reported of one interface.
const NAMES_MAX: usize = 256;
/// Most interfaces that are read; a host with hundreds of containers has hundreds.
const INTERFACES_MAX: usize = 64;
/// How often to look for new interfaces and names.
const SCAN_NS: u64 = 10 * NS_PER_S;

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new(Values::DRIVERS, "SIOCETHTOOL, statistics")
        .each("interface")
        .mean("{name}_available", Unit::Count, "Rest of an allowance, as the driver reports it.")
        .counter("{name}", Unit::Count, "Losses and refusals as the driver names them, all queues.")
}

struct Drivers {
    interfaces: PathBuf,
    ethtool: Option<Ethtool>,
    /// Interfaces whose driver has statistics: how many, and which are reported.
    known: Vec<(String, usize, Vec<DriverCounter>)>,
    scan_due_ns: u64,
    bytes: Vec<u8>,
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    scope.network.is_ours().then(|| {
        Box::new(Drivers {
            interfaces: scope.network.file(&scope.root, "dev"),
            ethtool: None,
            known: Vec::new(),
            scan_due_ns: 0,
            bytes: Vec::new(),
        }) as Box<dyn Source>
    })
}

impl Source for Drivers {
    fn read(&mut self, round: &Round<'_>) -> Result<Data, Unreadable> {
        let ethtool = match self.ethtool.take() {
            Some(ethtool) => ethtool,
            None => Ethtool::open().map_err(|why| unreadable("socket", &why))?,
        };
        let ethtool = self.ethtool.insert(ethtool);
        if round.due_ns >= self.scan_due_ns {
            let interfaces = process::read(&self.interfaces, net_dev::parse)?;
            self.known = scan(ethtool, &interfaces)?;
            self.scan_due_ns = round.due_ns + SCAN_NS;
        }
        let mut all = BTreeMap::new();
        for (interface, count, kept) in &self.known {
            match ethtool.values(interface, *count, &mut self.bytes) {
                Ok(()) => {}
                Err(why) if is_absent(&why) => continue,
                Err(why) => {
                    self.scan_due_ns = 0;
                    return Err(unreadable(interface, &why));
                }
            }
            let values = parse_values(&self.bytes).map_err(|why| unreadable(interface, &why))?;
            all.insert(interface.clone(), sums(kept, &values));
        }
        Ok(Data::values(Values::DRIVERS, all))
    }
}

fn sums(kept: &[DriverCounter], values: &[u64]) -> BTreeMap<String, u64> {
    let sum = |kept: &DriverCounter| {
        let values = kept.indexes.iter().filter_map(|&index| values.get(index));
        (kept.name.clone(), values.fold(0, |sum: u64, value| sum.wrapping_add(*value)))
    };
    kept.iter().map(sum).into_map()
}

fn scan(
    ethtool: &Ethtool,
    interfaces: &[Interface],
) -> Result<Vec<(String, usize, Vec<DriverCounter>)>, Unreadable> {
    let mut known = Vec::new();
    for Interface { name, .. } in interfaces.iter().take(INTERFACES_MAX) {
        let bytes = match ethtool.names(name) {
            Ok(bytes) => bytes,
            Err(why) if is_absent(&why) => continue,
            Err(why) => return Err(unreadable(name, &why)),
        };
        let count = parse_names(&bytes).map_err(|why| unreadable(name, &why))?.len();
        let kept = parse(&bytes).map_err(|why| unreadable(name, &why))?;
        if !kept.is_empty() {
            known.push((name.clone(), count, kept));
        }
    }
    Ok(known)
}

/// Whether there is no such interface, or its driver has no statistics.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENODEV | libc::EINVAL))
}

fn unreadable(what: &str, why: &dyn std::fmt::Display) -> Unreadable {
    Unreadable { source: format!("ethtool {what}"), why: why.to_string() }
}

// The fixtures are responses in the byte order of the machine they were taken on.
#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;
    use crate::testing::fixture;

    #[test]
    fn losses_of_all_queues_together() {
        let kept = parse(&fixture("linux-6.18-vm/ethtool_names")).unwrap();
        let names: Vec<&str> = kept.iter().map(|kept| kept.name.as_str()).collect();
        assert_eq!(names, ["rx_drops", "tx_tx_timeouts", "rxN_drops", "txN_tx_timeouts"]);
        assert_eq!((&kept[0].indexes[..], &kept[2].indexes[..]), (&[0][..], &[10][..]));
        let mut values = parse_values(&fixture("linux-6.18-vm/ethtool_values")).unwrap();
        assert_eq!((values.len(), values[8], values[5]), (20, 13_611, 3552));
        (values[0], values[10]) = (42, 42);
        assert_eq!(sums(&kept, &values)["rxN_drops"], 42);
    }

    #[test]
    fn the_names_that_matter() {
        for name in [
            "bw_in_allowance_exceeded",
            "conntrack_allowance_available",
            "queue_0_tx_queue_stop",
            "rx_missed_errors",
            "rx_no_buffer_count",
            "rx_out_of_buffer",
            "tx_busy",
        ] {
            assert!(is_of_use(name), "{name}");
        }
        for name in ["rx_packets", "queue_3_tx_cnt", "rx_queue_0_xdp_drops", "peer_ifindex"] {
            assert!(!is_of_use(name), "{name}");
        }
        assert_eq!(without_queue("queue_12_tx_queue_stop"), "queue_N_tx_queue_stop");
        assert_eq!(without_queue("rx_missed_errors"), "rx_missed_errors");
    }
}

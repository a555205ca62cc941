//! Settings of network drivers, through [`::host::ethtool`].
//!
//! They belong to the network namespace of the calling thread. What a driver does not have is
//! absent. A host made up of files has them below `/ethtool/DEVICE/`, and the maximum of each in
//! `SETTING.most`.

use super::{PlaceError, Seen};
use crate::host::Host;
use crate::link;
use ::host::ethtool::{CHANNELS, COALESCING, Ethtool, Layout, RINGS};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;

/// One setting of a driver.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriverSetting {
    /// Queues: `rx 4 tx 4`, or `combined 8`; those that the driver has.
    Channels,
    /// Entries of the rings: `rx 1024 tx 1024`.
    Rings,
    /// When an interrupt is raised: microseconds, frames, and whether the driver adapts them.
    Coalescing,
    /// Which queue gets which part of the hashes: `equal 8`, or the whole table.
    Indirection,
    /// An offload by the kernel's name, for example `rx-gro`: `on` or `off`.
    Feature(String),
}

impl DriverSetting {
    /// Its name, as in paths.
    pub fn name(&self) -> &str {
        match self {
            Self::Channels => "channels",
            Self::Rings => "rings",
            Self::Coalescing => "coalescing",
            Self::Indirection => "indirection",
            Self::Feature(name) => name,
        }
    }

    fn layout(&self) -> Option<&'static Layout> {
        match self {
            Self::Channels => Some(&CHANNELS),
            Self::Rings => Some(&RINGS),
            Self::Coalescing => Some(&COALESCING),
            Self::Indirection | Self::Feature(_) => None,
        }
    }
}

/// The value of one field in a normalised value such as `rx 4 tx 4`.
pub fn field(value: &str, name: &str) -> Option<u32> {
    let words: Vec<&str> = value.split(' ').collect();
    words.chunks_exact(2).find(|pair| pair[0] == name)?[1].parse().ok()
}

/// A normalised value with another number in one field.
pub fn with_field(value: &str, name: &str, number: u32) -> String {
    let words: Vec<&str> = value.split(' ').collect();
    let pairs = words.chunks_exact(2).map(|pair| match pair[0] == name {
        true => format!("{name} {number}"),
        false => pair.join(" "),
    });
    pairs.collect::<Vec<_>>().join(" ")
}

/// Whether two values mean the same to a driver. While it adapts the times of a direction, it moves
/// them itself, and those of the value are not in force.
pub(super) fn are_alike(setting: &DriverSetting, one: &str, two: &str) -> bool {
    *setting == DriverSetting::Coalescing && in_force(one) == in_force(two)
}

fn in_force(value: &str) -> Vec<(&str, &str)> {
    let adapts = |way: &str| field(value, &format!("adaptive-{way}")).is_some_and(|on| on > 0);
    let is_adapted = |name: &str| name.split_once('-').is_some_and(|(way, _)| adapts(way));
    let words: Vec<&str> = value.split(' ').collect();
    let pairs = words.chunks(2).map(|pair| (pair[0], pair.get(1).copied().unwrap_or_default()));
    pairs.filter(|(name, _)| !is_adapted(name)).collect()
}

/// The maximum that a driver accepts, in the form of a value; nothing when it does not report one.
pub fn most(host: &Host, device: &str, setting: &DriverSetting) -> Option<String> {
    if host.is_made_up() {
        let text = host.text(&format!("{}.most", made_up(device, setting)))?;
        return Some(text.trim().to_string());
    }
    let layout = setting.layout()?;
    let words = Ethtool::open().ok()?.get(device, layout).ok()?;
    let known = layout.fields.iter().filter_map(|(name, _, most)| Some((name, words[(*most)?])));
    let there = known.filter(|(_, most)| *most > 0);
    Some(there.map(|(name, most)| format!("{name} {most}")).collect::<Vec<_>>().join(" "))
}

fn made_up(device: &str, setting: &DriverSetting) -> String {
    format!("/ethtool/{device}/{}", setting.name())
}

pub(super) fn show(device: &str, setting: &DriverSetting) -> String {
    format!("{device} {}", setting.name())
}

pub(super) fn read(
    host: &Host,
    device: &str,
    setting: &DriverSetting,
) -> Result<Option<Seen>, PlaceError> {
    if host.is_made_up() {
        let text = host.text(&made_up(device, setting));
        return Ok(text.map(|raw| Seen { value: raw.trim().to_string(), raw }));
    }
    let word = |is_on| if is_on { "on" } else { "off" }.to_string();
    let raw = Ethtool::open().and_then(|driver| match (setting, setting.layout()) {
        (DriverSetting::Feature(name), _) => Ok(driver.feature(device, name)?.map(word)),
        (_, Some(layout)) => driver.get(device, layout).map(|words| shown(layout, &words)),
        _ => driver.indirection(device).map(|table| Some(table_shown(&table))),
    });
    match raw {
        Ok(raw) => Ok(raw.map(|raw| Seen { value: raw.clone(), raw })),
        Err(error) => unanswered(host, device, setting, error).map(|()| None),
    }
}

/// What an error means: nothing when the driver has no such setting, or there is no such device.
/// The kernel returns the same error for a device that exists and is being set up again.
fn unanswered(
    host: &Host,
    device: &str,
    setting: &DriverSetting,
    error: io::Error,
) -> Result<(), PlaceError> {
    let place = show(device, setting);
    match error.raw_os_error() {
        Some(libc::ENODEV) if !matches!(link::index(&host.root, device), Ok(None)) => {
            let why = "the device is there and does not respond: it is being set up again";
            Err(PlaceError::Value { place, why: why.to_string() })
        }
        Some(libc::EOPNOTSUPP | libc::ENODEV | libc::ENOTTY) => Ok(()),
        _ => Err(PlaceError::Io { place, error }),
    }
}

pub(super) fn write(
    host: &Host,
    device: &str,
    setting: &DriverSetting,
    value: &str,
) -> Result<(), PlaceError> {
    let place = || show(device, setting);
    let io = |error: io::Error| PlaceError::Io { place: place(), error };
    if host.is_made_up() {
        let path = host.root.path(made_up(device, setting));
        return fs::write(path, format!("{value}\n")).map_err(io);
    }
    let wrong =
        || PlaceError::Value { place: place(), why: format!("'{value}' is not a valid value") };
    let driver = Ethtool::open().map_err(io)?;
    match (setting, setting.layout()) {
        (DriverSetting::Feature(name), _) => {
            let is_on = [("on", true), ("off", false)].into_iter().find(|(word, _)| *word == value);
            let bit = if is_on.ok_or_else(wrong)?.1 { u32::MAX } else { 0 };
            driver.set_feature(device, name, bit).map_err(io)
        }
        (_, Some(layout)) => {
            let mut words = driver.get(device, layout).map_err(io)?;
            let pairs: Vec<&str> = value.split(' ').collect();
            for pair in pairs.chunks(2) {
                let at = layout.fields.iter().find(|(name, ..)| *name == pair[0]);
                let number = pair.get(1).and_then(|number| number.parse().ok());
                let (at, number) = at.zip(number).ok_or_else(wrong)?;
                words[at.1] = number;
            }
            driver.set(device, layout, words).map_err(io)
        }
        _ => {
            let entries = driver.indirection(device).map_err(io)?.len();
            let table = table_of(value, entries).ok_or_else(wrong)?;
            // Equal shares for all queues is the driver's default. A table set by hand would block
            // later changes of the number of queues.
            let queues = host.devices.iter().find(|known| known.name == device);
            let is_default = queues.is_some_and(|queues| {
                value.strip_prefix("equal ") == Some(&queues.rx_queues.len().to_string())
            });
            let table = if is_default { Vec::new() } else { table };
            driver.set_indirection(device, &table).map_err(io)
        }
    }
}

/// Fields of a structure, without those that the driver does not have.
fn shown(layout: &Layout, words: &[u32]) -> Option<String> {
    let there = layout.fields.iter().filter(|(.., most)| most.is_none_or(|most| words[most] > 0));
    let pairs: Vec<_> = there.map(|&(name, at, _)| format!("{name} {}", words[at])).collect();
    (!pairs.is_empty()).then(|| pairs.join(" "))
}

/// A table that takes the queues in turn is shown as `equal`.
fn table_shown(table: &[u32]) -> String {
    let queues = table.iter().max().map_or(0, |last| last + 1);
    if table.iter().zip(0..).all(|(queue, at): (_, u32)| *queue == at % queues) {
        return format!("equal {queues}");
    }
    table.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

fn table_of(value: &str, entries: usize) -> Option<Vec<u32>> {
    if let Some(queues) = value.strip_prefix("equal ") {
        let queues: u32 = queues.parse().ok().filter(|queues| *queues > 0)?;
        return Some((0..entries as u32).map(|at| at % queues).collect());
    }
    let table: Option<Vec<u32>> = value.split(' ').map(|queue| queue.parse().ok()).collect();
    table.filter(|table| table.len() == entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::root::Root;

    #[test]
    fn fields_of_a_value_are_found_and_replaced() {
        assert_eq!(field("rx 4 tx 2", "tx"), Some(2));
        assert_eq!(field("rx 4 tx 2", "combined"), None);
        assert_eq!(with_field("rx 4 tx 2", "rx", 8), "rx 8 tx 2");
    }

    #[test]
    fn times_that_the_driver_adapts_are_not_compared() {
        let alike = |one, two| are_alike(&DriverSetting::Coalescing, one, two);
        let before = "adaptive-rx 1 adaptive-tx 0 rx-usecs 20 rx-frames 8 tx-usecs 64";
        assert!(alike(before, "adaptive-rx 1 adaptive-tx 0 rx-usecs 3 rx-frames 1 tx-usecs 64"));
        for other in [
            "adaptive-rx 0 adaptive-tx 0 rx-usecs 20 rx-frames 8 tx-usecs 64",
            "adaptive-rx 1 adaptive-tx 0 rx-usecs 20 rx-frames 8 tx-usecs 32",
            "adaptive-rx 1 adaptive-tx 1 rx-usecs 20 rx-frames 8 tx-usecs 64",
            "adaptive-rx 1",
        ] {
            assert!(!alike(before, other), "{other}");
        }
        assert!(!alike("adaptive-rx 0 rx-usecs 20", "adaptive-rx 0 rx-usecs 3"));
        assert!(!are_alike(&DriverSetting::Rings, "adaptive-rx 1 rx-usecs 1", "adaptive-rx 1"));
    }

    #[test]
    fn tables_in_turn_are_equal_and_others_are_said_whole() {
        assert_eq!(table_shown(&[0, 1, 2, 0, 1, 2, 0, 1]), "equal 3");
        assert_eq!(table_shown(&[0, 0, 1, 1]), "0 0 1 1");
        assert_eq!(table_of("equal 2", 4), Some(vec![0, 1, 0, 1]));
        assert_eq!(table_of("0 0 1 1", 4), Some(vec![0, 0, 1, 1]));
        assert_eq!(table_of("0 0 1 1", 8), None, "a table of another length");
        assert_eq!(table_of("equal 0", 4), None);
    }

    #[test]
    fn loopback_joins_segments_and_has_neither_rings_nor_queues() {
        let host = Host::look(Root::default());
        let read = |setting| read(&host, "lo", &setting).unwrap().map(|seen| seen.value);
        let gro = read(DriverSetting::Feature("rx-gro".into()));
        assert!(matches!(gro.as_deref(), Some("on" | "off")), "{gro:?}");
        let all = [
            DriverSetting::Rings,
            DriverSetting::Channels,
            DriverSetting::Coalescing,
            DriverSetting::Indirection,
        ];
        for setting in all {
            assert_eq!(read(setting.clone()), None, "{setting:?}");
        }
        assert_eq!(
            read(DriverSetting::Feature("loopback".into())),
            None,
            "fixed, so not to be set"
        );
        assert_eq!(read(DriverSetting::Feature("no-such-thing".into())), None);
    }

    #[test]
    fn a_device_that_is_being_set_up_again_is_not_gone() {
        let host = Host::look(Root::default());
        let said = |device, errno| {
            let error = io::Error::from_raw_os_error(errno);
            unanswered(&host, device, &DriverSetting::Rings, error)
        };
        assert!(said("none0", libc::ENODEV).is_ok());
        let error = said("lo", libc::ENODEV).unwrap_err().to_string();
        assert!(error.contains("being set up again"), "{error}");
        assert!(said("lo", libc::EOPNOTSUPP).is_ok());
        assert!(said("lo", libc::EPERM).is_err());
    }

    #[test]
    fn a_device_that_is_gone_is_absent_and_cannot_be_written() {
        let host = Host::look(Root::default());
        assert_eq!(read(&host, "none0", &DriverSetting::Rings).unwrap(), None);
        let error = write(&host, "none0", &DriverSetting::Rings, "rx 8").unwrap_err().to_string();
        assert!(error.starts_with("none0 rings: the device is gone"), "{error}");
    }
}

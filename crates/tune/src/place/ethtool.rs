//! Settings of network drivers: SIOCETHTOOL (`include/uapi/linux/ethtool.h`).
//!
//! Of the network namespace of the calling thread. What a driver does not have is absent. A host
//! made up of files has them below `/ethtool/DEVICE/`, and the most of each in `SETTING.most`.

#![allow(unsafe_code, reason = "settings of network drivers")]

use super::{PlaceError, Seen, link};
use crate::host::Host;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// One setting of a driver.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
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

impl Setting {
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

/// A structure of words that is read and written whole.
struct Layout {
    get: u32,
    set: u32,
    words: usize,
    /// Name, word of the value, word of the most; a most of zero says that there is none.
    fields: &'static [(&'static str, usize, Option<usize>)],
}

const CHANNELS: Layout = Layout {
    get: 0x3c,
    set: 0x3d,
    words: 9,
    fields: &[("rx", 5, Some(1)), ("tx", 6, Some(2)), ("combined", 8, Some(4))],
};
const RINGS: Layout =
    Layout { get: 0x10, set: 0x11, words: 9, fields: &[("rx", 5, Some(1)), ("tx", 8, Some(4))] };
const COALESCING: Layout = Layout {
    get: 0x0e,
    set: 0x0f,
    words: 23,
    fields: &[
        ("adaptive-rx", 10, None),
        ("adaptive-tx", 11, None),
        ("rx-usecs", 1, None),
        ("rx-frames", 2, None),
        ("tx-usecs", 5, None),
        ("tx-frames", 6, None),
    ],
};

const GET_STRINGS: u32 = 0x1b;
const GET_SET_SIZE: u32 = 0x37;
const GET_INDIRECTION: u32 = 0x38;
const SET_INDIRECTION: u32 = 0x39;
const GET_FEATURES: u32 = 0x3a;
const SET_FEATURES: u32 = 0x3b;
const FEATURE_NAMES: u32 = 4;
const NAME_WORDS: usize = 8;
/// Features believed of a kernel; it has less than a hundred.
const FEATURES_MAX: u32 = 1024;
/// Entries believed of an indirection table; the largest have 2048.
const TABLE_MAX: u32 = 1 << 16;

/// The value of one field in a normalised value such as `rx 4 tx 4`.
pub fn field(value: &str, name: &str) -> Option<u32> {
    let words: Vec<&str> = value.split(' ').collect();
    words.chunks_exact(2).find(|pair| pair[0] == name)?[1].parse().ok()
}

/// The same value with another number in one field.
pub fn with_field(value: &str, name: &str, number: u32) -> String {
    let words: Vec<&str> = value.split(' ').collect();
    let pairs = words.chunks_exact(2).map(|pair| match pair[0] == name {
        true => format!("{name} {number}"),
        false => pair.join(" "),
    });
    pairs.collect::<Vec<_>>().join(" ")
}

/// The most that a driver takes, in the form of a value; nothing when it does not say.
pub fn most(host: &Host, device: &str, setting: &Setting) -> Option<String> {
    if host.is_made_up() {
        let text = host.text(&format!("{}.most", made_up(device, setting)))?;
        return Some(text.trim().to_string());
    }
    let layout = setting.layout()?;
    let words = Driver::of(device).ok()?.words(layout).ok()?;
    let known = layout.fields.iter().filter_map(|(name, _, most)| Some((name, words[(*most)?])));
    let there = known.filter(|(_, most)| *most > 0);
    Some(there.map(|(name, most)| format!("{name} {most}")).collect::<Vec<_>>().join(" "))
}

fn made_up(device: &str, setting: &Setting) -> String {
    format!("/ethtool/{device}/{}", setting.name())
}

pub(super) fn show(device: &str, setting: &Setting) -> String {
    format!("{device} {}", setting.name())
}

pub(super) fn read(
    host: &Host,
    device: &str,
    setting: &Setting,
) -> Result<Option<Seen>, PlaceError> {
    if host.is_made_up() {
        let text = host.text(&made_up(device, setting));
        return Ok(text.map(|raw| Seen { value: raw.trim().to_string(), raw }));
    }
    let raw = Driver::of(device).and_then(|driver| match (setting, setting.layout()) {
        (Setting::Feature(name), _) => driver.feature(name),
        (_, Some(layout)) => driver.words(layout).map(|words| shown(layout, &words)),
        _ => driver.indirection().map(|table| Some(table_shown(&table))),
    });
    match raw {
        Ok(raw) => Ok(raw.map(|raw| Seen { value: raw.clone(), raw })),
        Err(error) => unanswered(host, device, setting, error).map(|()| None),
    }
}

/// What an error says: nothing when the driver has no such setting, or there is no such device.
/// The kernel says the same of a device that is there and is being set up again.
fn unanswered(
    host: &Host,
    device: &str,
    setting: &Setting,
    error: io::Error,
) -> Result<(), PlaceError> {
    let place = show(device, setting);
    match error.raw_os_error() {
        Some(libc::ENODEV) if link::index(host, device).is_some() => {
            let why = "the device is there and does not answer: it is being set up again";
            Err(PlaceError::Value { place, why: why.to_string() })
        }
        Some(libc::EOPNOTSUPP | libc::ENODEV | libc::ENOTTY) => Ok(()),
        _ => Err(PlaceError::Io { place, error }),
    }
}

pub(super) fn write(
    host: &Host,
    device: &str,
    setting: &Setting,
    value: &str,
) -> Result<(), PlaceError> {
    let place = || show(device, setting);
    let io = |error: io::Error| PlaceError::Io { place: place(), error };
    if host.is_made_up() {
        let path = host.root.path(made_up(device, setting));
        return fs::write(path, format!("{value}\n")).map_err(io);
    }
    let wrong =
        || PlaceError::Value { place: place(), why: format!("'{value}' is no such setting") };
    let driver = Driver::of(device).map_err(io)?;
    match (setting, setting.layout()) {
        (Setting::Feature(name), _) => {
            let is_on = [("on", true), ("off", false)].into_iter().find(|(word, _)| *word == value);
            let bit = if is_on.ok_or_else(wrong)?.1 { u32::MAX } else { 0 };
            driver.set_feature(name, bit).map_err(io)
        }
        (_, Some(layout)) => {
            let mut words = driver.words(layout).map_err(io)?;
            let pairs: Vec<&str> = value.split(' ').collect();
            for pair in pairs.chunks(2) {
                let at = layout.fields.iter().find(|(name, ..)| *name == pair[0]);
                let number = pair.get(1).and_then(|number| number.parse().ok());
                let (at, number) = at.zip(number).ok_or_else(wrong)?;
                words[at.1] = number;
            }
            words[0] = layout.set;
            driver.ask(&mut words).map(drop).map_err(io)
        }
        _ => {
            let entries = driver.indirection().map_err(io)?.len();
            let table = table_of(value, entries).ok_or_else(wrong)?;
            // All queues alike is what the driver does by itself; a table that somebody set would
            // stand in the way of later changes of the number of queues.
            let queues = host.devices.iter().find(|known| known.name == device);
            let is_default = queues.is_some_and(|queues| {
                value.strip_prefix("equal ") == Some(&queues.rx_queues.len().to_string())
            });
            let table = if is_default { Vec::new() } else { table };
            let mut words = [vec![SET_INDIRECTION, table.len() as u32], table].concat();
            driver.ask(&mut words).map(drop).map_err(io)
        }
    }
}

/// Fields of a structure; those that the driver has none of are left out.
fn shown(layout: &Layout, words: &[u32]) -> Option<String> {
    let there = layout.fields.iter().filter(|(.., most)| most.is_none_or(|most| words[most] > 0));
    let pairs: Vec<_> = there.map(|&(name, at, _)| format!("{name} {}", words[at])).collect();
    (!pairs.is_empty()).then(|| pairs.join(" "))
}

/// A table that gives every queue its turn is as equal as can be.
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

/// A device and a socket to ask its driver through.
struct Driver<'a> {
    device: &'a str,
    socket: OwnedFd,
}

impl<'a> Driver<'a> {
    fn of(device: &'a str) -> io::Result<Self> {
        // SAFETY: socket takes no pointers.
        let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just opened and nobody else has it.
        Ok(Self { device, socket: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// The first word is the command; the answer takes the place of the question.
    fn ask(&self, data: &mut [u32]) -> io::Result<i32> {
        let mut ifr_name = [0; libc::IFNAMSIZ];
        if self.device.len() >= ifr_name.len() {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        for (to, &from) in ifr_name.iter_mut().zip(self.device.as_bytes()) {
            *to = from as libc::c_char;
        }
        let pointer = data.as_mut_ptr().cast();
        let ifr_ifru = libc::__c_anonymous_ifr_ifru { ifru_data: pointer };
        let mut request = libc::ifreq { ifr_name, ifr_ifru };
        // SAFETY: the request and the data it points to outlive the call. Answers are as long as
        // the question, or as the number of entries it names; names of features are as many as
        // the kernel said just before, and their number does not change while it runs.
        let result = unsafe {
            libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request)
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
    }

    fn words(&self, layout: &Layout) -> io::Result<Vec<u32>> {
        let mut words = vec![0; layout.words];
        words[0] = layout.get;
        self.ask(&mut words)?;
        Ok(words)
    }

    fn indirection(&self) -> io::Result<Vec<u32>> {
        let mut size = [GET_INDIRECTION, 0];
        self.ask(&mut size)?;
        let entries = size[1];
        if entries == 0 || entries > TABLE_MAX {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        let mut words = vec![0; 2 + entries as usize];
        words[..2].copy_from_slice(&[GET_INDIRECTION, entries]);
        self.ask(&mut words)?;
        Ok(words.split_off(2))
    }

    /// Number of a feature by its name, and how many there are.
    fn number_of(&self, feature: &str) -> io::Result<Option<(usize, usize)>> {
        // struct ethtool_sset_info: command, reserved, mask of 64 bits, one size.
        let mut size = [GET_SET_SIZE, 0, 1 << FEATURE_NAMES, 0, 0];
        self.ask(&mut size)?;
        let count = size[4].min(FEATURES_MAX) as usize;
        let mut names = vec![0; 3 + count * NAME_WORDS];
        names[..3].copy_from_slice(&[GET_STRINGS, FEATURE_NAMES, count as u32]);
        self.ask(&mut names)?;
        let is_it = |name: &[u32]| {
            let bytes = name.iter().flat_map(|word| word.to_ne_bytes());
            bytes.take_while(|byte| *byte != 0).eq(feature.bytes())
        };
        let number = names[3..].chunks_exact(NAME_WORDS).position(is_it);
        Ok(number.map(|number| (number, count)))
    }

    /// Whether a feature is on; nothing when nobody can change it.
    fn feature(&self, name: &str) -> io::Result<Option<String>> {
        let Some((number, count)) = self.number_of(name)? else { return Ok(None) };
        let blocks = count.div_ceil(32);
        let mut words = vec![0; 2 + 4 * blocks];
        words[..2].copy_from_slice(&[GET_FEATURES, blocks as u32]);
        self.ask(&mut words)?;
        // struct ethtool_get_features_block: available, requested, active, never_changed.
        let block = &words[2 + 4 * (number / 32)..][..4];
        let has = |word: u32| word >> (number % 32) & 1 == 1;
        let word = if has(block[2]) { "on" } else { "off" };
        Ok((has(block[0]) && !has(block[3])).then(|| word.to_string()))
    }

    fn set_feature(&self, name: &str, wanted: u32) -> io::Result<()> {
        let absent = || io::Error::from_raw_os_error(libc::EOPNOTSUPP);
        let (number, count) = self.number_of(name)?.ok_or_else(absent)?;
        let blocks = count.div_ceil(32);
        let mut words = vec![0; 2 + 2 * blocks];
        words[..2].copy_from_slice(&[SET_FEATURES, blocks as u32]);
        // struct ethtool_set_features_block: valid, requested.
        let bit = 1 << (number % 32);
        let at = 2 + 2 * (number / 32);
        words[at] = bit;
        words[at + 1] = bit & wanted;
        self.ask(&mut words).map(drop)
    }
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
        let gro = read(Setting::Feature("rx-gro".into()));
        assert!(matches!(gro.as_deref(), Some("on" | "off")), "{gro:?}");
        let all = [Setting::Rings, Setting::Channels, Setting::Coalescing, Setting::Indirection];
        for setting in all {
            assert_eq!(read(setting.clone()), None, "{setting:?}");
        }
        assert_eq!(read(Setting::Feature("loopback".into())), None, "fixed, so not to be set");
        assert_eq!(read(Setting::Feature("no-such-thing".into())), None);
    }

    #[test]
    fn a_device_that_is_being_set_up_again_is_not_gone() {
        let host = Host::look(Root::default());
        let said = |device, errno| {
            let error = io::Error::from_raw_os_error(errno);
            unanswered(&host, device, &Setting::Rings, error)
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
        assert_eq!(read(&host, "none0", &Setting::Rings).unwrap(), None);
        let error = write(&host, "none0", &Setting::Rings, "rx 8").unwrap_err().to_string();
        assert!(error.starts_with("none0 rings: the device is gone"), "{error}");
    }
}

//! SIOCETHTOOL: settings and statistics of network drivers (`include/uapi/linux/ethtool.h`).
//!
//! Queries need no privilege. They are about the network namespace of the calling thread. The ioctl
//! is used and not the netlink family of the same name, which kernels before 5.6 do not have.

#![allow(unsafe_code, reason = "settings of network drivers")]

use crate::netlink::Fields;
use crate::scan::{self, ParseError};
use model::facts::{NicSettings, Setting};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

const GET_STRINGS: u32 = 0x1b;
const GET_STATISTICS: u32 = 0x1d;
const GET_TSO: u32 = 0x1e;
const GET_GSO: u32 = 0x23;
const GET_FLAGS: u32 = 0x25;
const GET_GRO: u32 = 0x2b;
const GET_SET_SIZE: u32 = 0x37;
const GET_INDIRECTION: u32 = 0x38;
const SET_INDIRECTION: u32 = 0x39;
const GET_FEATURES: u32 = 0x3a;
const SET_FEATURES: u32 = 0x3b;
/// Sets of names.
const STATISTICS: u32 = 1;
const FEATURES: u32 = 4;
const FLAG_LRO: u32 = 1 << 15;
const NAME_BYTES: usize = 32;
/// Most statistics accepted from one driver; the largest drivers have about ten thousand.
const STATISTICS_MAX: usize = 1 << 16;
/// Most features accepted from a kernel; it has less than a hundred.
const FEATURES_MAX: usize = 1024;
/// Most entries accepted of an indirection table; the largest have 2048.
const TABLE_MAX: u32 = 1 << 16;

/// A structure of words that is read and written whole.
#[derive(Debug)]
pub struct Layout {
    get: u32,
    set: u32,
    words: usize,
    /// Name, word of the value, word of the maximum; a maximum of zero means that there is none.
    pub fields: &'static [(&'static str, usize, Option<usize>)],
}

/// Numbers of queues.
pub const CHANNELS: Layout = Layout {
    get: 0x3c,
    set: 0x3d,
    words: 9,
    fields: &[("rx", 5, Some(1)), ("tx", 6, Some(2)), ("combined", 8, Some(4))],
};
/// Entries of the rings.
pub const RINGS: Layout =
    Layout { get: 0x10, set: 0x11, words: 9, fields: &[("rx", 5, Some(1)), ("tx", 8, Some(4))] };
/// When an interrupt is raised.
pub const COALESCING: Layout = Layout {
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

/// The error when queues were added or removed, so that the names have changed.
const CHANGED: &str = "the driver has other statistics than before";

/// The elements of a structure. Any bytes are valid, so the kernel may write anything.
trait Number: Copy {}
impl Number for u8 {}
impl Number for u32 {}

/// A socket for the queries.
#[derive(Debug)]
pub struct Ethtool {
    socket: OwnedFd,
}

impl Ethtool {
    /// Opens it.
    pub fn open() -> io::Result<Self> {
        let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
        Ok(Self { socket: net::socket_with(family, kind, SocketFlags::CLOEXEC, None)? })
    }

    /// The first word is the command; the kernel overwrites the question with its response.
    fn ask<T: Number>(&self, interface: &str, data: &mut [T]) -> io::Result<()> {
        let mut ifr_name = [0; libc::IFNAMSIZ];
        if interface.len() >= ifr_name.len() {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        for (to, &from) in ifr_name.iter_mut().zip(interface.as_bytes()) {
            *to = from as libc::c_char;
        }
        let pointer = data.as_mut_ptr().cast();
        let ifr_ifru = libc::__c_anonymous_ifr_ifru { ifru_data: pointer };
        let mut request = libc::ifreq { ifr_name, ifr_ifru };
        // SAFETY: the request and the data it points to outlive the call, and any bytes are
        // numbers. Most responses are as long as the question, or as the number of entries it
        // names. Statistics are as many as the driver has, whatever the question says: callers
        // have asked for their number just before and leave room for more. Features are as many
        // as the kernel said just before, and their number does not change while it runs.
        let result = unsafe {
            libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request)
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// `count` words, of which the first ones are the question.
    fn words(&self, interface: &str, question: &[u32], count: usize) -> io::Result<Vec<u32>> {
        let mut words = question.to_vec();
        words.resize(count, 0);
        self.ask(interface, &mut words)?;
        Ok(words)
    }

    /// A structure as it is now; a driver without it refuses.
    pub fn get(&self, interface: &str, layout: &Layout) -> io::Result<Vec<u32>> {
        self.words(interface, &[layout.get], layout.words)
    }

    /// Writes a structure that was read before.
    pub fn set(&self, interface: &str, layout: &Layout, mut words: Vec<u32>) -> io::Result<()> {
        words[0] = layout.set;
        self.ask(interface, &mut words)
    }

    /// Which queue gets each part of the hashes.
    pub fn indirection(&self, interface: &str) -> io::Result<Vec<u32>> {
        let entries = self.words(interface, &[GET_INDIRECTION], 2)?[1];
        if entries == 0 || entries > TABLE_MAX {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        let question = [GET_INDIRECTION, entries];
        Ok(self.words(interface, &question, 2 + entries as usize)?.split_off(2))
    }

    /// Writes that table; an empty one restores the driver's own.
    pub fn set_indirection(&self, interface: &str, table: &[u32]) -> io::Result<()> {
        let mut words = [&[SET_INDIRECTION, table.len() as u32], table].concat();
        self.ask(interface, &mut words)
    }

    /// How many names a set has.
    fn size_of(&self, interface: &str, set: u32) -> io::Result<usize> {
        // struct ethtool_sset_info: command, reserved, mask of 64 bits, one size.
        let size = self.words(interface, &[GET_SET_SIZE, 0, 1 << set], 5)?;
        Ok(if size[2] == 0 && size[3] == 0 { 0 } else { size[4] as usize })
    }

    /// The names of a set, as bytes for [`parse_names`].
    fn names_of(
        &self,
        interface: &str,
        set: u32,
        count: usize,
        room: usize,
    ) -> io::Result<Vec<u8>> {
        let mut data = vec![0; 12 + room * NAME_BYTES];
        for (word, value) in data.chunks_exact_mut(4).zip([GET_STRINGS, set, count as u32]) {
            word.copy_from_slice(&value.to_ne_bytes());
        }
        self.ask(interface, &mut data)?;
        Ok(data)
    }

    /// Number of a feature by its name, and how many there are.
    fn feature_number(&self, interface: &str, feature: &str) -> io::Result<Option<(usize, usize)>> {
        let count = self.size_of(interface, FEATURES)?.min(FEATURES_MAX);
        let names = self.names_of(interface, FEATURES, count, count)?;
        let names = parse_names(&names).map_err(io::Error::other)?;
        Ok(names.iter().position(|name| name == feature).map(|number| (number, count)))
    }

    /// Whether a feature is on; nothing when it cannot be changed.
    pub fn feature(&self, interface: &str, name: &str) -> io::Result<Option<bool>> {
        let Some((number, count)) = self.feature_number(interface, name)? else { return Ok(None) };
        let blocks = count.div_ceil(32);
        let words = self.words(interface, &[GET_FEATURES, blocks as u32], 2 + 4 * blocks)?;
        // struct ethtool_get_features_block: available, requested, active, never_changed.
        let block = &words[2 + 4 * (number / 32)..][..4];
        let has = |word: u32| word >> (number % 32) & 1 == 1;
        Ok((has(block[0]) && !has(block[3])).then(|| has(block[2])))
    }

    /// Switches a feature, to all ones or to zero.
    pub fn set_feature(&self, interface: &str, name: &str, wanted: u32) -> io::Result<()> {
        let absent = || io::Error::from_raw_os_error(libc::EOPNOTSUPP);
        let (number, count) = self.feature_number(interface, name)?.ok_or_else(absent)?;
        let blocks = count.div_ceil(32);
        let mut words = vec![0; 2 + 2 * blocks];
        words[..2].copy_from_slice(&[SET_FEATURES, blocks as u32]);
        // struct ethtool_set_features_block: valid, requested.
        let bit = 1 << (number % 32);
        let at = 2 + 2 * (number / 32);
        words[at] = bit;
        words[at + 1] = bit & wanted;
        self.ask(interface, &mut words)
    }

    /// How many statistics the driver has.
    fn count(&self, interface: &str) -> io::Result<usize> {
        let count = self.size_of(interface, STATISTICS)?;
        Ok(if count <= STATISTICS_MAX { count } else { 0 })
    }

    /// Names of the driver's statistics, as bytes for [`parse_names`]; no bytes when it has none.
    pub fn names(&self, interface: &str) -> io::Result<Vec<u8>> {
        match self.count(interface)? {
            0 => Ok(Vec::new()),
            count => self.names_of(interface, STATISTICS, count, room(count)),
        }
    }

    /// Values of the driver's statistics into `data`, as bytes for [`parse_values`]. Fails when
    /// their number differs from that of the names.
    pub fn values(&self, interface: &str, names: usize, data: &mut Vec<u8>) -> io::Result<()> {
        let count = self.count(interface)?;
        if count != names {
            return Err(io::Error::other(CHANGED));
        }
        data.clear();
        data.resize(8 + room(count) * 8, 0);
        data[..4].copy_from_slice(&GET_STATISTICS.to_ne_bytes());
        data[4..8].copy_from_slice(&(count as u32).to_ne_bytes());
        self.ask(interface, data)
    }

    /// The settings that the driver reports.
    pub fn settings(&self, interface: &str) -> NicSettings {
        let words = |command: u32| self.words(interface, &[command], 2).ok();
        let switch = |command| words(command).map(|response| response[1] != 0);
        let structure = |layout| self.get(interface, layout).ok();
        let (ring, channels) = (structure(&RINGS), structure(&CHANNELS));
        let coalesce = structure(&COALESCING);
        // A driver without one of the two reports 0 of 0.
        let setting = |response: &Option<Vec<u32>>, now: usize, max: usize| {
            let response = response.as_ref()?;
            (response[max] > 0).then(|| Setting { now: response[now], max: response[max] })
        };
        NicSettings {
            rx_ring: setting(&ring, 5, 1),
            tx_ring: setting(&ring, 8, 4),
            rx_channels: setting(&channels, 5, 1),
            tx_channels: setting(&channels, 6, 2),
            combined_channels: setting(&channels, 8, 4),
            rx_coalesce_us: coalesce.as_ref().map(|response| response[1]),
            tx_coalesce_us: coalesce.as_ref().map(|response| response[5]),
            adaptive_rx_coalesce: coalesce.as_ref().map(|response| response[10] != 0),
            gro: switch(GET_GRO),
            lro: words(GET_FLAGS).map(|response| response[1] & FLAG_LRO != 0),
            gso: switch(GET_GSO),
            tso: switch(GET_TSO),
            // Not an ethtool setting.
            threaded_napi: None,
        }
    }
}

/// Room for the statistics of a driver to which queues are added between two questions.
fn room(count: usize) -> usize {
    count * 4 + 4096
}

/// Parses the names of statistics; no bytes mean no names.
pub fn parse_names(bytes: &[u8]) -> Result<Vec<String>, ParseError> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let count = Fields(bytes).u32(8)? as usize;
    let names = bytes.get(12..).unwrap_or_default().chunks_exact(NAME_BYTES);
    if names.len() < count {
        return Err(ParseError::new("as many names as it says", b"fewer"));
    }
    let text = |name: &[u8]| {
        let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
        scan::text(&name[..end])
    };
    Ok(names.take(count).map(text).collect())
}

/// Parses the values of statistics.
pub fn parse_values(bytes: &[u8]) -> Result<Vec<u64>, ParseError> {
    let count = Fields(bytes).u32(4)? as usize;
    let values = bytes.get(8..).unwrap_or_default().chunks_exact(8);
    if values.len() < count {
        return Err(ParseError::new("as many values as it says", b"fewer"));
    }
    values.take(count).map(|value| Fields(value).u64(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_joins_segments_and_has_no_rings() {
        let settings = Ethtool::open().unwrap().settings("lo");
        assert!(settings.gro.is_some() && settings.tso.is_some(), "{settings:?}");
        assert_eq!((settings.rx_ring, settings.combined_channels), (None, None));
    }

    #[test]
    fn what_is_no_interface_is_an_error() {
        let ethtool = Ethtool::open().unwrap();
        assert_eq!(ethtool.names("none").unwrap_err().raw_os_error(), Some(libc::ENODEV));
        assert!(ethtool.names("a name of more than fifteen bytes").is_err());
        assert_eq!(ethtool.settings("none"), NicSettings::default());
    }

    #[test]
    fn cut_responses_are_refused() {
        assert_eq!(parse_names(b""), Ok(Vec::new()));
        let one = [[0u32, 1, 1].map(u32::to_ne_bytes).concat(), b"rx_drops".to_vec()].concat();
        assert!(parse_names(&one).is_err());
        assert!(parse_values(&[1; 12]).is_err());
    }
}

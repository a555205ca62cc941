//! SIOCETHTOOL: what a network driver tells about an interface (`include/uapi/linux/ethtool.h`).
//!
//! Only questions, none of which needs privilege. Of the network namespace of the calling thread.

use crate::netlink::Fields;
use crate::scan::{self, ParseError};
use model::facts::{NicSettings, Setting};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const GET_COALESCE: u32 = 0x0e;
const GET_RING: u32 = 0x10;
const GET_STRINGS: u32 = 0x1b;
const GET_STATISTICS: u32 = 0x1d;
const GET_TSO: u32 = 0x1e;
const GET_GSO: u32 = 0x23;
const GET_FLAGS: u32 = 0x25;
const GET_GRO: u32 = 0x2b;
const GET_SET_SIZE: u32 = 0x37;
const GET_CHANNELS: u32 = 0x3c;
const STATISTICS_SET: u32 = 1;
const FLAG_LRO: u32 = 1 << 15;
const NAME_BYTES: usize = 32;
/// Statistics believed of one driver; the largest have some ten thousand.
const STATISTICS_MAX: usize = 1 << 16;

/// Said when queues were added or removed, so that the names are others now.
const CHANGED: &str = "the driver has other statistics than before";

/// A socket to ask through.
#[derive(Debug)]
pub struct Ethtool {
    socket: OwnedFd,
}

impl Ethtool {
    /// Opens it.
    pub fn open() -> io::Result<Self> {
        // SAFETY: socket takes no pointers.
        let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just opened and nobody else has it.
        Ok(Self { socket: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// Asks with these words, and gives as many back; a driver without the response refuses.
    fn ask(&self, interface: &str, question: &[u32], bytes: usize) -> io::Result<Vec<u8>> {
        let mut data = vec![0; bytes];
        for (word, value) in data.chunks_exact_mut(4).zip(question) {
            word.copy_from_slice(&value.to_ne_bytes());
        }
        self.ask_in(interface, &mut data)?;
        Ok(data)
    }

    fn ask_in(&self, interface: &str, data: &mut [u8]) -> io::Result<()> {
        let mut name = [0; libc::IFNAMSIZ];
        if interface.len() >= name.len() {
            return Err(io::Error::other("the name of the interface is too long"));
        }
        for (to, &from) in name.iter_mut().zip(interface.as_bytes()) {
            *to = from as libc::c_char;
        }
        let pointer = data.as_mut_ptr().cast();
        let ifr_ifru = libc::__c_anonymous_ifr_ifru { ifru_data: pointer };
        let mut request = libc::ifreq { ifr_name: name, ifr_ifru };
        // SAFETY: the request and the data it points to outlive the call. Most responses are as
        // long as the question. Names and values are as many as the driver has, whatever the
        // question says: callers have asked for their number just before and leave room for more.
        let result = unsafe {
            libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request)
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// How many statistics the driver has.
    fn count(&self, interface: &str) -> io::Result<usize> {
        // struct ethtool_sset_info: command, reserved, mask of 64 bits, one size.
        let size = self.ask(interface, &[GET_SET_SIZE, 0, 1 << STATISTICS_SET, 0, 0], 20)?;
        let has_statistics = Fields(&size).u64(8).is_ok_and(|mask| mask != 0);
        let count = Fields(&size).u32(16).unwrap_or(0) as usize;
        Ok(if has_statistics && count <= STATISTICS_MAX { count } else { 0 })
    }

    /// Names of the driver's statistics, as bytes for [`parse_names`]; no bytes when it has none.
    pub fn names(&self, interface: &str) -> io::Result<Vec<u8>> {
        let count = self.count(interface)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let bytes = 12 + room(count) * NAME_BYTES;
        self.ask(interface, &[GET_STRINGS, STATISTICS_SET, count as u32], bytes)
    }

    /// Values of the driver's statistics into `data`, as bytes for [`parse_values`]. Fails when
    /// there are not as many as there were names.
    pub fn values(&self, interface: &str, names: usize, data: &mut Vec<u8>) -> io::Result<()> {
        let count = self.count(interface)?;
        if count != names {
            return Err(io::Error::other(CHANGED));
        }
        data.clear();
        data.resize(8 + room(count) * 8, 0);
        data[..4].copy_from_slice(&GET_STATISTICS.to_ne_bytes());
        data[4..8].copy_from_slice(&(count as u32).to_ne_bytes());
        self.ask_in(interface, data)
    }

    /// What the driver tells of its settings.
    pub fn settings(&self, interface: &str) -> NicSettings {
        let words = |command: u32, count: usize| {
            let response = self.ask(interface, &[command], count * 4).ok()?;
            let words = response.chunks_exact(4).map(|word| Fields(word).u32(0).unwrap_or(0));
            Some(words.collect::<Vec<u32>>())
        };
        let switch = |command| words(command, 2).map(|response| response[1] != 0);
        let ring = words(GET_RING, 9);
        let channels = words(GET_CHANNELS, 9);
        let coalesce = words(GET_COALESCE, 23);
        // A driver without one of the two says 0 of 0.
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
            lro: words(GET_FLAGS, 2).map(|response| response[1] & FLAG_LRO != 0),
            gso: switch(GET_GSO),
            tso: switch(GET_TSO),
        }
    }
}

/// Room for the statistics of a driver to which queues are added between two questions.
fn room(count: usize) -> usize {
    count * 4 + 4096
}

/// Parses the names of statistics; no bytes are no names.
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

//! Network devices by their index, which the kernel assigns once, and by their name, which can
//! change. In the network namespace of the calling thread, or on a host made up of files.

use crate::Root;
use crate::kernel_file::is_gone;
use rustix::fd::OwnedFd;
use rustix::net::{self, netdevice};
use std::fs;
use std::io;

/// The number of a device; nothing when none has this name.
pub fn index(root: &Root, name: &str) -> io::Result<Option<u32>> {
    if *root != Root::default() {
        let file = root.path(format!("/sys/class/net/{name}/ifindex"));
        return if_there(fs::read_to_string(file)).map(|text| text?.trim().parse().ok());
    }
    if_there(netdevice::name_to_index(socket()?, name).map_err(io::Error::from))
}

/// The name of a device now; nothing when it is gone.
pub fn name(root: &Root, number: u32) -> io::Result<Option<String>> {
    if *root != Root::default() {
        let Some(entries) = if_there(fs::read_dir(root.path("/sys/class/net")))? else {
            return Ok(None);
        };
        let mut names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        return Ok(names.find(|name| index(root, name).is_ok_and(|found| found == Some(number))));
    }
    if_there(netdevice::index_to_name(socket()?, number).map_err(io::Error::from))
}

/// Nothing for what does not exist. Another failure, as without free descriptors, does not mean
/// that.
fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if is_gone(&error) || error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
        found => found.map(Some),
    }
}

/// A socket for the queries; it uses no port.
fn socket() -> io::Result<OwnedFd> {
    Ok(net::socket(net::AddressFamily::INET, net::SocketType::DGRAM, None)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_the_first_device_by_both() {
        let root = Root::default();
        assert_eq!(index(&root, "lo").unwrap(), Some(1));
        assert_eq!(name(&root, 1).unwrap().as_deref(), Some("lo"));
        assert_eq!(index(&root, "none0").unwrap(), None);
        assert_eq!(name(&root, i32::MAX as u32).unwrap(), None);
    }

    #[test]
    fn a_device_that_cannot_be_looked_up_is_not_gone() {
        let failed = |errno| if_there::<u32>(Err(io::Error::from_raw_os_error(errno)));
        assert!(failed(libc::EMFILE).is_err() && failed(libc::ENODEV).unwrap().is_none());
    }
}

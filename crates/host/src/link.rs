//! Network devices by their index, which the kernel assigns once, and by their name, which can
//! change. In the network namespace of the calling thread, or on a host made up of files.

use crate::Root;
use rustix::fd::OwnedFd;
use rustix::net::{self, netdevice};
use std::fs;

/// The number of a device; nothing when none has this name.
pub fn index(root: &Root, name: &str) -> Option<u32> {
    if *root != Root::default() {
        let file = root.path(format!("/sys/class/net/{name}/ifindex"));
        return fs::read_to_string(file).ok()?.trim().parse().ok();
    }
    netdevice::name_to_index(socket()?, name).ok()
}

/// The name of a device now; nothing when it is gone.
pub fn name(root: &Root, number: u32) -> Option<String> {
    if *root != Root::default() {
        let entries = fs::read_dir(root.path("/sys/class/net")).ok()?.flatten();
        let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        return names.find(|name| index(root, name) == Some(number));
    }
    netdevice::index_to_name(socket()?, number).ok()
}

/// A socket for the queries; it uses no port.
fn socket() -> Option<OwnedFd> {
    net::socket(net::AddressFamily::INET, net::SocketType::DGRAM, None).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_the_first_device_by_both() {
        let root = Root::default();
        assert_eq!(index(&root, "lo"), Some(1));
        assert_eq!(name(&root, 1).as_deref(), Some("lo"));
        assert_eq!((index(&root, "none0"), name(&root, u32::MAX)), (None, None));
    }
}

//! Network devices by the number that the kernel gives each once, and by their name, which is
//! lent. Of the network namespace of the calling thread.

use crate::host::Host;
use rustix::fd::OwnedFd;
use rustix::net::{self, netdevice};

/// The number of a device; nothing when none has this name.
pub fn index(host: &Host, name: &str) -> Option<u32> {
    if host.is_made_up() {
        return host.text(&format!("/sys/class/net/{name}/ifindex"))?.trim().parse().ok();
    }
    netdevice::name_to_index(socket()?, name).ok()
}

/// The name of a device now; nothing when it is gone.
pub fn name(host: &Host, number: u32) -> Option<String> {
    if host.is_made_up() {
        let names = host.names_in("/sys/class/net");
        return names.into_iter().find(|name| index(host, name) == Some(number));
    }
    netdevice::index_to_name(socket()?, number).ok()
}

/// What the kernel is asked through; it takes no port.
fn socket() -> Option<OwnedFd> {
    net::socket(net::AddressFamily::INET, net::SocketType::DGRAM, None).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::root::Root;

    #[test]
    fn loopback_is_the_first_device_by_both() {
        let host = Host::look(Root::default());
        assert_eq!(index(&host, "lo"), Some(1));
        assert_eq!(name(&host, 1).as_deref(), Some("lo"));
        assert_eq!((index(&host, "none0"), name(&host, u32::MAX)), (None, None));
    }
}

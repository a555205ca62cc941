//! Network devices by the number that the kernel gives each once, and by their name, which is
//! lent. Of the network namespace of the calling thread.

use crate::host::Host;
use std::ffi::{CStr, CString};

/// The number of a device; nothing when none has this name.
pub fn index(host: &Host, name: &str) -> Option<u32> {
    if host.is_made_up() {
        return host.text(&format!("/sys/class/net/{name}/ifindex"))?.trim().parse().ok();
    }
    let name = CString::new(name).ok()?;
    // SAFETY: the name ends with a zero and outlives the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    (index > 0).then_some(index)
}

/// The name of a device now; nothing when it is gone.
pub fn name(host: &Host, number: u32) -> Option<String> {
    if host.is_made_up() {
        let names = host.names_in("/sys/class/net");
        return names.into_iter().find(|name| index(host, name) == Some(number));
    }
    let mut bytes = [0; libc::IFNAMSIZ];
    // SAFETY: the kernel writes IFNAMSIZ bytes at most, with a zero among them.
    let found = unsafe { libc::if_indextoname(number, bytes.as_mut_ptr()) };
    if found.is_null() {
        return None;
    }
    // SAFETY: the call succeeded, so a text with a zero at its end is there.
    let name = unsafe { CStr::from_ptr(bytes.as_ptr()) };
    Some(name.to_string_lossy().into_owned())
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

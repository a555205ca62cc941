//! Network interfaces, from `/sys/class/net`, as facts.
//!
//! Queues are the folders `queues/rx-*` and `tx-*`, the driver is what `device/driver` links to.
//! `speed` is believed only when a physical driver reports it on a physical host: virtual devices
//! report constants (veth 10000, virtio -1), and inside a virtual machine even a real function
//! reports the port of the host, not what the provider lets through. Rings, channels, coalescing
//! and offloads are what the driver reports to ethtool; what it refuses to report is left out.

use crate::ethtool::Ethtool;
use crate::kernel_file::unreadable;
use crate::scan;
use model::facts::{Nic, NicSettings, Unreadable};
use model::order::OrderBy as _;
use std::fs;
use std::path::Path;

/// Drivers with a `device` behind them whose speed is made up.
const SPEED_MADE_UP: [&str; 9] = [
    "ena",
    "gve",
    "hv_netvsc",
    "mana",
    "netvsc",
    "virtio_net",
    "vmxnet3",
    "xen-netfront",
    "xen_netfront",
];

/// Whether any link speed can be believed on this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speeds {
    /// A physical host.
    Believed,
    /// A virtual machine, or not known.
    Doubted,
}

/// All interfaces of our network namespace, by name.
pub fn read_all(speeds: Speeds) -> Result<Vec<Nic>, Unreadable> {
    let folder = Path::new("/sys/class/net");
    let entries = fs::read_dir(folder).map_err(|why| unreadable(folder, why))?;
    // Files such as bonding_masters are among the folders.
    let folders = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    let ethtool = Ethtool::open().ok();
    let mut nics: Vec<Nic> = folders.map(|path| read(&path, speeds, ethtool.as_ref())).collect();
    nics.order_by(|a, b| a.name.cmp(&b.name));
    Ok(nics)
}

fn read(folder: &Path, speeds: Speeds, ethtool: Option<&Ethtool>) -> Nic {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let driver = fs::read_link(folder.join("device/driver")).ok().and_then(|link| name(&link));
    let number = |file: &str| {
        let bytes = fs::read(folder.join(file)).ok()?;
        scan::number(bytes.trim_ascii()).and_then(|number| u32::try_from(number).ok())
    };
    let is_trusted = is_speed_trusted(driver.as_deref(), speeds);
    let (rx_queues, tx_queues) = queues(&folder.join("queues"));
    let interface = name(folder).unwrap_or_default();
    let settings = ethtool.map(|ethtool| ethtool.settings(&interface)).unwrap_or_default();
    Nic {
        settings: NicSettings {
            threaded_napi: number("threaded").map(|threaded| threaded > 0),
            ..settings
        },
        name: interface,
        mtu: number("mtu"),
        // A link that is down refuses to report or reports -1; neither is a number.
        speed_mbps: if is_trusted { number("speed").filter(|&speed| speed > 0) } else { None },
        driver,
        rx_queues,
        tx_queues,
    }
}

fn is_speed_trusted(driver: Option<&str>, speeds: Speeds) -> bool {
    let is_physical = driver.is_some_and(|driver| !SPEED_MADE_UP.contains(&driver));
    is_physical && speeds == Speeds::Believed
}

fn queues(folder: &Path) -> (u32, u32) {
    let (mut rx, mut tx) = (0, 0);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        rx += u32::from(name.as_encoded_bytes().starts_with(b"rx-"));
        tx += u32::from(name.as_encoded_bytes().starts_with(b"tx-"));
    }
    (rx, tx)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_is_believed_on_metal_only() {
        assert!(is_speed_trusted(Some("mlx5_core"), Speeds::Believed));
        assert!(!is_speed_trusted(Some("mlx5_core"), Speeds::Doubted));
        assert!(!is_speed_trusted(Some("virtio_net"), Speeds::Believed));
        assert!(!is_speed_trusted(None, Speeds::Believed));
    }

    #[test]
    fn loopback_has_queues_and_no_speed() {
        let nics = read_all(Speeds::Believed).unwrap();
        let loopback = nics.iter().find(|nic| nic.name == "lo").expect("a loopback interface");
        assert_eq!((loopback.driver.as_ref(), loopback.speed_mbps), (None, None));
        assert!(loopback.rx_queues >= 1 && loopback.mtu.is_some());
    }
}

//! What knobs need from a host, read once: CPUs, network devices, their queues and interrupts.

use crate::cpus::CpuSet;
use crate::process;
use ::host::{interrupts as kernel_table, namespace};
use model::order::OrderBy as _;
use model::reading::Interrupt as Entry;
use model::root::Root;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A host, or a folder of files laid out like one.
#[derive(Debug, Clone)]
pub struct Host {
    /// Where its files are.
    pub root: Root,
    /// Possible CPUs: they set the width of masks.
    pub cpus_possible: CpuSet,
    /// CPUs that are online.
    pub cpus_online: CpuSet,
    /// CPUs this process may use; fewer in a container.
    pub cpus_allowed: CpuSet,
    /// Network devices of this namespace that carry load, by name; without loopback.
    pub devices: Vec<Device>,
    /// Processes of the server under test, the top of the tree first; empty when not known.
    pub servers: Vec<u32>,
    /// Identifies the boot: settings that are not on disk are lost with it.
    pub boot_id: String,
    /// Identifies the network namespace of this process.
    pub namespace: String,
    /// Whether that is known to be the initial namespace of the host: some files can be written
    /// only there.
    pub is_initial_namespace: bool,
    /// Identifies the PID namespace of this process, to which pids belong.
    pub pid_namespace: String,
    /// Identifies its namespace of control groups: a path of a group is another group in another.
    pub group_namespace: String,
}

/// A network device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Names of receive queues, `rx-0` first.
    pub rx_queues: Vec<String>,
    /// Names of transmit queues.
    pub tx_queues: Vec<String>,
    /// Interrupts of its queues; without those that only manage it.
    pub interrupts: Vec<Interrupt>,
    /// CPUs near it; all when the host has one node.
    pub near_cpus: CpuSet,
    /// Whether hardware, virtual hardware included, backs it.
    pub is_hardware: bool,
}

/// One interrupt of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interrupt {
    /// Its number.
    pub irq: u32,
    /// What its driver calls it, for example `virtio3-rx`.
    pub name: String,
}

model::named! {
    /// What tuning is for.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum Profile {
        /// What the journal of "one million requests" did to its server, value by value.
        Seeds = "seeds",
        /// The most requests per second.
        #[default]
        Throughput = "throughput",
        /// The lowest latency at moderate load.
        Latency = "latency",
        /// Many connections that come and go.
        Churn = "churn",
    }
    /// The name that the user types.
    fn name, parse;
}

/// CPUs for the two kinds of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// For interrupts and packets.
    pub network: CpuSet,
    /// For the server's threads.
    pub server: CpuSet,
}

/// What the user asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// What to tune for.
    pub profile: Profile,
    /// Only this device; otherwise every one that carries load.
    pub device: Option<String>,
    /// Which CPUs do what; all do everything when not given.
    pub split: Option<Split>,
    /// Only these knobs, by id or name; all when empty.
    pub only: Vec<String>,
    /// Values to set exactly as given, by the word for their knob; see [`crate::planned`].
    pub values: BTreeMap<String, String>,
}

impl Wish {
    /// Whether a device is meant.
    pub fn means(&self, device: &Device) -> bool {
        self.device.as_ref().is_none_or(|name| *name == device.name)
    }

    /// CPUs for packets on a host.
    pub fn network_cpus(&self, host: &Host) -> CpuSet {
        self.split.as_ref().map_or_else(|| host.usable_cpus(), |split| split.network.clone())
    }

    /// CPUs for the packets of a device: those near it, or else all.
    pub fn cpus_for(&self, host: &Host, device: &Device) -> CpuSet {
        let wanted = self.network_cpus(host);
        let near = wanted.and(&device.near_cpus);
        if near.is_empty() { wanted } else { near }
    }

    /// CPUs for the server on a host.
    pub fn server_cpus(&self, host: &Host) -> CpuSet {
        self.split.as_ref().map_or_else(|| host.usable_cpus(), |split| split.server.clone())
    }
}

impl Host {
    /// Looks at a host. What cannot be read is empty, and knobs that need it find no place.
    pub fn look(root: Root) -> Self {
        let text = |path: &str| fs::read_to_string(root.path(path)).unwrap_or_default();
        let list = |path: &str| CpuSet::parse_list(&text(path)).unwrap_or_default();
        let allowed = text("/proc/self/status");
        let allowed = allowed.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let cpus_online = list("/sys/devices/system/cpu/online");
        let namespace = namespace::of(&root, "net");
        Self {
            cpus_possible: list("/sys/devices/system/cpu/possible"),
            cpus_allowed: allowed
                .and_then(|list| CpuSet::parse_list(list).ok())
                .unwrap_or_else(|| cpus_online.clone()),
            devices: devices(&root, &cpus_online),
            servers: Vec::new(),
            boot_id: text("/proc/sys/kernel/random/boot_id").trim().to_string(),
            is_initial_namespace: namespace::is_initial(&root) == Some(true),
            pid_namespace: namespace::of(&root, "pid").unwrap_or_default(),
            group_namespace: namespace::of(&root, "cgroup").unwrap_or_default(),
            namespace: namespace.unwrap_or_default(),
            cpus_online,
            root,
        }
    }

    /// CPUs that are online and allowed.
    pub fn usable_cpus(&self) -> CpuSet {
        self.cpus_online.and(&self.cpus_allowed)
    }

    /// Devices that a wish means.
    pub fn wished_devices<'a>(&'a self, wish: &'a Wish) -> impl Iterator<Item = &'a Device> {
        self.devices.iter().filter(|device| wish.means(device))
    }

    /// A file's text; nothing when it cannot be read.
    pub fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.path(path)).ok()
    }

    /// Names in a folder, sorted, with numbers at their ends in numeric order; none when the folder
    /// does not exist.
    pub fn names_in(&self, folder: &str) -> Vec<String> {
        let mut names = names_in(&self.root.path(folder));
        names.order_by_key(|name| (name.len(), name.clone()));
        names
    }

    /// Whether the files are below another folder than `/`.
    pub fn is_made_up(&self) -> bool {
        self.root != Root::default()
    }
}

fn devices(root: &Root, online: &CpuSet) -> Vec<Device> {
    let net = root.path("/sys/class/net");
    let table = process::read(&root.path("/proc/interrupts"), kernel_table::parse);
    let table = table.unwrap_or_default();
    let mut devices: Vec<Device> = names_in(&net)
        .into_iter()
        // Files such as bonding_masters are among the folders.
        .filter(|name| name != "lo" && net.join(name).is_dir())
        .map(|name| device(&net.join(&name), name, &table, online))
        .collect();
    devices.order_by(|left, right| left.name.cmp(&right.name));
    devices
}

fn device(folder: &Path, name: String, table: &[Entry], online: &CpuSet) -> Device {
    let queues = |kind: &str| {
        let mut names = names_in(&folder.join("queues"));
        names.retain(|queue| queue.starts_with(kind));
        names.order_by_key(|queue| queue[kind.len()..].parse::<u32>().unwrap_or(u32::MAX));
        names
    };
    let near = fs::read_to_string(folder.join("device/local_cpulist"));
    let near = near.ok().and_then(|list| CpuSet::parse_list(&list).ok());
    Device {
        rx_queues: queues("rx-"),
        tx_queues: queues("tx-"),
        interrupts: interrupts(folder, table),
        near_cpus: near.filter(|near| !near.is_empty()).unwrap_or_else(|| online.clone()),
        is_hardware: folder.join("device").exists(),
        name,
    }
}

/// Interrupts of the device itself or, with virtio, of the PCI function that carries it.
fn interrupts(folder: &Path, table: &[Entry]) -> Vec<Interrupt> {
    let own = names_in(&folder.join("device/msi_irqs"));
    let carrier = fs::canonicalize(folder.join("device")).ok();
    let carrier = carrier.and_then(|device| Some(device.parent()?.join("msi_irqs")));
    let all =
        if own.is_empty() { carrier.map(|path| names_in(&path)).unwrap_or_default() } else { own };
    let mut found: Vec<_> = all
        .iter()
        .filter_map(|irq| irq.parse().ok())
        .map(|irq| Interrupt { irq, name: name_of(table, irq) })
        .filter(|interrupt| !only_manages(&interrupt.name))
        .collect();
    found.order_by_key(|interrupt| interrupt.irq);
    // Drivers of Intel name queues after the device, and the interrupt for all else like it.
    let own = folder.file_name().unwrap_or_default().to_string_lossy();
    let is_queue = |interrupt: &Interrupt| *interrupt.name != *own;
    if found.iter().any(is_queue) {
        found.retain(is_queue);
    }
    found
}

/// The last word of an interrupt's entry in the kernel's table.
fn name_of(table: &[Entry], irq: u32) -> String {
    let entry = table.iter().find(|entry| entry.irq.parse() == Ok(irq));
    let word = entry.and_then(|entry| entry.device.split_whitespace().next_back());
    word.unwrap_or_default().to_string()
}

/// Whether an interrupt carries no packets: configuration, events, management.
fn only_manages(name: &str) -> bool {
    const ENDS: [&str; 5] = ["-config", "-event", "-control", ":misc", ":mbx"];
    const STARTS: [&str; 4] = ["mlx4-async", "mlx5_async", "mlx5_cmd", "mlx5_pages"];
    const WORDS: [&str; 3] = ["mgmnt", "mgmt", "-event-"];
    name.is_empty()
        || ENDS.iter().any(|end| name.ends_with(end))
        || STARTS.iter().any(|start| name.starts_with(start))
        || WORDS.iter().any(|word| name.contains(word))
}

fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::MadeUp;

    #[test]
    fn this_host_has_cpus_and_a_boot() {
        let host = Host::look(Root::default());
        assert!(!host.usable_cpus().is_empty() && !host.boot_id.is_empty(), "{host:?}");
        assert!(host.namespace.starts_with("net:["), "{}", host.namespace);
        assert!(host.devices.iter().all(|device| device.name != "lo"));
    }

    #[test]
    fn files_among_the_devices_are_none() {
        let made = MadeUp::two_cpus();
        made.write("/sys/class/net/bonding_masters", "");
        let names: Vec<String> = made.host().devices.into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["eth0"]);
    }

    #[test]
    fn management_interrupts_are_left_out() {
        for name in [
            "virtio3-config",
            "ena-mgmnt@pci:0000:00:05.0",
            "virtio3-event",
            "eth0-event-4",
            "mlx5_async0@pci:0000:81:00.0",
            "i40e-0000:81:00.0:misc",
            "iavf-0000:81:02.0:mbx",
            "",
        ] {
            assert!(only_manages(name), "{name}");
        }
        for name in [
            "virtio3-rx",
            "eth0-Tx-Rx-7",
            "ens5-TxRx-0",
            "mlx5_comp0@pci:0000:81:00.0",
            "i40e-eth0-TxRx-0",
            "eth0-rxtx-0",
        ] {
            assert!(!only_manages(name), "{name}");
        }
    }

    #[test]
    fn an_interrupt_with_the_name_of_its_device_is_a_queue_when_there_is_no_other() {
        let names = |handlers: &[&str]| {
            let made = MadeUp::new("intel", 1).device("eth0", 1);
            let mut table = "            CPU0".to_string();
            for (irq, handler) in (40..).zip(handlers) {
                made.write(&format!("/sys/class/net/eth0/device/msi_irqs/{irq}"), "msix");
                table += &format!("\n  {irq}:          7 PCI-MSI 1048576-edge      {handler}");
            }
            made.write("/proc/interrupts", &table);
            let found = made.host().devices.remove(0).interrupts;
            found.into_iter().map(|one| one.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&["eth0-TxRx-0", "eth0-TxRx-1", "eth0"]), ["eth0-TxRx-0", "eth0-TxRx-1"]);
        assert_eq!(names(&["eth0"]), ["eth0"]);
    }
}
